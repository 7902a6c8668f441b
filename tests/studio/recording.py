# SPDX-License-Identifier: Apache-2.0
"""A program under `tracesmith profile` that launches kernels on request (tests/programs/cl_on_request.c)."""
import json
import os
import signal
import subprocess

TRACESMITH = os.environ["TRACESMITH"]


class Recording:
    def __init__(self, program, trace, *options):
        self.trace, self.launched, self.lines = trace, 0, 0
        self.process = subprocess.Popen([TRACESMITH, "profile", *options, "-o", trace, "--", program],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.directory = self.process.stdout.readline().strip()
        assert self.directory.startswith("/"), (self.directory, self.process.stderr.read())

    @property
    def program(self):
        """The number of the recorded process."""
        with open("/proc/%d/task/%d/children" % (self.process.pid, self.process.pid)) as file:
            return int(file.read().split()[0])

    def launch(self, count):
        self.process.stdin.write("%d\n" % count)
        self.process.stdin.flush()
        self.launched += count
        self.lines += 1
        said = self.process.stdout.readline().strip()
        assert said == str(self.launched), (said, self.launched)

    def end(self):
        """The program ends by itself; what the command said."""
        said = self.process.communicate()[1]
        return self.process.returncode, said

    def kill_program(self):
        os.kill(self.program, signal.SIGKILL)
        return self.end()

    def remove(self):
        """What a killed collector has left in shared memory."""
        run("recover", self.directory, "-o", self.trace + ".rest", "--remove")

    def kill_collector(self):
        """The collector alone: the program goes on, and is ended after it."""
        program = self.program
        self.process.kill()
        self.process.wait()
        self.process.stdin.close() # the end of its input ends the program
        while os.path.exists("/proc/%d/stat" % program) and state_of(program) != "Z":
            pass
        self.process.stdout.close()
        self.process.stderr.close()


def state_of(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


def run(*args, code=0):
    done = subprocess.run([TRACESMITH, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert code is None or done.returncode == code, (args, done.returncode, done.stderr)
    return done


def stats(trace):
    return json.loads(run("view", "--stats", "--json", trace).stdout)


def check_totals(totals, trace):
    """The totals of a page, of the whole trace, are those of `view --stats` and of SQL on the file."""
    whole = stats(trace)
    assert totals["events"] == whole["events"], (totals["events"], whole["events"])
    kinds = {}
    for total in whole["totals"]:
        kinds[total["kind"]] = kinds.get(total["kind"], 0) + total["count"]
    assert totals["kinds"] == kinds, (totals["kinds"], kinds)
    same = ("count", "timed", "total_ns", "min_ns", "max_ns")
    ours = {kernel["name"]: [kernel[key] for key in same] for kernel in totals["kernels"]["top"]}
    theirs = {total["name"]: [total[key] for key in same] for total in whole["totals"] if total["kind"] == "kernel"}
    assert ours == theirs and ours, (ours, theirs)
    ours = [(device["device"], device["commands"], device["busy_ns"], device["work_ns"]) for device in totals["devices"]]
    theirs = [(device["device"], device["commands"], device["busy_ns"], device["work_ns"]) for device in whole["device_busy"]]
    assert ours == theirs and ours, (ours, theirs)
    memory = whole["memory"][0]
    assert (totals["memory"]["allocations"], totals["memory"]["peak_bytes"]) == (memory["allocations"], memory["peak_bytes"])
    answer = run("query", "--json", trace, "SELECT count(*), sum(duration) FROM events WHERE kind = 'kernel'").stdout
    for value in (totals["kernels"]["count"], totals["kernels"]["total_ns"]):
        assert str(value) in answer, (value, answer)
