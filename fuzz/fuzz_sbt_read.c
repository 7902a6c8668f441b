// SPDX-License-Identifier: Apache-2.0
// Any bytes as an SBT file: opened, summed up, read whole, in part and as Arrow, its names looked up, and recovered
// into another file that must then be complete. Checksums would reject nearly every input, so those of everything
// that looks like a frame are corrected first, unless the last byte of the input is odd.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "sbt/format.h"
#include "tracesmith/arrow.h"
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

// ---- as Arrow

static uint64_t touch_texts(const struct ArrowArray *array) {
    const int64_t *offsets = array->buffers[1];
    const char *bytes = array->buffers[2];
    uint64_t sum = 0;
    for (int64_t i = 0; i < array->length; i++)
        if (offsets[i] > offsets[i + 1])
            abort();
    for (int64_t at = 0; at < offsets[array->length]; at++)
        sum += (unsigned char)bytes[at];
    return sum;
}

static uint64_t number_at(const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t row) {
    switch (*schema->format) {
    case 'b':
        return ((const uint8_t *)array->buffers[1])[row / 8] >> (row % 8) & 1;
    case 'C':
        return ((const uint8_t *)array->buffers[1])[row];
    case 'I':
        return ((const uint32_t *)array->buffers[1])[row];
    default:
        return ((const uint64_t *)array->buffers[1])[row];
    }
}

// Touches every value, known or not, and every entry of a dictionary.
static uint64_t touch_array(const struct ArrowSchema *schema, const struct ArrowArray *array) {
    uint64_t sum = array->dictionary ? touch_texts(array->dictionary) : 0;
    int64_t nulls = 0;
    for (int64_t row = 0; array->buffers[0] && row < array->length; row++)
        nulls += !(((const uint8_t *)array->buffers[0])[row / 8] >> (row % 8) & 1);
    if (nulls != array->null_count)
        abort();
    for (int64_t i = 0; i < array->n_children; i++)
        sum += touch_array(schema->children[i], array->children[i]);
    for (int64_t row = 0; *schema->format != '+' && row < array->length; row++) {
        const uint64_t value = number_at(schema, array, row);
        if (array->dictionary && value >= (uint64_t)array->dictionary->length)
            abort();
        sum += value;
    }
    if (strcmp(schema->format, "+l") == 0)
        for (int64_t row = 0; row < array->length; row++)
            if (((const int32_t *)array->buffers[1])[row] > ((const int32_t *)array->buffers[1])[row + 1] ||
                ((const int32_t *)array->buffers[1])[row + 1] > array->children[0]->length)
                abort();
    return sum;
}

static void read_arrow(tsmith_sbt *trace) {
    tsmith_source *source;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray array;
    volatile uint64_t sum = 0;
    if (tsmith_sbt_scan(trace, NULL, &source, NULL) != TSMITH_OK)
        return;
    if (tsmith_arrow_source(source, NULL, &stream, NULL) != TSMITH_OK) {
        tsmith_source_destroy(source);
        return;
    }
    if (stream.get_schema(&stream, &schema) == 0) {
        while (stream.get_next(&stream, &array) == 0 && array.release) {
            sum = sum + touch_array(&schema, &array);
            array.release(&array);
        }
        schema.release(&schema);
    }
    stream.release(&stream);
}

static void read_trace(const char *path) {
    tsmith_sbt *trace;
    tsmith_sbt_summary summary = {.size = sizeof summary};
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
    read_arrow(trace);
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
    tsmith_sbt_recovery recovery = {.size = sizeof recovery};
    tsmith_sbt *trace;
    tsmith_sbt_summary summary = {.size = sizeof summary};
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
