#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print the tests that did not run, each with the reason it gave, and judge them.

usage: skips.py RESULTS.xml [ALLOWED]

RESULTS.xml is what `ctest --output-junit` writes. A test that skips prints a line "skipped: REASON" and exits with 77.
A test that passes and prints such a line left out a part of itself; it is listed too, as "in part".
ALLOWED lists the skips that are accepted: one per line, "TEST | REASON | WHY", where TEST and REASON are regular
expressions that must match from the beginning (the test's name wholly) and WHY is for the reader. With ALLOWED, exit
status 1 if a test skipped in whole for a reason that is not listed. Without it, the exit status is 0.
"""
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


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    rules = read_allowed(sys.argv[2]) if len(sys.argv) == 3 else None
    refused = 0
    cases = list(ElementTree.parse(sys.argv[1]).getroot().iter("testcase"))
    for case in cases:
        name, why = case.get("name"), reasons(case)
        whole = case.find("skipped") is not None or case.get("status") == "notrun"
        if not whole and not why:
            continue
        why = why or ["no reason given"]
        mark = "skipped" if whole else "in part"
        if whole and rules is not None:
            if not any(test.fullmatch(name) and reason.match(why[-1]) for test, reason in rules):
                mark, refused = "REFUSED", refused + 1
        print(f"{mark:8} {name:28} {'; '.join(why)}")
    if not cases:
        sys.exit(f"{sys.argv[1]}: no test ran")
    if refused:
        sys.exit(f"{refused} tests were skipped for a reason that is not in {sys.argv[2]}: "
                 "install what they need, or add a line with the reason")


if __name__ == "__main__":
    main()
