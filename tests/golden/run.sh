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
cp "$here"/*.yml "$here"/*.yaml "$work"   # what a newcomer brings
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
exit $failed
