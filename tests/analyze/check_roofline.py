# SPDX-License-Identifier: Apache-2.0
"""`analyze roofline`: random made traces against the reference, and what is said of peaks and losses."""
import gzip
import json
import math
import os
import random
import sqlite3
import sys
import tempfile

from check_sentences import check, event, expect, kineto, launch, run, told
from support import Trace

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "reference"))
from roofline import compare  # noqa: E402
from trace import read_trace  # noqa: E402


def same(what, got, wanted):
    close = isinstance(wanted, float) and isinstance(got, (int, float)) and math.isclose(got, wanted, rel_tol=1e-6, abs_tol=1e-9)
    check(got == wanted or close, "%s: %s, the reference has %s" % (what, got, wanted))


def roofline(path, *options):
    (found,) = json.loads(run("analyze", path, "roofline", "--json", *options).stdout)["traces"][0]["reports"]
    return found


def random_events(chance):
    """Nested and overlapping ranges on two threads, of which some state work; launches of kernels and copies on two devices."""
    events, number = [], 0
    for _ in range(chance.randint(5, 60)):
        start = chance.randrange(0, 1000, 10)
        work = {}
        if chance.random() < 0.7:
            work["flops"] = chance.choice((0, 7, 1.5, 2e9, 123456789012, -5))
        if chance.random() < 0.6:
            work["bytes"] = chance.choice((0, 1, 4096, 1 << 33))
        events.append(event("user_annotation", chance.choice("abc"), 1, chance.choice((1, 2)), start,
                            chance.choice((10, 10, 50, 300)), **work))
    for _ in range(chance.randint(0, 60)):
        number += 1
        device, at = chance.choice((0, 0, 1)), chance.randrange(0, 1000, 10)
        call = event("cuda_runtime", "cudaLaunchKernel", 1, chance.choice((1, 2)), at, 2, correlation=number)
        own = {"flops": chance.choice((3, 4e6))} if chance.random() < 0.1 else {}
        command = event("kernel", chance.choice(("k", "l", "m")), device, 7 + chance.randint(0, 1), at + chance.randrange(5, 200, 5),
                        chance.choice((0.001, 5, 40)), device=device, stream=7, correlation=number, **own)
        if chance.random() < 0.2:
            command = event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", device, 9, at + 50, 5, device=device, stream=9,
                            correlation=number)
        events += [call, command]
    return events


def against_reference(folder):
    path, measured = os.path.join(folder, "random.json.gz"), 0
    for seed in range(60):
        with gzip.open(path, "wt", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": random_events(random.Random(seed))}, file)
        options, peaks = (), (None, None)
        if seed % 3:
            options, peaks = ("--peak", "flops=2.5T,bytes=300e9"), (2.5e12, 300e9)
        found = roofline(path, *options)
        compare(read_trace(path), found, lambda what, got, wanted: same("%d: %s" % (seed, what), got, wanted), peaks)
        measured += sum(row["measured"] for row in found["tables"]["ranges"] + found["tables"]["kernels"])
    check(measured > 500, "%d occurrences are measured" % measured)


def one_range(**work):
    return [event("user_annotation", "matmul", 1, 1, 0, 100, **work), *launch("k", 10, 50, 20, 1)]


def peaks_of(found):
    (row,) = found["tables"]["peaks"]  # of one device
    return [row[column] for column in ("flop_rate_flop_per_s", "flop_source", "byte_rate_bytes_per_s", "byte_source", "ridge")]


def sentences(folder):
    made = lambda *events: kineto(os.path.join(folder, "said.json"), [*events])  # noqa: E731
    none, longest, unknown = "No range and no kernel", "takes longest of what states its work", "those shares are unknown"
    formats = "of one number format"
    expect("nothing stated", roofline(made(*one_range())), [none + " of the trace"], [longest, unknown])
    expect("nothing in the window", roofline(made(*one_range(flops=1), *launch("k", 300, 320, 20, 2)), "--from", "200us",
                                             "--to", "400us"), [none + " of the window"], [longest])
    path = made(*one_range(flops=2e9, bytes=4000000))
    expect("no peak", roofline(path), ["matmul takes longest", "20.0 us, at 100.00 TFLOP/s and 186.26 GiB/s.", unknown], [none, "peak,", formats])
    check(peaks_of(roofline(path)) == [None] * 5, "no peak is made up: %s" % peaks_of(roofline(path)))
    expect("one peak", roofline(path, "--peak", "flops=200T"), ["50.0% of the compute peak.", unknown, formats], ["above 100%"])
    both = roofline(path, "--peak", "flops=200T,bytes=250G")
    expect("two peaks", both, ["80.0% of the memory peak."], [unknown, "above 100%"])
    check(peaks_of(both) == [200e12, "stated", 250e9, "stated", 800], peaks_of(both))
    check(both["tables"]["ranges"][0]["limit"] == "memory", both["tables"]["ranges"])
    expect("impossible", roofline(path, "--peak", "flops=50T"), ["A share is above 100%"], [])
    expect("no command", roofline(made(event("user_annotation", "host", 1, 1, 0, 100, flops=5), *launch("k", 200, 210, 5, 1))),
           ["No device time is known", "1 occurrence of ranges launched no command"], [longest])
    expect("measured", roofline(made(*one_range(flops=5))), [], ["No device time", "launched no command"])


def stored(folder, lost):
    trace = Trace()
    trace.process(7, "program")
    trace.device("device")
    thread, queue, losses = trace.track("thread", "main", 1), trace.track("queue", "queue", 1, 1), trace.track("loss", "losses")
    trace.event(thread, "range", 0, duration=100, name="step", bytes=4096)
    trace.event(thread, "api", 10, duration=5, name="clEnqueueNDRangeKernel", correlation=1)
    trace.event(queue, "kernel", 50, duration=20, name="k", correlation=1)
    if lost is not None:
        trace.event(losses, "loss", lost, duration=5, lost=3, reason="ring_full")
    return trace.write(os.path.join(folder, "stored.sbt"))


def losses(folder):
    words = "Events are missing during 1 occurrence of ranges"
    expect("a loss in the range", roofline(stored(folder, 60)), [words], [])
    expect("a loss behind it", roofline(stored(folder, 500)), ["at 190.73 GiB/s"], [words])
    expect("no loss", roofline(stored(folder, None)), [], [words])


def nsys(folder, bandwidth):
    """An export of Nsight Systems says the bandwidth of its GPUs; 0, a text and what may have another unit are none."""
    path = os.path.join(folder, "nsys.sqlite")
    if os.path.exists(path):
        os.unlink(path)
    base = sqlite3.connect(path)
    base.executescript("""
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        INSERT INTO StringIds VALUES (1, 'k'), (2, 'cudaLaunchKernel');
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT,
            globalPid INT, demangledName INT, shortName INT, gridX INT, gridY INT, gridZ INT, blockX INT, blockY INT, blockZ INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 200, 0, 1, 7, 1, 16777216, 1, 1, 1, 1, 1, 1, 1, 1);
        CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT, totalMemory INT, smCount INT, clockRate INT, uuid TEXT, busLocation TEXT,
            memoryBandwidth);""")
    base.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, 'Some GPU', 85899345920, 132, 1980000000, NULL, NULL, ?)", (bandwidth,))
    base.commit()
    base.close()
    return path


def peaks_of_traces(folder):
    check(peaks_of(roofline(nsys(folder, 3352320000000))) == [None, None, 3352320000000, "Nsight Systems", None],
          "the bandwidth of an export: %s" % peaks_of(roofline(nsys(folder, 3352320000000))))
    # As kB/s the number of an H100 is 3352320000: a number that need not be B/s is unknown.
    for none in (0, -5, "much", None, 3352320000, 3352320, 10**15):
        check(peaks_of(roofline(nsys(folder, none))) == [None] * 5, "bandwidth %r" % none)
    stated = peaks_of(roofline(nsys(folder, 3352320000000), "--peak", "bytes=2T"))
    check(stated == [None, None, 2e12, "stated", None], "the user's statement counts: %s" % stated)


def usage(folder):
    path = kineto(os.path.join(folder, "usage.json"), one_range(flops=1))
    for bad in ("", "flops", "flops=", "flops=0", "flops=-1", "flops=inf", "flops=nan", "flops=0x10", "flops=1X", "flops=1,", "speed=1",
                "flops=1,flops=2", "flops=1 ,bytes=2", "bytes=1e999", "flops=1;bytes=2"):
        done = run("analyze", path, "roofline", "--peak", bad, code=None)
        check(done.returncode == 2 and b"--peak" in done.stderr, "--peak '%s': exit %d" % (bad, done.returncode))
    check(run("analyze", path, "idle", "--peak", "flops=1", code=None).returncode == 2, "--peak without roofline")
    (row,) = roofline(path, "--peak", "flops=0.5k")["tables"]["peaks"]
    check(row["flop_rate_flop_per_s"] == 500, row)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for part in (against_reference, sentences, losses, peaks_of_traces, usage):
            part(folder)
    return 0


sys.exit(main())
