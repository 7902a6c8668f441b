// SPDX-License-Identifier: Apache-2.0
// Takes kernels and transfers out of sums. callsites.c calls it.
#include "analyze/summed.h"

#include "base/array.h"
#include "tracesmith/view.h"

bool summed_add(struct summed *summed, const tsmith_batch *batch, const tsmith_interval *window) {
    static const uint32_t fields[] = {TSMITH_FIELD_KIND,  TSMITH_FIELD_START, TSMITH_FIELD_SUMMED,
                                      TSMITH_FIELD_STACK, TSMITH_FIELD_COUNT, TSMITH_FIELD_TOTAL};
    enum { KIND, START, SUMMED, STACK, COUNT, TOTAL, FIELDS };
    tsmith_view views[FIELDS];
    tsmith_view_batch(batch, fields, FIELDS, views);
    const int64_t *starts = tsmith_view_every(&views[START]);
    for (uint32_t row = 0; starts && row < tsmith_batch_count(batch); row++) {
        const uint8_t kind = tsmith_view_word(&views[SUMMED], row);
        int64_t time;
        if (tsmith_view_word(&views[KIND], row) != TSMITH_KIND_SUM ||
            (kind != TSMITH_KIND_KERNEL && kind != TSMITH_KIND_MEMCPY && kind != TSMITH_KIND_MEMSET) ||
            !tsmith_view_i64(&views[TOTAL], row, &time) ||
            (window && (starts[row] < window->from || starts[row] >= window->to)))
            continue;
        struct summed_commands *sum = ARRAY_PUSH(summed->items, summed->count, summed->capacity);
        if (!sum)
            return false;
        *sum = (struct summed_commands){.time = time > 0 ? time : 0,
                                        .count = tsmith_view_u64_or(&views[COUNT], row, 0),
                                        .stack = tsmith_view_id(&views[STACK], row)};
    }
    return true;
}
