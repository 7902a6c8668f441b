#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print the tests that did not run, each with the reason it gave, and judge them.

usage: skips.py RESULTS.xml [--allowed FILE] [--must-run FILE]

RESULTS.xml is what `ctest --output-junit` writes. A test that skips prints a line "skipped: REASON" and exits with 77.
A test that passes and prints such a line left out a part of itself; it is listed too, as "in part".
--allowed FILE lists the skips that are accepted: one per line, "TEST | REASON | WHY", where TEST and REASON are regular
expressions that must match from the beginning (the test's name wholly) and WHY is for the reader. With it, the exit
status is 1 if a test skipped in whole for a reason that is not listed.
--must-run FILE lists tests, "TEST | ANYTHING": the exit status is 1 if one of them skipped, in whole or in part, for a
reason that --allowed does not list, or is not in the results. Other tests may then skip for any reason.
Without either, the exit status is 0.
"""
import argparse
import re
import sys
import xml.etree.ElementTree as ElementTree


def reasons(case):
    """The reasons that a test printed for leaving out a part or the whole of itself."""
    text = case.findtext("system-out") or ""
    found = re.findall(r"^\s*skipped: *(.+)$", text, re.MULTILINE)
    return list(dict.fromkeys(reason.strip() for reason in found))


def read_allowed(path):
    rules = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            parts = [part.strip() for part in line.split(" | ")]
            if len(parts) != 3 or not all(parts):
                sys.exit(f"{path}:{number}: want 'TEST | REASON | WHY', got: {line}")
            rules.append((re.compile(parts[0]), re.compile(parts[1])))
    return rules


def read_names(path):
    with open(path, encoding="utf-8") as file:
        return {line.split(" | ")[0].strip() for line in file if line.strip() and not line.startswith("#")}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("results")
    parser.add_argument("--allowed")
    parser.add_argument("--must-run")
    arguments = parser.parse_args()
    rules = read_allowed(arguments.allowed) if arguments.allowed else []
    judges_all = arguments.allowed and not arguments.must_run
    needed = read_names(arguments.must_run) if arguments.must_run else set()
    refused = 0
    cases = list(ElementTree.parse(arguments.results).getroot().iter("testcase"))
    for case in cases:
        name, why = case.get("name"), reasons(case)
        whole = case.find("skipped") is not None or case.get("status") == "notrun"
        if not whole and not why:
            needed.discard(name)
            continue
        why = why or ["no reason given"]
        mark = "skipped" if whole else "in part"
        is_listed = any(test.fullmatch(name) and reason.match(why[-1]) for test, reason in rules)
        if is_listed:
            needed.discard(name)
        elif name in needed:
            mark = "NEEDED"
        elif whole and judges_all:
            mark, refused = "REFUSED", refused + 1
        print(f"{mark:8} {name:28} {'; '.join(why)}")
    if not cases:
        sys.exit(f"{arguments.results}: no test ran")
    if refused:
        sys.exit(f"{refused} tests were skipped for a reason that is not in {arguments.allowed}: "
                 "install what they need, or add a line with the reason")
    if needed:
        sys.exit(f"tests of {arguments.must_run} that did not run in whole: {', '.join(sorted(needed))}")


if __name__ == "__main__":
    main()
