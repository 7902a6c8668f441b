#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# profile --probe kernel:FUNCTION compared with a program's own record of its calls: every sleep with its length,
# every read and write of a byte, on the thread that did, when it did. A nearly right name gets a suggestion; if the
# kernel refuses, that is reported, and nothing is run.
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}"
waits=$TRACESMITH_BUILD_DIR/tests/programs/waits
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
skip() {
    echo "skipped: $*"
    exit 77
}
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
{ [ -x "$TRACESMITH" ] && [ -x "$waits" ]; } || skip "the command or the programs are not built"
[ -f "$TRACESMITH_BUILD_DIR/lib/tracesmith/libtracesmith-bpf.so" ] || skip "built without libbpf"
[ -r /sys/kernel/btf/vmlinux ] || skip "this kernel does not say what its structures are"
command -v python3 >/dev/null || skip "no python3 to judge with"

# Known without any right.
code=0
"$TRACESMITH" profile --probe kernel:vfs_raed -o "$work/no.sbt" -- touch "$work/was_run" 2>"$work/err" || code=$?
{ [ "$code" -eq 2 ] && grep -q "is it 'vfs_read'" "$work/err" && [ ! -e "$work/was_run" ] && [ ! -e "$work/no.sbt" ]; } ||
    fail "vfs_raed gave $code: $(cat "$work/err")"

code=0
"$TRACESMITH" profile --probe kernel:hrtimer_nanosleep --probe kernel:vfs_read --probe kernel:vfs_write -o "$work/run.sbt" -- \
    "$waits" -n 20 >"$work/said.json" 2>"$work/err" || code=$?
if [ "$code" -eq 4 ]; then
    { grep -qE "root|kernel" "$work/err" && [ ! -s "$work/said.json" ]; } ||
        fail "it is not said what is lacking, or it was run: $(cat "$work/err")"
    skip "$(cat "$work/err")"
fi
[ "$code" -eq 0 ] || fail "recording gave $code: $(cat "$work/err")"
[ "$(grep -c "each call will take [0-9.]* us more.*not recorded costs [0-9.]* us" "$work/err")" -eq 3 ] ||
    fail "the costs are not said: $(cat "$work/err")"
"$TRACESMITH" view -f json "$work/run.sbt" >"$work/run.json" || fail "the trace cannot be read"
python3 - "$work/run.json" "$work/said.json" <<'PY' || fail "the calls are not what the program says"
import collections, json, sys
trace, said = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
tracks = {track["id"]: track for track in trace["tracks"]}
calls = collections.defaultdict(list)
for event in trace["events"]:
    if event["kind"] == "host_function":
        assert event["category"] == "kernel" and "duration" in event, event
        calls[tracks[event["track"]]["tid"], event["name"]].append(event)
# The kernel runs none of our programs while one is running; it counts these cases.
lost = [e for e in trace["events"] if e["kind"] == "loss"]
assert all(e["reason"] in ("vendor_dropped", "unmatched") for e in lost), lost
for role in said.values():
    slept = sorted(calls[role["tid"], "hrtimer_nanosleep"], key=lambda e: e["start"])
    assert len(slept) == role["rounds"] or lost, (len(slept), lost)
    for event, wait in zip(slept, role["sleeps"] if not lost else []):
        assert wait[0] - 2000 <= event["start"] and event["start"] + event["duration"] <= wait[1] + 2000, (event, wait)
        assert event["result"] == 0 and event["args"]["arg_rqtp"] == role["nap"], event
        assert event["duration"] >= role["nap"] * 0.999
    for tid in (role["tid"], role["waker_tid"]):
        for name in ("vfs_read", "vfs_write"):
            bytes_ = sorted((e for e in calls[tid, name] if e["args"]["arg_count"] == 1), key=lambda e: e["start"])
            bytes_ = [e for e in bytes_ if e["start"] >= role["sleeps"][0][1] - 2000 or tid != role["tid"]]
            assert len(bytes_) == role["rounds"] or lost, (name, len(bytes_), lost)
            assert all(e["result"] == 1 for e in bytes_)
            if tid == role["tid"] and name == "vfs_read":
                for event, wait in zip(bytes_, role["reads"] if not lost else []):
                    assert wait[0] - 2000 <= event["start"] and event["start"] + event["duration"] <= wait[1] + 2000
PY
