// SPDX-License-Identifier: Apache-2.0
// A merge of traces of two hosts that probed each other: times stay, and what the table of parts and the clock of part 1 say of the
// offset holds at every moment.
#include "support/made_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracesmith/merge.h"
#include "tracesmith/sbt.h"

static const int64_t SECOND = 1000000000, ERROR = 4000;
enum { SECONDS = 60, EVENTS = 60 };

// The second host's clock is 40 ppm fast.
static int64_t shown(int host, int64_t time) {
    return host ? time + time / 25000 + 7777 * SECOND : time + 55 * SECOND;
}

static void write_trace(const char *path, int host, int64_t step) {
    struct made_trace trace;
    char id[32];
    tsmith_sink *sink;
    const tsmith_batch *batch;
    const tsmith_sbt_write_options options = {.size = sizeof options};
    made_trace_init(&trace);
    (void)snprintf(id, sizeof id, "raw:%d", host);
    tsmith_dictionary_set_attribute(trace.dictionary, TSMITH_CLOCK_ATTRIBUTE, id);
    (void)tsmith_dictionary_add_rank(trace.dictionary,
                                     &(tsmith_rank){.rank = (uint32_t)host + 1, .world = 2});
    const uint32_t process = made_process(&trace, 100 + (uint64_t)host),
                   thread = made_track(&trace, TSMITH_TRACK_THREAD, process, 0, 0, "main"),
                   clock = tsmith_dictionary_add_clock(
                       trace.dictionary, &(tsmith_clock){.name = tsmith_dictionary_intern_cstr(
                                                             trace.dictionary, TSMITH_CLOCK_OF "raw:0")});
    for (int i = 0; i < EVENTS; i++) {
        const int64_t time = i * SECOND * SECONDS / EVENTS;
        made_event(&trace, TSMITH_KIND_RANGE, thread, shown(host, time), 1000)->name = "step";
        if (host)
            (void)tsmith_dictionary_add_clock_pair(
                trace.dictionary,
                &(tsmith_clock_pair){.clock = clock,
                                     .clock_time = shown(0, time) + (i % 3 - 1) * 1000 + (i > 30 ? step : 0),
                                     .trace_time = shown(1, time),
                                     .error = ERROR});
    }
    tsmith_source *source = made_source(&trace, 16, (struct random){1});
    assert_int_equal(tsmith_sbt_writer_open(path, &options, &sink, NULL), TSMITH_OK);
    while (tsmith_source_next(source, &batch, NULL) == TSMITH_OK)
        assert_int_equal(tsmith_sink_write(sink, trace.dictionary, batch, NULL), TSMITH_OK);
    assert_int_equal(tsmith_sink_finish(sink, trace.dictionary, NULL), TSMITH_OK);
    tsmith_sink_destroy(sink);
    tsmith_source_destroy(source);
    made_trace_finish(&trace);
}

static tsmith_combine_result merge(int64_t step, tsmith_sbt **out) {
    char directory[] = "/tmp/tracesmith-combine-XXXXXX", paths[3][64];
    static const char *const names[] = {"first.sbt", "second.sbt", "all.sbt"};
    assert_non_null(mkdtemp(directory));
    for (int i = 0; i < 3; i++)
        (void)snprintf(paths[i], sizeof paths[i], "%s/%s", directory, names[i]);
    write_trace(paths[0], 0, 0);
    write_trace(paths[1], 1, step);
    const char *const inputs[] = {paths[1], paths[0]};
    const tsmith_sbt_write_options options = {.size = sizeof options};
    tsmith_combine_result result = {.size = sizeof result};
    assert_int_equal(tsmith_traces_combine(inputs, 2, paths[2], &options, &result, NULL), TSMITH_OK);
    assert_int_equal(tsmith_sbt_open(paths[2], out, NULL), TSMITH_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(unlink(paths[i]), 0);
    assert_int_equal(rmdir(directory), 0);
    return result;
}

static bool is_within(int64_t value, int64_t truth, int64_t error) {
    return value - truth <= error && truth - value <= error;
}

// The time of the second host's clock when the first host's shows `at`.
static int64_t there(int64_t at) {
    return shown(1, at - shown(0, 0));
}

static void offsets_hold(void **unused) {
    (void)unused;
    tsmith_sbt *file;
    const tsmith_combine_result result = merge(0, &file);
    const tsmith_dictionary *dictionary;
    assert_int_equal(tsmith_sbt_dictionary(file, &dictionary, NULL), TSMITH_OK);
    assert_int_equal(result.compared, 1);
    assert_int_equal(result.contradictions + result.unrelated + result.by_wall_clock, 0);
    const tsmith_part *part = tsmith_dictionary_part(dictionary, 2);
    assert_int_equal(part->relation, TSMITH_RELATION_COMPARED);
    for (int64_t time = 0; time < (SECONDS - 1) * SECOND; time += SECOND / 4)
        assert_true(is_within(shown(1, time) + part->offset, shown(0, time), part->error));
    assert_true(part->error < 2 * SECONDS * SECOND / 25000); // half the drift, and the bound
    uint32_t found = 0;
    for (uint32_t id = 1; id < tsmith_dictionary_clock_pair_count(dictionary); id++) {
        const tsmith_clock_pair *pair = tsmith_dictionary_clock_pair(dictionary, id);
        const tsmith_clock *clock = tsmith_dictionary_clock(dictionary, pair->clock);
        if (strcmp(tsmith_dictionary_string(dictionary, clock->name).bytes, TSMITH_CLOCK_PART) != 0)
            continue;
        assert_int_equal(clock->process, part->first_process);
        assert_true(pair->error <= ERROR + 100);
        assert_true(is_within(pair->trace_time, there(pair->clock_time), pair->error));
        found++;
    }
    assert_int_equal(found, 257);
    // The times of the second trace are its own.
    tsmith_sbt_summary summary = {.size = sizeof summary};
    assert_int_equal(tsmith_sbt_summarize(file, &summary, NULL), TSMITH_OK);
    assert_int_equal(summary.first_start, shown(0, 0));
    assert_int_equal(summary.last_end, shown(1, SECONDS * SECOND - SECOND * SECONDS / EVENTS) + 1000);
    tsmith_sbt_close(file);
}

static void contradictions_are_counted(void **unused) {
    (void)unused;
    tsmith_sbt *file;
    const tsmith_combine_result result = merge(3 * SECOND, &file);
    const tsmith_dictionary *dictionary;
    assert_int_equal(tsmith_sbt_dictionary(file, &dictionary, NULL), TSMITH_OK);
    assert_int_equal(result.contradictions, 1);
    assert_int_equal(result.compared, 0);
    assert_int_equal(result.unrelated, 1);
    assert_int_equal(tsmith_dictionary_part(dictionary, 2)->relation, TSMITH_RELATION_UNKNOWN);
    assert_int_equal(tsmith_dictionary_part(dictionary, 2)->error, -1);
    tsmith_sbt_close(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_hold),
        cmocka_unit_test(contradictions_are_counted),
    };
    return cmocka_run_group_tests_name("combine_clocks", tests, NULL, NULL);
}
