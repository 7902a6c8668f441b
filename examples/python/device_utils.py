# SPDX-License-Identifier: Apache-2.0
"""One interface to the devices of this machine for the examples: PyTorch's where PyTorch is installed, else the processor by NumPy.

    from device_utils import DeviceManager, benchmark

    dm = DeviceManager()
    x = dm.randn(1000, 1000)
    print(dm.get_device_name(), benchmark(lambda: x @ x, dm=dm)["mean_ms"])
"""
import importlib.util
import os
import platform
import statistics
import sys
import time
import weakref

DEVICES = ("cuda", "rocm", "mps", "cpu")  # the best first


def _torch():
    """PyTorch, or None where it is not installed."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    return torch


def available_devices():
    """Names of DEVICES that this machine has, the best first. Empty without PyTorch and NumPy."""
    torch = _torch()
    if torch is None:
        return ["cpu"] if importlib.util.find_spec("numpy") else []
    found = []
    if torch.cuda.is_available():  # PyTorch for AMD has the same module
        found.append("rocm" if torch.version.hip else "cuda")
    if getattr(torch.backends, "mps", None) is not None and torch.backends.mps.is_available():
        found.append("mps")
    return [*found, "cpu"]


class DeviceManager:
    """Makes arrays on one device, and waits for it.

    prefer_device: a name of DEVICES; one that is not there is replaced by the best that is, with a line on stderr. None: the best.
    Raises RuntimeError where there is neither PyTorch nor NumPy.
    """

    def __init__(self, prefer_device=None):
        devices = available_devices()
        if not devices:
            raise RuntimeError("these examples need PyTorch or NumPy: pip install torch")
        if prefer_device is not None and prefer_device not in devices:
            print(f"no device {prefer_device} here; using {devices[0]}", file=sys.stderr)
        self.device = prefer_device if prefer_device in devices else devices[0]
        self._torch = _torch()
        self._bytes = 0  # of arrays of randn that are alive

    def is_gpu(self):
        """Whether work runs concurrently with the program, so that synchronize() has something to wait for."""
        return self.device != "cpu"

    def get_device_name(self):
        """The name of the device, and of the library that reaches it."""
        if self.device in ("cuda", "rocm"):
            return f"{self._torch.cuda.get_device_name()} ({self.device}:0)"
        if self.device == "mps":
            return f"Apple GPU ({platform.machine()}, mps:0)"
        library = f"PyTorch {self._torch.__version__}" if self._torch else "NumPy"
        return f"{_processor()} (cpu, {library})"

    def randn(self, *shape):
        """An array of normally distributed 32-bit numbers."""
        if self._torch:
            array = self._torch.randn(*shape, device="cuda" if self.device == "rocm" else self.device)
            size = array.numel() * array.element_size()
        else:
            import numpy

            array = numpy.random.default_rng().standard_normal(shape, dtype=numpy.float32)
            size = array.nbytes
        self._bytes += size
        weakref.finalize(array, self._forget, size)
        return array

    def _forget(self, size):
        self._bytes -= size

    def synchronize(self):
        """Waits until the device has done everything."""
        if self.device in ("cuda", "rocm"):
            self._torch.cuda.synchronize()
        elif self.device == "mps":
            self._torch.mps.synchronize()

    def memory_allocated(self):
        """Bytes: what PyTorch has allocated on a GPU; of the processor, the arrays of randn() that are alive."""
        if self.device in ("cuda", "rocm"):
            return self._torch.cuda.memory_allocated()
        if self.device == "mps":
            return self._torch.mps.current_allocated_memory()
        return self._bytes


def _processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} processors"


def benchmark(function, warmup=3, iterations=10, dm=None):
    """Times of `function`, each with the wait for the device: mean_ms, median_ms, min_ms, max_ms, iterations."""
    wait = dm.synchronize if dm else lambda: None
    for _ in range(warmup):
        function()
    wait()
    times = []
    for _ in range(iterations):
        begin = time.perf_counter()
        function()
        wait()
        times.append((time.perf_counter() - begin) * 1e3)
    return {"mean_ms": statistics.fmean(times), "median_ms": statistics.median(times), "min_ms": min(times), "max_ms": max(times),
            "iterations": iterations}


def arguments(about, output):
    """The arguments of every example: --device, --output."""
    import argparse

    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--device", choices=DEVICES, help="what to run on; without it the best that is there")
    parser.add_argument("-o", "--output", default=output, help=f"the trace to write ({output})")
    return parser.parse_args()


def skip(reason):
    """Ends an example that cannot run here, as run_tests.py expects it: says why, exit status 77."""
    print(f"skipped: {reason}")
    sys.exit(77)
