# SPDX-License-Identifier: Apache-2.0
"""PyTorch's and Triton's own code on a machine without a GPU: operators by emit_nvtx, and kernels that Triton compiles. Where they are
not installed the tests are skipped."""
import collections
import importlib.util
import os
import subprocess
import sys
import unittest

import tracesmith as ts

STEPS = 3
# PyTorch waits for CUDA's device before and after; the rest works without one.
TORCH = f"""
import torch
torch.cuda.synchronize = lambda *device: None
x = torch.ones(40, 30)
with torch.autograd.profiler.emit_nvtx(record_shapes=True):
    for step in range({STEPS}):
        with torch.autograd.profiler.record_function(f"step {{step}}"):
            (x.T @ x).relu()
"""
# The driver answers as that of an A100 and starts nothing: kernels are compiled as for the device, and the launcher calls the hooks
# where Triton's own launcher does.
TRITON = """
import types
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
import tracesmith as ts
import tracesmith.triton

class Launcher:
    def __init__(self, src, metadata):
        pass

    def __call__(self, x, y, z, stream, function, packed, metadata, enter, leave, *arguments):
        enter(metadata)
        leave(metadata)

class Driver:
    launcher_cls = Launcher
    utils = types.SimpleNamespace(load_binary=lambda *binary: (1, 2, 16, 0, 1024),
                                  get_device_properties=lambda device: {"max_shared_mem": 1 << 20})
    get_current_device = staticmethod(lambda: 0)
    get_current_stream = staticmethod(lambda device: 7)
    get_current_target = staticmethod(lambda: GPUTarget("cuda", 80, 32))

triton.runtime.driver.set_active(Driver())

def work(grid, kernel, arguments):
    return {"name": f"add_{grid[0]}_{arguments['n']}", "flops32": arguments["n"], "bytes": 12 * arguments["n"]}

@triton.jit(launch_metadata=work)
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)

@triton.jit
def fill(out, value):
    tl.store(out + tl.program_id(0), value)

class Pointer:
    dtype = "fp32"

    def data_ptr(self):
        return 4096

x = Pointer()
add[(1,)](x, x, x, 1, BLOCK=256)
with ts.session("triton.sbt"), tracesmith.triton.launches():
    for blocks in (4, 8):
        add[(blocks,)](x, x, x, 250 * blocks, BLOCK=256)
    fill[(3,)](x, 1.0)
add[(1,)](x, x, x, 1, BLOCK=256)
"""


class Frameworks(unittest.TestCase):
    def run_with(self, package, code, before=()):
        if importlib.util.find_spec(package) is None:
            self.skipTest(f"no {package}")
        with open("program.py", "w", encoding="utf-8") as file:  # Triton reads the source of its kernels
            file.write(code)
        done = subprocess.run([*before, sys.executable, "-B", "program.py"], capture_output=True, text=True,
                              env={**os.environ, "TRITON_CACHE_DIR": os.path.abspath("triton-cache")})
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_pytorch_operators_by_nvtx(self):
        self.run_with("torch", TORCH, [sys.executable, "-m", "tracesmith", "profile", "--api", "nvtx", "-o", "torch.sbt", "--"])
        with ts.open("torch.sbt") as trace:
            names = collections.Counter(name for name, in trace.events("range", columns=["name"]))
            self.assertEqual({name: names[name] for name in ("aten::mm", "aten::relu", *(f"step {step}" for step in range(STEPS)))},
                             {"aten::mm": STEPS, "aten::relu": STEPS, **{f"step {step}": 1 for step in range(STEPS)}})
            self.assertEqual(set(trace.sql("SELECT sizes FROM range WHERE name = 'aten::mm'")), {("[[30, 40], [40, 30]]",)})
            # Each operator is within the step that called it, on its thread.
            self.assertEqual(list(trace.sql(
                "SELECT s.name, count(*) FROM range AS o, range AS s WHERE o.name = 'aten::mm' AND s.name LIKE 'step %' "
                "AND o.track = s.track AND o.start >= s.start AND o.end <= s.end GROUP BY s.name ORDER BY s.name")),
                [(f"step {step}", 1) for step in range(STEPS)])

    def test_triton_compiles_and_launches(self):
        self.run_with("triton", TRITON)
        with ts.open("triton.sbt") as trace:
            self.assertEqual(list(trace.sql("SELECT name, flops, bytes FROM range ORDER BY start")),
                             [("add_4_1000", 1000.0, 12000), ("add_8_2000", 2000.0, 24000), ("fill", None, None)])


if __name__ == "__main__":
    unittest.main()
