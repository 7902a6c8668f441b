// SPDX-License-Identifier: Apache-2.0
// sbt_large TRACE DETAIL COUNT: writes a trace of COUNT kernels in one queue and, to another file, the detail of its timeline. Kernel k
// begins at k us and takes 100 * (1 + k / 4096 % 9) ns. 20 million take some MB.
#include <stdio.h>
#include <stdlib.h>

#include "tracesmith/tracesmith.h"

enum { STRETCH = 4096, LENGTHS = 9 };

struct large {
    tsmith_sink *sink;
    tsmith_dictionary *dictionary;
    tsmith_batch *batch;
    uint32_t queue, names[LENGTHS];
};

static void describe(struct large *large) {
    char name[] = "kernel 0";
    for (int i = 0; i < LENGTHS; i++) {
        name[sizeof name - 2] = (char)('0' + i);
        large->names[i] = tsmith_dictionary_intern_cstr(large->dictionary, name);
    }
    const tsmith_process process = {.pid = 1};
    const tsmith_device device = {.name = tsmith_dictionary_intern_cstr(large->dictionary, "device")};
    const tsmith_track queue = {.kind = TSMITH_TRACK_QUEUE,
                                .process = tsmith_dictionary_add_process(large->dictionary, &process),
                                .device = tsmith_dictionary_add_device(large->dictionary, &device)};
    large->queue = tsmith_dictionary_add_track(large->dictionary, &queue);
}

static tsmith_status write_kernels(struct large *large, uint64_t count, tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    for (uint64_t at = 0; status == TSMITH_OK && at < count;) {
        tsmith_batch_reset(large->batch, large->queue);
        for (uint32_t row = 0; row < TSMITH_BATCH_MAX && at < count; row++, at++) {
            const unsigned kind = (unsigned)(at / STRETCH % LENGTHS);
            (void)tsmith_batch_append(large->batch, TSMITH_KIND_KERNEL, (int64_t)at * 1000);
            (void)tsmith_batch_set(large->batch, TSMITH_FIELD_DURATION, 100 * (kind + 1));
            (void)tsmith_batch_set(large->batch, TSMITH_FIELD_NAME, large->names[kind]);
        }
        status = tsmith_batch_finish(large->batch);
        if (status == TSMITH_OK)
            status = tsmith_sink_write(large->sink, large->dictionary, large->batch, error);
    }
    return status == TSMITH_OK ? tsmith_sink_finish(large->sink, large->dictionary, error) : status;
}

static tsmith_status write_detail(const char *trace, const char *detail, tsmith_error *error) {
    tsmith_sbt *sbt = NULL;
    tsmith_tiles *tiles = NULL;
    tsmith_status status = tsmith_sbt_open(trace, &sbt, error);
    if (status == TSMITH_OK)
        status = tsmith_tiles_create(sbt, &tiles, error);
    if (status == TSMITH_OK)
        status = tsmith_tiles_fill(tiles, 0, error);
    if (status == TSMITH_OK)
        status = tsmith_tiles_save(tiles, detail, error);
    tsmith_tiles_destroy(tiles);
    tsmith_sbt_close(sbt);
    return status;
}

int main(int argc, char **argv) {
    struct large large = {0};
    tsmith_error error = {.message = "out of memory"};
    if (argc != 4)
        return 2;
    tsmith_status status = tsmith_dictionary_create(&large.dictionary);
    if (status == TSMITH_OK)
        status = tsmith_batch_create(&large.batch);
    if (status == TSMITH_OK)
        status = tsmith_sbt_writer_open(argv[1], NULL, &large.sink, &error);
    if (status == TSMITH_OK) {
        describe(&large);
        status = write_kernels(&large, strtoull(argv[3], NULL, 10), &error);
    }
    tsmith_sink_destroy(large.sink);
    tsmith_batch_destroy(large.batch);
    tsmith_dictionary_destroy(large.dictionary);
    if (status == TSMITH_OK)
        status = write_detail(argv[1], argv[2], &error);
    if (status != TSMITH_OK)
        fprintf(stderr, "sbt_large: %s\n", error.message);
    return status == TSMITH_OK ? 0 : 1;
}
