// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets of importers share: any bytes are imported, and the result keeps the rules of a stream
// (sorted batches, of tracks, fields and strings that are there).
#ifndef FUZZ_IMPORT_H
#define FUZZ_IMPORT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracesmith/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_check_batch(const tsmith_dictionary *dictionary, const tsmith_batch *batch) {
    tsmith_column column;
    if (!tsmith_dictionary_track(dictionary, tsmith_batch_track(batch)) || !tsmith_batch_count(batch) ||
        !tsmith_batch_column(batch, TSMITH_FIELD_START, &column))
        abort();
    const int64_t *start = column.values;
    for (uint32_t i = 1; i < column.count; i++)
        if (start[i] < start[i - 1])
            abort();
    for (uint32_t c = 0; c < tsmith_batch_column_count(batch); c++) {
        column = tsmith_batch_column_at(batch, c);
        tsmith_field_info info;
        if (!tsmith_dictionary_describe_field(dictionary, column.field, &info))
            abort();
        for (uint32_t i = 0; column.type == TSMITH_TYPE_STRING && i < column.count; i++)
            if (tsmith_column_has(&column, i) &&
                ((const uint32_t *)column.values)[i] >= tsmith_dictionary_string_count(dictionary))
                abort();
    }
}

static inline void fuzz_import(const uint8_t *data, size_t size) {
    int in = memfd_create("in", MFD_CLOEXEC);
    tsmith_source *source = NULL;
    const tsmith_batch *batch;
    tsmith_error error;
    if (in >= 0 && write(in, data, size) == (ssize_t)size && lseek(in, 0, SEEK_SET) == 0 &&
        tsmith_import_open_fd(in, "fuzz", NULL, &source, &error) == TSMITH_OK)
        while (tsmith_source_next(source, &batch, &error) == TSMITH_OK)
            fuzz_check_batch(tsmith_source_dictionary(source), batch);
    tsmith_source_destroy(source);
    if (in >= 0)
        close(in);
}

#endif
