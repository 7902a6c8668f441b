#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that are not like lists.c alone: a library that is opened late, children, a driver that does not start, a tracing layer
# that is not there, programs without Level Zero. Each prints what it prints alone, with the same exit status; what is recorded,
# and what is said of the rest, is as docs/level_zero.md says.
set -eu
# shellcheck source=tests/level_zero/common.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/level_zero/common.sh"
"${CC:-cc}" -O1 -o "$work/late" "$here/late.c" -ldl
"${CC:-cc}" -O1 -shared -fPIC -o "$work/plugin.so" "$here/plugin.c" -lze_loader

# same NAME COMMAND...: alone and profiled alike
same() {
    name=$1
    shift
    alone=0
    "$@" >"$work/$name.alone" 2>"$work/$name.alone.err" || alone=$?
    status=0
    "$TRACESMITH" profile -o "$work/$name.sbt" --api level-zero -- "$@" >"$work/$name.out" 2>"$work/$name.err" || status=$?
    [ "$alone" = "$status" ] || fail "$name: exit status $status, alone $alone: $(cat "$work/$name.err")"
    cmp -s "$work/$name.alone" "$work/$name.out" || fail "$name: the program prints something else"
    "$TRACESMITH" view --json "$work/$name.sbt" >"$work/$name.json" || fail "$name: no trace"
}
# has NAME COUNT FUNCTION: that many calls
has() {
    count=$(grep -c "\"kind\":\"api\",\"name\":\"$3\"" "$work/$1.json") || [ "$2" = 0 ] || fail "$1: no call of $3"
    [ "$count" = "$2" ] || fail "$1: $count calls of $3 instead of $2"
}

same plugin "$work/late" plugin "$work/plugin.so"
has plugin 1 zeCommandQueueSynchronize

# shellcheck disable=SC2016 # the inner shell expands it
same children sh -c '"$0" many 10 && "$0" many 20; exec "$0" many 30' "$work/lists"
has children 60 zeCommandListAppendLaunchKernel

same dlsym "$work/late" dlsym
same none "$work/late" none
same broken env MOCK_INIT_FAILS=1 "$work/lists" many 5
same no_driver env ZE_ENABLE_ALT_DRIVERS=/nonexistent/driver.so "$work/lists" many 5
for name in dlsym none broken no_driver; do
    has "$name" 0 zeCommandListAppendLaunchKernel
    grep -q 'used none of the recorded GPU APIs' "$work/$name.err" || fail "$name: nothing says that nothing was recorded"
done

same no_layer env ZE_ENABLE_TRACING_LAYER=0 "$work/lists" many 5
has no_layer 0 zeCommandListAppendLaunchKernel
grep -q 'the tracing layer of the loader is not loaded' "$work/no_layer.err" || fail "no_layer: $(cat "$work/no_layer.err")"
grep -q '"reason":"untraced"' "$work/no_layer.json" || fail "no_layer: no loss"

"$TRACESMITH" devices >"$work/devices" 2>&1 || fail "devices: $(cat "$work/devices")"
grep -q 'TraceSmith simulated GPU' "$work/devices" || fail "devices: $(cat "$work/devices")"

# Only if it is named: without, nothing is preloaded.
# shellcheck disable=SC2016 # the inner shell expands it
"$TRACESMITH" profile -o "$work/default.sbt" -- sh -c 'echo "[${LD_PRELOAD-}][${ZE_ENABLE_TRACING_LAYER-}]"' \
    >"$work/default" 2>"$work/default.err" || fail "default: $(cat "$work/default.err")"
case $(cat "$work/default") in
*level-zero* | *'[1]') fail "Level Zero is recorded though it was not named: $(cat "$work/default")" ;;
esac
echo "level zero: late libraries, children and failures are as they are alone"
