// SPDX-License-Identifier: Apache-2.0
// Streams of 64-bit integers (section 7 of docs/sbt-format.md): packed whole, unpacked step by step.
#ifndef SBT_PACKING_H
#define SBT_PACKING_H

#include <stdbool.h>
#include <stdint.h>

#include "sbt/bytestream.h"
#include "sbt/format.h"
#include "sbt/scratch.h"

// ---- packing

enum { PACK_SAMPLE = 1024 };

// What packing needs besides the values: memory that is kept from column to column. A zeroed one with `level`
// set is valid.
struct packer {
    struct scratch scratch;                  // reset by the caller, once per frame
    void *zstd;                              // ZSTD_CCtx
    int level;                               // zstd
    bool small;                              // every byte counts, time does not
    bool quick;                              // time counts, and bytes hardly do
    struct output trial;                     // what a candidate makes of the sample
    uint64_t entropy_terms[PACK_SAMPLE + 1]; // n * log2(n) * 65536; made on first use
};

void packer_finish(struct packer *packer);

// `hints`: what the values are.
enum {
    PACK_TIMES = 1,   // ns of a clock that may tick in larger steps
    PACK_SYMBOLS = 2, // bytes that are to be coded by their frequency: streams inside only
    PACK_INDICES = 4  // of a dictionary: streams inside only
};

// Appends a stream of `count` (at least 1) values. Which packing is decided by looking at PACK_SAMPLE of
// them.
void pack_stream(struct packer *packer, struct output *out, const uint64_t *values, uint32_t count,
                 unsigned hints);

// About how many bits pack_stream would spend on these values; for choosing a transform. As FOR, of few values, or in a
// small file as LOG.
uint64_t pack_estimate(const struct packer *packer, const uint64_t *values, uint32_t count);

// One zstd frame; 0 when it would not be smaller than `limit` bytes.
size_t pack_zstd(struct packer *packer, struct output *out, const void *bytes, size_t size, size_t limit);
// The same for text, on which more effort is better spent.
size_t pack_zstd_text(struct packer *packer, struct output *out, const void *bytes, size_t size,
                      size_t limit);

// ---- unpacking

// The input must be followed by this many readable bytes of any content: values are read in wide steps.
enum { UNPACK_SLACK = 16 };

enum unpack_result { UNPACK_OK, UNPACK_DAMAGED, UNPACK_UNKNOWN };

// The meaning of a symbol of LOG: the value without its low bits, and the number of these.
struct log_bucket {
    uint64_t value, extra;
};
enum { LOG_BUCKETS = 256 };

struct stream {
    uint8_t packing;
    uint32_t left; // values not yet handed out
    struct input body;
    uint64_t base;
    union {
        uint32_t width; // RAW
        struct {
            uint32_t count;
            bool zigzag;
            uint32_t at;             // next position in the planes
            const uint8_t *plane[8]; // NULL: constant
            uint64_t constants;      // what the constant planes add up to
        } planes;
        struct {
            uint64_t *values;
            uint32_t count;
            struct stream *indices;
        } dictionary;
        struct {
            uint64_t *values, *lengths;
            uint32_t count, at;
            uint64_t used; // of the run at `at`
        } runs;
        struct {
            uint64_t factor;
            struct stream *quotient, *remainder;
        } tick;
        struct {
            const struct log_bucket *buckets;
            bool zigzag;
            struct stream *symbols;
            uint64_t bit; // of the body, next to be read
        } log;
        struct {
            uint64_t *values;
            uint32_t at;
            unsigned bundle;
        } bundles;
    } as;
};

// Takes a stream of `count` (at least 1) values off `in` and makes it ready. All memory comes from `scratch`.
// The payload that `in` is part of must be followed by UNPACK_SLACK readable bytes.
enum unpack_result unpack_open(struct stream *stream, struct input *in, uint32_t count,
                               struct scratch *scratch);

// The next values: SBT_VECTOR of them, or what is left. 0 when the stream is damaged.
uint32_t unpack_next(struct stream *stream, uint64_t out[SBT_VECTOR]);

// All of a stream at once.
bool unpack_all(struct stream *stream, uint64_t *out);

// Decompresses exactly `plain` bytes.
bool unpack_zstd(struct scratch *scratch, struct input in, void *out, size_t plain);

// ---- bits: `count` integers of `width` bits, bit 0 of the first byte first

void bits_pack(uint8_t *out, const uint64_t *values, uint32_t count, uint64_t base, unsigned width);
// `in` must be followed by UNPACK_SLACK readable bytes.
void bits_unpack(uint64_t *out, const uint8_t *in, uint32_t count, uint64_t base, unsigned width);

static inline uint32_t bits_bytes(uint32_t count, unsigned width) {
    return (uint32_t)(((uint64_t)count * width + 7) / 8);
}

static inline unsigned bits_width(uint64_t value) {
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

#endif
