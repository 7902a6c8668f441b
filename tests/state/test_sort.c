// SPDX-License-Identifier: Apache-2.0
// Sorting times, in runs and at random, against qsort.
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "state/sweep.h"

enum { MOST = 3000 };

static int by_value(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

static void times_come_out_sorted(void **state) {
    (void)state;
    struct random random = {17};
    static int64_t times[MOST], expected[MOST], scratch[MOST];
    for (int round = 0; round < 400; round++) {
        size_t count = random_below(&random, round < 100 ? 20 : MOST), runs = 1 + random_below(&random, 40);
        uint64_t range = (uint64_t)1 << (1 + random_below(&random, 62));
        for (size_t i = 0; i < count; i++)
            times[i] = (int64_t)(random_below(&random, range) - range / 2);
        for (size_t i = 0; round % 2 && i < runs; i++) { // in some runs, of any length
            size_t from = count * i / runs, to = count * (i + 1) / runs;
            if (to > from)
                qsort(times + from, to - from, sizeof *times, by_value);
        }
        memcpy(expected, times, sizeof times);
        if (count)
            qsort(expected, count, sizeof *expected, by_value);
        sweep_sort(times, scratch, count);
        assert_memory_equal(times, expected, count * sizeof *times);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(times_come_out_sorted)};
    return cmocka_run_group_tests_name("sorting times", tests, NULL, NULL);
}
