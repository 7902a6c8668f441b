// SPDX-License-Identifier: Apache-2.0
// sbt_many FILE COMMANDS CALLS: writes a file of COMMANDS equal kernels in one queue, and calls that launch them on
// one thread, each 1 us after the one before. A million of them take a few KB.
#include <stdio.h>
#include <stdlib.h>

#include "tracesmith/tracesmith.h"

struct many {
    tsmith_sink *sink;
    tsmith_dictionary *dictionary;
    tsmith_batch *batch;
    tsmith_error error;
};

static tsmith_status write_events(struct many *many, uint32_t track, tsmith_kind kind, const char *name,
                                  uint64_t count, int64_t offset, uint64_t numbered) {
    uint32_t string = tsmith_dictionary_intern_cstr(many->dictionary, name);
    for (uint64_t at = 0; at < count;) {
        tsmith_batch_reset(many->batch, track);
        for (uint32_t row = 0; row < TSMITH_BATCH_MAX && at < count; row++, at++) {
            (void)tsmith_batch_append(many->batch, kind, (int64_t)at * 1000 + offset);
            (void)tsmith_batch_set(many->batch, TSMITH_FIELD_DURATION, 400);
            (void)tsmith_batch_set(many->batch, TSMITH_FIELD_NAME, string);
            if (at < numbered)
                (void)tsmith_batch_set(many->batch, TSMITH_FIELD_CORRELATION, at + 1);
        }
        tsmith_status status = tsmith_batch_finish(many->batch);
        if (status == TSMITH_OK)
            status = tsmith_sink_write(many->sink, many->dictionary, many->batch, &many->error);
        if (status != TSMITH_OK)
            return status;
    }
    return TSMITH_OK;
}

static tsmith_status write_all(struct many *many, uint64_t commands, uint64_t calls) {
    tsmith_dictionary *dictionary = many->dictionary;
    tsmith_device device = {.name = tsmith_dictionary_intern_cstr(dictionary, "device")};
    tsmith_process process = {.pid = 1, .name = tsmith_dictionary_intern_cstr(dictionary, "program")};
    uint32_t owner = tsmith_dictionary_add_process(dictionary, &process);
    tsmith_track queue = {.kind = TSMITH_TRACK_QUEUE,
                          .name = tsmith_dictionary_intern_cstr(dictionary, "queue"),
                          .process = owner,
                          .device = tsmith_dictionary_add_device(dictionary, &device)};
    tsmith_track thread = {.kind = TSMITH_TRACK_THREAD,
                           .name = tsmith_dictionary_intern_cstr(dictionary, "thread"),
                           .process = owner};
    uint32_t queue_track = tsmith_dictionary_add_track(dictionary, &queue),
             thread_track = tsmith_dictionary_add_track(dictionary, &thread);
    tsmith_status status =
        write_events(many, thread_track, TSMITH_KIND_API, "cudaLaunchKernel", calls, 0, calls);
    if (status == TSMITH_OK)
        status = write_events(many, queue_track, TSMITH_KIND_KERNEL, "kernel", commands, 500, calls);
    return status == TSMITH_OK ? tsmith_sink_finish(many->sink, dictionary, &many->error) : status;
}

int main(int argc, char **argv) {
    struct many many = {0};
    if (argc != 4)
        return 2;
    tsmith_status status = tsmith_dictionary_create(&many.dictionary);
    if (status == TSMITH_OK)
        status = tsmith_batch_create(&many.batch);
    if (status == TSMITH_OK)
        status = tsmith_sbt_writer_open(argv[1], NULL, &many.sink, &many.error);
    if (status == TSMITH_OK)
        status = write_all(&many, strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
    if (status != TSMITH_OK)
        fprintf(stderr, "sbt_many: %s\n", many.error.message);
    tsmith_sink_destroy(many.sink);
    tsmith_batch_destroy(many.batch);
    tsmith_dictionary_destroy(many.dictionary);
    return status == TSMITH_OK ? 0 : 1;
}
