# SPDX-License-Identifier: Apache-2.0
"""make_ranks.py FOLDER RANKS: a trace of each rank, as PyTorch's profiler writes it, of a short run in which the last rank but one is late."""
import json
import sys

folder, ranks = sys.argv[1], int(sys.argv[2])
for rank in range(ranks):
    events, at = [], 1000 + 7 * rank
    for number in range(40):
        late = 300 if rank == ranks - 2 else 3 * ((rank + number) % 5)
        group = "all" if number % 4 else str(rank % 2)
        events.append({"ph": "X", "cat": "kernel", "name": "matmul", "pid": 0, "tid": 7, "ts": at, "dur": 200 + late, "args": {"stream": 7}})
        end = at + 1000
        events.append({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32", "pid": 0, "tid": 7, "ts": at + 210 + late,
                       "dur": end - at - 210 - late, "args": {"stream": 7, "Process Group Name": group}})
        at = end + 50
    with open(f"{folder}/rank{rank}.json", "w", encoding="utf-8") as out:
        json.dump({"distributedInfo": {"rank": rank, "world_size": ranks, "backend": "nccl"}, "traceEvents": events}, out)
