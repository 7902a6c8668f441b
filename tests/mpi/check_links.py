# SPDX-License-Identifier: Apache-2.0
"""check_links.py ANSWER RANKS...: of the groups with a slow link in the answer of `analyze --ranks --json`, those with the longest transfers are
these, and a note names each."""
import json
import sys

path, wanted = sys.argv[1], sorted(sys.argv[2:])
with open(path, encoding="utf-8") as file:
    report = json.load(file)
rows = sorted(report["tables"]["links"], key=lambda row: row["transfer_ns"], reverse=True)
assert sorted(row["ranks"] for row in rows[:len(wanted)]) == wanted, rows
for ranks in wanted:
    assert any(note.startswith(f"Ranks {ranks} transfer slowly") for note in report["notes"]), report["notes"]
