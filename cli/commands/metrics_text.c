// SPDX-License-Identifier: Apache-2.0
// Writes the totals of a recording in Prometheus's text format (version 0.0.4). metrics.c calls it.
#include "metrics_text.h"

#include <inttypes.h>

static void begin(void *context, const struct metric *metric) {
    text_add_format(context, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help, metric->name,
                    metric->is_gauge ? "gauge" : "counter");
}

// A label's value: backslash, quote and line feed are escaped; names in a trace may have any bytes.
static void add_value(struct text *text, const char *value) {
    struct text safe = {0};
    text_add_safe(&safe, text_string(value), 0);
    const char *at = text_cstr(&safe);
    for (; *at; at++) {
        if (*at == '\\' || *at == '"')
            text_add_char(text, '\\');
        text_add_char(text, *at);
    }
    text_finish(&safe);
}

static void add_series(void *context, const struct metric *metric, const struct metric_label *labels,
                       size_t count, int64_t value) {
    struct text *text = context;
    text_add_cstr(text, metric->name);
    for (size_t i = 0; i < count; i++) {
        text_add_format(text, "%c%s=\"", i ? ',' : '{', labels[i].name);
        add_value(text, labels[i].value);
        text_add_char(text, '"');
    }
    text_add_cstr(text, count ? "} " : " ");
    if (metric->unit == METRIC_SECONDS)
        text_add_format(text, "%" PRId64 ".%09" PRId64 "\n", value / 1000000000, value % 1000000000);
    else
        text_add_format(text, "%" PRId64 "\n", value);
}

void metrics_add_text(struct text *text, const tsmith_live_totals *totals, struct metrics_kernels *kernels) {
    const struct metric_visitor visitor = {.context = text, .begin = begin, .value = add_series};
    metrics_each(totals, kernels, &visitor);
}
