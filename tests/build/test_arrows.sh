#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every #include of the tree follows arrows.txt; and a planted wrong one is found.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=${TRACESMITH_SOURCE_DIR:-$(cd "$here/../.." && pwd)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# check DIR: prints the wrong arrows of the tree in DIR.
check() (
    cd "$1"
    set --
    for dir in include src agents cli examples bindings studio; do
        [ ! -d "$dir" ] || set -- "$@" "$dir"
    done
    find "$@" -type f \( -name '*.c' -o -name '*.h' -o -name '*.hpp' \) >"$work/files"
    [ -s "$work/files" ] || {
        echo "no source found under $1"
        exit 1
    }
    tr '\n' '\0' <"$work/files" | xargs -0 awk -f "$here/arrows.awk" "$here/arrows.txt"
)

# plant FILE INCLUDE EXPECTED: a tree with one include; 'good' must pass, 'bad' must be named.
plant() {
    rm -rf "$work/tree"
    mkdir -p "$work/tree/$(dirname "$1")"
    printf '#include %s\n' "$2" >"$work/tree/$1"
    if check "$work/tree" >"$work/out"; then verdict=good; else verdict=bad; fi
    if [ "$verdict" != "$3" ]; then
        echo "self-test: $1 with #include $2 was judged $verdict"
        exit 1
    fi
    if [ "$3" = bad ] && ! grep -q "^$1:1: " "$work/out"; then
        echo "self-test: $1 with #include $2 was not named:"
        cat "$work/out"
        exit 1
    fi
}

plant src/sbt/writer.c '"base/arena.h"' good
plant src/sbt/writer.c '"event/batch.h"' good
plant src/sbt/writer.c '"sbt/frame.h"' good
plant src/sbt/writer.c '"tracesmith/status.h"' good
plant src/sbt/writer.c '<stdio.h>' good
plant src/sbt/writer.c '"state/timeline.h"' bad
plant src/sbt/writer.c '"wire/ring.h"' bad
plant src/sbt/writer.c '"../wire/ring.h"' bad
plant src/sbt/writer.c '"ring.h"' bad
plant src/base/arena.c '"event/batch.h"' bad
plant src/event/batch.c '"sbt/frame.h"' bad
plant src/novel/thing.c '<stdio.h>' bad
plant include/tracesmith/sbt.h '"base/arena.h"' bad
plant cli/commands/view.c '"tracesmith/sbt.h"' good
plant cli/commands/view.c '"base/arena.h"' bad
plant cli/commands/view.c '"cli/present/text.h"' good
plant cli/present/text.c '"cli/commands/view.h"' bad
plant cli/present/timeline.c '"cli/order.h"' good
plant cli/present/timeline.c '"cli/options/command.h"' bad
plant cli/options/help.c '"cli/commands/view.h"' bad
plant cli/main.c '"cli/commands/view.h"' bad
plant examples/pipeline/main.c '"event/batch.h"' bad
plant agents/opencl/layer.c '"wire/ring.h"' good
plant agents/opencl/layer.c '"event/batch.h"' bad
plant agents/opencl/layer.c '"opencl_calls/calls.h"' good
plant agents/nvtx/agent.c '"opencl_calls/calls.h"' bad
plant agents/opencl/layer.c '"collect/collector.h"' bad
plant agents/opencl/layer.c '"sbt/writer.h"' bad
plant agents/opencl/layer.c '<CL/cl.h>' good
plant src/replay/opencl/execute.c '<CL/cl.h>' good
plant src/launch/launch.c '<CL/cl.h>' bad
plant cli/commands/devices.c '<CL/cl.h>' bad

check "$root" || {
    echo "these includes are not allowed; the table is tests/build/arrows.txt"
    exit 1
}
