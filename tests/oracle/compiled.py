"""The same trees with objects made by the compiler instead of elfwriter.

Guards against a common misunderstanding of writer and predictor: N trees that the compiler can
make are built both ways; the real loader must say the same of both, and ortfit the same as the
loader of the compiled one.
"""

import hashlib
import json
import os
import random
import shutil
import subprocess
import tempfile

import elfwriter
import gen
import oracle as runner

KEYS = {
    "soname",
    "needed",
    "rpath",
    "runpath",
    "defs",
    "refs",
    "verdef",
    "verneed",
    "hash",
    "layout",
    "stack",
    "flags_1",
    "tramp",
    "head",
    "cut",
    "tls",
}
FLAGS = {
    0x800: "nodefaultlib",
    0x40: "nodlopen",
    0x8: "nodelete",
    0x1: "now",
    0x20: "initfirst",
    0x80: "origin",
}
TRAMP = (
    "void *ortfit_tramp(void *(*f)(const char *, int), const char *n, int m)"
    '{ void *r = f(n, m); __asm__ volatile("" : : "r"(r)); return r; }\n'
)


def possible(spec):
    """Can the compiler make this object?"""
    if {k for k, v in spec.items() if v is not None and v != []} - KEYS:
        return False
    needed = spec.get("needed") or []
    if len(set(needed)) != len(needed) or "" in needed or spec.get("soname") == "":
        return False
    if spec.get("rpath") is not None and spec.get("runpath") is not None:
        return False
    if "" in (spec.get("rpath"), spec.get("runpath")) or spec.get("hash") == "none":
        return False
    if (spec.get("flags_1") or 0) not in [0] + list(FLAGS) or spec.get("stack") not in (None, 6, 7):
        return False
    tls = spec.get("tls")
    if tls and (
        not tls.get("self") or tls["align"] not in (4, 8, 16, 64) or tls["size"] % tls["align"]
    ):
        return False
    head = spec.get("head") or {}
    if set(head) & {"phentsize", "phoff", "phnum"} or isinstance(spec.get("cut"), str):
        return False
    names = [d["name"] for d in spec.get("defs") or []]
    refs = [r["name"] for r in spec.get("refs") or []]
    if len(set(names + refs)) != len(names + refs):
        return False
    for d in spec.get("defs") or []:
        if (
            set(d) - {"name", "type", "bind", "vis", "ver"}
            or d.get("type", "object") not in ("object", "func")
            or d.get("bind", "global") not in ("global", "weak")
        ):
            return False
    used = set()
    for r in spec.get("refs") or []:
        if r.get("reloc", "glob") in ("none", "tpoff", "dtpmod") or r.get("vis"):
            return False
        if r.get("ver"):
            used.add(tuple(r["ver"]))
    listed = {(f, v) for f, vs in spec.get("verneed") or [] for v, _ in vs}
    return (
        listed == used
        and all(f in needed for f, _ in listed)
        and not any(w for _, vs in spec.get("verneed") or [] for _, w in vs)
    )


def source(spec):
    rows = [TRAMP] if spec.get("tramp") else []
    for d in spec.get("defs") or []:
        attr = '__attribute__((visibility("%s")%s)) ' % (
            d.get("vis", "default"),
            ", weak" if d.get("bind") == "weak" else "",
        )
        rows.append(
            attr
            + ("int %s(void) { return 1; }" if d.get("type") == "func" else "int %s = 1;")
            % d["name"]
        )
    for i, r in enumerate(spec.get("refs") or []):
        weak = " __attribute__((weak))" if r.get("bind") == "weak" else ""
        fn = r.get("reloc") == "jump" or r.get("type") == "func"
        rows.append(("extern int %s(void)%s;" if fn else "extern int %s%s;") % (r["name"], weak))
        if r.get("reloc") == "jump":
            rows.append(
                "static int u%d(void) { return %s(); } void *k%d = (void *)u%d;"
                % (i, r["name"], i, i)
            )
        elif r.get("reloc") == "abs":
            rows.append("void *k%d = (void *)&%s;" % (i, r["name"]))
        else:
            rows.append(
                "static void *u%d(void) { return (void *)&%s; } void *k%d = (void *)u%d;"
                % (i, r["name"], i, i)
            )
        rows[-1] = rows[-1].replace("void *k", "static __attribute__((used)) void *k")
    tls = spec.get("tls")
    if tls:
        rows.append(
            'static __thread __attribute__((used, aligned(%d), tls_model("initial-exec"))) '
            "char tv[%d]; static char *tu(void) { return tv; } "
            "static __attribute__((used)) void *tk = (void *)tu;" % (tls["align"], tls["size"])
        )
    return "\n".join(rows) + "\n"


class Compiler:
    def __init__(self, cc, folder):
        self.cc, self.folder, self.done = cc, folder, {}

    def run(self, text, args, out):
        src = out + ".c"
        with open(src, "w") as f:
            f.write(text)
        subprocess.run(
            [
                self.cc,
                "-w",
                "-O1",
                "-fPIC",
                "-shared",
                "-nostdlib",
                "-fno-asynchronous-unwind-tables",
                "-fno-builtin",
                "-fcf-protection=none",
                "-o",
                out,
                src,
                *args,
            ],
            check=True,
        )

    def script(self, out, names):
        """A version script: [(version, [symbols])]"""
        path = out + ".map"
        with open(path, "w") as f:
            for version, symbols in names:
                f.write(
                    "%s { global: %s };\n"
                    % (version, " ".join(s + ";" for s in symbols) or "none_at_all;")
                )
        return "-Wl,--version-script," + path

    def stub(self, soname, symbols):
        key = hashlib.sha256(json.dumps(["stub", soname, symbols]).encode()).hexdigest()[:16]
        out = os.path.join(self.folder, "stub-%s.so" % key)
        if key not in self.done:
            versions = {}
            for name, version in symbols:
                versions.setdefault(version, []).append(name)
            args = ["-Xlinker", "-soname", "-Xlinker", soname]
            if versions:
                args.append(self.script(out, sorted(versions.items())))
            self.run("".join("int %s(void) { return 0; }\n" % n for n, _ in symbols), args, out)
            self.done[key] = True
        return out

    def build(self, spec):
        key = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:16]
        out = os.path.join(self.folder, "lib-%s.so" % key)
        args = [
            "-Wl,--no-as-needed",
            "-Wl,--allow-shlib-undefined",
            "-Wl,-z,lazy",
            "-Wl,--hash-style=" + (spec.get("hash") or "gnu"),
        ]
        if spec.get("soname"):
            args += ["-Xlinker", "-soname", "-Xlinker", spec["soname"]]
        for k in ("rpath", "runpath"):
            if spec.get(k):
                args += [
                    "-Xlinker",
                    "-rpath",
                    "-Xlinker",
                    spec[k],
                    "-Wl,--%s-new-dtags" % ("disable" if k == "rpath" else "enable"),
                ]
        if spec.get("flags_1"):
            args.append("-Wl,-z," + FLAGS[spec["flags_1"]])
        if spec.get("stack") is not None:
            args.append("-Wl,-z," + ("execstack" if spec["stack"] & 1 else "noexecstack"))
        if spec.get("verdef"):
            by = [
                (v, [d["name"] for d in spec.get("defs") or [] if d.get("ver") == v])
                for v in spec["verdef"]
            ]
            args.append(self.script(out, by))
        for name in spec.get("needed") or []:
            symbols = sorted(
                [r["name"], r["ver"][1]]
                for r in spec.get("refs") or []
                if r.get("ver") and r["ver"][0] == name
            )
            args.append(self.stub(name, symbols))
        self.run(source(spec), args, out)
        with open(out, "rb") as f:
            data = bytearray(f.read())
        for field, value in (spec.get("head") or {}).items():
            pos, fmt = elfwriter.HEAD[field]
            elfwriter.struct.pack_into("<" + fmt, data, pos, value)
        cut = spec.get("cut")
        if cut is not None and cut < 120:
            del data[cut:]
        return bytes(data)


def run(args, setting):
    passed = failed = 0
    folder = tempfile.mkdtemp(prefix="ortfit-oracle-cc-")
    compiler = Compiler(os.environ.get("CC", "gcc"), folder)
    index = 0
    try:
        while passed + failed < args.compiler and index < 100 * args.compiler:
            index += 1
            tree = gen.generate(random.Random("%d/compiled/%d" % (args.seed, index)), setting)
            specs = [f["elf"] for f in tree["files"] if f["kind"] == "elf"]
            if len(specs) < 2 or not all(possible(s) for s in specs):
                continue
            _, written, _ = runner.check(setting, tree)
            diff, compiled, answer = runner.check(setting, tree, elf=compiler.build)
            if written["verdict"] == "nostart":
                continue
            same = (
                written["verdict"] == compiled["verdict"]
                and written["map"] == compiled["map"]
                and (
                    written["error"] == compiled["error"]
                    or "undefined symbol" in (written["error"] or "")
                )
            )
            if same and not diff:
                passed += 1
                continue
            failed += 1
            runner.keep(args, setting, tree, "compiled-%d-%d" % (args.seed, index))
            print("compiled tree %d of seed %d (%s)" % (index, args.seed, " ".join(tree["noise"])))
            if not same:
                print(
                    "  written:  %s %s\n  compiled: %s %s"
                    % (
                        written["verdict"],
                        written["error"] or written["map"],
                        compiled["verdict"],
                        compiled["error"] or compiled["map"],
                    )
                )
            if answer:
                print(runner.describe(setting, tree, diff, compiled, answer))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for m in setting.missing:
        print("not tested: " + m)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0
