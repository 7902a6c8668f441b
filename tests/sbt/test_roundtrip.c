// SPDX-License-Identifier: Apache-2.0
// What is written comes back, compared with copies of it that were kept in memory and with answers worked out from
// them one event at a time.
#include "sbt/make.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "sbt/writer.h"

enum { BATCHES = 60, TRACKS = 8 };

struct trace {
    struct made made;
    tsmith_batch *batches[BATCHES];
    uint64_t events;
};

static void write_batches(struct trace *trace, const tsmith_sbt_write_options *options) {
    tsmith_sink *sink;
    tsmith_error error;
    assert_int_equal(tsmith_sbt_writer_open(trace->made.path, options, &sink, &error), TSMITH_OK);
    for (size_t i = 0; i < BATCHES; i++)
        assert_int_equal(tsmith_sink_write(sink, trace->made.dictionary, trace->batches[i], &error),
                         TSMITH_OK);
    assert_int_equal(tsmith_sink_finish(sink, trace->made.dictionary, &error), TSMITH_OK);
    tsmith_sink_destroy(sink);
}

static void make_trace(struct trace *trace, uint64_t seed) {
    struct random random = {seed};
    made_begin(&trace->made);
    make_names(&trace->made, TRACKS);
    trace->events = 0;
    for (size_t i = 0; i < BATCHES; i++) {
        assert_int_equal(tsmith_batch_create(&trace->batches[i]), TSMITH_OK);
        uint32_t count = (uint32_t)random_below(&random, (uint64_t)1 << random_below(&random, 14)) + 1;
        if (i == BATCHES / 2)
            count = 40000; // several frames
        make_batch(&random, trace->batches[i], (uint32_t)i % TRACKS + 1, count, trace->made.dynamic,
                   trace->made.dynamic_count);
        trace->events += count;
    }
}

static void end_trace(struct trace *trace) {
    for (size_t i = 0; i < BATCHES; i++)
        tsmith_batch_destroy(trace->batches[i]);
    made_end(&trace->made);
}

static tsmith_sbt *open_trace(const struct trace *trace) {
    tsmith_sbt *opened;
    tsmith_error error;
    assert_int_equal(tsmith_sbt_open(trace->made.path, &opened, &error), TSMITH_OK);
    return opened;
}

static tsmith_source *scan_trace(tsmith_sbt *opened, const tsmith_scan *scan) {
    tsmith_source *source;
    tsmith_error error;
    assert_int_equal(tsmith_sbt_scan(opened, scan, &source, &error), TSMITH_OK);
    return source;
}

static void check_summary(const struct trace *trace, tsmith_sbt *opened) {
    tsmith_sbt_summary summary = {.size = sizeof summary};
    tsmith_error error;
    uint64_t kinds[TSMITH_KIND_LIMIT] = {0}, lost[TSMITH_REASON_LIMIT] = {0};
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < BATCHES; i++) {
        const tsmith_batch *batch = trace->batches[i];
        first = tsmith_batch_first_start(batch) < first ? tsmith_batch_first_start(batch) : first;
        last = tsmith_batch_last_end(batch) > last ? tsmith_batch_last_end(batch) : last;
        for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
            uint64_t kind, count, reason = 0;
            assert_true(tsmith_batch_get(batch, TSMITH_FIELD_KIND, row, &kind));
            kinds[kind]++;
            (void)tsmith_batch_get(batch, TSMITH_FIELD_REASON, row, &reason);
            if (kind == TSMITH_KIND_LOSS && tsmith_batch_get(batch, TSMITH_FIELD_LOST, row, &count))
                lost[reason] += count;
        }
    }
    assert_int_equal(tsmith_sbt_summarize(opened, &summary, &error), TSMITH_OK);
    assert_true(summary.complete);
    assert_int_equal(summary.version_major, 1);
    assert_int_equal(summary.events, trace->events);
    assert_int_equal(summary.damaged_frames, 0);
    assert_int_equal(summary.unknown_frames, 0);
    assert_true(summary.first_bad_offset == UINT64_MAX);
    assert_int_equal(summary.first_start, first);
    assert_int_equal(summary.last_end, last);
    assert_memory_equal(summary.kinds, kinds, sizeof kinds);
    assert_memory_equal(summary.lost, lost, sizeof lost);
}

static void everything_comes_back(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct trace trace;
        make_trace(&trace, seed);
        write_batches(&trace, NULL);
        tsmith_sbt *opened = open_trace(&trace);
        tsmith_source *source = scan_trace(opened, NULL);
        for (size_t i = 0; i < BATCHES; i++)
            assert_next_is(source, trace.batches[i]);
        const tsmith_batch *none;
        tsmith_error error;
        assert_int_equal(tsmith_source_next(source, &none, &error), TSMITH_END);
        assert_int_equal(tsmith_source_next(source, &none, &error), TSMITH_END);
        check_summary(&trace, opened);
        tsmith_source_destroy(source);
        tsmith_sbt_close(opened);
        end_trace(&trace);
    }
}

static void options_change_the_bytes_only(void **state) {
    (void)state;
    struct trace trace;
    make_trace(&trace, 11);
    tsmith_sbt_write_options options[] = {{.size = sizeof options[0], .compression_level = 3},
                                          {.size = sizeof options[0], .compression_level = 4},
                                          {.size = sizeof options[0], .compression_level = 19},
                                          {.size = sizeof options[0], .no_index = 1}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        write_batches(&trace, &options[i]);
        tsmith_sbt *opened = open_trace(&trace);
        tsmith_source *source = scan_trace(opened, NULL);
        for (size_t b = 0; b < BATCHES; b++)
            assert_next_is(source, trace.batches[b]);
        check_summary(&trace, opened);
        tsmith_source_destroy(source);
        tsmith_sbt_close(opened);
    }
    end_trace(&trace);
}

// As the temporary file of an import is made.
static void a_quick_file_has_everything(void **state) {
    (void)state;
    struct trace trace;
    struct sbt_writer *writer;
    tsmith_error error;
    make_trace(&trace, 13);
    const int fd = open(trace.made.path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(sbt_writer_create_fd(fd, "quick", NULL, &writer, &error), TSMITH_OK);
    sbt_writer_make_quick(writer);
    for (size_t i = 0; i < BATCHES; i++)
        assert_int_equal(sbt_writer_write(writer, trace.made.dictionary, trace.batches[i], &error),
                         TSMITH_OK);
    assert_int_equal(sbt_writer_finish(writer, trace.made.dictionary, &error), TSMITH_OK);
    sbt_writer_destroy(writer);
    close(fd);
    tsmith_sbt *opened = open_trace(&trace);
    tsmith_source *source = scan_trace(opened, NULL);
    for (size_t i = 0; i < BATCHES; i++)
        assert_next_is(source, trace.batches[i]);
    check_summary(&trace, opened);
    tsmith_source_destroy(source);
    tsmith_sbt_close(opened);
    end_trace(&trace);
}

static void a_repaired_file_is_of_the_version_it_was(void **state) {
    (void)state;
    for (int level = 0; level <= 9; level += 9) {
        struct trace trace;
        char repaired[300];
        tsmith_error error;
        tsmith_sbt *opened;
        tsmith_sbt_summary summary = {.size = sizeof summary};
        tsmith_sbt_recovery recovery = {.size = sizeof recovery};
        tsmith_sbt_write_options options = {.size = sizeof options, .compression_level = level};
        make_trace(&trace, 12);
        write_batches(&trace, &options);
        snprintf(repaired, sizeof repaired, "%s.repaired", trace.made.path);
        assert_int_equal(tsmith_sbt_recover(trace.made.path, repaired, &recovery, &error), TSMITH_OK);
        assert_int_equal(tsmith_sbt_open(repaired, &opened, &error), TSMITH_OK);
        assert_int_equal(tsmith_sbt_summarize(opened, &summary, &error), TSMITH_OK);
        assert_int_equal(summary.version_minor, level ? 1 : 0);
        assert_int_equal(summary.events, trace.events);
        assert_true(summary.complete);
        tsmith_sbt_close(opened);
        unlink(repaired);
        end_trace(&trace);
    }
}

static size_t read_file(const char *path, uint8_t **out) {
    struct stat there;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &there), 0);
    *out = malloc((size_t)there.st_size);
    assert_non_null(*out);
    assert_int_equal(fread(*out, 1, (size_t)there.st_size, file), there.st_size);
    fclose(file);
    return (size_t)there.st_size;
}

static void the_same_events_give_the_same_bytes(void **state) {
    (void)state;
    struct trace trace;
    uint8_t *first, *second;
    make_trace(&trace, 5);
    write_batches(&trace, NULL);
    size_t size = read_file(trace.made.path, &first);
    write_batches(&trace, NULL);
    assert_int_equal(read_file(trace.made.path, &second), size);
    assert_memory_equal(first, second, size);
    free(first);
    free(second);
    end_trace(&trace);
}

// ---- asking for less

static bool batch_has_kind(const tsmith_batch *batch, uint64_t kinds) {
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        uint64_t kind;
        assert_true(tsmith_batch_get(batch, TSMITH_FIELD_KIND, row, &kind));
        if (kinds >> kind & 1)
            return true;
    }
    return false;
}

static bool event_is_in(const tsmith_batch *batch, uint32_t row, const tsmith_scan *scan) {
    uint64_t start, duration = 0, kind;
    int64_t end;
    assert_true(tsmith_batch_get(batch, TSMITH_FIELD_START, row, &start));
    assert_true(tsmith_batch_get(batch, TSMITH_FIELD_KIND, row, &kind));
    (void)tsmith_batch_get(batch, TSMITH_FIELD_DURATION, row, &duration);
    if (__builtin_add_overflow((int64_t)start, (int64_t)duration, &end) || end < (int64_t)start)
        end = (int64_t)start;
    bool in_track = !scan->tracks;
    for (size_t i = 0; i < scan->track_count; i++)
        in_track |= scan->tracks[i] == tsmith_batch_track(batch);
    return in_track && (!scan->has_window || ((int64_t)start <= scan->to && end >= scan->from)) &&
           (!scan->kinds || scan->kinds >> kind & 1);
}

static uint64_t count_matching(const tsmith_batch *batch, const tsmith_scan *scan) {
    uint64_t matching = 0;
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++)
        matching += event_is_in(batch, row, scan);
    return matching;
}

static void filters_leave_nothing_out(void **state) {
    (void)state;
    struct trace trace;
    struct random random = {99};
    make_trace(&trace, 6);
    write_batches(&trace, NULL);
    tsmith_sbt *opened = open_trace(&trace);
    for (int round = 0; round < 60; round++) {
        const tsmith_batch *around = trace.batches[random_below(&random, BATCHES)];
        uint32_t tracks[2] = {(uint32_t)random_below(&random, TRACKS) + 1, 1};
        uint64_t start;
        assert_true(tsmith_batch_get(around, TSMITH_FIELD_START,
                                     (uint32_t)random_below(&random, tsmith_batch_count(around)), &start));
        tsmith_scan scan = {.size = sizeof scan,
                            .has_window = round % 2,
                            .from = (int64_t)start,
                            .to = (int64_t)start + (int64_t)random_below(&random, 1000000)};
        if (round % 3 == 0) {
            scan.tracks = tracks;
            scan.track_count = 1 + random_below(&random, 2);
        }
        if (round % 5 == 0)
            scan.kinds = TSMITH_KIND_BIT(TSMITH_KIND_KERNEL) |
                         TSMITH_KIND_BIT(random_below(&random, TSMITH_KIND_LIMIT));
        uint64_t expected = 0, got = 0;
        for (size_t i = 0; i < BATCHES; i++)
            expected += count_matching(trace.batches[i], &scan);
        tsmith_source *source = scan_trace(opened, &scan);
        const tsmith_batch *batch;
        tsmith_error error;
        while (tsmith_source_next(source, &batch, &error) == TSMITH_OK) {
            got += count_matching(batch, &scan);
            assert_true(!scan.has_window || (tsmith_batch_first_start(batch) <= scan.to &&
                                             tsmith_batch_last_end(batch) >= scan.from));
            assert_true(!scan.kinds || batch_has_kind(batch, scan.kinds));
        }
        assert_int_equal(got, expected);
        tsmith_source_destroy(source);
    }
    tsmith_sbt_close(opened);
    end_trace(&trace);
}

static void projection_gives_only_what_was_asked_for(void **state) {
    (void)state;
    struct trace trace;
    make_trace(&trace, 8);
    write_batches(&trace, NULL);
    tsmith_sbt *opened = open_trace(&trace);
    for (uint32_t field = 1; field < TSMITH_FIELD_LIMIT; field++) {
        tsmith_scan scan = {.size = sizeof scan, .fields = &field, .field_count = 1};
        tsmith_source *source = scan_trace(opened, &scan);
        for (size_t i = 0; i < BATCHES; i++) {
            for (uint32_t from = 0; from < tsmith_batch_count(trace.batches[i]);) {
                const tsmith_batch *batch;
                tsmith_error error;
                tsmith_column in, out;
                assert_int_equal(tsmith_source_next(source, &batch, &error), TSMITH_OK);
                int there = tsmith_batch_column(trace.batches[i], field, &in);
                assert_int_equal(tsmith_batch_column(batch, field, &out), there);
                uint32_t basics = field == TSMITH_FIELD_START || field == TSMITH_FIELD_KIND ? 0 : 1;
                assert_int_equal(tsmith_batch_column_count(batch), 2 + (there ? basics : 0));
                for (uint32_t row = 0; there && row < out.count; row++)
                    assert_same_value(&in, from + row, &out, row);
                from += tsmith_batch_count(batch);
            }
        }
        tsmith_source_destroy(source);
    }
    tsmith_sbt_close(opened);
    end_trace(&trace);
}

// ---- totals per name

struct sum {
    uint64_t count, total, min, max, timed;
};

static void totals_per_name_are_those_of_the_events(void **state) {
    (void)state;
    enum { NAMES = 50 };
    struct made made;
    struct random random = {3};
    static struct sum sums[TSMITH_KIND_LIMIT][NAMES];
    tsmith_batch *batch;
    tsmith_sink *sink;
    tsmith_error error;
    memset(sums, 0, sizeof sums);
    made_begin(&made);
    make_names(&made, 1);
    assert_int_equal(tsmith_batch_create(&batch), TSMITH_OK);
    assert_int_equal(tsmith_sbt_writer_open(made.path, NULL, &sink, &error), TSMITH_OK);
    for (int round = 0; round < 200; round++) {
        tsmith_batch_reset(batch, 1);
        for (uint32_t row = 0; row < 100; row++) {
            tsmith_kind kind = (tsmith_kind)(1 + random_below(&random, TSMITH_KIND_LIMIT - 1));
            uint32_t name = (uint32_t)random_below(&random, NAMES);
            uint64_t duration = random_below(&random, 1000000);
            struct sum *sum = &sums[kind][name];
            assert_int_equal(tsmith_batch_append(batch, kind, round * 1000 + (int64_t)row), row);
            if (name)
                tsmith_batch_set(batch, TSMITH_FIELD_NAME, name);
            sum->count++;
            if (random_below(&random, 4) == 0)
                continue;
            tsmith_batch_set(batch, TSMITH_FIELD_DURATION, duration);
            sum->min = sum->timed == 0 || duration < sum->min ? duration : sum->min;
            sum->max = duration > sum->max ? duration : sum->max;
            sum->total += duration;
            sum->timed++;
        }
        assert_int_equal(tsmith_batch_finish(batch), TSMITH_OK);
        assert_int_equal(tsmith_sink_write(sink, made.dictionary, batch, &error), TSMITH_OK);
    }
    assert_int_equal(tsmith_sink_finish(sink, made.dictionary, &error), TSMITH_OK);
    tsmith_sink_destroy(sink);
    tsmith_sbt *opened;
    tsmith_aggregate *totals;
    size_t count, expected = 0;
    assert_int_equal(tsmith_sbt_open(made.path, &opened, &error), TSMITH_OK);
    assert_int_equal(tsmith_sbt_aggregates(opened, &totals, &count, &error), TSMITH_OK);
    for (size_t kind = 0; kind < TSMITH_KIND_LIMIT; kind++)
        for (size_t name = 0; name < NAMES; name++)
            expected += sums[kind][name].count != 0;
    assert_int_equal(count, expected);
    for (size_t i = 0; i < count; i++) {
        const struct sum *sum = &sums[totals[i].kind][totals[i].name];
        assert_int_equal(totals[i].count, sum->count);
        assert_int_equal(totals[i].total, sum->total);
        assert_int_equal(totals[i].min, sum->min);
        assert_int_equal(totals[i].max, sum->max);
        assert_true(i == 0 || totals[i - 1].total >= totals[i].total);
    }
    tsmith_free(totals);
    tsmith_sbt_close(opened);
    tsmith_batch_destroy(batch);
    made_end(&made);
}

// ---- many tracks

static void a_hundred_thousand_tracks_with_one_event_each(void **state) {
    (void)state;
    enum { MANY = 100000 };
    struct made made;
    tsmith_batch *batch;
    tsmith_sink *sink;
    tsmith_error error;
    struct stat there;
    made_begin(&made);
    assert_int_equal(tsmith_dictionary_create(&made.dictionary), TSMITH_OK);
    assert_int_equal(tsmith_batch_create(&batch), TSMITH_OK);
    assert_int_equal(tsmith_sbt_writer_open(made.path, NULL, &sink, &error), TSMITH_OK);
    for (uint32_t i = 1; i <= MANY; i++) {
        assert_int_equal(tsmith_dictionary_add_track(made.dictionary, &(tsmith_track){.tid = i}), i);
        tsmith_batch_reset(batch, i);
        tsmith_batch_append(batch, TSMITH_KIND_RANGE, (int64_t)i * 10);
        tsmith_batch_set(batch, TSMITH_FIELD_DURATION, i);
        assert_int_equal(tsmith_batch_finish(batch), TSMITH_OK);
        assert_int_equal(tsmith_sink_write(sink, made.dictionary, batch, &error), TSMITH_OK);
    }
    assert_int_equal(tsmith_sink_finish(sink, made.dictionary, &error), TSMITH_OK);
    tsmith_sink_destroy(sink);
    assert_int_equal(stat(made.path, &there), 0);
    assert_true(there.st_size < 400 * (off_t)MANY);
    tsmith_sbt *opened;
    assert_int_equal(tsmith_sbt_open(made.path, &opened, &error), TSMITH_OK);
    tsmith_source *source = scan_trace(opened, NULL);
    const tsmith_batch *read;
    uint32_t seen = 0;
    while (tsmith_source_next(source, &read, &error) == TSMITH_OK) {
        uint64_t duration;
        seen++;
        assert_int_equal(tsmith_batch_track(read), seen);
        assert_true(tsmith_batch_get(read, TSMITH_FIELD_DURATION, 0, &duration));
        assert_int_equal(duration, seen);
        assert_int_equal(tsmith_dictionary_track(tsmith_source_dictionary(source), seen)->tid, seen);
    }
    assert_int_equal(seen, MANY);
    tsmith_source_destroy(source);
    tsmith_sbt_close(opened);
    tsmith_batch_destroy(batch);
    made_end(&made);
}

// ---- wide batches

// A thousand columns, and lists with a million elements: more frames, each of which can be read again.
static void very_wide_batches_come_back(void **state) {
    (void)state;
    enum { WIDE = 1000, WIDE_ROWS = 9000, LONG = 300000 };
    struct made made;
    struct random random = {8};
    tsmith_batch *batch;
    tsmith_sink *sink;
    tsmith_error error;
    made_begin(&made);
    make_names(&made, 1);
    assert_int_equal(tsmith_batch_create(&batch), TSMITH_OK);
    uint64_t *list = calloc(LONG, sizeof *list);
    assert_non_null(list);
    tsmith_batch_reset(batch, 1);
    for (uint32_t row = 0; row < WIDE_ROWS; row++) {
        tsmith_batch_append(batch, TSMITH_KIND_API, (int64_t)row * 7);
        for (uint32_t i = 0; i < WIDE; i++)
            if (random_below(&random, 8) == 0 || row == 0)
                tsmith_batch_set_dynamic(batch, TSMITH_FIELD_DYNAMIC + 100 + i, TSMITH_TYPE_U64,
                                         random_next(&random) >> (i % 64));
        if (row % 1000 == 0)
            tsmith_batch_set_list(batch, TSMITH_FIELD_WAITS, list, LONG);
    }
    assert_int_equal(tsmith_batch_finish(batch), TSMITH_OK);
    assert_int_equal(tsmith_sbt_writer_open(made.path, NULL, &sink, &error), TSMITH_OK);
    assert_int_equal(tsmith_sink_write(sink, made.dictionary, batch, &error), TSMITH_OK);
    assert_int_equal(tsmith_sink_finish(sink, made.dictionary, &error), TSMITH_OK);
    tsmith_sink_destroy(sink);
    tsmith_sbt *opened;
    assert_int_equal(tsmith_sbt_open(made.path, &opened, &error), TSMITH_OK);
    tsmith_source *source = scan_trace(opened, NULL);
    assert_next_is(source, batch);
    tsmith_source_destroy(source);
    tsmith_sbt_close(opened);
    free(list);
    tsmith_batch_destroy(batch);
    made_end(&made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_back),
        cmocka_unit_test(options_change_the_bytes_only),
        cmocka_unit_test(a_quick_file_has_everything),
        cmocka_unit_test(a_repaired_file_is_of_the_version_it_was),
        cmocka_unit_test(the_same_events_give_the_same_bytes),
        cmocka_unit_test(filters_leave_nothing_out),
        cmocka_unit_test(projection_gives_only_what_was_asked_for),
        cmocka_unit_test(totals_per_name_are_those_of_the_events),
        cmocka_unit_test(a_hundred_thousand_tracks_with_one_event_each),
        cmocka_unit_test(very_wide_batches_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
