// SPDX-License-Identifier: Apache-2.0
// Streams of integers, packed and unpacked: every shape of values, every length around the places where something
// changes, every width of bits, and both forms of the hot loops against each other.
#include "support/test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sbt/loops.h"
#include "sbt/packing.h"

enum { MOST = 20000, SLACK = UNPACK_SLACK };

static uint64_t value_of(struct random *random, unsigned shape, uint32_t row) {
    switch (shape) {
    case 0:
        return 7;
    case 1:
        return random_next(random);
    case 2:
        return random_below(random, 1000);
    case 3:
        return 0 - random_below(random, 1000);
    case 4:
        return random_below(random, 3000) - 1500;
    case 5:
        return random_below(random, 40) ? random_below(random, 500) : random_next(random);
    case 6:
        return row / 300 * 1000003;
    case 7:
        return random_below(random, 20) * 0x123456789abcu;
    case 8:
        return random_below(random, 5000) * 32 + (random_below(random, 20) == 0);
    case 9:
        return random_below(random, 5000) * 1000;
    case 10:
        return row % 5;
    case 11:
        return (uint64_t)row << 40;
    case 13: // noise of all sizes, small ones more often
        return random_next(random) >> (40 + random_below(random, 20));
    case 14:
        return 0 - (random_next(random) >> (40 + random_below(random, 20))) * (row % 2 ? 1 : UINT64_MAX);
    case 15:
        return 77 + (random_below(random, 9) == 0);
    case 16:
        return random_below(random, 9) ? 0 : random_below(random, 4) - 1;
    case 17:
        return random_below(random, 9) ? 3 : random_below(random, 16);
    case 12:
        return row % 2 ? UINT64_MAX : (uint64_t)1 << 63;
    default:
        return row == 3000 ? 1 : 0;
    }
}

enum { VALUE_SHAPES = 19 };

// Packs, and unpacks from a copy with nothing but the promised slack behind it.
static uint8_t check_stream(struct packer *packer, const uint64_t *values, uint32_t count, unsigned hints) {
    struct output out = {0}, again = {0};
    struct scratch scratch = {0};
    struct stream stream;
    scratch_reset(&packer->scratch, SIZE_MAX);
    pack_stream(packer, &out, values, count, hints);
    scratch_reset(&packer->scratch, SIZE_MAX);
    pack_stream(packer, &again, values, count, hints);
    assert_false(out.failed);
    assert_int_equal(out.length, again.length);
    assert_memory_equal(out.bytes, again.bytes, out.length);
    uint8_t packing = out.bytes[0];
    uint8_t *copy = malloc(out.length + UNPACK_SLACK);
    uint64_t *back = malloc(count * sizeof *back);
    assert_non_null(copy);
    assert_non_null(back);
    memcpy(copy, out.bytes, out.length);
    memset(copy + out.length, 0xee, UNPACK_SLACK);
    struct input in = {copy, copy + out.length};
    scratch_reset(&scratch, SBT_MAX_DECODED);
    assert_int_equal(unpack_open(&stream, &in, count, &scratch), UNPACK_OK);
    assert_int_equal(input_left(&in), 0);
    assert_true(unpack_all(&stream, back));
    assert_memory_equal(back, values, count * sizeof *back);
    free(copy);
    free(back);
    free(out.bytes);
    free(again.bytes);
    scratch_finish(&scratch);
    return packing;
}

static void check_every_shape(struct packer packer, bool used[PACKING_LIMIT]) {
    static const uint32_t counts[] = {1,   2,   3,   7,    8,    9,    63,   64,   65,
                                      255, 256, 257, 1023, 1024, 1025, 4095, 4097, MOST};
    static uint64_t values[MOST];
    struct random random = {1};
    for (unsigned shape = 0; shape < VALUE_SHAPES; shape++) {
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            for (uint32_t row = 0; row < counts[c]; row++)
                values[row] = value_of(&random, shape, row);
            used[check_stream(&packer, values, counts[c], 0)] = true;
            used[check_stream(&packer, values, counts[c], PACK_TIMES)] = true;
        }
    }
    packer_finish(&packer);
}

// And each packing that the writer ever chooses is chosen for something.
static void every_shape_and_length_comes_back(void **state) {
    (void)state;
    bool used[PACKING_LIMIT] = {false};
    check_every_shape((struct packer){.level = 1}, used);
    for (unsigned packing = 0; packing < PACKING_LIMIT; packing++)
        assert_int_equal(used[packing], packing != PACKING_RAW && packing < PACKING_LOG);
}

static void every_shape_and_length_comes_back_small(void **state) {
    (void)state;
    bool used[PACKING_LIMIT] = {false};
    check_every_shape((struct packer){.level = 5, .small = true}, used);
    for (unsigned packing = 0; packing < PACKING_LIMIT; packing++)
        assert_int_equal(used[packing], packing != PACKING_RAW);
}

static void bits_of_every_width_come_back(void **state) {
    (void)state;
    struct random random = {9};
    uint64_t values[200], back[200];
    uint8_t packed[200 * 8 + SLACK];
    for (unsigned width = 0; width <= 64; width++) {
        for (uint32_t count = 0; count <= 200; count += 1 + count / 20) {
            uint64_t base = random_next(&random);
            for (uint32_t i = 0; i < count; i++)
                values[i] = base + (width ? random_next(&random) >> (64 - width) : 0);
            memset(packed, 0xaa, sizeof packed);
            bits_pack(packed, values, count, base, width);
            uint32_t bytes = bits_bytes(count, width);
            for (uint32_t i = bytes; i < sizeof packed; i++)
                assert_int_equal(packed[i], 0xaa);
            // Bit by bit, by the words of the document.
            for (uint32_t i = 0; i < count; i++) {
                uint64_t value = 0;
                for (unsigned bit = 0; bit < width; bit++) {
                    size_t at = (size_t)i * width + bit;
                    value |= (uint64_t)(packed[at / 8] >> at % 8 & 1) << bit;
                }
                assert_int_equal(value, values[i] - base);
            }
            bits_unpack(back, packed, count, base, width);
            assert_memory_equal(back, values, count * sizeof *back);
        }
    }
}

#if defined(__x86_64__)
enum { COUNT = 333 };

static void check_narrow_loops(const uint64_t *values, const uint8_t *packed, uint32_t count, uint64_t base,
                               unsigned round) {
    const struct loops *a = &loops_plain, *b = &loops_avx2;
    uint8_t plain_bytes[COUNT], fast_bytes[COUNT];
    uint32_t plain_words[COUNT], fast_words[COUNT];
    a->take_plane(plain_bytes, values, count, base, round % 2, round % 8);
    b->take_plane(fast_bytes, values, count, base, round % 2, round % 8);
    assert_memory_equal(plain_bytes, fast_bytes, count);
    a->narrow8(plain_bytes, values, count);
    b->narrow8(fast_bytes, values, count);
    assert_memory_equal(plain_bytes, fast_bytes, count);
    assert_int_equal(a->greatest8(packed, count), b->greatest8(packed, count));
    assert_int_equal(a->kind_bits(packed, count), b->kind_bits(packed, count));
    a->narrow32(plain_words, values, count);
    b->narrow32(fast_words, values, count);
    assert_memory_equal(plain_words, fast_words, count * sizeof *plain_words);
    a->fill32(plain_words, round, count);
    b->fill32(fast_words, round, count);
    assert_memory_equal(plain_words, fast_words, count * sizeof *plain_words);
}

static void both_forms_of_the_loops_agree(void **state) {
    (void)state;
    struct random random = {12};
    uint64_t values[COUNT + 1], others[COUNT], plain[COUNT], fast[COUNT];
    uint8_t packed[COUNT * 8 + SLACK];
    const struct loops *a = &loops_plain, *b = &loops_avx2;
    if (!__builtin_cpu_supports("avx2"))
        skip();
    for (int round = 0; round < 500; round++) {
        uint32_t count = 1 + (uint32_t)random_below(&random, COUNT);
        unsigned small = (unsigned)random_below(&random, 64), width = (unsigned)random_below(&random, 58);
        for (uint32_t i = 0; i <= COUNT; i++)
            values[i] = random_next(&random) >> small;
        for (uint32_t i = 0; i < COUNT; i++)
            others[i] = random_next(&random) >> small;
        for (size_t i = 0; i < sizeof packed; i++)
            packed[i] = (uint8_t)random_next(&random);
        uint64_t base = values[0];
        struct loops_span left = a->span(values, count), right = b->span(values, count);
        assert_memory_equal(&left, &right, sizeof left);
        assert_int_equal(a->count_beyond(values, count, base, width),
                         b->count_beyond(values, count, base, width));
        assert_int_equal(a->any_beyond(values, count, base, width),
                         b->any_beyond(values, count, base, width));
#define SAME(call_a, call_b)                                                                                 \
    memset(plain, 0, sizeof plain);                                                                          \
    memset(fast, 0, sizeof fast);                                                                            \
    call_a;                                                                                                  \
    call_b;                                                                                                  \
    assert_memory_equal(plain, fast, sizeof plain)
        SAME(a->differences(plain, values + 1, count), b->differences(fast, values + 1, count));
        SAME(a->subtract(plain, values, others, count), b->subtract(fast, values, others, count));
        SAME(a->fill64(plain, base, count), b->fill64(fast, base, count));
        SAME((a->fill64(plain, 5, count), a->add(plain, others, count)),
             (b->fill64(fast, 5, count), b->add(fast, others, count)));
        SAME((a->fill64(plain, 5, count), a->add_one(plain, base, count)),
             (b->fill64(fast, 5, count), b->add_one(fast, base, count)));
        SAME((memcpy(plain, values, sizeof plain), a->unzigzag(plain, count)),
             (memcpy(fast, values, sizeof fast), b->unzigzag(fast, count)));
        SAME(a->two_planes(plain, packed, packed + COUNT, count, base),
             b->two_planes(fast, packed, packed + COUNT, count, base));
        SAME(a->put_plane(plain, packed, count, small % 8), b->put_plane(fast, packed, count, small % 8));
        SAME(a->unpack(plain, packed, count / 8, base, width),
             b->unpack(fast, packed, count / 8, base, width));
        check_narrow_loops(values, packed, count, base, (unsigned)round);
        assert_int_equal(a->ascending((const int64_t *)values, 1 + count % 4),
                         b->ascending((const int64_t *)values, 1 + count % 4));
        assert_int_equal(a->last_end((const int64_t *)values, (const int64_t *)others, count),
                         b->last_end((const int64_t *)values, (const int64_t *)others, count));
        int64_t limit = (int64_t)values[1];
        assert_int_equal(
            a->ends_within((const int64_t *)values, (const int64_t *)others, 1 + count % 3, limit),
            b->ends_within((const int64_t *)values, (const int64_t *)others, 1 + count % 3, limit));
    }
}
#endif

// Random bytes as streams: for all of them, nothing is read or written outside, and the count is kept.
static void garbage_is_damage_and_nothing_worse(void **state) {
    (void)state;
    struct random random = {33};
    struct scratch scratch = {0};
    for (int round = 0; round < 30000; round++) {
        size_t size = 1 + random_below(&random, 200);
        uint8_t *bytes = malloc(size + UNPACK_SLACK);
        uint64_t out[SBT_VECTOR];
        struct stream stream;
        assert_non_null(bytes);
        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)(random_next(&random) >> 56 >> random_below(&random, 8));
        memset(bytes + size, 0, UNPACK_SLACK);
        struct input in = {bytes, bytes + size};
        uint32_t count = 1 + (uint32_t)random_below(&random, 3000), got = 0;
        scratch_reset(&scratch, 1 << 20);
        if (unpack_open(&stream, &in, count, &scratch) == UNPACK_OK) {
            for (uint32_t now; stream.left && (now = unpack_next(&stream, out)) != 0;)
                got += now;
            assert_true(got <= count);
        }
        free(bytes);
    }
    scratch_finish(&scratch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_and_length_comes_back),
        cmocka_unit_test(every_shape_and_length_comes_back_small),
        cmocka_unit_test(bits_of_every_width_come_back),
#if defined(__x86_64__)
        cmocka_unit_test(both_forms_of_the_loops_agree),
#endif
        cmocka_unit_test(garbage_is_damage_and_nothing_worse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
