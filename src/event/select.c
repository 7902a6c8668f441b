// SPDX-License-Identifier: Apache-2.0
// Some rows of a batch as a batch of its own.
#include "event/select.h"

#include <string.h>

#include "event/batch.h"

uint32_t select_rows(const tsmith_batch *batch, uint64_t kinds, int64_t from, int64_t to, uint32_t *rows) {
    tsmith_column start, kind;
    uint32_t found = 0;
    if (!tsmith_batch_column(batch, TSMITH_FIELD_START, &start) ||
        !tsmith_batch_column(batch, TSMITH_FIELD_KIND, &kind))
        return 0;
    const int64_t *starts = start.values;
    const uint8_t *numbers = kind.values;
    for (uint32_t row = 0; row < start.count; row++) {
        rows[found] = row;
        const bool wanted = !kinds || (numbers[row] < 64 && (kinds >> numbers[row] & 1));
        found += wanted && starts[row] >= from && starts[row] < to;
    }
    return found;
}

static void take_values(void *to, const tsmith_column *from, const uint32_t *rows, uint32_t count) {
    switch (tsmith_type_size(from->type)) {
    case 1:
        for (uint32_t i = 0; i < count; i++)
            ((uint8_t *)to)[i] = ((const uint8_t *)from->values)[rows[i]];
        break;
    case 4:
        for (uint32_t i = 0; i < count; i++)
            ((uint32_t *)to)[i] = ((const uint32_t *)from->values)[rows[i]];
        break;
    default:
        for (uint32_t i = 0; i < count; i++)
            ((uint64_t *)to)[i] = ((const uint64_t *)from->values)[rows[i]];
    }
}

static bool take_list(tsmith_batch *to, const tsmith_column *from, const uint32_t *rows, uint32_t count,
                      uint64_t **valid) {
    const uint32_t *begins = from->offsets;
    uint32_t total = 0, *offsets;
    for (uint32_t i = 0; i < count; i++)
        total += begins[rows[i] + 1] - begins[rows[i]];
    uint64_t *values = batch_add_list_column(to, from->field, total, &offsets, from->valid ? valid : NULL);
    if (!values)
        return false;
    offsets[0] = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t length = begins[rows[i] + 1] - begins[rows[i]];
        if (length)
            memcpy(values + offsets[i], (const uint64_t *)from->values + begins[rows[i]],
                   length * sizeof *values);
        offsets[i + 1] = offsets[i] + length;
    }
    return true;
}

static bool take_column(tsmith_batch *to, const tsmith_column *from, const uint32_t *rows, uint32_t count) {
    uint64_t *valid = NULL;
    if (from->type == TSMITH_TYPE_LIST) {
        if (!take_list(to, from, rows, count, &valid))
            return false;
    } else {
        void *values = batch_add_column(to, from->field, from->type, from->valid ? &valid : NULL);
        if (!values)
            return false;
        take_values(values, from, rows, count);
    }
    for (uint32_t i = 0; valid && i < count; i++)
        valid[i / 64] |= (uint64_t)tsmith_column_has(from, rows[i]) << (i % 64);
    return true;
}

tsmith_status select_batch(tsmith_batch *to, const tsmith_batch *from, const uint32_t *rows, uint32_t count) {
    tsmith_status status = batch_begin_columns(to, tsmith_batch_track(from), count);
    const uint32_t columns = tsmith_batch_column_count(from);
    for (uint32_t i = 0; status == TSMITH_OK && i < columns; i++) {
        const tsmith_column column = tsmith_batch_column_at(from, i);
        if (!take_column(to, &column, rows, count))
            status = TSMITH_ERROR_NO_MEMORY;
    }
    return status == TSMITH_OK ? tsmith_batch_finish(to) : status;
}
