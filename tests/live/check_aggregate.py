# SPDX-License-Identifier: Apache-2.0
"""profile --aggregate: counts and times of the sums are the program's own (it asks the driver for the times of each launch); no sum is taken for an
event; what a process could not write, and what found no room, is in the ledger by its number."""
import json
import os
import subprocess
import sys

from support import TRACESMITH, check, run, top_once

PROGRAMS, WORK = sys.argv[1:3]
PROGRAM = os.path.join(PROGRAMS, "cl_sums")
NEVER = "1h"  # a period that does not end within a test
ROWS_MAX, OTHERS_MAX = 4096, 64


def path_of(name):
    return os.path.join(WORK, name + ".sbt")


def rows(path, sql):
    return json.loads(run("query", path, sql, "--json").stdout)["results"][0]["rows"]


def sums(path, columns="summed, name, count, total, shortest, longest, delay_total, bytes, direction, stack"):
    return rows(path, "SELECT start, duration, process, %s FROM (SELECT sum.*, tracks.process FROM sum JOIN tracks ON tracks.id = sum.track)" % columns)


def profile(name, options, arguments, code=0, aggregate="50ms"):
    """The program's own counts, and what `profile` said."""
    period = ("--aggregate", aggregate) if aggregate else ()
    done = run("profile", *period, *options, "-o", path_of(name), "--", PROGRAM, *arguments, code=code)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")], done.stderr.decode()


def joined(found, kind, name=None):
    """All sums of a kind and name as one."""
    these = [row for row in found if row["summed"] == kind and name in (None, row["name"])]
    check(all(row["total"] is not None for row in these), "times are not known: %s" % these)
    return {"count": sum(row["count"] for row in these), "total": sum(row["total"] for row in these),
            "shortest": min((row["shortest"] for row in these), default=0), "longest": max((row["longest"] for row in these), default=0),
            "delay": sum(row["delay_total"] or 0 for row in these), "bytes": sum(row["bytes"] or 0 for row in these)}


def losses(path):
    return {row["reason"]: row["lost"] for row in rows(path, "SELECT reason, sum(lost) AS lost FROM loss GROUP BY 1")}


def check_truth(path, truths):
    """The sums of all processes are what these counted themselves."""
    found = sums(path)
    for kernel in ("first", "second", "third"):
        wanted = {key: [truth["kernels"][kernel][key] for truth in truths] for key in ("count", "total", "shortest", "longest", "delay")}
        wanted = {key: (min if key == "shortest" else max if key == "longest" else sum)(values) for key, values in wanted.items()}
        got = joined(found, "kernel", kernel)
        check({key: got[key] for key in wanted} == wanted, "%s: %s, the program has %s" % (kernel, got, wanted))
    for direction, key in (("h2d", "writes"), ("d2h", "reads")):
        got = joined([row for row in found if row["direction"] == direction], "memcpy")
        wanted = sum(truth[key] for truth in truths)
        check((got["count"], got["bytes"]) == (wanted, wanted * truths[0]["bytes"]), "%s: %s, the program has %d" % (key, got, wanted))
    return found


def only_sums(path):
    check(not rows(path, "SELECT 1 FROM events WHERE kind IN ('kernel', 'memcpy', 'memset', 'api', 'sync')"), "events of the kinds that are in sums")


def whole():
    """Periods, threads, top; and every answer about it."""
    path, launches = path_of("whole"), 400
    truths, said = profile("whole", ("--live",), ("-n", str(launches), "--threads", "2"))
    check(truths[0]["kernels"]["first"]["count"] == 2 * launches, "the program's own count")
    found = check_truth(path, truths)
    only_sums(path)
    check("--aggregate" in said and "nothing lost" in said, said)
    check(not losses(path), losses(path))
    calls = joined(found, "api", "clEnqueueNDRangeKernel")
    check(calls["count"] == 6 * launches and joined(found, "api", "clFinish")["count"] == 2 * launches, "calls: %s" % calls)
    check(joined(found, "sync")["count"] > 0, "waits are sums too")
    attributes = {row["key"]: row["value"] for row in rows(path, "SELECT key, value FROM attributes")}
    check(attributes["aggregate.period_ns"] == "50000000", attributes)
    answers(path, truths[0])


def report(path, name):
    return json.loads(run("analyze", "--json", "--only", name, path).stdout)["traces"][0]["reports"][0]


def answers(path, truth):
    table = {row["name"]: row for row in report(path, "sums")["tables"]["sums"] if row["kind"] == "kernel"}
    kernels = {row["kernel"]: row for row in report(path, "kernels")["tables"]["kernels"]}
    for name, wanted in truth["kernels"].items():
        check((table[name]["count"], table[name]["total_ns"], table[name]["shortest_ns"], table[name]["longest_ns"]) ==
              tuple(wanted[key] for key in ("count", "total", "shortest", "longest")), table[name])
        check(table[name]["mean_delay_ns"] == wanted["delay"] // wanted["count"], table[name])
        row = kernels[name]
        check((row["count"], row["total_ns"], row["min_ns"], row["max_ns"], row["median_ns"], row["p99_ns"]) ==
              tuple(wanted[key] for key in ("count", "total", "shortest", "longest")) + (None, None), row)
    finding = report(path, "callsites")["finding"]
    check(finding.startswith("No command of the trace has a call stack"), finding)
    all_kernels = sum(one["count"] for one in truth["kernels"].values())
    check(sum(row["kernels"] for row in report(path, "sums")["tables"]["periods"]) == all_kernels, "over time")
    for command in (("info", path), ("view", "--stats", path), ("analyze", path)):
        done = run(*command)
        check(b"--aggregate" in done.stdout + done.stderr, "%s says nothing of it" % command[0])
    done = run("analyze", "--all", path)
    check(b"Not known" in done.stdout and b"sum in every 50.00 ms" in done.stdout + done.stderr, "what needs events says so: %s" % done.stderr)
    for name in ("idle", "breakdown", "critical_path", "launches"):
        done = run("analyze", "--only", name, path, code=1)
        check(b"needs single events" in done.stderr and not done.stdout, done.stderr)
    check(b"needs single events" in run("simulate", path, code=1).stderr, "simulate")
    check(b"needs single events" in run("view", "--timeline", path, code=1).stderr, "a timeline")
    check(b"single events" in run("diff", path, path, code=None).stderr, "diff")
    exports(path, truth)


def exports(path, truth):
    folded = run("export", "-f", "folded", path).stdout.decode()
    times = {line.rsplit(" ", 1)[0].rsplit(";", 1)[1]: int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()}
    for name, wanted in truth["kernels"].items():
        check(times[name] == wanted["total"], "%s: %s" % (name, folded))
    for form in ("speedscope", "flamegraph", "pprof", "csv"):
        run("export", "-f", form, path, "-o", os.path.join(WORK, "out." + form))
    for form in ("chrome", "perfetto", "firefox"):
        done = run("export", "-f", form, path, "-o", os.path.join(WORK, "out." + form), code=None)
        check(done.returncode != 0 and b"single" in done.stderr, "%s: %d %s" % (form, done.returncode, done.stderr))


def mixed():
    """Sums and events: another process's, in one trace. And sums of calls only."""
    truths, _ = profile("events", (), ("-n", "20"), aggregate=None)
    run("merge", path_of("whole"), path_of("events"), "-o", path_of("mixed"))
    check(any("are in sums" in note and "left out" in note for note in report(path_of("mixed"), "idle")["notes"]), "idle says what is left out")
    kernels = {row["kernel"]: row for row in report(path_of("mixed"), "kernels")["tables"]["kernels"]}
    check(kernels["first"]["count"] == 800 + truths[0]["kernels"]["first"]["count"] and kernels["first"]["median_ns"] is None, kernels["first"])
    check(any("median" in note for note in report(path_of("mixed"), "kernels")["notes"]), "the median is not known")
    profile("none", (), ("-n", "0"))
    check("and no kernel" in report(path_of("none"), "sums")["finding"], report(path_of("none"), "sums")["finding"])
    check("No sum" in report(path_of("events"), "sums")["finding"], "a trace of events")


def stacks():
    """By the call path that launched: the sums of each path are its launches."""
    path, bits, launches = path_of("stacks"), 3, 64
    truths, _ = profile("stacks", ("--stacks",), ("-n", str(launches), "--paths", str(bits)))
    found = check_truth(path, truths)
    by_stack = {}
    for row in found:
        if row["summed"] == "kernel" and row["name"] == "first":
            by_stack[row["stack"]] = by_stack.get(row["stack"], 0) + row["count"]
    check(sorted(by_stack.values()) == [launches >> bits] * (1 << bits), by_stack)
    paths = report(path, "callsites")["tables"]["paths"]
    check(paths and paths[0]["total_ns"] == sum(one["total"] for one in truths[0]["kernels"].values()) + joined(found, "memcpy")["total"], paths[:1])
    folded = run("export", "-f", "folded", path).stdout.decode()
    of_first = [line for line in folded.splitlines() if line.rsplit(" ", 1)[0].endswith(";first")]
    check(sum(int(line.rsplit(" ", 1)[1]) for line in of_first) == truths[0]["kernels"]["first"]["total"], of_first)
    check(any("left" in line for line in of_first) and any("right" in line for line in of_first), of_first)


def full_table():
    """More call paths than a process has rows: the rest is in the row of the others, and the ledger has its number."""
    path, launches = path_of("full"), 3000
    truths, said = profile("full", ("--stacks",), ("-n", str(launches), "--paths", "12"), aggregate=NEVER)
    found = sums(path)
    counted = joined(found, "kernel")["count"]
    check(counted == sum(one["count"] for one in truths[0]["kernels"].values()) == 3 * launches, "no launch is missing: %d" % counted)
    others = [row for row in found if row["name"] == "(other)"]
    check(others and len(found) <= ROWS_MAX + OTHERS_MAX and len(found) - len(others) <= ROWS_MAX, len(found))
    check(losses(path).get("sum_full") == sum(row["count"] for row in others), "%s, %s" % (losses(path), others))
    check("nothing lost" in said or "no event lost" in said, said)


def processes():
    """Two processes, and a child that is made when all was added up: it writes nothing of its parent's."""
    truths, _ = profile("two", (), ("-n", "50", "--fork"))
    check(len(truths) == 2, truths)
    found = check_truth(path_of("two"), truths)
    check(len({row["process"] for row in found}) == 2, "each has its sums")
    truths, _ = profile("after", (), ("-n", "50", "--fork-after"), aggregate=NEVER)
    check_truth(path_of("after"), truths)


def early_ends():
    """A process that ends without its exit handlers, or is killed, loses what it has not written; the ledger has its number."""
    truths, _ = profile("return", (), ("-n", "60"), aggregate=NEVER)
    complete = sum(row["count"] for row in check_truth(path_of("return"), truths))
    profile("_exit", (), ("-n", "60", "--end", "_exit"), aggregate=NEVER)
    # It did not release its context and program.
    unwritten = losses(path_of("_exit")).get("sum_unwritten", 0)
    check(complete - 8 <= unwritten <= complete and not joined(sums(path_of("_exit")), "kernel")["count"], "%d of %d" % (unwritten, complete))
    command = [TRACESMITH, "profile", "--aggregate", NEVER, "-o", path_of("killed"), "--", "sh", "-c", 'echo $TRACESMITH_SESSION; exec "$0" "$@"',
               PROGRAM, "-n", "60", "--pause"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        truth = json.loads(process.stdout.readline())
        check(process.stdout.readline() == b"ready\n", "the program waits")
        os.kill(truth["pid"], 9)
        process.communicate(timeout=240)
    info = json.loads(run("info", "--json", path_of("killed")).stdout)
    unwritten = losses(path_of("killed")).get("sum_unwritten", 0)
    check(info["complete"] and complete - 8 <= unwritten <= complete, "%d of %d" % (unwritten, complete))


def live():
    """`top` while it adds up: the totals of what was written."""
    command = [TRACESMITH, "profile", "--live", "--aggregate", "20ms", "-o", path_of("live"), "--", "sh", "-c", 'echo $TRACESMITH_SESSION; exec "$0" "$@"',
               PROGRAM, "-n", "60", "--pause"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        session = process.stdout.readline().decode().strip()
        json.loads(process.stdout.readline())
        check(process.stdout.readline() == b"ready\n", "the program waits")
        while True:
            totals = json.loads(top_once(process, session, "--json").stdout)
            if totals["kernels"]["count"] == 180:
                break
        check({row["name"]: row["count"] for row in totals["kernels"]["top"]} == {"first": 60, "second": 60, "third": 60}, totals["kernels"])
        check(totals["devices"][0]["busy_ns"] is None and totals["devices"][0]["commands"] >= 180, totals["devices"])
        process.communicate(b"x", timeout=240)
    check(process.returncode == 0, "the program ended well")


def refused():
    for wrong in ("0", "1ms", "x", "", "-1s"):
        done = run("profile", "--aggregate", wrong, "true", code=2)
        check(b"--aggregate" in done.stderr, done.stderr)
    for other in (("--armed",), ("--flight=1s",), ("--capture",), ("--duty", "1s/2s")):
        done = run("profile", "--aggregate", "1s", *other, "true", code=2)
        check(b"cannot be combined" in done.stderr, done.stderr)


for part in (refused, whole, mixed, stacks, full_table, processes, early_ends, live):
    part()
print("aggregate: ok")
