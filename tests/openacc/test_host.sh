#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# OpenACC programs of GCC, really, whose runtime executes them on the host: what is recorded against what a second tool, built with the
# compiler's own header, gets, and against the program's own count. Its output is unchanged; a fork, a kill and a program without OpenACC
# do what docs/openacc.md says. Launches and transfers, which the host has not, come from a stand-in for a runtime.
set -eu
api=openacc
# shellcheck source=tests/support/agent.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/support/agent.sh"
command -v gcc >/dev/null || skip "no gcc, whose OpenACC is tried"
echo '#include <acc_prof.h>' | gcc -fopenacc -fsyntax-only -x c - 2>/dev/null || skip "gcc has no OpenACC (its libgomp)"
unset ACC_PROFLIB ACC_DEVICE_TYPE
gcc -fsyntax-only -I"$TRACESMITH_SOURCE_DIR" "$here/abi.c" || fail "agents/openacc/abi.h is not what acc_prof.h says"
gcc -O1 -fopenacc -o "$work/offload" "$here/offload.c"
gcc -O1 -fopenmp -o "$work/openmp" "$here/offload.c"
gcc -shared -fPIC -o "$work/other.so" "$here/other_tool.c"
gcc -O1 -o "$work/runtime" "$here/runtime.c" -ldl

# run NAME COMMAND...: alone, and recorded with the second tool before
run() {
    name=$1
    shift
    "$@" >"$work/$name.alone" || fail "$name alone: $?"
    OTHER_TOOL_LOG=$work/$name.log ACC_PROFLIB=$work/other.so record "$name" -- "$@"
    [ "$status" -eq 0 ] || fail "$name: exit status $status: $(cat "$work/$name.err")"
    cmp -s "$work/$name.alone" "$work/$name.out" || fail "$name: the program prints something else"
}
run plain "$work/offload" 5
options=--stacks run stacks "$work/offload" 5
run fork "$work/offload" 3 fork
run openmp "$work/openmp" 5
record device -- "$work/runtime" 4
[ "$status" -eq 0 ] || fail "device: exit status $status: $(cat "$work/device.err")"
options='--aggregate 50ms' record sums -- "$work/runtime" 4
ln -s device.sbt "$work/events.sbt"
python3 "$TRACESMITH_SOURCE_DIR/tests/support/check_sums.py" "$work"
mkfifo "$work/said"
# shellcheck disable=SC2016 # the inner shell expands it
record killed -- sh -c '"$0" 5 forever >"$1" & read -r line <"$1" && kill -KILL $! && { wait $! || :; }' "$work/offload" "$work/said"

python3 - "$work" <<'PY'
import sys
from collections import Counter

from agent_run import AgentRun

CONSTRUCTS = {0: "parallel", 1: "kernels", 3: "data", 4: "enter data", 5: "exit data", 12: "update"}


def text(event, construct):
    """The name of a range by the numbers of the interface: the event that ends, and the construct."""
    more = {11: ": enter data", 13: ": exit data"}.get(event, "") if construct not in (4, 5) else ""
    return f"acc {CONSTRUCTS[construct]}{more}"


class Run(AgentRun):
    def __init__(self, name):
        super().__init__(sys.argv[1], name)
        self.ranges = [event for event in self.of("range") if event["category"] == "openacc"]
        self.names = Counter(event["name"] for event in self.ranges)

    def check_log(self):
        lines = [tuple(map(int, line.split())) for line in self.read("log").splitlines()]
        wanted = Counter(text(event, construct) for event, construct, _ in lines if event in (11, 13, 15, 17))
        self.expect(self.names == wanted and wanted, f"{self.names} of {wanted}")
        self.expect({r["args"]["openaccDevice"] for r in self.ranges} == {device for _, _, device in lines}, "devices")

    def check(self, steps, times=1):
        # GCC 12 reports `kernels` as `parallel`.
        computed = self.names.pop("acc parallel", 0) + self.names.pop("acc kernels", 0)
        self.expect(computed == 2 * steps * times, f"{computed} compute constructs")
        each = {"acc data: enter data": steps, "acc data: exit data": steps, "acc update": steps, "acc enter data": 1, "acc exit data": 1}
        self.expect(self.names == {name: count * times for name, count in each.items()}, f"{self.names}")
        self.expect(not self.lost and all(self.tracks[r["track"]]["kind"] == "thread" for r in self.ranges), f"{self.lost}")


for name in "plain", "stacks":
    Run(name).check_log()
    Run(name).check(5)
Run("stacks").expect(all("stack" in r for r in Run("stacks").ranges), "without a stack")
Run("fork").check(3, times=2)
Run("killed").check(5)
openmp = Run("openmp")
openmp.expect(not openmp.events or not openmp.ranges, f"{openmp.ranges}")
openmp.expect(not openmp.lost and "not recorded" not in openmp.said, openmp.said)
device = Run("device")
device.expect(device.names == {"acc parallel": 5}, f"{device.names}")
calls = Counter((call["name"], call.get("bytes"), call.get("direction"), tuple(sorted(call.get("args", {}).items()))) for call in device.of("api"))
placed = (("openaccDevice", 1), ("sourceFile", "axpy.c"), ("sourceLine", 42))
variable, sizes, bare = (("variable", "values"),), (("gangs", 7), ("vectorLength", 32), ("workers", 2)), ()
wanted = {
    ("acc upload", 400, "h2d", placed + variable): 4,
    ("axpy$_omp_fn", None, None, tuple(sorted(placed + sizes))): 4,
    ("acc download", 400, "d2h", placed + variable): 4,
    ("acc wait", None, None, placed): 4,
    # Of the last construct nothing but the event and the construct is valid.
    ("acc upload", None, None, bare): 1,
    ("acc launch", None, None, bare): 1,
    ("acc download", None, None, bare): 1,
    ("acc wait", None, None, bare): 1,
}
device.expect(calls == wanted, f"{calls}")
PY
