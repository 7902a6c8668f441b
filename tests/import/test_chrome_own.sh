#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A trace of our own that went out as Chrome JSON comes back with the events that it had (check_chrome_own.py), and goes out
# again as it was (compare_chrome.py): traces that are hard to write, a recording of every kind of command, ranges with
# categories. Through a pipe, too.
set -eu
# shellcheck source=tests/support/traces.sh
. "$(dirname "$0")/../support/traces.sh"
here=$source/tests/import
programs=$TRACESMITH_BUILD_DIR/tests/programs

# check [twice]: fields of one name are one key in JSON, and of these any may be the last.
check() {
    "$TRACESMITH" export "$folder/trace.sbt" -f chrome -o "$folder/trace.json" 2>/dev/null
    "$TRACESMITH" import "$folder/trace.json" -o "$folder/back.sbt" >/dev/null 2>&1
    python3 "$here/check_chrome_own.py" "$folder/trace.sbt" "$folder/back.sbt"
    "$TRACESMITH" export "$folder/back.sbt" -f chrome -o "$folder/again.json" 2>/dev/null
    [ $# -gt 0 ] || python3 "$here/compare_chrome.py" "$folder/trace.json" "$folder/again.json"
    rm "$folder/back.sbt"
    "$TRACESMITH" import - -o "$folder/back.sbt" <"$folder/again.json" >/dev/null 2>&1
    python3 "$here/check_chrome_own.py" "$folder/trace.sbt" "$folder/back.sbt"
    rm "$folder/back.sbt" "$folder/trace.sbt"
}

for made in 'make_awkward.py 1' 'make_awkward.py 2' 'make_nested.py 1' 'make_launches.py 1'; do
    # shellcheck disable=SC2086 # several words
    python3 "$source/tests/export"/$made | "$programs/sbt_make" "$folder/trace.sbt"
    case $made in
    make_awkward*) check twice ;;
    *) check ;;
    esac
done
# The category and the kind are two things.
"$programs/sbt_make" "$folder/trace.sbt" <<'END'
process 7 domains
device GPU cuda gpu
device GPU cuda gpu
track 1 thread 1 0
track 2 queue 1 2
track 2 queue 1 1
event 1 6 100 duration=5 name=call category=nccl correlation=3
event 1 10 200 duration=5 name=range category=kernel
event 1 11 300 duration=5 name=allreduce category=nccl bytes=8
event 1 9 400 name=here category=api
event 1 7 500 duration=5 name=wait category=tracesmith.loss
event 1 19 600 duration=5 lost=4 reason=1
event 2 1 700 duration=5 name=k correlation=3
event 3 2 800 duration=5 bytes=4 direction=1
END
check
status=0
"$programs/cl_launch_loop" -n 1 >/dev/null 2>&1 || status=$?
if [ "$status" -eq 0 ] && [ -f "$TRACESMITH_BUILD_DIR/lib/tracesmith/libtracesmith-opencl.so" ]; then
    for program in cl_every_command cl_nvtx; do
        "$TRACESMITH" profile --stacks -o "$folder/trace.sbt" -- "$programs/$program" >/dev/null 2>&1
        check
    done
fi
