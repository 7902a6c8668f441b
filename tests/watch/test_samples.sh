#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# profile --sample compared with a program's own record: which functions took its processor time, and how often its threads
# were switched. Where the system refuses, the user gets the reason, and the program runs all the same.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/watch/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/watch/common.sh"
programs=$TRACESMITH_BUILD_DIR/tests/programs
[ -x "$programs/samples" ] || skip "the programs are not built"
command -v nm >/dev/null || skip "no nm to list functions"

# A filter of system calls that refuses: a message, a loss without a count, and the program's own output and exit code.
"$programs/samples" -c 0.01 >"$work/plain.jsonl" || fail "the program fails by itself"
code=0
"$programs/no_perf" "$TRACESMITH" profile --sample -o "$work/refused.sbt" -- "$programs/samples" -c 0.01 \
    >"$work/refused.jsonl" 2>"$work/err" || code=$?
if [ "$code" -eq 3 ]; then
    echo "no filters of system calls here: refusal by one is not tested"
else
    [ "$code" -eq 0 ] || fail "the program did not run without samples ($code): $(cat "$work/err")"
    grep -q "no samples are recorded: .*perf_event" "$work/err" || fail "the refusal is not said: $(cat "$work/err")"
    "$TRACESMITH" view -f json "$work/refused.sbt" >"$work/refused.json" || fail "the trace cannot be read"
    python3 - "$work/refused.json" "$work/refused.jsonl" "$work/plain.jsonl" <<'PY' || fail "the refusal is not in the trace"
import json, sys
events = json.load(open(sys.argv[1]))["events"]
refused, plain = (json.loads(open(path).read()) for path in sys.argv[2:])
assert [e["reason"] for e in events if e["kind"] == "loss"] == ["not_permitted"], events
assert not [e for e in events if e["kind"] in ("sample", "off_cpu")]
assert [t["sum"] for t in refused["threads"]] == [t["sum"] for t in plain["threads"]]
PY
fi

for wrong in 0 20001 many; do
    code=0
    "$TRACESMITH" profile --sample=$wrong -o "$work/wrong.sbt" -- touch "$work/was_run" 2>"$work/err" || code=$?
    { [ "$code" -eq 2 ] && [ ! -e "$work/was_run" ] && grep -q "1 to 20000" "$work/err"; } ||
        fail "--sample=$wrong gave $code: $(cat "$work/err")"
done

# NAME, the least number of samples of a thread, options of the program: its samples are what it says.
check() {
    name=$1 least=$2
    shift 2
    code=0
    "$TRACESMITH" profile --sample -o "$work/$name.sbt" -- "$programs/samples" "$@" >"$work/$name.jsonl" \
        2>"$work/err" || code=$?
    if grep -q "no samples are recorded" "$work/err"; then
        skip "$(grep "no samples are recorded" "$work/err")"
    fi
    [ "$code" -eq "$expected" ] || fail "recording $name: exit code $code: $(cat "$work/err")"
    "$TRACESMITH" view --stacks -f json "$work/$name.sbt" >"$work/$name.json" || fail "the trace cannot be read"
    "$TRACESMITH" info --json "$work/$name.sbt" >"$work/$name.info" || fail "the trace has no summary"
    python3 "$TRACESMITH_SOURCE_DIR/tests/watch/check_samples.py" "$work/$name.json" "$work/$name.jsonl" \
        "$work/names" "$least" "$work/$name.info" || fail "the samples of $name are not what the program says"
}
nm "$programs/samples" >"$work/names"
expected=0
check one 20 -c 0.5
check family 20 -t 2 -c 0.4 -f -x
check many 0 -t 64 -c 0.02
expected=137
check killed 20 -c 0.4 -k

# The recorder is killed when the program has computed: what it had kept is in the recovered trace, and the program goes on.
python3 - "$programs/samples" "$work" <<'PY' || fail "the recovered trace has not what was kept"
import json, os, struct, subprocess, sys, time
tracesmith, (program, work) = os.environ["TRACESMITH"], sys.argv[1:]
SAMPLE, LEAST = 69, 20  # the type of a record
script = 'echo "$TRACESMITH_SESSION"; "$0" -c 0.4; echo done; read line; echo went on'
profile = subprocess.Popen([tracesmith, "profile", "--sample", "-o", work + "/left.sbt", "sh", "-c", script, program],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
session, said = (profile.stdout.readline() for _ in range(2))
thread = json.loads(said)["threads"][0]["tid"]
assert profile.stdout.readline() == "done\n"


def kept():
    data, at, count = open(session.strip() + "/samples.watch", "rb").read(), 0, 0
    while at + 8 <= len(data):
        size = struct.unpack_from("<I", data, at)[0]
        if at + 8 + size <= len(data):
            kind, _, tid = struct.unpack_from("<III", data, at + 8)
            count += kind == SAMPLE and tid == thread
        at += 8 + size
    return count


while kept() < LEAST:
    assert profile.poll() is None, "the recorder ended"
    time.sleep(0.02)
there = kept()
profile.kill()
profile.wait()
profile.stdin.write("go\n")
profile.stdin.flush()
assert profile.stdout.readline() == "went on\n", "the program does not go on"
profile.stdout.read()
subprocess.run([tracesmith, "recover", session.strip(), "-o", work + "/recovered.sbt"], check=True,
               stdout=subprocess.DEVNULL)
if os.path.exists(session.strip()):
    subprocess.run([tracesmith, "recover", "--remove", session.strip()], check=True, stdout=subprocess.DEVNULL)
trace = json.loads(subprocess.run([tracesmith, "view", "--stacks", "-f", "json", work + "/recovered.sbt"], check=True,
                                  stdout=subprocess.PIPE).stdout)
tids = {track["id"]: track.get("tid") for track in trace["tracks"]}
found = [e for e in trace["events"] if e["kind"] == "sample" and tids[e["track"]] == thread]
assert len(found) >= there, (len(found), there)
assert any(f.get("function") == "samples_heavy" for e in found for f in e.get("frames", []))
assert [e for e in trace["events"] if e["kind"] == "loss" and e["reason"] == "process_died"]
PY
