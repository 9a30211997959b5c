#!/bin/sh
# torch_kernels.sh SCRIPT: every point runs on tiny tensors; a run that is interrupted
# leaves a file which the next one completes, and refuses to mix with another GPU's.
# MFUPLAN_PYTHON names a Python that has PyTorch.
script=$1
python=${MFUPLAN_PYTHON:-python3}
status=0
"$python" -c 'import torch' 2>/dev/null || { echo 'torch is missing: torch_kernels.py is not tested'; exit 0; }
folder=$(mktemp -d) && cd "$folder" || exit 1

say() { echo "torch_kernels.py $1"; status=1; }

"$python" "$script" --device cpu --list >points 2>err || { cat err; say 'does not list its points'; }
sort points | uniq -d | grep . && say 'has points of the same name'

"$python" "$script" --device cpu --self-test half.yaml >half.log 2>&1 &
for _ in $(seq 600); do
	[ "$(grep -c seconds: half.yaml 2>/dev/null)" -ge 3 ] 2>/dev/null && break
	sleep 0.1
done
kill -INT $!
wait $!
n=$(grep -c seconds: half.yaml)
[ "$n" -ge 3 ] && grep -q '^mfuplan_samples: 1$' half.yaml || { cat half.log; say 'leaves nothing when it is interrupted'; }

"$python" "$script" --device cpu --self-test half.yaml >whole.log 2>&1 || { tail -3 whole.log; say 'does not go on'; }
grep -q "points are in half.yaml already" whole.log || say 'measures again what it has'
sed -n 's/^  - {\(.*\)}$/\1/p' half.yaml | sed 's/, \(read_bytes\|kernels\|seconds\): .*//' | sort >done
sort points | grep -v 'kind: 8bit' >wanted
grep -v 'kind: 8bit' done | cmp -s - wanted || { diff done wanted; say 'leaves points out'; }

sed -i 's/^torch: .*/torch: "1.0"/' half.yaml
"$python" "$script" --device cpu --self-test half.yaml >other.log 2>&1 && say 'mixes two versions of PyTorch'
grep -q 'another GPU, driver or PyTorch' other.log || say 'does not say why it refuses'
cd / && rm -r "$folder"
exit $status
