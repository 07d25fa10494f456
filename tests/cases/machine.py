"""A machine as a tree of files, from a recipe of one line a thing.

    system ID VERSION GLIBC      os-release, C and C++ library, loader, /proc, /dev (image: without /proc, /dev)
    python VERSION [managed]     the distribution's interpreter; managed: with EXTERNALLY-MANAGED
    user-site DIR VERSION        where pip install --user puts things: DIR/lib/pythonVERSION/site-packages
    venv DIR VERSION [uv]        conda DIR VERSION
    dist ENV NAME VERSION [installer=X] [requires=A;B]
    ort ENV PACKAGE VERSION [installer=X] [only=GLOB] [code=60,90a,ptx90] [stack=7] [build=TEXT]
                                 [gpu=yes]: the CUDA build under the CPU package's name, as conda has it
    wheel ENV PACKAGE VERSION    an NVIDIA wheel, with its libraries in its folder
    torch ENV VERSION            torch and the wheels that it pulls in (bare: without them)
    driver VERSION               kernel module, user libraries, device nodes
    module VERSION               the kernel module alone;  userdriver DIR VERSION: the libraries alone
    gpu ADDRESS NAME             as /proc/driver/nvidia shows it
    toolkit DIR VERSION          a CUDA toolkit's libraries, version.json
    capi DIR VERSION [code=...]  ONNX Runtime's C archive: lib/
    cache DIR...                 /etc/ld.so.cache over these folders
    place NAME                   what lies in tests/places/NAME
    like NAME                    the lines of machines/NAME
    elf PATH [soname=] [needed=A,B] [runpath=] [rpath=] [verneed=FILE:VER] [verdef=A,B] [refs=A,B] [defs=A,B]
             [stack=7] [class=32] [machine=183] [exe] [cut=N] [code=...] [pad=N]
    file PATH TEXT   hex PATH DIGITS   fill PATH COUNT TEXT   link PATH TARGET   hardlink PATH OTHER
    dir PATH   fifo PATH   socket PATH   node PATH c|b MAJOR MINOR   mode PATH OCTAL   remove PATH
    many DIR COUNT NAME          COUNT folders NAME-1.dist-info ... (%d in NAME is the number)
    deep DIR COUNT [NAME]        COUNT folders in each other

Paths are those inside the machine; \\n \\t \\0 \\xNN and @ (the tree's own folder outside) in TEXT and TARGET are
replaced. A venv's own interpreter is laid down when the system has none of its version."""

import base64
import fnmatch
import hashlib
import os
import shutil
import socket
import stat
import struct
import sys

import kbtables

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "oracle"))
import cachewriter  # noqa: E402
import elfwriter  # noqa: E402

MULTIARCH = "/usr/lib/x86_64-linux-gnu"
GLIBCXX = ["GLIBCXX_3.4"] + ["GLIBCXX_3.4.%d" % i for i in range(1, 31)] + ["CXXABI_1.3"]


class CannotMake(Exception):
    """This machine cannot be made here (a device node without root)."""


def unescape(text):
    return text.encode("latin-1", "backslashreplace").decode("unicode_escape").encode("latin-1")


def gpu_code(words):
    """A container of fatbin headers: "60,90a,ptx90"."""
    body = b""
    for word in words.split(","):
        ptx, word = word.startswith("ptx"), word.replace("ptx", "")
        flags = 0x100000 if word.endswith("a") else 0
        head = bytearray(64)
        struct.pack_into("<HHIQ", head, 0, 1 if ptx else 2, 0x101, 64, 8)
        struct.pack_into("<I", head, 28, int(word.rstrip("a")))
        struct.pack_into("<Q", head, 40, flags)
        body += bytes(head) + b"\1" * 8
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def with_code(elf, words):
    """The same file with a section .nv_fatbin behind it."""
    names = b"\0.nv_fatbin\0.shstrtab\0"
    at = (len(elf) + 15) & ~15
    code = gpu_code(words)
    at_names = at + len(code)
    table = (at_names + len(names) + 15) & ~15
    out = bytearray(table)
    out[: len(elf)] = elf
    out[at : at + len(code)] = code
    out[at_names : at_names + len(names)] = names
    row = struct.Struct("<IIQQQQIIQQ")
    out += row.pack(*[0] * 10)
    out += row.pack(1, 1, 2, 0, at, len(code), 0, 0, 8, 0)
    out += row.pack(12, 3, 0, 0, at_names, len(names), 0, 0, 1, 0)
    struct.pack_into("<Q", out, 40, table)
    struct.pack_into("<HHH", out, 58, 64, 3, 2)
    return bytes(out)


def elf_bytes(soname=None, needed=(), code=None, pad=0, exe=False, **more):
    spec = {"soname": soname, "needed": list(needed), **{k: v for k, v in more.items() if v is not None}}
    spec.setdefault("stack", 6)
    head = spec.setdefault("head", {})
    if exe:
        spec["flags_1"] = 0x8000000  # DF_1_PIE
    if more.get("elfclass") == 32:
        head["class"] = 1
    if more.get("machine"):
        head["machine"] = more["machine"]
    made = elfwriter.build(spec)
    made = with_code(made, code) if code else made
    return made + b"\0" * pad


def glibc_versions(version):
    last = int(version.split(".")[1])
    return ["GLIBC_2.2.5"] + ["GLIBC_2.%d" % i for i in range(3, last + 1)]


class Machine:
    def __init__(self, top):
        self.top = top
        self.envs = {}
        self.python_version = {}

    # --- files -----------------------------------------------------------------------------------

    def real(self, path):
        if not path.startswith("/"):
            raise ValueError("path inside the machine must begin with '/': " + path)
        return self.top + path

    def write(self, path, data):
        at = self.real(path)
        os.makedirs(os.path.dirname(at), exist_ok=True)
        if os.path.lexists(at):
            os.unlink(at)
        with open(os.fsencode(at), "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode())

    def link(self, path, target):
        at = self.real(path)
        os.makedirs(os.path.dirname(at), exist_ok=True)
        if os.path.lexists(at):
            os.unlink(at)
        os.symlink(target, at)

    def library(self, folder, file, link=None, **spec):
        """A shared library, with the link of its soname where its file is called otherwise."""
        spec.setdefault("soname", link or file)
        spec.setdefault("verdef", [spec["soname"]])
        self.write(folder + "/" + file, elf_bytes(**spec))
        if link and link != file:
            self.link(folder + "/" + link, file)

    # --- the machine -----------------------------------------------------------------------------

    def do_system(self, name, version, glibc, *flags):
        self.write("/etc/os-release", 'NAME="%s"\nID=%s\nVERSION_ID="%s"\n' % (name.title(), name, version))
        self.write("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n")
        os.makedirs(self.real(MULTIARCH), exist_ok=True)
        os.makedirs(self.real("/usr/lib64"), exist_ok=True)
        self.link("/lib", "usr/lib")
        self.link("/lib64", "usr/lib64")
        self.link("/bin", "usr/bin")
        if name in ("ubuntu", "debian"):
            os.makedirs(self.real("/usr/lib/python3/dist-packages"), exist_ok=True)
            self.write("/etc/debian_version", version + "\n")
        loader = "ld-linux-x86-64.so.2"
        self.write(MULTIARCH + "/" + loader, elf_bytes(soname=loader, verdef=["GLIBC_2.2.5", "GLIBC_2.3"]))
        self.link("/usr/lib64/" + loader, "../lib/x86_64-linux-gnu/" + loader)
        versions = glibc_versions(glibc)
        self.write(MULTIARCH + "/libc.so.6", elf_bytes(soname="libc.so.6", needed=[loader], verdef=versions))
        for lib in ("libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"):
            self.write(MULTIARCH + "/" + lib, elf_bytes(soname=lib, needed=["libc.so.6"], verdef=versions))
        self.write(MULTIARCH + "/libgcc_s.so.1", elf_bytes(soname="libgcc_s.so.1", needed=["libc.so.6"],
                                                           verdef=["GCC_3.0"]))
        self.write(MULTIARCH + "/libstdc++.so.6",
                   elf_bytes(soname="libstdc++.so.6", needed=["libm.so.6", "libc.so.6", "libgcc_s.so.1"],
                             verdef=GLIBCXX))
        if "image" in flags:
            return
        self.write("/proc/version", "Linux version 6.5.0-generic (gcc) #1 SMP\n")
        self.write("/proc/1/cgroup", "0::/init.scope\n")
        self.write("/dev/null", "")
        os.makedirs(self.real("/sys/bus/pci/devices"), exist_ok=True)

    def interpreter(self, path, rpath=None):
        self.write(path, elf_bytes(needed=["libc.so.6"], rpath=rpath, exe=True))
        os.chmod(self.real(path), 0o755)

    def do_python(self, version, *flags):
        lib = "/usr/lib/python" + version
        self.interpreter("/usr/bin/python" + version)
        self.link("/usr/bin/python3", "python" + version)
        self.write(lib + "/os.py", "")
        if "managed" in flags:
            self.write(lib + "/EXTERNALLY-MANAGED", "[externally-managed]\nError=no\n")
        site = "/usr/local/lib/python%s/dist-packages" % version
        os.makedirs(self.real(site), exist_ok=True)
        self.envs["/usr"] = site
        self.python_version["/usr"] = version

    def do_venv(self, where, version, *flags):
        if "/usr" not in self.envs:
            self.do_python(version)
        site = "%s/lib/python%s/site-packages" % (where, version)
        self.write(where + "/pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = false\nversion = %s.9\n%s"
                   % (version, "uv = 0.9.2\n" if "uv" in flags else ""))
        self.link(where + "/bin/python", "python3")
        self.link(where + "/bin/python3", "/usr/bin/python" + version)
        os.makedirs(self.real(site), exist_ok=True)
        self.envs[where] = site
        self.python_version[where] = version
        if "uv" not in flags:
            self.do_dist(where, "pip", "24.0")

    def do_user_site(self, where, version):
        self.envs[where] = "%s/lib/python%s/site-packages" % (where, version)
        self.python_version[where] = version

    def do_conda(self, where, version):
        self.interpreter("%s/bin/python%s" % (where, version), rpath="$ORIGIN/../lib")
        self.link(where + "/bin/python", "python" + version)
        self.write("%s/lib/python%s/os.py" % (where, version), "")
        self.write(where + "/conda-meta/history", "")
        site = "%s/lib/python%s/site-packages" % (where, version)
        os.makedirs(self.real(site), exist_ok=True)
        self.envs[where] = site
        self.python_version[where] = version

    def do_condapkg(self, where, name, version, build="0"):
        """A package that conda-meta knows."""
        self.write("%s/conda-meta/%s-%s-%s.json" % (where, name, version, build),
                   '{"name": "%s", "version": "%s", "build": "%s", "files": []}' % (name, version, build))

    # --- packages --------------------------------------------------------------------------------

    def dist_info(self, env, name, version, files, installer="pip", requires="", only=None):
        """Writes files {path in site: bytes} and the dist-info that lists them."""
        site = self.envs[env]
        info = "%s-%s.dist-info" % (name.replace("-", "_"), version)
        lines = []
        for path, data in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append("%s,sha256=%s,%d" % (path, digest, len(data)))
            if not only or any(fnmatch.fnmatch(path, o) for o in only.split(",")):
                self.write(site + "/" + path, data)
        meta = "Metadata-Version: 2.1\nName: %s\nVersion: %s\n" % (name, version)
        meta += "".join("Requires-Dist: %s\n" % r.strip() for r in requires.split(";") if r.strip())
        self.write("%s/%s/METADATA" % (site, info), meta + "\nText.\n")
        self.write("%s/%s/INSTALLER" % (site, info), installer + "\n")
        lines.append("%s/RECORD,," % info)
        self.write("%s/%s/RECORD" % (site, info), "\n".join(lines) + "\n")

    def do_dist(self, env, name, version, installer="pip", requires=""):
        self.dist_info(env, name, version, {}, installer, requires)

    def do_wheel(self, env, package, version, installer="pip"):
        files = {}
        for soname, folder in kbtables.wheel_libraries(package, version):
            lib = elf_bytes(soname=soname, rpath="$ORIGIN", needed=["libc.so.6"], verdef=[soname],
                            pad=len(package) + len(version))
            files["%s/%s" % (folder, soname)] = lib
        if not files:
            raise ValueError("kb/sonames.tsv knows no library of %s %s" % (package, version))
        self.dist_info(env, package, version, files, installer)

    def do_torch(self, env, version, *flags):
        row = kbtables.torch(version)
        cpu = version.endswith("+cpu")
        needs = [] if cpu else kbtables.torch_needs(row)
        files = {
            "torch/__init__.py": b"",
            "torch/version.py": ("__version__ = '%s'\ndebug = False\ncuda: Optional[str] = %s\n"
                                 % (version, "None" if cpu else "'%s'" % row["cuda"])).encode(),
            "torch/lib/libtorch_global_deps.so": elf_bytes(
                soname="libtorch_global_deps.so", needed=needs + ["libc.so.6"],
                rpath=":".join(["$ORIGIN/../../" + d for d in self.torch_dirs(row)] + ["$ORIGIN"])),
        }
        pins = [] if cpu else kbtables.torch_pins(version)
        brought = [soname for name, number in pins for soname, _ in kbtables.wheel_libraries(name, number)]
        for soname in needs:
            if soname not in brought and "bare" not in flags:  # of wheels that the kb does not list
                files["torch/lib/" + soname] = elf_bytes(soname=soname, needed=["libc.so.6"], verdef=[soname])
        self.dist_info(env, "torch", version, files, requires=";".join("%s==%s" % p for p in pins))
        if "bare" in flags:
            return
        for name, number in pins:
            if kbtables.wheel_libraries(name, number):
                self.do_wheel(env, name, number)

    @staticmethod
    def torch_dirs(row):
        major = int(row["cuda_major"])
        if major >= 13:
            return ["nvidia/cu%d/lib" % major, "nvidia/cudnn/lib", "nvidia/nccl/lib", "nvidia/cusparselt/lib"]
        parts = ("cublas", "cuda_runtime", "cudnn", "cufft", "curand", "cuda_nvrtc", "nvjitlink", "cusparse",
                 "cusolver", "nccl")
        return ["nvidia/%s/lib" % p for p in parts]

    # --- ONNX Runtime ----------------------------------------------------------------------------

    @staticmethod
    def provider(row, soname, needs, code=None, stripped=False):
        verneed = [["libc.so.6", [["GLIBC_" + row["glibc_needed"], 0]]],
                   ["libstdc++.so.6", [["GLIBCXX_" + row["glibcxx_needed"], 0]]]]
        return elf_bytes(soname=soname, needed=([] if stripped else needs) + ["libstdc++.so.6", "libc.so.6"],
                         rpath=None if row["cuda_rpath"] == "-" else row["cuda_rpath"],
                         runpath=None if row["cuda_runpath"] == "-" else row["cuda_runpath"],
                         verneed=verneed, code=code, refs=[{"name": "Provider_GetHost", "reloc": "jump"}])

    def runtime_files(self, row, code=None):
        stripped = row["needs_by"] == "ld-preload-py"
        shared = "libonnxruntime_providers_shared.so"
        cuda, trt = "libonnxruntime_providers_cuda.so", "libonnxruntime_providers_tensorrt.so"
        return {
            shared: elf_bytes(soname=shared, needed=["libc.so.6"],
                              defs=[{"name": "Provider_GetHost", "type": "func"}]),
            cuda: self.provider(row, cuda, kbtables.words(row["needs"]), code, stripped),
            trt: self.provider(row, trt, kbtables.words(row["trt_needs"]), None, stripped),
        }

    def do_ort(self, env, package, version, installer="pip", only=None, code=None, stack=None, build=None,
               requires="numpy>=1.21.6", gpu=None):
        row = kbtables.ort(version)
        gpu = package != "onnxruntime" or gpu == "yes"
        python = self.python_version[env].replace(".", "")
        capi = "onnxruntime/capi/"
        preload = row["preload_dlls"] == "yes"
        ldpreload = gpu and row["needs_by"] == "ld-preload-py"
        glibc = [["libc.so.6", [["GLIBC_" + row["glibc_needed"], 0]]]]
        files = {
            "onnxruntime/__init__.py": ('__version__ = "%s"\n%s' % (
                version, "def preload_dlls(cuda=True):\n    pass\n" if preload else "")).encode(),
            capi + "onnxruntime_pybind11_state.cpython-%s-x86_64-linux-gnu.so" % python: elf_bytes(
                soname="onnxruntime_pybind11_state.so", needed=["libstdc++.so.6", "libc.so.6"], runpath="$ORIGIN",
                verneed=glibc, stack=int(stack) if stack else 7 if row["exec_stack"] == "yes" else 6,
                pad=9000 if gpu else 4000),
            capi + "libonnxruntime.so." + version: elf_bytes(
                soname="libonnxruntime.so.1", needed=["libc.so.6"], pad=7000 if gpu else 3000),
            capi + "build_and_package_info.py": ("package_name = '%s'\n__version__ = '%s'\n%s" % (
                package, version, "cuda_version = '%s'\n" % row["cuda"] if gpu else "")).encode(),
        }
        shared = self.runtime_files(row, code)
        if not gpu:
            shared = {k: v for k, v in shared.items() if "shared" in k}
        files.update({capi + k: v for k, v in shared.items()})
        if ldpreload:
            files[capi + "_ld_preload.py"] = (
                "import os\nfrom ctypes import CDLL, RTLD_GLOBAL\ntry:\n"
                + "".join('    _%s = CDLL("%s", mode=RTLD_GLOBAL)\n' % (s.split(".")[0], s)
                          for s in kbtables.words(row["needs"]))
                + 'except OSError:\n    import os\n    os.environ["ORT_CUDA_UNAVAILABLE"] = "1"\n').encode()
        self.dist_info(env, package, version, files, installer, requires, only)
        if build:
            self.do_condapkg(env, package, version, build)

    def do_capi(self, where, version, code=None):
        row = kbtables.ort(version)
        self.library(where + "/lib", "libonnxruntime.so." + version, "libonnxruntime.so.1", needed=["libc.so.6"],
                     runpath="$ORIGIN")
        self.link(where + "/lib/libonnxruntime.so", "libonnxruntime.so." + version)
        for name, data in self.runtime_files(row, code).items():
            self.write("%s/lib/%s" % (where, name), data)
        self.write(where + "/VERSION_NUMBER", version + "\n")

    # --- the driver and CUDA ---------------------------------------------------------------------

    def do_module(self, version):
        self.write("/proc/driver/nvidia/version",
                   "NVRM version: NVIDIA UNIX x86_64 Kernel Module  %s  Thu Feb 22 01:44:30 UTC 2024\n" % version)
        for node in ("nvidia0", "nvidiactl", "nvidia-uvm"):
            self.write("/dev/" + node, "")

    def do_userdriver(self, folder, version):
        for stem in ("libcuda", "libnvidia-ml"):
            self.library(folder, "%s.so.%s" % (stem, version), stem + ".so.1", needed=["libc.so.6"])

    def do_driver(self, version):
        self.do_module(version)
        self.do_userdriver(MULTIARCH, version)

    def do_gpu(self, address, *name):
        self.write("/proc/driver/nvidia/gpus/%s/information" % address,
                   "Model: \t\t %s\nIRQ:   \t\t 82\nGPU UUID: \t GPU-0\nBus Location: \t %s\n" % (" ".join(name), address))

    def do_toolkit(self, where, version):
        major = version.split(".")[0]
        folder = where + "/targets/x86_64-linux/lib"
        for row in kbtables.table("sonames"):
            if (row["manager"], row["cuda_major"]) == ("pip", major) and row["package"].startswith("nvidia-") \
                    and "cudnn" not in row["package"] and "builtins" not in row["soname"]:
                file = row["soname"] if row["soname"].count(".") > 2 else row["soname"] + ".0.0"
                self.library(folder, file, row["soname"], needed=["libc.so.6"], runpath="$ORIGIN")
        self.link(where + "/lib64", "targets/x86_64-linux/lib")
        self.write(where + "/version.json", '{"cuda": {"name": "CUDA SDK", "version": "%s"}}\n' % version)
        self.library(folder + "/stubs", "libcuda.so", soname="libcuda.so.1", needed=["libc.so.6"])

    def do_cache(self, *folders):
        entries = []
        for folder in folders:
            for name in sorted(os.listdir(self.real(folder))):
                if ".so" in name and os.path.isfile(self.real(folder + "/" + name)):
                    entries.append({"name": name, "path": folder + "/" + name})
        self.write("/etc/ld.so.cache", cachewriter.build({"entries": entries}))

    # --- anything --------------------------------------------------------------------------------

    def do_like(self, name):
        with open(os.path.join(HERE, "machines", name), encoding="utf-8") as f:
            for line in f:
                if line.strip() and not line.startswith("#"):
                    self.do(line.strip())

    def do_place(self, name):
        shutil.copytree(os.path.join(HERE, "..", "places", name), self.top, symlinks=True, dirs_exist_ok=True)

    def do_elf(self, path, *flags, cut=None, pad=0, mode=None, **spec):
        lists = {k: spec.pop(k).split(",") for k in ("needed", "verdef", "refs", "defs") if k in spec}
        for key in ("refs", "defs"):
            if key in lists:
                lists[key] = [{"name": n, "type": "func"} if key == "defs" else {"name": n} for n in lists[key]]
        if "verneed" in spec:
            file, version = spec.pop("verneed").split(":")
            lists["verneed"] = [[file, [[version, 0]]]]
        for key in ("stack", "machine"):
            if key in spec:
                spec[key] = int(spec[key])
        if "class" in spec:
            spec["elfclass"] = int(spec.pop("class"))
        data = elf_bytes(exe="exe" in flags, pad=int(pad), **lists, **spec)
        self.write(path, data[: int(cut)] if cut else data)
        if "exe" in flags:
            os.chmod(self.real(path), 0o755)

    def text(self, words):
        return unescape(" ".join(words).replace("@", self.top))

    def do_file(self, path, *words):
        self.write(path, self.text(words))

    def do_hex(self, path, *digits):
        self.write(path, bytes.fromhex("".join(digits)))

    def do_fill(self, path, count, *words):
        self.write(path, self.text(words) * int(count))

    def do_link(self, path, *words):
        self.link(path, self.text(words).decode("utf-8", "surrogateescape"))

    def do_hardlink(self, path, other):
        os.makedirs(os.path.dirname(self.real(path)), exist_ok=True)
        os.link(self.real(other), self.real(path))

    def do_dir(self, path):
        os.makedirs(os.fsencode(self.top) + unescape(path), exist_ok=True)

    def do_fifo(self, path):
        os.makedirs(os.path.dirname(self.real(path)), exist_ok=True)
        self.do_remove(path)
        os.mkfifo(self.real(path))

    def do_socket(self, path):
        self.do_remove(path)
        here = os.getcwd()
        os.makedirs(os.path.dirname(self.real(path)), exist_ok=True)
        os.chdir(os.path.dirname(self.real(path)))  # names of sockets are short
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.bind(os.path.basename(path))
        finally:
            os.chdir(here)

    def do_node(self, path, kind, major, minor):
        self.do_remove(path)
        os.makedirs(os.path.dirname(self.real(path)), exist_ok=True)
        try:
            os.mknod(self.real(path), 0o666 | (stat.S_IFCHR if kind == "c" else stat.S_IFBLK),
                     os.makedev(int(major), int(minor)))
        except PermissionError as e:
            raise CannotMake("no device nodes can be made here (%s)" % e.strerror) from e

    def do_mode(self, path, octal):
        mode = int(octal, 8)
        if os.getuid() != 0:  # then we are nobody ourselves, and it is the owner's bits that count
            mode = mode & 0o077 | (mode & 7) << 6
        os.chmod(self.real(path), mode)

    def do_remove(self, path):
        at = self.real(path)
        if os.path.isdir(at) and not os.path.islink(at):
            shutil.rmtree(at)
        elif os.path.lexists(at):
            os.unlink(at)

    def do_many(self, where, count, name):
        os.makedirs(self.real(where), exist_ok=True)
        for i in range(int(count)):
            os.mkdir("%s/%s" % (self.real(where), name.replace("%d", str(i))))

    def do_deep(self, where, count, name="d"):
        os.makedirs(self.real(where), exist_ok=True)
        here = os.getcwd()
        os.chdir(self.real(where))
        try:
            for _ in range(int(count)):
                os.mkdir(name)
                os.chdir(name)
        finally:
            os.chdir(here)

    def do(self, line):
        """One line of a recipe."""
        what, *words = line.split()
        method = getattr(self, "do_" + what.replace("-", "_"), None)
        if method is None:
            raise ValueError("unknown recipe '%s'" % what)
        if what in ("file", "fill", "link", "hex", "gpu"):
            if what in ("file", "fill"):
                skip = 2 if what == "file" else 3
                words = words[: skip - 1] + line.split(None, skip)[skip : skip + 1]
            method(*words)
            return
        plain = [w for w in words if "=" not in w or w.startswith("/") or w.startswith("@")]
        named = dict(w.split("=", 1) for w in words if w not in plain)
        method(*plain, **named)
