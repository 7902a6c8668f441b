# SPDX-License-Identifier: Apache-2.0
"""Columns whose value the source has in a name or an argument are filled on import, and exporting gives the source back."""
import json
import os
import sys
import tempfile

sys.path[:0] = [os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", room) for room in ("cli", "import")]
from perfetto_wire import event as wire_event, message, packet  # noqa: E402
from support import check, run  # noqa: E402

# Name of a copy as profilers write it: direction; None: the name has none.
COPIES = {"Memcpy HtoD (Pageable -> Device)": "h2d", "Memcpy DtoH (Device -> Pinned)": "d2h",
          "Memcpy DtoD (Device -> Device)": "d2d", "Memcpy PtoP (Device -> Device)": "p2p",
          "Memcpy HtoH (Host -> Host)": "h2h", "CopyHostToDevice": "h2d", "CopyDeviceToHost": "d2h",
          "CopyDeviceToDevice": "d2d", "Memcpy (unknown)": None, "copy": None}
# Name of a kernel: whether it communicates.
KERNELS = {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)": True,
           "void multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*, unsigned long)": True,
           "void two_shot_all_reduce_kernel_inplace<float, 8>(float*)": True,
           "void vllm::cross_device_reduce_2stage<__half, 8>(vllm::RankData*)": True,
           "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<int>(int)": True,
           "nvshmemi_proxy_quiet": True,
           "void reduce_kernel<512, 1>(all_reduce_tag)": False,
           "void at::native::vectorized_elementwise_kernel<4, multimem_functor>(int)": False,
           "triton_poi_fused_all_gather_copy_0": False,
           "void block_all_reduce_sum<float>(float*)": False,
           "softmax_warp_forward": False}

# Name of a record, the call it belongs to, the stream it is on (-1: none), and its operation.
WAITS = [("Event Sync", "cudaEventSynchronize", -1, "wait"), ("Event Sync", "cudaEventQuery", -1, "wait"),
         ("Stream Wait Event", "cudaStreamWaitEvent", 7, "stream_wait"),
         ("Stream Sync", "cudaStreamSynchronize", 7, "finish"), ("Context Sync", "cudaDeviceSynchronize", -1, "device_sync"),
         ("Unknown Sync", "cudaStreamSynchronize", 7, None)]


def write(path, events):
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "traceEvents": events}, file)


def rows(path, sql):
    return json.loads(run("query", path, sql, "--json").stdout)["results"][0]["rows"]


def event(cat, name, pid, tid, ts, dur, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def comes_back(folder, path, events):
    out = os.path.join(folder, "out.json")
    run("export", path, "-o", out)
    with open(out, encoding="utf-8") as file:
        got = [entry for entry in json.load(file)["traceEvents"] if entry["ph"] == "X"]
    key = lambda entry: json.dumps(entry, sort_keys=True)
    check(sorted(map(key, got)) == sorted(map(key, events)), "the export has the events of the source, and no argument more")


def kineto(folder):
    path = os.path.join(folder, "kineto.json")
    events = [event("gpu_memcpy", name, 0, 7, 10 * i, 5, bytes=4096, stream=7, device=0) for i, name in enumerate(COPIES)]
    # An argument of that name which is none of ours.
    events += [event("gpu_memcpy", "copy", 0, 7, 900, 5, direction="north", stream=7, device=0)]
    write(path, events)
    got = [(row["name"], row["direction"]) for row in rows(path, "SELECT name, direction FROM memcpy ORDER BY start")]
    check(got == list(COPIES.items()) + [("copy", None)], "directions of copies: %s" % got)
    comes_back(folder, path, events)


def waits(folder):
    """What waits for what, by the names of CUPTI's records in Kineto; a record is no second wait of the host."""
    path, again = [os.path.join(folder, name) for name in ("waits.json", "waits.pftrace")]
    events = [event("kernel", "k", 0, 7, 10, 500, correlation=1, stream=7, device=0)]
    for i, (name, call, tid, _) in enumerate(WAITS):
        events += [event("cuda_runtime", call, 5, 5, 100 * i + 100, 50, correlation=i + 2),
                   event("cuda_sync", name, 0, tid, 100 * i + 110, 30, correlation=i + 2, stream=tid, device=0)]
    write(path, events)
    run("export", path, "-f", "perfetto", "-o", again)
    for one in (path, again):
        got = [(row["name"], row["operation"]) for row in rows(one, "SELECT name, operation FROM sync ORDER BY start")]
        check(got == [(name, want) for name, _, _, want in WAITS], "%s: operations of waits: %s" % (one, got))
    comes_back(folder, path, events)
    report = json.loads(run("analyze", "--only", "sync", "--json", path).stdout)["traces"][0]["reports"][0]
    want = "Host threads waited %d times" % len([call for _, call, _, _ in WAITS if call.endswith("Synchronize")])
    check(report["finding"].startswith(want), "%s, not: %s" % (want, report["finding"]))


def kernels(folder):
    path = os.path.join(folder, "kernels.json")
    write(path, [event("kernel", name, 0, 7, 10 * i, 5, stream=7, device=0) for i, name in enumerate(KERNELS)])
    got = {row["name"]: row["work"] == "communication" for row in rows(path, "SELECT name, work FROM lives")}
    check(got == KERNELS, "kernels that communicate: %s" % got)


def mtia(folder):
    """Copies, waits and kernels of MTIA share a category; its device has calls of its own, and other processes launch."""
    path = os.path.join(folder, "mtia.json")
    hardware, calls = "mtia_ccp_events", "mtia_runtime"
    events = [event(calls, "enqueueCommand memcpyHtoDAsync", 865, 1, 100, 2, correlation=5),
              event(calls, "runFunction", 865, 2, 110, 2, correlation=6),
              event(calls, "synchronize", 17, 3, 115, 2, correlation=1000000),
              event(hardware, "dma_request", 17, 101, 120, 10, correlation=5, direction="HOST_TO_DEVICE", size=1024),
              event(hardware, "dma_request", 17, 101, 135, 10, direction="DEVICE_TO_HOST", size=16, bytes=17),
              event(hardware, "event_wait", 17, 101, 150, 10, seq_num=4),
              event(hardware, "event_record", 17, 101, 170, 1, seq_num=4),
              event(hardware, "fc-dtype_Float", 17, 102, 130, 100, correlation=6)]
    write(path, events)
    got = rows(path, "SELECT kind, name, direction, operation, bytes FROM events WHERE category = '%s' ORDER BY start" % hardware)
    check([tuple(row.values()) for row in got] ==
          [("memcpy", "dma_request", "h2d", None, 1024), ("kernel", "fc-dtype_Float", None, None, None),
           ("memcpy", "dma_request", "d2h", None, 16), ("sync", "event_wait", None, "stream_wait", None),
           ("event_record", "event_record", None, None, None)], "MTIA's work: %s" % got)
    got = {row["name"]: row["call"] for row in rows(path, "SELECT name, call FROM lives WHERE call IS NOT NULL")}
    check(got == {"dma_request": "enqueueCommand memcpyHtoDAsync", "fc-dtype_Float": "runFunction"},
          "who launched MTIA's work: %s" % got)
    comes_back(folder, path, events)


# Name of a Python function as PyTorch writes it: file and line; None: the name has none.
PLACES = {"torch/nn/modules/module.py(1511): _call_impl": ("torch/nn/modules/module.py", 1511),
          "/home/a (b)/run(2).py(7): <module>": ("/home/a (b)/run(2).py", 7),
          "a.py(3): f(4): g": ("a.py", 3), "<string>(1): <lambda>": ("<string>", 1), "nn.Module: Linear_0": None,
          "<built-in method relu of type object at 0x7f>": None, "a.py(4294967296): f": None, "a.py(): f": None,
          "(5): f": None, "a.py(5):f": None, "a.py(5)": None, "a.py(4294967295): f": ("a.py", 4294967295)}


def python(folder):
    path = os.path.join(folder, "python.json")
    events = [event("python_function", name, 1, 1, 100 * i, 50, **{"Python id": i}) for i, name in enumerate(PLACES)]
    events += [event("cpu_op", "a.py(5): f", 1, 1, 9000, 5), event("python_function", "b.py(6): g", 1, 1, 9100, 5, file="c", line=9)]
    write(path, events)
    got = {row["name"]: (row["file"], row["line"]) for row in rows(path, "SELECT name, file, line FROM range WHERE start < 8000000")}
    check(got == {name: place or (None, None) for name, place in PLACES.items()}, "places of Python functions: %s" % got)
    got = [tuple(row.values()) for row in rows(path, "SELECT file, line FROM range WHERE start > 8000000 ORDER BY start")]
    check(got == [(None, None), ("b.py", 6)], "places of others: %s" % got)
    comes_back(folder, path, events)


def priorities(folder):
    path = os.path.join(folder, "priorities.json")
    events = [event("kernel", "k", 0, 7, 10, 5, stream=7, device=0, priority=-5),
              event("gpu_memcpy", "Memcpy HtoD", 0, 7, 20, 5, stream=7, device=0, stream_priority=0),
              event("kernel", "k", 0, 7, 30, 5, stream=7, device=0, priority="high"),
              event("kernel", "k", 0, 7, 40, 5, stream=7, device=0), event("cpu_op", "task", 1, 1, 50, 5, priority=3)]
    write(path, events)
    got = [row["priority"] for row in rows(path, "SELECT priority FROM events ORDER BY start")]
    check(got == [-5, 0, None, None, None], "priorities of streams: %s" % got)
    comes_back(folder, path, events)


def perfetto(folder):
    """Perfetto's file of another program has the same, and so has what is exported of it."""
    path, again = [os.path.join(folder, name) for name in ("a.pftrace", "again.pftrace")]
    copies = [(name, None, want) for name, want in COPIES.items()] + [("copy", "CopyDeviceToHost", "d2h")]
    data = packet((10, 1), (13, 1), (60, message((1, 5), (2, "stream 7"))))
    for i, (name, argument, _) in enumerate(copies):
        more = [(4, message((10, "kind"), (6, argument)))] if argument else []
        data += wire_event(1000 * i, [(9, 1), (11, 5), (22, "gpu_memcpy"), (23, name), *more])
        data += wire_event(1000 * i + 500, [(9, 2), (11, 5)])
    for i, name in enumerate(PLACES):
        data += wire_event(100000 + 1000 * i, [(9, 1), (11, 5), (22, "python_function"), (23, name)])
        data += wire_event(100500 + 1000 * i, [(9, 2), (11, 5)])
    with open(path, "wb") as file:
        file.write(data)
    run("export", path, "-f", "perfetto", "-o", again)
    for one in (path, again):
        got = [(row["name"], row["direction"]) for row in rows(one, "SELECT name, direction FROM memcpy ORDER BY start")]
        check(got == [(name, want) for name, _, want in copies], "%s: directions: %s" % (one, got))
        got = {row["name"]: (row["file"], row["line"]) for row in rows(one, "SELECT name, file, line FROM range")}
        check(got == {name: place or (None, None) for name, place in PLACES.items()}, "%s: places: %s" % (one, got))


# Keys of a counter's event, its arguments, and its value: its only number, if there is one that a double holds.
COUNTERS = [({}, {"value": 1.5}, 1.5), ({"id": 7}, {"bytes": 4096}, 4096), ({}, {"used": -3, "note": "text"}, -3),
            ({}, {"used": 1, "free": 2}, None), ({}, {"text": "1"}, None), ({}, {}, None),
            ({}, {"value": 2**53 + 1}, None), ({}, {"value": 2**63}, None), ({}, {"value": 2**53 - 1}, 2**53 - 1)]


def counters(folder):
    """The value of a counter with one series is in `value`; the export of Chrome JSON has it once, Perfetto's brings it back."""
    path, again, out = (os.path.join(folder, name) for name in ("counters.json", "counters.pftrace", "counters.out.json"))
    events = [{"ph": "C", "name": "counter %d" % i, "ts": 10 * i, "pid": 5, **keys, "args": args}
              for i, (keys, args, _) in enumerate(COUNTERS)]
    write(path, events)
    run("export", path, "-f", "perfetto", "-o", again)
    for one in (path, again):
        got = [row["value"] for row in rows(one, "SELECT value FROM counter ORDER BY start")]
        check(got == [value for _, _, value in COUNTERS], "%s: values of counters: %s" % (one, got))
        run("export", one, "-f", "chrome", "-o", out)
        with open(out, encoding="utf-8") as file:
            back = [entry for entry in json.load(file)["traceEvents"] if entry["ph"] == "C"]
        check([(entry["name"], entry.get("args", {})) for entry in back] == [(entry["name"], entry["args"]) for entry in events],
              "%s: the export has the counters of the source: %s" % (one, back))


def two_processes(folder):
    """A number that a launching process does not have belongs to no process, though another process has it."""
    path = os.path.join(folder, "two.json")
    write(path, [event("cuda_runtime", "cudaLaunchKernel", 5, 1, 100, 2, correlation=1),
                 event("cuda_runtime", "cudaLaunchKernel", 6, 1, 101, 2, correlation=2),
                 event("kernel", "a", 5, 7, 110, 2, correlation=1), event("kernel", "b", 5, 7, 120, 2, correlation=2)])
    got = {row["name"]: row["call"] for row in rows(path, "SELECT name, call FROM lives")}
    check(got == {"a": "cudaLaunchKernel", "b": None}, "calls of two processes: %s" % got)


def main():
    with tempfile.TemporaryDirectory() as folder:
        kineto(folder)
        waits(folder)
        kernels(folder)
        mtia(folder)
        counters(folder)
        two_processes(folder)
        python(folder)
        priorities(folder)
        perfetto(folder)


main()
