"""Compares what src/elf reads of shared libraries with what readelf says: elf_oracle.py DRIVER FILE..."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys

MACHINE = {"x86_64": "X86-64", "aarch64": "AArch64"}


def run(*argv):
    return subprocess.run(argv, capture_output=True, text=True, errors="replace", env={**os.environ, "LC_ALL": "C"}).stdout


def said(path):
    """The dynamic section and symbols by readelf."""
    out = run("readelf", "-dW", path)
    d = {"needed": re.findall(r"\(NEEDED\).*\[(.*)\]", out)}
    for key, tag in (("soname", "SONAME"), ("rpath", "RPATH"), ("runpath", "RUNPATH")):
        found = re.search(r"\(%s\).*\[(.*)\]" % tag, out)
        d[key] = found.group(1) if found else None
    flags = " ".join(re.findall(r"\((?:FLAGS|FLAGS_1)\)(.*)", out)) + " "
    d["bind_now"] = "(BIND_NOW)" in out or " NOW " in flags or "BIND_NOW " in flags
    d["static_tls"] = "STATIC_TLS " in flags
    d["nodeflib"] = " NODEFLIB " in flags
    d["textrel"] = "(TEXTREL)" in out or "TEXTREL " in flags

    out = run("readelf", "-VW", path)
    d["verneed"] = []
    for part in re.split(r"\n *(?:0x)?[0-9a-f]+: Version: \d+  File: ", out)[1:]:
        name = part.split(None, 1)[0]
        for v in re.findall(r"Name: (\S+)  Flags: (.*?)  Version", part.split("\n\n")[0]):
            d["verneed"].append([name, v[0], "WEAK" in v[1]])
    d["verdef"] = re.findall(r"Rev: \d+ .*Name: (\S+)", out)

    d["undefs"] = set()
    for line in run("readelf", "--dyn-syms", "-W", path).splitlines():
        f = line.split()
        if len(f) < 8 or f[6] != "UND" or f[4] == "LOCAL" or f[5] in ("HIDDEN", "INTERNAL"):
            continue
        name, _, version = f[7].partition("@")
        d["undefs"].add((name, version.lstrip("@") or None, f[4] == "WEAK"))
    return d


def ours(record):
    d = {key: record.get(key) for key in ("soname", "rpath", "runpath")}
    d["needed"] = record.get("needed", [])
    for key in ("bind_now", "static_tls", "nodeflib", "textrel"):
        d[key] = record.get(key, False)
    d["verneed"] = [[file, version, weak] for file, version, _, weak in record.get("verneed", [])]
    d["verdef"] = [name for name, _ in record.get("verdef", [])]
    d["undefs"] = set()
    for u in record.get("undefs", []):
        u = u + [None] * (4 - len(u))
        d["undefs"].add((u[0], u[1], bool(u[3])))
    return d


def main():
    driver, files = sys.argv[1], sys.argv[2:]
    if not shutil.which("readelf"):
        print("skipped: no readelf here")
        return 77
    places = ("/lib/*-linux-gnu/*.so.[0-9]*", "/usr/lib/*-linux-gnu/*.so.[0-9]*", "/usr/lib64/*.so.[0-9]*")
    seen = set()
    for path in sorted(sum((glob.glob(p) for p in places), [])):
        real = os.path.realpath(path)
        if real not in seen and os.path.getsize(real) < 8 << 20 and len(seen) < 150:
            seen.add(real)
            files.append(real)
    files = [f for f in files if MACHINE.get(os.uname().machine, "?") in run("readelf", "-hW", f)]
    lines = subprocess.run([driver] + files, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) == len(files), (len(lines), len(files))
    wrong = 0
    for path, line in zip(files, lines):
        a, b = said(path), ours(json.loads(line))
        for key in a:
            if a[key] != b[key]:
                wrong += 1
                both = (a[key] - b[key], b[key] - a[key]) if isinstance(a[key], set) else (a[key], b[key])
                print(f"{path}: {key}: readelf {both[0]!r}, ours {both[1]!r}"[:400])
    print(f"{len(files)} files, {wrong} differences")
    return 1 if wrong or len(files) < 5 else 0


sys.exit(main())
