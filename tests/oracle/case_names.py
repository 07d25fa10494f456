"""More fixed cases: search paths and names.

Expected is what the real loader (glibc 2.36) said; None = whatever it says today.
"""

from cases import A_C, C1, NODEFLIB, NOT_FOUND, case, elf, exe, link, llp, raw, ref, folder, entries

SLASHED = "./sub/libC.so.1"
LONG = "lib" + "x" * 248 + ".so"
TOO_LONG = "lib" + "x" * 280 + ".so"


PATHS = [
    case(
        "rpath and runpath in one object: rpath does not count",
        [elf("libA.so", [C1], rpath="@/d1", runpath="@/d2"), elf("d1/" + C1), elf("d2/" + C1)],
        ["./libA.so", "@/d2/libC.so.1"],
    ),
    case(
        "rpath beside a runpath that has nothing",
        [elf("libA.so", [C1], rpath="@/d1", runpath="@/nowhere"), elf("d1/" + C1)],
        NOT_FOUND % C1,
    ),
    case(
        "rpath beside an empty runpath",
        [elf("libA.so", [C1], rpath="@/d1", runpath=""), elf("d1/" + C1)],
        NOT_FOUND % C1,
    ),
    case(
        "rpath of the executable serves a library's needs",
        [exe(rpath="@/d1"), A_C, elf("d1/" + C1)],
        ["./libA.so", "@/d1/libC.so.1"],
        exe="@/bin/prog",
    ),
    case(
        "rpath of the library before that of the executable",
        [exe(rpath="@/d1"), elf("libA.so", [C1], rpath="@/d2"), elf("d1/" + C1), elf("d2/" + C1)],
        ["./libA.so", "@/d2/libC.so.1"],
        exe="@/bin/prog",
    ),
    case(
        "rpath of the executable does not serve a library with runpath",
        [exe(rpath="@/d1"), elf("libA.so", [C1], runpath="@/nowhere"), elf("d1/" + C1)],
        NOT_FOUND % C1,
        exe="@/bin/prog",
    ),
    case(
        "rpath of the executable before LD_LIBRARY_PATH",
        [exe(rpath="@/d1"), A_C, elf("d1/" + C1), elf("d2/" + C1)],
        ["./libA.so", "@/d1/libC.so.1"],
        exe="@/bin/prog",
        env=llp("@/d2"),
    ),
    case(
        "runpath of a parent is not inherited",
        [
            elf("libA.so", ["libB.so.1"], runpath="@/d1:@/d2"),
            elf("d1/libB.so.1", [C1]),
            elf("d2/" + C1),
        ],
        NOT_FOUND % C1,
    ),
    case(
        "an object with runpath in the middle of an rpath chain is skipped",
        [
            elf("libA.so", ["libB.so.1"], rpath="@/d1:@/d2"),
            elf("d1/libB.so.1", ["libD.so.1"], runpath="@/d1"),
            elf("d1/libD.so.1", [C1]),
            elf("d2/" + C1),
        ],
        ["./libA.so", "@/d1/libB.so.1", "@/d1/libD.so.1", "@/d2/libC.so.1"],
    ),
    case(
        "the chain goes by who asked first",
        [
            elf("libA.so", ["libB.so.1", "libD.so.1"], rpath="@/d1"),
            elf("d1/libB.so.1", ["libE.so.1"], rpath="@/d2"),
            elf("d1/libD.so.1", ["libE.so.1"], rpath="@/d3"),
            elf("d2/libE.so.1", [C1]),
            elf("d3/libE.so.1", []),
            elf("d3/" + C1),
        ],
        NOT_FOUND % C1,
    ),
    case(
        "$ORIGIN in the rpath of the executable",
        [exe(rpath="$ORIGIN/../d1"), A_C, elf("d1/" + C1)],
        ["./libA.so", "@/bin/../d1/libC.so.1"],
        exe="@/bin/prog",
    ),
    case(
        "$ORIGIN in the runpath of the executable for a bare name",
        [exe(runpath="${ORIGIN}/../d1"), elf("d1/" + C1)],
        ["@/bin/../d1/libC.so.1"],
        exe="@/bin/prog",
        file=C1,
    ),
    case(
        "a bare name through the executable's runpath, needs beside it",
        [exe(runpath="@/d1"), elf("d1/libA.so.1", [C1]), elf("d1/" + C1)],
        NOT_FOUND % C1,
        exe="@/bin/prog",
        file="libA.so.1",
    ),
    case(
        "a bare name through the executable's rpath, needs beside it",
        [exe(rpath="@/d1"), elf("d1/libA.so.1", [C1]), elf("d1/" + C1)],
        ["@/d1/libA.so.1", "@/d1/libC.so.1"],
        exe="@/bin/prog",
        file="libA.so.1",
    ),
    case(
        "$ORIGIN of a file reached by a symlink to the file",
        [
            elf("real/libA.so", [C1], runpath="$ORIGIN"),
            elf("real/" + C1),
            link("ln/libA.so", "../real/libA.so"),
        ],
        NOT_FOUND % C1,
        file="./ln/libA.so",
    ),
    case(
        "$ORIGIN with .. in it",
        [elf("a/b/libA.so", [C1], runpath="$ORIGIN/../c"), elf("a/c/" + C1)],
        ["./a/../a/b/libA.so", "@/./a/../a/b/../c/libC.so.1"],
        file="./a/../a/b/libA.so",
    ),
    case(
        "$ORIGIN/.. of a folder symlink goes by the file system",
        [
            elf("real/x/libA.so", [C1], runpath="$ORIGIN/../d1"),
            elf("real/d1/" + C1),
            elf("d1/" + C1),
            link("ln", "real/x"),
        ],
        ["./ln/libA.so", "@/./ln/../d1/libC.so.1"],
        file="./ln/libA.so",
    ),
    case(
        "$ORIGIN twice in one element",
        [elf("libA.so", [C1], runpath="$ORIGIN$ORIGIN"), elf(C1)],
        NOT_FOUND % C1,
    ),
    case(
        "$ORIGIN in the middle",
        [elf("libA.so", [C1], runpath="/./$ORIGIN"), elf(C1)],
        ["./libA.so", "/./@/./libC.so.1"],
    ),
    case(
        "${ORIGIN without an end",
        [elf("libA.so", [C1], runpath="${ORIGIN"), elf(C1)],
        NOT_FOUND % C1,
    ),
    case(
        "${LIB}",
        [elf("libA.so", [C1], runpath="$ORIGIN/${LIB}"), elf("lib/x86_64-linux-gnu/" + C1)],
        ["./libA.so", "@/./lib/x86_64-linux-gnu/libC.so.1"],
    ),
    case(
        "$LIB64 is no token",
        [elf("libA.so", [C1], runpath="$ORIGIN/$LIB64"), elf("$LIB64/" + C1)],
        ["./libA.so", "@/./$LIB64/libC.so.1"],
    ),
    case(
        "an unknown token",
        [elf("libA.so", [C1], runpath="$ORIGIN/$OSNAME"), elf("$OSNAME/" + C1)],
        ["./libA.so", "@/./$OSNAME/libC.so.1"],
    ),
    case(
        "a dollar alone",
        [elf("libA.so", [C1], runpath="$ORIGIN/$"), elf("$/" + C1)],
        ["./libA.so", "@/./$/libC.so.1"],
    ),
    case(
        "$origin in small letters",
        [elf("libA.so", [C1], runpath="$origin"), elf(C1)],
        NOT_FOUND % C1,
    ),
    case(
        "$PLATFORM in NEEDED",
        [elf("libA.so", ["$ORIGIN/lib$PLATFORM.so"]), elf("libx86_64.so")],
        None,
    ),
    case(
        "$LIB in NEEDED without a slash",
        [elf("libA.so", ["$LIB"]), elf("x")],
        NOT_FOUND % "lib/x86_64-linux-gnu",
    ),
    case(
        "a relative rpath element",
        [elf("libA.so", [C1], rpath="./d1"), elf("d1/" + C1)],
        ["./libA.so", "./d1/libC.so.1"],
    ),
    case(
        "a rpath element with ..",
        [elf("sub/libA.so", [C1], rpath="../d1"), elf("d1/" + C1)],
        ["./libA.so", "../d1/libC.so.1"],
        cwd="sub",
    ),
    case(
        "trailing slashes",
        [elf("libA.so", [C1], runpath="@/d1///"), elf("d1/" + C1)],
        ["./libA.so", "@/d1/libC.so.1"],
    ),
    case(
        "double slashes inside",
        [elf("libA.so", [C1], runpath="@//d1"), elf("d1/" + C1)],
        ["./libA.so", "@//d1/libC.so.1"],
    ),
    case(
        "dots inside",
        [elf("libA.so", [C1], runpath="@/./d2/../d1/."), elf("d1/" + C1), folder("d2")],
        ["./libA.so", "@/./d2/../d1/./libC.so.1"],
    ),
    case(
        "an element . ", [elf("libA.so", [C1], runpath="."), elf(C1)], ["./libA.so", "./libC.so.1"]
    ),
    case("an element /", [elf("libA.so", [C1], runpath="/"), elf(C1)], NOT_FOUND % C1),
    case("an element //", [elf("libA.so", [C1], runpath="//"), elf(C1)], NOT_FOUND % C1),
    case(
        "a leading colon",
        [elf("libA.so", [C1], runpath=":@/d1"), elf("d1/" + C1), elf(C1)],
        ["./libA.so", "libC.so.1"],
    ),
    case(
        "two colons inside",
        [elf("libA.so", [C1], rpath="@/nowhere::@/d1"), elf("d1/" + C1), elf(C1)],
        ["./libA.so", "libC.so.1"],
    ),
    case(
        "a semicolon in runpath is part of the name",
        [elf("libA.so", [C1], runpath="@/d1;@/d2"), elf("d2/" + C1)],
        NOT_FOUND % C1,
    ),
    case(
        "a blank in an element",
        [elf("libA.so", [C1], runpath="@/d 1"), elf("d 1/" + C1)],
        ["./libA.so", "@/d 1/libC.so.1"],
    ),
    case(
        "a tilde is no home",
        [elf("libA.so", [C1], runpath="~/d1"), elf("~/d1/" + C1)],
        ["./libA.so", "~/d1/libC.so.1"],
    ),
    case("LD_LIBRARY_PATH is one colon", [A_C, elf(C1)], ["./libA.so", "libC.so.1"], env=llp(":")),
    case(
        "LD_LIBRARY_PATH is one semicolon", [A_C, elf(C1)], ["./libA.so", "libC.so.1"], env=llp(";")
    ),
    case("LD_LIBRARY_PATH is empty", [A_C, elf(C1)], NOT_FOUND % C1, env=llp("")),
    case(
        "LD_LIBRARY_PATH names a file",
        [A_C, elf("d1"), elf("d2/" + C1)],
        ["./libA.so", "@/d2/libC.so.1"],
        env=llp("@/d1:@/d2"),
    ),
    case(
        "LD_LIBRARY_PATH has a folder that may not be searched",
        [A_C, elf("d1/" + C1), folder("d1", mode=0), elf("d2/" + C1)],
        ["./libA.so", "@/d2/libC.so.1"],
        env=llp("@/d1:@/d2"),
    ),
    case(
        "LD_LIBRARY_PATH has a folder that may be searched but not listed",
        [A_C, elf("d1/" + C1), folder("d1", mode=0o311)],
        ["./libA.so", "@/d1/libC.so.1"],
        env=llp("@/d1"),
    ),
    case(
        "LD_LIBRARY_PATH only with a forbidden folder",
        [A_C, elf("d1/" + C1), folder("d1", mode=0)],
        NOT_FOUND % C1,
        env=llp("@/d1"),
    ),
    case(
        "LD_LIBRARY_PATH with a folder that loops",
        [A_C, link("d1", "d1"), elf("d2/" + C1)],
        ["./libA.so", "@/d2/libC.so.1"],
        env=llp("@/d1:@/d2"),
    ),
    case(
        "LD_LIBRARY_PATH with a relative folder that loops",
        [A_C, link("d1", "d1"), elf("d2/" + C1)],
        NOT_FOUND % C1,
        env=llp("d1:@/d2"),
    ),
    case(
        "LD_LIBRARY_PATH with an element longer than a path",
        [A_C, elf("d2/" + C1)],
        ["./libA.so", "@/d2/libC.so.1"],
        env=llp("/" + "y/" * 2100 + ":@/d2"),
    ),
    case(
        "LD_LIBRARY_PATH with an element of 300 letters",
        [A_C, elf("d2/" + C1)],
        ["./libA.so", "@/d2/libC.so.1"],
        env=llp("/" + "y" * 300 + ":@/d2"),
    ),
    case(
        "LD_LIBRARY_PATH twice the same",
        [A_C, elf("d2/" + C1)],
        ["./libA.so", "@/d2/libC.so.1"],
        env=llp("@/d1:@/d1:@/d2:@/d2"),
    ),
    case(
        "LD_LIBRARY_PATH with 3000 elements",
        [A_C, elf("d2/" + C1)],
        ["./libA.so", "@/d2/libC.so.1"],
        env=llp(":".join("/n%d" % i for i in range(3000)) + ":@/d2"),
    ),
    case(
        "$LIB in LD_LIBRARY_PATH",
        [A_C, elf("lib/x86_64-linux-gnu/" + C1)],
        ["./libA.so", "@/lib/x86_64-linux-gnu/libC.so.1"],
        env=llp("@/$LIB"),
    ),
    case(
        "glibc-hwcaps v4 where the CPU lacks it, or has it",
        [A_C, elf("d1/" + C1), elf("d1/glibc-hwcaps/x86-64-v4/" + C1)],
        None,
        env=llp("@/d1"),
    ),
    case(
        "glibc-hwcaps v1 is no subfolder",
        [A_C, elf("d1/" + C1), elf("d1/glibc-hwcaps/x86-64-v1/" + C1)],
        ["./libA.so", "@/d1/libC.so.1"],
        env=llp("@/d1"),
    ),
    case(
        "only in glibc-hwcaps",
        [A_C, elf("d1/glibc-hwcaps/x86-64-v2/" + C1)],
        ["./libA.so", "@/d1/glibc-hwcaps/x86-64-v2/libC.so.1"],
        env=llp("@/d1"),
    ),
    case(
        "glibc-hwcaps in the working folder",
        [A_C, elf("glibc-hwcaps/x86-64-v2/" + C1)],
        ["./libA.so", "glibc-hwcaps/x86-64-v2/libC.so.1"],
        env=llp(":"),
    ),
    case(
        "glibc-hwcaps in a system folder",
        [A_C, elf("/usr/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v2/" + C1)],
        ["./libA.so", "/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v2/libC.so.1"],
    ),
    case(
        "glibc-hwcaps with a damaged file",
        [A_C, elf("d1/" + C1), raw("d1/glibc-hwcaps/x86-64-v2/" + C1)],
        "@/d1/glibc-hwcaps/x86-64-v2/libC.so.1: file too short",
        env=llp("@/d1"),
    ),
    case(
        "glibc-hwcaps of 32 bits",
        [A_C, elf("d1/" + C1), elf("d1/glibc-hwcaps/x86-64-v2/" + C1, head={"class": 1})],
        ["./libA.so", "@/d1/libC.so.1"],
        env=llp("@/d1"),
    ),
    case(
        "glibc-hwcaps is a file",
        [A_C, elf("d1/" + C1), raw("d1/glibc-hwcaps", "00")],
        ["./libA.so", "@/d1/libC.so.1"],
        env=llp("@/d1"),
    ),
    case(
        "a hwcaps folder is a symlink",
        [A_C, elf("d1/" + C1), elf("x/" + C1), link("d1/glibc-hwcaps/x86-64-v2", "../../x")],
        ["./libA.so", "@/d1/glibc-hwcaps/x86-64-v2/libC.so.1"],
        env=llp("@/d1"),
    ),
    case(
        "legacy x86_64 folder",
        [A_C, elf("d1/" + C1), elf("d1/x86_64/" + C1)],
        None,
        env=llp("@/d1"),
    ),
    case(
        "legacy tls/x86_64 folder",
        [A_C, elf("d1/tls/" + C1), elf("d1/tls/x86_64/" + C1)],
        None,
        env=llp("@/d1"),
    ),
    case(
        "legacy sse2 folder is none on x86_64",
        [A_C, elf("d1/" + C1), elf("d1/sse2/" + C1)],
        ["./libA.so", "@/d1/libC.so.1"],
        env=llp("@/d1"),
    ),
    case(
        "hwcaps before legacy",
        [A_C, elf("d1/tls/" + C1), elf("d1/glibc-hwcaps/x86-64-v2/" + C1)],
        ["./libA.so", "@/d1/glibc-hwcaps/x86-64-v2/libC.so.1"],
        env=llp("@/d1"),
    ),
    case(
        "a system folder before another",
        [A_C, elf("/usr/lib/" + C1), elf("/usr/lib/x86_64-linux-gnu/" + C1)],
        ["./libA.so", "/lib/x86_64-linux-gnu/libC.so.1"],
    ),
    case(
        "NODEFLIB still uses the cache outside the system folders",
        [elf("libA.so", [C1], flags_1=NODEFLIB), elf("d1/" + C1)],
        ["./libA.so", "@/d1/libC.so.1"],
        cache=entries((C1, "@/d1/" + C1)),
    ),
    case(
        "NODEFLIB refuses the cache in system folders",
        [elf("libA.so", [C1], flags_1=NODEFLIB), elf("/usr/lib/" + C1)],
        "libC.so.1: cannot open shared object file",
        cache=entries((C1, "/usr/lib/" + C1)),
    ),
    case(
        "NODEFLIB of the parent does not bind the child",
        [
            elf("libA.so", ["libB.so"], flags_1=NODEFLIB, runpath="$ORIGIN"),
            elf("libB.so", [C1]),
            elf("/usr/lib/" + C1),
        ],
        ["./libA.so", "@/./libB.so", "/lib/libC.so.1"],
    ),
    case(
        "NODEFLIB of the executable",
        [exe(flags_1=NODEFLIB), A_C, elf("/usr/lib/" + C1)],
        "nostart",
        exe="@/bin/prog",
    ),
    case(
        "NODEFLIB of the executable for a bare name",
        [exe(flags_1=NODEFLIB), elf("/usr/lib/" + C1)],
        "nostart",
        exe="@/bin/prog",
        file=C1,
    ),
    case(
        "LD_ORIGIN_PATH does not count",
        [exe(rpath="$ORIGIN/../d1"), A_C, elf("d1/" + C1), elf("e/d1/" + C1)],
        ["./libA.so", "@/bin/../d1/libC.so.1"],
        exe="@/bin/prog",
        env={"LD_ORIGIN_PATH": "@/e/bin"},
    ),
    case(
        "LD_AUDIT that is not there",
        [elf("libA.so")],
        ["./libA.so"],
        env={"LD_AUDIT": "@/nowhere.so"},
    ),
    case(
        "LD_DEBUG does not change the answer",
        [A_C],
        NOT_FOUND % C1,
        env={"LD_DEBUG": "unused", "LD_DEBUG_OUTPUT": "@/out"},
    ),
    case(
        "LD_RUN_PATH does not count",
        [A_C, elf("d1/" + C1)],
        NOT_FOUND % C1,
        env={"LD_RUN_PATH": "@/d1"},
    ),
    case(
        "LD_LIBRARY_PATH set twice in one string with spaces",
        [A_C, elf("d1/" + C1)],
        NOT_FOUND % C1,
        env=llp(" @/d1"),
    ),
]

NAMES = [
    case(
        "NEEDED with a relative path",
        [elf("libA.so", ["sub/" + C1]), elf("sub/" + C1)],
        ["./libA.so", "sub/libC.so.1"],
    ),
    case(
        "NEEDED with a relative path goes by the working folder",
        [elf("x/libA.so", ["sub/" + C1]), elf("x/sub/" + C1)],
        NOT_FOUND % "sub/libC.so.1",
        file="./x/libA.so",
    ),
    case(
        "NEEDED with an absolute path",
        [elf("libA.so", ["@/d1/" + C1]), elf("d1/" + C1)],
        ["./libA.so", "@/d1/libC.so.1"],
    ),
    case(
        "NEEDED with an absolute path that is gone",
        [elf("libA.so", ["@/d1/" + C1]), elf("d2/" + C1)],
        NOT_FOUND % "@/d1/libC.so.1",
        env=llp("@/d2"),
    ),
    case(
        "NEEDED with ..",
        [elf("x/libA.so", ["../" + C1]), elf(C1)],
        ["./libA.so", "../libC.so.1"],
        file="./libA.so",
        cwd="x",
    ),
    case("NEEDED of itself", [elf("libA.so", ["libA.so"], runpath="$ORIGIN")], ["./libA.so"]),
    case(
        "NEEDED of itself by soname", [elf("libA.so", ["libA.so"], soname="libA.so")], ["./libA.so"]
    ),
    case(
        "NEEDED twice",
        [elf("libA.so", [C1, C1], runpath="$ORIGIN"), elf(C1)],
        ["./libA.so", "@/./libC.so.1"],
    ),
    case("NEEDED is empty", [elf("libA.so", [""])], ["./libA.so"]),
    case(
        "NEEDED is a dot",
        [elf("libA.so", ["."])],
        "/lib/x86_64-linux-gnu/.: cannot read file data: Is a directory",
    ),
    case(
        "NEEDED is a folder by path",
        [elf("libA.so", ["./sub/"]), folder("sub")],
        "./sub/: cannot read file data: Is a directory",
    ),
    case(
        "a file by path and by name is one",
        [elf("libA.so", ["./" + C1, C1], runpath="$ORIGIN"), elf(C1, soname=None)],
        ["./libA.so", "./libC.so.1"],
    ),
    case(
        "a soname with a slash",
        [elf("libA.so", [SLASHED]), elf("x/libC.so.1", soname=SLASHED)],
        ["./x/libC.so.1", "./libA.so"],
        preloads=[["l", "./x/" + C1]],
    ),
    case(
        "an empty soname",
        [elf("libA.so", [C1], runpath="$ORIGIN"), elf(C1, soname="")],
        ["./libA.so", "@/./libC.so.1"],
    ),
    case(
        "two files with one soname, asked by file names",
        [
            elf("libA.so", ["libX.so", "libY.so"], runpath="$ORIGIN"),
            elf("libX.so", soname=C1),
            elf("libY.so", soname=C1),
        ],
        ["./libA.so", "@/./libX.so", "@/./libY.so"],
    ),
    case(
        "two files with one soname, then the soname",
        [
            elf("libA.so", ["libX.so", "libY.so", C1], runpath="$ORIGIN"),
            elf("libX.so", soname=C1),
            elf("libY.so", soname=C1),
        ],
        ["./libA.so", "@/./libX.so", "@/./libY.so"],
    ),
    case(
        "the file name of one is the soname of another",
        [elf("libA.so", ["libX.so", C1], runpath="$ORIGIN"), elf("libX.so", soname=C1), elf(C1)],
        ["./libA.so", "@/./libX.so"],
    ),
    case(
        "the soname is met before the file of that name",
        [elf("libA.so", [C1, "libX.so"], runpath="$ORIGIN"), elf("libX.so", soname=C1), elf(C1)],
        ["./libA.so", "@/./libC.so.1", "@/./libX.so"],
    ),
    case(
        "a duplicate by symlink with another soname",
        [
            elf("libA.so", [C1, "libD.so"], runpath="$ORIGIN"),
            elf(C1, soname="libQ.so"),
            link("libD.so", C1),
        ],
        ["./libA.so", "@/./libC.so.1"],
    ),
    case(
        "a duplicate by hard link",
        [
            elf("libA.so", [C1, "libD.so"], runpath="$ORIGIN"),
            elf(C1, soname="libQ.so"),
            {"path": "libD.so", "kind": "hardlink", "to": C1},
        ],
        ["./libA.so", "@/./libC.so.1"],
    ),
    case(
        "a duplicate by copy",
        [
            elf("libA.so", [C1, "libD.so"], runpath="$ORIGIN"),
            elf(C1, soname="libQ.so"),
            elf("libD.so", soname="libQ.so"),
        ],
        ["./libA.so", "@/./libC.so.1", "@/./libD.so"],
    ),
    case(
        "the library of the system by another path",
        [
            elf("libA.so", ["@/d1/libc.so.6"]),
            link("d1/libc.so.6", "/lib/x86_64-linux-gnu/libc.so.6"),
        ],
        ["./libA.so"],
    ),
    case("ld.so as NEEDED", [elf("libA.so", ["ld-linux-x86-64.so.2"])], ["./libA.so"]),
    case(
        "ld.so as NEEDED by path", [elf("libA.so", ["/lib64/ld-linux-x86-64.so.2"])], ["./libA.so"]
    ),
    case(
        "ld.so as NEEDED by its other path",
        [elf("libA.so", ["/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"])],
        ["./libA.so", "/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"],
    ),
    case("the vdso as NEEDED", [elf("libA.so", ["linux-vdso.so.1"])], ["./libA.so"]),
    case(
        "linux-gate as NEEDED", [elf("libA.so", ["linux-gate.so.1"])], NOT_FOUND % "linux-gate.so.1"
    ),
    case(
        "libpthread and librt are files of their own",
        [elf("libA.so", ["libpthread.so.0", "librt.so.1", "libdl.so.2"])],
        None,
    ),
    case("FILE is empty", [], [], file=""),
    case(
        "FILE is a dot",
        [],
        "/lib/x86_64-linux-gnu/.: cannot read file data: Is a directory",
        file=".",
    ),
    case("FILE is a slash", [], "/: cannot read file data: Is a directory", file="/"),
    case(
        "FILE with a slash at its end",
        [elf("libA.so")],
        "./libA.so/: cannot open shared object file: Not a directory",
        file="./libA.so/",
    ),
    case(
        "FILE is a folder",
        [folder("d1")],
        "./d1: cannot read file data: Is a directory",
        file="./d1",
    ),
    case(
        "FILE with ..",
        [elf("libA.so"), folder("sub")],
        ["../libA.so"],
        file="../libA.so",
        cwd="sub",
    ),
    case(
        "FILE with doubled slashes",
        [elf("sub/libA.so")],
        [".//sub///libA.so"],
        file=".//sub///libA.so",
    ),
    case(
        "FILE is a bare name in the working folder",
        [elf("libA.so")],
        NOT_FOUND % "libA.so",
        file="libA.so",
    ),
    case(
        "FILE in a symlink loop",
        [link("l1", "l2"), link("l2", "l1")],
        "./l1: cannot open shared object file: Too many levels of symbolic links",
        file="./l1",
    ),
    case(
        "FILE below a symlink loop",
        [link("l1", "l1")],
        "./l1/libA.so: cannot open shared object file: Too many levels of symbolic links",
        file="./l1/libA.so",
    ),
    case(
        "FILE below 41 symlinks",
        [link("l%d" % i, "l%d" % (i + 1)) for i in range(41)] + [elf("l41")],
        "./l0: cannot open shared object file: Too many levels of symbolic links",
        file="./l0",
    ),
    case(
        "FILE below 40 symlinks",
        [link("l%d" % i, "l%d" % (i + 1)) for i in range(40)] + [elf("l40")],
        ["./l0"],
        file="./l0",
    ),
    case(
        "FILE with $ORIGIN", [elf("libA.so")], NOT_FOUND % "$ORIGIN/libA.so", file="$ORIGIN/libA.so"
    ),
    case(
        "FILE with $ORIGIN of the executable",
        [exe(), elf("bin/libA.so")],
        ["@/bin/libA.so"],
        file="$ORIGIN/libA.so",
        exe="@/bin/prog",
    ),
    case("FILE with a token and no slash", [elf("$LIB")], ["./$LIB"], file="$LIB", env=llp(".")),
    case("FILE with $LIB", [], None, file="/$LIB/libm.so.6"),
    case(
        "FILE is longer than a name",
        [],
        "./libxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.so: cannot open shared object file: File name too long",
        file="./" + TOO_LONG,
    ),
    case(
        "FILE is a bare name longer than a name",
        [],
        "libxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.so: cannot open shared object file: File name too long",
        file=TOO_LONG,
    ),
    case(
        "FILE is a bare name longer than a name, with a path",
        [],
        "libxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.so: cannot open shared object file: File name too long",
        file=TOO_LONG,
        env=llp("@"),
    ),
    case("FILE is longer than a path", [], None, file="/" + "z/" * 2200 + "libA.so"),
    case(
        "a name as long as may be",
        [elf("libA.so", [LONG], runpath="$ORIGIN"), elf(LONG)],
        [
            "./libA.so",
            "@/./libxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.so",
        ],
    ),
    case(
        "a NEEDED longer than may be",
        [elf("libA.so", [TOO_LONG], runpath="$ORIGIN")],
        "libxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.so: cannot open shared object file: File name too long",
    ),
    case(
        "a NEEDED longer than may be, relative folder",
        [elf("libA.so", [TOO_LONG], runpath=".")],
        "libxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.so: cannot open shared object file: File name too long",
    ),
    case(
        "a name with a quote",
        [elf("libA.so", ["lib'\"`.so"], runpath="$ORIGIN"), elf("lib'\"`.so")],
        ["./libA.so", "@/./lib'\"`.so"],
    ),
    case(
        "a missing name with a quote and a backslash",
        [elf("libA.so", ['lib"\\.so'])],
        'lib"\\.so: cannot open shared object file: No such file or directory',
    ),
    case(
        "a missing name with a percent",
        [elf("libA.so", ["lib%s%n.so"])],
        "lib%s%n.so: cannot open shared object file: No such file or directory",
    ),
    case(
        "a missing name with a newline",
        [elf("libA.so", ["lib\nC.so"])],
        "lib\nC.so: cannot open shared object file: No such file or directory",
    ),
    case(
        "a missing name with control characters",
        [elf("libA.so", ["lib\x02\x1b[31m\x7f.so"])],
        NOT_FOUND % "lib\u0002\u001b[31m.so",
    ),
    case(
        "a name with a newline",
        [elf("libA.so", ["lib\nC.so"], runpath="$ORIGIN"), elf("lib\nC.so")],
        ["./libA.so", "@/./lib\nC.so"],
    ),
    case(
        "a name in UTF-8",
        [elf("libA.so", ["libÄ€😀.so"], runpath="$ORIGIN"), elf("libÄ€😀.so")],
        ["./libA.so", "@/./libÄ€😀.so"],
    ),
    case("a missing name in UTF-8", [elf("libA.so", ["libÄ€😀.so"])], NOT_FOUND % "libÄ€😀.so"),
    case("a name with a blank", [elf("lib A.so")], ["./lib A.so"], file="./lib A.so"),
    case("a name that begins with a dash", [elf("-libA.so")], ["./-libA.so"], file="./-libA.so"),
    case(
        "a chain of 500",
        [elf("libA.so", ["l0.so"], rpath="$ORIGIN")]
        + [elf("l%d.so" % i, ["l%d.so" % (i + 1)] if i < 499 else []) for i in range(500)],
        501,
    ),
    case(
        "500 wide",
        [elf("libA.so", ["l%d.so" % i for i in range(500)], rpath="$ORIGIN")]
        + [elf("l%d.so" % i) for i in range(500)],
        501,
    ),
    case(
        "1000 NEEDED, none there",
        [elf("libA.so", ["n%d.so" % i for i in range(1000)])],
        NOT_FOUND % "n0.so",
    ),
    case(
        "a cycle of three with a symbol missing in the middle",
        [
            elf("libA.so", ["libB.so"], rpath="$ORIGIN", soname="libA.so", refs=[ref("g")]),
            elf("libB.so", [C1], refs=[ref("g")]),
            elf(C1, ["libA.so"], refs=[ref("g")]),
        ],
        "@/./libC.so.1: undefined symbol: g",
    ),
    case(
        "a cycle below",
        [
            elf("libA.so", ["libB.so"], rpath="$ORIGIN"),
            elf("libB.so", [C1], refs=[ref("g")]),
            elf(C1, ["libB.so"], refs=[ref("h")]),
        ],
        "@/./libB.so: undefined symbol: g",
    ),
]

ALL = PATHS + NAMES
