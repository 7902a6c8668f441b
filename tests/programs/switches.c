// SPDX-License-Identifier: Apache-2.0
//
// Two threads on one processor hand a byte to and fro: every round trip is two switches and two wake-ups. Or a function is
// called again and again. Prints the processor time of one.
//
//   switches [-n ROUND_TRIPS] [--calls COUNT]

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int to[2], fro[2];

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

void switches_called(void);
__attribute__((noinline)) void switches_called(void) {
    __asm__ volatile("");
}

static void *echo(void *context) {
    char byte;
    (void)context;
    while (read(to[0], &byte, 1) == 1 && write(fro[1], &byte, 1) == 1 && byte)
        ;
    return NULL;
}

static double round_trip(long count) {
    cpu_set_t one;
    pthread_t other;
    char byte = 'x';
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one) || pipe(to) || pipe(fro) ||
        pthread_create(&other, NULL, echo, NULL))
        fail("setting up");
    const double begun = now();
    for (long i = 0; i < count; i++) {
        byte = i + 1 < count;
        if (write(to[1], &byte, 1) != 1 || read(fro[0], &byte, 1) != 1)
            fail("handing over");
    }
    const double ended = now();
    pthread_join(other, NULL);
    return (ended - begun) / (double)count;
}

static double call(long count) {
    void (*volatile function)(void) = switches_called;
    const double begun = now();
    for (long i = 0; i < count; i++)
        function();
    return (now() - begun) / (double)count;
}

int main(int argc, char **argv) {
    const long count = argc == 3 ? atol(argv[2]) : 0;
    if (count <= 0)
        return 2;
    if (strcmp(argv[1], "--calls") == 0)
        printf("{\"call_ns\":%.1f}\n", call(count));
    else
        printf("{\"round_trip_ns\":%.1f}\n", round_trip(count));
    return 0;
}
