#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Structured payloads, emitted through NVIDIA's own headers by a program that prints them: name and values of every
# event, with and without another tool that is injected as well.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
for include in "${CUDA_HOME:-/usr/local/cuda}/include" /usr/local/cuda-*/include /usr/include; do
    [ ! -f "$include/nvtx3/nvToolsExtPayload.h" ] || break
    include=
done
[ -n "$include" ] || { echo "skipped: no nvtx3 headers with payloads (CUDA_HOME names a toolkit)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$TRACESMITH_SOURCE_DIR/tests/nvtx
sanitize=${TRACESMITH_SANITIZE:+-fsanitize=$TRACESMITH_SANITIZE}
[ -z "$sanitize" ] || sanitize="$sanitize $here/../leaks_allowed.c"
# shellcheck disable=SC2086 # the words of $sanitize are several
"${CC:-cc}" -O1 -w $sanitize -isystem "$include" -o "$work/say" "$here/say_payloads.c" -ldl -lm
for other in "${include%include}lib64/libcupti.so" "${include%include}extras/CUPTI/lib64/libcupti.so"; do
    [ ! -e "$other" ] || break
    other=
done
"$work/say" >"$work/bare"
for with in "" ${other:+"$other"}; do
    env ${with:+NVTX_INJECTION64_PATH="$with"} "$TRACESMITH" profile -o "$work/t.sbt" --api nvtx -- "$work/say" >"$work/said" 2>"$work/err" ||
        { cat "$work/err"; exit 1; }
    cmp -s "$work/bare" "$work/said" || { echo "FAILED: the program says otherwise"; exit 1; }
    "$TRACESMITH" view -f json "$work/t.sbt" >"$work/t.json"
    python3 - "$work" <<'PY'
import json, sys
from collections import Counter

with open(sys.argv[1] + "/said", encoding="utf-8") as file:
    said = Counter(tuple(line.rstrip("\n").split("\t")) for line in file)
with open(sys.argv[1] + "/t.json", encoding="utf-8") as file:
    trace = json.load(file)
events = [e for e in trace["events"] if e["kind"] in ("range", "marker")]
seen = Counter((e.get("name") or "", e["args"]["payload"]) for e in events if "payload" in e.get("args", {}))
as_values = lambda counter: Counter({(name, json.dumps(json.loads(text))): n for (name, text), n in counter.items()})
if as_values(seen) != as_values(said) or trace["lost"]["total"]:
    print("FAILED: said but not seen:", list((as_values(said) - as_values(seen)).items())[:5])
    print("seen but not said:", list((as_values(seen) - as_values(said)).items())[:5], trace["lost"])
    sys.exit(1)
domains = {e.get("category") for e in events}
sys.exit(domains != {"training", None})
PY
done
