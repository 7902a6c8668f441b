// SPDX-License-Identifier: Apache-2.0
// nested ROUNDS: computes in 21 nested functions, and prints the sum and what the computation itself took: ns of wall time, and of the
// processor. bench_sample.sh builds and runs it.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

NOINLINE static unsigned long level_0(unsigned long x) {
    for (int i = 0; i < 2000; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

// What is done with the result keeps a call from becoming a jump.
#define LEVEL(number, below)                                                                                 \
    NOINLINE static unsigned long level_##number(unsigned long x) {                                          \
        return level_##below(x + number) ^ number;                                                           \
    }
LEVEL(1, 0)
LEVEL(2, 1)
LEVEL(3, 2)
LEVEL(4, 3)
LEVEL(5, 4)
LEVEL(6, 5)
LEVEL(7, 6)
LEVEL(8, 7)
LEVEL(9, 8)
LEVEL(10, 9)
LEVEL(11, 10)
LEVEL(12, 11)
LEVEL(13, 12)
LEVEL(14, 13)
LEVEL(15, 14)
LEVEL(16, 15)
LEVEL(17, 16)
LEVEL(18, 17)
LEVEL(19, 18)
LEVEL(20, 19)

static long long now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int argc, char **argv) {
    const long long wall = now(CLOCK_MONOTONIC), processor = now(CLOCK_PROCESS_CPUTIME_ID);
    unsigned long sum = 0;
    for (long i = argc > 1 ? strtol(argv[1], NULL, 10) : 2500000; i > 0; i--)
        sum += level_20((unsigned long)i);
    printf("%lu %lld %lld\n", sum, now(CLOCK_MONOTONIC) - wall, now(CLOCK_PROCESS_CPUTIME_ID) - processor);
    return 0;
}
