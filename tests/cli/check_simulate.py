# SPDX-License-Identifier: Apache-2.0
"""simulate: every option does what it says, on traces whose answers can be worked out by hand."""
import json
import os
import random
import tempfile

from support import check, run

US = 1000
SYNC, LAUNCH, MALLOC = "cudaStreamSynchronize", "cudaLaunchKernel", "cudaMalloc"


KERNELS = {"gemm": 50, "relu": 4, "softmax": 20}
# Unfused, relu ends 10 + 4 us after its launch and is waited for until 2 us later; fused, it is done when the host begins
# to wait for it, 2 us after its launch, which takes no time.
FUSED_SAVES = 14


class Trace:
    """Kineto's shape; times in us."""

    def __init__(self):
        self.events, self.correlations = [], 0

    def call(self, thread, name, start, duration, stream=None):
        self.correlations += 1
        self.add("cuda_runtime", name, 7, thread, start, duration, {} if stream is None else {"stream": stream})

    def kernel(self, name, stream, start, duration, cat="kernel"):
        self.add(cat, name, 0, stream, start, duration, {"stream": stream, "device": 0})

    def add(self, cat, name, pid, tid, start, duration, args):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": start, "dur": duration,
                            "args": {"correlation": self.correlations, **args}})

    def write(self, directory, name):
        path = os.path.join(directory, name)
        with open(path, "w") as file:
            json.dump({"traceEvents": self.events}, file)
        return path


def chain(directory, launches=40):
    """The host launches (4 us), the kernel starts 10 us after that began, the host waits and returns 2 us after it."""
    rng, trace, time = random.Random(5), Trace(), 0
    order = rng.choices(list(KERNELS), k=launches)
    for name in order:
        duration = KERNELS[name]
        trace.call(11, LAUNCH, time, 4)
        trace.kernel(name, 3, time + 10, duration)
        trace.call(11, SYNC, time + 6, duration + 6)
        time += duration + 12 + 3
    return trace.write(directory, "chain.json"), time - 3, order


def behind(calls, order):
    """When the last kernel ends: each 10 us after its launch began, and not before the one before it has ended."""
    begun, end = 0, 0
    for call, name in zip(calls, order):
        end = max(end, begun + 10) + KERNELS[name]
        begun += call
    return end


def answers(path, *options, code=0):
    done = run("simulate", path, "--json", *options, code=code)
    return json.loads(done.stdout)


def makespan(path, *options):
    found = answers(path, *options)["answers"]
    check(len(found) == 1 and found[0]["makespan_min_ns"] == found[0]["makespan_max_ns"], "one answer")
    check(sum(part["time_ns"] for part in found[0]["path"]) == found[0]["makespan_max_ns"], "the path adds up")
    return found[0]["makespan_max_ns"]


def check_scale(path, length, order):
    total = {name: duration * order.count(name) for name, duration in KERNELS.items()}
    model = answers(path)["model"]
    check(model["recorded_ns"] == model["simulated_ns"] == length * US, "as recorded: %s" % model)
    check(makespan(path) == length * US, "nothing changed")
    check(makespan(path, "--scale", "kernel=gemm:0.5") == (length - total["gemm"] // 2) * US, "half of gemm")
    both = makespan(path, "--scale", "kernel=gemm:0.5", "--scale", "kernel=re?u:2")
    check(both == (length - total["gemm"] // 2 + total["relu"]) * US, "two of them")
    sweep = answers(path, "--scale", "kernel=*:1..2/3")["answers"]
    kernels = sum(total.values())
    check([a["factors"] for a in sweep] == [[1], [1.5], [2]], "the steps of a sweep")
    check([a["makespan_max_ns"] for a in sweep] == [(length + kernels * part // 2) * US for part in range(3)], "a line")
    ratio = answers(path, "--device-ratio", "4:2")["answers"][0]
    check((ratio["makespan_min_ns"], ratio["makespan_max_ns"]) ==
          ((length - kernels + kernels // 4) * US, (length - kernels + kernels // 2) * US), "a range: %s" % ratio)
    check(makespan(path, "--scale", "host=" + LAUNCH + ":2") == (length + 39 * 3) * US, "what the host does between")
    check(makespan(path, "--scale", "call=" + LAUNCH + ":3") == length * US, "calls shorter than the way to the device")


def check_others(path, length, order):
    # Without waits a launch takes 4 us and 5 pass between them; kernels follow each other in the queue without a gap.
    free = makespan(path, "--drop-sync", "*")
    check(free == behind([4 + 5] * len(order), order) * US, "no waits: %d" % free)
    check(makespan(path, "--drop-sync", SYNC) == free, "by name")
    run("simulate", path, "--drop-sync", "nothing", code=1)
    check("stream_order" in answers(path)["model"]["uncalibrated"], "a gap that the trace does not show")
    graph = makespan(path, "--drop-sync", "*", "--graph", "1us", "--scale", "kernel=*:0")
    check(graph == (10 + len(order) - 1) * US, "and no host: %d" % graph)
    # A fused kernel needs no launch of its own: the pairs found from the left.
    pairs, i = [], 0
    while i < len(order):
        fused = order[i:i + 2] == ["gemm", "relu"]
        pairs.append(sum(KERNELS[name] for name in order[i:i + 1 + fused]))
        i += 1 + fused
    fewer = makespan(path, "--fuse", "gemm+relu")
    check(fewer == length * US - (len(order) - len(pairs)) * FUSED_SAVES * US, "fused: %d" % fewer)
    text = run("simulate", path, "--scale", "kernel=gemm:0.5").stdout.decode()
    check("less" in text and "gemm" in text, "for people: %s" % text)
    for wrong in (["--scale", "kernel=gemm"], ["--scale", "gemm:2"], ["--scale", "kernel=gemm:-1"],
                  ["--scale", "kernel=gemm:1../2"], ["--graph", "soon"], ["--device-ratio", "0"], ["--priority", "a=1"],
                  ["--policy", "priority", "--priority", "a=b"], ["--policy", "priority", "--priority", "none=1"]):
        run("simulate", path, *wrong, code=2)


def check_policies(directory):
    """Three streams of a device that runs one kernel at a time; a host thread continues when the second is done."""
    trace = Trace()
    start, ends = 100, {}
    for stream in (1, 2, 3):
        for i in range(4):
            trace.call(10 + stream, LAUNCH, i, 1)
            trace.kernel("k%d" % stream, stream, start, 100 * stream)
            start += 100 * stream
        ends[stream] = start
    trace.call(12, SYNC, 10, ends[2] - 10, stream=2)
    trace.call(12, MALLOC, ends[2], 5000)
    path = trace.write(directory, "policies.json")
    recorded = (ends[2] + 5000) * US
    check(answers(path)["model"]["exclusive_devices"] == 1, "one kernel at a time")
    check(makespan(path, "--policy", "original") == recorded, "as recorded")
    # 1 2 3 1 2 3 1 2 3 1 2 3: the second stream is done before the last kernel of the third.
    check(makespan(path, "--policy", "round-robin") == (100 + 4 * 600 - 300 + 5000) * US, "in turns")
    check(makespan(path, "--policy", "priority", "--priority", "*2=9") == (100 + 4 * 200 + 5000) * US, "the second first")
    check(makespan(path, "--policy", "priority", "--priority", "*3=9", "--priority", "*2=1") ==
          (100 + 4 * 300 + 4 * 200 + 5000) * US, "after the third")


def check_communication(directory):
    """A collective between two kernels, and nothing that needs it but the last wait."""
    trace = Trace()
    for i, (name, start, duration) in enumerate([("k", 20, 100), ("ncclDevKernel_AllReduce_Sum_f32", 120, 300),
                                                 ("k", 420, 250), ("k", 670, 10)]):
        trace.call(11, LAUNCH, 2 * i, 1)
        trace.kernel(name, 3, start, duration)
    trace.call(11, SYNC, 10, 670)
    path = trace.write(directory, "communication.json")
    check(makespan(path) == 680 * US, "as recorded")
    check(makespan(path, "--overlap-comm") == 420 * US, "concurrently with the kernels")
    check(makespan(path, "--overlap-comm", "--scale", "kernel=k:2") == (20 + 2 * 360) * US, "and behind them no more")


def check_refusal(directory):
    """Two launches, one of which takes 1 us to reach the device and one 7: 4 on the average explain neither."""
    trace = Trace()
    for stream, late in ((1, 1), (2, 7)):
        trace.call(10 + stream, LAUNCH, 0, 1)
        trace.kernel("k", stream, late, 1)
    path = trace.write(directory, "bad.json")
    refused = answers(path, code=1)
    check(refused["model"]["error"] == 3 / 8 and "answers" not in refused, "no answer: %s" % refused)
    check(len(answers(path, "--force")["answers"]) == 1, "one that was asked for all the same")
    empty = Trace()
    empty.call(11, LAUNCH, 0, 1)
    run("simulate", empty.write(directory, "empty.json"), code=1)


with tempfile.TemporaryDirectory() as directory:
    made, made_length, made_order = chain(directory)
    check_scale(made, made_length, made_order)
    check_others(made, made_length, made_order)
    check_policies(directory)
    check_communication(directory)
    check_refusal(directory)
