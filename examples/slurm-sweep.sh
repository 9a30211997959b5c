#!/bin/sh
# slurm-sweep.sh - a search over the tasks of a Slurm array, each of which plans its part.
#
#     sbatch --array=1-64 examples/slurm-sweep.sh         # every task writes search.I.csv
#     examples/slurm-sweep.sh merge > search.csv          # the best rows of all parts, the best first
#
# Without Slurm, on 16 machines of GNU parallel:
#
#     seq 16 | SLURM_ARRAY_TASK_COUNT=16 parallel --sshloginfile hosts SLURM_ARRAY_TASK_ID={} examples/slurm-sweep.sh
#
# SEARCH, SETUP, TOP and PART (where the parts are written) may come from the environment.
#SBATCH --job-name=mfuplan
#SBATCH --cpus-per-task=8
set -eu

: "${SETUP:=gpu h100-sxm; model llama-3-8b; set gpus 64 batch 1 accum 4}"
: "${SEARCH:=search maximize tokens_per_s batch=1..8*2 accum=32/batch zero=all checkpoint=all tp=1..8*2}"
: "${TOP:=10}" "${PART:=search}"
LC_ALL=C
export LC_ALL

case ${1:-run} in
run)
    part=$PART.${SLURM_ARRAY_TASK_ID:?no task of an array}.csv
    mfuplan --csv -e "$SETUP; $SEARCH top $TOP threads ${SLURM_CPUS_PER_TASK:-1} \
        shard $SLURM_ARRAY_TASK_ID/${SLURM_ARRAY_TASK_COUNT:?of how many}" > "$part.new"
    mv "$part.new" "$part"          # what is there is whole
    ;;
merge)                              # by the column that the search is about
    goal=$(printf '%s\n' "$SEARCH" | sed -n 's/.*\(max\|min\)imize  *\([^ ]*\).*/\2/p')
    case $SEARCH in *minimize*) order=g ;; *) order=gr ;; esac
    cat "$PART".[0-9]*.csv | awk 'NR == 1 { header = $0; print } $0 != header' | {
        IFS= read -r header
        printf '%s\n' "$header"
        at=$(printf '%s\n' "$header" | tr ',' '\n' | grep -nxF -- "$goal" | cut -d: -f1)
        sort -t, -s -k"$at,$at$order" | head -n "$TOP"
    }
    ;;
*)
    echo "usage: $0 [run | merge]" >&2
    exit 2
    ;;
esac
