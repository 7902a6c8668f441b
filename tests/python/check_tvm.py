# SPDX-License-Identifier: Apache-2.0
"""tracesmith.tvm with a virtual machine of TVM where TVM is installed, compiled for the processor; else with a stand-in that calls its
instrument as TVM 0.27 does: before and after each call, not after a call that was skipped or that failed."""
import collections
import importlib.util
import os
import threading
import unittest

import tracesmith as ts
import tracesmith.tvm

SKIP = 1  # VMInstrumentReturnKind.SKIP_RUN

if importlib.util.find_spec("tvm"):
    import numpy
    import tvm

    def machine():
        """A network of two layers: the machine, and what runs it once."""
        from tvm.relax.frontend import nn

        class Net(nn.Module):
            def __init__(self):
                self.first, self.second = nn.Linear(16, 32), nn.Linear(32, 4)

            def forward(self, x):
                return self.second(nn.op.relu(self.first(x)))

        module, weights = Net().export_tvm({"forward": {"x": nn.spec.Tensor((2, 16), "float32")}})
        vm = tvm.relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
        tensors = [tvm.runtime.tensor(numpy.ones([int(size) for size in weight.shape], weight.dtype)) for _, weight in weights]
        x = tvm.runtime.tensor(numpy.ones((2, 16), "float32"))
        return vm, lambda: vm["forward"](x, *tensors)

else:
    print("TVM is not installed: its virtual machine is simulated")

    class Machine:
        instrument = None

        def set_instrument(self, instrument):
            self.instrument = instrument

        def call(self, name, work=lambda: None):
            action = self.instrument(work, name, True, None, 1, 2) if self.instrument else None
            if isinstance(action, int) and action == SKIP:
                return
            work()
            if self.instrument:
                self.instrument(work, name, False, None, 1, 2)

        def forward(self):
            for name in ("vm.builtin.alloc_storage", "matmul", "add", "relu", "vm.builtin.null_value", "matmul1", "add1"):
                self.call(name, (lambda: self.call("inner")) if name == "add" else lambda: None)

    def machine():
        vm = Machine()
        return vm, vm.forward


class Tvm(unittest.TestCase):
    def setUp(self):
        self.vm, self.run_once = machine()
        self.counts = collections.Counter()

    # The program's own account: an instrument of its own.
    def count(self, function, name, before, result, *arguments):
        if before:
            self.counts[name] += 1
        return 0

    def recorded(self, act, **options):
        if os.path.exists("tvm.sbt"):
            os.unlink("tvm.sbt")
        with ts.session("tvm.sbt"), tracesmith.tvm.calls(self.vm, **options):
            act()
        self.run_once()
        with ts.open("tvm.sbt") as trace:
            return collections.Counter(name for name, in trace.sql("SELECT name FROM range"))

    def test_every_call(self):
        self.vm.set_instrument(self.count)
        self.run_once()
        expected = collections.Counter({name: 3 * n for name, n in self.counts.items() if not name.startswith("vm.builtin.")})
        self.vm.set_instrument(None)
        found = self.recorded(lambda: [self.run_once() for _ in range(3)])
        self.assertEqual(found, expected)
        self.assertGreaterEqual(found["matmul"], 3)

    def test_builtins_and_the_program_s_instrument(self):
        found = self.recorded(self.run_once, builtins=True, instrument=self.count)
        self.assertGreater(sum(name.startswith("vm.builtin.") for name in found), 0)
        once = {name: n // 2 for name, n in self.counts.items()}  # recorded() runs once more at the end, with the instrument set again
        self.assertEqual(found, once)

    def test_skipped_calls(self):
        def skip(function, name, before, result, *arguments):
            return SKIP if before and name == "relu" else 0

        found = self.recorded(self.run_once, instrument=skip)
        self.assertEqual((found["relu"], found["matmul1"]), (0, 1))

    def test_calls_that_an_instrument_does_not_skip(self):
        for answer in (None, False, 2, 1.0, "text"):
            found = self.recorded(self.run_once, instrument=lambda *arguments: answer)
            self.assertEqual((found["relu"], found["matmul1"]), (1, 1), repr(answer))

    def test_failed_calls(self):
        failing = True

        def fail(function, name, before, result, *arguments):
            if failing and not before and name == "add":
                raise ValueError("of the program")
            return 0

        def act():
            nonlocal failing
            with self.assertRaisesRegex(ValueError, "of the program"):
                self.run_once()
            failing = False
            self.run_once()

        found = self.recorded(act, instrument=fail)
        self.assertEqual((found["matmul"], found["add"], found["relu"]), (2, 2, 1))

    def test_threads(self):
        machines = [machine() for _ in range(4)]

        def many(vm, run_once):
            with tracesmith.tvm.calls(vm):
                for _ in range(25):
                    run_once()

        def act():
            threads = [threading.Thread(target=many, args=one) for one in machines]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        self.assertEqual(self.recorded(act)["matmul"], 100)

    def test_no_virtual_machine(self):
        with self.assertRaisesRegex(ts.UnsupportedError, "VirtualMachine"):
            tracesmith.tvm.calls(object()).start()


if __name__ == "__main__":
    unittest.main()
