#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Thousands of call paths, and each launch has its own: through libraries, plugins that come and go in one another's place,
# tail calls, signal handlers, an alternate stack, a coroutine's, threads; also when
# program and collector are killed in the middle, and the trace is recovered.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
: "${CC:?}"
[ "$(uname -m)" = x86_64 ] || skip "of other processors the walk alone is tested (unwind.aarch64)"

# compile OUTPUT TABLE SEED [FLAG...]
compile() {
    output=$1 table=$2 seed=$3
    shift 3
    "$CC" -O2 -fomit-frame-pointer -fPIC -DFUNCTIONS_NAME="$table" -DSEED="$seed" -I"$here/stacks" "$@" \
        -o "$work/$output" "$here/stacks/functions.c"
}
compile libone.so functions_one 1 -shared -Wl,-z,lazy
compile libtwo.so functions_two 2 -shared -Wl,-z,now
compile plugin-3.so functions_plugin 3 -shared
compile plugin-4.so functions_plugin 4 -shared
compile functions.o functions_main 9 -c
# shellcheck disable=SC2086 # no word where there is no sanitizer
"$CC" -O2 -fomit-frame-pointer -D_GNU_SOURCE -DCL_TARGET_OPENCL_VERSION=300 -rdynamic -pthread $sanitize -I"$here/stacks" \
    -o "$work/main" "$here/stacks/main.c" "$work/functions.o" "$work/libone.so" "$work/libtwo.so" -lOpenCL -ldl \
    -Wl,-rpath,"$work"

"$TRACESMITH" profile --stacks -o "$work/trace.sbt" -b 16M -- "$work/main" "$work/truth" "$work/plugin-3.so" \
    "$work/plugin-4.so" >"$work/launches" 2>"$work/err" || fail "the program ended with $?: $(cat "$work/err")"
python3 "$here/check_stacks.py" "$work/truth" "$work/trace.sbt" "$(cat "$work/launches")" \
    "$work/main"

status=0
"$TRACESMITH" profile --stacks -o "$work/killed.sbt" -b 16M -- "$work/main" "$work/killed" "$work/plugin-3.so" \
    "$work/plugin-4.so" 4700 >/dev/null 2>&1 || status=$?
[ "$status" -eq 137 ] || fail "the collector was to be killed, and ended with $status"
"$TRACESMITH" recover "$(cat "$work/killed.session")" -o "$work/recovered.sbt" --remove >"$work/recover.out" 2>&1 ||
    fail "recover ended with $?: $(cat "$work/recover.out")"
python3 "$here/check_stacks.py" "$work/killed" "$work/recovered.sbt" killed "$work/main"

# Recovering names the frames as the end of a recording does: with the binaries gone, the file has their names.
for module in main libone.so libtwo.so plugin-3.so plugin-4.so; do
    nm -S "$work/$module" >"$work/$module.nm"
    rm "$work/$module"
done
python3 "$here/check_stacks_named.py" "$work/recovered.sbt" "$work" main libone.so libtwo.so plugin-3.so plugin-4.so
