#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check.py TRACE REPORTS: computes answers from a trace of Kineto, rocprofv3 or Nsight Systems by their definitions
(docs/analyses.md), each in a separate file next to this one, and compares them with REPORTS, what
`tracesmith analyze --json --all TRACE` prints. Prints every difference and exits 1 if there is one."""
import json
import math
import sys

import breakdown
import callsites
import copies
import critical_path
import graphs
import idle
import kernels
import launches
import memory
import operators
import queues
import ranges
import sequences
import shares
import waits
from trace import read_trace

failures = 0


def expect(what, got, wanted):
    global failures
    if got != wanted and not (isinstance(wanted, float) and got is not None and
                              math.isclose(got, wanted, rel_tol=1e-6, abs_tol=1e-9)):
        failures += 1
        print(f"{sys.argv[1]}: {what}: {got}, the reference has {wanted}")


def main():
    trace = read_trace(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:
        reports = {report["report"]: report for report in json.load(file)["traces"][0]["reports"]}
    references = [kernels, breakdown, queues, idle, graphs, launches, copies, waits, memory, critical_path,
                  operators, ranges, sequences, shares, callsites]
    for reference in references:
        reference.check(trace, reports, expect)
    return 1 if failures else 0


sys.exit(main())
