# SPDX-License-Identifier: Apache-2.0
"""A Triton kernel that says what it computes: its launches have operations and bytes in the trace.

    python triton_kernels.py [--device cuda|rocm] [-o FILE]
"""
import importlib.util

import tracesmith as ts
import tracesmith.triton
from device_utils import DeviceManager, arguments, skip

BLOCK = 1024


def make_add():
    """The kernel z = x + y, for n numbers of 4 bytes."""
    import triton
    import triton.language as tl

    def metadata(grid, metadata, args):
        return {"name": f"add_{args['n']}", "flops32": args["n"], "bytes": 12 * args["n"]}

    @triton.jit(launch_metadata=metadata)
    def add(x, y, z, n, block: tl.constexpr):
        at = tl.program_id(0) * block + tl.arange(0, block)
        tl.store(z + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)

    return add, triton.cdiv


def main():
    options = arguments(__doc__, "triton.sbt")
    if importlib.util.find_spec("triton") is None or importlib.util.find_spec("torch") is None:
        skip("Triton and PyTorch are not installed")
    with ts.profile(options.output), tracesmith.triton.launches():
        dm = DeviceManager(prefer_device=options.device)
        if dm.device not in ("cuda", "rocm"):
            skip(f"Triton has no kernels for {dm.device}")
        add, cdiv = make_add()
        x, y, z = (dm.randn(1 << 20) for _ in range(3))
        for _ in range(10):
            add[(cdiv(x.numel(), BLOCK),)](x, y, z, x.numel(), BLOCK)
        dm.synchronize()
    with ts.open(options.output) as trace:
        for name, count, flops, size in trace.sql("SELECT name, count(*), sum(flops), sum(bytes) FROM range GROUP BY name"):
            print(f"{name}: {count} launches, {flops:.0f} operations, {size} bytes")
        print(trace.analyze("advice", "kernels"))


if __name__ == "__main__":
    main()
