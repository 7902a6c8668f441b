// SPDX-License-Identifier: Apache-2.0
// The kit's stack of free entries: an entry has one owner at a time, whichever threads take and give back, one or several at once.
#include "support/test.h"

#include <pthread.h>
#include <string.h>

#include "agentkit/free_list.h"

enum { ENTRIES = 64, THREADS = 4, ROUNDS = 20000, CHAIN = 5 };

static uint32_t links[ENTRIES + 1];
static _Atomic uint32_t owners[ENTRIES + 1], taken_twice;
static struct free_list list;

static uint32_t *link_of(uint32_t number) {
    return &links[number];
}

// Counts the chain, and marks its entries as owned, or no longer.
static uint32_t mark(uint32_t first, uint32_t owned, uint32_t *last) {
    uint32_t count = 0;
    for (uint32_t number = first; number; number = links[number]) {
        if (atomic_exchange(&owners[number], owned) == owned)
            atomic_fetch_add(&taken_twice, 1);
        *last = number;
        count++;
    }
    return count;
}

static void *take_and_give(void *unused) {
    for (uint32_t i = 0; i < ROUNDS; i++) {
        const uint32_t limit = i % CHAIN + 1;
        uint32_t last = 0, first = free_list_take(&list, limit, link_of);
        if (!first)
            first = free_list_extend(&list, 1, ENTRIES);
        if (!first)
            continue;
        if (mark(first, 1, &last) > limit)
            atomic_fetch_add(&taken_twice, 1);
        (void)mark(first, 0, &last);
        free_list_give(&list, first, last, link_of);
    }
    return unused;
}

static void one_owner_at_a_time(void **unused) {
    pthread_t threads[THREADS];
    (void)unused;
    memset(links, 0, sizeof links);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(taken_twice, 0);
    uint32_t last = 0;
    assert_int_equal(mark(free_list_take(&list, ENTRIES, link_of), 1, &last), list.used);
    assert_int_equal(free_list_take(&list, 1, link_of), 0);
}

static void chains_and_limits(void **unused) {
    struct free_list own = {0};
    (void)unused;
    assert_int_equal(free_list_take(&own, 1, link_of), 0);
    assert_int_equal(free_list_extend(&own, 3, 8), 1);
    assert_int_equal(free_list_extend(&own, 5, 8), 4);
    assert_int_equal(free_list_extend(&own, 1, 8), 0);
    links[1] = 2, links[2] = 3, links[3] = 0;
    free_list_give(&own, 1, 3, link_of);
    assert_int_equal(free_list_take(&own, 2, link_of), 1);
    assert_int_equal(links[1], 2);
    assert_int_equal(links[2], 0);
    assert_int_equal(free_list_take(&own, 2, link_of), 3);
    assert_int_equal(links[3], 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(chains_and_limits),
                                       cmocka_unit_test(one_owner_at_a_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
