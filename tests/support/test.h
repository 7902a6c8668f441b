// SPDX-License-Identifier: Apache-2.0
// What every unit test includes: cmocka with the headers it needs before it, and reproducible random numbers.
#ifndef SUPPORT_TEST_H
#define SUPPORT_TEST_H

// cmocka.h needs these four before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// A small generator with a visible seed: the same numbers in every run.
struct random {
    uint64_t state;
};

uint64_t random_next(struct random *random);
uint64_t random_below(struct random *random, uint64_t limit); // 0 .. limit-1; 0 for a limit of 0

// Whether a number is one of low .. high; prints the three if it is not. For assert_true, in place of cmocka's assert_in_range, which
// cmocka 2 deprecates and which compares negative numbers as large ones.
static inline bool is_between(__int128 value, __int128 low, __int128 high) {
    const bool is_in = low <= value && value <= high;
    if (!is_in)
        print_error("%.0Lf is not one of %.0Lf .. %.0Lf\n", (long double)value, (long double)low,
                    (long double)high);
    return is_in;
}

#endif
