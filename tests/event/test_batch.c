// SPDX-License-Identifier: Apache-2.0
// Batches compared with a table of rows.
#include "support/test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "event/batch.h"
#include "event/sort.h"

enum { ROWS = 5000, DYNAMIC = TSMITH_FIELD_DYNAMIC + 3 };

struct row {
    int64_t start;
    uint64_t order; // position before sorting: what a stable sort keeps
    bool has_bytes, has_value, has_waits;
    uint64_t bytes, value;
    uint64_t waits[4];
    uint32_t wait_count;
};

static int by_start(const void *a, const void *b) {
    const struct row *left = a, *right = b;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

static struct row make_row(struct random *random, uint64_t order) {
    struct row row = {.start = (int64_t)random_below(random, ROWS / 2), .order = order};
    row.has_bytes = random_below(random, 3) != 0;
    row.bytes = random_next(random);
    row.has_value = order > 700 && random_below(random, 2) != 0;
    row.value = random_next(random);
    row.has_waits = random_below(random, 4) == 0;
    row.wait_count = (uint32_t)random_below(random, 5);
    for (uint32_t i = 0; i < 4; i++)
        row.waits[i] = random_next(random);
    return row;
}

static void put_row(tsmith_batch *batch, const struct row *row) {
    assert_int_not_equal(tsmith_batch_append(batch, TSMITH_KIND_KERNEL, row->start), UINT32_MAX);
    assert_int_equal(tsmith_batch_set(batch, TSMITH_FIELD_CORRELATION, row->order), TSMITH_OK);
    if (row->has_bytes)
        assert_int_equal(tsmith_batch_set(batch, TSMITH_FIELD_BYTES, row->bytes), TSMITH_OK);
    if (row->has_value)
        assert_int_equal(tsmith_batch_set_dynamic(batch, DYNAMIC, TSMITH_TYPE_U32, row->value), TSMITH_OK);
    if (row->has_waits)
        assert_int_equal(tsmith_batch_set_list(batch, TSMITH_FIELD_WAITS, row->waits, row->wait_count),
                         TSMITH_OK);
}

static void check_row(const tsmith_batch *batch, uint32_t at, const struct row *row) {
    uint64_t bits;
    assert_true(tsmith_batch_get(batch, TSMITH_FIELD_START, at, &bits));
    assert_int_equal(bits, row->start);
    assert_true(tsmith_batch_get(batch, TSMITH_FIELD_CORRELATION, at, &bits));
    assert_int_equal(bits, row->order);
    assert_int_equal(tsmith_batch_get(batch, TSMITH_FIELD_BYTES, at, &bits), row->has_bytes);
    if (row->has_bytes)
        assert_int_equal(bits, row->bytes);
    assert_int_equal(tsmith_batch_get(batch, DYNAMIC, at, &bits), row->has_value);
    if (row->has_value)
        assert_int_equal(bits, (uint32_t)row->value);
    tsmith_column waits;
    assert_true(tsmith_batch_column(batch, TSMITH_FIELD_WAITS, &waits));
    assert_int_equal(tsmith_column_has(&waits, at), row->has_waits);
    uint32_t count = waits.offsets[at + 1] - waits.offsets[at];
    assert_int_equal(count, row->has_waits ? row->wait_count : 0);
    const uint64_t *values = waits.values;
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(values[waits.offsets[at] + i], row->waits[i]);
}

static void rows_come_back_sorted_and_whole(void **state) {
    (void)state;
    struct random random = {42};
    static struct row rows[ROWS];
    tsmith_batch *batch;
    assert_int_equal(tsmith_batch_create(&batch), TSMITH_OK);
    for (uint32_t round = 0; round < 4; round++) { // the same memory again and again
        tsmith_batch_reset(batch, round);
        for (uint32_t i = 0; i < ROWS; i++) {
            rows[i] = make_row(&random, i);
            put_row(batch, &rows[i]);
        }
        assert_int_equal(tsmith_batch_finish(batch), TSMITH_OK);
        qsort(rows, ROWS, sizeof *rows, by_start);
        assert_int_equal(tsmith_batch_count(batch), ROWS);
        assert_int_equal(tsmith_batch_track(batch), round);
        for (uint32_t i = 0; i < ROWS; i++)
            check_row(batch, i, &rows[i]);
        for (uint32_t i = 1; i < tsmith_batch_column_count(batch); i++)
            assert_true(tsmith_batch_column_at(batch, i - 1).field < tsmith_batch_column_at(batch, i).field);
        tsmith_column starts;
        assert_true(tsmith_batch_column(batch, TSMITH_FIELD_START, &starts));
        assert_null(starts.valid);
    }
    tsmith_batch_destroy(batch);
}

static void bounds_span_the_longest_event(void **state) {
    (void)state;
    tsmith_batch *batch;
    assert_int_equal(tsmith_batch_create(&batch), TSMITH_OK);
    tsmith_batch_reset(batch, 1);
    (void)tsmith_batch_append(batch, TSMITH_KIND_RANGE, 100);
    assert_int_equal(tsmith_batch_set(batch, TSMITH_FIELD_DURATION, 900), TSMITH_OK);
    (void)tsmith_batch_append(batch, TSMITH_KIND_MARKER, 500);
    (void)tsmith_batch_append(batch, TSMITH_KIND_RANGE, -50);
    assert_int_equal(tsmith_batch_set(batch, TSMITH_FIELD_DURATION, INT64_MAX), TSMITH_OK);
    assert_int_equal(tsmith_batch_finish(batch), TSMITH_OK);
    assert_int_equal(tsmith_batch_first_start(batch), -50);
    assert_int_equal(tsmith_batch_last_end(batch), INT64_MAX - 50);
    tsmith_batch_destroy(batch);
}

static void a_full_batch_takes_no_more(void **state) {
    (void)state;
    tsmith_batch *batch;
    assert_int_equal(tsmith_batch_create(&batch), TSMITH_OK);
    tsmith_batch_reset(batch, 1);
    assert_int_equal(tsmith_batch_set(batch, TSMITH_FIELD_BYTES, 1), TSMITH_ERROR_INVALID_ARGUMENT);
    for (uint32_t i = 0; i < TSMITH_BATCH_MAX; i++)
        assert_int_equal(tsmith_batch_append(batch, TSMITH_KIND_MARKER, i), i);
    assert_int_equal(tsmith_batch_append(batch, TSMITH_KIND_MARKER, 0), UINT32_MAX);
    assert_int_equal(tsmith_batch_set(batch, 999, 1), TSMITH_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tsmith_batch_set_dynamic(batch, TSMITH_FIELD_BYTES, TSMITH_TYPE_U8, 1), TSMITH_OK);
    assert_int_equal(tsmith_batch_set_dynamic(batch, TSMITH_FIELD_BYTES, TSMITH_TYPE_U64, 1),
                     TSMITH_ERROR_INVALID_ARGUMENT);
    assert_int_equal(batch_begin_columns(batch, 1, TSMITH_BATCH_MAX + 1), TSMITH_ERROR_LIMIT);
    tsmith_batch_destroy(batch);
}

static void whole_columns_are_what_was_filled(void **state) {
    (void)state;
    tsmith_batch *batch;
    assert_int_equal(tsmith_batch_create(&batch), TSMITH_OK);
    assert_int_equal(batch_begin_columns(batch, 9, 3), TSMITH_OK);
    uint64_t *valid;
    uint32_t *offsets;
    int64_t *starts = batch_add_column(batch, TSMITH_FIELD_START, TSMITH_TYPE_TIME, NULL);
    uint64_t *waits = batch_add_list_column(batch, TSMITH_FIELD_WAITS, 2, &offsets, NULL);
    uint32_t *names = batch_add_column(batch, TSMITH_FIELD_NAME, TSMITH_TYPE_STRING, &valid);
    assert_null(batch_add_column(batch, TSMITH_FIELD_NAME, TSMITH_TYPE_STRING, NULL));
    for (int i = 0; i < 3; i++)
        starts[i] = 10 * i;
    memcpy(offsets, (uint32_t[]){0, 0, 2, 2}, 4 * sizeof *offsets);
    waits[0] = 5;
    waits[1] = 6;
    names[1] = 77;
    valid[0] = 2;
    batch_set_bounds(batch, 0, 25);
    uint64_t bits;
    assert_true(tsmith_batch_get(batch, TSMITH_FIELD_NAME, 1, &bits));
    assert_int_equal(bits, 77);
    assert_false(tsmith_batch_get(batch, TSMITH_FIELD_NAME, 0, &bits));
    assert_false(tsmith_batch_get(batch, TSMITH_FIELD_NAME, 3, &bits));
    assert_int_equal(tsmith_batch_column_at(batch, 0).field, TSMITH_FIELD_START);
    assert_int_equal(tsmith_batch_column_at(batch, 1).field, TSMITH_FIELD_NAME);
    assert_int_equal(tsmith_batch_last_end(batch), 25);
    tsmith_batch_destroy(batch);
}

static void sorting_agrees_with_the_definition(void **state) {
    (void)state;
    struct random random = {7};
    enum { MOST = 600 };
    int64_t times[MOST];
    uint32_t order[MOST], scratch[MOST];
    for (uint32_t count = 0; count < MOST; count += 1 + count / 8) {
        for (uint64_t spread = 1; spread < 1000000; spread *= 31) {
            const bool few_late = count % 2; // of rows that are thrice at the same time
            for (uint32_t i = 0; i < count; i++)
                times[i] = (int64_t)random_below(&random, spread) - (int64_t)(spread / 2) +
                           (spread > 500 ? i * 9 : 0);
            for (uint32_t i = 0; few_late && i < count; i++)
                times[i] = i / 3 - (random_below(&random, 12) ? 0 : (int64_t)random_below(&random, spread));
            sort_order_by_time(times, count, order, scratch);
            for (uint32_t i = 1; i < count; i++) {
                bool ascends = times[order[i - 1]] < times[order[i]] ||
                               (times[order[i - 1]] == times[order[i]] && order[i - 1] < order[i]);
                assert_true(ascends);
            }
            bool seen[MOST] = {false};
            for (uint32_t i = 0; i < count; i++) {
                assert_true(order[i] < count && !seen[order[i]]);
                seen[order[i]] = true;
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back_sorted_and_whole),
        cmocka_unit_test(bounds_span_the_longest_event),
        cmocka_unit_test(a_full_batch_takes_no_more),
        cmocka_unit_test(whole_columns_are_what_was_filled),
        cmocka_unit_test(sorting_agrees_with_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
