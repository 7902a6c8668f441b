// SPDX-License-Identifier: Apache-2.0
// Clocks of the machine, placed by what a session compared; and the kernel's functions by address.
#include "watch/host_clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/test.h"
#include "watch/kernel_symbols.h"

static const int64_t START = 5000000000000, OTHER = 1700000000000000000; // of the trace clock, and of another

// A clock that is 50 parts per million fast, and stepped by 3 us in between.
static int64_t shown(int64_t since) {
    return OTHER + since + since / 20000 + (since >= 600000000 ? 3000 : 0);
}

static void add_pair(tsmith_dictionary *dictionary, uint32_t clock, int64_t since, int64_t error) {
    const tsmith_clock_pair pair = {
        .clock = clock, .clock_time = shown(since), .trace_time = START + since, .error = error};
    assert_int_not_equal(tsmith_dictionary_add_clock_pair(dictionary, &pair), 0);
}

static void between_comparisons(void **state) {
    (void)state;
    tsmith_dictionary *dictionary;
    struct host_clock clock = {0};
    int64_t time;
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    uint32_t names[2] = {tsmith_dictionary_intern_cstr(dictionary, "another"),
                         tsmith_dictionary_intern_cstr(dictionary, "CLOCK_REALTIME")};
    uint32_t clocks[2];
    for (int i = 0; i < 2; i++)
        clocks[i] = tsmith_dictionary_add_clock(dictionary, &(tsmith_clock){.name = names[i]});
    for (int64_t since = 0; since <= 1000000000; since += 250000000) {
        add_pair(dictionary, clocks[1], since, 30);
        // Of another clock, and one that was taken while the machine was busy: neither is believed.
        (void)tsmith_dictionary_add_clock_pair(
            dictionary, &(tsmith_clock_pair){.clock = clocks[0], .clock_time = since, .trace_time = since});
        (void)tsmith_dictionary_add_clock_pair(dictionary,
                                               &(tsmith_clock_pair){.clock = clocks[1],
                                                                    .clock_time = shown(since) + 100000000,
                                                                    .trace_time = START + since + 170000000,
                                                                    .error = 70000000});
    }
    assert_true(host_clock_read(&clock, dictionary, "CLOCK_REALTIME"));
    assert_int_equal(clock.count, 5);
    int64_t before = INT64_MIN;
    for (int64_t since = 0; since <= 1000000000; since += 1234567) {
        assert_true(host_clock_find(&clock, (uint64_t)shown(since), &time));
        // Exact but for rounding where the clock ran evenly; around the step, by no more than the step.
        const bool stepped = since > 500000000 && since < 750000000;
        assert_true(is_between((uint64_t)llabs(time - (START + since)), 0, stepped ? 3000 : 1));
        assert_true(time > before);
        before = time;
    }
    // What the clock did not show while the session ran, and long after or before it, is no time of it.
    assert_false(host_clock_find(&clock, (uint64_t)START, &time));
    assert_false(host_clock_find(&clock, (uint64_t)shown(0) - 3000000000u, &time));
    assert_false(host_clock_find(&clock, UINT64_MAX, &time));
    // But it ran on as before.
    assert_true(is_between(
        (uint64_t)llabs(host_clock_convert(&clock, shown(1500000000)) - (START + 1500000000)), 0, 2));
    host_clock_finish(&clock);
    tsmith_dictionary_destroy(dictionary);
}

// Loose comparisons are better than none.
static void only_loose_ones(void **state) {
    (void)state;
    tsmith_dictionary *dictionary;
    struct host_clock clock = {0};
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    const tsmith_clock other = {.name = tsmith_dictionary_intern_cstr(dictionary, "CLOCK_MONOTONIC")};
    const uint32_t id = tsmith_dictionary_add_clock(dictionary, &other);
    add_pair(dictionary, id, 0, 5000);
    assert_true(host_clock_read(&clock, dictionary, "CLOCK_MONOTONIC"));
    assert_int_equal(clock.count, 1);
    assert_int_equal(host_clock_convert(&clock, OTHER + 77), START + 77);
    // A clock that was set back: what it showed the second time is not believed.
    assert_true(host_clock_add(&clock, OTHER - 5, START + 1000));
    assert_int_equal(clock.count, 1);
    host_clock_finish(&clock);
    tsmith_dictionary_destroy(dictionary);
}

static void functions_by_address(void **state) {
    (void)state;
    char path[] = "/tmp/kallsyms-XXXXXX";
    struct kernel_symbols symbols = {0};
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    // Not in order, with data, hidden addresses, modules, and lines that are none.
    fputs(
        "ffffffff81002000 T second\nffffffff81001000 t first\nffffffff81001800 D data\n"
        "0000000000000000 T hidden\nffffffffc0000000 t in_module\t[module]\nnonsense\n\nffffffff81003000 T\n"
        "ffffffff81003000 W weak",
        file);
    fclose(file);
    kernel_symbols_read(&symbols, path);
    unlink(path);
    assert_int_equal(symbols.count, 4);
    assert_null(kernel_symbols_find(&symbols, 0xffffffff81000fff));
    assert_string_equal(kernel_symbols_find(&symbols, 0xffffffff81001000), "first");
    assert_string_equal(kernel_symbols_find(&symbols, 0xffffffff81001fff), "first");
    assert_string_equal(kernel_symbols_find(&symbols, 0xffffffff81002000), "second");
    assert_string_equal(kernel_symbols_find(&symbols, 0xffffffff81003001), "weak");
    assert_string_equal(kernel_symbols_find(&symbols, 0xffffffffc0000010), "in_module [module]");
    kernel_symbols_finish(&symbols);
    kernel_symbols_read(&symbols, "/nonexistent");
    assert_null(kernel_symbols_find(&symbols, 1));
    kernel_symbols_finish(&symbols);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(between_comparisons),
                                       cmocka_unit_test(only_loose_ones),
                                       cmocka_unit_test(functions_by_address)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
