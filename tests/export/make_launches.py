#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_launches.py SEED: the description (for sbt_make) of two processes that launch kernels, copies and fills into
queues of two devices, several at once, with correlations that are as large as they may be."""
import random
import sys

KERNEL, MEMCPY, MEMSET, API = 1, 2, 3, 6
CALLS = {KERNEL: "cuLaunchKernel", MEMCPY: "cudaMemcpyAsync", MEMSET: "clEnqueueFillBuffer"}


def main(seed):
    rng = random.Random(int(seed))
    print("process 100 one\nprocess 200 two\ndevice GPU%200 cuda gpu\ndevice GPU%201 cuda gpu")
    for process in (1, 2):
        print(f"track 1 thread {process} 0")
        for queue in range(3):
            print(f"track 2 queue%20{queue} {process} {1 + queue % 2}")
    at = 0
    for number in range(300):
        process = number % 2
        correlation = number + rng.choice([0, 0, 0, 1 << 39, 1 << 40, (1 << 64) - 1000])
        kind = rng.choice([KERNEL, MEMCPY, MEMSET])
        at += rng.randrange(1, 500)
        begin = at + rng.randrange(400)
        print(f"event {1 + 4 * process} {API} {at} duration=50 name={CALLS[kind]} correlation={correlation}")
        print(f"event {2 + 4 * process + rng.randrange(3)} {kind} {begin} duration={rng.randrange(900)} "
              f"name=k{number} correlation={correlation}")


if __name__ == "__main__":
    main(*sys.argv[1:])
