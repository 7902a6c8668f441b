#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A profiler within the program: only what was enqueued between its start and its stop is recorded, with times also in
# queues made before; and once it is gone, queues are made as the program wants them. Another layer sees how they are made.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

"${CC:-cc}" -shared -fPIC -o "$work/libother.so" "$here/other_layer.c" 2>"$work/cc" ||
    skip "no compiler: $(head -1 "$work/cc")"
# shellcheck disable=SC2086 # no words when empty
"${CC:-cc}" $sanitize -I"$TRACESMITH_SOURCE_DIR/include" -o "$work/switched_off" "$here/switched_off.c" \
    -L"$TRACESMITH_BUILD_DIR/lib" -Wl,-rpath,"$TRACESMITH_BUILD_DIR/lib" -ltracesmith -lOpenCL 2>"$work/cc" ||
    skip "cannot be built here: $(head -1 "$work/cc")"

OPENCL_LAYERS=$work/libother.so OTHER_LAYER_QUEUES=$work/queues "$work/switched_off" "$agents" >"$work/timed"
[ "$(cat "$work/timed")" = 7 ] || fail "7 commands were enqueued while recording, $(cat "$work/timed") have times"
printf 'profiling\nprofiling\nprofiling\nplain\n' | cmp - "$work/queues" || fail "queues: $(cat "$work/queues")"
echo "switched off: ok"
