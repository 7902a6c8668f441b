// SPDX-License-Identifier: Apache-2.0
// The kit's table of launches: what was noted is found until its place is used again; a launch is closed once, by any thread; one
// whose place is used again while it is open is given up, and counted as such.
#include "support/numbered.h"

#include <pthread.h>

#include "agentkit/launch_table.h"
#include "support/test.h"

enum { LAUNCHES = 100000, THREADS = 4, FIRST = 7 };

static struct launch_table table;
static struct session_directory directory;
static _Atomic uint32_t closed, wrong;

static int begin_session(void **unused) {
    (void)unused;
    directory = numbered_session(1 << 20, TSMITH_OVERFLOW_DROP_NEWEST);
    return !launch_table_init(&table) || channel_open(directory.path, "test", &agent.channel);
}

static int end_session(void **unused) {
    (void)unused;
    channel_close(agent.channel);
    channel_detach(agent.channel);
    agent.channel = NULL;
    session_directory_remove(&directory);
    return 0;
}

static void note(uint64_t number, uint32_t value) {
    launch_table_note(&table, number, &(struct launch_note){value, 0, (int64_t)number * 10});
}

static bool holds(uint64_t number, uint32_t value) {
    struct launch_note found;
    return launch_table_find(&table, number, &found) && found.value == value &&
           found.time == (int64_t)number * 10;
}

static void found_until_used_again(void **unused) {
    struct launch_note found;
    (void)unused;
    assert_false(launch_table_find(&table, 0, &found));
    assert_false(launch_table_find(&table, FIRST, &found));
    note(FIRST, 3);
    assert_true(holds(FIRST, 3));
    assert_false(launch_table_close(&table, FIRST)); // it was not open
    assert_false(launch_table_find(&table, FIRST + LAUNCH_TABLE_PLACES, &found));
    assert_int_equal(found.time, 0);
    note(FIRST, 5); // more is known of it
    assert_true(holds(FIRST, 5));
    note(FIRST + LAUNCH_TABLE_PLACES, 4);
    assert_false(launch_table_find(&table, FIRST, &found));
    assert_true(holds(FIRST + LAUNCH_TABLE_PLACES, 4));
    assert_int_equal(launch_table_open(&table), 0);
}

// Numbers of which 32 bits are not enough.
static void long_numbers(void **unused) {
    const uint64_t number = (UINT64_C(5) << 32) + 99;
    (void)unused;
    note(number, 6 | LAUNCH_OPEN);
    assert_true(holds(number, 6));
    assert_true(launch_table_close(&table, number));
    assert_true(holds(number, 6));
}

static void *close_all(void *unused) {
    (void)unused;
    for (uint64_t number = 1; number <= LAUNCHES; number++)
        atomic_fetch_add(&closed, launch_table_close(&table, number));
    return NULL;
}

static void *launch_quarter(void *thread) {
    for (uint64_t number = 1 + (uintptr_t)thread; number <= LAUNCHES; number += THREADS) {
        note(number, (uint32_t)number | LAUNCH_OPEN);
        atomic_fetch_add(&wrong, !holds(number, (uint32_t)number));
    }
    return NULL;
}

static void run(void *(*work)(void *)) {
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void closed_once(void **unused) {
    (void)unused;
    run(launch_quarter);
    assert_int_equal(wrong, 0);
    assert_int_equal(launch_table_open(&table), LAUNCHES);
    run(close_all);
    assert_int_equal(closed, LAUNCHES);
    assert_int_equal(launch_table_open(&table), 0);
}

static void given_up(void **unused) {
    const uint64_t before = atomic_load(&table.ended);
    (void)unused;
    note(FIRST, LAUNCH_OPEN);
    note(FIRST + LAUNCH_TABLE_PLACES, LAUNCH_OPEN);
    assert_false(launch_table_close(&table, FIRST));
    assert_int_equal(atomic_load(&table.ended), before + 1);
    assert_int_equal(launch_table_open(&table), 1);
    assert_true(launch_table_close(&table, FIRST + LAUNCH_TABLE_PLACES));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(found_until_used_again),
                                       cmocka_unit_test(long_numbers), cmocka_unit_test(closed_once),
                                       cmocka_unit_test(given_up)};
    return cmocka_run_group_tests(tests, begin_session, end_session);
}
