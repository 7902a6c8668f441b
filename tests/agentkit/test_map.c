// SPDX-License-Identifier: Apache-2.0
// The kit's map against an array that is searched from one end to the other, and while threads look and change at once.
#include "support/test.h"

#include <pthread.h>
#include <stdbool.h>

#include "agentkit/map.h"

enum { KEYS = 3000, STEPS = 200000, LOG2_BUCKETS = 7, THREADS = 4, OWN = 64, ROUNDS = 20000 };

// Handles of a driver are pointers into its heap: aligned, and near each other.
static const void *key_of(uint64_t number) {
    return (const void *)(uintptr_t)(UINT64_C(0x7f0000001000) + number * 0x140);
}

struct model {
    bool there[KEYS];
    uint64_t value[KEYS];
};

static void compare(const struct map *map, const struct model *model) {
    for (uint64_t number = 0; number < KEYS; number++) {
        assert_int_equal(map_get(map, key_of(number)), model->there[number] ? model->value[number] : 0);
        assert_int_equal(map_slot(map, key_of(number)) != NULL, model->there[number]);
    }
}

static void like_an_array(void **unused) {
    (void)unused;
    static struct model model;
    struct random random = {42};
    struct map map = {0};
    uint32_t refused = 0, count = 0;
    assert_true(map_init(&map, LOG2_BUCKETS));
    for (int step = 0; step < STEPS; step++) {
        const uint64_t number = random_below(&random, KEYS), value = random_next(&random) | 1;
        if (random_below(&random, 3) == 0) {
            map_remove(&map, key_of(number));
            count -= model.there[number];
            model.there[number] = false;
        } else if (map_put(&map, key_of(number), value)) {
            count += !model.there[number];
            model.there[number] = true;
            model.value[number] = value;
        } else {
            assert_false(model.there[number]); // what is there can be replaced
            refused++;
        }
        if (step % 20000 == 0)
            compare(&map, &model);
    }
    compare(&map, &model);
    assert_true(refused > 0 && count <= (1u << LOG2_BUCKETS) * MAP_SLOTS); // buckets were full
    map_clear(&map);
    for (uint64_t number = 0; number < KEYS; number++)
        model.there[number] = false;
    compare(&map, &model);
    assert_true(map_put(&map, key_of(1), 1));
    assert_int_equal(map_get(&map, key_of(1)), 1);
}

static void without_memory(void **unused) {
    (void)unused;
    struct map none = {0};
    assert_false(map_put(&none, key_of(1), 1));
    assert_null(map_slot(&none, key_of(1)));
    assert_int_equal(map_get(&none, key_of(1)), 0);
    map_remove(&none, key_of(1));
    map_clear(&none);
    struct map map = {0};
    assert_true(map_init(&map, LOG2_BUCKETS));
    assert_false(map_put(&map, NULL, 1));
    assert_int_equal(map_get(&map, NULL), 0);
}

// Each thread puts and removes keys of its own, whose buckets it shares with the others, and looks at all: a value that it
// sees is one that was put for this key.
struct worker {
    struct map *map;
    uint64_t index;
    bool wrong;
};

static void *work(void *self) {
    struct worker *worker = self;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        const uint64_t own = worker->index * OWN + round % OWN, other = round * 7 % (THREADS * OWN);
        const bool put = map_put(worker->map, key_of(own), own << 32 | round);
        const uint64_t seen = map_get(worker->map, key_of(other));
        worker->wrong |= put && map_get(worker->map, key_of(own)) != (own << 32 | round);
        worker->wrong |= other != own && seen && seen >> 32 != other;
        map_remove(worker->map, key_of(own));
        worker->wrong |= map_get(worker->map, key_of(own)) != 0;
    }
    return NULL;
}

static void threads_at_once(void **unused) {
    (void)unused;
    struct map map = {0};
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    assert_true(map_init(&map, 4));
    for (uint64_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){&map, i, false};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_false(workers[i].wrong);
    }
    for (uint64_t number = 0; number < THREADS * OWN; number++)
        assert_null(map_slot(&map, key_of(number)));
}

// All threads add the same keys: each key has one place, of which one thread is the first.
static void *add_all(void *self) {
    struct worker *worker = self;
    uint64_t first = 0;
    for (uint64_t number = 0; number < OWN; number++) {
        _Atomic uint64_t *place = map_add(worker->map, key_of(number));
        first += place && atomic_fetch_add(place, 1) == 0;
    }
    worker->index = first;
    return NULL;
}

static void added_at_once(void **unused) {
    (void)unused;
    enum { LOG2 = 8 }; // room for all keys
    struct map map = {0};
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    uint64_t first = 0;
    assert_true(map_init(&map, LOG2));
    for (uint64_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){&map, i, false};
        assert_int_equal(pthread_create(&threads[i], NULL, add_all, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        first += workers[i].index;
    }
    assert_int_equal(first, OWN);
    for (uint64_t number = 0; number < OWN; number++)
        assert_int_equal(map_get(&map, key_of(number)), THREADS);
    uint64_t added = 0;
    for (uint64_t number = OWN; number < OWN + (MAP_SLOTS << LOG2); number++)
        added += map_add(&map, key_of(number)) != NULL;
    assert_true(added <= (MAP_SLOTS << LOG2) - OWN);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(like_an_array), cmocka_unit_test(without_memory),
                                       cmocka_unit_test(threads_at_once), cmocka_unit_test(added_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
