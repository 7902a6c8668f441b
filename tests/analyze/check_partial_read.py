# SPDX-License-Identifier: Apache-2.0
"""Writes made Kineto traces, whole and damaged, and compares the partial of them with the partial of the same traces after `import`, which reads
every argument and call stack. One trace is read by two threads; several by processes with one thread each."""
import json
import os
import random
import subprocess
import sys
import tempfile

RANKS, EVENTS = 3, 6000


def arguments(chance, number):
    made = {"External id": number, "stream": 7, "device": 0, "grid": [chance.randrange(1, 9), 1, 1], "block": [64, 1, 1],
            "correlation": number, "Input Dims": [[chance.randrange(9), 3], [], "]}\""], "memory bandwidth (GB/s)": chance.random() * 100,
            "text": "x" * chance.randrange(90), "escaped": "\u00e4\"\\\n" * chance.randrange(20), "huge": 10 ** chance.randrange(30),
            "none": None, "yes": True, "Python id": -number}
    return {key: made[key] for key in chance.sample(sorted(made), chance.randrange(len(made)))}


def event(chance, number, rank):
    at = 1712195495523640 + 10 * number + chance.random()
    one = {"ph": "X", "cat": "kernel", "name": f"kernel{number % 7}", "pid": 0, "tid": 7, "ts": at, "dur": chance.random() * 9,
           "args": arguments(chance, number)}
    kind = chance.randrange(12)
    if kind < 4:
        one.update(name="ncclDevKernel_AllReduce_Sum_f32_RING_LL")
        one["args"].update({"Process Group Name": str(chance.randrange(3)), "Collective name": "allreduce"})
    elif kind == 4:
        one.update(cat="python_function", name=f"model.py({number % 50}): forward", pid=100 + rank, tid=1)
    elif kind == 5:
        one.update(cat="cuda_runtime", name="cudaLaunchKernel", pid=100 + rank, tid=1)
    elif kind == 6:
        one = {"ph": "s", "id": number, "pid": 0, "tid": 7, "ts": at, "cat": "ac2g", "name": "ac2g"}
    elif kind == 7:
        one = {"ph": chance.choice("BE"), "name": "range", "pid": 100 + rank, "tid": 2, "ts": at, "args": arguments(chance, number)}
    elif kind == 8:
        one = {"ph": "C", "name": "memory", "pid": 100 + rank, "ts": at, "args": {"External id": number, "text": "bytes"}}
    elif kind == 9:
        one.update(cat="user_annotation", name=f"ProfilerStep#{number // 100}", pid=100 + rank, tid=1)
    elif kind == 10 and number % 50 == 0:
        one["args"].update({f"key {i}": i for i in range(4200)})  # more than an event may have
    if chance.randrange(9) == 0:  # what an event is, behind its arguments
        one["ph"] = one.pop("ph")
    return json.dumps(one, ensure_ascii=chance.randrange(2) == 0).encode()


def write(path, rank, seed, damaged):
    chance = random.Random(seed)
    rows = []
    for number in range(EVENTS):
        rows.append(event(chance, number, rank))
        if damaged and chance.randrange(300) == 0:
            rows.append(b'{"ph": "X", "name": "a "quoted" one", "ts": 1, "args": {"text": "\xff\xfe\x01", "x": NaN, "broken": }}')
    info = json.dumps({"backend": "nccl", "rank": rank, "world_size": RANKS}).encode()
    with open(path, "wb") as out:
        out.write(b'{"distributedInfo": ' + info + b', "traceEvents": [\n' + b",\n".join(rows) + (b"" if damaged == 2 else b"\n]}\n"))


def run(folder, *words):
    done = subprocess.run([os.environ["TRACESMITH"], *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode not in (0, 3, 4, 5) or done.returncode < 0:
        print(*words, "exits with", done.returncode, done.stderr.decode(errors="replace"))
    return done


def read(path):
    """The entries of a partial, without their checksums, and without the flag that the trace ends early, which `import` does not keep."""
    with open(path, "rb") as file:
        content = file.read()
    entries, at = [], 24
    while at < len(content):
        length = int.from_bytes(content[at:at + 4], "little")
        entries.append(bytes([content[at + 8] & ~2]) + content[at + 9:at + 8 + length])
        at += 8 + length
    return entries


def main():
    failures = 0
    for damaged in range(3):
        with tempfile.TemporaryDirectory() as json_folder, tempfile.TemporaryDirectory() as sbt_folder:
            names = [f"rank{rank}" for rank in range(RANKS)]
            for rank, name in enumerate(names):
                write(os.path.join(json_folder, name), rank, 10 * damaged + rank, damaged)
                run(json_folder, "import", name, "-o", os.path.join(sbt_folder, name))
            for group in (names[:1], names):
                for folder in (json_folder, sbt_folder):
                    run(folder, "analyze", "--partial", "-o", "part", *group)
                left, right = (read(os.path.join(folder, "part")) for folder in (json_folder, sbt_folder))
                if left != right or len(left) != len(group) or min(map(len, left)) < 5000:
                    failures += 1
                    print(f"the partial of {len(group)} traces, damage {damaged}, is not that of imported traces")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
