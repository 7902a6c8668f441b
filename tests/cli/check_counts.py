# SPDX-License-Identifier: Apache-2.0
"""Runs every command over traces that have exactly one of each thing, and looks for "1 kernels" in what they print."""
import json
import os
import re
import subprocess
import sys
import tempfile

from support import BUILD, REASON, TRACESMITH, Trace, check, run

# A count of one before a plural: "1 kernels", "1 other legal orders". Not a part of a number, a name or a path.
PLURAL = re.compile(r"(?<![\w.,:/-])1 (?:(?:other|later|more|damaged|call|legal) )*([a-z]+s)\b")
SINGULAR = {"is", "was", "has", "does", "ms", "us", "ns", "s", "process", "access", "pass", "less", "across", "as", "uses",
            "differs", "waits", "needs"}
# A verb after a count agrees with it as well: "1 wait is", never "1 wait are".
VERB = re.compile(r"(?<![\w.,:/-])1 [a-z]+ (are|were|have)\b")


def faults(text):
    """The words of `text` whose number is wrong."""
    wrong = [found.group(0) for found in PLURAL.finditer(text) if found.group(1) not in SINGULAR]
    return wrong + [found.group(0) for found in VERB.finditer(text)]


def look(*args, code=None, **options):
    done = run(*args, code=code, env={"LC_ALL": "C.UTF-8", "COLUMNS": "200"}, **options)
    # Texts wrap: a count and its noun may stand on two lines.
    said = re.sub(r"\n +", " ", (done.stdout + b"\n" + done.stderr).decode(errors="replace"))
    wrong = faults(said)
    check(not wrong, "%s: %s" % (" ".join(map(str, args)), ", ".join(wrong)))
    return said


def one_of_each(path):
    trace = Trace()
    trace.process(11, "program")
    trace.device("GPU")
    thread = trace.track("thread", "main", process=1)
    queue = trace.track("queue", "queue", process=1, device=1)
    trace.event(thread, "api", 1000, duration=100, name="clEnqueueNDRangeKernel", correlation=1)
    trace.event(queue, "kernel", 2000, duration=5000, name="only", correlation=1)
    trace.event(queue, "memcpy", 8000, duration=500, operation="copy", bytes=1)
    trace.event(thread, "sync", 1200, duration=6000, name="clFinish")
    trace.event(thread, "loss", 9000, duration=100, lost=1, reason=next(iter(REASON)))
    return trace.write(path)


def one_event(path):
    trace = Trace()
    trace.process(11, "program")
    trace.device("GPU")
    trace.event(trace.track("queue", "queue", process=1, device=1), "kernel", 2000, duration=5000, name="only")
    return trace.write(path)


def look_at_trace(path, directory):
    for args in (["view"], ["view", "--stats"], ["view", "--timeline"], ["info"], ["analyze"], ["analyze", "--all"],
                 ["query"], ["simulate"]):
        look(args[0], path, *args[1:], *(["SELECT count(*) FROM events"] if args[0] == "query" else []))
    look("diff", path, path)
    for name in ("out.json", "out.perfetto", "out.csv", "out.folded"):
        look("export", path, "-o", os.path.join(directory, name))
    cut = os.path.join(directory, "cut.sbt")
    with open(path, "rb") as whole, open(cut, "wb") as file:
        file.write(whole.read()[:-20])
    look("info", cut)
    look("recover", cut, "-o", os.path.join(directory, "recovered.sbt"))
    os.remove(os.path.join(directory, "recovered.sbt"))


def look_at_import(directory):
    path = os.path.join(directory, "one.json")
    with open(path, "w") as file:
        json.dump({"traceEvents": [{"ph": "X", "name": "k", "cat": "kernel", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]}, file)
    said = look("import", path, "-o", os.path.join(directory, "imported.sbt"))
    check("1 event from" in said, "import counts one event: " + said)
    check("1 event," in look("analyze", path), "analyze counts one event")


def look_at_program(directory):
    """One launch of one kernel, where an OpenCL device is."""
    program = os.path.join(BUILD, "tests", "programs", "cl_counted")
    if not os.access(program, os.X_OK) or subprocess.run([TRACESMITH, "devices"], stdout=subprocess.DEVNULL,
                                                         stderr=subprocess.DEVNULL).returncode:
        return
    path = os.path.join(directory, "program.sbt")
    said = look("profile", "--capture", "-o", path, "--", program, code=0)
    check("1 kernel," in said, "profile counts one kernel: " + said)
    for args in (["replay"], ["replay", "--hazards"], ["replay", "--permute", "2"], ["info"], ["analyze", "--all"]):
        look(args[0], path, *args[1:])


check(faults("1 kernels") and faults("ran 1 times") and faults("1 wait are") and faults("1 other legal orders tried"),
      "plurals are found")
check(not faults("1 kernel, 11 kernels, 1.1 events, 1 ms, 1,001 kernels"), "right numbers are none")
with tempfile.TemporaryDirectory() as where:
    for make in (one_of_each, one_event):
        look_at_trace(make(os.path.join(where, make.__name__ + ".sbt")), where)
    said = look("view", os.path.join(where, "one_of_each.sbt"), "--stats")
    check("5 events in" in said and "1 event" in said, "stats count: " + said)
    look_at_import(where)
    look_at_program(where)
print("counts: ok")
sys.exit(0)
