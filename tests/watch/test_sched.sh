#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# profile --sched and --probe against what a program says of itself: where it waited, when, and who woke it; how often a
# function of it was called. Somebody without the right is told what is needed, and nothing is run.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/watch/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/watch/common.sh"
waits=$TRACESMITH_BUILD_DIR/tests/programs/waits
[ -x "$waits" ] || skip "the programs are not built"
[ -f "$TRACESMITH_BUILD_DIR/lib/tracesmith/libtracesmith-bpf.so" ] || {
    # Without it the option says what is missing, and nothing is run.
    code=0
    "$TRACESMITH" profile --sched -o "$work/none.sbt" -- touch "$work/was_run" 2>"$work/err" || code=$?
    { [ "$code" -eq 4 ] && grep -q libbpf "$work/err" && [ ! -e "$work/was_run" ]; } ||
        fail "it is not said that libbpf is missing ($code): $(cat "$work/err")"
    skip "built without libbpf: said so"
}
code=0
"$TRACESMITH" profile --sched -o "$work/try.sbt" -- true 2>"$work/err" || code=$?
[ "$code" -ne 4 ] || {
    grep -qE "root|kernel" "$work/err" || fail "it is not said what is needed: $(cat "$work/err")"
    skip "$(cat "$work/err")"
}

"$TRACESMITH" profile --sched --probe "$waits:waits_probed" -o "$work/run.sbt" -- "$waits" -n 20 >"$work/said.json" \
    2>"$work/err" || fail "recording: $(cat "$work/err")"
grep -q "probe .*: each will take [0-9.]* us more" "$work/err" || fail "the cost is not said: $(cat "$work/err")"
grep -q "probe .*: 160 times" "$work/err" || fail "the calls are not counted: $(cat "$work/err")"
"$TRACESMITH" view -f json "$work/run.sbt" >"$work/run.json" || fail "the trace cannot be read"
python3 - "$work/run.json" "$work/said.json" <<'PY' || fail "the waits are not what the program says"
import collections, json, sys
trace, said = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
tracks = {track["id"]: track for track in trace["tracks"]}
pids = {process["id"]: process["pid"] for process in trace["processes"]}
off, calls = collections.defaultdict(list), collections.defaultdict(list)
for event in trace["events"]:
    track = tracks[event["track"]]
    if event["kind"] == "off_cpu":
        assert track["kind"] == "thread" and event["duration"] >= 0
        off[pids[track["process"]], track["tid"]].append(event)
    elif event["kind"] == "host_function":
        calls[pids[track["process"]], track["tid"]].append(event)

# A waking that meets the switch away half done is not seen; that is as seldom as it sounds.
unseen = 0
# Nobody else's threads: the two of each process.
known = {(role["pid"], tid) for role in said.values() for tid in (role["tid"], role["waker_tid"])}
assert set(off) == known, (set(off), known)
for name, role in said.items():
    mine = sorted(off[role["pid"], role["tid"]], key=lambda e: e["start"])
    for a, b in zip(mine, mine[1:]):
        assert a["start"] + a["duration"] <= b["start"], "it did not run twice at once"
    def within(wait):
        # Two clocks: theirs was compared with the trace's to within a few hundred ns.
        return [e for e in mine if wait[0] - 2000 <= e["start"] and e["start"] + e["duration"] <= wait[1] + 2000]
    for wait in role["sleeps"]:
        slept = [e for e in within(wait) if e["operation"] == "sleeping"]
        near = [e for e in mine if e["start"] < wait[1] + 300000 and e["start"] + e["duration"] > wait[0] - 300000]
        lost = [e for e in trace["events"] if e["kind"] == "loss"]
        assert len(slept) == 1 and slept[0]["name"] == "clock_nanosleep", (wait, near, lost)
        # At least as long as asked for, up to what the scheduler's clock is finer than the trace's.
        assert slept[0]["duration"] >= role["nap"] * 0.999
        if "woken" not in slept[0]:
            unseen += 1
            continue
        assert slept[0]["start"] <= slept[0]["woken"]
        assert slept[0]["waker"] == "interrupt" and "waker_tid" not in slept[0], slept[0] # of the clock
    woken = 0
    for wait in role["reads"]:
        slept = [e for e in within(wait) if e["operation"] == "sleeping"]
        # It was seen to sleep before it was woken: by that thread.
        assert slept and all(e["name"] == "read" for e in slept), (wait, within(wait))
        woken += 1
        if "woken" not in slept[-1]:
            unseen += 1
            continue
        assert slept[-1]["waker"] == "waker" and slept[-1]["waker_tid"] == role["waker_tid"], slept[-1]
        assert slept[-1]["start"] <= slept[-1]["woken"] <= slept[-1]["start"] + slept[-1]["duration"]
    assert woken == role["rounds"]
    # Every call, and a call of depth d encloses those of less.
    ran = sorted(calls[role["pid"], role["tid"]], key=lambda e: (e["start"], -e["duration"]))
    assert len(ran) == role["calls"] and {e["name"] for e in ran} == {"waits_probed"}
    depth = role["calls"] // role["rounds"]
    for i in range(0, len(ran), depth):
        for a, b in zip(ran[i:i + depth], ran[i + 1:i + depth]):
            assert a["start"] <= b["start"] and b["start"] + b["duration"] <= a["start"] + a["duration"]
        if i + depth < len(ran):
            assert ran[i]["start"] + ran[i]["duration"] <= ran[i + depth]["start"]
assert unseen <= 2, unseen
assert sum(map(len, calls.values())) == sum(role["calls"] for role in said.values())
assert not [e for e in trace["events"] if e["kind"] == "loss"]
PY

# With --stacks, where in the kernel a thread waited: a sleep of the clock in its sleep, a read in that of a pipe. Nothing of
# ours is in a stack.
if grep -q " T do_nanosleep$\| t do_nanosleep$" /proc/kallsyms; then
    "$TRACESMITH" profile --sched --stacks -o "$work/stacks.sbt" -- "$waits" -n 5 >/dev/null 2>"$work/err" ||
        fail "recording stacks: $(cat "$work/err")"
    "$TRACESMITH" view --stacks -f json -t off_cpu "$work/stacks.sbt" >"$work/stacks.json" || fail "the stacks cannot be read"
    python3 - "$work/stacks.json" <<'PY' || fail "the stacks are not where the waits were"
import json, sys
events = json.load(open(sys.argv[1]))["events"]
found = {"clock_nanosleep": 0, "read": 0}
for event in events:
    functions = [frame.get("function", "") for frame in event.get("frames", [])]
    assert not any("bpf" in function for function in functions), functions
    if event["operation"] == "preempted":
        assert not functions
    elif event.get("name") in found:
        assert "schedule" in functions and any("syscall" in function for function in functions), functions
        assert any(("nanosleep" if event["name"] == "clock_nanosleep" else "pipe_read") in function
                   for function in functions), (event["name"], functions)
        found[event["name"]] += 1
assert found["clock_nanosleep"] >= 10 and found["read"] >= 10, found
PY
fi

# A function, a file or a word that is not there: nothing is run.
for wrong in "$waits:nowhere" "$work/nowhere.so:f" "word"; do
    code=0
    "$TRACESMITH" profile --probe "$wrong" -o "$work/wrong.sbt" -- touch "$work/was_run" 2>"$work/err" || code=$?
    { [ "$code" -eq 2 ] && [ ! -e "$work/was_run" ] && [ ! -e "$work/wrong.sbt" ]; } ||
        fail "--probe $wrong gave $code: $(cat "$work/err")"
done

# Somebody else.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    cp "$TRACESMITH" "$work/tracesmith" && chmod 755 "$work" && mkdir -m 777 "$work/theirs"
    code=0
    (cd "$work/theirs" && setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all \
        env TRACESMITH_AGENT_DIR="$TRACESMITH_BUILD_DIR/lib/tracesmith" LD_LIBRARY_PATH="$TRACESMITH_BUILD_DIR/lib" \
        "$work/tracesmith" profile --sched -o x.sbt -- touch was_run) 2>"$work/err" || code=$?
    { [ "$code" -eq 4 ] && grep -q "root" "$work/err"; } || fail "it is not said that root is needed ($code): $(cat "$work/err")"
    { [ ! -e "$work/theirs/was_run" ] && [ ! -e "$work/theirs/x.sbt" ]; } || fail "it was run all the same"
fi
