// SPDX-License-Identifier: Apache-2.0
// The kit's conversion of a driver's clock, against a clock whose relation to the trace clock is known: drift, jumps, many
// comparisons, times before the first and after the last.
#include "support/test.h"

#include "agentkit/foreign_clock.h"
#include "base/clock.h"

static const int64_t AHEAD = 7000000000; // ns

static int64_t jumped; // ns that the clock is further ahead now
static bool is_readable = true;

static bool read_clock(uint64_t *time) {
    *time = (uint64_t)(clock_trace_now() + AHEAD + jumped);
    return is_readable;
}

static int64_t converted(struct foreign_clock *clock, uint64_t time) {
    struct foreign_clock_piece piece = {0};
    return foreign_clock_convert(clock, &piece, time);
}

static void assert_near(int64_t a, int64_t b, int64_t most) {
    assert_true(a - b <= most && b - a <= most);
}

// A comparison as a test makes it up.
static void put(struct foreign_clock *clock, uint64_t time, int64_t offset) {
    const uint32_t count = atomic_load(&clock->recent.count);
    atomic_store(&clock->recent.ring[count % FOREIGN_CLOCK_COMPARISONS].time, time);
    atomic_store(&clock->recent.ring[count % FOREIGN_CLOCK_COMPARISONS].offset, offset);
    atomic_store(&clock->recent.count, count + 1);
}

static void nothing_is_known_at_first(void **unused) {
    static struct foreign_clock clock;
    (void)unused;
    clock.read = read_clock;
    is_readable = false;
    assert_false(foreign_clock_compare(&clock));
    assert_true(converted(&clock, 1000) == FOREIGN_CLOCK_UNKNOWN);
    is_readable = true;
    assert_true(foreign_clock_compare(&clock));
    assert_true(converted(&clock, 0) == FOREIGN_CLOCK_UNKNOWN);
}

// A comparison is right within the error that it states.
static void a_real_clock(void **unused) {
    static struct foreign_clock clock;
    (void)unused;
    clock.read = read_clock;
    for (int i = 0; i < 100; i++) {
        assert_true(foreign_clock_compare(&clock));
        const int64_t now = clock_trace_now();
        assert_near(converted(&clock, (uint64_t)(now + AHEAD)), now, foreign_clock_error(&clock));
    }
}

// A clock that gains 1 ns in 10,000, compared every 100 ms: in between, before and after.
static void a_clock_that_drifts(void **unused) {
    static struct foreign_clock clock;
    enum { COMPARISONS = 50, EVERY = 100000000, DRIFT = 10000 };
    (void)unused;
    for (int64_t i = 0; i < COMPARISONS; i++)
        put(&clock, (uint64_t)(AHEAD + i * EVERY), -AHEAD - i * EVERY / DRIFT);
    for (int64_t at = 0; at < (COMPARISONS + 5) * (int64_t)EVERY; at += 3333333)
        assert_near(converted(&clock, (uint64_t)(AHEAD + at)), at - at / DRIFT, 2);
    assert_near(converted(&clock, (uint64_t)(AHEAD - EVERY)), -EVERY, EVERY / 1000);
}

// The machine was suspended between two comparisons: each time belongs to the nearer one, none lies in between.
static void a_jump(void **unused) {
    static struct foreign_clock clock;
    const uint64_t first = 1000000000, second = 901000000000; // of 900 s, the trace clock counted one
    (void)unused;
    put(&clock, first, 0);
    put(&clock, second, -899000000000);
    assert_int_equal(converted(&clock, first + 500), (int64_t)first + 500);
    assert_int_equal(converted(&clock, second - 500), (int64_t)second - 500 - 899000000000);
    assert_int_equal(converted(&clock, second + 500), (int64_t)second + 500 - 899000000000);
}

// More comparisons than there is room for: the newest are kept, and what is older than they are is converted by the same drift.
static void many_comparisons(void **unused) {
    static struct foreign_clock clock;
    enum { EVERY = 1000000 };
    (void)unused;
    const int64_t last = 3 * (int64_t)FOREIGN_CLOCK_COMPARISONS;
    for (int64_t i = 1; i <= last; i++)
        put(&clock, (uint64_t)(i * EVERY), i);
    assert_int_equal(converted(&clock, (uint64_t)(last * EVERY)), last * EVERY + last);
    assert_near(converted(&clock, (uint64_t)((last - 1000) * EVERY + 10)),
                (last - 1000) * EVERY + 10 + last - 1000, 1);
    assert_near(converted(&clock, (uint64_t)(10 * EVERY)), 10 * EVERY + 10, 1);
}

// A piece that a reader keeps gives the same as a new one, for times within and beyond it.
static void a_piece_that_is_kept(void **unused) {
    static struct foreign_clock clock;
    struct foreign_clock_piece kept = {0};
    (void)unused;
    for (int64_t i = 1; i <= 20; i++)
        put(&clock, (uint64_t)(i * 1000000), i * i);
    for (uint64_t time = 500000; time < 25000000; time += 77777)
        assert_int_equal(foreign_clock_convert(&clock, &kept, time), converted(&clock, time));
    for (uint64_t time = 25000000; time > 500000; time -= 77777)
        assert_int_equal(foreign_clock_convert(&clock, &kept, time), converted(&clock, time));
}

// A driver that changes its clock: times of the new one are converted as soon as the clocks are compared, times of the old one as
// before, and a time that is a day away from every comparison is of neither.
static void another_clock(void **unused) {
    static struct foreign_clock clock;
    const uint64_t first = 5000000000, day = 86400000000000;
    (void)unused;
    clock.read = read_clock;
    is_readable = false;
    put(&clock, first, 100);
    put(&clock, first + 20 * day, 300);
    assert_int_equal(converted(&clock, first + 1000), (int64_t)first + 1100);
    assert_int_equal(converted(&clock, first + 20 * day + 1000), (int64_t)(first + 20 * day) + 1300);
    assert_true(converted(&clock, first + 10 * day) == FOREIGN_CLOCK_UNKNOWN);
    is_readable = true;
    const int64_t now = clock_trace_now();
    assert_near(converted(&clock, (uint64_t)(now + AHEAD)), now, foreign_clock_error(&clock));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_at_first),
        cmocka_unit_test(a_real_clock),
        cmocka_unit_test(a_clock_that_drifts),
        cmocka_unit_test(a_jump),
        cmocka_unit_test(many_comparisons),
        cmocka_unit_test(a_piece_that_is_kept),
        cmocka_unit_test(another_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
