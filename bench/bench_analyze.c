// SPDX-License-Identifier: Apache-2.0
// All answers over 10 million events: a third each kernels (500 names, 8 queues of 2 devices), API calls (4 threads)
// and ranges. The batches are made while the clock runs, because 10 million events in memory would disturb the
// measured peak memory; the cost of making them is measured alone first. One run each, in a process of its own.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "event/batch.h"
#include "tracesmith/analyze.h"
#include "tracesmith/sbt.h"

enum { EVENTS = 10000000, EACH = EVENTS / 3, QUEUES = 8, THREADS = 4, NAMES = 500, ROWS = 50000 };

struct made {
    tsmith_dictionary *dictionary;
    tsmith_batch *batch;
    uint32_t track, row; // next
    uint32_t names[NAMES], call;
};

static void check(tsmith_status status) {
    if (status < 0) {
        fprintf(stderr, "bench_analyze: %s\n", tsmith_status_text(status));
        exit(1);
    }
}

// Tracks 1 .. QUEUES are queues, the next THREADS the calls of threads, the last THREADS their ranges.
static void make_tracks(struct made *made) {
    check(tsmith_dictionary_create(&made->dictionary));
    check(tsmith_batch_create(&made->batch));
    uint32_t process = tsmith_dictionary_add_process(made->dictionary, &(tsmith_process){.pid = 1}),
             devices[2];
    for (int i = 0; i < 2; i++)
        devices[i] = tsmith_dictionary_add_device(made->dictionary, &(tsmith_device){.compute_units = 1});
    for (uint32_t i = 0; i < QUEUES + 2 * THREADS; i++) {
        bool queue = i < QUEUES;
        tsmith_track track = {.kind = queue ? TSMITH_TRACK_QUEUE : TSMITH_TRACK_THREAD,
                              .process = process,
                              .device = queue ? devices[i % 2] : 0};
        (void)tsmith_dictionary_add_track(made->dictionary, &track);
    }
    for (uint32_t i = 0; i < NAMES; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "kernel_%u", i);
        made->names[i] = tsmith_dictionary_intern_cstr(made->dictionary, name);
    }
    made->call = tsmith_dictionary_intern_cstr(made->dictionary, "cudaLaunchKernel");
    made->track = 1;
}

static void fill(struct made *made, uint32_t rows) {
    bool queue = made->track <= QUEUES, call = !queue && made->track <= QUEUES + THREADS;
    uint32_t lanes = queue ? QUEUES : THREADS,
             lane = queue ? made->track - 1 : (made->track - 1 - QUEUES) % THREADS;
    check(batch_begin_columns(made->batch, made->track, rows));
    int64_t *starts = batch_add_column(made->batch, TSMITH_FIELD_START, TSMITH_TYPE_TIME, NULL);
    int64_t *durations = batch_add_column(made->batch, TSMITH_FIELD_DURATION, TSMITH_TYPE_I64, NULL);
    uint8_t *kinds = batch_add_column(made->batch, TSMITH_FIELD_KIND, TSMITH_TYPE_KIND, NULL);
    uint32_t *names = batch_add_column(made->batch, TSMITH_FIELD_NAME, TSMITH_TYPE_STRING, NULL);
    uint64_t *numbers =
        queue || call ? batch_add_column(made->batch, TSMITH_FIELD_CORRELATION, TSMITH_TYPE_U64, NULL) : NULL;
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t number = (made->row + i) * lanes + lane;
        starts[i] = (int64_t)number * 1000 + (queue ? 20000 : 0);
        durations[i] = queue ? 5000 + number * 7919 % 2500 : 700 + number % 100;
        kinds[i] = queue ? TSMITH_KIND_KERNEL : call ? TSMITH_KIND_API : TSMITH_KIND_RANGE;
        names[i] = queue ? made->names[number * 31 % NAMES] : made->call;
        if (numbers)
            numbers[i] = (uint64_t)number + 1;
    }
    batch_set_bounds(made->batch, starts[0], starts[rows - 1] + 8000);
}

static tsmith_status next_batch(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct made *made = self;
    (void)error;
    uint32_t total = EACH / (made->track <= QUEUES ? (uint32_t)QUEUES : THREADS);
    if (made->row >= total) {
        made->row = 0;
        if (++made->track > QUEUES + 2 * THREADS)
            return TSMITH_END;
    }
    total = EACH / (made->track <= QUEUES ? (uint32_t)QUEUES : THREADS);
    uint32_t rows = total - made->row < ROWS ? total - made->row : ROWS;
    fill(made, rows);
    made->row += rows;
    *out = made->batch;
    return TSMITH_OK;
}

static const tsmith_dictionary *made_dictionary(void *self) {
    return ((struct made *)self)->dictionary;
}

// `what`: the name of an analysis, "all", or NULL to only make the batches.
static void run(const char *what) {
    static const tsmith_source_ops OPS = {next_batch, made_dictionary, NULL};
    struct made made = {0};
    tsmith_source *source;
    tsmith_analysis *analysis;
    const tsmith_batch *batch;
    tsmith_analysis_options options = {.size = sizeof options, .names = &what, .name_count = 1};
    make_tracks(&made);
    check(tsmith_source_create(&OPS, &made, &source));
    check(tsmith_analysis_create(what && strcmp(what, "all") != 0 ? &options : NULL, &analysis, NULL));
    int64_t start = clock_trace_now();
    while (tsmith_source_next(source, &batch, NULL) == TSMITH_OK)
        if (what)
            check(tsmith_analysis_add(analysis, made.dictionary, batch, NULL));
    if (what)
        check(tsmith_analysis_finish(analysis, made.dictionary, NULL));
    double seconds = (double)(clock_trace_now() - start) / 1e9;
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    double busy = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                  (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    printf("%-24s %6.2f s, %6.2f s of the processor, peak %4ld MiB\n",
           what ? what : "making the batches alone", seconds, busy, usage.ru_maxrss / 1024);
    tsmith_analysis_destroy(analysis);
    tsmith_source_destroy(source);
    tsmith_batch_destroy(made.batch);
    tsmith_dictionary_destroy(made.dictionary);
}

// `kernels` from the totals of a file of the same events: opening included, no event is read.
static void run_totals(void) {
    static const tsmith_source_ops OPS = {next_batch, made_dictionary, NULL};
    static const char *const NAME = "kernels";
    struct made made = {0};
    char path[] = "/tmp/tracesmith-bench-XXXXXX";
    int fd = mkstemp(path);
    tsmith_source *source;
    tsmith_sink *sink;
    tsmith_analysis_options options = {.size = sizeof options, .names = &NAME, .name_count = 1};
    make_tracks(&made);
    check(tsmith_source_create(&OPS, &made, &source));
    check(tsmith_sbt_writer_open_fd(fd, NULL, &sink, NULL));
    check(tsmith_pump(source, sink, NULL, NULL, NULL));
    tsmith_sink_destroy(sink);
    tsmith_source_destroy(source);
    for (int i = 0; i < 5; i++) {
        tsmith_analysis *analysis;
        tsmith_sbt *trace;
        int64_t start = clock_trace_now();
        check(tsmith_sbt_open(path, &trace, NULL));
        check(tsmith_analysis_create(&options, &analysis, NULL));
        check(tsmith_analysis_read_totals(analysis, trace, NULL));
        printf("%-24s %6.1f ms\n", "kernels from totals", (double)(clock_trace_now() - start) / 1e6);
        tsmith_analysis_destroy(analysis);
        tsmith_sbt_close(trace);
    }
    (void)close(fd);
    (void)unlink(path);
    tsmith_batch_destroy(made.batch);
    tsmith_dictionary_destroy(made.dictionary);
}

int main(int argc, char **argv) {
    static const char *const WHAT[] = {NULL, "kernels", "breakdown", "idle", "critical_path", "all"};
    int result = 0;
    if (argc > 1) { // one alone, for counting instructions
        run(argv[1]);
        return 0;
    }
    for (size_t i = 0; i < sizeof WHAT / sizeof *WHAT; i++) {
        int status;
        (void)fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            run(WHAT[i]);
            (void)fflush(stdout);
            _exit(0);
        }
        result |= child < 0 || waitpid(child, &status, 0) != child || status != 0;
    }
    (void)fflush(stdout);
    run_totals();
    return result;
}
