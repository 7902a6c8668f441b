# SPDX-License-Identifier: Apache-2.0
"""Makes traces of PyTorch and of Nsight Systems whose allocations are known, and compares `analyze memory` with the
reference (tests/reference/memory.py), which reads the files itself, and one of them with what was worked out by hand."""
import collections
import gzip
import json
import os
import pickle
import random
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "reference"))
sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "import"))
import memory  # noqa: E402
import torch_snapshot  # noqa: E402
from trace import read_trace  # noqa: E402

failures = 0


def expect(what, got, wanted):
    global failures
    if got != wanted and not (isinstance(wanted, float) and got is not None and abs(got - wanted) < 1e-6):
        failures += 1
        print(f"{what}: {got}, expected {wanted}")


def analyze(path):
    output = subprocess.run([os.environ["TRACESMITH"], "analyze", "--json", path, "memory"], check=True,
                            stdout=subprocess.PIPE).stdout
    return {report["report"]: report for report in json.loads(output)["traces"][0]["reports"]}


def compare(what, path):
    reports = analyze(path)
    memory.check(read_trace(path), reports, lambda column, got, wanted: expect(f"{what}: {column}", got, wanted))
    return reports["memory"]["tables"]


class Allocator:
    """Random changes of one device, now and then of blocks that are not alive; some are never freed."""

    def __init__(self, chance, base):
        self.chance, self.base, self.alive, self.gone = chance, base, {}, []
        self.allocated, self.reserved = 1 << 20, 64 << 20  # before the trace

    def step(self):
        """(address, bytes), bytes < 0 for a free."""
        what = self.chance.random()
        if what < 0.02:
            return self.base + (1 << 30), -512
        if what < 0.05 and self.gone:
            address = self.chance.choice(self.gone)
            if address not in self.alive:
                return address, -512
        if what < 0.5 and self.alive:
            address = self.chance.choice(sorted(self.alive))
            size = self.alive.pop(address)
            self.gone.append(address)
            self.allocated -= size
            return address, -size
        size = self.chance.randrange(1, 20) * 512
        while True:
            address = self.base + self.chance.randrange(4000) * 512
            if all(address + size <= a or a + s <= address for a, s in self.alive.items()):
                break
        self.alive[address] = size
        self.allocated += size
        self.reserved = max(self.reserved, self.allocated * 2)
        return address, size


def write_kineto(path, changes):
    events = []
    for i, (pid, kind, device, address, size, allocated, reserved) in enumerate(changes):
        arguments = {"Total Reserved": reserved, "Total Allocated": allocated, "Bytes": size, "Addr": address,
                     "Device Id": device, "Device Type": kind, "Ev Idx": i}
        if address is None:
            del arguments["Addr"]
        events.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": pid, "tid": pid,
                       "ts": 1000 + i, "args": arguments})
    with gzip.open(path, "wt", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "traceEvents": events}, file)


def make_kineto(chance, path, addresses):
    places = [(pid, kind, device) for pid in (41, 42) for kind, device in ((0, -1), (1, 0), (1, 1))]
    allocators = {place: Allocator(chance, 0x7f0000000000 + (i << 32)) for i, place in enumerate(places)}
    changes = []
    for _ in range(3000):
        place = chance.choice(places)
        allocator = allocators[place]
        address, size = allocator.step()
        changes.append(place + (address if addresses else None, size, allocator.allocated, allocator.reserved))
    write_kineto(path, changes)


def make_nsys(chance, path):
    database = sqlite3.connect(path)
    work = "start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER"
    database.executescript(f"""
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER, name TEXT, label TEXT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({work}, demangledName INTEGER, gridX INTEGER, gridY INTEGER,
            gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY ({work}, bytes INTEGER, copyKind INTEGER, srcKind INTEGER,
            dstKind INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET ({work}, bytes INTEGER, memKind INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER,
            correlationId INTEGER, nameId INTEGER);
        CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER, deviceId INTEGER,
            contextId INTEGER, address INTEGER, bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER,
            name TEXT);""")
    labels = chance.random() < 0.5  # else kinds of memory stay numbers
    if labels:
        database.executemany("INSERT INTO ENUM_CUDA_MEM_KIND VALUES (?, ?, ?)",
                             [(0, "PAGEABLE", "Pageable"), (1, "PINNED", "Pinned"), (2, "DEVICE", "Device")])
    places = [(pid << 24, device, kind) for pid in (51, 52) for device in (0, 1) for kind in (1, 2)]
    allocators = {place: Allocator(chance, 0x7f0000000000 + (i << 32)) for i, place in enumerate(places)}
    for i in range(3000):
        pid, device, kind = place = chance.choice(places)
        address, size = allocators[place].step()
        database.execute("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?)",
                         (5000 + i, pid, device, address, abs(size), kind, size < 0, f"variable {i % 7}"))
    database.commit()
    database.close()


def check_by_hand(folder):
    """Four blocks of 100 bytes, the first and the third freed, and one of 300 behind them: of 700 bytes 200 are free, in
    two pieces of 100."""
    path = os.path.join(folder, "hand.json.gz")
    sizes = [(0, 100), (100, 100), (200, 100), (300, 100), (0, -100), (200, -100), (400, 300), (100, -100)]
    write_kineto(path, [(1, 1, 0, 0x1000 + at, size, 5000, 8000) for at, size in sizes])
    tables = compare("by hand", path)
    row, space = tables["processes"][0], tables["fragmentation"][0]
    expect("by hand", [row[c] for c in ("allocations", "frees", "peak_bytes", "peak_at_ns", "live_at_end_bytes",
                                        "never_freed", "counter_bytes")], [5, 3, 5000, 0, 400, 2, 5000])  # the allocator counts what was before
    expect("by hand", [space[c] for c in ("known_bytes", "free_bytes", "largest_free_bytes", "fragmentation",
                                          "peak_allocated_bytes", "peak_reserved_bytes", "unused_bytes",
                                          "unused_share")], [700, 200, 100, 0.5, 5000, 8000, 3000, 0.375])

class Brute:
    """What was alive on a device of a snapshot, worked out entry by entry from the allocator's own whole history."""

    def __init__(self, allocator, device):
        history, kept = device.history, allocator.kept(device)
        alive, self.states = {}, []
        for entry in history[:len(history) - len(kept)]:
            self.apply(alive, entry)
        self.before, self.kept = dict(alive), kept
        first = kept[0]["time_us"] * 1000
        self.states.append((first - 1, dict(alive)))
        self.made = list(alive.values())
        last, self.freed = first - 1, {}
        for entry in kept:
            last = max(entry["time_us"] * 1000, last + 1)
            if entry["action"] == "free_requested":
                self.freed[last] = alive[entry["addr"]][0]
            self.apply(alive, entry)
            if entry["action"] == "alloc":
                self.made.append(alive[entry["addr"]] + (last,))
            self.states.append((last, dict(alive)))
        self.sums = [sum(block[0] for block in state.values()) for _, state in self.states]
        self.peak = max(self.sums)
        self.at_peak = self.states[self.sums.index(self.peak)][1]
        self.left = self.states[-1][1]

    @staticmethod
    def apply(alive, entry):
        if entry["action"] == "alloc":
            path = ";".join(frame["name"] for frame in reversed(entry["frames"]))
            alive[entry["addr"]] = entry["size"], path, entry["stream"]
        elif entry["action"] == "free_requested":
            del alive[entry["addr"]]

    def by(self, what, blocks):
        sums = collections.defaultdict(lambda: [0, 0])
        for block in blocks:
            sums[block[what]][0] += block[0]
            sums[block[what]][1] += 1
        return {key: tuple(value) for key, value in sums.items()}

    def during(self, start, end):
        """Most alive, allocated and freed while start <= t < end."""
        most = max([self.sums[max(i for i, (t, _) in enumerate(self.states) if t < start)]] if self.states[0][0] < start else [0],
                   default=0)
        most = max([most] + [total for (t, _), total in zip(self.states, self.sums) if start <= t < end])
        allocated = sum(block[0] for block in self.made if len(block) == 4 and start <= block[3] < end)
        freed = sum(size for t, size in self.freed.items() if start <= t < end)
        return most, allocated, freed


def expect_snapshot(what, path, allocator):
    tables = analyze(path)["memory"]["tables"]
    rows = {row["device"]: row for row in tables["processes"]}
    starts, brutes = [], {}
    for device in allocator.devices:
        brutes[device.number] = brute = Brute(allocator, device)
        starts.append(brute.states[0][0] if brute.before else brute.states[1][0])
        row = rows[device.number]
        expect(f"{what}: peak", row["peak_bytes"], brute.peak)
        expect(f"{what}: at the end", (row["live_at_end_bytes"], row["never_freed"]),
               (sum(block[0] for block in brute.left.values()), len(brute.left)))
        expect(f"{what}: before", (row["before_count"], row["before_bytes"]),
               (len(brute.before), sum(block[0] for block in brute.before.values())) if brute.before else (None, None))
    first = min(starts)
    for number, brute in brutes.items():
        for table, column, key in (("sites", "stack", 1), ("streams", "track", 2)):
            found = [row for row in tables[table] if row["device"] == number]
            name = lambda row: row[column] if key == 1 else int(row[column].split()[1])  # noqa: B023, E731
            old = {block[1] for block in brute.before.values()} - {block[1] for block in brute.left.values()} if key == 1 else ()
            got = {name(row): (row["at_peak_bytes"], row["objects_at_peak"]) for row in found if row["at_peak_bytes"]}
            wanted = brute.by(key, brute.at_peak.values())
            if not old:  # of what was allocated before and freed in the history, the stack is not known
                expect(f"{what}: {table} at the peak", got, wanted)
            got = {name(row): (row["live_at_end_bytes"], row["never_freed"]) for row in found if row["never_freed"]}
            expect(f"{what}: {table} at the end", got, brute.by(key, brute.left.values()))
            expect(f"{what}: sum of {table}", sum(row["at_peak_bytes"] for row in found), brute.peak)
        for row in tables["phases"]:
            if row["device"] == number:
                start, end = allocator.ranges[row["range"]]
                expect(f"{what}: {row['range']}", (row["most_bytes"], row["allocated_bytes"], row["freed_bytes"]),
                       brute.during(start, end))
        course = [row for row in tables["over_time"] if row["device"] == number]
        expect(f"{what}: parts of the time", len(course), 100)
        expect(f"{what}: most over time", max(row["most_bytes"] for row in course), brute.peak)
        expect(f"{what}: the end over time", course[-1]["live_bytes"], brute.sums[-1])
        for row in course:
            later = [total for (t, _), total in zip(brute.states, brute.sums) if t < first + row["at_ns"]]
            upto = course[course.index(row) - 1]["live_bytes"] if row is not course[0] else None
            if upto is not None:
                expect(f"{what}: alive at {row['at_ns']}", upto, later[-1] if later else 0)
    expect(f"{what}: phases", {row["range"] for row in tables["phases"]}, set(allocator.ranges))
    expect(f"{what}: segments", len(tables["segments"]), sum(len(device.segments) for device in allocator.devices))


def check_diff(folder):
    """What two snapshots had alive at their peaks, by stack; each site is in both or in one."""
    paths, sums = [], []
    for i, seed in enumerate((11, 12)):
        allocator = torch_snapshot.make(seed, 200, 1)
        brute = Brute(allocator, allocator.devices[0])
        sums.append(brute.by(1, brute.at_peak.values()))
        paths.append(os.path.join(folder, f"diff{i}.pickle"))
        with open(paths[-1], "wb") as file:
            pickle.dump(allocator.snapshot(), file)
    output = subprocess.run([os.environ["TRACESMITH"], "diff", "--json", *paths], check=True, stdout=subprocess.PIPE).stdout
    tables = json.loads(output)["diff"]["tables"]
    got = {row["stack"]: (row["base_bytes"], row["base_count"], row["new_bytes"], row["new_count"]) for row in tables["sites"]}
    expect("diff of snapshots", got, {stack: sums[0].get(stack, (0, 0)) + sums[1].get(stack, (0, 0)) for stack in {*sums[0], *sums[1]}})


def check_snapshots(chance, folder):
    for seed in range(6):
        allocator = torch_snapshot.make(seed, 300, 1 + seed % 2, (None, 50)[seed // 3])
        times = sorted(entry["time_us"] for device in allocator.devices for entry in allocator.kept(device))
        allocator.ranges = {}
        for i in range(5):
            start, end = sorted((chance.choice(times), chance.choice(times) + 1))
            allocator.ranges[f"step {i}"] = start * 1000, end * 1000
            allocator.annotations += [{"name": f"step {i}", "stage": stage, "device": 0, "time_us": time}
                                      for stage, time in (("START", start), ("END", end))]
        path = os.path.join(folder, "snapshot.pickle")
        with open(path, "wb") as file:
            pickle.dump(allocator.snapshot(), file)
        expect_snapshot(f"snapshot {seed}", path, allocator)


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_by_hand(folder)
        for seed in range(4):
            chance = random.Random(seed)
            path = os.path.join(folder, f"{seed}.json.gz")
            make_kineto(chance, path, seed < 3)
            tables = compare(f"PyTorch, seed {seed}", path)
            expect("places", len(tables["processes"]), 4)  # no host
            path = os.path.join(folder, f"{seed}.sqlite")
            make_nsys(chance, path)
            expect("places", len(compare(f"Nsight Systems, seed {seed}", path)["processes"]), 4)
        check_snapshots(random.Random(7), folder)
        check_diff(folder)
    return 1 if failures else 0


sys.exit(main())
