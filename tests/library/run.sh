#!/bin/sh
# The library as strangers get it: installed into a new folder, found by pkg-config and by CMake, its
# header read as C17 and C++17, examples/embed.c built, run, and compared with the program.
#
#     run.sh ROOT BUILD PROGRAM
set -eu
root=$1 build=$2 program=$3
to=$(mktemp -d)
trap 'rm -rf "$to"' EXIT

cmake --install "$build" --prefix "$to/usr" >"$to/install.log"
PKG_CONFIG_PATH=$(dirname "$(find "$to/usr" -name mfuplan.pc)")
export PKG_CONFIG_PATH
sanitizers=$(sed -n 's/^MFUPLAN_SANITIZE:[A-Z]*=//p' "$build/CMakeCache.txt")
flags=${sanitizers:+-fsanitize=$sanitizers}
compiler=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")

# shellcheck disable=SC2046,SC2086  # flags are words
{
    echo '#include <mfuplan.h>' >"$to/header.c"
    "$compiler" -std=c17 -Wall -Wextra -Wpedantic -Werror $(pkg-config --cflags mfuplan) -fsyntax-only "$to/header.c"
    if command -v c++ >/dev/null; then
        c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -x c++ $(pkg-config --cflags mfuplan) -fsyntax-only "$to/header.c"
    fi
    "$compiler" -std=c17 -Wall -Wextra -Werror $flags "$root/examples/embed.c" $(pkg-config --cflags --libs mfuplan) -o "$to/embed"
}
MFUPLAN_DATA_DIR="$to/usr/share/mfuplan" "$to/embed" >"$to/embed.out"
cat "$to/embed.out"

# The same figures as the program's.
expected=$("$program" --json -e 'gpu rtx4070; model gpt2; set runtime compile batch 8 accum 64; print step_time_s' |
    sed -n 's/.*"value":\([0-9.e+-]*\).*/\1/p')
grep -q "^a step takes $(printf %.2f "$expected") s" "$to/embed.out"
[ "$(grep -c tokens/s "$to/embed.out")" = 3 ]

mkdir "$to/project"
cat >"$to/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(embed C)
find_package(mfuplan 0.2 REQUIRED)
add_executable(embed $root/examples/embed.c)
target_compile_options(embed PRIVATE $flags)
target_link_options(embed PRIVATE $flags)
target_link_libraries(embed mfuplan::mfuplan)
END
cmake -S "$to/project" -B "$to/project/build" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$to/usr" >"$to/cmake.log"
cmake --build "$to/project/build" >>"$to/cmake.log"
MFUPLAN_DATA_DIR="$to/usr/share/mfuplan" "$to/project/build/embed" | cmp - "$to/embed.out"

# The program needs none of what only tests do.
cmake -S "$root" -B "$to/bare" -G Ninja -DBUILD_TESTING=OFF -DCMAKE_C_COMPILER="$compiler" \
    -DCMAKE_DISABLE_FIND_PACKAGE_Python3=ON -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON >"$to/bare.log"
