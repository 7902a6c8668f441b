# SPDX-License-Identifier: Apache-2.0
"""What the tests of distributed runs share."""
import json
import os

from support import BUILD, check, run

LOOP = os.path.join(BUILD, "tests", "programs", "cl_launch_loop")
VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK")
PREFIXES = ("OMPI_", "PMI_", "PMIX_", "MPI_", "SLURM_", "FLUX_", "TORCHELASTIC_")


def forget_launchers():
    """Of the environment in which the tests themselves run."""
    for name in list(os.environ):
        if name in VARIABLES or name.startswith(PREFIXES):
            del os.environ[name]


def rows(path, sql):
    """The answer of SQL, a dictionary per row."""
    return json.loads(run("query", "--json", path, sql).stdout)["results"][0]["rows"]


def info(path):
    return json.loads(run("info", "--json", path).stdout)


def kernels(path):
    return info(path)["kinds"].get("kernel", 0)


def check_rank(path, rank, world, launcher, local=None, node=None, job=None):
    """The rank in info, as JSON and as text, and of each process in SQL."""
    found = info(path)
    wanted = {"rank": rank, "world_size": world, "local_rank": local, "node": node, "launcher": launcher, "job": job}
    for place in [found, *found["processes"]]:
        for name, value in wanted.items():
            check(place[name] == value, "%s: %s is %r and not %r" % (path, name, place[name], value))
    text = run("info", path).stdout.decode()
    check("rank          rank %d of %d" % (rank, world) in text, "%s: %s" % (path, text[:600]))
    for row in rows(path, "SELECT %s FROM processes" % ", ".join(wanted)):
        check(row == wanted, "%s: %r" % (path, row))
