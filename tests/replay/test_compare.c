// SPDX-License-Identifier: Apache-2.0
// Distances between floating point values against the C library's nextafter; a flipped bit anywhere is found; tolerances hold
// exactly up to where they should; noise.
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "replay/compare.h"

static uint64_t bits32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t bits64(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void test_ulps(void **state) {
    static const float from[] = {0.0f, -0.0f, 1.0f, -1.0f, 3.4e38f, 1e-45f, -2e-38f, 65536.0f};
    (void)state;
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        float at = from[i];
        double far = (double)from[i];
        for (uint64_t steps = 0; steps < 40; steps++) {
            assert_int_equal(element_ulps(TSMITH_ELEMENT_F32, bits32(from[i]), bits32(at)), steps);
            assert_int_equal(element_ulps(TSMITH_ELEMENT_F64, bits64((double)from[i]), bits64(far)), steps);
            at = nextafterf(at, -INFINITY);
            far = nextafter(far, -(double)INFINITY);
        }
    }
    assert_int_equal(element_ulps(TSMITH_ELEMENT_F32, bits32(0.0f), bits32(-0.0f)), 0);
    assert_int_equal(element_ulps(TSMITH_ELEMENT_F32, bits32(NAN), bits32(-NAN)), 0);
    assert_true(element_ulps(TSMITH_ELEMENT_F32, bits32(NAN), bits32(1.0f)) == UINT64_MAX);
    assert_int_equal(element_ulps(TSMITH_ELEMENT_F16, 0x3c00, 0x3c01), 1);
    assert_int_equal(element_ulps(TSMITH_ELEMENT_F16, 0x8001, 0x0001), 2);
}

static void test_every_bit(void **state) {
    enum { SIZE = 27 }; // no multiple of any element: the last bytes count too
    static const struct compare_tolerance none = {0, 0};
    uint8_t recorded[SIZE], replayed[SIZE];
    struct random random = {3};
    (void)state;
    for (int element = 0; element < TSMITH_ELEMENT_LIMIT; element++) {
        const size_t step = element_bytes((tsmith_element)element);
        for (size_t i = 0; i < SIZE; i++)
            recorded[i] = (uint8_t)random_next(&random);
        memcpy(replayed, recorded, SIZE);
        assert_int_equal(compare_buffers((tsmith_element)element, recorded, replayed, SIZE, &none).different,
                         0);
        for (size_t bit = 0; bit < SIZE * 8; bit++) {
            const size_t byte = bit / 8, whole = SIZE / step * step;
            replayed[byte] ^= (uint8_t)(1u << bit % 8);
            const struct comparison found =
                compare_buffers((tsmith_element)element, recorded, replayed, SIZE, &none);
            assert_false(found.within);
            assert_int_equal(found.different, 1);
            assert_int_equal(found.offset, byte < whole ? byte / step * step : byte);
            replayed[byte] ^= (uint8_t)(1u << bit % 8);
        }
    }
}

static void test_tolerance(void **state) {
    const float recorded[] = {1.0f, -2.0f, 0.0f};
    float replayed[] = {1.0f, nextafterf(-2.0f, -3.0f), 0.0f};
    struct compare_tolerance tolerance = {.ulps = 1};
    const uint8_t *a = (const uint8_t *)recorded, *b = (const uint8_t *)replayed;
    (void)state;
    struct comparison found = compare_buffers(TSMITH_ELEMENT_F32, a, b, sizeof recorded, &tolerance);
    assert_true(found.within);
    assert_int_equal(found.most_ulps, 1);
    assert_int_equal(found.offset, 4);
    replayed[1] = nextafterf(replayed[1], -3.0f);
    found = compare_buffers(TSMITH_ELEMENT_F32, a, b, sizeof recorded, &tolerance);
    assert_false(found.within);
    tolerance = (struct compare_tolerance){.absolute = 1e-6};
    assert_true(compare_buffers(TSMITH_ELEMENT_F32, a, b, sizeof recorded, &tolerance).within);
    replayed[2] = NAN;
    assert_false(compare_buffers(TSMITH_ELEMENT_F32, a, b, sizeof recorded, &tolerance).within);
    // Bytes are not floats: one ulp does not apply to them.
    tolerance = (struct compare_tolerance){.ulps = 100};
    assert_false(compare_buffers(TSMITH_ELEMENT_U8, a, b, sizeof recorded, &tolerance).within);
}

static void test_noise(void **state) {
    const float replays[][2] = {{10.0f, 5.0f}, {10.5f, 5.0f}, {9.5f, 5.0f}};
    float least[2], most[2], recorded[2] = {11.0f, 5.0f};
    (void)state;
    memcpy(least, replays[0], sizeof least);
    memcpy(most, replays[0], sizeof most);
    for (int i = 0; i < 3; i++)
        envelope_extend(TSMITH_ELEMENT_F32, (uint8_t *)least, (uint8_t *)most, (const uint8_t *)replays[i],
                        sizeof least);
    assert_true(least[0] == 9.5f && most[0] == 10.5f && least[1] == 5.0f && most[1] == 5.0f);
    const uint8_t *low = (const uint8_t *)least, *high = (const uint8_t *)most;
    assert_true(envelope_holds(TSMITH_ELEMENT_F32, low, high, (uint8_t *)recorded, sizeof recorded));
    recorded[0] = 10.5f + ENVELOPE_MARGIN * 1.0f + 0.001f; // just beyond
    assert_false(envelope_holds(TSMITH_ELEMENT_F32, low, high, (uint8_t *)recorded, sizeof recorded));
    recorded[0] = 10.0f;
    recorded[1] = nextafterf(5.0f, 6.0f); // never varied: must be equal
    assert_false(envelope_holds(TSMITH_ELEMENT_F32, low, high, (uint8_t *)recorded, sizeof recorded));
}

static void test_types(void **state) {
    (void)state;
    assert_int_equal(element_of_type("float*"), TSMITH_ELEMENT_F32);
    assert_int_equal(element_of_type("float4*"), TSMITH_ELEMENT_F32);
    assert_int_equal(element_of_type("const uint *"), TSMITH_ELEMENT_U32);
    assert_int_equal(element_of_type("unsigned int*"), TSMITH_ELEMENT_U32);
    assert_int_equal(element_of_type("int*"), TSMITH_ELEMENT_I32);
    assert_int_equal(element_of_type("half*"), TSMITH_ELEMENT_F16);
    assert_int_equal(element_of_type("struct particle*"), TSMITH_ELEMENT_U8);
    assert_int_equal(element_of_type("integer*"), TSMITH_ELEMENT_U8);
    assert_int_equal(element_of_type(NULL), TSMITH_ELEMENT_U8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ulps),  cmocka_unit_test(test_every_bit), cmocka_unit_test(test_tolerance),
        cmocka_unit_test(test_noise), cmocka_unit_test(test_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
