# SPDX-License-Identifier: Apache-2.0
"""ranks_clean.py RANKS RUNS: simulated runs of RANKS ranks without faults (the simulation of tests/analyze/check_ranks.py, each run with another
seed). Prints the stragglers and slow links that `analyze --ranks` names in each; there are none. Fails when one is named."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "analyze"))
import check_ranks  # noqa: E402


def named(seed, ranks):
    with tempfile.TemporaryDirectory() as folder:
        paths = check_ranks.Run(seed, {}, (), ranks).write(folder)
        out = subprocess.run([os.environ["TRACESMITH"], "analyze", "--ranks", "--json", *paths], stdout=subprocess.PIPE, check=True).stdout
    tables = json.loads(out)["tables"]
    assert len(tables["ranks"]) == ranks
    return [row["rank"] for row in tables.get("stragglers", [])], [row["ranks"] for row in tables.get("links", [])]


def main():
    found = [named(seed, int(sys.argv[1])) for seed in range(int(sys.argv[2]))]
    for seed, (stragglers, links) in enumerate(found):
        if stragglers or links:
            print(f"run {seed}: stragglers {stragglers}, slow links {links}")
    print(f"{len(found)} runs of {sys.argv[1]} ranks without faults: {sum(any(one) for one in found)} with a fault named")
    return any(any(one) for one in found)


sys.exit(main())
