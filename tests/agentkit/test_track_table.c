// SPDX-License-Identifier: Apache-2.0
// The kit's table of tracks: one track for each key, whichever thread asks first.
#include "support/test.h"

#include <pthread.h>

#include "agentkit/track_table.h"

enum { KEYS = 3000, THREADS = 4 };

static _Atomic uint32_t made, refused;

// Keys that differ in one member only.
static struct track_key key_of(uint32_t number) {
    struct track_key key = {.kind = 1};
    const uint32_t value = number / 4;
    if (number % 4 == 0)
        key.device = value;
    else if (number % 4 == 1)
        key.number = value + 1;
    else if (number % 4 == 2)
        key.more = value + 1;
    else
        key.kind = value + 2;
    return key;
}

static uint32_t make(const struct track_key *key) {
    (void)key;
    return atomic_fetch_add(&made, 1) + 1;
}

static uint32_t make_none(const struct track_key *key) {
    (void)key;
    atomic_fetch_add(&refused, 1);
    return 0;
}

static void *ask(void *tracks) {
    static _Atomic uint32_t threads;
    const uint32_t first = atomic_fetch_add(&threads, 1) * 977;
    for (uint32_t i = 0; i < KEYS; i++) {
        const uint32_t number = (first + i) % KEYS;
        const struct track_key key = key_of(number);
        ((uint32_t *)tracks)[number] = track_table_get(&key, make);
    }
    return NULL;
}

static void one_for_each_key(void **unused) {
    static uint32_t tracks[THREADS][KEYS], seen[KEYS + 1];
    pthread_t threads[THREADS];
    (void)unused;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask, tracks[i]), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(made, KEYS);
    for (uint32_t number = 0; number < KEYS; number++) {
        const struct track_key key = key_of(number);
        assert_true(is_between(tracks[0][number], 1, KEYS));
        assert_int_equal(seen[tracks[0][number]]++, 0);
        for (int i = 1; i < THREADS; i++)
            assert_int_equal(tracks[i][number], tracks[0][number]);
        assert_int_equal(track_table_get(&key, NULL), tracks[0][number]);
    }
}

static void not_made(void **unused) {
    const struct track_key key = {.device = 1, .number = 1, .kind = 1};
    (void)unused;
    assert_int_equal(track_table_get(&key, NULL), 0);
    assert_int_equal(track_table_get(&key, make), KEYS + 1);
    assert_int_equal(made, KEYS + 1);
    assert_int_equal(track_table_get(&key, make_none), KEYS + 1); // it is there
    assert_int_equal(refused, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_for_each_key), cmocka_unit_test(not_made)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
