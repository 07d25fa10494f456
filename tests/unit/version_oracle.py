#!/usr/bin/env python3
"""Compares version parsing and matching with packaging, the library inside pip, on random input.

usage: version_oracle.py DRIVER [COUNT [SEED]]; exit 77 where packaging 26 or newer is neither here nor fetched
"""

import os
import random
import subprocess
import sys


def no_answer(why):
    print("skipped: " + why)
    sys.exit(77)


def fetched():
    """The folder in the cache that pip fills with packaging, where this Python has none or an old one."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.path.join(os.environ.get("ORTFIT_CACHE") or os.path.join(base, "ortfit"), "tools", "packaging")
    if os.path.isdir(folder):
        return folder
    venv = os.path.join(os.path.dirname(folder), "pip")
    for command in ([sys.executable, "-m", "venv", venv],
                    [os.path.join(venv, "bin", "python"), "-m", "pip", "install", "-q", "--no-input", "--retries", "1",
                     "--disable-pip-version-check", "--target", folder, "packaging>=26"]):
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            no_answer("no packaging 26 or newer here, nor by pip: %s" % (done.stderr.strip().splitlines() or ["?"])[-1])
    return folder


# Before 26 it answered otherwise where post- and pre-releases meet < and >, and for order among texts.
try:
    import packaging
    if int(packaging.__version__.split(".")[0]) < 26:
        raise ImportError
except ImportError:
    sys.modules.pop("packaging", None)
    sys.path.insert(0, fetched())
    import packaging
from packaging import markers, requirements, specifiers, version

ENVIRONMENT = {
    "os_name": "posix", "sys_platform": "linux", "platform_machine": "x86_64",
    "platform_python_implementation": "CPython", "platform_release": "6.1.0-13-amd64",
    "platform_system": "Linux", "platform_version": "#1 SMP", "python_version": "3.11",
    "python_full_version": "3.11.7", "implementation_name": "cpython",
    "implementation_version": "3.11.7", "extra": "cuda",
}


def some_version(r, local=True):
    text = r.choice(["", "", "", "v", "1!", "0!"])
    text += ".".join(str(r.choice([0, 0, 1, 2, 3, 10, 20])) for _ in range(r.randint(1, 4)))
    if r.random() < 0.3:
        text += r.choice(["", ".", "-", "_"]) + r.choice(["a", "b", "rc", "alpha", "beta", "c", "pre", "preview", "RC"])
        text += r.choice(["", "1", ".2", "-0", "_3", "01"])
    if r.random() < 0.2:
        text += r.choice([".post", "-post", "post", "-r", ".rev", "_post."]) + r.choice(["", "1", "2"])
    elif r.random() < 0.1:
        text += "-" + r.choice(["1", "2"])
    if r.random() < 0.2:
        text += r.choice([".dev", "-dev", "dev", "_dev_"]) + r.choice(["", "1", "2"])
    if local and r.random() < 0.2:
        text += "+" + r.choice(["cu118", "cpu", "1", "1.2", "1-abc", "ABC.2", "abc", "01"])
    if r.random() < 0.03:
        text += r.choice(["x", ".", "+", "-", "..1", "!"])
    return text


def some_spec(r):
    clauses = []
    for _ in range(r.choice([1, 1, 1, 2, 2, 3])):
        op = r.choice(["==", "!=", "<=", ">=", "<", ">", "~=", "==", "===", ""])
        operand = some_version(r, r.random() < 0.3)
        if r.random() < 0.2:
            operand += ".*"
        clauses.append(r.choice(["", " "]) + op + r.choice(["", " "]) + operand)
    return ",".join(clauses)


def some_marker(r, depth=0):
    if depth < 3 and r.random() < 0.4:
        parts = [some_marker(r, depth + 1) for _ in range(r.randint(2, 3))]
        text = parts[0]
        for part in parts[1:]:
            text += " " + r.choice(["and", "or"]) + " " + part
        return "(" + text + ")" if r.random() < 0.6 else text
    name = r.choice(list(ENVIRONMENT))
    value = r.choice([ENVIRONMENT[name], ENVIRONMENT[name], "3.8", "3.11", "3.12", "linux", "win32",
                      "Windows", "posix nt", "CUDA", "cudnn", "3.11.*"])
    quote = r.choice("'\"")
    op = r.choice(["==", "!=", "<", ">=", "in", "not in", "==", "~=", "<=", ">", "==="])
    sides = [name, quote + value + quote]
    if r.random() < 0.2:
        sides.reverse()
    text = sides[0] + " " + op + " " + sides[1]
    return text[:-1] if r.random() < 0.02 else text


def some_requirement(r):
    text = r.choice(["numpy", "Foo.Bar", "nvidia-cuda_runtime--cu12", "_bad", "bad-", "a", "x y"])
    if r.random() < 0.4:
        text += r.choice(["[cuda]", "[cuda,cudnn]", " [ a , b ]", "[]", "[a", "[,]", "[a,]"])
    text += r.choice(["", " ", "  "])
    if r.random() < 0.6:
        spec = some_spec(r)
        text += "(" + spec + ")" if r.random() < 0.3 else spec
    if r.random() < 0.3:
        text += r.choice([" ; ", ";", "; "]) + some_marker(r)
    return text


def expected_version(a, b):
    try:
        va, vb = version.Version(a), version.Version(b)
    except version.InvalidVersion:
        return "invalid"
    return "<" if va < vb else ">" if va > vb else "="


def expected_spec(spec, v):
    try:
        parsed, v = specifiers.SpecifierSet(spec), version.Version(v)
    except (specifiers.InvalidSpecifier, version.InvalidVersion):
        return "invalid"
    return "yes" if parsed.contains(v, prereleases=True) else "no"


def expected_marker(marker):
    try:
        return "yes" if markers.Marker(marker).evaluate(ENVIRONMENT) else "no"
    except markers.InvalidMarker:
        return "invalid"
    except (markers.UndefinedComparison, version.InvalidVersion):
        return "undefined"


def expected_requirement(text):
    try:
        r = requirements.Requirement(text)
    except requirements.InvalidRequirement:
        return "invalid"
    name = r.name.lower().replace("_", "-").replace(".", "-")
    while "--" in name:
        name = name.replace("--", "-")
    return "%s %d" % (name, len(r.extras))


def questions(r, count):
    for _ in range(count):
        a = some_version(r)
        yield ("version", a, some_version(r)), expected_version
        yield ("spec", some_spec(r), some_version(r)), expected_spec
        yield ("marker", some_marker(r)), expected_marker
        yield ("requirement", some_requirement(r)), expected_requirement


def main():
    driver = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    asked = list(questions(random.Random(seed), count))
    given = "".join("\t".join(fields) + "\n" for fields, _ in asked)
    answers = subprocess.run([driver], input=given, capture_output=True, text=True, check=True)
    lines = answers.stdout.split("\n")
    wrong = compared = 0
    for (fields, expect), got in zip(asked, lines):
        wanted = expect(*fields[1:])
        if wanted == "undefined":  # pip refuses to answer
            continue
        compared += 1
        if wanted != got:
            wrong += 1
            if wrong <= 10:
                print("%s: pip says %s, we say %s" % (fields, wanted, got))
    print("%d compared, %d differ (seed %d)" % (compared, wrong, seed))
    return 1 if wrong or compared < 3 * count else 0


if __name__ == "__main__":
    sys.exit(main())
