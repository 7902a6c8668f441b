// SPDX-License-Identifier: Apache-2.0
// CLOCK_REALTIME: the kernel's bound of it becomes the error of comparisons with UTC; a step of it is noticed and stated, and a
// slew is none. This program brings its own clock_gettime and adjtimex.
#include "support/test.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/wall_clock.h"

static int64_t set_by, slewed_by; // ns
static int state = TIME_OK;
static long maxerror; // us

static void add(struct timespec *time, int64_t ns) {
    const int64_t all = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec + ns;
    time->tv_sec = all / 1000000000;
    time->tv_nsec = all % 1000000000;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    const int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (clock == CLOCK_REALTIME)
        add(time, set_by + slewed_by);
    if (clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME)
        add(time, slewed_by);
    return result;
}

int adjtimex(struct timex *out) {
    out->maxerror = maxerror;
    out->status = state == TIME_ERROR ? STA_UNSYNC : 0;
    return state;
}

struct fixture {
    struct wall_clock wall;
    tsmith_dictionary *dictionary;
};

static void compare(struct fixture *fixture) {
    const tsmith_clock_pair realtime = {
        .clock = 1, .clock_time = clock_now(CLOCK_REALTIME), .trace_time = clock_trace_now(), .error = 70};
    wall_clock_describe(&fixture->wall, fixture->dictionary, &realtime);
}

static tsmith_string notice(const struct fixture *fixture, unsigned number) {
    char key[48];
    (void)snprintf(key, sizeof key, "notice.wall-clock.%u", number);
    return tsmith_dictionary_find_attribute(fixture->dictionary, key);
}

static struct fixture begin(void) {
    struct fixture fixture = {0};
    assert_int_equal(tsmith_dictionary_create(&fixture.dictionary), TSMITH_OK);
    set_by = slewed_by = 0;
    state = TIME_OK;
    compare(&fixture);
    return fixture;
}

static void steps_are_stated(void **unused) {
    (void)unused;
    struct fixture fixture = begin();
    for (int i = 0; i < 100; i++) { // 5 ms in each round is far more than any slew
        slewed_by += 5000000;
        compare(&fixture);
    }
    assert_null(notice(&fixture, 1).bytes);
    set_by = -3000000000;
    int64_t open = fixture.wall.error; // what the two comparisons leave open
    compare(&fixture);
    open += fixture.wall.error;
    compare(&fixture);
    long long by, from, to;
    assert_non_null(notice(&fixture, 1).bytes);
    assert_int_equal(sscanf(notice(&fixture, 1).bytes,
                            "CLOCK_REALTIME was set by %lld ns between %lld and %lld ns", &by, &from, &to),
                     3);
    assert_true(by + 3000000000 <= open && by + 3000000000 >= -open);
    assert_true(from <= to && to <= clock_trace_now());
    assert_null(notice(&fixture, 2).bytes);
    for (int i = 0; i < 50; i++) {
        set_by += 1000000000;
        compare(&fixture);
    }
    assert_int_equal(fixture.wall.steps, 51);
    assert_non_null(strstr(notice(&fixture, 8).bytes, "8 times or more"));
    assert_null(notice(&fixture, 9).bytes);
    tsmith_dictionary_destroy(fixture.dictionary);
}

static void utc_has_the_bound_of_the_kernel(void **unused) {
    (void)unused;
    struct fixture fixture = begin();
    const uint32_t before = tsmith_dictionary_clock_pair_count(fixture.dictionary);
    maxerror = 250;
    compare(&fixture);
    state = TIME_ERROR; // not synchronized: nothing is known of UTC
    compare(&fixture);
    state = TIME_OOP;
    compare(&fixture);
    assert_int_equal(tsmith_dictionary_clock_pair_count(fixture.dictionary), before + 1);
    const tsmith_clock_pair *pair = tsmith_dictionary_clock_pair(fixture.dictionary, before);
    assert_int_equal(pair->error, 250000 + 70);
    const uint32_t name = tsmith_dictionary_clock(fixture.dictionary, pair->clock)->name;
    assert_string_equal(tsmith_dictionary_string(fixture.dictionary, name).bytes, TSMITH_CLOCK_UTC);
    tsmith_dictionary_destroy(fixture.dictionary);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_stated),
        cmocka_unit_test(utc_has_the_bound_of_the_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
