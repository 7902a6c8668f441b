// SPDX-License-Identifier: Apache-2.0
// Writes the totals of a recording in Prometheus's text format (version 0.0.4): counters and gauges with a bounded number of
// series. metrics.c calls it.
#include "metrics_text.h"

#include <inttypes.h>
#include <string.h>

#include "tracesmith/schema.h"

static void add_head(struct text *text, const char *name, const char *type, const char *help) {
    text_add_format(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
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

static void add_seconds(struct text *text, int64_t ns) {
    text_add_format(text, "%" PRId64 ".%09" PRId64 "\n", ns / 1000000000, ns % 1000000000);
}

static void add_devices(struct text *text, const tsmith_live_totals *totals) {
    add_head(text, "tracesmith_device_busy_seconds_total", "counter",
             "Time in which at least one command ran on the device.");
    for (uint32_t i = 0; i < totals->device_count; i++) {
        text_add_format(text, "tracesmith_device_busy_seconds_total{device=\"%" PRIu64 "\",name=\"",
                        totals->devices[i].id);
        add_value(text, totals->devices[i].name);
        text_add_cstr(text, "\"} ");
        add_seconds(text, totals->devices[i].busy);
    }
}

// ---- kernels

static void take_kernel(struct metrics_kernels *kernels, const tsmith_live_kernel *kernel, bool first) {
    size_t at = 0;
    while (at < kernels->count && kernels->places[at].id != kernel->id)
        at++;
    if (at == METRICS_KERNELS)
        return;
    if (at == kernels->count) {
        kernels->count++;
        kernels->places[at].id = kernel->id;
        memcpy(kernels->places[at].name, kernel->name, sizeof kernel->name);
        // What it did before was among the others, except before the first scrape.
        kernels->places[at].count_before = first ? 0 : kernel->amount.count;
        kernels->places[at].sum_before = first ? 0 : kernel->amount.sum;
    }
    kernels->places[at].count = kernel->amount.count - kernels->places[at].count_before;
    kernels->places[at].sum = kernel->amount.sum - kernels->places[at].sum_before;
}

static void add_kernel_name(struct text *text, const char *series, const char *name) {
    text_add_format(text, "%s{kernel=\"", series);
    add_value(text, name[0] ? name : "(no name)");
    text_add_cstr(text, "\"} ");
}

// A kernel that is not among those of the totals any more keeps what it had; the rest is with the others.
static void add_kernels(struct text *text, const tsmith_live_totals *totals,
                        struct metrics_kernels *kernels) {
    static const char seconds[] = "tracesmith_kernel_seconds_total", number[] = "tracesmith_kernels_total";
    uint64_t count = totals->kernels.count;
    int64_t sum = totals->kernels.sum;
    const bool first = kernels->count == 0;
    for (uint32_t i = 0; i < totals->device_kernel_count; i++)
        take_kernel(kernels, &totals->device_kernels[i], first);
    add_head(text, seconds, "counter", "Time of kernels on devices.");
    for (size_t i = 0; i < kernels->count; i++) {
        add_kernel_name(text, seconds, kernels->places[i].name);
        add_seconds(text, kernels->places[i].sum);
        sum -= kernels->places[i].sum;
    }
    add_kernel_name(text, seconds, "(other)");
    add_seconds(text, sum);
    add_head(text, number, "counter", "Kernels that ran on devices.");
    for (size_t i = 0; i < kernels->count; i++) {
        add_kernel_name(text, number, kernels->places[i].name);
        text_add_format(text, "%" PRIu64 "\n", kernels->places[i].count);
        count -= kernels->places[i].count;
    }
    add_kernel_name(text, number, "(other)");
    text_add_format(text, "%" PRIu64 "\n", count);
}

// ---- operations, losses

static void add_operations(struct text *text, const char *name, const tsmith_live_operation *list,
                           uint32_t count, int what) {
    for (uint32_t i = 0; i < count; i++) {
        const char *operation = tsmith_value_name(TSMITH_TYPE_OPERATION, list[i].operation);
        const char *direction = tsmith_value_name(TSMITH_TYPE_DIRECTION, list[i].direction);
        const char *kind = tsmith_value_name(TSMITH_TYPE_KIND, list[i].kind);
        text_add_format(text, "%s{kind=\"%s\",operation=\"%s\",direction=\"%s\"} ", name, kind ? kind : "",
                        operation ? operation : "", direction ? direction : "");
        if (what == 0)
            add_seconds(text, list[i].amount.sum);
        else
            text_add_format(text, "%" PRIu64 "\n", what == 1 ? list[i].amount.bytes : list[i].amount.count);
    }
}

static void add_transfers(struct text *text, const tsmith_live_totals *totals) {
    add_head(text, "tracesmith_copy_seconds_total", "counter", "Time of copies, fills and maps on devices.");
    add_operations(text, "tracesmith_copy_seconds_total", totals->copies, totals->copy_count, 0);
    add_head(text, "tracesmith_copy_bytes_total", "counter", "Bytes of copies, fills and maps.");
    add_operations(text, "tracesmith_copy_bytes_total", totals->copies, totals->copy_count, 1);
    add_head(text, "tracesmith_host_wait_seconds_total", "counter", "Time in which host threads waited.");
    add_operations(text, "tracesmith_host_wait_seconds_total", totals->waits, totals->wait_count, 0);
    add_head(text, "tracesmith_host_waits_total", "counter", "Waits of host threads.");
    add_operations(text, "tracesmith_host_waits_total", totals->waits, totals->wait_count, 2);
}

static void add_losses(struct text *text, const tsmith_live_totals *totals) {
    add_head(text, "tracesmith_events_lost_total", "counter", "Events that were not recorded.");
    for (uint32_t reason = 0; reason < TSMITH_LIVE_REASONS; reason++) {
        const char *name = tsmith_value_name(TSMITH_TYPE_REASON, (uint8_t)reason);
        if (name && tsmith_reason_is_of_events((tsmith_reason)reason))
            text_add_format(text, "tracesmith_events_lost_total{reason=\"%s\"} %" PRIu64 "\n", name,
                            totals->lost[reason]);
    }
}

static void add_one(struct text *text, const char *name, const char *type, const char *help, uint64_t value) {
    add_head(text, name, type, help);
    text_add_format(text, "%s %" PRIu64 "\n", name, value);
}

void metrics_add_text(struct text *text, const tsmith_live_totals *totals, struct metrics_kernels *kernels) {
    add_devices(text, totals);
    add_kernels(text, totals, kernels);
    add_transfers(text, totals);
    add_losses(text, totals);
    add_one(text, "tracesmith_events_total", "counter", "Events that were recorded.", totals->events);
    add_one(text, "tracesmith_device_memory_bytes", "gauge", "Live bytes of device memory objects.",
            totals->live_bytes);
    add_one(text, "tracesmith_device_memory_peak_bytes", "gauge", "Peak bytes of device memory objects.",
            totals->peak_bytes);
    add_one(text, "tracesmith_processes", "gauge", "Processes of the program that are alive.",
            totals->processes);
    add_head(text, "tracesmith_collector_seconds_total", "counter", "Processor time of the collector.");
    text_add_cstr(text, "tracesmith_collector_seconds_total ");
    add_seconds(text, totals->collector_time);
}
