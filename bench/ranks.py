# SPDX-License-Identifier: Apache-2.0
"""ranks.py FOLDER RANKS [STEPS]: writes what a profiler on each of RANKS ranks of a simulated run would have seen (the simulation of
tests/analyze/check_ranks.py: 20 steps of 20 layers), three of them with slower kernels, and prints which."""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "analyze"))
import check_ranks  # noqa: E402


def main():
    folder, ranks = sys.argv[1], int(sys.argv[2])
    check_ranks.STEPS, check_ranks.LAYERS = int(sys.argv[3]) if len(sys.argv) > 3 else 20, 20
    late = {ranks * 12 // 1000: 2500, ranks * 417 // 1000: 1500, ranks * 9 // 10: 2000}
    check_ranks.Run(11, late, (0, 0, 1), ranks).write(folder)
    print("ranks with slower kernels:", *sorted(late))


main()
