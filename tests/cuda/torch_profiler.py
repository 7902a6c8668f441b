# SPDX-License-Identifier: Apache-2.0
"""torch.profiler, with the real Kineto, around launches of the mock driver: torch_profiler.py FOLDER.

Prints for each session what Kineto recorded, as JSON, and at the end the number of launches. PyTorch's own work stays on
the CPU; the runtime mock has only what it needs to find a device.
"""
import collections
import ctypes
import json
import os
import sys

cuda = ctypes.CDLL("libcuda.so.1")
import torch  # noqa: E402 # after the driver
from torch.profiler import ProfilerActivity, profile  # noqa: E402

torch.cuda.synchronize = lambda *unused: cuda.cuCtxSynchronize()
launches = 0


def call(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    if result:
        sys.exit(f"{name}: {result}")


def launch(count):
    global launches
    for _ in range(count):
        call("cuLaunchKernel", function, 4, 1, 1, 32, 1, 1, 0, stream, None, None)
    launches += count


def session(number, activities):
    with profile(activities=activities) as profiler:
        _ = torch.ones(8, 8) @ torch.ones(8, 8)
        with torch.profiler.record_function("launches"):
            launch(500)
        call("cuStreamSynchronize", stream)
    path = os.path.join(sys.argv[1], f"session-{number}.json")
    profiler.export_chrome_trace(path)
    with open(path, encoding="utf-8") as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("ph") == "X"]
    kernels = [e for e in events if e.get("cat") == "kernel"]
    ranges = [e for e in events if e["name"] == "launches" and e.get("cat") == "user_annotation"]
    calls = {e["args"]["correlation"]: e for e in events if e.get("cat") == "cuda_driver"}
    print(json.dumps({
        "counts": dict(sorted(collections.Counter(e.get("cat") for e in events).items())),
        "names": sorted({e["name"] for e in kernels}),
        # The mock's kernels take 2 us; Kineto's clock has another rate.
        "took_2us": sum(1.5 < e["dur"] < 2.5 for e in kernels),
        "with_call": sum(e["args"]["correlation"] in calls for e in kernels),
        "after_call": sum(e["ts"] >= calls[e["args"]["correlation"]]["ts"] for e in kernels if e["args"]["correlation"] in calls),
        "with_operator": sum("External id" in e["args"] for e in kernels),
        "calls_in_range": [sum(r["ts"] <= c["ts"] <= r["ts"] + r["dur"] for c in calls.values() if "Launch" in c["name"]) for r in ranges],
    }, sort_keys=True))


function, stream, module, context = (ctypes.c_void_p() for _ in range(4))
call("cuInit", 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)
call("cuModuleLoadData", ctypes.byref(module), b"a module")
call("cuModuleGetFunction", ctypes.byref(function), module, b"work")
call("cuStreamCreate", ctypes.byref(stream), 0)
launch(100)
for number, activities in enumerate(([ProfilerActivity.CUDA], [ProfilerActivity.CPU, ProfilerActivity.CUDA]) * 2):
    session(number, activities)
    launch(100)
call("cuCtxSynchronize")
print(json.dumps({"launches": launches, "torch": torch.__version__}))
