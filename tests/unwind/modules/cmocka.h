// SPDX-License-Identifier: Apache-2.0
// What test_unwind.c needs of cmocka, for processors that the one of this machine is not made for (test_aarch64.sh).
#ifndef MODULES_CMOCKA_H
#define MODULES_CMOCKA_H

#include <stdio.h>
#include <stdlib.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
};

#define cmocka_unit_test(function)                                                                           \
    { #function, function }
#define print_message(...) ((void)printf(__VA_ARGS__))
#define print_error(...) print_message(__VA_ARGS__)
#define fail() exit((print_message("%s:%d: failed\n", __FILE__, __LINE__), 1))
#define assert_true(is) ((is) ? (void)0 : fail())
#define assert_non_null(pointer) assert_true((pointer) != NULL)
#define assert_int_equal(a, b) assert_true((a) == (b))
#define cmocka_run_group_tests(tests, setup, teardown) run_all(tests, sizeof(tests) / sizeof *(tests))

static inline int run_all(const struct CMUnitTest *tests, size_t count) {
    for (size_t i = 0; i < count; i++) {
        print_message("%s\n", tests[i].name);
        tests[i].run(NULL);
    }
    return 0;
}

#endif
