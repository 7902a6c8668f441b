#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The flight recorder over a long time: the memory of `tracesmith profile --flight`, compared with its limit, and the disk it takes, while a
# program makes RATE ranges per second; then whether each slow step of a program is caught, and no other.
#
# More than 1 step in 1,000 is slow, so the percentile is p99: at p99.9 the slow steps themselves would set the limit.
#
# SECONDS_TO_RUN (600), RATE (1000000 per second), LIMIT (512, MiB), STEPS (10000, of which every 500th is slow). Skips the steps
# without an OpenCL device.
set -eu
: "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/ranges.c" <<'C'
#include "nvtx_mini.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv) {
    const double rate = atof(argv[1]), seconds = argc > 2 ? atof(argv[2]) : 1;
    struct timespec due;
    unsigned long made = 0;
    clock_gettime(CLOCK_MONOTONIC, &due);
    for (double at = 0; at < seconds; at += 0.001) {
        for (int i = 0; i < (int)(rate / 1000); i++, made++) {
            nvtxRangePushA("work");
            nvtxRangePop();
        }
        due.tv_nsec += 1000000;
        if (due.tv_nsec >= 1000000000) {
            due.tv_nsec -= 1000000000;
            due.tv_sec++;
        }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    }
    printf("%lu\n", made);
    return 0;
}
C
cc -O2 -I"$TRACESMITH_SOURCE_DIR/tests/programs" -o "$work/ranges" "$work/ranges.c" -ldl
python3 - "$TRACESMITH_BUILD_DIR" "$work" "${SECONDS_TO_RUN:-600}" "${RATE:-1000000}" "${LIMIT:-512}" "${STEPS:-10000}" <<'PY'
import bisect, glob, json, os, re, signal, subprocess, sys, time

build, work = sys.argv[1:3]
seconds, rate, limit, steps = (int(word) for word in sys.argv[3:])
tracesmith, programs = build + "/bin/tracesmith", build + "/tests/programs/"


def memory(pid):
    """Anonymous memory, in MiB: the window. The rings are files in shared memory."""
    with open("/proc/%d/status" % pid) as status:
        found = re.search(r"RssAnon:\s+(\d+)", status.read())
    return int(found.group(1)) / 1024 if found else 0


def disk():
    return sum(os.path.getsize(path) for path in glob.glob(work + "/flight*")) / 2**20


process = subprocess.Popen([tracesmith, "profile", "--flight=1h,%dM" % limit, "-o", work + "/flight.sbt", "--", work + "/ranges",
                            str(rate), str(seconds)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
begun, full, most, disk_before = time.monotonic(), [], 0, 0
while process.poll() is None:
    now = memory(process.pid)
    most = max(most, now)
    if time.monotonic() - begun > seconds / 4:
        full.append(now)
    disk_before = max(disk_before, disk())
    if time.monotonic() - begun > seconds * 0.9 and not glob.glob(work + "/flight*"):
        process.send_signal(signal.SIGUSR2)  # one file, near the end
    time.sleep(0.2)
out, errors = process.communicate()
print("made %s ranges in %d s; memory of the recorder: %.0f MiB at most, %.0f to %.0f MiB in the last three quarters, limit %d MiB" %
      (out.decode().strip(), seconds, most, min(full or [0]), max(full or [0]), limit))
print("disk: %.0f MiB in %d file(s)" % (disk(), len(glob.glob(work + "/flight*"))))
print(errors.decode().strip().splitlines()[-1])

done = subprocess.run([tracesmith, "profile", "--flight=2s", "--trigger", "range:step>p99*4", "--cool-down", "0", "--max-files", "1000", "-o",
                       work + "/slow.sbt", "--", programs + "cl_steps", str(steps), "500", "100"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
if done.returncode == 4:
    sys.exit("steps: no OpenCL device")
lines = [list(map(int, line.split())) for line in done.stdout.decode().splitlines() if line[:1].isdigit()]


def slow_by_itself(lines):
    """Numbers of the steps that took longer than 4 times the p99 of the earlier ones, by the program's own clock around them. The
    recorder's classes of durations are 3 % wide."""
    earlier, found = [], set()
    for number, _, _, around, _ in lines:
        if len(earlier) >= 100 and around > 4 * 0.96 * earlier[int(0.985 * len(earlier))]:
            found.add(number)
        bisect.insort(earlier, around)
    return found


caught = set()
for path in glob.glob(work + "/slow.*.sbt"):
    facts = json.loads(subprocess.run([tracesmith, "info", "--json", path], stdout=subprocess.PIPE, check=True).stdout)["attributes"]
    at = next(int(fact["value"]) for fact in facts if fact["key"] == "flight.%s.trigger_ns" % path.split(".")[-2])
    caught.add(min(lines, key=lambda line: abs(line[4] - at))[0])
injected = {line[0] for line in lines if line[1]}
print("steps: %d; slow on purpose: %d, of which %d have a file; files of other steps: %d, of which %d were slow by the program's own clock" %
      (len(lines), len(injected), len(injected & caught), len(caught - injected), len((caught - injected) & slow_by_itself(lines))))
PY
