#!/usr/bin/env python3
"""House rules that no compiler checks: sizes, places, words that do not belong."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAX_COLUMNS = 100
MAX_LINES = 600
CODE = {".h", ".cc", ".cu"}
TEXT = CODE | {".md", ".txt", ".py", ".sh", ".cmake", ".yaml", ".yml", ".json", ".in", ".csv"}
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
# Absolute paths of one machine; the standard places of a Unix are fine.
MACHINE_PATH = re.compile(r"(?<![\w.$}/:-])/(work|home|root|Users|mnt|scratch)/\w")
# Time and chance below tools/ would make results differ from run to run.
CLOCK_OR_CHANCE = re.compile(
    r"\b(system_clock|steady_clock|high_resolution_clock|random_device|mt19937\w*|getenv)\b"
    r"|\bs?rand\(|\bstd::(time|clock)\(|_distribution\b")
NOT_FAST_MATH = re.compile(r"-ffast-math|-Ofast|-march=native")


def tracked_files():
    """Files that git knows or would add; all files where there is no git."""
    try:
        output = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT,
                                capture_output=True, text=True, check=True).stdout
        names = output.splitlines()
    except (OSError, subprocess.CalledProcessError):
        names = [p.relative_to(ROOT).as_posix() for p in ROOT.rglob("*")
                 if not p.relative_to(ROOT).parts[0].startswith(("build", ".git"))]
    return [ROOT / name for name in sorted(names) if (ROOT / name).is_file()]


def strip_comment(line):
    return line.split("//")[0]


def check_code(relative, lines):
    if len(lines) > MAX_LINES:
        yield f"{relative}:{len(lines)}: more than {MAX_LINES} lines"
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS:
            yield f"{relative}:{number}: {len(line)} columns, at most {MAX_COLUMNS}"
        if "\t" in line or line != line.rstrip():
            yield f"{relative}:{number}: tab or trailing space"
        if relative.startswith(("sim/", "topologies/", "calibrate/")):
            found = CLOCK_OR_CHANCE.search(strip_comment(line))
            if found:
                yield f"{relative}:{number}: {found.group(0)} makes results irreproducible"
    if relative.endswith(".h"):
        yield from check_header(relative, lines)


def check_header(relative, lines):
    if not lines or not lines[0].startswith("//"):
        yield f"{relative}:1: a header starts with a comment that says what it is for"
    if "#pragma once" not in lines:
        yield f"{relative}:1: needs #pragma once"
    for number, line in enumerate(lines, 1):
        if re.match(r"\s*using namespace", line):
            yield f"{relative}:{number}: using namespace in a header"


def check_text(relative, lines):
    corpus = relative.startswith(("tests/fuzz/corpus/", "tests/scenario/"))
    for number, line in enumerate(lines, 1):
        found = UNFINISHED.search(line)
        if found and not corpus:
            yield f"{relative}:{number}: {found.group(0)}: finish it or leave it out"
        found = MACHINE_PATH.search(line)
        if found and not corpus and relative != "tools/ci/check_repo.py":
            yield f"{relative}:{number}: path of one machine"
        if NOT_FAST_MATH.search(line) and relative.endswith((".cmake", "CMakeLists.txt")):
            yield f"{relative}:{number}: flag that changes floating-point results"


def main():
    problems, count = [], 0
    for path in tracked_files():
        relative = path.relative_to(ROOT).as_posix()
        if path.suffix not in TEXT and path.name not in {"CMakeLists.txt"}:
            continue
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            if not relative.startswith("tests/"):
                problems.append(f"{relative}:1: not UTF-8")
            continue
        count += 1
        problems.extend(check_text(relative, lines))
        if path.suffix in CODE:
            problems.extend(check_code(relative, lines))
    print("\n".join(problems) if problems else f"{count} files keep the house rules")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
