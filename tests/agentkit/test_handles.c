// SPDX-License-Identifier: Apache-2.0
// The kit's table of objects against an array, and while threads add, find and remove at once.
#include "support/test.h"

#include <pthread.h>
#include <stdbool.h>

#include "agentkit/handles.h"

enum { KINDS = 3, KEYS = 500, STEPS = 100000, LOG2_BUCKETS = 9, THREADS = 4, OWN = 32, ROUNDS = 3000 };

struct object {
    struct handle handle;
    uint64_t kept;
    uint64_t value;
};

static const void *key_of(uint64_t number) {
    return (const void *)(uintptr_t)(UINT64_C(0x7f0000001000) + number * 0x140);
}

static bool begin(struct handles *handles) {
    return handles_init(handles, sizeof(struct object), offsetof(struct object, value), KINDS, LOG2_BUCKETS);
}

static void count_entry(void *entry, void *count) {
    assert_non_null(entry);
    ++*(uint32_t *)count;
}

static void like_an_array(void **unused) {
    (void)unused;
    static struct handles handles;
    static struct object *model[KINDS + 1][KEYS];
    uint64_t added[KINDS + 1] = {0};
    uint32_t there[KINDS + 1] = {0};
    struct random random = {7};
    assert_true(begin(&handles));
    for (int step = 0; step < STEPS; step++) {
        const uint32_t kind = 1 + (uint32_t)random_below(&random, KINDS);
        const uint64_t number = random_below(&random, KEYS);
        struct object **known = &model[kind][number];
        assert_ptr_equal(handles_find(&handles, kind, key_of(number)), *known);
        if (*known) {
            struct object *gone = *known;
            const uint32_t generation = gone->handle.generation;
            assert_int_equal(gone->value, number + 1);
            gone->kept = number + 1;
            if (random_below(&random, 2))
                handles_hide(&handles, &gone->handle);
            handles_remove(&handles, &gone->handle);
            handles_remove(&handles, &gone->handle); // changes nothing
            assert_int_equal(gone->handle.generation, generation + 1);
            assert_int_equal(gone->handle.kind, 0);
            there[kind]--;
            *known = NULL;
        } else {
            struct object *object = *known = handles_add(&handles, kind, key_of(number));
            assert_non_null(object);
            assert_int_equal(object->value, 0);
            assert_int_equal(object->handle.number, ++added[kind]);
            assert_int_equal(object->handle.kind, kind);
            assert_true(object->kept <= KEYS); // of an object before it
            object->value = number + 1;
            there[kind]++;
        }
    }
    for (uint32_t kind = 1; kind <= KINDS; kind++) {
        uint32_t count = 0;
        handles_each(&handles, kind, count_entry, &count);
        assert_int_equal(count, there[kind]);
    }
}

// An object whose handle is given out again before its end was seen: the newer one is found, and the older one's end does not
// hide it.
static void handle_given_out_again(void **unused) {
    (void)unused;
    static struct handles handles;
    assert_true(begin(&handles));
    struct object *old = handles_add(&handles, 1, key_of(1)), *other = handles_add(&handles, 2, key_of(1));
    struct object *young = handles_add(&handles, 1, key_of(1));
    assert_ptr_equal(handles_find(&handles, 1, key_of(1)), young);
    assert_ptr_equal(handles_find(&handles, 2, key_of(1)), other);
    handles_remove(&handles, &old->handle);
    assert_ptr_equal(handles_find(&handles, 1, key_of(1)), young);
}

struct worker {
    struct handles *handles;
    uint64_t index;
    bool wrong;
};

static void *work(void *self) {
    struct worker *worker = self;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        struct object *mine[OWN];
        for (uint64_t i = 0; i < OWN; i++) {
            const void *key = key_of(worker->index * OWN + i);
            mine[i] = handles_add(worker->handles, 1, key);
            worker->wrong |= mine[i] && handles_find(worker->handles, 1, key) != mine[i];
        }
        for (uint64_t i = 0; i < OWN; i++)
            if (mine[i])
                handles_remove(worker->handles, &mine[i]->handle);
    }
    return NULL;
}

static void by_many_threads(void **unused) {
    (void)unused;
    static struct handles handles;
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    uint32_t count = 0;
    assert_true(begin(&handles));
    for (uint64_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.handles = &handles, .index = i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_false(workers[i].wrong);
    }
    handles_each(&handles, 1, count_entry, &count);
    assert_int_equal(count, 0);
    assert_int_equal(handles.numbers[1], (uint64_t)THREADS * OWN * ROUNDS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(like_an_array),
        cmocka_unit_test(handle_given_out_again),
        cmocka_unit_test(by_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
