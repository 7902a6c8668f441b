// SPDX-License-Identifier: Apache-2.0
// Operators, ranges and sequences against their definitions: every command against every range, on random traces whose
// ranges overlap in any way.
#include "support/made_analysis.h"
#include "support/random_trace.h"

#include <stdlib.h>
#include <string.h>

#include "tracesmith/analyze.h"

enum { NAMES = 4, RANGES = 25, STEP = 15 };
static const char *const NAME[NAMES] = {"a", "b", "c", "d"};

// The number in a column of the row whose first cell is `name`; 0 when there is no such row.
static int64_t value(const tsmith_report *report, const char *name, const char *column) {
    const tsmith_report_table *table = &report->tables[0];
    for (size_t row = 0; report->table_count && row < table->row_count; row++)
        for (size_t i = 0; i < table->column_count; i++)
            if (strcmp(table->cells[row * table->column_count].value.text, name) == 0 &&
                strcmp(table->columns[i].name, column) == 0)
                return table->cells[row * table->column_count + i].value.integer;
    return 0;
}

static void make(struct made_trace *trace, struct random *random) {
    random_trace(trace, random, 1 + random_below(random, 40));
    for (size_t i = 0; i < trace->count; i++)
        trace->events[i].name = NAME[i % NAMES];
    for (int i = 0; i < RANGES; i++) {
        struct made_event *range =
            made_event(trace, TSMITH_KIND_RANGE, 1 + (uint32_t)random_below(random, RANDOM_THREADS),
                       (int64_t)random_below(random, RANDOM_SPAN / STEP) * STEP,
                       (int64_t)random_below(random, 90 / STEP) * STEP); // many have one start and one end
        range->name = NAME[random_below(random, NAMES)];
    }
}

// The call that launched a command; NULL when there is none, or the event is no command that runs.
static const struct made_event *launch_of(const struct made_trace *trace, const struct made_event *event) {
    if (tsmith_dictionary_track(trace->dictionary, event->track)->kind != TSMITH_TRACK_QUEUE ||
        event->duration <= 0 || event->kind == TSMITH_KIND_EVENT_RECORD)
        return NULL;
    for (size_t i = 0; i < trace->count; i++)
        if (trace->events[i].kind == TSMITH_KIND_API && trace->events[i].correlation == event->correlation)
            return &trace->events[i];
    return NULL;
}

static bool encloses(const struct made_event *range, const struct made_event *call) {
    return range->kind == TSMITH_KIND_RANGE && range->track == call->track && range->start <= call->start &&
           call->start < range->start + range->duration;
}

// Whether `a` is further in than `b`.
static bool further_in(const struct made_event *a, const struct made_event *b) {
    if (a->start != b->start)
        return a->start > b->start;
    if (a->duration != b->duration)
        return a->duration < b->duration;
    return a > b; // recorded later
}

static void operators_are_the_ranges_around_the_call(void **state) {
    (void)state;
    struct random random = {81};
    for (int round = 0; round < 60; round++) {
        struct made_trace trace;
        int64_t self[NAMES] = {0}, total[NAMES] = {0};
        make(&trace, &random);
        for (size_t i = 0; i < trace.count; i++) {
            const struct made_event *call = launch_of(&trace, &trace.events[i]), *innermost = NULL;
            bool around[NAMES] = {false};
            for (size_t k = 0; call && k < trace.count; k++) {
                const struct made_event *range = &trace.events[k];
                if (!encloses(range, call))
                    continue;
                innermost = !innermost || further_in(range, innermost) ? range : innermost;
                around[range->name[0] - 'a'] = true;
            }
            for (int name = 0; name < NAMES; name++)
                total[name] += around[name] ? trace.events[i].duration : 0;
            if (innermost)
                self[innermost->name[0] - 'a'] += trace.events[i].duration;
        }
        tsmith_analysis *analysis = made_analysis(&trace, "operators", 3, NULL);
        for (int name = 0; name < NAMES; name++) {
            assert_int_equal(value(tsmith_analysis_report(analysis, 0), NAME[name], "self"), self[name]);
            assert_int_equal(value(tsmith_analysis_report(analysis, 0), NAME[name], "total"), total[name]);
        }
        tsmith_analysis_destroy(analysis);
        made_trace_finish(&trace);
    }
}

// What a range covers of a device, ns by ns.
static void project(const struct made_trace *trace, const struct made_event *range, uint32_t device,
                    int64_t *span, int64_t *busy) {
    enum { END = 600 };
    static bool covered[END];
    int64_t first = END, last = 0;
    memset(covered, 0, sizeof covered);
    for (size_t i = 0; i < trace->count; i++) {
        const struct made_event *command = &trace->events[i], *call = launch_of(trace, command);
        if (!call || !encloses(range, call) ||
            tsmith_dictionary_track(trace->dictionary, command->track)->device != device)
            continue;
        first = command->start < first ? command->start : first;
        last = command->start + command->duration > last ? command->start + command->duration : last;
        assert_true(last < END);
        memset(covered + command->start, true, (size_t)command->duration);
    }
    *span += last > first ? last - first : 0;
    for (int64_t at = first; at < last; at++)
        *busy += covered[at];
}

static void ranges_are_projected_onto_devices(void **state) {
    (void)state;
    struct random random = {82};
    for (int round = 0; round < 60; round++) {
        struct made_trace trace;
        int64_t span[NAMES] = {0}, busy[NAMES] = {0}, count[NAMES] = {0};
        make(&trace, &random);
        for (size_t i = 0; i < trace.count; i++) // also those of 0 ns: a clock may be coarser than they are
            count[trace.events[i].name[0] - 'a'] += trace.events[i].kind == TSMITH_KIND_RANGE;
        for (size_t i = 0; i < trace.count; i++)
            for (uint32_t device = 1; device < 3 && trace.events[i].kind == TSMITH_KIND_RANGE; device++)
                project(&trace, &trace.events[i], device, &span[trace.events[i].name[0] - 'a'],
                        &busy[trace.events[i].name[0] - 'a']);
        tsmith_analysis *analysis = made_analysis(&trace, "ranges", 3, NULL);
        for (int name = 0; name < NAMES; name++) {
            assert_int_equal(value(tsmith_analysis_report(analysis, 0), NAME[name], "span"), span[name]);
            assert_int_equal(value(tsmith_analysis_report(analysis, 0), NAME[name], "busy"), busy[name]);
            assert_int_equal(value(tsmith_analysis_report(analysis, 0), NAME[name], "count"), count[name]);
        }
        tsmith_analysis_destroy(analysis);
        made_trace_finish(&trace);
    }
}

// Ten calls of "step" launch x, y, z and one x, z, y; inside one is another "step" that counts for nothing.
static void sequences_by_hand(void **state) {
    (void)state;
    struct made_trace trace;
    made_trace_init(&trace);
    uint32_t process = made_process(&trace, 1), device = made_device(&trace, "device");
    uint32_t thread = made_track(&trace, TSMITH_TRACK_THREAD, process, 0, 0, "main");
    uint32_t queue = made_track(&trace, TSMITH_TRACK_QUEUE, process, device, 0, "queue");
    for (int i = 0; i < 11; i++) {
        made_event(&trace, TSMITH_KIND_RANGE, thread, i * 1000, 500)->name = "step";
        if (i == 3)
            made_event(&trace, TSMITH_KIND_RANGE, thread, i * 1000 + 1, 498)->name = "step";
        for (int k = 0; k < 3; k++) {
            static const char *const ORDERS[2] = {"xyz", "xzy"};
            static const char *const KERNELS[3] = {"x", "y", "z"};
            made_launch(&trace, thread, queue, (uint64_t)(3 * i + k + 1), i * 1000 + 10 * k + 2, 5,
                        i * 1000 + 200 * k + 100, 50 + k);
            trace.events[trace.count - 1].name = KERNELS[ORDERS[i == 10][k] - 'x'];
        }
    }
    tsmith_analysis *analysis = made_analysis(&trace, "sequences", 3, NULL);
    const tsmith_report *report = tsmith_analysis_report(analysis, 0);
    assert_int_equal(report->tables[0].row_count, 2);
    assert_int_equal(value(report, "step", "count"), 10);
    assert_int_equal(value(report, "step", "length"), 3);
    assert_int_equal(value(report, "step", "total"), 10 * (50 + 51 + 52));
    assert_int_equal(value(report, "step", "host"), 10 * 500);
    const tsmith_report_table *table = &report->tables[0];
    assert_string_equal(table->cells[table->column_count - 1].value.text, "x > y > z");
    assert_string_equal(table->cells[2 * table->column_count - 1].value.text, "x > z > y");
    tsmith_analysis_destroy(analysis);
    made_trace_finish(&trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_are_the_ranges_around_the_call),
        cmocka_unit_test(ranges_are_projected_onto_devices),
        cmocka_unit_test(sequences_by_hand),
    };
    return cmocka_run_group_tests_name("ranges", tests, NULL, NULL);
}
