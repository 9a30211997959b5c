#!/usr/bin/env python3
"""Answers of every command against the program's own schema, and as tables.

    run.py PROGRAM ROOT

Each answer must be valid, and must have no member that the schema does not name;
every command that has answers must give each of its kinds.  A table has as many
cells in every row, and says what the object says.
"""
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile

PROGRAM, ROOT = sys.argv[1:3]
KNOWN = {"$schema", "$ref", "$defs", "title", "description", "unit", "type", "properties", "required", "items",
         "additionalProperties", "anyOf", "const"}
TYPES = {"number": lambda x: isinstance(x, (int, float)) and not isinstance(x, bool),
         "string": lambda x: isinstance(x, str), "boolean": lambda x: isinstance(x, bool),
         "null": lambda x: x is None, "array": lambda x: isinstance(x, list), "object": lambda x: isinstance(x, dict)}

LINES = ["plan", "memory", "memory timeline", "memory --snapshot {tmp}/s.pickle", "kernels", "step", "mfu", "metrics",
         "metrics --over 300ms", "roofline", "why", "why vram", "why slow", "why batch", "why gemm", "order",
         "audit \"MFU 20 -> 38 %, 4x faster on H100\"", "advise", "rollout", "iteration new 64 prompt 64", "model dit-xl-2; buckets 256x256:3,192x320; buckets 3 images 1k", "solve batch", "solve checkpoint memory 8GiB",
         "solve accum smallest where tokens_per_step >= 50000", "sweep batch=1,2 runtime=eager,compile columns mfu,fits",
         "search maximize mfu over batch=1,2,4 runtime=eager,compile", "train 10B", "train 10B price 2 mtbf 2000h", "kernel gemm 512 512 512",
         "kernel softmax 1024 1024", "print mfu", "print runtime", "print bound", "check fits", "keep a; keep",
         "keep a; set batch 8; compare a", "keep a; gpu a100-80gb-sxm; compare a", "set batch 4096; plan",
         "keep a; export scenarios {tmp}/x.jsonl", "trace {tmp}/t.json", "set accum 1; trace compare {root}/tests/data/traces/gpu.json", "plot roofline {tmp}/r.svg", "report {tmp}/r.html",
         "explain mfu", "explain", "lesson", "lesson 1", "help", "complete set ba", "show", "show batch", "show gpu",
         "show model", "show coefficients", "gpu", "model", "gpu h100-sxm", "model gpt2-xl", "calibrate list", "calibrate plan",
         "gpu a100-80gb-sxm; calibrate from {tmp}/runs.csv", "calibrate list", "gpu a100-80gb-sxm; calibrate forget",
         "observe step_ms 9340 mfu 15.4 batch 8 accum 64", "validate {tmp}/runs.csv", "import published nanogpt-0002", "validate kernels {root}/tests/data/truth",
         "set runtime llmc; memory", "set pp 2 accum 4; memory stages; plan", "gpu h100-sxm; model llama-2-7b; set gpus 8 zero 3; plan; kernels; memory; advise",
         "cluster", "cluster dgx-h100", "cluster meta-24k", "show cluster", "kernel all_reduce 1MiB..4MiB gpus 8", "kernel all_reduce 1GiB gpus 16 nodes 2",
         "gpu h100-sxm; model llama-3-70b; set gpus 64 tp 8 pp 4 sp on accum 16 runtime fused; plan; kernels",
         "nonsense", "set batc 8", "solve runtime", "sweep batch"]
WRONG = {"nonsense", "set batc 8", "solve runtime", "sweep batch",
         "observe {root}/tests/data/logs/nanogpt-contradictory.log"}  # to end with an error, and no other
LOGS = [name for name in sorted(os.listdir(ROOT + "/tests/data/logs")) if not name.endswith(".py")]
LINES += ["observe {root}/tests/data/logs/" + name for name in LOGS]
LINES += ["import {root}/tests/data/import/" + name for name in sorted(os.listdir(ROOT + "/tests/data/import"))]
faults = []


def fault(line, text):
    faults.append(f"{line}: {text}")


def run(line, option, tmp):
    environment = dict(os.environ, MFUPLAN_CALIBRATIONS=tmp + "/calibrations", LC_ALL="C.UTF-8")
    done = subprocess.run([PROGRAM, "--data-dir", ROOT, option, "-e", line], capture_output=True, env=environment)
    return done.stdout.decode()


class Schema:
    """The keywords that the schema uses, as draft 2020-12 defines them."""

    def __init__(self, text):
        self.whole = json.loads(text)
        self.used = set()
        self.look(self.whole)

    def look(self, part):
        """Nothing that this reader would pass over."""
        if isinstance(part, list):
            for one in part:
                self.look(one)
        elif isinstance(part, dict):
            for key, value in part.items():
                if key not in KNOWN:
                    fault("schema", f"keyword {key} is not checked")
                if key in ("properties", "$defs"):
                    for one in value.values():
                        self.look(one)
                elif key not in ("required", "type", "const", "description", "unit"):
                    self.look(value)

    def resolve(self, part):
        name = part["$ref"].rsplit("/", 1)[1]
        self.used.add(name)
        return self.whole["$defs"][name]

    def errors(self, x, part, path, names=None):
        """What is wrong; `names` collects the members that the schema knows."""
        mine = set() if names is None else names
        wrong = []
        if "$ref" in part:
            wrong += self.errors(x, self.resolve(part), path, mine)
        if "const" in part and part["const"] != x:
            return [f"{path} is {x!r}, not {part['const']!r}"]
        if "type" in part:
            types = part["type"] if isinstance(part["type"], list) else [part["type"]]
            if not any(TYPES[t](x) for t in types):
                return wrong + [f"{path} is {x!r:.60}, not {types}"]
        if "anyOf" in part:
            tries = [self.errors(x, one, path) for one in part["anyOf"]]
            if min(len(t) for t in tries) > 0:
                wrong += min(tries, key=len)
        if isinstance(x, dict):
            for name in part.get("required", []):
                if name not in x:
                    wrong.append(f"{path}.{name} is missing")
            for name, inner in part.get("properties", {}).items():
                mine.add(name)
                if name in x:
                    wrong += self.errors(x[name], inner, f"{path}.{name}")
            if "additionalProperties" in part:
                for name in set(x) - mine:
                    wrong += self.errors(x[name], part["additionalProperties"], f"{path}.{name}")
                mine |= set(x)
            if names is None and (mine or "properties" in part):
                wrong += [f"{path}.{name} is not in the schema" for name in set(x) - mine]
        if isinstance(x, list) and "items" in part:
            for i, one in enumerate(x):
                wrong += self.errors(one, part["items"], f"{path}[{i}]")
        return wrong

    def check(self, answer, line):
        """Against the kinds of answers of its command."""
        command = answer.get("command")
        kinds = [k for k in self.whole["anyOf"] if k.get("properties", {}).get("command", {}).get("const") == command]
        tries = {k["$ref"]: self.errors(answer, k, command or "error") for k in kinds}
        good = [name for name, wrong in tries.items() if not wrong]
        for name in good[:1]:
            self.used.add("answer " + name)
        if not good:
            fault(line, "; ".join(min(tries.values(), key=len)[:3]) if tries else f"no schema for {command}")


def check_csv(answer, text, line):
    rows = list(csv.reader(io.StringIO(text, newline="")))
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        return fault(line, f"ragged table: {text[:200]!r}")
    if len(set(rows[0])) != len(rows[0]):
        fault(line, "a column twice")
    head = {name: k for k, name in enumerate(rows[0])}
    for name in ("memory.fill", "share", "time_s", "speedup", "mfu"):  # the same figures
        values = [row[head[name]] for row in rows[1:]] if name in head else []
        found = json.dumps(answer)
        for value in values:
            if value and value not in ("true", "false") and f": {float(value)!r}" not in found.replace(".0,", ".0,") \
                    and f"{float(value):.15g}" not in found:
                fault(line, f"{name} {value} is not in the object")
                break
    return None


CALIBRATION = """gpu: rtx4070
date: 2026-11-20
software: driver 580.1
host: elsewhere
cpu: AMD EPYC 7763
from: probe
samples: 12
coefficients:
  dispatch.eager: {value: 44us, sigma: 1%, source: 12 samples}
"""


def check_calibrated(tmp):
    """A plan says of a calibration in force when, with what and beside which processor it was made; another card's is none."""
    os.makedirs(tmp + "/calibrations")
    with open(tmp + "/calibrations/rtx4070.yaml", "w") as f:
        f.write(CALIBRATION)
    for gpu, made in (("rtx4070", {"name": "rtx4070", "date": "2026-11-20", "device": "rtx4070", "driver": "driver 580.1", "host": "elsewhere", "cpu": "AMD EPYC 7763"}),
                      ("a100-80gb-sxm", None)):
        line = f"gpu {gpu}; plan"
        answer = json.loads(run(line, "--json", tmp).splitlines()[-1])
        told = answer["calibrated"]
        if not (told is made if made is None else made.items() <= told.items() and told["age_days"] >= 0):
            fault(line, f"calibrated is {answer['calibrated']}")
        printed = " ".join(run(line, "--quiet", tmp).split())
        note = re.search(r"calibrated on 2026-11-20( \(\d+ days? ago\))? by measurements of this user, beside AMD EPYC 7763; they are "
                         r"of another host.* than this machine \(rtx4070: elsewhere, driver unknown\);", printed)
        if bool(note) != bool(made):
            fault(line, "the note of a calibration in force")


def verdicts(part):
    """Every `fits` of an answer."""
    if isinstance(part, dict):
        return [v for k, v in part.items() if k == "fits"] + [v for x in part.values() for v in verdicts(x)]
    return [v for x in part for v in verdicts(x)] if isinstance(part, list) else []


def check_unknown(tmp):
    """Where something is not modelled, no answer says that anything fits, or does not."""
    for line in ("plan", "memory", "memory stages", "advise", "why batch", "compare a", "rollout", "iteration new 64",
                 "observe step_ms 400"):
        answer = run(f'set not_modelled "a switch"; keep a; set batch 2; {line}', "--json", tmp).splitlines()[-1]
        found = verdicts(json.loads(answer))
        if [x for x in found if x is not None] or (not found and line in ("plan", "memory", "advise", "rollout")):
            fault(line, f"says {found} of what nobody knows")


def main():
    schema = Schema(subprocess.run([PROGRAM, "--schema"], capture_output=True, check=True).stdout)
    try:
        import jsonschema
        jsonschema.Draft202012Validator.check_schema(schema.whole)
        other = jsonschema.Draft202012Validator(schema.whole)
    except ImportError:
        other = None
    with tempfile.TemporaryDirectory() as tmp:
        os.mkdir(tmp + "/calibrations")
        with open(ROOT + "/examples/measured/published.csv") as published, open(tmp + "/runs.csv", "w") as runs:
            rows = published.readlines()
            runs.writelines(rows[:1] + [row for row in rows if ",a100-80gb-sxm,1," in row][:6])
        for line in LINES:
            wrong = line in WRONG
            line = line.format(tmp=tmp, root=ROOT)
            answers = [json.loads(one) for one in run(line, "--json", tmp).splitlines()]
            if not answers:
                fault(line, "no answer")
            elif ("error" in answers[-1]) != wrong:
                fault(line, json.dumps(answers[-1])[:200])
            for answer in answers:
                schema.check(answer, line)
                if other and not other.is_valid(answer):
                    fault(line, "jsonschema finds it invalid")
            if ";" not in line and not wrong and answers and not line.startswith(("gpu ", "model ")):
                check_csv(answers[-1], run(line, "--csv", tmp), line)
        check_calibrated(tmp + "/own")
        check_unknown(tmp)
    for kind in schema.whole["anyOf"]:
        if "answer " + kind["$ref"] not in schema.used:
            fault("schema", f"no answer was {kind['$ref']}")
    for name in schema.whole["$defs"]:
        if name not in schema.used:
            fault("schema", f"{name} was never needed")
    broken = {"command": "step", "schema": 1, "step_time_s": "fast"}  # and it can fail
    before = len(faults)
    schema.check(broken, "broken")
    if len(faults) == before:
        fault("schema", "takes anything")
    else:
        del faults[before:]
    for text in faults:
        print(text)
    print(f"{len(LINES)} lines, {len(schema.whole['$defs'])} definitions")
    return 1 if faults else 0


sys.exit(main())
