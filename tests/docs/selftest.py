#!/usr/bin/env python3
"""tools/check-docs must be able to fail: each fault here is one that it has to find."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = os.path.join(HERE, "..", "..", "tools", "check-docs")

# name, text of a page, what the tool must say; None: it must find nothing
PAGES = [
    ("right output", "```console compare\n$ ortfit --version\nortfit ...\n```\n", "should be"),
    ("any lines", "```console compare\n$ ortfit --help\n...\n```\n", None),
    ("lines after any lines", "```console compare\n$ ortfit --help\n...\nno such line\n```\n", "nowhere"),
    ("too much", "```console compare\n$ ortfit --help\n```\n", "more output"),
    ("too little", "```console compare\n$ ortfit --quiet --help | head -n 0\nx\n```\n", "ends before"),
    ("wrong option", "```console\n$ ortfit --no-such-option\n```\n", "exit code 2"),
    ("expected code", "```console exit=2\n$ ortfit --no-such-option\n```\n", None),
    ("other code", "```console exit=3\n$ ortfit --no-such-option\n```\n", "exit code 2, not 3"),
    ("code is told", "```console compare\n$ ortfit --no-such-option 2>/dev/null\n$ echo $?\n2\n```\n", "exit code 2"),
    ("unknown word", "```console comapre\n$ ortfit --version\n```\n", "unknown word"),
    ("no example", "```console\n$ ortfit --from examples/no-such-file.json\n```\n", "no such file"),
    ("long command", "```console\n$ ortfit \\\n    --no-such-option\n```\n", "exit code 2"),
    ("not ours", "```console\n$ false --no-such-option; exit 9\n```\n", None),
    ("link", "See [this](no-such-page.md).\n", "link to nothing"),
    ("anchor", "# A title\n\nSee [this](#a-title) and [that](#no-title).\n", "no such heading"),
    ("link in code", "`[x](no-such-page.md)`\n\n```\n[x](no-such-page.md)\n```\n", None),
    ("path", "See `docs/no-such-page.md`.\n", "not there"),
]


def main():
    ortfit = sys.argv[sys.argv.index("--ortfit") + 1]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="ortfit-docs-test-") as folder:
        page = os.path.join(folder, "page.md")
        for name, text, wanted in PAGES:
            with open(page, "w", encoding="utf-8") as f:
                f.write(text)
            done = subprocess.run([sys.executable, TOOL, "--ortfit", ortfit, page], capture_output=True, text=True,
                                  check=False)
            said = [line for line in done.stdout.splitlines() if "page.md" in line]
            fine = any(wanted in line for line in said) and done.returncode == 1 if wanted else not said
            if not fine:
                failed += 1
                print(f"FAIL {name}: wanted {wanted or 'nothing'}, got exit {done.returncode}: {said} {done.stderr}")
    print(f"{len(PAGES) - failed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
