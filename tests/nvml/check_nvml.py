# SPDX-License-Identifier: Apache-2.0
"""devices and counters of NVIDIA GPUs, against mocks of the driver's two libraries."""
import collections
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "cli"))
from support import check, run  # noqa: E402

SOURCE = os.environ["TRACESMITH_SOURCE_DIR"]


def build(directory, source, name):
    made = subprocess.run([os.environ.get("CC", "cc"), "-w", "-shared", "-fPIC", "-o", os.path.join(directory, name),
                           "-I", os.path.join(SOURCE, "agents", "nvml"), os.path.join(SOURCE, "tests", "nvml", source)],
                          stderr=subprocess.PIPE)
    check(made.returncode == 0, made.stderr.decode())


def check_devices(mocks):
    answer = json.loads(run("devices", "--json", env=mocks).stdout)
    ours = {device["name"]: device for device in answer["devices"] if device["api"] == "cuda"}
    check(set(ours) == {"Simulated GPU 0", "Simulated GPU 1"}, "both: %s" % answer)
    given, hidden = ours["Simulated GPU 1"], ours["Simulated GPU 0"]
    check((given["compute_units"], given["memory_bytes"], given["clock_mhz"]) == (132, 79000000000, 1980), "%s" % given)
    check(given["driver"] == "NVIDIA 999.1 (simulated), CUDA 13.1", "%s" % given)
    facts = {fact["of"]: fact["text"] for fact in answer["facts"]}
    of = lambda device, key: facts.get("device.%d.%s" % (device["id"], key))
    check(of(given, "compute capability") == "9.0" and of(given, "uuid") == "GPU-51a70000-0000-0000-0000-000000000001", "%s" % facts)
    check(of(given, "nvlink") == "4 links: 3 to 00000000:17:00.0, 1 to switches or elsewhere", "%s" % facts)
    check(of(hidden, "nvlink") == "4 links: 3 to 00000000:65:00.0, 1 to switches or elsewhere", "%s" % facts)
    check(of(given, "path") == "to 00000000:17:00.0 through a host bridge", "%s" % facts)
    check(of(hidden, "mig") == "off" and of(given, "mig") == "off, changes at the next reset", "%s" % facts)
    check(of(given, "power limit") == "700 W" and of(hidden, "cuda"), "%s" % facts)
    text = run("devices", env=mocks).stdout.decode()
    listed = {int(line.split("  ", 1)[0]): line.split("  ", 1)[1] for line in text.splitlines() if line[:1].isdigit()}
    check(listed == {device["id"]: device["name"] for device in answer["devices"]} and 0 in listed, "one number: %s %s" % (listed, answer))
    check("nvlink: 4 links" in text and "132 compute units at 1980 MHz" in text, text)


def check_shared(directory, mocks):
    os.mkfifo(os.path.join(directory, "control"))
    answer = json.loads(run("devices", "--json", env=dict(mocks, CUDA_MPS_PIPE_DIRECTORY=directory)).stdout)
    shared = [fact["text"] for fact in answer["facts"] if fact["of"].endswith(".mps")]
    check(shared == ["shared by the clients of " + directory], "%s" % answer["facts"])


def check_broken(mocks):
    done = run("devices", env=dict(mocks, NVML_MOCK="mismatch", CUDA_MOCK="none"), code=None)
    check(b"Driver/library version mismatch (18)" in done.stderr, done.stderr.decode())
    check(b"cuInit gave 100" in done.stderr, done.stderr.decode())


def counters(trace, what="value"):
    tracks = {track["id"]: track["name"] for track in trace["tracks"] if track["kind"] == "counter"}
    values = collections.defaultdict(list)
    for event in trace["events"]:
        if event["kind"] == "counter":
            values[tracks[event["track"]]].append(event[what])
    return values


def profile(directory, environment, *command, code=0):
    path = os.path.join(directory, "t.sbt")
    done = run("profile", "--gpu-counters", "50", "-o", path, "--", *command, env=environment, code=code)
    return done, json.loads(run("view", "-f", "json", path, code=None).stdout)


def check_counters(directory, mocks):
    samples = os.path.join(directory, "samples")
    with open(samples, "w"):
        pass
    done, trace = profile(directory, dict(mocks, NVML_MOCK_SAMPLES=samples), "sh", "-c",
                          'until [ "$(wc -c <"$0")" -ge 60 ]; do sleep 0.02; done', samples)
    values, starts = counters(trace), counters(trace, "start")
    expected = {"power [W]": (123.5, None), "SM clock [MHz]": (1000, 1001), "memory clock [MHz]": (2000, 2001),
                "memory used [bytes]": (1e9, 2e9), "GPU utilization [%]": (40, 41), "memory utilization [%]": (7, 7),
                "PCIe sent [bytes/s]": (5e6, 5e6), "PCIe received [bytes/s]": (6e6, 6e6),
                "NVLink received [bytes/s]": (0, 0)}
    for name, pair in expected.items():
        for gpu, value in enumerate(pair):
            seen = set(values.get("GPU %d %s" % (gpu, name), []))
            check(seen == ({value} if value is not None else set()), "GPU %d %s: %s" % (gpu, name, seen))
    for gpu in (0, 1):
        rates, times = (found["GPU %d NVLink sent [bytes/s]" % gpu] for found in (values, starts))
        check(len(rates) >= 3, "GPU %d: %d rates" % (gpu, len(rates)))
        # A sampler that is kept waiting between reading the clock and the counter makes one rate too high and the next too
        # low: in all there is as much.
        sent = sum(rate * (time - before) for rate, time, before in zip(rates[1:], times[1:], times))
        check(abs(sent / (times[-1] - times[0]) - 1e9) < 3e8, "GPU %d sends 1 GB/s: %s %s" % (gpu, rates, times))
        check(not values["GPU %d temperature [C]" % gpu], "what the library does not have is not there")
        check(len(values["GPU %d PCIe sent [bytes/s]" % gpu]) < len(rates), "PCIe is asked less often")
    devices = [device["name"] for device in trace["devices"]]
    check(devices == ["Simulated GPU 0", "Simulated GPU 1"], "their devices: %s" % devices)
    check(not trace["lost"]["by_reason"], "nothing lost: %s" % trace["lost"])
    check(b"cannot be sampled" not in done.stderr and b"used none of the recorded GPU APIs" in done.stderr, done.stderr.decode())


def check_hopeless(directory, mocks):
    """The program runs, whatever the driver does."""
    for environment, said in (({"LD_LIBRARY_PATH": directory + "/none"}, b"libnvidia-ml.so.1 was not found"),
                              (dict(mocks, NVML_MOCK="mismatch"), b"version mismatch"),
                              (dict(mocks, NVML_MOCK="crash"), None), (dict(mocks, NVML_MOCK="hang"), None)):
        done, trace = profile(directory, environment, "sh", "-c", "echo ran; exit 3", code=3)
        check(done.stdout == b"ran\n" and (said is None or said in done.stderr), "%s: %s" % (environment, done.stderr))
        check(not counters(trace).get("GPU 0 power [W]"), "and there are no counters")
    done = run("profile", "--gpu-counters", "often", "true", code=2)
    check(b"is not a rate" in done.stderr, done.stderr.decode())


def main():
    with tempfile.TemporaryDirectory() as directory:
        build(directory, "mock_nvml.c", "libnvidia-ml.so.1")
        build(directory, "mock_cuda.c", "libcuda.so.1")
        mocks = {"LD_LIBRARY_PATH": directory}
        check_devices(mocks)
        check_shared(directory, mocks)
        check_broken(mocks)
        check_counters(directory, mocks)
        check_hopeless(directory, mocks)


main()
