# SPDX-License-Identifier: Apache-2.0
"""tracesmith.triton by Triton's launch hooks. No kernel runs: a launch is simulated by the calls that Triton makes around it, on
Triton's own hooks where Triton is installed, else on a stand-in with their interface."""
import importlib.util
import os
import sys
import threading
import types
import unittest

import tracesmith as ts
import tracesmith.triton

if importlib.util.find_spec("triton"):
    from triton import knobs
    from triton.compiler.compiler import LazyDict
else:
    print("Triton is not installed: its hooks are simulated")

    class Chain:
        def __init__(self):
            self.calls = []

        def add(self, call):
            self.calls.append(call)

        def remove(self, call):
            self.calls.remove(call)

        def __call__(self, metadata):
            for call in list(self.calls):
                call(metadata)

    class LazyDict:
        def __init__(self, data):
            self.data, self.extras = data, []

        def get(self):
            for function, arguments in self.extras:
                self.data = self.data | function(*arguments)
            self.extras.clear()
            return self.data

        def add(self, function, arguments):
            self.extras.append((function, arguments))

    knobs = types.SimpleNamespace(runtime=types.SimpleNamespace(launch_enter_hook=Chain(), launch_exit_hook=Chain()))
    sys.modules["triton"] = types.SimpleNamespace(knobs=knobs)


def launch(name, metadata=None, work=lambda: None):
    lazy = LazyDict({"name": name, "function": None, "stream": 0})
    if metadata:
        lazy.add(metadata, ())
    knobs.runtime.launch_enter_hook(lazy)
    work()
    knobs.runtime.launch_exit_hook(lazy)


def fail():
    raise KeyError("the kernel's own function")


class Triton(unittest.TestCase):
    def recorded(self, act):
        if os.path.exists("triton.sbt"):
            os.unlink("triton.sbt")
        with ts.session("triton.sbt"), tracesmith.triton.launches():
            act()
        launch("after the end")
        with ts.open("triton.sbt") as trace:
            columns = ", ".join(name if name in trace.tables["range"]["columns"] else "NULL" for name in ("flops", "bytes"))
            return sorted(trace.sql(f"SELECT name, {columns} FROM range"), key=str)

    def test_metrics(self):
        found = self.recorded(lambda: (
            launch("matmul", lambda: {"flops16": 2e9, "bytes": 4096}),
            launch("mixed", lambda: {"name": "mixed_128", "flops": 5, "flops8": 7}),
            launch("plain"),
            launch("wrong", lambda: {"bytes": -1, "flops": "many"}),
            launch("raises", fail),
        ))
        self.assertEqual(found, [("matmul", 2e9, 4096), ("mixed_128", 12.0, None), ("plain", None, None), ("raises", None, None),
                                 ("wrong", None, None)])

    def test_threads_and_nested_launches(self):
        def many():
            for _ in range(100):
                launch("outer", work=lambda: launch("inner"))

        def act():
            threads = [threading.Thread(target=many) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        names = [name for name, _, _ in self.recorded(act)]
        self.assertEqual((names.count("outer"), names.count("inner"), len(names)), (400, 400, 800))

    def test_hooks_of_others_stay(self):
        called = []
        knobs.runtime.launch_enter_hook.add(called.append)
        try:
            self.recorded(lambda: launch("one"))
        finally:
            knobs.runtime.launch_enter_hook.remove(called.append)
        self.assertEqual(len(called), 2)

    def test_exit_without_entry(self):
        self.assertEqual(self.recorded(lambda: knobs.runtime.launch_exit_hook(LazyDict({}))), [])


if __name__ == "__main__":
    unittest.main()
