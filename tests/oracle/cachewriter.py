"""Writes an ld.so.cache from a plain dictionary.

format   new | compat (old table with the new one inside) | old
entries  [{name, path, flags, hwcaps, isa, hwcap}]   flags 0x303 = x86_64,
             hwcaps: a glibc-hwcaps subfolder
endian   value of the endian flags (2 = little)
sort     False: entries stay in the given order
raw      the whole file in hex
damage   cut at N | magic | nlibs | ext   (a broken file)
"""

import functools
import struct

NEW = b"glibc-ld.so.cache1.1"
OLD = b"ld.so-1.7.0"


def libcmp(a, b):
    """Names are compared with runs of digits as numbers."""
    i = j = 0
    while i < len(a):
        x = a[i]
        y = b[j] if j < len(b) else ""
        if x.isdigit():
            if not y.isdigit():
                return 1
            m = n = 0
            while i < len(a) and a[i].isdigit():
                m, i = m * 10 + int(a[i]), i + 1
            while j < len(b) and b[j].isdigit():
                n, j = n * 10 + int(b[j]), j + 1
            if m != n:
                return m - n
        elif y.isdigit():
            return -1
        elif x != y:
            return ord(x) - (ord(y) if y else 0)
        else:
            i, j = i + 1, j + 1
    return -ord(b[j]) if j < len(b) else 0


def _order(a, b):
    r = libcmp(b["name"], a["name"])
    if r:
        return r
    if a.get("flags", 0x303) != b.get("flags", 0x303):
        return b.get("flags", 0x303) - a.get("flags", 0x303)
    ha, hb = a.get("hwcaps"), b.get("hwcaps")
    if (ha is None) != (hb is None):
        return -1 if hb is None else 1
    if ha is not None and ha != hb:
        return -1 if ha < hb else 1
    wa, wb = a.get("hwcap", 0), b.get("hwcap", 0)
    if bin(wa).count("1") != bin(wb).count("1"):
        return bin(wb).count("1") - bin(wa).count("1")
    return (wb > wa) - (wb < wa)


def build(spec):
    if spec.get("raw") is not None:
        return bytes.fromhex(spec["raw"])
    entries = [dict(e) for e in spec.get("entries") or []]
    if spec.get("sort", True):
        entries.sort(key=functools.cmp_to_key(_order))
    strings, seen = bytearray(), {}

    def add(s):
        if s not in seen:
            seen[s] = len(strings)
            strings.extend(s.encode() + b"\0")
        return seen[s]

    rows = [(e.get("flags", 0x303), add(e["name"]), add(e["path"])) for e in entries]
    caps = sorted({e["hwcaps"] for e in entries if e.get("hwcaps") is not None})
    cap_at = [add(c) for c in caps]
    fmt = spec.get("format", "new")
    out = bytearray()
    if fmt == "old":
        out += OLD + b"\0" + struct.pack("<I", len(rows))
        for flags, key, value in rows:
            out += struct.pack("<iII", flags, key, value)
        out += strings
    else:
        if fmt == "compat":
            plain = [
                r for r, e in zip(rows, entries) if e.get("hwcaps") is None and not e.get("hwcap")
            ]
            if len(plain) % 2:
                plain.append(plain[-1])
            out += OLD + b"\0" + struct.pack("<I", len(plain))
            for flags, key, value in plain:
                out += struct.pack(
                    "<iII", flags, key + 48 + 24 * len(rows), value + 48 + 24 * len(rows)
                )
            out += b"\0" * (-len(out) % 8)
        start = len(out)
        shift = 48 + 24 * len(rows)
        end = start + shift + len(strings)
        ext = end + -end % 4
        out += NEW + struct.pack("<IIB3xI12x", len(rows), len(strings), spec.get("endian", 2), ext)
        for e, (flags, key, value) in zip(entries, rows):
            hwcap = e.get("hwcap", 0)
            if e.get("hwcaps") is not None:
                hwcap = 1 << 62 | e.get("isa", 0) << 32 | caps.index(e["hwcaps"])
            out += struct.pack("<iIIIQ", flags, key + shift, value + shift, 0, hwcap)
        out += strings + b"\0" * (ext - end)
        gen = b"ortfit test"
        count = 2 if caps else 1
        body = ext + 8 + 16 * count
        out += struct.pack("<II", 0xEAA42174, count)
        out += struct.pack("<IIII", 0, 0, body + 4 * len(caps), len(gen))
        if caps:
            out += struct.pack("<IIII", 1, 0, body, 4 * len(caps))
            # The loader reads these as offsets from the start of the file.
            out += struct.pack("<%dI" % len(caps), *[start + shift + c for c in cap_at])
        out += gen
    damage = spec.get("damage")
    if isinstance(damage, int):
        del out[damage:]
    elif damage == "magic":
        out[0:1] = b"x"
    elif damage == "nlibs":
        at = 20 if fmt == "new" else 12
        struct.pack_into("<I", out, at, 0x7FFFFFFF)
    elif damage == "ext" and fmt != "old":
        struct.pack_into("<I", out, start + 32, 0x7FFFFFFD)
    return bytes(out)
