# SPDX-License-Identifier: Apache-2.0
"""view --stats: every figure against sets of nanoseconds, counted one by one."""
import collections
import json
import os
import random
import tempfile

from support import Trace, check, run

WORK = ("kernel", "memcpy", "memset")
# By function: results, and whether the call failed.
RESULTS = {"clFinish": {0: False, -36: True, -5: True}, "vkWaitForFences": {0: False, 2: False, -4: True},
           "cudaEventQuery": {0: False, 600: False, 700: True}, "zeEventQueryStatus": {1: False, 0x78000001: True},
           "ncclCommGetAsyncError": {7: False, 5: True}}


def make(rng):
    trace = Trace()
    tracks = {}
    for pid in (10, 11):
        trace.process(pid, "program %d" % pid)
    for name in ("first", "second"):
        trace.device(name)
    for i in range(5):
        tracks[trace.track("queue", "q%d" % i, 1 + i % 2, 1 + i % 2)] = ("queue", 1 + i % 2, 1 + i % 2)
    for i in range(3):
        tracks[trace.track("thread", "t%d" % i, 1 + i % 2)] = ("thread", 1 + i % 2, 0)
    for i in range(2):
        tracks[trace.track("loss", "losses", 1 + i)] = ("loss", 1 + i, 0)
    losses = [t for t in tracks if tracks[t][0] == "loss"]
    queues = [t for t in tracks if tracks[t][0] == "queue"]
    threads = [t for t in tracks if tracks[t][0] == "thread"]
    live = collections.Counter()
    for start in sorted(rng.randrange(3000) for _ in range(300)):
        duration = rng.randrange(1, 60)
        roll = rng.random()
        if roll < 0.4:
            trace.event(rng.choice(queues), "kernel", start, duration=duration, name=rng.choice(["blur", "sharpen"]))
        elif roll < 0.55:
            trace.event(rng.choice(queues), "memcpy", start, duration=duration, operation=rng.choice(("read", "map")), direction="d2h",
                        bytes=rng.randrange(1, 5000))
        elif roll < 0.7:
            name, results = rng.choice(list(RESULTS.items()))
            trace.event(rng.choice(threads), "api", start, duration=duration, name=name, result=rng.choice(list(results)))
        elif roll < 0.85:
            fields = {"queue_track": rng.choice(queues)} if rng.random() < 0.6 else {}
            trace.event(rng.choice(threads), "sync", start, duration=duration, operation="finish", **fields)
        else:
            process = rng.choice([1, 2])
            track = next(t for t in threads if tracks[t][1] == process)
            size = rng.randrange(1, 1000)
            live[process] += size
            trace.event(track, "alloc", start, bytes=size, live_bytes=live[process], operation="buffer")
        if rng.random() < 0.02:
            trace.event(rng.choice(losses), "loss", start, duration=duration, lost=rng.randrange(1, 9),
                        reason=rng.choice(["ring_full", "ring_full", "no_stack", "partial_stack"]))
        if rng.random() < 0.05:
            trace.flush()
    return trace, tracks


def ticks(events, low, high):
    return {t for e in events for t in range(max(low, e["start"]), min(high, e["start"] + e.get("duration", 0)))}


def check_waits(stats, trace, tracks):
    waits = collections.defaultdict(lambda: [0, 0, collections.Counter()])
    work = sorted((e for e in trace.events if e["kind"] in WORK), key=lambda e: e["start"])
    for wait in (e for e in trace.events if e["kind"] == "sync"):
        entry = waits[wait.get("queue_track", 0)]
        entry[0] += 1
        entry[1] += wait["duration"]
        queue = wait.get("queue_track")
        same = [e for e in work if (e["track"] == queue if queue
                                    else tracks[e["track"]][1] == tracks[wait["track"]][1])]
        for tick in range(wait["start"], wait["start"] + wait["duration"]):
            running = [e for e in same if e["start"] <= tick < e["start"] + e["duration"]]
            if running:
                # Equal starts may be assigned either way: their names are added up together below.
                entry[2][min(running, key=lambda e: e["start"])["start"]] += 1
    for wait in stats["waits"]:
        count, total, causes = waits.pop(wait["queue_track"])
        check(wait["count"] == count and wait["total_ns"] == total, "waits: count and time")
        explained = sum(cause["ns"] for cause in wait["for"])
        check(explained == sum(causes.values()), "waits: explained time")
        check(wait["nothing_ran_ns"] == total - explained, "waits: the rest")
        check(wait["operation"] == "finish", "waits: operation")
    check(not waits, "waits: all of them")


def check_window(path, trace, tracks, low, high, options):
    stats = json.loads(run("view", path, "--stats", "--json", *options).stdout)
    inside = [e for e in trace.events
              if e["start"] < high and (e["start"] >= low or e["start"] + e.get("duration", 0) > low)]
    check(stats["events"] == len(inside), "events")
    check(stats["kinds"] == dict(collections.Counter(e["kind"] for e in inside)), "kinds")
    totals = collections.defaultdict(list)
    for event in inside:
        moves = event["kind"] in ("memcpy", "memset")
        name = None if moves else event.get("name")
        totals[event["kind"], name, None if name else event.get("operation")].append(event)
    check(len(stats["totals"]) == len(totals), "totals: as many")
    for total in stats["totals"]:
        events = totals[total["kind"], total["name"], total["operation"]]
        durations = [e["duration"] for e in events if "duration" in e]
        check(total["count"] == len(events) and total["total_ns"] == (sum(durations) if durations else None),
              "totals: %s" % total)
        if durations:
            check(total["min_ns"] == min(durations) and total["max_ns"] == max(durations), "totals: min, max")
        check(total.get("bytes", 0) == sum(e.get("bytes", 0) for e in events), "totals: bytes")
        moved = sum(e["duration"] for e in events if "duration" in e and e.get("bytes") is not None)
        has_rate = total["kind"] in ("memcpy", "memset") and total["operation"] != "map" and moved > 0
        check(("bytes_per_second" in total) == has_rate, "only what moves has a rate: %s" % total)
    failed = collections.Counter((e["name"], e["result"]) for e in inside if e["kind"] == "api" and RESULTS[e["name"]][e["result"]])
    check({(one["name"], one["result"]): one["count"] for one in stats["failed_calls"]} == failed, "failed calls")
    text = run("view", path, "--stats", *options).stdout.decode()
    rows = text.split("\nFAILED CALLS", 1)[1].split("\n\n", 1)[0].splitlines()[1:] if failed else []
    check({(row.split()[0], int(row.split()[2])): int(row.split()[1]) for row in rows} == failed, text)
    check(failed or "FAILED CALLS" not in text, text)
    for device in stats["device_busy"]:
        work = [e for e in inside if e["kind"] in WORK and tracks[e["track"]][2] == device["device"]]
        check(device["busy_ns"] == len(ticks(work, low, high)), "device busy")
        check(device["share"] <= 1, "no device is busier than there is time")
        check(device["work_ns"] == sum(len(ticks([e], low, high)) for e in work), "device work")
    for track in stats["track_busy"]:
        own = [e for e in inside if e["track"] == track["track"]]
        for member, kinds in (("device_work_ns", WORK), ("calls_ns", ("api",)), ("waiting_ns", ("sync",))):
            check(track[member] == len(ticks([e for e in own if e["kind"] in kinds], low, high)), member)
    return stats


def check_memory(stats, trace, tracks):
    for memory in stats["memory"]:
        events = [e for e in trace.events if e["kind"] == "alloc" and tracks[e["track"]][1] == memory["process"]]
        check(memory["allocations"] == len(events), "memory: allocations")
        check(memory["peak_bytes"] == max(e["live_bytes"] for e in events), "memory: peak")


def check_unknown_waits(directory):
    """Another profiler's calls that wait are calls among others: how long a thread waited is not known, and not 0."""
    path = os.path.join(directory, "kineto.json")
    call = {"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 7, "tid": 7, "ts": 1, "dur": 5}
    with open(path, "w") as file:
        json.dump({"traceEvents": [call]}, file)
    rows = json.loads(run("view", path, "--stats", "--json").stdout)["track_busy"]
    check([(r["calls_ns"], r["waiting_ns"]) for r in rows] == [(5000, None)], "unknown waits: %s" % rows)
    check("analyze --only sync" in run("view", path, "--stats").stdout.decode(), "and where to look")


def check_waits_of_queues(directory):
    """A queue that waits is no host thread, and a thread without calls has no time in calls."""
    path = os.path.join(directory, "queue.sbt")
    trace = Trace()
    trace.process(1, "program")
    trace.device("device")
    queue, calls, waits = trace.track("queue", "q", 1, 1), trace.track("thread", "calling", 1), trace.track("thread", "waiting", 1)
    trace.event(queue, "kernel", 0, duration=50, name="k")
    trace.event(queue, "sync", 60, duration=30, operation="wait")
    trace.event(calls, "api", 0, duration=10, name="clFinish")
    trace.event(waits, "sync", 0, duration=20, operation="wait")
    trace.write(path)
    text = run("view", path, "--stats").stdout.decode().split("HOST THREADS", 1)[1].split("\n\n", 1)[0]
    rows = [line.split() for line in text.splitlines()[1:]]
    check([row[0] for row in rows] == ["calling", "waiting"], text)
    check(rows[1][1:3] == ["-", "-"] and rows[1][3:5] == ["20", "ns"], text)


def check_long_names(directory):
    """Names that begin alike can be told apart in a table that is narrower than they are."""
    path = os.path.join(directory, "long.sbt")
    trace = Trace()
    trace.process(1, "program")
    trace.device("device")
    queue = trace.track("queue", "q", 1, 1)
    begin = "void library::kernels::elementwise<4, float, library::"
    names = [begin + end + ">(int, int)" for end in ("add", "mul", "p\u00e9r", "p\u00e8r")] + [begin, "short"]
    for i, name in enumerate(names):
        trace.event(queue, "kernel", 100 * i, duration=60 - i, name=name)
    trace.write(path)
    lines = run("view", path, "--stats").stdout.decode().split("\nKERNELS", 1)[1].split("\n")[1:len(names) + 1]
    shown = [line[:22].strip() for line in lines]
    check(len(set(shown)) == len(names), shown)
    for name, text in zip(names, shown):
        check(all(part in name for part in text.split("~")), (name, text))


def main():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "t.sbt")
        for seed in range(4):
            rng = random.Random(seed)
            trace, tracks = make(rng)
            trace.write(path)
            first = min(e["start"] for e in trace.events)
            last = max(e["start"] + e.get("duration", 0) for e in trace.events)
            stats = check_window(path, trace, tracks, first, last, [])
            check_waits(stats, trace, tracks)
            check_memory(stats, trace, tracks)
            # What has no stack, or not all of it, was recorded.
            losses = [e for e in trace.events if e["kind"] == "loss" and e["reason"] == "ring_full"]
            check(stats["lost_in_window"] == {"events": sum(e["lost"] for e in losses),
                                              "unrecorded_ns": len(ticks(losses, first, last))}, "losses")
            low, high = first + 300, first + 1700
            check_window(path, trace, tracks, low, high, ["--from", "300ns", "--to", "1.7us"])
            text = run("view", path, "--stats").stdout.decode()
            check(max(map(len, text.splitlines())) <= 80, "80 columns")
            for title in ("DEVICES AND QUEUES", "KERNELS", "TRANSFERS", "WHAT THE HOST WAITED FOR", "DEVICE MEMORY"):
                check(title in text, title)
        check_unknown_waits(directory)
        check_waits_of_queues(directory)
        check_long_names(directory)


main()
