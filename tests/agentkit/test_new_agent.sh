#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The agent of docs/new-agent.md on its imaginary GPU, compared with the program's own count of launches: every launch
# has its call and its kernel, on its queue, after its call began; an idle agent, a fork and a kill follow the rules.
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}"
toy=$TRACESMITH_BUILD_DIR/examples/new_agent
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
skip() {
    echo "skipped: $*"
    exit 77
}
[ -x "$toy/toy_program" ] || skip "the examples are not built"
command -v python3 >/dev/null || skip "no python3 to judge with"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TOY_GPU_TOOL="$toy/libtracesmith-toy.so"

# record NAME OPTION... -- COMMAND...
record() {
    name=$1
    shift
    status=0
    "$TRACESMITH" profile -o "$work/$name.sbt" "$@" >"$work/$name.out" 2>"$work/$name.err" || status=$?
    "$TRACESMITH" view --json "$work/$name.sbt" >"$work/$name.json" || fail "$name: no trace: $(cat "$work/$name.err")"
}

"$toy/toy_program" 100 >"$work/alone.out" || fail "the program alone gave $?"
record plain -- "$toy/toy_program" 100
[ "$status" -eq 0 ] || fail "exit status $status: $(cat "$work/plain.err")"
cmp -s "$work/alone.out" "$work/plain.out" || fail "the program prints something else when it is profiled"
record stacks --stacks -- "$toy/toy_program" 30
mkfifo "$work/said"
# shellcheck disable=SC2016 # the inner shell expands it
record killed -- sh -c '"$0" 9 forever >"$1" & read -r line <"$1" && echo "$line" && kill -KILL $! && { wait $! || :; }' \
    "$toy/toy_program" "$work/said"

python3 - "$work" <<'PY'
import json
import sys

def load(name):
    whole = json.load(open(f"{sys.argv[1]}/{name}.json"))
    launched = [int(word) for word in open(f"{sys.argv[1]}/{name}.out").read().split()]
    return whole, launched, whole["lost"]["by_reason"] if whole["lost"]["total"] else {}

for name in ("plain", "stacks"):
    whole, launched, lost = load(name)
    tracks = {track["id"]: track for track in whole["tracks"]}
    events = whole["events"]
    calls = {e["correlation"]: e for e in events if e["kind"] == "api" and e["name"] == "toy_launch"}
    kernels = [e for e in events if e["kind"] == "kernel"]
    assert lost == {}, lost
    assert len(calls) == len(kernels) == sum(launched), (name, len(calls), len(kernels), launched)
    by_queue = [sum(tracks[k["track"]]["queue"] == queue for k in kernels) for queue in (1, 2)]
    assert by_queue == launched, (name, by_queue, launched)
    assert {k["name"] for k in kernels} == {"add", "scale"}
    for kernel in kernels:
        call = calls[kernel["correlation"]]
        assert kernel["host_track"] == call["track"] and call["queue_track"] == kernel["track"], (call, kernel)
        assert kernel["duration"] >= 100000 and kernel["start"] >= call["start"] - 1000, (call, kernel)
    waits = [e for e in events if e["kind"] == "sync"]
    assert len(waits) == sum(launched) // 20 + 2, len(waits)
    assert [d["name"] for d in whole["devices"]] == ["Toy GPU"], whole["devices"]
    assert all(("stack" in call) == (name == "stacks") for call in calls.values()), name

whole, launched, lost = load("killed")
kernels = sum(e["kind"] == "kernel" for e in whole["events"])
assert kernels + lost.get("no_completion", 0) == sum(launched), (kernels, lost, launched)
assert lost.get("no_completion") == 1, lost
PY
