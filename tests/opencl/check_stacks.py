# SPDX-License-Identifier: Apache-2.0
"""check_stacks.py TRUTH TRACE LAUNCHES MAIN: LAUNCHES "killed": as many as there are; else every launch of stacks/main.c has exactly the call path that the program says.

The trace is read with the reader that was written from docs/sbt-format.md alone."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "sbt"))
import sbt_reader  # noqa: E402

OFFSET, STACK, KIND, CORRELATION, NAME = 20, 38, 3, 5, 4
KERNEL, API = 1, 6
TRUNCATED = 8


def fail(message):
    print("FAILED: " + message)
    sys.exit(1)


def read_truth(path):
    paths = {}
    for line in open(path):
        words = line.split()
        paths[int(words[0])] = [word if word in ("signal", "own") else place(word) for word in words[1:]]
    return paths


def function(program, name):
    """Module, first address, the one behind it, by nm."""
    for line in subprocess.run(["nm", "-S", program], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines():
        words = line.split()
        if len(words) == 4 and words[3] == name:
            begin = int(words[0], 16)
            return os.path.realpath(program), begin, begin + int(words[1], 16)
    return fail("there is no function " + name)


def place(word):
    module, address = word.rsplit("+", 1)
    return os.path.realpath(module), int(address, 16)


class Stacks:
    def __init__(self, dictionary):
        self.modules, self.frames, self.stacks = (dictionary.tables[n] for n in (10, 11, 12))
        self.paths = [os.path.realpath(dictionary.strings[m[0]].decode()) if m else "" for m in self.modules]

    def of(self, stack):
        """Innermost first: module, address, flags."""
        path = []
        while stack:
            parent, frame = self.stacks[stack]
            module, flags, address = self.frames[frame]
            path.append((self.paths[module], address, flags))
            stack = parent
        return path


def within(frame, span):
    return frame[0] == span[0] and span[1] <= frame[1] < span[2]


def matches(path, truth, ranges):
    """What is wrong with it, or None."""
    while path and "libOpenCL" in path[0][0]:
        path = path[1:]
    if not path or not within(path[0], ranges["leaf"]):
        return "it is not launch() that called"
    at = 1
    # libc has no unwind data beyond makecontext's function: the path ends there, and is marked.
    own = truth[-1] == "own"
    if own:
        truth = truth[:-1]
        if path[-1][2] != TRUNCATED:
            return "its end does not say that more may be missing"
        path[-1] = path[-1][:2] + (0,)
    for caller in truth:
        if caller == "signal":
            # raise() in libc, up to the function that called it.
            start = at
            while at < len(path) and not within(path[at], ranges["signal"]):
                if "libc" not in path[at][0]:
                    return "something else than libc between the signal and what it struck"
                at += 1
            if at == len(path) or at == start:
                return "what the signal struck is not there"
            at += 1
            continue
        # A return address is after its call: the frame's address is one byte before.
        if at == len(path) or path[at][:2] != (caller[0], caller[1] - 1):
            return "frame %d is %s and not %s" % (at, path[at] if at < len(path) else None, caller)
        at += 1
    rest = path[at:]
    if len(rest) > 3 or any(flags for _, _, flags in path):
        return "at its outer end: %s" % (rest,)
    return None


def check_bases(dictionary, stacks):
    """What a signal handler and a coroutine return to has the name that the C library's debug file has for it."""
    names = {row[0]: dictionary.strings[row[1]].decode() for row in dictionary.tables[13] if row}
    for number, module in enumerate(stacks.modules):
        build_id = dictionary.strings[module[1]].decode() if module else ""
        file = "/usr/lib/debug/.build-id/%s/%s.debug" % (build_id[:2], build_id[2:])
        if not os.path.basename(stacks.paths[number]).startswith("libc.so") or not os.path.exists(file):
            continue
        lines = subprocess.run(["nm", file], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
        bases = {int(line.split()[0], 16): line.split()[-1] for line in lines if line.endswith((" __restore_rt", " __start_context"))}
        found = {bases[frame[2] + 1]: names.get(i) for i, frame in enumerate(stacks.frames)
                 if frame and frame[0] == number and frame[2] + 1 in bases}
        if len(found) != len(bases) or any(name != got for name, got in found.items()):
            fail("what signals and coroutines return to: %s of %s" % (found, bases))
        return print("the signal trampoline and the base of coroutines have their names")
    return print("no debug file of the C library: the names of what signals and coroutines return to are not looked at")


def main(truth_path, trace_path, launches, program):
    truth = read_truth(truth_path)
    ranges = {"leaf": function(program, "launch"), "signal": function(program, "interrupted")}
    with open(trace_path, "rb") as source:
        _, dictionary, events, _ = sbt_reader.read_trace(source.read())
    stacks = Stacks(dictionary)
    if launches != "killed":
        check_bases(dictionary, stacks)
    found, wrong, seen, calls, kernels = {}, [], {}, {}, {}
    for _, frame in events:
        column = frame.columns
        for row, kind in enumerate(column[KIND]):
            stack = column[STACK][row] if STACK in column else None
            if kind == API and stack is not None and CORRELATION in column:  # a batch of waits alone has none
                calls[column[CORRELATION][row]] = stack
            if kind == KERNEL and OFFSET in column:
                found[column[OFFSET][row]] = stack
                kernels[column[CORRELATION][row]] = stack
    if launches == "killed":
        # For each thread one launch may be in the trace and not yet in the truth.
        unknown = set(found) - set(truth)
        if len(unknown) > 4 or len(found) < len(truth) / 2:
            fail("%d in the truth, %d in the trace, %d of them unknown" % (len(truth), len(found), len(unknown)))
        found = {number: stack for number, stack in found.items() if number not in unknown}
    elif len(truth) != int(launches) or set(found) != set(truth):
        fail("%s launches, %d in the truth, %d in the trace" % (launches, len(truth), len(found)))
    for number, stack in found.items():
        why = "it has no stack" if not stack else matches(stacks.of(stack), truth[number], ranges)
        if why:
            wrong.append((number, why))
        elif seen.setdefault(tuple(truth[number]), stack) != stack:
            pass  # the same call path may differ in what is outside of it
    if wrong:
        fail("%d of %d launches have a wrong stack: %s" % (len(wrong), len(found), wrong[:5]))
    if launches != "killed" and any(calls.get(number) != stack for number, stack in kernels.items()):
        fail("a kernel and its call have different stacks")
    print("%d launches, %d call paths, all right" % (len(found), len(set(map(tuple, truth.values())))))


main(*sys.argv[1:])
