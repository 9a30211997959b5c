#!/usr/bin/env python3
"""Explanations in every language: run.py PROGRAM SOURCE_DIR

Each catalogue of po/ is complete, its formats agree with the sources', and what
`why` says in it has the figures of the English answer and other words.
"""
import functools
import glob
import os
import re
import shutil
import subprocess
import sys

program, source = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
if not shutil.which("msgfmt") or not os.path.isdir(os.path.join(os.path.dirname(program), "locale")):
    print("skipped: gettext's msgfmt was not there when this was built")
    sys.exit(77)
problems = []


def text(po, field):
    """The strings of one field, adjacent literals joined."""
    found = re.findall(rf'^{field} ((?:"(?:[^"\\]|\\.)*"\s*)+)', po, re.M)
    return ["".join(re.findall(r'"((?:[^"\\]|\\.)*)"', f)) for f in found]


def wanted():
    """What the sources hand to gettext as a literal."""
    files = glob.glob(source + "/src/answer/why/*.c") + [source + "/src/report/text/why.c"]
    return text(subprocess.run(["xgettext", "--from-code=UTF-8", "-k", "-kmfu_tr", "-kmfu_why_say:2", "-kfound:3", "-o", "-", *files],
                               check=True, capture_output=True, text=True).stdout, "msgid")


@functools.cache
def why(language, scenario, topic, columns="200"):
    environment = {**os.environ, "LC_ALL": language, "LANGUAGE": "", "COLUMNS": columns}
    done = subprocess.run([program, "--data-dir", source, "-q", "--no-color", "-e", scenario, "-e", f"why {topic}"],
                          capture_output=True, text=True, env=environment)
    if done.returncode:
        problems.append(f"{language}: {scenario}; why {topic}: {done.stderr}")
    return done.stdout


def figures(answer):
    return sorted(re.findall(r"\d+(?:\.\d+)?", re.sub(r"\s+", " ", answer)))


SCENARIOS = ["gpu rtx4070; model gpt2; set batch 8 accum 64 runtime compile",
             "gpu h100-sxm; model gpt2; set batch 1 seq 256 attention math dataloader_ms 30",
             "gpu rtx4090; model gpt2; set batch 16 gpus 4 precision fp32",
             "gpu rtx4090; model qwen2.5-0.5b; set batch 2 accum 8 seq 4k",
             "gpu rtx4070; model llama-2-70b"]
TOPICS = ["mfu", "slow", "vram", "utilisation", "batch", "lm_head"]

needed = set(wanted()) - {"", "%s, %s: %s."}
for path in sorted(glob.glob(source + "/po/*.po")):
    language = os.path.basename(path)[:-3]
    done = subprocess.run(["msgfmt", "--check-format", "--statistics", "-o", os.devnull, path], capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C", "LANGUAGE": ""})
    if done.returncode or "fuzzy" in done.stderr or "untranslated" in done.stderr:
        problems.append(done.stderr)
    with open(path, encoding="utf-8") as file:
        po = file.read()
    problems += [f"{language}: not translated: {m}" for m in sorted(needed - set(text(po, "msgid")))]
    for scenario in SCENARIOS:
        for topic in TOPICS:
            english, other = why("C.UTF-8", scenario, topic), why(f"{language}_XX.UTF-8", scenario, topic)
            if english == other:
                problems.append(f"{language}: {scenario}; why {topic}: in English")
            elif figures(english) != figures(other):
                problems.append(f"{language}: {scenario}; why {topic}: other figures\n{english}\n{other}")
    narrow, wide = (re.split(r"  +", why(f"{language}_XX.UTF-8", SCENARIOS[0], "mfu", columns).split("\n\n")[1].split("\n")[0])
                    for columns in ("80", "200"))
    if narrow != wide:
        problems.append(f"{language}: why mfu: the table has {narrow} in 80 columns, {wide} in 200")
print(*problems, sep="\n", end="\n" if problems else "")
sys.exit(1 if problems else 0)
