#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each public header compiles alone and twice, as C11 and as C++17, with every compiler there is, without
# extensions and without a warning.
set -eu
root=${TRACESMITH_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
failures=0
compilers=0

# try COMPILER ARGUMENT...
try() {
    compiler=$1
    if ! command -v "$compiler" >/dev/null 2>&1; then
        echo "not here: $compiler"
        return 0
    fi
    compilers=$((compilers + 1))
    for header in "$root"/include/tracesmith/*.h; do
        name=tracesmith/${header##*/}
        if ! printf '#include <%s>\n#include <%s>\nextern int something;\n' "$name" "$name" |
            "$@" -I"$root/include" -Wall -Wextra -Wshadow -Wconversion -pedantic -Werror -fsyntax-only -; then
            echo "$name does not compile alone: $*"
            failures=$((failures + 1))
        fi
    done
}

[ -f "$root/include/tracesmith/tracesmith.h" ] || {
    echo "no public headers in $root/include/tracesmith"
    exit 1
}
for compiler in gcc clang; do
    try "$compiler" -std=c11 -x c
done
for compiler in g++ clang++; do
    try "$compiler" -std=c++17 -x c++
done
[ "$compilers" -gt 0 ] || {
    echo "no compiler found"
    exit 1
}
# What the library allocates is given back by the library: no header asks for the caller's free().
if grep -nE '(^|[^_[:alnum:]])free\(\)' "$root"/include/tracesmith/*.h | grep -v '/memory\.h:'; then
    echo "the lines above ask callers to use free(): the library may have another heap, name tsmith_free"
    failures=$((failures + 1))
fi
[ "$failures" -eq 0 ]
