// SPDX-License-Identifier: Apache-2.0
// What the files that pack streams share: pack.c chooses and packs, pack_log.c has the packings that are for small files,
// pack_search.c chooses by trying.
#ifndef SBT_PACKER_H
#define SBT_PACKER_H

#include "sbt/packing.h"

// Values below `floor`, and those more than `width` bits above it, are exceptions.
struct for_plan {
    uint64_t floor;
    unsigned width;
    uint32_t exceptions; // about, in 1024 values
    uint64_t bits;       // for the values it was made from
};

// How values become buckets: see section 7 of the document.
struct log_plan {
    uint64_t base;
    bool zigzag;
    unsigned mantissa;
    uint64_t bits; // about, for the values it was made from
};

struct choice {
    enum sbt_packing packing;
    struct for_plan plan;
    struct log_plan log;
    uint64_t tick;
    unsigned bundle;
};

struct for_plan pack_plan_for(const uint64_t *values, uint32_t count);
uint32_t pack_take_sample(uint64_t *sample, const uint64_t *values, uint32_t count);
uint32_t pack_count_runs(const uint64_t *values, uint32_t count);
// Distinct values; UINT32_MAX when there are more than `limit` (at most DISTINCT_MOST).
enum { DISTINCT_MOST = 4096 };
uint32_t pack_count_distinct(struct packer *packer, const uint64_t *values, uint32_t count, uint32_t limit);

// Appends a stream inside a stream: packing, length and body.
void pack_nested(struct packer *packer, struct output *out, const uint64_t *values, uint32_t count,
                 unsigned hints, unsigned depth);
// Appends the body alone. False when this packing does not suit these values after all.
bool pack_body(struct packer *packer, struct output *out, const uint64_t *values, uint32_t count,
               struct choice choice, unsigned depth);

// The smallest fitting encoding, found by packing with each: leaves its body in `out`, and returns which it is.
enum sbt_packing pack_smallest(struct packer *packer, struct output *out, const uint64_t *values,
                               uint32_t count, unsigned hints, unsigned depth);

// log2(n) * n * 65536, n at most PACK_SAMPLE; and about the bits of order-0 entropy of counts that sum up to `total`.
uint64_t
pack_log2(uint64_t value); // log2(value) * 65536 in whole numbers, so that every machine decides alike

// The cheapest buckets for these values, judged by PACK_SAMPLE of them.
struct log_plan pack_plan_log(const uint64_t *values, uint32_t count);
bool pack_log(struct packer *packer, struct output *out, const uint64_t *values, uint32_t count,
              struct log_plan plan, unsigned depth);
// How many of these values fit into a byte: 8, 4, 2, or 0 when none do.
unsigned pack_plan_bundles(const uint64_t *values, uint32_t count);
bool pack_bundles(struct packer *packer, struct output *out, const uint64_t *values, uint32_t count,
                  unsigned bundle, unsigned depth);

#endif
