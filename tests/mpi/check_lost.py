# SPDX-License-Identifier: Apache-2.0
"""The answer of tracesmith-mpi when ranks were killed: all traces that these had to read are named as missing and no other, and the
tables are those of `tracesmith analyze --ranks` on the other traces.

    check_lost.py FOLDER RANKS KILLED POISON ANSWER
"""
import json
import os
import subprocess
import sys

folder, ranks, killed, poison, answer = sys.argv[1:]
killed = {int(rank.removeprefix("rank")) for rank in killed.split() if rank != "none"}
files = sorted(f"{folder}/{name}" for name in os.listdir(folder))
lost = {name for index, name in enumerate(files) if index % int(ranks) in killed}
poisoned = {name for name in files if poison in name}


def expect(right, message):
    if not right:
        print("FAILED:", message, file=sys.stderr)
        sys.exit(1)


with open(answer, encoding="utf-8") as file:
    got = json.load(file)
rest = [name for name in files if name not in lost | poisoned]
wanted = json.loads(subprocess.run([os.environ["TRACESMITH"], "analyze", "--ranks", "--json", *rest], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, check=False).stdout)
reasons = {row["trace"]: row["reason"] for row in got["tables"].pop("missing")}
others = {row["trace"] for row in wanted["tables"].pop("missing")}
expect(set(reasons) == lost | poisoned | others, f"missing are {sorted(reasons)}, not {sorted(lost | poisoned | others)}")
for name, reason in reasons.items():
    expect((", which was to read it, is lost" in reason) == (name in lost), f"{name}: {reason}")
    expect(("killed by signal 9" in reason) == (name in poisoned), f"{name}: {reason}")
expect(got["tables"] == wanted["tables"] and got["finding"] == wanted["finding"], "the tables are not those of the other traces")
expect(lost | poisoned, "no trace is lost")
print(f"{len(files)} traces, {len(lost)} of lost ranks, {len(poisoned)} that killed its reader")
