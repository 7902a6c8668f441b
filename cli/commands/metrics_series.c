// SPDX-License-Identifier: Apache-2.0
// Makes counters and gauges of the totals of a recording. metrics_text.c and otlp_text.c call it.
#include "metrics_series.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tracesmith/schema.h"

static void begin(const struct metric_visitor *visitor, const struct metric *metric) {
    visitor->begin(visitor->context, metric);
}

static void end(const struct metric_visitor *visitor, const struct metric *metric) {
    if (visitor->end)
        visitor->end(visitor->context, metric);
}

static void give_value(const struct metric_visitor *visitor, const struct metric *metric,
                       const struct metric_label *labels, size_t count, int64_t value) {
    visitor->value(visitor->context, metric, labels, count, value);
}

static void give_one(const struct metric_visitor *visitor, const struct metric *metric, int64_t value) {
    begin(visitor, metric);
    give_value(visitor, metric, NULL, 0, value);
    end(visitor, metric);
}

static int64_t as_signed(uint64_t value) {
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static void give_devices(const struct metric_visitor *visitor, const tsmith_live_totals *totals) {
    static const struct metric busy = {"tracesmith_device_busy_seconds_total",
                                       "Time in which at least one command ran on the device.", false,
                                       METRIC_SECONDS};
    begin(visitor, &busy);
    for (uint32_t i = 0; i < totals->device_count; i++) {
        char id[24];
        if (!totals->devices[i].busy && totals->devices[i].work)
            continue; // of sums (--aggregate): not known
        snprintf(id, sizeof id, "%" PRIu64, totals->devices[i].id);
        const struct metric_label labels[] = {{"device", id}, {"name", totals->devices[i].name}};
        give_value(visitor, &busy, labels, 2, totals->devices[i].busy);
    }
    end(visitor, &busy);
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
        // What it did before was among the others, except before the first reading.
        kernels->places[at].count_before = first ? 0 : kernel->amount.count;
        kernels->places[at].sum_before = first ? 0 : kernel->amount.sum;
    }
    kernels->places[at].count = kernel->amount.count - kernels->places[at].count_before;
    kernels->places[at].sum = kernel->amount.sum - kernels->places[at].sum_before;
}

static void give_kernel(const struct metric_visitor *visitor, const struct metric *metric, const char *name,
                        int64_t value) {
    const struct metric_label label = {"kernel", name[0] ? name : "(no name)"};
    give_value(visitor, metric, &label, 1, value);
}

// A kernel that is not among those of the totals any more keeps what it had; the rest is with the others.
static void give_kernels(const struct metric_visitor *visitor, const tsmith_live_totals *totals,
                         struct metrics_kernels *kernels) {
    static const struct metric seconds = {"tracesmith_kernel_seconds_total", "Time of kernels on devices.",
                                          false, METRIC_SECONDS},
                               number = {"tracesmith_kernels_total", "Kernels that ran on devices.", false,
                                         METRIC_NUMBER};
    uint64_t count = totals->kernels.count;
    int64_t sum = totals->kernels.sum;
    const bool first = kernels->count == 0;
    for (uint32_t i = 0; i < totals->device_kernel_count; i++)
        take_kernel(kernels, &totals->device_kernels[i], first);
    begin(visitor, &seconds);
    for (size_t i = 0; i < kernels->count; i++) {
        give_kernel(visitor, &seconds, kernels->places[i].name, kernels->places[i].sum);
        sum -= kernels->places[i].sum;
    }
    give_kernel(visitor, &seconds, "(other)", sum);
    end(visitor, &seconds);
    begin(visitor, &number);
    for (size_t i = 0; i < kernels->count; i++) {
        give_kernel(visitor, &number, kernels->places[i].name, as_signed(kernels->places[i].count));
        count -= kernels->places[i].count;
    }
    give_kernel(visitor, &number, "(other)", as_signed(count));
    end(visitor, &number);
}

// ---- operations, losses

enum amount { AMOUNT_TIME, AMOUNT_BYTES, AMOUNT_COUNT };

static const char *word(tsmith_type type, uint8_t value) {
    const char *name = tsmith_value_name(type, value);
    return name ? name : "";
}

static void give_operations(const struct metric_visitor *visitor, const struct metric *metric,
                            const tsmith_live_operation *list, uint32_t count, enum amount what) {
    begin(visitor, metric);
    for (uint32_t i = 0; i < count; i++) {
        const struct metric_label labels[] = {{"kind", word(TSMITH_TYPE_KIND, list[i].kind)},
                                              {"operation", word(TSMITH_TYPE_OPERATION, list[i].operation)},
                                              {"direction", word(TSMITH_TYPE_DIRECTION, list[i].direction)}};
        const tsmith_live_amount *amount = &list[i].amount;
        give_value(visitor, metric, labels, 3,
                   what == AMOUNT_TIME ? amount->sum
                                       : as_signed(what == AMOUNT_BYTES ? amount->bytes : amount->count));
    }
    end(visitor, metric);
}

static void give_transfers(const struct metric_visitor *visitor, const tsmith_live_totals *totals) {
    static const struct metric copy_time = {"tracesmith_copy_seconds_total",
                                            "Time of copies, fills and maps on devices.", false,
                                            METRIC_SECONDS},
                               copy_bytes = {"tracesmith_copy_bytes_total",
                                             "Bytes of copies, fills and maps.", false, METRIC_BYTES},
                               wait_time = {"tracesmith_host_wait_seconds_total",
                                            "Time in which host threads waited.", false, METRIC_SECONDS},
                               waits = {"tracesmith_host_waits_total", "Waits of host threads.", false,
                                        METRIC_NUMBER};
    give_operations(visitor, &copy_time, totals->copies, totals->copy_count, AMOUNT_TIME);
    give_operations(visitor, &copy_bytes, totals->copies, totals->copy_count, AMOUNT_BYTES);
    give_operations(visitor, &wait_time, totals->waits, totals->wait_count, AMOUNT_TIME);
    give_operations(visitor, &waits, totals->waits, totals->wait_count, AMOUNT_COUNT);
}

static void give_losses(const struct metric_visitor *visitor, const tsmith_live_totals *totals) {
    static const struct metric lost = {"tracesmith_events_lost_total", "Events that were not recorded.",
                                       false, METRIC_NUMBER};
    begin(visitor, &lost);
    for (uint32_t reason = 0; reason < TSMITH_LIVE_REASONS; reason++) {
        const char *name = tsmith_value_name(TSMITH_TYPE_REASON, (uint8_t)reason);
        const struct metric_label label = {"reason", name};
        if (name && tsmith_reason_is_of_events((tsmith_reason)reason))
            give_value(visitor, &lost, &label, 1, as_signed(totals->lost[reason]));
    }
    end(visitor, &lost);
}

void metrics_each(const tsmith_live_totals *totals, struct metrics_kernels *kernels,
                  const struct metric_visitor *visitor) {
    static const struct metric events = {"tracesmith_events_total", "Events that were recorded.", false,
                                         METRIC_NUMBER},
                               memory = {"tracesmith_device_memory_bytes",
                                         "Live bytes of device memory objects.", true, METRIC_BYTES},
                               peak = {"tracesmith_device_memory_peak_bytes",
                                       "Peak bytes of device memory objects.", true, METRIC_BYTES},
                               processes = {"tracesmith_processes",
                                            "Processes of the program that are alive.", true, METRIC_NUMBER},
                               collector = {"tracesmith_collector_seconds_total",
                                            "Processor time of the collector.", false, METRIC_SECONDS};
    give_devices(visitor, totals);
    give_kernels(visitor, totals, kernels);
    give_transfers(visitor, totals);
    give_losses(visitor, totals);
    give_one(visitor, &events, as_signed(totals->events));
    give_one(visitor, &memory, as_signed(totals->live_bytes));
    give_one(visitor, &peak, as_signed(totals->peak_bytes));
    give_one(visitor, &processes, as_signed(totals->processes));
    give_one(visitor, &collector, totals->collector_time);
}
