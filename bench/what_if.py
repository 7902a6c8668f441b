# SPDX-License-Identifier: Apache-2.0
"""Each program of cl_what_if is recorded as it is, simulated with each change, and then really changed and recorded.

Predicted: the time of the steps as measured by the program, and what the simulation says the whole gains or loses.
Measured: the program's own time with the change made. Medians of ROUNDS runs, as recorded, on a device with one thread (two for two queues).
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROUNDS = 5
CHANGES = {
    "double-a": ["--scale", "kernel=work_a:2"],
    "half-a": ["--scale", "kernel=work_a:0.5"],
    "half-copies": ["--scale", "copy=*:0.5"],
    "half-pause": ["--scale", "host=clEnqueue*:0.5"],
    "no-waits": ["--drop-sync", "clFinish"],
    "fuse": ["--fuse", "work_a+work_b"],
    "streams-2": ["--streams", "2"],
}
# What a change cannot be made of, or is of nothing.
SHAPES = ("chain", "backlog", "queues", "copies", "host", "independent")
WITHOUT = {"half-copies": {"chain", "backlog", "queues", "host"}, "no-waits": {"backlog", "copies"}, "fuse": {"queues"},
           "streams-2": set(SHAPES) - {"independent"}}
for name in CHANGES:
    if name != "streams-2":
        WITHOUT.setdefault(name, set()).add("independent")
TRACESMITH = os.environ["TRACESMITH"]
PROGRAM = os.path.join(os.environ["TRACESMITH_BUILD_DIR"], "tests/programs/cl_what_if")


def record(path, shape, change=None):
    # What commands need of each other is in a recording; two kernels at once take two threads of the device.
    independent = shape == "independent"
    command = [TRACESMITH, "profile", "-o", path] + (["--capture"] if independent else []) + ["--", PROGRAM, shape]
    done = subprocess.run(command + (["--change", change] if change else []), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=True,
                          env=dict(os.environ, POCL_MAX_PTHREAD_COUNT="2" if independent else "1"))
    return json.loads(done.stdout)["wall_ns"]


def predict(path, wall, options):
    done = subprocess.run([TRACESMITH, "simulate", "--json", path] + options, stdout=subprocess.PIPE, check=False)
    answer = json.loads(done.stdout)
    if "answers" not in answer:
        return None, answer["model"]["error"]
    model, found = answer["model"], answer["answers"][0]
    return wall + found["makespan_most_ns"] - model["simulated_ns"], model["error"]


def main():
    errors, models = [], []
    print("%-8s %-12s %10s %10s %10s %8s" % ("program", "change", "before", "predicted", "measured", "off"))
    for shape in SHAPES:
        with tempfile.TemporaryDirectory() as directory:
            before, runs = [], []
            for i in range(ROUNDS):
                runs.append(os.path.join(directory, "%d.sbt" % i))
                before.append(record(runs[-1], shape))
            for change, options in CHANGES.items():
                if shape in WITHOUT.get(change, ()):
                    continue
                predicted = [predict(path, wall, options) for path, wall in zip(runs, before)]
                models += [error for _, error in predicted]
                measured = statistics.median(record(os.path.join(directory, "changed.sbt"), shape, change)
                                             for _ in range(ROUNDS))
                walls = [wall for wall, _ in predicted if wall is not None]
                if not walls:
                    print("%-8s %-12s refused" % (shape, change))
                    continue
                wall = statistics.median(walls)
                errors.append(abs(wall - measured) / measured)
                print("%-8s %-12s %7.2f ms %7.2f ms %7.2f ms %7.1f%%" %
                      (shape, change, statistics.median(before) / 1e6, wall / 1e6, measured / 1e6, 100 * errors[-1]))
                sys.stdout.flush()
    print("predictions off by %.1f %% (median), %.1f %% (worst); %d of %d within 10 %%" %
          (100 * statistics.median(errors), 100 * max(errors), sum(e <= 0.1 for e in errors), len(errors)))
    print("error of the model: %.2f %% (median), %.2f %% (worst)" %
          (100 * statistics.median(models), 100 * max(models)))


main()
