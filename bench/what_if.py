# SPDX-License-Identifier: Apache-2.0
"""Predictions of `tracesmith simulate` against the change really made, on each OpenCL driver that is there.

Each program of cl_what_if, with several amounts of work, is recorded once as it is; that one trace is simulated with each
change. Then the program is run ROUNDS times as it is and with the change really made, in turns, all recorded. Predicted is
the time of the steps: what the program measured when it was recorded, plus what the simulation says the whole gains or
loses, as an interval: what the trace leaves open, and MARGIN of the steps or twice the held-out error for what differs from
run to run (the rule of `simulate`, for the steps alone: building the program is most of a short run, and would hide them).
Measured is the time of the first recording times the median of the rounds' ratios, changed to unchanged: what a shared
machine does to both runs of a round cancels out. Prints every pair, then how many lie in their interval.

usage: what_if.py [DRIVER...] (pocl, intel, oclgrind: folders with an .icd file in WHAT_IF_DRIVERS; pocl alone: the system's)
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROUNDS = {"oclgrind": 9}  # of an interpreter the same run differs by a fifth and more, at once; others: 3
MARGIN = 0.08
WORKS = (30, 60, 100, 200)
SLOWER = {"oclgrind": 10}  # an interpreter
CHANGES = {
    "double-a": ["--scale", "kernel=work_a:2"],
    "half-a": ["--scale", "kernel=work_a:0.5"],
    "half-copies": ["--scale", "copy=*:0.5"],
    "half-pause": ["--scale", "host=clEnqueue*:0.5"],
    "no-waits": ["--drop-sync", "clFinish"],
    "fuse": ["--fuse", "work_a+work_b"],
    "streams-2": ["--streams", "2"],
}
POSSIBLE = {
    "chain": ("double-a", "half-a", "half-pause", "no-waits", "fuse"),
    "backlog": ("double-a", "half-a", "half-pause", "fuse"),
    "queues": ("double-a", "half-a", "half-pause", "no-waits"),
    "copies": ("double-a", "half-a", "half-copies", "half-pause", "fuse"),
    "host": ("double-a", "half-a", "half-pause", "no-waits", "fuse"),
    "independent": ("streams-2",),
    "tiny": ("no-waits",),
}
TRACESMITH = os.environ["TRACESMITH"]
PROGRAM = os.path.join(os.environ["TRACESMITH_BUILD_DIR"], "tests/programs/cl_what_if")


def environment(driver, shape):
    found = dict(os.environ, RUSTICL_ENABLE="llvmpipe",
                 POCL_MAX_PTHREAD_COUNT="2" if shape == "independent" else "1")
    folder = os.path.join(os.environ.get("WHAT_IF_DRIVERS", ""), driver)
    if os.path.isdir(folder):
        found["OCL_ICD_VENDORS"] = folder
    return found


def record(path, driver, shape, work, change=None):
    # What commands need of each other is in a recording.
    options = ["--capture"] if shape == "independent" else []
    count = ["-n", "2000"] if shape == "tiny" else []
    done = subprocess.run([TRACESMITH, "profile", "-o", path, *options, "--", PROGRAM, shape, "--work", str(work), *count,
                           *(["--change", change] if change else [])], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=environment(driver, shape), check=False)
    return json.loads(done.stdout)["wall_ns"] if done.returncode == 0 else None


def predict(path, wall, options):
    """The interval and the point of a prediction; None when the simulation refuses."""
    done = subprocess.run([TRACESMITH, "simulate", "--json", path] + options, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    answer = json.loads(done.stdout) if done.stdout else {}
    if not answer.get("answers"):
        return None
    model, found = answer["model"], answer["answers"][0]
    shift = wall - model["simulated_ns"]
    low, high = found["open_ns"]
    held_out = 2 * abs(model["held_out_predicted_ns"] - model["held_out_recorded_ns"])
    margin = lambda time: max(MARGIN * (time + shift), held_out if model["held_out_error"] is not None else 0)
    return max(low + shift - margin(low), 0), found["makespan_max_ns"] + shift, high + shift + margin(high)


def ratio(directory, driver, shape, work, change):
    """The time of the changed program by that of the unchanged one, run right before it."""
    path = os.path.join(directory, "after.sbt")
    before = record(path, driver, shape, work)
    after = record(path, driver, shape, work, change)
    return after / before if before and after else None


class Sums:
    def __init__(self):
        self.inside, self.refused, self.failed, self.errors, self.widths = 0, 0, 0, [], []

    def say(self, name):
        if not self.errors:
            print(f"{name}: no prediction; refused {self.refused}, programs that failed {self.failed}")
            return
        print(f"{name}: {self.inside} of {len(self.errors)} in their interval; the point {100 * statistics.median(self.errors):.1f} % off (median), "
              f"the interval {100 * statistics.median(self.widths):.0f} % wide (median); refused {self.refused}, "
              f"programs that failed {self.failed}")


def pair(sums, driver, shape, work, change, found, measured):
    low, point, high = found
    inside, off = low <= measured <= high, abs(point - measured) / measured
    for one in sums:
        one.inside += inside
        one.errors.append(off)
        one.widths.append((high - low) / measured)
    print(f"{driver:8} {shape:12} {work:4} {change:12} {low / 1e6:9.2f} {point / 1e6:9.2f} {high / 1e6:9.2f} ms  "
          f"{measured / 1e6:9.2f} ms {'in' if inside else 'OUT':>4} {100 * off:7.1f} %", flush=True)


def main():
    total = Sums()
    print(f"{'driver':8} {'program':12} {'work':4} {'change':12} {'least':>9} {'point':>9} {'most':>9}     {'measured':>9}")
    for driver in sys.argv[1:] or ["pocl"]:
        mine = Sums()
        for shape, changes in POSSIBLE.items():
            for work in (work // SLOWER.get(driver, 1) for work in WORKS):
                with tempfile.TemporaryDirectory() as directory:
                    path = os.path.join(directory, "before.sbt")
                    wall = record(path, driver, shape, work)
                    for change in changes:
                        found = predict(path, wall, CHANGES[change]) if wall else None
                        ratios = [ratio(directory, driver, shape, work, change) for _ in range(ROUNDS.get(driver, 3))] if found else []
                        ratios = [one for one in ratios if one]
                        for one in (total, mine):
                            one.refused += wall is not None and not found
                            one.failed += wall is None or (found is not None and not ratios)
                        if ratios:
                            pair((total, mine), driver, shape, work, change, found, wall * statistics.median(ratios))
        mine.say(driver)
    total.say("all")


main()
