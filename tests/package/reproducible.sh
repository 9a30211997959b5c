#!/bin/sh
# The same sources give the same bits: the release program, built twice in folders of different names.
#
#     reproducible.sh ROOT
set -eu
root=$(cd "$1" && pwd)
to=$(mktemp -d)
trap 'rm -rf "$to"' EXIT

for folder in one another/of-a-longer-name; do
    mkdir -p "$to/$folder"
    (cd "$root" && tar -cf - --exclude=./build --exclude=./.git .) | tar -xf - -C "$to/$folder"
    cmake -S "$to/$folder" -B "$to/$folder/made in $(echo "$folder" | wc -c)" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DBUILD_TESTING=OFF -DMFUPLAN_CALIBRATE=OFF >"$to/log" 2>&1 &&
        cmake --build "$to/$folder/made in $(echo "$folder" | wc -c)" --target mfuplan >"$to/log" 2>&1 || {
        tail -40 "$to/log" >&2
        exit 1
    }
done
set -- "$to"/one/made*/mfuplan "$to"/another/*/made*/mfuplan
! grep -q "$to" "$1" || { echo "the program names the folder where it was built" >&2; exit 1; }
cmp "$1" "$2"
