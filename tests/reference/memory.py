# SPDX-License-Identifier: Apache-2.0
"""Memory of the devices: what is alive, byte by byte of the addresses where the trace has them, and what the allocator
says of itself. Change is (when, freed, address or 0, bytes, pid, device, name, allocated, reserved)."""
import collections

Change = collections.namedtuple("Change", "time freed address bytes pid device name allocated reserved")


def unite(blocks):
    united = []
    for a, b in sorted(blocks):
        if united and a <= united[-1][1]:
            united[-1][1] = max(united[-1][1], b)
        else:
            united.append([a, b])
    return united


def pieces(arena, alive):
    """What of the arena is not alive, as lengths of unbroken pieces: every end of a block cuts memory into cells."""
    change = collections.defaultdict(lambda: [0, 0])
    for i, blocks in enumerate((arena, alive)):
        for a, b in blocks:
            change[a][i] += 1
            change[b][i] -= 1
    found, run, depth, last = [], 0, [0, 0], None
    for cut in sorted(change):
        if depth[0] and not depth[1]:
            run += cut - last
        elif run:
            found.append(run)
            run = 0
        depth, last = [depth[0] + change[cut][0], depth[1] + change[cut][1]], cut
    return found + ([run] if run else [])


def replay(changes):
    """After each change: the bytes alive, and what is alive by address."""
    alive, live, ever = {}, 0, set()
    sums = collections.Counter()
    known = False
    for number, change in enumerate(changes):
        known |= change.address != 0
        if not change.freed:
            live += change.bytes
            if change.address:
                alive[change.address] = number
                ever.add(change.address)
        elif not change.address and not known:
            live -= change.bytes
        elif change.address in alive:
            live -= changes[alive.pop(change.address)].bytes
        else:
            sums["twice" if change.address in ever else "unknown"] += 1
        yield number, live, alive, sums


def measure(changes):
    addressed = any(change.address for change in changes)
    peak, peak_at, peak_number, blocks = 0, changes[0].time, None, []
    for number, live, alive, sums in replay(changes):
        if live > peak:
            peak, peak_at, peak_number = live, changes[number].time, number
    leaks = [changes[number] for number in alive.values()]
    blocks_peak = peak
    counters = [(c.allocated, -c.time) for c in changes if c.allocated is not None]
    counted, counted_at = max(counters, default=(None, None))
    if counted is not None and counted > peak:
        peak, peak_at = counted, -counted_at
    if addressed and blocks_peak:  # once more, as far as the peak
        blocks = next(list(alive.values()) for number, _, alive, _ in replay(changes) if number == peak_number)
    row = (sum(not c.freed for c in changes), sum(c.freed for c in changes), peak, peak_at, live)
    row += (len(leaks), sums["twice"], sums["unknown"]) if addressed else (None,) * 3
    row += (counted,)
    span = lambda change: (change.address, change.address + change.bytes)
    arena = unite([span(c) for c in changes[:(-1 if peak_number is None else peak_number) + 1]
                   if c.address and not c.freed and c.bytes])
    free = pieces(arena, unite([span(changes[number]) for number in blocks if changes[number].bytes]))
    space = (None,) * 3
    if addressed and blocks_peak:
        space = (sum(b - a for a, b in arena), sum(free), max(free, default=0))
    told = [change for change in changes if change.reserved is not None]
    most = min(told, key=lambda c: (-c.allocated, c.time), default=None)
    space += (most.allocated, max(c.reserved for c in told), most.reserved - most.allocated) if most else (None,) * 3
    return row, space if addressed and blocks_peak or most else None, leaks


def check(trace, reports, expect):
    tables = reports["memory"]["tables"]
    places = collections.defaultdict(list)
    for change in sorted(trace.memory, key=lambda c: (c.time, not c.freed, c.address)):
        places[change.pid, change.device].append(change)
    processes, spaces, leaks = [], [], []
    for place in sorted(places):
        row, space, lost = measure(places[place])
        processes.append(place + row[:3] + (row[3] - trace.first,) + row[4:])
        spaces += [place + space] if space else []
        leaks += [(place[0], change.bytes, change.time - trace.first, change.address, change.name) for change in lost]
    columns = ("process", "device", "allocations", "frees", "peak_bytes", "peak_at_ns", "live_at_end_bytes",
               "never_freed", "freed_twice", "freed_unknown", "counter_bytes")
    rows = sorted(tables["processes"], key=lambda row: (row["process"], row["device"]))
    expect("memory", [tuple(row[column] for column in columns) for row in rows], processes)
    columns = ("process", "device", "known_bytes", "free_bytes", "largest_free_bytes", "peak_allocated_bytes",
               "peak_reserved_bytes", "unused_bytes")
    rows = sorted(tables["fragmentation"], key=lambda row: (row["process"], row["device"]))
    expect("free memory", [tuple(row[column] for column in columns) for row in rows], spaces)
    for row, space in zip(rows, spaces):
        expect("fragmentation", row["fragmentation"], 1 - space[4] / space[3] if space[3] else None)
    columns = ("process", "size_bytes", "at_ns", "object", "call")
    expect("never freed", sorted(tuple(row[column] for column in columns) for row in tables["never_freed"]),
           sorted(leaks))
