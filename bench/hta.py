# SPDX-License-Identifier: Apache-2.0
"""HTA's questions on a Kineto trace; run by bench_hta.sh. argv[1:]: traces, each one rank.

By HTA, by tracesmith.hta (HTA's columns as pandas' frames, HTA's numbers), and by tracesmith's own analyses (in nanoseconds, without
pandas). Each side runs in processes of its own, in turns: time from the first import to the last answer, and the largest resident
memory; of those that need pandas also what is beyond importing it. HTA is used where it is installed for the Python that runs this
(PyPI: HolisticTraceAnalysis). The least and the median of the runs are printed.
"""
import importlib.metadata
import os
import statistics
import subprocess
import sys

RUNS = 5
QUESTIONS = ("get_gpu_kernel_breakdown", "get_temporal_breakdown", "get_idle_time_breakdown", "get_comm_comp_overlap",
             "get_cuda_kernel_launch_stats", "get_queue_length_summary", "get_queue_length_time_series", "get_memory_bw_summary",
             "get_memory_bw_time_series")
PLOTS = QUESTIONS[:5]  # these want to be told not to draw
OWN = ("kernels", "breakdown", "idle", "overlap", "launches", "queue_length", "bandwidth")
MEASURE = """
import resource, sys, time
begin = time.perf_counter()
def now():
    return time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
"""
ASK = MEASURE + """
import logging
logging.disable(logging.CRITICAL)
import pandas
base = now()
from {module} import TraceAnalysis
analysis = TraceAnalysis(trace_files={{0: sys.argv[1]}}, trace_dir="")
failed = []
for question in {questions!r}:
    try:
        getattr(analysis, question)(**({{"visualize": False}} if question in {plots!r} else {{}}))
    except Exception:
        failed.append(question)
print(*base, *now(), ",".join(failed) or "-")
"""
ASK_OWN = MEASURE + """
base = now()
import tracesmith as ts
with ts.open(sys.argv[1]) as trace:
    for report in trace.analyze(*{own!r}).to_dict().values():
        pass
print(*base, *now(), "-")
"""


def ask(code, path):
    """Seconds and bytes at the base and at the end, and the questions that failed."""
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True,
                          env={**os.environ, "TRACESMITH_NO_CACHE": "1"})
    *numbers, failed = done.stdout.strip().splitlines()[-1].split()
    return [float(number) for number in numbers], failed


def installed(distribution):
    # Asked by distribution: this file's own name is that of HTA's package.
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def main():
    sides = {"tracesmith.hta": ASK.format(module="tracesmith.hta", questions=QUESTIONS, plots=PLOTS),
             "trace.analyze": ASK_OWN.format(own=OWN)}
    if installed("HolisticTraceAnalysis"):
        sides = {"HTA": ASK.format(module="hta.trace_analysis", questions=QUESTIONS, plots=PLOTS), **sides}
    else:
        print("HTA is not installed: only our sides are measured")
    for path in sys.argv[1:]:
        print(path.rsplit("/", 1)[-1])
        runs = {name: [] for name in sides}
        for _ in range(RUNS):
            for name, code in sides.items():
                runs[name].append(ask(code, path))
        for name, found in runs.items():
            whole, memory = [one[0][2] for one in found], [one[0][3] for one in found]
            beyond = [one[0][2] - one[0][0] for one in found]
            more = [one[0][3] - one[0][1] for one in found]
            print(f"  {name:14} least {min(whole):6.2f} s, median {statistics.median(whole):6.2f} s, {min(memory) / 1e6:4.0f} MB; "
                  f"beyond pandas least {min(beyond):6.2f} s, median {statistics.median(beyond):6.2f} s, {min(more) / 1e6:4.0f} MB; "
                  f"failed: {found[0][1]}")


if __name__ == "__main__":
    main()
