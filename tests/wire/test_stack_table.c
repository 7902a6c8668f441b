// SPDX-License-Identifier: Apache-2.0
// Equal frames get the same number from every thread; different frames get different numbers; frames without room are
// counted; a table of random bytes never gives a frame outside of it.
#include "support/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "wire/stack_table.h"

enum { STACKS = 3000, THREADS = 4, BYTES = 4 << 20, FRAMES_MAX = 40 };

// Stack number `i`, by itself: neighbors share most of their frames.
static uint32_t make_stack(uint32_t i, uint64_t *frames) {
    uint32_t count = 1 + i % (FRAMES_MAX - 2);
    for (uint32_t at = 0; at < count; at++)
        frames[at] = 0x400000 + at * 16;
    frames[0] += i / (FRAMES_MAX - 2);
    return count;
}

static uint32_t add(struct stack_table *table, const uint64_t *frames, uint32_t count, uint32_t flags) {
    return stack_table_add(table, stack_table_hash(frames, count, flags), frames, count, flags);
}

struct adder {
    struct stack_table *table;
    uint32_t first;
    uint32_t ids[STACKS];
};

static void *add_all(void *argument) {
    struct adder *adder = argument;
    uint64_t frames[FRAMES_MAX];
    for (uint32_t n = 0; n < STACKS; n++) {
        uint32_t i = (n + adder->first) % STACKS, count = make_stack(i, frames);
        adder->ids[i] = add(adder->table, frames, count, i & 3);
    }
    return NULL;
}

static int compare_ids(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static void test_threads(void **state) {
    (void)state;
    void *memory = calloc(1, BYTES);
    struct stack_table *table = stack_table_init(memory, BYTES);
    static struct adder adders[THREADS];
    pthread_t ids[THREADS];
    assert_non_null(table);
    for (uint32_t i = 0; i < THREADS; i++) {
        adders[i] = (struct adder){.table = table, .first = i % 2 * STACKS / 3};
        assert_int_equal(pthread_create(&ids[i], NULL, add_all, &adders[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    for (uint32_t i = 0; i < STACKS; i++) {
        uint64_t frames[FRAMES_MAX];
        uint32_t count = make_stack(i, frames);
        struct stack_view view;
        for (uint32_t other = 1; other < THREADS; other++)
            assert_int_equal(adders[other].ids[i], adders[0].ids[i]);
        assert_true(stack_table_get(table, BYTES, adders[0].ids[i], &view));
        assert_int_equal(view.count, count);
        assert_int_equal(view.flags, i & 3);
        assert_memory_equal(view.frames, frames, count * sizeof *frames);
    }
    qsort(adders[0].ids, STACKS, sizeof *adders[0].ids, compare_ids);
    for (uint32_t i = 1; i < STACKS; i++)
        assert_int_not_equal(adders[0].ids[i], adders[0].ids[i - 1]);
    free(memory);
}

static void test_no_room(void **state) {
    (void)state;
    void *memory = calloc(1, STACK_TABLE_BYTES_MIN);
    struct stack_table *table = stack_table_init(memory, STACK_TABLE_BYTES_MIN);
    uint64_t frames[FRAMES_MAX], refused = 0;
    uint32_t first[64];
    assert_non_null(table);
    assert_null(stack_table_init(memory, STACK_TABLE_BYTES_MIN - 8));
    for (uint32_t i = 0; i < STACKS; i++) {
        uint32_t id = add(table, frames, make_stack(i, frames), 0);
        refused += id == 0;
        if (i < 64)
            first[i] = id;
    }
    assert_true(refused > 0 && refused < STACKS);
    for (uint32_t i = 0; i < 64; i++) // what was in stays
        assert_int_equal(add(table, frames, make_stack(i, frames), 0), first[i]);
    assert_int_equal(stack_table_add(table, 1, frames, 0, 0), 0);
    assert_int_equal(stack_table_add(table, 1, frames, STACK_TABLE_FRAMES_MAX + 1, 0), 0);
    free(memory);
}

static void test_any_bytes(void **state) {
    (void)state;
    struct random random = {3};
    uint64_t *memory = malloc(STACK_TABLE_BYTES_MIN);
    uint64_t sum = 0, found = 0;
    for (size_t i = 0; i < STACK_TABLE_BYTES_MIN / 8; i++)
        memory[i] =
            random_below(&random, 4) ? random_next(&random) & 0xffff0000000007ff : random_next(&random);
    for (uint32_t id = 0; id < STACK_TABLE_BYTES_MIN / 8 + 1000; id++) {
        struct stack_view view;
        if (!stack_table_get((const struct stack_table *)(const void *)memory, STACK_TABLE_BYTES_MIN, id,
                             &view))
            continue;
        found++;
        assert_true(view.count <= STACK_TABLE_FRAMES_MAX);
        for (uint32_t i = 0; i < view.count; i++) // the address sanitizer watches
            sum += view.frames[i];
    }
    assert_true(found > 0 && sum > 0);
    free(memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
