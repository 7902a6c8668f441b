#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_profiles.py FOLDED PPROF SPEEDSCOPE: whether all three have the same paths and times. pprof is read here by the wire
format of protobuf and the numbers of profile.proto; FOLDED was checked by check_text.py."""
import json
import sys
from collections import Counter


def fail(*what):
    print("not true:", *what)
    sys.exit(1)


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at


def fields(data):
    """(number, value) of a message: integers, and bytes of what has a length."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7 == 2:
            value, at = data[at:at + value], at + value
        elif tag & 7:
            fail("wire type", tag & 7)
        yield tag >> 3, value


def read_pprof(data):
    strings, functions, locations, samples, types = [], {}, {}, [], []
    for number, value in fields(data):
        if number == 6:
            strings.append(value)
        elif number == 5:
            function = dict(fields(value))
            functions[function[1]] = function[2]
        elif number == 4:
            location = dict(fields(value))
            locations[location[1]] = dict(fields(location[4]))[1]
        elif number == 2:
            samples.append(list(fields(value)))
        elif number == 1:
            types.append(dict(fields(value)))
    if strings[0] != b"" or len(types) != 1 or strings[types[0][2]] != b"nanoseconds":
        fail("types", types, strings[:3])
    if len(set(strings[3:])) > len(functions) or 0 in functions or 0 in locations:
        fail("functions", len(functions))
    return [([strings[functions[locations[value]]] for number, value in reversed(sample) if number == 1],
             [value for number, value in sample if number == 2]) for sample in samples]


def clean(name):
    """As folded stacks write a name."""
    return bytes(ord(":") if byte == ord(";") else 32 if byte < 32 else byte for byte in name)


def same(name):
    """JSON has U+FFFD for what is not UTF-8."""
    return clean(name).decode("utf-8", "replace").replace("\ufffd", "?")


def reduce(names):
    return ";".join("".join(c for c in name if c != "?") for name in names)


def read_folded(folded_path):
    """The time of each path; the same with the characters that JSON has too."""
    want, text = Counter(), Counter()
    with open(folded_path, "rb") as file:
        for line in file.read().split(b"\n")[:-1]:
            path, _, ns = line.rpartition(b" ")
            want[path] += int(ns)
            text[reduce([same(name) for name in path.split(b";")])] += int(ns)
    return want, text


def main(folded_path, pprof_path, speedscope_path):
    want, text = read_folded(folded_path)
    have = Counter()
    with open(pprof_path, "rb") as file:
        for path, values in read_pprof(file.read()):
            if len(values) != 1:
                fail("values", values)
            have[b";".join(map(clean, path))] += values[0]
    if have != want:
        fail("pprof", (have - want).most_common(3), (want - have).most_common(3))
    with open(speedscope_path, encoding="utf-8") as file:
        scope = json.load(file)
    if scope["$schema"] != "https://www.speedscope.app/file-format-schema.json" or len(scope["profiles"]) != 1:
        fail("schema", scope["$schema"])
    profile, frames = scope["profiles"][0], scope["shared"]["frames"]
    if profile["type"] != "sampled" or profile["unit"] != "nanoseconds" or profile["startValue"] != 0:
        fail("profile", profile["type"])
    if len(profile["samples"]) != len(profile["weights"]) or sum(profile["weights"]) != profile["endValue"]:
        fail("weights", len(profile["samples"]), len(profile["weights"]), profile["endValue"])
    have = Counter()
    for path, ns in zip(profile["samples"], profile["weights"]):
        names = [frames[number]["name"] for number in path]
        have[reduce([same(name.encode("utf-8", "surrogatepass")) for name in names])] += ns
    if have != text:
        fail("speedscope", (have - text).most_common(3), (text - have).most_common(3))
    print("%d paths" % len(want))


if __name__ == "__main__":
    main(*sys.argv[1:])
