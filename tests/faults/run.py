#!/usr/bin/env python3
"""Memory runs out: run.py PROGRAM DATA_DIR FAILING_MALLOC.so

Of every command that answers, one allocation after the other fails.  Whatever
allocation it is, the answer is the right one, or there is none: an error that says
"out of memory", exit status 1.  All allocations of a command are tried when
MFUPLAN_THOROUGH is set, else MOST of them, evenly spread.
"""
import os, subprocess, sys, tempfile

PROGRAM, DATA, SHIM = (os.path.abspath(p) for p in sys.argv[1:4])
MOST = 60
LARGE = "gpu rtx4070; model llama-2-70b; set n_layer 1100; "      # that does not fit, whatever fails
SMALL = "gpu rtx4070; model gpt2; set n_layer 3; "
COMMANDS = [["-e", SMALL + "plan"], ["-e", LARGE + "check fits"], ["--json", "-e", SMALL + "memory"], ["-e", SMALL + "memory"],
            ["--json", "-e", SMALL + "kernels"], ["-e", SMALL + "sweep batch=1,2,4 accum=1,2"],
            ["-e", SMALL + "set gpus 8 zero 3; step"], ["-e", SMALL + "solve batch"], ["-e", SMALL + "report r.html"],
            ["-e", SMALL + "trace t.json"], ["-e", "import ./c.toml; plan"]]
failures = []

if b"__asan_init" in open(PROGRAM, "rb").read():
    sys.exit(77)                                    # it has an allocator of its own


def run(folder, args, fail_at):
    count = os.path.join(folder, "count")
    environment = dict(os.environ, LD_PRELOAD=SHIM, MFU_FAIL_AT=str(fail_at), MFU_FAIL_COUNT=count, MFUPLAN_CALIBRATIONS="",
                       LC_ALL="C.UTF-8", COLUMNS="80")
    r = subprocess.run([PROGRAM, "--data-dir", DATA, *args], cwd=folder, env=environment, capture_output=True, timeout=120,
                       stdin=subprocess.DEVNULL)
    return r.returncode, r.stdout, r.stderr, int(open(count).read()) if os.path.exists(count) else 0


def written(folder):
    return {name: open(os.path.join(folder, name), "rb").read() for name in ("r.html", "t.json") if os.path.exists(os.path.join(folder, name))}


with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "c.toml"), "w") as f:
        f.write('[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = 1\nseq_len = 2048\n')
    for args in COMMANDS:
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

for failure in failures[:40]:
    print(failure)
print(f"{len(failures)} failures")
sys.exit(len(failures) > 0)
