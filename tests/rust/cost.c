// SPDX-License-Identifier: Apache-2.0
// What the Rust example "cost" does, in C, for test_figures.sh: cost on|off COUNT FILE, or cost read 0 FILE. With one more argument,
// for bench_rust.sh, it is done nine times, and the median of the thread's processor time is printed, in ns: per range, or of reading.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tracesmith/tracesmith.h"

void measured_ranges(tsmith_session *session, uint32_t name, uint64_t count);
void measured_read(tsmith_trace *trace, int64_t *sum, uint64_t *known);

__attribute__((noinline)) void measured_ranges(tsmith_session *session, uint32_t name, uint64_t count) {
    tsmith_session *volatile each = session;
    for (uint64_t i = 0; i < count; i++) {
        tsmith_session *one = each;
        tsmith_range_begin(one, name);
        tsmith_range_end(one);
    }
}

__attribute__((noinline)) void measured_read(tsmith_trace *trace, int64_t *sum, uint64_t *known) {
    const uint32_t fields[] = {TSMITH_FIELD_DURATION, TSMITH_FIELD_NAME};
    const tsmith_scan scan = {.size = sizeof scan, .fields = fields, .field_count = 2};
    tsmith_source *source;
    const tsmith_batch *batch;
    if (tsmith_sbt_scan(tsmith_trace_sbt(trace), &scan, &source, NULL) != TSMITH_OK)
        return;
    while (tsmith_source_next(source, &batch, NULL) == TSMITH_OK) {
        tsmith_view views[2];
        tsmith_view_batch(batch, fields, 2, views);
        for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
            int64_t duration;
            uint32_t name;
            if (!tsmith_view_i64(&views[0], row, &duration) || !tsmith_view_u32(&views[1], row, &name))
                continue;
            *sum += duration ^ (int64_t)name;
            ++*known;
        }
    }
    tsmith_source_destroy(source);
}

enum { RUNS = 9, RING_BYTES = 64 * 1024 };

static int64_t now(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int compare(const void *left, const void *right) {
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static void print_median(int64_t *times, double count) {
    qsort(times, RUNS, sizeof *times, compare);
    printf("%.2f\n", (double)times[RUNS / 2] / count);
}

static int read_file(const char *path, bool timed) {
    int64_t sum = 0, times[RUNS];
    uint64_t known = 0;
    tsmith_trace *trace;
    if (tsmith_trace_open(path, NULL, &trace, NULL) != TSMITH_OK)
        return 1;
    for (int run = 0; run < (timed ? RUNS : 1); run++) {
        const int64_t begun = now();
        sum = 0, known = 0;
        measured_read(trace, &sum, &known);
        times[run] = now() - begun;
    }
    if (timed)
        print_median(times, 1);
    else
        printf("%" PRId64 " %" PRIu64 "\n", sum, known);
    tsmith_trace_close(trace);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    const bool timed = argc > 4;
    if (strcmp(argv[1], "read") == 0)
        return read_file(argv[3], timed);
    tsmith_session *session = NULL;
    // A small ring that forgets: the thread that emits is measured, and the collector has little to do.
    const tsmith_session_options options = {.size = sizeof options,
                                            .path = argv[3],
                                            .buffer_bytes = timed ? RING_BYTES : 0,
                                            .overflow =
                                                timed ? TSMITH_OVERFLOW_DROP_OLDEST : TSMITH_OVERFLOW_BLOCK};
    if (strcmp(argv[1], "on") == 0 && tsmith_session_start(&options, &session, NULL) != TSMITH_OK)
        return 1;
    const uint32_t name = session ? tsmith_session_name(session, "step") : 0;
    const uint64_t count = strtoull(argv[2], NULL, 10);
    int64_t times[RUNS];
    measured_ranges(session, name, 1);
    for (int run = 0; run < (timed ? RUNS : 1); run++) {
        const int64_t begun = now();
        measured_ranges(session, name, count);
        times[run] = now() - begun;
    }
    if (timed)
        print_median(times, (double)count);
    return session && tsmith_session_stop(session, NULL, NULL) != TSMITH_OK;
}
