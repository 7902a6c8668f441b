// SPDX-License-Identifier: Apache-2.0
// How fast foreign traces are read, exported, and how large they become.
//
//     bench_import [--export OUT.json] [--sbt OUT.sbt] [--level ZSTD] [-n REPEATS] FILE...
//
// One line per file: best of the repeats in MB of the file's own bytes per second, by the clock and by the
// processor time of this process (what counts on a machine that others use too); events; the most memory
// resident so far. With --sbt the import is also written as SBT, with --export as Chrome JSON (the last file's stays).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "tracesmith/export_trace.h"
#include "tracesmith/import.h"
#include "tracesmith/sbt.h"

static tsmith_status count_rows(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                tsmith_error *error) {
    (void)dictionary;
    (void)error;
    *(uint64_t *)self += tsmith_batch_count(batch);
    return TSMITH_OK;
}

static tsmith_status count_finish(void *self, const tsmith_dictionary *dictionary, tsmith_error *error) {
    (void)self;
    (void)dictionary;
    (void)error;
    return TSMITH_OK;
}

static tsmith_sbt_write_options sbt_options = {.size = sizeof sbt_options};

static tsmith_status open_sink(const char *export_path, const char *sbt_path, uint64_t *count,
                               tsmith_sink **out, tsmith_error *error) {
    static const tsmith_sink_ops counting = {count_rows, count_finish, NULL};
    if (export_path)
        return tsmith_export_open("chrome", export_path, NULL, out, error);
    if (sbt_path)
        return tsmith_sbt_writer_open(sbt_path, &sbt_options, out, error);
    return tsmith_sink_create(&counting, count, out);
}

struct times {
    int64_t wall, processor; // ns
};

static int run(const char *path, const char *export_path, const char *sbt_path, uint64_t *rows,
               struct times *took) {
    tsmith_source *source = NULL;
    tsmith_sink *sink = NULL;
    tsmith_error error;
    *rows = 0;
    struct times from = {clock_trace_now(), clock_now(CLOCK_PROCESS_CPUTIME_ID)};
    tsmith_status status = tsmith_import_open(path, NULL, &source, &error);
    if (status == TSMITH_OK)
        status = open_sink(export_path, sbt_path, rows, &sink, &error);
    if (status == TSMITH_OK)
        status = tsmith_pump(source, sink, NULL, NULL, &error);
    *took =
        (struct times){clock_trace_now() - from.wall, clock_now(CLOCK_PROCESS_CPUTIME_ID) - from.processor};
    tsmith_sink_destroy(sink);
    tsmith_source_destroy(source);
    if (status != TSMITH_OK)
        fprintf(stderr, "%s\n", error.message);
    return status < 0;
}

int main(int count, char **arguments) {
    const char *export_path = NULL, *sbt_path = NULL;
    int repeats = 5, failures = 0;
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--export") == 0 && i + 1 < count) {
            export_path = arguments[++i];
            continue;
        }
        if (strcmp(arguments[i], "--sbt") == 0 && i + 1 < count) {
            sbt_path = arguments[++i];
            continue;
        }
        if (strcmp(arguments[i], "--level") == 0 && i + 1 < count) {
            sbt_options.compression_level = (int)strtol(arguments[++i], NULL, 10);
            continue;
        }
        if (strcmp(arguments[i], "-n") == 0 && i + 1 < count) {
            repeats = (int)strtol(arguments[++i], NULL, 10);
            continue;
        }
        struct stat in, out = {.st_size = 0};
        struct times best = {INT64_MAX, INT64_MAX}, took;
        uint64_t rows = 0;
        for (int repeat = 0; repeat < repeats; repeat++) {
            failures += run(arguments[i], export_path, sbt_path, &rows, &took);
            best.wall = took.wall < best.wall ? took.wall : best.wall;
            best.processor = took.processor < best.processor ? took.processor : best.processor;
        }
        if (stat(arguments[i], &in) != 0)
            continue;
        if (export_path || sbt_path)
            (void)stat(export_path ? export_path : sbt_path, &out);
        struct rusage usage;
        (void)getrusage(RUSAGE_SELF, &usage);
        printf("%8.1f MB/s  %8.1f MB/s cpu  %9llu rows  %10lld bytes out  %6.1f MB resident  %s\n",
               (double)in.st_size * 1000 / (double)best.wall,
               (double)in.st_size * 1000 / (double)best.processor, (unsigned long long)rows,
               (long long)out.st_size, (double)usage.ru_maxrss / 1024, arguments[i]);
    }
    return failures != 0;
}
