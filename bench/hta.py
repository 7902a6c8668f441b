# SPDX-License-Identifier: Apache-2.0
"""HTA's questions on a Kineto trace, by HTA and by tracesmith.hta; run by bench_hta.sh. argv[1:]: traces, each one rank.

Each side runs in processes of its own, in turns: from the import to the last answer, and the largest resident memory. HTA is used
where it is installed for the Python that runs this (PyPI: HolisticTraceAnalysis); without it only our side is measured. The least
and the median of the runs are printed.
"""
import importlib.util
import statistics
import subprocess
import sys

RUNS = 5
QUESTIONS = ("get_gpu_kernel_breakdown", "get_temporal_breakdown", "get_idle_time_breakdown", "get_comm_comp_overlap",
             "get_cuda_kernel_launch_stats", "get_queue_length_summary", "get_queue_length_time_series", "get_memory_bw_summary",
             "get_memory_bw_time_series")
ASK = """
import logging, sys, time
logging.disable(logging.CRITICAL)
begin = time.perf_counter()
from {module} import TraceAnalysis
analysis = TraceAnalysis(trace_files={{0: sys.argv[1]}}, trace_dir="")
imported = time.perf_counter() - begin
failed = []
for question in {questions!r}:
    try:
        extra = {{"visualize": False}} if question in ("get_gpu_kernel_breakdown", "get_temporal_breakdown", "get_idle_time_breakdown",
                                                    "get_comm_comp_overlap", "get_cuda_kernel_launch_stats") else {{}}
        getattr(analysis, question)(**extra)
    except Exception:
        failed.append(question)
print(time.perf_counter() - begin, imported, ",".join(failed) or "-")
"""


def ask(module, path):
    """Seconds in all and until the trace was open, the questions that failed, and bytes."""
    code = ("import resource, subprocess, sys; done = subprocess.run([sys.executable, '-c', sys.argv[1], sys.argv[2]],"
            " capture_output=True, text=True); print(done.stdout.strip().splitlines()[-1] if done.returncode == 0 else done.stderr[-300:],"
            " resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    done = subprocess.run([sys.executable, "-c", code, ASK.format(module=module, questions=QUESTIONS), path], capture_output=True,
                          text=True, check=True)
    took, opened, failed, memory = done.stdout.split()
    return float(took), float(opened), failed, int(memory) * 1024


def main():
    sides = {"tracesmith": "tracesmith.hta"}
    if importlib.util.find_spec("hta"):
        sides = {"HTA": "hta.trace_analysis", **sides}
    else:
        print("HTA is not installed: only our side is measured")
    for path in sys.argv[1:]:
        print(path.rsplit("/", 1)[-1])
        runs = {name: [] for name in sides}
        for _ in range(RUNS):
            for name, module in sides.items():
                runs[name].append(ask(module, path))
        for name, found in runs.items():
            took = [one[0] for one in found]
            print(f"  {name:12} least {min(took):6.2f} s, median {statistics.median(took):6.2f} s, of it until the trace is open "
                  f"{statistics.median(one[1] for one in found):5.2f} s; {statistics.median(one[3] for one in found) / 1e6:6.0f} MB; "
                  f"failed: {found[0][2]}")


if __name__ == "__main__":
    main()
