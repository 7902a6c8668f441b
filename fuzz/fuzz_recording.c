// SPDX-License-Identifier: Apache-2.0
// Any bytes as the records of a process: put right (lengths and checksums) where they look like one, written into a trace as
// frames, and read again with every entry and payload of them, and planned. Running them is the driver's affair, and not
// tried here.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "recording/chunk.h"
#include "replay/plan.h"
#include "replay/recording.h"
#include "sbt/recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void seal(uint8_t *bytes, size_t size) {
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

static void touch(struct tsmith_recording *recording, const struct recording_record *record) {
    volatile uint64_t sum = 0;
    for (int key = 0; key < RECORDING_KEY_LIMIT; key++) {
        const uint8_t *bytes;
        uint64_t list[4];
        size_t length, count;
        sum = sum + recording_value(record, (enum recording_key)key);
        if (recording_get_bytes(record, (enum recording_key)key, &bytes, &length))
            for (size_t i = 0; i < length; i++)
                sum = sum + bytes[i];
        (void)recording_get_list(record, (enum recording_key)key, list, 4, &count);
    }
    size_t size;
    uint8_t *payload = recording_payload(recording, record, &size);
    for (size_t i = 0; payload && i < size; i++)
        sum = sum + payload[i];
    free(payload);
    (void)recording_text(recording, record, RECORDING_KEY_TEXT);
}

// The plan of it: every order it gives is of nodes that are there, and no finding names others.
static void make_plan(tsmith_recording *recording) {
    tsmith_plan *plan;
    tsmith_hazard hazard;
    if (tsmith_plan_create(recording, &plan, NULL) != TSMITH_OK)
        return;
    for (size_t i = 0; tsmith_plan_hazard_get(plan, i, &hazard); i++)
        if (!hazard.first.what || !hazard.second.what || hazard.from >= hazard.to)
            abort();
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan *process = &plan->processes[i];
        uint32_t *order = malloc((process->node_count + 1) * sizeof *order);
        if (!order || plan_shuffle(process, NULL, i, order) != TSMITH_OK)
            abort();
        for (size_t j = 0; j < process->order_count; j++)
            if (order[j] >= process->node_count || process->order[j] >= process->node_count)
                abort();
        free(order);
    }
    tsmith_plan_destroy(plan);
}

static void read_back(const char *path) {
    tsmith_sbt *trace;
    tsmith_recording *recording;
    tsmith_recording_refusal refusal;
    if (tsmith_sbt_open(path, &trace, NULL) != TSMITH_OK)
        abort();
    if (tsmith_recording_open(trace, &recording, NULL) == TSMITH_OK) {
        for (size_t i = 0; i < recording->process_count; i++)
            for (size_t j = 0; j < recording->processes[i].count; j++)
                touch(recording, &recording->processes[i].records[j]);
        for (size_t i = 0; tsmith_recording_refusal_get(recording, i, &refusal); i++)
            if (!refusal.function || !refusal.reason)
                abort();
        make_plan(recording);
        tsmith_recording_close(recording);
    }
    tsmith_sbt_close(trace);
}

static char folder[] = "/tmp/fuzz-recording-XXXXXX";

static void remove_folder(void) {
    (void)rmdir(folder);
}

static const char *trace_path(void) {
    static char path[64];
    if (!*path) {
        if (!mkdtemp(folder) || atexit(remove_folder))
            abort();
        (void)snprintf(path, sizeof path, "%s/a.sbt", folder);
    }
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sbt_writer *writer;
    tsmith_dictionary *dictionary;
    uint8_t *bytes = malloc(size ? size : 1);
    if (!bytes || tsmith_dictionary_create(&dictionary) != TSMITH_OK)
        abort();
    memcpy(bytes, data, size);
    if (size && !(data[size - 1] & 1))
        seal(bytes, size);
    if (sbt_writer_create(trace_path(), NULL, &writer, NULL) != TSMITH_OK)
        abort();
    (void)sbt_recording_write(writer, FRAME_CHUNKS, 1, bytes, size, NULL);
    (void)sbt_recording_write(writer, FRAME_RECORDS, 1, bytes, size, NULL);
    if (sbt_writer_finish(writer, dictionary, NULL) == TSMITH_OK)
        read_back(trace_path());
    sbt_writer_destroy(writer);
    (void)unlink(trace_path());
    tsmith_dictionary_destroy(dictionary);
    free(bytes);
    return 0;
}
