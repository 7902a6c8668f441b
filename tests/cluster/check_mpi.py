# SPDX-License-Identifier: Apache-2.0
"""Ranks that a real mpirun starts: a file per rank, with what the program itself says of its rank and its kernels.

check_mpi.py MPIRUN LIBRARY LAUNCHER
"""
import json
import os
import subprocess
import sys
import tempfile

from cluster import LOOP, check_rank, forget_launchers, info, kernels, rows
from support import TRACESMITH, check

RANKS = 4
PROGRAM = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "mpi_rank.py"), sys.argv[2], LOOP]


def start(mpirun, *command, cwd):
    options = ["--oversubscribe"] if "openmpi" in mpirun else []
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                       OMPI_MCA_btl="self,vader", OMPI_MCA_plm="isolated", PYTHONDONTWRITEBYTECODE="1", TMPDIR=cwd)
    return [mpirun, *options, "-n", str(RANKS), *command], environment


def said(directory):
    """What the ranks said, by rank; and forgets it."""
    lines = {}
    for rank in range(RANKS):
        path = os.path.join(directory, "%d.json" % rank)
        with open(path, encoding="utf-8") as file:
            lines[rank] = json.load(file)
        check(lines[rank]["rank"] == rank and lines[rank]["size"] == RANKS, lines[rank])
        os.unlink(path)
    return lines


def main():
    mpirun, launcher = sys.argv[1], sys.argv[3]
    forget_launchers()
    with tempfile.TemporaryDirectory() as directory:
        command, environment = start(mpirun, *PROGRAM, cwd=directory)
        bare = subprocess.run(command, env=environment, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240)
        if bare.returncode:
            print("skipped: %s starts no program here: %s" % (mpirun, bare.stderr.decode(errors="replace").strip()[-300:]))
            sys.exit(77)
        said(directory)
        command, _ = start(mpirun, TRACESMITH, "profile", "-o", "run.%r.sbt", "--", *PROGRAM, cwd=directory)
        done = subprocess.run(command, env=environment, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240)
        check(done.returncode == 0, done.stderr)
        jobs = set()
        for rank, line in said(directory).items():
            path = os.path.join(directory, "run.%d.sbt" % rank)
            job = info(path)["job"]
            jobs.add(job)
            check_rank(path, rank, line["size"], launcher, rank, None, job)
            check(kernels(path) == line["launches"], "rank %d: %d kernels, and %d launches" % (rank, kernels(path), line["launches"]))
        check(len(jobs) == 1 and (None not in jobs) == (launcher == "openmpi"), jobs)
        # The launcher under one profile: all ranks in one file, each process with its own.
        command, _ = start(mpirun, *PROGRAM, cwd=directory)
        done = subprocess.run([TRACESMITH, "profile", "-o", "all.sbt", "--", *command], env=environment, cwd=directory, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=240)
        check(done.returncode == 0, done.stderr)
        path = os.path.join(directory, "all.sbt")
        check(info(path)["rank"] is None, "the trace has several ranks")
        found = rows(path, "SELECT rank, count(*) AS kernels FROM events JOIN tracks ON tracks.id = track JOIN processes ON processes.id = process "
                           "WHERE events.kind = 'kernel' GROUP BY rank ORDER BY rank")
        check(found == [{"rank": rank, "kernels": line["launches"]} for rank, line in sorted(said(directory).items())], found)
        # The same, split: kernels are of a child of the rank, which is in the file of the rank with the rank's own calls of MPI.
        done = subprocess.run([TRACESMITH, "profile", "-o", "one.%r.sbt", "--", *command], env=environment, cwd=directory, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=240)
        check(done.returncode == 0 and b"%d of %d ranks" % (RANKS, RANKS) in done.stderr, done.stderr)
        calls = "SELECT count(*) AS count FROM events WHERE name IN ('MPI_Init', 'MPI_Barrier', 'MPI_Finalize') AND kind = 'api'"
        for rank, line in said(directory).items():
            path = os.path.join(directory, "one.%d.sbt" % rank)
            check_rank(path, rank, line["size"], launcher, rank, None, info(path)["job"])
            check(kernels(path) == line["launches"], "rank %d: %d kernels, and %d launches" % (rank, kernels(path), line["launches"]))
            check(rows(path, calls) == rows(os.path.join(directory, "run.%d.sbt" % rank), calls), rows(path, calls))
        check(sorted(name for name in os.listdir(directory) if name.startswith("one.")) == ["one.%d.sbt" % rank for rank in range(RANKS)],
              "a launcher that records nothing has no file")


main()
