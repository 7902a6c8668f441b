# SPDX-License-Identifier: Apache-2.0
"""What is no trace, or no whole one: a message, exit code 3, and the readable part."""
import json
import os
import random
import re
import tempfile
import threading

from support import Trace, check, run


def complains(path, *words, code=3):
    for command in (["view"], ["info"], ["view", "--stats"], ["view", "-f", "json"]):
        done = run(command[0], path, *command[1:], code=code)
        message = done.stderr.decode()
        check(message.startswith("tracesmith: ") and message.count("\n") == 1, "%s: one line: %s" % (command, message))
        for word in words:
            check(word in message, "%s: %r in %r" % (command, word, message))
        check(done.stdout == b"", "%s: nothing on standard output" % command)


def make(path):
    trace = Trace()
    track = trace.track("thread", "main")
    rng = random.Random(3)
    for i in range(20000):
        trace.event(track, "range", i * 10, duration=rng.randrange(10), correlation=rng.randrange(1 << 40))
        if i % 1000 == 999:
            trace.flush()
    trace.write(path)
    return trace


def check_damaged(path, trace, what):
    # info reads the whole file, at any place of the damage.
    info = run("info", "--json", path, code=3)
    check(not info.stdout or json.loads(info.stdout)["complete"] is False, what + ": info says it is not complete")
    check(b"byte" in info.stderr, what + ": says where: " + info.stderr.decode())
    done = run("view", path, "-f", "json", code=None)
    check(done.returncode in (0, 3), "%s: view gave %d" % (what, done.returncode))
    if not done.stdout:
        return 0  # damaged where nothing can be read without it
    answer = json.loads(done.stdout)
    known = {(e["start"], e["duration"], e["correlation"]) for e in trace.events}
    got = {(e["start"], e["duration"], e["correlation"]) for e in answer["events"]}
    check(got <= known, what + ": no invented event")
    check(len(got) == len(answer["events"]), what + ": none twice")
    if done.returncode == 0:
        # The damage is in a part that the answer does not need.
        check(got == known, what + ": all events, or it is said")
    else:
        check(answer["complete"] is False and b"byte" in done.stderr, what + ": says where: " + done.stderr.decode())
    return len(got)


def main():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "t.sbt")

        complains(os.path.join(directory, "missing.sbt"), "missing.sbt")
        complains(directory, "directory")
        # Noise behind what formats begin with; but behind '[' or '\n' it is a trace of JSON or Perfetto with damage.
        rng = random.Random(2)
        noise = bytes(rng.getrandbits(8) for _ in range(100_000))
        for content in (b"", b"\0" * 4096, b"not a trace at all\n",
                        *(begin + noise for begin in (b"\xff", b"{", b"<", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"))):
            with open(path, "wb") as file:
                file.write(content)
            complains(path, path)

        pipe = os.path.join(directory, "pipe")
        os.mkfifo(pipe)
        feeder = threading.Thread(target=lambda: open(pipe, "wb").close(), daemon=True)
        feeder.start()
        done = run("view", pipe, code=3)
        check(b"pipe" in done.stderr, "a pipe is refused")

        trace = make(path)
        with open(path, "rb") as file:
            whole = file.read()
        rng = random.Random(5)
        kept = []
        for _ in range(12):
            size = rng.randrange(65, len(whole))
            with open(path, "wb") as file:
                file.write(whole[:size])
            kept.append(check_damaged(path, trace, "cut off at %d of %d" % (size, len(whole))))
        check(any(kept), "something is readable of a file that was cut off")
        with open(path, "wb") as file:
            file.write(whole[:len(whole) // 2])
        answer = run("info", path, code=3).stdout
        check(not re.search(rb"^lost +nothing$", answer, re.M), "the losses of a file that was cut off are unknown")
        foreign = os.path.join(directory, "notes.txt")
        with open(foreign, "wb") as file:
            file.write(b"no trace\n")
        run("recover", path, "-o", foreign, code=2)
        with open(foreign, "rb") as file:
            check(file.read() == b"no trace\n", "recover leaves files alone that are no traces")
        rebuilt = os.path.join(directory, "rebuilt.sbt")
        run("recover", path, "-o", rebuilt)
        answer = run("info", rebuilt).stdout
        check(not re.search(rb"^lost +nothing$", answer, re.M), "nor what is lost from what was recovered of it")
        stats = json.loads(run("view", rebuilt, "--stats", "--json", "--from", "1000s", code=None).stdout)
        check(stats["window_ns"] == 0, "a window after the end is empty")
        for _ in range(12):
            damaged = bytearray(whole)
            damaged[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
            with open(path, "wb") as file:
                file.write(damaged)
            check_damaged(path, trace, "a flipped bit")
            if rng.random() < 0.3:
                out = os.path.join(directory, "whole.sbt")
                run("recover", path, "-o", out, code=None)


main()
