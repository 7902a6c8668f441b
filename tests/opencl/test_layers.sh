#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Together with another layer, before it and after it: both see every launch. And through the preloaded library, which
# stands in where a loader knows no layers: the same counts; and not twice where the loader does know them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

other=$work/libother.so
"${CC:-cc}" -shared -fPIC -o "$other" "$here/other_layer.c" 2>"$work/cc" || skip "no compiler: $(head -1 "$work/cc")"
ours=$agents/libtracesmith-opencl.so
preload=$agents/libtracesmith-opencl-preload.so

launches() {
    python3 - "$work/$1.json" <<'PY'
import sys
from trace import Trace

trace = Trace(sys.argv[1])
trace.check_order()
print(len(trace.of("kernel")), len(trace.calls("clEnqueueNDRangeKernel")), trace.lost["total"])
PY
}

for order in "$ours:$other" "$other:$ours"; do
    record layers env OPENCL_LAYERS="$order" OTHER_LAYER_COUNT="$work/count" "$programs/cl_launch_loop" -n 100
    [ "$status" -eq 0 ] || fail "$order ended with $status"
    [ "$(launches layers)" = "101 101 0" ] || fail "$order: $(launches layers)"
    [ "$(cat "$work/count")" = 101 ] || fail "$order: the other layer saw $(cat "$work/count")"
done
# What the user had set stays in force under the profiler.
OPENCL_LAYERS=$other OTHER_LAYER_COUNT=$work/kept "$TRACESMITH" profile -o "$work/kept.sbt" -- \
    "$programs/cl_launch_loop" -n 50 >/dev/null 2>&1
[ "$(cat "$work/kept")" = 51 ] || fail "the user's own layer saw $(cat "$work/kept") of 51"

record preload env -u OPENCL_LAYERS LD_PRELOAD="$preload" "$programs/cl_launch_loop" -n 100
[ "$(launches preload)" = "101 101 0" ] || fail "preloaded: $(launches preload)"
record both env LD_PRELOAD="$preload" "$programs/cl_launch_loop" -n 100
[ "$(launches both)" = "101 101 0" ] || fail "preloaded and layer: $(launches both)"

# Without a session both are as good as not there.
"$programs/cl_own_events" >"$work/bare" 2>/dev/null
LD_PRELOAD=$preload OPENCL_LAYERS=$ours "$programs/cl_own_events" >"$work/idle" 2>/dev/null
cmp "$work/bare" "$work/idle" || fail "another output without a session"
TRACESMITH_SESSION=$work/nowhere OPENCL_LAYERS=$ours "$programs/cl_own_events" >"$work/idle" 2>/dev/null
cmp "$work/bare" "$work/idle" || fail "another output with a session that is not there"
echo "layers and preload see the same"
