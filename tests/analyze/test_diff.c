// SPDX-License-Identifier: Apache-2.0
// A diff of traces of which every number is known, its intervals against a t table and an integral, its gates.
#include "analyze/diff.h"
#include "support/made_trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_COUNT = 3 };
static const char *const NAME[NAME_COUNT] = {"a<int>", "b", "c"};

// Kernels one after the other; 0: not in the run.
static void add_run(tsmith_diff *diff, tsmith_diff_side side, const int64_t durations[NAME_COUNT]) {
    struct made_trace trace;
    made_trace_init(&trace);
    uint32_t process = made_process(&trace, 1), device = made_device(&trace, "device");
    uint32_t queue = made_track(&trace, TSMITH_TRACK_QUEUE, process, device, 0, "queue");
    int64_t time = 0;
    for (int i = 0; i < NAME_COUNT; i++) {
        if (durations[i])
            made_event(&trace, TSMITH_KIND_KERNEL, queue, time, durations[i])->name = NAME[i];
        time += durations[i];
    }
    tsmith_source *source = made_source(&trace, 2, (struct random){1});
    assert_int_equal(tsmith_diff_add(diff, side, source, NULL), TSMITH_OK);
    tsmith_source_destroy(source);
    made_trace_finish(&trace);
}

static tsmith_diff *make(const int64_t (*base)[NAME_COUNT], size_t base_count,
                         const int64_t (*new)[NAME_COUNT], size_t new_count) {
    tsmith_diff *diff;
    assert_int_equal(tsmith_diff_create(NULL, &diff, NULL), TSMITH_OK);
    for (size_t i = 0; i < base_count; i++)
        add_run(diff, TSMITH_DIFF_BASE, base[i]);
    for (size_t i = 0; i < new_count; i++)
        add_run(diff, TSMITH_DIFF_NEW, new[i]);
    assert_int_equal(tsmith_diff_finish(diff, NULL), TSMITH_OK);
    return diff;
}

static const tsmith_cell *cell(const tsmith_diff *diff, const char *table, const char *name,
                               const char *column) {
    const tsmith_report *report = tsmith_diff_report(diff);
    for (size_t t = 0; t < report->table_count; t++) {
        const tsmith_report_table *one = &report->tables[t];
        for (size_t i = 0; strcmp(one->name, table) == 0 && i < one->row_count * one->column_count; i++)
            if (strcmp(one->columns[i % one->column_count].name, column) == 0 &&
                strcmp(one->cells[i / one->column_count * one->column_count].value.text, name) == 0)
                return &one->cells[i];
    }
    fail_msg("no %s of %s in %s", column, name, table);
    return NULL;
}

static void changes_by_hand(void **state) {
    (void)state;
    static const int64_t BASE[1][NAME_COUNT] = {{100, 50, 0}}, NEW[1][NAME_COUNT] = {{110, 0, 7}};
    static const struct {
        const char *name, *verdict;
        int64_t base, new;
    } EXPECTED[] = {{"a<int>", "unsure", 100, 110}, {"b", "gone", 50, 0}, {"c", "new", 0, 7}};
    tsmith_diff *diff = make(BASE, 1, NEW, 1);
    for (size_t i = 0; i < NAME_COUNT; i++) {
        const char *name = EXPECTED[i].name;
        assert_int_equal(cell(diff, "kernels", name, "base")->value.integer, EXPECTED[i].base);
        assert_int_equal(cell(diff, "kernels", name, "new")->value.integer, EXPECTED[i].new);
        assert_int_equal(cell(diff, "kernels", name, "change")->value.integer,
                         EXPECTED[i].new - EXPECTED[i].base);
        assert_string_equal(cell(diff, "kernels", name, "verdict")->value.text, EXPECTED[i].verdict);
        assert_false(cell(diff, "kernels", name, "low")->known); // one run gives no information about noise
    }
    assert_int_equal(cell(diff, "times", "kernel_time", "new")->value.integer, 117);
    assert_int_equal(cell(diff, "times", "total_time", "base")->value.integer, 150);
    assert_true(cell(diff, "counts", "kernel_count", "base")->value.number == 2);
    tsmith_diff_destroy(diff);
}

// The share of Student's t distribution below t, by Simpson's rule from the middle.
static double integral(double t, double freedom) {
    enum { STEPS = 200000 };
    int sign;
    double scale = exp(lgamma_r((freedom + 1) / 2, &sign) - lgamma_r(freedom / 2, &sign)) /
                   sqrt(freedom * 3.14159265358979323846);
    double sum = 0;
    for (int i = 0; i <= STEPS; i++) {
        double x = t * i / STEPS, weight = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
        sum += weight * pow(1 + x * x / freedom, -(freedom + 1) / 2);
    }
    return 0.5 + scale * sum * t / STEPS / 3;
}

static void students_t_is_that_of_the_tables(void **state) {
    (void)state;
    static const struct {
        double share, freedom, t;
    } TABLE[] = {{0.975, 1, 12.706}, {0.975, 2, 4.303}, {0.975, 5, 2.571},  {0.975, 10, 2.228},
                 {0.975, 30, 2.042}, {0.95, 4, 2.132},  {0.995, 10, 3.169}, {0.975, 120, 1.980}};
    for (size_t i = 0; i < sizeof TABLE / sizeof *TABLE; i++)
        assert_true(fabs(diff_student(TABLE[i].share, TABLE[i].freedom) - TABLE[i].t) < 0.0006);
    for (double freedom = 1.5; freedom < 80; freedom *= 1.7)
        assert_true(fabs(integral(diff_student(0.975, freedom), freedom) - 0.975) < 1e-6);
}

// 10 12 14 against 20 20 23: the means differ by 9, their variances are 4/3 and 1, and Welch's degrees of freedom are
// (7/3)^2 / ((4/3)^2 / 2 + 1 / 2).
static void intervals_are_welchs(void **state) {
    (void)state;
    static const int64_t BASE[3][NAME_COUNT] = {{10000000, 5, 3}, {12000000, 5, 9}, {14000000, 5, 6}};
    static const int64_t NEW[3][NAME_COUNT] = {{20000000, 5, 7}, {20000000, 5, 5}, {23000000, 5, 8}};
    tsmith_diff *diff = make(BASE, 3, NEW, 3);
    double freedom = 49.0 / 9 / (16.0 / 18 + 0.5), low = 9e6, half = 9e6 - low;
    low = (double)cell(diff, "kernels", NAME[0], "low")->value.integer;
    half = 9e6 - low;
    assert_true(fabs(integral(half / 1e6 / sqrt(7.0 / 3), freedom) - 0.975) < 1e-5);
    assert_int_equal(cell(diff, "kernels", NAME[0], "high")->value.integer, 18000000 - (int64_t)low);
    assert_string_equal(cell(diff, "kernels", NAME[0], "verdict")->value.text, "more");
    assert_string_equal(cell(diff, "kernels", NAME[1], "verdict")->value.text, "same");
    assert_string_equal(cell(diff, "kernels", NAME[2], "verdict")->value.text, "unsure");
    tsmith_diff_destroy(diff);
}

static void gates_hold_or_not(void **state) {
    (void)state;
    static const int64_t BASE[1][NAME_COUNT] = {{100, 50, 0}}, NEW[1][NAME_COUNT] = {{110, 40, 7}};
    static const struct {
        const char *gate;
        int passed;
    } GATES[] = {{"kernel:a<int><+10%", 0},  {"kernel:a<int><=+10%", 1}, {"kernel:a<int><=10%", 1},
                 {"kernel:a<int><111ns", 1}, {"kernel:b<+0", 1},         {"kernel:b>-10", 0},
                 {"kernel:b>=-10ns", 1},     {"kernel_count<=+1", 1},    {"kernel_count<3", 0},
                 {"kernel:c<+1000%", 0},     {"kernel_time<1us", 1},     {"state:running<=+7", 1},
                 {"total_time>0.1us", 1}};
    static const char *const NONE[] = {"kernel_time",    "kernel_time<",      "<3%",
                                       "kernel_time<+",  "kernel_time<nan",   "kernel_time<+3 %",
                                       "kernel_time<3x", "kernel_time<1e999", ""};
    tsmith_diff *diff = make(BASE, 1, NEW, 1);
    tsmith_gate gate = {.size = sizeof gate};
    for (size_t i = 0; i < sizeof GATES / sizeof *GATES; i++) {
        assert_int_equal(tsmith_diff_gate(diff, GATES[i].gate, &gate, NULL), TSMITH_OK);
        if (gate.passed != GATES[i].passed)
            fail_msg("%s: %s", GATES[i].gate, gate.message);
    }
    for (size_t i = 0; i < sizeof NONE / sizeof *NONE; i++)
        assert_int_equal(tsmith_diff_gate(diff, NONE[i], &gate, NULL), TSMITH_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tsmith_diff_gate(diff, "kernel:z<1", &gate, NULL), TSMITH_ERROR_NOT_FOUND);
    assert_int_equal(tsmith_diff_gate(diff, "shapes<1", &gate, NULL), TSMITH_ERROR_NOT_FOUND);
    tsmith_diff_destroy(diff);
}

static void a_side_without_runs_is_refused(void **state) {
    (void)state;
    static const int64_t RUN[NAME_COUNT] = {1, 2, 3};
    tsmith_diff *diff;
    tsmith_gate gate = {.size = sizeof gate};
    assert_int_equal(tsmith_diff_create(NULL, &diff, NULL), TSMITH_OK);
    add_run(diff, TSMITH_DIFF_BASE, RUN);
    assert_int_equal(tsmith_diff_finish(diff, NULL), TSMITH_ERROR_STATE);
    assert_null(tsmith_diff_report(diff));
    assert_int_equal(tsmith_diff_gate(diff, "kernel_time<1", &gate, NULL), TSMITH_ERROR_STATE);
    tsmith_diff_destroy(diff);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_by_hand),
        cmocka_unit_test(students_t_is_that_of_the_tables),
        cmocka_unit_test(intervals_are_welchs),
        cmocka_unit_test(gates_hold_or_not),
        cmocka_unit_test(a_side_without_runs_is_refused),
    };
    return cmocka_run_group_tests_name("diff", tests, NULL, NULL);
}
