// SPDX-License-Identifier: Apache-2.0
// Makes all answers to a trace in one pass over its events and writes them as a page. The command `report` calls it.
#include "tracesmith/trace_report.h"

#include <string.h>

#include "base/destination.h"
#include "base/sized.h"
#include "base/status.h"
#include "report/page.h"

enum { TABLE_ROWS = 30 };

static const struct {
    const char *name, *doc;
    tsmith_status (*write)(const void *page, FILE *out, tsmith_error *error);
} FORMATS[] = {
#define FORMAT_ROW(NAME, number, name, doc) [number] = {name, doc, NULL},
    TSMITH_REPORT_FORMAT_TABLE(FORMAT_ROW)
#undef FORMAT_ROW
};
enum { FORMAT_COUNT = sizeof FORMATS / sizeof *FORMATS };

const char *tsmith_report_format_name(unsigned index) {
    return index < FORMAT_COUNT ? FORMATS[index].name : NULL;
}

const char *tsmith_report_format_doc(unsigned index) {
    return index < FORMAT_COUNT ? FORMATS[index].doc : NULL;
}

// Options that are whole and fit together, for a report with a window or without.
static tsmith_status take_options(const tsmith_trace_report_options *given, tsmith_trace_report_options *out,
                                  bool may_have_window, const tsmith_output *output, tsmith_error *error) {
    tsmith_status status = sized_take(tsmith_trace_report_options, given, out, error);
    if (status != TSMITH_OK || (status = destination_check(output, error)) != TSMITH_OK)
        return status;
    if ((unsigned)out->format >= FORMAT_COUNT)
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT, "There is no report format %d",
                          (int)out->format);
    if (out->has_window && (!may_have_window || out->from >= out->to))
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          may_have_window ? "The window of the report is empty"
                                          : "Answers that were made already have no window to select");
    return TSMITH_OK;
}

static tsmith_status read_events(struct page *page, tsmith_error *error) {
    tsmith_source *source = NULL;
    const tsmith_batch *batch;
    tsmith_status status = tsmith_sbt_scan(tsmith_trace_sbt(page->trace), NULL, &source, error);
    while (status == TSMITH_OK && (status = tsmith_source_next(source, &batch, error)) == TSMITH_OK) {
        const tsmith_dictionary *dictionary = tsmith_source_dictionary(source);
        status = tsmith_analysis_add(page->analysis, dictionary, batch, error);
    }
    tsmith_source_destroy(source);
    page->truncated = status == TSMITH_TRUNCATED;
    if (status < 0)
        return status;
    status = tsmith_sbt_dictionary(tsmith_trace_sbt(page->trace), &page->dictionary, error);
    if (status == TSMITH_OK)
        status = tsmith_analysis_finish(page->analysis, page->dictionary, error);
    page->timeline = tsmith_analysis_timeline(page->analysis);
    return status;
}

static tsmith_status make_page(struct page *page, tsmith_error *error) {
    const tsmith_trace_report_options *options = page->options;
    const tsmith_analysis_options analysis = {
        .size = sizeof analysis, .has_window = options->has_window, .from = options->from, .to = options->to};
    tsmith_status status = tsmith_analysis_create(&analysis, &page->analysis, error);
    if (status == TSMITH_OK)
        status = read_events(page, error);
    page->summary.size = sizeof page->summary;
    if (status == TSMITH_OK) // after the events: it knows of the damage that they showed
        status = tsmith_sbt_summarize(tsmith_trace_sbt(page->trace), &page->summary, error);
    return status;
}

tsmith_status tsmith_trace_report_write(tsmith_trace *trace, const tsmith_trace_report_options *given,
                                        const tsmith_output *output, tsmith_error *error) {
    tsmith_trace_report_options options;
    tsmith_status status = take_options(given, &options, true, output, error);
    if (status != TSMITH_OK)
        return status;
    struct page page = {.trace = trace,
                        .options = &options,
                        .title = options.title ? options.title : "trace",
                        .table_rows = options.table_rows ? options.table_rows : TABLE_ROWS,
                        .summary = {.version_major = 0}};
    page.truncated = tsmith_trace_ended(trace, NULL) != TSMITH_OK;
    status = make_page(&page, error);
    if (status == TSMITH_OK)
        status = destination_print(
            output, options.format == TSMITH_REPORT_FORMAT_HTML ? page_write_html : page_write_markdown,
            &page, error);
    tsmith_analysis_destroy(page.analysis);
    if (status == TSMITH_OK && page.truncated)
        return status_set(error, TSMITH_TRUNCATED, "the trace ends early; the report states this");
    return status;
}

tsmith_status tsmith_reports_write(const tsmith_report *const *reports, size_t count,
                                   const tsmith_trace_report_options *given, const tsmith_output *output,
                                   tsmith_error *error) {
    tsmith_trace_report_options options;
    const tsmith_status status = take_options(given, &options, false, output, error);
    if (status != TSMITH_OK)
        return status;
    const struct page page = {.options = &options,
                              .title = options.title ? options.title
                                       : count       ? reports[0]->question
                                                     : "",
                              .table_rows = options.table_rows ? options.table_rows : TABLE_ROWS,
                              .reports = reports,
                              .report_count = count};
    return destination_print(output,
                             options.format == TSMITH_REPORT_FORMAT_HTML ? page_write_reports_html
                                                                         : page_write_reports_markdown,
                             &page, error);
}
