# SPDX-License-Identifier: Apache-2.0
"""Records a loop of matrix products, and asks the trace where the time went.

    python basic_usage.py [--device cuda|rocm|mps|cpu] [-o FILE]
"""
import tracesmith as ts
from device_utils import DeviceManager, arguments, benchmark

SIZE, STEPS = 256, 5


def main():
    options = arguments(__doc__, "basic_usage.sbt")
    # Before the device is used for the first time: GPU calls of this process are recorded then.
    with ts.profile(options.output) as recording:
        dm = DeviceManager(prefer_device=options.device)
        print(f"device: {dm.get_device_name()}")
        x, y = dm.randn(SIZE, SIZE), dm.randn(SIZE, SIZE)
        for step in range(STEPS):
            with ts.range("step"):
                with ts.range("matmul", flops=2 * SIZE**3, bytes=3 * 4 * SIZE**2):
                    z = x @ y
                    dm.synchronize()
                ts.counter("largest", float(z.max()))
                ts.mark(f"step {step} done")
        print(f"x @ y: {benchmark(lambda: x @ y, dm=dm)['mean_ms']:.3f} ms, {dm.memory_allocated():,} bytes allocated")
    print(f"recorded: {recording.statistics}")

    with ts.open(options.output) as trace:
        print(f"{options.output}: {trace.info['kinds']}")
        for name, count, total, flops in trace.sql(
                "SELECT name, count(*), sum(duration), sum(flops) FROM range GROUP BY name ORDER BY 3 DESC"):
            rate = f", {flops / total:.2f} GFLOP/s" if flops else ""
            print(f"  {name}: {count} times, {total / 1e6:.3f} ms{rate}")
        print(trace.analyze("advice"))


if __name__ == "__main__":
    main()
