#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program whose library brings a loader of its own that knows no layers: it is not harmed by the preloaded library, and
# recorded with it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
[ -z "$sanitize" ] || skip "python3 is not built with the sanitizer"
preload=$agents/libtracesmith-opencl-preload.so
own=$work/libown.so
command -v "${CC:-cc}" >/dev/null || skip "no compiler"
for name in own incomplete; do
    [ $name = own ] && define=OWN || define=INCOMPLETE
    "${CC:-cc}" -shared -fPIC -D"$define" -I "$TRACESMITH_SOURCE_DIR/agents" -o "$work/lib$name.so" "$here/own_loader.c" -ldl \
        2>"$work/cc" || fail "own_loader.c cannot be built: $(cat "$work/cc")"
done

cat >"$work/program.py" <<'PY'
import ctypes
import sys

number = ctypes.CDLL(sys.argv[1]).count_to(20)
print("counted to", number)
sys.exit(number != 20)
PY
count() {
    "$TRACESMITH" query --csv "$work/$1.sbt" 'SELECT (SELECT count(*) FROM kernel), (SELECT count(*) FROM memcpy)' | tail -1 | tr -d "\r"
}
python3 "$work/program.py" "$own" >"$work/alone" || fail "the program does not run alone: $(cat "$work/alone")"

LD_PRELOAD=$preload python3 "$work/program.py" "$own" >"$work/idle" || fail "preloaded, without a session: the program ended with $?"
cmp "$work/alone" "$work/idle" || fail "preloaded, without a session: other output"

record unseen python3 "$work/program.py" "$own"
[ "$status" -eq 0 ] || fail "without the preloaded library: the program ended with $status"
grep -q 'opencl.preload' "$work/unseen.err" || fail "the message does not name the option: $(cat "$work/unseen.err")"

"$TRACESMITH" profile --agent-option opencl.preload -o "$work/seen.sbt" -- python3 "$work/program.py" "$own" >"$work/seen.out" \
    2>"$work/seen.err" || fail "recorded, the program ended with $?: $(cat "$work/seen.err")"
cmp "$work/alone" "$work/seen.out" || fail "recorded: other output"
[ "$(count seen)" = "20,1" ] || fail "of 20 launches and a read there are $(count seen): $(cat "$work/seen.err")"

# A loader without the functions that the agent asks: not recorded, not harmed.
"$TRACESMITH" profile --agent-option opencl.preload -o "$work/incomplete.sbt" -- python3 "$work/program.py" \
    "$work/libincomplete.so" >"$work/incomplete.out" 2>"$work/incomplete.err" ||
    fail "with an incomplete loader the program ended with $?: $(cat "$work/incomplete.err")"
cmp "$work/alone" "$work/incomplete.out" || fail "an incomplete loader: other output"

# Programs with the system's loader are recorded once.
"$TRACESMITH" profile --agent-option opencl.preload -o "$work/both.sbt" -- "$programs/cl_launch_loop" -n 30 >/dev/null 2>&1 ||
    fail "cl_launch_loop ended with $?"
[ "$("$TRACESMITH" query --csv "$work/both.sbt" 'SELECT count(*) FROM kernel' | tail -1 | tr -d "\r")" = 31 ] || fail "a program of the system's loader"

echo "a program with a loader of its own has 20 of 20 launches"
