// SPDX-License-Identifier: Apache-2.0
// Reports and gates into a function of the caller's: the same writers as for a FILE.
#include "base/destination.h"
#include "tracesmith/analyze.h"
#include "tracesmith/diff.h"

struct text {
    const tsmith_report *report;
    size_t max_rows, width;
};

static tsmith_status print_text(const void *what, FILE *out, tsmith_error *error) {
    const struct text *text = what;
    return tsmith_report_write_text(text->report, text->max_rows, text->width, out, error);
}

tsmith_status tsmith_report_write_text_to(const tsmith_report *report, size_t max_rows, size_t width,
                                          const tsmith_output *output, tsmith_error *error) {
    return destination_print(output, print_text, &(struct text){report, max_rows, width}, error);
}

static tsmith_status print_json(const void *what, FILE *out, tsmith_error *error) {
    return tsmith_report_write_json(what, out, error);
}

tsmith_status tsmith_report_write_json_to(const tsmith_report *report, const tsmith_output *output,
                                          tsmith_error *error) {
    return destination_print(output, print_json, report, error);
}

static tsmith_status print_csv(const void *what, FILE *out, tsmith_error *error) {
    return tsmith_report_write_csv(what, out, error);
}

tsmith_status tsmith_report_write_csv_to(const tsmith_report *report, const tsmith_output *output,
                                         tsmith_error *error) {
    return destination_print(output, print_csv, report, error);
}

struct gates {
    const tsmith_gate *gates;
    size_t count;
};

static tsmith_status print_junit(const void *what, FILE *out, tsmith_error *error) {
    const struct gates *gates = what;
    return tsmith_gates_write_junit(gates->gates, gates->count, out, error);
}

tsmith_status tsmith_gates_write_junit_to(const tsmith_gate *gates, size_t count, const tsmith_output *output,
                                          tsmith_error *error) {
    return destination_print(output, print_junit, &(struct gates){gates, count}, error);
}
