# SPDX-License-Identifier: Apache-2.0
"""What answers about commands and calls need is what the limit counts, and a small file with many equal commands is refused
with what it needs, in bounded memory."""
import os
import resource
import subprocess
import sys
import tempfile

TRACESMITH = os.environ["TRACESMITH"]
MANY = os.path.join(os.environ["TRACESMITH_BUILD_DIR"], "tests", "programs", "sbt_many")
PER_COMMAND, PER_CALL = 280, 320  # src/state/memory_limit.h
BASE = 48 << 20  # the program itself, and one decoded frame
MEASURES = not os.environ.get("TRACESMITH_SANITIZE")  # a sanitizer has memory of its own


def check(right, *what):
    if not right:
        print("not true:", *what)
        sys.exit(1)


def run(limit, *arguments, most=None):
    """Exit code, what was said, and the peak of resident memory in bytes."""
    environment = dict(os.environ, TRACESMITH_MEMORY_LIMIT=limit)
    with tempfile.TemporaryFile() as said:
        def prepare():
            if most and MEASURES:
                resource.setrlimit(resource.RLIMIT_AS, (most, most))
        child = subprocess.Popen([TRACESMITH, *arguments], stdout=subprocess.DEVNULL, stderr=said, env=environment,
                                 preexec_fn=prepare)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status) if hasattr(os, "waitstatus_to_exitcode") else status >> 8
        said.seek(0)
        return child.returncode, said.read().decode(), usage.ru_maxrss * 1024


def questions(path):
    yield ("analyze", path)
    yield ("simulate", path, "--scale", "kernel=kernel:0.5")
    yield ("diff", path, path)
    yield ("query", path, "SELECT count(*) FROM lives")


def make(folder, commands, calls):
    path = os.path.join(folder, "%d-%d.sbt" % (commands, calls))
    subprocess.run([MANY, path, str(commands), str(calls)], check=True)
    return path


def needs_what_is_counted(folder):
    for commands, calls in ((500000, 0), (250000, 250000), (500000, 60000)):
        path, needed = make(folder, commands, calls), commands * PER_COMMAND + calls * PER_CALL
        for question in questions(path):
            code, said, peak = run(str(needed), *question)
            check(code == 0, question, "at its limit gave", code, said)
            check(peak <= needed + BASE or not MEASURES, question, "took", peak, "bytes, and counts", needed)
            code, said, _ = run(str(needed - PER_COMMAND - PER_CALL), *question)
            check(code == 4 and "%d commands and %d calls" % (commands, calls) in said, question, "beyond it gave", code, said)


def refuses(folder):
    path = make(folder, 9000000, 0)
    check(os.path.getsize(path) < 200000, "the file is small:", os.path.getsize(path))
    for question in questions(path):
        code, said, peak = run("64MiB", *question, most=1 << 30)
        check(code == 4, question, "gave", code, said)
        for word in ("9000000 commands and 0 calls", "2404 MiB", "64 MiB", "TRACESMITH_MEMORY_LIMIT=2404MiB"):
            check(word in said, question, "does not tell", word, "in", said)
        check(peak <= (64 << 20) + BASE or not MEASURES, question, "took", peak)
    for question in (("analyze", path, "kernels"), ("info", path), ("view", "--stats", path),
                     ("query", path, "SELECT count(*) FROM kernel")):
        code, said, _ = run("64MiB", *question, most=1 << 30)
        check(code == 0, question, "gave", code, said)


def units(folder):
    path = make(folder, 9000, 0)
    for limit, fits in (("2M", False), ("2 MiB", False), ("2000k", False), ("3m", True), ("3MiB", True), ("3000000B", True),
                        ("1t", True), ("18446744073709551615", True), ("99999999999G", True), ("0", True), ("-1", True),
                        ("3 apples", True), ("", True)):
        code, said, _ = run(limit, "analyze", path)
        check(code == (0 if fits else 4), limit, "gave", code, said)


def main():
    with tempfile.TemporaryDirectory() as folder:
        units(folder)
        refuses(folder)
        needs_what_is_counted(folder)


main()
