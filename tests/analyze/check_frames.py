# SPDX-License-Identifier: Apache-2.0
"""Frames of made traces by a second implementation: for every frame it looks at every event. Called by test_frames.sh."""
import fnmatch
import json
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests/cli"))
from check_false_sentences import found
from check_sentences import check, run, told
from support import Trace

WORK = ("kernel", "memcpy")


class Program:
    """What two processes with two threads each did."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.trace = Trace()
        self.process_of, self.device_tracks = {}, set()
        for pid in (11, 12):
            self.trace.process(pid, "program %d" % pid)
        self.trace.device("device")
        for process in (1, 2):
            threads = [self.trace.track("thread", "thread %d" % n, process) for n in range(2)]
            queue = self.trace.track("queue", "queue", process, 1)
            self.device_tracks.add(queue)
            for track in (*threads, queue):
                self.process_of[track] = process
            self.correlation = 0  # both processes count from 1
            for thread in threads:
                self.run(thread, queue)

    def run(self, thread, queue):
        now = self.random.randrange(1000)
        names = ("step 1", "step 2", "other", "ste")
        for _ in range(60):
            now += self.random.randrange(1, 500)
            length = self.random.randrange(1, 300)
            what = self.random.choice(("launch", "launch", "launch", "wait", "present", "presents", "range", "read", "api"))
            self.correlation += 1
            number = self.correlation
            if what in ("launch", "read"):
                blocking = {"blocking": True} if what == "read" else {}
                self.trace.event(thread, "api", now, duration=length, name="clEnqueue", correlation=number, queue_track=queue, **blocking)
                kind = "kernel" if what == "launch" else "memcpy"
                for _ in range(self.random.randrange(1, 3)):
                    at = now + self.random.randrange(0, 3000)
                    self.trace.event(queue, kind, at, duration=self.random.randrange(0, 200), name="work", correlation=number)
            elif what == "wait":
                self.trace.event(thread, "sync", now, duration=length, name="clFinish", operation="finish", queue_track=queue)
            elif what == "range":
                self.trace.event(thread, "range", now, duration=self.random.randrange(1, 2000), name=self.random.choice(names))
            elif what == "api":
                self.trace.event(thread, "api", now, duration=length, name="clCreateBuffer")
            else:  # one call may present several swapchains
                for early in range(2 if what == "presents" else 1):
                    begin = max(0, now - self.random.randrange(500) - early)
                    self.trace.event(thread, "frame", begin, duration=now + length - begin, name="frame", correlation=number)
            now += length

    def of(self, kind):
        return [event for event in self.trace.events if event["kind"] == kind]

    def process(self, event):
        return self.process_of[event["track"]]

    def launches(self, process):
        numbers = {e["correlation"] for e in self.trace.events if e["kind"] in WORK and self.process(e) == process}
        return [e for e in self.of("api") if self.process(e) == process and e.get("correlation") in numbers]

    def frames(self, form):
        """(start, end, process), by number."""
        made = []
        for process in (1, 2):
            if form == "present":
                events = [e for e in self.of("frame") if self.process(e) == process]
                ends = sorted({e["start"] + e["duration"] for e in events})
                begin = min(e["start"] for e in events if e["start"] + e["duration"] == ends[0])
                made += [(a, b, process) for a, b in zip([begin, *ends], ends)]
            elif form == "wait":
                waits = [e for e in self.trace.events if self.process(e) == process and
                         (e["kind"] == "sync" or (e["kind"] == "api" and e.get("blocking")))]
                starts = sorted(e["start"] for e in self.launches(process))
                begin = None
                for end in sorted(e["start"] + e["duration"] for e in waits):
                    inside = [s for s in starts if (begin is None or s >= begin) and s < end]
                    if inside:
                        made.append((inside[0] if begin is None else begin, end, process))
                        begin = end
            else:
                made += [(e["start"], e["start"] + e["duration"], process) for e in self.of("range")
                         if self.process(e) == process and fnmatch.fnmatchcase(e["name"], form[len("range:"):])]
        return sorted(made)

    def events_of(self, frame):
        """(track, kind, start) of what belongs to it: device work by its call, all else by its begin."""
        start, end, process = frame
        calls = {e["correlation"] for e in self.launches(process) if start <= e["start"] < end}
        return sorted((e["track"], e["kind"], e["start"]) for e in self.trace.events if self.process(e) == process and
                      (e["correlation"] in calls if e["track"] in self.device_tracks else start <= e["start"] < end))


def rank(values, share):
    values = sorted(values)
    return values[max(1, -(-len(values) * share // 100)) - 1]


def check_form(program, path, form, options):
    frames = program.frames(form)
    report = found(path, "frames", *options)
    check(frames, "%s: the made trace has frames" % form)
    rows = {row["frame"]: row for row in report["tables"]["frames"]}
    first = min(e["start"] for e in program.trace.events)
    check(sorted(rows) == list(range(1, len(frames) + 1)), "%s: %d frames, not %d" % (form, len(rows), len(frames)))
    lengths = [end - start for start, end, _ in frames]
    launches = {process: program.launches(process) for process in (1, 2)}
    shown = [row["time_ns"] for row in report["tables"]["frames"]]
    check(shown == sorted(lengths, reverse=True), "%s: the longest first" % form)
    for number, frame in enumerate(frames, 1):
        calls = {e["correlation"] for e in launches[frame[2]] if frame[0] <= e["start"] < frame[1]}
        own = [e for e in program.trace.events if e["kind"] in WORK and program.process(e) == frame[2] and e["correlation"] in calls]
        kernels = [e["duration"] for e in own if e["kind"] == "kernel"]
        copies = [e["duration"] for e in own if e["kind"] == "memcpy"]
        row = rows[number]
        wanted = {"start_ns": frame[0] - first, "time_ns": frame[1] - frame[0], "kernels": len(kernels), "kernel_time_ns": sum(kernels),
                  "transfers": len(copies), "transfer_time_ns": sum(copies)}
        check({key: row[key] for key in wanted} == wanted, "%s frame %d: %s, not %s" % (form, number, row, wanted))
    (times,) = report["tables"]["times"]
    median = rank(lengths, 50)
    wanted = {"frames": len(frames), "mean_ns": sum(lengths) // len(lengths), "median_ns": median, "p95_ns": rank(lengths, 95),
              "p99_ns": rank(lengths, 99), "longest_ns": max(lengths), "slow": sum(length // 2 > median for length in lengths)}
    check(times == wanted, "%s: %s, not %s" % (form, times, wanted))
    longest = 1 + lengths.index(max(lengths))
    check(report["finding"].startswith("%d frames (%s): " % (len(frames), form)) and "(frame %d)" % longest in report["finding"],
          "%s: %s" % (form, report["finding"]))
    for number in {1, longest, len(frames)}:
        done = run("view", path, "--json", "--frame", str(number), *options)
        events = sorted((e["track"], e["kind"], e["start"]) for e in json.loads(done.stdout)["events"])
        check(events == program.events_of(frames[number - 1]), "%s: view --frame %d" % (form, number))
    done = run("view", path, "--frame", str(len(frames) + 1), *options, code=2)
    check(b"there is no frame %d" % (len(frames) + 1) in done.stderr, "a frame that is not there: %s" % done.stderr)


def many(folder):
    """More frames than are listed: the note says so, and the numbers are of all."""
    trace = Trace()
    trace.process(7, "program")
    track = trace.track("thread", "main", 1)
    for number in range(100001):
        trace.event(track, "range", 10 * number, duration=9 if number != 777 else 10, name="r")
    report = found(trace.write(os.path.join(folder, "many.sbt")), "frames", "--frames", "range:r")
    check("Of 100001 frames the 100000 longest are listed." in told(report), told(report))
    check(len(report["tables"]["frames"]) == 100000 and report["tables"]["frames"][0]["frame"] == 778, "the longest is the first")
    check(report["tables"]["times"][0]["frames"] == 100001, "all are counted")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(3):
            program = Program(seed)
            path = program.trace.write(os.path.join(folder, "%d.sbt" % seed))
            for form in ("present", "wait", "range:step*", "range:st?"):
                check_form(program, path, form, () if form == "present" else ("--frames", form))
            # What the trace states is the default.
            program.trace.lines.insert(0, "attribute frames wait")
            check_form(program, program.trace.write(path), "wait", ())
        program.trace.lines[0] = "attribute frames nonsense"
        check_form(program, program.trace.write(path), "present", ())
        none = found(path, "frames", "--frames", "range:nothing")
        check("No frame (range:nothing) is in the trace." in told(none), told(none))
        part = found(path, "frames", "--from", "1us", "--to", "2us", "--frames", "range:nothing")
        check("No frame (range:nothing) is in the window." in told(part), told(part))
        check(not any("are listed" in one for one in told(found(path, "frames", "--frames", "wait"))), "all are listed")
        many(folder)
        silent = Trace()
        silent.process(7, "program")
        silent.event(silent.track("thread", "main", 1), "range", 10, duration=5, name="r")
        path = silent.write(path)
        sentences = told(found(path, "frames"))
        check(any("Nothing was presented" in one for one in sentences), sentences)
        check(not any("Nothing was presented" in one for one in told(found(path, "frames", "--frames", "wait"))), sentences)
        one = told(found(path, "frames", "--frames", "range:r"))
        check(any(sentence.startswith("1 frame (range:r): the median took 5 ns") for sentence in one), one)
        for words in (("analyze", path, "--only", "frames", "--frames", "tick"), ("analyze", path, "--only", "idle", "--frames", "wait"),
                      ("view", path, "--frames", "wait"), ("view", path, "--frame", "0"), ("view", path, "--frame", "1", "--stats"),
                      ("view", path, "--frame", "1", "--frames", "range:")):
            run(*words, code=2)


main()
