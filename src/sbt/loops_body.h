// SPDX-License-Identifier: Apache-2.0
// Included by loops.c, once per instruction set, with LOOP(name) giving each function its own name and
// LOOP_UNPACK set where the including file has its own unpacking. Plain C that compilers vectorise.

static struct loops_span LOOP(span)(const uint64_t *values, uint32_t count) {
    int64_t least = INT64_MAX, greatest = INT64_MIN;
    for (uint32_t i = 0; i < count; i++) {
        int64_t value = (int64_t)values[i];
        least = value < least ? value : least;
        greatest = value > greatest ? value : greatest;
    }
    return (struct loops_span){least, greatest};
}

static uint32_t LOOP(count_beyond)(const uint64_t *values, uint32_t count, uint64_t base, unsigned width) {
    uint64_t beyond = 0;
    for (uint32_t i = 0; i < count; i++)
        beyond += ((values[i] - base) >> width) != 0;
    return (uint32_t)beyond;
}

static bool LOOP(any_beyond)(const uint64_t *values, uint32_t count, uint64_t base, unsigned width) {
    uint64_t all = 0;
    for (uint32_t i = 0; i < count; i++)
        all |= (values[i] - base) >> width;
    return all != 0;
}

static void LOOP(differences)(uint64_t *restrict out, const uint64_t *restrict values, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        out[i] = values[i] - values[(int64_t)i - 1];
}

static void LOOP(subtract)(uint64_t *out, const uint64_t *values, const uint64_t *other, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        out[i] = values[i] - other[i];
}

static void LOOP(add)(uint64_t *restrict values, const uint64_t *restrict other, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        values[i] += other[i];
}

static void LOOP(add_one)(uint64_t *values, uint64_t value, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        values[i] += value;
}

static void LOOP(take_plane)(uint8_t *restrict out, const uint64_t *restrict values, uint32_t count,
                             uint64_t base, bool zigzagged, unsigned plane) {
    unsigned shift = 8 * plane;
    if (zigzagged) {
        for (uint32_t i = 0; i < count; i++)
            out[i] = (uint8_t)((values[i] << 1 ^ (0 - (values[i] >> 63))) >> shift);
    } else {
        for (uint32_t i = 0; i < count; i++)
            out[i] = (uint8_t)((values[i] - base) >> shift);
    }
}

static void LOOP(put_plane)(uint64_t *restrict out, const uint8_t *restrict bytes, uint32_t count,
                            unsigned plane) {
    unsigned shift = 8 * plane;
    for (uint32_t i = 0; i < count; i++)
        out[i] |= (uint64_t)bytes[i] << shift;
}

static void LOOP(two_planes)(uint64_t *restrict out, const uint8_t *restrict low,
                             const uint8_t *restrict high, uint32_t count, uint64_t base) {
    for (uint32_t i = 0; i < count; i++)
        out[i] = base + ((uint64_t)low[i] | (uint64_t)high[i] << 8);
}

static void LOOP(unzigzag)(uint64_t *values, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        values[i] = values[i] >> 1 ^ (0 - (values[i] & 1));
}

static void LOOP(fill64)(uint64_t *out, uint64_t value, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        out[i] = value;
}

static void LOOP(fill32)(uint32_t *out, uint32_t value, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        out[i] = value;
}

static void LOOP(narrow32)(uint32_t *restrict out, const uint64_t *restrict values, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        out[i] = (uint32_t)values[i];
}

static void LOOP(narrow8)(uint8_t *restrict out, const uint64_t *restrict values, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        out[i] = (uint8_t)values[i];
}

static uint8_t LOOP(greatest8)(const uint8_t *bytes, uint32_t count) {
    uint8_t greatest = 0;
    for (uint32_t i = 0; i < count; i++)
        greatest = bytes[i] > greatest ? bytes[i] : greatest;
    return greatest;
}

static bool LOOP(ascending)(const int64_t *values, uint32_t count) {
    uint64_t descents = 0;
    for (uint32_t i = 1; i < count; i++)
        descents += values[i] < values[i - 1];
    return descents == 0;
}

static bool LOOP(ends_within)(const int64_t *restrict starts, const int64_t *restrict durations,
                              uint32_t count, int64_t limit) {
    uint64_t beyond = 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t start = starts[i], duration = durations[i];
        int64_t end = (int64_t)((uint64_t)start + (uint64_t)duration);
        // The sum overflowed when both have one sign and it has the other.
        int64_t overflow = (start ^ end) & (duration ^ end);
        beyond += (end > limit) & (overflow >= 0);
    }
    return beyond == 0;
}

// Of starts and ends, those that overflow left out.
static int64_t LOOP(last_end)(const int64_t *restrict starts, const int64_t *restrict durations,
                              uint32_t count) {
    int64_t last = INT64_MIN;
    for (uint32_t i = 0; i < count; i++) {
        int64_t start = starts[i], duration = durations[i];
        int64_t end = (int64_t)((uint64_t)start + (uint64_t)duration);
        int64_t overflow = (start ^ end) & (duration ^ end);
        int64_t counted = overflow >= 0 ? end : start;
        last = last > counted ? last : counted;
    }
    return last;
}

static uint32_t LOOP(kind_bits)(const uint8_t *bytes, uint32_t count) {
    uint32_t bits = 0;
    for (uint32_t i = 0; i < count; i++)
        bits |= (uint32_t)1 << (bytes[i] < 31 ? bytes[i] : 31);
    return bits;
}

#ifndef LOOP_UNPACK
// With the width a constant every offset and shift is one too.
static inline __attribute__((always_inline)) void LOOP(unpack_groups)(uint64_t *restrict out,
                                                                      const uint8_t *restrict in,
                                                                      uint32_t groups, uint64_t base,
                                                                      unsigned width) {
    uint64_t mask = ((uint64_t)1 << width) - 1;
    for (uint32_t group = 0; group < groups; group++, in += width, out += 8)
        for (unsigned i = 0; i < 8; i++)
            out[i] = base + (bytes_get_u64(in + i * width / 8) >> i * width % 8 & mask);
}

static void LOOP(unpack)(uint64_t *restrict out, const uint8_t *restrict in, uint32_t groups, uint64_t base,
                         unsigned width) {
#define WIDTH(n)                                                                                             \
    case n:                                                                                                  \
        LOOP(unpack_groups)(out, in, groups, base, n);                                                       \
        break
#define WIDTHS(n)                                                                                            \
    WIDTH(n);                                                                                                \
    WIDTH(n + 1);                                                                                            \
    WIDTH(n + 2);                                                                                            \
    WIDTH(n + 3)
    switch (width) {
        WIDTHS(0);
        WIDTHS(4);
        WIDTHS(8);
        WIDTHS(12);
        WIDTHS(16);
        WIDTHS(20);
    default:
        LOOP(unpack_groups)(out, in, groups, base, width);
    }
#undef WIDTH
#undef WIDTHS
}
#endif

const struct loops LOOP(loops) = {
    .span = LOOP(span),
    .count_beyond = LOOP(count_beyond),
    .any_beyond = LOOP(any_beyond),
    .differences = LOOP(differences),
    .subtract = LOOP(subtract),
    .add = LOOP(add),
    .add_one = LOOP(add_one),
    .take_plane = LOOP(take_plane),
    .put_plane = LOOP(put_plane),
    .two_planes = LOOP(two_planes),
    .unzigzag = LOOP(unzigzag),
    .fill64 = LOOP(fill64),
    .fill32 = LOOP(fill32),
    .narrow32 = LOOP(narrow32),
    .narrow8 = LOOP(narrow8),
    .greatest8 = LOOP(greatest8),
    .kind_bits = LOOP(kind_bits),
    .ascending = LOOP(ascending),
    .ends_within = LOOP(ends_within),
    .last_end = LOOP(last_end),
    .unpack = LOOP(unpack),
};
