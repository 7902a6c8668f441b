#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every range of --capture records the commands it names, and nothing else; replays exactly what they computed; and is
# no larger than the whole. tests/programs/cl_ranges.c describes its commands.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
[ -f "$agents/libtracesmith-opencl-record.so" ] || skip "the OpenCL recorder is not built"

# judge FILE CONDITION: of Python, over `v` (verdicts), `r` (results), `a` (the whole answer) and `n` (its counts).
judge() {
    code=0
    "$TRACESMITH" replay --json "$1" >"$work/answer.json" 2>"$work/answer.err" || code=$?
    # 4: nothing was compared, which is no success.
    compared "$work/answer.json" && want=0 || want=4
    [ "$code" -eq "$want" ] || fail "$1: replay gave $code: $(cat "$work/answer.err" "$work/answer.json")"
    python3 -c 'import json, sys
a = json.load(open(sys.argv[1])); v = a["verdicts"]; r = a["results"]; n = a["recording"]
sys.exit(0 if eval(sys.argv[2]) else "not so: %s: %s" % (sys.argv[2], json.dumps([v, n, r[:3]])))' \
        "$work/answer.json" "$2" || fail "$1"
}
# `info` states as many commands and results as `replay` lists, and nothing about a recording if there is none.
says_what_it_has() {
    "$TRACESMITH" info "$1" >"$work/info.txt" || return 1
    python3 -c 'import json, re, sys
line = re.search(r"^recording +(\d+) (commands?) with (.*) of data, (\d+) (results?) to compare", open(sys.argv[1]).read(), re.M)
answer = json.load(open(sys.argv[2]))
commands, results, data = answer["recording"]["commands"], len(answer["results"]), answer["recording"]["chunk_bytes"]
if not line:
    sys.exit(commands > 0)
unit = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}
size, name = line.group(3).split()
right = (int(line.group(1)), int(line.group(4))) == (commands, results) and abs(float(size) * unit[name] - data) <= 0.01 * data + 1
right = right and (line.group(2) == "command") == (commands == 1) and (line.group(5) == "result") == (results == 1)
sys.exit(not right)' "$work/info.txt" "$2"
}
bytes_of() {
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["recording"]["chunk_bytes"])' "$work/answer.json"
}

"$programs/cl_ranges" >"$work/bare" || fail "the program does not run"
# RANGE, kernels that are in it, results of them. A megabyte is what cl_ranges has.
while read -r range kernels results; do
    "$TRACESMITH" profile --capture="$range" -o "$work/range.sbt" -- "$programs/cl_ranges" >"$work/out" 2>"$work/err" ||
        fail "$range: $(cat "$work/err")"
    cmp "$work/bare" "$work/out" || fail "$range changes what the program computes"
    if [ "$kernels" -eq 0 ]; then
        grep -q "no command was in the range '$range'" "$work/err" || fail "$range: not said that it is empty"
    else
        grep -q 'for a replay: [1-9]' "$work/err" || fail "$range: not said what there is to replay"
    fi
    judge "$work/range.sbt" "n['kernels'] == $kernels and v['exact'] == len(r) == n['checks'] >= $results"
    says_what_it_has "$work/range.sbt" "$work/answer.json" || fail "$range: $("$TRACESMITH" info "$work/range.sbt")"
    size=$(bytes_of)
    [ "$range" = all ] && whole=$size
    # A launch more or less is one more version of the megabyte, in the whole too.
    case $range in
    kernels* | queue* | thread*) [ "$size" -le $((whole + 1024 * 1024 + 256)) ] || fail "$range has $size bytes, all has $whole" ;;
    esac
done <<'LIST'
all 24 2
kernels:1+4 4 1
kernels:5+3 3 1
kernels:24+1 1 1
kernels:100+5 0 0
kernel:add_it 10 1
kernel:double_it:3+2 2 1
kernel:count_it 4 1
between:add_it..double_it 19 1
between:count_it..double_it 5 2
queue:1 20 1
queue:2 4 1
thread:1 20 1
thread:2 4 1
LIST

# What a range records is what the whole computed there: a launch replayed from its first touch gives the same bytes.
"$TRACESMITH" profile --capture=kernel:double_it:10+1 -o "$work/last.sbt" -- "$programs/cl_ranges" >/dev/null 2>&1
judge "$work/last.sbt" "r[0]['bytes'] == 1 << 20 and r[0]['writer'] == 'double_it'"

# The command that wrote it is an event of the same trace, by its number.
correlation=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["results"][0]["writer_correlation"])' "$work/answer.json")
said=$("$TRACESMITH" query --csv "$work/last.sbt" "select name from kernel where correlation = $correlation" | tail -1 | tr -d '\r')
[ "$said" = double_it ] || fail "the command with the number $correlation is '$said' in the trace"

# Ranges that the program passes to NVTX: RANGE, kernels in it, arguments of cl_nvtx.
while read -r kernels words range; do
    # shellcheck disable=SC2086 # the program's words
    "$TRACESMITH" profile --capture="range:$range" -o "$work/range.sbt" -- "$programs/cl_nvtx" ${words%%/*} ${words##*/} \
        >"$work/out" 2>"$work/err" || fail "$range: $(cat "$work/err")"
    judge "$work/range.sbt" "n['kernels'] == $kernels and v['exact'] == len(r) == n['checks'] >= ($kernels > 0)"
done <<'LIST'
150 3/ launches
0 3/ idles
12 1/spread two words
7 1/spread two
0 1/spread tw
LIST
code=0
"$TRACESMITH" profile --api opencl --capture=range:launches -o "$work/range.sbt" -- "$programs/cl_nvtx" >"$work/out" 2>"$work/err" || code=$?
[ "$code" -ne 0 ] || fail "ranges are watched without the agent that knows them"
grep -q NVTX "$work/err" || fail "not said what is missing: $(cat "$work/err")"

# From signal to signal: the program waits for us at both ends.
mkfifo "$work/in"
"$TRACESMITH" profile --capture=signal -o "$work/signal.sbt" -- "$programs/cl_ranges" --hold <"$work/in" >"$work/out" 2>"$work/err" &
recorder=$!
exec 9>"$work/in"
for holds in 1 2; do
    until [ "$(grep -c holding "$work/out")" -ge $holds ]; do
        kill -0 $recorder || fail "$(cat "$work/err")"
        sleep 0.05
    done
    kill -USR1 $recorder
    # The recorder's handler has run once the signal is no more pending, and not blocked, which it is in the handler.
    until [ "$(python3 -c 'import sys
for line in open("/proc/%s/status" % sys.argv[1]):
    if line.startswith(("SigPnd", "ShdPnd", "SigBlk")): print(int(line.split()[1], 16) >> 9 & 1)' $recorder | sort -u)" = 0 ]; do
        sleep 0.05
    done
    echo go >&9
done
exec 9>&-
wait $recorder || fail "$(cat "$work/err")"
# After the fourth double_it: add_it, and three rounds up to the seventh double_it.
judge "$work/signal.sbt" "n['kernels'] == 6 and v['exact'] == len(r) >= 1"

# An invalid range is reported before anything runs.
for range in '' kernels kernels:0+1 kernels:1+ kernel: between:a queue:x nothing range: 'all no-payload'; do
    code=0
    "$TRACESMITH" profile --capture="$range" -o "$work/bad.sbt" -- true 2>"$work/err" || code=$?
    [ -z "$range" ] || [ "$code" -ne 0 ] || fail "'$range' is taken for a range"
    [ -z "$range" ] || grep -q "not a capture range" "$work/err" || fail "'$range': $(cat "$work/err")"
done

# Hashes only: nothing of the data is in the file, and what depends on none of it is compared all the same.
"$TRACESMITH" profile --capture --no-payload -o "$work/hashes.sbt" -- "$programs/cl_ranges" >/dev/null 2>&1
judge "$work/hashes.sbt" "v['diverged'] == 0 and v['uncomparable'] >= 2 and n['chunk_bytes'] < 4096 and all('no-payload' in x['reason'] for x in r if x['verdict'] == 'uncomparable')"
judge "$work/hashes.sbt" "sum(x['verdict'] == 'exact' and x['writer'] == 'count_it' for x in r) == 2"

# Every command's hash: the first bad command is the first that differs.
"$TRACESMITH" profile --capture --capture-hashes -o "$work/every.sbt" -- "$programs/cl_ranges" >/dev/null 2>&1
judge "$work/every.sbt" "v['exact'] == len(r) and sum(x['what'] == 'written' for x in r) == 24 + 2"
cat >"$work/edited.cl" <<'CL'
__kernel void double_it(__global uint *x) { x[get_global_id(0)] *= 2; }
__kernel void add_it(__global uint *x, uint v) { x[get_global_id(0)] += v == 4 ? 5 : v; }
__kernel void count_it(__global uint *x) { x[get_global_id(0)]++; }
CL
code=0
"$TRACESMITH" replay --json --all --source "add_it=$work/edited.cl" "$work/every.sbt" >"$work/answer.json" || code=$?
[ "$code" -eq 1 ] || fail "an edited kernel gives $code"
python3 - "$work/answer.json" <<'PY' || fail "the first bad command is not named"
import json, sys
r = json.load(open(sys.argv[1]))["results"]
first = next(x for x in r if x["verdict"] == "diverged")
# Two writes and four launches of the other thread; four rounds of two, and the double_it of the fifth.
sys.exit(0 if (first["writer"], first["writer_command"]) == ("add_it", 2 + 4 + 4 * 2 + 1) else str(first))
PY

# With a tolerance: the distance of a result with only a hash is unknown, so it does not count as diverged; results
# with data are within it.
replay_within() {
    code=0
    "$TRACESMITH" replay --json --source "add_it=$work/edited.cl" --tolerance "$1" "$work/every.sbt" >"$work/answer.json" ||
        code=$?
    [ "$code" -eq "$2" ] || fail "with a tolerance of $1: $code"
}
replay_within 0.5 1
replay_within 1e10 0
python3 - "$work/answer.json" <<'PY' || fail "hashes and a tolerance"
import json, sys
a = json.load(open(sys.argv[1]))
bad = [x for x in a["results"] if x["verdict"] != "exact"]
hashed = [x for x in bad if x["verdict"] == "uncomparable"]
within = [x for x in bad if x["verdict"] == "within-tolerance"]
assert hashed and within and len(hashed) + len(within) == len(bad), a["verdicts"]
assert all("hash" in x["reason"] and "recorded_bits" not in x for x in hashed), hashed[0]
assert all(x["most_absolute"] >= 1 and x["most_absolute"] % 1 == 0 for x in within), within
PY
