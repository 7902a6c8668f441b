#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Events, primary and green contexts, and managed memory. Expected values are the program's own counts, and what the mock
# of CUPTI was asked for. The agent and tests/gpu/programs/cupti_only.c ask CUPTI for the same.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
contexts=$programs/cu_contexts

options='--cuda events'
MOCK_CUPTI=version=130301 record events -- "$contexts" events
options=
record without -- "$contexts" events
record green -- "$contexts" green
MOCK_CUPTI=version=21 record green-old -- "$contexts" green
for version in 130200 130400; do
    MOCK_CUPTI=version=$version record "green-$version" -- "$contexts" green
done
MOCK_CUPTI=version=22 record green-12.4 -- "$contexts" green
# A reset loses what CUPTI has not handed over.
for how in resets resets,late resets,threads,partial version=130301,resets; do
    MOCK_CUPTI=$how record "reset-$how" -- "$contexts" reset
    [ "$status" -eq 0 ] || fail "reset, $how: exit status $status"
done
MOCK_CUPTI=pc options='--pc-samples' record reset-samples -- "$contexts" reset
[ "$status" -eq 0 ] || fail "reset with samples: exit status $status"

# Unified memory is not configured in a program that does not use it.
asked() {
    export MOCK_ASKED="$work/$1.asked" MOCK_DEVICES=2
    record "$@"
    [ "$status" -eq 0 ] || fail "$1: exit status $status"
    unset MOCK_ASKED MOCK_DEVICES
}
asked unmanaged -- "$contexts" reset
asked managed -- "$contexts" managed
asked second -- "$contexts" second
MOCK_CUPTI=version=130301 asked managed-shared -- "$contexts" managed
MOCK_CUPTI=unmanageable asked refused -- "$contexts" managed
options='--cuda managed' asked wanted -- "$contexts" reset
options='--cuda faults' asked faults -- "$contexts" second
options=

python3 - "$work" <<'PY'
import sys
from trace import Run

folder = sys.argv[1]

# cuCtxWaitEvent is a wait of the thread, and no stream; who recorded an event is known where its time is.
run = Run(folder, "events")
thread = {call["track"] for call in run.calls("cuLaunchKernel")}
run.expect(len(thread) == 1 and not run.lost, f"{thread}, lost {run.lost}")
calls = {c["correlation"]: c["name"] for c in run.of("api")}
waits = [(calls[e["correlation"]], e["name"]) for e in run.of("sync")]
run.expect(sorted(waits) == [("cuCtxSynchronize", "context wait"), ("cuCtxWaitEvent", "stream waits for event"), ("cuEventSynchronize", "event wait"),
                             ("cuStreamWaitEvent", "stream waits for event")], f"{waits}")
for event in run.of("sync"):
    run.expect({event["host_track"]} == thread, f"the thread of {event}")
    # A stream waits on its own track; a context has none.
    stream_waits = calls[event["correlation"]] == "cuStreamWaitEvent"
    run.expect(event["track"] == event["queue_track"] if stream_waits else {event["track"]} == thread, f"the track of {event}")
records = {calls[e["correlation"]]: e for e in run.of("event_record")}
run.expect(sorted(records) == ["cuCtxRecordEvent", "cuEventRecord"], f"{records}")
for event in records.values():
    run.expect({event.get("host_track")} == thread and event["object"] == 1, f"the thread of {event}")
run = Run(folder, "without")
run.expect(not run.of("event_record") and not run.lost, "events were not requested")

# Streams of a green context are on its device, apart from those of the primary context, and named.
for name, known in ("green", True), ("green-old", False), ("green-12.4", True), ("green-130200", True), ("green-130400", True):
    run = Run(folder, name)
    run.expect(len(run.of("kernel")) == run.truth["launches"] and not run.lost, f"{len(run.of('kernel'))} kernels, lost {run.lost}")
    tracks = {}
    for kernel in run.of("kernel"):
        tracks[kernel["track"]] = tracks.get(kernel["track"], 0) + 1
    found = sorted((n, run.tracks[t]["name"], run.tracks[t]["context"], run.tracks[t]["device"]) for t, n in tracks.items())
    run.expect([(n, c, d) for n, _, c, d in found] == [(3, 2, 1), (5, 1, 1), (20, 2, 1), (31, 3, 1)], f"{found}")
    names = [text for _, text, _, _ in found]
    run.expect([" of green context " in text for text in names] == [known, False, known, known], f"{names}")
    if name == "green-12.4":
        run.expect(names[3].endswith("of green context 3"), f"{names}")
    elif name.startswith("green-13"):
        # From 13.2 on a green context has a record of its own alone, which does not have its default stream.
        run.expect(not names[0].startswith("default") and names[0].endswith("of green context 2 (16 SMs)") and
                   names[2].endswith("of green context 2 (16 SMs)") and names[3].endswith("of green context 3 (24 SMs)"), f"{names}")
        run.expect("cuda.context.3" not in run.attributes, f"{run.attributes}")
    elif known:
        run.expect(names[0].startswith("default stream ") and names[2].endswith("of green context 2 (16 SMs)") and
                   names[3].endswith("of green context 3 (24 SMs)"), f"{names}")
        run.expect(run.attributes["cuda.context.3"] == "green context (24 SMs) of device 0, part of context 1", f"{run.attributes}")
    made = [e["object"] for e in run.of("object") if e["operation"] == "create_context"]
    gone = [e["object"] for e in run.of("object") if e["operation"] == "destroy_context"]
    run.expect(made == [1, 2, 3] and gone == [2, 3], f"made {made}, gone {gone}")

# Which part of the device a green context has. The mock gives context N the TPCs N, N + 1, ... and 67; two SMs each.
for name in "green", "green-130200", "green-130400":
    run = Run(folder, name)
    channels = {2: " on channels 2, 31", 3: " on channels 3, 31"} if name == "green-130400" else {2: "", 3: ""}
    expected = {} if name == "green" else {
        2: "16 SMs, 8 TPCs (2-8, 67) of device 0, part of context 1, work queue 72 of at most 4 concurrent operations" + channels[2],
        3: "24 SMs, 12 TPCs (3-13, 67) of device 0, part of context 1, work queue 73 of at most 4 concurrent operations" + channels[3]}
    found = {int(key.rsplit(".", 1)[1]): value for key, value in run.attributes.items() if key.startswith("cuda.green_context.")}
    run.expect(found == expected and not run.lost, f"{found}, lost {run.lost}")

# A context that is made again, at the same address, is another one, and so are its streams.
for name in "reset-resets", "reset-resets,late", "reset-resets,threads,partial", "reset-version=130301,resets", "reset-samples":
    run = Run(folder, name)
    run.expect(run.truth == {"launches": 600, "same": 2}, f"{run.truth}")
    run.expect(len(run.of("kernel")) == 600 == len(run.calls("cuLaunchKernel")), f"{len(run.of('kernel'))} kernels")
    run.expect(not run.missing("no_completion", "unmatched", "vendor_dropped"), f"lost {run.lost}")
    tracks = {}
    for kernel in run.of("kernel"):
        tracks[kernel["track"]] = tracks.get(kernel["track"], 0) + 1
    run.expect(sorted(tracks.values()) == [100, 200, 300], f"{tracks}")
    run.expect({run.tracks[t]["context"] for t in tracks} == {1, 2, 3}, f"{tracks}")
    made = [e["object"] for e in run.of("object") if e["operation"] == "create_context"]
    gone = [e["object"] for e in run.of("object") if e["operation"] == "destroy_context"]
    run.expect(made == gone == [1, 2, 3], f"made {made}, gone {gone}")
    run.check_order()

def configured(name):
    with open(f"{folder}/{name}.asked", encoding="utf-8") as file:
        return [tuple(map(int, line.split()[1:])) for line in file if line.startswith("unified ")]

def migrated(run):
    return sorted((e["bytes"], run.tracks[e["track"]]["device"]) for e in run.of("memcpy") if e.get("operation") == "migrate")

both = [(4096, 1), (8192, 2)]
for name, counters, moved in ("unmanaged", [], []), ("managed", [(2, 0), (2, 1)], both), ("second", [(2, 0), (2, 1)], both), \
        ("managed-shared", [(2, 0), (2, 1)], both), ("wanted", [(2, 0)], []), ("faults", [(4, 0), (4, 1)], both), ("refused", [(2, 0), (2, 1)], []):
    run = Run(folder, name)
    run.expect(configured(name) == counters, f"configured {configured(name)}")
    run.expect(migrated(run) == moved, f"moved {migrated(run)}")
    run.expect(bool(run.lost) == (name == "refused"), f"lost {run.lost}")
    run.expect(("migrations of unified memory on device" in run.said) == (name == "refused"), run.said)
PY

# What libcupti_only asks CUPTI for, to measure what CUPTI alone costs, is what the agent asks for.
cache=${TRACESMITH_CUPTI_HEADERS:-${XDG_CACHE_HOME:-$HOME/.cache}/tracesmith/cupti}
for folder in "$cache/13.5/include $cache/cuda-13/include" "${CUDA_HOME:-/usr/local/cuda}/include"; do
    include=
    for place in $folder; do include="$include -I $place"; done
    # shellcheck disable=SC2086 # options
    [ -e "$work/only.so" ] || ! [ -e "${folder%% *}/cupti.h" ] || ${CC:-cc} -w -shared -fPIC $include -o "$work/only.so" "$TRACESMITH_SOURCE_DIR/tests/gpu/programs/cupti_only.c" -ldl
done
if [ -e "$work/only.so" ]; then
    for version in 13 18 26 130001; do
        export MOCK_CUPTI=version=$version
        MOCK_ASKED=$work/agent.asked record "asks$version" -- "$programs/cu_work" launches=2
        MOCK_ASKED=$work/only.asked CUPTI_KINDS=ours CUPTI_CALLBACKS=1 CUDA_INJECTION64_PATH=$work/only.so "$programs/cu_work" launches=2 >/dev/null
        for who in agent only; do
            # Callbacks of launches and waits (domains 1 and 2); of managed memory, resets and resources the agent takes more.
            grep -E '^(kind|call [12]) ' "$work/$who.asked" | grep -vE '^call 1 (371|545)|^call 2 (164|206)' | sort >"$work/$who.sorted"
        done
        diff "$work/agent.sorted" "$work/only.sorted" || fail "version $version: libcupti_only asks for something else"
        [ "$(grep -c kind "$work/only.sorted")" -gt 10 ] || fail "version $version: $(wc -l <"$work/only.sorted") requests"
        rm -f "$work"/*.asked
    done
else
    echo "cupti_only.c was not tried: no header of CUPTI"
fi
