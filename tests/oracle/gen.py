"""Random trees: generate(rng, setting) -> a tree (see tree.py)."""

from noise import DIRS, SYSTEM_DIRS, at, dir_text, draw, need


class Tree:
    """A tree while it grows: the libraries by letter, the copies by path."""

    def __init__(self, rng, setting):
        self.rng, self.setting = rng, setting
        self.files = []
        self.env = {}
        self.llp = []
        self.preloads = []
        self.ld_preload = []
        self.cache = []
        self.tree = {"lazy": rng.random() < 0.25, "caller": None, "exe": None, "cwd": "."}
        self.exe_patch = None
        self.libs = {}  # letter -> {"name": the NEEDED name, "elf": spec, "dir": folder}

    def p(self, chance):
        return self.rng.random() < chance

    def pick(self, seq):
        return seq[int(self.rng.random() * len(seq))]

    def elf(self, path, spec, **more):
        f = {"path": path, "kind": "elf", "elf": spec, **more}
        self.files.append(f)
        return f

    def copies(self):
        return [f for f in self.files if f["kind"] == "elf"]

    def letters(self):
        return list(self.libs)


def base(t):
    """Libraries A.. that need each other, lie somewhere, and are mostly reached."""
    rng = t.rng
    n = t.pick([1, 2, 2, 3, 3, 3, 4, 4, 5, 6])
    letters = "ABCDEF"[:n]
    ndirs = rng.randint(1, 4)
    dirs = DIRS[:ndirs]
    way = t.pick(
        [
            "llp",
            "llp",
            "rpath-a",
            "runpath",
            "runpath",
            "rpath",
            "cache",
            "exe-rpath",
            "exe-runpath",
            "system",
            "mixed",
        ]
    )
    if way == "cache" and not t.setting.cache:
        way = "llp"
    if way == "system" and not t.setting.system:
        way = "runpath"
    t.way = way
    for i, c in enumerate(letters):
        file = t.pick(["lib%s.so.1", "lib%s.so.1", "lib%s.so", "lib%s-2.5.so"]) % c
        soname = file
        if t.p(0.12):
            soname = None
        elif t.p(0.08):
            soname = "lib%s.so.%d" % (c, rng.randint(2, 10))
        name = file if soname is None or t.p(0.7) or soname == file else soname
        folder = t.pick(dirs)
        if c == "A":
            folder = t.pick([".", ".", ".", dirs[0]])
        elif way == "system":
            folder = t.pick(SYSTEM_DIRS[:3:2] if t.p(0.8) else dirs)
        spec = {
            "soname": soname,
            "needed": [],
            "defs": [],
            "refs": [],
            "hash": t.pick(["gnu", "gnu", "both", "sysv"]),
            "layout": "spread" if t.p(0.15) else "compact",
        }
        t.libs[c] = {"name": name, "file": file, "elf": spec, "dir": folder}
    for i, c in enumerate(letters):
        others = letters[i + 1 :]
        if i == 0:
            chosen = [o for o in others if t.p(0.7)] or list(others[:1])
        else:
            chosen = [o for o in others if t.p(0.5)]
        if t.p(0.15) and i:
            chosen.append(t.pick(letters))
        rng.shuffle(chosen)
        t.libs[c]["elf"]["needed"] = [t.libs[o]["name"] for o in chosen]
        t.libs[c]["deps"] = chosen
        if t.p(0.25):
            t.libs[c]["elf"]["needed"].insert(0 if t.p(0.3) else len(chosen), "libc.so.6")
    used = sorted({t.libs[c]["dir"] for c in letters[1:] if not t.libs[c]["dir"].startswith("/")})
    rng.shuffle(used)
    for c in letters:
        spec = t.libs[c]["elf"]
        if (
            way in ("runpath", "rpath", "mixed")
            and t.libs[c]["deps"]
            and (way != "mixed" or t.p(0.6))
        ):
            text = []
            for d in used:
                here = t.libs[c]["dir"]
                if t.p(0.5) and not here.startswith("/"):
                    up = "" if here == "." else "/.." * (here.count("/") + 1)
                    text.append("%s%s/%s" % (t.pick(["$ORIGIN", "${ORIGIN}"]), up, d))
                else:
                    text.append(dir_text(t, d))
            key = "rpath" if way == "rpath" or (way == "mixed" and t.p(0.5)) else "runpath"
            spec[key] = ":".join(text)
        elif way == "rpath-a" and c == "A":
            spec["rpath"] = ":".join(dir_text(t, d) for d in used)
    if way in ("llp", "mixed") or t.p(0.15):
        t.llp += [dir_text(t, d) for d in used]
    if way in ("exe-rpath", "exe-runpath"):
        t.exe_patch = {way[4:]: ":".join(dir_text(t, d) for d in used) or "@"}
    for c in letters:
        lib = t.libs[c]
        t.elf(at(lib["dir"], lib["file"]), lib["elf"])
        if way == "cache" and c != "A":
            t.cache.append({"name": lib["name"], "path": "@/" + at(lib["dir"], lib["file"])})
        if lib["name"] != lib["file"] and c != "A" and way != "cache":
            t.files.append({"path": at(lib["dir"], lib["name"]), "kind": "link", "to": lib["file"]})
    symbols(t)
    a = t.libs["A"]
    where = at(a["dir"], a["file"])
    t.tree["file"] = t.pick(["./" + where, "./" + where, "@/" + where])


def symbols(t):
    """Each library defines a few symbols, and wants those of the ones it needs."""
    for c, lib in t.libs.items():
        spec = lib["elf"]
        versions = ["V1", "V2"][: t.pick([0, 0, 0, 1, 2])]
        if versions:
            spec["verdef"] = versions
        for kind in ("s", "f"):
            d = {"name": kind + c, "type": "func" if kind == "f" else "object"}
            if versions and t.p(0.8):
                d["ver"] = t.pick(versions)
                if t.p(0.15):
                    d["hidden"] = True
            if t.p(0.1):
                d["bind"] = "weak"
            spec["defs"].append(d)
        if t.p(0.3):
            spec["defs"].append({"name": "dup", "type": "object"})
    for c, lib in t.libs.items():
        spec = lib["elf"]
        for o in lib["deps"]:
            if o == c:
                continue
            other = t.libs[o]["elf"]
            for d in other["defs"]:
                if d["name"] == "dup" or t.p(0.4):
                    continue
                r = {
                    "name": d["name"],
                    "type": d["type"],
                    "reloc": (
                        "jump" if d["type"] == "func" and t.p(0.7) else t.pick(["glob", "abs"])
                    ),
                }
                if d.get("ver") and (t.p(0.7) or d.get("hidden")):
                    r["ver"] = [t.libs[o]["name"], d["ver"]]
                    need(spec, r["ver"][0], r["ver"][1], False)
                spec["refs"].append(r)
        if t.p(0.3):
            r = {
                "name": t.pick(["malloc", "free", "puts", "strlen"]),
                "type": "func",
                "reloc": t.pick(["jump", "glob"]),
            }
            if "libc.so.6" in spec["needed"] and t.p(0.6):
                r["ver"] = ["libc.so.6", "GLIBC_2.2.5"]
                need(spec, "libc.so.6", "GLIBC_2.2.5", False)
            spec["refs"].append(r)


def possible(files):
    """The files without those that cannot lie beside the ones before them."""
    kept, folders = {}, set()
    for f in files:
        if f["path"].startswith("/lib/"):
            f["path"] = "/usr" + f["path"]
        path = f["path"]
        parents = [path[:i] for i, c in enumerate(path) if c == "/" and i]
        if any(p in kept for p in parents) or path in kept:
            continue
        if path in folders and f["kind"] != "dir":
            continue
        if f["kind"] == "hardlink" and kept.get(f["to"], {}).get("kind") != "elf":
            continue
        if f["kind"] == "dir":
            folders.add(path)
        else:
            kept[path] = f
        folders.update(parents)
        yield f


def generate(rng, setting):
    t = Tree(rng, setting)
    t.cache_form, t.ldconfig = {}, None
    base(t)
    drawn = []
    for _ in range(t.pick([0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 6])):
        noise = draw(t)
        if not t.copies():
            break
        drawn.append(noise.__name__)
        noise(t)
    tree = t.tree
    tree["noise"] = [t.way] + drawn
    if t.llp:
        seps = [t.pick(":::;") for _ in t.llp]
        t.env["LD_LIBRARY_PATH"] = "".join(e + s for e, s in zip(t.llp, seps))[:-1]
        if t.p(0.05):
            t.env["LD_LIBRARY_PATH"] += t.pick(":;")
    if t.ld_preload:
        t.env["LD_PRELOAD"] = t.pick(": ").join(t.ld_preload)
    if t.exe_patch is not None:
        where = t.pick(["bin/prog", "bin/prog", "prog"])
        t.files.append({"path": where, "kind": "exe", "patch": t.exe_patch})
        tree["exe"] = "@/" + where
        if t.p(0.15):
            t.files.append({"path": "elsewhere/prog", "kind": "link", "to": "@/" + where})
            tree["exe"] = "@/elsewhere/prog"
    tree["files"] = list(possible(t.files))
    for f in tree["files"]:
        if f["path"] == tree["cwd"]:
            f.pop("mode", None)
    tree["env"] = t.env
    tree["preloads"] = t.preloads
    if t.ldconfig is not None:
        tree["cache"] = {"ldconfig": t.ldconfig}
    elif t.cache or t.cache_form:
        tree["cache"] = dict(t.cache_form, entries=t.cache)
    return tree
