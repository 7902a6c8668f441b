#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that use several APIs have one channel, with the agents as they are installed: OpenCL and NVTX; CUDA (simulated),
# NVTX and NCCL. Nothing is lost, and the program's one thread has one track.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/cuda/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/cuda/common.sh"
# ./dev tsan builds only what its rooms need; wire.meeting runs there.
[ -x "$programs/cu_nvtx" ] || skip "the programs of the CUDA tests are not built"
mkfifo "$work/go"

# count NAME APIS PROGRAM...: runs it, counts the channels of its session in NAME.channels while it waits, and lets it end.
count() {
    name=$1 apis=$2
    shift 2
    "$TRACESMITH" profile -o "$work/$name.sbt" --api "$apis" -- "$@" <"$work/go" >"$work/$name.out" 2>"$work/$name.err" &
    pid=$!
    exec 3>"$work/go"
    while [ ! -s "$work/$name.out" ] && kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
    session=$(cat "$work/$name.out")
    [ -d "$session" ] || fail "$name: no session '$session': $(cat "$work/$name.err")"
    find "$session" -name '*.channel' | wc -l >"$work/$name.channels"
    echo go >&3
    exec 3>&-
    wait "$pid" || fail "$name: exit status $?: $(cat "$work/$name.err")"
    "$TRACESMITH" view --json "$work/$name.sbt" >"$work/$name.json"
}

count cuda cuda,nvtx,nccl "$programs/cu_nvtx" wait
if [ -x "$programs/cl_nvtx" ] && [ -f "$TRACESMITH_BUILD_DIR/lib/tracesmith/libtracesmith-opencl.so" ]; then
    count opencl opencl,nvtx "$programs/cl_nvtx" 2 pause
fi

python3 - "$work" <<'PY'
import glob
import json
import sys

for path in glob.glob(sys.argv[1] + "/*.channels"):
    channels = int(open(path).read())
    assert channels == 1, (path, channels)
    trace = json.load(open(path.replace(".channels", ".json")))
    assert trace["lost"]["total"] == 0, trace["lost"]
    threads = {e["track"] for e in trace["events"] if e["kind"] == "range" and e.get("name") == "launches"}
    calls = {e["track"] for e in trace["events"] if e["kind"] == "api" and ("aunch" in e["name"] or "NDRange" in e["name"])}
    assert len(threads) == 1 and threads == calls, (path, threads, calls)
PY
