// SPDX-License-Identifier: Apache-2.0
// Random batches through a file and back, compared with a copy of what went in that was kept row by row.
#include "support/test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event/batch.h"
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

static uint64_t make_value(struct random *random, enum shape shape, uint64_t row, uint64_t seed) {
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

static uint64_t cut(tsmith_type type, uint64_t bits) {
    switch (type) {
    case TSMITH_TYPE_KIND:
        return bits % TSMITH_KIND_LIMIT;
    case TSMITH_TYPE_OPERATION:
        return bits % 3 == 0 ? TSMITH_OPERATION_NDRANGE : bits % 3 == 1 ? TSMITH_OPERATION_READ : 0;
    case TSMITH_TYPE_DIRECTION:
        return bits % 6;
    case TSMITH_TYPE_REASON:
        return bits % TSMITH_REASON_LIMIT;
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
static void make_batch(struct random *random, tsmith_batch *batch, uint32_t track, uint32_t count,
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
        tsmith_kind kind = (tsmith_kind)cut(TSMITH_TYPE_KIND, make_value(random, shapes[3], row, seeds[3]));
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
            assert_int_equal(tsmith_batch_set(batch, field, cut(info->type, bits)), TSMITH_OK);
        }
        for (size_t i = 0; i < dynamic_count; i++) {
            tsmith_type type = (tsmith_type)(i + 1);
            uint64_t bits = make_value(random, shapes[FIELDS + i], row, seeds[FIELDS + i]);
            if (random_below(random, 100) >= density[FIELDS + i])
                continue;
            if (type == TSMITH_TYPE_LIST)
                assert_int_equal(tsmith_batch_set_list(batch, dynamic[i], &bits, 1), TSMITH_OK);
            else
                assert_int_equal(tsmith_batch_set_dynamic(batch, dynamic[i], type, cut(type, bits)),
                                 TSMITH_OK);
        }
    }
    assert_int_equal(tsmith_batch_finish(batch), TSMITH_OK);
}

// ---- comparing

static void assert_same_value(const tsmith_column *a, const tsmith_column *b, uint32_t row) {
    assert_int_equal(tsmith_column_has(a, row), tsmith_column_has(b, row));
    if (!tsmith_column_has(a, row))
        return;
    if (a->type == TSMITH_TYPE_LIST) {
        uint32_t length = a->offsets[row + 1] - a->offsets[row];
        assert_int_equal(b->offsets[row + 1] - b->offsets[row], length);
        if (length)
            assert_memory_equal((const uint64_t *)a->values + a->offsets[row],
                                (const uint64_t *)b->values + b->offsets[row], length * sizeof(uint64_t));
        return;
    }
    size_t size = tsmith_type_size(a->type);
    assert_memory_equal((const char *)a->values + row * size, (const char *)b->values + row * size, size);
}

static void assert_same_batch(const tsmith_batch *a, const tsmith_batch *b) {
    assert_int_equal(tsmith_batch_count(a), tsmith_batch_count(b));
    assert_int_equal(tsmith_batch_track(a), tsmith_batch_track(b));
    assert_int_equal(tsmith_batch_first_start(a), tsmith_batch_first_start(b));
    assert_int_equal(tsmith_batch_last_end(a), tsmith_batch_last_end(b));
    assert_int_equal(tsmith_batch_column_count(a), tsmith_batch_column_count(b));
    for (uint32_t i = 0; i < tsmith_batch_column_count(a); i++) {
        tsmith_column left = tsmith_batch_column_at(a, i), right = tsmith_batch_column_at(b, i);
        assert_int_equal(left.field, right.field);
        assert_int_equal(left.type, right.type);
        for (uint32_t row = 0; row < left.count; row++)
            assert_same_value(&left, &right, row);
    }
}

// ---- the tests

struct made {
    char folder[64], path[96];
    tsmith_dictionary *dictionary;
    uint32_t dynamic[TSMITH_TYPE_LIMIT];
    size_t dynamic_count;
};

static void make_names(struct made *made, uint32_t tracks) {
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

static void begin(struct made *made) {
    memset(made, 0, sizeof *made);
    strcpy(made->folder, "/tmp/sbt-roundtrip-XXXXXX");
    assert_non_null(mkdtemp(made->folder));
    snprintf(made->path, sizeof made->path, "%s/a.sbt", made->folder);
}

static void end(struct made *made) {
    tsmith_dictionary_destroy(made->dictionary);
    unlink(made->path);
    assert_int_equal(rmdir(made->folder), 0);
}

static void random_batches_come_back(void **state) {
    (void)state;
    enum { BATCHES = 60 };
    struct made made;
    struct random random = {7};
    tsmith_batch *batches[BATCHES];
    tsmith_sink *sink;
    tsmith_error error;
    begin(&made);
    make_names(&made, 8);
    assert_int_equal(tsmith_sbt_writer_open(made.path, NULL, &sink, &error), TSMITH_OK);
    uint64_t events = 0;
    for (size_t i = 0; i < BATCHES; i++) {
        assert_int_equal(tsmith_batch_create(&batches[i]), TSMITH_OK);
        uint32_t count = (uint32_t)random_below(&random, (uint64_t)1 << random_below(&random, 14)) + 1;
        make_batch(&random, batches[i], (uint32_t)i % 8 + 1, count, made.dynamic, made.dynamic_count);
        assert_int_equal(tsmith_sink_write(sink, made.dictionary, batches[i], &error), TSMITH_OK);
        events += count;
    }
    assert_int_equal(tsmith_sink_finish(sink, made.dictionary, &error), TSMITH_OK);
    tsmith_sink_destroy(sink);

    tsmith_sbt *trace;
    tsmith_source *source;
    assert_int_equal(tsmith_sbt_open(made.path, &trace, &error), TSMITH_OK);
    assert_int_equal(tsmith_sbt_scan(trace, NULL, &source, &error), TSMITH_OK);
    for (size_t i = 0; i < BATCHES; i++) {
        const tsmith_batch *batch;
        assert_int_equal(tsmith_source_next(source, &batch, &error), TSMITH_OK);
        assert_same_batch(batches[i], batch);
        tsmith_batch_destroy(batches[i]);
    }
    const tsmith_batch *none;
    assert_int_equal(tsmith_source_next(source, &none, &error), TSMITH_END);
    tsmith_sbt_summary summary;
    assert_int_equal(tsmith_sbt_summarize(trace, &summary, &error), TSMITH_OK);
    assert_true(summary.complete);
    assert_int_equal(summary.events, events);
    tsmith_source_destroy(source);
    tsmith_sbt_close(trace);
    end(&made);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_batches_come_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
