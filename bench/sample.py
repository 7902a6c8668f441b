# SPDX-License-Identifier: Apache-2.0
"""sample.py FOLDER RUNS: FOLDER/nested alone, profiled, sampled, and under perf record, in turns; see bench_sample.sh."""
import os
import resource
import shutil
import subprocess
import sys
import time

folder, runs = sys.argv[1], int(sys.argv[2])
program = [os.path.join(folder, "nested"), "2500000"]
profile = [os.environ["TRACESMITH"], "profile", "-o", os.path.join(folder, "t.sbt")]
perf = ["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "999", "-o", os.path.join(folder, "perf.data")]
forms = {"alone": program, "profile": [*profile, "--", *program], "profile --sample": [*profile, "--sample", "--", *program]}
if shutil.which("perf"):
    forms["perf record"] = [*perf, "--", *program]
    forms["perf record --call-graph dwarf,16384"] = [*perf, "--call-graph", "dwarf,16384", "--", *program]
best = {name: [float("inf")] * 2 for name in forms}
for _ in range(runs):
    for name, command in forms.items():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begun = time.monotonic()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        wall = time.monotonic() - begun
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best[name] = [min(best[name][0], wall), min(best[name][1], spent)]
alone = best["alone"]
for name, (wall, spent) in best.items():
    print(f"{name:38} {wall:.3f} s ({100 * (wall / alone[0] - 1):+.1f} %), of the processors {spent:.3f} s "
          f"({100 * (spent / alone[1] - 1):+.1f} %)")
