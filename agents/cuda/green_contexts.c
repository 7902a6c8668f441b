// SPDX-License-Identifier: Apache-2.0
// Writes the parts of a device that green contexts have into the trace; records.c calls it. Rules: agent.h.
#include "green_contexts.h"

#include <stdio.h>

#include "agent.h"
#include "library.h"

enum { WORD_BITS = 32, WORDS = 32, CHANNELS = 32, TEXT_BYTES = 900 };

struct text {
    char all[TEXT_BYTES];
    size_t used;
};

#define ADD(into, ...)                                                                                       \
    do {                                                                                                     \
        struct text *const to_ = (into);                                                                     \
        to_->used += (size_t)snprintf(to_->all + to_->used, sizeof to_->all - to_->used, __VA_ARGS__);       \
        to_->used = to_->used < sizeof to_->all ? to_->used : sizeof to_->all - 1;                           \
    } while (0)

static bool has_tpc(const struct cupti_green_context *record, uint32_t tpc) {
    return tpc < record->mask_words * WORD_BITS && tpc < WORDS * WORD_BITS &&
           record->mask[tpc / WORD_BITS] >> tpc % WORD_BITS & 1;
}

// " (0-5, 7)"; nothing if no TPC is named.
static void add_tpcs(struct text *text, const struct cupti_green_context *record) {
    const char *before = " (";
    for (uint32_t tpc = 0; tpc < WORDS * WORD_BITS; tpc++) {
        const uint32_t first = tpc;
        if (!has_tpc(record, tpc))
            continue;
        while (has_tpc(record, tpc + 1))
            tpc++;
        ADD(text, first == tpc ? "%s%u" : "%s%u-%u", before, first, tpc);
        before = ", ";
    }
    if (*before == ',')
        ADD(text, ")");
}

static void add_queue(struct text *text, const struct cupti_green_context *record) {
    const uint32_t channels = cupti_has(CUPTI_13_4) && record->channels <= CHANNELS ? record->channels : 0;
    if (!record->queue_limit)
        return;
    ADD(text, ", work queue %llu of at most %u concurrent operations", (unsigned long long)record->queue,
        record->queue_limit);
    for (uint32_t i = 0; i < channels; i++)
        ADD(text, "%s%u", i ? ", " : channels > 1 ? " on channels " : " on channel ", record->channel_ids[i]);
}

void green_contexts_describe(const struct cupti_green_context *record) {
    struct text text = {.used = 0};
    char key[48];
    snprintf(key, sizeof key, "green_context.%u", record->context);
    ADD(&text, "%u SMs, %u TPCs", record->processors, record->tpcs);
    add_tpcs(&text, record);
    ADD(&text, " of device %u, part of context %u", record->device, record->parent);
    add_queue(&text, record);
    vendor_attribute(key, text.all);
}
