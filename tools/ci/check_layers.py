#!/usr/bin/env python3
"""Fails on an #include that layers.txt does not allow, or on a heavy library in a header."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCES = {".h", ".cc", ".cu"}


def read_rules(path):
    folders, libraries, headers = {}, {}, {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        name, found, rest = line.partition(":")
        if not found:
            sys.exit(f"{path}:{number}: expected 'folder: allowed …'")
        if name.startswith("library "):
            libraries[name.removeprefix("library ").strip()] = rest.split()
        elif name.startswith("header "):
            headers[name.removeprefix("header ").strip()] = rest.split()
        else:
            folders[name.strip()] = rest.split()
    return folders, libraries, headers


def owner(path, folders):
    """The longest listed folder that holds `path`, or None."""
    parts = path.split("/")[:-1]
    for length in range(len(parts), 0, -1):
        folder = "/".join(parts[:length])
        if folder in folders:
            return folder
    return None


def covers(allowed, target):
    return any(target == folder or target.startswith(folder + "/") for folder in allowed)


def check_file(path, rules):
    folders, libraries, headers = rules
    relative = path.relative_to(ROOT).as_posix()
    own = owner(relative, folders)
    if own is None:
        yield f"{relative}:1: folder is not in tools/ci/layers.txt"
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match.group(2)
        for prefix, allowed in libraries.items():
            if target.startswith(prefix):
                if not covers(allowed, own):
                    yield f"{relative}:{number}: {own} may not use <{target}>"
                elif path.suffix == ".h" and prefix not in headers.get(relative, []):
                    yield f"{relative}:{number}: <{target}> in a header costs every user seconds"
        if match.group(1) == '"':
            target_folder = owner(target, folders)
            if target_folder is None:
                yield f'{relative}:{number}: include "{target}" by its path from the root'
            elif target_folder != own and not covers(folders[own], target_folder):
                yield f"{relative}:{number}: {own} may not include {target_folder} ({target})"


def main():
    rules = read_rules(ROOT / "tools/ci/layers.txt")
    problems, count = [], 0
    for top in ("sim", "topologies", "calibrate", "kernels", "tools"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in SOURCES:
                count += 1
                problems.extend(check_file(path, rules))
    print("\n".join(problems) if problems else f"{count} files keep the layers")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
