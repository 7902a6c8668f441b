# SPDX-License-Identifier: Apache-2.0
"""recover: after tracesmith itself was killed, one trace has every launch once, and the loss ledger nothing."""
import glob
import json
import os
import shutil
import subprocess
import tempfile

from support import BUILD, TRACESMITH, check, run, skip

LOOP = os.path.join(BUILD, "tests", "programs", "cl_launch_loop")


def kernels(path):
    done = run("view", path, "-f", "json", "-t", "kernel")
    return [event["correlation"] for event in json.loads(done.stdout)["events"]]


def content(path):
    with open(path, "rb") as file:
        return file.read()


def killed_recording(path):
    """What `profile` leaves that is killed while its program runs: the session's directory, and the truth."""
    # The program prints the session's path, and continues only on request: by then half of it is recorded.
    script = 'echo "$TRACESMITH_SESSION"; "%s" -n 30000 >&2; read line; exec "%s" -n 30000' % (LOOP, LOOP)
    profile = subprocess.Popen([TRACESMITH, "profile", "-o", path, "sh", "-c", script], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    session = profile.stdout.readline().decode().strip()
    check(os.path.isdir(session), "a session directory")
    done = run("view", session, code=3)
    check(b"tracesmith recover" in done.stderr, "a session is no trace, and it is said what to do")
    first = profile.stderr.readline()
    if not first:
        skip("no OpenCL device")
    run("recover", session, "-o", path + ".early", code=3)
    check(not os.path.exists(path + ".early"), "what is still being recorded is not recovered")
    profile.stdin.write(b"go\n")
    profile.stdin.flush()
    profile.kill()
    profile.wait()
    second = profile.stdout.read()  # until the program has ended too
    return session, json.loads(first)["launches"] + json.loads(second)["launches"]


def check_trace(path, truth):
    info = json.loads(run("info", "--json", path).stdout)
    check(info["complete"] is True, "what is recovered is complete")
    check(info["lost"]["total"] == 0, "nothing is said to be lost: %s" % info["lost"])
    got = kernels(path)
    check(len(got) == truth, "%d kernels of %d" % (len(got), truth))
    check(len(info["processes"]) == 2, "two processes, each once: %s" % info["processes"])


def check_said_commands(session, directory):
    """The command that is said works as it is, whatever the directory is called: bash takes the word apart."""
    for name in ("plain", "a b", "it's \"q\" $HOME `x` \\", "line\nbreak\ttab \x1b[31m", "-dash", "\u4f60\u597d", b"\xff\xfe",
                 "\u202ereversed", "a;b&c|d*e?[f]~#!{g,h}"):
        name = os.fsencode(name)
        os.makedirs(os.path.join(os.fsencode(directory), b"said"), exist_ok=True)
        copy = os.path.join(os.fsencode(directory), b"said", name)
        shutil.copytree(os.fsencode(session), copy, symlinks=True)
        done = subprocess.run([TRACESMITH, "view", "--", name], cwd=os.path.dirname(copy), capture_output=True)
        said = done.stderr.split(b": ", 2)[2].split(b" -o FILE")[0]
        check(said.startswith(b"tracesmith recover ") and done.stderr.count(b"\n") == 1, "a command: %r" % done.stderr)
        word = subprocess.run(["bash", "-c", b"tracesmith() { printf %s \"$2\"; }; " + said], capture_output=True,
                              check=True).stdout
        check(word in (name, b"./" + name) and not word.startswith(b"-"), "%r names %r" % (said, name))
        shutil.rmtree(copy)


def check_no_start(session, directory):
    """A session that does not say when it began: its age is unknown."""
    root = os.path.join(directory, "old")
    shutil.copytree(session, os.path.join(root, "tracesmith-copied"), symlinks=True)
    environment = dict(os.environ, TMPDIR=root)
    one = [one for one in json.loads(run("recover", "--json", env=environment).stdout)["sessions"]
           if one["directory"].startswith(root)]
    check(len(one) == 1 and one[0]["age_ns"] > 0, "the copy has an age: %s" % one)
    start = one[0]["started_realtime_ns"].to_bytes(8, "little")
    for path in glob.glob(os.path.join(root, "tracesmith-copied", "*")):
        if os.path.isfile(path) and start in content(path):
            with open(path, "r+b") as file:
                file.seek(content(path).index(start))
                file.write(bytes(8))
    one = [one for one in json.loads(run("recover", "--json", env=environment).stdout)["sessions"]
           if one["directory"].startswith(root)]
    check(len(one) == 1 and "age_ns" not in one[0] and "started_realtime_ns" not in one[0], "no age: %s" % one)
    rows = [row for row in run("recover", env=environment).stdout.decode().splitlines() if row.startswith(root)]
    check(len(rows) == 1 and " unknown " in rows[0], rows)
    shutil.rmtree(root)


def check_other_user(session, path, directory):
    """Root recovers a recording of another user: nothing is read or written where that user's control file says."""
    other = 65534
    if os.geteuid() != 0:
        print("not root: recovering another user's recording is not tried")
        return
    copy = os.path.join(directory, "other")
    shutil.copytree(session, copy, symlinks=True)
    os.chown(copy, other, other)
    before = content(path)
    to = os.path.join(directory, "other.sbt")
    done = run("recover", copy, "-o", to, code=3)
    check(b"control file of its owner" in done.stderr, "a control file of another user is not used")
    for name in os.listdir(copy):
        os.lchown(os.path.join(copy, name), other, other)
    done = run("recover", copy, code=2)
    check(b"--output" in done.stderr and b"%d" % other in done.stderr, "another user's recording needs --output")
    check(not os.path.exists(os.path.join(directory, "t.recovered.sbt")), "nothing was written next to the named file")
    done = run("recover", copy, "-o", to, code=3)
    check(b"left out" in done.stderr and content(path) == before, "the file it names is not that user's: not read")
    os.chown(path, other, other)
    run("recover", copy, "-o", to)
    os.chown(path, 0, 0)
    shutil.rmtree(copy)
    os.unlink(to)


def main():
    if not os.access(LOOP, os.X_OK):
        skip("no OpenCL test programs")
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "t.sbt")
        session, truth = killed_recording(path)
        listed = [one for one in json.loads(run("recover", "--json").stdout)["sessions"] if
                  one["directory"] == session]
        check(len(listed) == 1, "recover lists it")
        check(not listed[0]["recording"] and listed[0]["output"] == os.path.realpath(path) and
              LOOP in listed[0]["command"] and listed[0]["bytes"] > 0, "with what it was: %s" % listed)
        check(session.encode() in run("recover").stdout, "also for people")
        check_said_commands(session, directory)
        check_no_start(session, directory)
        check_other_user(session, path, directory)
        before = content(path)
        answer = json.loads(run("recover", "--json", session).stdout)
        recovered = os.path.join(directory, "t.recovered.sbt")
        check(answer["complete"] is True and os.path.exists(recovered), "the new file is next to the old one")
        check(content(path) == before, "which is as it was")
        check_trace(recovered, truth)
        again = os.path.join(directory, "again.sbt")
        run("recover", session, "-o", again)
        check(content(again) == content(recovered), "doing it twice gives the same bytes")
        run("recover", session, "-o", os.path.join(directory, "no", "such", "folder.sbt"), code=4)
        run("recover", recovered, "-o", os.path.join(directory, "no", "such", "folder.sbt"), code=4)
        run("recover", os.path.join(directory, "nothing.sbt"), "-o", again, code=3)
        run("recover", "--remove", recovered, code=2)
        os.rename(path, path + ".kept")
        done = run("recover", session, "-o", again, code=3)
        check(b"left out" in done.stderr and os.path.isdir(session), "it is said when the file is gone")
        os.rename(path + ".kept", path)
        run("recover", session, "-o", path)
        check_trace(path, truth)
        done = run("recover", session, "-o", path)
        check(b"already contained everything" in done.stderr, "a file that is whole stays whole")
        check_trace(path, truth)
        run("recover", "--remove", session, "-o", again)
        check_trace(again, truth)
        check(not os.path.exists(session), "--remove removes the directory")


main()
