"""Apply the fixes that ortfit names in a copy of the environment, and look again.

A user follows the screen, looks again, and follows it again: at most ROUNDS times, until nothing
but the driver is left. Then the real loader must agree that only libcuda.so.1 is missing, and,
given a libcuda.so.1, that the provider loads.
"""
import os
import shutil
import subprocess

import ask
import places

ROUNDS = 3
DRIVER = "libcuda.so.1"
# What no command inside a Python environment mends.
OUTSIDE = ("driver-missing", "no-gpu-visible", "driver-too-old", "driver-library-mismatch",
           "gpu-arch-unsupported", "silent-cpu-fallback")
TIME_LIMIT = 1200


def copy_environment(env, to):
    """A hard-linked copy whose own scripts run its own Python."""
    shutil.rmtree(to, ignore_errors=True)
    subprocess.run(["cp", "-al", env, to], check=True)
    binaries = os.path.join(to, "bin")
    for name in os.listdir(binaries):
        path = os.path.join(binaries, name)
        if os.path.islink(path) or not os.path.isfile(path):
            continue
        with open(path, "rb") as f:
            data = f.read()
        changed = data.replace(env.encode() + b"/", to.encode() + b"/")
        if changed != data:
            mode = os.stat(path).st_mode
            os.unlink(path)  # the link's other name belongs to the original
            with open(path, "wb") as f:
                f.write(changed)
            os.chmod(path, mode)


class Changes:
    """What the fixes asked for beside commands."""

    def __init__(self):
        self.pre = None
        self.variables = {}
        self.done = []

    def where(self, places_, env, condition):
        where = places_.condition(env, condition)
        where["env"] = {**where["env"], **self.variables}
        return where

    def set_variable(self, name, value, before):
        for word in ("${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}", ":$LD_LIBRARY_PATH",
                     ":${LD_LIBRARY_PATH}"):
            value = value.replace(word, ":" + before if before else "")
        self.variables[name] = value


def environment_of(fix):
    """(name, value) pairs of a fix that sets variables, in the shapes that may come."""
    env = fix.get("env")
    if isinstance(env, dict):
        if set(env) == {"name", "value"}:
            return [(env["name"], env["value"])]
        return list(env.items())
    if isinstance(env, str):
        return [tuple(env.split("=", 1))]
    run = fix.get("run") or []
    if run and run[0] in ("export", "env"):
        return [tuple(w.split("=", 1)) for w in run[1:] if "=" in w]
    return []


def fetch_wheels(argv, variables, wheels):
    """Keep what pip is about to install: some indexes forbid pip's own cache to."""
    if "install" not in argv[:4] or "pip" not in " ".join(argv[:3]):
        return
    os.makedirs(wheels, exist_ok=True)
    variables["PIP_FIND_LINKS"] = " ".join(
        filter(None, [variables.get("PIP_FIND_LINKS"), wheels]))
    words = argv[argv.index("install") + 1:]
    requirements = [w for w in words if not w.startswith("-")]
    flags = ["--no-deps"] if "--no-deps" in words else []
    subprocess.run([*argv[:argv.index("install")], "download", "-q", "-d", wheels, *flags,
                    *requirements], env=variables, cwd="/", check=False, timeout=TIME_LIMIT,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def run_command(argv, env, cache):
    """Run an installer's command as in a shell where the environment `env` is active."""
    name = os.path.basename(argv[0])
    if not name.startswith(("pip", "python", "uv")):
        raise RuntimeError(f"a fix is no installer's command: {' '.join(argv)}")
    if argv[0].startswith("/") and not argv[0].startswith(env + "/") and name != "uv":
        raise RuntimeError(f"a fix works on another environment: {' '.join(argv)}")
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("LD_", "PYTHON"))}
    variables["VIRTUAL_ENV"] = env
    variables["PATH"] = ":".join([os.path.join(env, "bin"), os.path.join(cache, "tools", "uv", "bin"),
                                  variables.get("PATH", "")])
    variables.setdefault("SSL_CERT_FILE", variables.get("PIP_CERT", ""))
    if not variables["SSL_CERT_FILE"]:
        del variables["SSL_CERT_FILE"]
    if not name.startswith("uv"):
        fetch_wheels(argv, variables, os.path.join(cache, "wheels"))
    done = subprocess.run(argv, env=variables, cwd="/", check=False, timeout=TIME_LIMIT,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode:
        text = done.stdout.decode(errors="replace")
        if "No matching distribution" not in text and any(
                w in text for w in ("Temporary failure in name resolution", "ConnectTimeout",
                                    "Network is unreachable", "dns error")):
            raise places.CannotRun("the fix needs the network: " + " ".join(argv))
        raise RuntimeError(f"the fix failed (exit {done.returncode}): {' '.join(argv)}: "
                           f"{text[-400:]}")


def apply_round(doc, env, cache, changes, where):
    """Follow the fixes of every error but the driver's; False when there is nothing new to do."""
    did = False
    for finding in doc["findings"]:
        if finding["severity"] != "error" or finding["cause"] in OUTSIDE:
            continue
        for fix in finding.get("fix") or []:
            if fix in changes.done:
                continue
            changes.done.append(fix)
            pairs = environment_of(fix)
            if pairs:
                for name, value in pairs:
                    changes.set_variable(name, value, where["env"].get(name, ""))
                did = True
            elif fix.get("run"):
                run_command(fix["run"], env, cache)
                did = True
            words = (fix.get("code") or "") + " " + (fix.get("why") or "")
            if fix.get("code") and "preload_dlls" in words:
                changes.pre, did = "preload_dlls", True
            elif fix.get("code") and "import torch" in words:
                changes.pre, did = "torch", True
    return did


def judge_final(run, env, changes, condition, name):
    """What is wrong after the fixes, by the real loader and by ortfit, with and without a driver."""
    real = ask.Real(None)
    where = changes.where(run.places, env, condition)
    answer = real.ask(env, where, changes.pre, name)
    lacking = sorted({r["soname"] for r in answer["closure"] if r["status"] != "found"})
    wrong = []
    if answer["loads"] != "yes" and (not answer["complete"] or lacking != [DRIVER]):
        wrong.append(f"the real loader still lacks {lacking}, error {answer['error']!r} "
                     f"{(answer['pre_error'] or '')[-200:]}")
    _, doc = run.ortfit.json(where, "check", "--python", env)
    wrong += compare_prediction(doc, changes.pre, answer["loads"], "without a driver")
    if changes.pre is None:
        # The prediction of every library, now that the libraries are there.
        wrong += run.compare_closure(answer, doc["targets"][0], where["cwd"])
    left = [f["cause"] for f in doc["findings"]
            if f["severity"] == "error" and f["cause"] not in OUTSIDE]
    if left and changes.pre is None:
        wrong.append(f"ortfit still finds {left}")
    base, *more = condition.split("+")
    with_driver = "+".join([{"clean": "drv", "cu13": "cu13drv"}.get(base, base), *more])
    where = changes.where(run.places, env, with_driver)
    answer = real.ask(env, where, changes.pre, name)
    if answer["loads"] != "yes":
        wrong.append(f"with a libcuda.so.1 the provider does not load: {answer['error']!r}")
    _, doc = run.ortfit.json(where, "check", "--python", env)
    wrong += compare_prediction(doc, changes.pre, answer["loads"], "with a driver")
    return wrong


def compare_prediction(doc, pre, really, what):
    target = doc["targets"][0]
    said = target["loads"]
    if pre:
        key = {"torch": "import_torch", "preload_dlls": "preload_dlls"}[pre]
        said = (target.get("loads_after") or {}).get(key)
    return [] if said == really else [f"{what}: really {really}, ortfit {said}"]


def check(run, row, name, env):
    copy = os.path.join(run.scratch, row["env"])
    copy_environment(env, copy)
    changes = Changes()
    rounds = 0
    try:
        for rounds in range(ROUNDS + 1):
            where = changes.where(run.places, copy, row["cond"])
            _, doc = run.ortfit.json(where, "check", "--python", copy)
            if rounds == ROUNDS or not apply_round(doc, copy, run.places.cache, changes, where):
                break
        wrong = [] if rounds else ["no error finding has a fix that can be applied"]
        wrong += judge_final(run, copy, changes, row["cond"], name)
        run.tally.check(name + " fix", wrong, f"{rounds} round(s)"
                        + (f", {changes.pre}" if changes.pre else "")
                        + (f", {' '.join(changes.variables)}" if changes.variables else ""))
    finally:
        shutil.rmtree(copy, ignore_errors=True)
