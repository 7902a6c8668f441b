# SPDX-License-Identifier: Apache-2.0
"""Makes the committed files of tests/stability/inputs, which stay as they are: files of this version that later versions must read.

    make_inputs.py FOLDER       (with TRACESMITH and TRACESMITH_BUILD_DIR; a recording of an OpenCL program needs PoCL)

a.sbt and b.sbt are two runs of an invented program with as many kinds of events as an analysis asks for; rank0.json and rank1.json are
what PyTorch's profiler writes of two ranks; capture.sbt is a recording for a replay; race.sbt is one with a data race.
"""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "cli"))
from support import BUILD, TRACESMITH, Trace  # noqa: E402


def made(path, factor):
    trace = Trace()
    trace.device("gpu")
    trace.lines += ["attribute command ./train", "clock device 1 1", "pair 1 1000 1000 20", "pair 1 900000 900010 20",
                    "module /bin/train % 1 0", "frame 1 0 4096", "frame 1 0 8192", "stack 0 1", "stack 1 2", "symbol 1 main train.c 10",
                    "symbol 2 step train.c 20"]
    trace.process(4711, "train")
    thread, worker = trace.track("thread", "main", 1), trace.track("thread", "worker", 1)
    queues = [trace.track("queue", "queue 1", 1, 1), trace.track("queue", "queue 2", 1, 1)]
    counter = trace.track("counter", "power", 0, 1)
    correlation = 0
    trace.event(thread, "object", 1000, operation="create_queue", object=1, name="queue")
    trace.event(thread, "compile", 2000, duration=5000, name="program", stack=1)
    for i in range(4):
        trace.event(thread, "alloc", 8000 + 100 * i, bytes=4096 << i, live_bytes=4096 << i, object=10 + i, stack=2)
    at = 10000
    for step in range(6):
        begun = at
        for layer in range(5):
            correlation += 1
            queue = queues[layer % 2]
            trace.event(thread, "api", at, duration=2000, name="launch", correlation=correlation, stack=2, queue_track=queue, result=0)
            trace.event(queue, "kernel", at + 4000, duration=(3000 + 500 * layer) * (factor if layer == 2 else 1), name="gemm%d" % layer,
                        correlation=correlation, queued=at + 1000, submitted=at + 2000, global_x=1024, global_y=4, global_z=1, local_x=64,
                        local_y=1, local_z=1, host_track=thread, operation="ndrange", waits=[correlation - 1] if layer else [])
            at += 9000
        correlation += 1
        trace.event(thread, "api", at, duration=1000, name="read", correlation=correlation, stack=1, blocking=1, queue_track=queues[0])
        trace.event(queues[0], "memcpy", at + 1500, duration=2500, name="read", correlation=correlation, bytes=65536, direction="d2h",
                    operation="read", host_track=thread, source=10)
        trace.event(queues[1], "memset", at + 1600, duration=300, name="fill", bytes=4096, destination=11)
        trace.event(thread, "sync", at + 1000, duration=4000, name="wait", correlation=correlation, queue_track=queues[0], operation="finish")
        trace.event(counter, "counter", at, name="power", value=100.5 + step)
        trace.event(worker, "off_cpu", at, duration=3000, waker_tid=4711, woken=at + 2500)
        trace.event(thread, "sample", at + 100, stack=2)
        trace.event(queues[0], "collective", at + 5000, duration=2000, name="AllReduce", bytes=1024, correlation=correlation)
        trace.event(thread, "frame", at + 6000, name="frame")
        at += 8000
        trace.event(thread, "range", begun, duration=at - begun, name="step")
        at += 20000
    trace.event(thread, "free", at, bytes=4096, object=10, live_bytes=0)
    trace.event(thread, "loss", at, duration=10, lost=7, reason="ring_full")
    trace.event(thread, "process", at + 100, operation="process_exit", result=0)
    trace.write(path)


def rank(path, number, late):
    events, at = [], 0

    def add(pid, tid, category, name, start, duration, **arguments):
        events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start, "dur": duration, "args": arguments})
    for step in range(8):
        begun = at
        add(100 + number, 1, "cuda_runtime", "cudaLaunchKernel", at, 5, correlation=2 * step + 1)
        add(0, 7, "kernel", "gemm", at + 10, 50 + late, stream=7, device=0, correlation=2 * step + 1, grid=[4, 2, 1], block=[128, 1, 1])
        add(100 + number, 1, "cuda_runtime", "cudaLaunchKernel", at + 6, 5, correlation=2 * step + 2)
        add(0, 7, "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + 60 + late, 60 - late, stream=7, device=0, correlation=2 * step + 2,
            **{"Process Group Name": "0"})
        at += 150
        add(100 + number, 1, "user_annotation", "ProfilerStep#%d" % step, begun, at - begun)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"distributedInfo": {"backend": "nccl", "rank": number, "world_size": 2}, "traceEvents": events}, file)


def main(folder):
    made(os.path.join(folder, "a.sbt"), 1)
    made(os.path.join(folder, "b.sbt"), 2)
    rank(os.path.join(folder, "rank0.json"), 0, 0)
    rank(os.path.join(folder, "rank1.json"), 1, 20)
    for name, program in (("capture.sbt", ["cl_counted"]), ("race.sbt", ["cl_hazards", "double-buffer"])):
        # A recording has the path of its program.
        copied = os.path.join("/tmp", program[0])
        shutil.copy(os.path.join(BUILD, "tests", "programs", program[0]), copied)
        subprocess.run([TRACESMITH, "profile", "--capture", "-o", os.path.join(folder, name), "--", copied, *program[1:]], check=True,
                       stdout=subprocess.DEVNULL)
        os.remove(copied)


main(sys.argv[1])
