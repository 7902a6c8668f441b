# SPDX-License-Identifier: Apache-2.0
"""sample.py FOLDER RUNS: FOLDER/nested alone, with the kernel's timer, profiled, sampled, and under perf record, in turns; see bench_sample.sh."""
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time

from paired import by_signs

folder, runs = sys.argv[1], int(sys.argv[2])
program = [os.path.join(folder, "nested"), os.environ.get("TRACESMITH_BENCH_ROUNDS", "2500000")]
profile = [os.environ["TRACESMITH"], "profile", "-o", os.path.join(folder, "t.sbt")]
perf = ["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "999", "-o", os.path.join(folder, "perf.data")]
forms = {"alone": program}
for rate in ["999", *os.environ.get("TRACESMITH_BENCH_RATES", "").split()]:
    forms[f"the kernel's timer, {rate} Hz"] = [os.path.join(folder, "perf_timer"), rate, *program]
    forms[f"profile --sample={rate}"] = [*profile, f"--sample={rate}", "--", *program]
forms["profile"] = [*profile, "--", *program]
if shutil.which("perf") and os.environ.get("TRACESMITH_BENCH_PERF") != "0":
    forms["perf record"] = [*perf, "--", *program]
    forms["perf record --call-graph dwarf,16384"] = [*perf, "--call-graph", "dwarf,16384", "--", *program]


def run(command):
    """Seconds: of the command, of the processors, and what the program itself measures of its computation: wall time, and the processor's."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    wall = time.monotonic() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    _, own_wall, own_processor = said.split()[:3]
    return (wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, int(own_wall) / 1e9, int(own_processor) / 1e9)


taken = {name: [] for name in forms}
for turn in range(runs):
    for name in list(forms) if turn % 2 else reversed(list(forms)):
        taken[name].append(run(forms[name]))
for title, number in (("least", min), ("median", statistics.median)):
    print(f"{title} of {runs} runs: the command, its processor time; of the program itself: wall time, processor time")
    alone = [number(values) for values in zip(*taken["alone"])]
    for name, of in taken.items():
        found = [number(values) for values in zip(*of)]
        print(f"{name:38} " + ", ".join(f"{value:.3f} s ({100 * (value / base - 1):+.1f} %)" for value, base in zip(found, alone)))
print("in the same turn as alone: the median of the differences, and the interval that has it with 95 % (sign test, from 6 runs on)")
for name in list(forms)[1:]:
    parts = []
    for base, value in zip(zip(*taken["alone"]), zip(*taken[name])):
        differences = [100 * (b / a - 1) for a, b in zip(base, value)]
        bounds = by_signs(differences)
        parts.append(f"{statistics.median(differences):+.1f} %" + (f" ({bounds[0]:+.1f} to {bounds[1]:+.1f})" if bounds else ""))
    print(f"{name:38} " + ", ".join(parts))
