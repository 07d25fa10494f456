"""A run under strace: ortfit must execute nothing and open nothing outside of the root."""

import os
import re
import shutil
import subprocess

# What every program opens before main: its own libraries, the locale.
STARTUP = re.compile(r"^(/etc/ld\.so\.(cache|preload)|/(usr/)?lib(64)?/|/proc/self/(maps|fd|exe)|/etc/locale|"
                     r"/usr/share/locale|/sys/kernel/mm/transparent_hugepage)")
CALL = re.compile(r"^(?:\[pid +\d+\] |\d+ +)?(\w+)\((.*)$")
EXECS = ("execve", "execveat")
OPENS = ("open", "openat", "openat2", "creat")
# Calls that reveal or change what lies outside without opening it.
OTHERS = ("stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat",
          "unlink", "unlinkat", "mkdir", "mkdirat", "rename", "renameat", "renameat2", "chmod", "fchmodat", "connect",
          "symlink", "symlinkat", "link", "linkat", "truncate", "chdir")


class CannotWatch(Exception):
    pass


def watch(command, tree, env, work, limit):
    """Lines about what was done that should not be."""
    strace = shutil.which("strace")
    if not strace:
        raise CannotWatch("strace is not installed")
    log = os.path.join(work, "strace.log")
    names = ",".join(EXECS + OPENS + OTHERS + ("socket",))
    p = subprocess.run([strace, "-f", "-y", "-s", "400", "-e", "trace=?" + names.replace(",", ",?"), "-o", log,
                        *command], env=env, cwd=tree or work, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=limit,
                       check=False)
    if not os.path.exists(log) or os.path.getsize(log) == 0 or b"ptrace" in p.stderr and b"ermitted" in p.stderr:
        raise CannotWatch("strace may not trace here: " + p.stderr.decode(errors="replace")[:200])
    with open(log, encoding="utf-8", errors="replace") as f:
        return judge(f, command, tree)


def judge(lines, command, tree):
    """tree None: the live machine, where only what is run counts; otherwise what command names may be opened, too."""
    trouble, execs, started = [], 0, False
    program = command[0]
    for line in lines:
        match = CALL.match(line)
        if not match:
            continue
        call, rest = match[1], match[2]
        path = re.search(r'"((?:[^"\\]|\\.)*)"', rest)
        path = path[1] if path else ""
        if call in EXECS:
            execs += 1
            if execs > 1:
                trouble.append("runs something: " + line.strip()[:200])
            continue
        if tree is None:
            continue
        if call == "socket":
            trouble.append("opens a socket: " + line.strip()[:200])
            continue
        if path == tree:
            started = True
            continue
        if path and path in command[1:]:
            continue
        relative = re.match(r"(\d+)<(.*?)>", rest)
        if not started and relative or not path and "AT_EMPTY_PATH" in rest:
            continue
        if call == "openat2":
            if "RESOLVE_IN_ROOT" not in rest:
                trouble.append("openat2 that may leave the root: " + line.strip()[:200])
        elif relative and not path.startswith("/"):
            folder = relative[2]
            if not (folder == tree or folder.startswith(tree + "/")):
                trouble.append("starts outside of the root: " + line.strip()[:200])
            if path.startswith("..") or "/.." in path:
                trouble.append("walks upwards: " + line.strip()[:200])
        elif path and not started and (STARTUP.match(path) or path == program):
            continue
        elif path and not STARTUP.match(path):
            trouble.append("outside of the root: " + line.strip()[:200])
        opened = re.search(r"= \d+<([^>]*)>\s*$", line)
        if started and opened and not (opened[1] == tree or opened[1].startswith(tree + "/") or
                                       STARTUP.match(opened[1])):
            trouble.append("opened outside of the root: " + opened[1])
    if execs == 0:
        raise CannotWatch("the trace shows no start")
    return trouble
