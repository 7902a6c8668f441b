// SPDX-License-Identifier: Apache-2.0
// A consumer of Arrow streams that believes nothing: the rules of the Arrow C data interface, asked of every array.
#include "support/arrow_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAUNCHES = 700 };

// ---- the rules

bool arrow_bit(const void *bitmap, int64_t at) {
    return ((const uint8_t *)bitmap)[at / 8] >> (at % 8) & 1;
}

bool arrow_is_valid(const struct ArrowArray *array, int64_t row) {
    return !array->buffers[0] || arrow_bit(array->buffers[0], row + array->offset);
}

// Offsets of 32 or 64 bits: begin at or after 0, never go down; where the data ends.
static int64_t check_offsets(const struct ArrowArray *array, bool wide) {
    int64_t last = -1;
    assert_non_null(array->buffers[1]);
    for (int64_t i = 0; i <= array->length; i++) {
        const int64_t at = wide ? ((const int64_t *)array->buffers[1])[array->offset + i]
                                : ((const int32_t *)array->buffers[1])[array->offset + i];
        assert_true(at >= (last < 0 ? 0 : last));
        last = at;
    }
    return last;
}

static uint64_t index_at(const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t row) {
    row += array->offset;
    return *schema->format == 'C' ? ((const uint8_t *)array->buffers[1])[row]
                                  : ((const uint32_t *)array->buffers[1])[row];
}

// UTF-8 by the definition of RFC 3629, not by the library's own function.
bool arrow_is_utf8(const unsigned char *at, size_t left) {
    while (left) {
        const size_t more = *at < 0x80                  ? 0
                            : *at >= 0xc2 && *at < 0xe0 ? 1
                            : *at >= 0xe0 && *at < 0xf0 ? 2
                            : *at >= 0xf0 && *at < 0xf5 ? 3
                                                        : 9;
        if (more >= left)
            return false;
        for (size_t i = 1; i <= more; i++)
            if ((at[i] & 0xc0) != 0x80)
                return false;
        if ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] >= 0xa0) ||
            (*at == 0xf0 && at[1] < 0x90) || (*at == 0xf4 && at[1] >= 0x90))
            return false;
        at += more + 1;
        left -= more + 1;
    }
    return true;
}

static int64_t buffers_of(const char *format) {
    static const struct {
        const char *format;
        int64_t buffers;
    } RULES[] = {{"+s", 1}, {"+l", 2}, {"l", 2}, {"L", 2}, {"I", 2},
                 {"C", 2},  {"g", 2},  {"b", 2}, {"U", 3}, {"Z", 3}};
    for (size_t i = 0; i < sizeof RULES / sizeof *RULES; i++)
        if (strcmp(RULES[i].format, format) == 0)
            return RULES[i].buffers;
    fail_msg("no such format is expected: %s", format);
    return 0;
}

void arrow_check_schema(const struct ArrowSchema *schema) {
    assert_non_null(schema->release);
    assert_non_null(schema->format);
    assert_non_null(schema->name);
    assert_true(arrow_is_utf8((const unsigned char *)schema->name, strlen(schema->name)));
    const char *at = schema->metadata;
    int32_t pairs = 0, length;
    if (at) {
        memcpy(&pairs, at, sizeof pairs);
        assert_true(pairs > 0);
        at += sizeof pairs;
    }
    for (int32_t i = 0; i < 2 * pairs; i++) {
        memcpy(&length, at, sizeof length);
        assert_true(length > 0);
        at += sizeof length;
        assert_true(arrow_is_utf8((const unsigned char *)at, (size_t)length));
        at += length;
    }
    for (int64_t i = 0; i < schema->n_children; i++)
        arrow_check_schema(schema->children[i]);
    if (schema->dictionary)
        arrow_check_schema(schema->dictionary);
}

void arrow_check_array(const struct ArrowSchema *schema, const struct ArrowArray *array) {
    int64_t nulls = 0;
    assert_non_null(array->release);
    assert_true(array->length >= 0 && array->offset >= 0 && array->null_count >= 0);
    assert_int_equal(array->n_buffers, buffers_of(schema->format));
    assert_int_equal(array->n_children, schema->n_children);
    for (int64_t row = 0; row < array->length; row++)
        nulls += !arrow_is_valid(array, row);
    assert_int_equal(array->null_count, nulls);
    assert_true(nulls == 0 || schema->flags & ARROW_FLAG_NULLABLE);
    if (strcmp(schema->format, "+l") == 0) {
        assert_int_equal(schema->n_children, 1);
        assert_true(check_offsets(array, false) <= array->children[0]->length);
    }
    if (strcmp(schema->format, "U") == 0 || strcmp(schema->format, "Z") == 0) {
        const int64_t *offsets = (const int64_t *)array->buffers[1] + array->offset;
        const int64_t end = check_offsets(array, true);
        assert_true(end == 0 || array->buffers[2]);
        for (int64_t row = 0; row < array->length && *schema->format == 'U'; row++)
            assert_true(arrow_is_utf8((const unsigned char *)array->buffers[2] + offsets[row],
                                      (size_t)(offsets[row + 1] - offsets[row])));
    } else if (array->n_buffers == 2 && array->length) {
        assert_non_null(array->buffers[1]);
    }
    for (int64_t i = 0; i < array->n_children; i++) {
        arrow_check_array(schema->children[i], array->children[i]);
        if (strcmp(schema->format, "+s") == 0)
            assert_true(array->children[i]->length >= array->length + array->offset);
    }
    assert_int_equal(array->dictionary != NULL, schema->dictionary != NULL);
    if (!array->dictionary)
        return;
    arrow_check_array(schema->dictionary, array->dictionary);
    for (int64_t row = 0; row < array->length; row++) // consumers gather without looking at the bitmap
        assert_true(index_at(schema, array, row) < (uint64_t)array->dictionary->length);
}

int arrow_column_named(const struct ArrowSchema *schema, const char *name) {
    for (int64_t i = 0; i < schema->n_children; i++)
        if (strcmp(schema->children[i]->name, name) == 0)
            return (int)i;
    return -1;
}

tsmith_string utf8_text_at(const struct ArrowArray *array, int64_t row) {
    const int64_t *offsets = (const int64_t *)array->buffers[1] + array->offset;
    return (tsmith_string){(const char *)array->buffers[2] + offsets[row],
                           (size_t)(offsets[row + 1] - offsets[row])};
}

void arrow_drop_schema(struct ArrowSchema *schema) {
    schema->release(schema);
    assert_null(schema->release);
}

void arrow_drop_array(struct ArrowArray *array) {
    array->release(array);
    assert_null(array->release);
}

void arrow_drop_stream(struct ArrowArrayStream *stream) {
    stream->release(stream);
    assert_null(stream->release);
}

// ---- what is read

// A file with strings that are no UTF-8, lists, booleans, fields of its own and every type.
tsmith_sbt *arrow_make_file(FILE **file, struct made_trace *made) {
    tsmith_sink *sink;
    tsmith_sbt *trace;
    tsmith_batch *batch;
    made_trace_init(made);
    const uint32_t process = made_process(made, 1), device = made_device(made, "device");
    const uint32_t thread = made_track(made, TSMITH_TRACK_THREAD, process, 0, 0, "thread");
    const uint32_t queue = made_track(made, TSMITH_TRACK_QUEUE, process, device, 0, "queue");
    for (int i = 0; i < LAUNCHES; i++)
        made_launch(made, thread, queue, (uint64_t)i + 1, 100 * i, 10, 100 * i + 20, 50);
    tsmith_dictionary *dictionary = made->dictionary;
    const uint32_t odd = tsmith_dictionary_intern(dictionary, "a\xff\xc3\0b", 5);
    const uint32_t real = tsmith_dictionary_field(dictionary, "ratio", TSMITH_TYPE_F64, "%");
    const uint32_t same = tsmith_dictionary_field(dictionary, "ratio", TSMITH_TYPE_STRING, "");
    const uint32_t small = tsmith_dictionary_field(dictionary, "sm\xfe", TSMITH_TYPE_U8, "");
    *file = tmpfile();
    assert_non_null(*file);
    assert_int_equal(tsmith_sbt_writer_open_fd(fileno(*file), NULL, &sink, NULL), TSMITH_OK);
    assert_int_equal(tsmith_batch_create(&batch), TSMITH_OK);
    tsmith_batch_reset(batch, queue);
    for (uint64_t i = 0; i < 1000; i++) {
        const uint64_t list[3] = {i, i + 1, UINT64_MAX};
        const double ratio = (double)i / 3;
        uint64_t bits;
        memcpy(&bits, &ratio, sizeof bits);
        assert_int_not_equal(
            tsmith_batch_append(batch, i % 2 ? TSMITH_KIND_KERNEL : TSMITH_KIND_API, (int64_t)i - 100),
            UINT32_MAX);
        if (i % 3)
            assert_int_equal(tsmith_batch_set(batch, TSMITH_FIELD_NAME, i % 7 ? odd : 0), TSMITH_OK);
        if (i % 5)
            assert_int_equal(tsmith_batch_set(batch, TSMITH_FIELD_BLOCKING, i % 2), TSMITH_OK);
        if (i % 11 == 3)
            assert_int_equal(tsmith_batch_set_list(batch, TSMITH_FIELD_WAITS, list, (uint32_t)(i % 4)),
                             TSMITH_OK);
        if (i % 4)
            assert_int_equal(tsmith_batch_set_dynamic(batch, real, TSMITH_TYPE_F64, bits), TSMITH_OK);
        if (i % 13 == 0)
            assert_int_equal(tsmith_batch_set_dynamic(batch, same, TSMITH_TYPE_STRING, odd), TSMITH_OK);
        assert_int_equal(tsmith_batch_set_dynamic(batch, small, TSMITH_TYPE_U8, i % 256), TSMITH_OK);
        if (i % 2)
            assert_int_equal(tsmith_batch_set(batch, TSMITH_FIELD_OPERATION, 1 + i % 12), TSMITH_OK);
    }
    assert_int_equal(tsmith_batch_finish(batch), TSMITH_OK);
    assert_int_equal(tsmith_sink_write(sink, dictionary, batch, NULL), TSMITH_OK);
    tsmith_batch_destroy(batch);
    tsmith_source *source = made_source(made, 64, (struct random){1});
    assert_int_equal(tsmith_pump(source, sink, NULL, NULL, NULL), TSMITH_OK);
    tsmith_sink_destroy(sink);
    tsmith_source_destroy(source);
    assert_int_equal(tsmith_sbt_open_fd(fileno(*file), "made", &trace, NULL), TSMITH_OK);
    return trace;
}

// Reads all arrays, checks each, and returns their number and how the stream ended.
size_t arrow_read_all(struct ArrowArrayStream *stream, int *code) {
    struct ArrowSchema schema;
    struct ArrowArray array;
    size_t count = 0;
    assert_int_equal(stream->get_schema(stream, &schema), 0);
    while ((*code = stream->get_next(stream, &array)) == 0 && array.release) {
        arrow_check_array(&schema, &array);
        arrow_drop_array(&array);
        count++;
    }
    assert_null(array.release);
    arrow_drop_schema(&schema);
    return count;
}
