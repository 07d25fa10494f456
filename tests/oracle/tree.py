"""A tree of files for the loader: how it lies on disk, how both answers are got and compared.

A tree is JSON: `@` in any string stands for the tree's folder.

    files    [{path, kind, ...}]   elf (spec), link (to), hardlink (to), dir, fifo,
                                   bytes (hex), exe (patch), sparse (size),
                                   cc (source, args, script: made by the compiler)
             each may have mode; a path outside the tree lies in a system folder
    env      {name: value}
    cwd      folder the program runs in;  other_cwd: ortfit is started elsewhere and told by --cwd
    exe      path of the program; None = the plain one
    file     what is opened;  lazy;  caller;  preloads [[l|g, name], ...]
    cache    None | dictionary of cachewriter | {ldconfig: [dirs]}
    ld_so_preload  None | text of /etc/ld.so.preload
"""

import ctypes
import json
import os
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

import cachewriter
import elfwriter

HERE = os.path.dirname(os.path.abspath(__file__))
TIMEOUT_S = 5
HANG_S = 1
PLACE_RPATH = "ORTFIT_RUNPATH_" + "x" * 500
PLACE_NEEDED = "ORTFIT_NEEDED_" + "x" * 100
IGNORED_TAG = 0x60000042
NOBODY = 65534


def subst(obj, top):
    if isinstance(obj, str):
        return obj.replace("@", top)
    if isinstance(obj, list):
        return [subst(o, top) for o in obj]
    if isinstance(obj, dict):
        return {k: subst(v, top) for k, v in obj.items()}
    return obj


class Setting:
    """Where trees are made: a folder of our own, and what of the system can be stood in for."""

    def __init__(self, base, ortfit):
        self.base, self.ortfit = base, ortfit
        self.top = os.path.join(base, "t")
        self.harness = os.path.join(base, "bin", "oracle")
        self.template = os.path.join(base, "bin", "template")
        self.cache = False  # /etc/ld.so.cache is ours
        self.etc = False  # so is /etc/ld.so.preload
        self.system = False  # the system folders can be written to, harmlessly
        self.modes = False  # permission bits mean something (not root)
        self.musl = False  # musl's loader is the judge
        self.prefix = ""  # the root that trees lie in, with --root
        self.missing = []
        self.root = os.getuid() == 0
        self.libc = ctypes.CDLL(None, use_errno=True)

    @property
    def view(self):
        """The tree's folder as the program sees it."""
        return self.top[len(self.prefix) :]

    def real(self, path):
        """Where a path of the tree really lies."""
        return self.prefix + path if path.startswith("/") else os.path.join(self.top, path)

    def mount(self, source, target, fstype, flags, data=None):
        r = self.libc.mount(
            source.encode(),
            target.encode(),
            fstype and fstype.encode(),
            flags,
            data and data.encode(),
        )
        if r != 0:
            raise OSError(ctypes.get_errno(), "mount " + target)

    def may_mount(self):
        """0 when this process may make a mount namespace of its own; it is in one afterwards."""
        if not self.root or self.libc.unshare(0x20000) != 0:
            return 1
        try:
            self.mount(
                "none", "/", None, 16384 | 1 << 18
            )  # fails in a bare chroot: / is no mount point
        except OSError:
            return 1
        return 0

    def isolate(self, plain=False):
        """A mount namespace with a tmpfs; unless plain, our own cache, a layer over /usr/lib."""
        CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
        MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
        os.makedirs(self.base, exist_ok=True)
        uid, gid = os.getuid(), os.getgid()
        flags = CLONE_NEWNS if uid == 0 else CLONE_NEWNS | CLONE_NEWUSER
        if self.libc.unshare(flags) != 0:
            self.missing.append(
                "no mount namespace (%s): no ld.so.cache of our own, nothing in "
                "the system folders" % os.strerror(ctypes.get_errno())
            )
            return
        try:
            if uid != 0:
                with open("/proc/self/setgroups", "w") as f:
                    f.write("deny")
                with open("/proc/self/uid_map", "w") as f:
                    f.write("%d %d 1" % (uid, uid))
                with open("/proc/self/gid_map", "w") as f:
                    f.write("%d %d 1" % (gid, gid))
            self.mount("none", "/", None, MS_REC | MS_PRIVATE)
            self.mount("tmpfs", self.base, "tmpfs", 0, "mode=0755")
            if plain:
                return
            cache = os.path.join(self.base, "cache")
            shutil.copy("/etc/ld.so.cache", cache)
            self.mount(cache, "/etc/ld.so.cache", None, MS_BIND)
            self.cache = True
            self.layer("/usr/lib", uid)
            os.chmod("/usr/lib/x86_64-linux-gnu", 0o777)
            self.system = True
            self.layer("/etc", uid)
            self.mount(cache, "/etc/ld.so.cache", None, MS_BIND)
            self.etc = True
        except OSError as e:
            self.missing.append(
                "%s: %s: the trees do without it" % (e.filename or e.args[1], os.strerror(e.errno))
            )

    def layer(self, folder, uid, at=None):
        """A layer over a folder, so that it can be written to and stays as it is."""
        at = at or folder
        name = at.replace("/", "-")
        up, work = self.base + "/up" + name, self.base + "/work" + name
        os.makedirs(up)
        os.makedirs(work)
        more = ",userxattr" if uid != 0 else ""
        data = "lowerdir=%s,upperdir=%s,workdir=%s%s" % (folder, up, work, more)
        self.mount("overlay", at, "overlay", 0, data)
        os.chmod(at, 0o777)

    def make_root(self):
        """A root with libc, and a layer over the host's /usr/lib that only the root has."""
        self.prefix = os.path.join(self.base, "root")
        self.top = self.prefix + "/t"
        for d in ("usr/lib", "usr/lib64", "etc", "bin", "dev", "proc"):
            os.makedirs(os.path.join(self.prefix, d))
        os.symlink("usr/lib", self.prefix + "/lib")
        os.symlink("usr/lib64", self.prefix + "/lib64")
        loader = "/lib64/ld-linux-x86-64.so.2"
        shutil.copy(loader, self.prefix + loader, follow_symlinks=False)
        shutil.copy(self.harness, self.prefix + "/bin/oracle")
        try:
            self.mount("/proc", self.prefix + "/proc", None, 4096 | 16384)
            self.layer("/usr/lib", 0, self.prefix + "/usr/lib")
        except OSError as e:
            sys.exit("--root needs mounts: %s" % e)
        self.cache = self.etc = self.system = True

    def drop(self):
        """Become nobody, so that permission bits count."""
        if not self.root:
            self.modes = True
            return
        if not self.cache:
            self.missing.append("root without a namespace: permission bits are not tested")
            return
        try:
            for p in (self.base, os.path.join(self.base, "cache")):
                os.chown(p, NOBODY, NOBODY)
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            self.modes = True
        except OSError as e:
            self.missing.append("cannot become another user: " + e.strerror)

    def prepare(self, bindir):
        shutil.rmtree(os.path.join(self.base, "bin"), ignore_errors=True)
        shutil.copytree(bindir, os.path.join(self.base, "bin"))
        with open(self.template, "rb") as f:
            self.template_bytes = f.read()


def compile_harness(bindir, cc="gcc"):
    """The plain program and the one whose dynamic section is patched for each tree."""
    os.makedirs(bindir, exist_ok=True)
    src = os.path.join(HERE, "harness.c")
    stub = os.path.join(bindir, "libstub.so")
    run = lambda *a: subprocess.run([cc, "-O1", *a], check=True)
    run("-o", os.path.join(bindir, "oracle"), src)
    run("-shared", "-nostdlib", "-x", "c", "/dev/null", "-o", stub, "-Wl,-soname," + PLACE_NEEDED)
    run(
        "-o",
        os.path.join(bindir, "template"),
        src,
        "-Wl,--no-as-needed",
        stub,
        "-Wl,-rpath," + PLACE_RPATH,
        "-Wl,--enable-new-dtags",
    )


def patch_exe(data, patch):
    """The template with other RPATH, RUNPATH, NEEDED, and flags."""
    out = bytearray(data)
    U = elfwriter.struct.unpack_from
    (phoff,) = U("<Q", out, 32)
    (phnum,) = U("<H", out, 56)
    loads, dyn = [], None
    for i in range(phnum):
        typ, _, off, vaddr, _, filesz, _, _ = U("<IIQQQQQQ", out, phoff + 56 * i)
        if typ == 1:
            loads.append((vaddr, off, filesz))
        elif typ == 2:
            dyn = off
    tags, pos = {}, dyn
    while True:
        tag, val = U("<QQ", out, pos)
        tags.setdefault(tag, []).append((pos, val))
        if tag == 0:
            break
        pos += 16
    vaddr = tags[elfwriter.DT["STRTAB"]][0][1]
    strtab = next(o + vaddr - v for v, o, n in loads if v <= vaddr < v + n)

    def put(entry, tag, text, room):
        at, val = entry
        if text is None:
            elfwriter.struct.pack_into("<Q", out, at, IGNORED_TAG)
            return
        raw = text.encode()
        assert len(raw) <= room, "path too long for the template"
        elfwriter.struct.pack_into("<Q", out, at, tag)
        out[strtab + val : strtab + val + len(raw) + 1] = raw + b"\0"

    runpath = tags[elfwriter.DT["RUNPATH"]][0]
    if patch.get("rpath") is not None:
        put(runpath, elfwriter.DT["RPATH"], patch["rpath"], len(PLACE_RPATH))
    else:
        put(runpath, elfwriter.DT["RUNPATH"], patch.get("runpath"), len(PLACE_RPATH))
    needed = next(e for e in tags[1] if out[strtab + e[1] :].startswith(b"ORTFIT_NEEDED"))
    put(needed, 1, patch.get("needed"), len(PLACE_NEEDED))
    if patch.get("flags_1"):
        at, val = tags[elfwriter.DT["FLAGS_1"]][0]
        elfwriter.struct.pack_into("<Q", out, at + 8, val | patch["flags_1"])
    return bytes(out)


def compile_file(path, f):
    """One file made by the compiler; a few words among its arguments are not the compiler's."""
    args = list(f["args"])
    words = {w: w in args for w in ("program", "c++", "debug-only", "no-sections")}
    args = [a for a in args if a not in words]
    folder = tempfile.mkdtemp(prefix="ortfit-oracle-cc-")
    src = os.path.join(folder, "a.cc" if words["c++"] else "a.c")
    try:
        with open(src, "w") as out:
            out.write(f["source"])
        if f.get("script"):
            with open(os.path.join(folder, "map"), "w") as out:
                out.write(f["script"])
            args.append("-Wl,--version-script," + os.path.join(folder, "map"))
        argv = [os.environ.get("CC", "gcc"), "-w", "-O1", "-fPIC", "-o", path, src]
        if words["c++"]:
            argv[0] = "g++"
        if not words["program"]:
            argv += [] if words["c++"] else ["-nostdlib"]
            argv += [] if {"-c", "-static", "-static-pie"} & set(args) else ["-shared"]
        subprocess.run(argv + args, check=True)
        if words["debug-only"]:
            subprocess.run(["objcopy", "--only-keep-debug", path], check=True)
        if words["no-sections"]:
            with open(path, "r+b") as out:
                for at, size in ((40, 8), (60, 4)):
                    out.seek(at)
                    out.write(bytes(size))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _make(setting, f, elf):
    view = setting.view
    path = setting.real(subst(f["path"], view))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    kind = f["kind"]
    if kind == "link":
        os.symlink(subst(f["to"], view), path)
    elif kind == "hardlink":
        os.link(setting.real(subst(f["to"], view)), path)
    elif kind == "dir":
        os.makedirs(path, exist_ok=True)
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "sparse":
        with open(path, "wb") as out:
            out.truncate(f["size"])
    elif kind == "cc":
        compile_file(path, dict(f, args=subst(f["args"], view)))
    else:
        if kind == "elf":
            data = elf(subst(f["elf"], view))
        elif kind == "exe":
            data = patch_exe(setting.template_bytes, subst(f.get("patch", {}), view))
        else:
            data = bytes.fromhex(f["hex"])
        with open(path, "wb") as out:
            out.write(data)
        if kind == "exe":
            os.chmod(path, 0o755)
    return path


def by_ldconfig(setting, folders):
    """The cache that the real ldconfig makes of these folders."""
    out = os.path.join(setting.top, "ld.so.cache")
    with open(os.path.join(setting.top, "ld.so.conf"), "w") as f:
        f.write("".join(d + "\n" for d in folders))
    argv = ["/sbin/ldconfig", "-X", "-C", setting.view + "/ld.so.cache"]
    argv += ["-f", setting.view + "/ld.so.conf"]
    if setting.prefix:
        argv += ["-r", setting.prefix]
    r = subprocess.run(argv, capture_output=True, env={})
    if r.returncode != 0 or not os.path.exists(out):
        return b""
    with open(out, "rb") as f:
        return f.read()


def write_cache(setting, tree):
    cache = tree.get("cache") or {"format": "new", "entries": []}
    if cache.get("ldconfig") is not None:
        data = by_ldconfig(setting, subst(cache["ldconfig"], setting.view))
    else:
        data = cachewriter.build(subst(cache, setting.view))
    path = setting.prefix + "/etc/ld.so.cache" if setting.prefix else setting.base + "/cache"
    with open(path, "wb") as f:
        f.write(data)


def make(setting, tree, elf=elfwriter.build):
    os.makedirs(setting.top, exist_ok=True)
    late = []
    for f in tree["files"]:
        path = _make(setting, f, elf)
        if f.get("mode") is not None:
            late.append((path, f["mode"]))
    if setting.cache:
        write_cache(setting, tree)
    if setting.etc and tree.get("ld_so_preload") is not None:
        with open(setting.prefix + "/etc/ld.so.preload", "w") as f:
            f.write(subst(tree["ld_so_preload"], setting.view))
    for path, mode in late:
        os.chmod(path, mode)


def remove(setting, tree):
    preload = setting.prefix + "/etc/ld.so.preload"
    if setting.etc and tree.get("ld_so_preload") is not None and os.path.exists(preload):
        os.unlink(preload)
    for f in tree["files"]:
        path = subst(f["path"], setting.view)
        full = setting.real(path)
        if f.get("mode") is not None and f["kind"] == "dir":
            if os.path.isdir(full) and not os.path.islink(full):
                os.chmod(full, 0o755)
        if path.startswith("/usr/"):
            try:
                if os.path.isdir(full) and not os.path.islink(full):
                    os.rmdir(full)
                else:
                    os.unlink(full)
            except OSError:
                pass
            if "hwcaps" in os.path.dirname(path):
                shutil.rmtree(
                    setting.prefix + "/usr/lib/x86_64-linux-gnu/glibc-hwcaps", ignore_errors=True
                )
    shutil.rmtree(setting.top, ignore_errors=True)


def start_in_root(root, argv, env, cwd, out, err):
    """A child below a root of its own; posix_spawn cannot do this."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.chroot(root)
        os.chdir(cwd)
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.execve(argv[0], argv, env)
    except OSError as e:
        os.write(2, str(e).encode())
    os._exit(126)


def spawn(argv, env, cwd, timeout_s=TIMEOUT_S, root=None):
    """(status, stdout, stderr) of a child; status None = it did not end in time."""
    out_r, out_w = os.pipe()
    err_r, err_w = os.pipe()
    try:
        if root:
            pid = start_in_root(root, argv, env, cwd, out_w, err_w)
        else:
            os.chdir(cwd)
            pid = os.posix_spawn(
                argv[0],
                argv,
                env,
                setsigdef=[signal.SIGPIPE],
                file_actions=[(os.POSIX_SPAWN_DUP2, out_w, 1), (os.POSIX_SPAWN_DUP2, err_w, 2)],
            )
    finally:
        os.chdir("/")
        os.close(out_w)
        os.close(err_w)
    data = {out_r: [], err_r: []}
    end = time.monotonic() + timeout_s
    open_fds = [out_r, err_r]
    while open_fds:
        ready, _, _ = select.select(open_fds, [], [], max(0, end - time.monotonic()))
        if not ready:
            break
        for fd in ready:
            chunk = os.read(fd, 65536)
            if chunk:
                data[fd].append(chunk)
            else:
                open_fds.remove(fd)
    hung = bool(open_fds)
    if hung:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(out_r)
    os.close(err_r)
    text = [b"".join(data[fd]).decode("utf-8", "surrogateescape") for fd in (out_r, err_r)]
    return None if hung else status, text[0], text[1]


def environment(setting, tree):
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
    if "ASAN_OPTIONS" in os.environ:  # verify_asan_link_order=0 lets LD_PRELOAD be
        env["ASAN_OPTIONS"] = os.environ["ASAN_OPTIONS"]
    env.update(subst(tree.get("env") or {}, setting.view))
    return env


def run_oracle(setting, tree):
    """{"verdict": ok|fail|abort|hang|nostart, "error", "map", "preloads"}"""
    keys = ("exe", "file", "caller", "preloads", "cwd")
    t = subst({k: tree.get(k) for k in keys}, setting.view)
    argv = [t["exe"] or ("/bin/oracle" if setting.prefix else setting.harness)]
    if tree.get("lazy"):
        argv.append("-l")
    for kind, name in t["preloads"] or []:
        argv += ["-g" if kind == "g" else "-p", name]
    if t["caller"]:
        argv += ["-c", t["caller"]]
    argv += ["--", t["file"]]
    cwd = os.path.join(setting.view, t["cwd"] or ".")
    fifo = any(f["kind"] == "fifo" for f in tree["files"])
    timeout_s = HANG_S if fifo else TIMEOUT_S
    status, out, err = spawn(argv, environment(setting, tree), cwd, timeout_s, setting.prefix)
    res = {"verdict": "nostart", "error": None, "map": [], "preloads": [], "stderr": err}
    started = False
    for row in out.split("\n"):
        key, _, text = row.replace("\1", "\n").partition(" ")
        if key == "S":
            started = True
        elif row == "C no trampoline":
            return res  # damaged so that we cannot call into it: nothing to compare
        elif key == "P":
            res["preloads"].append(text)
        elif key == "M":
            res["map"].append(text)
        elif key == "C" or (key == "R" and text != "ok"):
            res.update(verdict="fail", error=text, map=[])
        elif key == "R":
            res["verdict"] = "ok"
    if not started:
        return res
    if status is None:
        res.update(verdict="hang", map=[])
    elif os.WIFSIGNALED(status):
        res.update(verdict="abort", map=[], error="signal %d" % os.WTERMSIG(status))
    elif os.WEXITSTATUS(status) not in (0, 1):
        res.update(verdict="abort", map=[], error=err.strip() or "exit %d" % os.WEXITSTATUS(status))
    return res


def ortfit_argv(setting, tree, view=None):
    """What to run and where."""
    keys = ("exe", "file", "caller", "preloads", "cwd", "options")
    t = subst({k: tree.get(k) for k in keys}, view or setting.view)
    argv = [setting.ortfit, "loads", t["file"], "--format", "json"]
    if tree.get("lazy"):
        argv.append("--lazy")
    if t["exe"] or setting.musl:
        argv += ["--exe", t["exe"] or setting.harness]
    for kind, name in t["preloads"] or []:
        argv += ["--preload-global" if kind == "g" else "--preload", name]
    if t["caller"]:
        argv += ["--caller", t["caller"]]
    cwd = os.path.join(view or setting.view, t["cwd"] or ".")
    if setting.prefix:
        argv += ["--root", setting.prefix]
    if tree.get("other_cwd") or setting.prefix:
        argv += ["--cwd", cwd]
        cwd = "/"
    return argv + (t["options"] or []), cwd


def run_ortfit(setting, tree):
    argv, cwd = ortfit_argv(setting, tree)
    status, out, err = spawn(argv, environment(setting, tree), cwd)
    if status is None:
        return {"broken": "did not end in %d s" % TIMEOUT_S}
    code = os.waitstatus_to_exitcode(status)
    try:
        doc = json.loads(out)
    except ValueError:
        return {"broken": "exit %d, no JSON: %r %r" % (code, out[:200], err[:300])}
    return {"code": code, "doc": doc}


def not_started(setting, tree, answer):
    """ortfit is a program too: a preload can keep it from starting where the other one starts."""
    preloads = (tree.get("env") or {}).get("LD_PRELOAD") or tree.get("ld_so_preload")
    if "broken" not in answer or not preloads:
        return False
    _, cwd = ortfit_argv(setting, tree)
    status, _, _ = spawn([setting.harness, ""], environment(setting, tree), cwd)
    return status != 0


def differ(oracle, answer):
    """None, or in which of verdict, text, map order the two disagree."""
    if oracle["verdict"] == "nostart":
        return None
    if "broken" in answer:
        return answer["broken"]
    doc, code = answer["doc"], answer["code"]
    if doc.get("schema") != 1 or doc.get("verb") != "loads":
        return "not a loads document: %r" % (doc,)
    loads = oracle["verdict"] == "ok"
    if doc.get("would_load") is not loads:
        return "verdict"
    if code != (0 if loads else 1):
        return "exit code %d" % code
    error = doc.get("error")
    text = oracle["error"] or ""
    if text.startswith("Error relocating "):
        # A relocation without a symbol: musl prints the name that lay on its stack, "" or (null).
        text = text.replace(": : initial-exec TLS", ": (null): initial-exec TLS")
    if oracle["verdict"] == "fail" and error != text:
        return "text"
    if loads and error is not None:
        return "text"
    if oracle["verdict"] in ("abort", "hang") and not (
        isinstance(error, str) and error.startswith("the loader would ")
    ):
        return "text"
    if doc.get("map") != oracle["map"]:
        return "map"
    return None


def open_to_all(path):
    """Can any user run this program?"""
    while path != "/":
        if not os.stat(path).st_mode & stat.S_IXOTH:
            return False
        path = os.path.dirname(path)
    return True
