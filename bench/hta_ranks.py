# SPDX-License-Identifier: Apache-2.0
"""hta_ranks.py FOLDER [TRACE]: HTA and tracesmith on 32 ranks, in turns. The traces are written into FOLDER: copies of a Kineto trace, each with
a rank of its own, or the simulated ranks of ranks.py. Both are asked for the temporal breakdown and the overlap of communication; tracesmith also
compares the ranks. Printed: wall time, processor time, the largest resident memory of a process. Run it by a Python that has HTA (PyPI:
HolisticTraceAnalysis), with TRACESMITH and TRACESMITH_SOURCE_DIR set."""
import gzip
import json
import os
import subprocess
import sys
import time

RANKS, RUNS = 32, 3
HTA = """
import logging, sys
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_dir=sys.argv[1])
analysis.get_temporal_breakdown(visualize=False)
analysis.get_comm_comp_overlap(visualize=False)
"""


def write_copies(folder, trace):
    with gzip.open(trace, "rt", encoding="utf-8") as file:
        content = json.load(file)
    for rank in range(RANKS):
        content["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": RANKS}
        with gzip.open(f"{folder}/rank{rank}.json.gz", "wt", compresslevel=4, encoding="utf-8") as out:
            json.dump(content, out)


def measure(name, *commands):
    """Of all commands: seconds, seconds of the processor with those of their children, MB of the largest process."""
    begin, cpu, memory = time.perf_counter(), 0.0, 0
    for command in commands:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 3):
            sys.exit(f"{name} exits with {process.returncode}")
        cpu += usage.ru_utime + usage.ru_stime
        memory = max(memory, usage.ru_maxrss)
    print(f"{name}: {time.perf_counter() - begin:.2f} s, of the processor {cpu:.2f} s, {memory / 1024:.0f} MB; load {os.getloadavg()[0]:.1f}")


def main():
    folder = sys.argv[1]
    if len(sys.argv) > 2:
        # In a process of its own: the largest resident memory of a program that is started counts what its parent had.
        writer = os.fork()
        if writer == 0:
            write_copies(folder, sys.argv[2])
            os._exit(0)
        if os.waitpid(writer, 0)[1]:
            sys.exit("the traces could not be written")
    else:
        subprocess.run([sys.executable, "-B", os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "bench", "ranks.py"), folder, str(RANKS)], check=True)
    files = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    ours = os.environ["TRACESMITH"]
    for _ in range(RUNS):
        measure("HTA", [sys.executable, "-c", HTA, folder])
        same = [ours, "analyze", "--only", "breakdown,overlap", "--json", "--no-cache", *files]
        measure("tracesmith, the same questions", same)
        measure("tracesmith, also the comparison of the ranks", same, [ours, "analyze", "--ranks", "--json", *files])


main()
