// SPDX-License-Identifier: Apache-2.0
// Choosing a packing for a file that is to be small: what suits is packed, and the smallest is kept. Streams inside are
// chosen in the same way, so the number of candidates gets less with each depth.
#include <string.h>

#include "sbt/packer.h"

enum {
    MOST_CANDIDATES = 16,
    LEAST_PLANES = 48, // values: a zstd frame costs a dozen bytes by itself
    LEAST_LOG = 48,
    LEAST_DICTIONARY = 8
};

struct candidates {
    struct choice all[MOST_CANDIDATES];
    unsigned count;
};

static struct choice *add(struct candidates *list, enum sbt_packing packing) {
    struct choice *choice = &list->all[list->count++];
    *choice = (struct choice){.packing = packing};
    return choice;
}

// Ticks of clocks as they are seen in traces: times kept in ms, us or tenths of one, GPUs (32 ns NVIDIA, 40 ns AMD),
// counters of 100 MHz. A tick fits if most values are within 1 of a multiple.
static void add_ticks(struct candidates *list, const uint64_t *values, uint32_t count) {
    static const int64_t ticks[] = {1000000, 1000, 100, 40, 32, 10};
    uint32_t step = count > PACK_SAMPLE ? count / PACK_SAMPLE : 1;
    for (size_t t = 0; t < sizeof ticks / sizeof *ticks; t++) {
        int64_t tick = ticks[t];
        uint32_t seen = 0, near = 0, exact = 0;
        for (uint32_t i = 0; i < count; i += step, seen++) {
            int64_t rest = (int64_t)values[i] % tick;
            rest = rest < 0 ? rest + tick : rest;
            exact += rest == 0;
            near += rest <= 1 || rest == tick - 1;
        }
        if (near * 5 > seen * 3)
            add(list, PACKING_TICK)->tick = (uint64_t)tick;
        if (exact == seen)
            break; // a smaller one would save less
    }
}

static void list_candidates(struct packer *packer, struct candidates *list, const uint64_t *values,
                            uint32_t count, unsigned hints, unsigned depth) {
    add(list, PACKING_FOR)->plan = pack_plan_for(values, count);
    unsigned bundle = pack_plan_bundles(values, count);
    if (bundle && depth < PACKING_DEPTH && !(hints & PACK_SYMBOLS))
        add(list, PACKING_BUNDLES)->bundle = bundle;
    if (count >= LEAST_PLANES)
        add(list, PACKING_PLANES);
    if (depth == PACKING_DEPTH)
        return;
    if (pack_count_runs(values, count) * 2 < count)
        add(list, PACKING_RUNS);
    if (hints & PACK_SYMBOLS || bundle)
        return;
    if (count >= LEAST_LOG) {
        struct log_plan log = pack_plan_log(values, count);
        if (log.bits != UINT64_MAX)
            add(list, PACKING_LOG)->log = log;
    }
    if (hints & PACK_TIMES && count >= 16)
        add_ticks(list, values, count);
    if (depth <= 2 && !(hints & PACK_INDICES) && count >= LEAST_DICTIONARY &&
        pack_count_distinct(packer, values, count, count / 2 < DISTINCT_MOST ? count / 2 : DISTINCT_MOST) !=
            UINT32_MAX)
        add(list, PACKING_DICTIONARY);
}

enum sbt_packing pack_smallest(struct packer *packer, struct output *out, const uint64_t *values,
                               uint32_t count, unsigned hints, unsigned depth) {
    struct candidates list = {.count = 0};
    struct scratch_mark mark = scratch_mark(&packer->scratch);
    list_candidates(packer, &list, values, count, hints, depth);
    size_t start = out->length, best_length = SIZE_MAX;
    enum sbt_packing best = PACKING_FOR;
    for (unsigned i = 0; i < list.count && !out->failed; i++) {
        size_t from = i == 0 ? start : start + best_length;
        out->length = from;
        bool suits = pack_body(packer, out, values, count, list.all[i], depth);
        scratch_release(&packer->scratch, mark);
        if (!suits || out->failed || out->length - from >= best_length)
            continue;
        best_length = out->length - from;
        best = list.all[i].packing;
        memmove(out->bytes + start, out->bytes + from, best_length);
    }
    if (!out->failed)
        out->length = start + best_length;
    return best;
}
