// SPDX-License-Identifier: Apache-2.0
// The trace's facts about itself and its losses, for both formats of a
// report.
#include <inttypes.h>
#include <string.h>

#include "analyze/report.h"
#include "base/plural.h"
#include "report/page.h"

enum { FACT = 512 };

const tsmith_report *page_report(const struct page *page, const char *name) {
    const tsmith_report *report;
    for (size_t i = 0; (report = tsmith_analysis_report(page->analysis, i)); i++)
        if (strcmp(report->name, name) == 0)
            return report;
    return NULL;
}

const tsmith_report_table *page_table(const tsmith_report *report, const char *name) {
    for (size_t i = 0; report && i < report->table_count; i++)
        if (strcmp(report->tables[i].name, name) == 0)
            return &report->tables[i];
    return NULL;
}

const tsmith_cell *page_cell(const tsmith_report_table *table, size_t row, const char *column) {
    for (size_t i = 0; table && row < table->row_count && i < table->column_count; i++) {
        const tsmith_cell *cell = &table->cells[row * table->column_count + i];
        if (strcmp(table->columns[i].name, column) == 0)
            return cell->known ? cell : NULL;
    }
    return NULL;
}

const char *page_cell_text(const tsmith_report_table *table, size_t row, const char *column) {
    const tsmith_cell *cell = page_cell(table, row, column);
    return cell ? cell->value.text : "";
}

// ---- facts

static void take_attribute(const struct page *page, page_fact *take, const char *what, const char *key) {
    const tsmith_string value = tsmith_dictionary_find_attribute(page->dictionary, key);
    if (value.length)
        take(page, what, value);
}

static void take_text(const struct page *page, page_fact *take, const char *what, const char *text) {
    take(page, what, (tsmith_string){text, strlen(text)});
}

static void take_device(const struct page *page, page_fact *take, uint32_t id) {
    char name[TSMITH_LABEL_SIZE], text[FACT], bytes[REPORT_TEXT];
    const tsmith_device *device = tsmith_dictionary_device(page->dictionary, id);
    const tsmith_string driver = tsmith_dictionary_string(page->dictionary, device->driver),
                        api = tsmith_dictionary_string(page->dictionary, device->api),
                        label = tsmith_device_name(page->dictionary, id, name);
    int length =
        snprintf(text, sizeof text, "%.*s", (int)(label.length < 200 ? label.length : 200), label.bytes);
    if (api.length && length < FACT)
        length += snprintf(text + length, (size_t)(FACT - length), ", %.*s",
                           (int)(api.length < 40 ? api.length : 40), api.bytes);
    if (device->memory_bytes && length < FACT)
        length += snprintf(text + length, (size_t)(FACT - length), ", %s",
                           report_bytes(bytes, (double)device->memory_bytes));
    if (driver.length && length < FACT)
        (void)snprintf(text + length, (size_t)(FACT - length), ", %.*s",
                       (int)(driver.length < 120 ? driver.length : 120), driver.bytes);
    take_text(page, take, "device", text);
}

void page_each_fact(const struct page *page, page_fact *take) {
    char text[FACT], duration[REPORT_TEXT];
    const tsmith_interval window = tsmith_timeline_window(page->timeline);
    (void)snprintf(text, sizeof text, "%s, %" PRIu64 " %s, %s",
                   report_duration(duration, window.to - window.from), page->summary.events,
                   plural(page->summary.events, "event", "events"), tsmith_trace_format(page->trace));
    take_text(page, take, "trace", text);
    take_attribute(page, take, "command", "command");
    take_attribute(page, take, "host", "host");
    const tsmith_string version = tsmith_dictionary_find_attribute(page->dictionary, "tool.version");
    (void)snprintf(text, sizeof text, "TraceSmith %.*s", (int)(version.length < 40 ? version.length : 40),
                   version.length ? version.bytes : "");
    if (version.length)
        take_text(page, take, "recorded by", text);
    for (uint32_t id = 1; id < tsmith_dictionary_device_count(page->dictionary); id++)
        take_device(page, take, id);
}

// ---- what is missing

bool page_each_loss(const struct page *page, page_loss *take) {
    char line[FACT];
    bool any = false;
    for (int reason = 1; reason < TSMITH_REASON_LIMIT; reason++) {
        const uint64_t lost = page->summary.lost[reason];
        const char *name = tsmith_reason_name((tsmith_reason)reason);
        if (!lost || !name)
            continue;
        (void)snprintf(line, sizeof line, "%" PRIu64 " × %s: %s", lost, name,
                       tsmith_reason_doc((tsmith_reason)reason));
        take(page, line);
        any = true;
    }
    if (page->summary.damaged_frames || page->truncated || !page->summary.complete) {
        take(page, "The file is damaged or ends early: what is in its unreadable part is not known.");
        any = true;
    }
    return any;
}
