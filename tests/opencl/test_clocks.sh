#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A run in which CLOCK_REALTIME jumps an hour ahead and back again, for the program, the agent and the collector: every
# command still comes after its call, in the order queued, submitted, start, end, and at the very times that the program
# itself read from the device.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

cat >"$work/step.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

// One hour more in every second half of 20 ms.
static long step(const struct timespec *now) { return now->tv_nsec / 10000000 % 2 ? 3600 : 0; }
int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    const int result = real ? real(clock, now) : (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && clock == CLOCK_REALTIME)
        now->tv_sec += step(now);
    return result;
}
int gettimeofday(struct timeval *now, void *zone) {
    struct timespec exact;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *out) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (out)
        *out = exact.tv_sec;
    return exact.tv_sec;
}
C
"${CC:-cc}" -shared -fPIC -o "$work/libstep.so" "$work/step.c" -ldl 2>"$work/cc" || skip "no compiler: $(head -1 "$work/cc")"
[ -z "${TRACESMITH_SANITIZE-}" ] || skip "a sanitizer insists on being loaded first"
status=0
LD_PRELOAD="$work/libstep.so" "$TRACESMITH" profile -b 16M -o "$work/step.sbt" -- "$programs/cl_every_command" \
    >"$work/step.out" 2>"$work/step.err" || status=$?
[ "$status" -eq 0 ] || fail "ended with $status: $(cat "$work/step.err")"
"$TRACESMITH" view -f json "$work/step.sbt" >"$work/step.json"
python3 - "$work/step.json" "$work/step.out" <<'PY'
import sys
from trace import Trace, expect, load_truth

trace = Trace(sys.argv[1])
truth = load_truth(sys.argv[2])
commands = sorted(trace.commands(), key=lambda c: c["correlation"])
expect(len(commands) == truth["counts"]["commands"], f"{len(commands)} commands")
timed = trace.check_order()
trace.check_waits()
offsets = set()
for said, seen in zip(truth["commands"], commands):
    if "times" in said and "queued" in seen:
        times = [seen["queued"], seen["submitted"], seen["start"], seen["start"] + seen["duration"]]
        offsets |= {a - b for a, b in zip(times, said["times"])}
expect(len(offsets) == 1, f"the device's clock moved against the trace: {sorted(offsets)[:5]}")
span = max(e["start"] for e in trace.events) - min(e["start"] for e in trace.events)
expect(span < 600 * 10**9, f"the trace spans {span} ns")
print(f"{timed} commands in order over {span / 1e6:.0f} ms")
PY
