// SPDX-License-Identifier: Apache-2.0
// SORTED_FIND against a walk from the front: every part of lists with and without equal elements, each value, both comparisons.
#include "support/test.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/sorted.h"

enum { LONGEST = 40, LISTS = 60 };

static unsigned looks, limit_reads;
static uint32_t low, high; // what may be asked for

static int value_at(const int *values, uint32_t at) {
    assert_true(at >= low && at < high);
    looks++;
    return values[at];
}

static uint32_t walk(const int *values, uint32_t from, uint32_t to, int wanted, bool with_equal) {
    while (from < to && (values[from] < wanted || (with_equal && values[from] == wanted)))
        from++;
    return from;
}

static unsigned most_looks(uint32_t count) {
    unsigned looked = 0;
    for (; count; count /= 2)
        looked++;
    return looked;
}

static void check_part(const int *values, uint32_t from, uint32_t to, int wanted) {
    low = from;
    high = to;
    looks = 0;
    const uint32_t first = SORTED_FIND(i, from, to, value_at(values, i) < wanted);
    assert_int_equal(first, walk(values, from, to, wanted, false));
    assert_true(looks <= most_looks(to > from ? to - from : 0));
    const uint32_t after = SORTED_FIND(i, from, to, value_at(values, i) <= wanted);
    assert_int_equal(after, walk(values, from, to, wanted, true));
}

// The last that is not after the value, or else the first of all.
static void check_last(const int *values, uint32_t count, int wanted) {
    uint32_t last = 0;
    for (uint32_t i = 1; i < count; i++)
        last = values[i] <= wanted ? i : last;
    low = 1;
    high = count;
    assert_int_equal(SORTED_FIND(i, 1, count, value_at(values, i) <= wanted) - 1, last);
}

static int compare_ints(const void *left, const void *right) {
    return *(const int *)left - *(const int *)right;
}

static void test_lists(void **unused) {
    (void)unused;
    struct random random = {7};
    int values[LONGEST];
    for (unsigned list = 0; list < LISTS; list++) {
        const uint32_t count = list < 4 ? list : (uint32_t)random_below(&random, LONGEST + 1);
        const int range = list % 2 ? 5 : 100; // few values: most are there more than once
        for (uint32_t i = 0; i < count; i++)
            values[i] = (int)random_below(&random, (uint64_t)range);
        qsort(values, count, sizeof *values, compare_ints);
        for (int wanted = -1; wanted <= range; wanted++) {
            for (uint32_t from = 0; from <= count; from++)
                for (uint32_t to = from ? from - 1 : 0; to <= count;
                     to++) // also a part that ends before it begins
                    check_part(values, from, to, wanted);
            check_last(values, count, wanted);
        }
    }
}

static uint64_t read_limit(void) {
    limit_reads++;
    return UINT64_MAX;
}

// The result and the index have the type of the limit, which is read once; the middle of two high indexes does not overflow.
static void test_types(void **unused) {
    (void)unused;
    const uint32_t few = UINT32_MAX;
    const uint64_t there = UINT64_MAX - 5;
    assert_int_equal(sizeof SORTED_FIND(i, 0, few, i < 3), 4);
    assert_int_equal(SORTED_FIND(i, few - 9, few, i < few - 2), few - 2);
    assert_true(SORTED_FIND(i, there - 100, read_limit(), i < there) == there);
    assert_int_equal(limit_reads, 1);
    assert_true(SORTED_FIND(i, INT64_C(-1000), INT64_C(1000), i * i * i < -343) == -7);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lists), cmocka_unit_test(test_types)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
