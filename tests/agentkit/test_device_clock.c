// SPDX-License-Identifier: Apache-2.0
// Counters of devices as times of the trace: against a counter of 128 bits that never begins again, for counters of all widths.
#include "support/test.h"

#include "agentkit/device_clock.h"

static uint64_t random_state = 1;

static uint64_t random_word(void) {
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return random_state ^ random_state >> 29;
}

static void every_width(void **unused) {
    enum { NS_OF_TICK = 80, REACH = 1 << 20 };
    (void)unused;
    for (uint32_t bits = 24; bits <= 64; bits++) {
        const uint64_t mask = device_counter_mask(bits);
        assert_true(mask == (uint64_t)(((unsigned __int128)1 << bits) - 1));
        for (int i = 0; i < 1000; i++) {
            const unsigned __int128 reading = ((unsigned __int128)random_word() << 8) + REACH;
            const int64_t apart = (int64_t)(random_word() % REACH) - REACH / 2;
            const int64_t took = (int64_t)(random_word() % 1000);
            const unsigned __int128 start = reading + (unsigned __int128)apart, end = start + (uint64_t)took;
            const struct device_clock clock = {
                .trace = INT64_C(1) << 40, .ticks = (uint64_t)reading & mask, .rate = NS_OF_TICK};
            const int64_t begun = clock.trace + apart * NS_OF_TICK, ended = begun + took * NS_OF_TICK;
            struct command_times times;
            assert_true(device_clock_convert(&clock, (uint64_t)start & mask, (uint64_t)end & mask, mask,
                                             begun, ended, &times));
            assert_int_equal(times.start, begun);
            assert_int_equal(times.end, ended);
        }
    }
    assert_true(device_counter_mask(0) == UINT64_MAX);
}

static void what_is_not_believed(void **unused) {
    const struct device_clock clock = {.trace = INT64_C(1) << 40, .ticks = 1000, .rate = 1};
    const int64_t at = clock.trace, over = DEVICE_CLOCK_TOLERANCE + 1;
    struct command_times times;
    (void)unused;
    assert_true(device_clock_convert(&clock, 1000, 1010, UINT64_MAX, at, at + 10, &times));
    assert_true(device_clock_convert(&clock, 1000, 1010, UINT64_MAX, at + over - 1, at + 11 - over, &times));
    assert_false(
        device_clock_convert(&clock, 1000, 1010, UINT64_MAX, at + over, at + 10, &times)); // too early
    assert_false(
        device_clock_convert(&clock, 1000, 1010, UINT64_MAX, at, at + 10 - over, &times)); // in the future
    assert_false(
        device_clock_convert(&clock, 1010, 1000, UINT64_MAX, at, at + 10, &times)); // ends before it starts
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_width), cmocka_unit_test(what_is_not_believed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
