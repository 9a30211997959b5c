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
sed -i 's/^torch: .*/torch: "1.0"/' made/machine.yaml
"$python" $truth >log 2>&1 && say 'goes on with the folder of another PyTorch'
sed -i 's/,cpu,1,1,/,h200,1,1,/' made/runs.csv
"$2" --csv -e 'validate kernels made' >table.csv 2>err || { cat err; say 'writes what mfuplan does not read'; }
grep -q ',h.attn.qkv,forward,gemm,[a-z]*,2,2,' table.csv || say 'has kernels that mfuplan does not find'
cd / && rm -r "$folder"
exit $status
