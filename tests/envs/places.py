"""The conditions that an environment is looked at under: a mount namespace, variables, a folder."""
import glob
import os
import shutil
import subprocess

import oracle

DRIVER_DIRS = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64",
               "/lib", "/usr/lib", "/usr/local/lib", "/usr/lib/wsl/lib")
# What the CUDA runtime looks up by dlsym, beside what the libraries are linked against.
DRIVER_LOOKUPS = ("cuInit", "cuDriverGetVersion", "cuGetProcAddress", "cuGetProcAddress_v2",
                  "cuGetExportTable", "cuGetErrorString", "cuGetErrorName", "cuDeviceGetCount")
# A driver that finds no GPU: every call answers 100, and what is looked up is never null.
DRIVER_CODE = """\
static int none(void) { return 100; }
int cuDriverGetVersion(int *v) { *v = 13000; return 0; }
int cuGetProcAddress(const char *n, void **f) { (void)n; *f = (void *)none; return 0; }
int cuGetProcAddress_v2(const char *n, void **f) { return cuGetProcAddress(n, f); }
"""


class CannotRun(Exception):
    """This condition cannot be had on this machine; the text says why."""


def site_packages(env):
    found = glob.glob(os.path.join(env, "lib", "python3*", "site-packages"))
    if not found:
        raise CannotRun(f"{env} is not built (tests/envs/build)")
    return found[0]


def nvidia_dirs(env):
    return sorted(glob.glob(os.path.join(site_packages(env), "nvidia", "*", "lib")))


def unshare_command():
    for argv in (["unshare", "-m", "--propagation", "private"],
                 ["unshare", "-r", "-m", "--propagation", "private"]):
        try:
            done = subprocess.run(argv + ["true"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, check=False)
        except FileNotFoundError as e:
            raise CannotRun("no unshare program (package util-linux)") from e
        if done.returncode == 0:
            return argv
    raise CannotRun("unshare -m is not permitted here")


def has_line(text, *words):
    return any(w in text for w in words)


class Places:
    def __init__(self, cache):
        self.cache = cache
        self.envs = os.path.join(cache, "envs")
        self.work = os.path.join(cache, "places")
        os.makedirs(self.work, exist_ok=True)
        self.caches = {}
        self.unshare = None
        self.driver = None

    def env(self, name):
        return os.path.join(self.envs, name)

    def hidden(self):
        """Folders of CUDA toolkits that a clean machine would not have."""
        return sorted({os.path.realpath(p) for p in glob.glob("/usr/local/cuda*")
                       if os.path.isdir(p)})

    def in_namespace(self, ld_cache):
        """The words to put before a command so that it sees no CUDA but what `ld_cache` names."""
        if self.unshare is None:
            self.unshare = unshare_command()
        empty = os.path.join(self.work, "empty")
        os.makedirs(empty, exist_ok=True)
        script = "".join(f"mount --bind {empty} {d} && " for d in self.hidden())
        if ld_cache:
            script += f"mount --bind {ld_cache} /etc/ld.so.cache && "
        return self.unshare + ["sh", "-c", script + 'exec "$@"', "sh"]

    def default_conf(self):
        """The folders that this machine's ld.so.conf names, less those of CUDA."""
        dirs, todo = [], ["/etc/ld.so.conf"]
        while todo:
            for path in sorted(glob.glob(todo.pop(0))):
                with open(path, encoding="utf-8", errors="replace") as f:
                    for line in f:
                        line = line.split("#", 1)[0].strip()
                        if line.startswith("include "):
                            todo.append(os.path.join("/etc", line.split(None, 1)[1]))
                        elif line and not has_line(line, "cuda", "nvidia"):
                            dirs.append(line)
        return dirs

    def ld_cache(self, kind):
        if kind in self.caches:
            return self.caches[kind]
        for d in DRIVER_DIRS:
            if os.path.exists(os.path.join(d, "libcuda.so.1")):
                raise CannotRun(f"{d} has an NVIDIA driver, which no namespace hides")
        extra = []
        if kind.startswith("cu13"):
            extra += nvidia_dirs(self.env("E2"))
        if kind.endswith("drv"):
            extra.append(self.driver_dir())
        conf = os.path.join(self.work, kind + ".conf")
        out = os.path.join(self.work, kind + ".cache")
        with open(conf, "w", encoding="utf-8") as f:
            f.write("\n".join(self.default_conf() + extra) + "\n")
        ldconfig = shutil.which("ldconfig") or "/sbin/ldconfig"
        subprocess.run(self.in_namespace(None) + [ldconfig, "-X", "-f", conf, "-C", out],
                       check=True, stderr=subprocess.DEVNULL)
        self.caches[kind] = out
        return out

    def driver_symbols(self):
        """The driver's functions that libraries of the environments are linked against."""
        names = set(DRIVER_LOOKUPS)
        places = ("onnxruntime/capi/*.so", "nvidia/*/lib/*.so*", "torch/lib/*.so*")
        for path in sorted(p for e in glob.glob(os.path.join(self.envs, "*", "lib", "python3*",
                                                             "site-packages"))
                           for pattern in places for p in glob.glob(os.path.join(e, pattern))):
            try:
                if "libcuda.so.1" not in oracle.dynamic_names(path)[0]:
                    continue
            except (ValueError, OSError, StopIteration):
                continue
            out = subprocess.run(["nm", "-D", "--undefined-only", path], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                 check=False).stdout
            for line in out.split("\n"):
                name = line.split()[-1].split("@")[0] if line.split() else ""
                if name.startswith("cu") and name[2:3].isupper():
                    names.add(name)
        return sorted(names)

    def driver_dir(self):
        """A folder with a stand-in for libcuda.so.1, a driver that finds no GPU."""
        if self.driver:
            return self.driver
        for tool in ("cc", "nm"):
            if not shutil.which(tool):
                raise CannotRun(f"no {tool} to make a stand-in for libcuda.so.1")
        where = os.path.join(self.work, "driver")
        os.makedirs(where, exist_ok=True)
        source = os.path.join(where, "cuda.c")
        text = DRIVER_CODE + "".join(f"int {n}(void) {{ return 100; }}\n"
                                     for n in self.driver_symbols()
                                     if f" {n}(" not in DRIVER_CODE)
        library = os.path.join(where, "libcuda.so.1")
        old = None
        if os.path.exists(source) and os.path.exists(library):
            with open(source, encoding="utf-8") as f:
                old = f.read()
        if old != text:
            with open(source, "w", encoding="utf-8") as f:
                f.write(text)
            subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1",
                            "-o", library, source], check=True)
        self.driver = where
        return where

    def condition(self, env, name):
        """Return {prefix, env, cwd} for the environment folder `env` under the condition `name`."""
        base, *more = name.split("+")
        variables = {k: v for k, v in os.environ.items()
                     if not k.startswith(("LD_", "PYTHON", "CUDA", "CONDA", "ORT", "NVIDIA"))
                     and k != "VIRTUAL_ENV"}
        paths, cwd = [], os.path.join(self.work, "cwd")
        os.makedirs(cwd, exist_ok=True)
        for m in more:
            if m == "llp":
                paths += nvidia_dirs(env)
            elif m == "cwd0":
                cwd = os.path.join(self.work, "cwd0")
                os.makedirs(cwd, exist_ok=True)
                for major in ("11", "12"):
                    with open(os.path.join(cwd, "libcublasLt.so." + major), "w",
                              encoding="utf-8"):
                        pass
            elif m == "alien":
                alien = os.path.join(self.work, "alien")
                os.makedirs(alien, exist_ok=True)
                with open(os.path.join(alien, oracle.PROVIDER), "w", encoding="utf-8"):
                    pass
                paths.append(alien)
            else:
                raise ValueError(f"unknown condition {name}")
        if paths:
            variables["LD_LIBRARY_PATH"] = ":".join(paths)
        prefix = [] if base == "host" else self.in_namespace(self.ld_cache(base))
        return {"prefix": prefix, "env": variables, "cwd": cwd, "base": base}
