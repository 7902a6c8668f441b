// SPDX-License-Identifier: Apache-2.0
// What every unit test includes: cmocka with the headers it needs before it, and reproducible random numbers.
#ifndef SUPPORT_TEST_H
#define SUPPORT_TEST_H

// cmocka.h needs these four before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// A small generator with a visible seed: the same numbers in every run.
struct random {
    uint64_t state;
};

uint64_t random_next(struct random *random);
uint64_t random_below(struct random *random, uint64_t limit); // 0 .. limit-1; 0 for a limit of 0

#endif
