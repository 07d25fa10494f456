#!/usr/bin/env python3
"""Random queries put to ortfit match and to an answer set solver: the same releases, the same minimal conflicts.

usage: oracle.py ORTFIT [COUNT [SEED]]

The rules are written a second time in oracle.asp, the facts are read from kb/*.tsv here, versions are compared by
pip's own library. clingo comes from PyPI into $ORTFIT_CACHE/match-oracle; without it
this prints why it did not run and is skipped.
"""
import csv
import itertools
import json
import os
import random
import re
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
KB = os.path.join(os.path.dirname(os.path.dirname(HERE)), "kb")
CACHE = os.environ.get("ORTFIT_CACHE") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "ortfit")
VENV = os.path.join(CACHE, "match-oracle")
PLATFORMS = {"linux_x86_64": "py_linux", "win_amd64": "py_win", "linux_aarch64": "py_aarch64"}
DRIVERS = ("450.80.02 450.51.05 452.39 452.38 470.256.02 510.47.03 520.61.05 525.60.13 525.60.12 527.41 528.33 535.104.05 "
           "551.78 560.35.03 570.26 572.16 575.51.03 580.65.06 580.65.05 580.88 581.15 590.44.01 610.43.02").split()
GPUS = {"K80": 37, "GTX 750 Ti": 50, "M60": 52, "P100": 60, "GTX 1080 Ti": 61, "V100": 70, "T4": 75, "A100": 80,
        "A10": 86, "sm_87": 87, "L4": 89, "H100": 90, "B200": 100, "B300": 103, "RTX 5090": 120, "sm_121": 121,
        "GB10": 121, "RTX 3090": 86, "11.0": 110}


def not_run(reason):
    print("did not run: " + reason)
    sys.exit(77)


def enter_venv():
    """Runs on in the virtual environment that has clingo, made here when it can be."""
    python = os.path.join(VENV, "bin", "python")
    if os.path.realpath(sys.prefix) == os.path.realpath(VENV):
        not_run("clingo cannot be imported in " + VENV)
    if not os.path.exists(os.path.join(VENV, "complete")):
        for argv in ([sys.executable, "-m", "venv", VENV],
                     [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "clingo", "packaging"]):
            try:
                done = subprocess.run(argv, capture_output=True, text=True, timeout=240)
            except (OSError, subprocess.TimeoutExpired) as e:
                not_run("clingo cannot be installed: %s" % e)
            if done.returncode:
                not_run("clingo cannot be installed: " + (done.stderr.strip().splitlines() or ["no reason given"])[-1])
        open(os.path.join(VENV, "complete"), "w").close()
    os.execv(python, [python, *sys.argv])


try:
    import clingo
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version
except ImportError:
    enter_venv()


def table(name):
    with open(os.path.join(KB, name + ".tsv"), encoding="utf-8") as f:
        return list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))


def cells(cell):
    return [] if cell == "-" else cell.split(" ")


def cuda(cell):
    return 0 if cell == "-" else int(cell.split(".")[0]) * 1000 + int(cell.split(".")[1]) * 10


def driver_key(text):
    parts = [int(p) for p in text.split(".")]
    return parts + [0] * (4 - len(parts))


def minor(version):
    return int(version.split(".")[1])


def serves(codes, cc, ptx=False):
    """Does one of these cubins (or PTX versions) run on the compute capability?"""
    for code in codes:
        n, exact = int(code.rstrip("af")), code.endswith("a")
        if n == cc if exact else n <= cc if ptx else n // 10 == cc // 10 and n <= cc:
            return True
    return False


def wish_spec(value):
    if value[0] in "=<>!~":
        return SpecifierSet(value, prereleases=True)
    return SpecifierSet("==%s.*" % value, prereleases=True)


class World:
    """The facts: kb/*.tsv."""

    def __init__(self):
        self.ort = table("ort")
        self.builds = table("torch_builds")
        self.dates = {r["version"]: r["date"] for r in table("torch")}
        self.numpy = table("numpy_releases")
        self.ccs = [int(r["cc"].replace(".", "")) for r in table("archs")]
        self.branches = [(int(r["branch"]), cuda(r["cuda"])) for r in table("branches")]
        self.pythons = sorted({t for r in self.ort for c in PLATFORMS.values() for t in cells(r[c])}
                              | {t for r in self.builds for t in cells(r["py"])})
        self.toolkits = sorted({cuda(r["cuda"]) for r in table("toolkits")})
        wheels = table("wheel_versions")
        self.cudnn = sorted({r["version"] for r in wheels if r["package"].startswith("nvidia-cudnn-cu")
                             and Version(r["version"]) >= Version("7")}, key=Version)
        self.tensorrt = sorted({r["version"] for r in wheels if r["package"].startswith("tensorrt")
                                and Version(r["version"]) >= Version("7")}, key=Version)
        self.opset = {r["line"]: (int(r["opset"]), int(r["ir"])) for r in table("ort_opset")}
        self.facts = []
        self.make()

    def fact(self, name, *args):
        self.facts.append("%s(%s)." % (name, ",".join(
            '"%s"' % a if isinstance(a, str) and a not in ("linux", "windows") else str(a) for a in args)))

    def make(self):
        for p in PLATFORMS:
            self.fact("platform", p)
            if p.startswith("linux"):
                self.fact("linux", p)
        for y in self.pythons:
            self.fact("python", y)
        code = {(r["version"], r["platform"]): r for r in table("ort_gpu_code")}
        abi = {r["version"]: r["abi"] for r in table("ort_numpy_abi")}
        for r in self.ort:
            self.make_release(r, code, abi)
        self.make_torch()
        self.make_numpy()
        self.make_machines()

    def make_release(self, r, code, abi):
        v = r["version"]
        self.fact("rel", v)
        self.fact("ort_cuda", v, int(r["cuda_major"]))
        self.fact("ort_cudnn", v, int(r["cudnn_major"]))
        self.fact("abi", v, int(abi[v]))
        if r["exec_stack"] == "yes":
            self.fact("exec_stack", v)
        for p, column in PLATFORMS.items():
            for y in cells(r[column]):
                self.fact("ort_py", v, p, y)
            tag = r["glibc_tag_aarch64" if p == "linux_aarch64" else "glibc_tag"]
            if p.startswith("linux") and tag != "-":
                self.fact("ort_glibc", v, p, minor(tag))
            c = code.get((v, p))
            if not c:
                continue
            for cc in self.ccs:
                if serves(cells(c["cubins"]), cc):
                    self.fact("ort_cubin", v, p, cc)
                if serves(cells(c["ptx"]), cc, ptx=True):
                    self.fact("ort_ptx", v, p, cc)
            if c["ptx"] != "-":
                self.fact("ptx_cuda", v, p, cuda(c["ptx_cuda"]))

    def make_torch(self):
        for r in self.builds:
            t, p = r["torch"], r["platform"]
            self.fact("build", t)
            self.fact("torch_plat", t, p)
            for y in cells(r["py"]):
                self.fact("torch_py", t, p, y)
            if r["glibc_tag"] != "-":
                self.fact("torch_glibc", t, p, minor(r["glibc_tag"]))
            if r["cuda"] == "-":
                continue
            self.fact("torch_cuda", t, p, int(r["cuda_major"]))
            if r["cudnn_major"] != "-":
                self.fact("torch_cudnn", t, p, int(r["cudnn_major"]))
            if r["cudnn"] != "-":
                release = Version(r["cudnn"]).release
                self.fact("torch_pin", t, p, release[0] * 100 + release[1])
            if r["cubins"] != "-":
                self.fact("torch_read", t, p)
                for cc in self.ccs:
                    if serves(cells(r["cubins"]), cc):
                        self.fact("torch_cubin", t, p, cc)

    def make_numpy(self):
        for r in self.numpy:
            self.fact("numpy", r["version"])
            if Version(r["version"]).major >= 2:
                self.fact("numpy_2", r["version"])
            for p, column in PLATFORMS.items():
                for y in cells(r[column]):
                    self.fact("numpy_py", r["version"], p, y)
        specs = set()
        for r in table("ort_numpy"):
            for y in cells(r["py"]):
                if r["spec"] != "-":
                    specs.add(r["spec"])
                    self.fact("ort_numpy", r["version"], r["platform"], y, r["spec"])
        for spec in specs:
            for r in self.numpy:
                if SpecifierSet(spec).contains(r["version"]):
                    self.fact("accepts", spec, r["version"])

    def make_machines(self):
        floors = [(r["os"], int(r["cuda_major"]), r["driver"]) for r in table("floors")]
        for os_name, major, driver in floors:
            self.facts.append('floor(%s,%d,"%s").' % (os_name, major, driver))
        for text in ["%d.999" % b for b, _ in self.branches] + DRIVERS:
            self.fact("driver", text)
            if text in DRIVERS:
                self.fact("special", text)
            row = [(b, c) for b, c in self.branches if b <= driver_key(text)[0]]
            self.fact("branch", text, row[-1][0] if row else 0)
            self.fact("native", text, row[-1][1] if row else 0)
            for driver in {d for _, _, d in floors}:
                if driver_key(text) < driver_key(driver):
                    self.fact("below", text, driver)
        for r in table("archs"):
            cc = int(r["cc"].replace(".", ""))
            self.fact("gpu", cc)
            if r["cuda_first"] != "-":
                self.fact("first_cuda", cc, cuda(r["cuda_first"]))
            if r["branch_last"] != "-":
                self.fact("last_branch", cc, int(r["branch_last"]))


class Wishes:
    """One query: what each wish forbids, as rules guarded by its atom."""

    def __init__(self, world, wishes):
        self.w, self.wishes, self.rules, self.cpu_only = world, wishes, [], False
        kinds = {k for k, _ in wishes}
        for i, (kind, value) in enumerate(wishes):
            self.at = i
            getattr(self, kind.replace("-", "_"))(value, kinds)
        torches = [i for i, (k, _) in enumerate(wishes) if k == "torch"]
        drivers = [i for i, (k, _) in enumerate(wishes) if k == "driver"]
        self.rules += ["asked_torch(t) :- act(%d)." % i for i in torches] + ["asked_driver(t) :- act(%d)." % i for i in drivers]
        self.rules += [":- query(t), torch(_), not asked_torch(t).", ":- asked_torch(t), not torch(_).",
                       ":- query(t), drv(D), special(D), not asked_driver(t)."]
        if not kinds & {"os", "arch"}:
            self.rules.append(':- query(t), not plat("linux_x86_64").')

    def only(self, atom, values):
        for v in values:
            self.rules.append("may(%d,%s)." % (self.at, '"%s"' % v if isinstance(v, str) else v))
        self.rules.append(":- act(%d), %s(X), not may(%d,X)." % (self.at, atom, self.at))

    def ort(self, value, kinds):
        spec = wish_spec(value)
        self.only("ort", [r["version"] for r in self.w.ort if spec.contains(r["version"])])

    def torch(self, value, kinds):
        public, plus, label = value.partition("+")
        spec = wish_spec(public)
        cpu = label == "cpu"
        if cpu:
            self.cpu_only = True
        fits = {r["torch"] for r in self.w.builds if spec.contains(r["torch"].split("+")[0])
                and (r["torch"].partition("+")[2] == ("" if cpu else label))}
        self.only("torch", sorted(fits))

    def cuda(self, value, kinds):
        text = lambda c: "%d.%d" % (c // 1000, c // 10 % 100)
        if value[0] in "=<>!~":
            majors = {c // 1000 for c in self.w.toolkits if wish_spec(value).contains(text(c))}
        else:
            majors = {int(value.split(".")[0])}
        self.only("o_cuda", sorted(majors))

    def cudnn(self, value, kinds):
        if value.isdigit():
            self.only("o_cudnn", [int(value)])
            return
        fits = [Version(v).release for v in self.w.cudnn if wish_spec(value).contains(v)]
        self.only("o_cudnn", sorted({f[0] for f in fits}))
        for major in {f[0] for f in fits}:
            ccs = {c for c in self.w.ccs for f in fits if f[0] == major
                   and (c >= 75 or f[:2] < (9, 11)) and (c < 100 or f[:2] >= (9, 7))}
            for c in set(self.w.ccs) - ccs:
                self.rules.append(":- act(%d), o_cudnn(%d), cc(%d)." % (self.at, major, c))

    def tensorrt(self, value, kinds):
        majors = {Version(v).major for v in self.w.tensorrt if wish_spec(value).contains(v)}
        self.only("ort", [r["version"] for r in self.w.ort if int(r["tensorrt_major"]) in majors])

    def driver(self, value, kinds):
        if value[0] in "=<>!~":
            spec = wish_spec(value)
            asked = [v for k, v in self.wishes if k == "driver" and v in DRIVERS and spec.contains(v)]
            self.only("drv", asked + ["%d.999" % b for b, _ in self.w.branches
                                      if spec.contains(str(b)) or spec.contains("%d.999" % b)])
        else:
            self.only("drv", [value if "." in value else value + ".999"])

    def gpu(self, value, kinds):
        self.only("cc", [GPUS[value]])

    def python(self, value, kinds):
        if value[0] in "=<>!~":
            spec = wish_spec(value)
            fits = [y for y in self.w.pythons if not y.endswith("t")
                    and (spec.contains("3." + y[3:]) or spec.contains("3.%s.99" % y[3:]))]
        else:
            fits = ["cp" + value.replace(".", "")]
        self.only("py", fits)

    def glibc(self, value, kinds):
        self.only("glibc", [minor(value)])
        # On Windows there is none: any value stands for that.
        self.rules[-1] = ":- act(%d), os(linux), glibc(X), not may(%d,X)." % (self.at, self.at)

    def os(self, value, kinds):
        fits = ["win_amd64"] if value == "windows" else ["linux_x86_64", "linux_aarch64"]
        self.only("plat", fits if "arch" in kinds else fits[:1])

    def arch(self, value, kinds):
        fits = ["linux_aarch64"] if value == "aarch64" else ["linux_x86_64", "win_amd64"]
        self.only("plat", fits if "os" in kinds else fits[:1])

    def numpy(self, value, kinds):
        spec = wish_spec(value)
        self.only("np", [r["version"] for r in self.w.numpy if spec.contains(r["version"])])

    def opset(self, value, kinds):
        line = lambda v: ".".join(v.split(".")[:2])
        self.only("ort", [r["version"] for r in self.w.ort if self.w.opset[line(r["version"])][0] >= int(value)])

    def as_of(self, value, kinds):
        self.only("ort", [r["version"] for r in self.w.ort if r["date"] <= value])
        for t, date in self.w.dates.items():
            if date > value:
                for r in self.w.builds:
                    if r["torch"].split("+")[0] == t:
                        self.rules.append(':- act(%d), torch("%s").' % (self.at, r["torch"]))


class Solver:
    """The world, grounded once for many queries."""

    def __init__(self, world):
        self.control = clingo.Control(["--warn=none"])
        self.control.load(os.path.join(HERE, "oracle.asp"))
        self.control.add("base", [], "\n".join(world.facts + [
            "#external cpu_only.", "{ may_be_separate }.", ":- separate, not may_be_separate."]))
        self.control.ground([("base", [])])
        self.queries = 0


class Oracle:
    def __init__(self, world, solver, query):
        self.n, self.control, self.t = len(query), solver.control, solver.queries
        solver.queries += 1
        wishes = Wishes(world, query)
        rules = ["#external query(t).", "#external act(t,0..%d)." % (self.n - 1), "#defined may/3."]
        rules += [re.sub(r"\b(act|may)\(", r"\1(t,", r) for r in wishes.rules]
        self.control.add("q%d" % self.t, ["t"], "\n".join(rules))
        self.control.ground([("q%d" % self.t, [clingo.Number(self.t)])])
        self.control.assign_external(self.query_atom(), True)
        self.control.assign_external(clingo.Function("cpu_only"), wishes.cpu_only)
        self.known = {}

    def query_atom(self):
        return clingo.Function("query", [clingo.Number(self.t)])

    def act(self, i):
        return clingo.Function("act", [clingo.Number(self.t), clingo.Number(i)])

    def done(self):
        for i in range(self.n):
            self.control.release_external(self.act(i))
        self.control.release_external(self.query_atom())

    def assumptions(self, active, separate=False):
        for i in range(self.n):
            self.control.assign_external(self.act(i), i in active)
        return [(clingo.Function("may_be_separate"), separate)]

    def holds(self, active):
        key = frozenset(active)
        if key not in self.known:
            self.control.configuration.solve.enum_mode = "auto"
            self.control.configuration.solve.models = 1
            self.known[key] = bool(self.control.solve(assumptions=self.assumptions(active)).satisfiable)
        return self.known[key]

    def releases(self, separate):
        self.control.configuration.solve.enum_mode = "brave"
        self.control.configuration.solve.models = 0
        found = set()
        with self.control.solve(yield_=True, assumptions=self.assumptions(range(self.n), separate)) as handle:
            for model in handle:
                found = {s.arguments[0].string for s in model.symbols(shown=True)}
        return found

    def conflicts(self):
        found = []
        for size in range(self.n + 1):
            for active in itertools.combinations(range(self.n), size):
                if not any(set(f) <= set(active) for f in found) and not self.holds(active):
                    found.append(active)
        return found


def random_query(rng, world):
    choose = rng.choice
    ranges = lambda pool: choose([">=", "<", "<=", "~=", "!="]) + choose(pool)
    orts = [r["version"] for r in world.ort]
    builds = [r["torch"] for r in world.builds if r["platform"] == "linux_x86_64"]
    public = [b for b in builds if "+" not in b]
    line = lambda v: ".".join(v.split(".")[:2])
    pools = {
        "ort": lambda: choose([choose(orts), line(choose(orts)), ranges(orts), "==%s.*" % line(choose(orts)),
                               "%s,%s" % (">=" + choose(orts), "<" + choose(orts))]),
        "torch": lambda: choose([choose(public), choose(public), choose(builds), choose(builds), line(choose(public)),
                                 choose(public) + "+cpu", ranges(public)]),
        "cuda": lambda: choose(["11", "12", "13", "11.8", "12.2", "12.8", ">=12", "<12", ">=12,<13"]),
        "cudnn": lambda: choose(["8", "9", "8.9", "9.1", "9.5", "9.10.2", "9.11", "9.20", ">=9.11", "<9", ">=9.7,<9.11"]),
        "tensorrt": lambda: choose(["8", "10", "8.6", "10.3", "11", ">=10"]),
        "driver": lambda: choose([str(choose(world.branches)[0]), str(choose([470, 525, 535, 550, 570, 580])),
                                  choose(DRIVERS), ">=%d" % choose(world.branches)[0], "<%d" % choose(world.branches)[0]]),
        "gpu": lambda: choose(list(GPUS)),
        "python": lambda: choose(["3.%d" % rng.randint(7, 14), "3.%d" % rng.randint(7, 14), "3.13t", "3.14t",
                                  ">=3.%d" % rng.randint(8, 13), "<3.%d" % rng.randint(9, 13)]),
        "glibc": lambda: "2." + choose("12 17 24 27 28 31 33 34 35 39 41".split()),
        "os": lambda: choose(["linux", "windows"]),
        "arch": lambda: choose(["x86_64", "aarch64", "aarch64"]),
        "numpy": lambda: choose(["1.21.6", "1.26.4", "2.0.2", "2.3", "<2", ">=2", "1.24", ">=1.23,<1.25", "2.5.0"]),
        "opset": lambda: str(rng.randint(13, 28)),
        "as-of": lambda: "20%02d-%02d-15" % (rng.randint(22, 26), rng.randint(1, 11)),
    }
    weights = {"ort": 5, "torch": 6, "driver": 6, "gpu": 6, "python": 6}
    kinds = [k for k in pools for _ in range(weights.get(k, 2))]
    query, n = [], choose([1, 2, 2, 3, 3, 3, 4, 4, 5, 6])
    while len(query) < n:
        kind = choose(kinds)
        # A kind twice is rare; +cpu says what torch is for every build, so it comes alone.
        if kind in {k for k, _ in query} and (kind == "torch" or rng.random() < 0.9):
            continue
        query.append((kind, pools[kind]()))
    return query


def check(world, solver, query, answer):
    oracle = Oracle(world, solver, query)
    faults = []
    shared = oracle.releases(False)
    if set(answer["ort_versions"]) != shared:
        faults.append(("ort_versions", sorted(set(answer["ort_versions"]) ^ shared)))
    separate = oracle.releases(True) - shared
    if set(answer["separate_libraries_only"]) != separate:
        # A release that some kernels lack is named apart, wherever it stands.
        faults.append(("separate", sorted(set(answer["separate_libraries_only"]) ^ separate)))
    wanted = sorted(sorted("%s %s" % query[i] for i in c) for c in oracle.conflicts()) if not shared else []
    got = sorted(sorted(c["wishes"]) for c in answer["conflicts"])
    if got != wanted:
        faults.append(("conflicts", got, wanted))
    oracle.done()
    return faults, not shared


def main():
    ortfit, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    rng, world = random.Random(seed), World()
    queries = [random_query(rng, world) for _ in range(count)]
    lines = "".join(" ".join("--%s %s" % (k, shlex.quote(v)) for k, v in q) + "\n" for q in queries)
    run = subprocess.run([ortfit, "match", "--batch", "-"], input=lines, capture_output=True, text=True)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    if len(answers) != count:
        sys.exit("%d answers to %d queries: %s" % (len(answers), count, run.stderr))
    bad = unsatisfiable = conflicts = 0
    solver = Solver(world)
    for query, answer in zip(queries, answers):
        if solver.queries == 100:
            solver = Solver(world)
        text = " ".join("--%s %s" % (k, shlex.quote(v)) for k, v in query)
        if "error" in answer:
            faults, clash = [("error", answer["error"]["text"])], False
        else:
            faults, clash = check(world, solver, query, answer)
            conflicts += len(answer["conflicts"])
        unsatisfiable += clash
        if faults:
            bad += 1
            print("%s\n    %s" % (text, faults))
    print("seed %d: %d queries, %d without an answer, %d minimal conflicts, %d answered otherwise by clingo %s"
          % (seed, count, unsatisfiable, conflicts, bad, clingo.__version__))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
