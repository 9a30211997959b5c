#!/bin/sh
# ground_truth.sh SCRIPT [MFUPLAN]: a dry run on the CPU writes its folder; the same command
# measures nothing twice; mfuplan reads what was written.  MFUPLAN_PYTHON names a Python that has PyTorch.
script=$1
python=${MFUPLAN_PYTHON:-python3}
status=0
"$python" -c 'import torch' 2>/dev/null || { echo 'torch is missing: ground-truth is not tested'; exit 0; }
folder=$(mktemp -d) && cd "$folder" || exit 1

say() { echo "ground-truth $1"; status=1; }

echo '{"model": "gpt2", "batch": 2}' >runs.jsonl
truth="$script --device cpu --toy --part 1 --scenarios runs.jsonl made"
"$python" $truth >log 2>&1 || { cat log; say 'does not end well'; }
[ "$(grep -c . made/runs.csv)" = 3 ] && [ "$(ls made/kernels | wc -l)" = 2 ] || { cat log; say 'does not write a run, its repetition and their kernels'; }
[ "$(cat made/kernels/*[0-9a-f].csv | grep -c 'forward,aten::mm,')" = 9 ] || say 'does not see the 9 products of a forward pass'
"$python" $truth >log 2>&1
grep -q 'is there already' log && [ "$(grep -c . made/runs.csv)" = 3 ] || { cat log; say 'measures again what it has'; }
cp made/memory.csv memory.csv
echo run,phase,other >made/memory.csv
"$python" $truth >log 2>&1 && say 'appends to a table of other columns'
grep -q 'memory.csv has other columns' log || { cat log; say 'does not say which table has other columns'; }
cp memory.csv made/memory.csv
"$python" - "$script" <<'END' || say 'has a part that does not do what it says'
import importlib.machinery, importlib.util, os, sys
sys.path.insert(0, os.path.dirname(sys.argv[1]))
loader = importlib.machinery.SourceFileLoader("truth", sys.argv[1])
truth = importlib.util.module_from_spec(importlib.util.spec_from_loader("truth", loader))
loader.exec_module(truth)
for words in ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate", "CUDA error: out of memory"):
    assert truth.torch_measure.out_of_memory(RuntimeError(words)), words
assert not truth.torch_measure.out_of_memory(RuntimeError("CUDA error: an illegal memory access was encountered"))
runs = truth.Runs.__new__(truth.Runs)
runs.there, runs.telemetry, runs.left_s = set(), type("", (), {})(), lambda: 60
assert runs.begin("short", 8) and not runs.begin("long", 60), "a minute is started with less than a minute left"
class Steps:
    def step(self):
        for phase in ("forward", "backward", "optimizer"):
            self.mark(phase)
asked = []
truth.allocator_state = lambda: asked.append(len(events)) or {}
events = []
class Event:
    def __init__(self, **_): pass
    def record(self): events.append(self)
    def elapsed_time(self, other): return 1.0
truth.torch.cuda.Event, truth.torch.cuda.reset_peak_memory_stats, truth.torch_measure.wait = Event, lambda: None, lambda device: None
spent, rows = truth.look_at_phases(Steps(), "cuda")
assert spent == {"forward_ms": 1, "backward_ms": 1, "optimizer_ms": 1} and len(rows) == 4
assert asked == [12] * 4, "the allocator is asked in a step that is timed"
END
sed -i 's/^torch: .*/torch: "1.0"/' made/machine.yaml
"$python" $truth >log 2>&1 && say 'goes on with the folder of another PyTorch'
sed -i 's/,cpu,1,1,/,h200,1,1,/' made/runs.csv
"$2" --csv -e 'validate kernels made' >table.csv 2>err || { cat err; say 'writes what mfuplan does not read'; }
grep -q ',h.attn.qkv,forward,gemm,[a-z]*,2,2,' table.csv || say 'has kernels that mfuplan does not find'
cd / && rm -r "$folder"
exit $status
