#!/bin/sh
# Exit statuses, places of errors, and that --json is one object on a line.
#
#     status.sh PROGRAM DATA_DIR
program=$(realpath "$1") data=$(realpath "$2")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

# expect STATUS STDERR-PATTERN ARGUMENT...: runs the program with the input that
# `input` holds; an empty pattern wants no message at all.
input=
expect() {
    want=$1 pattern=$2
    shift 2
    printf '%b' "$input" | "$program" --data-dir "$data" "$@" >out 2>err
    got=$?
    if [ $got -ne "$want" ]; then
        echo "mfuplan $*: status $got, not $want"; cat err; failed=1
    elif [ -z "$pattern" ] && [ -s err ]; then
        echo "mfuplan $*: says:"; cat err; failed=1
    elif [ -n "$pattern" ] && ! grep -q -- "$pattern" err; then
        echo "mfuplan $*: does not say '$pattern':"; cat err; failed=1
    fi
}

expect 0 '' -e 'plan'
expect 0 '' --json -q --no-color --ascii -e 'plan'
expect 0 '' --version

# Pages of help stay inside 80 columns.
"$program" --data-dir "$data" -e 'help; complete "help "' >pages
{ cat pages; sed -n '/^units$/,$ { /[.]$/!s/^/help /p }' pages | "$program" --data-dir "$data"; } |
    awk 'length > 80 { print "a page of help is wider than 80: " $0; wide = 1 } END { exit wide }' || failed=1
expect 0 '' --help
expect 2 "did you mean '--json'" --jsn
expect 2 "no option '-x'" -x
expect 2 'needs an argument' -e
expect 2 'is not a folder' --data-dir /nonexistent -e plan
expect 1 "did you mean 'mfuplan -e plan'" plan
expect 1 '^mfuplan: none.mfu: cannot be read: No such file' none.mfu
expect 1 '^mfuplan: /: cannot be read' /
expect 1 "^mfuplan: no command is called 'paln'" -e 'paln'
expect 1 "^hint: did you mean 'plan'?" -e 'paln'
expect 1 '^mfuplan: set: batch: ' -e 'set batch 0; check 0'
expect 3 '^mfuplan: check: not satisfied: mfu > 40 (mfu = ' -e 'check mfu > 40'
input='per_device_train_batch_size: 4\nflex_attention: true\nmodel_name_or_path: gpt2\nmax_seq_length: 512\n'
printf '%b' "$input" >open.yaml
input=
for unknown in 'fits' 'not fits' 'fits > 0' 'fits and mfu > 0' 'fits == 0' 'fits or mfu > 99'; do
    expect 1 'is unknown: flex_attention true is not modelled' -q -e "import open.yaml; check $unknown"
done
expect 0 '' -q -e 'import open.yaml; check fits or mfu > 0'
expect 3 'not satisfied' -q -e 'import open.yaml; check not (fits or mfu > 0)'
"$program" --data-dir "$data" --json -e 'import open.yaml; sweep batch=1,2 where not fits' >out 2>err
grep -q '"excluded":2' out || { echo "unknown rows are listed"; failed=1; }
expect 1 "'0/0' is not a number" -e 'check 0/0'
expect 1 'batch is given twice' -e 'sweep batch=1,2 micro_batch=3,4'
expect 1 'gpu is given twice' -e 'sweep gpu=rtx4070 gpu=h100-sxm'
expect 1 'model is given twice' -e 'sweep model=gpt2 batch=1,2 model=gpt2-xl'
expect 0 '' -e 'gpu NVIDIA GeForce RTX 4070'
expect 0 '' -e 'check mfu > 0; quit; nonsense'
expect 0 '' -e 'set batch 2' -e 'check batch == 2'

input='set batch 2\n\n  set batch 8 sequ 9\nnonsense\n'
expect 1 "^mfuplan: stdin:3:15: no setting is called 'sequ'"
expect 1 "^mfuplan: stdin:3:15: " -
printf '%b' "$input" >a.mfu
expect 1 "^mfuplan: a.mfu:3:15: " a.mfu
echo 'source a.mfu' >b.mfu
expect 1 "^mfuplan: a.mfu:3:15: \|b.mfu:1" b.mfu

# Files that a script names, beside it and from anywhere; the working directory comes first.
mkdir -p beside/inner
printf 'import job.py\nmodel own.yaml\nsource inner/d.mfu\ncheck batch == 4 and accum == 5 and n_layer == 3\n' >beside/a.mfu
printf 'name: Own\nextends: gpt2\ndims: {n_layer: 3}\n' >beside/own.yaml
printf 'batch_size = 3\ngradient_accumulation_steps = 5\n' >beside/job.py
echo 'source e.mfu' >beside/inner/d.mfu
echo 'set batch 4' >beside/inner/e.mfu
expect 0 '' beside/a.mfu
expect 0 '' -e 'source beside/a.mfu'
expect 0 '' "$PWD/beside/a.mfu"
expect 1 'job.py: cannot be read' -e 'import job.py'
echo 'set batch 9' >e.mfu
expect 3 'not satisfied' beside/a.mfu
rm e.mfu

# Scripts that source others many times have a budget.
for i in 1 2 3 4; do
    for _ in 1 2 3 4 5 6 7 8 9 10; do echo "source bomb$((i - 1)).mfu"; done >bomb$i.mfu
done
echo '# nothing' >bomb0.mfu
expect 1 'more than 1000 scripts' bomb4.mfu
expect 0 '' bomb2.mfu

echo 'source c.mfu' >c.mfu
expect 1 'more than 16 deep' c.mfu
input='\357\273\277set batch 8\r\nprint batch\r\n'
expect 0 ''
[ "$(tail -1 out)" = 8 ] || { echo 'a byte order mark or CR is in the way'; failed=1; }
input='set ba\000tch 8\n'
expect 1 '^mfuplan: stdin:1:7: a byte 0'
input='print \377\376\033[31m\n'
expect 1 '^mfuplan: stdin:1:'
grep -q "$(printf '\033')" err && { echo 'control characters reach the terminal'; failed=1; }
input=
head -c 70000 /dev/zero | tr '\0' a >long.mfu
expect 1 'longer than 65535 bytes' long.mfu
head -c 60000 /dev/zero | tr '\0' a >long.mfu
expect 1 'no command' long.mfu
(printf 'set'; yes ' batch 3' | head -7000 | tr -d '\n') >words.mfu
expect 0 '' words.mfu

# A disk that is full, a reader that has gone.
"$program" --data-dir "$data" -e plan >/dev/full 2>err
[ $? -eq 1 ] && grep -q 'standard output: No space' err || { echo 'a full disk goes unseen'; failed=1; }
{ "$program" --data-dir "$data" -e 'plan; show; show; show; show; show; show; show' 2>err
  echo $? >status; } | head -1 >/dev/null
[ "$(cat status)" -eq 0 ] || [ ! -s err ] || { echo 'a closed pipe makes noise:'; cat err; failed=1; }

# One object on a line, for every command that answers.
for command in plan memory step mfu kernels roofline gpu model 'gpu h100-sxm' 'model gpt2-xl' show \
    'show batch' 'show gpu' 'show model' 'show coefficients' keep 'print mfu' 'check batch == 1' \
    'complete se' 'calibrate list' help; do
    expect 0 '' --json -e "$command"
    python3 -c '
import json, sys
lines = open("out").read().splitlines()
assert len(lines) == 1, "%d lines" % len(lines)
answer = json.loads(lines[0])
assert answer["schema"] == 1 and answer["command"] == sys.argv[1].split()[0], answer
' "$command" || { echo "--json $command"; failed=1; }
done
expect 0 '' --json -e 'keep a; set batch 8 seq 2k runtime compile; keep b; compare a b'
python3 -c '
import json
c = json.loads(open("out").read())
assert c["scenarios"] == ["a", "b"], c
assert {d["key"]: d["values"] for d in c["differences"]} == {
    "seq": [1024, 2048], "batch": [1, 8], "runtime": ["eager", "compile"]}, c["differences"]
whole = c["results"][1]["step"]["step_time_s"] - c["results"][0]["step"]["step_time_s"]
assert [a["key"] for a in c["attribution"]] == ["seq", "batch", "runtime"], c["attribution"]
for walk in (lambda a: a, lambda a: a["reverse"]):
    assert abs(sum(walk(a)["step_time_s"] for a in c["attribution"]) - whole) < 1e-9 * abs(whole)
alone = sum(a["alone"]["step_time_s"] for a in c["attribution"])
assert abs(alone + c["interaction"]["step_time_s"] - whole) < 1e-9 * abs(whole)
each = [r["step"]["step_time_s"] / r["step"]["tokens_per_step"] for r in c["results"]]
assert abs(sum(a["seconds_per_token"] for a in c["attribution"]) - (each[1] - each[0])) < 1e-9 * each[0]
' || { echo 'compare'; failed=1; }
expect 1 "no setting is called 'sequ'" --json -e 'set batch 4; undo; redo; set sequ 9'
python3 -c '
import json
e = json.loads(open("out").read())["error"]
assert e["command"] == "set" and e["suggestion"] == "seq" and "sequ" in e["message"], e
' || failed=1
expect 3 'not satisfied' --json -e 'check batch > 1'
grep -q '"satisfied":false' out || { echo 'check does not answer'; failed=1; }

# Calibrations: from a table, used, listed, forgotten; a broken one is left out.
export MFUPLAN_CALIBRATIONS="$work/calibrations" MFUPLAN_CALIBRATE=/nonexistent
runs="$work/runs.csv"
grep -E '^id,|^llmfoundry-a100-80.*,a100-80gb-sxm,8,' "$data/examples/measured/published.csv" | head -20 >"$runs"
expect 1 "'/nonexistent' is no program" -e calibrate
expect 1 'is switched off\|has no run of h200-sxm' -e "gpu h200-sxm; calibrate from '$runs'"
expect 1 "'from' wants files" -e 'calibrate from'
cat >probes <<'END'
#!/bin/sh
echo "$@" >arguments
while [ "$1" != --shapes ]; do shift; done
cp "$2" shapes
END
chmod +x probes
MFUPLAN_CALIBRATE=./probes expect 1 'measured nothing' -e 'gpu rtx4070; model gpt2; set batch 8; calibrate'
grep -q '^8192 2304 768 bf16$' shapes && [ "$(sort shapes | uniq -d | wc -l)" = 0 ] || { echo "calibrate's shapes"; cat shapes; failed=1; }
! grep -q -e --device arguments || { echo 'calibrate asks for a device of its own accord'; failed=1; }
MFUPLAN_CALIBRATE=./probes expect 1 'measured nothing' -e 'calibrate quick device 1'
grep -q -e '--quick --device 1$' arguments || { echo "calibrate's device"; cat arguments; failed=1; }
MFUPLAN_CALIBRATE=./probes expect 1 "CUDA's number of a GPU" -e 'calibrate device first'
expect 0 '' --json -q -e 'gpu a100-80gb-sxm' -e "calibrate from '$runs'"
python3 -c '
import json
c = json.loads(open("out").read().splitlines()[-1])
assert c["gpu"] == "a100-80gb-sxm" and c["samples"] > 5 and c["mape"] < c["mape_before"], c
kept = [k for k in c["coefficients"] if k["source"] == "runs"]
assert kept and all(k["stderr"] > 0 and k["prior"] > 0 for k in kept), kept
assert all(k["value"] == k["prior"] for k in c["coefficients"] if k["source"] == "default"), c
' || { echo 'calibrate from'; failed=1; }
expect 0 '' --json -e 'gpu a100-80gb-sxm; show coefficients'
grep -q '"source":"runs"' out || { echo 'a calibration is not shown'; failed=1; }
echo 'gpu: [' >calibrations/broken.yaml
expect 0 'warning: .*broken.yaml:2: a calibration is left out: ' -q -e 'calibrate list'
rm calibrations/broken.yaml
expect 0 '' -e 'calibrate forget a100-80gb-sxm; calibrate list'
expect 1 'no calibration is called' -e 'calibrate forget'

# Two files of samples make one calibration; nonsense makes none.
printf 'mfuplan_samples: 1\ngpu: {name: GeForce RTX 4070}\nsamples:\n' | tee gemm.yaml >attention.yaml
for n in 1024 2048 4096 8192; do
    echo "  - {probe: gemm, dtype: bf16, m: $n, n: $n, k: $n, seconds: $(awk "BEGIN {print 2 * $n ^ 3 / 55e12}")}"
done >>gemm.yaml
for s in 1024 2048 4096 8192; do
    echo "  - {probe: attention, kind: flash, batch: 8, heads: 12, kv_heads: 12, seq: $s, head_dim: 64, causal: 1, pass: forward," \
        "dtype: bf16, seconds: $(awk "BEGIN {print 2 * 8 * 12 * 64 * $s ^ 2 / 40e12}")}"
done >>attention.yaml
expect 0 '' --json -q -e 'calibrate from gemm.yaml attention.yaml'
python3 -c '
import json
c = json.loads(open("out").read())
kept = {k["name"] for k in c["coefficients"] if k["source"] == "probe"}
assert "gemm.efficiency" in kept and any(k.startswith("attention.flash") for k in kept), kept
' || { echo 'calibrate from samples'; cat out; failed=1; }
expect 0 '' -q -e 'calibrate forget rtx4070'
sed -i 's/seconds: .*}/seconds: 1}/' gemm.yaml
expect 1 'can hardly be measurements of a rtx4070' -e 'calibrate from gemm.yaml'
expect 0 '' -e 'calibrate list'
grep -q rtx4070 out && { echo 'nonsense was kept'; failed=1; }

# Another separator is no table of runs, and a CPU's steps calibrate no GPU.
printf 'id;gpu;micro_batch;step_time_ms\na;rtx4070;8;100\n' >semicolons.csv
expect 1 'separated by semicolons' -e 'validate semicolons.csv'
expect 1 'separated by semicolons' -e 'gpu rtx4070; calibrate from semicolons.csv'
printf 'gpu,model,micro_batch,step_time_ms\ncpu,gpt2,1,20\n' >cpu.csv
expect 1 'measured on a CPU' -e 'gpu rtx4070; calibrate from cpu.csv'
python3 - "$data/calibrate" <<'END' || { echo 'torch_measure.py calls a CPU a GPU'; failed=1; }
import sys, unittest.mock
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
for name in ("torch", "torch.nn", "torch.nn.functional", "torch.nn.attention", "torch.utils", "torch.utils.checkpoint"):
    sys.modules[name] = unittest.mock.MagicMock()           # PyTorch is not needed for words
sys.modules["torch"].nn.Module = sys.modules["torch.nn"].Module = object
import torch_measure
s = torch_measure.complete({"model": "gpt2", "gpu": "rtx4070"}, True)
assert torch_measure.describe(s, None, "cuda")["gpu"] == "rtx4070"
assert torch_measure.describe(s, "rtx4070", "cpu")["gpu"] == "cpu"
END

# Files that another command reads: it is named.
printf '{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16,
"num_attention_heads": 32, "intermediate_size": 8192, "vocab_size": 32000, "max_position_embeddings": 131072}' >config.json
cp "$data/tests/data/import/nanogpt-train2.py" "$data/tests/data/logs/nanogpt-train1.log" .
expect 1 "^hint: did you mean 'model config.json'?" -e 'import config.json'
expect 1 "^hint: did you mean 'model config.json'?" -e 'observe config.json'
expect 1 "^hint: did you mean 'import nanogpt-train2.py'?" -e 'model nanogpt-train2.py'
expect 1 "^hint: did you mean 'import nanogpt-train2.py'?" -e 'observe nanogpt-train2.py'
expect 1 "^hint: did you mean 'observe nanogpt-train1.log'?" -e 'import nanogpt-train1.log'
expect 0 '' -q -e 'model ./config.json; check seq == 8192'
printf 'extends: llama-2-7b\nname: X\ndims: {n_layers: 24}\n' >typo.yaml
expect 1 "^hint: did you mean 'n_layer'?" -e 'model ./typo.yaml'

# What an imported file says and nothing predicts is kept with the scenario.
printf '{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "nvme"}}}' >ds.json
for begin in 'import ds.json' 'source ds.mfu' 'set batch 2; keep x; reset; use x'; do
    [ "$begin" = 'source ds.mfu' ] && expect 0 '' -q -e 'import ds.json; save ds.mfu'
    [ "${begin#set}" = "$begin" ] || begin="source ds.mfu; $begin"
    expect 1 "'fits' is unknown: .*nvme_optimizer on" -q -e "$begin; check fits"
    expect 1 'unknown, not modelled: .*nvme' -q -e "$begin; solve batch"
    expect 1 'unknown, not modelled: .*nvme' -q -e "$begin; solve batch where fits and mfu > 1%"
    expect 1 'unknown, not modelled: .*nvme' -q -e "$begin; search maximize mfu batch=1..4 where fits"
    expect 0 '' -q -e "$begin; unset not_modelled; check fits; solve batch"
done

# A word is where it stands in the line, with and without --force before it.
input='save --force /nonexistent/x.mfu\n' expect 1 '^mfuplan: stdin:1:14: ' -q -
input='report --force r.html z\n' expect 1 "stdin:1:23: 'z'" -q -

# Help fits a terminal of 80 columns.
expect 0 '' -e "$(cd "$data/src/repl/commands" && printf 'help %s; ' *.c | sed 's/\.c;/;/g')"
long=$(awk 'length($0) > 80' out)
[ -z "$long" ] || { echo "help: more than 80 columns: $long"; failed=1; }

# A caption speaks of columns that are there; large sums have few digits; terms by their neighbours' names.
says() {
    pattern=$1
    shift
    expect 0 '' "$@"
    grep -q -- "$pattern" out || { echo "mfuplan $*: does not print '$pattern':"; cat out; failed=1; }
}
COLUMNS=80 says 'it idle.$' -q -e kernels
COLUMNS=120 says 'Shapes: rows' -q -e kernels
says ' GWh \|cost .* M GPU-hours   [0-9.]* M ' -q -e 'model llama-3-8b; train 15T price 2.50'
says '^occupancy - ' -q -e 'explain warp'
says '^SM - ' -q -e 'explain block'
says 'half_weights off . on (follows from zero)' -e 'set gpus 2 zero 3'

# A recorded stream, through a pipe that comes in parts; a log that grows; nobody who reads.
export MFUPLAN_NVML=/nonexistent
says 'throttling: the SM clock fell' -e 'gpu h100; model llama-3-8b' -e "watch '$data/tests/data/logs/nvidia-smi.csv' for 0s"
expect 1 'no GPU that a driver knows' -e 'watch'
(head -20 "$data/tests/data/logs/dcgmi.txt"; sleep 0.2; tail -n +21 "$data/tests/data/logs/dcgmi.txt") |
    "$program" --data-dir "$data" -e 'gpu h100; model gpt2; set batch 16' -e 'watch - every 50ms' >out 2>err ||
    { echo "watch -: status $?"; cat err; failed=1; }
grep -q 'memory-bound: SMs have work' out || { echo 'watch -: no symptom'; cat out; failed=1; }
head -40 "$data/tests/data/logs/nanogpt-train1.log" >grows.log
(sleep 0.3; tail -n +41 "$data/tests/data/logs/nanogpt-train1.log" >>grows.log) &
says 'within' -e 'gpu rtx4070; model gpt2' -e 'watch grows.log every 100ms for 1s'
wait
[ "$(grep -c 'step time 9.3.* s (' out)" -ge 2 ] || { echo 'watch: the log did not grow'; cat out; failed=1; }
timeout 20 "$program" --data-dir "$data" -e 'gpu rtx4070; model gpt2' -e 'watch grows.log every 50ms for 1s' | head -1 >out
"$program" --data-dir "$data" -e 'gpu rtx4070; model gpt2' -e 'watch grows.log' >out 2>err & watcher=$!
sleep 0.5; kill -INT $watcher
wait $watcher || { echo "watch: status $? after an interrupt"; failed=1; }
unset MFUPLAN_NVML

# One logged run improves the prediction of another configuration.
logs=$data/tests/data/logs
other='set n_embd 384 batch 16 accum 32'
start='gpu rtx4070; model gpt2; set runtime compile'
expect 3 'not satisfied' -q -e "$start; $other; check step_time_s > 3.8 and step_time_s < 4.05"
expect 0 '' -q -e "$start; calibrate from '$logs/nanogpt-train1.log'; $other; check step_time_s > 3.8 and step_time_s < 4.05"
expect 0 '' -q -e 'calibrate forget rtx4070'

# The page that computes begins with the scenario; one without a body and one of files of one's own are refused, and leave none.
mkdir live && cp "$program" live/mfuplan && cp "$data"/gpus/clusters/dgx-h100.yaml own.yaml
computes() { printf "$1" >live/mfuplan.html; shift; program=live/mfuplan expect "$@"; }
computes '<html>\n<body>\n<p>\n</html>\n' 0 '' -q -e 'gpu h100; set batch 8; report live.html --live'
grep -q '^<body data-scenario="model=gpt2&amp;gpu=h100-sxm&amp;batch=8">$' live.html || { echo 'report --live:'; cat live.html; failed=1; }
computes '<html>\n<p>\n</html>\n' 1 'has no <body>' -q -e 'report none.html --live'
computes '<html>\n<body>\n</html>\n' 1 'not files of yours' -q -e 'gpu h100; cluster ./own.yaml; report none.html --live'
[ ! -e none.html ] || { echo 'report --live leaves a page that it refused'; failed=1; }

# Many who calibrate at once: each succeeds, and what stays is one whole calibration.
for i in 1 2 3 4 5 6 7 8; do
    { "$program" --data-dir "$data" -q -e "$start; calibrate from '$logs/nanogpt-train1.log'" >"out.$i" 2>&1 || touch "failed.$i"; } &
done
wait
! ls failed.* 2>/dev/null || { echo 'of calibrations at once some fail:'; cat out.*; failed=1; }
[ "$(ls -p "$MFUPLAN_CALIBRATIONS" | grep -v /)" = rtx4070.yaml ] || { echo 'calibrations at once leave:'; ls "$MFUPLAN_CALIBRATIONS"; failed=1; }
expect 0 '' -q -e 'calibrate forget rtx4070'

# Samples that contradict what is known of the card: refused, unless the user insists.
samples() {
    printf 'mfuplan_samples: 1\ngpu: {name: rtx4070}\nsamples:\n'
    awk -v rate="$1" 'BEGIN { for (n = 1024; n <= 8192; n *= 2) for (k = 1024; k <= 4096; k *= 2)
        printf "  - {probe: gemm, m: %d, n: %d, k: %d, dtype: bf16, seconds: %.6g}\n", n, n, k, 2*n*n*k/rate }'
}
samples 2e12 >slow.yaml
expect 1 'contradict what is known of a rtx4070' -e "$start; calibrate from slow.yaml"
expect 0 '' -q -e 'calibrate list'
[ -z "$(cat out)" ] || { echo 'refused samples were kept'; failed=1; }
expect 0 '' -q -e "$start; calibrate from slow.yaml --anyway"
expect 0 '' -q -e 'calibrate forget rtx4070'
samples 52e12 >usual.yaml
expect 0 '' -q -e "$start; calibrate from usual.yaml"
expect 0 '' -q -e 'calibrate forget rtx4070'

expect 1 'tokens per step' -e "$start; calibrate from '$logs/nanogpt-contradictory.log'"
expect 1 'no line is a training step' -e "$start; calibrate from '$logs/../import/nanogpt-train2.py'"
expect 1 'No such file' -e "$start; calibrate from none.log"
exit $failed
