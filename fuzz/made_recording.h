// SPDX-License-Identifier: Apache-2.0
// Any bytes as the records of a process: put right (lengths, checksums) where they look like one, written into a trace as
// frames, and opened as a recording.
#ifndef FUZZ_MADE_RECORDING_H
#define FUZZ_MADE_RECORDING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "recording/chunk.h"
#include "recording/record.h"
#include "sbt/recording.h"
#include "tracesmith/replay.h"

static void made_seal(uint8_t *bytes, size_t size) {
    for (size_t at = 0; size - at >= RECORDING_HEADER;) {
        const size_t left = size - at - RECORDING_HEADER;
        uint32_t length = bytes_get_u32(bytes + at + 8);
        length = length > left ? (uint32_t)left : length;
        bytes_put_u32(bytes + at, RECORDING_MAGIC);
        bytes_put_u32(bytes + at + 8, length);
        bytes_put_u32(bytes + at + 12,
                      crc32c(crc32c(0, bytes + at, 12), bytes + at + RECORDING_HEADER, length));
        at += RECORDING_HEADER + length;
    }
}

static char made_folder[] = "/tmp/fuzz-recording-XXXXXX";

static void made_remove_folder(void) {
    (void)rmdir(made_folder);
}

static const char *made_path(void) {
    static char path[64];
    if (!*path) {
        if (!mkdtemp(made_folder) || atexit(made_remove_folder))
            abort();
        (void)snprintf(path, sizeof path, "%s/a.sbt", made_folder);
    }
    return path;
}

typedef void made_use(tsmith_recording *recording, uint8_t how);

static void made_read_back(uint8_t how, made_use *use) {
    tsmith_sbt *trace;
    tsmith_recording *recording;
    if (tsmith_sbt_open(made_path(), &trace, NULL) != TSMITH_OK)
        abort();
    if (tsmith_recording_open(trace, &recording, NULL) == TSMITH_OK) {
        use(recording, how);
        tsmith_recording_close(recording);
    }
    tsmith_sbt_close(trace);
}

static void made_recording(const uint8_t *data, size_t size, bool sealed, uint8_t how, made_use *use) {
    struct sbt_writer *writer;
    tsmith_dictionary *dictionary;
    uint8_t *bytes = malloc(size ? size : 1);
    if (!bytes || tsmith_dictionary_create(&dictionary) != TSMITH_OK)
        abort();
    memcpy(bytes, data, size);
    if (sealed)
        made_seal(bytes, size);
    if (sbt_writer_create(made_path(), NULL, &writer, NULL) != TSMITH_OK)
        abort();
    (void)sbt_recording_write(writer, FRAME_CHUNKS, 1, bytes, size, NULL);
    (void)sbt_recording_write(writer, FRAME_RECORDS, 1, bytes, size, NULL);
    if (sbt_writer_finish(writer, dictionary, NULL) == TSMITH_OK)
        made_read_back(how, use);
    sbt_writer_destroy(writer);
    (void)unlink(made_path());
    tsmith_dictionary_destroy(dictionary);
    free(bytes);
}

#endif
