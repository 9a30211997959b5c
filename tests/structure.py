#!/usr/bin/env python3
"""The structure of src/, as docs/architecture.md describes it.

    structure.py SRC

A room includes only itself and the rooms before it in the list; no units (a header and the source of the same name) include
each other in a circle; no folder outgrows the others.  Only the program (repl) asks for or changes what belongs to the process.
"""
import collections
import pathlib
import re
import sys

ROOMS = "base descriptor kernel scenario parallel graph cost simulate plan read answer report repl".split()
ONE_OF_A_KIND = {"repl/commands", "graph/primitives", "scenario/schedules", "read/config/formats", "read/logs/formats"}
MOST_FILES = 30     # .c files of a folder, those of one kind of thing aside
MOST_SHARE = 0.15   # of all lines

src = pathlib.Path(sys.argv[1])
files = {str(f.relative_to(src)): f.read_text() for f in sorted(src.rglob("*.[ch]"))}
faults = []


def unit(path):
    return path.rsplit(".", 1)[0]


def included(path):
    """Files of src/ that a file includes."""
    for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', files[path], re.M):
        if name in files:
            yield name


uses = collections.defaultdict(set)
for path in files:
    room = path.split("/")[0]
    if room not in ROOMS and "/" in path:
        faults.append(f"{path}: '{room}' is in no layer")
        continue
    for name in included(path):
        if "/" in path and ROOMS.index(name.split("/")[0]) > ROOMS.index(room):
            faults.append(f"{path}: '{room}' must not include {name}")
        if unit(name) != unit(path):
            uses[unit(path)].add(unit(name))

done, way = set(), []


def walk(name):
    """Depth first; whatever is met again on the way closes a circle."""
    if name in way:
        faults.append("a circle: " + " -> ".join(way[way.index(name):] + [name]))
        return
    if name in done:
        return
    way.append(name)
    for other in sorted(uses[name]):
        walk(other)
    way.pop()
    done.add(name)


sys.setrecursionlimit(10000)
for name in sorted({unit(path) for path in files}):
    walk(name)

lines, sources = collections.Counter(), collections.Counter()
for path, text in files.items():
    folder = path.rsplit("/", 1)[0] if "/" in path else "."
    lines[folder] += text.count("\n")
    sources[folder] += path.endswith(".c")
for folder in lines:
    if lines[folder] > MOST_SHARE * sum(lines.values()):
        faults.append(f"{folder} holds {lines[folder]} of {sum(lines.values())} lines")
    if sources[folder] > MOST_FILES and folder not in ONE_OF_A_KIND:
        faults.append(f"{folder} holds {sources[folder]} sources")

# The environment, the locale, the terminal and the like are the program's business.
process = re.compile(r"\b(getenv|secure_getenv|setenv|putenv|setlocale|isatty|umask|signal|sigaction|chdir|exit)\s*\(")
for path, text in files.items():
    for number, line in enumerate(text.split("\n"), 1):
        if not path.startswith("repl/") and not line.lstrip().startswith(("*", "/*")) and process.search(line):
            faults.append(f"src/{path}:{number}: state of the process: {line.strip()}")

# A reader of a table of kinds asks a property of the row, never which row it is.
TABLES = {"kernel/kind.h": r"X\(argument, (\w+), \"", "descriptor/attention_kinds.h": r"X\(argument, (\w+), \"",
          "scenario/precision.h": r"X\((\w+), \"", "scenario/runtime.h": r"X\((\w+), \"",
          "scenario/checkpoint.h": r"X\((\w+), \"", "scenario/optimizer.h": r"X\((\w+), \""}
rows = {row for table, pattern in TABLES.items() for row in re.findall(pattern, files.get(table, ""))}
compared = re.compile(r"(?:[=!]=|\bcase)\s*MFU_(" + "|".join(sorted(rows)) + r")\b|\bMFU_(" + "|".join(sorted(rows)) + r")\s*[=!]=")
for path, text in files.items():
    for number, line in enumerate(text.split("\n"), 1):
        if rows and compared.search(line):
            faults.append(f"src/{path}:{number}: compares with a row of a table: {line.strip()}")

# One version in all places.
root = src.resolve().parent
places = {"CMakeLists.txt": r"project\(mfuplan VERSION (\d+\.\d+)", "pyproject.toml": r'^version = "(\d+\.\d+)',
          "CHANGELOG.md": r"^## (\d+\.\d+)[.\d]*$"}
versions = {name: (re.findall(pattern, (root / name).read_text(), re.M) or [None])[0] for name, pattern in places.items()}
versions["mfuplan.h"] = ".".join(re.findall(r"^#define MFUPLAN_VERSION_M\w+ (\d+)", files["mfuplan.h"], re.M))
if len(set(versions.values())) > 1:
    faults.append(f"versions differ: {versions}")

print("\n".join(faults) or f"{len(files)} files, {sum(lines.values())} lines in {len(lines)} folders")
sys.exit(bool(faults))
