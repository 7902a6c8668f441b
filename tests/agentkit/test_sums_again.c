// SPDX-License-Identifier: Apache-2.0
// An agent whose records are added up, detached from its program and attached again: each session has the sums of its own time, a session
// without --aggregate has events, and the thread that writes sums is there each time.
#define RECORD_HOOKED 1
#include "support/seen_sums.h"

#include "agentkit/sums.h"

enum { EVENTS = 1000, ROUNDS = 20 };
static const int64_t NEVER = 3600000000000, SOON = 10000000; // ns

static uint32_t queue, late_name;

static void begin(void) {
    letters_begin();
    late_name = channel_string_cstr(agent.channel, "a");
    queue = letters_queue();
}

static void again(void) {
    queue = letters_queue();
}

static const struct agent_spec spec = {
    .api = "test", .begin = begin, .again = again, .not_in_children = true, .sums = AGENT_SUMS_OF_RECORDS};

static struct seen_sums record(int64_t period, char letter, int count, bool waits) {
    struct session_directory directory = seen_sums_session(period);
    assert_true(agent_attach_late(&spec, directory.path, ""));
    letters_write(queue, letter, count);
    if (waits)
        seen_sums_wait();
    agent_leave();
    const struct seen_sums seen = seen_sums_read(&directory);
    agent_park();
    return seen;
}

// As a thread of the program that is in a call while the agent leaves.
static void add_late(void) {
    sums_add_time(sums_what(TSMITH_KIND_KERNEL, SUMS_TIMED, 0, 0, late_name), sums_who(sums_host, 0), 1);
}

static void each_session_has_its_own_sums(void **unused) {
    (void)unused;
    struct seen_sums seen = record(NEVER, 'a', EVENTS, false);
    assert_int_equal(seen.sums['a'], EVENTS);
    add_late(); // too late for the first session, too early for the second
    const int64_t between = clock_trace_now();
    seen = record(NEVER, 'b', EVENTS + 1, false);
    assert_int_equal(seen.sums['b'], EVENTS + 1);
    assert_int_equal(seen.sums['a'], 0);
    assert_true(seen.first >= between && seen.first < clock_trace_now());
}

static void a_session_of_events_is_between(void **unused) {
    (void)unused;
    struct seen_sums seen = record(0, 'c', EVENTS, false);
    assert_int_equal(seen.events['c'], EVENTS);
    assert_int_equal(seen.first, INT64_MAX);
    const int64_t between = clock_trace_now();
    seen = record(NEVER, 'd', EVENTS, false);
    assert_int_equal(seen.sums['d'], EVENTS);
    assert_int_equal(seen.events['d'] + seen.events['c'], 0);
    assert_true(seen.first >= between);
}

// Also with sessions that follow at once.
static void a_thread_writes_each_period(void **unused) {
    (void)unused;
    uint16_t last = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const struct seen_sums seen = record(SOON, 'e', round + 1, true);
        assert_int_equal(seen.sums['e'], round + 1);
        assert_int_equal(seen.lost[TSMITH_REASON_SUM_UNWRITTEN], 0);
    }
    // No session adds shapes: a program may be attached to any number of times.
    for (int round = 0; round < 3; round++) {
        struct session_directory directory = seen_sums_session(NEVER);
        assert_true(agent_attach_late(&spec, directory.path, ""));
        const uint16_t shape =
            record_register(agent.channel, TSMITH_KIND_RANGE, RECORD_SUBJECT_TRACK, letter_words_add);
        assert_true(!last || shape == last + 1);
        last = shape;
        agent_leave();
        agent_park();
        session_directory_remove(&directory);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_session_has_its_own_sums),
                                       cmocka_unit_test(a_session_of_events_is_between),
                                       cmocka_unit_test(a_thread_writes_each_period)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
