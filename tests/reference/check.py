#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check.py TRACE REPORTS: computes answers from a trace of Kineto, rocprofv3 or Nsight Systems by their definitions
(docs/analyses.md), each in a separate file next to this one, and compares them with REPORTS, what
`tracesmith analyze --json --all TRACE` prints. Prints every difference and exits 1 if there is one."""
import glob
import importlib
import json
import math
import os
import sys

from trace import read_trace

failures = 0


def expect(what, got, wanted):
    global failures
    if got != wanted and not (isinstance(wanted, float) and got is not None and
                              math.isclose(got, wanted, rel_tol=1e-6, abs_tol=1e-9)):
        failures += 1
        print(f"{sys.argv[1]}: {what}: {got}, the reference has {wanted}")


def references():
    """The modules of this folder that have check(trace, reports, expect)."""
    names = sorted(os.path.basename(path)[:-3] for path in glob.glob(os.path.join(os.path.dirname(__file__), "*.py")))
    modules = [importlib.import_module(name) for name in names if has_check(name)]
    if len(modules) < 15:
        sys.exit("references are missing: " + " ".join(module.__name__ for module in modules))
    return modules


def has_check(name):
    with open(os.path.join(os.path.dirname(__file__), name + ".py"), encoding="utf-8") as file:
        return "\ndef check(trace, reports, expect):\n" in file.read()


def main():
    trace = read_trace(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:
        reports = {report["report"]: report for report in json.load(file)["traces"][0]["reports"]}
    for reference in references():
        reference.check(trace, reports, expect)
    return 1 if failures else 0


sys.exit(main())
