# SPDX-License-Identifier: Apache-2.0
"""Makes traces of PyTorch and of Nsight Systems whose allocations are known, and compares `analyze memory` with the
reference (tests/reference/memory.py), which reads the files itself, and one of them with what was worked out by hand."""
import gzip
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "reference"))
import memory  # noqa: E402
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
    return 1 if failures else 0


sys.exit(main())
