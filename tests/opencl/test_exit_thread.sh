#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# At exit no driver is called by the thread that ends the program: exit() has destroyed its thread-local objects by then,
# those of a driver too. cl_what_if leaves memory behind, which --capture copies at exit; a layer below ours sees from which
# thread.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

layer=$work/libexit.so
"${CC:-cc}" -shared -fPIC -o "$layer" "$here/exit_layer.c" 2>"$work/cc" || skip "no compiler: $(head -n 1 "$work/cc")"
export OPENCL_LAYERS="$layer"

# ends LOG OPTION...: a profiled program to its end.
ends() {
    EXIT_LAYER_LOG=$work/$1
    export EXIT_LAYER_LOG
    : >"$EXIT_LAYER_LOG"
    shift
    "$TRACESMITH" profile "$@" -o "$work/run.sbt" -- "$programs/cl_what_if" independent -n 2 --work 1 >"$work/out" 2>&1 ||
        fail "$*: exit status $?: $(tail -n 3 "$work/out")"
}
for options in "" --stacks --capture; do
    # shellcheck disable=SC2086 # a list of options
    ends "log$options" $options
    ! grep '^destroyed' "$work/log$options" || fail "'$options': the driver was called by the thread that ends the program"
done
grep -q '^alive clEnqueueReadBuffer' "$work/log--capture" || fail "--capture copied nothing at exit: the test shows nothing"
