# SPDX-License-Identifier: Apache-2.0
"""analyze: every option does what it says; one answer in text, JSON and CSV, of an .sbt and of what it came from."""
import csv
import glob
import io
import json
import os
import random
import resource
import signal
import subprocess
import tempfile

from support import TRACESMITH, check, run

US = 1000


def kineto(rng, launches):
    """One thread launches kernels and waits; the kernels are known. Times in ns from 0; none before the launches."""
    events, kernels, time = [], [], 0
    for i in range(launches):
        name, duration = rng.choice([("gemm", 50), ("relu", 5), ("softmax", 20)])
        start, duration = (time + 10) * US, (duration + rng.randrange(5)) * US
        kernels.append((name, start, duration))
        events += [("cuda_runtime", "cudaLaunchKernel", 7, 11, time * US, 4 * US, i + 1),
                   ("kernel", name, 0, 3, start, duration, i + 1)]
        time = (start + duration) // US
        events.append(("cuda_runtime", "cudaStreamSynchronize", 7, 11, (time - 3) * US, 5 * US, launches + i + 1))
        time += rng.choice([3, 3, 100])
    return kernels, {"traceEvents": [
        {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": start / US, "dur": duration / US,
         "args": {"correlation": correlation, **({"stream": 3, "device": 0} if pid == 0 else {})}}
        for cat, name, pid, tid, start, duration, correlation in events]}


def reports(*arguments, **how):
    answer = json.loads(run("analyze", *arguments, "--json", **how).stdout)
    return [{r["report"]: r for r in trace["reports"]} for trace in answer["traces"]]


def names_shown(*arguments):
    return [line.split(":")[0] for line in run("analyze", *arguments).stdout.decode().splitlines()
            if line.endswith("?")]


def brute_force(kernels):
    total = {}
    for name, _, duration in kernels:
        total.setdefault(name, []).append(duration)
    return sorted((name, len(d), sum(d), min(d), max(d)) for name, d in total.items())


def kernel_rows(report):
    return sorted((r["kernel"], r["count"], r["total_ns"], r["min_ns"], r["max_ns"]) for r in report["tables"]["kernels"])


def check_names(path, everything):
    check(names_shown(path, "--all") == everything, "--all")
    for group, some in (("--gpu-util", "idle"), ("--memory", "memory"), ("--kernels", "kernels"),
                        ("--streams", "streams"), ("--hotspots", "kernels")):
        shown = names_shown(path, group)
        check(some in shown and len(shown) < len(everything), "%s: %s" % (group, shown))
    check(names_shown(path, "idle", "kernels") == ["idle", "kernels"], "names after the file")
    check(names_shown("kernels", path) == ["kernels"], "and before it")
    check(names_shown(path, "--only", "kernels,idle") == ["idle", "kernels"], "--only")
    check(names_shown(path, "--only", "idle", "--kernels", "idle") == names_shown(path, "idle", "--kernels"), "both")
    done = run("analyze", path, "kernel", code=2)
    check(b"'kernels'" in done.stderr, "a hint: %s" % done.stderr)
    run("analyze", path, "--only", "nothing", code=2)
    run("analyze", path, "--all", "kernels", code=2)
    run("analyze", code=2)
    run("analyze", "kernels", code=2)


def check_forms(directory, path, everything):
    (by_name,) = reports(path)
    check(list(by_name) == everything, "--json has all: %s" % list(by_name))
    rows = list(csv.reader(io.StringIO(run("analyze", path, "kernels", "--csv").stdout.decode(), newline="")))
    table = by_name["kernels"]["tables"]["kernels"]
    check(rows[0][2:] == list(table[0]), "csv: the columns of the JSON")
    check([r[2] for r in rows[1:]] == [r["kernel"] for r in table], "csv: the rows of the JSON")
    check([r[4] for r in rows[1:]] == [str(r["total_ns"]) for r in table], "csv: its numbers")
    text = run("analyze", path, "kernels").stdout
    check(text.count(b"...") == 0 and b"softmax" in text and b"relu" in text, "all rows")
    short = run("analyze", path, "kernels", "-n", "1").stdout
    check(b"... and 2 more" in short, "--rows")
    run("analyze", path, "-n", "0", code=2)
    run("analyze", path, "-n", "3", "--json", code=2)
    run("analyze", path, "--csv", "--json", code=2)
    run("analyze", path, path, "--csv", code=2)
    out = os.path.join(directory, "answer")
    for options in ((), ("--json",), ("kernels",)):
        check(run("analyze", path, "-o", out, *options).stdout == b"", "-o: nothing on standard output")
        with open(out, "rb") as f:
            check(f.read() == run("analyze", path, *options).stdout, "-o: the answer")
    run("analyze", path, "-o", path, code=2)
    run("analyze", path, "-o", directory + "/no/folder", code=4)
    return by_name


def check_overview(path, by_name):
    text = " ".join(run("analyze", path).stdout.decode().split())
    check(" %" not in text, "a number and its percent sign are one word")
    advice = by_name["advice"]["tables"]
    check(len(advice["advice"]) >= 3, "there is something to fix")
    saves = [row["saves_ns"] for row in advice["advice"]]
    check(saves == sorted(saves, reverse=True), "the largest first")
    place = 0
    for row, evidence, fix in list(zip(advice["advice"], advice["evidence"], advice["fixes"]))[:3]:
        said = " ".join(evidence["evidence"].split()).replace(" %", "%")
        for part in ("%d. %s:" % (row["rank"], row["problem"]), said, fix["fix"]):
            check(part in text[place:], "the overview says: " + part)
            place = text.index(part, place)
        for name in row["see"].split(", "):
            check(name in by_name, "what to check is there: " + name)
    check(text.index("What to fix first") < text.index("What the analyses found"), "what to fix comes first")
    for name, report in by_name.items():
        if name != "advice":
            check(" ".join(report["finding"].split()).replace(" %", "%") in text, "and each finding: " + name)


def check_quick(path, sbt, kernels):
    for source in (sbt, path):
        (quick,) = reports(source, "--quick")
        check(list(quick) == ["kernels"] and kernel_rows(quick["kernels"]) == brute_force(kernels), "--quick")
        check(all(r["median_ns"] is None for r in quick["kernels"]["tables"]["kernels"]), "totals have no median")
    (slow,) = reports(sbt, "kernels")
    check(all(r["median_ns"] is not None for r in slow["kernels"]["tables"]["kernels"]), "events have")
    for more in (["idle"], ["--all"], ["--from", "1us"]):
        run("analyze", sbt, "--quick", *more, code=2)


def check_window(path, kernels):
    first, low, high = 0, kernels[10][1] + 1, kernels[40][1] - 1
    part = reports(path, "kernels", "--from", "%dns" % (low - first), "--to", "%dns" % (high - first))
    inside = [k for k in kernels if low <= k[1] < high]
    check(kernel_rows(part[0]["kernels"]) == brute_force(inside), "a window has the kernels that begin in it")
    done = run("analyze", path, "--from", "1000s", code=2)
    check(b"the window contains no events" in done.stderr, "after the end")


def on_one_processor():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def check_several(directory, path, sbt):
    """Processes side by side write what one process writes, which is all that there is on one processor."""
    cut, missing = os.path.join(directory, "cut.json"), os.path.join(directory, "missing.json")
    with open(path, "rb") as whole, open(cut, "wb") as file:
        file.write(whole.read()[:4000])
    for files, code in ([path, sbt, path], 0), ([missing, path, cut, directory, sbt, cut], 3):
        for form in ["--json"], [], ["--all"], ["kernels", "--json", "-o", os.path.join(directory, "answer")]:
            found = []
            for how in {}, {"preexec_fn": on_one_processor}:
                done = run("analyze", *files, *form, code=code, **how)
                found.append((done.stdout, done.stderr, "-o" in form and open(form[-1], "rb").read()))
            check(found[0] == found[1] and any(found[0]), f"{form}: the same from processes side by side")
            if "--json" in form:
                traces = json.loads(found[0][2] or found[0][0])["traces"]
                check(len(traces) == len(files) - len({missing, directory}.intersection(files)), "JSON of the files that can be read")


def check_named_pipes(path):
    """Traces that come through pipes with names, as those of a shell: <(zcat trace.json.gz)."""
    wanted = run("analyze", path, "kernels").stdout.partition(b"\n")[2]
    read, write = os.pipe()
    with open(path, "rb") as file:
        shown = subprocess.Popen(["cat"], stdin=file, stdout=write)
    os.close(write)
    found = run("analyze", f"/dev/fd/{read}", "kernels", pass_fds=[read]).stdout
    os.close(read)
    shown.wait()
    check(found.partition(b"\n")[2] == wanted, "a pipe with a name")


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def check_closed(directory, sbt):
    """The same answer if standard output, input or error is closed when the command starts, or files cannot be as large as the answer."""
    wanted = run("analyze", sbt, sbt, "--all", "--json").stdout
    check(len(wanted) > 2 * 4096 and run("analyze", sbt, sbt, "--all", "--json", preexec_fn=limit_files).stdout == wanted, "files are limited")
    wanted = run("analyze", sbt, sbt, "kernels", "--json").stdout
    for closed in (2,), (0, 1, 2):
        path = os.path.join(directory, "closed")
        subprocess.run([TRACESMITH, "analyze", sbt, sbt, "kernels", "--json", "-o", path], check=True,
                       preexec_fn=lambda: [os.close(one) for one in closed])
        with open(path, "rb") as file:
            check(file.read() == wanted, f"{closed} are closed")


def open_files(process):
    folder, found = f"/proc/{process}/fd", []
    try:
        for name in os.listdir(folder):
            found.append(os.readlink(os.path.join(folder, name)))
    except OSError:  # it has ended
        pass
    return found


def is_limited():
    """Whether a control group limits the processor time, perhaps to that of one processor."""
    for path in ["/sys/fs/cgroup/cpu.max", *glob.glob("/sys/fs/cgroup/*/cpu.cfs_quota_us")]:
        if os.path.exists(path):
            with open(path) as file:
                if file.read().split()[0] not in ("max", "-1"):
                    return True
    return False


def check_killed(path):
    """The answers of the other files, if a process is killed."""
    if len(os.sched_getaffinity(0)) < 2 or is_limited():
        return
    command = subprocess.Popen([TRACESMITH, "analyze", path, "-", path, "kernels", "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    command.stdin.write(b'{"traceEvents":[' + b" " * (1 << 20))  # more than a pipe holds: its process reads
    command.stdin.flush()
    pipe = os.readlink(f"/proc/{command.pid}/fd/0")
    with open(f"/proc/{command.pid}/task/{command.pid}/children") as file:
        readers = [int(child) for child in file.read().split() if open_files(child).count(pipe) > 1]
    check(len(readers) == 1, "one process reads standard input")
    os.kill(readers[0], signal.SIGKILL)
    out, messages = command.communicate(timeout=240)
    check(command.returncode == 4 and b"the process that analyzed it was ended by signal 9" in messages, "a killed process is named")
    check(out.count(b'"report": "kernels"') == 2, "and the other answers are there")


def main():
    rng = random.Random(5)
    with tempfile.TemporaryDirectory() as directory:
        kernels, document = kineto(rng, 60)
        path, sbt = os.path.join(directory, "t.json"), os.path.join(directory, "t.sbt")
        with open(path, "w") as f:
            json.dump(document, f)
        run("import", path, "-o", sbt)
        listed = [line.split()[0] for line in run("analyze", "--list").stdout.decode().splitlines()]
        check([row["name"] for row in json.loads(run("analyze", "--list", "--json").stdout)] == listed, "--list --json")
        # Rank analyses are of several traces.
        (everything,) = reports(path)
        everything = list(everything)
        check(set(everything) <= set(listed) and len(everything) > 8, "the list has them")
        check_names(path, everything)
        by_name = check_forms(directory, path, everything)
        check(kernel_rows(by_name["kernels"]) == brute_force(kernels), "the kernels are those that were written")
        check(reports(sbt) == [by_name], "of an .sbt the same")
        with open(path, "rb") as f:
            check(reports("-", input=f.read()) == [by_name], "from a pipe the same")
        run("analyze", path, "-o", sbt, code=2)
        check_overview(path, by_name)
        check_quick(path, sbt, kernels)
        check_window(path, kernels)
        both = reports(path, sbt)
        check([r["kernels"] for r in both] == [by_name["kernels"]] * 2, "two traces, two answers")
        check_several(directory, path, sbt)
        check_closed(directory, sbt)
        check_named_pipes(path)
        check_killed(path)
        with open(path, "rb") as f:
            data = f.read()
        with open(path, "wb") as f:
            f.write(data[:len(data) * 2 // 3])
        done = run("analyze", path, "kernels", "--json", code=3)
        answer = json.loads(done.stdout)["traces"][0]
        check(answer["complete"] is False and b"ends early" in done.stderr, "a cut file is said to be one")
        check(sum(r["count"] for r in answer["reports"][0]["tables"]["kernels"]) > 30, "and answered")
        run("analyze", os.path.join(directory, "missing.json"), code=3)
        run("analyze", directory, code=3)


main()
