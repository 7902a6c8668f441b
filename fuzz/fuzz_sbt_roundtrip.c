// SPDX-License-Identifier: Apache-2.0
// Bytes as instructions for making batches; what is written must come back, value for value.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sbt/format.h"
#include "tracesmith/sbt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_BATCHES = 8, MOST_ROWS = 3000 };

struct tape {
    const uint8_t *at, *end;
};

static uint64_t take(struct tape *tape, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes && tape->at < tape->end; i++)
        value |= (uint64_t)*tape->at++ << 8 * i;
    return value;
}

static void must(bool good) {
    if (!good)
        abort();
}

// A field's values over a batch: a first one, a step, and noise of a width; every `period`th row has one.
struct course {
    uint32_t field;
    tsmith_type type;
    uint64_t value, step, state;
    unsigned noise_shift, period, list;
};

static struct course take_course(struct tape *tape) {
    struct course course = {.field = (uint32_t)take(tape, 1) % (TSMITH_FIELD_LIMIT + 14)};
    uint64_t form = take(tape, 1);
    course.value = take(tape, 1 + form % 8);
    course.step = take(tape, form / 8 % 4);
    course.noise_shift = (unsigned)take(tape, 1);
    course.period = 1 + (unsigned)take(tape, 1) % 9;
    course.list = (unsigned)(form >> 5);
    course.state = form + course.value;
    const tsmith_field_info *info = tsmith_field_describe(course.field);
    course.type = info ? info->type : (tsmith_type)(1 + course.field % (TSMITH_TYPE_LIMIT - 1));
    if (!info && course.field < TSMITH_FIELD_LIMIT)
        course.field = 0; // a number that no field has any more
    if (course.field >= TSMITH_FIELD_LIMIT)
        course.field += TSMITH_FIELD_DYNAMIC;
    return course;
}

static uint64_t next_value(struct course *course) {
    course->value += course->step;
    course->state = course->state * 6364136223846793005u + 1442695040888963407u;
    uint64_t noise = course->noise_shift < 64 ? course->state >> course->noise_shift : 0;
    uint64_t value = course->value + noise;
    switch (course->type) {
    case TSMITH_TYPE_KIND:
        return value % TSMITH_KIND_LIMIT;
    case TSMITH_TYPE_OPERATION:
        return value & 1 ? TSMITH_OPERATION_NDRANGE : 0;
    case TSMITH_TYPE_DIRECTION:
        return value % 6;
    case TSMITH_TYPE_REASON:
        return value % TSMITH_REASON_LIMIT;
    case TSMITH_TYPE_CERTAINTY:
        return value % 5;
    case TSMITH_TYPE_BOOL:
        return value & 1;
    default:
        return value;
    }
}

static void put(tsmith_batch *batch, struct course *course) {
    if (course->field == TSMITH_FIELD_START || course->field == TSMITH_FIELD_KIND || course->field == 0)
        return;
    uint64_t value = next_value(course);
    if (course->type == TSMITH_TYPE_LIST) {
        uint64_t list[8] = {value, value + 1, value * 5};
        (void)tsmith_batch_set_list(batch, course->field, list, course->list % 8);
    } else {
        (void)tsmith_batch_set_dynamic(batch, course->field, course->type, value);
    }
}

static void make(struct tape *tape, tsmith_batch *batch) {
    struct course courses[6], start = take_course(tape), kind = take_course(tape);
    uint32_t rows = 1 + (uint32_t)take(tape, 2) % MOST_ROWS;
    size_t count = take(tape, 1) % 7;
    for (size_t i = 0; i < count; i++)
        courses[i] = take_course(tape);
    kind.type = TSMITH_TYPE_KIND;
    start.type = TSMITH_TYPE_TIME;
    tsmith_batch_reset(batch, (uint32_t)take(tape, 1));
    for (uint32_t row = 0; row < rows; row++) {
        must(tsmith_batch_append(batch, (tsmith_kind)next_value(&kind), (int64_t)next_value(&start)) == row);
        for (size_t i = 0; i < count; i++)
            if (row % courses[i].period == 0)
                put(batch, &courses[i]);
    }
    must(tsmith_batch_finish(batch) == TSMITH_OK);
}

static void compare(const tsmith_batch *a, const tsmith_batch *b) {
    must(tsmith_batch_count(a) == tsmith_batch_count(b) && tsmith_batch_track(a) == tsmith_batch_track(b) &&
         tsmith_batch_first_start(a) == tsmith_batch_first_start(b) &&
         tsmith_batch_last_end(a) == tsmith_batch_last_end(b) &&
         tsmith_batch_column_count(a) == tsmith_batch_column_count(b));
    for (uint32_t i = 0; i < tsmith_batch_column_count(a); i++) {
        tsmith_column left = tsmith_batch_column_at(a, i), right = tsmith_batch_column_at(b, i);
        must(left.field == right.field && left.type == right.type);
        size_t size = tsmith_type_size(left.type);
        for (uint32_t row = 0; row < left.count; row++) {
            must(tsmith_column_has(&left, row) == tsmith_column_has(&right, row));
            if (!tsmith_column_has(&left, row))
                continue;
            size_t length = size, from = row * size, to = row * size;
            if (left.offsets) {
                length = (left.offsets[row + 1] - left.offsets[row]) * size;
                must(length == (right.offsets[row + 1] - right.offsets[row]) * size);
                from = left.offsets[row] * size;
                to = right.offsets[row] * size;
            }
            must(memcmp((const char *)left.values + from, (const char *)right.values + to, length) == 0);
        }
    }
}

// From the rest of the tape: modules, frames, stacks and symbols, with any numbers except a parent that does not exist.
static void add_stacks(struct tape *tape, tsmith_dictionary *dictionary) {
    while (tape->at < tape->end) {
        uint32_t step = (uint32_t)take(tape, 1);
        uint64_t value = take(tape, step % 9), other = take(tape, step / 16 % 5);
        uint32_t stacks = tsmith_dictionary_stack_count(dictionary);
        switch (step % 4) {
        case 0:
            tsmith_dictionary_intern_frame(dictionary,
                                           &(tsmith_frame){.module = (uint32_t)other, .address = value});
            break;
        case 1:
            tsmith_dictionary_intern_stack(
                dictionary, &(tsmith_stack){.parent = (uint32_t)(other % stacks), .frame = (uint32_t)value});
            break;
        case 2:
            tsmith_dictionary_intern_module(
                dictionary, &(tsmith_module){.path = (uint32_t)value, .process = (uint32_t)other});
            break;
        default:
            tsmith_dictionary_add_symbol(
                dictionary, &(tsmith_symbol){.frame = (uint32_t)other, .function = (uint32_t)value});
        }
    }
}

#define SAME_TABLE(name, type)                                                                               \
    must(tsmith_dictionary_##name##_count(a) == tsmith_dictionary_##name##_count(b));                        \
    for (uint32_t id = 1; id < tsmith_dictionary_##name##_count(a); id++)                                    \
        must(memcmp(tsmith_dictionary_##name(a, id), tsmith_dictionary_##name(b, id), sizeof(type)) == 0);

static void compare_stacks(const tsmith_dictionary *a, const tsmith_dictionary *b) {
    SAME_TABLE(module, tsmith_module)
    SAME_TABLE(frame, tsmith_frame)
    SAME_TABLE(stack, tsmith_stack)
    SAME_TABLE(symbol, tsmith_symbol)
}

static char folder[] = "/tmp/fuzz-sbt-XXXXXX";

static void remove_folder(void) {
    (void)rmdir(folder);
}

static const char *trace_path(void) {
    static char path[64];
    if (!*path) {
        must(mkdtemp(folder) != NULL && atexit(remove_folder) == 0);
        (void)snprintf(path, sizeof path, "%s/a.sbt", folder);
    }
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct tape tape = {data, data + size};
    tsmith_batch *batches[MOST_BATCHES];
    tsmith_dictionary *dictionary;
    tsmith_sink *sink;
    tsmith_sbt *trace;
    tsmith_source *source;
    const tsmith_batch *read;
    size_t first = take(&tape, 1), count = 1 + first % MOST_BATCHES;
    tsmith_sbt_write_options options = {.size = sizeof options,
                                        .compression_level = first / MOST_BATCHES % 2 ? 5 : 0};
    must(tsmith_dictionary_create(&dictionary) == TSMITH_OK);
    must(tsmith_sbt_writer_open(trace_path(), &options, &sink, NULL) == TSMITH_OK);
    for (size_t i = 0; i < count; i++) {
        must(tsmith_batch_create(&batches[i]) == TSMITH_OK);
        make(&tape, batches[i]);
        uint8_t name[16] = {0};
        for (size_t n = 0; n < sizeof name; n++)
            name[n] = (uint8_t)take(&tape, 1);
        tsmith_dictionary_append_string(dictionary, (const char *)name, name[0] % sizeof name);
        must(tsmith_sink_write(sink, dictionary, batches[i], NULL) == TSMITH_OK);
    }
    add_stacks(&tape, dictionary);
    must(tsmith_sink_finish(sink, dictionary, NULL) == TSMITH_OK);
    tsmith_sink_destroy(sink);
    must(tsmith_sbt_open(trace_path(), &trace, NULL) == TSMITH_OK);
    must(tsmith_sbt_scan(trace, NULL, &source, NULL) == TSMITH_OK);
    for (size_t i = 0; i < count; i++) {
        must(tsmith_source_next(source, &read, NULL) == TSMITH_OK);
        compare(batches[i], read);
        tsmith_batch_destroy(batches[i]);
    }
    must(tsmith_source_next(source, &read, NULL) == TSMITH_END);
    for (uint32_t id = 0; id < tsmith_dictionary_string_count(dictionary); id++) {
        tsmith_string a = tsmith_dictionary_string(dictionary, id);
        tsmith_string b = tsmith_dictionary_string(tsmith_source_dictionary(source), id);
        must(a.length == b.length && memcmp(a.bytes, b.bytes, a.length) == 0);
    }
    compare_stacks(dictionary, tsmith_source_dictionary(source));
    tsmith_source_destroy(source);
    tsmith_sbt_close(trace);
    tsmith_dictionary_destroy(dictionary);
    (void)unlink(trace_path());
    return 0;
}
