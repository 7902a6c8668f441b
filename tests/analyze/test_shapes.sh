#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `analyze kernels` counts each shape of each kernel by itself: many names with many sizes, compared with the script's own
# sums. Weak hashes of (name, sizes) meet in such a grid.
set -eu
. "${TRACESMITH_SOURCE_DIR:?}/tests/support/traces.sh"
cat >"$folder/make.py" <<'PY'
import collections, json, subprocess, sys
events, sums, at = [], collections.defaultdict(list), 0
for name in range(300):
    for grid in range(1, 41):
        at += 100
        duration = 1 + (name * 7 + grid * 3) % 50
        sizes = [grid, 1 + name % 2, 1], [64 << grid % 3, 1, 1]
        events.append({"ph": "X", "cat": "kernel", "name": f"k{name}", "pid": 0, "tid": 7, "ts": at, "dur": duration,
                       "args": {"device": 0, "stream": 7, "correlation": at, "grid": sizes[0], "block": sizes[1]}})
        sums[f"k{name}", "x".join(map(str, sizes[0])), "x".join(map(str, sizes[1]))].append(duration * 1000)
json.dump({"traceEvents": events}, open(sys.argv[1] + "/trace.json", "w"))
report = json.loads(subprocess.run([sys.argv[2], "analyze", "--json", "--only", "kernels", sys.argv[1] + "/trace.json"],
                                   check=True, stdout=subprocess.PIPE).stdout)["traces"][0]["reports"][0]
rows = {(row["kernel"], row["grid"], row["block"]): row for row in report["tables"]["shapes"]}
wrong = [key for key, values in sums.items()
         if key not in rows or (rows[key]["count"], rows[key]["total_ns"]) != (len(values), sum(values))]
if wrong or len(rows) != len(sums):
    sys.exit(f"{len(rows)} shapes instead of {len(sums)}; wrong: {wrong[:5]}")
PY
python3 "$folder/make.py" "$folder" "${TRACESMITH:?}"
