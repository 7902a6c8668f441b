// SPDX-License-Identifier: Apache-2.0
// Batches that outlive their source's next call: as they were, without a copy, read by several threads, independent
// of the batch that they were made from.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/made_trace.h"
#include "tracesmith/tracesmith.h"

enum { BATCHES_MOST = 512, THREADS = 4, NOTE = TSMITH_FIELD_DYNAMIC };

// All that can be read of a batch, as a number.
static uint64_t digest(const tsmith_batch *batch) {
    uint64_t sum = tsmith_batch_count(batch) * 31u + tsmith_batch_track(batch), bits;
    sum = sum * 31 + (uint64_t)tsmith_batch_first_start(batch);
    sum = sum * 31 + (uint64_t)tsmith_batch_last_end(batch);
    for (uint32_t c = 0; c < tsmith_batch_column_count(batch); c++) {
        const tsmith_column column = tsmith_batch_column_at(batch, c);
        for (uint32_t row = 0; row < column.count; row++) {
            sum = sum * 31 + column.field;
            if (column.offsets && tsmith_column_has(&column, row))
                for (uint32_t i = column.offsets[row]; i < column.offsets[row + 1]; i++)
                    sum = sum * 31 + ((const uint64_t *)column.values)[i];
            else if (tsmith_batch_get(batch, column.field, row, &bits))
                sum = sum * 31 + bits;
        }
    }
    return sum;
}

static void make(struct made_trace *made, int launches) {
    made_trace_init(made);
    const uint32_t process = made_process(made, 1), device = made_device(made, "device");
    const uint32_t thread = made_track(made, TSMITH_TRACK_THREAD, process, 0, 0, "thread");
    const uint32_t queue = made_track(made, TSMITH_TRACK_QUEUE, process, device, 0, "queue");
    for (int i = 0; i < launches; i++)
        made_launch(made, thread, queue, (uint64_t)i + 1, 100 * i, 10, 100 * i + 20, 50);
}

struct reader {
    const tsmith_batch *batch;
    uint64_t digest;
};

static void *read_and_release(void *context) {
    struct reader *reader = context;
    const tsmith_batch *mine = NULL;
    if (tsmith_batch_retain(reader->batch, &mine) == TSMITH_OK && mine == reader->batch)
        reader->digest = digest(mine);
    tsmith_batch_release(mine);
    tsmith_batch_release(reader->batch);
    return NULL;
}

static void check_in_threads(const tsmith_batch *kept, uint64_t expected) {
    pthread_t threads[THREADS];
    struct reader readers[THREADS];
    for (int t = 0; t < THREADS; t++) {
        readers[t] = (struct reader){.digest = 0};
        assert_int_equal(tsmith_batch_retain(kept, &readers[t].batch), TSMITH_OK);
        assert_ptr_equal(readers[t].batch, kept);
        assert_int_equal(pthread_create(&threads[t], NULL, read_and_release, &readers[t]), 0);
    }
    tsmith_batch_release(kept);
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
        assert_int_equal(readers[t].digest, expected);
    }
}

// Retains every batch of a source and checks them all when the source is gone.
static size_t check_source(tsmith_source *source) {
    const tsmith_batch *batch, *kept[BATCHES_MOST];
    uint64_t digests[BATCHES_MOST];
    size_t count = 0;
    while (tsmith_source_next(source, &batch, NULL) == TSMITH_OK) {
        assert_true(count < BATCHES_MOST);
        digests[count] = digest(batch);
        const tsmith_column lent = tsmith_batch_column_at(batch, 0);
        assert_int_equal(tsmith_batch_retain(batch, &kept[count]), TSMITH_OK);
        assert_ptr_equal(tsmith_batch_column_at(kept[count], 0).values, lent.values); // no copy
        assert_int_equal(digest(batch), digests[count]);
        tsmith_batch_release(batch); // only lent: nothing happens
        count++;
    }
    tsmith_source_destroy(source);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(digest(kept[i]), digests[i]);
        check_in_threads(kept[i], digests[i]);
    }
    return count;
}

static void batches_of_a_source_stay(void **state) {
    struct made_trace made;
    (void)state;
    make(&made, 500);
    assert_true(check_source(made_source(&made, 16, (struct random){1})) > 10);
    made_trace_finish(&made);
}

static void batches_of_a_file_stay(void **state) {
    struct made_trace made;
    tsmith_source *source;
    tsmith_sink *sink;
    tsmith_sbt *trace;
    FILE *file = tmpfile();
    (void)state;
    assert_non_null(file);
    make(&made, 5000);
    source = made_source(&made, 64, (struct random){1});
    assert_int_equal(tsmith_sbt_writer_open_fd(fileno(file), NULL, &sink, NULL), TSMITH_OK);
    assert_int_equal(tsmith_pump(source, sink, NULL, NULL, NULL), TSMITH_OK);
    tsmith_sink_destroy(sink);
    tsmith_source_destroy(source);
    assert_int_equal(tsmith_sbt_open_fd(fileno(file), "made", &trace, NULL), TSMITH_OK);
    assert_int_equal(tsmith_sbt_scan(trace, NULL, &source, NULL), TSMITH_OK);
    assert_true(check_source(source) > 10);
    tsmith_sbt_close(trace);
    assert_int_equal(fclose(file), 0);
    made_trace_finish(&made);
}

// ---- a batch whose construction continues

static void add(tsmith_batch *batch, int64_t start, uint64_t seed) {
    const uint64_t list[3] = {seed, seed + 1, seed + 2};
    assert_int_not_equal(tsmith_batch_append(batch, TSMITH_KIND_KERNEL, start), UINT32_MAX);
    assert_int_equal(tsmith_batch_set(batch, TSMITH_FIELD_CORRELATION, seed), TSMITH_OK);
    if (seed % 3 == 0)
        assert_int_equal(tsmith_batch_set(batch, TSMITH_FIELD_DURATION, seed * 7), TSMITH_OK);
    if (seed % 2)
        assert_int_equal(tsmith_batch_set_list(batch, TSMITH_FIELD_WAITS, list, (uint32_t)(1 + seed % 3)),
                         TSMITH_OK);
}

static tsmith_batch *build(int rows) {
    tsmith_batch *batch;
    assert_int_equal(tsmith_batch_create(&batch), TSMITH_OK);
    tsmith_batch_reset(batch, 3);
    for (int i = 0; i < rows; i++)
        add(batch, 10 * i, (uint64_t)i);
    assert_int_equal(tsmith_batch_finish(batch), TSMITH_OK);
    return batch;
}

static void change(tsmith_batch *batch, int how) {
    const uint64_t list[2] = {8, 9};
    switch (how) {
    case 0:
        add(batch, -5, 76);
        break;
    case 1:
        assert_int_equal(tsmith_batch_set(batch, TSMITH_FIELD_CORRELATION, 1234), TSMITH_OK);
        break;
    case 2:
        assert_int_equal(tsmith_batch_set_dynamic(batch, NOTE, TSMITH_TYPE_U64, 5), TSMITH_OK);
        break;
    case 3:
        assert_int_equal(tsmith_batch_set_list(batch, NOTE, list, 2), TSMITH_OK);
        break;
    default:
        tsmith_batch_reset(batch, 9);
        for (int i = 0; i < 300; i++)
            add(batch, 3 * i, (uint64_t)i + 1000);
    }
    assert_int_equal(tsmith_batch_finish(batch), TSMITH_OK); // sorts in place where it must
}

static void a_change_of_the_lent_batch_is_its_own(void **state) {
    (void)state;
    for (int how = 0; how < 5; how++)
        for (int rows = 1; rows <= 200; rows += 63) {
            tsmith_batch *batch = build(rows), *other = build(rows);
            const tsmith_batch *kept, *again;
            const uint64_t before = digest(batch);
            assert_int_equal(tsmith_batch_retain(batch, &kept), TSMITH_OK);
            assert_int_equal(tsmith_batch_retain(batch, &again), TSMITH_OK);
            assert_ptr_equal(kept, again);
            change(batch, how);
            change(other, how); // the same, never retained
            assert_int_equal(digest(kept), before);
            assert_int_equal(digest(batch), digest(other));
            assert_int_not_equal(digest(batch), before);
            tsmith_batch_release(again);
            tsmith_batch_destroy(batch);
            tsmith_batch_destroy(other);
            assert_int_equal(digest(kept), before);
            tsmith_batch_release(kept);
        }
}

static void an_empty_batch_is_retained(void **state) {
    tsmith_batch *batch;
    const tsmith_batch *kept;
    (void)state;
    assert_int_equal(tsmith_batch_create(&batch), TSMITH_OK);
    assert_int_equal(tsmith_batch_retain(batch, &kept), TSMITH_OK);
    tsmith_batch_destroy(batch);
    assert_int_equal(tsmith_batch_count(kept), 0);
    tsmith_batch_release(kept);
    tsmith_batch_release(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_of_a_source_stay),
        cmocka_unit_test(batches_of_a_file_stay),
        cmocka_unit_test(a_change_of_the_lent_batch_is_its_own),
        cmocka_unit_test(an_empty_batch_is_retained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
