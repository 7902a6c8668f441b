# SPDX-License-Identifier: Apache-2.0
"""Values no program would record: every view answers or refuses, and nothing breaks."""
import json
import os
import random
import subprocess
import tempfile

from support import EVERY, SBT_MAKE, check, run

LEAST, MOST = -(1 << 63), (1 << 63) - 1
FIELDS = ["duration", "name", "correlation", "operation", "direction", "bytes", "global_x", "queue_track",
          "host_track", "live_bytes", "result", "value", "lost", "reason", "text", "queued", "blocking"]
VALUES = [0, 1, -1, 255, 200, 4294967295, MOST, LEAST, 10**12]


def describe(rng):
    lines = ["process 1 p", "device d opencl cpu"]
    lines += ["track %d %s %d %d" % (rng.randrange(12), rng.choice(["a", "%", "%ff"]), rng.randrange(3), rng.randrange(3))
              for _ in range(4)]
    starts = [LEAST, LEAST + 1, -1, 0, 1, MOST - 1, MOST] if rng.random() < 0.3 else [0, 5, 10**9, 10**15]
    for _ in range(rng.randrange(1, 40)):
        fields = {name: rng.choice(VALUES) for name in rng.sample(FIELDS, rng.randrange(6))}
        words = ["%s=%s" % (name, "n" if name in ("name", "text") else value) for name, value in fields.items()]
        kind = rng.choice([0, 1, 2, 4, 5, 6, 7, 12, 19, 21, 22, 31, 200])
        lines.append("event %d %d %d %s" % (rng.randrange(1, 7), kind, rng.choice(starts), " ".join(words)))
    return "\n".join(lines).encode() + b"\n"


def main():
    made = 0
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "t.sbt")
        for seed in range(0, 60, EVERY):
            rng = random.Random(seed)
            if subprocess.run([SBT_MAKE, path], input=describe(rng), stderr=subprocess.DEVNULL).returncode:
                continue  # refused by the writer
            made += 1
            for options in ([], ["-f", "json"], ["-f", "csv"], ["--stats"], ["--stats", "--json"], ["--timeline"],
                            ["--from", "1ns", "--to", "3h", "--stats"], ["--from", "5ns", "--timeline"]):
                done = run("view", path, *options, code=None)
                check(done.returncode in (0, 1, 3), "%s of %d gave %d: %s" %
                      (options, seed, done.returncode, done.stderr.decode(errors="replace")[-3000:]))
                if "json" in " ".join(options) and done.stdout:
                    json.loads(done.stdout)
            run("info", path, code=None)
            json.loads(run("info", "--json", path, code=None).stdout or b"{}")
    check(made > 20 // EVERY, "most of them are written: %d" % made)


main()
