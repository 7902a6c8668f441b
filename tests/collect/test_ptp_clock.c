// SPDX-License-Identifier: Apache-2.0
// A PTP hardware clock, simulated (no machine of the project has one): a clock of an open file, which this program's clock_gettime
// answers with a time of its own, slowly. Comparisons are within their errors; a device without a clock is refused.
#include "support/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/ptp_clock.h"

enum { STATED = 250 };
static const int64_t AHEAD = INT64_C(1700000037000000000);
static bool is_clock, is_gone;
static unsigned readings;

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (clock >= 0)
        return (int)syscall(SYS_clock_gettime, clock, time);
    readings++;
    if (!is_clock || is_gone) {
        errno = is_gone ? ENODEV : EINVAL;
        return -1;
    }
    // It takes a while to ask the adapter, each time a different one.
    const int64_t asked = clock_trace_now();
    while (clock_trace_now() - asked < (int64_t)(readings * 7919 % 20000))
        ;
    const int64_t shown = clock_trace_now() + AHEAD;
    const int64_t told = clock_trace_now();
    while (clock_trace_now() - told < (int64_t)(readings * 104729 % 20000))
        ;
    *time = (struct timespec){.tv_sec = shown / 1000000000, .tv_nsec = shown % 1000000000};
    return 0;
}

static void comparisons_are_within_their_errors(void **unused) {
    (void)unused;
    struct ptp_clock ptp;
    tsmith_dictionary *dictionary;
    tsmith_error error;
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    is_clock = true;
    assert_int_equal(ptp_clock_open(&ptp, "/dev/null", STATED, &error), TSMITH_OK);
    for (int i = 0; i < 100; i++)
        ptp_clock_compare(&ptp, dictionary, true);
    const uint32_t before = tsmith_dictionary_clock_pair_count(dictionary);
    is_gone = true; // the adapter was removed
    ptp_clock_compare(&ptp, dictionary, true);
    is_gone = false;
    assert_int_equal(tsmith_dictionary_clock_pair_count(dictionary), before);
    ptp_clock_close(&ptp);
    const unsigned asked = readings;
    ptp_clock_compare(&ptp, dictionary, true); // closed
    assert_int_equal(readings, asked);

    assert_int_equal(before, 101);
    for (uint32_t id = 1; id < before; id++) {
        const tsmith_clock_pair *pair = tsmith_dictionary_clock_pair(dictionary, id);
        const tsmith_clock *clock = tsmith_dictionary_clock(dictionary, pair->clock);
        assert_string_equal(tsmith_dictionary_string(dictionary, clock->name).bytes, TSMITH_CLOCK_PTP);
        assert_true(pair->error > STATED);
        assert_true(llabs(pair->clock_time - AHEAD - pair->trace_time) <= pair->error - STATED);
    }
    tsmith_dictionary_destroy(dictionary);
}

static void other_devices_are_refused(void **unused) {
    (void)unused;
    struct ptp_clock ptp;
    tsmith_error error;
    is_clock = false;
    assert_int_equal(ptp_clock_open(&ptp, "/dev/null", STATED, &error), TSMITH_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "/dev/null is no PTP hardware clock"));
    assert_false(ptp.is_open);
    assert_int_equal(ptp_clock_open(&ptp, "/dev/no-such-clock", STATED, &error), TSMITH_ERROR_NOT_FOUND);
    assert_non_null(strstr(error.message, "/dev/no-such-clock"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparisons_are_within_their_errors),
        cmocka_unit_test(other_devices_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
