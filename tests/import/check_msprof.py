# SPDX-License-Identifier: Apache-2.0
"""Traces as msprof and torch_npu write them (Ascend): times as strings, hardware and runtime by the names of their
processes; and they come back out as they were (compare_chrome.py)."""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

SOURCE, TRACESMITH = os.environ["TRACESMITH_SOURCE_DIR"], os.environ["TRACESMITH"]
FOLDER = tempfile.mkdtemp()
TASKS = {"MatMulV2": "kernel", "aclnnAdd_AddAiCore_Add": "kernel", "MEMCPY_ASYNC": "memcpy", "EVENT_WAIT": "sync",
         "EVENT_RECORD": "event_record"}
HARDWARE, CANN, PYTHON = 118432032, 118432000, 118431968


def check(right, *what):
    if not right:
        print("not true:", *what)
        sys.exit(1)


def run(*args):
    done = subprocess.run([TRACESMITH, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240)
    check(done.returncode == 0, args, done.stderr.decode())
    return done.stdout


def name(what, pid, tid, text):
    return {"name": what, "pid": pid, "tid": tid, "ph": "M", "args": {"name": text}}


def main():
    r = random.Random(1)
    events = [name("process_name", HARDWARE, 0, "Ascend Hardware"), name("process_name", CANN, 0, "CANN"),
              name("process_name", PYTHON, 0, "Python"), name("thread_name", HARDWARE, 3, "Stream 3"),
              name("thread_name", HARDWARE, 9, "Stream 9"), name("thread_name", CANN, 77, "Thread 77")]
    wanted = []
    for i in range(400):
        pid, tid, task, kind = r.choice([(HARDWARE, 3, *t) for t in TASKS.items()] +
                                        [(HARDWARE, 9, *t) for t in TASKS.items()] +
                                        [(CANN, 77, "AscendCL@aclrtLaunchKernel", "api"),
                                         (PYTHON, 5, "aten::mm", "range")])
        at = 1699529623106750 + i * 10
        events.append({"name": task, "pid": pid, "tid": tid, "ts": "%d.%03d" % (at, i % 1000), "dur": r.choice([1.5, 20]),
                       "ph": "X", "args": {"Task Type": "AI_CORE", "Stream Id": tid, "connection_id": i}})
        wanted.append((at * 1000 + i % 1000, task, kind, pid, tid))
    path, out = os.path.join(FOLDER, "trace_view.json"), os.path.join(FOLDER, "out.json")
    with open(path, "w") as file:
        json.dump(events, file)
    document = json.loads(run("view", "-f", "json", path))
    pids = {p["id"]: p["pid"] for p in document["processes"]}
    tracks = {t["id"]: t for t in document["tracks"]}
    got = [(e["start"], e["name"], e["kind"], pids[tracks[e["track"]]["process"]], tracks[e["track"]]["tid"])
           for e in document["events"]]
    check(sorted(got) == sorted(wanted), sorted(set(wanted) - set(got))[:3], sorted(set(got) - set(wanted))[:3])
    queues = {(t["name"], t["queue"]) for t in tracks.values() if t["kind"] == "queue"}
    check(queues == {("Stream 3", 3), ("Stream 9", 9)}, queues)
    check([d["name"] for d in document["devices"]] == ["Ascend NPU"], document["devices"])
    run("export", "-f", "chrome", path, "-o", out)
    same = subprocess.run([sys.executable, os.path.join(SOURCE, "tests", "import", "compare_chrome.py"), path, out],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(same.returncode == 0, same.stdout.decode()[-1000:])


try:
    main()
finally:
    shutil.rmtree(FOLDER)
