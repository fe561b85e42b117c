#!/usr/bin/env python3
"""Keeps the outputs shown in the documentation true.

A block between `<!-- output: COMMAND -->` and `<!-- end -->` is replaced by what COMMAND prints on
stdout, in a fence. With --check nothing is written: a difference is an error.
"""

import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = ["README.md", "scenarios/tutorial/README.md"]
BLOCK = re.compile(r"(<!-- output: (?P<command>.+?) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL)
# 1: an expectation did not hold, 3: does not fit in memory. Both print a result.
GOOD_EXITS = {0, 1, 3}


def run(command, binaries):
    environment = dict(os.environ, NO_COLOR="1", LC_ALL="C.UTF-8",
                       PATH=f"{binaries}{os.pathsep}{os.environ['PATH']}")
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, env=environment, text=True,
                          capture_output=True, timeout=300, check=False)
    if done.returncode not in GOOD_EXITS:
        sys.exit(f"error: '{command}' ended with {done.returncode}:\n{done.stderr}")
    if not done.stdout.strip():  # the left end of a pipe failed
        sys.exit(f"error: '{command}' printed nothing:\n{done.stderr}")
    return done.stdout


def refresh(text, binaries):
    def block(match):
        output = "\n".join(line.rstrip() for line in run(match["command"], binaries).splitlines())
        return f"{match[1]}```text\n{output}\n```\n{match[4]}"
    return BLOCK.sub(block, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, fail on a difference")
    parser.add_argument("--binaries", default=ROOT / "build/tools/foretrain", type=pathlib.Path,
                        help="folder of the foretrain program (default: build/tools/foretrain)")
    arguments = parser.parse_args()
    stale = 0
    for name in DOCUMENTS:
        path = ROOT / name
        if not path.exists():
            continue
        old = path.read_text(encoding="utf-8")
        new = refresh(old, arguments.binaries.resolve())
        if new == old:
            continue
        stale += 1
        if arguments.check:
            sys.stdout.writelines(difflib.unified_diff(
                old.splitlines(True), new.splitlines(True), name, "what the program prints"))
        else:
            path.write_text(new, encoding="utf-8")
            print(f"updated {name}")
    if arguments.check and stale:
        print("run tools/ci/readme_output.py to update")
    return 1 if arguments.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
