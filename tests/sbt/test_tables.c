// SPDX-License-Identifier: Apache-2.0
// Names and tables through a file: every field of every table, strings of any bytes and sizes, tables that grow while
// the trace is written, tracks that get their name late.
#include "sbt/make.h"

#include "sbt/tables.h"

enum { STEPS = 40 };

// A process ends in padding, whose content is undefined; no other entry has any.
#define TABLES_EQUAL(name, type)                                                                             \
    assert_int_equal(tsmith_dictionary_##name##_count(a), tsmith_dictionary_##name##_count(b));              \
    for (uint32_t id = 1; id < tsmith_dictionary_##name##_count(a); id++)                                    \
        assert_memory_equal(tsmith_dictionary_##name(a, id), tsmith_dictionary_##name(b, id),                \
                            _Generic((const type *)0, const tsmith_process *                                 \
                                     : offsetof(tsmith_process, host) + sizeof(uint32_t), default            \
                                     : sizeof(type)));

static void assert_same_dictionary(const tsmith_dictionary *a, const tsmith_dictionary *b) {
    assert_int_equal(tsmith_dictionary_string_count(a), tsmith_dictionary_string_count(b));
    for (uint32_t id = 0; id < tsmith_dictionary_string_count(a); id++) {
        tsmith_string left = tsmith_dictionary_string(a, id), right = tsmith_dictionary_string(b, id);
        assert_int_equal(left.length, right.length);
        assert_memory_equal(left.bytes, right.bytes, left.length + 1);
    }
    TSMITH_DICTIONARY_TABLES(TABLES_EQUAL)
}

// Entries without padding, of random bits where any bits are allowed.
static void add_random_rows(struct random *random, tsmith_dictionary *dictionary) {
    char bytes[300];
    size_t length = random_below(random, sizeof bytes);
    for (size_t i = 0; i < length; i++)
        bytes[i] = (char)random_next(random);
    tsmith_dictionary_append_string(dictionary, bytes, length);
#define R random_next(random) >> random_below(random, 64)
#define R32 (uint32_t)(random_next(random) >> (32 + random_below(random, 32)))
    tsmith_dictionary_add_process(dictionary,
                                  &(tsmith_process){R, R, (int64_t)random_next(random), R32, R32, R32});
    tsmith_dictionary_add_device(dictionary,
                                 &(tsmith_device){R32, R32, R32, R32, R32, R32, R, R32, R32, R32, R32});
    tsmith_dictionary_add_track(
        dictionary, &(tsmith_track){(uint8_t)R32, 0, (uint16_t)R32, R32, R32, R32, R32, 0, R, R, R});
    tsmith_dictionary_add_clock(dictionary, &(tsmith_clock){R32, R32, R32, 0});
    tsmith_dictionary_add_clock_pair(dictionary, &(tsmith_clock_pair){R32, 0, (int64_t)random_next(random),
                                                                      (int64_t)random_next(random),
                                                                      (int64_t)random_next(random)});
    tsmith_dictionary_add_attribute(dictionary, &(tsmith_attribute){R32, R32});
    tsmith_dictionary_add_dynamic_field(
        dictionary,
        &(tsmith_dynamic_field){R32, R32, (uint32_t)random_below(random, TSMITH_TYPE_LIMIT - 1) + 1, 0});
    tsmith_dictionary_add_module(dictionary, &(tsmith_module){R32, R32, R32, R32});
    tsmith_dictionary_add_frame(dictionary, &(tsmith_frame){R32, R32, R});
    uint32_t stacks = tsmith_dictionary_stack_count(dictionary);
    tsmith_dictionary_add_stack(dictionary, &(tsmith_stack){(uint32_t)random_below(random, stacks), R32});
    tsmith_dictionary_add_symbol(dictionary, &(tsmith_symbol){R32, R32, R32, R32});
    tsmith_dictionary_add_rank(dictionary, &(tsmith_rank){R32, R32, R32, R32, R32, R32, R32, R32});
    tsmith_dictionary_add_part(dictionary,
                               &(tsmith_part){R32, R32, R32, R32, R32, R32, (int64_t)random_next(random),
                                              (int64_t)random_next(random)});
}

static void write_one(tsmith_sink *sink, const tsmith_dictionary *dictionary, tsmith_batch *batch) {
    tsmith_error error;
    tsmith_batch_reset(batch, 1);
    tsmith_batch_append(batch, TSMITH_KIND_MARKER, 1);
    assert_int_equal(tsmith_batch_finish(batch), TSMITH_OK);
    assert_int_equal(tsmith_sink_write(sink, dictionary, batch, &error), TSMITH_OK);
}

static void every_table_comes_back(void **state) {
    (void)state;
    struct random random = {2};
    struct made made;
    tsmith_batch *batch;
    tsmith_sink *sink;
    tsmith_error error;
    made_begin(&made);
    assert_int_equal(tsmith_dictionary_create(&made.dictionary), TSMITH_OK);
    assert_int_equal(tsmith_batch_create(&batch), TSMITH_OK);
    assert_int_equal(tsmith_sbt_writer_open(made.path, NULL, &sink, &error), TSMITH_OK);
    const uint32_t unknown =
        tsmith_dictionary_add_device(made.dictionary, &(tsmith_device){.name = 3, .process = 1});
    for (int step = 0; step < STEPS; step++) {
        for (uint64_t rows = random_below(&random, 30); rows; rows--)
            add_random_rows(&random, made.dictionary);
        write_one(sink, made.dictionary, batch);
        if (step == STEPS / 2) { // known to another dictionary, after it was written and before others are
            tsmith_dictionary_complete_device(made.dictionary, unknown,
                                              &(tsmith_device){.driver = 5, .clock_mhz = 7, .identity = 2});
            tsmith_dictionary_complete_device(
                made.dictionary, unknown,
                &(tsmith_device){
                    .driver = 6, .compute_units = 108, .process = 9, .identity = 4, .number = 3});
        }
    }
    const tsmith_device *whole = tsmith_dictionary_device(made.dictionary, unknown);
    assert_true(whole->driver == 5 && whole->clock_mhz == 7 && whole->compute_units == 108);
    assert_true(whole->identity == 2 && whole->number == 3);
    assert_true(whole->name == 3 && whole->process == 1 && whole->memory_bytes == 0);
    add_random_rows(&random, made.dictionary); // known only when the trace is finished
    tsmith_dictionary_rename_track(made.dictionary, 3, 7);
    tsmith_dictionary_rename_track(made.dictionary, tsmith_dictionary_track_count(made.dictionary) - 1, 8);
    assert_int_equal(tsmith_sink_finish(sink, made.dictionary, &error), TSMITH_OK);
    tsmith_sink_destroy(sink);
    tsmith_sbt *trace;
    const tsmith_dictionary *read;
    assert_int_equal(tsmith_sbt_open(made.path, &trace, &error), TSMITH_OK);
    assert_int_equal(tsmith_sbt_dictionary(trace, &read, &error), TSMITH_OK);
    assert_same_dictionary(made.dictionary, read);
    tsmith_sbt_close(trace);
    tsmith_batch_destroy(batch);
    made_end(&made);
}

// A stack that would be called from itself or from a later one is not read: nothing that follows parents may go round.
static void a_parent_is_before_its_stack(void **state) {
    (void)state;
    static const struct {
        uint8_t back;
        enum tables_result result;
    } rows[] = {{0, TABLES_OK}, {1, TABLES_OK}, {2, TABLES_OK}, {3, TABLES_DAMAGED}, {100, TABLES_DAMAGED}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        // table, first id, rows, columns, a plain blob of two rows: parent, frame
        const uint8_t bytes[] = {TABLE_STACKS, 2, 2, 2, 0, 4, 1, 14, rows[i].back, 1};
        struct scratch scratch = {0};
        uint64_t left = 4 * SBT_STACK_COST;
        tsmith_dictionary *dictionary;
        assert_int_equal(tsmith_dictionary_create(&dictionary), TSMITH_OK);
        assert_int_equal(
            tables_read((struct input){bytes, bytes + sizeof bytes}, &scratch, dictionary, &left),
            rows[i].result);
        if (rows[i].result == TABLES_OK) {
            assert_int_equal(tsmith_dictionary_stack_count(dictionary), 4);
            assert_int_equal(tsmith_dictionary_stack(dictionary, 2)->parent, 1);
            assert_int_equal(tsmith_dictionary_stack(dictionary, 2)->frame, 7);
            assert_int_equal(tsmith_dictionary_stack(dictionary, 3)->parent,
                             rows[i].back ? 3 - rows[i].back : 0);
            assert_int_equal(tsmith_dictionary_stack(dictionary, 3)->frame, 6);
            assert_int_equal(left, SBT_STACK_COST);
        } else {
            assert_int_equal(tsmith_dictionary_stack_count(dictionary), 1);
        }
        scratch_finish(&scratch);
        tsmith_dictionary_destroy(dictionary);
    }
}

static void very_long_strings_come_back_or_are_refused(void **state) {
    (void)state;
    enum { LONGEST = 64 << 20 };
    struct made made;
    tsmith_batch *batch;
    tsmith_sink *sink;
    tsmith_error error;
    struct random random = {4};
    made_begin(&made);
    assert_int_equal(tsmith_dictionary_create(&made.dictionary), TSMITH_OK);
    assert_int_equal(tsmith_batch_create(&batch), TSMITH_OK);
    char *bytes = malloc(LONGEST + 1);
    assert_non_null(bytes);
    for (size_t i = 0; i <= LONGEST; i++)
        bytes[i] = (char)(random_next(&random) >> 60);
    assert_int_equal(tsmith_sbt_writer_open(made.path, NULL, &sink, &error), TSMITH_OK);
    tsmith_dictionary_intern(made.dictionary, bytes, LONGEST);
    bytes[0] = 'x';
    tsmith_dictionary_intern(made.dictionary, bytes, LONGEST);
    write_one(sink, made.dictionary, batch);
    assert_int_equal(tsmith_sink_finish(sink, made.dictionary, &error), TSMITH_OK);
    tsmith_sink_destroy(sink);
    tsmith_sbt *trace;
    const tsmith_dictionary *read;
    assert_int_equal(tsmith_sbt_open(made.path, &trace, &error), TSMITH_OK);
    assert_int_equal(tsmith_sbt_dictionary(trace, &read, &error), TSMITH_OK);
    assert_same_dictionary(made.dictionary, read);
    tsmith_sbt_close(trace);
    // One byte more is too long.
    assert_int_equal(tsmith_sbt_writer_open(made.path, NULL, &sink, &error), TSMITH_OK);
    tsmith_dictionary_intern(made.dictionary, bytes, LONGEST + 1);
    assert_int_equal(tsmith_sink_finish(sink, made.dictionary, &error), TSMITH_ERROR_LIMIT);
    assert_non_null(strstr(error.message, "67108865 bytes"));
    tsmith_sink_destroy(sink);
    free(bytes);
    tsmith_batch_destroy(batch);
    made_end(&made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_table_comes_back),
        cmocka_unit_test(a_parent_is_before_its_stack),
        cmocka_unit_test(very_long_strings_come_back_or_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
