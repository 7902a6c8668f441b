# SPDX-License-Identifier: Apache-2.0
"""Two recordings into one file: the second learns at its start who writes it, and runs nothing; however the first ends, the file
is free again."""
import fcntl
import os
import signal
import subprocess
import sys
import tempfile

from support import TRACESMITH, check, run, skip

# A program that reports that it runs, and ends when the pipe is opened for writing.
PROGRAM = ("sh", "-c", 'echo up; exec cat "$0"')


def start(directory, path, gate):
    return subprocess.Popen([TRACESMITH, "profile", "-o", path, "--", *PROGRAM, gate], cwd=directory, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def started(directory, path, gate):
    recording = start(directory, path, gate)
    check(recording.stdout.readline() == b"up\n", "the program runs")
    return recording


def has_locks(directory):
    """Whether the file system knows them: a second open file does not get the lock of the first."""
    path = os.path.join(directory, "lock")
    with open(path, "wb") as first, open(path, "wb") as second:
        try:
            fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            pass
    return False


def listed(directory, name):
    """Whether the kernel lists the lock by the number that the file has here."""
    inode = b":%d " % os.stat(os.path.join(directory, name)).st_ino
    try:
        with open("/proc/locks", "rb") as locks:
            return any(inode in line and b"FLOCK" in line for line in locks)
    except OSError:
        return False


def let_go(gate):
    with open(gate, "wb"):
        pass


def check_refused(directory, gate):
    recording = started(directory, "one.sbt", gate)
    os.symlink("one.sbt", os.path.join(directory, "link.sbt"))
    with open(os.path.join(directory, "made.json"), "w", encoding="ascii") as file:
        file.write('{"traceEvents":[{"ph":"X","name":"k","pid":1,"tid":1,"ts":1,"dur":1}]}')
    mark = os.path.join(directory, "mark")
    for arguments in (("profile", "-o", "one.sbt", "--", "touch", mark), ("profile", "-o", "link.sbt", "--", "touch", mark),
                      ("import", "made.json", "-o", "one.sbt")):
        done = run(*arguments, code=4, cwd=directory)
        lines = done.stderr.splitlines()
        who = b"process %d (tracesmith)" % recording.pid if listed(directory, "one.sbt") else b"another process"
        check(b"one.sbt is being written by " + who in lines[0].replace(b"link.sbt", b"one.sbt"), done.stderr)
        check(arguments[0] == "import" or b"choose another file with --output" in lines[1], done.stderr)
        check(not os.path.exists(mark), "nothing was run")
    run("info", "one.sbt", code=3, cwd=directory)  # it has no end yet; a reader does not block
    let_go(gate)
    recording.communicate(timeout=120)
    check(recording.returncode == 0, "the first is unaffected")
    run("info", "one.sbt", code=0, cwd=directory)
    run("profile", "-o", "one.sbt", "--", "touch", mark, code=0, cwd=directory)
    check(os.path.exists(mark), "and then the file is free")


def check_killed(directory, gate):
    """Killed outright, while the program that it records goes on."""
    recording = started(directory, "killed.sbt", gate)
    os.kill(recording.pid, signal.SIGKILL)
    recording.wait(timeout=120)
    run("profile", "-o", "killed.sbt", "--", "true", code=0, cwd=directory)
    let_go(gate)
    recording.communicate(timeout=120)


def check_at_once(directory, gate, there):
    """Many at once, over a file that is there or not: one runs."""
    if there:
        run("import", "made.json", "-o", "many.sbt", code=0, cwd=directory)
    recordings = [start(directory, "many.sbt", gate) for _ in range(6)]
    # A running program reports that; the output of one that does not run ends.
    first = [recording.stdout.readline() for recording in recordings]
    check(sorted(first) == [b""] * 5 + [b"up\n"], "one runs: %r" % first)
    let_go(gate)
    for recording, line in zip(recordings, first):
        _, err = recording.communicate(timeout=120)
        check(recording.returncode == (0 if line else 4), err)
        check((b"is being written by" in err) != bool(line) and b"removed or replaced" not in err, err)
    run("info", "many.sbt", code=0, cwd=directory)


def main():
    with tempfile.TemporaryDirectory() as directory:
        if not has_locks(directory):
            skip("the file system of temporary files has no locks")
        gate = os.path.join(directory, "gate")
        os.mkfifo(gate)
        check_refused(directory, gate)
        check_killed(directory, gate)
        for there in (False, True):
            check_at_once(directory, gate, there)


if __name__ == "__main__":
    sys.exit(main())
