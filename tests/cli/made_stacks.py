# SPDX-License-Identifier: Apache-2.0
"""A trace with call stacks of which everything is known: functions inlined into one another, of Python, without a name, that
call themselves; work whose stack is its own, its call's, or unknown."""
import os
import subprocess

from support import KIND, SBT_MAKE, TRACK_KIND, check, word

NAMES = ["start_thread", "main", "step", "std::vector<int, std::allocator<int> >::push_back(int&&)", "a;b", "<script>&\"'", "größe", "x\ny",
         "launch", "forward", "backward"]
PYTHON, GUESSED, TRUNCATED = 2, 1, 8
PERIOD_MAX = 16  # from docs/stacks.md: recursion through up to this many functions is folded


class Made:
    """frames: per frame the functions, innermost first, as (name or None, file, line); stacks: per stack (parent, frame)."""

    MODULES = [("/usr/lib/libwork.so.1", "ab" * 20), ("/opt/app", ""), ("/tmp/perf-1.map", "")]

    def __init__(self, rng, stacks, events):
        self.rng = rng
        self.modules = self.MODULES
        self.frames, self.flags, self.modules_of, self.addresses = [None], [0], [0], [0]
        for _ in range(max(stacks // 4, 8)):
            self.add_frame()
        self.stacks = [None]
        self.cut = [self.add_frame() for _ in range(2)]  # outermost frames of stacks whose callers are not known
        for frame, guessed in zip(self.cut, (0, GUESSED)):
            self.flags[frame] = TRUNCATED | (0 if self.flags[frame] & PYTHON else guessed) | self.flags[frame] & PYTHON
        for i in range(1, stacks + 1):
            parent = rng.randrange(i) if rng.random() < 0.9 else 0
            cut = not parent and rng.random() < 0.3
            self.stacks.append((parent, rng.choice(self.cut) if cut else rng.randrange(1, len(self.frames) - 2)))
        for period in (1, 2, 3, PERIOD_MAX, PERIOD_MAX + 1)[:stacks // 6]:
            self.add_recursion(period)
        self.events = []
        for i in range(1, events + 1):
            self.add_work(i)

    def add_frame(self):
        rng, kind = self.rng, self.rng.random()
        module = 0 if kind < 0.1 else rng.randrange(1, len(self.modules) + 1)
        self.flags.append(PYTHON if kind > 0.9 else rng.choice([0, 0, 0, GUESSED]))
        self.modules_of.append(0 if kind > 0.9 else module)
        self.addresses.append(rng.randrange(1, 1 << 40))
        count = 1 if kind > 0.9 else 0 if kind < 0.25 else rng.choice([1, 1, 2, 4])
        self.frames.append([(rng.choice(NAMES), rng.choice(["", "/src/a.c", "b.py"]), rng.randrange(3)) for _ in range(count)])
        return len(self.frames) - 1

    def add_recursion(self, period):
        """A stack in which `period` frames call one another again and again, and some of the way once more."""
        rng = self.rng
        cycle = [rng.randrange(1, len(self.frames) - 2) for _ in range(period)]
        at = rng.randrange(len(self.stacks))
        for i in range(period * rng.randrange(2, 6) + rng.randrange(period)):
            self.stacks.append((at, cycle[i % period]))
            at = len(self.stacks) - 1

    def add_work(self, i):
        """(kind, track, start, duration, correlation, stack): a call on the thread and what it launched."""
        rng, at = self.rng, i * 1000
        stack = rng.randrange(1, len(self.stacks)) if rng.random() < 0.8 else 0
        own = rng.randrange(1, len(self.stacks)) if rng.random() < 0.2 else 0
        correlation = i if rng.random() < 0.95 else 0
        if rng.random() < 0.95:
            self.events.append(("api", 1 + i % 2, at, 50, correlation, stack))
        else:
            stack = 0
        self.events.append((rng.choice(["kernel", "kernel", "memcpy"]), 3, at + 100, rng.randrange(1, 500), correlation, own))

    def lines(self, stack):
        """(function or None, file, line, frame, inlined), innermost first."""
        found = []
        while stack:
            stack, frame = self.stacks[stack]
            names = self.frames[frame] or [(None, "", 0)]
            found += [(n, f, line, frame, i + 1 < len(names)) for i, (n, f, line) in enumerate(names)]
        return found

    def places(self, lines):
        """The lines that may be the place that launches."""
        return lines

    def text(self, line):
        """What a function without a name is called: by its module, or by its address."""
        name, _, _, frame, _ = line
        if name is not None:
            return name
        module = self.modules_of[frame]
        address = "%x" % self.addresses[frame]
        return "%s[+%s]" % (os.path.basename(self.modules[module - 1][0]), address) if module else "[%s]" % address

    def path(self, stack):
        """What trees show of a stack, outermost first: (key, text with marks, name), folded."""
        path = []
        for line in reversed(self.lines(stack)):
            name, _, _, frame, inlined = line
            if self.flags[frame] & TRUNCATED and not inlined:
                path.append((("truncated",), "[truncated]", "[truncated]"))
            guessed = bool(self.flags[frame] & GUESSED)
            text = self.text(line)
            path.append(((name if name is not None else (frame,), guessed), text + " [guessed]" * guessed, text))
            for n in range(1, PERIOD_MAX + 1):
                if len(path) >= 2 * n and [step[0] for step in path[-n:]] == [step[0] for step in path[-2 * n:-n]]:
                    del path[-n:]
                    break
        return path

    def marked(self, stack):
        """The names of a whole stack, outermost first, with marks."""
        names = []
        for line in reversed(self.lines(stack)):
            flags = self.flags[line[3]]
            if flags & TRUNCATED and not line[4]:
                names.append("[truncated]")
            names.append(self.text(line).replace(";", ":") + " [guessed]" * bool(flags & GUESSED))
        return ";".join(names)

    def stack_of(self, event):
        """The stack of a command: its own, or its call's."""
        if event[5]:
            return event[5]
        calls = [e for e in self.events if e[0] == "api" and e[4] == event[4]] if event[4] else []
        return calls[0][5] if calls else 0

    def work(self):
        return [event for event in self.events if event[0] != "api"]

    def write(self, path):
        lines = ["process 7 app", "device GPU test gpu"]
        lines += ["track %d %s 1 0" % (TRACK_KIND["thread"], name) for name in ("first", "second")]
        lines.append("track %d queue 1 1" % TRACK_KIND["queue"])
        lines += ["module %s %s 1 0" % (word(p), word(b)) for p, b in self.modules]
        for i in range(1, len(self.frames)):
            lines.append("frame %d %d %d" % (self.modules_of[i], self.flags[i], self.addresses[i]))
        lines += ["stack %d %d" % stack for stack in self.stacks[1:]]
        for i, names in enumerate(self.frames[1:], 1):
            lines += ["symbol %d %s %s %d" % (i, word(n), word(f), line) for n, f, line in names]
        for kind, track, start, duration, correlation, stack in self.events:
            lines.append("event %d %d %d duration=%d name=%s%s%s" % (
                track, KIND[kind], start, duration, "enqueue" if kind == "api" else "blur",
                " correlation=%d" % correlation if correlation else "", " stack=%d" % stack if stack else ""))
        done = subprocess.run([SBT_MAKE, path], input="\n".join(lines).encode() + b"\n", stderr=subprocess.PIPE)
        check(done.returncode == 0, done.stderr)


class MadeOfPython(Made):
    """Stacks with and without Python functions that share frames of the interpreter, as --hide-interpreter shows them; as they are where
    `shows` is set."""
    shows = False
    MODULES = [("/usr/bin/python3.11", ""), ("/usr/lib/libpython3.11.so.1.0", "ab" * 20), ("/usr/lib/libpythonish.so", ""),
               ("/opt/python3-config", ""), ("/opt/app", ""), ("/usr/lib/python3.11/lib-dynload/_ctypes.cpython-311-x86_64-linux-gnu.so", ""),
               ("/opt/venv/cffi.libs/libffi-7d4e6b2a.so.8.1.4", ""), ("/opt/_ctypes_test.so", "")]
    INTERPRETER = (1, 2, 6, 7)

    def has_python(self, stack):
        while stack:
            stack, frame = self.stacks[stack]
            if self.flags[frame] & PYTHON:
                return True
        return False

    def is_hidden(self, frame):
        return self.modules_of[frame] in self.INTERPRETER and not self.flags[frame] & (PYTHON | GUESSED | TRUNCATED)

    def lines(self, stack):
        lines = super().lines(stack)
        if self.shows or not self.has_python(stack):
            return lines
        return [line for line in lines if not self.is_hidden(line[3])]

    def places(self, lines):
        """Of lines, innermost first: without the interpreter of a Python function."""
        outermost = max((i for i, line in enumerate(lines) if self.flags[line[3]] & PYTHON), default=-1)
        return [line for i, line in enumerate(lines) if i >= outermost or not self.is_hidden(line[3])]

    def has_both(self):
        """Whether some frame of the interpreter is hidden in the stack of one command and shown in that of another."""
        hidden, shown = set(), set()
        for event in self.work():
            stack = self.stack_of(event)
            frames = {line[3] for line in super(MadeOfPython, self).lines(stack) if self.is_hidden(line[3])}
            (hidden if self.has_python(stack) else shown).update(frames)
        return bool(hidden & shown)

    def is_innermost_hidden(self):
        """Whether the innermost function of some command is hidden: its time is then its caller's."""
        return any(self.has_python(stack) and self.is_hidden(self.stacks[stack][1])
                   for stack in map(self.stack_of, self.work()) if stack)
