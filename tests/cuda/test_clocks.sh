#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CUPTI's clock is CLOCK_REALTIME, which may be set while a program is recorded: kernels keep their correct place on
# the trace clock. And CUPTI is never given a clock of ours, which would corrupt another tool's records.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

# An hour more after the first half second, for the program alone.
cat >"$work/step.c" <<'C'
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    static __thread int inside;
    static time_t begun;
    struct timespec since;
    const int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock != CLOCK_REALTIME || result || inside)
        return result;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &since);
    const long long at = (long long)since.tv_sec * 1000000000 + since.tv_nsec;
    static long long first;
    (void)begun;
    if (!first)
        first = at;
    if (at - first > 500000000)
        now->tv_sec += 3600;
    return 0;
}
C
${CC:-cc} -fPIC -shared -o "$work/step.so" "$work/step.c"
export MOCK_KERNEL_NS=100000
record stepped -- env LD_PRELOAD="$work/step.so" "$programs/cu_work" launches=20000
[ "$status" -eq 0 ] || fail "exit status $status"
grep -q 'timestamp callback' "$work/stepped.err" && fail "a timestamp callback was registered"
python3 - "$work" <<'PY'
import sys
from trace import Run

run = Run(sys.argv[1], "stepped")
launches = [e["start"] for e in run.calls("cuLaunchKernel")]
# The step can fall into one call: this call has no time, which the ledger states.
untimed = 20000 - len(launches)
run.expect(untimed in (0, 1) and run.missing("no_timing") >= untimed, f"{len(launches)} calls")
first, last = min(launches), max(launches)
run.expect(last - first < 600e9, f"calls are {last - first} ns apart")
timed = [k for k in run.of("kernel") if "duration" in k]
run.expect(len(run.of("kernel")) == 20000, "kernels")
# Only around the step itself the time is ambiguous: between two comparisons of the clocks, a tenth of a second.
run.expect(len(timed) > 14000, f"{len(timed)} kernels have times")
for kernel in timed:
    run.expect(first - 1e6 <= kernel["start"] <= last + 60e9, f"a kernel at {kernel['start'] - first} ns")
run.expect(0 < int(run.attributes["cuda.clock_error_ns"]) < 10**7, "the error of the clock is not said")
PY
