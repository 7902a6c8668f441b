#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All that a SYCL program submits and waits for is in its trace, over a mock of XPTI's framework: with several threads, another
# subscriber before, a framework without the newer function, one that refuses, and a program that is killed. Without the framework,
# and without --api sycl, a program is unharmed.
set -eu
api=sycl
# shellcheck source=tests/support/agent.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/support/agent.sh"
program=${TRACESMITH_BUILD_DIR:?}/tests/programs/sycl_work
unset XPTI_TRACE_ENABLE XPTI_SUBSCRIBERS XPTI_FRAMEWORK_DISPATCHER MOCK_XPTI
usual=${LD_LIBRARY_PATH-}
mocks "$TRACESMITH_BUILD_DIR/tests/sycl/mock"

run() {
    name=$1
    shift
    record "$name" -- "$program" "$@"
    [ "$status" -eq 0 ] || fail "$name: exit status $status: $(cat "$work/$name.err")"
}
run plain submissions=100
run threads submissions=50 threads=4
options='--aggregate 50ms' run sums submissions=50 threads=4
ln -s threads.sbt "$work/events.sbt"
python3 "$TRACESMITH_SOURCE_DIR/tests/support/check_sums.py" "$work"
options=--stacks run stacks submissions=20
MOCK_XPTI=refuses run refused submissions=20
LD_LIBRARY_PATH=$TRACESMITH_BUILD_DIR/tests/sycl/mock-older run older submissions=20
record children -- sh -c "'$program' submissions=10 && '$program' submissions=20"

# What the user has set stays: a subscriber comes first, and XPTI_TRACE_ENABLE=0 is an order.
cat >"$work/other.c" <<'C'
#include <stdio.h>
void xptiTraceInit(unsigned a, unsigned b, const char *version, const char *stream);
void xptiTraceInit(unsigned a, unsigned b, const char *version, const char *stream) {
    (void)a, (void)b, (void)version;
    printf("other %s\n", stream);
}
void xptiTraceFinish(const char *stream);
void xptiTraceFinish(const char *stream) { (void)stream; }
C
${CC:-cc} -shared -fPIC -o "$work/other.so" "$work/other.c"
XPTI_SUBSCRIBERS=$work/other.so run other submissions=20
[ "$(grep -c '^other ' "$work/other.out")" -eq 3 ] || fail "other: $(cat "$work/other.out")"
XPTI_TRACE_ENABLE=0 run off submissions=20

mkfifo "$work/said"
# shellcheck disable=SC2016 # the inner shell expands it
"$TRACESMITH" profile --api sycl -o "$work/killed.sbt" -- sh -c '"$0" submissions=20 forever >"$1" & read -r line <"$1" && kill -KILL $! && { wait $! || :; }' \
    "$program" "$work/said" >"$work/killed.out" 2>"$work/killed.err" || fail "killed: $(cat "$work/killed.err")"
"$TRACESMITH" view --json "$work/killed.sbt" >"$work/killed.json" || fail "killed: no trace"
"$TRACESMITH" info --json "$work/killed.sbt" >"$work/killed.info"

# Without the framework: the runtime cannot load it, and continues.
LD_LIBRARY_PATH=$usual run absent submissions=20
# Not by default.
api=nvtx run default submissions=20

python3 - "$work" <<'PY'
import sys
from collections import Counter

from agent_run import AgentRun


class Run(AgentRun):
    def __init__(self, name):
        super().__init__(sys.argv[1], name)
        self.ranges = [event for event in self.of("range") if event["category"] == "sycl"]
        self.waits = [event for event in self.of("api") if event["category"] == "sycl"]

    def check(self, submissions, queues=True, ended=True, mains=1):
        """The half of each kind, the host tasks in the odd ones, and the two that the end of the program has."""
        half = submissions // 2
        wanted = {"Axpy<float>": half, "fill usm": half, "host task": half, **({"around": mains} if ended else {})}
        self.expect(Counter(r["name"] for r in self.ranges) == wanted, f"{Counter(r['name'] for r in self.ranges)}")
        self.expect(Counter(w["name"] for w in self.waits) == {"queue.wait": half, "event.wait": half}, f"{len(self.waits)} waits")
        for r in self.ranges:
            queue = {"Axpy<float>": 2, "fill usm": 1, "around": 1}.get(r["name"]) if queues else None
            self.expect(r.get("args", {}).get("syclQueue") == queue, f"{r}")
            placed = (None, None) if r["name"] == "host task" else ("axpy.cpp", 12)
            self.expect(tuple(r.get("args", {}).get(key) for key in ("sourceFile", "sourceLine")) == placed, f"{r}")
            self.expect(self.tracks[r["track"]]["kind"] == "thread", f"{r}")
        for task in (r for r in self.ranges if r["name"] == "host task"):
            end = task["start"] + task["duration"]
            around = [r for r in self.ranges if r["name"] == "Axpy<float>" and r["track"] == task["track"]]
            self.expect(any(r["start"] <= task["start"] and end <= r["start"] + r["duration"] + 1 for r in around), f"{task} lies in no submission")


plain = Run("plain")
plain.check(100)
plain.expect(plain.lost == {"unmatched": 1}, f"{plain.lost}")
plain.expect(plain.attributes["sycl.runtime"] == "sycl 9.0" and "XPTI" in plain.attributes["simulated"], f"{plain.attributes}")
threads = Run("threads")
threads.check(200)
threads.expect(len({r["track"] for r in threads.ranges}) == 4, "four threads")
stacks = Run("stacks")
stacks.check(20)
stacks.expect(all("stack" in event for event in stacks.ranges + stacks.waits), "without a stack")
Run("other").check(20)
Run("older").check(20, queues=False)
Run("children").check(30, mains=2)
refused = Run("refused")
refused.expect(not refused.ranges and refused.lost == {"untraced": 1} and "SYCL is not recorded" in refused.said, f"{refused.lost} {refused.said}")
killed = Run("killed")
killed.check(20, ended=False)
killed.expect(killed.lost.get("no_completion") == 2, f"{killed.lost}")
for name in "off", "absent", "default":
    run = Run(name)
    run.expect(not run.ranges and not run.waits and not run.lost, f"{run.ranges} {run.lost}")
PY
