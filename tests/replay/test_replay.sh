#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs are recorded with their data and run again: what they computed comes out the same, byte for byte; and the
# program sees nothing of being recorded.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
[ -f "$agents/libtracesmith-opencl-record.so" ] || skip "the OpenCL recorder is not built"

# capture NAME COMMAND...: records it with its data into NAME.sbt.
capture() {
    name=$1
    shift
    "$TRACESMITH" profile --capture -o "$work/$name.sbt" -- "$@" >"$work/$name.out" 2>"$work/$name.err" ||
        fail "$name: $(cat "$work/$name.err")"
}
# replay CODE NAME OPTION...: replays it; the answer in NAME.json.
replay() {
    want=$1
    name=$2
    shift 2
    code=0
    "$TRACESMITH" replay --json "$@" "$work/$name.sbt" >"$work/$name.json" 2>"$work/$name.err" || code=$?
    [ "$code" -eq "$want" ] || fail "$name: replay gave $code: $(cat "$work/$name.err" "$work/$name.json")"
}
# verdicts NAME CONDITION: of Python, over `v` (verdicts), `r` (results) and `a` (the whole answer).
verdicts() {
    python3 -c 'import json, sys
a = json.load(open(sys.argv[1])); v = a["verdicts"]; r = a["results"]
sys.exit(0 if eval(sys.argv[2]) else "not so: %s: %s" % (sys.argv[2], json.dumps(v) + json.dumps(r[:3])))' \
        "$work/$1.json" "$2" || fail "$1"
}

# One launch after the other; the counter at the end is the number of launches, and it is read back.
capture loop "$programs/cl_launch_loop" -n 500
replay 0 loop
verdicts loop 'v["exact"] == len(r) >= 2 and a["recording"]["kernels"] >= 500'
python3 - "$work/loop.out" "$work/loop.json" <<'PY' || fail "the recording has another number of launches than the program"
import json, sys
said, answer = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
sys.exit(said["launches"] != answer["recording"]["kernels"])
PY

# Two queues with events between them, and a buffer that was never filled.
capture queues "$programs/cl_what_if" queues
replay 0 queues
verdicts queues 'v["exact"] == len(r) == 1'

# Every command there is, images and shared virtual memory too. The native kernel is not replayed: what it left is brought
# back for what comes after it.
capture every "$programs/cl_every_command"
replay 0 every
verdicts every 'v["exact"] == len(r) == a["recording"]["checks"] > 500'
verdicts every '{x["function"] for x in a["refusals"]} == {"clEnqueueNativeKernel"}'

# A whole program; from another place, and a file that is cut off.
if [ -x "$TRACESMITH_BUILD_DIR/examples/image_pipeline" ]; then
    "$TRACESMITH_BUILD_DIR/examples/image_pipeline" -n 4 -s 256x128 --json >"$work/alone"
    capture pipeline "$TRACESMITH_BUILD_DIR/examples/image_pipeline" -n 4 -s 256x128 --json
    for file in "$work/alone" "$work/pipeline.out"; do
        python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["checksum"])' "$file" >"$file.sum"
    done
    cmp "$work/alone.sum" "$work/pipeline.out.sum" || fail "recording changed what the program computed"
    mkdir "$work/elsewhere"
    mv "$work/pipeline.sbt" "$work/elsewhere/moved.sbt"
    mv "$work/elsewhere/moved.sbt" "$work/pipeline.sbt"
    replay 0 pipeline
    verdicts pipeline 'v["exact"] == len(r) > 5'
fi

# Noise that no luck decides: a layer over the driver makes the first byte of a result one more and one less in turns. One
# replay differs; two differ on both sides of what was recorded, which is noise; a tolerance of 1 takes it in, and less does not.
layer=$work/faulty.so
if "${CC:-cc}" -shared -fPIC -o "$layer" "$TRACESMITH_SOURCE_DIR/tests/replay/faulty_layer.c" 2>"$work/cc"; then
    noisy() {
        want=$1
        shift
        code=0
        OPENCL_LAYERS=$layer FAULTY_DEVICE="" FAULTY_LAUNCH=3 FAULTY_NOISE=1 "$TRACESMITH" replay --json "$work/loop.sbt" "$@" \
            >"$work/noisy.json" 2>"$work/noisy.err" || code=$?
        [ "$code" -eq "$want" ] || fail "noise $*: replay gave $code: $(cat "$work/noisy.err" "$work/noisy.json")"
    }
    noisy 1
    noisy 0 --times 2
    verdicts noisy 'v["diverged"] == 0 and v["within-noise"] >= 1 and all(x["replays_exact"] == 0 for x in r if x["verdict"] == "within-noise")'
    noisy 0 --tolerance 1
    verdicts noisy 'v["diverged"] == 0 and v["within-tolerance"] >= 1 and all(x["most_absolute"] == 1 for x in r if x["verdict"] == "within-tolerance")'
    noisy 1 --tolerance 0.5
else
    echo "left out: noise ($(head -1 "$work/cc"))"
fi

# A float sum by atomics: its last bits depend on the order, so only facts for every order are checked: the whole
# numbers next to it are exact, and no order moves the sum by more than all its roundings (a million, of half a unit
# each).
capture noise "$programs/cl_float_sum" -n 1048576
replay 0 noise --tolerance 65536
verdicts noise 'v["diverged"] == 0 and v["exact"] + v["within-tolerance"] == len(r) == 5'
verdicts noise '{x["element"] for x in r if x["verdict"] != "exact"} <= {"f32"}'
# If one diverged all the same, the hint names what could distinguish noise from a wrong result, if its kernel has
# atomics.
code=0
"$TRACESMITH" replay "$work/noise.sbt" >"$work/noise.txt" || code=$?
[ "$code" -eq 0 ] || grep -q -- "--times 20 distinguishes noise" "$work/noise.txt" || fail "no hint: $(cat "$work/noise.txt")"

# The program sees nothing of it: not in results, errors, reference counts or the order of callbacks.
for program in cl_own_events cl_errors; do
    "$programs/$program" >"$work/$program.bare" 2>/dev/null
    capture "$program" "$programs/$program"
    cmp "$work/$program.bare" "$work/$program.out" || fail "$program sees that it is recorded"
    replay 0 "$program"
    verdicts "$program" 'v["diverged"] == 0'
done

# Killed: the complete part is replayed, and reported to end early.
code=0
"$TRACESMITH" profile --capture -o "$work/killed.sbt" -- "$programs/cl_crash" -n 300 signal 9 >"$work/killed.out" 2>/dev/null ||
    code=$?
[ "$code" -eq 137 ] || fail "killed: $code"
replay 4 killed # nothing of it was compared, which is no success
verdicts killed 'a["recording"]["unfinished"] == 1 and a["recording"]["kernels"] == 300 and a["notes"]'

# The recorder of the trace is killed, and the program: everything that was recorded is recovered, for a replay too; twice is
# the same as once.
"$TRACESMITH" profile --capture -o "$work/orphan.sbt" -- "$programs/cl_crash" -n 5 hang >"$work/orphan.out" 2>/dev/null &
recorder=$!
until grep -q finished "$work/orphan.out"; do
    sleep 0.1
done
session=$("$TRACESMITH" recover --json | python3 -c '
import json, sys
print([s["directory"] for s in json.load(sys.stdin)["sessions"] if s["output"] == sys.argv[1]][0])' "$work/orphan.sbt")
program=$(pgrep -P "$recorder")
kill -9 "$recorder"
kill -9 "$program"
wait "$recorder" 2>/dev/null || true # until it is gone
while kill -0 "$program" 2>/dev/null; do
    sleep 0.1
done
for file in orphan2 orphan3; do
    "$TRACESMITH" recover "$session" -o "$work/$file.sbt" >"$work/orphan.txt" 2>&1 || fail "$(cat "$work/orphan.txt")"
    replay 4 "$file"
    verdicts "$file" 'a["recording"]["kernels"] == 5 and a["recording"]["processes"] == 1 and v["diverged"] == 0'
done
cmp "$work/orphan2.json" "$work/orphan3.json" || fail "recovered twice is not the same as once"
"$TRACESMITH" recover "$session" -o "$work/orphan.sbt" --remove >"$work/orphan.txt" 2>&1 || fail "$(cat "$work/orphan.txt")"
replay 4 orphan
verdicts orphan 'a["recording"]["kernels"] == 5 and a["recording"]["damaged"] == 0'
[ ! -d "$session" ] || fail "the directory is left though everything in it is written"

# A family of processes: forked before they used OpenCL, executed by a child, and the same process once more by exec.
capture family "$programs/cl_children" -n 20
replay 0 family
verdicts family 'a["recording"]["kernels"] == 21 + 20 + 22 + 23 and a["recording"]["processes"] == 4 and v["exact"] == len(r) == 8'
launches=$("$TRACESMITH" query --csv "$work/family.sbt" 'SELECT count(*) FROM kernel' | tail -n 1 | tr -d '\r')
[ "$launches" -eq 86 ] || fail "the events of children are missing next to their recording: $launches launches"

# An edited kernel.
cat >"$work/edited.cl" <<'CL'
__kernel void tick(__global uint *c) { c[get_global_id(0)] += 2; }
CL
replay 1 loop --source "tick=$work/edited.cl"
verdicts loop 'v["diverged"] >= 1 and all(x["offset"] == 0 for x in r if x["verdict"] == "diverged")'

# The same as pages: what JSON has, without a script that is needed; in a sandbox, which opens no file for writing; none of what runs
# nothing, and none in the place of the recording.
replay 1 loop --source "tick=$work/edited.cl" --html "$work/loop.html" --markdown "$work/loop.md"
PYTHONDONTWRITEBYTECODE=1 python3 "$TRACESMITH_SOURCE_DIR/tests/report/check_replay_page.py" "$work/loop.html" "$work/loop.json" ||
    fail "the page of the replay"
grep -q '^| 1 | first wrong ' "$work/loop.md" || fail "the first wrong command is not in the Markdown"
replay 0 queues --sandbox --html "$work/queues.html"
PYTHONDONTWRITEBYTECODE=1 python3 "$TRACESMITH_SOURCE_DIR/tests/report/check_replay_page.py" "$work/queues.html" "$work/queues.json" ||
    fail "the page of the replay in a sandbox"
replay 2 loop --hazards --html "$work/x.html"
replay 2 loop --mode dry-run --html "$work/x.html"
replay 2 loop --html "$work/loop.sbt"
[ ! -e "$work/x.html" ] || fail "a page about nothing"

# The memory of a command before and after it: command n is the n-th launch, which counts one up.
"$TRACESMITH" replay "$work/loop.sbt" --contents 7 --json >"$work/contents.json" || fail "no contents"
python3 - "$work/contents.json" <<'PY' || fail "not the memory before and after command 7: $(cat "$work/contents.json")"
import base64, json, struct, sys
(memory,) = json.load(open(sys.argv[1]))["contents"]["memories"]
sides = [struct.unpack("<I", base64.b64decode(memory[side])) for side in ("before", "after")]
sys.exit((memory["bytes"], memory["shown"], memory["element"], *sides) != (4, 4, "u32", (6,), (7,)))
PY
"$TRACESMITH" replay "$work/loop.sbt" --contents 7 | grep -qx '  \[0\]  6 -> 7' || fail "the text of --contents"
replay 2 loop --contents 100000
replay 2 loop --contents 7 --times 3
replay 2 loop --pid 7
replay 2 loop --contents 7 --pid x
# Of each process of the family its own last launch, which counts its own number; command N of another process that has none is not it.
replay 0 family --mode dry-run
python3 - "$work/family.json" >"$work/lasts" <<'PY'
import json, sys
last, launches = {}, {}
for one in json.load(open(sys.argv[1]))["commands"]:
    if one["command"] <= last.get(one["pid"], -1):  # another program by exec
        last[one["pid"]] = -1
        launches[one["pid"]] = 0
    if one["what"] == "kernel":
        last[one["pid"]], launches[one["pid"]] = one["command"], launches.get(one["pid"], 0) + 1
for pid in last:
    print(pid, last[pid], launches[pid])
PY
[ "$(wc -l <"$work/lasts")" -ge 3 ] || fail "the processes of the family: $(cat "$work/lasts")"
while read -r pid command launches; do
    replay 0 family --contents "$command" --pid "$pid"
    python3 - "$work/family.json" "$launches" <<'PY' || fail "not launch $launches of process $pid: $(cat "$work/family.json")"
import base64, json, struct, sys
(memory,) = json.load(open(sys.argv[1]))["contents"]["memories"]
sides = [struct.unpack("<8I", base64.b64decode(memory[side])) for side in ("before", "after")]
sys.exit(sides != [(int(sys.argv[2]) - 1,) * 8, (int(sys.argv[2]),) * 8])
PY
done <"$work/lasts"
most=$(sort -k 2n "$work/lasts" | tail -n 1 | cut -d ' ' -f 2)
least=$(sort -k 2n "$work/lasts" | head -n 1 | cut -d ' ' -f 1)
replay 2 family --contents "$most" --pid "$least"

# A source that does not compile, makes another kernel, or replaces an unknown kernel, is never "everything is the
# same".
replay 2 loop --source "tock=$work/edited.cl"
grep -q "'tock'; available: 'tick'" "$work/loop.err" || fail "a kernel that is not there: $(cat "$work/loop.err")"
replay 2 loop --permute 2 --source "tock=$work/edited.cl"
sed 's/tick/tock/' "$work/edited.cl" >"$work/other.cl"
replay 3 loop --source "tick=$work/other.cl"
echo '__kernel void tick(__global uint *c) {' >"$work/broken.cl"
replay 3 loop --source "tick=$work/broken.cl"
grep -q "does not build that kernel" "$work/loop.err" || fail "an edited kernel that does not compile: $(cat "$work/loop.err")"

# No recording in it.
"$TRACESMITH" profile -o "$work/plain.sbt" -- "$programs/cl_launch_loop" -n 1 >/dev/null 2>&1
code=0
"$TRACESMITH" replay "$work/plain.sbt" 2>"$work/plain.err" || code=$?
[ "$code" -ne 0 ] || fail "a trace without a recording is replayed"
grep -q -- --capture "$work/plain.err" || fail "how to get one is not said: $(cat "$work/plain.err")"

# A program that closes all files it does not know: files it opens then are its own, and the recording continues. It
# is given the same numbers for its files as ever.
mkdir "$work/mine" "$work/recorded"
"$programs/cl_closes" "$work/mine" >"$work/numbers"
capture closes "$programs/cl_closes" "$work/recorded"
cmp "$work/numbers" "$work/closes.out" || fail "the program is given other descriptors: $(cat "$work/closes.out")"
replay 0 closes
verdicts closes 'a["recording"]["kernels"] == 40 and a["recording"]["unfinished"] == 0 and v["exact"] == len(r) >= 1'

# No room for all of it: the part that fits is replayed, and the reason for the rest is printed.
if [ -x "$TRACESMITH_BUILD_DIR/examples/image_pipeline" ]; then
    capture full sh -c 'ulimit -f 8000; exec "$@"' sh "$TRACESMITH_BUILD_DIR/examples/image_pipeline" -n 8 -s 1024x576
    ! grep -q "nothing lost" "$work/full.err" || fail "what was lost is not said: $(cat "$work/full.err")"
    "$TRACESMITH" view -t loss --json "$work/full.sbt" >"$work/full.json"
    python3 - "$work/full.json" <<'PY' || fail "the ledger does not say that the recording stopped"
import json, sys
losses = [(e.get("reason"), e.get("text", "")) for e in json.load(open(sys.argv[1]))["events"]]
sys.exit(0 if any(r == "disk_full" and "ran out of space" in t for r, t in losses) else str(losses))
PY
    replay 4 full # there was no room for a result, and a replay without one is no success
    verdicts full 'a["recording"]["commands"] < 60 and a["recording"]["unfinished"] == 1 and v["diverged"] == 0'
    verdicts full 'any(x["function"] == "everything after" and "no space left" in x["reason"] for x in a["refusals"])'
fi
