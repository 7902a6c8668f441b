#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A recorded program's call stacks have names when the recording ends: those addr2line has for the same addresses, GNU's or
# LLVM's (GNU's does not see what clang inlined); and a program that is gone afterwards keeps them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
for tool in addr2line python3; do
    command -v "$tool" >/dev/null || {
        echo "skipped: there is no $tool"
        exit 77
    }
done
llvm=$(command -v llvm-addr2line || command -v llvm-addr2line-14 || true)
[ -n "$llvm" ] || ! readelf -p .comment "$TRACESMITH_BUILD_DIR/tests/programs/cl_launch_loop" | grep -q clang || {
    echo "skipped: the program is clang's, and there is no llvm-addr2line"
    exit 77
}
cp "$TRACESMITH_BUILD_DIR/tests/programs/cl_launch_loop" "$work/program"
"$TRACESMITH" profile --stacks -o "$work/trace.sbt" -- "$work/program" -n 100 >"$work/out"
"$TRACESMITH" view -f json --stacks "$work/trace.sbt" >"$work/before.json"
mv "$work/program" "$work/kept"
"$TRACESMITH" view -f json --stacks "$work/trace.sbt" >"$work/after.json"
cmp "$work/before.json" "$work/after.json"
# However many libraries of ours there are (each agent, CUPTI, a library that is loaded again elsewhere), none is in a stack: here a
# dozen with such names are there before the agent.
if command -v "${CC:-cc}" >/dev/null && [ -z "${TRACESMITH_SANITIZE-}" ]; then
    echo 'int nothing;' >"$work/nothing.c"
    preload=
    for number in 1 2 3 4 5 6 7 8 9 10 11 12; do
        "${CC:-cc}" -shared -fPIC -o "$work/libtracesmith-$number.so" "$work/nothing.c"
        preload="$preload $work/libtracesmith-$number.so"
    done
    "$TRACESMITH" profile --stacks -o "$work/many.sbt" -- env LD_PRELOAD="$preload" "$work/kept" -n 10 >"$work/out"
    "$TRACESMITH" view -f json --stacks "$work/many.sbt" >"$work/many.json"
    python3 - "$work/many.json" <<'EOF'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    launches = [e for e in json.load(file)["events"] if e["kind"] == "api" and e["name"] == "clEnqueueNDRangeKernel"]
assert len(launches) >= 10, launches
for launch in launches:
    assert launch["frames"] and "libtracesmith" not in launch["frames"][0].get("module", ""), launch
EOF
fi
# shellcheck disable=SC2086 # no word where there is none
python3 - "$work" addr2line $llvm <<'EOF'
import json
import subprocess
import sys

work = sys.argv[1]
places, launches = {}, 0
with open(work + "/after.json", encoding="utf-8") as file:
    events = json.load(file)["events"]
for event in events:
    frames = event.get("frames", [])
    launch = event["kind"] == "api" and event["name"] == "clEnqueueNDRangeKernel"
    launches += launch
    assert not launch or [f for f in frames if f.get("function") == "main"], event
    chain = []
    for frame in frames:
        chain.append((frame.get("function"), frame.get("file"), frame.get("line", 0)))
        if not frame["inlined"]:
            if frame.get("module") == work + "/program":
                places[frame["address"]] = chain
            chain = []
assert launches >= 100 and places, (launches, places)
text = "".join("%x\n" % address for address in places)


def ask(tool):
    lines = subprocess.run([tool, "-a", "-i", "-f", "-e", work + "/kept"], input=text, capture_output=True, text=True,
                           check=True).stdout.splitlines()
    answers, at = {}, 0
    while at < len(lines):
        if lines[at].startswith("0x"):
            chain = answers[int(lines[at], 16)] = []
            at += 1
            continue
        file, line = lines[at + 1].split(" (discriminator")[0].rsplit(":", 1)
        chain.append((lines[at], None if file == "??" else file, int(line) if line.isdigit() else 0))
        at += 2
    return answers


answers = [ask(tool) for tool in sys.argv[2:]]
for address, chain in places.items():
    assert chain in [answer[address] for answer in answers], (hex(address), chain, [answer[address] for answer in answers])
print("%d launches, %d places" % (launches, len(places)))
EOF
