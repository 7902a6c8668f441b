// SPDX-License-Identifier: Apache-2.0
// The kit's pool of buffers: nothing is given twice, what is not its own is refused, and what is out is counted, also while
// threads take and give back at once.
#include "support/test.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "agentkit/buffer_pool.h"

enum { COUNT = 70, BYTES = 4096, EXTRA = 5, EXTRA_BYTES = 16384, THREADS = 4, ROUNDS = 30000, HELD = 20 };

static void to_the_last(void **unused) {
    (void)unused;
    static struct buffer_pool pool;
    uint8_t *taken[COUNT + EXTRA];
    size_t bytes;
    uint32_t place;
    assert_true(buffer_pool_make(&pool, COUNT, BYTES));
    buffer_pool_extend(&pool, EXTRA, EXTRA_BYTES);
    for (uint32_t i = 0; i < COUNT + EXTRA; i++) {
        taken[i] = buffer_pool_take(&pool, &bytes);
        assert_non_null(taken[i]);
        assert_int_equal(bytes, i < COUNT ? BYTES : EXTRA_BYTES);
        assert_true(buffer_pool_find(&pool, taken[i], &place));
        assert_int_equal(place, i);
        assert_int_equal(buffer_pool_bytes(&pool, place), bytes);
        memset(taken[i], (int)i, bytes);
        assert_int_equal(buffer_pool_out(&pool),
                         i < COUNT ? (i + 1) * BYTES : COUNT * BYTES + (i + 1 - COUNT) * EXTRA_BYTES);
    }
    for (uint32_t i = 0; i < COUNT + EXTRA; i++) // each is apart from the others
        assert_true(taken[i][0] == i && taken[i][BYTES - 1] == i);
    assert_null(buffer_pool_take(&pool, &bytes));
    assert_int_equal(bytes, 0);
    assert_int_equal(pool.refused, 1);
    assert_int_equal(pool.requested, COUNT + EXTRA + 1);
    // What was given back is not found again, and is the next one.
    for (uint32_t i = 3; i < COUNT + EXTRA; i += 30) {
        assert_true(buffer_pool_find(&pool, taken[i], &place));
        buffer_pool_give_back(&pool, place);
        assert_false(buffer_pool_find(&pool, taken[i], &place));
    }
    assert_ptr_equal(buffer_pool_take(&pool, &bytes), taken[3]);
    assert_false(buffer_pool_find(&pool, NULL, &place));
    assert_false(buffer_pool_find(&pool, (const uint8_t *)&pool, &place));
}

struct worker {
    struct buffer_pool *pool;
    uint8_t index;
    bool wrong;
};

// What it holds has its mark until it gives it back.
static void *work(void *self) {
    struct worker *worker = self;
    uint8_t *held[HELD] = {NULL};
    size_t bytes;
    uint32_t place;
    for (int round = 0; round < ROUNDS; round++) {
        uint8_t **at = &held[round * 13 % HELD];
        if (*at) {
            worker->wrong |= **at != worker->index || !buffer_pool_find(worker->pool, *at, &place);
            **at = 0;
            buffer_pool_give_back(worker->pool, place);
            *at = NULL;
        } else if ((*at = buffer_pool_take(worker->pool, &bytes))) {
            worker->wrong |= **at != 0;
            **at = worker->index;
        }
    }
    for (int i = 0; i < HELD; i++)
        if (held[i] && buffer_pool_find(worker->pool, held[i], &place))
            buffer_pool_give_back(worker->pool, place);
    return NULL;
}

static void threads_at_once(void **unused) {
    (void)unused;
    static struct buffer_pool pool;
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    assert_true(buffer_pool_make(&pool, COUNT, BYTES));
    buffer_pool_extend(&pool, EXTRA, EXTRA_BYTES);
    for (uint8_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){&pool, (uint8_t)(i + 1), false};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_false(workers[i].wrong);
    }
    assert_int_equal(buffer_pool_out(&pool), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(to_the_last), cmocka_unit_test(threads_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
