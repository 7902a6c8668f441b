// SPDX-License-Identifier: Apache-2.0
// The table against a plain list of what was added: keys that collide, the key 0, keys that differ in high bits only.
#include "support/test.h"

#include <stdlib.h>

#include "base/table.h"

enum { KEYS = 3000 };

struct known {
    uint64_t keys[KEYS], values[KEYS];
    size_t count;
};

static uint64_t *find_known(struct known *known, uint64_t key) {
    for (size_t i = 0; i < known->count; i++)
        if (known->keys[i] == key)
            return &known->values[i];
    return NULL;
}

// Adds a key to both, or changes its value in both.
static void set(struct table *table, struct known *known, uint64_t key, uint64_t value) {
    bool is_new = false;
    uint64_t *there = find_known(known, key), *slot = table_add(table, key, &is_new);
    assert_non_null(slot);
    assert_int_equal(is_new, there == NULL);
    assert_int_equal(*slot, there ? *there : 0);
    *slot = value;
    if (!there) {
        known->keys[known->count] = key;
        there = &known->values[known->count++];
    }
    *there = value;
}

static void compare(const struct table *table, struct known *known) {
    assert_int_equal(table->count, known->count);
    for (size_t i = 0; i < known->count; i++) {
        const uint64_t *found = table_find(table, known->keys[i]);
        assert_non_null(found);
        assert_int_equal(*found, known->values[i]);
    }
}

static void keys_of_every_kind(void **state) {
    (void)state;
    struct known *known = calloc(1, sizeof *known);
    struct table table = {0};
    assert_non_null(known);
    assert_null(table_find(&table, 0));
    assert_null(table_find(&table, 1));
    uint64_t random = 1;
    for (uint64_t i = 0; i < KEYS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        // Small ones, which come again; addresses; such that differ in their upper half only; and multiples of 2^32.
        const uint64_t keys[] = {random >> 56, 0x7f0000000000u + i * 64, i << 40 | 5, (i % 50) << 32};
        set(&table, known, keys[i % 4], random | 1);
        assert_null(table_find(&table, UINT64_MAX - i));
    }
    assert_non_null(table_find(&table, 0)); // is among them
    compare(&table, known);
    table_finish(&table);
    assert_int_equal(table.count, 0);
    assert_null(table_find(&table, 0));
    assert_null(table_find(&table, 5));
    free(known);
}

static void zero_is_a_key(void **state) {
    (void)state;
    struct table table = {0};
    bool is_new = false;
    uint64_t *value = table_add(&table, 0, &is_new);
    assert_true(is_new && value && *value == 0);
    *value = 9;
    assert_int_equal(table.count, 1);
    assert_int_equal(*table_add(&table, 0, &is_new), 9);
    assert_false(is_new);
    assert_non_null(table_add(&table, 1, NULL));
    assert_int_equal(*table_find(&table, 0), 9);
    assert_int_equal(table.count, 2);
    table_finish(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(keys_of_every_kind), cmocka_unit_test(zero_is_a_key)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
