"""More fixed cases: preloads, callers, versions, symbols, TLS.

Expected is what the real loader (glibc 2.36) said; None = whatever it says today.
"""

from cases import A_C, C1, G, NODEFLIB, NOOPEN, NOW, PIE, NOT_FOUND, case, elf, exe, llp, raw, ref

OLD_VERSION = {"name": "g", "type": "func", "ver": "V1", "hidden": True}


PRELOADS = [
    case(
        "LD_PRELOAD with several",
        [
            elf("libA.so", refs=[ref("g"), ref("h")]),
            elf("libG.so", defs=[G]),
            elf("libH.so", defs=[dict(G, name="h")]),
        ],
        ["@/libG.so", "@/libH.so", "./libA.so"],
        env={"LD_PRELOAD": "@/libG.so @/libH.so"},
    ),
    case(
        "LD_PRELOAD with colons, blanks and missing ones",
        [elf("libA.so"), elf("libG.so"), elf("libH.so")],
        ["@/libG.so", "@/libH.so", "./libA.so"],
        env={"LD_PRELOAD": " :@/libG.so::@/nowhere.so  @/libH.so:"},
    ),
    case(
        "LD_PRELOAD by bare name and LD_LIBRARY_PATH",
        [A_C, elf("d1/" + C1)],
        ["@/d1/libC.so.1", "./libA.so"],
        env={"LD_PRELOAD": C1, "LD_LIBRARY_PATH": "@/d1"},
    ),
    case(
        "LD_PRELOAD with $LIB",
        [A_C, elf("lib/x86_64-linux-gnu/" + C1)],
        ["@/lib/x86_64-linux-gnu/libC.so.1", "./libA.so"],
        env={"LD_PRELOAD": "@/$LIB/" + C1},
    ),
    case(
        "LD_PRELOAD relative",
        [A_C, elf("sub/" + C1)],
        ["./sub/libC.so.1", "./libA.so"],
        env={"LD_PRELOAD": "./sub/" + C1},
    ),
    case(
        "LD_PRELOAD twice the same",
        [A_C, elf(C1)],
        ["@/libC.so.1", "./libA.so"],
        env={"LD_PRELOAD": "@/libC.so.1 @/./libC.so.1"},
    ),
    case(
        "LD_PRELOAD with needs",
        [A_C, elf("libP.so", [C1], runpath="$ORIGIN"), elf(C1)],
        ["@/libP.so", "@/libC.so.1", "./libA.so"],
        env={"LD_PRELOAD": "@/libP.so"},
    ),
    case(
        "LD_PRELOAD of FILE itself",
        [elf("libA.so", refs=[ref("g", bind="weak")])],
        ["@/libA.so"],
        env={"LD_PRELOAD": "@/libA.so"},
    ),
    case(
        "LD_PRELOAD of 32 bits is ignored",
        [elf("libA.so"), elf("libP.so", head={"class": 1})],
        ["./libA.so"],
        env={"LD_PRELOAD": "@/libP.so"},
    ),
    case(
        "LD_PRELOAD of a damaged file is ignored",
        [elf("libA.so"), raw("libP.so", "00")],
        ["./libA.so"],
        env={"LD_PRELOAD": "@/libP.so"},
    ),
    case(
        "LD_PRELOAD with NOOPEN",
        [A_C, elf("libP.so", soname=C1, flags_1=NOOPEN)],
        ["@/libP.so", "./libA.so"],
        env={"LD_PRELOAD": "@/libP.so"},
    ),
    case(
        "LD_PRELOAD of a PIE is ignored",
        [elf("libA.so"), elf("libP.so", flags_1=PIE)],
        ["./libA.so"],
        env={"LD_PRELOAD": "@/libP.so"},
    ),
    case(
        "/etc/ld.so.preload with several",
        [A_C, elf("libP.so"), elf(C1)],
        ["@/libP.so", "@/libC.so.1", "./libA.so"],
        ld_so_preload="@/libP.so\t@/libC.so.1 # end\n",
    ),
    case(
        "/etc/ld.so.preload after LD_PRELOAD",
        [elf("libA.so"), elf("libP.so"), elf("libQ.so")],
        ["@/libQ.so", "@/libP.so", "./libA.so"],
        ld_so_preload="@/libP.so",
        env={"LD_PRELOAD": "@/libQ.so"},
    ),
    case("/etc/ld.so.preload that is empty", [elf("libA.so")], ["./libA.so"], ld_so_preload=""),
    case(
        "a preload opened locally satisfies NEEDED, and so its symbols",
        [elf("libA.so", [C1], refs=[ref("g")]), elf("x/libC.so.1", defs=[G])],
        ["./x/libC.so.1", "./libA.so"],
        preloads=[["l", "./x/" + C1]],
    ),
    case(
        "a preload that fails leaves FILE alone",
        [elf("libA.so")],
        ["./libA.so"],
        preloads=[["l", "./nowhere.so"]],
    ),
    case(
        "a preload of FILE itself", [elf("libA.so")], ["./libA.so"], preloads=[["l", "./libA.so"]]
    ),
    case(
        "a preload of FILE itself with a slash more",
        [elf("libA.so")],
        [".//libA.so"],
        preloads=[["g", ".//libA.so"]],
    ),
    case(
        "a global preload changes nothing for what is checked already",
        [
            elf("libA.so", [C1], runpath="$ORIGIN"),
            elf(C1, refs=[ref("g")]),
            elf("libG.so", defs=[G]),
        ],
        ["./libG.so", "./libA.so", "@/./libC.so.1"],
        preloads=[["l", "./libC.so.1"], ["g", "./libG.so"]],
    ),
    case(
        "a version of a preloaded library is looked up too",
        [elf("libA.so", [C1], verneed=[[C1, [["V2", False]]]]), elf("x/libC.so.1", verdef=["V1"])],
        "./x/libC.so.1: version `V2' not found (required by ./libA.so)",
        preloads=[["l", "./x/" + C1]],
    ),
    case(
        "a preload by path, verneed by a name it is not known by",
        [elf("libA.so", verneed=[[C1, [["V1", False]]]]), elf("x/libC.so.1", verdef=["V1"])],
        "abort",
        preloads=[["l", "./x/" + C1]],
    ),
    case(
        "a caller with an rpath chain",
        [exe(rpath="@/d1"), elf("x/libP.so", tramp=True), elf("d1/" + C1)],
        ["./x/libP.so", "@/d1/libC.so.1"],
        exe="@/bin/prog",
        caller="./x/libP.so",
        file=C1,
    ),
    case(
        "a caller with runpath hides the executable's rpath",
        [exe(rpath="@/d1"), elf("x/libP.so", tramp=True, runpath="@/nowhere"), elf("d1/" + C1)],
        NOT_FOUND % C1,
        exe="@/bin/prog",
        caller="./x/libP.so",
        file=C1,
    ),
    case(
        "the executable's runpath is not for a caller's name",
        [exe(runpath="@/d1"), elf("x/libP.so", tramp=True), elf("d1/" + C1)],
        NOT_FOUND % C1,
        exe="@/bin/prog",
        caller="./x/libP.so",
        file=C1,
    ),
    case(
        "a caller that was NEEDED by a preload keeps its chain",
        [
            elf("x/libP.so", ["libQ.so"], rpath="@/x:@/d1"),
            elf("x/libQ.so", tramp=True),
            elf("d1/" + C1),
        ],
        ["./x/libP.so", "@/x/libQ.so", "@/d1/libC.so.1"],
        preloads=[["l", "./x/libP.so"]],
        caller="libQ.so",
        file=C1,
    ),
    case(
        "a caller that cannot be opened",
        [elf("libA.so"), elf("x/libP.so", ["libZ.so"], tramp=True)],
        NOT_FOUND % "libZ.so",
        caller="./x/libP.so",
    ),
    case(
        "NODEFLIB of a caller",
        [elf("x/libP.so", tramp=True, flags_1=NODEFLIB), elf("/usr/lib/" + C1)],
        "libC.so.1: cannot open shared object file",
        caller="./x/libP.so",
        file=C1,
    ),
]

SYMBOLS = [
    case(
        "-z now in FLAGS_1 beats RTLD_LAZY",
        [elf("libA.so", refs=[ref("g")], flags_1=NOW)],
        "./libA.so: undefined symbol: g",
        lazy=True,
    ),
    case(
        "-z now of a dependency only",
        [
            elf("libA.so", [C1], runpath="$ORIGIN", refs=[ref("g")]),
            elf(C1, refs=[ref("h")], flags_1=NOW),
        ],
        "@/./libC.so.1: undefined symbol: h",
        lazy=True,
    ),
    case(
        "LD_BIND_NOW that is empty does not count",
        [elf("libA.so", refs=[ref("g")])],
        ["./libA.so"],
        lazy=True,
        env={"LD_BIND_NOW": ""},
    ),
    case(
        "LD_BIND_NOT",
        [elf("libA.so", refs=[ref("g")])],
        ["./libA.so"],
        lazy=True,
        env={"LD_BIND_NOT": "1"},
    ),
    case(
        "a weak definition is good enough",
        [
            elf("libA.so", [C1], runpath="$ORIGIN", refs=[ref("g")]),
            elf(C1, defs=[dict(G, bind="weak")]),
        ],
        ["./libA.so", "@/./libC.so.1"],
    ),
    case(
        "a protected definition",
        [
            elf("libA.so", [C1], runpath="$ORIGIN", refs=[ref("g")]),
            elf(C1, defs=[dict(G, vis="protected")]),
        ],
        ["./libA.so", "@/./libC.so.1"],
    ),
    case(
        "an internal definition does not count",
        [
            elf("libA.so", [C1], runpath="$ORIGIN", refs=[ref("g")]),
            elf(C1, defs=[dict(G, vis="internal")]),
        ],
        "./libA.so: undefined symbol: g",
    ),
    case(
        "a local definition does not count",
        [
            elf("libA.so", [C1], runpath="$ORIGIN", refs=[ref("g")]),
            elf(C1, defs=[dict(G, bind="local")]),
        ],
        "./libA.so: undefined symbol: g",
    ),
    case(
        "a unique definition",
        [
            elf("libA.so", [C1], runpath="$ORIGIN", refs=[ref("g", reloc="glob")]),
            elf(C1, defs=[dict(G, bind="unique", type="object")]),
        ],
        ["./libA.so", "@/./libC.so.1"],
    ),
    case(
        "an absolute definition of 0",
        [
            elf("libA.so", [C1], runpath="$ORIGIN", refs=[ref("g", reloc="glob")]),
            elf(C1, defs=[dict(G, abs=1)]),
        ],
        ["./libA.so", "@/./libC.so.1"],
    ),
    case(
        "a definition of value 0",
        [
            elf("libA.so", [C1], runpath="$ORIGIN", refs=[ref("g", reloc="glob")]),
            elf(C1, defs=[dict(G, zero=True)]),
        ],
        "./libA.so: undefined symbol: g",
    ),
    case(
        "a hidden old version satisfies a reference without version",
        [
            elf("libA.so", [C1], runpath="$ORIGIN", refs=[ref("g")]),
            elf(C1, verdef=["V1", "V2"], defs=[OLD_VERSION]),
        ],
        ["./libA.so", "@/./libC.so.1"],
    ),
    case(
        "a hidden newer version does not",
        [
            elf("libA.so", [C1], runpath="$ORIGIN", refs=[ref("g")]),
            elf(C1, verdef=["V1", "V2"], defs=[dict(OLD_VERSION, ver="V2")]),
        ],
        "./libA.so: undefined symbol: g",
    ),
    case(
        "a hidden version satisfies who names it",
        [
            elf(
                "libA.so",
                [C1],
                runpath="$ORIGIN",
                verneed=[[C1, [["V2", False]]]],
                refs=[ref("g", ver=[C1, "V2"])],
            ),
            elf(C1, verdef=["V1", "V2"], defs=[dict(OLD_VERSION, ver="V2")]),
        ],
        ["./libA.so", "@/./libC.so.1"],
    ),
    case(
        "the version is there, the symbol has another",
        [
            elf(
                "libA.so",
                [C1],
                runpath="$ORIGIN",
                verneed=[[C1, [["V2", False]]]],
                refs=[ref("g", ver=[C1, "V2"])],
            ),
            elf(C1, verdef=["V1", "V2"], defs=[dict(G, ver="V1")]),
        ],
        "./libA.so: undefined symbol: g, version V2",
    ),
    case(
        "a versioned reference and a definition without version in a library with versions",
        [
            elf(
                "libA.so",
                [C1],
                runpath="$ORIGIN",
                verneed=[[C1, [["V1", False]]]],
                refs=[ref("g", ver=[C1, "V1"])],
            ),
            elf(C1, verdef=["V1"], defs=[G]),
        ],
        ["./libA.so", "@/./libC.so.1"],
    ),
    case(
        "a versioned reference satisfied by another library's version of that name",
        [
            elf(
                "libA.so",
                ["libB.so", C1],
                runpath="$ORIGIN",
                verneed=[[C1, [["V1", False]]]],
                refs=[ref("g", ver=[C1, "V1"])],
            ),
            elf("libB.so", verdef=["V1"], defs=[dict(G, ver="V1")]),
            elf(C1, verdef=["V1"]),
        ],
        ["./libA.so", "@/./libB.so", "@/./libC.so.1"],
    ),
    case(
        "a versioned reference satisfied by a library without versions",
        [
            elf(
                "libA.so",
                ["libB.so", C1],
                runpath="$ORIGIN",
                verneed=[[C1, [["V1", False]]]],
                refs=[ref("g", ver=[C1, "V1"])],
            ),
            elf("libB.so", defs=[G]),
            elf(C1, verdef=["V1"]),
        ],
        ["./libA.so", "@/./libB.so", "@/./libC.so.1"],
    ),
    case(
        "two versions missing: the first of the first",
        [
            elf(
                "libA.so",
                [C1, "libD.so"],
                runpath="$ORIGIN",
                verneed=[["libD.so", [["W9", False]]], [C1, [["V8", False], ["V9", False]]]],
            ),
            elf(C1, verdef=["V1"]),
            elf("libD.so", verdef=["W1"]),
        ],
        "@/./libD.so: version `W9' not found (required by ./libA.so)",
    ),
    case(
        "a version missing in a dependency, and one in FILE",
        [
            elf("libA.so", ["libB.so", C1], rpath="$ORIGIN", verneed=[[C1, [["V9", False]]]]),
            elf("libB.so", [C1], verneed=[[C1, [["V8", False]]]]),
            elf(C1, verdef=["V1"]),
        ],
        "@/./libC.so.1: version `V9' not found (required by ./libA.so)",
    ),
    case(
        "a missing library wins over a missing version",
        [
            elf("libA.so", [C1, "libZ.so"], runpath="$ORIGIN", verneed=[[C1, [["V9", False]]]]),
            elf(C1, verdef=["V1"]),
        ],
        NOT_FOUND % "libZ.so",
    ),
    case(
        "a missing version wins over a missing symbol",
        [
            elf("libA.so", [C1], runpath="$ORIGIN", verneed=[[C1, [["V9", False]]]]),
            elf(C1, verdef=["V1"], refs=[ref("g")]),
        ],
        "@/./libC.so.1: version `V9' not found (required by ./libA.so)",
    ),
    case(
        "a missing version wins over an ISA level",
        [
            elf("libA.so", [C1], runpath="$ORIGIN", isa=16, verneed=[[C1, [["V9", False]]]]),
            elf(C1, verdef=["V1"]),
        ],
        "@/./libC.so.1: version `V9' not found (required by ./libA.so)",
    ),
    case(
        "a version asked of libm that only libc has",
        [elf("libA.so", ["libm.so.6"], verneed=[["libm.so.6", [["GLIBC_2.3.4", False]]]])],
        "/lib/x86_64-linux-gnu/libm.so.6: version `GLIBC_2.3.4' not found (required by ./libA.so)",
    ),
    case(
        "GLIBC_PRIVATE",
        [elf("libA.so", ["libc.so.6"], verneed=[["libc.so.6", [["GLIBC_PRIVATE", False]]]])],
        ["./libA.so"],
    ),
    case(
        "GLIBCXX of a new libstdc++",
        [
            elf("libA.so", [C1], runpath="$ORIGIN", verneed=[[C1, [["GLIBCXX_3.4.99", False]]]]),
            elf(C1, verdef=["GLIBCXX_3.4", "GLIBCXX_3.4.30"]),
        ],
        "@/./libC.so.1: version `GLIBCXX_3.4.99' not found (required by ./libA.so)",
    ),
    case(
        "a symbol that libc has only by an old version",
        [elf("libA.so", ["libc.so.6"], refs=[ref("sys_errlist", reloc="glob", type="object")])],
        ["./libA.so"],
    ),
    case(
        "a symbol that libc dropped",
        [elf("libA.so", ["libc.so.6"], refs=[ref("pthread_yield"), ref("gets"), ref("cuserid")])],
        ["./libA.so"],
    ),
    case(
        "a symbol of libc without NEEDED libc", [elf("libA.so", refs=[ref("puts")])], ["./libA.so"]
    ),
    case(
        "a symbol of libm without NEEDED libm",
        [elf("libA.so", refs=[ref("nexttoward")])],
        "./libA.so: undefined symbol: nexttoward",
    ),
    case(
        "an old version of a libc symbol by name",
        [
            elf(
                "libA.so",
                ["libc.so.6"],
                verneed=[["libc.so.6", [["GLIBC_2.2.5", False]]]],
                refs=[ref("memcpy", ver=["libc.so.6", "GLIBC_2.2.5"])],
            )
        ],
        ["./libA.so"],
    ),
    case(
        "a libc symbol with a version it never had",
        [
            elf(
                "libA.so",
                ["libc.so.6"],
                verneed=[["libc.so.6", [["GLIBC_2.14", False]]]],
                refs=[ref("puts", ver=["libc.so.6", "GLIBC_2.14"])],
            )
        ],
        "./libA.so: undefined symbol: puts, version GLIBC_2.14",
    ),
    case(
        "TLS at the very end of the surplus",
        [elf("libA.so", tls={"size": 1712, "align": 1, "self": True})],
        ["./libA.so"],
    ),
    case(
        "TLS one byte over",
        [elf("libA.so", tls={"size": 1713, "align": 1, "self": True})],
        "./libA.so: cannot allocate memory in static TLS block",
    ),
    case(
        "TLS aligned to 64",
        [elf("libA.so", tls={"size": 64, "align": 64, "self": True})],
        ["./libA.so"],
    ),
    case(
        "TLS aligned to 128",
        [elf("libA.so", tls={"size": 16, "align": 128, "self": True})],
        "./libA.so: cannot allocate memory in static TLS block",
    ),
    case(
        "TLS of a preload, then of FILE",
        [
            elf("libP.so", tls={"size": 1000, "align": 8, "self": True}),
            elf("libA.so", tls={"size": 1000, "align": 8, "self": True}),
        ],
        "./libA.so: cannot allocate memory in static TLS block",
        preloads=[["l", "./libP.so"]],
    ),
    case(
        "TLS of a failed preload is given back",
        [
            elf("libP.so", tls={"size": 1000, "align": 8, "self": True}, refs=[ref("g")]),
            elf("libA.so", tls={"size": 1000, "align": 8, "self": True}),
        ],
        ["./libA.so"],
        preloads=[["l", "./libP.so"]],
    ),
    case(
        "TLS in LD_PRELOAD does not use the surplus",
        [
            elf("libP.so", tls={"size": 4000, "align": 8, "self": True}),
            elf("libA.so", tls={"size": 1500, "align": 8, "self": True}),
        ],
        ["@/libP.so", "./libA.so"],
        env={"LD_PRELOAD": "@/libP.so"},
    ),
    case(
        "GLIBC_TUNABLES gives more static TLS",
        [elf("libA.so", tls={"size": 3000, "align": 8, "self": True})],
        ["./libA.so"],
        env={"GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=4096"},
    ),
    case(
        "GLIBC_TUNABLES gives no optional static TLS",
        [elf("libA.so", tls={"size": 1300, "align": 8, "self": True})],
        "./libA.so: cannot allocate memory in static TLS block",
        env={"GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=0"},
    ),
    case(
        "GLIBC_TUNABLES gives namespaces",
        [elf("libA.so", tls={"size": 3000, "align": 8, "self": True})],
        ["./libA.so"],
        env={"GLIBC_TUNABLES": "glibc.rtld.nns=16"},
    ),
    case(
        "GLIBC_TUNABLES with nonsense",
        [elf("libA.so", tls={"size": 3000, "align": 8, "self": True})],
        "./libA.so: cannot allocate memory in static TLS block",
        env={"GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=x:foo=bar"},
    ),
    case(
        "GLIBC_TUNABLES among others",
        [elf("libA.so", tls={"size": 3000, "align": 8, "self": True})],
        ["./libA.so"],
        env={"GLIBC_TUNABLES": "glibc.malloc.check=0:glibc.rtld.optional_static_tls=0x1000"},
    ),
    case(
        "GLIBC_TUNABLES takes x86-64-v3 away",
        [A_C, elf("d1/glibc-hwcaps/x86-64-v3/" + C1), elf("d1/glibc-hwcaps/x86-64-v2/" + C1)],
        ["./libA.so", "@/d1/glibc-hwcaps/x86-64-v2/libC.so.1"],
        env=dict(llp("@/d1"), GLIBC_TUNABLES="glibc.cpu.hwcaps=-AVX2"),
    ),
    case(
        "DF_STATIC_TLS alone needs no room",
        [elf("libA.so", flags=16, tls={"size": 100000, "align": 8})],
        ["./libA.so"],
    ),
    case(
        "an ISA level of a dependency",
        [elf("libA.so", [C1], runpath="$ORIGIN"), elf(C1, isa=64)],
        "@/./libC.so.1: CPU ISA level is lower than required",
    ),
    case("an ISA level that every CPU has", [elf("libA.so", isa=1)], ["./libA.so"]),
    case(
        "an executable stack of a dependency",
        [elf("libA.so", [C1], runpath="$ORIGIN"), elf(C1, stack=7)],
        ["./libA.so", "@/./libC.so.1"],
    ),
    case(
        "DT_FILTER that is there",
        [elf("libA.so", [C1], filter="libF.so", runpath="$ORIGIN"), elf("libF.so"), elf(C1)],
        ["@/./libF.so", "./libA.so", "@/./libC.so.1"],
    ),
    case(
        "DT_AUXILIARY that is there",
        [elf("libA.so", [C1], aux="libF.so", runpath="$ORIGIN"), elf("libF.so"), elf(C1)],
        ["@/./libF.so", "./libA.so", "@/./libC.so.1"],
    ),
    case(
        "DT_AUXILIARY that is damaged",
        [elf("libA.so", aux="libF.so", runpath="$ORIGIN"), raw("libF.so")],
        ["./libA.so"],
    ),
    case(
        "DT_AUXILIARY whose need is missing",
        [elf("libA.so", aux="libF.so", runpath="$ORIGIN"), elf("libF.so", ["libZ.so"])],
        NOT_FOUND % "libZ.so",
    ),
    case(
        "DT_SYMBOLIC",
        [elf("libA.so", symbolic=True, refs=[ref("g")])],
        "./libA.so: undefined symbol: g",
    ),
    case(
        "no hash table at all",
        [elf("libA.so", [C1], runpath="$ORIGIN", refs=[ref("g")]), elf(C1, hash="none", defs=[G])],
        "./libA.so: undefined symbol: g",
    ),
    case(
        "the sysv hash only",
        [elf("libA.so", [C1], runpath="$ORIGIN", refs=[ref("g")]), elf(C1, hash="sysv", defs=[G])],
        ["./libA.so", "@/./libC.so.1"],
    ),
    case(
        "an undefined symbol of TLS",
        [elf("libA.so", refs=[ref("g", type="tls", reloc="tpoff")])],
        "./libA.so: undefined symbol: g",
    ),
    case(
        "an undefined symbol of dynamic TLS",
        [elf("libA.so", refs=[ref("g", type="tls", reloc="dtpmod")])],
        "./libA.so: undefined symbol: g",
    ),
    case(
        "a TLS symbol of a library, initial-exec",
        [
            elf("libA.so", [C1], runpath="$ORIGIN", refs=[ref("g", type="tls", reloc="tpoff")]),
            elf(C1, tls={"size": 5000, "align": 8}, defs=[{"name": "g", "type": "tls"}]),
        ],
        "@/./libC.so.1: cannot allocate memory in static TLS block",
    ),
]

ALL = PRELOADS + SYMBOLS
