# SPDX-License-Identifier: Apache-2.0
"""Runs the examples in this folder and says which worked.

    python run_tests.py                    all, on the best device
    python run_tests.py --all-devices      all, on every device of this machine
    python run_tests.py --test pytorch     one (or several) of them
    python run_tests.py --list             which there are
Exit status 1 if one failed.
"""
import argparse
import os
import subprocess
import sys
import tempfile

from device_utils import available_devices

HERE = os.path.dirname(os.path.realpath(__file__))  # examples/run_tests.py is a link
TESTS = {"basic": "basic_usage.py", "realtime": "realtime.py", "pytorch": "pytorch.py", "triton": "triton_kernels.py"}


def about(script):
    """The first line of the script's documentation."""
    with open(os.path.join(HERE, script), encoding="utf-8") as file:
        return file.read().split('"""')[1].strip().splitlines()[0]


def run(name, device, verbose):
    """"passed", "failed" or "skipped" of one example."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, os.path.join(HERE, TESTS[name]), "--device", device, "-o", os.path.join(folder, "trace.sbt")]
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    result = {0: "passed", 77: "skipped"}.get(done.returncode, "failed")
    lines = done.stdout.rstrip().splitlines()
    reason = ": " + lines[-1].removeprefix("skipped: ") if result == "skipped" and lines else ""
    print(f"{name} on {device}: {result}{reason}")
    if verbose or result == "failed":
        print("\n".join("    " + line for line in lines))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="list the tests")
    parser.add_argument("--test", action="append", choices=sorted(TESTS), help="run this one; may be repeated")
    parser.add_argument("--device", choices=available_devices(), help="run on this device")
    parser.add_argument("--all-devices", action="store_true", help="run on every device of this machine")
    parser.add_argument("-v", "--verbose", action="store_true", help="print what the tests print")
    options = parser.parse_args()
    if options.list:
        for name, script in TESTS.items():
            print(f"{name:10} {about(script)}")
        return 0
    devices = available_devices()
    if not devices:
        print("the examples need PyTorch or NumPy: pip install torch")
        return 1
    devices = [options.device] if options.device else devices if options.all_devices else devices[:1]
    results = [run(name, device, options.verbose) for device in devices for name in options.test or TESTS]
    print(", ".join(f"{results.count(kind)} {kind}" for kind in ("passed", "failed", "skipped")))
    return 1 if "failed" in results else 0


if __name__ == "__main__":
    sys.exit(main())
