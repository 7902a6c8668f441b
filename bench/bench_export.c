// SPDX-License-Identifier: Apache-2.0
// How fast traces are written for other tools.
//
//     bench_export [-n REPEATS] [-f FORMAT]... [FILE.sbt]
//
// One line per format: the best of the repeats in events per second of processor time and of wall time, and bytes per event. Exports
// with several threads need more of the former and less of the latter. Without a file, of a launch loop of 2 M calls and the kernels
// they make. The batches are in memory, the output goes to /dev/null after having been counted: what is measured is the exporter.
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "tracesmith/export_trace.h"
#include "tracesmith/sbt.h"

enum { FORMATS_MAX = 16, LAUNCHES = 2000000, NAMES = 40 };

static int fail(const tsmith_error *error) {
    fprintf(stderr, "bench_export: %s\n", error->message);
    return 1;
}

// ---- a launch loop

static void set(tsmith_batch *batch, uint32_t field, uint64_t value) {
    (void)tsmith_batch_set(batch, field, value);
}

static void add_call(tsmith_batch *batch, uint64_t launch, uint32_t name, int64_t at) {
    (void)tsmith_batch_append(batch, TSMITH_KIND_API, at);
    set(batch, TSMITH_FIELD_DURATION, 900 + launch * 7919 % 300);
    set(batch, TSMITH_FIELD_NAME, name);
    set(batch, TSMITH_FIELD_CORRELATION, launch + 1);
    set(batch, TSMITH_FIELD_RESULT, 0);
}

static void add_kernel(tsmith_batch *batch, uint64_t launch, uint32_t name, int64_t at) {
    (void)tsmith_batch_append(batch, TSMITH_KIND_KERNEL, at);
    set(batch, TSMITH_FIELD_DURATION, 1000 + launch * 104729 % 900);
    set(batch, TSMITH_FIELD_NAME, name);
    set(batch, TSMITH_FIELD_CORRELATION, launch + 1);
    set(batch, TSMITH_FIELD_QUEUED, (uint64_t)at - 3000);
    set(batch, TSMITH_FIELD_SUBMITTED, (uint64_t)at - 2000);
    set(batch, TSMITH_FIELD_OPERATION, TSMITH_OPERATION_NDRANGE);
    set(batch, TSMITH_FIELD_GLOBAL_X, 65536);
    set(batch, TSMITH_FIELD_LOCAL_X, 256);
}

static int make_loop(const char *path, tsmith_error *error) {
    tsmith_dictionary *dictionary = NULL;
    tsmith_batch *batch = NULL;
    tsmith_sink *sink = NULL;
    if (tsmith_dictionary_create(&dictionary) != TSMITH_OK || tsmith_batch_create(&batch) != TSMITH_OK ||
        tsmith_sbt_writer_open(path, NULL, &sink, error) != TSMITH_OK)
        return 1;
    uint32_t process = tsmith_dictionary_add_process(dictionary, &(tsmith_process){.pid = 4242});
    tsmith_track tracks[2] = {{.kind = TSMITH_TRACK_THREAD, .process = process, .tid = 4242},
                              {.kind = TSMITH_TRACK_QUEUE, .process = process}};
    uint32_t ids[2], names[NAMES], call = tsmith_dictionary_intern_cstr(dictionary, "clEnqueueNDRangeKernel");
    for (int i = 0; i < 2; i++)
        ids[i] = tsmith_dictionary_add_track(dictionary, &tracks[i]);
    for (uint32_t i = 0; i < NAMES; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "kernel_%u", i);
        names[i] = tsmith_dictionary_intern_cstr(dictionary, name);
    }
    int bad = 0;
    for (uint64_t from = 0; from < LAUNCHES && !bad; from += TSMITH_BATCH_MAX)
        for (int queue = 0; queue < 2 && !bad; queue++) {
            tsmith_batch_reset(batch, ids[queue]);
            for (uint64_t i = from; i < LAUNCHES && i < from + TSMITH_BATCH_MAX; i++) {
                int64_t at = 1000000000 + (int64_t)(i * 2000 + i * 611953 % 97);
                if (queue)
                    add_kernel(batch, i, names[i % NAMES], at + 5000);
                else
                    add_call(batch, i, call, at);
            }
            bad = tsmith_batch_finish(batch) != TSMITH_OK ||
                  tsmith_sink_write(sink, dictionary, batch, error) != TSMITH_OK;
        }
    bad = bad || tsmith_sink_finish(sink, dictionary, error) != TSMITH_OK;
    tsmith_sink_destroy(sink);
    tsmith_batch_destroy(batch);
    tsmith_dictionary_destroy(dictionary);
    return bad;
}

// ---- measuring

struct times {
    int64_t processor, wall; // ns
};

struct measured {
    struct times decode, both;
    uint64_t events, bytes;
};

static struct times now(void) {
    return (struct times){clock_now(CLOCK_PROCESS_CPUTIME_ID), clock_now(CLOCK_MONOTONIC)};
}

static void keep_least(struct times *least, const struct times *time) {
    if (!least->wall || time->processor < least->processor)
        least->processor = time->processor;
    if (!least->wall || time->wall < least->wall)
        least->wall = time->wall;
}

// One pass over the file: into the sink, or nowhere.
static int pass(const char *path, tsmith_sink *sink, uint64_t *events, struct times *least,
                tsmith_error *error) {
    tsmith_sbt *trace = NULL;
    tsmith_source *source = NULL;
    const tsmith_batch *batch;
    if (tsmith_sbt_open(path, &trace, error) != TSMITH_OK ||
        tsmith_sbt_scan(trace, NULL, &source, error) != TSMITH_OK)
        return 1;
    const struct times from = now();
    tsmith_status status;
    *events = 0;
    while ((status = tsmith_source_next(source, &batch, error)) == TSMITH_OK) {
        *events += tsmith_batch_count(batch);
        if (sink && tsmith_sink_write(sink, tsmith_source_dictionary(source), batch, error) != TSMITH_OK)
            return 1;
    }
    if (status != TSMITH_END ||
        (sink && tsmith_sink_finish(sink, tsmith_source_dictionary(source), error) != TSMITH_OK))
        return 1;
    const struct times to = now();
    keep_least(least, &(struct times){to.processor - from.processor, to.wall - from.wall});
    tsmith_source_destroy(source);
    tsmith_sbt_close(trace);
    return 0;
}

// The size comes from a first run into memory, the time from runs into /dev/null.
static int measure(const char *path, const char *format, int gzip, struct measured *out,
                   tsmith_error *error) {
    tsmith_export_options options = {.size = sizeof options, .gzip = gzip};
    tsmith_sink *sink = NULL;
    int fd = out->bytes ? open("/dev/null", O_WRONLY | O_CLOEXEC) : memfd_create("bench", MFD_CLOEXEC);
    if (tsmith_export_open_fd(format, fd, &options, &sink, error) != TSMITH_OK)
        return 1;
    int bad = pass(path, sink, &out->events, &out->both, error);
    tsmith_sink_destroy(sink);
    bad = bad || pass(path, NULL, &out->events, &out->decode, error);
    if (!out->bytes)
        out->bytes = (uint64_t)lseek(fd, 0, SEEK_END);
    close(fd);
    return bad;
}

static int show(const char *path, const char *format, int gzip, int repeats) {
    struct measured measured = {0};
    tsmith_error error;
    for (int i = 0; i <= repeats; i++)
        if (measure(path, format, gzip, &measured, &error)) {
            // A directory is no stream, and a format may not be built in.
            bool cannot =
                error.status == TSMITH_ERROR_INVALID_ARGUMENT || error.status == TSMITH_ERROR_MISSING;
            return i == 0 && cannot ? 0 : fail(&error);
        }
    double events = (double)measured.events;
    printf("%-10s%-5s %8.2f M events/s  with reading %8.2f  on the wall %8.2f  with reading %8.2f  "
           "%8.2f bytes per event  %.0f events\n",
           format, gzip ? ".gz" : "",
           events * 1e3 / (double)(measured.both.processor - measured.decode.processor),
           events * 1e3 / (double)measured.both.processor,
           events * 1e3 / (double)(measured.both.wall - measured.decode.wall),
           events * 1e3 / (double)measured.both.wall, (double)measured.bytes / events, events);
    return 0;
}

int main(int count, char **arguments) {
    const char *formats[FORMATS_MAX], *path = NULL;
    int format_count = 0, repeats = 5, bad = 0;
    char made[] = "/tmp/tracesmith-bench-XXXXXX";
    tsmith_error error;
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "-n") == 0 && i + 1 < count)
            repeats = (int)strtol(arguments[++i], NULL, 10);
        else if (strcmp(arguments[i], "-f") == 0 && i + 1 < count && format_count < FORMATS_MAX)
            formats[format_count++] = arguments[++i];
        else
            path = arguments[i];
    }
    if (!format_count)
        for (; format_count < FORMATS_MAX && tsmith_export_format_name((unsigned)format_count);
             format_count++)
            formats[format_count] = tsmith_export_format_name((unsigned)format_count);
    if (!path) {
        int fd = mkstemp(made);
        if (fd < 0)
            return 1;
        close(fd);
        bad = make_loop(made, &error) ? fail(&error) : 0;
    }
    for (int i = 0; i < format_count && !bad; i++)
        bad = show(path ? path : made, formats[i], 0, repeats) || show(path ? path : made, formats[i], 1, 1);
    if (!path)
        (void)unlink(made);
    return bad;
}
