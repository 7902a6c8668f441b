// SPDX-License-Identifier: Apache-2.0
// What an emission costs: one thread, two threads, the clock alone, a disabled site. Each figure is the median of
// RUNS runs. Peers on the same loop: bench_emit_lttng, bench_emit_otf2.
// usage: bench_emit [EVENTS per run]
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tracesmith/session.h"

enum { RUNS = 9, THREADS_MAX = 2 };

static tsmith_session *volatile disabled;

struct work {
    tsmith_session *session;
    uint32_t name;
    uint64_t events;
    int kind; // 0: clock, 1: marks, 2: ranges, 3: counters, 4: disabled
    pthread_barrier_t *barrier;
    int64_t begun, ended;
    uint64_t sink;
};

static void emit(struct work *work) {
    tsmith_session *session = work->session;
    uint32_t name = work->name;
    bool tsc = clock_tick_is_tsc();
    uint64_t sum = 0;
    switch (work->kind) {
    case 0:
        for (uint64_t i = 0; i < work->events; i++)
            sum += clock_tick(tsc);
        break;
    case 1:
        for (uint64_t i = 0; i < work->events; i++)
            tsmith_mark(session, name);
        break;
    case 2:
        for (uint64_t i = 0; i < work->events; i += 2) {
            tsmith_range_begin(session, name);
            tsmith_range_end(session);
        }
        break;
    case 3:
        for (uint64_t i = 0; i < work->events; i++)
            tsmith_count(session, name, (double)i);
        break;
    default:
        for (uint64_t i = 0; i < work->events; i++) {
            tsmith_mark(session, name);
            __asm__ volatile("" ::: "memory"); // one site, reached again and again
        }
    }
    work->sink = sum;
}

static void *work_main(void *self) {
    struct work *work = self;
    struct work warm = *work;
    // The ring exists and its memory is there: what a run measures is the event path.
    warm.events = work->kind == 0 || work->kind == 4 ? 1000 : 2000000;
    emit(&warm);
    pthread_barrier_wait(work->barrier);
    // Time of this thread alone: what others run on the same processors meanwhile is not the event's cost.
    work->begun = clock_now(CLOCK_THREAD_CPUTIME_ID);
    emit(work);
    work->ended = clock_now(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

// ns per event of one thread when `threads` emit at the same time.
static double measure(int kind, int threads, uint64_t events) {
    double runs[RUNS];
    for (int run = 0; run < RUNS; run++) {
        char path[] = "/dev/shm/bench-emit-XXXXXX";
        int fd = mkstemp(path);
        tsmith_session *session = NULL;
        pthread_barrier_t barrier;
        pthread_t ids[THREADS_MAX];
        struct work works[THREADS_MAX];
        // Drop-oldest and a small ring: what is measured is the emitting thread, with next to no work for the
        // collector, which would otherwise compete for the same two processors.
        const tsmith_session_options options = {.size = sizeof options,
                                                .path = path,
                                                .buffer_bytes = 64 * 1024,
                                                .overflow = TSMITH_OVERFLOW_DROP_OLDEST};
        tsmith_error error;
        if (kind != 4 && kind != 0 && tsmith_session_start(&options, &session, &error)) {
            fprintf(stderr, "%s\n", error.message);
            exit(1);
        }
        pthread_barrier_init(&barrier, NULL, (unsigned)threads);
        for (int i = 0; i < threads; i++) {
            works[i] = (struct work){.session = kind == 4 ? disabled : session,
                                     .name = tsmith_session_name(session, "event"),
                                     .events = events,
                                     .kind = kind,
                                     .barrier = &barrier};
            pthread_create(&ids[i], NULL, work_main, &works[i]);
        }
        double total = 0;
        for (int i = 0; i < threads; i++) {
            pthread_join(ids[i], NULL);
            total += (double)(works[i].ended - works[i].begun) / (double)events;
        }
        runs[run] = total / threads;
        tsmith_session_stop(session, NULL, NULL);
        close(fd);
        unlink(path);
    }
    qsort(runs, RUNS, sizeof *runs, compare);
    return runs[RUNS / 2];
}

int main(int argc, char **argv) {
    uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 4000000;
    double clock = measure(0, 1, events);
    double mark = measure(1, 1, events), range = measure(2, 1, events), count = measure(3, 1, events);
    double two = measure(1, 2, events), off = measure(4, 1, events * 10);
    printf("clock read alone          %6.2f ns  (%s)\n", clock,
           clock_tick_is_tsc() ? "tsc" : "CLOCK_MONOTONIC_RAW");
    printf("mark, one thread          %6.2f ns  clock + %.2f\n", mark, mark - clock);
    printf("range begin or end        %6.2f ns  clock + %.2f\n", range, range - clock);
    printf("counter                   %6.2f ns  clock + %.2f\n", count, count - clock);
    printf("mark, two threads, each   %6.2f ns  scaling %.2f\n", two, mark / two);
    printf("disabled site             %6.2f ns\n", off);
    return 0;
}
