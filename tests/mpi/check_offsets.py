# SPDX-License-Identifier: Apache-2.0
"""The table `clocks` of `analyze --ranks --json` of ranks on hosts whose clocks are shifted: no probe relates them.

    check_offsets.py FILE RANKS_PER_HOST SECONDS: host h, which has the ranks from h * RANKS_PER_HOST on, is shifted by h * SECONDS
"""
import json
import sys

path, per_host, shift = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with open(path, encoding="utf-8") as file:
    report = json.load(file)
rows = {row["rank"]: row for row in report["tables"]["clocks"]}
assert len({row["clock"] for row in rows.values()}) == len(rows) // per_host, rows
for rank, row in rows.items():
    host = rank // per_host
    truth = host * shift * 10**9
    assert abs(row["offset_ns"] - truth) <= row["bound_ns"] < 10**9, row
    assert ("messages" if host else "same clock") in row["relation"], row  # UTC may relate them too, on a synchronized machine
    assert row["contradictions"] == 0, row
assert any("are known within" in note for note in report["notes"]), report["notes"]
print("messages: the clocks of hosts are known within", max(row["bound_ns"] for row in rows.values()) / 1000, "us")
