#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# profile --sched and --probe compared with a program's own record: where it waited, when, and its waker; how often a
# function was called. A user without permission gets a message about what is needed, and nothing is run.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/watch/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/watch/common.sh"
waits=$TRACESMITH_BUILD_DIR/tests/programs/waits
[ -x "$waits" ] || skip "the programs are not built"
[ -f "$TRACESMITH_BUILD_DIR/lib/tracesmith/libtracesmith-bpf.so" ] || {
    # Without it the option prints what is missing, and nothing is run.
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
grep -q "probe .*: each call will take [0-9.]* us more" "$work/err" || fail "the cost is not said: $(cat "$work/err")"
grep -q "probe .*: 160 calls" "$work/err" || fail "the calls are not counted: $(cat "$work/err")"
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
        assert track["kind"] == "thread" and event.get("duration", 0) >= 0
        off[pids[track["process"]], track["tid"]].append(event)
    elif event["kind"] == "host_function":
        calls[pids[track["process"]], track["tid"]].append(event)

# Kernels do not report every switch to a thread. The end of such a wait is taken from how long the thread ran then:
# it may be late by what its processor did for others meanwhile, and is there and marked.
DURING = 2000 # ns; two clocks: theirs was compared with the trace's to within a few hundred
# No other threads: the two of each process.
known = {(role["pid"], tid) for role in said.values() for tid in (role["tid"], role["waker_tid"])}
# Threads of a program without a GPU have their names: that of the program, and the one it gave its second thread.
assert {track["name"] for track in tracks.values() if track["kind"] == "thread"} == {"waits", "waker"}, tracks
assert {process["name"] for process in trace["processes"]} == {"waits"}, trace["processes"]
assert set(off) == known, (set(off), known)
slept = exact = unseen = 0
for name, role in said.items():
    mine = sorted(off[role["pid"], role["tid"]], key=lambda e: e["start"])
    for event in mine:
        event["end"] = event["start"] + event.get("duration", 0)
    for a, b in zip(mine, mine[1:]):
        assert a["end"] <= b["start"], "it did not run twice at once"
    for what, call in (("sleeps", "clock_nanosleep"), ("reads", "read")):
        for wait in role[what]:
            before, after, waited, preempted = wait
            within = [e for e in mine if before - DURING <= e["start"] <= after]
            waits = [e for e in within if e["operation"] in ("sleeping", "blocked")]
            # As often as the kernel's own count of the thread has it: not at all where the wait was over before it began, or
            # the thread was kept from beginning it for as long.
            assert len(waits) == waited, (name, what, wait, within)
            assert len(within) - len(waits) >= preempted, (name, what, wait, within)
            for event in waits:
                assert event["operation"] == "sleeping" and event["name"] == call, event
                assert event["end"] <= after + DURING or event.get("certainty") == "inferred", (wait, event)
                slept += 1
                exact += event.get("certainty") != "inferred"
                # A waking that meets the switch away half done is not seen.
                if "woken" not in event:
                    unseen += 1
                    continue
                assert event["start"] <= event["woken"] <= event["end"], event
                # Who woke it: the clock, or that thread.
                if what == "sleeps":
                    assert event["waker"] == "interrupt" and "waker_tid" not in event, event
                elif event is waits[-1]:
                    assert event["waker"] == "waker" and event["waker_tid"] == role["waker_tid"], event
            # At least as long as asked for, from before the clock was set on: an interrupt may come between that and the wait.
            if what == "sleeps" and len(within) == len(waits) == 1:
                assert waits[0]["end"] - before >= role["nap"] - DURING, (wait, waits)
    # Every call, and a call of depth d encloses those of less.
    ran = sorted(calls[role["pid"], role["tid"]], key=lambda e: (e["start"], -e["duration"]))
    assert len(ran) == role["calls"] and {e["name"] for e in ran} == {"waits_probed"}
    depth = role["calls"] // role["rounds"]
    for i in range(0, len(ran), depth):
        for a, b in zip(ran[i:i + depth], ran[i + 1:i + depth]):
            assert a["start"] <= b["start"] and b["start"] + b["duration"] <= a["start"] + a["duration"]
        if i + depth < len(ran):
            assert ran[i]["start"] + ran[i]["duration"] <= ran[i + depth]["start"]
# Not all of them are exceptions.
assert exact > slept / 2 and unseen < slept / 2, (slept, exact, unseen)
assert sum(map(len, calls.values())) == sum(role["calls"] for role in said.values())
assert not [e for e in trace["events"] if e["kind"] == "loss"]
PY

# Viewers of other programs show the same names: a Perfetto and a Chrome trace carry those of each process and thread.
"$TRACESMITH" export "$work/run.sbt" -f chrome -o "$work/run.chrome.json" || fail "no Chrome trace was written"
python3 - "$work/run.chrome.json" "$work/said.json" <<'PY' || fail "the Chrome trace does not have the names"
import json, sys
events, said = json.load(open(sys.argv[1]))["traceEvents"], json.load(open(sys.argv[2]))
threads, processes = {}, {}
for event in events:
    if event["ph"] == "M" and event["name"] == "thread_name":
        threads[event["pid"], event["tid"]] = event["args"]["name"]
    elif event["ph"] == "M" and event["name"] == "process_name":
        processes[event["pid"]] = event["args"]["name"]
for role in said.values():
    assert processes.get(role["pid"]) == "waits", (role, processes)
    assert threads.get((role["pid"], role["tid"])) == "waits", (role, threads)
    assert threads.get((role["pid"], role["waker_tid"])) == "waker", (role, threads)
PY
if command -v protoc >/dev/null; then
    "$TRACESMITH" export "$work/run.sbt" -f perfetto -o "$work/run.pftrace" || fail "no Perfetto trace was written"
    python3 - "$work/run.pftrace" "$work/said.json" "$TRACESMITH_SOURCE_DIR/tests/export" <<'PY' ||
import json, sys
sys.path.insert(0, sys.argv[3])
import check_perfetto
said, threads, processes = json.load(open(sys.argv[2])), {}, {}
for packet in check_perfetto.packets(sys.argv[1]):
    for track in packet.get("track", []):
        for thread in track.get("thread", []):
            threads[thread["pid"][0], thread["tid"][0]] = thread.get("name")
        for process in track.get("process", []):
            processes[process["pid"][0]] = process.get("name")
for role in said.values():
    assert processes.get(role["pid"]) == [b"waits"], (role, processes)
    assert threads.get((role["pid"], role["tid"])) == [b"waits"], (role, threads)
    assert threads.get((role["pid"], role["waker_tid"])) == [b"waker"], (role, threads)
PY
        fail "the Perfetto trace does not have the names"
fi

# With --stacks, where in the kernel a thread waited: a sleep of the clock in its sleep, a read in that of a pipe. Nothing of
# ours is in a stack.
if grep -q " T do_nanosleep$\| t do_nanosleep$" /proc/kallsyms; then
    "$TRACESMITH" profile --sched --stacks -o "$work/stacks.sbt" -- "$waits" -n 5 >"$work/said.json" 2>"$work/err" ||
        fail "recording stacks: $(cat "$work/err")"
    "$TRACESMITH" view --stacks -f json "$work/stacks.sbt" >"$work/stacks.json" || fail "the stacks cannot be read"
    python3 - "$work/stacks.json" "$work/said.json" <<'PY' || fail "the stacks are not where the waits were"
import json, sys
events, said = json.load(open(sys.argv[1]))["events"], json.load(open(sys.argv[2]))
found = {"clock_nanosleep": 0, "read": 0}
# The kernel keeps one stack of those that its hash puts in one place; the others are counted.
lost = sum(event["lost"] for event in events if event["kind"] == "loss" and event["reason"] == "no_stack")
for event in events:
    if event["kind"] != "off_cpu":
        continue
    functions = [frame.get("function", "") for frame in event.get("frames", [])]
    assert not any("bpf" in function for function in functions), functions
    if event["operation"] == "preempted":
        assert not functions
    elif event.get("name") in found and "schedule" not in functions and lost:
        found[event["name"]] += 1
        lost -= 1
    elif event.get("name") in found:
        assert "schedule" in functions and any("syscall" in function for function in functions), functions
        assert any(("nanosleep" if event["name"] == "clock_nanosleep" else "pipe_read") in function
                   for function in functions), (event["name"], functions)
        found[event["name"]] += 1
slept, read = (sum(wait[2] for role in said.values() for wait in role[what]) for what in ("sleeps", "reads"))
assert found["clock_nanosleep"] == slept > 0 and found["read"] >= read > 0, (found, slept, read)
PY
fi

# A function, a file or a word that is not there: nothing is run.
for wrong in "$waits:nowhere" "$work/nowhere.so:f" "word"; do
    code=0
    "$TRACESMITH" profile --probe "$wrong" -o "$work/wrong.sbt" -- touch "$work/was_run" 2>"$work/err" || code=$?
    { [ "$code" -eq 2 ] && [ ! -e "$work/was_run" ] && [ ! -e "$work/wrong.sbt" ]; } ||
        fail "--probe $wrong gave $code: $(cat "$work/err")"
done

# Another user, who need not be able to reach the build: the files to run are copied.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    cp "$TRACESMITH" "$work/tracesmith" && cp -R "$TRACESMITH_BUILD_DIR/lib" "$work/lib"
    chmod -R go+rX "$work" && mkdir -m 777 "$work/theirs"
    code=0
    (cd "$work/theirs" && setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all \
        env TRACESMITH_AGENT_DIR="$work/lib/tracesmith" LD_LIBRARY_PATH="$work/lib" \
        "$work/tracesmith" profile --sched -o x.sbt -- touch was_run) 2>"$work/err" || code=$?
    { [ "$code" -eq 4 ] && grep -q "root" "$work/err"; } || fail "it is not said that root is needed ($code): $(cat "$work/err")"
    { [ ! -e "$work/theirs/was_run" ] && [ ! -e "$work/theirs/x.sbt" ]; } || fail "it was run all the same"
fi
