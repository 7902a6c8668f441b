# SPDX-License-Identifier: Apache-2.0
"""Simulates a training run of eight ranks, writes what a profiler on each of them would have seen, by a clock of its own,
and compares `analyze --ranks` with what the simulation knows: when each rank came to each collective by the one true clock,
and that a collective ends for all when the last has come and the bytes have moved. The truth is not read from the
traces."""
import collections
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile

RANKS, STEPS, LAYERS = 8, 6, 5
REDUCE, GATHER = "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ncclDevKernel_AllGather_RING_LL"

failures = 0


def expect(what, got, wanted):
    global failures
    if got != wanted and not (isinstance(wanted, float) and abs(got - wanted) <= 1):
        failures += 1
        print(f"{what}: {got}, expected {wanted}")


class Run:
    """`late` has the extra time of a rank per layer in ns, `hiccup` (step, rank, ns) of one time."""

    def __init__(self, seed, late, hiccup, ranks=RANKS):
        self.chance, self.late, self.hiccup, self.ranks = random.Random(seed), late, hiccup, ranks
        self.now = [0] * ranks
        self.events = [[] for _ in range(ranks)]
        self.arrivals = collections.defaultdict(list)  # by (name, group): of each collective {rank: when it came}
        self.compute, self.steps = [0] * ranks, collections.defaultdict(dict)
        for step in range(STEPS):
            begun = list(self.now)
            for layer in range(LAYERS):
                self.layer(step, layer)
            for rank in range(self.ranks):  # else those of a pair would come at one time
                self.now[rank] += self.chance.randrange(1, 500)
            self.collective(REDUCE, ("0", range(self.ranks)), 20000)
            for rank in range(self.ranks):
                self.now[rank] += self.chance.randrange(1, 1000)
                self.steps[f"ProfilerStep#{step}"][rank] = self.now[rank] - begun[rank]
                self.add(rank, "user_annotation", f"ProfilerStep#{step}", begun[rank], self.now[rank], 1, {})

    def layer(self, step, layer):
        for rank in range(self.ranks):
            time = 50000 + self.chance.randrange(2000) + self.late.get(rank, 0)
            if layer == 2 and self.hiccup[:2] == (step, rank):
                time += self.hiccup[2]
            self.add(rank, "kernel", "gemm", self.now[rank], self.now[rank] + time, 7, {})
            self.now[rank] += time
            self.compute[rank] += time
        for pair in range(self.ranks // 2):
            self.collective(GATHER, (str(pair + 1), (2 * pair, 2 * pair + 1)), 5000)

    def collective(self, name, group, time):
        came = {rank: self.now[rank] for rank in group[1]}
        end = max(came.values()) + time
        for rank, start in came.items():
            self.add(rank, "kernel", name, start, end, 7, {"Process Group Name": group[0]})
            self.now[rank] = end
        self.arrivals[name, group[0]].append(came)

    def add(self, rank, category, name, start, end, thread, arguments):
        self.events[rank].append({"ph": "X", "cat": category, "name": name, "pid": 0 if thread == 7 else 100 + rank,
                                  "tid": thread, "ts": start, "dur": end - start,
                                  "args": {"stream": 7, "device": 0, **arguments} if thread == 7 else arguments})

    def write(self, folder):
        """In any order, and each rank by a clock of its own; digits as Kineto writes them (us with ns behind the point)."""
        paths, self.clocks = [], []
        for rank in range(self.ranks):
            clock = self.chance.randrange(10**9, 10**15)
            self.clocks.append(clock)
            text = lambda ns: f"{ns // 1000}.{ns % 1000:03d}"
            rows = []
            for event in self.events[rank]:
                row = json.dumps({**event, "ts": "TS", "dur": "DUR"})
                rows.append(row.replace('"TS"', text(clock + event["ts"])).replace('"DUR"', text(event["dur"])))
            path = os.path.join(folder, f"rank{rank}.json.gz")
            with gzip.open(path, "wt", encoding="utf-8") as file:
                info = json.dumps({"backend": "nccl", "rank": rank, "world_size": self.ranks})
                file.write(f'{{"distributedInfo": {info}, "traceEvents": [\n' + ",\n".join(rows) + "\n]}\n")
            paths.append(path)
        self.chance.shuffle(paths)
        return paths


def last_of(came):
    """Who came last and by how much; (None, 0) if two came at one time."""
    order = sorted(came.values())
    late = order[-1] - order[-2]
    return (max(came, key=came.get) if late else None), late


def check_lateness(run, tables):
    """By the one true clock. All collectives end at one time, so the clocks are known exactly."""
    for row in tables["ranks"]:
        expect(f"clock of rank {row['rank']}", (row["clock_offset_ns"], row["clock_bound_ns"]),
               (run.clocks[row["rank"]] - run.clocks[0], 0))
    late = {}
    for (name, group), every in run.arrivals.items():
        for came in every:
            for rank, time in came.items():
                late.setdefault((name, group, rank), []).append((time - min(came.values()), max(came.values()) - time))
    expect("lateness", {(row["collective"], row["group"], row["rank"]): (row["matched"], row["late_mean_ns"], row["late_max_ns"], row["waited_ns"])
                        for row in tables["lateness"]},
           {key: (len(list_), sum(by for by, _ in list_) // len(list_), max(by for by, _ in list_), sum(wait for _, wait in list_))
            for key, list_ in late.items()})
    skews = sorted((max(came.values()) - min(came.values()) for every in run.arrivals.values() for came in every), reverse=True)
    shown = collections.defaultdict(list)
    for row in tables["occurrences"]:
        shown[row["collective"], row["group"], row["number"]].append(row)
        came = run.arrivals[row["collective"], row["group"]][row["number"]]
        begin = min(event["ts"] for event in run.events[row["rank"]])
        expect("an occurrence", (row["at_ns"], row["late_ns"], row["aligned_ns"], row["clock_bound_ns"]),
               (came[row["rank"]] - begin, came[row["rank"]] - min(came.values()), came[row["rank"]] - min(came.values()), 0))
    expect("the occurrences with the most skew", [max(row["late_ns"] for row in rows) for rows in shown.values()], skews[:64])


def check(run, tables):
    waited, matched, last, delay = (collections.Counter() for _ in range(4))
    expect("collectives", sorted((row["collective"], row["group"]) for row in tables["collectives"]),
           sorted(run.arrivals))
    for row in tables["collectives"]:
        every = run.arrivals[row["collective"], row["group"]]
        skews = [max(came.values()) - min(came.values()) for came in every]
        late = collections.Counter(last_of(came)[0] for came in every)
        for came in every:
            who, by = last_of(came)
            last[who] += 1
            delay[who] += by
            for rank, time in came.items():
                matched[rank] += 1
                waited[rank] += max(came.values()) - time
        what = f"{row['collective']} of {row['group']}"
        expect(what, (row["matched"], row["skew_max_ns"]), (len(every), max(skews)))
        expect(f"{what}: mean", row["skew_mean_ns"], sum(skews) / len(skews))
        expect(f"{what}: waited", row["waited_ns"], sum(max(c.values()) * len(c) - sum(c.values()) for c in every))
        expect(f"{what}: last", late[row["last_rank"]], max(late.values()))
        expect(f"{what}: last", row["last_count"], max(late.values()))
    expect("ranks", [row["rank"] for row in tables["ranks"]], list(range(RANKS)))
    for row in tables["ranks"]:
        rank = row["rank"]
        columns = ("collectives", "matched", "waited_ns", "last", "delay_ns", "compute_ns", "steps")
        expect(f"rank {rank}", tuple(row[column] for column in columns),
               (matched[rank], matched[rank], waited[rank], last[rank], delay[rank], run.compute[rank], STEPS))
        expect(f"steps of rank {rank}", row["step_mean_ns"], sum(s[rank] for s in run.steps.values()) / STEPS)
    expect("steps", [row["step"] for row in tables["steps"]], sorted(run.steps))
    for row in tables["steps"]:
        times = run.steps[row["step"]]
        shortest, longest = min(times.values()), max(times.values())
        expect(row["step"], (row["ranks"], row["shortest_ns"], row["longest_ns"], row["spread_ns"]),
               (RANKS, shortest, longest, longest - shortest))
        expect(f"{row['step']}: slowest", times[row["slowest_rank"]], longest)
    return delay


def main():
    for seed, late, hiccup in ((1, {5: 9000}, (3, 2, 150000)), (2, {0: 3000, 6: 7000}, (5, 7, 90000)),
                               (3, {}, (0, 1, 1000000))):
        run = Run(seed, late, hiccup)
        with tempfile.TemporaryDirectory() as folder:
            output = subprocess.run([os.environ["TRACESMITH"], "analyze", "--ranks", "--json"] + run.write(folder),
                                    check=True, stdout=subprocess.PIPE).stdout
        report = json.loads(output)
        delay = check(run, report["tables"])
        check_lateness(run, report["tables"])
        culprit = max(delay, key=delay.get)
        expect("the culprit", culprit, {1: 5, 2: 6, 3: 1}[seed])  # or the simulation is wrong
        if f"Rank {culprit} " not in report["finding"]:
            expect("the finding", report["finding"], f"Rank {culprit} ...")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
