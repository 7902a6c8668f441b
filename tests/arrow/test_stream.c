// SPDX-License-Identifier: Apache-2.0
// Batches as Arrow arrays: every array keeps the rules of the C data interface, and its values are those of the
// batches. Arrays are moved, outlive everything they were made of, and are released in awkward orders and threads.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/arrow_rules.h"

enum { BATCHES_MOST = 64 };

static void check_bits(const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t row,
                       uint64_t bits) {
    const int64_t at = row + array->offset;
    uint64_t got = 0;
    switch (*schema->format) {
    case 'b':
        got = arrow_bit(array->buffers[1], at);
        break;
    case 'C':
        got = ((const uint8_t *)array->buffers[1])[at];
        break;
    case 'I':
        got = ((const uint32_t *)array->buffers[1])[at];
        break;
    default:
        got = ((const uint64_t *)array->buffers[1])[at];
    }
    assert_true(got == bits);
}

static void check_list(const struct ArrowArray *array, const tsmith_column *column, int64_t row) {
    const int32_t *offsets = (const int32_t *)array->buffers[1] + array->offset;
    const uint32_t from = column->offsets[row], to = column->offsets[row + 1];
    assert_int_equal(offsets[row + 1] - offsets[row], to - from);
    for (uint32_t i = 0; i < to - from; i++)
        assert_true(((const uint64_t *)array->children[0]->buffers[1])[(uint32_t)offsets[row] + i] ==
                    ((const uint64_t *)column->values)[from + i]);
}

// Every value of the array is that of the batch, and every string that of the dictionary.
static void check_batch(const struct ArrowSchema *schema, const struct ArrowArray *array,
                        const tsmith_batch *batch, const tsmith_dictionary *dictionary,
                        const uint32_t *fields, size_t field_count) {
    assert_int_equal(array->length, tsmith_batch_count(batch));
    assert_int_equal(schema->n_children, field_count + 1);
    for (int64_t row = 0; row < array->length; row++)
        check_bits(schema->children[0], array->children[0], row, tsmith_batch_track(batch));
    for (size_t i = 0; i < field_count; i++) {
        const struct ArrowSchema *type = schema->children[i + 1];
        const struct ArrowArray *values = array->children[i + 1];
        tsmith_column column;
        const bool there = tsmith_batch_column(batch, fields[i], &column);
        for (int64_t row = 0; row < array->length; row++) {
            uint64_t bits;
            const bool known = there && tsmith_column_has(&column, (uint32_t)row);
            assert_int_equal(arrow_is_valid(values, row), known);
            if (known && column.type == TSMITH_TYPE_LIST) {
                check_list(values, &column, row);
            } else if (known) {
                assert_true(tsmith_batch_get(batch, fields[i], (uint32_t)row, &bits));
                check_bits(type, values, row, bits);
            }
            if (known && column.type == TSMITH_TYPE_STRING) {
                const tsmith_string expected = tsmith_dictionary_string(dictionary, (uint32_t)bits);
                const tsmith_string got = utf8_text_at(values->dictionary, (int64_t)bits);
                if (arrow_is_utf8((const unsigned char *)expected.bytes, expected.length)) {
                    assert_int_equal(got.length, expected.length);
                    assert_memory_equal(got.bytes, expected.bytes, got.length);
                } else {
                    assert_int_equal(got.length, sizeof "a\xef\xbf\xbd\xef\xbf\xbd\0b" - 1);
                    assert_memory_equal(got.bytes, "a\xef\xbf\xbd\xef\xbf\xbd\0b", got.length);
                }
            }
            if (known && column.type == TSMITH_TYPE_KIND) {
                const tsmith_string got = utf8_text_at(values->dictionary, (int64_t)bits);
                const char *expected = tsmith_kind_name((tsmith_kind)bits);
                assert_int_equal(got.length, strlen(expected));
                assert_memory_equal(got.bytes, expected, got.length);
            }
        }
    }
}

static size_t every_field(const tsmith_dictionary *dictionary, uint32_t *fields) {
    size_t count = 0;
    for (uint32_t field = 1; field < TSMITH_FIELD_LIMIT; field++)
        if (tsmith_field_describe(field))
            fields[count++] = field;
    for (uint32_t id = 1; id < tsmith_dictionary_dynamic_field_count(dictionary); id++)
        fields[count++] = TSMITH_FIELD_DYNAMIC + id;
    return count;
}

// Reads all arrays, releases the stream and closes the file, and only then compares them with a second scan of the file.
static void check_file(const uint32_t *asked, size_t asked_count) {
    struct made_trace made;
    FILE *file;
    tsmith_sbt *trace = arrow_make_file(&file, &made);
    tsmith_source *source;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema, again;
    struct ArrowArray arrays[BATCHES_MOST], end;
    const tsmith_batch *batch;
    uint32_t fields[TSMITH_FIELD_LIMIT + 16];
    size_t count = 0, checked = 0;
    const tsmith_arrow_options options = {
        .size = sizeof options, .fields = asked, .field_count = asked_count};
    assert_int_equal(tsmith_sbt_scan(trace, NULL, &source, NULL), TSMITH_OK);
    assert_int_equal(tsmith_arrow_source(source, asked ? &options : NULL, &stream, NULL), TSMITH_OK);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    for (; count < BATCHES_MOST; count++) {
        assert_int_equal(stream.get_next(&stream, &arrays[count]), 0);
        if (!arrays[count].release)
            break;
    }
    assert_true(count > 5 && count < BATCHES_MOST);
    assert_int_equal(stream.get_next(&stream, &end), 0); // the end stays the end
    assert_null(end.release);
    assert_null(stream.get_last_error(&stream));
    assert_int_equal(stream.get_schema(&stream, &again), 0);
    assert_int_equal(again.n_children, schema.n_children);
    arrow_drop_schema(&again);
    arrow_drop_stream(&stream);
    tsmith_sbt_close(trace);

    assert_int_equal(tsmith_sbt_open_fd(fileno(file), "made", &trace, NULL), TSMITH_OK);
    assert_int_equal(tsmith_sbt_scan(trace, NULL, &source, NULL), TSMITH_OK);
    const tsmith_dictionary *dictionary = tsmith_source_dictionary(source);
    const size_t field_count = asked ? asked_count : every_field(dictionary, fields);
    arrow_check_schema(&schema);
    for (; tsmith_source_next(source, &batch, NULL) == TSMITH_OK; checked++) {
        assert_true(checked < count);
        arrow_check_array(&schema, &arrays[checked]);
        check_batch(&schema, &arrays[checked], batch, dictionary, asked ? asked : fields, field_count);
    }
    assert_int_equal(checked, count);
    tsmith_source_destroy(source);
    tsmith_sbt_close(trace);
    for (size_t i = count; i-- > 0;)
        arrow_drop_array(&arrays[i]);
    arrow_drop_schema(&schema);
    assert_int_equal(fclose(file), 0);
    made_trace_finish(&made);
}

static void batches_become_arrays(void **state) {
    (void)state;
    check_file(NULL, 0);
}

static void fields_are_chosen(void **state) {
    static const uint32_t FIELDS[] = {TSMITH_FIELD_NAME, TSMITH_FIELD_START, TSMITH_FIELD_WAITS,
                                      TSMITH_FIELD_LINE, TSMITH_FIELD_DYNAMIC + 1};
    (void)state;
    check_file(FIELDS, sizeof FIELDS / sizeof *FIELDS);
}

static void names_are_unique(void **state) {
    struct made_trace made;
    FILE *file;
    tsmith_sbt *trace = arrow_make_file(&file, &made);
    tsmith_source *source;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    (void)state;
    assert_int_equal(tsmith_sbt_scan(trace, NULL, &source, NULL), TSMITH_OK);
    assert_int_equal(tsmith_arrow_source(source, NULL, &stream, NULL), TSMITH_OK);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    assert_true(arrow_column_named(&schema, "args.ratio") > 0);
    assert_true(arrow_column_named(&schema, "args.ratio (STRING)") > 0);
    assert_true(arrow_column_named(&schema, "args.sm\xef\xbf\xbd") > 0);
    for (int64_t i = 0; i < schema.n_children; i++)
        assert_int_equal(arrow_column_named(&schema, schema.children[i]->name), i);
    arrow_drop_schema(&schema);
    arrow_drop_stream(&stream);
    tsmith_sbt_close(trace);
    assert_int_equal(fclose(file), 0);
    made_trace_finish(&made);
}

// ---- moving and releasing

static void *drop_in_thread(void *context) {
    arrow_drop_array(context);
    return NULL;
}

// Children and dictionaries that were moved out live on when their parent is released, and the other way round.
static void parts_are_moved(void **state) {
    struct made_trace made;
    FILE *file;
    tsmith_sbt *trace = arrow_make_file(&file, &made);
    tsmith_source *source;
    struct ArrowArrayStream stream, moved;
    struct ArrowSchema schema;
    struct ArrowArray array, columns[TSMITH_FIELD_LIMIT + 16], dictionaries[TSMITH_FIELD_LIMIT + 16];
    pthread_t threads[TSMITH_FIELD_LIMIT + 16];
    (void)state;
    assert_int_equal(tsmith_sbt_scan(trace, NULL, &source, NULL), TSMITH_OK);
    assert_int_equal(tsmith_arrow_source(source, NULL, &stream, NULL), TSMITH_OK);
    moved = stream; // as the specification allows
    stream.release = NULL;
    assert_int_equal(moved.get_schema(&moved, &schema), 0);
    assert_int_equal(moved.get_next(&moved, &array), 0);
    const int64_t count = array.n_children;
    for (int64_t i = 0; i < count; i++) {
        columns[i] = *array.children[i];
        array.children[i]->release = NULL;
    }
    arrow_drop_array(&array);
    arrow_drop_stream(&moved);
    tsmith_sbt_close(trace);
    for (int64_t i = 0; i < count; i++) {
        arrow_check_array(schema.children[i], &columns[i]);
        dictionaries[i].release = NULL;
        if (columns[i].dictionary) {
            dictionaries[i] = *columns[i].dictionary;
            columns[i].dictionary->release = NULL;
        }
        assert_int_equal(pthread_create(&threads[i], NULL, drop_in_thread, &columns[i]), 0);
    }
    for (int64_t i = 0; i < count; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        if (!dictionaries[i].release)
            continue;
        arrow_check_array(schema.children[i]->dictionary, &dictionaries[i]);
        arrow_drop_array(&dictionaries[i]);
    }
    struct ArrowSchema child = *schema.children[4];
    schema.children[4]->release = NULL;
    arrow_drop_schema(&schema);
    arrow_check_schema(&child);
    arrow_drop_schema(&child);
    assert_int_equal(fclose(file), 0);
    made_trace_finish(&made);
}

static void a_stream_is_released_at_once(void **state) {
    struct made_trace made;
    FILE *file;
    tsmith_sbt *trace = arrow_make_file(&file, &made);
    tsmith_source *source;
    struct ArrowArrayStream stream;
    (void)state;
    assert_int_equal(tsmith_sbt_scan(trace, NULL, &source, NULL), TSMITH_OK);
    assert_int_equal(tsmith_arrow_source(source, NULL, &stream, NULL), TSMITH_OK);
    arrow_drop_stream(&stream);
    tsmith_sbt_close(trace);
    assert_int_equal(fclose(file), 0);
    made_trace_finish(&made);
}

// ---- sources that are awkward

enum step {
    STEP_BATCH,
    STEP_EMPTY,
    STEP_AGAIN,
    STEP_NEW_STRING,
    STEP_BAD_STRING,
    STEP_LATE_FIELD,
    STEP_OTHER_TYPE,
    STEP_TRUNCATED,
    STEP_CORRUPT,
    STEP_END
};

struct awkward {
    const enum step *step;
    tsmith_dictionary *dictionary;
    tsmith_batch *batch;
    const void *values; // of the start times of the batch handed out last
    int *destroyed;
};

static tsmith_status awkward_next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct awkward *awkward = self;
    char text[32];
    const enum step step = *awkward->step++;
    *out = awkward->batch;
    tsmith_batch_reset(awkward->batch, 0);
    if (step == STEP_AGAIN)
        return TSMITH_AGAIN;
    if (step == STEP_EMPTY)
        return TSMITH_OK;
    if (step >= STEP_TRUNCATED) {
        const tsmith_status status = step == STEP_TRUNCATED ? TSMITH_TRUNCATED
                                     : step == STEP_CORRUPT ? TSMITH_ERROR_CORRUPT
                                                            : TSMITH_END;
        if (step != STEP_END && error) {
            *error = (tsmith_error){.status = status};
            (void)snprintf(error->message, sizeof error->message, "the input is awkward");
        }
        return status;
    }
    for (uint32_t i = 0; i < 5; i++) {
        (void)snprintf(text, sizeof text, "string %u", tsmith_dictionary_string_count(awkward->dictionary));
        const uint32_t name = step == STEP_BAD_STRING && i % 2 ? UINT32_MAX - i
                              : step == STEP_NEW_STRING
                                  ? tsmith_dictionary_intern_cstr(awkward->dictionary, text)
                                  : 0;
        assert_int_not_equal(tsmith_batch_append(awkward->batch, TSMITH_KIND_RANGE, i), UINT32_MAX);
        assert_int_equal(tsmith_batch_set(awkward->batch, TSMITH_FIELD_NAME, name), TSMITH_OK);
        if (step == STEP_OTHER_TYPE)
            assert_int_equal(tsmith_batch_set_dynamic(awkward->batch, TSMITH_FIELD_LINE, TSMITH_TYPE_F64, 0),
                             TSMITH_OK);
        if (step == STEP_LATE_FIELD)
            assert_int_equal(tsmith_batch_set_dynamic(
                                 awkward->batch,
                                 tsmith_dictionary_field(awkward->dictionary, "late", TSMITH_TYPE_U64, ""),
                                 TSMITH_TYPE_U64, i),
                             TSMITH_OK);
    }
    assert_int_equal(tsmith_batch_finish(awkward->batch), TSMITH_OK);
    tsmith_column column;
    assert_true(tsmith_batch_column(awkward->batch, TSMITH_FIELD_START, &column));
    awkward->values = column.values;
    return TSMITH_OK;
}

static const tsmith_dictionary *awkward_dictionary(void *self) {
    return ((struct awkward *)self)->dictionary;
}

static void awkward_destroy(void *self) {
    struct awkward *awkward = self;
    tsmith_batch_destroy(awkward->batch);
    tsmith_dictionary_destroy(awkward->dictionary);
    ++*awkward->destroyed;
}

static tsmith_source *make_awkward(struct awkward *awkward, const enum step *steps, int *destroyed) {
    static const tsmith_source_ops ops = {awkward_next, awkward_dictionary, awkward_destroy};
    tsmith_source *source;
    *awkward = (struct awkward){.step = steps, .destroyed = destroyed};
    assert_int_equal(tsmith_dictionary_create(&awkward->dictionary), TSMITH_OK);
    assert_int_equal(tsmith_batch_create(&awkward->batch), TSMITH_OK);
    assert_int_equal(tsmith_source_create(&ops, awkward, &source), TSMITH_OK);
    return source;
}

static void check_awkward(const enum step *steps, const tsmith_arrow_options *options, size_t arrays,
                          const char *message) {
    struct awkward awkward;
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    int destroyed = 0, code;
    assert_int_equal(tsmith_arrow_source(make_awkward(&awkward, steps, &destroyed), options, &stream, NULL),
                     TSMITH_OK);
    assert_int_equal(arrow_read_all(&stream, &code), arrays);
    assert_int_equal(code != 0, message != NULL);
    if (message) {
        assert_non_null(strstr(stream.get_last_error(&stream), message));
        assert_int_equal(stream.get_next(&stream, &array), code); // and again
        assert_null(array.release);
    } else {
        assert_null(stream.get_last_error(&stream));
    }
    assert_int_equal(destroyed, 0);
    arrow_drop_stream(&stream);
    assert_int_equal(destroyed, 1);
}

static void sources_may_be_awkward(void **state) {
    static const uint32_t NAME_ONLY[] = {TSMITH_FIELD_NAME};
    const tsmith_arrow_options whole = {.size = sizeof whole, .accept_truncated = 1};
    const tsmith_arrow_options some = {.size = sizeof some, .fields = NAME_ONLY, .field_count = 1};
    (void)state;
    check_awkward((enum step[]){STEP_AGAIN, STEP_EMPTY, STEP_BATCH, STEP_AGAIN, STEP_BATCH, STEP_END}, NULL,
                  2, NULL);
    check_awkward((enum step[]){STEP_BATCH, STEP_NEW_STRING, STEP_NEW_STRING, STEP_BATCH, STEP_END}, NULL, 4,
                  NULL);
    check_awkward((enum step[]){STEP_BAD_STRING, STEP_NEW_STRING, STEP_END}, NULL, 2, NULL);
    check_awkward((enum step[]){STEP_BATCH, STEP_TRUNCATED}, NULL, 1, "awkward");
    check_awkward((enum step[]){STEP_BATCH, STEP_TRUNCATED}, &whole, 1, NULL);
    check_awkward((enum step[]){STEP_BATCH, STEP_CORRUPT}, &whole, 1, "awkward");
    check_awkward((enum step[]){STEP_BATCH, STEP_LATE_FIELD, STEP_END}, NULL, 1, "late");
    check_awkward((enum step[]){STEP_BATCH, STEP_LATE_FIELD, STEP_END}, &some, 2, NULL);
    check_awkward((enum step[]){STEP_BATCH, STEP_OTHER_TYPE, STEP_END}, NULL, 1, "line");
}

static void numbers_of_no_string_are_null(void **state) {
    struct awkward awkward;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray array;
    int destroyed = 0;
    (void)state;
    assert_int_equal(
        tsmith_arrow_source(make_awkward(&awkward, (enum step[]){STEP_BAD_STRING, STEP_END}, &destroyed),
                            NULL, &stream, NULL),
        TSMITH_OK);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    assert_int_equal(stream.get_next(&stream, &array), 0);
    const struct ArrowArray *names = array.children[arrow_column_named(&schema, "name")];
    assert_int_equal(names->null_count, 2);
    for (int64_t row = 0; row < 5; row++)
        assert_int_equal(arrow_is_valid(names, row), row % 2 == 0);
    // Nothing was copied of what need not be.
    assert_ptr_equal(array.children[arrow_column_named(&schema, "start")]->buffers[1], awkward.values);
    arrow_drop_array(&array);
    arrow_drop_schema(&schema);
    arrow_drop_stream(&stream);
    assert_int_equal(destroyed, 1);
}

static void wrong_options_are_refused(void **state) {
    static const uint32_t NONE[] = {99999}, TWICE[] = {TSMITH_FIELD_NAME, TSMITH_FIELD_NAME};
    static const enum step STEPS[] = {STEP_END};
    const tsmith_arrow_options none = {.size = sizeof none, .fields = NONE, .field_count = 1};
    const tsmith_arrow_options twice = {.size = sizeof twice, .fields = TWICE, .field_count = 2};
    const tsmith_arrow_options unsized_options = {.size = 0};
    const tsmith_arrow_options *const asked[] = {&none, &twice};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct awkward awkward;
        struct ArrowArrayStream stream;
        struct ArrowSchema schema;
        int destroyed = 0;
        assert_int_equal(
            tsmith_arrow_source(make_awkward(&awkward, STEPS, &destroyed), asked[i], &stream, NULL),
            TSMITH_OK);
        assert_int_not_equal(stream.get_schema(&stream, &schema), 0);
        assert_null(schema.release);
        assert_non_null(stream.get_last_error(&stream));
        arrow_drop_stream(&stream);
    }
    struct awkward awkward;
    struct ArrowArrayStream stream;
    int destroyed = 0;
    tsmith_source *source = make_awkward(&awkward, STEPS, &destroyed);
    assert_int_equal(tsmith_arrow_source(source, &unsized_options, &stream, NULL),
                     TSMITH_ERROR_INVALID_ARGUMENT);
    assert_null(stream.release);
    assert_int_equal(destroyed, 0); // still the caller's
    tsmith_source_destroy(source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_become_arrays),
        cmocka_unit_test(fields_are_chosen),
        cmocka_unit_test(names_are_unique),
        cmocka_unit_test(parts_are_moved),
        cmocka_unit_test(a_stream_is_released_at_once),
        cmocka_unit_test(sources_may_be_awkward),
        cmocka_unit_test(numbers_of_no_string_are_null),
        cmocka_unit_test(wrong_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
