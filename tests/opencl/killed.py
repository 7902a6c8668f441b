# SPDX-License-Identifier: Apache-2.0
"""`tracesmith profile` is killed at random moments of recordings of more than a second; one trace has every launch."""
import json
import os
import random
import subprocess
import sys
import tempfile
import time

TRACESMITH = os.environ["TRACESMITH"]
LOOP = os.path.join(os.environ["TRACESMITH_BUILD_DIR"], "tests", "programs", "cl_launch_loop")
TOGETHER = 4
SCRIPT = ('echo "$TRACESMITH_SESSION"; for i in 1 2 3 4; do "%s" -n 3000 || exit 9; sleep 0.25; done' % LOOP)


def check(right, what):
    if not right:
        print("not true:", what)
        sys.exit(1)


def answer(*args):
    return json.loads(subprocess.run([TRACESMITH, *args], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                     check=True).stdout)


class Recording:
    def __init__(self, folder, number, rng):
        self.path = os.path.join(folder, "%d.sbt" % number)
        self.profile = subprocess.Popen([TRACESMITH, "profile", "-o", self.path, "sh", "-c", SCRIPT],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.session = self.profile.stdout.readline().decode().strip()
        self.due = time.monotonic() + rng.uniform(0.2, 1.6)

    def kill(self):
        time.sleep(max(0, self.due - time.monotonic()))
        self.profile.kill()
        self.profile.wait()

    def judge(self):
        lines = self.profile.stdout.read().splitlines()  # until the programs have ended too
        truth = [json.loads(line)["launches"] for line in lines]
        check(len(truth) == 4, "the program never noticed")
        if not os.path.isdir(self.session):
            return 0  # it had ended by itself
        done = answer("recover", "--json", "--remove", self.session, "-o", self.path + ".whole")
        info = answer("info", "--json", self.path + ".whole")
        check(info["complete"] and info["lost"]["total"] == 0, "nothing is lost: %s" % info["lost"])
        events = answer("view", self.path + ".whole", "-f", "json", "-t", "kernel", "-n", "1000000")["events"]
        of_track = {}
        for event in events:
            of_track.setdefault(json.dumps(event["track"]), []).append(event["correlation"])
        check(sorted(map(len, of_track.values())) == sorted(truth),
              "%s of %s" % ([len(ids) for ids in of_track.values()], truth))
        for ids in of_track.values():
            check(len(set(ids)) == len(ids), "no launch twice")
        check(len(info["processes"]) == 4, "four programs: %s" % info["processes"])
        return 1 if done["events_of_file"] else 0


def main():
    runs = 400 if os.environ.get("TRACESMITH_SOAK") else 12
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    print("seed", seed)
    joined = 0
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, runs, TOGETHER):
            together = [Recording(folder, first + i, rng) for i in range(TOGETHER)]
            for recording in sorted(together, key=lambda one: one.due):
                recording.kill()
            joined += sum(recording.judge() for recording in together)
    print("%d of %d were joined from a file and a session" % (joined, runs))
    check(joined > 0, "there was something to join")


main()
