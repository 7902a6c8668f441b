// SPDX-License-Identifier: Apache-2.0
// Quantiles against a sorted array, on both sides of the exact limit.
#include "support/test.h"

#include <stdlib.h>

#include "analyze/samples.h"

static int by_value(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

// The definition: the smallest value that is not exceeded by at least `percent` of all.
static int64_t quantile(const int64_t *sorted, size_t count, size_t percent) {
    for (size_t i = 0; i < count; i++)
        if ((i + 1) * 100 >= percent * count)
            return sorted[i];
    return 0;
}

static void check(size_t count, uint64_t limit, struct random *random) {
    static const size_t PERCENTS[] = {1, 10, 50, 90, 99, 100};
    struct samples samples = {0};
    int64_t *values = malloc(count * sizeof *values), total = 0;
    assert_non_null(values);
    for (size_t i = 0; i < count; i++) {
        values[i] = (int64_t)random_below(random, random_below(random, limit) + 1);
        total += values[i];
        assert_true(samples_add(&samples, values[i]));
    }
    qsort(values, count, sizeof *values, by_value);
    assert_int_equal(samples.count, count);
    assert_int_equal(samples.total, total);
    assert_int_equal(samples.min, values[0]);
    assert_int_equal(samples.max, values[count - 1]);
    assert_int_equal(samples_exact(&samples), count <= SAMPLES_EXACT);
    for (size_t i = 0; i < sizeof PERCENTS / sizeof *PERCENTS; i++) {
        int64_t exact = quantile(values, count, PERCENTS[i]),
                got = samples_quantile(&samples, (double)PERCENTS[i] / 100);
        if (samples_exact(&samples)) {
            assert_int_equal(got, exact);
        } else {
            assert_true(got <= exact);
            assert_true((double)got >= (double)exact * (1 - 1.0 / 64));
        }
    }
    free(values);
    samples_finish(&samples);
}

static void quantiles_fit_their_definition(void **state) {
    (void)state;
    struct random random = {3};
    for (size_t count = 1; count < 40; count++)
        check(count, 1000, &random);
    check(SAMPLES_EXACT, 1 << 20, &random);
    check(SAMPLES_EXACT + 1, 1 << 20, &random);
    check(3 * SAMPLES_EXACT, (uint64_t)1 << 40, &random);
    check(2 * SAMPLES_EXACT, 50, &random); // below 64 every value has a bucket of its own
}

static void negative_values_count_as_none(void **state) {
    (void)state;
    struct samples samples = {0};
    assert_int_equal(samples_quantile(&samples, 0.5), 0);
    assert_true(samples_add(&samples, -5));
    assert_true(samples_add(&samples, INT64_MAX));
    assert_true(samples_add(&samples, INT64_MAX));
    assert_int_equal(samples.min, 0);
    assert_int_equal(samples.total, INT64_MAX); // it does not wrap
    samples_finish(&samples);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_fit_their_definition),
        cmocka_unit_test(negative_values_count_as_none),
    };
    return cmocka_run_group_tests_name("samples", tests, NULL, NULL);
}
