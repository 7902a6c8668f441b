# SPDX-License-Identifier: Apache-2.0
"""babeltrace2 as the second implementation of CTF 1.8: reads its text output, and compares every event, time and field with what the importer
makes of the same trace."""
import collections
import json
import re
import shutil
import subprocess


def is_here():
    return shutil.which("babeltrace2") is not None


class Line:
    """One event as babeltrace2 prints it with all names."""

    def __init__(self, text):
        self.text, self.at = text, 0

    def fail(self, what):
        raise ValueError("%s at %d of: %s" % (what, self.at, self.text))

    def take(self, pattern):
        found = re.compile(pattern).match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def expect(self, pattern):
        return self.take(pattern) or self.fail(pattern)

    def string(self):
        found = self.expect(r'"((?:[^"\\]|\\.)*)"')
        simple = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}
        return re.sub(r"\\(x[0-9a-fA-F]{2}|.)", lambda m: chr(int(m.group(1)[1:], 16)) if m.group(1)[0] == "x" and len(m.group(1)) == 3 else simple.get(m.group(1), m.group(1)),
                      found.group(1))

    def number(self):
        text = self.expect(r"[^,\s}\])]+").group(0)
        for base, start in ((16, "0x"), (2, "0b"), (8, "0o")):
            if text.lower().startswith(start):
                return int(text[2:], base)
        if re.fullmatch(r"-?\d+", text):
            return int(text, 8) if re.fullmatch(r"0[0-7]+", text) else int(text)
        return float(text)

    def enum(self):
        """( "LABEL", "LABEL" : container = N )"""
        self.expect(r"\(\s*(?:<unknown>|\"(?:[^\"\\]|\\.)*\"(?:, \"(?:[^\"\\]|\\.)*\")*)\s*:\s*container\s*=\s*")
        value = self.number()
        self.expect(r"\s*\)")
        return value

    def value(self):
        if self.take(r"\{\s*"):
            if self.take(r"\}"):
                return {}
            if not re.compile(r"[A-Za-z_]\w*\s*=").match(self.text, self.at):  # a variant: what it has
                inner = self.value()
                self.expect(r"\s*\}")
                return inner
            members = {}
            while True:
                name = self.expect(r"([A-Za-z_]\w*)\s*=\s*").group(1)
                members[name] = self.value()
                if self.take(r"\s*\}"):
                    return members
                self.expect(r"\s*,\s*")
        if self.take(r"\[\s*"):
            items = []
            if self.take(r"\]"):
                return items
            while True:
                self.take(r"\[\d+\]\s*=\s*")
                items.append(self.value())
                if self.take(r"\s*\]"):
                    return items
                self.expect(r"\s*,\s*")
        if self.text[self.at] == "(":
            return self.enum()
        return self.string() if self.text[self.at] == '"' else self.number()

    def event(self):
        found = re.search(r"timestamp = (\d+)\.(\d{9}).*?, name = (.*?), (?=stream\.|event\.)|timestamp = (\d+)\.(\d{9}).*?, name = (.*)$", self.text)
        if not found:
            self.fail("no time or name")
        seconds, part, name = found.group(1, 2, 3) if found.group(1) else found.group(4, 5, 6)
        self.at = found.end()
        scopes = {}
        while self.at < len(self.text.rstrip()):
            scope = self.expect(r"\s*,?\s*([a-z.]+)\s*=\s*").group(1)
            scopes.setdefault(scope, {}).update(self.value())
        return int(seconds) * 10 ** 9 + int(part), name, scopes


PREFIXES = {"stream.packet.context": "packet.", "stream.event.context": "context.", "event.context": "context.", "event.fields": ""}


def flatten(prefix, value, out):
    if isinstance(value, dict):
        for name, inner in value.items():
            flatten(prefix + ("." if prefix and not prefix.endswith(".") else "") + name, inner, out)
    else:
        out[prefix] = value


def events(folder):
    """(ns, name, {field: value}) of every event, how many events babeltrace2 says the tracer discarded, and whether it says that there are more
    (those before the end of a stream's first packet, which it does not count)."""
    done = subprocess.run(["babeltrace2", "--names=all", "--no-delta", "--clock-seconds", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240)
    if done.returncode:
        raise ValueError("babeltrace2 gave %d: %s" % (done.returncode, done.stderr.decode()[-1000:]))
    found = []
    for text in done.stdout.decode(errors="replace").splitlines():
        time, name, scopes = Line(text).event()
        fields = {}
        for scope, value in scopes.items():
            if scope in PREFIXES:
                flatten(PREFIXES[scope], value, fields)
        found.append((time, name, fields))
    discarded = sum(int(n) for n in re.findall(rb"[Dd]iscarded (\d+) event", done.stderr))
    return found, discarded, b"may have discarded" in done.stderr


def alike(mine, theirs):
    """Floating point numbers are printed with 6 digits; numbers of 64 bits without a sign are those with one. In place of an empty array of
    bytes with an encoding, babeltrace2 2.0.4 has the text of an earlier record."""
    if mine == "" and isinstance(theirs, str):
        return True
    if isinstance(theirs, (list, dict)) and isinstance(mine, str):
        return alike(json.loads(mine), theirs)
    if isinstance(theirs, list):
        return len(mine) == len(theirs) and all(alike(m, t) for m, t in zip(mine, theirs))
    if isinstance(theirs, dict):
        return mine.keys() == theirs.keys() and all(alike(mine[k], theirs[k]) for k in theirs)
    if isinstance(mine, float) or isinstance(theirs, float):
        return mine is not None and "%g" % mine == "%g" % theirs
    if isinstance(theirs, int) and isinstance(mine, int):
        return (mine - theirs) % (1 << 64) == 0
    return mine == theirs


def value_of(row, field):
    """A field that is called as one of the schema has a number behind its name."""
    return row.get(field + "_2", row.get(field))


def compare(folder, rows, check, apart=0):
    """Every event of babeltrace2 is one of the importer, with its time and all its fields; and there are no others. `apart`: ns that the times
    may differ by, because babeltrace2 rounds the offset of a clock and the time by themselves, where a cycle is not a nanosecond."""
    theirs = events(folder)[0]
    mine = rows(folder, "SELECT * FROM events WHERE kind = 'marker'", code=None)
    check(len(mine) == len(theirs), "%d events, babeltrace2 has %d" % (len(mine), len(theirs)))
    by_time = collections.defaultdict(list)
    for row in mine:
        by_time[row["start"], row["name"]].append(row)
    for time, name, fields in theirs:
        same = [row for near in range(time - apart, time + apart + 1) for row in by_time.get((near, name), [])]
        fits = [row for row in same if all(alike(value_of(row, field), value) for field, value in fields.items())]
        if not fits:
            differ = [(f, v, value_of(same[0], f)) for f, v in fields.items() if not alike(value_of(same[0], f), v)] if same else "no event of this time and name"
            check(False, "%s at %d ns is another with babeltrace2: %s" % (name, time, differ))
        kept = {f for f, v in fits[0].items() if v is not None and f.startswith(("context.", "packet.")) and not f.endswith(".name")}
        check(kept == {f for f in fields if f.startswith(("context.", "packet."))}, "%s: contexts have %s" % (name, sorted(kept)))
        by_time[fits[0]["start"], name].remove(fits[0])
    return len(theirs)
