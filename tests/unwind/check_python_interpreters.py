# SPDX-License-Identifier: Apache-2.0
"""Stacks of a thread that runs code in several interpreters: check_python_interpreters.py DIRECTORY_OF_PROBE_INSIDE.

Every reported Python frame must be where the interpreters themselves report it, and where frames are missing the stack
says so."""
import json
import os
import sys
import tempfile
import threading
import time

try:
    import _interpreters
    def create(own_lock):
        return _interpreters.create("isolated" if own_lock else "legacy")
    def run(interpreter, code):
        problem = _interpreters.run_string(interpreter, code)
        assert problem is None, problem
except ImportError:
    import _xxsubinterpreters as _interpreters
    if sys.version_info >= (3, 9):
        def create(own_lock):
            return _interpreters.create(isolated=own_lock)
    else:
        def create(own_lock):
            return _interpreters.create()
    def run(interpreter, code): _interpreters.run_string(interpreter, code)

# What runs in the other interpreter. Nested: it makes a third one.
CODE = """
import sys, json
sys.path.insert(0, {directory!r})
import probe_inside
def own_stack(frame):
    stack = []
    while frame:
        code = frame.f_code
        stack.append((getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno or 0))
        frame = frame.f_back
    return stack
def ask(depth):
    if depth:
        return ask(depth - 1)
    told = probe_inside.stack({release}); own = own_stack(sys._getframe())
    with open({answer!r}, "w") as file:
        json.dump([told, own], file)
ask({depth})
"""
NESTED = """
import _xxsubinterpreters as interpreters
def between(code):
    interpreters.run_string(interpreters.create(), code)
between({code!r})
"""


def own_stack(frame):
    stack = []
    while frame:
        code = frame.f_code
        stack.append((getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno or 0))
        frame = frame.f_back
    return stack


def fail(what, seen, expected):
    print("%s: %s" % (sys.version, what))
    for name, frames in (("seen", seen), ("expected", expected)):
        print(name)
        for frame in frames:
            print("   ", frame)
    os._exit(1)


def python_frames(text):
    frames = []
    for line in text.splitlines():
        if line.startswith("python "):
            function, file, number = line[len("python "):].split("\t")
            frames.append((function, file, int(number)))
    return frames


counts = {"whole": 0, "inner": 0, "none": 0}


def check(own_lock, release, depth, around, nested=False):
    directory, answer = sys.argv[1], os.path.join(tempfile.mkdtemp(), "answer")
    code = CODE.format(directory=directory, release=release, answer=answer, depth=depth)
    interpreter = create(own_lock)
    if nested:
        code = NESTED.format(code=code)
    outer = []

    def deeper(n):
        if n:
            return deeper(n - 1)
        outer[:] = own_stack(sys._getframe()); run(interpreter, code)

    deeper(around)
    # run() is a function of this file, too.
    call = [("run", __file__, run.__code__.co_firstlineno + (1 if sys.version_info >= (3, 13) else 0))]
    _interpreters.destroy(interpreter)
    with open(answer) as file:
        (_, text, missing), inner = json.load(file)
    seen, inner = python_frames(text), [tuple(frame) for frame in inner]
    if missing:
        # The reported frames are innermost, and none is of another interpreter.
        if seen and seen != inner:
            fail("missing, and the reported part is wrong", seen, inner)
        counts["inner" if seen else "none"] += 1
    else:
        if nested or seen != inner + call + outer:
            fail("not marked, and wrong", seen, inner + call + outer)
        counts["whole"] += 1
    return missing


sys.path.insert(0, sys.argv[1])
for own_lock in ([False, True] if sys.version_info >= (3, 12) else [False]):
    for release in (False, True):
        for around in (0, 3, 40):
            for depth in (0, 5, 60):
                lacks = check(own_lock, release, depth, around)
                if sys.version_info < (3, 12) and not release and lacks:
                    fail("it is known up to 3.11 whose stack this is", [], [])
if sys.version_info < (3, 12):
    check(False, False, 3, 3, nested=True)
    check(False, True, 3, 3, nested=True)

# Another thread holds the lock meanwhile, and an interpreter of another thread is none of this one's.
stop = threading.Event()


def keep_busy():
    while not stop.is_set():
        sum(range(100))
        time.sleep(0)  # lets go of the lock: an interpreter that waits for it cannot ask another one for it


busy = threading.Thread(target=keep_busy)
busy.start()
for _ in range(3):
    check(False, True, 2, 2)
stop.set()
busy.join()

# Back in the first interpreter nothing is missing.
import probe_inside
for release in (False, True):
    _, text, missing = probe_inside.stack(release); own = own_stack(sys._getframe())
    if missing or python_frames(text) != own:
        fail("the first interpreter", python_frames(text), own)
print("%s: %s" % (sys.version.split()[0], counts))
