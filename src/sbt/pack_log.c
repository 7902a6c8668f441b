// SPDX-License-Identifier: Apache-2.0
// LOG: what is left of times once all structure is taken out is noise, whose size is known better than its value. A
// value is its bucket, which an entropy coder takes, and the bits below, which nothing would make smaller. BUNDLES: a
// coder of bytes spends at least a bit on each, which is too much for values that are nearly always the same.
#include <string.h>

#include "sbt/loops.h"
#include "sbt/packer.h"

enum { PLAN_MOST_MANTISSA = 4, PLAN_SYMBOLS = 64 << PLAN_MOST_MANTISSA };

static uint64_t offset_of(uint64_t value, const struct log_plan *plan) {
    return plan->zigzag ? zigzag(value) : value - plan->base;
}

static unsigned symbol_of(uint64_t offset, unsigned mantissa, unsigned *extra) {
    *extra = 0;
    if (offset >> mantissa == 0)
        return (unsigned)offset;
    *extra = bits_width(offset) - 1 - mantissa;
    return (*extra + 1) << mantissa | (unsigned)(offset >> *extra & (((uint64_t)1 << mantissa) - 1));
}

// ---- the plan

// About the bits with this mantissa: entropy of the buckets, what their table costs, and the bits below.
static uint64_t estimate_log(const uint64_t *sample, uint32_t count, const struct log_plan *plan) {
    uint16_t counts[PLAN_SYMBOLS] = {0};
    unsigned most = 0, extra;
    uint64_t bits = 0, terms = 0, symbols = 0;
    for (uint32_t i = 0; i < count; i++) {
        unsigned symbol = symbol_of(offset_of(sample[i], plan), plan->mantissa, &extra);
        most = symbol > most ? symbol : most;
        counts[symbol]++;
        bits += extra;
    }
    if (most > 255)
        return UINT64_MAX;
    for (unsigned i = 0; i <= most; i++) {
        symbols += counts[i] != 0;
        terms += counts[i] ? counts[i] * pack_log2(counts[i]) : 0;
    }
    return bits + ((count * pack_log2(count) - terms) >> 16) + symbols * 3 / 4;
}

struct log_plan pack_plan_log(const uint64_t *values, uint32_t count) {
    uint64_t sample[PACK_SAMPLE];
    uint32_t sampled = pack_take_sample(sample, values, count);
    struct loops_span span = loops()->span(values, count);
    struct log_plan best = {.bits = UINT64_MAX};
    for (unsigned form = 0; form < 2; form++) {
        if (form == 1 && span.least >= 0)
            break;
        for (unsigned mantissa = 0; mantissa <= PLAN_MOST_MANTISSA; mantissa++) {
            struct log_plan plan = {form ? 0 : (uint64_t)span.least, form == 1, mantissa, 0};
            // The extremes of the whole stream must have a symbol of one byte too.
            unsigned extra, high = symbol_of(offset_of((uint64_t)span.greatest, &plan), mantissa, &extra);
            if (high > 255 || symbol_of(offset_of((uint64_t)span.least, &plan), mantissa, &extra) > 255)
                break;
            plan.bits = estimate_log(sample, sampled, &plan);
            if (plan.bits < best.bits)
                best = plan;
        }
    }
    best.bits = best.bits == UINT64_MAX ? best.bits : best.bits * count / sampled;
    return best;
}

// ---- packing

struct bit_writer {
    struct output *out;
    uint64_t word;
    unsigned used; // below 64
};

static void write_bits(struct bit_writer *writer, uint64_t value, unsigned width) {
    if (width == 0)
        return;
    writer->word |= value << writer->used;
    if (writer->used + width >= 64) {
        uint8_t bytes[8];
        bytes_put_u64(bytes, writer->word);
        output_bytes(writer->out, bytes, sizeof bytes);
        writer->word = writer->used ? value >> (64 - writer->used) : 0;
        writer->used += width - 64;
    } else {
        writer->used += width;
    }
}

static void flush_bits(struct bit_writer *writer) {
    uint8_t bytes[8];
    bytes_put_u64(bytes, writer->word);
    output_bytes(writer->out, bytes, (writer->used + 7) / 8);
}

bool pack_log(struct packer *packer, struct output *out, const uint64_t *values, uint32_t count,
              struct log_plan plan, unsigned depth) {
    uint64_t *symbols = scratch_take(&packer->scratch, count * sizeof *symbols);
    if (!symbols)
        return false;
    unsigned extra;
    for (uint32_t i = 0; i < count; i++)
        symbols[i] = symbol_of(offset_of(values[i], &plan), plan.mantissa, &extra);
    output_u8(out, plan.mantissa | (plan.zigzag ? LOG_ZIGZAG : 0));
    output_zigzag(out, plan.base);
    pack_nested(packer, out, symbols, count, PACK_SYMBOLS, depth + 1);
    struct bit_writer writer = {out, 0, 0};
    for (uint32_t i = 0; i < count; i++) {
        uint64_t offset = offset_of(values[i], &plan);
        (void)symbol_of(offset, plan.mantissa, &extra);
        write_bits(&writer, offset & (((uint64_t)1 << extra) - 1), extra);
    }
    flush_bits(&writer);
    return true;
}

// ---- bundles

unsigned pack_plan_bundles(const uint64_t *values, uint32_t count) {
    struct loops_span span = loops()->span(values, count);
    unsigned width = bits_width((uint64_t)span.greatest - (uint64_t)span.least);
    return width > 4 || count < 16 ? 0 : width > 2 ? 2 : width > 1 ? 4 : 8;
}

bool pack_bundles(struct packer *packer, struct output *out, const uint64_t *values, uint32_t count,
                  unsigned bundle, unsigned depth) {
    uint32_t bytes = (count + bundle - 1) / bundle;
    unsigned width = 8 / bundle;
    uint64_t base = (uint64_t)loops()->span(values, count).least;
    uint64_t *bundles = scratch_take(&packer->scratch, bytes * sizeof *bundles);
    if (!bundles)
        return false;
    memset(bundles, 0, bytes * sizeof *bundles);
    for (uint32_t i = 0; i < count; i++)
        bundles[i / bundle] |= (values[i] - base) << width * (i % bundle);
    output_u8(out, bundle);
    output_zigzag(out, base);
    pack_nested(packer, out, bundles, bytes, PACK_SYMBOLS, depth + 1);
    return true;
}
