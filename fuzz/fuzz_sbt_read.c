// SPDX-License-Identifier: Apache-2.0
// Any bytes as an SBT file: opened, summed up, read whole and in part, its names looked up, and recovered into another
// file that must then be complete. Checksums would keep everything interesting out, so those of whatever looks like a
// frame are put right first, unless the last byte of the input is odd.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "sbt/format.h"
#include "tracesmith/sbt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void seal(uint8_t *bytes, size_t size) {
    if (size >= SBT_FILE_HEADER_SIZE && file_header_has_magic(bytes))
        bytes_put_u32(bytes + 60, crc32c(0, bytes, 60));
    for (size_t at = SBT_FILE_HEADER_SIZE; at + SBT_FRAME_HEADER_SIZE <= size;) {
        uint8_t *head = bytes + at;
        size_t left = size - at - SBT_FRAME_HEADER_SIZE;
        uint64_t stored =
            memcmp(head, "SBTF", 4) == 0 ? frame_stored_length(bytes_get_u64(head + 16)) : UINT64_MAX;
        if (stored > left) {
            at += SBT_ALIGNMENT;
            continue;
        }
        // The trailer of END too.
        if (bytes_get_u16(head + 4) == FRAME_END && stored >= SBT_TRAILER_SIZE) {
            uint8_t *trailer = head + SBT_FRAME_HEADER_SIZE + stored - SBT_TRAILER_SIZE;
            bytes_put_u32(trailer + 28, crc32c(0, trailer, 28));
        }
        bytes_put_u32(head + 56, crc32c(0, head + SBT_FRAME_HEADER_SIZE, stored));
        bytes_put_u32(head + 60, crc32c(0, head, 60));
        at += SBT_FRAME_HEADER_SIZE + stored;
    }
}

// Touches every value and every name, so that a wrong pointer is met.
static uint64_t touch(const tsmith_dictionary *dictionary, const tsmith_batch *batch) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < tsmith_batch_column_count(batch); i++) {
        tsmith_column column = tsmith_batch_column_at(batch, i);
        tsmith_field_info info;
        if (tsmith_dictionary_describe_field(dictionary, column.field, &info))
            sum += strlen(info.name);
        for (uint32_t row = 0; row < column.count; row++) {
            uint64_t value = 0;
            if (column.offsets)
                for (uint32_t at = column.offsets[row]; at < column.offsets[row + 1]; at++)
                    value += ((const uint64_t *)column.values)[at];
            else if (!tsmith_batch_get(batch, column.field, row, &value))
                continue;
            sum += value;
            if (column.type == TSMITH_TYPE_STRING)
                sum += tsmith_dictionary_string(dictionary, (uint32_t)value).length;
            if (column.type == TSMITH_TYPE_KIND && value >= TSMITH_KIND_LIMIT)
                abort();
        }
    }
    return sum;
}

static void read_all(tsmith_sbt *trace, const tsmith_scan *scan) {
    tsmith_source *source;
    const tsmith_batch *batch;
    volatile uint64_t sum = 0;
    int64_t last = INT64_MIN;
    if (tsmith_sbt_scan(trace, scan, &source, NULL) != TSMITH_OK)
        return;
    while (tsmith_source_next(source, &batch, NULL) == TSMITH_OK) {
        tsmith_column start;
        if (!tsmith_batch_column(batch, TSMITH_FIELD_START, &start) || start.valid)
            abort();
        last = ((const int64_t *)start.values)[0];
        for (uint32_t row = 0; row < start.count; row++) {
            int64_t value = ((const int64_t *)start.values)[row];
            if (value < last || value > tsmith_batch_last_end(batch))
                abort();
            last = value;
        }
        sum = sum + touch(tsmith_source_dictionary(source), batch);
    }
    tsmith_source_destroy(source);
}

static void read_trace(const char *path) {
    tsmith_sbt *trace;
    tsmith_sbt_summary summary;
    tsmith_aggregate *totals;
    size_t count;
    static const uint32_t fields[] = {TSMITH_FIELD_SUBMITTED, TSMITH_FIELD_WAITS};
    tsmith_scan part = {
        .size = sizeof part, .fields = fields, .field_count = 2, .has_window = 1, .to = 1000000};
    if (tsmith_sbt_open(path, &trace, NULL) != TSMITH_OK)
        return;
    (void)tsmith_sbt_summarize(trace, &summary, NULL);
    read_all(trace, &part);
    read_all(trace, NULL);
    if (tsmith_sbt_aggregates(trace, &totals, &count, NULL) == TSMITH_OK)
        tsmith_free(totals);
    (void)tsmith_sbt_verify(trace, NULL);
    (void)tsmith_sbt_summarize(trace, &summary, NULL);
    tsmith_sbt_close(trace);
}

static char folder[] = "/tmp/fuzz-sbt-XXXXXX";

static void remove_folder(void) {
    (void)rmdir(folder);
}

static void recover(const char *path) {
    static char repaired[64];
    tsmith_sbt_recovery recovery;
    tsmith_sbt *trace;
    tsmith_sbt_summary summary;
    if (!*repaired) {
        if (!mkdtemp(folder) || atexit(remove_folder) != 0)
            abort();
        (void)snprintf(repaired, sizeof repaired, "%s/repaired.sbt", folder);
    }
    if (tsmith_sbt_recover(path, repaired, &recovery, NULL) == TSMITH_OK) {
        if (tsmith_sbt_open(repaired, &trace, NULL) != TSMITH_OK ||
            tsmith_sbt_verify(trace, NULL) != TSMITH_OK ||
            tsmith_sbt_summarize(trace, &summary, NULL) != TSMITH_OK || !summary.complete ||
            summary.events < recovery.events_kept)
            abort();
        read_all(trace, NULL);
        tsmith_sbt_close(trace);
    }
    (void)unlink(repaired);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    uint8_t *bytes = malloc(size ? size : 1);
    if (fd < 0 || !bytes)
        abort();
    memcpy(bytes, data, size);
    if (size && !(data[size - 1] & 1))
        seal(bytes, size);
    if (write(fd, bytes, size) != (ssize_t)size)
        abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    read_trace(path);
    recover(path);
    close(fd);
    free(bytes);
    return 0;
}
