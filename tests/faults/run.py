#!/usr/bin/env python3
"""Memory or the disk runs out, or the program is killed: run.py PROGRAM DATA_DIR FAILING_MALLOC.so [WORD]

Of every command that answers, one allocation after the other fails.  Whatever
allocation it is, the answer is the right one, or there is none: an error that says
"out of memory", exit status 1.  All allocations of a command are tried when
MFUPLAN_THOROUGH is set, else MOST of them, evenly spread.  With a WORD only the commands
that it stands in are tried.

Where a command writes a file, each step that brings it to the disk fails, or is the
last before a kill, and the disk is full after so many bytes: the file is then the
old one or the new one, whole, and nothing else is left but by a kill.
"""
import json, os, resource, signal, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

PROGRAM, DATA, SHIM = (os.path.abspath(p) for p in sys.argv[1:4])
WORD = sys.argv[4] if len(sys.argv) > 4 else ""
MOST = 60
LARGE = "gpu rtx4070; model llama-2-70b; set n_layer 1100; "      # that does not fit, whatever fails
SMALL = "gpu rtx4070; model gpt2; set n_layer 3; "
COMMANDS = [["-e", SMALL + "plan"], ["-e", LARGE + "check fits"], ["--json", "-e", SMALL + "memory"], ["-e", SMALL + "memory"],
            ["--json", "-e", SMALL + "kernels"], ["-e", SMALL + "sweep batch=1,2,4 accum=1,2"],
            ["-e", SMALL + "set gpus 8 zero 3; step"], ["-e", SMALL + "solve batch"], ["-e", SMALL + "report r.html"],
            ["-e", SMALL + "trace t.json"], ["-e", "import ./c.toml; plan"], ["-e", "gpu rtx4070; model ./model.yaml; set n_layer 3; plan"],
            ["-e", SMALL + "rollout prompt 64 new 64"], ["--json", "-e", SMALL + "rollout prompt 64 new 64 by generate"],
            ["-e", SMALL + "trace compare gpu.json"],
            ["-q", "-e", SMALL + "watch -"], ["-e", SMALL + "observe train.log"],
            ["-e", SMALL + 'audit "MFU 20 -> 38 %, 4x faster, same model on H100"'], ["-e", SMALL + "audit table.csv"],
            ["-e", "gpu rtx4070; model dit-xl-2; set n_layer 3; buckets 3 images 1k"], ["-e", SMALL + "order"], ["--json", "-e", SMALL + "order"],
            ["-e", SMALL + "set trainer deepspeed zero 2 gpus 2 offload optimizer; memory; step"],
            ["-e", SMALL + "set offload activations; plan"], ["-e", SMALL + "solve checkpoint memory 4GiB"],
            ["-e", SMALL + "set seq 512 doc_len 100 packing on; plan"], ["-e", SMALL + "set objective dpo; memory"],
            ["-e", SMALL + "set gpus 8 tp 2 zero 2 accum 4; plan"],
            ["-e", SMALL + "set gpus 4; search layout maximize tokens_per_s where fits top 2"], ["-e", SMALL + "why; advise"], ["-e", SMALL + "explain mfu"],
            ["-e", "lesson 1"], ["-e", SMALL + "set gpus 8 pp 2 accum 4; sweep accum=4,8,16 batch=1,2"],
            ["-e", "model"], ["--csv", "-e", "gpu h100-sxm; model gpt2; sweep batch=1,2"], ["-e", SMALL + "export scenarios c.json --force"],
            ["-e", "cluster; cluster dgx-h100; plan"], ["-e", SMALL + "plot memory memory.svg --force"],
            ["--json", "-e", "lesson 1"], ["--schema"]]
WRITERS = [("r.html", SMALL + "report r.html --force"), ("t.json", SMALL + "trace t.json --force"),
           ("s.mfu", SMALL + "save s.mfu --force"), ("m.pickle", SMALL + "memory --snapshot m.pickle --force"),
           ("c.json", SMALL + "export scenarios c.json --force")]
OLD = b"the old one\n"
failures = []

if b"__asan_init" in open(PROGRAM, "rb").read():
    sys.exit(77)                                    # it has an allocator of its own


def run(folder, args, fail_at):
    count = os.path.join(folder, "count")
    environment = dict(os.environ, LD_PRELOAD=SHIM, MFU_FAIL_AT=str(fail_at), MFU_FAIL_COUNT=count, MFUPLAN_CALIBRATIONS="",
                       LC_ALL="C.UTF-8", COLUMNS="80")
    r = subprocess.run([PROGRAM, "--data-dir", DATA, *args], cwd=folder, env=environment, capture_output=True, timeout=120,
                       stdin=open(os.path.join(folder, "train.log")))
    return r.returncode, r.stdout, r.stderr, int(open(count).read().split()[0]) if os.path.exists(count) else 0


def written(folder):
    return {name: open(os.path.join(folder, name), "rb").read() for name in ("r.html", "t.json") if os.path.exists(os.path.join(folder, name))}


def write(script, name, largest=None, **how):
    """Runs it where only the old file is; exit status, what it said, the file, what else is left."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, name), "wb") as f:
            f.write(OLD)
        environment = dict(os.environ, MFUPLAN_CALIBRATIONS="", LC_ALL="C.UTF-8", COLUMNS="80", LD_PRELOAD=SHIM, **how)
        if largest is None:
            environment["MFU_FAIL_COUNT"] = os.path.join(folder, "count")

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

        r = subprocess.run([PROGRAM, "--data-dir", DATA, "-e", script], cwd=folder, env=environment, capture_output=True,
                           timeout=120, stdin=subprocess.DEVNULL, preexec_fn=limit if largest is not None else None)
        count = os.path.join(folder, "count")
        steps = int(open(count).read().split()[1]) if os.path.exists(count) else 0
        left = sorted(set(os.listdir(folder)) - {name, "count"})
        return r.returncode, r.stderr, open(os.path.join(folder, name), "rb").read(), left, steps


def check_writer(name, script):
    status, said, new, left, steps = write(script, name)
    if status or new == OLD or left or steps < 3:
        return failures.append(f"{script}: exit status {status}, {steps} steps, {left}: {said[-200:]!r}")
    if write(script, name)[2] != new:
        return failures.append(f"{script}: not the same file twice")
    tries = [(f"step {n} fails", dict(MFU_STOP_AT=str(n))) for n in range(1, steps + 1)]
    tries += [(f"killed before step {n}", dict(MFU_STOP_AT=str(n), MFU_STOP="kill")) for n in range(1, steps + 1)]
    tries += [(f"a disk of {n} bytes", dict(largest=n)) for n in sorted({0, 1, 100, len(new) // 2, len(new) - 1})]
    for what, how in tries:
        got, said, file, left, _ = write(script, name, **how)
        killed = got == -signal.SIGKILL and how.get("MFU_STOP") == "kill"
        if got < 0 and not killed:
            failures.append(f"{script}, {what}: died by signal {-got}")
        if file not in (OLD, new):
            failures.append(f"{script}, {what}: the file is neither the old one nor the new one")
        if got == 0 and file == OLD or got == 1 and not said:
            failures.append(f"{script}, {what}: exit status {got}, without a word: {said!r}")
        if left and not (killed and len(left) == 1):
            failures.append(f"{script}, {what}: it leaves {left}")


def check_command(args):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in INPUTS.items():
            with open(os.path.join(folder, name), "w") as f:
                f.write(text)
        status, out, errors, total = run(folder, args, 0)
        files = written(folder)
        most = total if os.environ.get("MFUPLAN_THOROUGH") else MOST
        tried = sorted({1 + i * total // most for i in range(most)}) if total > most else range(1, total + 1)
        if total < 10:
            failures.append(f"{args}: {total} allocations: none was seen to fail")
        for n in tried:
            got, answer, said, _ = run(folder, args, n)
            what = f"{' '.join(args)}, allocation {n} of {total}"
            if got < 0:
                failures.append(f"{what}: died by signal {-got}")
            elif got == status and answer != out:
                failures.append(f"{what}: another answer, and exit status {got}: {answer[-200:]!r}")
            elif got != status and not (got == 1 and b"memory" in said):
                failures.append(f"{what}: exit status {got} (not {status}): {said[-200:]!r}")
            elif got == status == 0 and written(folder) != files:
                failures.append(f"{what}: another file")
            if got not in (0, status):
                for name in files:                  # the old one, complete
                    if written(folder).get(name) != files[name]:
                        failures.append(f"{what}: {name} has changed")
        with open("/dev/full", "w") as full:        # nothing can be told: that is an error, too
            got = subprocess.run([PROGRAM, "--data-dir", DATA, *args], cwd=folder, env=dict(os.environ, MFUPLAN_CALIBRATIONS=""),
                                 stdout=full, stderr=subprocess.PIPE, stdin=open(os.path.join(folder, "train.log")), timeout=120)
        if got.returncode != 1 or not got.stderr:
            failures.append(f"{args}, stdout is full: exit status {got.returncode}: {got.stderr[-200:]!r}")


INPUTS = {"train.log": "".join(f"iter {i}: loss 3.1, time 300.00ms, mfu 20.00%\n" for i in range(20)),
          "table.csv": "model,GPU,GPUs,tokens/s/GPU,MFU (%)\nllama-2-7b,H100,8,10400,67\n",
          "c.toml": '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = 1\nseq_len = 2048\n'}
with open(os.path.join(DATA, "models/gpt2.yaml")) as f:
    INPUTS["model.yaml"] = f.read() + "# unlike the compiled one\n"
with open(os.path.join(DATA, "tests/data/traces/gpu.json")) as f:
    trace = json.load(f)
trace["traceEvents"] = [e for e in trace["traceEvents"] if e["cat"] in ("kernel", "user_annotation")][::8]
INPUTS["gpu.json"] = json.dumps(trace)
with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
    list(pool.map(check_command, [c for c in COMMANDS if WORD in " ".join(c)]))
    list(pool.map(lambda writer: check_writer(*writer), [w for w in WRITERS if WORD in w[1]]))

for failure in failures[:40]:
    print(failure)
print(f"{len(failures)} failures")
sys.exit(len(failures) > 0)
