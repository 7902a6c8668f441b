// SPDX-License-Identifier: Apache-2.0
// Three ranks whose clocks have nothing to do with each other, and of which is known who is late.
#include "support/made_trace.h"

#include <string.h>

#include "tracesmith/ranks.h"

// Two collectives of the given durations and a kernel of 100 ns; `number` < 0: the trace has no rank.
static void add(tsmith_ranks *ranks, const char *label, int64_t clock, int64_t first, int64_t second,
                int number) {
    struct made_trace trace;
    char info[64];
    made_trace_init(&trace);
    (void)snprintf(info, sizeof info, "{\"backend\": \"nccl\", \"rank\": %d, \"world_size\": 3}", number);
    if (number >= 0)
        tsmith_dictionary_set_attribute(trace.dictionary, "trace.distributedInfo", info);
    uint32_t process = made_process(&trace, 1), device = made_device(&trace, "device");
    uint32_t queue = made_track(&trace, TSMITH_TRACK_QUEUE, process, device, 0, "queue");
    uint32_t thread = made_track(&trace, TSMITH_TRACK_THREAD, process, 0, 0, "main");
    made_event(&trace, TSMITH_KIND_KERNEL, queue, clock, 100)->name = "gemm";
    made_event(&trace, TSMITH_KIND_KERNEL, queue, clock + 200 - first, first)->name = "ncclKernel_AllReduce";
    made_event(&trace, TSMITH_KIND_COLLECTIVE, queue, clock + 300 - second, second)->name = "broadcast";
    made_event(&trace, TSMITH_KIND_RANGE, thread, clock, 400 + first)->name = "ProfilerStep#1";
    tsmith_source *source = made_source(&trace, 2, (struct random){1});
    assert_int_equal(tsmith_ranks_add(ranks, label, source, NULL), TSMITH_OK);
    tsmith_source_destroy(source);
    made_trace_finish(&trace);
}

static int64_t integer(const tsmith_ranks *ranks, size_t table, size_t row, const char *column) {
    const tsmith_report_table *one = &tsmith_ranks_report(ranks)->tables[table];
    for (size_t i = 0; i < one->column_count; i++)
        if (strcmp(one->columns[i].name, column) == 0) {
            assert_true(one->cells[row * one->column_count + i].known);
            return one->cells[row * one->column_count + i].value.integer;
        }
    fail_msg("no column %s", column);
    return 0;
}

static void lateness_by_hand(void **state) {
    (void)state;
    static const struct {
        const char *column;
        int64_t of_rank[3];
    } EXPECTED[] = {{"waited", {6 + 5, 5, 3}}, {"last", {0, 1, 1}},          {"delay", {0, 3, 5}},
                    {"matched", {2, 2, 2}},    {"compute", {100, 100, 100}}, {"step_mean", {410, 404, 407}}};
    tsmith_ranks *ranks;
    assert_int_equal(tsmith_ranks_create(&ranks, NULL), TSMITH_OK);
    add(ranks, "c", 900000, 7, 15, 2); // not in their order
    add(ranks, "a", 5, 10, 20, 0);
    add(ranks, "b", 70, 4, 20, 1);
    assert_int_equal(tsmith_ranks_finish(ranks, NULL), TSMITH_OK);
    for (size_t i = 0; i < sizeof EXPECTED / sizeof *EXPECTED; i++)
        for (size_t rank = 0; rank < 3; rank++)
            assert_int_equal(integer(ranks, 1, rank, EXPECTED[i].column), EXPECTED[i].of_rank[rank]);
    const tsmith_report *report = tsmith_ranks_report(ranks);
    size_t broadcast = strcmp(report->tables[0].cells[0].value.text, "broadcast") == 0 ? 0 : 1;
    assert_int_equal(integer(ranks, 0, broadcast, "skew_max"), 5);
    assert_int_equal(integer(ranks, 0, broadcast, "waited"), 10);
    assert_int_equal(integer(ranks, 0, broadcast, "last_rank"), 2);
    assert_int_equal(integer(ranks, 2, 0, "spread"), 6);
    assert_int_equal(integer(ranks, 2, 0, "slowest_rank"), 0);
    assert_non_null(strstr(report->finding, "Rank 2"));
    // Clocks: all collectives end at the same distance from them. Lateness: broadcast, then the other; who is late at it.
    static const int64_t OFFSETS[] = {0, 65, 899995}, LATE[] = {0, 0, 5, 0, 6, 3};
    assert_int_equal(report->table_count, 11);
    for (size_t table = 5; table < 11; table++) // nothing to say in the others
        assert_int_equal(report->tables[table].row_count, 0);
    for (size_t rank = 0; rank < 3; rank++) {
        assert_int_equal(integer(ranks, 1, rank, "clock_offset"), OFFSETS[rank]);
        assert_int_equal(integer(ranks, 1, rank, "clock_bound"), 0);
        assert_int_equal(integer(ranks, 3, (broadcast ? 3 : 0) + rank, "late_max"), LATE[rank]);
        assert_int_equal(integer(ranks, 3, (broadcast ? 0 : 3) + rank, "late_mean"), LATE[3 + rank]);
    }
    // The one with more skew comes first: 6 ns, and 5. Two ways to know who is how late say the same.
    assert_int_equal(report->tables[4].row_count, 6);
    for (size_t row = 0; row < 6; row++) {
        assert_int_equal(integer(ranks, 4, row, "late"), LATE[(row + 3) % 6]);
        assert_int_equal(integer(ranks, 4, row, "aligned"), LATE[(row + 3) % 6]);
    }
    assert_int_equal(report->note_count, 0);
    tsmith_ranks_destroy(ranks);
}

static void without_numbers_the_labels_count(void **state) {
    (void)state;
    for (int twice = -1; twice < 1; twice++) { // no number, or one number twice
        tsmith_ranks *ranks;
        assert_int_equal(tsmith_ranks_create(&ranks, NULL), TSMITH_OK);
        add(ranks, "rank10", 0, 4, 10, twice);
        assert_int_equal(tsmith_ranks_finish(ranks, NULL), TSMITH_ERROR_STATE); // one is none
        add(ranks, "rank9", 0, 9, 10, twice);
        assert_int_equal(tsmith_ranks_finish(ranks, NULL), TSMITH_OK);
        assert_int_equal(integer(ranks, 1, 1, "rank"), 1);
        assert_int_equal(integer(ranks, 1, 1, "delay"), 5);
        // Numbered in order; without a number the traces have no number of ranks, with one it is three.
        assert_int_equal(tsmith_ranks_report(ranks)->note_count, 2);
        assert_non_null(strstr(tsmith_ranks_report(ranks)->notes[0],
                               twice < 0 ? "do not state how many" : "had 3 ranks"));
        assert_int_equal(strncmp(tsmith_ranks_report(ranks)->finding, "Of the 2 of 3 ranks", 19) == 0,
                         twice >= 0);
        tsmith_ranks_destroy(ranks);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lateness_by_hand),
        cmocka_unit_test(without_numbers_the_labels_count),
    };
    return cmocka_run_group_tests_name("ranks", tests, NULL, NULL);
}
