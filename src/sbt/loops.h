// SPDX-License-Identifier: Apache-2.0
// The loops that touch every value, apart from the code that decides: written once in plain C (loops_body.h), compiled
// for the baseline and, on x86-64, for AVX2, and chosen once at run time. Both give the same bytes.
#ifndef SBT_LOOPS_H
#define SBT_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

struct loops_span {
    int64_t least, greatest;
};

struct loops {
    // Least and greatest value, signed.
    struct loops_span (*span)(const uint64_t *values, uint32_t count);
    // How many are more than `width` (below 64) bits above `base`.
    uint32_t (*count_beyond)(const uint64_t *values, uint32_t count, uint64_t base, unsigned width);
    // Whether any is.
    bool (*any_beyond)(const uint64_t *values, uint32_t count, uint64_t base, unsigned width);
    // out[i] = values[i] - values[i - 1]; values[-1] is read.
    void (*differences)(uint64_t *out, const uint64_t *values, uint32_t count);
    // out[i] = values[i] - other[i]
    void (*subtract)(uint64_t *out, const uint64_t *values, const uint64_t *other, uint32_t count);
    // values[i] += other[i]
    void (*add)(uint64_t *values, const uint64_t *other, uint32_t count);
    // values[i] += value
    void (*add_one)(uint64_t *values, uint64_t value, uint32_t count);
    // Byte `plane` of (values[i] - base), or of its zigzag form (base 0).
    void (*take_plane)(uint8_t *out, const uint64_t *values, uint32_t count, uint64_t base, bool zigzag,
                       unsigned plane);
    // out[i] = base + low[i] + 256 * high[i]: what most planes come to
    void (*two_planes)(uint64_t *out, const uint8_t *low, const uint8_t *high, uint32_t count, uint64_t base);
    // out[i] |= bytes[i] at place `plane`
    void (*put_plane)(uint64_t *out, const uint8_t *bytes, uint32_t count, unsigned plane);
    void (*unzigzag)(uint64_t *values, uint32_t count);
    void (*fill64)(uint64_t *out, uint64_t value, uint32_t count);
    void (*fill32)(uint32_t *out, uint32_t value, uint32_t count);
    void (*narrow32)(uint32_t *out, const uint64_t *values, uint32_t count);
    void (*narrow8)(uint8_t *out, const uint64_t *values, uint32_t count);
    uint8_t (*greatest8)(const uint8_t *bytes, uint32_t count);
    // A bit for each value that occurs, bit 31 for 31 and above.
    uint32_t (*kind_bits)(const uint8_t *bytes, uint32_t count);
    // Whether no value is less than the one before.
    bool (*ascending)(const int64_t *values, uint32_t count);
    // Whether no start + duration that does not overflow is beyond `limit`.
    bool (*ends_within)(const int64_t *starts, const int64_t *durations, uint32_t count, int64_t limit);
    // The greatest start + duration that does not overflow; INT64_MIN when all do.
    int64_t (*last_end)(const int64_t *starts, const int64_t *durations, uint32_t count);
    // 8 values of `width` (at most 57) bits from each `width` bytes at `in`, `groups` times.
    void (*unpack)(uint64_t *out, const uint8_t *in, uint32_t groups, uint64_t base, unsigned width);
};

extern const struct loops loops_plain;
#if defined(__x86_64__)
extern const struct loops loops_avx2;
#endif

static inline const struct loops *loops(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return &loops_avx2;
#endif
    return &loops_plain;
}

#endif
