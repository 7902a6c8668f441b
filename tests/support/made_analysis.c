// SPDX-License-Identifier: Apache-2.0
#include "support/made_analysis.h"

#include <string.h>

tsmith_analysis *made_analysis(const struct made_trace *trace, const char *name, uint64_t order,
                               const tsmith_interval *window) {
    tsmith_analysis_options options = {.size = sizeof options, .names = name ? &name : NULL, .name_count = 1};
    tsmith_source *source = made_source(trace, 7, (struct random){order});
    tsmith_analysis *analysis;
    tsmith_sink *sink;
    if (window) {
        options.has_window = 1;
        options.from = window->from;
        options.to = window->to;
    }
    assert_int_equal(tsmith_analysis_create(&options, &analysis, NULL), TSMITH_OK);
    assert_int_equal(tsmith_analysis_sink(analysis, &sink), TSMITH_OK);
    assert_int_equal(tsmith_pump(source, sink, NULL, NULL, NULL), TSMITH_OK);
    tsmith_sink_destroy(sink);
    tsmith_source_destroy(source);
    return analysis;
}

const tsmith_cell *made_cell(const tsmith_report_table *table, size_t row, const char *column) {
    assert_true(row < table->row_count);
    for (size_t i = 0; i < table->column_count; i++)
        if (strcmp(table->columns[i].name, column) == 0)
            return &table->cells[row * table->column_count + i];
    fail_msg("no column %s", column);
    return NULL;
}
