# SPDX-License-Identifier: Apache-2.0
"""Traces as mcTracer (MetaX) writes them: whole nanoseconds since 1970, calls in process 1, kernels in 2, copies in 3, no
categories that say so, co_id for who launched what. The same file comes back out, with its times in microseconds."""
import collections
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

SOURCE, TRACESMITH = os.environ["TRACESMITH_SOURCE_DIR"], os.environ["TRACESMITH"]
FOLDER = tempfile.mkdtemp()
BEGIN, THREAD, FLOWS = 1788607954951367469, 4321, 1 << 24


def check(right, *what):
    if not right:
        print("not true:", *what)
        sys.exit(1)


def run(*args):
    done = subprocess.run([TRACESMITH, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240)
    check(done.returncode == 0, args, done.stderr.decode())
    return done.stdout


def call(number, name, start, duration, link):
    return {"args": {"co_id": number, "link": link, "process_id": 4300, "ret": 0, "thread_id": THREAD}, "ph": "X",
            "ts": start, "dur": duration, "name": name, "pid": 1, "tid": THREAD}


def launch(number, name, call_start, start, duration, pid, tid, args):
    """What ran, the call before it, and the arrow between them."""
    made = {"args": dict(args, co_id=number, device_id=0, link=True), "ph": "X", "ts": start, "dur": duration,
            "name": name, "pid": pid, "cat": "0", "tid": tid}
    api = "mcLaunchKernel" if pid == 2 else "mcMemcpyAsync"
    return [made,
            {"ph": "f", "id": FLOWS + number, "ts": start, "name": "Launch", "pid": pid, "bp": "e", "cat": "Launch",
             "tid": tid},
            call(number, api, call_start, 4000, True),
            {"ph": "s", "id": FLOWS + number, "ts": call_start, "name": "Launch", "pid": 1, "cat": "Launch",
             "tid": THREAD}]


def shape(x, y, z):
    return {"x": x, "y": y, "z": z}


def make(r):
    events = [{"args": {"name": "C500", "version": "0.0.1"}, "cat": "__metadata", "ph": "M", "name": "process_name",
               "pid": 2},
              {"args": {"name": "main"}, "ph": "M", "name": "thread_name", "pid": 1, "tid": THREAD},
              call(1, "mcInit", BEGIN, 7019, False)]
    wanted, now = [(BEGIN, 7019, "mcInit", "api", 1, None)], BEGIN + 100000
    for number in range(2, 400):
        start, duration = now + r.randrange(5000, 9000), r.randrange(256, 60000)
        what = r.choice(["kernel", "kernel", "copy", "call"])
        if what == "kernel":
            name, grid = "kernel_%d(int, float*)" % r.randrange(5), shape(r.randrange(1, 99), r.randrange(1, 4), 1)
            events += launch(number, name, now, start, duration, 2, 1024, {
                "block": shape(256, 1, 1), "grid": grid, "complete_ts": start + duration + 900, "dispatch_id": 0,
                "hw_queue_id": [538976288], "is_dynamic_parallel": False, "name": "_Z8kernel", "queue_ts": now + 3000,
                "mem": {"registers_per_thread": 20, "static_shared": 4}, "mtreg_occupancy(%)": 3,
                "submit_ts": now + 3500})
            wanted.append((start, duration, name, "kernel", number, (grid["x"] * 256, grid["y"], 1, now + 3000)))
            wanted.append((now, 4000, "mcLaunchKernel", "api", number, None))
        elif what == "copy":
            name = r.choice(["memcpy HTOD(pinned,device)", "memcpy DTOH(device,pageable)"])
            events += launch(number, name, now, start, duration, 3, 0,
                             {"bytes": 132, "copy_kind": 1, "kind": 1, "stream_id": 0})
            wanted.append((start, duration, name, "memcpy", number, None))
            wanted.append((now, 4000, "mcMemcpyAsync", "api", number, None))
        else:
            events.append(call(number, "mcStreamSynchronize", now, duration, False))
            wanted.append((now, duration, "mcStreamSynchronize", "api", number, None))
        now += r.randrange(70000, 90000)
    return events, wanted


def main():
    events, wanted = make(random.Random(3))
    path, out = os.path.join(FOLDER, "tracer_out-4300.json"), os.path.join(FOLDER, "out.json")
    with open(path, "w") as file:
        json.dump({"traceEvents": events}, file, indent=0)
    document = json.loads(run("view", "-f", "json", path))
    tracks = {t["id"]: t for t in document["tracks"]}
    got = [(e["start"], e["duration"], e["name"], e["kind"], e["correlation"],
            (e["global_x"], e["global_y"], e["global_z"], e["queued"]) if "global_x" in e else None)
           for e in document["events"]]
    check(sorted(got, key=repr) == sorted(wanted, key=repr), "events", sorted(set(wanted) - set(got), key=repr)[:2],
          sorted(set(got) - set(wanted), key=repr)[:2])
    check([(d["name"], d["vendor"]) for d in document["devices"]] == [("C500", "MetaX")], document["devices"])
    check({t["queue"] for t in tracks.values() if t["kind"] == "queue"} == {1024, 0}, "queues")

    counts = {row["call"]: row["count"] for row in table(path, "launches", "calls")}
    by_name = collections.Counter(name for _, _, name, _, _, _ in wanted)
    check(counts == {name: by_name[name] for name in ("mcLaunchKernel", "mcMemcpyAsync")}, counts)
    check({row["direction"] for row in table(path, "bandwidth", "directions")} == {"h2d", "d2h"},
          "directions")
    run("export", "-f", "chrome", path, "-o", out)
    want = collections.Counter(json.dumps(event, sort_keys=True) for event in events)
    have = collections.Counter(json.dumps(event, sort_keys=True) for event in read_in_ns(out))
    check(have == want, "the same comes out", list((want - have).elements())[:2], list((have - want).elements())[:2])


def table(path, report, name):
    return json.loads(run("analyze", path, "--only", report, "--json"))["traces"][0]["reports"][0]["tables"][name]


def read_in_ns(path):
    """Microseconds as they are printed, in whole nanoseconds again: a double has not so many digits."""
    with open(path) as file:
        events = json.load(file, parse_float=str)["traceEvents"]
    for event in events:
        for key in ("ts", "dur"):
            if key in event:
                whole, _, rest = str(event[key]).partition(".")
                event[key] = int(whole) * 1000 + int((rest + "000")[:3])
        if not str(event.get("cat", "")).startswith("tracesmith."):
            yield event


try:
    main()
finally:
    shutil.rmtree(FOLDER)
