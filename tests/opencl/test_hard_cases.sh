#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Thousands of commands in flight, callbacks that enqueue, exits in odd places, forks, short threads, lifetimes: the same
# output and exit code with and without the profiler, nothing hangs, and every launch is in the trace or in the ledger.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

cases=$work/hard_cases
# An agent built with a sanitizer loads only into programs built with it.
"${CC:-cc}" -O1 ${TRACESMITH_SANITIZE:+"-fsanitize=$TRACESMITH_SANITIZE" "$here/../leaks_allowed.c"} \
    -o "$cases" "$here/hard_cases.c" -lOpenCL -lpthread 2>"$work/cc" || skip "no compiler: $(head -1 "$work/cc")"

for name in $("$cases"); do
    bare=0
    timeout 200 "$cases" "$name" >"$work/bare" 2>/dev/null || bare=$?
    case $name in
    exit_in_callback) expected=3 ;;
    unwaited) expected=137 ;;
    *) expected=0 ;;
    esac
    [ "$bare" -eq "$expected" ] || fail "$name: $bare without the profiler, not $expected"
    record "$name" timeout -s ABRT 200 "$cases" "$name"
    [ "$status" -eq "$bare" ] || fail "$name: exit code $status, $bare without the profiler: $(cat "$work/$name.err")"
    diff "$work/bare" "$work/$name.out" || fail "$name: another output"
    python3 - "$work/$name.json" "$work/$name.out" "$name" <<'PY'
import re
import sys
from trace import Trace, expect

trace = Trace(sys.argv[1])
said = re.findall(r"^launches (\d+)$", open(sys.argv[2]).read(), re.M)
launched = int(said[-1]) if said else len(trace.calls("clEnqueueNDRangeKernel"))
kernels = len(trace.of("kernel"))
lost = trace.lost["by_reason"]
missing = lost.get("no_completion", 0)
expect(kernels + missing == launched, f"{sys.argv[3]}: {kernels} kernels, {missing} missing, of {launched}")
# Only a program that ended before its commands did may miss some.
expect(missing == (1 if sys.argv[3] == "exit_while_blocked" else 0), f"{sys.argv[3]}: {missing} missing")
allowed = {"no_completion", "process_died"}
if sys.argv[3] == "command_buffer":
    allowed.add("untraced")
    expect(lost.get("untraced", 0) == int("command buffers 1" in open(sys.argv[2]).read()), str(lost))
expect(not lost.keys() - allowed, f"{sys.argv[3]}: {lost}")
trace.check_order()
trace.check_waits()
if sys.argv[3] == "notified_builds":
    builds = [e for e in trace.of("compile") if e["operation"] == "build"]
    expect(len(builds) == 101, f"{len(builds)} builds")
    expect(sum(e.get("text") == "-DCASE" for e in builds) == 100, "the options of the builds")
if sys.argv[3] == "failing_builds":
    results = [e["result"] for e in trace.of("compile") if e.get("text") == "-DFAILS"]
    expect(results == [-11] * 3, f"results of the builds {results}")
print(f"{sys.argv[3]}: {kernels} of {launched}")
PY
done
