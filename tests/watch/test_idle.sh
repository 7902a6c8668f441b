#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# analyze idle gives the reason why the host did not launch: the program's activity between its launches, by its own
# clock, equals the table's reasons for host-bound time.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
[ -f "$agents/libtracesmith-bpf.so" ] || skip "built without libbpf"
code=0
"$TRACESMITH" profile --sched -o "$work/run.sbt" -- "$programs/cl_sleepy" -n 10 >"$work/said.json" 2>"$work/err" || code=$?
[ "$code" -ne 4 ] || skip "$(cat "$work/err")"
[ "$code" -eq 0 ] || fail "recording: $(cat "$work/err")"
"$TRACESMITH" analyze --json --only idle "$work/run.sbt" >"$work/idle.json" || fail "it cannot be analyzed"
python3 - "$work/idle.json" "$work/said.json" <<'PY' || fail "it is not what the host did"
import json, sys
report = json.load(open(sys.argv[1]))["traces"][0]["reports"][0]["tables"]
said = json.load(open(sys.argv[2]))
causes = {row["cause"]: row["time_ns"] for row in report["causes"]}
rows = report["host_bound"]
assert sum(row["time_ns"] for row in rows) == causes["host_bound"], (rows, causes)
def total(**of):
    return sum(row["time_ns"] for row in rows if all(row[key] == value for key, value in of.items()))
times, asked = said["times"], said["rounds"] * said["pause"]
slept = total(host="sleeping", **{"in": "clock_nanosleep"})
assert asked * 0.97 <= slept <= times["sleeping"], (slept, times)
# Who woke it is known nearly always: a waking that meets the switch away half done is not seen.
def wakers(call):
    return {row["woken_by"]: row["time_ns"] for row in rows if row["host"] == "sleeping" and row["in"] == call}
assert set(wakers("clock_nanosleep")) <= {"interrupt", ""} and wakers("clock_nanosleep")["interrupt"] > slept / 2
# A wait for the other thread, if it was not over before it began; only that thread ends it.
read = total(host="sleeping", **{"in": "read"})
assert read <= times["waiting"] and set(wakers("read")) <= {"cl_sleepy", ""}, wakers("read")
assert total(host="running") + total(host="ready") >= times["computing"] * 0.97
assert causes["host_bound"] >= sum(times.values()) * 0.97
PY
# And advice has it as a sentence.
"$TRACESMITH" analyze "$work/run.sbt" | tr -s ' \n' '  ' >"$work/text"
grep -q "of it the host is sleeping in clock_nanosleep, woken by interrupt" "$work/text" ||
    fail "it is not said what to do: $(cat "$work/text")"
