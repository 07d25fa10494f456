"""What the real loader does: reads LD_DEBUG=libs,files logs that drive.py's runs left behind."""
import os
import re
import struct

LINE = re.compile(r"^\s*\d+:\t?(.*)$")
OPENED_BY = re.compile(r"file=(.+?) \[\d+\];\s+(dynamically loaded|needed) by (.*?) \[\d+\]$")
FIND = re.compile(r"find library=(.+?) \[\d+\]; searching$")
SEARCH_PATH = re.compile(r" search path=.*\t\t\((.*)\)$")
TRYING = re.compile(r"  trying file=(.*)$")
MAPPED = re.compile(r"file=(.+?) \[\d+\];\s+generating link map$")
UNMAPPED = re.compile(r"file=(.+?) \[\d+\];\s+destroying link map$")
INIT = re.compile(r"calling init: (.+)$")
PROVIDER = "libonnxruntime_providers_cuda.so"
NEEDED, STRTAB, SONAME = 1, 5, 14


def dynamic_names(path):
    """Return (DT_NEEDED names, DT_SONAME or None), read by program headers, 64-bit LSB only."""
    with open(path, "rb") as f:
        head = f.read(64)
        if head[:6] != b"\x7fELF\2\1":
            raise ValueError(f"{path}: not a 64-bit little-endian ELF file")
        phoff, = struct.unpack_from("<Q", head, 32)
        phentsize, phnum = struct.unpack_from("<HH", head, 54)
        f.seek(phoff)
        table = f.read(phentsize * phnum)
        segments = [struct.unpack_from("<IIQQQQQQ", table, i * phentsize) for i in range(phnum)]
        dyn = next((s for s in segments if s[0] == 2), None)
        if dyn is None:
            return [], None
        f.seek(dyn[2])
        data = f.read(dyn[5])
        entries = list(struct.iter_unpack("<QQ", data[:len(data) // 16 * 16]))
        entries = entries[:next((i for i, e in enumerate(entries) if e[0] == 0), len(entries))]
        strtab = next(v for t, v in entries if t == STRTAB)
        base = next(s for s in segments if s[0] == 1 and s[3] <= strtab < s[3] + s[5])

        def name(offset):
            f.seek(base[2] + strtab - base[3] + offset)
            return f.read(512).split(b"\0", 1)[0].decode()
        soname = next((name(v) for t, v in entries if t == SONAME), None)
        return [name(v) for t, v in entries if t == NEEDED], soname


class Log:
    """One process's LD_DEBUG log, replayed up to a position."""

    RULES = (("LD_LIBRARY_PATH", "ld-library-path"), ("RPATH", "rpath"), ("RUNPATH", "runpath"),
             ("system search path", "default"))

    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()

    def lines(self, start, end):
        for raw in self.data[start:end].decode("utf-8", "surrogateescape").split("\n"):
            m = LINE.match(raw)
            if m:
                yield m.group(1)

    def mapped_before(self, end):
        """Base name -> path of what is mapped in the process when the log has reached `end`."""
        maps, tried, wanted = {}, None, None
        for line in self.lines(0, end):
            if m := FIND.match(line):
                wanted, tried = m.group(1), None
            elif m := TRYING.match(line):
                tried = m.group(1)
            elif m := MAPPED.match(line):
                name = m.group(1)
                path = tried if name == wanted and tried else name
                maps[os.path.basename(name)] = path
                wanted = tried = None
            elif m := INIT.match(line):
                maps.setdefault(os.path.basename(m.group(1)), m.group(1))
            elif m := UNMAPPED.match(line):
                for key in [k for k, v in maps.items() if v == m.group(1)]:
                    del maps[key]
        return maps

    def searches(self, start, end):
        """Requested name -> {path, rule, by, mapped} for what was opened in this stretch."""
        found, current, rule, by = {}, None, None, {}
        for line in self.lines(start, end):
            if m := OPENED_BY.match(line):
                by[m.group(1)] = (m.group(3), m.group(2).startswith("dyn"))
            elif m := FIND.match(line):
                current = found[m.group(1)] = {"path": None, "rule": None, "mapped": False}
                current["by"], current["top"] = by.get(m.group(1), (None, False))
                rule = None
            elif m := SEARCH_PATH.match(line):
                rule = next((r for text, r in self.RULES if m.group(1).startswith(text)), None)
            elif line.startswith(" search cache="):
                rule = "cache"
            elif (m := TRYING.match(line)) and current is not None:
                current["path"], current["rule"] = m.group(1), rule
            elif m := MAPPED.match(line):
                name = m.group(1)
                if name not in found:
                    opener, top = by.get(name, (None, False))
                    found[name] = {"path": name, "rule": "as-given", "by": opener, "top": top}
                found[name]["mapped"] = True
                current = None
        return found

    def inits(self, start, end):
        return [m.group(1) for line in self.lines(start, end) if (m := INIT.match(line))]


def walk(first, searches, loaded, stubs, cwd):
    """Breadth-first over DT_NEEDED from the file `first`; one row a soname, as the loader met it.

    Returns (rows, complete). Only what the loader was seen to do decides where a name was found;
    DT_NEEDED gives the order and the names that were already there, of which the log is silent.
    """
    rows, queue, seen = [], [first], {os.path.basename(first)}
    while queue:
        path = queue.pop(0)
        for name in dynamic_names(os.path.join(cwd, path))[0]:
            if name in seen:
                continue
            seen.add(name)
            row = {"soname": name, "needed_by": os.path.basename(path), "status": "found",
                   "path": None, "rule": None}
            rows.append(row)
            hit = searches.get(name)
            if name in stubs:
                row["status"] = "missing"
            elif hit and hit["mapped"]:
                row["path"], row["rule"] = hit["path"], hit["rule"]
            elif name in loaded:
                row["path"], row["rule"] = loaded[name], "already-loaded"
            elif hit and hit["path"] and os.path.exists(os.path.join(cwd, hit["path"])):
                row["path"], row["rule"], row["status"] = hit["path"], hit["rule"], "bad-file"
                return rows, False
            else:
                return rows[:-1], False
            if row["status"] == "found":
                queue.append(row["path"])
    return rows, True


def closure(out, log_path, cwd):
    """The oracle answer from drive.py's result `out` and its log."""
    log = Log(log_path)
    attempts = out["attempts"]
    sessions = [a for a in attempts if a["what"] == "session"]
    preloads = [a for a in attempts if a["what"].startswith("ld_preload:")]
    answer = {"pre_error": out["pre_error"], "version": out["version"],
              "available": out["available"], "providers": out["providers"],
              "error": None, "opened": None, "raised": None, "tried": False, "loads": "no",
              "opened_path": None, "closure": [], "complete": False, "maps": []}
    if out["pre_error"] or not sessions:
        return answer
    for a in attempts:
        if a["end"] is None:
            a["end"] = len(log.data)
            answer["crashed"] = True
    answer["raised"] = sessions[0]["raised"]
    answer["error"], answer["opened"] = sessions[0]["error"], sessions[0]["opened"]
    if preloads:
        answer["complete"] = True
        answer["ld_preload"] = True
        for a in {p["what"]: p for p in preloads}.values():  # the last try of each
            name = a["what"].split(":", 1)[1]
            hit = log.searches(a["start"], a["end"]).get(name)
            missing = name in out["stubs"]
            answer["closure"].append({
                "soname": name, "needed_by": "_ld_preload.py",
                "status": "missing" if missing else "found",
                "path": None if missing or not hit else hit["path"],
                "rule": None if missing or not hit else hit["rule"]})
        return answer
    first, last = sessions[0], sessions[-1]
    tops = {n: s for n, s in log.searches(last["start"], last["end"]).items()
            if os.path.basename(n) == PROVIDER}
    if not tops:
        return answer
    answer["tried"] = True
    top = next(iter(tops.values()))
    answer["opened_path"] = top["path"]
    initialised = [os.path.basename(p) for p in log.inits(first["start"], first["end"])]
    if PROVIDER in initialised:
        answer["loads"] = "yes"
    if not top["mapped"]:
        return answer
    searches = log.searches(last["start"], last["end"])
    answer["closure"], answer["complete"] = walk(
        top["path"], searches, log.mapped_before(last["start"]), set(out["stubs"]), cwd)
    if answer["loads"] == "yes":
        answer["maps"] = [s["path"] for s in searches.values() if s["mapped"]]
    return answer
