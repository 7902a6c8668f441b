#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a recorder gets wrong first (tests/opencl/hard_cases.c): thousands of commands in flight, callbacks that enqueue, exits
# in odd places, forks, short threads, lifetimes, commands that no layer sees. The same output and exit code with and without
# the recorder; every launch is in the recording; and no result is called wrong.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
[ -f "$agents/libtracesmith-opencl-record.so" ] || skip "the OpenCL recorder is not built"

cases=$work/hard_cases
# shellcheck disable=SC2086 # empty, or one word
"${CC:-cc}" -O1 $sanitize "$TRACESMITH_SOURCE_DIR/tests/leaks_allowed.c" -o "$cases" \
    "$TRACESMITH_SOURCE_DIR/tests/opencl/hard_cases.c" -lOpenCL -lpthread 2>"$work/cc" || skip "no compiler: $(head -1 "$work/cc")"

for name in $("$cases"); do
    bare=0
    timeout 200 "$cases" "$name" >"$work/bare" 2>/dev/null || bare=$?
    code=0
    "$TRACESMITH" profile --capture -o "$work/run.sbt" -- timeout -s ABRT 200 "$cases" "$name" >"$work/out" 2>"$work/err" ||
        code=$?
    [ "$code" -eq "$bare" ] || fail "$name: exit code $code, $bare without the recorder: $(cat "$work/err")"
    diff "$work/bare" "$work/out" || fail "$name: another output"
    code=0
    "$TRACESMITH" replay --json "$work/run.sbt" >"$work/answer.json" 2>"$work/err" || code=$?
    # 4: nothing was compared, which is no success.
    compared "$work/answer.json" && want=0 || want=4
    [ "$code" -eq "$want" ] || fail "$name: replay gave $code: $(cat "$work/err" "$work/answer.json")"
    python3 - "$work/answer.json" "$work/out" "$name" <<'PY' || fail "$name"
import json, re, sys
answer, said, name = json.load(open(sys.argv[1])), open(sys.argv[2]).read(), sys.argv[3]
launches = re.findall(r"^launches (\d+)$", said, re.M)
verdicts, recording = answer["verdicts"], answer["recording"]
problems = []
late = name == "work_at_exit"  # ten launches by a handler that runs after the recorder's
if launches and recording["kernels"] != int(launches[-1]) - 10 * late:
    problems.append("%d kernels" % recording["kernels"])
if verdicts["diverged"] or len(answer["results"]) != recording["checks"]:
    problems.append(json.dumps(verdicts))
# What the program did not live to see executed cannot be compared; everything else is exact.
if name == "exit_while_blocked":
    if verdicts["uncomparable"] != 1 or "ended before" not in answer["results"][0]["reason"]:
        problems.append("not said why it is not compared")
elif name != "unwaited" and verdicts["exact"] != len(answer["results"]):
    problems.append(json.dumps(verdicts))
if name == "unwaited" and recording["unfinished"] != 1:
    problems.append("not said that it was killed")
refused = {r["function"] for r in answer["refusals"]}
expected = set()
if late:
    expected = {"exit handlers"}
if "command buffers 1" in said:
    expected = {"clEnqueueCommandBufferKHR"}
if refused != expected:
    problems.append("refused: %s" % refused)
sys.exit("%s: %s" % (problems, json.dumps(answer)[:2000]) if problems else None)
PY
done
