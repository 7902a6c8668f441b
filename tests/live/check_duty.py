# SPDX-License-Identifier: Apache-2.0
"""profile --duty: each step that the program made within a window is in the file, none that it made in a gap; the gaps, the attributes and the
answers say what was not seen."""
import json
import os
import re
import subprocess
import sys
import time

from support import TRACESMITH, check, run

PROGRAMS, WORK = sys.argv[1:3]
LAUNCHES, GAPS = 5, 4


class Duty:
    """cl_steps, which waits for a byte before each step, recorded for a part of the time."""

    def __init__(self, path, duty, steps):
        self.process = subprocess.Popen([TRACESMITH, "profile", "--duty", duty, "-o", path, "--", os.path.join(PROGRAMS, "cl_steps"), str(steps), "1000000", "0", "ask"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        check(self.process.stdout.readline().startswith(b"/"), "its session")
        self.steps, self.made = [], 0
        self.last = steps

    def step(self):
        """A step: its number, and its begin and end in ns of the trace's clock."""
        self.process.stdin.write(b"x")
        self.made += 1
        number, _, inner, outer, ended = map(int, self.process.stdout.readline().split())
        check(number == self.made and inner <= outer, "the program's own account")
        self.steps.append((number, ended - outer, ended))
        if self.made < self.last:
            self.process.stdout.readline()
        return ended

    def finish(self):
        errors = self.process.stderr.read().decode()
        check(self.process.wait(120) == 0, errors)
        return errors


def killed():
    """A recorder that is killed has not written the pauses: the answers say so instead of a share."""
    path = os.path.join(WORK, "killed.sbt")
    program = Duty(path, "40ms/100ms", 4000)
    begun = program.step()
    while program.steps[-1][2] - begun < 300_000_000 and program.made < program.last - 1:
        program.step()
    # Until the recorder has written the first of it.
    while not re.search(rb" [1-9][0-9,]* events", run("view", "--stats", path, code=None).stdout) and program.made < program.last - 1:
        program.step()
    program.process.kill()
    program.process.communicate()
    done = run("view", "--stats", path, code=None)
    said = b"recorded 40.00 ms of every 100.0 ms (--duty); it is not complete, and the pauses are not in its ledger"
    check(said in done.stdout + done.stderr, done.stdout + done.stderr)


def query(path, sql):
    return json.loads(run("query", path, sql, "--json").stdout)["results"][0]["rows"]


def main():
    path = os.path.join(WORK, "duty.sbt")
    program = Duty(path, "40ms/100ms", 4000)
    begun = program.step()
    # Steps close to each other, so that windows and gaps have some, until so many periods are over.
    while program.steps[-1][2] - begun < (GAPS + 2) * 100_000_000 and program.made < program.last - 1:
        program.step()
        time.sleep(0.0003)  # so that the steps do not run out before the windows do
    while program.made < program.last:
        program.step()
    errors = program.finish()
    gaps = query(path, "SELECT start, duration, reason, lost, track_name AS track FROM loss WHERE reason = 'off_duty' ORDER BY start")
    check(gaps and len({gap["track"] for gap in gaps}) == 1 and all(gap["lost"] is None for gap in gaps), gaps)
    info = json.loads(run("info", "--json", path).stdout)
    attributes = {entry["key"]: entry["value"] for entry in info["attributes"]} if isinstance(info["attributes"], list) else info["attributes"]
    unseen = sum(gap["duration"] for gap in gaps)
    check(int(attributes["duty.elapsed_ns"]) - int(attributes["duty.recorded_ns"]) == unseen, "%s, %d" % (attributes, unseen))
    check((attributes["duty.on_ns"], attributes["duty.period_ns"]) == ("40000000", "100000000"), attributes)
    check(int(attributes["duty.windows"]) in (len(gaps), len(gaps) + 1), attributes)
    check(all(one["start"] + one["duration"] <= two["start"] for one, two in zip(gaps, gaps[1:])), "gaps do not overlap")
    kernels = {}
    for row in query(path, "SELECT global_x AS size, count(*) AS n FROM kernel GROUP BY 1"):
        kernels[row["size"]] = row["n"]
    within, inside = 0, {gap["start"]: [] for gap in gaps}
    for number, start, end in program.steps:
        touched = [gap for gap in gaps if gap["start"] < end and start < gap["start"] + gap["duration"]]
        if not touched:
            # The first step's kernel was launched once before it, with its size.
            check(kernels.get(number) in (LAUNCHES, LAUNCHES + (number == 1)), "step %d was made in a window, and has %s launches" % (number, kernels.get(number)))
            within += 1
        elif touched[0]["start"] <= start and end <= touched[0]["start"] + touched[0]["duration"]:
            inside[touched[0]["start"]].append(number in kernels)
    # A gap begins before the agents are switched off and ends after they are switched on: what they saw of it is at its edges.
    for flags in inside.values():
        check(re.fullmatch("1*0*1*", "".join("01"[flag] for flag in flags)), "steps in a gap are in the file: %s" % flags)
    outside = sum(flags.count(False) for flags in inside.values())
    check(within and outside, "%d steps in windows, %d in gaps" % (within, outside))
    check("recorded " in errors and "(--duty)" in errors and "events lost" not in errors, errors)
    for command in (("info", path), ("view", "--stats", path), ("analyze", path)):
        done = run(*command)
        check(b"(--duty)" in done.stdout + done.stderr, "%s says nothing of it" % command[0])
    report = json.loads(run("analyze", "--json", "--only", "idle", path).stdout)["traces"][0]["reports"][0]
    check(report["missing_ns"] > 0 and report["covered"] < 1, "the analysis has no gaps: %s" % {key: report[key] for key in ("covered", "missing_ns")})
    for wrong in ("1s", "1s/", "/60s", "60s/1s", "1s/1s", "0s/1s", "x/y", ""):
        done = run("profile", "--duty", wrong, "true", code=2)
        check(b"--duty" in done.stderr, done.stderr)
    for other in (("--armed",), ("--flight=1s",), ("--capture",)):
        done = run("profile", "--duty", "1s/2s", *other, "true", code=2)
        check(b"cannot be combined" in done.stderr, done.stderr)
    killed()


main()
print("duty: ok")
