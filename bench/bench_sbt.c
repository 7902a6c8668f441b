// SPDX-License-Identifier: Apache-2.0
// Writing and reading SBT traces, one core. Throughput is per second of CPU time (user and system), so that a busy machine
// changes it little; the time to open and to show a window is what passes on the wall.
//
//     bench_sbt [EVENTS [FILE]]       write EVENTS (10 million) launch-loop events, then read them in a new process
//     bench_sbt read FILE             read an existing trace
//     bench_sbt rewrite FILE [OUT [LEVEL [COPIES]]]
//                                     read an existing trace and time writing its batches again, COPIES times over
//                                     ("-" for OUT: nowhere that stays)
//
// The events are those of a launch loop: half API calls of a host thread, half kernels of a queue, 64 Ki to a batch,
// with the columns the OpenCL agent fills. Durations and gaps are noise around a few kernels' means, with one
// outlier in a hundred, as in recorded traces.
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "event/batch.h"
#include "tracesmith/sbt.h"

enum { SHAPES = 8, REPEATS = 5 };

// Seconds of wall time, for measuring what a user waits for.
static double now(void) {
    return (double)clock_now(CLOCK_MONOTONIC) / 1e9;
}

// Seconds of this core's time, system time included, for throughput per core.
static double cpu(void) {
    return (double)clock_now(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

__attribute__((noreturn)) static void die(const char *what, const tsmith_error *error) {
    fprintf(stderr, "bench_sbt: %s: %s\n", what, error ? error->message : "");
    exit(1);
}

static uint64_t random_state = 1;

static uint64_t random_next(void) {
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

// About `mean`, mostly within a tenth of it; one in a hundred several times as long.
static int64_t noisy(double mean) {
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (double)(random_next() >> 11) / (double)((uint64_t)1 << 53);
    double value = mean * (1 + 0.12 * (sum - 2));
    if (random_next() % 100 == 0)
        value *= 2 + (double)(random_next() % 8);
    return (int64_t)value;
}

static int compare_doubles(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, compare_doubles);
    return values[count / 2];
}

// ---- making the events

static void *column(tsmith_batch *batch, uint32_t field) {
    void *values = batch_add_column(batch, field, tsmith_field_describe(field)->type, NULL);
    if (!values)
        die("no memory", NULL);
    return values;
}

static void make_calls(tsmith_batch *batch, uint32_t count) {
    if (batch_begin_columns(batch, 1, count) != TSMITH_OK)
        die("no memory", NULL);
    int64_t *start = column(batch, TSMITH_FIELD_START), *duration = column(batch, TSMITH_FIELD_DURATION);
    uint8_t *kind = column(batch, TSMITH_FIELD_KIND);
    uint32_t *name = column(batch, TSMITH_FIELD_NAME), *queue = column(batch, TSMITH_FIELD_QUEUE_TRACK);
    uint64_t *correlation = column(batch, TSMITH_FIELD_CORRELATION);
    int64_t *result = column(batch, TSMITH_FIELD_RESULT);
    int64_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool finish = i % 65 == 64;
        at += noisy(180);
        start[i] = at;
        duration[i] = noisy(finish ? 90000 : 1300);
        at += duration[i];
        kind[i] = finish ? TSMITH_KIND_SYNC : TSMITH_KIND_API;
        name[i] = finish ? 2 : 1;
        queue[i] = 2;
        correlation[i] = i + 1;
        result[i] = 0;
    }
    batch_set_bounds(batch, start[0], at);
}

static void make_kernels(tsmith_batch *batch, uint32_t count) {
    if (batch_begin_columns(batch, 2, count) != TSMITH_OK)
        die("no memory", NULL);
    int64_t *start = column(batch, TSMITH_FIELD_START), *duration = column(batch, TSMITH_FIELD_DURATION);
    int64_t *queued = column(batch, TSMITH_FIELD_QUEUED), *submitted = column(batch, TSMITH_FIELD_SUBMITTED);
    int64_t *completed = column(batch, TSMITH_FIELD_COMPLETED);
    uint8_t *kind = column(batch, TSMITH_FIELD_KIND), *operation = column(batch, TSMITH_FIELD_OPERATION);
    uint32_t *name = column(batch, TSMITH_FIELD_NAME), *host = column(batch, TSMITH_FIELD_HOST_TRACK);
    uint64_t *correlation = column(batch, TSMITH_FIELD_CORRELATION),
             *x = column(batch, TSMITH_FIELD_GLOBAL_X);
    int64_t at = 0, enqueued = 0;
    for (uint32_t i = 0; i < count; i++) {
        enqueued += noisy(1480) + (i % 64 == 63 ? noisy(90000) : 0);
        int64_t soonest = enqueued + noisy(30000);
        at = at > soonest ? at : soonest;
        start[i] = at += noisy(300);
        duration[i] = noisy(1200 + 400 * (i % 3));
        queued[i] = enqueued;
        submitted[i] = enqueued + noisy(350);
        at += duration[i];
        completed[i] = at + noisy(200);
        kind[i] = TSMITH_KIND_KERNEL;
        operation[i] = TSMITH_OPERATION_NDRANGE;
        name[i] = 3 + i % 3;
        host[i] = 1;
        correlation[i] = i + i / 64 + 1;
        x[i] = 1024u << i % 3;
    }
    batch_set_bounds(batch, start[0], at);
}

// The same events later in time and with later ids.
static void shift(tsmith_batch *batch, int64_t by, uint64_t ids) {
    for (uint32_t i = 0; i < tsmith_batch_column_count(batch); i++) {
        tsmith_column view = tsmith_batch_column_at(batch, i);
        int64_t *values = (int64_t *)(uintptr_t)view.values; // our own batch
        for (uint32_t row = 0; view.type == TSMITH_TYPE_TIME && row < view.count; row++)
            values[row] += by;
        for (uint32_t row = 0; view.field == TSMITH_FIELD_CORRELATION && row < view.count; row++)
            values[row] += (int64_t)ids;
    }
    batch_set_bounds(batch, tsmith_batch_first_start(batch) + by, tsmith_batch_last_end(batch) + by);
}

static tsmith_dictionary *make_dictionary(void) {
    static const char *const names[] = {"clEnqueueNDRangeKernel", "clFinish", "blur", "sharpen", "histogram"};
    tsmith_dictionary *dictionary;
    if (tsmith_dictionary_create(&dictionary) != TSMITH_OK)
        die("no memory", NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        tsmith_dictionary_intern_cstr(dictionary, names[i]);
    tsmith_dictionary_add_track(dictionary, &(tsmith_track){.kind = TSMITH_TRACK_THREAD});
    tsmith_dictionary_add_track(dictionary, &(tsmith_track){.kind = TSMITH_TRACK_QUEUE});
    return dictionary;
}

// ---- writing

static void write_events(const char *path, uint64_t events) {
    tsmith_batch *batches[SHAPES];
    tsmith_dictionary *dictionary = make_dictionary();
    tsmith_sink *sink;
    tsmith_error error;
    int64_t span = 0;
    for (size_t i = 0; i < SHAPES; i++) {
        if (tsmith_batch_create(&batches[i]) != TSMITH_OK)
            die("no memory", NULL);
        (i % 2 ? make_kernels : make_calls)(batches[i], TSMITH_BATCH_MAX);
        span = tsmith_batch_last_end(batches[i]) > span ? tsmith_batch_last_end(batches[i]) : span;
    }
    for (size_t i = 0; i < SHAPES; i++)
        shift(batches[i], span * (int64_t)(i / 2), TSMITH_BATCH_MAX * (i / 2));
    if (tsmith_sbt_writer_open(path, NULL, &sink, &error) != TSMITH_OK)
        die("open", &error);
    double spent = 0, best = 1e9;
    uint64_t written = 0;
    while (written < events) {
        double round = 0;
        for (size_t i = 0; i < SHAPES; i++) {
            double from = cpu();
            if (tsmith_sink_write(sink, dictionary, batches[i], &error) != TSMITH_OK)
                die("write", &error);
            round += cpu() - from;
            written += TSMITH_BATCH_MAX;
        }
        for (size_t i = 0; i < SHAPES; i++)
            shift(batches[i], span * SHAPES / 2, TSMITH_BATCH_MAX * SHAPES / 2);
        spent += round;
        best = round < best ? round : best;
    }
    double from = cpu();
    if (tsmith_sink_finish(sink, dictionary, &error) != TSMITH_OK)
        die("finish", &error);
    spent += cpu() - from;
    struct stat stat_of;
    if (stat(path, &stat_of) != 0)
        die("stat", NULL);
    printf("encode          %8.1f M events/s  (best round %.1f)\n", (double)written / spent / 1e6,
           SHAPES * TSMITH_BATCH_MAX / best / 1e6);
    printf("size            %8.2f bytes/event  (%" PRIu64 " events, %.1f MB)\n",
           (double)stat_of.st_size / (double)written, written, (double)stat_of.st_size / 1e6);
    tsmith_sink_destroy(sink);
    for (size_t i = 0; i < SHAPES; i++)
        tsmith_batch_destroy(batches[i]);
    tsmith_dictionary_destroy(dictionary);
}

// ---- reading

static uint64_t scan_all(tsmith_sbt *trace, const tsmith_scan *scan, uint64_t *batches) {
    tsmith_source *source;
    tsmith_error error;
    uint64_t events = 0;
    const tsmith_batch *batch;
    tsmith_status status = tsmith_sbt_scan(trace, scan, &source, &error);
    if (status != TSMITH_OK)
        die("scan", &error);
    while ((status = tsmith_source_next(source, &batch, &error)) == TSMITH_OK) {
        events += tsmith_batch_count(batch);
        if (batches)
            ++*batches;
    }
    if (status < 0)
        die("read", &error);
    tsmith_source_destroy(source);
    return events;
}

// What a two-column scan is for: the busy time.
static uint64_t sum_durations(tsmith_sbt *trace, const tsmith_scan *scan, uint64_t *events) {
    tsmith_source *source;
    tsmith_error error;
    uint64_t sum = 0;
    const tsmith_batch *batch;
    if (tsmith_sbt_scan(trace, scan, &source, &error) != TSMITH_OK)
        die("scan", &error);
    while (tsmith_source_next(source, &batch, &error) == TSMITH_OK) {
        tsmith_column duration;
        *events += tsmith_batch_count(batch);
        if (!tsmith_batch_column(batch, TSMITH_FIELD_DURATION, &duration))
            continue;
        const int64_t *values = duration.values;
        for (uint32_t row = 0; row < duration.count; row++)
            sum += (uint64_t)values[row];
    }
    tsmith_source_destroy(source);
    return sum;
}

static void time_open(const char *path) {
    enum { TIMES = 101 };
    double times[TIMES];
    tsmith_error error;
    for (int i = 0; i < TIMES; i++) {
        tsmith_sbt *trace;
        double from = now();
        if (tsmith_sbt_open(path, &trace, &error) != TSMITH_OK)
            die("open", &error);
        times[i] = now() - from;
        tsmith_sbt_close(trace);
    }
    printf("open            %8.3f ms\n", median(times, TIMES) * 1e3);
}

static void time_window(const char *path, const tsmith_sbt_summary *summary) {
    enum { TIMES = 51 };
    double times[TIMES];
    tsmith_error error;
    uint64_t events = 0, batches = 0;
    for (int i = 0; i < TIMES; i++) {
        tsmith_sbt *trace;
        int64_t middle =
            summary->first_start + (summary->last_end - summary->first_start) / (TIMES + 1) * (i + 1);
        tsmith_scan scan = {.size = sizeof scan, .has_window = 1, .from = middle, .to = middle + 1000000};
        double from = now();
        if (tsmith_sbt_open(path, &trace, &error) != TSMITH_OK)
            die("open", &error);
        events += scan_all(trace, &scan, &batches);
        times[i] = now() - from;
        tsmith_sbt_close(trace);
    }
    printf("1 ms window     %8.3f ms  (open included; %.1f batches, %.0f events decoded)\n",
           median(times, TIMES) * 1e3, (double)batches / TIMES, (double)events / TIMES);
}

static long resident_kb(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static void read_events(const char *path) {
    tsmith_sbt *trace;
    tsmith_sbt_summary summary = {.size = sizeof summary};
    tsmith_error error;
    time_open(path);
    if (tsmith_sbt_open(path, &trace, &error) != TSMITH_OK ||
        tsmith_sbt_summarize(trace, &summary, &error) != TSMITH_OK)
        die("open", &error);
    time_window(path, &summary);
    double full[REPEATS], two[REPEATS], top[REPEATS], verify[REPEATS];
    uint64_t sum = 0;
    static const uint32_t fields[] = {TSMITH_FIELD_DURATION};
    tsmith_scan projection = {.size = sizeof projection, .fields = fields, .field_count = 1};
    for (int i = 0; i < REPEATS; i++) {
        double from = cpu();
        uint64_t events = scan_all(trace, NULL, NULL);
        full[i] = cpu() - from;
        from = cpu();
        uint64_t scanned = 0;
        sum = sum_durations(trace, &projection, &scanned);
        two[i] = cpu() - from;
        if (events != summary.events || scanned != summary.events)
            die("the scans do not agree with the summary", NULL);
        tsmith_aggregate *aggregates;
        size_t count;
        from = cpu();
        if (tsmith_sbt_aggregates(trace, &aggregates, &count, &error) != TSMITH_OK)
            die("aggregates", &error);
        top[i] = cpu() - from;
        tsmith_free(aggregates);
        from = cpu();
        if (tsmith_sbt_verify(trace, &error) != TSMITH_OK)
            die("verify", &error);
        verify[i] = cpu() - from;
    }
    double events = (double)summary.events;
    printf("full decode     %8.1f M events/s\n", events / median(full, REPEATS) / 1e6);
    printf("start+duration  %8.1f M events/s  (sum %" PRIu64 " ns)\n", events / median(two, REPEATS) / 1e6,
           sum);
    printf("top names       %8.3f ms\n", median(top, REPEATS) * 1e3);
    printf("verify          %8.3f ms\n", median(verify, REPEATS) * 1e3);
    printf("resident, most  %8.1f MB\n", (double)resident_kb() / 1024);
    tsmith_sbt_close(trace);
}

// ---- an existing trace, written again

static void rewrite(const char *path, const char *out, int level, int copies) {
    tsmith_sbt_write_options options = {.size = sizeof options, .compression_level = level};
    double best = 1e9;
    uint64_t events = 0;
    struct stat stat_of = {0};
    for (int i = 0; i < REPEATS; i++) {
        tsmith_sbt *trace;
        tsmith_source *source;
        tsmith_sink *sink;
        tsmith_error error;
        const tsmith_batch *batch;
        int fd = out ? open(out, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600)
                     : open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (tsmith_sbt_open(path, &trace, &error) != TSMITH_OK ||
            tsmith_sbt_scan(trace, NULL, &source, &error) != TSMITH_OK ||
            tsmith_sbt_writer_open_fd(fd, &options, &sink, &error) != TSMITH_OK)
            die("open", &error);
        const tsmith_dictionary *dictionary = tsmith_source_dictionary(source);
        double spent = 0, from = 0;
        events = 0;
        while (tsmith_source_next(source, &batch, &error) == TSMITH_OK) {
            from = cpu();
            for (int copy = 0; copy < copies; copy++)
                if (tsmith_sink_write(sink, dictionary, batch, &error) != TSMITH_OK)
                    die("write", &error);
            spent += cpu() - from;
            events += (uint64_t)tsmith_batch_count(batch) * (unsigned)copies;
        }
        from = cpu();
        if (tsmith_sink_finish(sink, dictionary, &error) != TSMITH_OK || fstat(fd, &stat_of) != 0)
            die("finish", &error);
        spent += cpu() - from;
        best = spent < best ? spent : best;
        tsmith_sink_destroy(sink);
        tsmith_source_destroy(source);
        tsmith_sbt_close(trace);
        close(fd);
    }
    printf("rewrite         %8.1f M events/s  (best of %d; %" PRIu64 " events, %.2f bytes/event)\n",
           (double)events / best / 1e6, REPEATS, events,
           (double)stat_of.st_size / (double)(events ? events : 1));
}

static void read_in_new_process(const char *path) {
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "bench_sbt", "read", path, (char *)NULL);
        _exit(127);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        die("the reading process failed", NULL);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "read") == 0) {
        read_events(argv[2]);
        return 0;
    }
    if (argc >= 3 && argc <= 6 && strcmp(argv[1], "rewrite") == 0) {
        bool stays = argc > 3 && strcmp(argv[3], "-") != 0;
        rewrite(argv[2], stays ? argv[3] : NULL, argc > 4 ? (int)strtol(argv[4], NULL, 10) : 0,
                argc > 5 ? (int)strtol(argv[5], NULL, 10) : 1);
        return 0;
    }
    uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
    char path[] = "/tmp/bench-sbt-XXXXXX";
    int fd = argc > 2 ? -1 : mkstemp(path);
    const char *file = argc > 2 ? argv[2] : path;
    write_events(file, events);
    fflush(stdout);
    read_in_new_process(file);
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
    return 0;
}
