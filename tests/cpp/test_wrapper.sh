#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The C++ headers: the promises that wrapper.cpp checks with each compiler, the example, and the events of a real recording, which
# come back from TraceEvents as they were. The headers compile alone, from an installation too.
set -eu
: "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}" "${TRACESMITH:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$TRACESMITH_BUILD_DIR" --prefix "$work/prefix" >"$work/log"
library=$(find "$work/prefix" -name 'libtracesmith.so.0')
export PKG_CONFIG_PATH="${library%/*}/pkgconfig"
flags="-std=c++17 -Wall -Wextra -Wshadow -Wconversion -pedantic -Werror $(pkg-config --cflags tracesmith)"
links="$(pkg-config --libs tracesmith) -Wl,-rpath,${library%/*} -pthread"
found=''
for compiler in g++ clang++; do
    if ! command -v $compiler >/dev/null 2>&1; then
        echo "not here: $compiler"
        continue
    fi
    found=$compiler
    (
        # shellcheck disable=SC2086 # words
        $compiler $flags -o "$work/$compiler" "$TRACESMITH_SOURCE_DIR/tests/cpp/wrapper.cpp" $links
        mkdir "$work/in-$compiler"
        cd "$work/in-$compiler"
        [ "$("$work/$compiler")" = ok ]
    ) &
    wait=${wait-}' '$!
done
[ -n "$found" ] || {
    echo "skipped: no C++ compiler (Debian: g++)"
    exit 77
}
for job in $wait; do wait "$job"; done

for header in "$work"/prefix/include/tracesmith/*.hpp "$work"/prefix/include/tracesmith/state/*.hpp; do
    name=${header#"$work/prefix/include/"}
    # shellcheck disable=SC2086
    printf '#include <%s>\n#include <%s>\nextern int something;\n' "$name" "$name" | $found $flags -fsyntax-only -x c++ - || {
        echo "$name does not compile alone"
        exit 1
    }
done

# shellcheck disable=SC2086
$found $flags -o "$work/steps" "$TRACESMITH_SOURCE_DIR/examples/cpp/main.cpp" $links
"$work/steps" "$work/steps.sbt" >"$work/said"
grep '^step: 100 times' "$work/said"
grep '^part: 300 times' "$work/said"

pipeline=$TRACESMITH_BUILD_DIR/examples/image_pipeline
[ -x "$pipeline" ] || exit 0
"$TRACESMITH" profile -o "$work/in.sbt" -- "$pipeline" >/dev/null 2>&1
"$work/$found" "$work/in.sbt" "$work/out.sbt"
questions="SELECT kind, count(*), sum(start), sum(duration), sum(correlation), count(DISTINCT name) FROM events GROUP BY kind
SELECT sum(global_x), sum(global_y), sum(local_x), sum(queued), sum(submitted), count(host_track) FROM kernel
SELECT direction, operation, sum(bytes), sum(source), sum(destination) FROM memcpy GROUP BY direction, operation
SELECT sum(live_bytes), sum(object) FROM alloc
SELECT p.pid, t.tid, count(*) FROM api JOIN tracks t ON t.id = track JOIN processes p ON p.id = t.process GROUP BY p.pid, t.tid"
for trace in in out; do
    printf '%s\n' "$questions" | while IFS= read -r question; do
        "$TRACESMITH" query "$work/$trace.sbt" "$question"
    done >"$work/$trace.answers"
done
[ "$(wc -l <"$work/in.answers")" -gt 15 ]
diff "$work/in.answers" "$work/out.answers"
