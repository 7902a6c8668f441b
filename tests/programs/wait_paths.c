// SPDX-License-Identifier: Apache-2.0
//
// Two threads: one waits ROUNDS times, each time on a path of its own through four functions, until the other, on a path of its
// own, wakes it. Prints both paths of every round, and when it was, on CLOCK_MONOTONIC_RAW.
//
//   wait_paths [-n ROUNDS]

#include <alloca.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS_MOST = 10000, DEPTH = 7 };

static struct round {
    int64_t before, after;
    char waits[DEPTH + 1], wakes[DEPTH + 1];
} rounds[ROUNDS_MOST];
static int round_count = 100;
static atomic_uint turn; // rises: 2 * round + 2 wakes who waits in that one
static long waiter_tid, waker_tid;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void wait_for_turn(unsigned wanted) {
    for (unsigned is; (is = atomic_load(&turn)) < wanted;)
        syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, is, NULL, NULL, 0);
}

static void give_turn(unsigned to) {
    atomic_store(&turn, to);
    syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

typedef int step(const char *path, unsigned to);
static step *volatile steps[4]; // so that no compiler sees through it

static int descend(const char *path, unsigned to) {
    return *path    ? steps[*path - '0'](path + 1, to)
           : to % 2 ? (wait_for_turn(to + 1), 1)
                    : (give_turn(to), 1);
}

// Several shapes: plain, with a large frame, of a size known at run time only, with saved registers in use.
step path_0, path_1, path_2, path_3;
__attribute__((noinline)) int path_0(const char *path, unsigned to) {
    return descend(path, to) + 1;
}
__attribute__((noinline)) int path_1(const char *path, unsigned to) {
    volatile char room[700];
    room[to % sizeof room] = 1;
    return descend(path, to) + room[to % sizeof room];
}
__attribute__((noinline)) int path_2(const char *path, unsigned to) {
    volatile char *room = alloca(16 + to % 200);
    room[0] = 1;
    return descend(path, to) + room[0];
}
__attribute__((noinline)) int path_3(const char *path, unsigned to) {
    const long a = labs((long)to), b = a * 3, c = a ^ b, d = b + c;
    const int got = descend(path, to);
    return got + (int)((a + b + c + d) & 1) * 0 + 1;
}

static void choose(char *path, uint32_t *state) {
    for (int i = 0; i < DEPTH; i++) {
        *state = *state * 1664525u + 1013904223u;
        path[i] = (char)('0' + (*state >> 30));
    }
}

static void *wake(void *unused) {
    const struct timespec nap = {.tv_nsec = 1500000};
    (void)unused;
    waker_tid = syscall(SYS_gettid);
    pthread_setname_np(pthread_self(), "waker");
    for (int i = 0; i < round_count; i++) {
        nanosleep(&nap, NULL);
        descend(rounds[i].wakes, 2 * (unsigned)i + 2);
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t waker;
    uint32_t state = 20260101;
    if (argc == 3 && strcmp(argv[1], "-n") == 0)
        round_count = atoi(argv[2]);
    if (round_count < 1 || round_count > ROUNDS_MOST)
        return 2;
    steps[0] = path_0, steps[1] = path_1, steps[2] = path_2, steps[3] = path_3;
    waiter_tid = syscall(SYS_gettid);
    for (int i = 0; i < round_count; i++) {
        choose(rounds[i].waits, &state);
        choose(rounds[i].wakes, &state);
    }
    if (pthread_create(&waker, NULL, wake, NULL))
        return 1;
    for (int i = 0; i < round_count; i++) {
        rounds[i].before = now();
        descend(rounds[i].waits, 2 * (unsigned)i + 1);
        rounds[i].after = now();
    }
    pthread_join(waker, NULL);
    printf("{\"waiter\":%ld,\"waker\":%ld,\"rounds\":[", waiter_tid, waker_tid);
    for (int i = 0; i < round_count; i++)
        printf("%s[%lld,%lld,\"%s\",\"%s\"]", i ? "," : "", (long long)rounds[i].before,
               (long long)rounds[i].after, rounds[i].waits, rounds[i].wakes);
    puts("]}");
    return 0;
}
