// SPDX-License-Identifier: Apache-2.0
// Sets of kinds have 64 bits: each kind is asked for alone, a kind of a newer version has its place, and what an older
// program left in the upper half of the set asks for nothing.
#include <stdio.h>

#include "support/test.h"
#include "tracesmith/tracesmith.h"

enum { NEWER = 40, EACH = 3 };

// A file with a batch of each kind, and one of a kind that this version does not have.
static tsmith_sbt *make_file(FILE *file) {
    tsmith_dictionary *dictionary;
    tsmith_batch *batch;
    tsmith_sink *sink;
    tsmith_sbt *trace;
    assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
    assert_int_equal(tsmith_batch_create(&batch), TSMITH_OK);
    assert_int_equal(tsmith_sbt_writer_open_fd(fileno(file), NULL, &sink, NULL), TSMITH_OK);
    for (uint32_t kind = 1; kind <= TSMITH_KIND_LIMIT; kind++) {
        tsmith_batch_reset(batch, 0);
        for (int i = 0; i < EACH; i++)
            assert_int_not_equal(
                tsmith_batch_append(batch, (tsmith_kind)(kind == TSMITH_KIND_LIMIT ? NEWER : kind), i),
                UINT32_MAX);
        assert_int_equal(tsmith_batch_finish(batch), TSMITH_OK);
        assert_int_equal(tsmith_sink_write(sink, dictionary, batch, NULL), TSMITH_OK);
    }
    assert_int_equal(tsmith_sink_finish(sink, dictionary, NULL), TSMITH_OK);
    tsmith_sink_destroy(sink);
    tsmith_batch_destroy(batch);
    tsmith_dictionary_destroy(dictionary);
    assert_int_equal(tsmith_sbt_open_fd(fileno(file), "made", &trace, NULL), TSMITH_OK);
    return trace;
}

// The kinds of what a scan yields.
static uint64_t scanned(tsmith_sbt *trace, uint64_t kinds) {
    const tsmith_scan scan = {.size = sizeof scan, .kinds = kinds};
    const tsmith_batch *batch;
    tsmith_source *source;
    uint64_t seen = 0, kind;
    assert_int_equal(tsmith_sbt_scan(trace, &scan, &source, NULL), TSMITH_OK);
    while (tsmith_source_next(source, &batch, NULL) == TSMITH_OK)
        for (uint32_t row = 0; row < tsmith_batch_count(batch); row++)
            if (tsmith_batch_get(batch, TSMITH_FIELD_KIND, row, &kind))
                seen |= TSMITH_KIND_BIT(kind);
    tsmith_source_destroy(source);
    return seen;
}

static void each_kind_is_asked_for_alone(void **state) {
    FILE *file = tmpfile();
    (void)state;
    assert_non_null(file);
    tsmith_sbt *trace = make_file(file);
    const uint64_t all = TSMITH_KIND_BIT(TSMITH_KIND_LIMIT) - 1; // the newer one is read as NONE
    assert_true(scanned(trace, 0) == all);
    for (uint32_t kind = 0; kind < TSMITH_KIND_LIMIT; kind++) {
        assert_true(scanned(trace, TSMITH_KIND_BIT(kind)) == TSMITH_KIND_BIT(kind));
        for (uint32_t bit = TSMITH_KIND_LIMIT; bit < 64; bit++) {
            assert_true(scanned(trace, TSMITH_KIND_BIT(kind) | TSMITH_KIND_BIT(bit)) ==
                        TSMITH_KIND_BIT(kind));
            assert_true(scanned(trace, TSMITH_KIND_BIT(bit)) == all);
        }
    }
    tsmith_sbt_close(trace);
    assert_int_equal(fclose(file), 0);
}

static void a_set_has_kinds_of_any_number(void **state) {
    (void)state;
    for (uint32_t kind = 0; kind < 300; kind++) {
        assert_int_equal(tsmith_kinds_have(UINT64_MAX, kind), kind < 64);
        assert_false(tsmith_kinds_have(0, kind));
        assert_int_equal(tsmith_kinds_have(TSMITH_KIND_BIT(35), kind), kind == 35);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_is_asked_for_alone),
        cmocka_unit_test(a_set_has_kinds_of_any_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
