# SPDX-License-Identifier: Apache-2.0
"""merge: the merged trace has what its parts have, apart, whatever their order; and what is damaged is in its ledger."""
import itertools
import json
import os
import subprocess
import tempfile

from cluster import LOOP, forget_launchers, info, rows
from support import TRACESMITH, Trace, check, run

RANKS = 3
PER_RANK = ("SELECT processes.rank, events.kind, count(*) AS count, sum(duration) AS duration, min(events.start) AS first, max(events.start) AS last FROM events "
            "JOIN tracks ON tracks.id = track JOIN processes ON processes.id = process GROUP BY 1, 2 ORDER BY 1, 2")


def record(directory, name, rank, launches, before=()):
    environment = dict(os.environ, SLURM_JOB_ID="77", SLURM_STEP_ID="0", SLURM_PROCID=str(rank), SLURM_NTASKS=str(RANKS), SLURM_LOCALID=str(rank))
    command = [*before, TRACESMITH, "profile", "-o", name, "--", LOOP, "-n", str(launches)]
    return subprocess.run(command, env=environment, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240)


def merge(directory, *names, code=0, to="all.sbt"):
    return run("merge", "-o", to, *names, code=code, cwd=directory)


def check_sums(directory, names):
    whole = rows(os.path.join(directory, "all.sbt"), PER_RANK)
    apart = [row for name in names for row in rows(os.path.join(directory, name), PER_RANK)]
    check(whole == apart, "the merged trace has %r, and its parts %r" % (whole, apart))
    check(len({row["rank"] for row in whole}) == RANKS, whole)
    lost = "SELECT coalesce(sum(lost), 0) AS lost, count(*) AS count FROM events WHERE kind = 'loss'"
    sums = [rows(os.path.join(directory, name), lost)[0] for name in names]
    check(rows(os.path.join(directory, "all.sbt"), lost)[0] == {key: sum(one[key] for one in sums) for key in ("lost", "count")}, sums)
    summary, parts = info(os.path.join(directory, "all.sbt")), [info(os.path.join(directory, name)) for name in names]
    for name in ("tracks", "processes"):
        check(len(summary[name]) == sum(len(part[name]) for part in parts), name)
    check([process["pid"] for process in summary["processes"]] == [part["processes"][0]["pid"] for part in parts], "processes")
    check(len(summary["devices"]) == len(parts[0]["devices"]), "one machine has each device once: %r" % summary["devices"])
    check(summary["rank"] is None and summary["complete"] and summary["lost"] == {**summary["lost"], "total": 0}, summary["lost"])
    check([part["name"] for part in summary["parts"]] == names and
          all(part["relation"] == "same_clock" and part["clock_offset_ns"] == 0 == part["clock_error_ns"] for part in summary["parts"]), summary["parts"])
    clocks = [clock["pairs"] for part in parts for clock in part["clocks"]]
    check([clock["pairs"] for clock in summary["clocks"]] == clocks, "the comparisons of clocks are kept")
    keys = {entry["key"]: entry["value"] for entry in summary["attributes"]}
    check(keys["part.2.command"].endswith("-n 6") and keys["tool.name"] == "tracesmith" and "command" not in keys, keys)
    text = run("info", os.path.join(directory, "all.sbt")).stdout.decode()
    check("rank 1 of 3, local rank 1 (slurm, job 77)" in text and names[1] in text, text)


def check_order(directory, names):
    merge(directory, *names)
    with open(os.path.join(directory, "all.sbt"), "rb") as file:
        wanted = file.read()
    for order in itertools.permutations(names):
        merge(directory, *order, to="other.sbt")
        with open(os.path.join(directory, "other.sbt"), "rb") as file:
            check(file.read() == wanted, "the order %s gives another file" % (order,))


def check_refusals(directory, names):
    os.link(os.path.join(directory, names[0]), os.path.join(directory, "link.sbt"))
    for given, code, said in (((names[0], names[0]), 2, b"given twice"), ((names[0], "./" + names[0]), 2, b"given twice"),
                              ((names[0], "link.sbt"), 2, b"given twice"), ((names[0], "none.sbt"), None, b"none.sbt"),
                              (("all.sbt", names[0]), None, b"itself merged"), ((names[0],), 2, b"")):
        done = merge(directory, *given, code=code, to="refused.sbt")
        check(done.returncode != 0 and said in done.stderr and not os.path.exists(os.path.join(directory, "refused.sbt")), (given, done.stderr))
    with open(os.path.join(directory, names[0]), "rb") as file:
        before = file.read()
    check(b"would be overwritten" in merge(directory, *names, code=2, to=names[0]).stderr, "an input stays")
    with open(os.path.join(directory, names[0]), "rb") as file:
        check(file.read() == before, "and is as it was")


def check_damaged(directory, names):
    """What can be read of a part is merged, and the ledger says that it is not all."""
    with open(os.path.join(directory, names[1]), "rb") as file:
        content = file.read()
    events = "SELECT count(*) AS count FROM events WHERE kind <> 'loss'"
    # A frame begins with SBTF and its type, at a multiple of 64; 3 is EVENTS, and its payload follows after 64 bytes.
    frames = [at for at in range(64, len(content), 64) if content[at:at + 6] == b"SBTF\x03\0"]
    at = frames[len(frames) // 2] + 64
    for name, damaged in (("cut.sbt", content[:at]), ("flipped.sbt", content[:at] + bytes([content[at] ^ 1]) + content[at + 1:])):
        with open(os.path.join(directory, name), "wb") as file:
            file.write(damaged)
        readable = json.loads(run("query", "--json", name, events, code=None, cwd=directory).stdout)["results"][0]["rows"][0]["count"]
        whole = rows(os.path.join(directory, names[0]), events)[0]["count"]
        done = merge(directory, names[0], name, code=3)
        check(b"1 of 2 traces ends early or is damaged" in done.stderr and name.encode() in done.stderr, done.stderr)
        check(rows(os.path.join(directory, "all.sbt"), events)[0]["count"] == readable + whole, (readable, whole))
        loss = rows(os.path.join(directory, "all.sbt"), "SELECT text, reason FROM events WHERE kind = 'loss' AND reason = 'corrupt'")
        check(len(loss) == 1 and name in loss[0]["text"], loss)


def kineto(rank):
    """A trace as torch.profiler writes it, of one of 16 ranks."""
    return {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 16},
            "traceEvents": [{"ph": "X", "cat": "kernel", "name": "k%d" % rank, "pid": 0, "tid": 7, "ts": 100 * rank + at, "dur": 2,
                             "args": {"device": 0, "stream": 7}} for at in range(5 + rank)]}


def check_foreign(directory, names):
    for rank in (8, 9):
        with open(os.path.join(directory, "k%d.json" % rank), "w", encoding="utf-8") as file:
            json.dump(kineto(rank), file)
    done = merge(directory, "k9.json", names[0], "k8.json")
    check(b"how the clocks of 2 traces and of the first trace relate is not known" in done.stderr, done.stderr)
    found = rows(os.path.join(directory, "all.sbt"), "SELECT rank, world_size, count(*) AS kernels FROM events JOIN tracks ON tracks.id = track JOIN "
                                                     "processes ON processes.id = process WHERE rank >= 8 AND events.kind = 'kernel' GROUP BY 1, 2")
    check(found == [{"rank": rank, "world_size": 16, "kernels": 5 + rank} for rank in (8, 9)], found)
    text = run("info", os.path.join(directory, "all.sbt")).stdout.decode()
    check(text.count("its clock is in no known relation to that of part 1") == 2 and "by the wall clocks" not in text, text)
    parts = rows(os.path.join(directory, "all.sbt"), "SELECT name, relation, clock_offset, clock_error FROM parts")
    check(parts == [{"name": names[0], "relation": "same clock", "clock_offset": 0, "clock_error": 0}] +
          [{"name": "k%d.json" % rank, "relation": None, "clock_offset": None, "clock_error": None} for rank in (8, 9)], parts)


def check_losses_and_many(directory):
    """Losses of the parts add up; more parts than are read side by side."""
    names = []
    for number in range(40):
        made = Trace()
        made.process(100 + number, "made")
        track = made.track("queue", name="q", process=1)
        for at in range(number):
            made.event(track, "kernel", start=1000 * number + 10 * at, duration=5, name="k")
        made.event(made.track("loss", name="l", process=1), "loss", start=7, duration=3, lost=number, reason="ring_full")
        names.append("made%d.sbt" % number)
        made.write(os.path.join(directory, names[-1]))
    merge(directory, *names)
    found = rows(os.path.join(directory, "all.sbt"), "SELECT pid, sum(events.kind = 'kernel') AS kernels, sum(lost) AS lost, min(CASE WHEN events.kind = 'kernel' "
                                                     "THEN events.start END) AS first FROM events JOIN tracks ON tracks.id = track JOIN processes ON processes.id = "
                                                     "process GROUP BY pid ORDER BY pid")
    check(found == [{"pid": 100 + at, "kernels": at, "lost": at, "first": 1000 * at if at else None} for at in range(40)], found)
    check(info(os.path.join(directory, "all.sbt"))["lost"]["by_reason"] == {"ring_full": sum(range(40))}, "the ledger")


def check_other_clock(directory, names):
    """A host whose trace clock is 1,000 s ahead: its times stay, and the offset by the wall clock is theirs."""
    before = ["unshare", "--user", "--map-current-user", "--time", "--monotonic", "1000", "--boottime", "1000", "--fork"]
    if subprocess.run([*before, "true"], stdout=subprocess.PIPE, stderr=subprocess.PIPE).returncode:
        print("skipped: no time namespace can be made here")
        return
    done = record(directory, "far.sbt", 1, 5, before)
    check(done.returncode == 0, done.stderr)
    done = merge(directory, names[0], "far.sbt")
    check(b"1 trace is of other machines" in done.stderr and b"unknown bound" in done.stderr, done.stderr)
    parts = rows(os.path.join(directory, "all.sbt"), "SELECT relation, clock_offset, clock_error FROM parts")
    # NTP may adjust the wall clock between the two recordings, but not by a second.
    check(parts[1]["relation"] == "wall clock" and abs(parts[1]["clock_offset"] + 1000 * 10**9) < 10**9 and parts[1]["clock_error"] is None, parts)
    text = run("info", os.path.join(directory, "all.sbt")).stdout.decode()
    check("its times - %d ns are times of part 1 by the wall clocks, within an unknown bound" % -parts[1]["clock_offset"] in text, text)
    starts = "SELECT min(events.start) AS first FROM events JOIN tracks ON tracks.id = track JOIN processes ON processes.id = process WHERE rank = 1"
    check(rows(os.path.join(directory, "all.sbt"), starts) == rows(os.path.join(directory, "far.sbt"), starts), "times are not changed")
    check(len(info(os.path.join(directory, "all.sbt"))["devices"]) == 2 * len(info(os.path.join(directory, names[0]))["devices"]), "devices of two machines")


def main():
    forget_launchers()
    with tempfile.TemporaryDirectory() as directory:
        names = ["run.%d.sbt" % rank for rank in range(RANKS)]
        for rank, name in enumerate(names):
            done = record(directory, name, rank, 5 + rank)
            check(done.returncode == 0, done.stderr)
        check_order(directory, names)
        check_sums(directory, names)
        check_refusals(directory, names)
        check_foreign(directory, names)
        check_other_clock(directory, names)
        check_damaged(directory, names)
        check_losses_and_many(directory)


main()
