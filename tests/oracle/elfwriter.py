"""Writes small ELF64 x86_64 shared objects byte by byte, from a plain dictionary.

The dictionary (all keys optional) is JSON, so that a failing tree can be stored and replayed:

    soname, needed[], rpath, runpath     strings; None = no such entry
    flags, flags_1                       DT_FLAGS, DT_FLAGS_1
    defs[]    {name, bind, type, ver, hidden, vis}     symbols this object defines
    refs[]    {name, bind, ver: [file, version], reloc, type}  symbols it wants;
                                         reloc: glob jump abs tpoff dtpmod none
    verdef[]  names of versions defined (the base version is added by itself)
    verneed[] [file, [[version, weak], ...]]
    hash      gnu | sysv | both | none
    tls       {size, align, self}        PT_TLS; self = an initial-exec reference to it
    stack     PT_GNU_STACK flags; None = no such header
    isa       GNU_PROPERTY_X86_ISA_1_NEEDED
    layout    compact (one page) | spread (data segment in a page of its own)
    aux, filter                          DT_AUXILIARY, DT_FILTER
    relas[]   {type, sym}                raw relocations, for unknown types
    tramp     True: exports ortfit_tramp, which calls dlopen from inside this object
    head      {field: value}             values put into the ELF header afterwards
    ph        {index or type: {field: value}}  values put into program headers
    drop      [type, ...]                program headers left out
    dynamic_drop [tag, ...]              dynamic entries left out
    cut       the file is cut at this offset (negative: from the end; 'phdrs', 'data': at that mark)
"""

import struct

PT_LOAD, PT_DYNAMIC, PT_NOTE, PT_TLS = 1, 2, 4, 7
PT_GNU_STACK, PT_GNU_PROPERTY = 0x6474E551, 0x6474E553
PT_NAMES = {
    "load": PT_LOAD,
    "dynamic": PT_DYNAMIC,
    "tls": PT_TLS,
    "stack": PT_GNU_STACK,
    "property": PT_GNU_PROPERTY,
    "note": PT_NOTE,
}
DT = {
    "NEEDED": 1,
    "PLTRELSZ": 2,
    "PLTGOT": 3,
    "HASH": 4,
    "STRTAB": 5,
    "SYMTAB": 6,
    "RELA": 7,
    "RELASZ": 8,
    "RELAENT": 9,
    "STRSZ": 10,
    "SYMENT": 11,
    "SONAME": 14,
    "RPATH": 15,
    "SYMBOLIC": 16,
    "PLTREL": 20,
    "JMPREL": 23,
    "BIND_NOW": 24,
    "RUNPATH": 29,
    "FLAGS": 30,
    "GNU_HASH": 0x6FFFFEF5,
    "RELACOUNT": 0x6FFFFFF9,
    "FLAGS_1": 0x6FFFFFFB,
    "VERDEF": 0x6FFFFFFC,
    "VERDEFNUM": 0x6FFFFFFD,
    "VERNEED": 0x6FFFFFFE,
    "VERNEEDNUM": 0x6FFFFFFF,
    "VERSYM": 0x6FFFFFF0,
    "AUXILIARY": 0x7FFFFFFD,
    "FILTER": 0x7FFFFFFF,
}
R = {"glob": 6, "jump": 7, "abs": 1, "tpoff": 18, "relative": 8, "dtpmod": 16}
BIND = {"local": 0, "global": 1, "weak": 2, "unique": 10}
TYPE = {"notype": 0, "object": 1, "func": 2, "section": 3, "tls": 6}
VIS = {"default": 0, "internal": 1, "hidden": 2, "protected": 3}
HEAD = {
    "class": (4, "B"),
    "data": (5, "B"),
    "iversion": (6, "B"),
    "osabi": (7, "B"),
    "abiversion": (8, "B"),
    "pad": (9, "B"),
    "magic": (0, "I"),
    "type": (16, "H"),
    "machine": (18, "H"),
    "version": (20, "I"),
    "phoff": (32, "Q"),
    "phentsize": (54, "H"),
    "phnum": (56, "H"),
}
PHFIELD = {
    "type": 0,
    "flags": 1,
    "offset": 2,
    "vaddr": 3,
    "paddr": 4,
    "filesz": 5,
    "memsz": 6,
    "align": 7,
}

# push; mov rax,rdi; mov rdi,rsi; mov esi,edx; call rax; pop; ret  (dlopen, name, mode)
TRAMP = bytes.fromhex("50" "4889f8" "4889f7" "89d6" "ffd0" "59" "c3")


def elf_hash(name):
    h = 0
    for c in name.encode():
        h = ((h << 4) + c) & 0xFFFFFFFF
        g = h & 0xF0000000
        h ^= g >> 24
        h &= ~g & 0xFFFFFFFF
    return h


def gnu_hash(name):
    h = 5381
    for c in name.encode():
        h = (h * 33 + c) & 0xFFFFFFFF
    return h


class Strings:
    def __init__(self):
        self.data = bytearray(b"\0")
        self.seen = {"": 0}

    def add(self, s):
        at = self.seen.get(s)
        if at is None:
            at = self.seen[s] = len(self.data)
            self.data += s.encode("utf-8", "surrogateescape") + b"\0"
        return at


def _align(n, a):
    return (n + a - 1) // a * a


def _versions(spec, strings):
    """The verdef and verneed tables and the index of each version."""
    index, verdef, verneed = {}, b"", b""
    nxt = 2
    names = spec.get("verdef") or []
    if names:
        base = spec.get("soname") or "base"
        rows = [(base, 1, 1)] + [(n, 0, nxt + i) for i, n in enumerate(names)]
        for i, (name, flags, ndx) in enumerate(rows):
            last = i == len(rows) - 1
            verdef += struct.pack(
                "<HHHHIII", 1, flags, ndx, 1, elf_hash(name), 20, 0 if last else 28
            )
            verdef += struct.pack("<II", strings.add(name), 0)
            if not flags:
                index[(None, name)] = ndx
        nxt += len(names)
    needs = spec.get("verneed") or []
    for i, (file, versions) in enumerate(needs):
        last = i == len(needs) - 1
        verneed += struct.pack(
            "<HHIII",
            1,
            len(versions),
            strings.add(file),
            16,
            0 if last else 16 + 16 * len(versions),
        )
        for j, (ver, weak) in enumerate(versions):
            index[(file, ver)] = nxt
            verneed += struct.pack(
                "<IHHII",
                elf_hash(ver),
                2 if weak else 0,
                nxt,
                strings.add(ver),
                0 if j == len(versions) - 1 else 16,
            )
            nxt += 1
    return index, verdef, len(names) + 1 if names else 0, verneed, len(needs)


def _gnu_table(defs, first):
    """defs must be sorted by bucket; first = index of the first of them."""
    n = max(1, len(defs) // 2)
    words = 1
    bloom = 0
    buckets = [0] * n
    chain = []
    for i, d in enumerate(defs):
        h = gnu_hash(d["name"])
        bloom |= 1 << (h % 64) | 1 << ((h >> 6) % 64)
        b = h % n
        if not buckets[b]:
            buckets[b] = first + i
        end = i + 1 == len(defs) or gnu_hash(defs[i + 1]["name"]) % n != b
        chain.append((h & ~1) | end)
    return (
        struct.pack("<IIII", n, first, words, 6)
        + struct.pack("<Q", bloom)
        + struct.pack("<%dI" % n, *buckets)
        + struct.pack("<%dI" % len(chain), *chain)
    )


def _sysv_table(names):
    n = max(1, len(names) // 2)
    buckets, chain = [0] * n, [0] * len(names)
    for i in range(1, len(names)):
        b = elf_hash(names[i]) % n
        chain[i] = buckets[b]
        buckets[b] = i
    return (
        struct.pack("<II", n, len(names))
        + struct.pack("<%dI" % n, *buckets)
        + struct.pack("<%dI" % len(names), *chain)
    )


def build(spec):
    """The bytes of the object that spec describes."""
    strings = Strings()
    dyn = []
    for n in spec.get("needed") or []:
        dyn.append((DT["NEEDED"], strings.add(n)))
    for key in ("soname", "rpath", "runpath"):
        if spec.get(key) is not None:
            dyn.append((DT[key.upper()], strings.add(spec[key])))
    for key in ("aux", "filter"):
        if spec.get(key) is not None:
            dyn.insert(0, (DT["AUXILIARY" if key == "aux" else "FILTER"], strings.add(spec[key])))
    if spec.get("symbolic"):
        dyn.append((DT["SYMBOLIC"], 0))
    if spec.get("flags") is not None:
        dyn.append((DT["FLAGS"], spec["flags"]))
    if spec.get("flags_1") is not None:
        dyn.append((DT["FLAGS_1"], spec["flags_1"]))

    index, verdef, nverdef, verneed, nverneed = _versions(spec, strings)
    refs = list(spec.get("refs") or [])
    defs = [dict(d) for d in spec.get("defs") or []]
    if spec.get("tramp"):
        defs.append({"name": "ortfit_tramp", "type": "func", "tramp": True})
    nbuckets = max(1, len(defs) // 2)
    defs.sort(key=lambda d: gnu_hash(d["name"]) % nbuckets)
    names = [""] + [r["name"] for r in refs] + [d["name"] for d in defs]
    style = spec.get("hash") or "gnu"
    parts = []  # (key, bytes, alignment) of the read-only segment
    if spec.get("isa") is not None:
        prop = struct.pack("<III", 0xC0008002, 4, spec["isa"]) + b"\0" * 4
        parts.append(("property", struct.pack("<III", 4, len(prop), 5) + b"GNU\0" + prop, 8))
    if style in ("gnu", "both"):
        parts.append(("GNU_HASH", _gnu_table(defs, 1 + len(refs)), 8))
    if style in ("sysv", "both"):
        parts.append(("HASH", _sysv_table(names), 8))
    versioned = bool(verdef or verneed)
    for s in names:
        strings.add(s)
    parts.append(("STRTAB", bytes(strings.data), 1))
    parts.append(("SYMTAB", b"\0" * 24 * len(names), 8))
    if versioned:
        ndx = [0]
        for r in refs:
            ver = r.get("ver")
            ndx.append(index.get((ver[0], ver[1]), 1) if ver else 1)
        for d in defs:
            v = index.get((None, d.get("ver")), 1)
            ndx.append(v | (0x8000 if d.get("hidden") else 0))
        parts.append(("VERSYM", struct.pack("<%dH" % len(ndx), *ndx), 2))
    if verdef:
        parts.append(("VERDEF", verdef, 8))
    if verneed:
        parts.append(("VERNEED", verneed, 8))

    rela, plt = [], []
    tls = spec.get("tls")
    slot = 3
    for i, r in enumerate(refs):
        kind = r.get("reloc", "glob")
        if kind == "none":
            continue
        (plt if kind == "jump" else rela).append((slot, i + 1, R[kind]))
        slot += 1
    if tls and tls.get("self"):
        rela.append((slot, 0, R["tpoff"]))
        slot += 1
    for r in spec.get("relas") or []:
        (plt if r.get("plt") else rela).append((slot, r.get("sym", 0), r["type"]))
        slot += 1
    if rela:
        parts.append(("RELA", b"\0" * 24 * len(rela), 8))
    if plt:
        parts.append(("JMPREL", b"\0" * 24 * len(plt), 8))
    parts.append(("text", TRAMP, 16))

    drop = {PT_NAMES[d] for d in spec.get("drop") or []}
    kinds = [PT_LOAD, PT_LOAD, PT_DYNAMIC]
    if tls:
        kinds.append(PT_TLS)
    if spec.get("stack") is not None:
        kinds.append(PT_GNU_STACK)
    if spec.get("isa") is not None:
        kinds += [PT_NOTE, PT_GNU_PROPERTY]
    kinds = [k for k in kinds if k not in drop]

    at, pos = {}, 64 + 56 * len(kinds)
    for key, data, align in parts:
        pos = _align(pos, align)
        at[key] = pos
        pos += len(data)
    end1 = pos
    sizes = {key: len(data) for key, data, _ in parts}

    for key in ("GNU_HASH", "HASH", "STRTAB", "SYMTAB", "VERSYM", "VERDEF", "VERNEED"):
        if key in at:
            dyn.append((DT[key], at[key]))
    dyn += [(DT["STRSZ"], sizes["STRTAB"]), (DT["SYMENT"], 24)]
    if verdef:
        dyn.append((DT["VERDEFNUM"], nverdef))
    if verneed:
        dyn.append((DT["VERNEEDNUM"], nverneed))
    if rela:
        dyn += [(DT["RELA"], at["RELA"]), (DT["RELASZ"], sizes["RELA"]), (DT["RELAENT"], 24)]
    if plt:
        dyn += [(DT["JMPREL"], at["JMPREL"]), (DT["PLTRELSZ"], sizes["JMPREL"]), (DT["PLTREL"], 7)]
    dyn += [(DT["PLTGOT"], 0), (0, 0)]
    left_out = {DT[d] for d in spec.get("dynamic_drop") or []}
    dyn = [d for d in dyn if d[0] not in left_out]

    spread = spec.get("layout") == "spread"
    off2 = _align(end1, 4096) if spread else _align(end1, 16)
    base2 = off2 + (0 if spread else 4096)
    dyn_size = 16 * len(dyn)
    got, got_size = base2 + dyn_size, 8 * slot
    data_addr = got + got_size
    tls_align = (tls or {}).get("align", 8) or 1
    tls_addr = _align(data_addr + 64, max(8, tls_align))
    end2 = tls_addr + min((tls or {}).get("size", 0), 16) if tls else data_addr + 64

    syms = bytearray(24)
    for r in refs:
        syms += struct.pack(
            "<IBBHQQ",
            strings.add(r["name"]),
            BIND[r.get("bind", "global")] << 4 | TYPE[r.get("type", "notype")],
            VIS[r.get("vis", "default")],
            0,
            0,
            0,
        )
    for d in defs:
        typ = d.get("type", "object")
        value = at["text"] if typ == "func" else data_addr
        shndx = 5
        if typ == "tls":
            value, shndx = 0, 6
        if d.get("abs"):
            value, shndx = d["abs"] - 1, 0xFFF1
        if d.get("undef"):
            shndx = 0
        if d.get("zero"):
            value = 0
        syms += struct.pack(
            "<IBBHQQ",
            strings.add(d["name"]),
            BIND[d.get("bind", "global")] << 4 | TYPE[typ],
            VIS[d.get("vis", "default")],
            shndx,
            value,
            8,
        )
    reloc = {"RELA": rela, "JMPREL": plt}
    out = bytearray(off2)
    for key, data, _ in parts:
        if key == "SYMTAB":
            data = bytes(syms)
        elif key in reloc:
            data = b"".join(
                struct.pack("<QQq", got + 8 * s, i << 32 | t, 0) for s, i, t in reloc[key]
            )
        out[at[key] : at[key] + len(data)] = data
    for tag, val in dyn:
        out += struct.pack("<QQ", tag, got if tag == DT["PLTGOT"] else val)
    words = [base2, 0, 0] + [at["text"]] * (slot - 3)
    out += struct.pack("<%dQ" % slot, *words)
    out += b"\0" * (end2 - data_addr)

    phdrs = []
    first = True
    for k in kinds:
        if k == PT_LOAD and first:
            row = [k, 5, 0, 0, 0, end1, end1, 4096]
            first = False
        elif k == PT_LOAD:
            size = end2 - base2
            row = [k, 6, off2, base2, base2, size, size, 4096]
        elif k == PT_DYNAMIC:
            row = [k, 6, off2, base2, base2, dyn_size, dyn_size, 8]
        elif k == PT_TLS:
            row = [
                k,
                4,
                off2 + tls_addr - base2,
                tls_addr,
                tls_addr,
                min(tls["size"], 16),
                tls["size"],
                tls_align if "align" in tls else 8,
            ]
            row[7] = tls.get("align", 8)
        elif k == PT_GNU_STACK:
            row = [k, spec["stack"], 0, 0, 0, 0, 0, 16]
        else:
            p = at["property"]
            row = [k, 4, p, p, p, sizes["property"], sizes["property"], 8]
        phdrs.append(row)
    for key, fields in (spec.get("ph") or {}).items():
        for i, row in enumerate(phdrs):
            if str(i) == key or (key in PT_NAMES and row[0] == PT_NAMES[key]):
                for f, v in fields.items():
                    row[PHFIELD[f]] = v
                break
    for i, row in enumerate(phdrs):
        struct.pack_into("<IIQQQQQQ", out, 64 + 56 * i, *row)
    struct.pack_into(
        "<16sHHIQQQIHHHHHH",
        out,
        0,
        b"\x7fELF\x02\x01\x01" + b"\0" * 9,
        3,
        62,
        1,
        at["text"],
        64,
        0,
        0,
        64,
        56,
        len(phdrs),
        64,
        0,
        0,
    )
    for key, value in (spec.get("head") or {}).items():
        pos, fmt = HEAD[key]
        struct.pack_into("<" + fmt, out, pos, value)
    cut = spec.get("cut")
    if cut is not None:
        if cut == "phdrs":
            cut = 64 + 56 * len(phdrs)
        elif cut == "data":
            cut = off2
        elif cut == "head":
            cut = 64
        elif cut < 0:
            cut = max(0, len(out) + cut)
        del out[cut:]
    return bytes(out)
