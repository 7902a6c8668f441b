# SPDX-License-Identifier: Apache-2.0
"""Columns whose value the source has in a name or an argument are filled on import, and exporting gives the source back."""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "cli"))
from support import check, run  # noqa: E402

# Name of a copy as profilers write it: direction; None: the name says none.
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
    got = rows(path, "SELECT kind, name, direction, bytes FROM events WHERE category = '%s' ORDER BY start" % hardware)
    check([tuple(row.values()) for row in got] ==
          [("memcpy", "dma_request", "h2d", 1024), ("kernel", "fc-dtype_Float", None, None),
           ("memcpy", "dma_request", "d2h", 16), ("sync", "event_wait", None, None),
           ("event_record", "event_record", None, None)], "MTIA's work: %s" % got)
    got = {row["name"]: row["call"] for row in rows(path, "SELECT name, call FROM lives WHERE call IS NOT NULL")}
    check(got == {"dma_request": "enqueueCommand memcpyHtoDAsync", "fc-dtype_Float": "runFunction"},
          "who launched MTIA's work: %s" % got)
    comes_back(folder, path, events)


def two_processes(folder):
    """A number that a launching process does not have is nobody's, though another process has it."""
    path = os.path.join(folder, "two.json")
    write(path, [event("cuda_runtime", "cudaLaunchKernel", 5, 1, 100, 2, correlation=1),
                 event("cuda_runtime", "cudaLaunchKernel", 6, 1, 101, 2, correlation=2),
                 event("kernel", "a", 5, 7, 110, 2, correlation=1), event("kernel", "b", 5, 7, 120, 2, correlation=2)])
    got = {row["name"]: row["call"] for row in rows(path, "SELECT name, call FROM lives")}
    check(got == {"a": "cudaLaunchKernel", "b": None}, "calls of two processes: %s" % got)


def main():
    with tempfile.TemporaryDirectory() as folder:
        kineto(folder)
        kernels(folder)
        mtia(folder)
        two_processes(folder)


main()
