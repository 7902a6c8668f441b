#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_chrome.py ORIGINAL EXPORTED: whether two Chrome traces say the same.

Reads both with Python's own json. Events are compared as a multiset: every key and argument must be there with
the same type and value. Two differences are none:
  - a time is a number of microseconds, compared as an exact decimal (12, 12.0 and 12.000 are one time);
  - bytes that are not UTF-8 are Python's surrogateescape on both sides, NaN and Infinity become strings.
Keys next to the events must be there too; the exported file may have more. Events of category tracesmith.* are
TraceSmith's own and left out. Exit code 0: the same, 1: not (the first differences are shown).
"""
import gzip
import json
import sys
from collections import Counter
from decimal import Decimal


class Real(float):
    """A number with a point or exponent, and how it is written."""

    def __new__(cls, text):
        self = super().__new__(cls, text)
        self.text = text
        return self


def load(path):
    opener = gzip.open if open(path, "rb").read(2) == b"\x1f\x8b" else open
    with opener(path, "rb") as file:
        text = file.read().decode("utf-8", "surrogateescape")
    return json.loads(text, parse_float=Real, parse_constant=lambda name: name, strict=False)


def time_of(value):
    return Decimal(value.text if isinstance(value, Real) else value)


def event_form(event):
    """What can be compared and hashed; repr keeps 1, 1.0, True and "1" apart."""
    form = []
    for key, value in event.items():
        if key in ("ts", "dur") and isinstance(value, (int, float)) and not isinstance(value, bool):
            value = time_of(value)
        elif isinstance(value, dict):
            value = sorted((name, repr(item)) for name, item in value.items())
        form.append((key, value if isinstance(value, Decimal) else repr(value)))
    form.sort(key=lambda pair: pair[0])
    return tuple(form)


def events_of(trace):
    events = trace if isinstance(trace, list) else trace["traceEvents"]
    return Counter(event_form(event) for event in events
                   if not str(event.get("cat", "")).startswith("tracesmith."))


def main(original_path, exported_path):
    original, exported = load(original_path), load(exported_path)
    want, have = events_of(original), events_of(exported)
    failures = 0
    for name, left in (("missing", want - have), ("too much", have - want)):
        for form, count in list(left.items())[:5]:
            print(f"{name} ({count} times): {form}"[:1500])
        failures += sum(left.values())
    if isinstance(original, dict):
        for key, value in original.items():
            if key != "traceEvents" and repr(value) != repr(exported.get(key)):
                print(f"key {key!r} differs")
                failures += 1
    print(f"{sum(want.values())} events compared, {failures} differences")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
