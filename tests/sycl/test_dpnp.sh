#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs of Intel's SYCL runtime on its OpenCL driver for CPUs, really: what is recorded against what a second subscriber, built with
# XPTI's own headers, gets, and against the program's own count. Its output is unchanged, and the OpenCL commands of a submission lie in it.
# Needs what `./dev sycl --install` installs; TRACESMITH_SYCL names another Python that has dpnp.
set -eu
api=sycl
# shellcheck source=tests/support/agent.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/support/agent.sh"
python=${TRACESMITH_SYCL:-${XDG_CACHE_HOME:-$HOME/.cache}/tracesmith/drivers/sycl/bin/python}
[ -x "$python" ] || skip "no Python with dpnp (./dev sycl --install, or TRACESMITH_SYCL=PYTHON)"
prefix=$("$python" -c 'import sys; print(sys.prefix)')
command -v c++ >/dev/null || skip "no compiler of C++ for the second subscriber"
unset XPTI_TRACE_ENABLE XPTI_SUBSCRIBERS XPTI_FRAMEWORK_DISPATCHER ONEAPI_DEVICE_SELECTOR
OCL_ICD_FILENAMES=$prefix/lib/libintelocl.so OCL_ICD_VENDORS=$work
export OCL_ICD_FILENAMES OCL_ICD_VENDORS
unset PYTHONPATH
c++ -std=c++17 -w -shared -fPIC -I"$prefix/include" -I"$TRACESMITH_SOURCE_DIR" -o "$work/other.so" "$here/other_tool.cc" \
    -L"$prefix/lib" -lxptifw || fail "agents/sycl/abi.h is not what XPTI's headers say"

# run NAME SCRIPT ARGUMENT...: alone, and recorded with the second subscriber before
run() {
    name=$1 script=$2
    shift 2
    "$python" "$here/$script" "$@" >"$work/$name.alone" || fail "$name alone: $?"
    OTHER_TOOL_LOG=$work/$name.log XPTI_SUBSCRIBERS=$work/other.so record "$name" -- "$python" "$here/$script" "$@"
    [ "$status" -eq 0 ] || fail "$name: exit status $status: $(cat "$work/$name.err")"
    cmp -s "$work/$name.alone" "$work/$name.out" || fail "$name: the program prints something else: $(cat "$work/$name.out")"
}
run submits submits.py 40 10 1
run threads submits.py 20 5 4
run arrays arrays.py
options=--stacks run stacks submits.py 10 1 1
api=opencl,sycl run both submits.py 40 10 1

PYTHONPATH=$TRACESMITH_SOURCE_DIR/tests/support python3 - "$work" <<'PY'
import sys
from collections import Counter

from agent_run import AgentRun

DEMANGLED = "typeinfo name for "


class Run(AgentRun):
    def __init__(self, name):
        super().__init__(sys.argv[1], name)
        self.ranges = [event for event in self.of("range") if event["category"] == "sycl"]
        self.waits = [event for event in self.of("api") if event.get("category") == "sycl"]
        lines = self.read("log").splitlines()
        submissions = Counter(line.split(" ", 1)[1].removeprefix(DEMANGLED) for line in lines if line.startswith("submission "))
        waits = Counter(line.split(" ", 1)[1] for line in lines if line.startswith("wait "))
        recorded = Counter(r["name"] for r in self.ranges)
        self.expect(recorded == submissions and submissions, f"{recorded} of {submissions}")
        self.expect(Counter(w["name"] for w in self.waits) == waits, f"{Counter(w['name'] for w in self.waits)} of {waits}")
        self.expect("simulated" not in self.attributes and self.attributes["sycl.runtime"].startswith("sycl"), f"{self.attributes}")


def check_counts(run, threads):
    words = run.printed.split()
    kernels, copies = int(words[1]), int(words[3])
    names = Counter(r["name"] for r in run.ranges)
    run.expect(sorted(names.values()) == sorted((kernels, copies)) and names["memcpy"] == copies, f"{names}")
    run.expect(len({r["track"] for r in run.ranges}) == threads, "the threads that submit")
    run.expect(all(r["args"]["syclQueue"] >= 1 for r in run.ranges), "without a queue")


for name, threads in ("submits", 1), ("threads", 4), ("stacks", 1), ("both", 1):
    check_counts(Run(name), threads)
for name in "submits", "threads", "arrays", "stacks":
    Run(name).expect(not Run(name).lost, f"{Run(name).lost}")
arrays = Run("arrays")
arrays.expect(sum("dpnp" in r["name"] for r in arrays.ranges) >= 40, f"{Counter(r['name'] for r in arrays.ranges)}")
stacks = Run("stacks")
stacks.expect(all("stack" in event for event in stacks.ranges + stacks.waits), "without a stack")
both = Run("both")
calls = [event for event in both.of("api") if event["name"] == "clEnqueueNDRangeKernel"]
submissions = [r for r in both.ranges if r["name"] != "memcpy"]
both.expect(len(calls) == len(submissions) == len(both.of("kernel")) == 40, f"{len(calls)} calls, {len(submissions)} submissions")
for call, submission in zip(sorted(calls, key=lambda e: e["start"]), sorted(submissions, key=lambda e: e["start"])):
    both.expect(call["track"] == submission["track"] and submission["start"] <= call["start"], f"{call} {submission}")
    both.expect(call["start"] + call["duration"] <= submission["start"] + submission["duration"] + 1, f"{call} {submission}")
PY
