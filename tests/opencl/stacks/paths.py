# SPDX-License-Identifier: Apache-2.0
"""paths.py TRUTH: launches a kernel from a thousand Python call paths, in two threads, and writes down for each launch who
called, by the interpreter's own account. The number of a launch is its global offset. A line of TRUTH is the number, then
FUNCTION:LINE of each caller in this file, innermost first; of the one that launches the function alone."""
import itertools
import random
import sys
import threading

try:
    import pyopencl as cl
except ImportError:
    import ctypes_cl as cl

context = cl.create_some_context(interactive=False)
kernel_source = cl.Program(context, "__kernel void nothing(void) {}").build()
numbers = itertools.count(1)
lock = threading.Lock()


def launch(state, path):
    with lock:
        number = next(numbers)
    cl.enqueue_nd_range_kernel(state.queue, state.kernel, (1,), (1,), (number,))
    callers, frame = ["launch"], sys._getframe().f_back
    while frame:
        if frame.f_code.co_filename == __file__:
            callers.append("%s:%d" % (frame.f_code.co_name, frame.f_lineno))
        frame = frame.f_back
    with lock:
        truth.write("%d %s\n" % (number, " ".join(callers)))


def by_line(state, path):
    if path and path[0] % 2:
        step(state, path)
    else:
        step(state, path)


def by_list(state, path):
    return [step(state, path) for _ in range(1)]


def by_key(state, path):
    return sorted([path], key=lambda one: step(state, one) or 0)


def by_generator(state, path):
    def generate():
        yield step(state, path)
    return next(generate())


class Callable:
    def __call__(self, state, path):
        step(state, path)


FUNCTIONS = [by_line, by_list, by_key, by_generator, Callable()]


def step(state, path):
    if not path:
        return launch(state, path)
    return FUNCTIONS[path[0] % len(FUNCTIONS)](state, path[1:])


class Worker(threading.Thread):
    def __init__(self, seed, launches):
        super().__init__()
        self.random, self.launches = random.Random(seed), launches
        self.queue = cl.CommandQueue(context)
        self.kernel = cl.Kernel(kernel_source, "nothing")

    def run(self):
        for i in range(self.launches):
            step(self, [self.random.randrange(1000) for _ in range(self.random.randrange(1, 12))])
            if i % 64 == 0:
                self.queue.finish()
        self.queue.finish()


with open(sys.argv[1], "w") as truth:
    workers = [Worker(1, 700), Worker(2, 300)]
    workers[1].start()
    workers[0].run()
    workers[1].join()
