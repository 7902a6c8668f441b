# SPDX-License-Identifier: Apache-2.0
"""What a (simulated) NCCL tells its profiler plugin is in the trace, for every version of the interface."""
import collections
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "cli"))
from support import BUILD, check, run, skip  # noqa: E402

HOST = os.path.join(BUILD, "tests", "programs", "nccl_host")
SOURCE = os.environ["TRACESMITH_SOURCE_DIR"]


def trace_of(directory, *arguments, code=0, env=None):
    path = os.path.join(directory, "t.sbt")
    done = run("profile", "-o", path, HOST, *arguments, code=code, env=env)
    trace = json.loads(run("view", "-f", "json", path, code=None).stdout)
    return json.loads(done.stdout or "null"), trace, done.stderr.decode()


def of_kind(trace, kind, name=None):
    return [event for event in trace["events"] if event["kind"] == kind and name in (None, event["name"])]


def check_version(directory, version):
    truth, trace, _ = trace_of(directory, str(version), "300")
    what = "version %d: " % version
    check(truth["loaded"] and truth["coll"] == 225, what + "the plugin is loaded: %s" % truth)
    reduces, sends = of_kind(trace, "collective", "AllReduce"), of_kind(trace, "collective", "Send")
    check(len(reduces) == truth["coll"] and len(sends) == truth["p2p"], what + "%d, %d" % (len(reduces), len(sends)))
    copies = of_kind(trace, "collective", "AllGather")
    check(len(copies) == truth["copies"] == (30 if version == 6 else 0), what + "copy engines: %d" % len(copies))
    check(len(of_kind(trace, "collective")) == 300 + len(copies), what + "no others")
    check_parts(trace, truth, version, what)
    for event in reduces + sends:
        args = event["args"]
        check(event["bytes"] == 4000 and args["count"] == 1000 and args["datatype"] == "ncclFloat32", what + "%s" % event)
        check(event["category"] == "simulated" and args["comm"] == 0xabcdef and args["rank"] == 3, what + "%s" % event)
        check(("ranks" not in args) if version < 4 else args["ranks"] == 8, what + "%s" % event)
    for event in reduces:
        args = event["args"]
        check((args["algorithm"], args["protocol"], args["channels"]) == ("RING", "SIMPLE", 2), what + "%s" % event)
        check("peer" not in args, what + "an all-reduce has no root")
    check(sorted(event["args"]["sequence"] for event in reduces) == [i for i in range(300) if i % 4], what + "sequence")
    check(all(event["args"]["peer"] == 5 for event in sends), what + "peers")
    channels, proxies = of_kind(trace, "range", "channel"), of_kind(trace, "range", "proxy send")
    check(len(channels) == truth["channels"] and len(proxies) == truth["proxies"], what + "channels and proxies")
    check(truth["proxies"] == 300 and truth["channels"] == (600 if version >= 3 else 0), what + "%s" % truth)
    for event in proxies:
        args = event["args"]
        check((args["channel"], args["peer"], args["steps"], args["chunk_bytes"]) == (1, 5, 2, 2048), what + "%s" % event)
        check(event.get("bytes") == (4000 if version < 4 else None), what + "%s" % event)  # then its steps report it
    # Over when its channels are: they take 50 us at least. The time is not reported for sends before version 4, and
    # for all before 3.
    for event in reduces + (sends if version >= 4 else []):
        check(event["certainty"] == ("bounded" if version >= 3 else "measured"), what + "%s" % event)
        check(version < 3 or event["duration"] >= 50000, what + "as long as its kernel: %s" % event)
    if version >= 4:
        for event in channels:
            check(event["args"]["gpu_timer_stop"] - event["args"]["gpu_timer_start"] == 50000, what + "%s" % event)
    calls = collections.Counter(event["name"] for event in of_kind(trace, "api"))
    check((calls["ncclGroup"], calls["NCCL kernel launch"], calls["AllReduce"], calls["Send"]) ==
          ((300, 300, 225, 75) if version >= 5 else (0, 0, 0, 0)), what + "calls: %s" % calls)
    check(not trace["lost"]["by_reason"], what + "nothing lost: %s" % trace["lost"])


def number(event):
    return event.get("args", {}).get("nccl_operation")


# The states of an event follow each other without a gap to its end; all parts of an operation have its number.
def check_parts(trace, truth, version, what):
    wholes = [event for event in of_kind(trace, "collective")]
    check(len({number(event) for event in wholes}) == len(wholes), what + "every operation has its number")
    kinds = {number(event): event["name"] for event in wholes}
    named = collections.defaultdict(list)
    for event in of_kind(trace, "range"):
        named[event["name"]].append(event)
    steps, proxies = named["proxy step"], named["proxy send"]
    check(len(steps) == truth["steps"] == 600, what + "steps: %d" % len(steps))
    by_proxy = collections.Counter(number(step) for step in steps)
    check(set(by_proxy.values()) == {2} and set(by_proxy) == {number(p) for p in proxies}, what + "two steps of each")
    check(all(kinds[number(p)] in ("AllReduce", "Send") for p in proxies), what + "of the operations that they are a part of")
    for step in steps:
        args = step["args"]
        check((args["channel"], args["peer"], args["sends"], step.get("bytes")) ==
              (1, 5, True, 2000 if version >= 4 else None), what + "%s" % step)
    check(collections.Counter(step["args"]["step"] for step in steps) == {0: 300, 1: 300}, what + "which step")
    states = {"waits for the GPU": 600, "waits for the network": 600, "waits for the peer": 600 if version >= 4 else 0,
              "in progress": 300 if version >= 4 else 0, "takes operations": 300, "took operations": 300,
              "in the group": 300 if version >= 5 else 0, "ncclGroupEnd": 300 if version >= 5 else 0}
    for state in ("posted", "waits for the peer's queue", "transmitted", "done"):
        states[state] = 300 if version < 4 else 0
    for state, count in states.items():
        check(len(named[state]) == count, what + "%s: %d" % (state, len(named[state])))
    ends = collections.Counter(step["start"] + step["duration"] for step in steps)
    check(all(ends[w["start"] + w["duration"]] for w in named["waits for the network"]), what + "the last state ends with its step")
    check(len(named["proxy control"]) == truth["controls"] == 300, what + "the proxy itself")
    networks = {name: named[name] for name in ("InfiniBand work request", "socket transfer", "network")}
    each = truth["networks"] // 3
    check([len(events) for events in networks.values()] == [each] * 3 and each == (200 if version >= 3 else 0), what + "%s" % networks.keys())
    for event in networks["InfiniBand work request"]:
        args = event["args"]
        check((args["device"], args["opcode"], event["bytes"], args["peer"]) == (4, 2, 2000, 5), what + "%s" % event)
        check(number(event) in by_proxy, what + "of an operation")
    for event in networks["socket transfer"]:
        check((event["args"]["device"], event["args"]["opcode"], event["bytes"]) == (12, 1, 1500), what + "%s" % event)
    for name, each, counted in (("copy engines wait for all", 30, 8), ("copy engines wait for the end", 30, 8), ("copy engine batch", 30, 7)):
        check(len(named[name]) == (each if version == 6 else 0), what + name)
        for event in named[name]:
            check(event["args"]["count"] == counted and kinds[number(event)] == "AllGather", what + "%s" % event)
            check(event.get("bytes") == (28000 if counted == 7 else None), what + "%s" % event)


def check_without_steps(directory):
    truth, trace, _ = trace_of(directory, "6", "40", env={"TRACESMITH_NCCL_STEPS": "0"})
    check(truth["steps"] == truth["networks"] == truth["controls"] == 0 and truth["proxies"] == 40, "%s" % truth)
    check(not of_kind(trace, "range", "proxy step"), "steps are not asked for")


def check_without_channels(directory):
    truth, trace, _ = trace_of(directory, "6", "40", env={"TRACESMITH_NCCL_CHANNELS": "0"})
    check(truth["channels"] == 0 and not of_kind(trace, "range", "channel"), "channels are not asked for: %s" % truth)
    operations = [event for event in of_kind(trace, "collective") if event["name"] != "AllGather"]
    check(len(operations) == 40 and all(event["certainty"] == "measured" for event in operations), "and operations end when enqueued")


def check_killed(directory):
    _, trace, _ = trace_of(directory, "6", "2000", "killed", code=137)
    done = collections.Counter(event["name"] for event in of_kind(trace, "collective"))
    lost = trace["lost"]["by_reason"]
    # Half of them are never run; copy engines are done when they are reported.
    check(done["AllReduce"] + done["Send"] <= 1000 and done["AllGather"] == 200, "%s" % done)
    check(lost.get("no_completion", 0) >= 1000, "what was on its way is counted: %s" % lost)


def build_other(directory):
    plugin = os.path.join(directory, "libnccl-profiler-other.so")
    made = subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", plugin,
                           "-I", os.path.join(SOURCE, "agents", "nccl"),
                           os.path.join(SOURCE, "tests", "nccl", "other_plugin.c")], stderr=subprocess.PIPE)
    check(made.returncode == 0, made.stderr.decode())
    return plugin


def check_chained(directory):
    plugin, counts = build_other(directory), os.path.join(directory, "counts")
    environment = {"NCCL_PROFILER_PLUGIN": plugin, "OTHER_PLUGIN_COUNTS": counts}
    subprocess.run([HOST, "6", "200"], stdout=subprocess.PIPE, check=True, env=dict(os.environ, **environment))
    with open(counts) as file:
        alone = file.read()
    check("6 400 400 400 400 0\n" in alone, "the other plugin works alone:\n" + alone)
    for named in (plugin, "other"):  # by its path, and by its name
        environment.update({"NCCL_PROFILER_PLUGIN": named, "LD_LIBRARY_PATH": directory})
        os.unlink(counts)
        truth, trace, _ = trace_of(directory, "6", "200", env=environment)
        with open(counts) as file:
            check(file.read() == alone, "the other plugin gets the same as alone")
        check(len(of_kind(trace, "collective")) == 220 and not trace["lost"]["by_reason"], "and the trace has it all")
    # The usual name, which NCCL looks for where none is named; and "none", which it knows.
    os.rename(plugin, os.path.join(directory, "libnccl-profiler.so"))
    os.unlink(counts)
    trace_of(directory, "6", "200", env={"LD_LIBRARY_PATH": directory, "OTHER_PLUGIN_COUNTS": counts})
    with open(counts) as file:
        check(file.read() == alone, "the plugin of the usual name gets the same as alone")
    os.unlink(counts)
    trace_of(directory, "6", "10", env=dict(environment, NCCL_PROFILER_PLUGIN="none"))
    check(not os.path.exists(counts), "none is none")
    os.rename(os.path.join(directory, "libnccl-profiler.so"), plugin)
    _, trace, said = trace_of(directory, "5", "10", env=environment)
    check("has no ncclProfiler_v5" in said, "that it cannot be served is said: " + said)
    check(len(of_kind(trace, "collective")) == 10, "and the trace has it all")


def main():
    if not os.access(HOST, os.X_OK):
        skip("the test programs are not built")
    with tempfile.TemporaryDirectory() as directory:
        for version in range(1, 7):
            check_version(directory, version)
        check_without_channels(directory)
        check_without_steps(directory)
        check_killed(directory)
        check_chained(directory)


main()
