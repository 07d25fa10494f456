"""Ask the real loader (with a memory in the cache folder) and ask ortfit, under one condition."""
import hashlib
import json
import os
import shutil
import subprocess
import tempfile

import oracle
import places

HERE = os.path.dirname(os.path.abspath(__file__))
TIME_LIMIT = 300


def python_of(env):
    return os.path.join(env, "bin", "python")


def has_package(env, name):
    return os.path.isdir(os.path.join(places.site_packages(env), name))


def has_preload_dlls(env):
    path = os.path.join(places.site_packages(env), "onnxruntime", "__init__.py")
    if not os.path.exists(path):
        return False
    with open(path, encoding="utf-8") as f:
        return "def preload_dlls" in f.read()


def provider_dir(env):
    return os.path.join(places.site_packages(env), "onnxruntime", "capi")


class Real:
    """The real loader's answers; `memory` is a folder, or None to ask anew each time."""

    def __init__(self, memory):
        self.memory = memory
        if memory:
            os.makedirs(memory, exist_ok=True)

    def key(self, env, where, pre):
        h = hashlib.sha256(json.dumps([env, where["prefix"], where["cwd"], pre,
                                       where["env"].get("LD_LIBRARY_PATH")]).encode())
        files = [os.path.join(HERE, f) for f in ("drive.py", "oracle.py")] + [env + ".stamp"]
        if where["base"] == "host":
            files.append("/etc/ld.so.cache")
        files += [w for word in where["prefix"] for w in word.split() if w.endswith(".cache")]
        for path in files:
            if os.path.exists(path):
                with open(path, "rb") as f:
                    h.update(f.read())
        return h.hexdigest()

    def ask(self, env, where, pre, name):
        path = os.path.join(self.memory, name + ".json") if self.memory else None
        key = self.key(env, where, pre)
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                old = json.load(f)
            if old.get("key") == key:
                return old["answer"]
        answer = self.observe(env, where, pre)
        if path:
            with open(path, "w", encoding="utf-8") as f:
                json.dump({"key": key, "answer": answer}, f, indent=1)
        return answer

    def observe(self, env, where, pre):
        tmp = tempfile.mkdtemp(prefix="ortfit-oracle-")
        try:
            spec = {"pre": pre, "log": os.path.join(tmp, "ld"), "stubs": os.path.join(tmp, "stubs")}
            spec.update({k: os.path.join(tmp, k) for k in ("result", "stdout", "stderr")})
            os.mkdir(spec["stubs"])
            with open(os.path.join(tmp, "spec"), "w", encoding="utf-8") as f:
                json.dump(spec, f)
            variables = dict(where["env"])
            path = variables.get("LD_LIBRARY_PATH")
            variables["LD_LIBRARY_PATH"] = (path + ":" if path else "") + spec["stubs"]
            # The log's variables come by env(1), so that sh and mount write none into it.
            command = where["prefix"] + [
                "env", "LD_DEBUG=libs,files", "LD_DEBUG_OUTPUT=" + spec["log"],
                python_of(env), os.path.join(HERE, "drive.py"), os.path.join(tmp, "spec")]
            done = subprocess.run(command, env=variables, cwd=where["cwd"], check=False,
                                  timeout=TIME_LIMIT, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if not os.path.exists(spec["result"]):
                said = ""
                if os.path.exists(spec["stderr"]):
                    with open(spec["stderr"], encoding="utf-8", errors="replace") as f:
                        said = f.read()[-500:]
                raise RuntimeError(f"the real run gave no answer (exit {done.returncode}): "
                                   f"{done.stdout.decode(errors='replace')[-500:]} {said}")
            with open(spec["result"], encoding="utf-8") as f:
                out = json.load(f)
            return oracle.closure(out, f"{spec['log']}.{out['pid']}", where["cwd"])
        finally:
            shutil.rmtree(tmp, ignore_errors=True)


class Ortfit:
    def __init__(self, program):
        self.program = program

    def run(self, where, *words):
        """Return (exit code, stdout, stderr)."""
        done = subprocess.run(where["prefix"] + [self.program, *words], env=where["env"],
                              cwd=where["cwd"], check=False, timeout=TIME_LIMIT,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        return (done.returncode, done.stdout.decode("utf-8", "replace"),
                done.stderr.decode("utf-8", "replace"))

    def json(self, where, *words):
        """Return (exit code, document); a document that is none is an error with its text."""
        code, out, err = self.run(where, *words, "--format", "json")
        try:
            return code, json.loads(out)
        except json.JSONDecodeError as e:
            raise RuntimeError(f"ortfit {' '.join(words)}: exit {code}, no JSON ({e}): "
                               f"{out[:200]!r} {err[:300]!r}") from e
