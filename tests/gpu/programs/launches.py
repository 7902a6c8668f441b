# SPDX-License-Identifier: Apache-2.0
"""launches.py [plain|kineto|kineto-all] LIBRARY COUNT: the loop of launches.cu inside Python with PyTorch, alone or under its
profiler (kineto: CUDA only; kineto-all: with the host's operators); prints what a launch costs. Exits with 77 without PyTorch or GPU."""
import ctypes
import sys

try:
    import torch
except ImportError:
    print("skipped: no PyTorch")
    sys.exit(77)
if not torch.cuda.is_available():
    print("skipped: PyTorch sees no GPU")
    sys.exit(77)


def main(how, path, count):
    torch.zeros(1, device="cuda")
    library = ctypes.CDLL(path)
    library.launch_many.restype = ctypes.c_double
    library.launch_many.argtypes = [ctypes.c_long, ctypes.POINTER(ctypes.c_double)]
    wall = ctypes.c_double()
    library.launch_many(1000, ctypes.byref(wall))
    profiler = None
    if how != "plain":
        from torch.profiler import ProfilerActivity, profile
        activities = [ProfilerActivity.CUDA] + ([ProfilerActivity.CPU] if how == "kineto-all" else [])
        profiler = profile(activities=activities)
        profiler.__enter__()
        library.launch_many(1000, ctypes.byref(wall))
    each = library.launch_many(count, ctypes.byref(wall))
    if profiler:
        profiler.__exit__(None, None, None)
    print("figure launch_ns %.1f" % each)
    print("figure kernels_per_second %.0f" % (count * 1e9 / wall.value))


main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
