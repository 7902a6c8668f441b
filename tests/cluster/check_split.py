# SPDX-License-Identifier: Apache-2.0
"""One collector in front of a launcher, a file per rank: each has what its rank did, and what a file of the whole has of it."""
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile

from cluster import LOOP, check_rank, forget_launchers, info, kernels, rows
from support import BUILD, TRACESMITH, check, run

ON_REQUEST = os.path.join(BUILD, "tests", "programs", "cl_on_request")
# Arguments: the size of the run, the program, and the ranks; "none" is a process without a rank. Each says what it did in out.RANK.
LAUNCHER = """
world=$1 loop=$2
shift 2
for rank; do
    case $rank in
    none) "$loop" -n 3 >out.none & ;;
    *) RANK=$rank WORLD_SIZE=$world LOCAL_RANK=$rank "$loop" -n $((10 + rank)) >"out.$rank" & ;;
    esac
    echo "$rank $!" >>pids
done
wait
"""


def launch(directory, pattern, world, ranks, *options, code=0, env=None):
    """Records such a run. The end of the command, launches and process ids by rank, as the programs themselves have them."""
    for name in os.listdir(directory):
        if name == "pids" or name.startswith("out."):
            os.unlink(os.path.join(directory, name))
    done = run("profile", *options, "-o", pattern, "--", "sh", "-c", LAUNCHER, "sh", world, LOOP, *ranks, code=code, cwd=directory, env=env)
    launches, pids = {}, {}
    for rank in ranks:
        with open(os.path.join(directory, "out.%s" % rank), encoding="utf-8") as file:
            launches[rank] = json.load(file)["launches"]
    with open(os.path.join(directory, "pids"), encoding="utf-8") as file:
        for line in file:
            rank, pid = line.split()
            pids[int(rank) if rank.isdigit() else rank] = int(pid)
    return done, launches, pids


def names(directory, start):
    return sorted(name for name in os.listdir(directory) if name.startswith(start))


def contents(path, pid=None):
    """The rows of a trace, or of one of its processes: values without numbers that are this file's own."""
    where = "" if pid is None else "WHERE pid = %d" % pid
    found = rows(path, "SELECT pid, tracks.kind AS track_kind, tracks.name AS track_name, tracks.tid, tracks.queue, stacks.path, host.tid AS host_tid, "
                       "other.queue AS other_queue, events.* FROM events JOIN tracks ON tracks.id = track JOIN processes ON processes.id = tracks.process "
                       "LEFT JOIN stacks ON stacks.id = events.stack LEFT JOIN tracks AS host ON host.id = host_track LEFT JOIN tracks AS other ON other.id = "
                       "queue_track %s" % where)
    return sorted(json.dumps({key: value for key, value in row.items() if key not in ("id", "event", "track", "stack", "queue_track", "host_track")},
                             sort_keys=True) for row in found)


def check_ranks(directory):
    done, launches, pids = launch(directory, "run.%r.sbt", 4, [0, 1, 2, 3, "none"])
    check(names(directory, "run.") == ["run.%s.sbt" % rank for rank in (0, 1, 2, 3, "norank")], names(directory, "run."))
    check(b"5 files of 4 of 4 ranks" in done.stderr and b"nothing lost" in done.stderr, done.stderr)
    for rank in range(4):
        path = os.path.join(directory, "run.%d.sbt" % rank)
        check(stat.S_IMODE(os.stat(path).st_mode) == 0o600, "the file is private")
        check_rank(path, rank, 4, "environment", rank)
        found = info(path)
        check(kernels(path) == launches[rank], (rank, launches, found["kinds"]))
        check([process["pid"] for process in found["processes"]] == [pids[rank]] and found["complete"] and found["lost"]["total"] == 0, found)
        check(found["clocks"] and all(clock["pairs"] for clock in found["clocks"]), found["clocks"])
        check({track["process"] for track in found["tracks"]} <= {0, 1} and len(found["devices"]) == 1, found["tracks"])
    path = os.path.join(directory, "run.norank.sbt")
    check(kernels(path) == launches["none"] and info(path)["rank"] is None, "the process without a rank")
    done = run("analyze", "--ranks", "--json", *names(directory, "run."), cwd=directory, code=None).stdout.decode()
    check("No trace of" not in done and "do not state" not in done and "has the processes without a rank" in done, done)
    run("merge", "-o", "all.sbt", *names(directory, "run."), cwd=directory)
    check(kernels(os.path.join(directory, "all.sbt")) == sum(launches.values()), launches)


def check_same_as_apart(directory):
    """The same run, with a collector for each rank: as many rows of each kind and name."""
    script = 'RANK=$1 WORLD_SIZE=2 LOCAL_RANK=$1 exec "$0" profile --stacks -o "apart.%r.sbt" -- "$2" -n 7'
    for rank in range(2):
        subprocess.run(["sh", "-c", script, TRACESMITH, str(rank), LOOP], cwd=directory, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    script = 'for rank in 0 1; do RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank "$0" -n 7 & done; wait'
    run("profile", "--stacks", "-o", "one.%r.sbt", "--", "sh", "-c", script, LOOP, cwd=directory)
    counts = ("SELECT tracks.kind AS track, events.kind, events.name, operation, result, path, count(*) AS count, sum(bytes) AS bytes "
              "FROM events JOIN tracks ON tracks.id = track LEFT JOIN stacks ON stacks.id = stack WHERE events.kind NOT IN ('process', 'compile') GROUP BY 1, 2, 3, 4, 5, 6 "
              "ORDER BY 1, 2, 3, 4, 5, 6")
    for rank in range(2):
        one, apart = (rows(os.path.join(directory, "%s.%d.sbt" % (name, rank)), counts) for name in ("one", "apart"))
        check(one == apart, (one, apart))
        check([row["count"] for row in one if "main" in (row["path"] or "") and row["kind"] == "kernel"] == [1, 7], one)


def check_same_as_whole(directory):
    """A file of all ranks has the rows of each of its parts, with their times and values."""
    _, _, pids = launch(directory, "whole.sbt", 3, [0, 2, "none"], "--stacks")
    whole = os.path.join(directory, "whole.sbt")
    with open(whole, "rb") as file:
        before = file.read()
    done = json.loads(run("split", whole, "-o", os.path.join(directory, "part.%r.sbt"), "--json").stdout)
    run("split", whole, "-o", os.path.join(directory, "process.%p.sbt"))
    with open(whole, "rb") as file:
        check(file.read() == before, "the whole is as it was")
    parts = {rank: os.path.join(directory, "part.%s.sbt" % ("norank" if rank == "none" else rank)) for rank in pids}
    check([file["trace"] for file in done["files"]] == [parts[0], parts[2], parts["none"]], done)
    check((done["ranks"], done["world_size"], done["missing"], done["missing_ranks"]) == (2, 3, 1, "1"), done)
    count = 0
    for rank, pid in pids.items():
        wanted = contents(whole, pid)
        check(any('"kernel"' in row and "main" in row for row in wanted), "kernels have call stacks")
        check(contents(parts[rank]) == wanted, "the rows of rank %s" % rank)
        check(contents(os.path.join(directory, "process.%d.sbt" % pid)) == wanted, "the rows of process %d" % pid)
        count += len(wanted)
    check(len(names(directory, "process.")) == 3 and count == len(contents(whole)) == done["events"], (count, done))


def check_missing(directory):
    """Ranks without any record are named, in the summary and in each file."""
    done, _, _ = launch(directory, "gap.%r.sbt", 8, [1, 2, 4])
    check(b"3 files of 3 of 8 ranks" in done.stderr and b"no file of ranks 0, 3, 5-7 of 8" in done.stderr, done.stderr)
    for rank in (1, 2, 4):
        text = run("info", os.path.join(directory, "gap.%d.sbt" % rank)).stdout.decode()
        check("nothing was recorded of ranks 0, 3, 5-7 of 8" in " ".join(text.split()), text)
    done, _, _ = launch(directory, "gap.%r.sbt", 3, [2, 1], "--json")
    found = json.loads(next(line for line in done.stderr.splitlines() if line.startswith(b'{"trace"')))
    check(found["missing_ranks"] == "0" and found["missing"] == 1 and [file["trace"] for file in found["files"]] == ["gap.1.sbt", "gap.2.sbt"], found)
    done, launches, _ = launch(directory, "bare.%r.sbt", 1, ["none"])
    check(names(directory, "bare.") == ["bare.norank.sbt"] and b"no process of the trace states a rank" in done.stderr, done.stderr)
    check(kernels(os.path.join(directory, "bare.norank.sbt")) == launches["none"], "without ranks, all is in one file")


def check_processes(directory):
    """%p: a file for each process, also of one rank."""
    _, launches, pids = launch(directory, "p.%p.sbt", 1, [0, "none"])
    check(names(directory, "p.") == sorted("p.%d.sbt" % pid for pid in pids.values()), (names(directory, "p."), pids))
    for rank, pid in pids.items():
        check(kernels(os.path.join(directory, "p.%d.sbt" % pid)) == launches[rank], rank)
    done, launches, pids = launch(directory, "r.%r.%p.sbt", 4, [3, "none"], env={"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "3"})
    check(names(directory, "r.") == sorted("r.3.%d.sbt" % pid for pid in pids.values()), (names(directory, "r."), pids))
    check_rank(os.path.join(directory, "r.3.%d.sbt" % pids[3]), 3, 4, "environment", 3)


def check_killed_rank(directory):
    """A rank that is killed where it waits has what it did before; the others are whole."""
    os.mkfifo(os.path.join(directory, "in"))
    os.mkfifo(os.path.join(directory, "said"))
    script = """
        RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 "$0" <in >said &
        exec 7>in 8<said
        read -r session <&8; echo 25 >&7; read -r made <&8
        [ "$made" = 25 ] && kill -KILL $! && { wait $!; [ $? -eq 137 ]; } || exit 3
        RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 "$1" -n 30 >out.1"""
    done = run("profile", "-o", "kill.%r.sbt", "--", "sh", "-c", script, ON_REQUEST, LOOP, cwd=directory)
    check(b"2 files of 2 of 2 ranks" in done.stderr, done.stderr)
    killed, other = (info(os.path.join(directory, "kill.%d.sbt" % rank)) for rank in range(2))
    check(killed["complete"] and killed["kinds"]["kernel"] == 25, killed)
    ends = [rows(os.path.join(directory, "kill.%d.sbt" % rank), "SELECT text FROM events WHERE operation = 'process_exit'") for rank in range(2)]
    check(len(ends[0]) == 1 and "ended without closing its recording" in ends[0][0]["text"] and ends[1] == [{"text": None}], ends)
    check(other["complete"] and other["kinds"]["kernel"] == 31 and other["lost"]["total"] == 0 and not other["lost"]["by_reason"], other)


def check_killed_collector(directory):
    """The collector is killed: recovery makes the file of the whole, and split the others."""
    script = """
        RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 "$0" -n 40 >out.0
        echo "$TRACESMITH_SESSION"; read -r line
        RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 exec "$0" -n 50 9>&1 >out.1"""
    profile = subprocess.Popen([TRACESMITH, "profile", "-o", "dead.%r.sbt", "--", "sh", "-c", script, LOOP], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, cwd=directory)
    session = profile.stdout.readline().decode().strip()
    profile.send_signal(signal.SIGKILL)
    profile.wait()
    profile.stdin.write(b"go\n")
    profile.stdin.flush()
    check(profile.stdout.read() == b"", "the pipe ends when the program, which has it as descriptor 9, has ended")
    check(names(directory, "dead.") == ["dead.all.sbt"], names(directory, "dead."))
    run("recover", session, "-o", "dead.all.sbt", cwd=directory)
    run("split", "dead.all.sbt", "-o", "dead.%r.sbt", cwd=directory)
    check([kernels(os.path.join(directory, "dead.%d.sbt" % rank)) for rank in range(2)] == [41, 51], names(directory, "dead."))


def check_refused(directory):
    for pattern, said in (("%r/x.sbt", b"not of its folder"), ("%p/x.sbt", b"not of its folder"), ("x.%q.%r.sbt", b"%q"), ("none/x.%r.sbt", b"none/x.all.sbt")):
        done = run("profile", "-o", pattern, "--", "touch", "ran", code=None, cwd=directory)
        check(done.returncode in (2, 4) and said in done.stderr, (pattern, done.returncode, done.stderr))
    check(not os.path.exists(os.path.join(directory, "ran")), "the program was not run")
    # A file that is no trace stays, and so does the whole.
    with open(os.path.join(directory, "mine.1.sbt"), "w", encoding="utf-8") as file:
        file.write("my own text")
    done, launches, _ = launch(directory, "mine.%r.sbt", 2, [0, 1], code=4)
    check(b"mine.1.sbt" in done.stderr and b"tracesmith split" in done.stderr, done.stderr)
    with open(os.path.join(directory, "mine.1.sbt"), encoding="utf-8") as file:
        check(file.read() == "my own text", "it is as it was")
    check(kernels(os.path.join(directory, "mine.all.sbt")) == launches[0] + launches[1], "the whole is there")
    check(b"Already written: mine.0.sbt: 1 file" in done.stderr, done.stderr)
    done, launches, _ = launch(directory, "mine.%r.sbt", 2, [0, 1], "--json", code=4)
    said = json.loads(next(line for line in done.stderr.splitlines() if line.startswith(b'{"trace"')))
    check("mine.1.sbt" in said["split_error"] and said["trace"] == "mine.all.sbt" and [f["trace"] for f in said["files"]] == ["mine.0.sbt"], said)
    run("split", "mine.all.sbt", "-o", "yours.%r.sbt", cwd=directory)
    check([kernels(os.path.join(directory, "yours.%d.sbt" % rank)) for rank in range(2)] == [launches[0], launches[1]], launches)
    for arguments, code, said in ((("mine.all.sbt", "-o", "x.sbt"), 2, b"neither %r"), (("mine.all.sbt",), 2, b"--output"),
                                  (("yours.1.sbt", "-o", "yours.%r.sbt"), 2, b"would be overwritten"), (("nothing.sbt", "-o", "x.%r.sbt"), None, b"nothing.sbt")):
        done = run("split", *arguments, code=code, cwd=directory)
        check(done.returncode and said in done.stderr, (arguments, done.returncode, done.stderr))
    check(kernels(os.path.join(directory, "yours.1.sbt")) == launches[1], "an input stays")
    check(not names(directory, "x."), names(directory, "x."))
    # What ends early is split as far as it can be read, and every file says so.
    with open(os.path.join(directory, "mine.all.sbt"), "rb") as file:
        content = file.read()
    with open(os.path.join(directory, "cut.sbt"), "wb") as file:
        file.write(content[:-len(content) // 8])
    done = run("split", "cut.sbt", "-o", "cut.%r.sbt", code=3, cwd=directory)
    check(b"ends early" in done.stderr, done.stderr)
    for name in names(directory, "cut.") and [name for name in names(directory, "cut.") if name != "cut.sbt"]:
        lost = rows(os.path.join(directory, name), "SELECT text FROM events WHERE kind = 'loss' AND reason = 'corrupt'")
        check(lost == [{"text": "the trace that was split ended early"}], lost)


def main():
    forget_launchers()
    if not os.path.exists(LOOP):
        print("cl_launch_loop is not built")
        sys.exit(1)
    for part in (check_ranks, check_same_as_apart, check_same_as_whole, check_missing, check_processes, check_killed_rank, check_killed_collector,
                 check_refused):
        with tempfile.TemporaryDirectory() as directory:
            part(directory)
            print(part.__name__, "done", flush=True)


main()
