#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# profile --sched --stacks: a program waits and wakes on paths that it has chosen and prints. Every long wait has exactly its
# path, and the path of who woke it, in code without frame pointers.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/watch/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/watch/common.sh"
program=$TRACESMITH_BUILD_DIR/tests/programs/wait_paths
[ -x "$program" ] || skip "the programs are not built"
[ -f "$TRACESMITH_BUILD_DIR/lib/tracesmith/libtracesmith-bpf.so" ] || skip "built without libbpf"
[ "$(uname -m)" = x86_64 ] || skip "the registers at a wait are known here for x86-64 only"
code=0
"$TRACESMITH" profile --sched --stacks -o "$work/run.sbt" -- "$program" -n 300 >"$work/said.json" 2>"$work/err" || code=$?
[ "$code" -ne 4 ] || skip "$(cat "$work/err")"
[ "$code" -eq 0 ] || fail "recording: $(cat "$work/err")"
"$TRACESMITH" view --stacks -f json "$work/run.sbt" >"$work/run.json" || fail "the trace cannot be read"
python3 - "$work/run.json" "$work/said.json" <<'PY' || fail "the stacks are not where the program waited and woke"
import json, sys
trace, said = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
tids = {track["id"]: track["tid"] for track in trace["tracks"]}
def path(frames):
    names = [frame.get("function", "") for frame in frames]
    return "".join(name[5:] for name in reversed(names) if name.startswith("path_"))
def outer(frames):
    return [frame.get("function", "") for frame in frames]
events = sorted((e for e in trace["events"] if e["kind"] == "off_cpu" and tids[e["track"]] == said["waiter"]
                 and e["operation"] == "sleeping" and e.get("name") == "futex"
                 and e.get("woken", e["start"] + e["duration"]) - e["start"] >= 60000),
                key=lambda e: e["start"])
left = [e for e in trace["events"] if e["kind"] == "loss"]
whole = woken = seen = told = 0
at = 0
for before, after, waits, wakes in said["rounds"]:
    while at < len(events) and events[at]["start"] < before - 2000:
        at += 1
    if at == len(events) or events[at]["start"] > after:
        continue # it was not long
    event = events[at]
    seen += 1
    told += "woken" in event
    if "frames" in event and any(name.startswith("path_") for name in outer(event["frames"])):
        assert path(event["frames"]) == waits, (waits, outer(event["frames"]))
        assert "main" in outer(event["frames"]) and not event["frames"][-1].get("truncated"), outer(event["frames"])
        whole += 1
    if "waker_frames" in event and any(name.startswith("path_") for name in outer(event["waker_frames"])):
        assert event["waker_tid"] == said["waker"] and path(event["waker_frames"]) == wakes, (wakes, outer(event["waker_frames"]))
        assert "wake" in outer(event["waker_frames"]), outer(event["waker_frames"])
        woken += 1
# What has no stack, the ledger names; a waking that meets the switch away half done is not seen.
assert seen >= len(said["rounds"]) * 0.9, (seen, len(said["rounds"]))
assert whole == seen or any(e["reason"] == "no_stack" for e in left), (whole, seen, left)
assert woken >= told - 3 and told > seen / 2 or left, (woken, told, seen, left)
assert whole >= 100 and woken >= 100, (whole, woken, seen, left)
print(f"{seen} long waits, {whole} with their path, {woken} with their waker's")
PY
"$TRACESMITH" view --stacks -t off_cpu "$work/run.sbt" >"$work/text" || fail "it cannot be shown"
grep -q "woken from" "$work/text" || fail "the waker's stack is not shown"

# A thread that waits so often that its stack is not copied each time: such a wait has only the kernel's part, and its
# callers are marked as missing.
"$TRACESMITH" profile --sched --stacks -o "$work/often.sbt" -- python3 -c 'import time
for i in range(2000): time.sleep(0.0001)' 2>"$work/err" || fail "recording: $(cat "$work/err")"
"$TRACESMITH" view --stacks -f json "$work/often.sbt" >"$work/often.json" || fail "the trace cannot be read"
python3 - "$work/often.json" <<'PY' || fail "waits without the stack of the program do not say so"
import json, sys
events = json.load(open(sys.argv[1]))["events"]
def of_kernel(frames):
    return all(frame.get("kernel") for frame in frames)
waits = [e["frames"] for e in events if e["kind"] == "off_cpu" and "frames" in e]
alone = [frames for frames in waits if of_kernel(frames)]
counted = sum(e["lost"] for e in events if e["kind"] == "loss" and e["reason"] == "no_stack")
assert bool(alone) == bool(counted) and len(alone) < len(waits), (len(alone), counted, len(waits))
for frames in alone:
    assert frames[-1].get("truncated") and not any(frame.get("truncated") for frame in frames[:-1]), frames
# Who woke it: a thread of the kernel has no program behind it, a system call has one.
for frames in (e["waker_frames"] for e in events if "waker_frames" in e):
    base = frames[-1].get("function", "")
    if of_kernel(frames) and base.startswith(("entry_SYSCALL", "do_syscall")):
        assert frames[-1].get("truncated"), frames
    if of_kernel(frames) and base.startswith(("ret_from_fork", "secondary_startup", "common_startup")):
        assert not frames[-1].get("truncated"), frames
print(f"{len(alone)} of {len(waits)} waits have the stack of the kernel alone, and say so")
PY
