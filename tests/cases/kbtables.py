"""The tables of kb/, as dictionaries: what a recipe lays down is what the kb knows of a release."""

import functools
import os

KB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "kb")


@functools.lru_cache(maxsize=None)
def table(name):
    with open(os.path.join(KB, name + ".tsv"), encoding="utf-8") as f:
        lines = [line.rstrip("\n").split("\t") for line in f if line.strip()]
    return [dict(zip(lines[0], row)) for row in lines[1:]]


def words(cell):
    return [] if cell in (None, "", "-") else cell.split()


def ort(version):
    for row in table("ort"):
        if row["version"] == version:
            return row
    raise KeyError("kb/ort.tsv has no %s" % version)


def torch(version):
    for row in table("torch"):
        if row["version"] == version.split("+")[0]:
            return row
    raise KeyError("kb/torch.tsv has no %s" % version)


def torch_needs(row):
    """What its libtorch_global_deps.so needs; of the nearest release of the same CUDA where it was not read."""
    if row["needs"] != "-":
        return words(row["needs"])
    rows = [r for r in table("torch") if r["cuda_major"] == row["cuda_major"] and r["needs"] != "-"
            and r["cudnn_major"] == row["cudnn_major"]]
    return words(rows[0]["needs"]) if rows else []


def _number(text):
    return [int(p) for p in text.split(".") if p.isdigit()]


def _matches(version, spec):
    """Enough of a specifier for the rows of sonames.tsv: >=, <, ==X.*"""
    have = _number(version)
    for part in spec.split(",") if spec != "-" else []:
        for op in (">=", "==", "<"):
            if part.startswith(op):
                want = _number(part[len(op):])
                break
        if op == ">=" and have < want or op == "<" and not have < want:
            return False
        if op == "==" and have[: len(want)] != want:
            return False
    return True


def wheel_libraries(package, version):
    """[(soname, folder)] that this wheel brings."""
    rows = [r for r in table("sonames") if r["manager"] == "pip" and r["package"] == package]
    if package.startswith("tensorrt-cu"):
        package = package.replace("-libs", "")
        rows = [r for r in table("sonames") if r["manager"] == "pip" and r["package"] == package]
    found = [(r["soname"], r["folder"]) for r in rows if _matches(version, r["spec"])]
    return list(dict.fromkeys(found))


def torch_pins(version):
    """[(package, version)] of the NVIDIA wheels that this torch pulls in, as far as they are pinned."""
    row, out = torch(version), []
    major = row["cuda_major"]
    for pin in words(row["pins"]):
        name, _, rest = pin.partition("==")
        if name.startswith("nvidia-") and rest:
            out.append((name, rest))
        elif name.startswith("cuda-toolkit[") and rest:
            parts = name[len("cuda-toolkit["):-1].split(",")
            names = {"cublas": "nvidia-cublas", "cudart": "nvidia-cuda-runtime", "cufft": "nvidia-cufft",
                     "curand": "nvidia-curand", "nvrtc": "nvidia-cuda-nvrtc", "nvjitlink": "nvidia-nvjitlink"}
            newest = {r["package"]: r["newest"] for r in table("wheels")}
            out += [(names[p], newest[names[p]]) for p in parts if p in names]
        elif name.startswith("nvidia-cublas<"):
            out.append(("nvidia-cublas", major + ".1.0.3"))
    return out
