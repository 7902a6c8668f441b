// SPDX-License-Identifier: Apache-2.0
// Random traces for the tests of SBT, and comparing what was read with what was written.
#ifndef TESTS_SBT_MAKE_H
#define TESTS_SBT_MAKE_H

#include "support/test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracesmith/sbt.h"

// ---- making batches

enum shape {
    SHAPE_CONSTANT,
    SHAPE_SMALL,
    SHAPE_WIDE,
    SHAPE_STEPS,
    SHAPE_RUNS,
    SHAPE_FEW,
    SHAPE_OUTLIERS,
    SHAPE_CYCLE,
    SHAPE_TICKS,
    SHAPE_LIMIT
};

static inline uint64_t make_value(struct random *random, enum shape shape, uint64_t row, uint64_t seed) {
    switch (shape) {
    case SHAPE_CONSTANT:
        return seed;
    case SHAPE_SMALL:
        return random_below(random, 100);
    case SHAPE_WIDE:
        return random_next(random);
    case SHAPE_STEPS:
        return seed + row * 3 + random_below(random, 4);
    case SHAPE_RUNS:
        return seed + row / 100;
    case SHAPE_FEW:
        return (seed | 1) * (random_below(random, 5) + 1);
    case SHAPE_OUTLIERS:
        return random_below(random, 50) ? random_below(random, 1000) : random_next(random) >> 20;
    case SHAPE_CYCLE:
        return (row % 7) * 1000;
    default:
        return random_below(random, 100000) * 32 + random_below(random, 10) / 9;
    }
}

static inline uint64_t make_cut(tsmith_type type, uint64_t bits) {
    switch (type) {
    case TSMITH_TYPE_KIND:
        return bits % TSMITH_KIND_LIMIT;
    case TSMITH_TYPE_OPERATION:
        return bits % 3 == 0 ? TSMITH_OPERATION_NDRANGE : bits % 3 == 1 ? TSMITH_OPERATION_READ : 0;
    case TSMITH_TYPE_DIRECTION:
        return bits % 6;
    case TSMITH_TYPE_REASON:
        return bits % TSMITH_REASON_LIMIT;
    case TSMITH_TYPE_CERTAINTY:
        return bits % 5;
    case TSMITH_TYPE_BOOL:
        return bits % 2;
    case TSMITH_TYPE_F64: {
        double value = bits % 3 ? (double)(bits % 1000) : (double)bits / 7.0;
        if (bits % 1001 == 0)
            value = bits % 2 ? -0.0 : __builtin_nan("");
        memcpy(&bits, &value, sizeof bits);
        return bits;
    }
    default:
        return bits;
    }
}

// A batch of `count` random events in which each field but START and KIND is there with its own density.
static inline void make_batch(struct random *random, tsmith_batch *batch, uint32_t track, uint32_t count,
                              const uint32_t *dynamic, size_t dynamic_count) {
    enum { FIELDS = TSMITH_FIELD_LIMIT };
    enum shape shapes[FIELDS + TSMITH_TYPE_LIMIT];
    uint32_t density[FIELDS + TSMITH_TYPE_LIMIT];
    uint64_t seeds[FIELDS + TSMITH_TYPE_LIMIT];
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        shapes[i] = (enum shape)random_below(random, SHAPE_LIMIT);
        density[i] = random_below(random, 3) ? (uint32_t)random_below(random, 4) * 34 : 0;
        seeds[i] = random_next(random) >> random_below(random, 64);
    }
    int64_t start = (int64_t)(random_next(random) >> 3) - (int64_t)(random_next(random) >> 3);
    uint64_t step = (uint64_t)1 << random_below(random, 20);
    tsmith_batch_reset(batch, track);
    for (uint32_t row = 0; row < count; row++) {
        start += (int64_t)random_below(random, step);
        tsmith_kind kind =
            (tsmith_kind)make_cut(TSMITH_TYPE_KIND, make_value(random, shapes[3], row, seeds[3]));
        assert_int_equal(tsmith_batch_append(batch, kind, start), row);
        for (uint32_t field = TSMITH_FIELD_DURATION; field < FIELDS; field++) {
            const tsmith_field_info *info = tsmith_field_describe(field);
            if (field == TSMITH_FIELD_KIND || !info || random_below(random, 100) >= density[field])
                continue;
            uint64_t bits = make_value(random, shapes[field], row, seeds[field]);
            if (info->type == TSMITH_TYPE_LIST) {
                uint64_t list[3] = {bits, bits + 1, bits * 3};
                assert_int_equal(tsmith_batch_set_list(batch, field, list, (uint32_t)random_below(random, 4)),
                                 TSMITH_OK);
                continue;
            }
            if (info->type == TSMITH_TYPE_TIME && shapes[field] != SHAPE_WIDE)
                bits = (uint64_t)start + bits % 100000 - 50000;
            if (field == TSMITH_FIELD_DURATION && shapes[field] != SHAPE_WIDE)
                bits %= (uint64_t)1 << 40;
            assert_int_equal(tsmith_batch_set(batch, field, make_cut(info->type, bits)), TSMITH_OK);
        }
        for (size_t i = 0; i < dynamic_count; i++) {
            tsmith_type type = (tsmith_type)(i + 1);
            uint64_t bits = make_value(random, shapes[FIELDS + i], row, seeds[FIELDS + i]);
            if (random_below(random, 100) >= density[FIELDS + i])
                continue;
            if (type == TSMITH_TYPE_LIST)
                assert_int_equal(tsmith_batch_set_list(batch, dynamic[i], &bits, 1), TSMITH_OK);
            else
                assert_int_equal(tsmith_batch_set_dynamic(batch, dynamic[i], type, make_cut(type, bits)),
                                 TSMITH_OK);
        }
    }
    assert_int_equal(tsmith_batch_finish(batch), TSMITH_OK);
}

// ---- comparing

static inline void assert_same_value(const tsmith_column *a, uint32_t row, const tsmith_column *b,
                                     uint32_t at) {
    assert_int_equal(tsmith_column_has(a, row), tsmith_column_has(b, at));
    if (!tsmith_column_has(a, row))
        return;
    if (a->type == TSMITH_TYPE_LIST) {
        uint32_t length = a->offsets[row + 1] - a->offsets[row];
        assert_int_equal(b->offsets[at + 1] - b->offsets[at], length);
        if (length)
            assert_memory_equal((const uint64_t *)a->values + a->offsets[row],
                                (const uint64_t *)b->values + b->offsets[at], length * sizeof(uint64_t));
        return;
    }
    size_t size = tsmith_type_size(a->type);
    assert_memory_equal((const char *)a->values + row * size, (const char *)b->values + at * size, size);
}

// Rows from `from` on of what was written are what was read.
static inline void assert_same_rows(const tsmith_batch *written, uint32_t from, const tsmith_batch *read) {
    uint32_t count = tsmith_batch_count(read);
    assert_true(from + count <= tsmith_batch_count(written));
    assert_int_equal(tsmith_batch_track(written), tsmith_batch_track(read));
    assert_int_equal(tsmith_batch_column_count(written), tsmith_batch_column_count(read));
    for (uint32_t i = 0; i < tsmith_batch_column_count(written); i++) {
        tsmith_column left = tsmith_batch_column_at(written, i), right = tsmith_batch_column_at(read, i);
        assert_int_equal(left.field, right.field);
        assert_int_equal(left.type, right.type);
        for (uint32_t row = 0; row < count; row++)
            assert_same_value(&left, from + row, &right, row);
    }
    // The bounds, by the definition of tsmith_batch_finish.
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (uint32_t row = 0; row < count; row++) {
        uint64_t start, duration;
        int64_t end;
        assert_true(tsmith_batch_get(read, TSMITH_FIELD_START, row, &start));
        first = (int64_t)start < first ? (int64_t)start : first;
        last = (int64_t)start > last ? (int64_t)start : last;
        if (tsmith_batch_get(read, TSMITH_FIELD_DURATION, row, &duration) &&
            !__builtin_add_overflow((int64_t)start, (int64_t)duration, &end) && end > last)
            last = end;
    }
    assert_int_equal(tsmith_batch_first_start(read), first);
    assert_int_equal(tsmith_batch_last_end(read), last);
}

// The next batches of the source are, together, the one that was written.
static inline void assert_next_is(tsmith_source *source, const tsmith_batch *written) {
    for (uint32_t from = 0; from < tsmith_batch_count(written);) {
        const tsmith_batch *read;
        tsmith_error error = {.message = ""};
        assert_int_equal(tsmith_source_next(source, &read, &error), TSMITH_OK);
        assert_same_rows(written, from, read);
        from += tsmith_batch_count(read);
    }
}

// ---- a trace in a folder of its own

struct made {
    char folder[256], path[288];
    tsmith_dictionary *dictionary;
    uint32_t dynamic[TSMITH_TYPE_LIMIT];
    size_t dynamic_count;
};

static inline void make_names(struct made *made, uint32_t tracks) {
    assert_int_equal(tsmith_dictionary_create(&made->dictionary), TSMITH_OK);
    for (uint32_t i = 0; i < tracks; i++) {
        char name[32];
        snprintf(name, sizeof name, "track %u", i);
        tsmith_track track = {.kind = TSMITH_TRACK_THREAD,
                              .name = tsmith_dictionary_intern_cstr(made->dictionary, name),
                              .tid = i};
        assert_int_equal(tsmith_dictionary_add_track(made->dictionary, &track), i + 1);
    }
    made->dynamic_count = TSMITH_TYPE_LIMIT - 1;
    for (size_t i = 0; i < made->dynamic_count; i++) {
        char name[32];
        snprintf(name, sizeof name, "field %zu", i);
        made->dynamic[i] = tsmith_dictionary_field(made->dictionary, name, (tsmith_type)(i + 1), "");
    }
}

static inline void made_begin(struct made *made) {
    memset(made, 0, sizeof *made);
    const char *temporary = getenv("TMPDIR");
    snprintf(made->folder, sizeof made->folder, "%s/sbt-test-XXXXXX", temporary ? temporary : "/tmp");
    assert_non_null(mkdtemp(made->folder));
    snprintf(made->path, sizeof made->path, "%s/a.sbt", made->folder);
}

static inline void made_end(struct made *made) {
    tsmith_dictionary_destroy(made->dictionary);
    unlink(made->path);
    assert_int_equal(rmdir(made->folder), 0);
}

#endif
