"""Case files: a machine, and what ortfit must say of it.

    # comment                        anywhere at the beginning of a line
    machine:                         recipe lines (machine.py), indented
      system ubuntu 22.04 2.35
    needs: root                      root | user (not root: given up before ortfit starts) | strace
    args: check --python /home/a/.venv     one run; `--root TREE` is put in unless a place is named; @ is the tree,
                                     % the project; --live: none is put in; \\xNN (quoted) is that byte
    env: NAME=VALUE                  of this run (ortfit's own variables, not the machine's: that is --setenv)
    stdout-to: /dev/full             closed | a path
    stdin: TEXT
    exit: 1                          any: 0 or 1
    nvml: LINES                      the run is made on a snapshot in which the driver's library has said this
                                     (\\t and \\n between words and lines, as src/probe/nvml.c writes them)
    edit: place.machine.arch = aarch64   the run is made on a snapshot in which this was changed
    save: examples/NAME.json         `run --update` writes a snapshot of the machine there, asked as this run asks
    screen: NAME.txt                 standard output as text is exactly that file (`run --update` rewrites it)
    expect:                          lines about the JSON document or the streams, indented
      verdict = fits
      findings[0].severity = error
      causes = a b                   the findings' causes in order; also: has, lacks
      errors = a b                   the causes of severity error alone
      fix has pip install            a fix of any finding, as a shell line, holds this text; also: lacks
      fix(cudnn-missing) has ...     a fix of this finding
      targets[0].closure[*].status has missing
      stderr has ...   stdout lacks ...   stderr lines 1
    replay: no                       the run is not repeated from a snapshot
    limit: 5                         seconds
    safe: yes                        the run is repeated under strace: nothing is run, nothing opened outside of the tree
                                     (nor, on a snapshot, anything but that file); without a machine: nothing is run

A file may hold several runs; each begins with args."""

import re
import shlex

LISTS = ("machine", "expect")
RUN_KEYS = {"exit", "expect", "env", "stdout-to", "stdin", "screen", "save", "replay", "nvml", "edit", "limit", "safe", "user"}


def raw(word):
    """A word with its \\xNN replaced; bytes that are no UTF-8 pass through to the program as they are."""
    if "\\x" not in word:
        return word
    data = re.sub(rb"\\\\x([0-9a-fA-F]{2})", lambda m: bytes([int(m[1], 16)]), word.encode())
    return data.decode("utf-8", "surrogateescape")


class Run:
    def __init__(self, args, line):
        self.args = args
        self.line = line
        self.env = {}
        self.expect = []
        self.exit = 0
        self.edit = self.nvml = self.save = self.screen = self.stdin = self.stdout_to = self.user = None
        self.replay = self.safe = None
        self.limit = 10

    @property
    def verb(self):
        return self.args[0] if self.args and not self.args[0].startswith("-") and "/" not in self.args[0] else "check"


class Case:
    def __init__(self, path):
        self.path = path
        self.machine = []
        self.needs = []
        self.runs = []
        block = None
        with open(path, encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                line = line.rstrip("\n")
                if not line.strip() or line.startswith("#"):
                    continue
                try:
                    block = self.line(line, number, block)
                except ValueError as e:
                    raise ValueError("%s:%d: %s" % (path, number, e)) from e

    def line(self, line, number, block):
        if line[0].isspace():
            if block is None:
                raise ValueError("indented line without a key")
            (self.machine if block == "machine" else self.runs[-1].expect).append((number, line.strip()))
            return block
        key, colon, value = line.partition(":")
        value = value.strip()
        if not colon:
            raise ValueError("no key: " + line)
        if key == "machine":
            return key
        if key == "needs":
            self.needs += value.split()
            return None
        if key == "args":
            self.runs.append(Run([raw(w) for w in shlex.split(value)], number))
            return None
        if key not in RUN_KEYS:
            raise ValueError("unknown key '%s'" % key)
        if not self.runs:
            raise ValueError("'%s' before args" % key)
        run = self.runs[-1]
        if key == "env":
            name, _, text = value.partition("=")
            run.env[name] = text
        elif key in ("replay", "safe"):
            setattr(run, key, value == "yes")
        elif key in ("exit", "limit"):
            setattr(run, key, None if value == "any" else int(value))
        elif key != "expect":
            setattr(run, key.replace("-", "_"), value)
        return key if key in LISTS else None
