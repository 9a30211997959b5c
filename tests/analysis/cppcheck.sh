#!/bin/sh
# cppcheck finds nothing in the sources but what cppcheck.txt explains.
#
#     cppcheck.sh ROOT
set -eu
command -v cppcheck >/dev/null || { echo 'skipped: no cppcheck'; exit 77; }
cd "$1"
cppcheck --quiet -j"$(nproc)" --std=c11 --enable=warning,performance,portability --inline-suppr \
    --suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches \
    --suppressions-list=tests/analysis/cppcheck.txt --error-exitcode=1 -Isrc src calibrate/*.c
