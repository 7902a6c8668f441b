# SPDX-License-Identifier: Apache-2.0
"""What tracing of functions costs five programs of the kinds that pyperformance has; run by bench_python.sh with Python 3.12 or newer.

Each runs alone and inside trace_functions, in turns, in one process; the least of the runs counts. Calls are counted by the trace. viztracer (PyPI), writing no file, where it is installed.
"""
import itertools
import json
import math
import os
import random
import statistics
import sys
import tempfile
import time

import tracesmith as ts

try:
    from viztracer import VizTracer
except ImportError:
    VizTracer = None

RUNS = 9


def nbody(steps=4000):
    """Loops over numbers, no calls: nbody."""
    bodies = [[random.random() for _ in range(7)] for _ in range(5)]
    for _ in range(steps):
        for at, one in enumerate(bodies):
            for other in bodies[at + 1:]:
                dx, dy, dz = one[0] - other[0], one[1] - other[1], one[2] - other[2]
                force = 0.01 / ((dx * dx + dy * dy + dz * dz + 0.01) ** 1.5)
                one[3] -= dx * force
                one[4] -= dy * force
                other[3] += dx * force
                other[4] += dy * force
        for one in bodies:
            one[0] += 0.01 * one[3]
            one[1] += 0.01 * one[4]


def json_dumps(rounds=150):
    """Calls into C: json_dumps and json_loads."""
    data = {"list": [{"key %d" % number: [number, str(number), number / 3] for number in range(20)} for _ in range(10)]}
    for _ in range(rounds):
        json.loads(json.dumps(data))


class Point:
    def __init__(self, number):
        self.x = math.sin(number)
        self.y = math.cos(number) * 3
        self.z = (self.x * self.x) / 2

    def normalize(self):
        norm = math.sqrt(self.x * self.x + self.y * self.y + self.z * self.z)
        self.x /= norm
        self.y /= norm
        self.z /= norm

    def maximize(self, other):
        self.x = self.x if self.x > other.x else other.x
        self.y = self.y if self.y > other.y else other.y
        self.z = self.z if self.z > other.z else other.z
        return self


def floats(count=30000):
    """Three small methods for each object: float."""
    points = [Point(number) for number in range(count)]
    for point in points:
        point.normalize()
    most = points[0]
    for point in points[1:]:
        most = most.maximize(point)


def fannkuch(size=8):
    """One long function: fannkuch."""
    most = 0
    for permutation in itertools.permutations(range(size)):
        flips, turned = 0, list(permutation)
        while (first := turned[0]) != 0:
            turned[:first + 1] = turned[first::-1]
            flips += 1
        most = max(most, flips)
    return most


class Task:
    def __init__(self, name):
        self.name, self.queue, self.done = name, [], 0

    def take(self, packet):
        self.queue.append(packet)

    def work(self, tasks):
        while self.queue:
            packet = self.queue.pop()
            self.done += 1
            if packet > 0:
                self.pass_on(tasks, packet - 1)

    def pass_on(self, tasks, packet):
        tasks[(self.name + packet) % len(tasks)].take(packet)


def richards(rounds=400):
    """Many objects that call each other: richards, deltablue."""
    tasks = [Task(name) for name in range(6)]
    for _ in range(rounds):
        tasks[0].take(50)
        while any(task.queue for task in tasks):
            for task in tasks:
                task.work(tasks)


def seconds(function):
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def with_viztracer(function):
    tracer = VizTracer(verbose=0, tracer_entries=1 << 20)
    tracer.start()
    took = seconds(function)
    tracer.stop()
    tracer.clear()
    return took


def main():
    folder = tempfile.mkdtemp()
    slowdowns, theirs = [], []
    for function in (nbody, json_dumps, floats, fannkuch, richards):
        alone, traced, calls, size = [], [], 0, 0
        for run in range(RUNS):
            alone.append(seconds(function))
            path = os.path.join(folder, f"{function.__name__} {run}.sbt")
            with ts.session(path, buffer_bytes=64 << 20) as session:
                with ts.trace_functions():
                    traced.append(seconds(function))
            calls, size = session.statistics["kept"] // 2, os.path.getsize(path)
            if session.statistics["dropped"]:
                sys.exit(f"{function.__name__}: events were dropped: {session.statistics}")
            os.unlink(path)
        slowdowns.append(min(traced) / min(alone))
        if VizTracer is not None:
            theirs.append(min(with_viztracer(function) for _ in range(RUNS)) / min(alone))
        each = f", {(min(traced) - min(alone)) / calls * 1e9:.0f} ns and {size / calls:.1f} bytes for each" if calls > 1000 else ""
        print(f"functions of {function.__name__:12} {min(alone) * 1e3:7.1f} ms, traced {slowdowns[-1]:5.2f} times, {calls} calls{each}")
    print(f"{'functions, median':44} {statistics.median(slowdowns):.2f} times alone")
    if theirs:
        print(f"{'functions, viztracer':44} {', '.join(f'{value:.2f}' for value in theirs)}; median {statistics.median(theirs):.2f}")


if __name__ == "__main__":
    main()
