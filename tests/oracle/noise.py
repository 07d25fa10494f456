"""What goes wrong in a random tree, or differently: one function each, and how often."""

import copy
import os

DIRS = ["d1", "d2", "d3", "sub/d4", "x"]
SYSTEM_DIRS = ["/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib", "/lib"]
HWCAPS = [
    "glibc-hwcaps/x86-64-v4",
    "glibc-hwcaps/x86-64-v3",
    "glibc-hwcaps/x86-64-v2",
    "glibc-hwcaps/x86-64-v1",
    "tls",
    "x86_64",
    "tls/x86_64",
    "tls/x86_64/x86_64",
    "x86_64/x86_64",
    "haswell",
    "avx512_1",
    "haswell/avx512_1",
    "tls/haswell",
    "haswell/x86_64",
]
REAL_LIBS = ["libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libc.so.6"]
REAL_LIBS += [
    lib
    for lib in ("libstdc++.so.6", "libgcc_s.so.1", "libz.so.1", "libgomp.so.1", "libcrypto.so.3")
    if os.path.exists("/usr/lib/x86_64-linux-gnu/" + lib)
]
NODEFLIB, NOOPEN, PIE, NODELETE, NOW = 0x800, 0x40, 0x8000000, 0x8, 0x1
GLOBAL, INITFIRST, ORIGIN = 0x2, 0x20, 0x80


def at(folder, name):
    return name if folder == "." else folder + "/" + name


def dir_text(t, folder):
    """How a folder is written in a path list."""
    if folder.startswith("/"):
        return folder
    r = t.rng.random()
    if r < 0.55:
        return "@/" + folder
    if r < 0.65:
        return "@/" + folder + "/"
    if r < 0.8:
        return folder if folder != "." else "."
    if r < 0.9:
        return "./" + folder
    return "@/x/../" + folder


def need(spec, file, version, weak):
    rows = spec.setdefault("verneed", [])
    for f, versions in rows:
        if f == file:
            if version not in [v for v, _ in versions]:
                versions.append([version, weak])
            return
    rows.append([file, [[version, weak]]])


# --- What goes wrong, or differently. Each takes the tree; the weight is how often it is drawn. ---


def missing(t):
    c = t.copies()
    if len(c) > 1:
        t.files.remove(t.pick(c[1:]))


def unneeded_name(t):
    f = t.pick(t.copies())
    f["elf"]["needed"].insert(
        t.rng.randint(0, len(f["elf"]["needed"])),
        t.pick(
            [
                "libZ.so.1",
                "libQ.so",
                "libm.so.6",
                "./libB.so.1",
                "@/d1/libB.so.1",
                "$ORIGIN/libB.so.1",
                "",
                "linux-vdso.so.1",
                "${ORIGIN}/../d1/libB.so",
                "libX",
                "d1/libB.so.1",
                "/nowhere/libZ.so",
                "$LIB/libm.so.6",
                "/$LIB/libm.so.6",
                "$PLATFORM/libZ.so",
                "ld-linux-x86-64.so.2",
                "/lib64/ld-linux-x86-64.so.2",
                "$ORIGINx/libB.so",
                "${ORIGIN/libB.so",
                "libA.so.1",
                "libA.so",
            ]
        ),
    )


def real_lib(t):
    f = t.pick(t.copies())
    f["elf"]["needed"].insert(t.rng.randint(0, len(f["elf"]["needed"])), t.pick(REAL_LIBS))


HEAD_DAMAGE = [
    {"class": 1},
    {"class": 0},
    {"data": 2},
    {"data": 0},
    {"iversion": 0},
    {"iversion": 2},
    {"osabi": 3},
    {"osabi": 9},
    {"osabi": 3, "abiversion": 3},
    {"abiversion": 1},
    {"osabi": 3, "abiversion": 9},
    {"pad": 1},
    {"magic": 0x21212121},
    {"type": 1},
    {"type": 2},
    {"type": 4},
    {"type": 0},
    {"machine": 183},
    {"machine": 3},
    {"machine": 0},
    {"version": 0},
    {"version": 2},
    {"phentsize": 32},
    {"phentsize": 0},
    {"phentsize": 64},
    {"phnum": 0},
    {"phoff": 1 << 40},
    {"phoff": 1 << 63},
    {"phoff": 1000000},
    {"class": 1, "machine": 3},
    {"data": 2, "machine": 183},
    {"class": 1, "data": 2},
]
PH_DAMAGE = [
    {"0": {"align": 3}},
    {"0": {"align": 0}},
    {"0": {"align": 1 << 21}},
    {"1": {"vaddr": 5}},
    {"1": {"offset": 7}},
    {"1": {"align": 1 << 16}},
    {"dynamic": {"filesz": 0}},
    {"dynamic": {"memsz": 0}},
    {"0": {"flags": 4}},
    {"0": {"align": 1 << 46}},
    {"dynamic": {"align": 3}},
]


def damage(t, f=None):
    f = f or t.pick(t.copies())
    r = t.rng.random()
    if r < 0.45:
        f["elf"] = dict(f["elf"], head=t.pick(HEAD_DAMAGE))
    elif r < 0.65:
        f["elf"] = dict(
            f["elf"], cut=t.pick([0, 1, 3, 4, 16, 52, 63, "head", 65, 100, 119, "phdrs", "phdrs"])
        )
    elif r < 0.7:
        f["elf"] = dict(f["elf"], layout="spread", cut=t.pick(["data", "data", "phdrs", 4096]))
    elif r < 0.8:
        f["elf"] = dict(f["elf"], drop=[t.pick(["load", "dynamic"])])
    elif r < 0.9:
        ph = t.pick(PH_DAMAGE)
        if f["elf"].get("tramp") and "flags" in ph.get("0", {}):
            ph = {}  # we could not call into it
        f["elf"] = dict(f["elf"], ph=ph)
    else:
        f["kind"] = "bytes"
        f["hex"] = t.pick(
            [
                "",
                "00",
                "7f454c46",
                "23212f62696e2f73680a",
                "00" * 64,
                "00" * 4096,
                "2f2a20474e55206c64207363726970740a2a2f0a494e50555420280a" * 4,
                "7f454c46020101" + "00" * 57,
                "7f454c4601010100" + "00" * 60,
            ]
        )
        f.pop("elf")


def decoy(t):
    """A wrong thing of the same name earlier in the search."""
    lib = t.libs[t.pick(t.letters())]
    path = at(t.pick(DIRS[:3]), t.pick([lib["name"], lib["file"]]))
    if any(f["path"] == path for f in t.files):
        return
    r = t.rng.random()
    if r < 0.4:
        f = t.elf(path, copy.deepcopy(lib["elf"]))
        damage(t, f)
    elif r < 0.5:
        t.files.append({"path": path, "kind": "dir"})
    elif r < 0.9:
        spec = copy.deepcopy(lib["elf"])
        if t.p(0.4):
            spec["soname"] = t.pick([None, "libQ.so.1", t.libs[t.pick(t.letters())]["name"]])
        if t.p(0.3):
            spec["needed"] = [
                t.pick(["libQ.so.1", "libm.so.6"] + [x["name"] for x in t.libs.values()])
            ]
        if t.p(0.3):
            spec["defs"] = []
        if t.p(0.3):
            spec.pop("verdef", None)
        t.elf(path, spec)
    else:
        t.files.append(
            {
                "path": path,
                "kind": "link",
                "to": t.pick(
                    [
                        "nowhere",
                        path.rsplit("/", 1)[-1],
                        "../" + at(lib["dir"], lib["file"]),
                        "/dev/null",
                        "@/" + at(lib["dir"], lib["file"]),
                    ]
                ),
            }
        )
    if t.p(0.6):
        t.llp.insert(t.rng.randint(0, len(t.llp)), dir_text(t, path.rsplit("/", 1)[0]))


def links(t):
    f = t.pick(t.files)
    r = t.rng.random()
    path = f["path"]
    folder, _, name = path.rpartition("/")
    if r < 0.3 and not path.startswith("/"):
        # The file becomes a chain of links.
        real = "store/%s.real" % name
        f["path"] = real
        mid = at(folder or ".", name + ".mid")
        up = "../" * (folder.count("/") + 1) if folder else ""
        t.files.append({"path": mid, "kind": "link", "to": t.pick([up + real, "@/" + real])})
        t.files.append({"path": path, "kind": "link", "to": name + ".mid"})
    elif r < 0.6:
        # A folder reached through a link.
        ln = t.pick(["l1", "d1/l2", "d3"])
        if any(g["path"].startswith(ln) for g in t.files):
            return
        t.files.append({"path": ln, "kind": "link", "to": t.pick(["@/d1", "@/d2", "@", "@/" + ln])})
        t.llp.insert(0, dir_text(t, ln))
        if t.p(0.4):
            t.tree["file"] = "%s/%s" % (
                ln if "/" in ln or t.p(0.5) else "@/" + ln,
                t.libs["A"]["file"],
            )
    elif r < 0.8:
        lib = t.libs[t.pick(t.letters())]
        other = at(t.pick(DIRS[:3]), "lib%s.so.%d" % (t.pick("ABC"), t.rng.randint(1, 3)))
        if not any(g["path"] == other for g in t.files) and not lib["dir"].startswith("/"):
            kind = t.pick(["link", "hardlink"])
            to = at(lib["dir"], lib["file"])
            if kind == "hardlink" and not any(
                g["path"] == to and g["kind"] == "elf" for g in t.files
            ):
                return
            t.files.append(
                {"path": other, "kind": kind, "to": to if kind == "hardlink" else "@/" + to}
            )
            g = t.pick(t.copies())
            g["elf"]["needed"].append(other.rpartition("/")[2])
    else:
        # A loop, or a path through a file, as a search folder.
        if not any(g["path"] == "loop" for g in t.files):
            t.files.append({"path": "loop", "kind": "link", "to": "loop"})
        t.llp.insert(
            t.rng.randint(0, len(t.llp)),
            t.pick(["@/loop", "@/" + t.libs["A"]["file"], "loop", "@/" + "n" * 300]),
        )


ELEMENTS = [
    "",
    ".",
    "d1",
    "d2",
    "./d3",
    "@/d1",
    "@/d2/",
    "@/d3//",
    "@/sub/d4",
    "$ORIGIN",
    "${ORIGIN}",
    "$ORIGIN/d1",
    "$ORIGIN/../d2",
    "$ORIGIN/sub/../d1",
    "$ORIGINx",
    "${ORIGIN",
    "$LIB",
    "/$LIB",
    "/usr/$LIB",
    "$PLATFORM",
    "$ORIGIN/$PLATFORM",
    "@/nowhere",
    "/",
    "@",
    "@/d1/../d2",
    "$NOPE",
    "x;y",
    "/usr/lib",
    "/lib/x86_64-linux-gnu",
    "@/d1/libB.so.1",
    "@/d1:@/d1",
    "//",
    "$ORIGIN$ORIGIN",
    "@/" + "n" * 100,
    "/lib64",
]


def odd_path(t):
    f = t.pick(t.copies())
    key = t.pick(["rpath", "runpath"])
    old = f["elf"].get(key)
    elements = (old.split(":") if old is not None else []) + [
        t.pick(ELEMENTS) for _ in range(t.rng.randint(1, 3))
    ]
    t.rng.shuffle(elements)
    f["elf"][key] = ":".join(elements)


def odd_llp(t):
    t.llp += [t.pick(ELEMENTS) for _ in range(t.rng.randint(1, 3))]
    t.rng.shuffle(t.llp)
    if any("$" in e for e in t.llp) and not t.exe_patch:
        t.exe_patch = {}


def preload(t):
    for _ in range(t.pick([1, 1, 2])):
        lib = t.libs[t.pick(t.letters())]
        path = at(lib["dir"], lib["file"])
        name = (
            t.pick(["./" + path, "@/" + path, lib["name"], lib["name"], "libQ.so.1", lib["file"]])
            if not path.startswith("/")
            else t.pick([path, lib["name"]])
        )
        t.preloads.append([t.pick("llg"), name])


def ld_preload(t):
    if t.exe_patch and t.exe_patch.get("needed"):
        return
    lib = t.libs[t.pick(t.letters())]
    path = at(lib["dir"], lib["file"])
    name = (
        t.pick(["./" + path, "@/" + path, lib["name"]]) if not path.startswith("/") else lib["name"]
    )
    t.ld_preload.append(t.pick([name, name, "@/nowhere.so", "libQ.so.1"]))


def preload_file(t):
    """/etc/ld.so.preload"""
    if not t.setting.etc or (t.exe_patch and t.exe_patch.get("needed")):
        return
    rows = []
    for _ in range(t.rng.randint(1, 2)):
        lib = t.libs[t.pick(t.letters())]
        path = at(lib["dir"], lib["file"])
        rows.append(path if path.startswith("/") else "@/" + path)
        rows.append(t.pick(["\n", " ", ":", "\t", " # @/nowhere.so\n", "#x\n", ""]))
    t.tree["ld_so_preload"] = "".join(rows)


def caller(t):
    """FILE is a name that another library dlopens."""
    spec = {
        "soname": t.pick(["libcall.so", None]),
        "needed": [],
        "defs": [],
        "refs": [],
        "tramp": True,
        "hash": "gnu",
    }
    where = t.pick([".", "d1", "x"])
    a = t.libs["A"]
    key = t.pick(["rpath", "runpath", "runpath", None])
    if key:
        up = "" if where == "." else "/.."
        spec[key] = t.pick(
            [
                "$ORIGIN%s" % up + ("" if a["dir"] == "." else "/" + a["dir"]),
                "@/" + a["dir"],
                "@/d1:@/d2",
            ]
        )
    if t.p(0.3):
        spec["needed"] = [t.libs[t.pick(t.letters())]["name"]]
    t.elf(at(where, "libcall.so"), spec)
    t.tree["caller"] = t.pick(["./", "@/"]) + at(where, "libcall.so")
    if t.p(0.8):
        t.tree["file"] = t.pick([a["name"], a["file"]])
    elif not a["dir"].startswith("/"):
        t.tree["file"] = t.pick(["$ORIGIN/", "${ORIGIN}/../", "./"]) + at(a["dir"], a["file"])


def hwcaps(t):
    lib = t.libs[t.pick(t.letters()[1:] or ["A"])]
    if lib["dir"].startswith("/"):
        sub = t.pick(HWCAPS[:4])
    else:
        sub = t.pick(HWCAPS)
    spec = copy.deepcopy(lib["elf"])
    if t.p(0.3):
        spec["soname"] = lib["name"]
    f = t.elf(at(lib["dir"], sub + "/" + lib["name"]), spec)
    if t.p(0.2):
        damage(t, f)
    if t.p(0.2):
        t.files.append(
            {
                "path": at(
                    lib["dir"] if not lib["dir"].startswith("/") else "d1",
                    t.pick(HWCAPS) + "/libN.so",
                ),
                "kind": "bytes",
                "hex": "",
            }
        )


def versions(t):
    f = t.pick(t.copies())
    target = t.pick(t.letters())
    file = t.pick([t.libs[target]["name"]] * 4 + ["libc.so.6", "libQ.so.1", t.libs[target]["file"]])
    version = t.pick(
        ["V1", "V2", "V3", "V9"]
        if file != "libc.so.6"
        else ["GLIBC_2.2.5", "GLIBC_2.99", "GLIBC_2.36"]
    )
    if file == "libc.so.6" or t.p(0.5):
        if file not in f["elf"]["needed"] and t.p(0.9):
            f["elf"]["needed"].append(file)
    need(f["elf"], file, version, t.p(0.3))
    if t.p(0.5):
        t.libs[target]["elf"].setdefault("verdef", []).append(t.pick(["V2", "V3", file]))
        t.libs[target]["elf"]["verdef"] = sorted(set(t.libs[target]["elf"]["verdef"]))
    if t.p(0.5):
        f["elf"]["refs"].append(
            {
                "name": t.pick(["s", "f"]) + target,
                "ver": [file, version],
                "bind": t.pick(["global", "weak"]),
                "reloc": t.pick(["glob", "jump"]),
            }
        )


def undefined(t):
    f = t.pick(t.copies())
    name = t.pick(
        [
            "g1",
            "g2",
            "dup",
            "sB",
            "fC",
            "sA",
            "Provider_GetHost",
            "malloc",
            "pthread_create",
            "sin",
            "_ZN3foo3barEv",
            "__tls_get_addr",
            "nosuch",
        ]
    )
    f["elf"]["refs"].append(
        {
            "name": name,
            "bind": t.pick(["global", "global", "weak"]),
            "type": t.pick(["func", "notype", "object"]),
            "reloc": t.pick(["glob", "jump", "jump", "abs", "none"]),
        }
    )
    if t.p(0.3):
        g = t.pick(t.copies())
        d = {"name": name, "type": "object"}
        d.update(
            t.pick(
                [
                    {},
                    {"vis": "hidden"},
                    {"vis": "protected"},
                    {"vis": "internal"},
                    {"bind": "local"},
                    {"bind": "weak"},
                    {"zero": True},
                    {"abs": 1},
                    {"abs": 17},
                    {"undef": True},
                    {"type": "section"},
                    {"bind": "unique"},
                    {"type": "tls"},
                ]
            )
        )
        g["elf"]["defs"].append(d)


def flags(t):
    f = t.pick(t.copies())
    bit = t.pick(
        [
            NODEFLIB,
            NODEFLIB,
            NODEFLIB,
            NOOPEN,
            PIE,
            NODELETE,
            NOW,
            GLOBAL,
            INITFIRST,
            ORIGIN,
            NOOPEN | PIE,
        ]
    )
    f["elf"]["flags_1"] = (f["elf"].get("flags_1") or 0) | bit
    if t.p(0.2):
        f["elf"]["flags"] = t.pick([0x8, 0x2, 0x4, 0x10, 0x1])


def bind_now(t):
    if t.p(0.3):
        t.env["LD_BIND_NOW"] = t.pick(["1", "", "0"])
    else:
        f = t.pick(t.copies())
        f["elf"]["flags"] = 0x8
    t.tree["lazy"] = True
    if t.p(0.7):
        undefined(t)


def tls(t):
    for _ in range(t.pick([1, 1, 2, 3])):
        f = t.pick(t.copies())
        f["elf"]["tls"] = {
            "size": t.pick([4, 8, 64, 200, 512, 1000, 1500, 1600, 1664, 2000, 4000, 100000]),
            "align": t.pick([8, 8, 8, 16, 64, 128, 4, 1, 4096]),
            "self": t.p(0.75),
        }
        if t.p(0.3):
            f["elf"]["defs"].append({"name": "tv", "type": "tls"})
            g = t.pick(t.copies())
            g["elf"]["refs"].append(
                {
                    "name": "tv",
                    "type": "tls",
                    "reloc": t.pick(["tpoff", "dtpmod"]),
                    "bind": t.pick(["global", "weak"]),
                }
            )


def stack_isa(t):
    f = t.pick(t.copies())
    if t.p(0.5):
        f["elf"]["stack"] = t.pick([6, 7, 4, 5, 0])
    else:
        f["elf"]["isa"] = t.pick([1, 3, 7, 15, 2, 8, 16, 0x80000000, 0, 31])


def modes(t):
    if not t.setting.modes:
        return
    f = t.pick(t.files)
    if f["kind"] in ("link", "hardlink") or f["path"].startswith("/"):
        return
    if t.p(0.7):
        f["mode"] = t.pick([0, 0o200, 0o100, 0o444])
    elif "/" in f["path"]:
        folder = f["path"].split("/")[0]
        t.files.append({"path": folder, "kind": "dir", "mode": t.pick([0, 0o444, 0o111])})


def cache(t):
    """Entries right and wrong."""
    if not t.setting.cache:
        return
    for _ in range(t.rng.randint(1, 4)):
        lib = t.libs[t.pick(t.letters())]
        f = t.pick(t.files)
        path = f["path"] if f["path"].startswith("/") else "@/" + f["path"]
        e = {
            "name": t.pick([lib["name"], lib["name"], lib["file"], "libQ.so.1"]),
            "path": t.pick(
                [
                    path,
                    path,
                    "@/" + at(t.pick(DIRS[:3]), lib["file"]),
                    "@/nowhere/libB.so.1",
                    "libB.so.1",
                    "@/d1",
                ]
            ),
        }
        r = t.rng.random()
        if r < 0.15:
            e["flags"] = t.pick([0x3, 0x803, 1, 0x303, 0x203, 0])
        elif r < 0.4:
            e["hwcaps"] = t.pick(["x86-64-v4", "x86-64-v3", "x86-64-v2", "x86-64-v9", "", "zz"])
            e["isa"] = t.pick([0, 0, 1, 2, 3, 4, 5, 1023])
        elif r < 0.5:
            e["hwcap"] = t.pick([1, 2, 4, 1 << 63, 1 << 48, 1 << 49, 1 << 60, 3])
        t.cache.append(e)


def cache_form(t):
    if not t.setting.cache:
        return
    t.cache_form = t.pick(
        [
            {"format": "compat"},
            {"format": "old"},
            {"format": "new", "endian": 0},
            {"endian": 3},
            {"endian": 1},
            {"sort": False},
            {"damage": 40},
            {"damage": 70},
            {"damage": 0},
            {"damage": "magic"},
            {"damage": "nlibs"},
            {"damage": "ext"},
            {"format": "compat", "damage": 60},
            {"format": "old", "damage": "nlibs"},
        ]
    )
    cache(t)


def by_ldconfig(t):
    """The real ldconfig writes the cache."""
    if t.setting.cache and t.p(0.5):
        t.ldconfig = ["@/" + d for d in t.rng.sample(DIRS, t.rng.randint(1, 4))]


def system(t):
    """A copy in a system folder."""
    if not t.setting.system:
        return
    lib = t.libs[t.pick(t.letters())]
    folder = t.pick(SYSTEM_DIRS)
    path = folder + "/" + t.pick([lib["name"], lib["file"]])
    if any(
        f["path"].rpartition("/")[2] == path.rpartition("/")[2] and f["path"].startswith("/")
        for f in t.files
    ):
        return
    spec = copy.deepcopy(lib["elf"])
    if t.p(0.3):
        spec["soname"] = t.pick([None, "libQ.so.1"])
    f = t.elf(path, spec)
    if t.p(0.2):
        damage(t, f)


def exe(t):
    patch = t.exe_patch = t.exe_patch or {}
    key = t.pick(["rpath", "runpath", "runpath", None])
    if key and not (patch.get("rpath") or patch.get("runpath")):
        patch[key] = ":".join(
            [
                t.pick(
                    [
                        "@/d1",
                        "@/d2",
                        "$ORIGIN/../d1",
                        "$ORIGIN",
                        "d1",
                        "$ORIGIN/../d2",
                        "",
                        "$LIB",
                        "@/d3",
                    ]
                )
                for _ in range(t.rng.randint(1, 3))
            ]
        )
    if t.p(0.3) and not t.ld_preload and not t.tree.get("ld_so_preload"):
        patch["needed"] = t.libs[t.pick(t.letters())]["name"]
        if "runpath" not in patch and "rpath" not in patch:
            patch["runpath"] = "@/d1:@/d2:@/d3:@/sub/d4:@"
    if t.p(0.2):
        patch["flags_1"] = t.pick([NODEFLIB, NOW])


def file_form(t):
    a = t.libs["A"]
    folder = a["dir"]
    where = at(folder, a["file"])
    t.tree["file"] = t.pick(
        [
            a["name"],
            a["file"],
            a["name"],
            "@/x/../" + where,
            ".//" + where,
            "x/../" + where,
            "@//" + where,
            "$ORIGIN/../" + where,
            "libQ.so.1",
            "./libQ.so.1",
            "@/" + where + "/",
            "./d1",
            "@/d1/libB.so.1",
            "",
            "/lib/x86_64-linux-gnu/libm.so.6",
            "libm.so.6",
            "libc.so.6",
            "ld-linux-x86-64.so.2",
            "/proc/self/exe",
            "/dev/null",
            "./" + "n" * 300,
            "$LIB/libm.so.6",
            "/$LIB/libm.so.6",
            t.libs[t.pick(t.letters())]["name"],
        ]
    )
    if t.setting.prefix and t.tree["file"].startswith("/proc"):
        t.tree["file"] = "/etc/ld.so.cache"  # a link of the living process, not of the root
    if t.p(0.7) and a["dir"] not in t.llp:
        t.llp.insert(0, dir_text(t, folder))


def cwd(t):
    if t.p(0.6):
        t.tree["other_cwd"] = True
    else:
        folder = t.pick(["d1", "x", "sub"])
        t.tree["cwd"] = folder
        t.files.append({"path": folder, "kind": "dir"})
        if t.p(0.5) and t.tree["file"].startswith("./"):
            t.tree["file"] = "../" + t.tree["file"][2:]


def filters(t):
    f = t.pick(t.copies())
    f["elf"][t.pick(["aux", "aux", "filter"])] = t.pick(
        [t.libs[t.pick(t.letters())]["name"], "libQ.so.1", "$ORIGIN/libB.so.1"]
    )


def relocs(t):
    f = t.pick(t.copies())
    f["elf"].setdefault("relas", []).append(
        {"type": t.pick([0, 8, 36, 38, 42, 99, 255, 0x1234, 16, 17, 32, 5]), "plt": t.p(0.3)}
    )
    if t.p(0.3):
        t.tree["lazy"] = not t.tree["lazy"]


def no_hash(t):
    t.pick(t.copies())["elf"]["hash"] = t.pick(["none", "sysv", "both"])


def soname(t):
    f = t.pick(t.copies())
    f["elf"]["soname"] = t.pick(
        [
            None,
            "libQ.so.1",
            "",
            "libA.so.1",
            "libB.so.1",
            "libC.so.1",
            "./libB.so.1",
            "libc.so.6",
            "libm.so.6",
        ]
    )


def second_copy(t):
    """The same library twice, at two places, perhaps with another content."""
    lib = t.libs[t.pick(t.letters())]
    path = at(t.pick(DIRS[:4]), t.pick([lib["name"], lib["file"]]))
    if any(f["path"] == path for f in t.files):
        return
    spec = copy.deepcopy(lib["elf"])
    if t.p(0.5):
        spec["verdef"] = t.pick([["V1"], ["V2"], ["V1", "V2", "V3"], []])
    if t.p(0.3):
        spec["runpath"] = t.pick(["$ORIGIN", "$ORIGIN/../d1", "@/d2", ""])
    t.elf(path, spec)
    if t.p(0.5):
        t.llp.insert(0, dir_text(t, path.rpartition("/")[0]))
    if t.p(0.3):
        preload(t)


def many(t):
    """A crowd of libraries with cycles: the order of relocation shows in who fails first."""
    n = t.rng.randint(6, 20)
    names = ["libG%d.so" % i for i in range(n)]
    for i, name in enumerate(names):
        later = names[i + 1 :] or names
        needed = t.rng.sample(later, min(len(later), t.pick([0, 1, 1, 2, 3])))
        if t.p(0.2):
            needed.append(t.pick(names))
        refs = []
        if t.p(0.25):
            refs.append({"name": "miss%d" % i, "type": "func", "reloc": t.pick(["glob", "jump"])})
        spec = {"soname": name, "needed": needed, "defs": [], "refs": refs, "hash": "gnu"}
        t.elf("d1/" + name, spec)
    users = t.copies()[:2]
    for f in users:
        f["elf"]["needed"] += t.rng.sample(names, t.rng.randint(1, 3))
    t.llp.append("@/d1")
    if t.p(0.3):
        t.preloads.append([t.pick("lg"), t.pick(names)])


def fifo(t):
    lib = t.libs[t.pick(t.letters())]
    path = at(t.pick(DIRS[:2]), lib["name"])
    if not any(f["path"] == path for f in t.files):
        t.files.append({"path": path, "kind": "fifo"})


NOISE = [
    (missing, 5),
    (unneeded_name, 5),
    (real_lib, 2),
    (damage, 7),
    (decoy, 9),
    (links, 6),
    (odd_path, 7),
    (odd_llp, 6),
    (preload, 7),
    (ld_preload, 3),
    (preload_file, 1),
    (caller, 5),
    (hwcaps, 5),
    (versions, 6),
    (undefined, 7),
    (flags, 5),
    (bind_now, 2),
    (tls, 3),
    (stack_isa, 2),
    (modes, 4),
    (cache, 5),
    (cache_form, 2),
    (by_ldconfig, 0.6),
    (system, 4),
    (exe, 5),
    (file_form, 4),
    (cwd, 3),
    (filters, 1),
    (relocs, 1),
    (no_hash, 1),
    (soname, 4),
    (second_copy, 5),
    (many, 3),
    (fifo, 0.05),
]
TOTAL = sum(w for _, w in NOISE)


def draw(t):
    x = t.rng.random() * TOTAL
    for noise, weight in NOISE:
        x -= weight
        if x < 0:
            return noise
    return NOISE[0][0]
