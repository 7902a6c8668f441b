#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that end badly: the exit code is the program's own, every finished launch is there, and those without a
# wait are there or counted.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

end() {
    name=$1
    expected=$2
    shift 2
    bare=0
    "$programs/cl_crash" -n 300 -u 40 "$@" >/dev/null 2>&1 || bare=$?
    record "$name" "$programs/cl_crash" -n 300 -u 40 "$@"
    [ "$bare" -eq "$expected" ] || fail "$name: $bare without the profiler, not $expected"
    [ "$status" -eq "$expected" ] || fail "$name: $status under the profiler, $expected without"
    python3 - "$work/$name.json" "$work/$name.out" <<'PY'
import sys
from trace import Trace, expect, lines_of_truth

trace = Trace(sys.argv[1])
truth = lines_of_truth(sys.argv[2])[0]
launched = truth["finished"] + truth["unfinished"]
calls = len(trace.calls("clEnqueueNDRangeKernel"))
kernels = len(trace.of("kernel"))
missing = trace.lost["by_reason"].get("no_completion", 0)
expect(calls == launched, f"{calls} calls of {launched}")
expect(kernels >= truth["finished"], f"{kernels} kernels, {truth['finished']} were finished")
# Where nothing runs at its end, a thread may have been between recording a command and counting it.
unknown = kernels + missing - launched
expect(unknown == 0 or unknown == 1 and truth["how"] not in ("exit", "return"),
       f"{kernels} kernels and {missing} without completion of {launched}")
trace.check_order()
print(f"{truth['how']}: {kernels} of {launched}, {missing} without completion")
PY
}

end exit 0 exit
end return 0 return
end _exit 0 _exit
end abort 134 abort
end fault 139 fault
end killed 137 signal 9
end terminated 143 signal 15
