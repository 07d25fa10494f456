#!/usr/bin/env python3
"""The loader predicted (`ortfit loads`) against the real loader, on random trees of files.

    oracle.py [--seed N] [--count N] [--jobs N] [--ortfit PROGRAM] [--only N] [--keep DIR]
    oracle.py --replay DIR/case.json
    oracle.py --cases [--only NAME]         the fixed cases of cases.py
    oracle.py --compiler N                  N trees made by the compiler as well
    oracle.py --statistics                  the real loader alone: what the trees do

The program is $ORTFIT unless --ortfit is given. Each disagreement is shown smaller than it was
found and kept in --keep for replay. The last line is `N passed, N failed`.
"""

import argparse
import collections
import copy
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time

import gen
import tree as trees

MAX_SHOWN = 40
SKIPPED = 77  # what meson takes for a test that did not run


def make_setting(args, bindir):
    base = args.base
    setting = trees.Setting(base, args.ortfit and os.path.abspath(args.ortfit))
    setting.musl = args.musl
    setting.isolate(plain=args.root)
    if not setting.cache and not args.root:
        setting.base = base = os.path.join(base, "job-%d" % os.getpid())
        setting.top = os.path.join(base, "t")
        setting.harness = os.path.join(base, "bin", "oracle")
        setting.template = os.path.join(base, "bin", "template")
        os.makedirs(base, exist_ok=True)
        args.made = base
    setting.prepare(bindir)
    if setting.ortfit and not trees.open_to_all(setting.ortfit):
        # A checkout below /root: nobody could not run it there.
        here = os.path.join(setting.base, "bin", "ortfit")
        shutil.copy(setting.ortfit, here)
        os.chmod(here, 0o755)
        setting.ortfit = here
    if args.root:
        setting.make_root()
    elif not args.cases:
        setting.drop()
    return setting


def check(setting, tree, elf=None):
    """(difference or None, oracle's answer, ortfit's answer)"""
    try:
        if elf:
            trees.make(setting, tree, elf)
        else:
            trees.make(setting, tree)
        oracle = trees.run_oracle(setting, tree)
        if not setting.ortfit or oracle["verdict"] == "nostart":
            return None, oracle, None
        answer = trees.run_ortfit(setting, tree)
        if trees.not_started(setting, tree, answer):
            return None, dict(oracle, verdict="nostart"), None
        return trees.differ(oracle, answer), oracle, answer
    finally:
        trees.remove(setting, tree)


def reductions(tree):
    """Trees with one thing less."""

    def changed(edit):
        t = copy.deepcopy(tree)
        edit(t)
        return t

    for i in range(len(tree["files"])):
        yield changed(lambda t: t["files"].pop(i))
    for key in list(tree.get("env") or {}):
        yield changed(lambda t: t["env"].pop(key))
        for sep in re.findall("[:;]", tree["env"][key])[:1]:
            parts = re.split("[:;]", tree["env"][key])
            for i in range(len(parts)):
                yield changed(
                    lambda t: t["env"].update({key: ":".join(parts[:i] + parts[i + 1 :])})
                )
    for i in range(len(tree.get("preloads") or [])):
        yield changed(lambda t: t["preloads"].pop(i))
    for key in ("caller", "exe", "cache", "other_cwd", "lazy", "options", "ld_so_preload"):
        if tree.get(key):
            yield changed(lambda t: t.update({key: None}))
    for i in range(len((tree.get("cache") or {}).get("entries") or [])):
        yield changed(lambda t: t["cache"]["entries"].pop(i))
    for i, f in enumerate(tree["files"]):
        if f.get("mode") is not None:
            yield changed(lambda t: t["files"][i].pop("mode"))
        spec = f.get("elf") or f.get("patch") or {}
        where = "elf" if "elf" in f else "patch"
        for key, value in spec.items():
            if not value and value != 0:
                continue
            yield changed(lambda t: t["files"][i][where].pop(key))
            if isinstance(value, list):
                for j in range(len(value)):
                    yield changed(lambda t: t["files"][i][where][key].pop(j))
            if key in ("rpath", "runpath"):
                parts = value.split(":")
                for j in range(len(parts) if len(parts) > 1 else 0):
                    yield changed(
                        lambda t: t["files"][i][where].update(
                            {key: ":".join(parts[:j] + parts[j + 1 :])}
                        )
                    )


def safely(setting, tree):
    try:
        return check(setting, tree)
    except (OSError, KeyError, ValueError, IndexError, AssertionError):
        trees.remove(setting, tree)
        return None, None, None


def minimise(setting, tree, kind, budget_s=20):
    """The same disagreement in the smallest tree that a greedy walk finds."""
    end = time.monotonic() + budget_s
    smaller = True
    while smaller and time.monotonic() < end:
        smaller = False
        for t in reductions(tree):
            if time.monotonic() > end:
                break
            diff, _, _ = safely(setting, t)
            if diff and diff.split(":")[0] == kind.split(":")[0]:
                tree, smaller = t, True
                break
    return tree


def describe(setting, tree, diff, oracle, answer):
    argv, cwd = trees.ortfit_argv(setting, tree, "@")
    rows = [
        "  differs in: %s" % diff,
        "  env: %s" % json.dumps(tree.get("env") or {}),
        "  run: (cd %s) %s" % (cwd, " ".join(argv[1:])),
    ]
    for f in tree["files"]:
        row = {k: v for k, v in f.items() if k not in ("path", "kind")}
        if "elf" in row:
            row = dict(row, elf={k: v for k, v in row["elf"].items() if v or v == 0})
        rows.append("  %s %s %s" % (f["kind"], f["path"], json.dumps(row)))
    for key in ("cache", "ld_so_preload"):
        if tree.get(key):
            rows.append("  %s %s" % (key, json.dumps(tree[key])))
    rows.append("  loader: %s %s" % (oracle["verdict"], oracle["error"] or oracle["map"]))
    doc = answer.get("doc")
    rows.append(
        "  ortfit: %s"
        % (
            answer.get("broken")
            or "%s %s" % (doc.get("would_load"), doc.get("error") or doc.get("map"))
        )
    )
    return "\n".join(rows).replace(setting.view + "/", "@/")


def keep(args, setting, tree, label):
    if not args.keep:
        return
    folder = os.path.join(args.keep, label)
    try:
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "case.json"), "w") as f:
            json.dump(tree, f, indent=1)
        with open(os.path.join(folder, "replay"), "w") as f:
            f.write(
                '#!/bin/sh\nexec %s %s --ortfit "${ORTFIT:-%s}" --replay %s/case.json\n'
                % (sys.executable, os.path.abspath(__file__), setting.ortfit, folder)
            )
        os.chmod(os.path.join(folder, "replay"), 0o755)
    except OSError as e:
        print("  not kept: %s" % e)


def text_class(text):
    """An error text without its names, for counting."""
    text = re.sub(r"version `[^']*'", "version", text)
    text = re.sub(r"\(required by [^)]*\)", "(required by)", text)
    text = re.sub(r"symbol: .*", "symbol", text)
    text = re.sub(r"type 0x\S+", "type", text)
    return re.sub(r"^[^:]*(: |$)", "", text, count=1)[:90]


def one(args, setting, index, state):
    rng = random.Random("%d/%d" % (args.seed, index))
    tree = gen.generate(rng, setting)
    diff, oracle, answer = check(setting, tree)
    key = oracle["verdict"]
    if key in ("fail", "abort"):
        key += ": " + (text_class(oracle["error"]) if key == "fail" else oracle["error"][-60:])
    state["seen"][key] += 1
    for noise in set(tree["noise"]):
        state["noise"][noise, oracle["verdict"]] += 1
    if oracle["verdict"] == "nostart":
        state["unstarted"] += 1
        return
    if diff is None:
        state["passed"] += 1
        return
    state["failed"] += 1
    if state["shown"] < MAX_SHOWN:
        state["shown"] += 1
        small = tree if args.whole else minimise(setting, tree, diff)
        d, o, a = safely(setting, small)
        if not d:
            small, d, o, a = tree, diff, oracle, answer
        keep(args, setting, small, "tree-%d-%d" % (args.seed, index))
        state["texts"].append(
            "tree %d of seed %d (%s)\n%s\n"
            % (index, args.seed, " ".join(tree["noise"]), describe(setting, small, d, o, a))
        )
        if not args.statistics:
            print(state["texts"][-1], flush=True)


def work(args, bindir, job, write_fd):
    setting = make_setting(args, bindir)
    state = {
        "passed": 0,
        "failed": 0,
        "unstarted": 0,
        "shown": 0,
        "texts": [],
        "seen": collections.Counter(),
        "noise": collections.Counter(),
    }
    wanted = [args.only] if args.only is not None else range(job, args.count, args.jobs)
    for index in wanted:
        one(args, setting, int(index), state)
    clean(args)
    state["missing"] = setting.missing
    state["seen"] = list(state["seen"].items())
    state["noise"] = [[k[0], k[1], v] for k, v in state["noise"].items()]
    with os.fdopen(write_fd, "w") as f:
        json.dump(state, f)


def run_random(args, bindir):
    jobs = []
    if args.only is not None:
        args.jobs = 1
    for job in range(args.jobs):
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(r)
            code = 1
            try:
                work(args, bindir, job, w)
                code = 0
            except BaseException:
                sys.excepthook(*sys.exc_info())
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        os.close(w)
        jobs.append((pid, r))
    total, broken = collections.Counter(), 0
    seen, noise, missing = collections.Counter(), collections.Counter(), set()
    for pid, r in jobs:
        with os.fdopen(r) as f:
            text = f.read()
        _, status = os.waitpid(pid, 0)
        if status or not text:
            broken += 1
            continue
        state = json.loads(text)
        for key in ("passed", "failed", "unstarted"):
            total[key] += state[key]
        seen.update(dict(state["seen"]))
        for a, b, n in state["noise"]:
            noise[a, b] += n
        missing.update(state["missing"])
    for m in sorted(missing):
        print("not tested: " + m)
    if args.statistics:
        for key, n in seen.most_common():
            print("%7d  %s" % (n, key))
        verdicts = ["ok", "fail", "abort", "hang", "nostart"]
        print("%-14s" % "" + "".join("%9s" % v for v in verdicts))
        for name in sorted({a for a, _ in noise}):
            print("%-14s" % name + "".join("%9d" % noise[name, v] for v in verdicts))
    if total["unstarted"]:
        print(
            "%d trees in which the program itself does not start, not compared" % total["unstarted"]
        )
    if broken:
        print("%d worker processes broke" % broken)
    print("%d passed, %d failed" % (total["passed"], total["failed"] + broken))
    return 1 if total["failed"] or broken else 0


def run_replay(args, bindir):
    setting = make_setting(args, bindir)
    with open(args.replay) as f:
        tree = json.load(f)
    diff, oracle, answer = check(setting, tree)
    if answer is None:
        print(json.dumps(oracle, indent=1))
        return 0
    print(describe(setting, tree, diff, oracle, answer))
    return 1 if diff else 0


def clean(args):
    """What no namespace takes away."""
    if getattr(args, "made", None):
        shutil.rmtree(args.made, ignore_errors=True)


def in_child(args, function):
    """The exit code of function(), run in a process that may give up its rights."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    code = 1
    try:
        code = function()
    except BaseException:
        sys.excepthook(*sys.exc_info())
    clean(args)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main():
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--count", type=int, default=400)
    ap.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    ap.add_argument("--only")
    ap.add_argument("--keep")
    ap.add_argument("--ortfit", default=os.environ.get("ORTFIT"))
    ap.add_argument("--replay")
    ap.add_argument("--cases", action="store_true")
    ap.add_argument("--compiler", type=int, default=0)
    ap.add_argument("--statistics", action="store_true")
    ap.add_argument("--musl", action="store_true", help="the program is linked with musl")
    ap.add_argument("--root", action="store_true", help="trees in a root of their own (as root)")
    ap.add_argument("--whole", action="store_true", help="do not look for a smaller tree")
    args = ap.parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if args.statistics:
        args.ortfit = None
    elif not args.ortfit:
        ap.error("give --ortfit or set ORTFIT")
    if args.root and in_child(args, lambda: trees.Setting("/", None).may_mount()):
        print("not tested: --root needs the right to mount")
        return SKIPPED
    # A folder of this run alone: removing a mount point detaches it in every namespace.
    args.base = tempfile.mkdtemp(prefix="ortfit-oracle-")
    bindir = tempfile.mkdtemp(prefix="ortfit-oracle-bin-")
    try:
        os.chmod(args.base, 0o755)
        os.chmod(bindir, 0o755)
        trees.compile_harness(bindir, "musl-gcc" if args.musl else os.environ.get("CC", "gcc"))
        if args.keep:
            args.keep = os.path.abspath(args.keep)
            os.makedirs(args.keep, exist_ok=True)
            os.chmod(args.keep, 0o777)
        if args.replay:
            return in_child(args, lambda: run_replay(args, bindir))
        if args.cases:
            import cases

            return in_child(args, lambda: cases.run(args, make_setting(args, bindir)))
        if args.compiler:
            import compiled

            return in_child(args, lambda: compiled.run(args, make_setting(args, bindir)))
        return run_random(args, bindir)
    finally:
        shutil.rmtree(bindir, ignore_errors=True)
        try:
            os.rmdir(args.base)
        except OSError:
            pass


if __name__ == "__main__":
    sys.exit(main())
