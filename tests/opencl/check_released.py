# SPDX-License-Identifier: Apache-2.0
"""Uses of memory objects after their release, by programs that do each on purpose over a layer that releases nothing."""
import json
import os
import subprocess
import sys

PROGRAMS, WORK = sys.argv[1:3]
TRACESMITH = os.environ["TRACESMITH"]


def check(right, what):
    if not right:
        sys.exit("FAILED: %s" % (what,))


def uses(how, layers, options=("--agent-option", "opencl.released")):
    path = os.path.join(WORK, how + ".sbt")
    program = subprocess.run([TRACESMITH, "profile", "--stacks", *options, "-o", path, "--",
                              os.path.join(PROGRAMS, "cl_released"), how],
                             env={**os.environ, **layers}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(program.returncode == 0, (how, program.returncode, program.stderr))
    text = subprocess.run([TRACESMITH, "analyze", "--only", "memory", "--json", path], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    (analysis,) = json.loads(text)["traces"][0]["reports"]
    rows = analysis["tables"]["used_after_release"]
    check(("passed to a call or a kernel after its last release" in text) == bool(rows), text)
    return rows, int(program.stdout)


KEEPING = {"OPENCL_LAYERS": os.path.join(WORK, "keeping.so")}
for how, call, where, released_by in (
        ("argument", "clEnqueueNDRangeKernel, argument 0", "launch", "clReleaseMemObject"),
        ("copy", "clEnqueueReadBuffer", "use", "clReleaseMemObject"),
        ("twice", "clReleaseMemObject", "give_back", "clReleaseMemObject"),
        ("svm-twice", "clSVMFree", "free_twice", "clSVMFree")):
    rows, pid = uses(how, KEEPING)
    check(len(rows) == 1, (how, rows))
    (row,) = rows
    check(row["process"] == pid and row["call"] == call and row["released_by"] == released_by, (how, row))
    check(where in row["stack"] and "main" in row["stack"], (how, row))
    check(("free_twice" if how == "svm-twice" else "give_back") in row["released_stack"], (how, row))
    check(row["released_at_ns"] <= row["at_ns"], (how, row))
    check(uses(how, KEEPING, ())[0] == [], "%s: nothing without the option" % how)
for how in ("right", "again"):
    check(uses(how, {})[0] == [], "%s: none" % how)
check(uses("right", KEEPING)[0] == [], "right, where nothing is released: none")
print("released: ok")
