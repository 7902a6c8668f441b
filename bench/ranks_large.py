# SPDX-License-Identifier: Apache-2.0
"""ranks_large.py FOLDER RANKS TRACE [MB]: writes RANKS traces of MB (10) each: the collectives and steps of a simulated run (those of ranks.py), and
for the rest events of TRACE, a trace of PyTorch's profiler, in its own words. Prints the ranks whose kernels are slower, the pair with a slow link and
the ranks whose files are cut off or absent.

ranks_large.py --check RANKS ANSWER: compares ANSWER, the JSON of `analyze --ranks`, with them.

What TRACE has of collectives and steps is left out, so the truth is the simulation's. The run is stretched to the length of these events, and they are
moved to its beginning; there are eight versions, each moved by another time, and the clocks of the ranks differ by milliseconds."""
import gzip
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "analyze"))
import check_ranks  # noqa: E402

VERSIONS, BETWEEN_NS, BEGIN_US = 8, 7_000_000, 1712195495000000
TIME = re.compile(rb'"ts": ?(\d+)')
FOREIGN = re.compile(rb"(?i)nccl|ProfilerStep|process_group|Process Group")


class Faults:
    def __init__(self, ranks):
        self.late = {ranks * 12 // 1000: 2500, ranks * 417 // 1000: 1500, ranks * 9 // 10: 2000}
        self.link = ranks * 6 // 10 // 2 * 2  # and the rank after it
        self.cut = {ranks * part // 1000: share for part, share in ((33, 0.999), (250, 0.5), (251, 0.9), (501, 0.01), (998, 0.7))}
        self.empty, self.absent = ranks * 77 // 100, ranks * 81 // 100

    def __str__(self):
        return (f"ranks with slower kernels: {sorted(self.late)}, slow link: {self.link}-{self.link + 1}, "
                f"cut off: {sorted(self.cut)}, empty: {self.empty}, absent: {self.absent}")


def read_events(trace, size):
    """Whole events of the trace, up to so many bytes."""
    with gzip.open(trace) as file:
        text = file.read()
    text = text[text.index(b'"traceEvents"'):]
    text = text[text.index(b"{"):]
    kept, used = [], 0
    for event in re.split(rb"(?<=\})\s*,\s*(?=\{\s*\"ph\")", text):
        if FOREIGN.search(event) or b'"ph": "X"' not in event[:64] and b'"ph": "s"' not in event[:64] and b'"ph": "f"' not in event[:64]:
            continue
        used += len(event) + 2
        if used > size:
            return kept
        kept.append(event)
    sys.exit(f"{trace} has only {used} bytes of events")


def length_ns(events):
    starts = [int(TIME.search(event)[1]) for event in events]
    return 1000 * (max(starts) - min(starts))


def move(events):
    """One text for each version."""
    first = min(int(TIME.search(event)[1]) for event in events)
    for version in range(VERSIONS):
        by = BEGIN_US + version * BETWEEN_NS // 1000 - first
        yield TIME.sub(lambda match: b'"ts": %d' % (int(match[1]) + by), b",\n".join(events))


class Run(check_ranks.Run):
    def __init__(self, faults, ranks):
        self.slow = str(faults.link // 2 + 1)
        super().__init__(11, faults.late, (0, 0, 1), ranks)

    def collective(self, name, group, time):
        super().collective(name, group, time * (3 if group[0] == self.slow else 1) + self.chance.randrange(200))

    def write(self, folder, events):
        texts = list(move(events))
        self.stretch = max(1, length_ns(events) // max(self.now))
        for rank in range(self.ranks):
            version = rank % VERSIONS
            clock = BEGIN_US * 1000 + version * BETWEEN_NS + self.chance.randrange(5_000_000)
            rows = [self.row(event, clock) for event in self.events[rank]]
            with open(os.path.join(folder, f"rank{rank}.json"), "wb") as out:
                out.write(b'{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": %d, "world_size": %d},\n"traceEvents": [\n'
                          % (rank, self.ranks))
                out.write(texts[version])
                out.write(b",\n" + ",\n".join(rows).encode() + b"\n]}\n")

    def row(self, event, clock):
        start, length, group = clock + self.stretch * event["ts"], self.stretch * event["dur"], event["args"].get("Process Group Name")
        arguments = f'"stream": {event["tid"]}, "device": 0' if event["cat"] == "kernel" else '"External id": 1'
        if group:
            arguments += f', "Collective name": "allreduce", "Process Group Name": "{group}"'
        return (f'{{"ph": "X", "cat": "{event["cat"]}", "name": "{event["name"]}", "pid": {event["pid"]}, "tid": {event["tid"]}, '
                f'"ts": {start // 1000}.{start % 1000:03d}, "dur": {length // 1000}.{length % 1000:03d}, "args": {{{arguments}}}}}')


def damage(folder, faults):
    path = lambda rank: os.path.join(folder, f"rank{rank}.json")
    for rank, share in faults.cut.items():
        os.truncate(path(rank), int(os.path.getsize(path(rank)) * share))
    os.truncate(path(faults.empty), 0)
    os.remove(path(faults.absent))


def check(faults, ranks, answer):
    """The ranks that are named for each fault are those of the simulation, and no others."""
    with open(answer, encoding="utf-8") as file:
        report = json.load(file)
    tables = report["tables"]
    early = " ".join(note for note in report["notes"] if "end early" in note)
    spans = [part.split("-") for part in early.partition(": ")[2].strip(".").removeprefix("ranks ").split(", ")]
    rank_of = lambda row: int(re.search(r"rank(\d+)\.json", row["trace"])[1])
    found = [
        ("stragglers", sorted(row["rank"] for row in tables["stragglers"]), sorted(faults.late)),
        ("causes", {row["cause"] for row in tables["stragglers"]}, {"kernels take longer"}),
        ("links", [row["ranks"] for row in tables["links"]], [f"{faults.link},{faults.link + 1}"]),
        ("unread", [rank_of(row) for row in tables["missing"]], [faults.empty]),
        ("cut off", [rank for span in spans for rank in range(int(span[0]), int(span[-1]) + 1)], sorted(faults.cut)),
        ("ranks", len(tables["ranks"]), ranks - 2)]
    for what, got, wanted in found:
        print(f"{what}: {got}" if got == wanted else f"{what}: {got}, WRONG, made were {wanted}")
    return all(got == wanted for _, got, wanted in found)


def main():
    if sys.argv[1] == "--check":
        ranks = int(sys.argv[2])
        sys.exit(not check(Faults(ranks), ranks, sys.argv[3]))
    folder, ranks, trace = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    size = int(float(sys.argv[4] if len(sys.argv) > 4 else 10) * 1e6)
    check_ranks.STEPS = check_ranks.LAYERS = 20
    faults = Faults(ranks)
    run = Run(faults, ranks)
    run.stretch = 1
    own = sum(len(run.row(event, BEGIN_US * 1000)) + 2 for event in run.events[0])
    run.write(folder, read_events(trace, size - own))
    damage(folder, faults)
    print(faults)


main()
