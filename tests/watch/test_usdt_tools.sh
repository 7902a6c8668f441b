#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Static probes in our libraries are what other tools know: perf finds them by name, attaches to them, and counts as many passes
# as the program launches; bpftrace does, where it is there.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
[ "$(id -u)" = 0 ] || skip "only root may attach probes"
# A private copy: a tool sees every pass of the place in a file, and other tests launch meanwhile.
cp -r "$agents" "$work/agents"
TRACESMITH_AGENT_DIR=$work/agents
export TRACESMITH_AGENT_DIR
library=$work/agents/libtracesmith-opencl.so
used=
# The probes that perf makes have one name in the whole machine: a second run of this test waits.
for events in /sys/kernel/tracing/uprobe_events /sys/kernel/debug/tracing/uprobe_events; do
    [ -r "$events" ] || continue
    exec 9<"$events"
    ! command -v flock >/dev/null || flock 9
    break
done
if command -v perf >/dev/null && perf --buildid-dir "$work/ids" buildid-cache --add "$library" 2>/dev/null; then
    perf --buildid-dir "$work/ids" probe -q -d sdt_tracesmith:launch 2>/dev/null || true
    if perf --buildid-dir "$work/ids" probe -q sdt_tracesmith:launch 2>"$work/probe.err"; then
        # What perf itself writes of an event is its header and one line each.
        perf --buildid-dir "$work/ids" record -q -e sdt_tracesmith:launch -o "$work/perf.data" -- \
            "$TRACESMITH" profile -o "$work/run.sbt" -- "$programs/cl_launch_loop" -n 150 >"$work/said.json" 2>"$work/err" ||
            { perf probe -q -d sdt_tracesmith:launch; fail "perf cannot record it: $(cat "$work/err")"; }
        perf script -i "$work/perf.data" 2>/dev/null >"$work/script"
        perf probe -q -d sdt_tracesmith:launch
        python3 - "$work/script" "$work/said.json" <<'PY' || fail "perf does not see as many launches as there are"
import json, sys
seen = [line for line in open(sys.argv[1]) if "sdt_tracesmith:launch" in line]
said = json.load(open(sys.argv[2]))
assert len(seen) == said["launches"], (len(seen), said["launches"], seen[:2])
PY
        used="perf"
    fi
fi
exec 9<&-
if command -v bpftrace >/dev/null && bpftrace -l "usdt:$library:tracesmith:launch" 2>/dev/null | grep -q launch; then
    python3 - "$library" "$TRACESMITH" "$programs/cl_launch_loop" "$work" <<'PY' || fail "bpftrace does not see as many launches as there are"
import json, re, signal, subprocess, sys
library, tracesmith, program, work = sys.argv[1:]
script = 'BEGIN { printf("ready\\n"); } usdt:%s:tracesmith:launch { @launches = count(); }' % library
tool = subprocess.Popen(["bpftrace", "-e", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
said = []
while b"ready\n" not in said:
    said.append(tool.stdout.readline())
    if not said[-1]:
        print("bpftrace cannot attach:", tool.stderr.read().decode())
        sys.exit(1)
out = subprocess.run([tracesmith, "profile", "-o", work + "/b.sbt", "--", program, "-n", "150"], stdout=subprocess.PIPE, check=True)
tool.send_signal(signal.SIGINT)
counted = re.search(r"@launches: (\d+)", tool.communicate()[0].decode())
assert counted and int(counted.group(1)) == json.loads(out.stdout)["launches"], (counted, out.stdout)
PY
    used="$used bpftrace"
fi
[ -n "$used" ] || skip "neither perf nor bpftrace can be used here: $(cat "$work/probe.err" 2>/dev/null)"
echo "attached by: $used"
