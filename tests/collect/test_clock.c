// SPDX-License-Identifier: Apache-2.0
// Times: ticks become trace time without ever going back and within the stated error; devices' clocks are found from
// brackets, with drift; and a CLOCK_REALTIME that is stepped about changes nothing. This program brings its own
// clock_gettime, which steps CLOCK_REALTIME by hours at random, so that code that uses it fails.
#include "support/numbered.h"

#include <sys/syscall.h>
#include <time.h>

#include "collect/device_clock.h"
#include "collect/session_clock.h"

static bool stepping;
static unsigned realtime_reads;
static int64_t step_seconds;

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (clock == CLOCK_REALTIME && stepping) {
        realtime_reads++;
        if (next_random() % 4 == 0)
            step_seconds = (int64_t)(next_random() % 20000) - 10000;
        time->tv_sec += step_seconds;
    }
    return result;
}

static void wait_ns(int64_t ns) {
    int64_t until = clock_trace_now() + ns;
    while (clock_trace_now() < until)
        ;
}

static int64_t distance(int64_t a, int64_t b) {
    return a > b ? a - b : b - a;
}

// The maximum clock error that the segments state; 2 us if nothing kept the calibration from being on time.
static int64_t stated_error(const struct session_clock *clock) {
    int64_t most = 2000;
    for (uint32_t i = 0; i < clock->count; i++)
        if (clock->control->segments[i].error > most)
            most = clock->control->segments[i].error;
    return most;
}

// Truth: the trace clock read on both sides of the tick.
static void ticks_become_trace_time(void **unused) {
    (void)unused;
    struct session_directory directory = numbered_session(0, TSMITH_OVERFLOW_DROP_NEWEST);
    struct session_clock clock;
    tsmith_dictionary *dictionary;
    bool tsc = directory.control->tick_is_tsc;
    int64_t previous = INT64_MIN, worst = 0;
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    stepping = true;
    session_clock_start(&clock, directory.control);
    // By pauses and not by the clock: however long the machine was away, there are some left.
    for (int rounds = 0; rounds < 8000; rounds++) {
        int64_t before = clock_trace_now();
        uint64_t tick = clock_tick(tsc);
        int64_t after = clock_trace_now();
        session_clock_advance(&clock, dictionary);
        int64_t converted = session_clock_convert(&clock, tick);
        assert_true(converted >= previous); // across all segments
        previous = converted;
        const int64_t off = converted < before ? before - converted : converted - after;
        worst = off > worst ? off : worst;
        wait_ns((int64_t)(next_random() % 200000));
    }
    stepping = false;
    assert_true(is_between(worst, 0, stated_error(&clock)));
    if (tsc)
        assert_true(clock.count >= 4); // repeated calibration
    // The pairs of a stepped clock are kept, each with its error; that is where the steps end up.
    assert_true(realtime_reads > 0);
    uint32_t pairs = tsmith_dictionary_clock_pair_count(dictionary);
    assert_true(pairs > clock.count);
    for (uint32_t i = 1; i < pairs; i++)
        assert_true(tsmith_dictionary_clock_pair(dictionary, i)->error >= 0);
    tsmith_dictionary_destroy(dictionary);
    session_directory_remove(&directory);
}

// Recover converts exactly as the collector did.
static void recover_converts_the_same(void **unused) {
    (void)unused;
    struct session_directory directory = numbered_session(0, TSMITH_OVERFLOW_DROP_NEWEST);
    struct session_clock clock, again;
    tsmith_dictionary *dictionary;
    enum { READINGS = 2000 };
    uint64_t ticks[READINGS];
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    session_clock_start(&clock, directory.control);
    for (int i = 0; i < READINGS; i++) {
        wait_ns(20000);
        ticks[i] = clock_tick(directory.control->tick_is_tsc);
        session_clock_advance(&clock, dictionary);
    }
    session_clock_load(&again, directory.control, dictionary);
    for (int i = 0; i < READINGS; i++)
        assert_int_equal(session_clock_convert(&again, ticks[i]), session_clock_convert(&clock, ticks[i]));
    tsmith_dictionary_destroy(dictionary);
    session_directory_remove(&directory);
}

static void damaged_segments(void **unused) {
    (void)unused;
    struct session_directory directory = numbered_session(0, TSMITH_OVERFLOW_DROP_NEWEST);
    struct session_clock clock;
    tsmith_dictionary *dictionary;
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    atomic_store(&directory.control->segment_count, UINT32_MAX);
    for (uint32_t i = 0; i < LAYOUT_SEGMENTS; i++)
        directory.control->segments[i] = (struct layout_segment){next_random(), (int64_t)next_random(),
                                                                 next_random(), (int64_t)next_random()};
    directory.control->final_tick = next_random();
    directory.control->final_trace = (int64_t)next_random();
    session_clock_load(&clock, directory.control, dictionary);
    for (int i = 0; i < 1000; i++)
        session_clock_convert(&clock, next_random());
    tsmith_dictionary_destroy(dictionary);
    session_directory_remove(&directory);
}

// A device whose clock is CLOCK_MONOTONIC_RAW: the offset is exactly 0.
static void device_uses_the_trace_clock(void **unused) {
    (void)unused;
    struct device_clock clock;
    tsmith_dictionary *dictionary;
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    device_clock_init(&clock, 1, 0, NULL);
    for (int i = 0; i < 100; i++) {
        int64_t now = clock_trace_now();
        device_clock_observe(&clock, now, now - 700, now + 900);
        assert_int_equal(device_clock_offset(&clock, dictionary), 0);
    }
    assert_int_equal(clock.model, DEVICE_CLOCK_HOST);
    tsmith_dictionary_destroy(dictionary);
}

// A clock of its own, far away, drifting by 40 ppm, with brackets of random width: every bracketed moment lands between
// its bounds, and the stated error holds.
static void device_clock_drifts(void **unused) {
    (void)unused;
    const int64_t away = -777000000000000;
    struct device_clock clock;
    tsmith_dictionary *dictionary;
    uint32_t seen = 1;
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    device_clock_init(&clock, 1, 0, NULL);
    int64_t worst = 0, trace = clock_trace_now(), begun = trace;
    for (int i = 0; i < 30000; i++) {
        trace += 300000 + (int64_t)(next_random() % 100000);
        int64_t drift = (trace - begun) / 25000; // 40 ppm
        int64_t device = trace - away + drift;
        int64_t before = trace - 200 - (int64_t)(next_random() % 5000),
                after = trace + 200 + (int64_t)(next_random() % 5000);
        device_clock_observe(&clock, device, before, after);
        int64_t converted = device + device_clock_offset(&clock, dictionary);
        assert_true(is_between(converted, before, after));
        if (i > 100 && distance(converted, trace) > worst)
            worst = distance(converted, trace);
        for (; seen < tsmith_dictionary_clock_pair_count(dictionary); seen++) {
            const tsmith_clock_pair *pair = tsmith_dictionary_clock_pair(dictionary, seen);
            int64_t pair_trace = pair->clock_time + away - drift;
            assert_true(distance(pair->trace_time, pair_trace) <= pair->error + 1);
        }
    }
    assert_int_equal(clock.model, DEVICE_CLOCK_FITTED);
    assert_true(worst < 5200); // never worse than one bracket
    assert_true(seen > 10);    // calibration is repeated and kept
    tsmith_dictionary_destroy(dictionary);
}

static void absurd_device_times(void **unused) {
    (void)unused;
    struct device_clock clock;
    tsmith_dictionary *dictionary;
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    device_clock_init(&clock, 1, 0, NULL);
    for (int i = 0; i < 100000; i++) {
        device_clock_observe(&clock, (int64_t)next_random(), (int64_t)next_random(), (int64_t)next_random());
        device_clock_offset(&clock, dictionary);
    }
    tsmith_dictionary_destroy(dictionary);
}

// A first call that blocks for seconds admits every clock of the host that is less apart from the others. The command was queued at
// its beginning: by the clock that fits. A later call that contradicts the choice leads to the clock that it admits.
static void long_first_call(void **unused) {
    (void)unused;
    enum { SECOND = 1000000000 };
    // In the order of the enum: RAW, MONOTONIC, BOOTTIME, REALTIME.
    const _Atomic int64_t kept[LAYOUT_HOST_CLOCKS] = {0, -SECOND / 4, -SECOND / 4, -1000LL * SECOND};
    const int64_t begin = 100LL * SECOND;
    for (int host = 0; host < 4; host++) {
        struct device_clock clock;
        tsmith_dictionary *dictionary;
        assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
        device_clock_init(&clock, 1, 0, kept);
        device_clock_observe(&clock, begin + 1000 - kept[host], begin, begin + 3LL * SECOND);
        assert_int_equal(clock.model, DEVICE_CLOCK_HOST);
        assert_int_equal(device_clock_offset(&clock, dictionary), kept[host]);
        tsmith_dictionary_destroy(dictionary);
    }
    // A clock of its own: within a millisecond of the beginning, and the error covers the whole call.
    struct device_clock clock;
    tsmith_dictionary *dictionary;
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    device_clock_init(&clock, 1, 0, kept);
    device_clock_observe(&clock, 7, begin, begin + 3LL * SECOND);
    assert_true(is_between(device_clock_offset(&clock, dictionary), begin - 7, begin - 7 + 1000000));
    assert_true(is_between(tsmith_dictionary_clock_pair(dictionary, 1)->error, 2LL * SECOND, 3LL * SECOND));
    tsmith_dictionary_destroy(dictionary);
    // CLOCK_MONOTONIC_RAW, and queued late in the first call: taken for CLOCK_MONOTONIC until the next call says otherwise.
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    device_clock_init(&clock, 1, 0, kept);
    device_clock_observe(&clock, begin + SECOND, begin, begin + 3LL * SECOND); // queued by RAW after a second
    assert_int_equal(device_clock_offset(&clock, dictionary), -SECOND / 4);
    device_clock_observe(&clock, begin + 5LL * SECOND, begin + 5LL * SECOND - 900,
                         begin + 5LL * SECOND + 700);
    assert_int_equal(device_clock_offset(&clock, dictionary), 0);
    assert_int_equal(clock.model, DEVICE_CLOCK_HOST);
    tsmith_dictionary_destroy(dictionary);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_become_trace_time), cmocka_unit_test(recover_converts_the_same),
        cmocka_unit_test(damaged_segments),        cmocka_unit_test(device_uses_the_trace_clock),
        cmocka_unit_test(device_clock_drifts),     cmocka_unit_test(absurd_device_times),
        cmocka_unit_test(long_first_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
