# SPDX-License-Identifier: Apache-2.0
"""make_awkward.py OUT.json: a Chrome trace whose names want to be markup, move text about, or are very long."""
import json
import sys

NAMES = ["<script>alert(1)</script>", "</title></style><img src=x onerror=alert(2)>", "a\"b'c&amp;<b>", "\u202egnp.exe\u202c", "x" * 65536,
         "| cell | `code` | @everyone #1 [a](http://b)", "line\none\ttwo\x7f", "größe €"]
events = []
for i, name in enumerate(NAMES * 40):
    events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": i * 10, "dur": 5,
                   "args": {"device": 0, "stream": 7, "correlation": i + 1}})
    events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": i * 10 - 4, "dur": 2,
                   "args": {"correlation": i + 1}})
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump({"deviceProperties": [{"id": 0, "name": "<b>GPU</b>"}], "traceEvents": events}, file)
