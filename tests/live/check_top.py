# SPDX-License-Identifier: Apache-2.0
"""top: the totals while a program runs, and at its end those of `view --stats` and of SQL on the trace."""
import json
import os
import shutil
import stat
import subprocess
import sys

from support import Paused, TRACESMITH, check, lines_of, run, top_once

PROGRAMS, WORK = sys.argv[1:3]
ROUNDS, PER_ROUND = 40, 57



def check_last(last, trace):
    stats = json.loads(run("view", "--stats", "--json", trace).stdout)
    check(last["ended"] and last["from_start"] and not last["incomplete"], "the last totals: %s" % last)
    check(last["events"] == stats["events"], "events: %d and %d" % (last["events"], stats["events"]))
    totals = stats["totals"]
    kinds = {}
    for total in totals:
        kinds[total["kind"]] = kinds.get(total["kind"], 0) + total["count"]
    check(last["kinds"] == kinds, "kinds: %s and %s" % (last["kinds"], kinds))
    same = ("count", "timed", "total_ns", "min_ns", "max_ns")
    ours = {kernel["name"]: {key: kernel[key] for key in same} for kernel in last["kernels"]["top"]}
    theirs = {total["name"]: {key: total[key] for key in same} for total in totals if total["kind"] == "kernel"}
    check(ours == theirs, "kernels: %s and %s" % (ours, theirs))
    check(ours["tick"]["count"] == ROUNDS * PER_ROUND, "the program's own count: %s" % ours)
    ours = {device["device"]: (device["commands"], device["busy_ns"], device["work_ns"]) for device in last["devices"]}
    theirs = {device["device"]: (device["commands"], device["busy_ns"], device["work_ns"])
              for device in stats["device_busy"]}
    check(ours == theirs, "busy time: %s and %s" % (ours, theirs))
    check(all(device["late_ns"] == 0 for device in last["devices"]), "nothing was late")
    ours = {wait["operation"]: (wait["count"], wait["total_ns"]) for wait in last["waits"]}
    theirs = {}
    for wait in stats["waits"]:
        count, ns = theirs.get(wait["operation"], (0, 0))
        theirs[wait["operation"]] = (count + wait["count"], ns + wait["total_ns"])
    check(ours == theirs, "waits: %s and %s" % (ours, theirs))
    memory = stats["memory"][0]
    check(last["memory"]["allocations"] == memory["allocations"] and last["memory"]["peak_bytes"] == memory["peak_bytes"],
          "memory: %s and %s" % (last["memory"], memory))
    check(last["lost"] == 0, "nothing was lost: %s" % last["lost_by_reason"])


def check_sql(last, trace):
    answer = run("query", "--json", trace, "SELECT count(*), sum(duration) FROM events WHERE kind = 'kernel'").stdout.decode()
    for value in (last["kernels"]["count"], last["kernels"]["total_ns"]):
        check(str(value) in answer, "SQL has %s: %s" % (value, answer))


def from_start():
    trace = os.path.join(WORK, "live.sbt")
    program = Paused(PROGRAMS, ["--live", "-o", trace], ROUNDS)
    top_once(program.process, program.directory)
    watcher = subprocess.Popen([TRACESMITH, "top", "--json", "--interval", "50ms", program.directory],
                               stdout=subprocess.PIPE)
    lines = lines_of(watcher)
    first = next(line for line in lines if line["kernels"]["count"] == ROUNDS // 2 * PER_ROUND)
    check(first["processes"] == 1 and not first["ended"], "half way: %s" % first)
    made = os.stat(os.path.join(program.directory, "live"))
    check(stat.S_IMODE(made.st_mode) == 0o600, "other users cannot read the totals")
    # By the number of the process that records, and of the one that is recorded; nothing else runs.
    alias = other_mounts()
    listed = [one["directory"] for one in json.loads(run("recover", "--json").stdout)["sessions"]
              if one["pid"] == program.process.pid]
    check(listed == [program.directory], "a folder that another mount namespace shares is looked into once: %s" % listed)
    for word in (program.process.pid, children_of(program.process.pid)[0]):
        once = json.loads(top_once(program.process, "--json", word).stdout)
        check(once["session"] == program.directory, "%s is found: %s" % (word, once["session"]))
        check(once["kernels"]["per_second"] == 0, "a rate: %s" % once["kernels"])
    alias.communicate()
    check_claimed(program)
    table = top_once(program.process, program.directory).stdout.decode()
    check("tick" in table and "busy" in table and "finish" in table, "a table: %s" % table)
    program.go_on()
    last = list(lines)[-1]
    check(watcher.wait(60) == 0, "top ends with the recording")
    check_last(last, trace)
    check_sql(last, trace)


def check_claimed(program):
    """A directory of another user that says that this process collects into it."""
    if os.geteuid() != 0:
        return
    folder = os.path.join(WORK, "claims")
    copy = os.path.join(folder, "tracesmith-claims")
    os.makedirs(copy)
    shutil.copy(os.path.join(program.directory, "control"), copy)
    for path in (os.path.join(copy, "control"), copy):
        os.chown(path, 65534, 65534)
    os.environ["TMPDIR"], before = folder, os.environ.get("TMPDIR", "/tmp")
    listed = [one["directory"] for one in json.loads(run("recover", "--json").stdout)["sessions"]]
    check(copy in listed, "the copy is a session directory: %s" % listed)
    done = run("top", "--once", "--json", program.process.pid, code=None)
    said = (done.stdout + done.stderr).decode()
    check(program.directory in said and copy not in said, "a claim of another user is not believed: %s" % said)
    os.environ["TMPDIR"] = before
    shutil.rmtree(folder)


def other_mounts():
    """A process with a mount namespace of its own, which sees our folders. Without rights for one, a process that does not."""
    process = subprocess.Popen(["unshare", "-Ur", "--mount", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, bufsize=0)
    try:
        process.stdin.write(b"x")
        process.stdout.read(1)
    except BrokenPipeError:
        pass
    return process


def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return [int(word) for word in file.read().split()]


def on_request():
    """Totals begin when the first reader asks, and say so. Without a reader there is no file."""
    trace = os.path.join(WORK, "late.sbt")
    program = Paused(PROGRAMS, ["-o", trace], ROUNDS)
    check(not os.path.exists(os.path.join(program.directory, "live")), "no reader has asked yet")
    top_once(program.process, program.directory)
    watcher = subprocess.Popen([TRACESMITH, "top", "--json", program.directory], stdout=subprocess.PIPE)
    lines = lines_of(watcher)
    next(lines)
    program.go_on()
    last = list(lines)[-1]
    watcher.wait(60)
    check(last["ended"], "the end")
    # What was delivered before the request is in the trace alone.
    count = last["kernels"]["count"]
    check(ROUNDS // 2 * PER_ROUND <= count <= ROUNDS * PER_ROUND, "the second half: %d" % count)
    events = json.loads(run("info", "--json", trace).stdout)["events"]
    check(last["from_start"] == (last["events"] == events), "whether all %d are in it: %s" % (events, last))


def hostile():
    """A reader believes nothing in the file, and a collector writes to no file that it has not made."""
    trace = os.path.join(WORK, "hostile.sbt")
    program = Paused(PROGRAMS, ["--live", "-o", trace], ROUNDS)
    other = os.path.join(WORK, "other")
    with open(other, "wb") as file:
        file.write(b"untouched")
    os.symlink(other, os.path.join(program.directory, "live"))
    top_once(program.process, program.directory)
    with open(other, "rb") as file:
        check(file.read() == b"untouched", "a link is not followed")
    path = os.path.join(program.directory, "live")
    copy = open(path, "rb").read()
    os.unlink(path)
    # The collector writes on into its own file, which has no name any more; the reader sees these.
    for name, content, code, says in (
            ("of another version", copy[:8] + b"\xff" + copy[9:], 4, b"version"),
            ("a wrong checksum", copy[:5000] + bytes([copy[5000] ^ 1]) + copy[5001:8000] + b"\xff" * (len(copy) - 8000), 4,
             b"publishes no totals")):
        with open(path, "wb") as file:
            file.write(content)
        done = run("top", "--once", program.directory, code=code)
        check(says in done.stderr, "%s: %s" % (name, done.stderr))
    program.go_on()


def refused():
    done = run("top", "1", code=4)
    check(b"not part of a running recording" in done.stderr, done.stderr)
    done = run("top", "nothing", code=2)
    check(b"neither" in done.stderr, done.stderr)
    done = run("top", WORK, code=3)
    check(b"is not a session directory" in done.stderr, done.stderr)
    done = run("top", "--interval", "1ms", code=2)
    check(b"--interval" in done.stderr, done.stderr)


from_start()
on_request()
hostile()
refused()
print("top: ok")
