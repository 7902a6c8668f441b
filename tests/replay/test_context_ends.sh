#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The recorder's queues, on every driver that is installed. A layer below ours counts them: one for each context of the program,
# and each is released. The program's contexts end where they end alone, by their destructor callback, and count as many
# references. Memory that outlives the program's references to its context is copied, and replays exactly.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
# shellcheck source=tests/support/drivers.sh
. "$TRACESMITH_SOURCE_DIR/tests/support/drivers.sh"
[ -f "$agents/libtracesmith-opencl-record.so" ] || skip "the OpenCL recorder is not built"

layer=$work/libcalls.so
"${CC:-cc}" -shared -fPIC -o "$layer" "$TRACESMITH_SOURCE_DIR/tests/opencl/calls_layer.c" 2>"$work/cc" ||
    skip "no compiler: $(head -n 1 "$work/cc")"

# seen NAME COMMAND...: its output, and what the driver is asked.
seen() {
    name=$1
    shift
    on_driver "$driver" env OPENCL_LAYERS="$layer" CALLS_LAYER_LOG="$work/$name.log" "$@" >"$work/$name.out" 2>"$work/$name.err" ||
        fail "$driver: $*: $(tail -n 3 "$work/$name.err")"
    [ -s "$work/$name.log" ] || fail "$driver: the layer saw nothing of $*"
}

# Ours are made by clCreateCommandQueue, which these programs do not call: "contexts, queues of ours, released ones".
# shellcheck disable=SC2016 # the fields are awk's
count_ours='
    $1 == "clCreateContext" { contexts++ }
    $1 == "clCreateCommandQueue" { ours++; mine[$3] = 1 }
    $1 == "clReleaseCommandQueue" && mine[$3] { released++ }
    END { print contexts + 0, ours + 0, released + 0 }'

tried=
for driver in $drivers; do
    if ! driver_here "$driver"; then
        echo "$driver: not installed (./dev drivers)"
        continue
    fi
    seen alone "$programs/cl_context_ends"
    seen captured "$TRACESMITH" profile --capture -o "$work/run.sbt" -- "$programs/cl_context_ends"
    diff "$work/alone.out" "$work/captured.out" || fail "$driver: contexts do not end as they do alone"
    counts=$(awk "$count_ours" "$work/alone.log")
    contexts=${counts%% *}
    [ "$counts" = "$contexts 0 0" ] || fail "$driver: the program makes queues as the recorder does: $counts"
    counts=$(awk "$count_ours" "$work/captured.log")
    [ "$counts" = "$contexts $contexts $contexts" ] || fail "$driver: contexts, queues of ours, and released ones: $counts"
    on_driver "$driver" "$TRACESMITH" replay --json "$work/run.sbt" >"$work/answer.json" 2>"$work/err" ||
        fail "$driver: replay: $(cat "$work/err" "$work/answer.json")"
    # In three contexts a kernel wrote a buffer: what it read, and what the buffer held at the end.
    python3 -c 'import json, sys
answer = json.load(open(sys.argv[1]))
results = answer["results"]
sys.exit(answer["verdicts"]["exact"] != len(results) or sum(r["what"] == "released" for r in results) != 3)' \
        "$work/answer.json" || fail "$driver: $(cat "$work/answer.json")"
    # Copies that wait for commands of several queues share the queue where it keeps no order.
    if [ "$driver" != rusticl ]; then
        seen captured "$TRACESMITH" profile --capture -o "$work/run.sbt" -- "$programs/cl_finish" -n 1
        counts=$(awk "$count_ours" "$work/captured.log")
        [ "${counts%% *}" = "$(echo "$counts" | cut -d ' ' -f 2)" ] || fail "$driver: contexts and queues of ours: $counts"
    fi
    tried="$tried $driver"
done
[ -n "$tried" ] || skip "no OpenCL driver (./dev drivers)"
echo "contexts end as alone on$tried"
