"""Fixed cases: one behaviour of the loader each, with the answer it must give.

A case is a name, a tree, and the expected answer: a number of maps, a text (`@` = the tree's
folder), "abort", or None = whatever the real loader says today. The real loader is asked as
well, so a case whose expectation is wrong fails too.
"""

import os
import shutil
import stat
import subprocess
import sys

import cachewriter
import elfwriter
import tree as trees

NOT_FOUND = "%s: cannot open shared object file: No such file or directory"
NODEFLIB, NOOPEN, PIE, NOW = 0x800, 0x40, 0x8000000, 1
C1 = "libC.so.1"


def elf(path, needed=(), **spec):
    spec.setdefault("soname", path.rpartition("/")[2] if not path.endswith("libA.so") else None)
    return {"path": path, "kind": "elf", "elf": dict(spec, needed=list(needed))}


def link(path, to):
    return {"path": path, "kind": "link", "to": to}


def raw(path, data=""):
    return {"path": path, "kind": "bytes", "hex": data}


def exe(path="bin/prog", **patch):
    return {"path": path, "kind": "exe", "patch": patch}


def folder(path, **more):
    return dict({"path": path, "kind": "dir"}, **more)


def case(name, files, expect, **more):
    t = {"files": list(files), "env": {}, "file": "./libA.so", "preloads": []}
    t.update(more)
    return name, t, expect


def llp(text):
    return {"LD_LIBRARY_PATH": text}


def entries(*pairs, **more):
    return dict({"entries": [{"name": n, "path": p} for n, p in pairs]}, **more)


def ref(name, **more):
    return dict({"name": name, "type": "func", "reloc": "jump"}, **more)


G = {"name": "g", "type": "func"}
A_C = elf("libA.so", [C1])

LISTED = [
    case(
        "rpath of a parent serves a grandchild",
        [
            elf("libA.so", ["libB.so.1"], rpath="@/d1:@/d2"),
            elf("d1/libB.so.1", [C1]),
            elf("d2/" + C1),
        ],
        3,
    ),
    case(
        "runpath makes the parents' rpath ignored",
        [
            elf("libA.so", ["libB.so.1"], rpath="@/d1:@/d2"),
            elf("d1/libB.so.1", [C1], runpath="@/nowhere"),
            elf("d2/" + C1),
        ],
        NOT_FOUND % C1,
    ),
    case(
        "the executable's runpath does not serve a dlopened library's needs",
        [exe(runpath="@/d1"), A_C, elf("d1/" + C1)],
        NOT_FOUND % C1,
        exe="@/bin/prog",
    ),
    case(
        "dlopen inside a library uses its runpath",
        [elf("x/libA.so", runpath="$ORIGIN/../d1", tramp=True), elf("d1/" + C1)],
        2,
        caller="./x/libA.so",
        file=C1,
    ),
    case(
        "LD_LIBRARY_PATH before runpath",
        [elf("libA.so", [C1], runpath="@/d2"), elf("d1/" + C1), elf("d2/" + C1)],
        ["./libA.so", "@/d1/" + C1],
        env=llp("@/d1"),
    ),
    case(
        "$ORIGIN through a folder symlink",
        [elf("real/libA.so", [C1], runpath="$ORIGIN"), elf("real/" + C1), link("ln", "real")],
        ["./ln/libA.so", "@/./ln/" + C1],
        file="./ln/libA.so",
    ),
    case(
        "$LIB", [elf("libA.so", [C1], runpath="$ORIGIN/$LIB"), elf("lib/x86_64-linux-gnu/" + C1)], 2
    ),
    case(
        "glibc-hwcaps beats its folder",
        [
            elf("libA.so", [C1], runpath="@/d1"),
            elf("d1/" + C1),
            elf("d1/glibc-hwcaps/x86-64-v2/" + C1),
            elf("d1/glibc-hwcaps/x86-64-v3/" + C1),
        ],
        2,
    ),
    case(
        "an empty element of LD_LIBRARY_PATH is the current folder",
        [A_C, elf(C1)],
        ["./libA.so", C1],
        env=llp("@/nowhere:"),
    ),
    case("semicolon separates LD_LIBRARY_PATH", [A_C, elf("d2/" + C1)], 2, env=llp("@/d1;@/d2")),
    case(
        "$ORIGIN in LD_LIBRARY_PATH is the executable's folder",
        [exe(), A_C, elf("d1/" + C1)],
        2,
        env=llp("$ORIGIN/../d1"),
        exe="@/bin/prog",
    ),
    case(
        "a 32-bit library first",
        [A_C, elf("d1/" + C1, head={"class": 1, "machine": 3}), elf("d2/" + C1)],
        2,
        env=llp("@/d1:@/d2"),
    ),
    case(
        "an aarch64 library first",
        [A_C, elf("d1/" + C1, head={"machine": 183}), elf("d2/" + C1)],
        2,
        env=llp("@/d1:@/d2"),
    ),
    case(
        "a big-endian library first",
        [A_C, elf("d1/" + C1, head={"data": 2}), elf("d2/" + C1)],
        "@/d1/libC.so.1: ELF file data encoding not little-endian",
        env=llp("@/d1:@/d2"),
    ),
    case(
        "a file of 0 bytes first",
        [A_C, raw("d1/" + C1), elf("d2/" + C1)],
        "@/d1/libC.so.1: file too short",
        env=llp("@/d1:@/d2"),
    ),
    case(
        "an ELF cut after its program headers first",
        [A_C, elf("d1/" + C1, layout="spread", cut="phdrs"), elf("d2/" + C1)],
        "abort",
        env=llp("@/d1:@/d2"),
    ),
    case(
        "a dangling symlink first",
        [A_C, link("d1/" + C1, "nowhere"), elf("d2/" + C1)],
        2,
        env=llp("@/d1:@/d2"),
    ),
    case(
        "after ELOOP the runpath is still searched",
        [elf("libA.so", [C1], runpath="@/d2"), link("d1/" + C1, C1), elf("d2/" + C1)],
        2,
        env=llp("@/d1"),
    ),
    case(
        "an unreadable file as the only candidate",
        [A_C, dict(elf("d1/" + C1), mode=0)],
        NOT_FOUND % C1,
        env=llp("@/d1"),
    ),
    case(
        "opened before by path, found by soname",
        [A_C, elf("x/libC_real.so", soname=C1)],
        2,
        preloads=[["l", "./x/libC_real.so"]],
    ),
    case(
        "opened by bare name without soname",
        [exe(runpath="@/d1"), A_C, elf("d1/" + C1, soname=None)],
        2,
        preloads=[["l", C1]],
        exe="@/bin/prog",
    ),
    case(
        "the file name is not the soname",
        [A_C, elf("x/" + C1, soname="libC.so.9")],
        NOT_FOUND % C1,
        preloads=[["l", "./x/" + C1]],
    ),
    case(
        "two names of one file",
        [
            elf("libA.so", [C1, "libC.so"], runpath="@/d1"),
            elf("d1/" + C1, soname=None),
            link("d1/libC.so", C1),
        ],
        2,
    ),
    case("$ORIGIN in NEEDED", [elf("libA.so", ["$ORIGIN/libC.so"]), elf("libC.so")], 2),
    case(
        "a lacking version is not repaired by the second folder",
        [
            elf("libA.so", [C1], verneed=[[C1, [["V2", False]]]]),
            elf("d1/" + C1, verdef=["V1"]),
            elf("d2/" + C1, verdef=["V1", "V2"]),
        ],
        "@/d1/libC.so.1: version `V2' not found (required by ./libA.so)",
        env=llp("@/d1:@/d2"),
    ),
    case(
        "a version of libc that is not there",
        [elf("libA.so", ["libc.so.6"], verneed=[["libc.so.6", [["GLIBC_2.99", False]]]])],
        "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.99' not found (required by ./libA.so)",
    ),
    case(
        "RTLD_NOW finds no definition",
        [elf("libA.so", [C1], runpath="@/d1", refs=[ref("g")]), elf("d1/" + C1)],
        "./libA.so: undefined symbol: g",
    ),
    case(
        "opened before with RTLD_LOCAL does not satisfy",
        [elf("libA.so", refs=[ref("g")]), elf("libG.so", defs=[G])],
        "./libA.so: undefined symbol: g",
        preloads=[["l", "./libG.so"]],
    ),
    case(
        "DF_1_NOOPEN",
        [elf("libA.so", flags_1=NOOPEN)],
        "./libA.so: shared object cannot be dlopen()ed",
    ),
    case(
        "a non-PIE executable",
        [elf("p", head={"type": 2})],
        "./p: cannot dynamically load executable",
        file="./p",
    ),
    case("an executable stack", [elf("libA.so", stack=7)], 1),
    case(
        "an ISA level above the CPU's",
        [elf("libA.so", isa=16)],
        "./libA.so: CPU ISA level is lower than required",
    ),
    case(
        "the cache beats the system folder",
        [A_C, elf("d1/" + C1), elf("/usr/lib/x86_64-linux-gnu/" + C1)],
        ["./libA.so", "@/d1/" + C1],
        cache={"entries": [{"name": C1, "path": "@/d1/" + C1}]},
    ),
    case(
        "glibc-hwcaps in the cache beats the plain entry",
        [A_C, elf("d1/" + C1), elf("d1/glibc-hwcaps/x86-64-v2/" + C1)],
        ["./libA.so", "@/d1/glibc-hwcaps/x86-64-v2/" + C1],
        cache={
            "entries": [
                {"name": C1, "path": "@/d1/" + C1},
                {"name": C1, "path": "@/d1/glibc-hwcaps/x86-64-v2/" + C1, "hwcaps": "x86-64-v2"},
            ]
        },
    ),
    case(
        "LD_PRELOAD satisfies by soname",
        [A_C, elf("x/libC_real.so", soname=C1)],
        2,
        env={"LD_PRELOAD": "@/x/libC_real.so"},
    ),
    case(
        "only the first missing library is named",
        [
            elf("libA.so", ["libD.so.1", "libB.so.1"], runpath="@/d1"),
            elf("d1/libD.so.1", ["libZ.so.1"]),
        ],
        NOT_FOUND % "libB.so.1",
    ),
    case(
        "a failed dlopen leaves nothing behind",
        [A_C, elf("libP.so", [C1, "libZ.so.1"], runpath="@/d1"), elf("d1/" + C1)],
        NOT_FOUND % C1,
        preloads=[["l", "./libP.so"]],
    ),
    case(
        "the executable's $ORIGIN has symlinks resolved",
        [exe(rpath="$ORIGIN/../d1"), link("elsewhere/prog", "../bin/prog"), A_C, elf("d1/" + C1)],
        2,
        exe="@/elsewhere/prog",
    ),
    case(
        "initial-exec TLS too big",
        [elf("libA.so", tls={"size": 100000, "align": 8, "self": True})],
        "./libA.so: cannot allocate memory in static TLS block",
    ),
]

OTHERS = [
    case(
        "opened before with RTLD_GLOBAL satisfies",
        [elf("libA.so", refs=[ref("g")]), elf("libG.so", defs=[G])],
        2,
        preloads=[["g", "./libG.so"]],
    ),
    case(
        "a global preload's own needs are global too",
        [
            elf("libA.so", refs=[ref("g")]),
            elf("libP.so", ["libG.so"], runpath="$ORIGIN"),
            elf("libG.so", defs=[G]),
        ],
        3,
        preloads=[["g", "./libP.so"]],
    ),
    case(
        "local, then global",
        [elf("libA.so", refs=[ref("g")]), elf("libG.so", defs=[G])],
        2,
        preloads=[["l", "./libG.so"], ["g", "./libG.so"]],
    ),
    case("RTLD_LAZY leaves functions undefined", [elf("libA.so", refs=[ref("g")])], 1, lazy=True),
    case(
        "RTLD_LAZY does not help data",
        [elf("libA.so", refs=[ref("g", reloc="glob")])],
        "./libA.so: undefined symbol: g",
        lazy=True,
    ),
    case(
        "DF_BIND_NOW beats RTLD_LAZY",
        [elf("libA.so", refs=[ref("g")], flags=8)],
        "./libA.so: undefined symbol: g",
        lazy=True,
    ),
    case(
        "LD_BIND_NOW beats RTLD_LAZY",
        [elf("libA.so", refs=[ref("g")])],
        "./libA.so: undefined symbol: g",
        lazy=True,
        env={"LD_BIND_NOW": "1"},
    ),
    case("a weak reference may stay open", [elf("libA.so", refs=[ref("g", bind="weak")])], 1),
    case(
        "an undefined symbol with its version",
        [
            elf(
                "libA.so",
                [C1],
                runpath="$ORIGIN",
                verneed=[[C1, [["V1", False]]]],
                refs=[ref("g", ver=[C1, "V1"])],
            ),
            elf(C1, verdef=["V1"], defs=[dict(G, name="h", ver="V1")]),
        ],
        "./libA.so: undefined symbol: g, version V1",
    ),
    case(
        "a weak version may be missing",
        [
            elf("libA.so", [C1], runpath="$ORIGIN", verneed=[[C1, [["V2", True]]]]),
            elf(C1, verdef=["V1"]),
        ],
        2,
    ),
    case(
        "a provider without versions",
        [elf("libA.so", [C1], runpath="$ORIGIN", verneed=[[C1, [["V2", False]]]]), elf(C1)],
        2,
    ),
    case(
        "verneed without NEEDED aborts (ONNX Runtime 1.15)",
        [elf("libA.so", verneed=[["libcudart.so.11.0", [["V1", False]]]])],
        "abort",
    ),
    case(
        "only a 32-bit library",
        [A_C, elf("d1/" + C1, head={"class": 1})],
        "libC.so.1: wrong ELF class: ELFCLASS32",
        env=llp("@/d1"),
    ),
    case(
        "only an aarch64 library",
        [A_C, elf("d1/" + C1, head={"machine": 183})],
        NOT_FOUND % C1,
        env=llp("@/d1"),
    ),
    case(
        "a 32-bit file by path",
        [elf("libA.so", head={"class": 1})],
        "./libA.so: wrong ELF class: ELFCLASS32",
    ),
    case(
        "an aarch64 file by path", [elf("libA.so", head={"machine": 183})], NOT_FOUND % "./libA.so"
    ),
    case(
        "a linker script",
        [
            A_C,
            raw(
                "d1/" + C1,
                b"/* GNU ld script */ INPUT(-lm) and so on until it is long enough".hex(),
            ),
        ],
        "@/d1/libC.so.1: invalid ELF header",
        env=llp("@/d1"),
    ),
    case(
        "a folder with a library's name",
        [A_C, {"path": "d1/" + C1, "kind": "dir"}, elf("d2/" + C1)],
        "@/d1/libC.so.1: cannot read file data: Is a directory",
        env=llp("@/d1:@/d2"),
    ),
    case(
        "an object file",
        [elf("libA.so", head={"type": 1})],
        "./libA.so: only ET_DYN and ET_EXEC can be loaded",
    ),
    case(
        "a position-independent executable",
        [elf("libA.so", flags_1=PIE)],
        "./libA.so: cannot dynamically load position-independent executable",
    ),
    case(
        "NOOPEN deeper down",
        [elf("libA.so", [C1], runpath="$ORIGIN"), elf(C1, flags_1=NOOPEN)],
        "libC.so.1: shared object cannot be dlopen()ed",
    ),
    case(
        "no dynamic section",
        [elf("libA.so", drop=["dynamic"])],
        "./libA.so: object file has no dynamic section",
    ),
    case(
        "no loadable segments",
        [A_C, elf(C1, drop=["load"])],
        "libC.so.1: object file has no loadable segments",
        env=llp("@"),
    ),
    case(
        "rpath beside runpath is ignored",
        [elf("libA.so", [C1], rpath="@/d1", runpath="@/d2"), elf("d1/" + C1)],
        NOT_FOUND % C1,
    ),
    case(
        "the executable's rpath serves a dlopened library's needs",
        [exe(rpath="@/d1"), A_C, elf("d1/" + C1)],
        2,
        exe="@/bin/prog",
    ),
    case(
        "the executable's rpath does not serve a library with runpath",
        [exe(rpath="@/d1"), elf("libA.so", [C1], runpath="@/d2"), elf("d1/" + C1)],
        NOT_FOUND % C1,
        exe="@/bin/prog",
    ),
    case(
        "the executable's runpath serves its own dlopen",
        [exe(runpath="@/d1"), elf("d1/" + C1)],
        1,
        exe="@/bin/prog",
        file=C1,
    ),
    case(
        "rpath before LD_LIBRARY_PATH",
        [elf("libA.so", [C1], rpath="@/d2"), elf("d1/" + C1), elf("d2/" + C1)],
        ["./libA.so", "@/d2/" + C1],
        env=llp("@/d1"),
    ),
    case(
        "a caller's rpath does not serve the needs of what it opens",
        [elf("x/libP.so", rpath="@/d1", tramp=True), elf("d1/libA.so.1", [C1]), elf("d1/" + C1)],
        NOT_FOUND % C1,
        caller="./x/libP.so",
        file="libA.so.1",
    ),
    case(
        "a caller's runpath is not used with a path",
        [elf("x/libP.so", runpath="@/d1", tramp=True), elf("d1/" + C1)],
        NOT_FOUND % "./libC.so.1",
        caller="./x/libP.so",
        file="./libC.so.1",
    ),
    case(
        "$ORIGIN of dlopen inside a library",
        [elf("x/libP.so", tramp=True), elf("x/" + C1)],
        2,
        caller="./x/libP.so",
        file="$ORIGIN/" + C1,
    ),
    case(
        "the unversioned name is not the soname",
        [elf("libA.so", ["libC.so"]), elf("x/" + C1)],
        NOT_FOUND % "libC.so",
        preloads=[["l", "./x/" + C1]],
    ),
    case(
        "a hard link is the same file",
        [
            elf("libA.so", [C1], runpath="@/d1"),
            elf("x/libQ.so", soname=None),
            {"path": "d1/" + C1, "kind": "hardlink", "to": "x/libQ.so"},
        ],
        ["./x/libQ.so", "./libA.so"],
        preloads=[["l", "./x/libQ.so"]],
    ),
    case(
        "a copy is another file",
        [
            elf("libA.so", [C1], runpath="@/d1"),
            elf("x/libQ.so", soname=None),
            elf("d1/" + C1, soname=None),
        ],
        3,
        preloads=[["l", "./x/libQ.so"]],
    ),
    case(
        "a cycle",
        [elf("libA.so", [C1], runpath="$ORIGIN", soname="libA.so"), elf(C1, ["libA.so"])],
        2,
    ),
    case(
        "a diamond",
        [
            elf("libA.so", ["libB.so", C1], rpath="@"),
            elf("libB.so", ["libD.so"]),
            elf(C1, ["libD.so"]),
            elf("libD.so"),
        ],
        ["./libA.so", "@/libB.so", "@/" + C1, "@/libD.so"],
    ),
    case(
        "$ORIGINx is no token", [elf("libA.so", [C1], runpath="$ORIGINx"), elf(C1)], NOT_FOUND % C1
    ),
    case("${ORIGIN} is one", [elf("libA.so", [C1], runpath="${ORIGIN}"), elf(C1)], 2),
    case(
        "$PLATFORM", [elf("libA.so", [C1], runpath="$ORIGIN/$PLATFORM"), elf("x86_64/" + C1)], None
    ),
    case(
        "a colon alone is the current folder",
        [elf("libA.so", [C1], runpath=":"), elf(C1)],
        ["./libA.so", C1],
    ),
    case("an empty runpath is none", [elf("libA.so", [C1], runpath=""), elf(C1)], NOT_FOUND % C1),
    case(
        "a relative element",
        [elf("libA.so", [C1], runpath="d1"), elf("d1/" + C1)],
        ["./libA.so", "d1/" + C1],
    ),
    case(
        "legacy tls folder",
        [elf("libA.so", [C1], runpath="@/d1"), elf("d1/" + C1), elf("d1/tls/" + C1)],
        None,
    ),
    case(
        "legacy haswell folder",
        [elf("libA.so", [C1], runpath="@/d1"), elf("d1/" + C1), elf("d1/haswell/" + C1)],
        None,
    ),
    case(
        "NODEFLIB refuses the system folders",
        [elf("libA.so", ["libm.so.6"], flags_1=NODEFLIB)],
        None,
    ),
    case(
        "NODEFLIB keeps the errno of the last folder",
        [elf("libA.so", [C1], runpath="@/d1", flags_1=NODEFLIB), link("d1/" + C1, C1)],
        "libC.so.1: cannot open shared object file: Too many levels of symbolic links",
    ),
    case(
        "LD_PRELOAD that is not there is ignored",
        [elf("libA.so")],
        1,
        env={"LD_PRELOAD": "@/nowhere.so"},
    ),
    case(
        "LD_PRELOAD symbols are global",
        [elf("libA.so", refs=[ref("g")]), elf("libG.so", defs=[G])],
        2,
        env={"LD_PRELOAD": "@/libG.so"},
    ),
    case(
        "/etc/ld.so.preload",
        [elf("libA.so", refs=[ref("g")]), elf("libG.so", defs=[G])],
        2,
        ld_so_preload="# one\n@/nowhere.so:@/libG.so\n",
    ),
    case(
        "a hidden symbol does not count",
        [
            elf("libA.so", [C1], runpath="$ORIGIN", refs=[ref("g")]),
            elf(C1, defs=[dict(G, vis="hidden")]),
        ],
        "./libA.so: undefined symbol: g",
    ),
    case(
        "the deepest object is relocated first",
        [
            elf("libA.so", ["libB.so", C1], rpath="@", refs=[ref("g")]),
            elf("libB.so", [C1], refs=[ref("g")]),
            elf(C1, refs=[ref("g")]),
        ],
        "@/libC.so.1: undefined symbol: g",
    ),
    case("a library that is the program's already", [], 0, file="libc.so.6"),
    case("the empty name is the program", [], 0, file=""),
    case("a file that is not there", [], NOT_FOUND % "./libA.so"),
    case(
        "a file behind a file",
        [elf("libA.so")],
        "./libA.so/libB.so: cannot open shared object file: Not a directory",
        file="./libA.so/libB.so",
    ),
    case(
        "an unreadable file by path",
        [dict(elf("libA.so"), mode=0)],
        "./libA.so: cannot open shared object file: Permission denied",
    ),
    case(
        "an unknown relocation",
        [elf("libA.so", relas=[{"type": 42}])],
        "./libA.so: unexpected reloc type 0x2a",
    ),
    case("TLS that just fits", [elf("libA.so", tls={"size": 1600, "align": 8, "self": True})], 1),
    case(
        "TLS of two libraries together",
        [
            elf("libA.so", [C1], runpath="$ORIGIN", tls={"size": 900, "align": 8, "self": True}),
            elf(C1, tls={"size": 900, "align": 8, "self": True}),
        ],
        "./libA.so: cannot allocate memory in static TLS block",
    ),
    case("dynamic TLS may be big", [elf("libA.so", tls={"size": 100000, "align": 8})], 1),
    case(
        "the working folder is told by --cwd",
        [A_C, elf("d1/" + C1)],
        2,
        env=llp("d1"),
        other_cwd=True,
    ),
    case(
        "the cache in the old format",
        [A_C, elf("d1/" + C1)],
        2,
        cache={"format": "old", "entries": [{"name": C1, "path": "@/d1/" + C1}]},
    ),
    case(
        "the cache in both formats",
        [A_C, elf("d1/" + C1)],
        2,
        cache={
            "format": "compat",
            "entries": [
                {"name": C1, "path": "@/d1/" + C1},
                {"name": "libZ.so", "path": "/nowhere"},
            ],
        },
    ),
    case(
        "a cut cache is ignored",
        [A_C, elf("d1/" + C1)],
        NOT_FOUND % C1,
        cache={"damage": 60, "entries": [{"name": C1, "path": "@/d1/" + C1}]},
    ),
    case(
        "a cache entry of another system",
        [A_C, elf("d1/" + C1)],
        NOT_FOUND % C1,
        cache={"entries": [{"name": C1, "path": "@/d1/" + C1, "flags": 3}]},
    ),
    case(
        "a cache entry whose file is gone, but the system folder has one",
        [A_C, elf("/usr/lib/" + C1)],
        ["./libA.so", "/lib/" + C1],
        cache={"entries": [{"name": C1, "path": "@/d1/" + C1}]},
    ),
    case("DT_AUXILIARY that is not there", [elf("libA.so", aux="libQ.so")], 1),
    case("DT_FILTER that is not there", [elf("libA.so", filter="libQ.so")], NOT_FOUND % "libQ.so"),
]


def answer_of(oracle, top):
    if oracle["verdict"] == "ok":
        return [m.replace(top, "@") for m in oracle["map"]]
    if oracle["verdict"] == "fail":
        return oracle["error"].replace(top, "@")
    return oracle["verdict"]


def holds(expect, got):
    if expect is None:
        return True
    if isinstance(expect, int):
        return isinstance(got, list) and len(got) == expect
    return got == expect


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def skip(self, name, why):
        self.skipped += 1
        print("did not run: %s: %s" % (name, why))

    def check(self, name, expect, oracle, diff, answer, top):
        got = answer_of(oracle, top)
        if not holds(expect, got):
            print(
                "%s\n  expected %s\n  the loader says %s %s" % (name, expect, got, oracle["stderr"])
            )
        elif diff:
            doc = (answer or {}).get("doc") or {}
            print(
                "%s\n  differs in: %s\n  loader: %s\n  ortfit: %s"
                % (name, diff, got, str(doc.get("error") or doc.get("map")).replace(top, "@"))
            )
        else:
            self.passed += 1
            return
        self.failed += 1


def needs(tree, setting):
    if tree.get("cache") and not setting.cache:
        return "no ld.so.cache of our own here"
    if tree.get("ld_so_preload") and not setting.etc:
        return "no /etc/ld.so.preload of our own here"
    if any(f["path"].startswith("/") for f in tree["files"]) and not setting.system:
        return "no system folder of our own here"
    if any(f.get("mode") is not None for f in tree["files"]) and not setting.modes:
        return "permission bits mean nothing to root"
    return None


def ask(setting, tree):
    oracle = trees.run_oracle(setting, tree)
    if not setting.ortfit:
        return oracle, None, None
    answer = trees.run_ortfit(setting, tree)
    return oracle, trees.differ(oracle, answer), answer


def secure(args, setting, tally):
    """AT_SECURE: a setgid program run by another user ignores LD_LIBRARY_PATH."""
    name = "AT_SECURE ignores LD_LIBRARY_PATH"
    if not setting.root:
        return tally.skip(name, "needs root to make a setgid program of another group")
    _, tree, _ = case(name, [exe(), A_C, elf("d1/" + C1)], None, env=llp("@/d1"), exe="@/bin/prog")
    try:
        trees.make(setting, tree)
        prog = os.path.join(setting.top, "bin/prog")
        os.chown(prog, 0, 1)
        os.chmod(prog, 0o755 | stat.S_ISGID)
        oracle, diff, answer = ask(setting, tree)
        tally.check(name, NOT_FOUND % C1, oracle, diff, answer, setting.top)
    finally:
        trees.remove(setting, tree)


def root_places(args, setting, tally):
    """--root: the root's own cache and folders, never the host's."""
    names = ["--root: the root's own cache decides", "--root: the host's folders do not count"]
    if not setting.root:
        for n in names:
            tally.skip(n, "needs root for chroot")
        return
    top = setting.top
    try:
        for src, dst in (
            ("/lib64/ld-linux-x86-64.so.2", "lib64/ld-linux-x86-64.so.2"),
            ("/lib/x86_64-linux-gnu/libc.so.6", "lib/x86_64-linux-gnu/libc.so.6"),
            (setting.harness, "bin/oracle"),
        ):
            path = os.path.join(top, dst)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copy(src, path)
        os.makedirs(os.path.join(top, "etc"))
        os.makedirs(os.path.join(top, "app"))
        os.makedirs(os.path.join(top, "opt/c"))
        with open(os.path.join(top, "etc/ld.so.cache"), "wb") as f:
            f.write(
                cachewriter.build(
                    {
                        "entries": [
                            {"name": "libc.so.6", "path": "/lib/x86_64-linux-gnu/libc.so.6"},
                            {"name": C1, "path": "/opt/c/" + C1},
                        ]
                    }
                )
            )
        for path, spec in (
            ("app/libA.so", {"needed": [C1]}),
            ("app/libB.so", {"needed": ["libz.so.1"]}),
            ("opt/c/" + C1, {"soname": C1}),
        ):
            with open(os.path.join(top, path), "wb") as f:
                f.write(elfwriter.build(spec))
        for name, file, expect in (
            (names[0], "/app/libA.so", ["/app/libA.so", "/opt/c/" + C1]),
            (names[1], "/app/libB.so", NOT_FOUND % "libz.so.1"),
        ):
            r = subprocess.run(
                ["chroot", top, "/bin/oracle", file],
                capture_output=True,
                text=True,
                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
            )
            rows = r.stdout.splitlines()
            oracle = {
                "verdict": "ok",
                "map": [x[2:] for x in rows if x[:2] == "M "],
                "error": None,
                "stderr": r.stderr,
            }
            fails = [x[2:] for x in rows if x[:2] == "R " and x != "R ok"]
            if fails or r.returncode:
                oracle.update(verdict="fail", error=fails[0] if fails else r.stderr)
            diff = answer = None
            if setting.ortfit:
                answer = trees.run_ortfit(
                    setting, {"files": [], "file": file, "options": ["--root", top]}
                )
                diff = trees.differ(oracle, answer)
            tally.check(name, expect, oracle, diff, answer, top)
    finally:
        shutil.rmtree(top, ignore_errors=True)


def musl(args, setting, tally):
    """musl's loader has other words. Its program says so by its interpreter."""
    name = "musl: the error text"
    if not shutil.which("musl-gcc"):
        return tally.skip(name, "musl-gcc is not installed")
    prog = os.path.join(setting.base, "oracle-musl")
    src = os.path.join(trees.HERE, "harness.c")
    r = subprocess.run(["musl-gcc", "-o", prog, src], capture_output=True, text=True)
    if r.returncode:
        return tally.skip(name, "musl-gcc: " + r.stderr.strip()[-200:])
    files = [elf("libA.so", ["libB.so.1"]), elf("d2/libB.so.1", [C1])]
    _, tree, _ = case(name, files, None, env=llp("@/d2"), exe=prog)
    try:
        trees.make(setting, tree)
        oracle, diff, answer = ask(setting, tree)
        tally.check(
            name,
            "Error loading shared library libC.so.1: No such file or directory "
            "(needed by @/d2/libB.so.1)",
            oracle,
            diff,
            answer,
            setting.top,
        )
        trees.remove(setting, tree)
        tree["files"].append(elf("d2/" + C1))
        trees.make(setting, tree)
        oracle, diff, answer = ask(setting, tree)
        tally.check("musl: all there", 3, oracle, diff, answer, setting.top)
    finally:
        trees.remove(setting, tree)
        os.unlink(prog)


def run(args, setting):
    """The cases that need root first, then the others as nobody."""
    tally = Tally()
    for special in (secure, root_places, musl):
        if not args.only or args.only in special.__name__:
            special(args, setting, tally)
    setting.drop()
    import case_files, case_names, case_symbols  # which are written in terms of this file

    more = case_names.ALL + case_symbols.ALL + case_files.ALL
    for name, tree, expect in LISTED + OTHERS + more:
        if args.only and args.only not in name:
            continue
        why = needs(tree, setting)
        if why:
            tally.skip(name, why)
            continue
        try:
            trees.make(setting, tree)
            oracle, diff, answer = ask(setting, tree)
            tally.check(name, expect, oracle, diff, answer, setting.top)
            if args.keep and diff:
                import oracle as runner

                runner.keep(args, setting, tree, "case-" + name.replace(" ", "-").replace("/", "-"))
        finally:
            trees.remove(setting, tree)
    for m in setting.missing:
        print("not tested: " + m)
    print("%d passed, %d failed, %d did not run" % (tally.passed, tally.failed, tally.skipped))
    sys.stdout.flush()
    return 1 if tally.failed else 0
