# SPDX-License-Identifier: Apache-2.0
"""Kineto traces that the tests write themselves, and the real ones of the corpus."""
import gzip
import json
import os

# Under a sanitizer everything takes many times as long, and fewer events do.
SANITIZED = bool(os.environ.get("TRACESMITH_SANITIZE"))
CORPUS = os.environ.get("TRACESMITH_CORPUS", "")
KINETO = (
    "kineto_resnet50_num_workers_0_worker0.1623143089861.pt.trace.json.gz",
    "traces_h100_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    "inference_vllm_prefilldecode_piecewise_graph_execution.json.gz",
)


def write_kineto(path, kernels):
    """`kernels`: (name, start in ns, duration in ns, bytes or None)."""
    events = []
    for number, (name, start, duration, size) in enumerate(kernels):
        arguments = {"stream": 7, "device": 0, "correlation": number + 1}
        if size is not None:
            arguments["size"] = size
        events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7,
                       "ts": start / 1000, "dur": duration / 1000, "args": arguments})
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "traceEvents": events}, file)


def corpus():
    """Kineto files that are there, as paths."""
    paths = [os.path.join(CORPUS, name) for name in KINETO] if CORPUS else []
    return [path for path in paths if os.path.exists(path)][: 1 if SANITIZED else None]


def read_kernels(path):
    """(name, duration in ns) of every kernel, as Python's json reads the file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        trace = json.load(file, parse_float=str, parse_int=str)
    kernels = []
    for event in trace["traceEvents"] if isinstance(trace, dict) else trace:
        if event.get("ph") == "X" and event.get("cat", "").lower() == "kernel":
            kernels.append((event["name"], nanoseconds(event["dur"])))
    return kernels


def nanoseconds(microseconds):
    """Of a decimal number as it is written."""
    whole, _, part = microseconds.partition(".")
    return int(whole) * 1000 + int((part + "000")[:3])
