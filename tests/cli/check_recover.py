# SPDX-License-Identifier: Apache-2.0
"""recover: after tracesmith itself was killed, its file and the session directory together have every launch."""
import json
import os
import subprocess
import tempfile

from support import BUILD, TRACESMITH, check, run, skip

LOOP = os.path.join(BUILD, "tests", "programs", "cl_launch_loop")


def kernels(path):
    done = run("view", path, "-f", "json", "-t", "kernel", code=None)
    return {event["correlation"] for event in json.loads(done.stdout)["events"]}


def main():
    if not os.access(LOOP, os.X_OK):
        skip("no OpenCL test programs")
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "t.sbt")
        # The program says where the session is, and goes on only when it is told to: by then half of it is recorded.
        script = 'echo "$TRACESMITH_SESSION"; read line; exec "%s" -n 30000' % LOOP
        profile = subprocess.Popen([TRACESMITH, "profile", "-o", path, "sh", "-c", script], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        session = profile.stdout.readline().decode().strip()
        check(os.path.isdir(session), "a session directory")
        done = run("view", session, code=3)
        check(b"tracesmith recover" in done.stderr, "a session is no trace, and it is said what to do")
        profile.stdin.write(b"go\n")
        profile.stdin.flush()
        profile.kill()
        profile.wait()
        truth = profile.stdout.read()  # until the program has ended too
        if not truth:
            skip("no OpenCL device")
        check(session in json.loads(run("recover", "--json").stdout)["sessions"], "recover lists it")
        recovered = os.path.join(directory, "recovered.sbt")
        answer = json.loads(run("recover", "--json", session, "-o", recovered).stdout)
        check(answer["complete"] is True, "what is recovered is complete")
        got = kernels(recovered) | kernels(path)
        check(len(got) == json.loads(truth)["launches"], "%d kernels of %s" % (len(got), truth))
        subprocess.run(["rm", "-r", session])


main()
