"""Run by the environment's own Python: open the CUDA provider as a user's program would.

    python drive.py SPEC.json

SPEC names what to do before the session (`pre`: "torch", "preload_dlls" or null), where the
answer goes (`result`, `stdout`, `stderr`), the prefix of the LD_DEBUG log (`log`) and the folder
for stand-ins (`stubs`), which the caller put last on LD_LIBRARY_PATH.

The loader stops at the first missing library. To hear of every one, each missing library gets a
stand-in without symbols in the stubs folder after the first, true attempt, and the session is
tried again, until no file is missing. A stand-in is found only where the search found nothing, so
every other answer stays what it was; and its lack of symbols fails the relocation, before a line
of the provider's code runs.
"""
import ctypes
import json
import os
import re
import struct
import sys
import traceback

MISSING = re.compile(r"(\S+): cannot open shared object file: No such file or directory")
FAILED = re.compile(r"Failed to load library (.+?) with error: ([^\n]*)")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
ATTEMPTS_MAX = 80


def varint(n):
    out = bytearray()
    while True:
        out.append(n & 0x7f | (0x80 if n > 0x7f else 0))
        n >>= 7
        if not n:
            return bytes(out)


def field_bytes(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def field_int(number, value):
    return varint(number << 3) + varint(value)


def model():
    """y = x + x over one float, as the bytes of an ONNX ModelProto."""
    def value(name):
        shape = field_bytes(2, field_bytes(1, field_int(1, 1)))
        return field_bytes(1, name) + field_bytes(2, field_bytes(1, field_int(1, 1) + shape))
    node = (field_bytes(1, b"x") + field_bytes(1, b"x") + field_bytes(2, b"y")
            + field_bytes(4, b"Add"))
    graph = (field_bytes(1, node) + field_bytes(2, b"g") + field_bytes(11, value(b"x"))
             + field_bytes(12, value(b"y")))
    return field_int(1, 7) + field_bytes(7, graph) + field_bytes(8, field_bytes(1, b"")
                                                                 + field_int(2, 13))


def stub_library(soname):
    """An ELF shared object of this machine with a soname and nothing else."""
    with open("/proc/self/exe", "rb") as f:
        machine = struct.unpack_from("<H", f.read(20), 18)[0]
    names = b"\0" + soname.encode() + b"\0"
    at_names = 64 + 3 * 56
    at_sym = (at_names + len(names) + 7) & ~7
    at_hash = at_sym + 24
    at_dyn = at_hash + 16
    dyn = b"".join(struct.pack("<QQ", t, v) for t, v in (
        (4, at_hash), (5, at_names), (6, at_sym), (10, len(names)), (11, 24), (14, 1), (0, 0)))
    end = at_dyn + len(dyn)
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, machine, 1, 0, 64, 0, 0,
                         64, 56, 3, 64, 0, 0)
    loads = (struct.pack("<IIQQQQQQ", 1, 6, 0, 0, 0, end, end, 0x1000)
             + struct.pack("<IIQQQQQQ", 2, 6, at_dyn, at_dyn, at_dyn, len(dyn), len(dyn), 8)
             + struct.pack("<IIQQQQQQ", 0x6474e551, 6, 0, 0, 0, 0, 0, 16))
    body = header + loads + names
    body += b"\0" * (at_sym - len(body)) + b"\0" * 24 + struct.pack("<IIII", 1, 1, 0, 0) + dyn
    return body


class Driver:
    def __init__(self, spec):
        self.spec = spec
        self.log = f"{spec['log']}.{os.getpid()}"
        self.stubs = []
        self.attempts = []
        self.out = {"pre_error": None, "providers": None, "available": None, "version": None}

    def save(self):
        self.out.update(pid=os.getpid(), attempts=self.attempts, stubs=self.stubs)
        with open(self.spec["result"], "w", encoding="utf-8") as f:
            json.dump(self.out, f, indent=1)

    def log_size(self):
        return os.stat(self.log).st_size if os.path.exists(self.log) else 0

    def add_stub(self, name):
        with open(os.path.join(self.spec["stubs"], name), "wb") as f:
            f.write(stub_library(name))
        self.stubs.append(name)

    def attempt(self, what, action):
        """Do action, note its stretch of the log and what it said; return the loader's error."""
        start, said = self.log_size(), os.stat(self.spec["stderr"]).st_size
        raised = None
        self.attempts.append({"what": what, "start": start, "end": None, "opened": None,
                              "error": None, "raised": None, "crashed": True})
        self.save()  # a provider that crashes the process has been loaded all the same
        try:
            action()
        except Exception as e:  # whatever a broken environment raises is the answer
            raised = str(e)
        sys.stdout.flush()
        sys.stderr.flush()
        with open(self.spec["stderr"], encoding="utf-8", errors="replace") as f:
            f.seek(said)
            text = COLOUR.sub("", f.read())
        failed = FAILED.search(text)
        error = failed.group(2).strip() if failed else None
        if not failed and raised and what != "session":
            error = raised
        self.attempts[-1] = {"what": what, "start": start, "end": self.log_size(),
                             "opened": failed.group(1) if failed else None,
                             "error": error, "raised": raised, "text": text[:4000]}
        return error

    def until_complete(self, what, action):
        for _ in range(ATTEMPTS_MAX):
            error = self.attempt(what, action)
            missing = MISSING.fullmatch(error) if error else None
            if not missing or "/" in missing.group(1) or missing.group(1) in self.stubs:
                return
            self.add_stub(missing.group(1))

    def preload_file(self, ort):
        """Up to 1.15 ORT opens six libraries by itself and gives up, silently, when one fails."""
        path = os.path.join(os.path.dirname(ort.__file__), "capi", "_ld_preload.py")
        if os.environ.get("ORT_CUDA_UNAVAILABLE") != "1" or not os.path.exists(path):
            return False
        with open(path, encoding="utf-8") as f:
            block = f.read().split("except OSError", 1)[0]
        for name in re.findall(r'CDLL\("([^"]+)"', block):
            self.until_complete("ld_preload:" + name,
                                lambda n=name: ctypes.CDLL(n, mode=ctypes.RTLD_GLOBAL))
        return True

    def run(self):
        out = self.out
        pre = self.spec["pre"]
        try:
            if pre == "torch":
                import torch  # noqa: F401
            import onnxruntime as ort
            out["version"] = ort.__version__
            if pre == "preload_dlls":
                ort.preload_dlls()
        except Exception:
            out["pre_error"] = traceback.format_exc(limit=2)
            return
        out["available"] = ort.get_available_providers()
        wanted = ["CUDAExecutionProvider", "CPUExecutionProvider"]

        def session():
            s = ort.InferenceSession(model(), providers=wanted)
            out["providers"] = out["providers"] or s.get_providers()

        if self.preload_file(ort):
            self.attempt("session", session)
        else:
            self.until_complete("session", session)


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        spec = json.load(f)
    for fd, key in ((1, "stdout"), (2, "stderr")):
        new = os.open(spec[key], os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_APPEND, 0o644)
        os.dup2(new, fd)
        os.close(new)
    driver = Driver(spec)
    driver.run()
    driver.save()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # finalisers of half-loaded libraries are not what is asked about


if __name__ == "__main__":
    main()
