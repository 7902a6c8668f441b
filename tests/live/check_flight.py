# SPDX-License-Identifier: Apache-2.0
"""profile --flight: who is slow is judged by the program's own clock, read inside of each range and around it."""
import glob
import json
import os
import signal
import subprocess
import sys

from support import TRACESMITH, check, run

PROGRAMS, WORK = sys.argv[1:3]
STEPS = os.path.join(PROGRAMS, "cl_steps")
LAUNCHES = 5
WINDOW = 1_000_000_000  # ns


def fly(name, options, arguments, code=0, window="1s", **more):
    command = [TRACESMITH, "profile", "--flight=" + window, "--json", "-o", os.path.join(WORK, name + ".sbt"),
               *options, "--", STEPS, *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240, **more)
    check(done.returncode == code, "%s gave %d: %s" % (name, done.returncode, done.stderr))
    steps = [tuple(map(int, line.split())) for line in done.stdout.decode().splitlines() if line[0].isdigit()]
    summary = json.loads(done.stderr.decode().splitlines()[-1])["flight"]
    return steps, summary


def files_of(name):
    check(not glob.glob(os.path.join(WORK, "*.part")), "no unfinished file is left")
    return sorted(glob.glob(os.path.join(WORK, name + ".*.sbt")), key=lambda path: int(path.split(".")[-2]))


class Window:
    """A written file: whole, all of its events in its window, and the step that it was written for."""

    def __init__(self, path, killed=False):
        number = path.split(".")[-2]
        info = json.loads(run("info", "--json", path).stdout)
        facts = {fact["key"]: fact["value"] for fact in info["attributes"]}
        self.why = facts["flight.%s.trigger" % number]
        self.at = int(facts["flight.%s.trigger_ns" % number])
        self.begin = int(facts["flight.%s.from_ns" % number])
        self.end = int(facts["flight.%s.to_ns" % number])
        # A program that is killed may have been about to write one more event: the ledger says so.
        reasons = set(info["lost"]["by_reason"])
        check(info["complete"] and reasons <= ({"process_died"} if killed else set()), "%s is whole: %s" % (path, info["lost"]))
        self.events = json.loads(run("view", "-f", "json", path).stdout)["events"]
        for event in self.events:
            check(event["start"] <= self.end and event["start"] + event.get("duration", 0) >= self.begin,
                  "%s: an event outside of the window: %s" % (path, event))

    def ranges(self):
        return [event for event in self.events if event["kind"] == "range" and event["name"] == "step"]

    def launches(self, step):
        """The sizes of the launches that were called in a step. By the middle of the call: ranges and calls are read from different clocks."""
        calls = {event["correlation"] for event in self.events if event["kind"] == "api" and "correlation" in event
                 and step["start"] <= event["start"] + event["duration"] // 2 <= step["start"] + step["duration"]}
        return [event["global_x"] for event in self.events if event["kind"] == "kernel"
                and event["correlation"] in calls]

    def step(self, steps):
        """The number of the step, by its launches; of one that is longer than the window, by the time of its end."""
        found = [step for step in self.ranges() if step["start"] + step["duration"] == self.at]
        check(len(found) == 1, "one range ends at the trigger: %s" % found)
        if found[0]["start"] < self.begin:
            return min(steps, key=lambda step: abs(step[4] - self.at))[0]
        launches = self.launches(found[0])
        check(len(launches) == LAUNCHES and len(set(launches)) == 1, "its launches: %s" % launches)
        return launches[0]

    def check_whole_steps(self):
        """Every step of which the whole lies in the window has all of its launches."""
        for step in self.ranges():
            if step["start"] >= self.begin:
                check(len(self.launches(step)) == LAUNCHES, "the launches of %s" % step)


def check_caught(name, steps, summary, must, may):
    windows = [Window(path) for path in files_of(name)]
    caught = {window.step(steps) for window in windows}
    check(len(caught) == len(windows) == summary["written"] == summary["triggers"], "one file for each: %s" % summary)
    check(must <= caught <= may, "caught %s, slow are %s to %s" % (sorted(caught), sorted(must), sorted(may)))
    check(summary["ignored"] == summary["failed"] == summary["shortened"] == 0, "%s" % summary)
    injected = {step[0] for step in steps if step[1]}
    check(injected <= caught, "every injected step: %s of %s" % (sorted(caught), sorted(injected)))
    for window in windows:
        window.check_whole_steps()
        check(window.end - window.begin == WINDOW, "the window")
    return caught


def longer_than():
    limit = 40_000_000
    steps, summary = fly("slow", ["--trigger", "range:step>40ms", "--cool-down", "0", "--max-files", "1000"],
                         [400, 50, 60])
    must = {step[0] for step in steps if step[2] > limit}
    may = {step[0] for step in steps if step[3] > limit}
    check_caught("slow", steps, summary, must, may)


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, max(0, -(-int(share * len(values) * 1000) // 1000) - 1))]


def longer_than_p99():
    """Bounds by brute force: the recorder's classes of durations are 3 % wide."""
    factor = 3
    steps, summary = fly("p99", ["--trigger", "range:step>p99*%d" % factor, "--cool-down", "0", "--max-files",
                                 "1000"], [500, 499, 900])
    must, may = set(), set()
    for at in range(100, len(steps)):
        number, _, within, around, _ = steps[at]
        inner = [step[2] for step in steps[:at]]
        outer = [step[3] for step in steps[:at]]
        if within > factor * quantile(outer, 0.992) * 1.04:
            must.add(number)
        if around > factor * quantile(inner, 0.985) * 0.96:
            may.add(number)
    windows = [Window(path) for path in files_of("p99")]
    caught = {window.step(steps) for window in windows}
    check(must <= caught <= may, "caught %s, slow are %s to %s" % (sorted(caught), sorted(must), sorted(may)))
    check(len(windows) == summary["written"], "%s" % summary)


def gaps():
    """After each slow step but the last one the device has nothing to run; what a loaded machine adds is a gap as well."""
    limit = 40_000_000
    fly("gap", ["--trigger", "gap:40ms", "--cool-down", "0", "--max-files", "1000"], [80, 20, 60])
    after = set()
    for window in map(Window, files_of("gap")):
        check(window.why.startswith("gap:40ms: device 1"), window.why)
        kernels = sorted(((event["start"], event["start"] + event["duration"], event["global_x"])
                          for event in window.events if event["kind"] == "kernel"))
        before = [end for start, end, _ in kernels if start < window.at]
        check(not before or window.at - max(before) > limit, "a gap before %d" % window.at)
        after |= {step for start, _, step in kernels if start == window.at}
    check({21, 41, 61} <= after, "the launches after the gaps: %s" % after)


def errors():
    command = [TRACESMITH, "profile", "--flight=1h", "--trigger", "error", "--max-files", "2", "--cool-down", "0", "-o",
               os.path.join(WORK, "error.sbt"), "--", os.path.join(PROGRAMS, "cl_errors")]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=240)
    windows = [Window(path) for path in files_of("error")]
    check(len(windows) == 2, "%d files" % len(windows))
    for window in windows:
        failed = [event for event in window.events if event["kind"] == "api" and event.get("result", 0) != 0
                  and event["start"] + event["duration"] == window.at]
        check(failed and str(failed[0]["result"]) in window.why, "%s: %s" % (window.why, failed))


def limits():
    """A storm of triggers, a cool-down, a limit of memory, names that are taken."""
    taken = os.path.join(WORK, "storm.1.sbt")
    with open(taken, "w") as file:
        file.write("mine")
    _, summary = fly("storm", ["--trigger", "range:step>1ns", "--cool-down", "0", "--max-files", "3"], [50, 100, 0])
    check(summary["triggers"] == 50 and summary["written"] == 3 and summary["ignored"] == 47, "a storm: %s" % summary)
    with open(taken) as file:
        check(file.read() == "mine", "an existing file is left")
    os.unlink(taken)
    check(len(files_of("storm")) == 3, "others have the next numbers")
    _, summary = fly("cool", ["--trigger", "range:step>1ns", "--cool-down", "1h"], [50, 100, 0])
    check(summary["written"] == 1 and summary["ignored"] == 49, "a cool-down: %s" % summary)
    # A call that waits is a call and a wait in the trace, and one trigger.
    _, summary = fly("calls", ["--trigger", "call:clFinish>1ns", "--cool-down", "1h"], [50, 100, 0])
    whole = os.path.join(WORK, "whole.sbt")
    run("profile", "-o", whole, "--", STEPS, "50", "100", "0")
    (counts,) = json.loads(run("query", "--json", whole, "SELECT count(*) AS n, sum(kind = 'api') AS calls FROM events "
                               "WHERE name = 'clFinish' AND duration > 1").stdout)["results"][0]["rows"]
    check(counts["n"] > counts["calls"] >= 50, "clFinish is a call and a wait: %s" % counts)
    check(summary["triggers"] == counts["calls"], "calls that wait: %s, %s" % (summary, counts))
    _, summary = fly("small", ["--trigger", "exit"], [300, 1, 5], window="1h,128K")
    check(summary["written"] == summary["shortened"] == 1, "a limit of memory: %s" % summary)
    window = Window(files_of("small")[0])
    window.check_whole_steps()
    check(0 < len(window.ranges()) < 300, "a part of the steps: %d" % len(window.ranges()))


def ends():
    """The program ends, is killed, has no trigger."""
    _, summary = fly("exit", ["--trigger", "exit", "--trigger", "crash"], [60, 100, 0], window="1h")
    check(summary["written"] == 1, "%s" % summary)
    window = Window(files_of("exit")[0])
    check(len(window.ranges()) == 60 and sum(event["kind"] == "kernel" for event in window.events) == 60 * LAUNCHES + 1,
          "all of the program: %d" % len(window.ranges()))
    check(window.why.startswith("exit: with exit code 0"), window.why)
    steps, summary = fly("crash", ["--trigger", "crash"], [60, 100, 0, "crash"], code=137, window="1h")
    window = Window(files_of("crash")[0], killed=True)
    check(len(window.ranges()) == len(steps) == 60 and "signal 9" in window.why, "%s: %d" % (window.why, len(window.ranges())))
    _, summary = fly("none", ["--trigger", "crash"], [10, 100, 0])
    check(summary["written"] == 0 and not files_of("none"), "no trigger, no file")


def by_hand():
    """SIGUSR2, `tracesmith trigger` and a file, while the program waits; then the recorder is killed: written files are whole."""
    watched = os.path.join(WORK, "watched")
    command = [TRACESMITH, "profile", "--flight=1h", "--cool-down", "0", "--trigger", "file:" + watched, "-o",
               os.path.join(WORK, "hand.sbt"), "--", STEPS, "40", "100", "0", "first"]
    profile = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for line in profile.stdout:
        if line.startswith(b"/"):
            break
    directory = line.decode().strip()
    wait_for = lambda count: wait_until(lambda: len(glob.glob(os.path.join(WORK, "hand.*.sbt"))) == count)
    profile.send_signal(signal.SIGUSR2)
    wait_for(1)
    run("trigger", directory)
    wait_for(2)
    with open(watched, "w") as file:
        file.write("x")
    wait_for(3)
    for path, why in zip(files_of("hand"), ("signal", "tracesmith trigger", "file:")):
        window = Window(path)
        check(window.why.startswith(why) and len(window.ranges()) == 39, "%s: %d" % (window.why, len(window.ranges())))
    profile.kill()
    profile.wait()
    # The program goes on and ends by itself; what it printed is whole.
    profile.stdin.write(b"x")
    profile.stdin.close()
    check(profile.stdout.read().startswith(b"40 "), "the program is unharmed")
    check(len(files_of("hand")) == 3, "no file was begun")
    done = run("trigger", directory, code=None)
    check(done.returncode == 4, "there is no session: %s" % done.stderr)
    run("recover", directory, "-o", os.path.join(WORK, "recovered.sbt"), "--remove", code=None)


def wait_until(true):
    import time
    for _ in range(6000):
        if true():
            return
        time.sleep(0.02)
    check(False, "waited for two minutes")


def refused():
    for options, says in ((["--trigger", "nothing"], b"unknown trigger"), (["--trigger", "range:step>"], b"unknown trigger"),
                          (["--trigger", "range:step>p99"], b"unknown trigger"), (["--trigger", "gap"], b"unknown trigger"),
                          (["--max-files", "0"], b"--max-files"), (["--after", "x"], b"--after")):
        done = run("profile", "--flight", *options, "true", code=2)
        check(says in done.stderr, "%s: %s" % (options, done.stderr))
    done = run("profile", "--trigger", "exit", "true", code=2)
    check(b"--trigger needs --flight" in done.stderr, done.stderr)
    done = run("profile", "--flight=0s", "true", code=2)
    check(b"--flight" in done.stderr, done.stderr)


longer_than()
longer_than_p99()
gaps()
errors()
limits()
ends()
by_hand()
refused()
print("flight recorder: ok")
