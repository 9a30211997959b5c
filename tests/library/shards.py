#!/usr/bin/env python3
"""examples/slurm-sweep.sh without Slurm: the tasks of an array, merged, find what one search finds; and what is no part
is refused.  shards.py PROGRAM SOURCE"""
import csv
import os
import subprocess
import sys
import tempfile

program, source = map(os.path.abspath, sys.argv[1:3])
script = os.path.join(source, "examples", "slurm-sweep.sh")
SETUP = "gpu rtx4090; model gpt2"
SEARCHES = ["search maximize tokens_per_s batch=1..16 runtime=eager,compile checkpoint=all",
            "search minimize step_time_s batch=1..16 accum=64/batch checkpoint=none,full where fits and mfu > 10%"]


def run(command, folder, **more):
    env = dict(os.environ, MFUPLAN_CALIBRATIONS="", MFUPLAN_DATA_DIR=source, SETUP=SETUP, TOP="6",
               PATH=os.path.dirname(program) + os.pathsep + os.environ["PATH"], **more)
    return subprocess.run(command, env=env, cwd=folder, check=True, capture_output=True, text=True).stdout


for search in SEARCHES:
    with tempfile.TemporaryDirectory() as folder:
        for i in range(1, 6):
            run([script], folder, SEARCH=search, SLURM_ARRAY_TASK_ID=str(i), SLURM_ARRAY_TASK_COUNT="5")
        merged = list(csv.reader(run([script, "merge"], folder, SEARCH=search).splitlines()))
        whole = list(csv.reader(run([program, "--csv", "-e", f"{SETUP}; {search} top 6"], folder).splitlines()))
        assert len(merged) == 7 and merged == whole, (merged, whole)

for bad in ("0/4", "5/4", "1/0", "4", "1/2/3", "-1/4", "1/99999999", "a/b", "1/"):
    done = subprocess.run([program, "-e", f"{SETUP}; sweep batch=1,2 shard {bad}"], capture_output=True, text=True,
                          env=dict(os.environ, MFUPLAN_CALIBRATIONS=""))
    assert done.returncode != 0 and "expected I/N" in done.stderr and bad in done.stderr, (bad, done.stderr)
