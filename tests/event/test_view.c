// SPDX-License-Identifier: Apache-2.0
// Views against the rows that a batch was made from: every value that was set is known and the same, every other is unknown,
// whatever is in the memory of its column.
#include "support/test.h"

#include <stdbool.h>
#include <string.h>

#include "event/batch.h"
#include "tracesmith/view.h"

enum { ROWS = 1000, DYNAMIC = TSMITH_FIELD_DYNAMIC + 7, UNTOUCHED = 77 };

enum { START, KIND, DURATION, BYTES, NAME, VALUE, WAITS, LINE, OPERATION, FIELDS };

static const uint32_t fields[FIELDS] = {
    [START] = TSMITH_FIELD_START, [KIND] = TSMITH_FIELD_KIND, [DURATION] = TSMITH_FIELD_DURATION,
    [BYTES] = TSMITH_FIELD_BYTES, [NAME] = TSMITH_FIELD_NAME, [VALUE] = TSMITH_FIELD_VALUE,
    [WAITS] = TSMITH_FIELD_WAITS, [LINE] = TSMITH_FIELD_LINE, [OPERATION] = TSMITH_FIELD_OPERATION};

struct row {
    bool has[FIELDS];
    uint64_t bits[FIELDS];
    uint64_t waits[3];
};

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// `every`: percent of the rows that have a field.
static tsmith_batch *make(struct random *random, struct row rows[ROWS], uint64_t every) {
    tsmith_batch *batch;
    assert_int_equal(tsmith_batch_create(&batch), TSMITH_OK);
    tsmith_batch_reset(batch, 3);
    for (uint32_t i = 0; i < ROWS; i++) {
        struct row *row = &rows[i];
        for (int field = DURATION; field < FIELDS; field++) {
            row->has[field] = random_below(random, 100) < every;
            row->bits[field] =
                random_below(random, 2) ? 0 : random_below(random, 200); // 0 is a value like others
        }
        row->bits[VALUE] = bits_of((double)row->bits[VALUE]);
        assert_int_not_equal(tsmith_batch_append(batch, TSMITH_KIND_KERNEL, (int64_t)i * 10 - 500),
                             UINT32_MAX);
        for (int field = DURATION; field < FIELDS; field++) {
            row->waits[field % 3] = i;
            if (row->has[field] && field == WAITS)
                assert_int_equal(tsmith_batch_set_list(batch, TSMITH_FIELD_WAITS, row->waits, i % 4),
                                 TSMITH_OK);
            else if (row->has[field])
                assert_int_equal(tsmith_batch_set(batch, fields[field], row->bits[field]), TSMITH_OK);
        }
    }
    assert_int_equal(tsmith_batch_finish(batch), TSMITH_OK);
    return batch;
}

static void check_row(const tsmith_view views[FIELDS], uint32_t at, const struct row *row) {
    int64_t duration = UNTOUCHED;
    uint64_t bytes = UNTOUCHED, bits = UNTOUCHED;
    uint32_t line = UNTOUCHED;
    double value = UNTOUCHED;
    const uint64_t *waits = NULL;
    assert_int_equal(tsmith_view_i64(&views[DURATION], at, &duration) != 0, row->has[DURATION]);
    assert_int_equal(duration, row->has[DURATION] ? (int64_t)row->bits[DURATION] : UNTOUCHED);
    assert_int_equal(tsmith_view_i64_or(&views[DURATION], at, -1),
                     row->has[DURATION] ? (int64_t)row->bits[DURATION] : -1);
    assert_int_equal(tsmith_view_u64(&views[BYTES], at, &bytes) != 0, row->has[BYTES]);
    assert_int_equal(bytes, row->has[BYTES] ? row->bits[BYTES] : UNTOUCHED);
    assert_int_equal(tsmith_view_bits(&views[LINE], at, &bits) != 0, row->has[LINE]);
    assert_int_equal(bits, row->has[LINE] ? row->bits[LINE] : UNTOUCHED);
    assert_int_equal(tsmith_view_u32(&views[LINE], at, &line) != 0, row->has[LINE]);
    assert_int_equal(line, row->has[LINE] ? row->bits[LINE] : UNTOUCHED);
    assert_int_equal(tsmith_view_f64(&views[VALUE], at, &value) != 0, row->has[VALUE]);
    assert_int_equal(bits_of(value), row->has[VALUE] ? row->bits[VALUE] : bits_of(UNTOUCHED));
    assert_int_equal(tsmith_view_id(&views[NAME], at), row->has[NAME] ? row->bits[NAME] : 0);
    assert_int_equal(tsmith_view_word(&views[OPERATION], at), row->has[OPERATION] ? row->bits[OPERATION] : 0);
    const uint32_t count = tsmith_view_list(&views[WAITS], at, &waits);
    assert_int_equal(count, row->has[WAITS] ? at % 4 : 0);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(waits[i], row->waits[i]);
}

static void check_batch(const tsmith_batch *batch, const struct row rows[ROWS]) {
    tsmith_view views[FIELDS];
    tsmith_view_batch(batch, fields, FIELDS, views);
    const int64_t *starts = tsmith_view_every(&views[START]);
    const uint8_t *kinds = tsmith_view_every(&views[KIND]);
    assert_non_null(starts);
    assert_non_null(kinds);
    for (uint32_t at = 0; at < ROWS; at++) {
        assert_int_equal(starts[at], (int64_t)at * 10 - 500);
        assert_int_equal(kinds[at], TSMITH_KIND_KERNEL);
        check_row(views, at, &rows[at]);
    }
}

static void a_view_gives_what_was_set_and_says_what_was_not(void **state) {
    static const uint64_t shares[] = {0, 1, 50, 99, 100};
    static struct row rows[ROWS];
    struct random random = {7};
    (void)state;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        tsmith_batch *batch = make(&random, rows, shares[i]);
        check_batch(batch, rows);
        tsmith_view views[FIELDS];
        tsmith_view_batch(batch, fields, FIELDS, views);
        assert_int_equal(tsmith_view_exists(&views[BYTES]) != 0, shares[i] > 0);
        assert_int_equal(tsmith_view_every(&views[BYTES]) != NULL, shares[i] == 100);
        // Every column of the batch is found by its place as well.
        for (uint32_t at = 0; at < tsmith_batch_column_count(batch); at++) {
            const tsmith_view view = tsmith_view_at(batch, at);
            const tsmith_view again = tsmith_view_typed(batch, view.field, view.type);
            assert_ptr_equal(view.values, again.values);
            assert_true(tsmith_view_exists(&view));
        }
        tsmith_batch_destroy(batch);
    }
}

static void fields_that_are_not_there_are_unknown_in_every_row(void **state) {
    static struct row rows[ROWS];
    struct random random = {8};
    tsmith_batch *batch = make(&random, rows, 100);
    const tsmith_view views[] = {tsmith_view_typed(batch, 0, TSMITH_TYPE_U64),
                                 tsmith_view_typed(batch, DYNAMIC, TSMITH_TYPE_I64),
                                 tsmith_view_typed(batch, TSMITH_FIELD_LINE, TSMITH_TYPE_U64)}; // it is a U32
    (void)state;
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        assert_false(tsmith_view_exists(&views[i]));
        assert_null(tsmith_view_every(&views[i]));
        for (uint32_t row = 0; row < TSMITH_BATCH_MAX; row++) {
            uint64_t bits;
            const uint64_t *list;
            assert_false(tsmith_view_has(&views[i], row));
            assert_false(tsmith_view_bits(&views[i], row, &bits));
            assert_int_equal(tsmith_view_list(&views[i], row, &list), 0);
        }
    }
    tsmith_batch_destroy(batch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_view_gives_what_was_set_and_says_what_was_not),
        cmocka_unit_test(fields_that_are_not_there_are_unknown_in_every_row),
    };
    return cmocka_run_group_tests_name("view", tests, NULL, NULL);
}
