# SPDX-License-Identifier: Apache-2.0
"""Costs of the Python package; run by bench_python.sh. argv[1]: a folder with many.sbt, 10 M kernels.

Every figure is the least and the median of several runs. Import: whole processes, less those that import nothing. Ranges:
loops of 100,000, less an empty loop; nvtx (PyPI) where it is installed. Data frames: each in a process of its own, time from the open trace to the frame; memory
is how much the peak of the process grew, in addition to the bytes of the columns.
"""
import importlib.util
import os
import statistics
import subprocess
import sys
import time

FRAME = """
import resource, sys, time
import tracesmith as ts
import {package}
trace = ts.open("many.sbt")
{warm}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
begin = time.perf_counter()
frame = trace.events("kernel", columns=["name", "start", "duration", "correlation"]).{package}()
took = time.perf_counter() - begin
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert len(frame) == 10_000_000
print(took, (after - before) * 1024, int({size}))
"""


def show(what, values, unit):
    print(f"{what:44} least {min(values):8.2f} {unit}, median {statistics.median(values):8.2f} {unit}")


def process(code):
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-c", code], check=True)
    return (time.perf_counter() - begin) * 1e3


def imports():
    bare, whole = [], []
    for _ in range(30):
        bare.append(process("pass"))
        whole.append(process("import tracesmith"))
    show("import nothing", bare, "ms")
    show("import tracesmith", whole, "ms")
    print(f"{'  more than nothing':44} least {min(whole) - min(bare):8.2f} ms")


def ranges(ts):
    count = 100_000

    def empty():
        for _ in range(count):
            pass

    def with_range():
        make = ts.range
        for _ in range(count):
            with make("x"):
                pass

    def measure(function):
        times = []
        for _ in range(10):
            begin = time.perf_counter()
            function()
            times.append((time.perf_counter() - begin) / count * 1e9)
        return times

    loop = min(measure(empty))
    show('with ts.range("x"), no session', [value - loop for value in measure(with_range)], "ns")
    if importlib.util.find_spec("nvtx"):
        import nvtx

        def with_nvtx():
            make = nvtx.annotate
            for _ in range(count):
                with make("x"):
                    pass

        show('with nvtx.annotate("x"), no tool listens', [value - loop for value in measure(with_nvtx)], "ns")
    with ts.session("ranges.sbt", overflow="drop-oldest"):
        show('with ts.range("x"), recorded', [value - loop for value in measure(with_range)], "ns")


def frame(package, size, warm):
    if importlib.util.find_spec(package) is None:
        print(f"{package} is not installed")
        return
    times, memory = [], 0
    for _ in range(5):
        code = FRAME.format(package=package, size=size, warm=warm)
        took, memory, size_of = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        times.append(float(took))
    show(f"10 M kernels, 4 columns, to {package}", times, "s")
    print(f"{'  memory':44} {int(memory) / 1e6:.0f} MB for columns of {int(size_of) / 1e6:.0f} MB")


def main():
    os.chdir(sys.argv[1])
    import tracesmith as ts

    imports()
    ranges(ts)
    frame("pandas", "frame.memory_usage(index=False).sum()", "import pandas; pandas.DataFrame({0: [1]})")
    frame("polars", "frame.estimated_size()", "import polars; polars.DataFrame({'a': [1]})")


if __name__ == "__main__":
    main()
