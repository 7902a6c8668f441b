// SPDX-License-Identifier: Apache-2.0
// Finds the columns of a batch for its readers (tracesmith/view.h): analyses, exporters, the timeline, SQL, the command.
#include "tracesmith/view.h"

// What a column that is not there has for validity, offsets and values: no event has one.
static const uint64_t nothing[TSMITH_BATCH_MAX / 64];

static tsmith_view absent(void) {
    return (tsmith_view){.valid = nothing, .values = nothing};
}

static tsmith_view view_of(const tsmith_column *column) {
    if (!column->values)
        return absent();
    const bool every = column->field == TSMITH_FIELD_START || column->field == TSMITH_FIELD_KIND;
    return (tsmith_view){.valid = every ? NULL : column->valid,
                         .values = column->values,
                         .offsets = column->offsets,
                         .field = column->field,
                         .type = column->type};
}

tsmith_view tsmith_view_typed(const tsmith_batch *batch, uint32_t field, tsmith_type type) {
    tsmith_column column;
    if (!field || !tsmith_batch_column(batch, field, &column) || column.type != type)
        return absent();
    return view_of(&column);
}

tsmith_view tsmith_view_at(const tsmith_batch *batch, uint32_t index) {
    const tsmith_column column = tsmith_batch_column_at(batch, index);
    return view_of(&column);
}

void tsmith_view_batch(const tsmith_batch *batch, const uint32_t *fields, size_t count, tsmith_view *views) {
    for (size_t i = 0; i < count; i++) {
        tsmith_column column;
        const tsmith_field_info *known = tsmith_field_describe(fields[i]);
        if (fields[i] && tsmith_batch_column(batch, fields[i], &column) &&
            (!known || known->type == column.type))
            views[i] = view_of(&column);
        else
            views[i] = absent();
    }
}

tsmith_status tsmith_view_copy(const tsmith_view *view, uint32_t row, tsmith_batch *to) {
    if (!tsmith_view_has(view, row))
        return TSMITH_OK;
    if (view->type == TSMITH_TYPE_LIST) {
        const uint64_t *elements = NULL;
        const uint32_t count = tsmith_view_list(view, row, &elements);
        return tsmith_batch_set_list(to, view->field, elements, count);
    }
    const uint64_t bits = tsmith_view_known(view, row);
    return view->field >= TSMITH_FIELD_DYNAMIC ? tsmith_batch_set_dynamic(to, view->field, view->type, bits)
                                               : tsmith_batch_set(to, view->field, bits);
}

bool tsmith_call_failed(const char *function, int64_t result) {
    enum { NOT_READY = 600, LEVEL_ZERO_NOT_READY = 1, NCCL_IN_PROGRESS = 7 };
    function = function ? function : "";
    if (strncmp(function, "vk", sizeof "vk" - 1) == 0)
        return result < 0;
    return result != 0 && result != NOT_READY &&
           !(result == LEVEL_ZERO_NOT_READY && strncmp(function, "ze", sizeof "ze" - 1) == 0) &&
           !(result == NCCL_IN_PROGRESS && strncmp(function, "nccl", sizeof "nccl" - 1) == 0);
}
