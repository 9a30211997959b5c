#!/bin/sh
# Every lesson runs to its end, in every language, as text and as JSON, says no
# figure that it does not know, and leaves the scenario as it was.
#
#     lessons.sh PROGRAM DATA_DIR
program=$(realpath "$1") data=$(realpath "$2")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
before='gpu a100-80gb-sxm; model tinyllama-1.1b; set batch 2; keep mine'
after='check batch == 2 and n_layer == 22; use mine; undo; redo'

for language in "$data"/src/report/words/pages/lessons/*/; do
    language=$(basename "$language")
    export LC_ALL="${language}_XX.UTF-8"
    n=1
    while [ $n -le "$(ls "$data/src/report/words/pages/lessons/en" | wc -l)" ]; do
        if ! "$program" --data-dir "$data" -q -e "$before" -e "lesson $n" -e "$after" >out 2>err </dev/null; then
            echo "$language, lesson $n:"; cat err; failed=1
        elif [ -s err ]; then
            echo "$language, lesson $n says:"; cat err; failed=1
        elif grep -n 'unknown\|[{}]\|^= *$' out; then
            echo "$language, lesson $n: the lines above"; failed=1
        fi
        if ! "$program" --data-dir "$data" --json -e "lesson $n" >out 2>err </dev/null || [ "$(wc -l <out)" -ne 1 ] ||
            ! grep -q '^{"command":"lesson","schema":1,' out; then
            echo "$language, lesson $n as JSON:"; cat err; failed=1
        fi
        n=$((n + 1))
    done
done
exit $failed
