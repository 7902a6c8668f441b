# SPDX-License-Identifier: Apache-2.0
"""Three hosts whose clocks are shifted by known times: the comparison of ranks and the merge find the shifts within their bounds."""
import json
import os
import subprocess
import tempfile

from cluster import LOOP, forget_launchers, rows
from support import TRACESMITH, check, run

SHIFTS = (0, 100, 7000)  # s
ADDRESS = "10.9.0.%d"
# The others record until the first one has ended.
PROGRAMS = ("%(loop)s -n 3 && sleep 2 && %(loop)s -n 3 && touch %(done)s",) + \
    ("%(loop)s -n 3 && touch %(up)s && while ! [ -e %(done)s ]; do sleep 0.1; done; %(loop)s -n 3",) * 2


def ip(*words):
    subprocess.run(("ip", *words), check=True, timeout=60)


def make_hosts():
    subprocess.run(("mount", "-t", "tmpfs", "none", "/run"), check=True)
    for i in range(3):
        ip("netns", "add", "h%d" % i)
        ip("-n", "h%d" % i, "link", "set", "lo", "up")
        ip("-n", "h%d" % i, "addr", "add", ADDRESS % (i + 1) + "/32", "dev", "lo")
    for i, k in ((0, 1), (0, 2), (1, 2)):
        ip("link", "add", "to%d" % k, "netns", "h%d" % i, "type", "veth", "peer", "name", "to%d" % i, "netns", "h%d" % k)
        for host, other in ((i, k), (k, i)):
            ip("-n", "h%d" % host, "link", "set", "to%d" % other, "up")
            ip("-n", "h%d" % host, "route", "add", ADDRESS % (other + 1), "dev", "to%d" % other, "src", ADDRESS % (host + 1))


def start(directory, host):
    where = {"loop": LOOP, "done": os.path.join(directory, "done"), "up": os.path.join(directory, "up%d" % host)}
    ports = ",".join((ADDRESS + ":7000") % (i + 1) for i in range(host, 3))
    environment = dict(os.environ, TRACESMITH_PROBE_TOKEN="a secret of these hosts", RANK=str(host), WORLD_SIZE="3")
    shift = ("unshare", "--time", "--fork", "--monotonic", str(SHIFTS[host])) if host else ()
    return subprocess.Popen(("ip", "netns", "exec", "h%d" % host, *shift, TRACESMITH, "profile", "-o", os.path.join(directory, "r%d.sbt" % host),
                             "--clock-probe", ports, "--", "sh", "-c", PROGRAMS[host] % where), env=environment)


def record(directory):
    others = [start(directory, host) for host in (1, 2)]
    for host in (1, 2):
        while not os.path.exists(os.path.join(directory, "up%d" % host)):
            check(all(one.poll() is None for one in others), "a host has ended early")
            os.sched_yield()
    first = start(directory, 0)
    for one in (first, *others):
        check(one.wait(timeout=300) == 0, "a recording failed")
    return [os.path.join(directory, "r%d.sbt" % host) for host in range(3)]


def compare(directory):
    """None if no datagram was answered, on a machine that has other things to do."""
    paths = record(directory)
    answer = json.loads(run("analyze", "--json", "--ranks", *paths).stdout)
    clocks = {row["rank"]: row for row in answer["tables"]["clocks"]}
    check(len({row["clock"] for row in clocks.values()}) == 3, clocks)
    if None in (row["offset_ns"] for row in clocks.values()):
        check(all(row["contradictions"] == 0 for row in clocks.values()), answer["notes"])
        return None
    for rank, row in clocks.items():
        check(abs(row["offset_ns"] - SHIFTS[rank] * 10**9) <= row["bound_ns"], "rank %d: %r" % (rank, row))
        check(row["relation"] == ("probes" if rank else "same clock") and row["contradictions"] == 0, row)
    merged = os.path.join(directory, "all.sbt")
    run("merge", "-o", merged, *paths)
    for number, part in enumerate(rows(merged, "SELECT * FROM parts ORDER BY id")):
        check(part["relation"] == ("compared" if number else "same clock"), part)
        check(abs(part["clock_offset"] + SHIFTS[number] * 10**9) <= part["clock_error"], part)
    return [clocks[rank]["bound_ns"] for rank in (1, 2)]


def main():
    forget_launchers()
    make_hosts()
    for _ in range(5):
        with tempfile.TemporaryDirectory() as directory:
            bounds = compare(directory)
        if bounds:
            print("the clocks are known within %s ns" % bounds)
            return
    check(False, "no probe was answered in five runs")


main()
