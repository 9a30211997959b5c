#!/bin/sh
# Every C file is as clang-format 14 (Debian 12's) writes it with .clang-format.
#
#     format.sh ROOT
command -v clang-format >/dev/null || { echo "skipped: no clang-format"; exit 77; }
clang-format --version | grep -q 'version 14\.' || { echo "skipped: clang-format is not version 14"; exit 77; }
cd "$1" || exit 1
find src tests calibrate bench examples page tools -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' |
    xargs clang-format --dry-run --Werror
