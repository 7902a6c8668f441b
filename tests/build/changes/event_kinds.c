// SPDX-License-Identifier: Apache-2.0
// How many events of each kind the trace has. The table of analyses refers to it.
#include "analyze/analysis.h"
#include "tracesmith/view.h"

struct event_kinds {
    uint64_t counts[TSMITH_KIND_LIMIT];
};

static tsmith_status write(void *state, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                           const tsmith_interval *window) {
    struct event_kinds *kinds = state;
    const uint32_t fields[] = {TSMITH_FIELD_KIND, TSMITH_FIELD_START};
    tsmith_view views[2];
    (void)dictionary;
    tsmith_view_batch(batch, fields, 2, views);
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        const uint8_t kind = tsmith_view_word(&views[0], row);
        int64_t at;
        if (kind < TSMITH_KIND_LIMIT && tsmith_view_i64(&views[1], row, &at) &&
            (!window || (at >= window->from && at < window->to)))
            kinds->counts[kind]++;
    }
    return TSMITH_OK;
}

static tsmith_status finish(void *state, const struct analysis_context *context, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {{"kind", TSMITH_CELL_TEXT}, {"events", TSMITH_CELL_COUNT}};
    const struct event_kinds *kinds = state;
    struct report_table *table =
        REPORT_TABLE(report, "event_kinds", "kinds with at least one event", COLUMNS);
    unsigned present = 0;
    (void)context;
    for (int kind = 1; kind < TSMITH_KIND_LIMIT; kind++) {
        if (!kinds->counts[kind])
            continue;
        present++;
        report_text(report, table, analysis_text(tsmith_kind_name((tsmith_kind)kind)));
        report_integer(report, table, (int64_t)kinds->counts[kind]);
    }
    report_finding(report, "Events of %u kind%s were recorded.", present, report_plural(present));
    return TSMITH_OK;
}

const struct analysis_kind analysis_event_kinds = {
    .name = "event_kinds",
    .question = "Which kinds of events does the trace have?",
    .state_size = sizeof(struct event_kinds),
    .write = write,
    .finish = finish,
};
