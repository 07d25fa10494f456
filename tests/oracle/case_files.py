"""More fixed cases: damaged and odd files, files of the compiler, ld.so.cache.

Expected is what the real loader (glibc 2.36) said; None = whatever it says today.
"""

from cases import A_C, C1, G, PIE, NOT_FOUND, case, elf, exe, link, llp, raw, ref, folder, entries

AR = b"!<arch>\n" + b" " * 120


def cc(path, text="", *args, **more):
    """A file that the compiler makes."""
    return dict({"path": path, "kind": "cc", "source": text, "args": list(args)}, **more)


def fifo(path):
    return {"path": path, "kind": "fifo"}


def both(name, spec, **more):
    """The same object opened by path, and met in a search with a sound one behind it."""
    yield case(name + ", by path", [elf("libA.so", **spec)], None, **more)
    yield case(
        name + ", in a search",
        [A_C, elf("d1/" + C1, **spec), elf("d2/" + C1)],
        None,
        env=llp("@/d1:@/d2"),
        **more,
    )


FILES = [
    case("FILE is a FIFO", [fifo("libA.so")], "hang"),
    case(
        "a FIFO first in a search",
        [A_C, fifo("d1/" + C1), elf("d2/" + C1)],
        "hang",
        env=llp("@/d1:@/d2"),
    ),
    case("FILE is /dev/null", [], "/dev/null: file too short", file="/dev/null"),
    case("FILE is /dev/zero", [], "/dev/zero: invalid ELF header", file="/dev/zero"),
    case("FILE is /dev/urandom", [], "/dev/urandom: invalid ELF header", file="/dev/urandom"),
    case(
        "FILE is a symlink to /dev/null",
        [link("libA.so", "/dev/null")],
        "./libA.so: file too short",
    ),
    case(
        "FILE is /proc/self/exe",
        [],
        "/proc/self/exe: cannot dynamically load position-independent executable",
        file="/proc/self/exe",
    ),
    case(
        "FILE is a folder of /proc",
        [],
        "/proc/self/fd: cannot read file data: Is a directory",
        file="/proc/self/fd",
    ),
    case("FILE is a text of /proc", [], "/proc/version: invalid ELF header", file="/proc/version"),
    case("an ar archive", [raw("libA.so", AR.hex())], "./libA.so: invalid ELF header"),
    case("a short text", [raw("libA.so", b"hello\n".hex())], "./libA.so: file too short"),
    case(
        "a short text first in a search",
        [A_C, raw("d1/" + C1, b"INPUT(x)\n".hex()), elf("d2/" + C1)],
        "@/d1/libC.so.1: file too short",
        env=llp("@/d1:@/d2"),
    ),
    case("63 bytes of an ELF", [elf("libA.so", cut=63)], "./libA.so: file too short"),
    case("64 bytes of an ELF", [elf("libA.so", cut=64)], "./libA.so: cannot read file data"),
    case(
        "cut inside the program headers",
        [elf("libA.so", cut=100)],
        "./libA.so: cannot read file data",
    ),
    case("cut in its last byte", [elf("libA.so", cut=-1)], ["./libA.so"]),
    case(
        "cut before the data segment", [elf("libA.so", [C1], layout="spread", cut="data")], "abort"
    ),
    case("only zeros", [raw("libA.so", "00" * 1000)], "./libA.so: invalid ELF header"),
    case(
        "the magic, then zeros",
        [raw("libA.so", "7f454c46" + "00" * 996)],
        "./libA.so: wrong ELF class: ELFCLASS32",
    ),
    case(
        "a web page",
        [raw("libA.so", (b"<!DOCTYPE html>\n" * 20).hex())],
        "./libA.so: invalid ELF header",
    ),
    case(
        "a git-lfs pointer",
        [
            raw(
                "libA.so",
                b"version https://git-lfs.github.com/spec/v1\noid sha256:0123456789abcdef\nsize 12\n".hex(),
            )
        ],
        "./libA.so: invalid ELF header",
    ),
    case(
        "a script",
        [raw("libA.so", (b"#!/bin/sh\n" + b"exit 0\n" * 20).hex())],
        "./libA.so: invalid ELF header",
    ),
    case(
        "a PE file", [raw("libA.so", (b"MZ" + b"\0" * 200).hex())], "./libA.so: invalid ELF header"
    ),
    case(
        "a Mach-O file",
        [raw("libA.so", (b"\xcf\xfa\xed\xfe" + b"\0" * 200).hex())],
        "./libA.so: invalid ELF header",
    ),
    case("an empty file by path", [raw("libA.so")], "./libA.so: file too short"),
    case(
        "a large sparse file",
        [{"path": "libA.so", "kind": "sparse", "size": 1 << 40}],
        "./libA.so: invalid ELF header",
    ),
    *both("e_type 0", {"head": {"type": 0}}),
    *both("a core file", {"head": {"type": 4}}),
    *both("e_type of a system", {"head": {"type": 0xFE00}}),
    *both("a big-endian machine", {"head": {"data": 2, "machine": 0x1600}}),
    *both("EM_386 in a 64-bit file", {"head": {"machine": 3}}),
    *both("class 0", {"head": {"class": 0}}),
    *both("class 3", {"head": {"class": 3}}),
    *both("FreeBSD's ABI", {"head": {"osabi": 9}}),
    *both("GNU's ABI", {"head": {"osabi": 3}}),
    *both("an ABI version", {"head": {"abiversion": 1}}),
    *both("padding that is used", {"head": {"pad": 1}}),
    *both("version 2 in the identification", {"head": {"iversion": 2}}),
    *both("e_version 0", {"head": {"version": 0}}),
    *both("65535 program headers", {"head": {"phnum": 65535}}),
    *both("no program headers", {"head": {"phnum": 0}}),
    *both("e_phoff behind the end", {"head": {"phoff": 1 << 20}}),
    *both("e_phoff negative", {"head": {"phoff": (1 << 64) - 4096}}),
    *both("e_phentsize 32", {"head": {"phentsize": 32}}),
    *both("p_align 3", {"ph": {"load": {"align": 3}}}),
    *both("p_align 0", {"ph": {"load": {"align": 0}}}),
    *both("p_align 2 MiB", {"ph": {"load": {"align": 1 << 21}}}),
    *both("p_align 2^46", {"ph": {"load": {"align": 1 << 46}}}),
    *both("an address not congruent with its offset", {"ph": {"load": {"vaddr": 100}}}),
    *both("no PT_LOAD", {"ph": {"0": {"type": 0}, "1": {"type": 0}}}),
    *both("no PT_DYNAMIC", {"drop": ["dynamic"]}),
    *both("PT_DYNAMIC without contents", {"ph": {"dynamic": {"filesz": 0}}}),
    *both("PT_DYNAMIC that points nowhere", {"ph": {"dynamic": {"vaddr": 1 << 40}}}),
    *both(
        "a segment behind the end of the file", {"ph": {"1": {"offset": 1 << 20, "vaddr": 1 << 20}}}
    ),
    *both("a huge memory size", {"ph": {"1": {"memsz": 1 << 46}}}),
    *both("segments that overlap", {"layout": "spread", "ph": {"1": {"vaddr": 0, "offset": 0}}}),
    case("no DT_STRTAB", [elf("libA.so", dynamic_drop=["STRTAB"])], ["./libA.so"]),
    case(
        "no DT_STRTAB but needs",
        [elf("libA.so", [C1], dynamic_drop=["STRTAB"]), elf(C1)],
        "abort",
        env=llp("@"),
    ),
    case(
        "no DT_SYMTAB",
        [elf("libA.so", refs=[ref("g", bind="weak")], dynamic_drop=["SYMTAB"])],
        "abort",
    ),
    case("no DT_SYMTAB and no relocations", [elf("libA.so", dynamic_drop=["SYMTAB"])], "abort"),
    case(
        "no hash table in a library that must define",
        [
            elf("libA.so", [C1], runpath="$ORIGIN", refs=[ref("g")]),
            elf(C1, defs=[G], dynamic_drop=["GNU_HASH"]),
        ],
        "./libA.so: undefined symbol: g",
    ),
    case(
        "no DT_RELAENT",
        [elf("libA.so", refs=[ref("g", bind="weak", reloc="glob")], dynamic_drop=["RELAENT"])],
        "abort",
    ),
    case(
        "no DT_PLTREL",
        [elf("libA.so", refs=[ref("g", bind="weak")], dynamic_drop=["PLTREL"])],
        ["./libA.so"],
    ),
    case(
        "no DT_VERSYM",
        [
            elf(
                "libA.so",
                [C1],
                runpath="$ORIGIN",
                verneed=[[C1, [["V1", False]]]],
                refs=[ref("g", ver=[C1, "V1"])],
                dynamic_drop=["VERSYM"],
            ),
            elf(C1, verdef=["V1"], defs=[dict(G, ver="V1")]),
        ],
        "abort",
    ),
    case(
        "no DT_PLTGOT",
        [elf("libA.so", refs=[ref("g", bind="weak")], dynamic_drop=["PLTGOT"])],
        "abort",
        lazy=True,
    ),
    case("no DT_STRSZ", [elf("libA.so", dynamic_drop=["STRSZ"])], ["./libA.so"]),
    case("no DT_SYMENT", [elf("libA.so", dynamic_drop=["SYMENT"])], ["./libA.so"]),
]

COMPILED = [
    case(
        "a library with IFUNC",
        [
            cc(
                "libA.so",
                'int a(void){return 1;} static void *r(void){return a;} int f(void) __attribute__((ifunc("r")));',
            ),
        ],
        ["./libA.so"],
    ),
    case(
        "a reference to another library's IFUNC",
        [
            cc(
                "libC.so.1",
                'static int a(void){return 1;} static void *r(void){return a;} int f(void) __attribute__((ifunc("r")));',
                "-Wl,-soname,libC.so.1",
            ),
            cc(
                "libA.so",
                "int f(void); int g(void){return f();}",
                "@/libC.so.1",
                "-Wl,-rpath,$ORIGIN",
            ),
        ],
        ["./libA.so", "@/./libC.so.1"],
    ),
    case(
        "DT_RELR",
        [
            cc(
                "libA.so",
                "int x; int *p[64] = {&x, &x, &x}; static int y; int *q = &y;",
                "-Wl,-z,pack-relative-relocs",
            )
        ],
        ["./libA.so"],
    ),
    case(
        "text relocations",
        [cc("libA.so", '__asm__(".text; .globl f; f: .quad f; .quad g"); int g;', "-Wl,-z,notext")],
        ["./libA.so"],
    ),
    case(
        "a constructor",
        [cc("libA.so", "__attribute__((constructor)) static void f(void){}")],
        ["./libA.so"],
    ),
    case(
        "a static program",
        [cc("prog", "void _start(void){}", "-static", "-no-pie")],
        "./prog: cannot dynamically load executable",
        file="./prog",
    ),
    case(
        "a static-pie program",
        [cc("prog", "void _start(void){}", "-static-pie")],
        "./prog: cannot dynamically load position-independent executable",
        file="./prog",
    ),
    case(
        "a PIE program",
        [cc("prog", "int main(void){return 0;}", "-pie", "program")],
        "./prog: cannot dynamically load position-independent executable",
        file="./prog",
    ),
    case(
        "a program that is no PIE",
        [cc("prog", "int main(void){return 0;}", "-no-pie", "program")],
        "./prog: cannot dynamically load executable",
        file="./prog",
    ),
    case(
        "an object file of the compiler",
        [cc("libA.so", "int f(void){return 0;}", "-c")],
        "./libA.so: only ET_DYN and ET_EXEC can be loaded",
    ),
    case(
        "2 MiB pages",
        [
            cc(
                "libA.so",
                "int x = 1; int *p = &x;",
                "-Wl,-z,max-page-size=2097152",
                "-Wl,-z,separate-code",
            )
        ],
        ["./libA.so"],
    ),
    case(
        "64 KiB pages",
        [cc("libA.so", "int x = 1; int *p = &x;", "-Wl,-z,max-page-size=65536")],
        ["./libA.so"],
    ),
    case(
        "no separate code",
        [cc("libA.so", "int x = 1; int *p = &x;", "-Wl,-z,noseparate-code")],
        ["./libA.so"],
    ),
    case(
        "a writable text segment",
        [cc("libA.so", "int x = 1; int *p = &x;", "-Wl,-N")],
        ["./libA.so"],
    ),
    case(
        "a big bss",
        [cc("libA.so", "static char b[100000000]; void *f(void){return b;}")],
        ["./libA.so"],
    ),
    case(
        "a file with debug information only",
        [cc("libA.so", "int x = 1; int *p = &x;", "-g", "debug-only")],
        "./libA.so: object file has no dynamic section",
    ),
    case("stripped", [cc("libA.so", "int x = 1; int *p = &x;", "-s")], ["./libA.so"]),
    case(
        "both hash tables",
        [cc("libA.so", "int x = 1; int *p = &x;", "-Wl,--hash-style=both")],
        ["./libA.so"],
    ),
    case(
        "-Bsymbolic",
        [cc("libA.so", "int f(void){return 1;} int g(void){return f();}", "-Wl,-Bsymbolic")],
        ["./libA.so"],
    ),
    case("initfirst", [cc("libA.so", "int f(void){return 1;}", "-Wl,-z,initfirst")], ["./libA.so"]),
    case("interpose", [cc("libA.so", "int f(void){return 1;}", "-Wl,-z,interpose")], ["./libA.so"]),
    case(
        "global by its own flag",
        [cc("libP.so", "int g(void){return 1;}", "-Wl,-z,global"), elf("libA.so", refs=[ref("g")])],
        "./libA.so: undefined symbol: g",
        preloads=[["l", "./libP.so"]],
    ),
    case(
        "TLS descriptors",
        [cc("libA.so", "__thread int t; int *f(void){return &t;}", "-mtls-dialect=gnu2")],
        ["./libA.so"],
    ),
    case(
        "local-dynamic TLS",
        [
            cc(
                "libA.so",
                "static __thread int t, u; int f(void){return t + u;}",
                "-ftls-model=local-dynamic",
                "-Wl,--unresolved-symbols=ignore-all",
            )
        ],
        ["./libA.so"],
    ),
    case(
        "a library of libc's, -z now",
        [
            cc(
                "libA.so",
                'int puts(const char*); int f(void){return puts("");}',
                "-lc",
                "-Wl,-z,now",
            )
        ],
        ["./libA.so"],
    ),
    case(
        "fortified and stack-protected code",
        [
            cc(
                "libA.so",
                '#include <string.h>\n#include <stdio.h>\nint f(char *s){char b[64]; strcpy(b, s); return printf("%s", b);}',
                "-O2",
                "-D_FORTIFY_SOURCE=2",
                "-fstack-protector-all",
                "-lc",
            )
        ],
        ["./libA.so"],
    ),
    case(
        "a library that wants libstdc++",
        [
            cc(
                "libA.so",
                '#include <string>\nstd::string f(){return std::string("x") + "y";}',
                "c++",
            )
        ],
        None,
    ),
    case(
        "a version script with an old and a new version",
        [
            cc(
                "libC.so.1",
                '__asm__(".symver g1,g@V1"); __asm__(".symver g2,g@@V2"); int g1(void){return 1;} int g2(void){return 2;}',
                "-Wl,-soname,libC.so.1",
                script="V1 { g; }; V2 { g; } V1;",
            ),
            cc(
                "libA.so",
                "int g(void); int f(void){return g();}",
                "@/libC.so.1",
                "-Wl,-rpath,$ORIGIN",
            ),
        ],
        ["./libA.so", "@/./libC.so.1"],
    ),
    case(
        "a section alignment of 1 MiB",
        [cc("libA.so", "__attribute__((aligned(1048576))) int x = 1;")],
        ["./libA.so"],
    ),
    case(
        "no section headers",
        [cc("libA.so", "int x = 1; int *p = &x;", "no-sections")],
        ["./libA.so"],
    ),
]

CACHES = [
    case(
        "the cache is empty",
        [A_C, elf("/usr/lib/" + C1)],
        ["./libA.so", "/lib/libC.so.1"],
        cache={"raw": ""},
    ),
    case(
        "the cache is text",
        [A_C, elf("/usr/lib/" + C1)],
        ["./libA.so", "/lib/libC.so.1"],
        cache={"raw": (b"nonsense " * 30).hex()},
    ),
    case(
        "the cache is only its header",
        [A_C, elf("d1/" + C1)],
        NOT_FOUND % C1,
        cache=entries((C1, "@/d1/" + C1), damage=48),
    ),
    case(
        "the cache is cut in its strings",
        [A_C, elf("d1/" + C1)],
        NOT_FOUND % C1,
        cache=entries((C1, "@/d1/" + C1), damage=80),
    ),
    case(
        "the cache has a bad count",
        [A_C, elf("d1/" + C1)],
        NOT_FOUND % C1,
        cache=entries((C1, "@/d1/" + C1), damage="nlibs"),
    ),
    case(
        "the cache has a bad magic",
        [A_C, elf("d1/" + C1)],
        NOT_FOUND % C1,
        cache=entries((C1, "@/d1/" + C1), damage="magic"),
    ),
    case(
        "the cache is big-endian",
        [A_C, elf("d1/" + C1)],
        NOT_FOUND % C1,
        cache=entries((C1, "@/d1/" + C1), endian=3),
    ),
    case(
        "the cache does not say its endianness",
        [A_C, elf("d1/" + C1)],
        ["./libA.so", "@/d1/libC.so.1"],
        cache=entries((C1, "@/d1/" + C1), endian=0),
    ),
    case(
        "two entries of one name: the first",
        [A_C, elf("d1/" + C1), elf("d2/" + C1)],
        ["./libA.so", "@/d1/libC.so.1"],
        cache=entries((C1, "@/d1/" + C1), (C1, "@/d2/" + C1)),
    ),
    case(
        "two entries of one name, the other way",
        [A_C, elf("d1/" + C1), elf("d2/" + C1)],
        ["./libA.so", "@/d2/libC.so.1"],
        cache=entries((C1, "@/d2/" + C1), (C1, "@/d1/" + C1)),
    ),
    case(
        "two entries, the first one's file is gone",
        [A_C, elf("d2/" + C1)],
        NOT_FOUND % C1,
        cache=entries((C1, "@/d1/" + C1), (C1, "@/d2/" + C1)),
    ),
    case(
        "names that differ by leading zeros are one",
        [elf("libA.so", ["libC.so.01"]), elf("d1/" + C1)],
        ["./libA.so", "@/d1/libC.so.1"],
        cache=entries((C1, "@/d1/" + C1)),
    ),
    case(
        "an entry that is a 32-bit file",
        [A_C, elf("d1/" + C1, head={"class": 1}), elf("/usr/lib/" + C1)],
        ["./libA.so", "/lib/libC.so.1"],
        cache=entries((C1, "@/d1/" + C1)),
    ),
    case(
        "an entry that is an empty file",
        [A_C, raw("d1/" + C1), elf("/usr/lib/" + C1)],
        "@/d1/libC.so.1: file too short",
        cache=entries((C1, "@/d1/" + C1)),
    ),
    case(
        "an entry that is a folder",
        [A_C, folder("d1/" + C1), elf("/usr/lib/" + C1)],
        "@/d1/libC.so.1: cannot read file data: Is a directory",
        cache=entries((C1, "@/d1/" + C1)),
    ),
    case(
        "an entry that is relative",
        [A_C, elf("d1/" + C1)],
        ["./libA.so", "d1/libC.so.1"],
        cache=entries((C1, "d1/" + C1)),
    ),
    case(
        "an entry with an empty path",
        [A_C, elf("/usr/lib/" + C1)],
        ["./libA.so", "/lib/libC.so.1"],
        cache=entries((C1, "")),
    ),
    case(
        "LD_LIBRARY_PATH before the cache",
        [A_C, elf("d1/" + C1), elf("d2/" + C1)],
        ["./libA.so", "@/d2/libC.so.1"],
        cache=entries((C1, "@/d1/" + C1)),
        env=llp("@/d2"),
    ),
    case(
        "runpath before the cache",
        [elf("libA.so", [C1], runpath="@/d2"), elf("d1/" + C1), elf("d2/" + C1)],
        ["./libA.so", "@/d2/libC.so.1"],
        cache=entries((C1, "@/d1/" + C1)),
    ),
    case(
        "hwcaps entries: the best",
        [A_C, elf("d1/" + C1), elf("d2/" + C1), elf("d3/" + C1)],
        2,
        cache={
            "entries": [
                {"name": C1, "path": "@/d1/" + C1},
                {"name": C1, "path": "@/d2/" + C1, "hwcaps": "x86-64-v2"},
                {"name": C1, "path": "@/d3/" + C1, "hwcaps": "x86-64-v3"},
            ]
        },
    ),
    case(
        "a hwcaps entry of an unknown level",
        [A_C, elf("d1/" + C1), elf("d2/" + C1)],
        ["./libA.so", "@/d1/libC.so.1"],
        cache={
            "entries": [
                {"name": C1, "path": "@/d1/" + C1},
                {"name": C1, "path": "@/d2/" + C1, "hwcaps": "x86-64-v9"},
            ]
        },
    ),
    case(
        "only a hwcaps entry, its file is gone",
        [A_C, elf("d1/" + C1)],
        NOT_FOUND % C1,
        cache={
            "entries": [
                {"name": C1, "path": "@/d1/" + C1},
                {"name": C1, "path": "@/d2/" + C1, "hwcaps": "x86-64-v2"},
            ]
        },
    ),
    case(
        "hwcaps entries with a damaged extension",
        [A_C, elf("d1/" + C1), elf("d2/" + C1)],
        ["./libA.so", "@/d1/libC.so.1"],
        cache={
            "damage": "ext",
            "entries": [
                {"name": C1, "path": "@/d1/" + C1},
                {"name": C1, "path": "@/d2/" + C1, "hwcaps": "x86-64-v2"},
            ],
        },
    ),
    case(
        "hwcaps entries in a cache of both formats",
        [A_C, elf("d1/" + C1), elf("d2/" + C1)],
        ["./libA.so", "@/d2/libC.so.1"],
        cache={
            "format": "compat",
            "entries": [
                {"name": C1, "path": "@/d1/" + C1},
                {"name": C1, "path": "@/d2/" + C1, "hwcaps": "x86-64-v2"},
            ],
        },
    ),
    case(
        "an entry with a legacy hwcap",
        [A_C, elf("d1/" + C1), elf("d2/" + C1)],
        None,
        cache={
            "entries": [
                {"name": C1, "path": "@/d1/" + C1},
                {"name": C1, "path": "@/d2/" + C1, "hwcap": 1 << 63},
            ]
        },
    ),
    case(
        "a cache that is not sorted",
        [A_C, elf("d1/" + C1)],
        ["./libA.so", "@/d1/libC.so.1"],
        cache={
            "sort": False,
            "entries": [
                {"name": "liba.so", "path": "/x"},
                {"name": C1, "path": "@/d1/" + C1},
                {"name": "libz.so", "path": "/y"},
                {"name": "liby.so", "path": "/y"},
            ],
        },
    ),
    case(
        "entries of all libraries by ldconfig",
        [A_C, elf("d1/" + C1), elf("d1/libZ.so")],
        ["./libA.so", "@/d1/libC.so.1"],
        cache={"ldconfig": ["@/d1"]},
    ),
    case(
        "ldconfig does not take a file whose soname differs by name",
        [elf("libA.so", ["libC.so"]), elf("d1/libC.so", soname=C1)],
        NOT_FOUND % "libC.so",
        cache={"ldconfig": ["@/d1"]},
    ),
]

ALL = FILES + COMPILED + CACHES
