# SPDX-License-Identifier: Apache-2.0
"""Trains a small model by torch.profiler's schedule, and joins what torch.profiler saw of the same steps.

    python pytorch.py [--device cuda|rocm|mps|cpu] [-o FILE]
"""
import importlib.util
import os

import tracesmith as ts
from device_utils import DeviceManager, arguments, skip

STEPS = 10


def main():
    options = arguments(__doc__, "pytorch.sbt")
    if importlib.util.find_spec("torch") is None:
        skip("PyTorch is not installed")
    # The recording begins before PyTorch uses a GPU; the schedule is the same for both.
    schedule = {"wait": 1, "warmup": 1, "active": 3, "repeat": 1}
    ours, theirs = f"{options.output}.ours", f"{options.output}.json"
    with ts.profile(ours, schedule=ts.schedule(**schedule)) as recording:
        import torch
        from torch.profiler import profile

        device = DeviceManager(prefer_device=options.device).device.replace("rocm", "cuda")
        model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1)).to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        with profile(schedule=torch.profiler.schedule(**schedule), record_shapes=True,
                     on_trace_ready=lambda finished: finished.export_chrome_trace(theirs)) as kineto:
            for step in range(STEPS):
                x = torch.randn(256, 64, device=device)
                with ts.range("forward"):
                    loss = model(x).square().mean()
                with ts.range("backward"):
                    optimizer.zero_grad()
                    loss.backward()
                optimizer.step()
                ts.counter("loss", loss.item())
                recording.step()
                kineto.step()
    if os.path.exists(options.output):
        os.unlink(options.output)
    joined = ts.merge(ours, theirs, options.output)
    print(f"{options.output}: {joined['added']} events of torch.profiler joined")
    os.unlink(ours)
    os.unlink(theirs)

    with ts.open(options.output) as trace:
        print("operators with the most time:")
        for name, count, total, shapes in trace.sql(
                """SELECT name, count(*), sum(duration), max("Input Dims") FROM range WHERE category = 'cpu_op'
                   GROUP BY name ORDER BY 3 DESC LIMIT 5"""):
            print(f"  {name}: {count} calls, {total / 1e3:.0f} us, for example {shapes}")
        print(trace.analyze("advice"))


if __name__ == "__main__":
    main()
