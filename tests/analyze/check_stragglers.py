# SPDX-License-Identifier: Apache-2.0
"""Made runs of 32 ranks with known faults: slower kernels, a late host, slow data, a slow link, traces that are damaged,
twice or absent. Every fault must be named with its cause, and nothing in runs without faults. Partials of the traces must give
the same answer, byte for byte, whatever the tree and the order in which they are joined."""
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile

import check_ranks

EVERY = 4 if os.environ.get("TRACESMITH_SANITIZE") else 1  # as in tests/cli/support.py
RANKS, CLEAN_RUNS = 32, 20 // EVERY
CUT = ("rank7.json.gz", "rank8.json.gz", "rank28.json.gz")
COLLECTIVE, FIELDS = 11, 4096  # a kind, and before the first field of a trace's own (docs/events.md, docs/sbt-format.md)
TRACESMITH = os.environ["TRACESMITH"]
failures = 0


def expect(what, got, wanted):
    global failures
    if got != wanted:
        failures += 1
        print(f"{what}: {got}, expected {wanted}")


class Faulty(check_ranks.Run):
    """As the run of check_ranks, with faults: `host` starts kernels later, `data` waits for data, `links` are slow pairs."""

    def __init__(self, seed, late=None, host=None, data=None, links=()):
        self.host, self.data, self.links = host, data, links
        super().__init__(seed, late or {}, (), RANKS)

    def layer(self, step, layer):
        if layer == 0 and self.data is not None:
            begun = self.now[self.data]
            self.now[self.data] += 60000
            self.add(self.data, "user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                     begun, self.now[self.data], 1, {})
        if self.host is not None:
            self.now[self.host] += 6000
        super().layer(step, layer)

    def collective(self, name, group, time):
        slow = group[0] in [str(first // 2 + 1) for first in self.links]
        super().collective(name, group, time * (3 if slow else 1) + self.chance.randrange(200))


def analyze(*arguments, code=0):
    result = subprocess.run([TRACESMITH, "analyze", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    expect(f"exit code of {arguments[:2]}: {result.stderr[:300]}", result.returncode, code)
    return result.stdout


def ask(paths, code=0):
    return json.loads(analyze("--ranks", "--json", *paths, code=code))


def stragglers(report):
    return [(row["rank"], row["cause"]) for row in report["tables"].get("stragglers", [])]


def check_clean(folder):
    for seed in range(CLEAN_RUNS):
        report = ask(Faulty(seed).write(folder))
        expect(f"clean run {seed}", (stragglers(report), report["tables"].get("links", [])), ([], []))


def check_faults(folder):
    report = ask(Faulty(101, late={17: 3000}).write(folder))  # 6 % of its kernels
    expect("slower kernels", stragglers(report), [(17, "kernels take longer")])
    report = ask(Faulty(102, host=4).write(folder))
    expect("a late host", stragglers(report), [(4, "kernels start later")])
    report = ask(Faulty(103, data=30).write(folder))
    expect("slow data", stragglers(report), [(30, "waits for data")])
    report = ask(Faulty(104, links=(12,)).write(folder))
    expect("a slow link", [row["ranks"] for row in report["tables"]["links"]], ["12,13"])
    expect("no straggler", stragglers(report), [])
    report = ask(Faulty(105, late={9: 4000}, host=21, links=(2,)).write(folder))
    expect("three at once", stragglers(report), [(9, "kernels take longer"), (21, "kernels start later")])
    expect("three at once: link", [row["ranks"] for row in report["tables"]["links"]], ["2,3"])


def check_host_collectives(folder):
    """Collectives that are calls of the host, as MPI's: a late rank without kernels has none that start later."""
    late, ranks, paths = 2, 4, []
    for rank in range(ranks):
        lines = ["process 1 late", "track 1 main 1 0", *(f"field {name} 3 %" for name in ("comm", "sequence", "ranks"))]
        for number in range(30):
            start = 60_000_000 * number + (50_000_000 if rank == late else 1_000_000 + 1000 * ((rank + number) % 3))
            lines.append(f"event 1 {COLLECTIVE} {start} duration={60_000_000 * number + 50_010_000 - start} "
                         f"name=MPI%5fAllreduce {FIELDS + 1}=77 {FIELDS + 2}={number} {FIELDS + 3}={ranks}")
        paths.append(os.path.join(folder, f"host{rank}.sbt"))
        subprocess.run([os.path.join(os.environ["TRACESMITH_BUILD_DIR"], "tests", "programs", "sbt_make"), paths[-1]], input="\n".join(lines).encode() + b"\n", check=True)
    report = ask(paths)
    expect("collectives of the host", stragglers(report), [(late, "host arrives later")])
    expect("in words", ["its host arrives later" in note for note in report["notes"] if "is a straggler" in note], [True])


def check_many(folder):
    """More stragglers and slow links than notes: the tables have all, the notes say how many more."""
    late, links = [1, 5, 9, 13, 17, 21], [0, 4, 8, 12, 16, 20]
    report = ask(Faulty(107, late={rank: 3000 for rank in late}, links=links).write(folder))
    expect("many stragglers", [row["rank"] for row in report["tables"]["stragglers"]], late)
    expect("many links", sorted(row["ranks"] for row in report["tables"]["links"]),
           sorted(f"{first},{first + 1}" for first in links))
    notes = report["notes"]
    expect("notes of stragglers", sum("by itself late" in note for note in notes), 5)
    expect("more", [note for note in notes if note.endswith("the table has all.")],
           ["1 more rank is a straggler; the table has all.", "1 more link is slow; the table has all."])


def check_worlds(folder):
    paths = sorted(Faulty(108).write(folder))
    with gzip.open(paths[0], "rt") as file:
        text = file.read()
    with gzip.open(paths[0], "wt") as file:
        file.write(text.replace('"world_size": 32', '"world_size": 64'))
    expect("different runs", [note for note in ask(paths)["notes"] if "different numbers" in note],
           ["The traces state different numbers of ranks: they may be of different runs."])


def check_absent(folder):
    """A damaged trace, one of another rank under a second name, three that are cut off, and two that are not given."""
    paths = sorted(Faulty(106, late={17: 4000}).write(folder))
    given = [path for path in paths if not path.endswith(("/rank3.json.gz", "/rank4.json.gz"))]
    victim = os.path.join(folder, "rank9.json.gz")
    with open(victim, "wb") as file:
        file.write(b"\x1f\x8b no trace at all")
    for path in CUT:
        path = os.path.join(folder, path)
        os.truncate(path, os.path.getsize(path) * 3 // 4)
    second = os.path.join(folder, "zz.json.gz")
    with gzip.open(os.path.join(folder, "rank5.json.gz"), "rt") as file, gzip.open(second, "wt") as copy:
        copy.write(file.read())
    report = ask(given + [second], code=3)
    expect("unread traces", sorted(os.path.basename(row["trace"]) for row in report["tables"]["missing"]),
           ["rank9.json.gz", "zz.json.gz"])
    expect("absent ranks", [note for note in report["notes"] if note.startswith("No trace of")],
           ["No trace of: ranks 3-4, 9."])
    expect("cut traces", [note for note in report["notes"] if "end early" in note],
           ["3 of the traces end early: ranks 7-8, 28."])
    expect("ranks", [row["rank"] for row in report["tables"]["ranks"]],
           [rank for rank in range(RANKS) if rank not in (3, 4, 9)])
    expect("the rest", stragglers(report), [(17, "kernels take longer")])
    return given + [second], report


def check_trees(folder, paths, report):
    """Partials of each trace, joined in any tree and order, by files: the same bytes and the same answer."""
    chance, leaves, made = random.Random(7), [], 0
    for path in paths:
        leaves.append(path + ".part")
        analyze("--partial", "-o", leaves[-1], path, code=3 if os.path.basename(path) in ("rank9.json.gz", *CUT) else 0)
    wholes = set()
    for _ in range(6):
        parts = list(leaves) + [chance.choice(leaves)]  # one twice
        while len(parts) > 1:
            chance.shuffle(parts)
            some = chance.randrange(2, 9)
            made += 1
            joined = os.path.join(folder, f"joined{made}.part")
            analyze("--partial", "-o", joined, *parts[:some])
            parts = [joined] + parts[some:]
        with open(parts[0], "rb") as file:
            wholes.add(file.read())
        for given in (parts, chance.sample(leaves, len(leaves))):
            expect("the answer of partials", json.loads(analyze("--json", *given)), report)
    expect("partials of the whole", len(wholes), 1)
    return parts[0]


def check_job(folder, paths, report):
    """examples/cluster/partial.sh, as three processes of a launcher; one is started again and changes nothing."""
    script = os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "examples/cluster/partial.sh")
    traces = os.path.join(folder, "traces")
    os.mkdir(traces)
    for path in paths:
        os.rename(path, os.path.join(traces, os.path.basename(path)))
    for launcher in (("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS"),
                     ("RANK", "WORLD_SIZE")):
        parts = os.path.join(folder, launcher[0])
        environment = {name: value for name, value in os.environ.items() if not name.endswith(("RANK", "SIZE", "PROCID"))}
        for rank in (0, 1, 2, 1):
            environment[launcher[0]], environment[launcher[1]] = str(rank), "3"
            code = subprocess.run(["sh", script, traces, parts], env=environment, stderr=subprocess.DEVNULL).returncode
            expect(f"partial.sh of {launcher[0]} {rank}", code in (0, 3), True)
        made = [os.path.join(parts, name) for name in sorted(os.listdir(parts))]
        expect("partials", [os.path.basename(path) for path in made], [f"{rank}-of-3.part" for rank in range(3)])
        answer = json.loads(analyze("--json", *made))
        expect("the job's answer", stragglers(answer), stragglers(report))
        expect("the job's ranks", [row["rank"] for row in answer["tables"]["ranks"]],
               [row["rank"] for row in report["tables"]["ranks"]])


def check_damage(folder, path):
    with open(path, "rb") as file:
        whole = file.read()
    damaged, chance = os.path.join(folder, "damaged.part"), random.Random(8)
    for _ in range(60 // EVERY):
        at = chance.randrange(8, len(whole))
        cut = chance.random() < 0.3
        with open(damaged, "wb") as file:
            file.write(whole[:at] if cut else whole[:at] + bytes([whole[at] ^ 1 << chance.randrange(8)]) + whole[at + 1:])
        analyze("--json", damaged, code=3)
    parts = os.path.join(folder, "loop.part")  # cannot be read: a directory
    os.mkdir(parts)
    missing = ask([path, parts], code=3)["tables"]["missing"]
    expect("a directory", [row["trace"] for row in missing if row["trace"] == parts], [parts])


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_clean(folder)
        check_faults(folder)
        check_host_collectives(folder)
        check_many(folder)
        check_worlds(folder)
        paths, report = check_absent(folder)
        check_damage(folder, check_trees(folder, paths, report))
        check_job(folder, paths, report)
    return 1 if failures else 0


sys.exit(main())
