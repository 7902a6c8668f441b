# SPDX-License-Identifier: Apache-2.0
"""A trace with samples of two threads, of which everything is known."""
import os

from support import Trace

FUNCTIONS = ["solve", "read_file", "pack", None]  # None: without a name, in libx.so


def make_samples(rng, directory, count, span):
    """Samples of two threads, in functions of the program that call the C library, which is not named."""
    trace = Trace()
    trace.process(1, "program")
    for name in ("one", "two"):
        trace.track("thread", name, 1)
    trace.lines += ["module /opt/app % 0 0", "module /lib/libc.so.6 % 0 0", "module /opt/libx.so % 0 0"]
    frames = ["main"] + FUNCTIONS + ["memcpy"]
    for i, name in enumerate(frames, 1):
        trace.lines.append("frame %d 0 %d" % (2 if name == "memcpy" else 3 if name is None else 1, 4096 * i))
        if name:
            trace.lines.append("symbol %d %s %% 0" % (i, name))
    trace.lines.append("stack 0 1")
    for i in range(len(FUNCTIONS)):  # 2 to 5: called by main; 6 to 9: those in memcpy
        trace.lines.append("stack 1 %d" % (i + 2))
    for i in range(len(FUNCTIONS)):
        trace.lines.append("stack %d 6" % (i + 2))
    samples = []
    for i in range(count):
        start = 10**12 + (rng.randrange(span) if i > 1 else (0, span)[i])
        function = min(int(rng.expovariate(1) + 3 * (start - 10**12) / span), 3)
        sample = {"track": rng.randrange(2), "time": start, "period": rng.choice([span // 200, span // 50]), "function": function,
                  "category": rng.choice(["user", "user", "kernel"])}
        trace.event(sample["track"] + 1, "sample", start, stack=function + (2 if i % 2 else 6), sampler_period=sample["period"],
                    category=sample["category"])
        samples.append(sample)
    trace.event(1, "api", 10**12 + span, duration=span // 100, name="call")
    return trace.write(os.path.join(directory, "samples.sbt")), samples, 10**12, 10**12 + span + span // 100
