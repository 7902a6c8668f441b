#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An installation is whole: a program outside the tree builds and runs against it through pkg-config and through
# find_package, the command runs from where it was put, and nothing points back into the build.
set -eu
: "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
if [ -n "${TRACESMITH_SANITIZE-}" ]; then
    echo "skipped: an installation is a plain build"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
cmake --install "$TRACESMITH_BUILD_DIR" --prefix "$prefix" >"$work/log" || {
    cat "$work/log"
    exit 1
}
library=$(find "$prefix" -name 'libtracesmith.so.0')
[ -n "$library" ] || {
    echo "libtracesmith.so.0 was not installed"
    exit 1
}
libdir=$(dirname "$library")

mkdir "$work/program"
cat >"$work/program/main.c" <<'C'
#include <stdio.h>
#include <string.h>
#include <tracesmith/tracesmith.h>
int main(void)
{
    puts(tsmith_version());
    return strcmp(tsmith_version(), TSMITH_VERSION_STRING) != 0;
}
C
cat >"$work/program/CMakeLists.txt" <<'C'
cmake_minimum_required(VERSION 3.16)
project(Outside C)
find_package(TraceSmith 0.1 REQUIRED)
add_executable(outside main.c)
target_link_libraries(outside PRIVATE TraceSmith::tracesmith)
C

echo "through pkg-config"
export PKG_CONFIG_PATH="$libdir/pkgconfig"
# shellcheck disable=SC2046 # words are what pkg-config gives
"${CC:-cc}" -std=c11 -Wall -Werror -o "$work/by-pkg-config" "$work/program/main.c" \
    $(pkg-config --cflags --libs tracesmith) -Wl,-rpath,"$libdir"
version=$("$work/by-pkg-config")
[ "$version" = "$(pkg-config --modversion tracesmith)" ] || {
    echo "the library says $version, pkg-config $(pkg-config --modversion tracesmith)"
    exit 1
}

echo "through find_package"
if ! cmake -S "$work/program" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1 ||
    ! cmake --build "$work/build" >>"$work/log" 2>&1; then
    cat "$work/log"
    exit 1
fi
[ "$("$work/build/outside")" = "$version" ]

if [ -x "$TRACESMITH_BUILD_DIR/bin/tracesmith" ]; then
    echo "the command"
    env -u LD_LIBRARY_PATH "$prefix/bin/tracesmith" version >"$work/said"
    grep -qF "$version" "$work/said" || {
        echo "tracesmith version said: $(cat "$work/said")"
        exit 1
    }
fi
if [ -f "$TRACESMITH_BUILD_DIR/lib/tracesmith/libtracesmith-opencl.so" ]; then
    echo "the agent is found where it was put"
    # shellcheck disable=SC2016 # for the inner shell
    layers=$("$prefix/bin/tracesmith" profile -o "$work/out.sbt" -- sh -c 'echo "$OPENCL_LAYERS"' 2>/dev/null)
    case $layers in
    "$prefix"/*/libtracesmith-opencl.so) ;;
    *)
        echo "profile injects '$layers', not the agent under $prefix"
        exit 1
        ;;
    esac
fi
for agent in "$TRACESMITH_BUILD_DIR"/lib/tracesmith/*.so; do
    [ -f "$agent" ] || continue
    [ -f "$libdir/tracesmith/${agent##*/}" ] || {
        echo "${agent##*/} was built and not installed next to the library"
        exit 1
    }
done

echo "nothing points back"
find "$prefix" -type f >"$work/files"
while IFS= read -r file; do
    if dynamic=$(readelf -d "$file" 2>/dev/null) && [ -n "$dynamic" ]; then
        if printf '%s\n' "$dynamic" | grep -E 'RPATH|RUNPATH' | grep -F "$TRACESMITH_BUILD_DIR"; then
            echo "$file looks for libraries in the build tree"
            exit 1
        fi
    elif grep -qF -e "$TRACESMITH_BUILD_DIR" -e "$TRACESMITH_SOURCE_DIR" "$file"; then
        echo "$file names the source or build tree"
        exit 1
    fi
done <"$work/files"
