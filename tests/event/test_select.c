// SPDX-License-Identifier: Apache-2.0
// Some rows of a batch, compared value by value with the rows of the whole one.
#include "support/test.h"

#include <stdlib.h>

#include "event/select.h"

enum { ROWS = 1000, DYNAMIC = TSMITH_FIELD_DYNAMIC + 3 };

static tsmith_batch *make(uint32_t rows) {
    static const tsmith_kind KINDS[] = {TSMITH_KIND_KERNEL, TSMITH_KIND_MEMCPY, TSMITH_KIND_API};
    const uint64_t list[] = {7, 8, 9};
    tsmith_batch *batch;
    assert_int_equal(tsmith_batch_create(&batch), TSMITH_OK);
    tsmith_batch_reset(batch, 5);
    for (uint32_t row = 0; row < rows; row++) {
        tsmith_batch_append(batch, KINDS[row * 7 % 3], 100 + row / 2);
        if (row % 3)
            tsmith_batch_set(batch, TSMITH_FIELD_DURATION, row);
        tsmith_batch_set(batch, TSMITH_FIELD_NAME, row % 11);
        tsmith_batch_set(batch, TSMITH_FIELD_BLOCKING, row % 2);
        if (row % 5)
            tsmith_batch_set_list(batch, TSMITH_FIELD_WAITS, list, row % 4);
        if (row % 7 == 0)
            tsmith_batch_set_dynamic(batch, DYNAMIC, TSMITH_TYPE_F64, row * 3);
    }
    assert_int_equal(tsmith_batch_finish(batch), TSMITH_OK);
    return batch;
}

static void same_list(const tsmith_batch *a, uint32_t row_a, const tsmith_batch *b, uint32_t row_b) {
    tsmith_column of_a, of_b;
    const int has = tsmith_batch_column(a, TSMITH_FIELD_WAITS, &of_a) && tsmith_column_has(&of_a, row_a);
    assert_int_equal(has,
                     tsmith_batch_column(b, TSMITH_FIELD_WAITS, &of_b) && tsmith_column_has(&of_b, row_b));
    if (!has)
        return;
    const uint32_t length = of_a.offsets[row_a + 1] - of_a.offsets[row_a];
    assert_int_equal(length, of_b.offsets[row_b + 1] - of_b.offsets[row_b]);
    assert_memory_equal((const uint64_t *)of_a.values + of_a.offsets[row_a],
                        (const uint64_t *)of_b.values + of_b.offsets[row_b], length * sizeof(uint64_t));
}

static void same_row(const tsmith_batch *a, uint32_t row_a, const tsmith_batch *b, uint32_t row_b) {
    static const uint32_t FIELDS[] = {TSMITH_FIELD_START, TSMITH_FIELD_KIND,     TSMITH_FIELD_DURATION,
                                      TSMITH_FIELD_NAME,  TSMITH_FIELD_BLOCKING, DYNAMIC};
    for (size_t i = 0; i < sizeof FIELDS / sizeof *FIELDS; i++) {
        uint64_t of_a = 0, of_b = 0;
        assert_int_equal(tsmith_batch_get(a, FIELDS[i], row_a, &of_a),
                         tsmith_batch_get(b, FIELDS[i], row_b, &of_b));
        assert_int_equal(of_a, of_b);
    }
    same_list(a, row_a, b, row_b);
}

static void check(const tsmith_batch *whole, uint64_t kinds, int64_t from, int64_t to) {
    uint32_t *rows = calloc(ROWS + 1, sizeof *rows), expected = 0;
    tsmith_batch *some;
    assert_non_null(rows);
    assert_int_equal(tsmith_batch_create(&some), TSMITH_OK);
    const uint32_t count = select_rows(whole, kinds, from, to, rows);
    assert_int_equal(select_batch(some, whole, rows, count), TSMITH_OK);
    assert_int_equal(tsmith_batch_count(some), count);
    for (uint32_t row = 0; row < tsmith_batch_count(whole); row++) {
        uint64_t kind = 0, start = 0;
        assert_true(tsmith_batch_get(whole, TSMITH_FIELD_KIND, row, &kind));
        assert_true(tsmith_batch_get(whole, TSMITH_FIELD_START, row, &start));
        if ((kinds && !(kinds & TSMITH_KIND_BIT(kind))) || (int64_t)start < from || (int64_t)start >= to)
            continue;
        assert_true(expected < count);
        same_row(whole, row, some, expected++);
    }
    assert_int_equal(expected, count);
    if (count)
        assert_int_equal(tsmith_batch_track(some), 5);
    tsmith_batch_destroy(some);
    free(rows);
}

static void rows_are_those_asked_for(void **state) {
    (void)state;
    tsmith_batch *whole = make(ROWS);
    const uint64_t kinds[] = {0, TSMITH_KIND_BIT(TSMITH_KIND_KERNEL),
                              TSMITH_KIND_BIT(TSMITH_KIND_MEMCPY) | TSMITH_KIND_BIT(TSMITH_KIND_API),
                              TSMITH_KIND_BIT(TSMITH_KIND_RANGE)};
    const int64_t times[] = {INT64_MIN, 100, 101, 350, 599, 600, INT64_MAX};
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
        for (size_t from = 0; from < sizeof times / sizeof *times; from++)
            for (size_t to = 0; to < sizeof times / sizeof *times; to++)
                check(whole, kinds[kind], times[from], times[to]);
    tsmith_batch_destroy(whole);
}

static void empty_batch(void **state) {
    (void)state;
    tsmith_batch *none = make(0);
    check(none, 0, INT64_MIN, INT64_MAX);
    tsmith_batch_destroy(none);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_those_asked_for),
                                       cmocka_unit_test(empty_batch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
