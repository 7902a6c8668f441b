# SPDX-License-Identifier: Apache-2.0
"""Ranks by the environment: see test_environment.sh."""
import json
import os
import socket
import subprocess
import sys
import tempfile

from cluster import LOOP, check_rank, forget_launchers, info, kernels
from support import TRACESMITH, check, run


def launch_as_torchrun(directory, world):
    """A launcher like torchrun: its children are the ranks. Each tells its rank and launches its own number of kernels."""
    children = []
    for rank in range(world):
        environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(world), LOCAL_RANK=str(rank % 2),
                           LOCAL_WORLD_SIZE="2", GROUP_RANK=str(rank // 2), TORCHELASTIC_RUN_ID="none", MASTER_ADDR="127.0.0.1")
        program = 'echo "$RANK $((10 + RANK))" && exec "%s" -n "$((10 + RANK))"' % LOOP
        children.append(subprocess.Popen([TRACESMITH, "profile", "-o", "torch.%r.sbt", "--", "sh", "-c", program],
                                         env=environment, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    for child in children:
        out, err = child.communicate(timeout=240)
        check(child.returncode == 0, err)
        rank, launches = map(int, out.splitlines()[0].split())
        path = os.path.join(directory, "torch.%d.sbt" % rank)
        check_rank(path, rank, world, "torchrun", rank % 2, rank // 2, "none")
        # The program launches once more before it measures, and prints how often in all.
        check(b'"launches":%d,' % (launches + 1) in out and kernels(path) == launches + 1, out)


def check_names(directory):
    environment = {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1"}
    run("profile", "-o", "a%%b.%r.%h.sbt", "--", "true", env=environment, cwd=directory)
    path = os.path.join(directory, "a%%b.3.%s.sbt" % socket.gethostname())
    check(os.path.exists(path), os.listdir(directory))
    check_rank(path, 3, 4, "environment", 1)
    done = run("profile", "-o", "p.%p.sbt", "--", "true", cwd=directory)
    name = [name for name in os.listdir(directory) if name.startswith("p.")]
    check(len(name) == 1 and name[0][2:-4].isdigit() and name[0].encode() in done.stderr, name)
    check(info(os.path.join(directory, name[0]))["rank"] is None, "no launcher, no rank")
    for pattern, said in (("x.%q.sbt", b"%q"), ("x.%", b"%%"), ("%h" * 3000, b"too long")):
        done = run("profile", "-o", pattern, "--", "touch", "ran", code=2, cwd=directory)
        check(said in done.stderr, done.stderr)
    # What is not split needs a rank here.
    for option in ("--capture", "--flight"):
        for variables in ({}, {"RANK": "9", "WORLD_SIZE": "4"}, {"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_JOB_ID": "7"}):
            done = run("profile", option, "-o", "x.%r.sbt", "--", "touch", "ran", code=2, cwd=directory, env=variables)
            check(b"mpirun -n 4 tracesmith profile" in done.stderr, done.stderr)
    check(not [name for name in os.listdir(directory) if name.startswith("x.") or name == "ran"], "nothing was run or written")


def slurm(rank, job=77):
    return {"SLURM_JOB_ID": str(job), "SLURM_STEP_ID": "0", "SLURM_PROCID": str(rank), "SLURM_NTASKS": "4", "SLURM_LOCALID": "0",
            "SLURM_NODEID": str(rank)}


def check_other_ranks_file(directory):
    """Ranks one after the other into one name: the first trace stays; the same rank may replace it."""
    path = os.path.join(directory, "same.sbt")
    run("profile", "-o", path, "--", "true", env=slurm(1))
    before = open(path, "rb").read()
    done = run("profile", "-o", path, "--", "touch", os.path.join(directory, "ran"), code=4, env=slurm(2))
    check(b"has the trace of rank 1, and this is rank 2" in done.stderr and b"%r" in done.stderr, done.stderr)
    check(open(path, "rb").read() == before and not os.path.exists(os.path.join(directory, "ran")), "the trace of rank 1 is as it was")
    run("profile", "-o", path, "--", "true", env=slurm(1, 78))
    check_rank(path, 1, 4, "slurm", 0, 1, "78")
    run("profile", "-o", path, "--", "true")
    check(info(path)["rank"] is None, "a run without ranks replaces it")


def check_file_being_written(directory):
    """Ranks at the same time into one name: one is run."""
    path = os.path.join(directory, "busy.sbt")
    first = subprocess.Popen([TRACESMITH, "profile", "-o", path, "--", "sh", "-c", "echo ready; read line"], env=dict(os.environ, **slurm(0)),
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(first.stdout.readline() == b"ready\n", "the first rank runs")
    done = run("profile", "-o", path, "--", "touch", os.path.join(directory, "ran"), code=4, env=slurm(1))
    check(b"is being written by" in done.stderr and b"run.%r.sbt" in done.stderr, done.stderr)
    first.communicate(b"\n", timeout=240)
    check(first.returncode == 0 and not os.path.exists(os.path.join(directory, "ran")), "only the first was run")
    check_rank(path, 0, 4, "slurm", 0, 0, "77")


def check_record_on_demand(directory):
    """record: the rank is that of the armed program's tracesmith, not of record itself."""
    armed = subprocess.Popen([TRACESMITH, "profile", "--armed", "--", "sh", "-c", "echo ready; read line"], env=dict(os.environ, **slurm(2)),
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=directory)
    check(armed.stdout.readline() == b"ready\n", "the program runs")
    run("record", "--pid", armed.pid, "-o", "asked.%r.%p.sbt", "-d", "10ms", env=slurm(0), cwd=directory)
    _, err = armed.communicate(b"\n", timeout=240)
    check(armed.returncode == 0, err)
    check_rank(os.path.join(directory, "asked.2.%d.sbt" % armed.pid), 2, 4, "slurm", 0, 2, "77")


def check_analyze(directory):
    """analyze --ranks: the ranks are those of the traces, whatever the files are called; absent ranks and other runs are said."""
    for name, rank, job in (("z.sbt", 0, 77), ("a.sbt", 2, 77), ("b.sbt", 1, 78), ("c.sbt", 2, 77)):
        done = run("profile", "-o", name, "--", LOOP, "-n", str(5 + rank), env=slurm(rank, job), cwd=directory)
        check(done.returncode == 0, done.stderr)

    def answer(*names):
        whole = json.loads(run("analyze", "--ranks", "--json", *names, cwd=directory, code=None).stdout)
        run("analyze", "--partial", "-o", "p.part", *names, cwd=directory)
        run("analyze", "--partial", "-o", "q.part", "p.part", cwd=directory)
        joined = json.loads(run("analyze", "--json", "q.part", cwd=directory, code=None).stdout)
        check(joined == whole, "the answer of partials is another one: %r and %r" % (joined, whole))
        return json.dumps(whole)

    text = answer("a.sbt", "z.sbt")
    check("No trace of: ranks 1, 3." in text and "different runs" not in text and "do not state" not in text, text)
    text = answer("a.sbt", "z.sbt", "b.sbt")
    check("different runs: their launchers state the jobs 77 and 78" in text and "No trace of: rank 3." in text, text)
    text = answer("a.sbt", "z.sbt", "c.sbt")
    check("states rank 2, as a.sbt does" in text, text)


def main():
    forget_launchers()
    with tempfile.TemporaryDirectory() as directory:
        check_names(directory)
        check_other_ranks_file(directory)
        check_file_being_written(directory)
        check_record_on_demand(directory)
        if os.path.exists(LOOP):
            launch_as_torchrun(directory, 4)
            check_analyze(directory)
        else:
            print("cl_launch_loop is not built: no ranks with kernels")
            sys.exit(1)


main()
