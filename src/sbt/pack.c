// SPDX-License-Identifier: Apache-2.0
// Choosing a packing. Everything is decided from a sample of PACK_SAMPLE values, four stretches of 256 spread
// over the column: stretches, because order matters (runs, repeats); few, because looking must stay cheap
// other than packing. The same values always give the same decision.
#include <string.h>

#define ZSTD_STATIC_LINKING_ONLY // for ZSTD_c_useRowMatchFinder
#include <zstd.h>

#include "sbt/loops.h"
#include "sbt/packer.h"

enum {
    STRETCHES = 4,
    PLAN_VALUES = 128,      // of the sample, that a FOR plan looks at
    EXCEPTION_BITS = 22,    // about what an exception costs in addition to the packed bits
    DICTIONARY_SAMPLE = 64, // distinct values in the sample, at most, for a dictionary to be tried
    DICTIONARY_LIMIT = DISTINCT_MOST,
    TEXT_LEVEL = 15, // of zstd, in a small file: beyond it text takes ten times as long and gets 1 % smaller
    FEW = 16,        // distinct values in the sample: zstd is asked what it makes of their order
    ROWS_SEARCHED_FROM = 1 << 14, // bytes: a larger input has a window of more than 14 bits
    PLANES_GAIN = 65              // per cent of the other candidates' size that planes must come down to
};

void packer_finish(struct packer *packer) {
    ZSTD_freeCCtx(packer->zstd);
    scratch_finish(&packer->scratch);
    free(packer->trial.bytes);
    *packer = (struct packer){0};
}

static bool open_zstd(struct packer *packer) {
    if (packer->zstd)
        return true;
    packer->zstd = ZSTD_createCCtx();
    if (!packer->zstd)
        return false;
    ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_compressionLevel, packer->level);
    // Short matches in noise are chance: they make frames no smaller and their decoding much slower.
    if (packer->level == 1) {
        ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_strategy, ZSTD_fast);
        ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_minMatch, 7);
        ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_hashLog, 11);
    }
    return true;
}

// Left to itself, zstd finds matches of inputs of 16 to 128 KiB in another way on processors without SSE2 or NEON, and makes other frames.
// Here every processor does as those with SSE2 do. Older versions have no such switch, or another one.
static void choose_match_finder(struct packer *packer, size_t size) {
#if ZSTD_VERSION_NUMBER >= 10501
    if (ZSTD_versionNumber() >= 10501)
        (void)ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_useRowMatchFinder,
                                     size > ROWS_SEARCHED_FROM ? ZSTD_ps_enable : ZSTD_ps_disable);
#else
    (void)packer, (void)size;
#endif
}

size_t pack_zstd(struct packer *packer, struct output *out, const void *bytes, size_t size, size_t limit) {
    size_t bound = ZSTD_compressBound(size);
    uint8_t *at = open_zstd(packer) ? output_room(out, bound) : NULL;
    if (at)
        choose_match_finder(packer, size);
    size_t made = at ? ZSTD_compress2(packer->zstd, at, bound, bytes, size) : 0;
    if (!at || ZSTD_isError(made)) {
        out->failed = true;
        return 0;
    }
    if (made >= limit)
        return 0;
    out->length += made;
    return made;
}

size_t pack_zstd_text(struct packer *packer, struct output *out, const void *bytes, size_t size,
                      size_t limit) {
    bool more = packer->small && packer->level < TEXT_LEVEL && open_zstd(packer);
    if (more)
        ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_compressionLevel, TEXT_LEVEL);
    size_t made = pack_zstd(packer, out, bytes, size, limit);
    if (more)
        ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_compressionLevel, packer->level);
    return made;
}

// ---- the frame of reference

static void sort_signed(int64_t *values, uint32_t count) {
    static const uint32_t gaps[] = {57, 23, 10, 4, 1};
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++) {
        uint32_t gap = gaps[g];
        for (uint32_t i = gap; i < count; i++) {
            int64_t value = values[i];
            uint32_t at = i;
            for (; at >= gap && values[at - gap] > value; at -= gap)
                values[at] = values[at - gap];
            values[at] = value;
        }
    }
}

// The cheapest of a few low quantiles as the floor with the cheapest of a few high ones above it.
struct for_plan pack_plan_for(const uint64_t *values, uint32_t count) {
    int64_t sorted[PLAN_VALUES];
    uint32_t taken = count < PLAN_VALUES ? count : PLAN_VALUES;
    uint32_t step = count / taken;
    for (uint32_t i = 0; i < taken; i++)
        sorted[i] = (int64_t)values[i * step];
    sort_signed(sorted, taken);
    struct for_plan best = {.bits = UINT64_MAX};
    static const uint32_t lows[] = {0, 1, 4, 12},
                          highs[] = {0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32}; // in 128ths
    for (size_t l = 0; l < sizeof lows / sizeof *lows; l++) {
        uint32_t low = lows[l] * taken / PLAN_VALUES;
        if (l && low == lows[l - 1] * taken / PLAN_VALUES)
            continue;
        for (size_t h = 0; h < sizeof highs / sizeof *highs; h++) {
            uint32_t high = highs[h] * taken / PLAN_VALUES;
            if (h && high == highs[h - 1] * taken / PLAN_VALUES)
                continue;
            unsigned width = bits_width((uint64_t)sorted[taken - 1 - high] - (uint64_t)sorted[low]);
            uint64_t bits = (uint64_t)taken * width + (uint64_t)(low + high) * EXCEPTION_BITS;
            if (bits < best.bits)
                best = (struct for_plan){(uint64_t)sorted[low], width, (low + high) * 1024 / taken, bits};
        }
    }
    best.bits = best.bits * count / taken;
    return best;
}

uint64_t pack_estimate(const struct packer *packer, const uint64_t *values, uint32_t count) {
    return packer->small ? pack_plan_log(values, count).bits : pack_plan_for(values, count).bits;
}

struct for_vector {
    uint64_t base;
    unsigned width;
    uint32_t exceptions;
};

static struct for_vector try_exceptions(const uint64_t *values, uint32_t count, uint64_t base,
                                        unsigned width) {
    return (struct for_vector){base, width,
                               width < 64 ? loops()->count_beyond(values, count, base, width) : 0};
}

// The sample's plan, unless this vector is narrower than that or unlike the sample.
static struct for_vector plan_vector(const uint64_t *values, uint32_t count, struct for_plan plan) {
    struct for_vector patched = try_exceptions(values, count, plan.floor, plan.width);
    if (patched.exceptions > 0 &&
        patched.exceptions <= count / 16 + (uint64_t)2 * plan.exceptions * count / 1024)
        return patched;
    struct loops_span span = loops()->span(values, count);
    struct for_vector full = {(uint64_t)span.least,
                              bits_width((uint64_t)span.greatest - (uint64_t)span.least), 0};
    if (full.width <= plan.width)
        return full;
    if (patched.exceptions) {
        plan = pack_plan_for(values, count);
        patched = try_exceptions(values, count, plan.floor, plan.width);
    }
    uint64_t patched_bits = (uint64_t)count * patched.width + (uint64_t)patched.exceptions * EXCEPTION_BITS;
    return patched_bits < (uint64_t)count * full.width ? patched : full;
}

static void pack_exceptions(struct output *out, const uint64_t *values, uint32_t count,
                            struct for_vector vector) {
    output_varint(out, vector.exceptions);
    uint8_t *at = output_room(out, (size_t)vector.exceptions * 2 * VARINT_MAX);
    if (!at)
        return;
    uint8_t *start = at;
    uint32_t next = 0;
    for (uint32_t from = 0; from < count; from += 16) {
        uint32_t now = count - from < 16 ? count - from : 16;
        if (!loops()->any_beyond(values + from, now, vector.base, vector.width))
            continue;
        for (uint32_t i = from; i < from + now; i++) {
            uint64_t high = (values[i] - vector.base) >> vector.width;
            if (high) {
                at += varint_put(at, i - next);
                at += varint_put(at, high);
                next = i + 1;
            }
        }
    }
    out->length += (size_t)(at - start);
}

static void pack_for(struct output *out, const uint64_t *values, uint32_t count, struct for_plan plan) {
    for (uint32_t done = 0; done < count; done += SBT_VECTOR) {
        uint32_t now = count - done < SBT_VECTOR ? count - done : SBT_VECTOR;
        struct for_vector vector = plan_vector(values + done, now, plan);
        output_u8(out, vector.width | (vector.exceptions ? FOR_EXCEPTIONS : 0));
        output_zigzag(out, vector.base);
        uint8_t *at = output_room(out, bits_bytes(now, vector.width) + (size_t)8);
        if (!at)
            return;
        bits_pack(at, values + done, now, vector.base, vector.width);
        out->length += bits_bytes(now, vector.width);
        if (vector.exceptions)
            pack_exceptions(out, values + done, now, vector);
    }
}

// ---- byte planes

// How values become planes: subtracting a base, or zigzag where there are small numbers of both signs.
struct planes_plan {
    uint64_t base;
    bool zigzag;
    uint32_t count;
};

static struct planes_plan plan_planes(const uint64_t *values, uint32_t count) {
    struct loops_span span = loops()->span(values, count);
    uint64_t high = zigzag((uint64_t)span.greatest), low = zigzag((uint64_t)span.least);
    unsigned signed_bytes = (bits_width(high > low ? high : low) + 7) / 8;
    unsigned based_bytes = (bits_width((uint64_t)span.greatest - (uint64_t)span.least) + 7) / 8;
    struct planes_plan plan = {(uint64_t)span.least, false, based_bytes};
    if (span.least < 0 && signed_bytes <= based_bytes)
        plan = (struct planes_plan){0, true, signed_bytes};
    if (plan.count == 0)
        plan.count = 1;
    return plan;
}

static void fill_plane(uint8_t *out, const uint64_t *values, uint32_t count, struct planes_plan plan,
                       uint32_t plane) {
    loops()->take_plane(out, values, count, plan.base, plan.zigzag, plane);
}

uint64_t pack_log2(uint64_t value) {
    unsigned whole = bits_width(value) - 1;
    uint64_t result = (uint64_t)whole << 16,
             part = whole > 31 ? value >> (whole - 31) : value << (31 - whole);
    for (unsigned bit = 16; bit-- > 0;) { // part is in [2^31, 2^32): square it, and see whether it passes 2
        part = part * part >> 31;
        if (part >> 32) {
            part >>= 1;
            result |= (uint64_t)1 << bit;
        }
    }
    return result;
}

static void fill_entropy_terms(struct packer *packer) {
    for (uint32_t n = 1; n <= PACK_SAMPLE; n++)
        packer->entropy_terms[n] = n * pack_log2(n);
}

// About the bits an entropy coder spends on these bytes (at most PACK_SAMPLE): their order-0 entropy, and what a count
// of so few samples makes it look smaller than it is.
static uint64_t estimate_entropy(struct packer *packer, const uint8_t *bytes, uint32_t count) {
    uint16_t counts[4][256] = {{0}};
    if (packer->entropy_terms[2] == 0)
        fill_entropy_terms(packer);
    for (uint32_t i = 0; i < count; i++)
        counts[i % 4][bytes[i]]++;
    uint64_t terms = 0, symbols = 0;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t n = (uint32_t)counts[0][i] + counts[1][i] + counts[2][i] + counts[3][i];
        terms += packer->entropy_terms[n];
        symbols += n != 0;
    }
    uint64_t bits = (packer->entropy_terms[count] - terms) >> 16;
    return bits + symbols * 3 / 4;
}

// Whether compressing is worth the time it takes; seen from the middle of the plane.
static bool is_worth_compressing(struct packer *packer, const uint8_t *plane, uint32_t count) {
    uint32_t sample = count < PACK_SAMPLE ? count : PACK_SAMPLE;
    return estimate_entropy(packer, plane + (count - sample) / 2, sample) * 16 < (uint64_t)sample * 8 * 15;
}

static void pack_plane(struct packer *packer, struct output *out, const uint8_t *plane, uint32_t count) {
    if (memcmp(plane, plane + 1, count - 1) == 0) {
        output_u8(out, PLANE_CONSTANT);
        output_u8(out, plane[0]);
        return;
    }
    struct output *trial = &packer->trial;
    trial->length = 0;
    bool worth = packer->small || is_worth_compressing(packer, plane, count);
    size_t made = worth ? pack_zstd(packer, trial, plane, count, count) : 0;
    out->failed |= trial->failed;
    output_u8(out, made ? PLANE_ZSTD : PLANE_RAW);
    if (made)
        output_varint(out, made);
    output_bytes(out, made ? trial->bytes : plane, made ? made : count);
}

static void pack_planes(struct packer *packer, struct output *out, const uint64_t *values, uint32_t count) {
    struct planes_plan plan = plan_planes(values, count);
    output_u8(out, plan.count | (plan.zigzag ? PLANES_ZIGZAG : 0));
    output_zigzag(out, plan.base);
    uint8_t *plane = scratch_take(&packer->scratch, count);
    if (!plane) {
        out->failed = true;
        return;
    }
    for (uint32_t i = 0; i < plan.count; i++) {
        fill_plane(plane, values, count, plan, i);
        pack_plane(packer, out, plane, count);
    }
}

// Bits that planes would take for the sample, without what a zstd frame costs by itself. With few distinct values
// there may be repeats, which only zstd itself can detect.
static uint64_t estimate_planes(struct packer *packer, const uint64_t *sample, uint32_t count, bool few) {
    struct planes_plan plan = plan_planes(sample, count);
    uint8_t plane[PACK_SAMPLE];
    uint64_t bits = 0;
    for (uint32_t i = 0; i < plan.count; i++) {
        fill_plane(plane, sample, count, plan, i);
        if (memcmp(plane, plane + 1, count - 1) == 0)
            continue;
        if (!few) {
            bits += estimate_entropy(packer, plane, count);
            continue;
        }
        packer->trial.length = 0;
        size_t made = pack_zstd(packer, &packer->trial, plane, count, count);
        bits += 8 * (made > 12 ? made - 12 : made ? 0 : count);
    }
    return bits;
}

// ---- dictionary

// Values by hash: open addressing, at most half full. TABLE_SLOT, which has a capacity and no mask, takes 0.1 % more
// instructions of an import here.
struct distinct {
    uint64_t *values; // in order of first appearance
    uint32_t *slots;  // index + 1
    uint32_t count, limit, mask;
};

static uint32_t distinct_add(struct distinct *set, uint64_t value) {
    uint32_t at = (uint32_t)((value * 0x9e3779b97f4a7c15u) >> 40) & set->mask;
    while (set->slots[at] && set->values[set->slots[at] - 1] != value)
        at = (at + 1) & set->mask;
    if (!set->slots[at]) {
        if (set->count == set->limit)
            return UINT32_MAX;
        set->values[set->count++] = value;
        set->slots[at] = set->count;
    }
    return set->slots[at] - 1;
}

static uint32_t count_distinct(const uint64_t *sample, uint32_t count) {
    uint64_t values[DICTIONARY_SAMPLE];
    uint32_t slots[4 * DICTIONARY_SAMPLE] = {0};
    struct distinct set = {values, slots, 0, DICTIONARY_SAMPLE, 4 * DICTIONARY_SAMPLE - 1};
    for (uint32_t i = 0; i < count; i++)
        if ((i == 0 || sample[i] != sample[i - 1]) && distinct_add(&set, sample[i]) == UINT32_MAX)
            return UINT32_MAX;
    return set.count;
}

uint32_t pack_count_distinct(struct packer *packer, const uint64_t *values, uint32_t count, uint32_t limit) {
    struct distinct set = {.limit = limit, .mask = 4 * DISTINCT_MOST - 1};
    struct scratch_mark mark = scratch_mark(&packer->scratch);
    set.values = scratch_take(&packer->scratch, DISTINCT_MOST * sizeof *set.values);
    set.slots = scratch_take(&packer->scratch, (set.mask + (size_t)1) * sizeof *set.slots);
    if (set.values && set.slots) {
        memset(set.slots, 0, (set.mask + (size_t)1) * sizeof *set.slots);
        for (uint32_t i = 0; i < count; i++) {
            if ((i == 0 || values[i] != values[i - 1]) && distinct_add(&set, values[i]) == UINT32_MAX) {
                set.count = UINT32_MAX;
                break;
            }
        }
    }
    scratch_release(&packer->scratch, mark);
    return set.values && set.slots ? set.count : UINT32_MAX;
}

// False when there are too many distinct values after all.
static bool pack_dictionary(struct packer *packer, struct output *out, const uint64_t *values, uint32_t count,
                            unsigned depth) {
    uint32_t most = packer->small ? count / 2 : count / 4;
    uint32_t limit = most < DICTIONARY_LIMIT ? most : DICTIONARY_LIMIT;
    struct distinct set = {.limit = limit, .mask = 4 * DICTIONARY_LIMIT - 1};
    set.values = scratch_take(&packer->scratch, DICTIONARY_LIMIT * sizeof *set.values);
    set.slots = scratch_take(&packer->scratch, (set.mask + (size_t)1) * sizeof *set.slots);
    uint64_t *indices = scratch_take(&packer->scratch, count * sizeof *indices);
    if (!set.values || !set.slots || !indices)
        return false;
    memset(set.slots, 0, (set.mask + (size_t)1) * sizeof *set.slots);
    for (uint32_t i = 0; i < count; i++) {
        if (i && values[i] == values[i - 1]) {
            indices[i] = indices[i - 1];
            continue;
        }
        indices[i] = distinct_add(&set, values[i]);
        if (indices[i] == UINT32_MAX)
            return false;
    }
    output_varint(out, set.count);
    pack_nested(packer, out, set.values, set.count, 0, depth + 1);
    pack_nested(packer, out, indices, count, PACK_INDICES, depth + 1);
    return true;
}

// ---- runs

static bool pack_runs(struct packer *packer, struct output *out, const uint64_t *values, uint32_t count,
                      unsigned depth) {
    uint64_t *heads = scratch_take(&packer->scratch, count * sizeof *heads);
    uint64_t *lengths = scratch_take(&packer->scratch, count * sizeof *lengths);
    if (!heads || !lengths)
        return false;
    uint32_t runs = 0, start = 0;
    for (uint32_t i = 1; i <= count; i++) {
        if (i == count || values[i] != values[start]) {
            heads[runs] = values[start];
            lengths[runs++] = i - start - 1;
            start = i;
        }
    }
    output_varint(out, runs);
    pack_nested(packer, out, heads, runs, 0, depth + 1);
    pack_nested(packer, out, lengths, runs, 0, depth + 1);
    return true;
}

// ---- ticks

// The tick of GPU clocks as they are seen in traces (32 ns NVIDIA, 40 ns AMD), and of times kept in us or ms.
static uint64_t detect_tick(const uint64_t *sample, uint32_t count) {
    static const int64_t ticks[] = {1000000, 1000, 100, 40, 32, 10};
    uint32_t step = count > 256 ? count / 256 : 1;
    for (size_t t = 0; t < sizeof ticks / sizeof *ticks; t++) {
        int64_t tick = ticks[t];
        uint32_t seen = 0, near = 0, exact = 0;
        for (uint32_t i = 0; i < count; i += step, seen++) {
            int64_t rest = (int64_t)sample[i] % tick;
            exact += rest == 0;
            near += rest == 1 || rest == -1 || rest == tick - 1 || rest == 1 - tick;
        }
        bool all = exact == seen;
        bool most = tick >= 32 && exact * 2 > seen && (exact + near) * 10 > seen * 8;
        if (all || most)
            return (uint64_t)tick;
    }
    return 0;
}

static bool pack_tick(struct packer *packer, struct output *out, const uint64_t *values, uint32_t count,
                      uint64_t tick, unsigned depth) {
    uint64_t *quotients = scratch_take(&packer->scratch, count * sizeof *quotients);
    uint64_t *remainders = scratch_take(&packer->scratch, count * sizeof *remainders);
    if (!quotients || !remainders)
        return false;
    int64_t half = (int64_t)(tick / 2), step = (int64_t)tick;
    for (uint32_t i = 0; i < count; i++) {
        int64_t value = (int64_t)values[i];
        if (value > INT64_MAX / 2 || value < INT64_MIN / 2)
            return false;
        int64_t quotient = value >= 0 ? (value + half) / step : (value - half) / step;
        quotients[i] = (uint64_t)quotient;
        remainders[i] = (uint64_t)(value - quotient * step);
    }
    output_varint(out, tick);
    pack_nested(packer, out, quotients, count, 0, depth + 1);
    pack_nested(packer, out, remainders, count, 0, depth + 1);
    return true;
}

// ---- the choice

uint32_t pack_take_sample(uint64_t *sample, const uint64_t *values, uint32_t count) {
    if (count <= PACK_SAMPLE) {
        memcpy(sample, values, count * sizeof *sample);
        return count;
    }
    uint32_t stretch = PACK_SAMPLE / STRETCHES;
    for (uint32_t i = 0; i < STRETCHES; i++) {
        uint32_t from = (uint32_t)((uint64_t)(count - stretch) * i / (STRETCHES - 1));
        memcpy(sample + i * stretch, values + from, stretch * sizeof *sample);
    }
    return PACK_SAMPLE;
}

uint32_t pack_count_runs(const uint64_t *sample, uint32_t count) {
    uint32_t runs = 1;
    for (uint32_t i = 1; i < count; i++)
        runs += sample[i] != sample[i - 1];
    return runs;
}

static struct choice choose(struct packer *packer, const uint64_t *values, uint32_t count, unsigned hints,
                            unsigned depth) {
    // As many bits for each value as the largest of a vector needs.
    if (packer->quick)
        return (struct choice){.packing = PACKING_FOR, .plan = {.width = 64}};
    uint64_t sample[PACK_SAMPLE];
    uint32_t sampled = pack_take_sample(sample, values, count);
    struct choice choice = {.packing = PACKING_FOR, .plan = pack_plan_for(sample, sampled)};
    uint64_t best = choice.plan.bits;
    uint32_t distinct = sampled >= 64 ? count_distinct(sample, sampled) : UINT32_MAX;
    if (depth < PACKING_DEPTH) {
        choice.tick = hints & PACK_TIMES && sampled >= 16 ? detect_tick(sample, sampled) : 0;
        if (choice.tick) {
            choice.packing = PACKING_TICK;
            return choice;
        }
        uint32_t runs = pack_count_runs(sample, sampled);
        uint64_t run_bits = (uint64_t)runs * (choice.plan.width + 5);
        if (runs * 4 <= sampled && run_bits < best) {
            choice.packing = PACKING_RUNS;
            best = run_bits;
        }
        uint64_t distinct_bits = distinct == UINT32_MAX
                                     ? UINT64_MAX
                                     : (uint64_t)sampled * bits_width(distinct) + distinct * (uint64_t)16;
        if (distinct_bits < best - best / 8) {
            choice.packing = PACKING_DICTIONARY;
            best = distinct_bits;
        }
    }
    if (count >= 256) {
        uint64_t planes = estimate_planes(packer, sample, sampled, distinct <= FEW);
        if (planes * 100 < best * PLANES_GAIN)
            choice.packing = PACKING_PLANES;
    }
    return choice;
}

static bool all_equal(const uint64_t *values, uint32_t count) {
    return values[0] == values[count - 1] && memcmp(values, values + 1, (count - 1) * sizeof *values) == 0;
}

bool pack_body(struct packer *packer, struct output *out, const uint64_t *values, uint32_t count,
               struct choice choice, unsigned depth) {
    switch (choice.packing) {
    case PACKING_PLANES:
        pack_planes(packer, out, values, count);
        return true;
    case PACKING_DICTIONARY:
        return pack_dictionary(packer, out, values, count, depth);
    case PACKING_RUNS:
        return pack_runs(packer, out, values, count, depth);
    case PACKING_TICK:
        return pack_tick(packer, out, values, count, choice.tick, depth);
    case PACKING_LOG:
        return pack_log(packer, out, values, count, choice.log, depth);
    case PACKING_BUNDLES:
        return pack_bundles(packer, out, values, count, choice.bundle, depth);
    default:
        pack_for(out, values, count, choice.plan);
        return true;
    }
}

static enum sbt_packing pack_chosen(struct packer *packer, struct output *out, const uint64_t *values,
                                    uint32_t count, unsigned hints, unsigned depth) {
    struct choice choice = choose(packer, values, count, hints, depth);
    size_t body = out->length;
    if (pack_body(packer, out, values, count, choice, depth))
        return choice.packing;
    out->length = body;
    pack_for(out, values, count, choice.plan);
    return PACKING_FOR;
}

// The length of the body stands before it, as a varint of unknown size: the body is moved when it is known.
void pack_nested(struct packer *packer, struct output *out, const uint64_t *values, uint32_t count,
                 unsigned hints, unsigned depth) {
    if (all_equal(values, count)) {
        output_u8(out, PACKING_CONSTANT);
        output_u8(out, (unsigned)varint_size(zigzag(values[0])));
        output_zigzag(out, values[0]);
        return;
    }
    size_t head = out->length;
    if (!output_room(out, 1 + VARINT_MAX))
        return;
    size_t body = head + 1 + VARINT_MAX;
    out->length = body;
    enum sbt_packing packing = packer->small ? pack_smallest(packer, out, values, count, hints, depth)
                                             : pack_chosen(packer, out, values, count, hints, depth);
    if (out->failed)
        return;
    size_t length = out->length - body;
    out->bytes[head] = (uint8_t)packing;
    size_t used = 1 + varint_put(out->bytes + head + 1, length);
    memmove(out->bytes + head + used, out->bytes + body, length);
    out->length = head + used + length;
}

void pack_stream(struct packer *packer, struct output *out, const uint64_t *values, uint32_t count,
                 unsigned hints) {
    pack_nested(packer, out, values, count, hints, 1);
}
