# SPDX-License-Identifier: Apache-2.0
"""profile --nsys: runs nsys (a fake one), exports its report and imports it."""
import json
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "cli"))
from support import check, run, skip  # noqa: E402

HERE = os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "nsys")


def profile(directory, *args, code=0, **environment):
    environment = dict({"PATH": directory + "/bin:" + os.environ["PATH"], "TMPDIR": directory + "/tmp"}, **environment)
    return run("profile", *args, code=code, env=environment, cwd=directory)


def left(directory):
    return os.listdir(directory + "/tmp")


def check_works(directory):
    done = profile(directory, "--nsys-args", "-t cuda,nvtx --sample=none -e 'A=b c'", "-o", "t.sbt", "--", "sh", "-c",
                   "echo \"$RUN_BY_NSYS\"; exit 5", "a b", "$HOME", code=5)
    check(done.stdout == b"1\n", "standard output is the program's alone: %s" % done.stdout)
    trace = json.loads(run("view", "-f", "json", directory + "/t.sbt").stdout)
    kernels = [event for event in trace["events"] if event["kind"] == "kernel"]
    check([event["correlation"] for event in kernels] == [1, 2, 3, 4, 5], "five kernels: %s" % kernels)
    check(all(event["duration"] == 50 for event in kernels), "of 50 ns each")
    ranges = [event["name"] for event in trace["events"] if event["kind"] == "range"]
    check("sh -c echo \"$RUN_BY_NSYS\"; exit 5 a b $HOME" in ranges, "the words of the program, no shell's: %s" % ranges)
    told = next(json.loads(name) for name in ranges if name.startswith("{"))
    check(told.pop("--output").startswith(directory + "/tmp/"), "%s" % told)
    check(told == {"-t": "cuda,nvtx", "--sample": "none", "-e": "A=b c", "--force-overwrite": "true"}, "%s" % told)
    check(left(directory) == [], "nothing is left: %s" % left(directory))
    profile(directory, "--nsys", "true")
    check(os.path.exists(directory + "/trace.sbt"), "trace.sbt is the default")


def check_fails(directory):
    profile(directory, "--nsys", "-o", "u.sbt", "true", code=4, FAKE_NSYS="report")
    check(left(directory) == [] and not os.path.exists(directory + "/u.sbt"), "without a report there is nothing to keep")
    for how, code, expected in (("export", 4, b"could not export"), ("damage", 3, b"")):
        for command, wanted in (("true", code), ("false", 1)):
            done = profile(directory, "--nsys", "-o", "u.sbt", command, code=wanted, FAKE_NSYS=how)
            check(expected in done.stderr and b"the report is kept" in done.stderr, "%s: %s" % (how, done.stderr))
            check(len(left(directory)) == 1, "the report is kept: %s" % left(directory))
            folder = os.path.join(directory, "tmp", left(directory)[0])
            check(folder.encode() in done.stderr and os.stat(folder).st_mode & 0o077 == 0, "where only we may read it")
            check("report.nsys-rep" in os.listdir(folder), "%s" % os.listdir(folder))
            shutil.rmtree(folder)


def check_refuses(directory):
    ran = directory + "/ran"
    for args, code, said in ((["--nsys-args", "-o mine"], 2, b"--output"), (["--nsys-args", "--output=x"], 2, b"--output"),
                             (["--nsys-args", "'open"], 2, b"quote"), (["--nsys", "--capture"], 2, b"--capture"),
                             (["--nsys", "--api", "opencl"], 2, b"--api"),
                             (["--nsys", "--duty", "1s/60s"], 2, b"--duty cannot be combined with --nsys")):
        done = profile(directory, *args, "touch", ran, code=code)
        check(said in done.stderr, "%s: %d %s" % (args, done.returncode, done.stderr))
        check(not os.path.exists(ran), "nothing is run: %s" % args)
    check(left(directory) == [], "%s" % left(directory))
    done = profile(directory, "--nsys", "touch", ran, code=4, PATH="/usr/bin:/bin")
    check(b"nsys was found neither in PATH" in done.stderr and not os.path.exists(ran), "%s" % done.stderr)
    with open(directory + "/mine.txt", "w") as file:
        file.write("not a trace")
    profile(directory, "--nsys", "-o", "mine.txt", "touch", ran, code=2)
    check(not os.path.exists(ran), "a file that is no trace is left alone")


def check_import(directory):
    """`import` of a report has nsys make a database of it, in a folder that goes, and says what is run."""
    report, environment = directory + "/my report.nsys-rep", {"TMPDIR": directory + "/tmp"}
    with open(report, "w") as file:
        file.write("fake report\n" + json.dumps({"options": {}, "command": ["$(touch " + directory + "/shell)"]}))
    found = dict(environment, PATH=directory + "/bin:" + os.environ["PATH"])
    done = run("import", report, "-o", directory + "/r.sbt", env=found)
    check(b"running " in done.stderr and b"export --type=sqlite" in done.stderr and report.encode() in done.stderr,
          "what is run is said: %s" % done.stderr)
    trace = json.loads(run("view", "-f", "json", directory + "/r.sbt").stdout)
    check(len([e for e in trace["events"] if e["kind"] == "kernel"]) == 5, "five kernels")
    check(left(directory) == [] and not os.path.exists(directory + "/shell"), "nothing is left, and no shell saw it")
    done = run("import", report, "-o", directory + "/no.sbt", code=4, env=dict(found, FAKE_NSYS="export"))
    check(b"could not export" in done.stderr and left(directory) == [], "%s" % done.stderr)
    done = run("import", report, "-o", directory + "/no.sbt", code=4, env=dict(environment, PATH="/usr/bin:/bin"))
    check(b"nsys export --type sqlite" in done.stderr and left(directory) == [], "without nsys: %s" % done.stderr)
    done = run("view", report, code=3, env=found)
    check(b"nsys export --type sqlite" in done.stderr, "other commands run nothing: %s" % done.stderr)
    check(not os.path.exists(directory + "/no.sbt"), "no trace is begun")


def main():
    if shutil.which("nsys", path="/usr/bin:/bin") or os.path.exists("/opt/nvidia") or os.path.exists("/usr/local/cuda/bin/nsys"):
        skip("the real nsys is installed: that it is not found cannot be tried")
    with tempfile.TemporaryDirectory() as directory:
        for folder in ("bin", "tmp"):
            os.mkdir(os.path.join(directory, folder))
        shutil.copy(HERE + "/fake_nsys.py", directory + "/bin/nsys")
        for test in (check_works, check_fails, check_refuses, check_import):
            test(directory)


main()
