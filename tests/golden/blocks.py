#!/usr/bin/env python3
"""What is not translated is English as a whole block: behind a command of a lesson, a line of English that the English
lesson has, too, comes before all that is translated, never after it.

    blocks.py PROGRAM DATA_DIR
"""
import os
import pathlib
import re
import subprocess
import sys

PROGRAM, DATA = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
LESSONS = DATA / "src/report/words/pages/lessons"


def blocks(language, number):
    """Commands of a lesson, and what stands behind each."""
    env = {k: v for k, v in os.environ.items() if k != "LANGUAGE"} | {"LC_ALL": language}
    said = subprocess.run([PROGRAM, "--data-dir", DATA, "-q", "-e", f"lesson {number}"], capture_output=True, text=True, env=env,
                          stdin=subprocess.DEVNULL, check=True).stdout
    return list(zip(re.findall(r"^> (.*)$", said, re.M), re.split(r"^> .*$", said, flags=re.M)[1:]))


def is_prose(line):
    return len(re.findall("[A-Za-z]{3,}", line)) >= 3


failed = compared = 0
for number in range(1, len(list((LESSONS / "en").iterdir())) + 1):
    english = blocks("C.UTF-8", number)
    for language in sorted(p.name for p in LESSONS.iterdir() if p.name != "en"):
        other = blocks(language + "_XX.UTF-8", number)
        if [c for c, _ in other] != [c for c, _ in english]:
            print(f"{language}, lesson {number}: other commands")
            failed += 1
        for (command, a), (_, b) in zip(english, other):
            a, b = a.splitlines(), b.splitlines()
            same = next((i for i, pair in enumerate(zip(a, b)) if pair[0] != pair[1]), min(len(a), len(b)))
            mixed = [line for line in b[same:] if line in a and is_prose(line)]
            compared += len(b) - same
            if mixed:
                print(f"{language}, lesson {number}, {command}: English behind what is translated:", *mixed, sep="\n    ")
                failed += 1
if compared < 500:
    print(f"only {compared} lines differ from English")
    failed += 1
sys.exit(failed > 0)
