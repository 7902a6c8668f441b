# SPDX-License-Identifier: Apache-2.0
"""Another tool that listens to NVTX, played by a library that writes down what it is called with."""
import collections
import os
import shlex
import subprocess
import sys
import unittest

LIBRARY = r"""
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
typedef void any(void);
struct callbacks { size_t size; int (*module)(int, any ****, unsigned *); };
static FILE *out;
static uint64_t last;
static void mark(const char *name) { fprintf(out, "mark %s\n", name); fflush(out); }
static uint64_t start(const char *name) {
    uint64_t id = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    fprintf(out, "start %llu %s\n", (unsigned long long)id, name); fflush(out);
    return id;
}
static void end(uint64_t id) { fprintf(out, "end %llu\n", (unsigned long long)id); fflush(out); }
int InitializeInjectionNvtx2(const void *(*table)(uint32_t)) {
    const struct callbacks *callbacks = table(1);
    any ***functions;
    unsigned size;
    out = fopen(getenv("FAKE_LOG"), "a");
    if (!out || !callbacks || !callbacks->module(1, &functions, &size) || size < 8)
        return 0;
    fprintf(out, "loaded\n"); fflush(out);
    if (getenv("FAKE_REFUSES"))
        return 0;
    *functions[2] = (any *)mark;
    *functions[5] = (any *)start;
    *functions[7] = (any *)end;
    return 1;
}
"""
PROGRAM = """
import threading, tracesmith as ts
first, second = ts.range("first"), ts.range("second")
first.__enter__(); second.__enter__(); first.__exit__(None, None, None); ts.mark("between"); second.__exit__(None, None, None)
@ts.range("thread")
def work(): pass
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
with ts.range("bad \\udcff"): pass
with ts.session("nvtx.sbt"):
    with ts.range("in a session"): ts.mark("gr\\xf6\\xdfe")
with ts.open("nvtx.sbt") as trace: assert [len(list(trace.events(kind))) for kind in ("range", "marker")] == [1, 1], trace.info
"""


class Nvtx(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open("fake.c", "w", encoding="utf-8") as file:
            file.write(LIBRARY)
        subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-shared", "-fPIC", "-o", "libfake.so", "fake.c"], check=True)

    def run_with(self, library, before=(), **more):
        log = f"{self.id().rsplit('.', 1)[1]}.log"
        environment = {**os.environ, "NVTX_INJECTION64_PATH": library, "FAKE_LOG": os.path.abspath(log), **more}
        done = subprocess.run([*before, sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        if not os.path.exists(log):
            return []
        with open(log, encoding="utf-8") as file:
            return file.read().splitlines()

    def test_every_range_and_mark_once(self):
        lines = self.run_with(os.path.abspath("libfake.so"))
        self.assertEqual(lines[:6], ["loaded", "start 1 first", "start 2 second", "end 1", "mark between", "end 2"])
        started = {line.split(" ", 2)[1]: line.split(" ", 2)[2] for line in lines if line.startswith("start ")}
        ended = [line.split(" ")[1] for line in lines if line.startswith("end ")]
        self.assertEqual(sorted(started), sorted(ended))
        self.assertEqual(collections.Counter(started.values()),
                         {"first": 1, "second": 1, "thread": 4, "in a session": 1})
        self.assertEqual([line for line in lines if line.startswith("mark ")], ["mark between", "mark größe"])

    def test_tool_that_refuses(self):
        self.assertEqual(self.run_with(os.path.abspath("libfake.so"), FAKE_REFUSES="1"), ["loaded"])

    def test_library_that_is_not_there(self):
        self.assertEqual(self.run_with("/nonexistent/lib.so"), [])
        self.assertEqual(self.run_with(""), [])

    def test_own_agent_records_once(self):
        import tracesmith as ts

        before = [sys.executable, "-m", "tracesmith", "profile", "-o", "own.sbt", "--"]
        self.run_with("", before)
        with ts.open("own.sbt") as trace:
            names = collections.Counter(name for (name,) in trace.events("range", columns=["name"]))
        self.assertEqual(names, {"first": 1, "second": 1, "thread": 4, "bad \\udcff": 1})


if __name__ == "__main__":
    unittest.main()
