#!/bin/sh
# Transcripts: each must come out as it is written.
#
#     run.sh PROGRAM DATA_DIR [--accept]
#
# With --accept the files take over what the program says; read the diff.
export MFUPLAN_CALIBRATIONS=   # no calibration of the user's
program=$(realpath "$1") data=$(realpath "$2") accept=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cp "$here"/*.yml "$here"/*.yaml "$here"/*.csv "$work"   # what users bring
cd "$work" || exit 1
failed=0
for file in "$here"/*.md; do
    # Not a pipe: a crash after the last line of output must be seen.
    if ! "$program" --data-dir "$data" --transcript "$file" >out; then
        echo "$file: the program failed"
        failed=1
    elif [ "$accept" = --accept ]; then
        cmp -s "$file" out || cp out "$file"
    elif ! diff -u "$file" out; then
        failed=1
    fi
done
# The screen of README is the program's.
LC_ALL=C.UTF-8 "$program" --data-dir "$data" -q -e 'gpu rtx4070; model gpt2; set batch 8 accum 64 runtime compile; plan' >screen
awk '/^> plan$/ {print; while ((getline line <"screen") > 0) print line; skip = 1}
     /^```$/ {skip = 0} !skip' "$data/README.md" >out
if [ "$accept" = --accept ]; then
    cmp -s "$data/README.md" out || cp out "$data/README.md"
elif ! diff -u "$data/README.md" out; then
    failed=1
fi
exit $failed
