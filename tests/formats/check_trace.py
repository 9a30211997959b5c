#!/usr/bin/env python3
"""Traces, snapshots and pictures hold what their formats promise.

    check_trace.py PROGRAM DATA_DIR

Trace: the Trace Event Format (JSON object form), as Perfetto reads it.
Snapshot: what torch.cuda.memory._dump_snapshot() writes and the page behind
pytorch.org/memory_viz reads, whose reader knows a few pickle operations only.
"""
import collections
import json
import math
import os
import pickle
import pickletools
import re
import shutil
import subprocess
import sys
import tempfile
import xml.dom.minidom

PROGRAM, DATA = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])

SCENARIOS = {
    "one GPU": "gpu rtx4070; model gpt2; set batch 8",
    "micro-steps": "gpu rtx4070; model gpt2; set batch 2 accum 40",
    "two micro-steps": "gpu a100-80gb-sxm; model gpt2; set batch 4 accum 2 runtime compile",
    "data loader": "gpu h100-sxm; model gpt2; set batch 4 accum 4 dataloader_ms 80",
    "eight GPUs": "gpu h100-sxm; model gpt2; set batch 8 gpus 8 accum 3",
    "pipeline": "gpu h100-sxm; model gpt2; set pp 4 accum 6",
    "pipeline in pieces": "gpu h100-sxm; model gpt2; set tp 2 pp 2 vpp 3 accum 4 zero 1",
    "checkpointing": "gpu h100-sxm; model llama-3.2-1b; set seq 2048 checkpoint full",
}

# What the page's own unpickler reads (torch/utils/viz/MemoryViz.js).
PAGE_OPERATIONS = {
    "APPEND", "APPENDS", "BINFLOAT", "BINGET", "BININT", "BININT1", "BININT2", "BINPUT", "BINUNICODE", "DICT",
    "EMPTY_DICT", "EMPTY_LIST", "EMPTY_TUPLE", "FRAME", "LIST", "LONG1", "LONG_BINGET", "LONG_BINPUT", "MARK",
    "MEMOIZE", "NEWFALSE", "NEWTRUE", "NONE", "PROTO", "SETITEM", "SETITEMS", "SHORT_BINUNICODE", "STOP", "TUPLE",
    "TUPLE1", "TUPLE2", "TUPLE3"}

failures = 0


def check(truth, what):
    global failures
    if not truth:
        failures += 1
        if failures < 30:
            print("FAILED:", what)
    return truth


def run(*commands, ok=True, env=None):
    args = [PROGRAM, "--data-dir", DATA, "--json"]
    for c in commands:
        args += ["-e", c]
    done = subprocess.run(args, capture_output=True, text=True, timeout=120, env=env)
    check((done.returncode == 0) == ok, f"{commands}: status {done.returncode}: {done.stderr.strip()}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return lines[-1] if lines else {}, done.stderr


def number(x):
    return isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x)


# ---- traces ------------------------------------------------------------------

def check_event(e):
    for key in ("ph", "name", "ts", "pid", "tid"):
        check(key in e, f"event without {key}: {e}")
    check(number(e["ts"]) and e["ts"] >= 0, f"ts: {e}")
    check(isinstance(e["pid"], int) and isinstance(e["tid"], int) and isinstance(e["name"], str), f"types: {e}")
    if e["ph"] == "X":
        check(number(e.get("dur")) and e["dur"] >= 0 and e["name"] and e.get("cat"), f"slice: {e}")
    elif e["ph"] == "C":
        check(e.get("args") and all(number(v) and v >= 0 for v in e["args"].values()), f"counter: {e}")
    elif e["ph"] == "M":
        check(e["name"] in ("process_name", "thread_name", "process_sort_index", "thread_sort_index")
              and e.get("args"), f"metadata: {e}")
    elif e["ph"] in "sf":
        check("id" in e and e.get("cat") and (e["ph"] == "s" or e.get("bp") == "e"), f"flow: {e}")
    elif e["ph"] == "i":
        check(e.get("s") in ("g", "p", "t"), f"instant: {e}")
    else:
        check(False, f"unknown ph: {e}")


def nanoseconds(us):
    return round(us * 1000)


def check_tracks(events):
    tracks = collections.defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            tracks[e["pid"], e["tid"]].append((nanoseconds(e["ts"]), nanoseconds(e["ts"]) + nanoseconds(e["dur"]), e))
    for track, slices in tracks.items():
        slices.sort(key=lambda s: s[:2])
        for a, b in zip(slices, slices[1:]):
            check(b[0] >= a[1], f"overlap on {track}: {a[2]} {b[2]}")
    return tracks


def check_flows(events, tracks):
    """Each arrow begins in a dispatch and ends in a kernel, which is later."""
    starts, ends = {}, {}
    for e in events:
        if e["ph"] in "sf":
            check(e["id"] not in (starts if e["ph"] == "s" else ends), f"flow twice: {e}")
            (starts if e["ph"] == "s" else ends)[e["id"]] = e
    check(starts.keys() == ends.keys(), "flows without an end")
    begins = {track: {s[0] for s in slices} for track, slices in tracks.items()}
    for i, s in starts.items():
        f = ends[i]
        check(f["ts"] >= s["ts"], f"kernel before its dispatch: {s} {f}")
        for e in (s, f):
            check(nanoseconds(e["ts"]) in begins[e["pid"], e["tid"]], f"flow outside of slices: {e}")


def check_stages(name, plan, tracks, names, events):
    """A process per stage, as many passes and messages as the schedule has, in the time that `plan` says."""
    stages = plan["stages"]
    pids = [e["pid"] for e in events if e["name"] == "process_name" and e["args"]["name"].startswith("stage")]
    check(len(set(pids)) == len(pids) == len(stages), f"{name}: {len(pids)} processes of {len(stages)} stages")
    if not stages:
        return
    accum, chunks = plan["scenario"]["accum"], plan["scenario"]["vpp"]
    messages = 0
    for pid, stage in zip(pids, stages):
        of = {names[t]: s for t, s in tracks.items() if t[0] == pid}
        check(len(of["compute"]) == 2 * accum * chunks, f"{name}: {len(of['compute'])} passes")
        busy = sum(b - a for a, b, _ in of["compute"]) / 1e9
        check(abs(busy / (accum * (stage["forward_s"] + stage["backward_s"])) - 1) < 1e-3, f"{name}: stage {stage['stage']}: {busy} s")
        messages += len(of.get("messages between stages", []))
        check(max(s[1] for of_one in of.values() for s in of_one) / 1e9 <= plan["step"]["step_time_s"] * 1.000001, f"{name}: too long")
    check(messages == 2 * accum * (len(stages) * chunks - 1), f"{name}: {messages} messages")


def check_trace(name, scenario, folder):
    path = os.path.join(folder, "trace.json")
    said, _ = run(scenario, f"trace {path}")
    plan, _ = run(scenario, "plan")
    if not check(said.get("file") == path and said.get("command") == "trace", f"{name}: answer {said}"):
        return
    with open(path) as f:
        trace = json.load(f)
    events = trace["traceEvents"]
    check(trace["displayTimeUnit"] in ("ms", "ns") and trace["metadata"]["gpu"], f"{name}: top level")
    check(said["events"] == len(events) > 0, f"{name}: {said['events']} events, {len(events)} written")
    for e in events:
        check_event(e)
    tracks = check_tracks(events)
    check_flows(events, tracks)
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    check(set(tracks) <= set(names), f"{name}: tracks without a name")
    kernels = sum(len(s) for t, s in tracks.items() if t[0] <= 2 and "stream" in names[t])
    check(kernels == said["kernels"], f"{name}: {kernels} kernels")
    for track, slices in tracks.items():
        if names[track] == "compute stream":
            for _, _, e in slices:
                check({"phase", "kind", "m", "n", "FLOP", "bytes", "bound"} <= e["args"].keys(), f"{name}: {e}")
    # Beside what was left out, a trace is as long as the step but for the host's last work.
    if said["micro_steps_left_out"] == 0 or plan["stages"]:
        check(0.5 * plan["step"]["step_time_s"] < said["span_s"] <= plan["step"]["step_time_s"] * 1.000001,
              f"{name}: {said['span_s']} s of {plan['step']['step_time_s']} s")
    check_stages(name, plan, tracks, names, events)
    counters = [e["args"]["bytes"] for e in events if e["ph"] == "C" and e["name"] == "reserved"]
    check(not counters or max(counters) == plan["memory"]["peak_reserved_bytes"], f"{name}: reserved")
    check((name == "eight GPUs") == any(names[t] == "communication stream" for t in tracks), f"{name}: streams")


# ---- snapshots ---------------------------------------------------------------

def check_segments(name, snapshot):
    active = {}
    ends = sorted((s["address"], s["address"] + s["total_size"]) for s in snapshot["segments"])
    for a, b in zip(ends, ends[1:]):
        check(a[1] <= b[0], f"{name}: segments overlap")
    for s in snapshot["segments"]:
        at = s["address"]
        for b in s["blocks"]:
            check(b["address"] == at and b["size"] > 0, f"{name}: blocks do not tile")
            check(b["state"] in ("active_allocated", "inactive"), f"{name}: state {b['state']}")
            check(0 <= b["requested_size"] <= b["size"], f"{name}: requested")
            if b["state"] == "active_allocated":
                active[b["address"]] = b
            at += b["size"]
        check(at == s["address"] + s["total_size"], f"{name}: blocks do not fill their segment")
        used = [b for b in s["blocks"] if b["state"] == "active_allocated"]
        check(s["allocated_size"] == s["active_size"] == sum(b["size"] for b in used), f"{name}: allocated_size")
        check(s["requested_size"] == sum(b["requested_size"] for b in used), f"{name}: requested_size")
        check(s["device"] == 0 and s["segment_type"] in ("small", "large") and s["stream"] == 0, f"{name}: segment")
    return active


def check_history(name, snapshot, active):
    """Replays the trace: what it leaves alive is what the segments hold."""
    alive, before = {}, 0
    segments = sorted((s["address"], s["address"] + s["total_size"]) for s in snapshot["segments"])
    for e in snapshot["device_traces"][0]:
        check({"action", "addr", "size", "stream", "frames", "time_us"} <= e.keys(), f"{name}: {e}")
        check(e["time_us"] >= before, f"{name}: time runs backwards")
        before = e["time_us"]
        for f in e["frames"]:
            check(isinstance(f["filename"], str) and isinstance(f["name"], str) and isinstance(f["line"], int), f"{name}: {f}")
        if e["action"] == "alloc":
            check(e["addr"] not in alive, f"{name}: allocated twice: {e}")
            check(any(a <= e["addr"] and e["addr"] + e["size"] <= b for a, b in segments), f"{name}: outside: {e}")
            check(e["frames"], f"{name}: without a stack")
            alive[e["addr"]] = e["size"]
        elif e["action"] == "free_completed":
            check(alive.pop(e["addr"], None) == e["size"], f"{name}: freed what is not there: {e}")
        else:
            check(e["action"] in ("free_requested", "segment_alloc"), f"{name}: {e}")
    check(alive == {a: b["requested_size"] for a, b in active.items()}, f"{name}: history and blocks differ")
    # The page fails on categories among which there is none of this name.
    check("unknown" in {e.get("category") for e in snapshot["device_traces"][0]}, f"{name}: category")


def check_snapshot(name, scenario, folder):
    paths = [os.path.join(folder, "s.pickle"), os.path.join(folder, "s.json")]
    said = [run(scenario, f"memory --snapshot {p}")[0] for p in paths]
    with open(paths[0], "rb") as f:
        data = f.read()
    snapshot = pickle.loads(data)
    with open(paths[1]) as f:
        check(json.load(f) == snapshot, f"{name}: pickle and JSON differ")
    unknown = {op.name for op, _, _ in pickletools.genops(data)} - PAGE_OPERATIONS
    check(not unknown, f"{name}: the page cannot read {unknown}")
    active = check_segments(name, snapshot)
    check_history(name, snapshot, active)
    reserved = sum(s["total_size"] for s in snapshot["segments"])
    check(said[0]["reserved_bytes"] == reserved, f"{name}: reserved")
    check(said[0]["segments"] == len(snapshot["segments"]), f"{name}: segments")
    check(said[0]["events"] == len(snapshot["device_traces"][0]), f"{name}: events")


def check_timeline(name, scenario):
    said, _ = run(scenario, "memory timeline")
    samples = said["samples"]
    check(0 < len(samples) <= 500, f"{name}: {len(samples)} samples")
    check(max(s["allocated_bytes"] for s in samples) == said["peak_allocated_bytes"], f"{name}: the peak is lost")
    for a, b in zip(samples, samples[1:]):
        check(a["time_s"] <= b["time_s"], f"{name}: time")
    for s in samples:
        check(abs(sum(s["parts"].values()) - s["allocated_bytes"]) < 16, f"{name}: parts do not sum up: {s}")
        check(s["allocated_bytes"] <= s["reserved_bytes"], f"{name}: more allocated than reserved")


# ---- pictures ----------------------------------------------------------------

def check_pictures(folder):
    scenario = SCENARIOS["micro-steps"]
    for plot in ("memory", "roofline", "split", "timeline"):
        for ending in ("svg", "png"):
            path, script = os.path.join(folder, f"it's {plot}.{ending}"), os.path.join(folder, "kept.gp")
            said, _ = run(scenario, f'plot {plot} "{path}" --gnuplot {script}')
            check(said.get("file") == path and said.get("script") == script, f"{plot}: {said}")
            if not check(os.path.exists(path), f"{plot}: no picture"):
                continue
            if ending == "svg":
                xml.dom.minidom.parse(path)
            else:
                with open(path, "rb") as f:
                    check(f.read(8) == b"\x89PNG\r\n\x1a\n", f"{plot}: no PNG")
            os.remove(path)
            again = subprocess.run(["gnuplot", "-d", script], capture_output=True, text=True)
            check(again.returncode == 0 and os.path.exists(path), f"{plot}: the script alone: {again.stderr}")


def check_colours(scenario, folder):
    """Every part that is seen in a picture of memory is named beside it, of whichever stage it is."""
    script = os.path.join(folder, "kept.gp")
    run(scenario, f"plot memory {folder}/x.svg --gnuplot {script}")
    with open(script) as f:
        text = f.read()
    areas = {k: body.strip() for k, body in re.findall(r"^\$(path\d+) << EOD\n(.*?)^EOD", text, re.M | re.S)}
    drawn = re.findall(r"\$(path\d+) with filledcurves closed fillcolor rgb '(#\w+)'", text)
    named = set(re.findall(r"set object rectangle from first 7\d\d.* fillcolor rgb '(#\w+)'", text))
    check(len(drawn) > 2 and len(named) > 2, f"{len(drawn)} areas, {len(named)} names")
    for (path, colour), (below, _) in zip(drawn, drawn[1:]):
        check(areas[path] == areas[below] or colour in named, f"{scenario}: the part drawn in {colour} has no name")


def check_shares(scenario, folder):
    """What a picture of a few of many micro-steps says of the step is true of the whole step."""
    script = os.path.join(folder, "kept.gp")
    run(scenario, f"plot timeline {folder}/x.svg --gnuplot {script}")
    with open(script) as f:
        drawn = dict(re.findall(r"set label '([A-Za-z, ]+?)  *([0-9.]+) %' at first 7", f.read()))
    step, _ = run(scenario, "step")
    for name, key in (("optimizer", "optimizer_s"), ("idle", "idle_s")):
        share = 100 * step[key] / step["step_time_s"]
        check(name in drawn and abs(float(drawn[name]) - share) <= 0.06, f"{scenario}: {name} {share} %, drawn {drawn}")
    shares = [float(x) for name, x in drawn.items() if not name.startswith("MFU")]
    check(len(shares) > 5 and abs(sum(shares) - 100) < 0.4, f"{scenario}: the shares {drawn} are not a whole")


def check_own_trace(scenario, folder):
    """A trace that the plan wrote is compared with the plan: nothing differs."""
    path = os.path.join(folder, "own.json")
    said, _ = run(scenario, f"trace {path}", f"trace compare {path}")
    odd = [k["name"] for k in said["kernels"]
           if k["status"] != "as predicted" or k["count"] != k["measured_count"] or abs(k["ratio"] - 1) > 2e-3]
    check(not odd and said["matched"] > 1 - 1e-9, f"{scenario}: in its own trace {odd} differ")
    for seen, planned in (("step_time_s", "predicted_step_s"), ("busy_s", "predicted_busy_s")):
        check(abs(said[seen] / said[planned] - 1) < 1e-5, f"{scenario}: {seen} {said[seen]}, {said[planned]}")
    check(said["recoverable_s"] < 1e-5 * said["step_time_s"], f"{scenario}: {said['recoverable_s']} s could be won back")
    os.remove(path)


def check_refusals(folder):
    before = set(os.listdir(folder))
    scenario = SCENARIOS["one GPU"]
    for command, reason in (
            ("trace /dev/full", "No space left"), ("trace /nowhere/t.json", "No such file"), (f"trace {folder}", "Is a directory"),
            ("memory --snapshot /nowhere/s.pickle", "No such file"), ("memory --snapshot s.txt", ".pickle"),
            ("memory --snapshot", "needs a file"), ("memory timelime", "expected"), ("plot rofline x.svg", "roofline"),
            ("plot roofline x.gif", ".svg"), ("plot roofline /nowhere/x.svg", "No such file"), ("plot roofline", "missing")):
        said, errors = run(scenario, command, ok=False)
        check(reason in errors and "error" in said, f"{command}: {errors.strip()}")
    _, errors = run(scenario, f"plot split {folder}/x.svg", ok=False, env={**os.environ, "PATH": folder})
    check("not installed" in errors, f"without gnuplot: {errors}")
    fake = os.path.join(folder, "gnuplot")
    with open(fake, "w") as f:
        f.write("#!/bin/sh\necho 'line 1: out of ink' >&2\nexit 3\n")
    os.chmod(fake, 0o755)
    _, errors = run(scenario, f"plot split {folder}/x.svg", ok=False, env={**os.environ, "PATH": folder})
    check("out of ink" in errors, f"gnuplot that fails: {errors}")
    os.remove(fake)
    check(set(os.listdir(folder)) == before, f"left behind: {set(os.listdir(folder)) - before}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name, scenario in SCENARIOS.items():
            check_trace(name, scenario, folder)
            check_snapshot(name, scenario, folder)
            check_timeline(name, scenario)
        check_own_trace(SCENARIOS["one GPU"], folder)
        check_own_trace(SCENARIOS["checkpointing"], folder)
        check_refusals(folder)
        if shutil.which("gnuplot"):
            check_pictures(folder)
            check_shares("gpu h100-sxm; model gpt2; set accum 64", folder)
            check_shares(SCENARIOS["micro-steps"], folder)
            check_colours(SCENARIOS["micro-steps"], folder)
            check_colours("gpu h100-sxm; model llama-3-70b; set tp 8 pp 4 accum 8 zero 1 checkpoint full", folder)
        else:
            print("gnuplot is not installed: no pictures")
    print(f"{failures} failed" if failures else "all well")
    sys.exit(failures > 0)


main()
