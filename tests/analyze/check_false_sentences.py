# SPDX-License-Identifier: Apache-2.0
"""Small traces that make sentences of `analyze`, `diff` and `analyze --ranks` false: another sentence is said of them.
tests/analyze/sentences.txt names the function here that has the trace of a sentence."""
import json
import os
import re
import sys
import tempfile

from check_sentences import check, event, expect, kineto, launch, report, run, told
from support import REASON, Trace


def kernel(name, at, dur, stream=7, **args):
    return event("kernel", name, 0, stream, at, dur, device=0, stream=stream, **args)


def copy(at, dur, stream=7, kind="Pinned", **args):
    return event("gpu_memcpy", "Memcpy HtoD (%s -> Device)" % kind, 0, stream, at, dur, device=0, stream=stream, **args)


def wait(at, dur, name="cudaDeviceSynchronize", pid=1, tid=1):
    return event("cuda_runtime", name, pid, tid, at, dur)


class Made:
    def __init__(self, folder):
        self.folder = folder
        self.count = 0

    def trace(self, events):
        self.count += 1
        return kineto(os.path.join(self.folder, "%d.json" % self.count), events)


def found(path, name, *options):
    done = run("analyze", path, "--only", name, "--json", *options)
    (one,) = json.loads(done.stdout)["traces"][0]["reports"]
    return one


def window(made):
    """Nothing happens in the window: what is said is of the window, not of the trace, which has two kernels and a wait."""
    path = made.trace([*launch("a", 0, 10, 90, 1), *launch("b", 200, 210, 90, 2), copy(400, 5, bytes=64), wait(215, 90)])
    part = ("--from", "120us", "--to", "180us")
    for name in ("advice", "breakdown", "idle", "kernels", "critical_path", "launches", "callsites", "graphs", "stalls",
                 "sync", "streams", "overlap", "bandwidth", "memory"):
        sentences = told(found(path, name, *part))
        check(any("window" in one for one in sentences), "%s is about the window: %s" % (name, sentences))
        check(not any("in the trace" in one or "of the trace" in one for one in sentences),
              "%s says nothing of the trace: %s" % (name, sentences))
        whole = told(found(path, name))
        check(not any("window" in one for one in whole), "%s without a window: %s" % (name, whole))
    expect("launches of the window", found(path, "launches", "--from", "150us", "--to", "350us"), ["0 of 1 command "], ["of 2"])


def startup(made):
    """The first command of the window is not the first of the trace."""
    path = made.trace([*launch("a", 0, 10, 90, 1), *launch("b", 200, 210, 90, 2), wait(215, 90)])
    expect("window", found(path, "advice", "--from", "150us", "--to", "310us"),
           ["The device's first command, b, begins 60.0 us into the window."], ["first command, a", "middle of a run"])
    path = made.trace([event("cpu_op", "load", 1, 1, 0, 50), *launch("a", 55, 60, 40, 1)])
    expect("trace", report(path, "advice"), ["The device's first command, a, begins 60.0 us into the trace.", "middle of a run"], [])
    # As `profile` records it; as `attach`, the flight recorder and `record` do.
    for key, value, later in (("command", "./program process 1, attached to it", False), ("flights", "2", False),
                              ("command", "process 4711, attached", True), ("flight.3.trigger", "exit", True), ("on_demand", "yes", True)):
        run_of = Trace()
        run_of.attribute(key, value)
        run_of.process(1, "program")
        run_of.device("GPU")
        queue, thread = run_of.track("queue", "q", 1, 1), run_of.track("thread", "main", 1)
        run_of.event(thread, "api", 0, duration=5000, name="load")
        run_of.event(queue, "kernel", 60000, duration=40000, name="a")
        path = run_of.write(os.path.join(made.folder, "run.sbt"))
        first = "The device's first command, a, begins 60.0 us into the trace."
        expect(key, report(path, "advice"), [first, "middle of a run"] if later else [first], [] if later else ["middle of a run"])


def path_beginning(made):
    """The path begins where no dependency leads further back, which is said if it is later than what happened first."""
    words = "after the first call or command: what its first step waited for is not in the trace"
    early = [*launch("a", 0, 10, 50, 1), wait(20, 45)]
    unlaunched = found(made.trace([*early, kernel("b", 1000, 200, stream=8, correlation=99)]), "critical_path")
    expect("a kernel without its launch", unlaunched, ["The path begins 1.00 ms " + words], [])
    paired = found(made.trace([*early, *launch("b", 900, 1000, 200, 2)]), "critical_path")
    expect("with it", paired, [], ["The path begins"])


def path_of_window(made):
    """A kernel that ends after the window is not on its path, and that is said."""
    path = made.trace([*launch("a", 0, 10, 90, 1), *launch("b", 200, 210, 90, 2)])
    cut = "what ends after the window is not on it"
    expect("cut", found(path, "critical_path", "--from", "0us", "--to", "250us"), [cut], [])
    expect("whole", found(path, "critical_path", "--from", "0us", "--to", "300us"), [], [cut])
    expect("trace", report(path, "critical_path"), [], [cut, "There is no path"])


def no_duration(made):
    """A kernel of 0 ns ran: nothing is said of the contrary."""
    path = made.trace([kernel("a", 5, 0)])
    for name in ("advice", "breakdown", "idle", "critical_path", "launches", "callsites"):
        expect("0 ns: " + name, report(path, name), ["takes time"], ["Nothing ran", "no work", "has no commands"])
    expect("0 ns: kernels", report(path, "kernels"), ["1 kernel ran 1 time, 0 ns in all; 100.0% of it is a."], ["; 0.0% of it"])
    expect("0 ns: streams", report(path, "streams"), ["1 queue on 1 device; a device is busy 0.0% of the trace"], ["No command"])
    path = made.trace([wait(0, 5)])
    for name, words in (("kernels", "No kernel with times"), ("streams", "No command of a device is in the trace."),
                        ("breakdown", "takes time"), ("overlap", "No communication and no copy")):
        expect("no device: " + name, report(path, name), [words], [])


def unnamed(made):
    """What has no name is said to have none; a sentence does not end before it."""
    path = made.trace([kernel("", 0, 100), event("user_annotation", "", 1, 1, 105, 10), *launch("", 110, 120, 20, 5)])
    for name in ("kernels", "operators", "ranges", "advice"):
        expect("unnamed: " + name, report(path, name), ["(unnamed)"], ["is .", ":  ran"])
    path = made.trace([*launch("k", 110, 120, 20, 5), event("user_annotation", "step", 1, 1, 105, 10)])
    for name in ("kernels", "operators", "ranges", "advice"):
        expect("named: " + name, report(path, name), ["step" if name in ("operators", "ranges") else "k"], ["(unnamed)"])


def always_busy(made):
    """No idleness has no cause; communication is no computation."""
    words, none = "the largest cause is", "compute or communicate all of the time"
    expect("busy", report(made.trace([kernel("a", 0, 100)]), "idle"), [none], [words, "do not compute"])
    expect("communicates", report(made.trace([kernel("ncclDevKernel_AllReduce_Sum_f32", 0, 100)]), "idle"), [none],
           [words, "do not compute"])
    expect("copies", report(made.trace([kernel("a", 0, 50), copy(50, 50, bytes=1)]), "idle"),
           ["neither compute nor communicate 50.0%", "the largest cause is copy (50.0%)"], [none])
    expect("gap", report(made.trace([*launch("a", 0, 10, 40, 1), *launch("b", 90, 100, 50, 2)]), "idle"),
           ["neither compute nor communicate 35.7%", "the largest cause is host_bound"], [none])


def at_once(made):
    """Two copies at once move more per second of the trace than each: the figure is said to be each one's."""
    both = report(made.trace([copy(0, 1000, 7, bytes=1024 * 1000), copy(0, 1000, 8, bytes=1024 * 1000)]), "bandwidth")
    expect("at once", both, ["at 976.56 MiB/s on average (the times of all copies and fills added up)"], ["while copies ran"])


def unsized(made):
    """Bytes that a trace does not tell are no 0 bytes."""
    one = report(made.trace([copy(0, 10), copy(20, 10)]), "bandwidth")
    expect("no size", one, ["No copy of known size", "2 copies have no size and are left out"], ["0 B were"])
    (row,) = one["tables"]["directions"]
    check(all(row[cell] is None for cell in ("moved_bytes", "time_ns", "mean_bytes_per_s", "fastest_bytes_per_s")), "no size: %s" % row)
    one = report(made.trace([copy(0, 10), copy(20, 10, bytes=1000)]), "bandwidth")
    expect("a size", one, ["1000 B were copied or filled", "1 copy has no size and is left out"], [])
    expect("all sizes", report(made.trace([copy(0, 10, bytes=5)]), "bandwidth"), [], ["no size", "pageable"])
    expect("pageable", report(made.trace([copy(0, 10, kind="Pageable", bytes=5)]), "bandwidth"),
           ["1 copy is from or to pageable memory"], ["the host waits"])


def waits(made):
    """A trace without calls has no answer on waits, and a wait for something unknown none on the device."""
    finished = "the device had already finished"
    expect("no calls", report(made.trace([kernel("a", 0, 100)]), "sync"), ["its waits are not known"], ["No wait", finished])
    expect("no waits", report(made.trace(launch("a", 0, 10, 90, 1)), "sync"), ["No wait of a host thread"], ["not known", finished])
    one = report(made.trace([kernel("a", 0, 100), wait(10, 95)]), "sync")
    expect("unmatched", one, ["waited 1 time, 95.0 us in all; when the device had finished is not known", "1 of 1 wait is not matched"], [finished])
    (row,) = one["tables"]["waits"]
    check(row["device_work_ns"] is None and row["return_delay_ns"] is None, "an unmatched wait: %s" % row)
    (row,) = one["tables"]["unobserved"]
    check(row["longest_unobserved_ns"] is None and row["never_observed"] == 1, "a command without a wait: %s" % row)
    nested = [*launch("a", 0, 10, 90, 1), wait(20, 85), wait(21, 82, "cuCtxSynchronize"), wait(110, 5)]
    expect("nested", report(made.trace(nested), "sync"), ["waited 2 times, 90.0 us in all"], ["3 times"])
    expect("matched", report(made.trace([*launch("a", 0, 10, 90, 1), wait(20, 85)]), "sync"),
           ["waited 1 time, 85.0 us in all; for 5.00 us of it " + finished], ["not matched", "not known"])


def parts_of(report):
    return {row["what"]: row["time_ns"] for row in report["tables"]["path"]}


def path(made):
    """A launch, its way to the device, its kernel and the return of the wait, by hand; concurrent work is not on the path."""
    busy = report(made.trace([*launch("a", 0, 10, 50, 1), wait(20, 45)]), "critical_path")
    expect("busy", busy, ["The critical path takes 65.0 us; 76.9% of it is work of a device, and the largest part is compute (76.9%)."], ["inferred"])
    wanted = {"host in a call": 2000, "launch latency": 8000, "compute": 50000, "return of a wait": 5000}
    check(parts_of(busy) == wanted, "the parts of the path: %s" % busy["tables"]["path"])
    nested = report(made.trace([*launch("a", 0, 10, 50, 1), wait(20, 45), wait(21, 42, "cuCtxSynchronize")]), "critical_path")
    check(parts_of(nested) == wanted, "the wait that a wait makes: %s" % nested["tables"]["path"])
    late = report(made.trace([*launch("a", 0, 40, 10, 1), wait(20, 35)]), "critical_path")
    expect("late", late, ["18.2% of it is work of a device, and the largest part is launch latency (69.1%)."], ["compute ("])
    concurrent = made.trace([*launch("a", 0, 10, 50, 1), kernel("b", 12, 20, stream=8, correlation=2),
                         event("cuda_runtime", "cudaLaunchKernel", 1, 1, 3, 2, correlation=2), wait(20, 45)])
    expect("on the path", found(concurrent, "advice"), ["a ran 1 time, 50.0 us in all; 50.0 us of it are on the critical path (76.9% of the path)."],
           ["b ran"])
    names = {(row["what"], row["name"]) for row in report(concurrent, "critical_path")["tables"]["names"]}
    check(("compute", "a") in names and ("compute", "b") not in names, "not on the path: %s" % names)


def launching(made):
    """A launching call that waits for its copy is reported; one that returns before is not, and neither is a command without a call."""
    besides = "Launching calls also wait"
    call = lambda dur: event("cuda_runtime", "cudaMemcpyAsync", 1, 1, 0, dur, correlation=1)  # noqa: E731
    expect("waits", report(made.trace([call(100), copy(10, 85, kind="Pageable", correlation=1, bytes=64)]), "launches"), [besides], ["No command"])
    expect("returns", report(made.trace([call(5), copy(10, 85, correlation=1, bytes=64)]), "launches"), ["5.00 us in launching calls"],
           [besides, "No command"])
    expect("alone", report(made.trace([kernel("a", 0, 100)]), "launches"), ["No command can be paired", "no launching call of 1 of 1 command"],
           [besides])


def queues(made):
    """A command without a launch may have waited as long as it likes: its queue is not called empty."""
    unknown = "unknown: queues may have held more"
    one = report(made.trace([kernel("a", 0, 100)]), "queue_length")
    expect("unknown", one, ["No command is known to have waited", unknown], ["No queue was full"])
    (row,) = one["tables"]["queues"]
    check(row["empty_ns"] is None and row["mean"] is None and row["full_ns"] is None, "no launch is known: %s" % row)
    expect("known", report(made.trace(launch("a", 0, 10, 90, 1)), "queue_length"), ["the longest held 1."], [unknown])
    events = [one for i in range(1030) for one in launch("k", i * 3, 4000 + i * 3, 2, i + 1)]
    expect("full", report(made.trace(events), "queue_length"), ["A queue held 1024 commands or more for", "CUDA's launching"],
           ["No queue"])
    other = json.loads(json.dumps(events).replace("cudaLaunchKernel", "hipLaunchKernel"))
    expect("full, HIP", report(made.trace(other), "queue_length"), ["A queue held 1024 commands or more for"], ["CUDA"])


def together(made):
    """Two of three ranks come last together: it is not so that no rank comes late."""
    def rank(number, dur):
        return kineto(os.path.join(made.folder, "rank%d.json" % number), [
            event("kernel", "ncclDevKernel_AllReduce", 0, 7, 100, dur, device=0, stream=7,
                  **{"Collective name": "allreduce", "In msg nelems": 4, "Group size": 3, "Process Group Name": "0"})])
    for durations, yes, no in (((100, 10, 10), ["No rank is later than all others", "wait 90.0 us"], ["comes late", "costs most"]),
                               ((10, 10, 10), ["No rank comes late"], ["later than all others", "costs most"]),
                               ((100, 90, 10), ["costs most: it is the last 1 time, by 80.0 us"], ["No rank"])):
        paths = [rank(number, dur) for number, dur in enumerate(durations)]
        one = json.loads(run("analyze", *paths, "--ranks", "--json").stdout)
        one = one["reports"][0] if "reports" in one else one
        expect("ranks of %s" % (durations,), one, yes, no)


def both_sides(made):
    """Nothing on both sides is not something instead of nothing."""
    path = made.trace([wait(0, 5)])
    other = made.trace([kernel("k", 0, 5)])
    finding = lambda *paths: json.dumps(json.loads(run("diff", *paths, "--json").stdout))
    check("its kernels nothing on either side" in finding(path, path), "no kernels: %s" % finding(path, path)[:300])
    check("its kernels 5.00 us instead of nothing" in finding(path, other), "kernels: %s" % finding(path, other)[:300])


def cut_sequences(made):
    """A list of commands that is cut has a mark."""
    for count, cut in ((5, False), (12, True)):
        events = [event("cpu_op", "op", 1, 1, 0, 1000)]
        for i in range(count):
            events += launch("%02d" % i + "k" * 48, 10 + i * 5, 2000 + i * 10, 5, i + 1)
        (row,) = report(made.trace(events), "sequences")["tables"]["sequences"]
        check(row["commands"].endswith("~") == cut and (("%02dk" % (count - 1)) in row["commands"]) != cut,
              "%d commands: %s" % (count, row["commands"]))


def operator(name, tid, ts, dur, sequence, forward=0, pid=1):
    return event("cpu_op", name, pid, tid, ts, dur, **{"Sequence number": sequence, "Fwd thread id": forward})


def flow(phase, number, tid, ts, pid=1):
    return {"ph": phase, "id": number, "pid": pid, "tid": tid, "ts": ts, "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"}


def on_thread(tid, *args, pid=1):
    call, work = launch(*args, pid=pid)
    return [dict(call, tid=tid), work]


def autograd(made):
    """What the autograd thread launches belongs to the ranges around the forward operator, and to no others."""
    def of(events):
        one = report(made.trace(events), "ranges")
        return one, {row["range"]: (row["commands"], row["autograd"], row["autograd_busy_ns"], row["autograd_total_ns"])
                     for row in one["tables"]["ranges"]}

    forward = [event("user_annotation", "forward", 1, 1, 0, 100), operator("aten::mul", 1, 10, 20, 5),
               *launch("f", 12, 40, 10, 1)]
    backward = [operator("evaluate_function: MulBackward0", 2, 500, 80, 5, 1), operator("MulBackward0", 2, 505, 70, 5, 1),
                event("cpu_op", "aten::mul", 1, 2, 510, 20), *on_thread(2, "b", 512, 600, 30, 2),
                *on_thread(2, "b", 540, 630, 40, 3)]
    words, unmatched = "Autograd launched 2 more commands for its operators, which take 70.0 us", "not matched with an operator"
    one, rows = of(forward + backward)
    check(rows == {"forward": (1, 2, 70000, 70000)}, "by the number: %s" % rows)
    expect("by the number", one, [words], [unmatched])
    one, rows = of(forward + [event("user_annotation", "other", 1, 1, 200, 100), operator("aten::add", 1, 210, 20, 4)] + backward)
    check(rows["other"][1:] == (0, 0, 0) and rows["forward"][1] == 2, "another range: %s" % rows)
    # The last operator with the number made the node; one that begins after the backward pass did not.
    later = [event("user_annotation", "view", 1, 1, 200, 100), operator("aten::view", 1, 210, 20, 5),
             event("user_annotation", "optimizer", 1, 1, 900, 100), operator("aten::step", 1, 910, 20, 5)]
    one, rows = of(forward + later + backward)
    check([rows[name][1] for name in ("forward", "view", "optimizer")] == [0, 2, 0], "the last one: %s" % rows)
    # An operator that the backward pass calls has a number, too.
    one, rows = of(forward + backward + [operator("aten::mul", 2, 506, 2, 5)])
    check(rows["forward"][1] == 2, "an operator of the backward pass: %s" % rows)
    # Only a flow tells which of two threads is meant; another process is another thing.
    second = [event("user_annotation", "worker", 1, 3, 0, 100), operator("aten::mul", 3, 10, 20, 5)]
    one, rows = of(forward + second + backward)
    check(rows["forward"][1] == rows["worker"][1] == 0, "two threads: %s" % rows)
    expect("two threads", one, ["Of 2 commands that autograd launched, 2 are not matched"], ["Autograd launched"])
    for tid, name in ((1, "forward"), (3, "worker")):
        events = []
        for item in forward + second + backward:
            events.append(item)
            if item["tid"] == tid and item["name"] == "aten::mul":
                events.append(flow("s", 1, tid, item["ts"]))
            elif item["name"] == "MulBackward0":
                events.append(flow("f", 1, 2, item["ts"]))
        one, rows = of(events)
        check({key: row[1] for key, row in rows.items()} == {"forward": 2 * (tid == 1), "worker": 2 * (tid == 3)},
              "a flow from %s: %s" % (name, rows))
    other = [event("user_annotation", "elsewhere", 9, 1, 0, 100), operator("aten::mul", 1, 10, 20, 5, pid=9)]
    one, rows = of(forward + other + backward)
    check(rows["forward"][1] == 2 and rows["elsewhere"][1] == 0, "another process: %s" % rows)
    # A backward pass on the thread of the range is in it already.
    same = [event("user_annotation", "step", 1, 1, 0, 1000), operator("aten::mul", 1, 10, 20, 5),
            operator("MulBackward0", 1, 500, 80, 5, 1), *launch("b", 512, 600, 30, 2)]
    one, rows = of(same)
    check(rows == {"step": (1, 0, 0, 0)}, "one thread: %s" % rows)
    # Without numbers nothing is known of it.
    one, rows = of([event("user_annotation", "forward", 1, 1, 0, 100), *launch("f", 12, 40, 10, 1)])
    check(rows == {"forward": (1, None, None, None)}, "no numbers: %s" % rows)


def sizes(made):
    """Allocations without a size are no 0 bytes: what was alive is unknown, or more than is known, and passes no gate."""
    def trace(*known):
        trace = Trace()
        trace.process(7, "program")
        thread = trace.track("thread", "main", 1)
        for i, size in enumerate(known):
            trace.event(thread, "alloc", 10 * i, duration=1, object=i + 1, **({"bytes": size} if size else {}))
        made.count += 1
        return trace.write(os.path.join(made.folder, "%d.sbt" % made.count))

    def peak(path):
        one = report(path, "memory")
        (row,) = one["tables"]["processes"]
        (shown,) = json.loads(run("view", path, "--stats", "--json").stdout)["memory"]
        return one, row["peak_bytes"], shown.get("peak_bytes")
    more = "no size: more was alive"
    for known, yes, no, wanted, passes in (
            ((0, 0), ["does not state how much", "2 allocations have " + more], ["0 B of device"], None, 1),
            ((64, 0), ["64 B of device memory were alive", "1 allocation has " + more], [], 64, 1),
            ((64, 64), ["128 B of device memory were alive"], [more, "does not tell"], 128, 0)):
        path = trace(*known)
        one, analyzed, viewed = peak(path)
        expect("sizes %s" % (known,), one, yes, no)
        check(analyzed == viewed == wanted, "peak of %s: analyze %s, view %s" % (known, analyzed, viewed))
        code = run("diff", path, path, "--gate", "peak_memory<1MiB", code=None).returncode
        check((code != 0) == bool(passes), "peak_memory<1MiB of %s: exit %d" % (known, code))
    told_sizes = [run("view", made.trace([copy(0, 10, **args)]), "--stats").stdout.decode() for args in ({}, {"bytes": 5})]
    check(" 0 B" not in told_sizes[0] and "5 B" in told_sizes[1], "bytes of copies: %s" % told_sizes)


def no_calls(made):
    """A trace without calls of the host does not launch and wait faster than one that has them."""
    bare, whole = made.trace([kernel("k", 0, 5)]), made.trace([*launch("k", 0, 10, 5, 1), wait(20, 5)])
    for base, new, known in ((bare, whole, False), (whole, bare, False), (whole, whole, True)):
        one = json.loads(run("diff", base, new, "--json").stdout)["diff"]
        names = {row["what"] for row in one["tables"]["times"]}
        check(("sync_time" in names) == ("launch_time" in names) == known, "diff of times: %s" % names)
        check(("Launching calls and waits are not compared: 1 of the traces has" in json.dumps(one)) == (not known),
              "the note of a diff: %s" % one["notes"])
        code = run("diff", base, new, "--gate", "sync_time<1s", code=None).returncode
        check((code == 0) == known, "sync_time<1s: exit %d" % code)


def stored(made, fill, *options):
    """A file of TraceSmith's own that `fill` describes."""
    trace = Trace()
    trace.process(7, "program")
    trace.device("device")
    thread, queue, losses = trace.track("thread", "main", 1), trace.track("queue", "queue", 1, 1), trace.track("loss", "losses")
    fill(trace, thread, queue, losses, *options)
    made.count += 1
    return trace.write(os.path.join(made.folder, "%d.sbt" % made.count))


def text(command, path, *options):
    done = run(command, path, *options, code=None)
    return done.stdout.decode(), done.stderr.decode()


def says(what, found, yes, no):
    for words in yes:
        check(words in found, "%s: '%s' in %s" % (what, words, found))
    for words in no:
        check(words not in found, "%s: no '%s' in %s" % (what, words, found))


def untimed_graphs(made):
    """Commands of a graph without times were brought all the same."""
    def fill(trace, thread, queue, _, times):
        trace.event(thread, "api", 0, duration=5, name="cudaGraphLaunch", correlation=1)
        for i, timed in enumerate(times):
            trace.event(queue, "kernel", 10 + 10 * i, name="k", correlation=1, **({"duration": 5} if timed else {}))
    missing = "their commands are not in the trace"
    expect("none has times", report(stored(made, fill, (0, 0)), "graphs"), ["Times are known of 0 of 2"], [missing])
    expect("one has times", report(stored(made, fill, (1, 0)), "graphs"), ["with 1.0 commands each", "Times are known of 1 of 2"], [missing])
    expect("all have times", report(stored(made, fill, (1, 1)), "graphs"), ["with 2.0 commands each"], [missing, "Times are"])
    expect("there is none", report(stored(made, fill, ()), "graphs"), ["Graphs were launched 1 time; " + missing], [])


def file_state(made):
    """A file is complete, damaged, cut, or not verified, and is said to be that alone."""
    def fill(trace, thread, queue, _):
        for i in range(300):
            trace.event(queue, "kernel", 100 * i, duration=50 + i % 7, name="k%d" % (i % 9), correlation=i + 1)
            if i % 100 == 99:
                trace.flush()
    path = stored(made, fill)
    with open(path, "rb") as file:
        whole = file.read()
    words = {"right": "all checksums are correct", "quick": "its checksums were not verified", "damaged": "damaged: see below",
             "cut": "not complete: see below", "nothing": "nothing up to where the file ends",
             "parts": "nothing in the undamaged parts"}
    check(b"k8" in whole or len(whole) > 1000, "the file is as long as it should be")
    damaged, cut = path + ".damaged.sbt", path + ".cut.sbt"
    at = len(whole) * 2 // 5
    for name, data in ((damaged, whole[:at] + bytes((whole[at] ^ 255,)) + whole[at + 1:]), (cut, whole[:at])):
        with open(name, "wb") as file:
            file.write(data)
    for what, name, options, known in (("whole", path, (), ("right",)), ("quick", path, ("--quick",), ("quick",)),
                                       ("damaged", damaged, (), ("damaged", "parts")), ("cut", cut, (), ("cut", "nothing"))):
        out, _ = text("info", name, *options)
        says(what, out, [words[one] for one in known], [line for one, line in words.items() if one not in known])
    out, _ = text("info", path)
    shown = [line for line in out.splitlines() if "bytes per event" in line]
    check("%.2f bytes per event" % (len(whole) / 300) in shown[0], "%d bytes of 300 events: %s" % (len(whole), shown))
    _, errors = text("info", damaged)
    said = re.search(r"at byte ([0-9]+)", errors)
    check(said and 0 < int(said.group(1)) <= at, "the damage is at byte %d: %s" % (at, errors))
    for command, others in (("diff", ()), ("analyze", ("--ranks",))):
        early = "of the traces end early"
        says("cut " + command, text(command, path, cut, *others)[0], ["1 " + early], [])
        says("whole " + command, text(command, path, path, *others)[0], [], [early])


def losses(made):
    """What was lost is counted, or said to be uncounted; both only where it is so."""
    def fill(trace, thread, queue, track, kinds, objects):
        trace.event(queue, "kernel", 0, duration=100, name="k")
        for i, kind in enumerate("aff" if objects else ""):
            trace.event(thread, "alloc" if kind == "a" else "free", 10 + i, duration=1, object=5, bytes=64)
        for i, kind in enumerate(kinds):
            trace.event(track, "loss", 20 + 10 * i, reason="no_room" if "no_room" in REASON else sorted(REASON)[0],
                        **{"counted": {"lost": 5, "duration": 10}, "uncounted": {"duration": 10}, "instant": {"lost": 5}}[kind])
    many, more = "an unknown number: see", "and an unknown number more"
    for kinds, yes, no in (((), ["nothing"], [many, more]), (("counted",), ["5"], [many, more, "nothing"]),
                           (("uncounted",), [many], [more]), (("counted", "uncounted"), [more], [many])):
        path = stored(made, fill, kinds, False)
        out, errors = text("info", path)
        line = [one for one in out.splitlines() if one.startswith("lost")][0]
        says("lost: %s" % (kinds,), line, yes, no)
        says("lost: %s" % (kinds,), text("analyze", path)[1],
             ["an unknown number of events was lost"] if kinds == ("uncounted",) else [],
             [] if "uncounted" in kinds else ["an unknown number of events was lost"])
    stats = [" ".join(text("view", stored(made, fill, kinds, False), "--stats")[0].split())
             for kinds in ((), ("counted",), ("instant",))]
    says("no hole", stats[0], [], ["NOT RECORDED", "holes"])
    says("a hole", stats[1], ["5 events, in intervals that cover 10 ns (10.0%) of the time; everything above lacks them"], ["not known"])
    says("an instant", stats[2], ["5 events, at an unknown time; everything above lacks them"], ["intervals that cover"])
    lost = "Events were lost: an allocation between two frees"
    expect("freed twice", report(stored(made, fill, (), True), "memory"), ["1 freed twice"], [lost])
    expect("freed twice, lost", report(stored(made, fill, ("counted",), True), "memory"), ["1 freed twice", lost], [])


def counts(made):
    """What is cut says how much is left out, and what is whole does not."""
    for count, cut in ((100, False), (101, True)):
        events = []
        for i in range(count):
            events.append(event("cpu_op", "op%d" % i, 1, 1, 1000 * i, 900))
            for k in range(3):
                events += launch("k", 1000 * i + 10 * k + 10, 1000 * i + 500 + 10 * k, 5, 3 * i + k + 1)
        expect("%d sequences" % count, report(made.trace(events), "sequences"), ["The 100 most frequent of 101"] if cut else [],
               [] if cut else ["are shown"])
    for devices, cut in ((5, False), (40, True)):
        events = []
        for i in range(devices):
            for k in range(4):
                number, at = 10 * i + k + 1, 1000 * i + 100 * k
                events += [event("cuda_runtime", "cudaLaunchKernel", 1, 1, at, 5, correlation=number),
                           event("kernel", "k", i, 7, at - 50, 20, correlation=number, device=i, stream=7)]
        notes = report(made.trace(events), "critical_path")["notes"]
        clocks = sum("disagrees with the host's" in note for note in notes)
        left = [note for note in notes if note.startswith("More notes, left out: ")]
        check(len(left) == cut and clocks + (int(left[0].split()[-1].rstrip(".")) if left else 0) >= devices,
              "%d devices: %d clocks of %d notes, %s" % (devices, clocks, len(notes), left))
    for second, both in ((0, True), (10, False)):
        out, _ = text("view", made.trace([kernel("a", 0, 10), kernel("b", second, 10, 8)]), "--stats")
        says("at once", out, ["x2.00 at once"] if both else [], [] if both else ["at once"])

    def fill(trace, thread, queue, _, tracks, processes):
        for i in range(tracks):
            trace.track("thread", "t%d" % i, 1)
        for i in range(processes):
            trace.process(100 + i, "p%d" % i)
        trace.event(queue, "kernel", 0, duration=1, name="k")
    out, _ = text("info", stored(made, fill, 0, 0))
    says("few rows", out, [], [" more"])
    out, _ = text("info", stored(made, fill, 200, 3))
    rows = [line for line in out.splitlines() if "thread" in line or "queue" in line]
    left = [int(line.split()[1 + line.split().index("and")]) for line in out.splitlines() if "... and" in line and "without" not in line]
    check(len(left) == 1 and left[0] + len([r for r in rows if "pid 7" in r]) in (202, 203), "tracks: %s" % out)
    says("processes", out, ["... and 3 more without tracks"], [])


def clocks(made):
    """The worst comparison of a clock is named where it is twice as bad as the best, and each clock has its own."""
    def fill(trace, thread, queue, _, errors):
        trace.lines.append("clock other 0 0")
        trace.lines.extend("pair 1 %d %d %d" % (at, at, error) for at, error in enumerate(errors, 1))
        trace.event(queue, "kernel", 0, duration=1, name="k")
    for errors, yes, no in (((10, 10), ["compared 2 times, known within 10 ns"], ["at worst"]), ((10, 19), ["within 10 ns"], ["at worst"]),
                            ((30, 10, 25), ["compared 3 times, known within 10 ns, at worst 30 ns"], []),
                            ((), ["compared 0 times"], ["known within", "at worst"])):
        out, _ = text("info", stored(made, fill, errors))
        says("clock of %s" % (errors,), out, yes, no)


def main():
    tests = (window, startup, path_of_window, path_beginning, no_duration, unnamed, always_busy, at_once, unsized, waits, path, launching, queues, together,
             both_sides, cut_sequences, autograd, sizes, no_calls, untimed_graphs,
             file_state, losses, counts, clocks)
    for test in tests:
        with tempfile.TemporaryDirectory() as folder:
            test(Made(folder))
    print("%d groups of sentences" % len(tests))


if __name__ == "__main__":
    sys.exit(main())
