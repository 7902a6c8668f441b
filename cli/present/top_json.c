// SPDX-License-Identifier: Apache-2.0
// The totals of a running recording as a line of JSON, for `top --json`.
#include <inttypes.h>

#include "top.h"
#include "tracesmith/schema.h"

uint64_t top_lost(const tsmith_live_totals *totals) {
    uint64_t lost = 0;
    for (uint32_t reason = 0; reason < TSMITH_LIVE_REASONS; reason++)
        if (tsmith_reason_is_of_events((tsmith_reason)reason))
            lost += totals->lost[reason];
    return lost;
}

const tsmith_live_kernel *top_kernel_before(const struct top_reading *reading,
                                            const tsmith_live_kernel *kernel) {
    for (uint32_t i = 0; reading->before && i < reading->before->device_kernel_count; i++)
        if (reading->before->device_kernels[i].id == kernel->id)
            return &reading->before->device_kernels[i];
    return NULL;
}

double top_rate(const struct top_reading *reading, uint64_t now, uint64_t before) {
    if (!reading->before || reading->now->now <= reading->before->now || now < before)
        return -1;
    return (double)(now - before) * 1e9 / (double)(reading->now->now - reading->before->now);
}

static void add_rate(struct text *text, const char *key, double rate) {
    text_add_format(text, "\"%s\":", key);
    if (rate < 0)
        text_add_cstr(text, "null");
    else
        text_add_f64(text, rate);
}

static void add_amount(struct text *text, const tsmith_live_amount *amount) {
    text_add_format(text, "\"count\":%" PRIu64 ",\"timed\":%" PRIu64 ",\"total_ns\":", amount->count,
                    amount->timed);
    if (amount->timed)
        text_add_i64(text, amount->sum);
    else
        text_add_cstr(text, "null");
}

static void add_named_counts(struct text *text, const char *key, tsmith_type type, const uint64_t *counts,
                             uint32_t limit) {
    bool first = true;
    text_add_format(text, ",\"%s\":{", key);
    for (uint32_t value = 0; value < limit; value++) {
        const char *name = counts[value] ? tsmith_value_name(type, (uint8_t)value) : NULL;
        if (!name)
            continue;
        text_add_cstr(text, first ? "" : ",");
        text_add_json_cstr(text, name);
        text_add_format(text, ":%" PRIu64, counts[value]);
        first = false;
    }
    text_add_char(text, '}');
}

static void add_devices(struct text *text, const tsmith_live_totals *now) {
    const double window = (double)(now->recent_to - now->recent_from);
    text_add_cstr(text, ",\"devices\":[");
    for (uint32_t i = 0; i < now->device_count; i++) {
        const tsmith_live_device *device = &now->devices[i];
        text_add_format(text, "%s{\"device\":%" PRIu64 ",\"name\":", i ? "," : "", device->id);
        text_add_json_cstr(text, device->name);
        const bool known = device->busy || !device->commands; // not of sums (--aggregate), nor without times
        text_add_format(text, ",\"commands\":%" PRIu64 ",\"busy_ns\":", device->commands);
        if (known)
            text_add_format(text, "%" PRId64, device->busy);
        else
            text_add_cstr(text, "null");
        text_add_format(text, ",\"work_ns\":%" PRId64 ",\"late_ns\":%" PRId64 ",\"recent_busy_share\":",
                        device->work, device->late);
        if (known && window > 0)
            text_add_f64(text, (double)device->recent / window);
        else
            text_add_cstr(text, "null");
        text_add_char(text, '}');
    }
    text_add_char(text, ']');
}

static void add_kernels(struct text *text, const struct top_reading *reading) {
    const tsmith_live_totals *now = reading->now, *before = reading->before;
    text_add_cstr(text, ",\"kernels\":{");
    add_amount(text, &now->kernels);
    text_add_format(text, ",\"names\":%" PRIu64 ",", now->kernel_names);
    add_rate(text, "per_second", top_rate(reading, now->kernels.count, before ? before->kernels.count : 0));
    text_add_cstr(text, ",\"top\":[");
    for (uint32_t i = 0; i < now->device_kernel_count; i++) {
        const tsmith_live_kernel *kernel = &now->device_kernels[i];
        text_add_cstr(text, i ? ",{\"name\":" : "{\"name\":");
        if (kernel->name[0])
            text_add_json_cstr(text, kernel->name);
        else
            text_add_cstr(text, "null");
        text_add_char(text, ',');
        add_amount(text, &kernel->amount);
        if (kernel->amount.timed)
            text_add_format(text, ",\"min_ns\":%" PRId64 ",\"max_ns\":%" PRId64, kernel->least, kernel->most);
        text_add_char(text, '}');
    }
    text_add_cstr(text, "]}");
}

static void add_operations(struct text *text, const char *key, const tsmith_live_operation *list,
                           uint32_t count, bool with_bytes) {
    text_add_format(text, ",\"%s\":[", key);
    for (uint32_t i = 0; i < count; i++) {
        const char *names[] = {tsmith_value_name(TSMITH_TYPE_KIND, list[i].kind),
                               tsmith_value_name(TSMITH_TYPE_OPERATION, list[i].operation),
                               tsmith_value_name(TSMITH_TYPE_DIRECTION, list[i].direction)};
        static const char *const keys[] = {"kind", "operation", "direction"};
        text_add_cstr(text, i ? ",{" : "{");
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            text_add_format(text, "\"%s\":", keys[k]);
            if (names[k])
                text_add_json_cstr(text, names[k]);
            else
                text_add_cstr(text, "null");
            text_add_char(text, ',');
        }
        add_amount(text, &list[i].amount);
        if (with_bytes)
            text_add_format(text, ",\"bytes\":%" PRIu64, list[i].amount.bytes);
        text_add_char(text, '}');
    }
    text_add_char(text, ']');
}

void top_add_json(struct text *text, const struct top_reading *reading) {
    const tsmith_live_totals *now = reading->now;
    text_add_cstr(text, "{\"session\":");
    text_add_json_cstr(text, reading->directory);
    text_add_format(text,
                    ",\"sequence\":%" PRIu64 ",\"since_ns\":%" PRId64 ",\"now_ns\":%" PRId64
                    ",\"from_start\":%s,\"ended\":%s,\"incomplete\":%s%s,\"processes\":%" PRIu32
                    ",\"events\":%" PRIu64,
                    now->sequence, now->since, now->now, now->from_start ? "true" : "false",
                    now->ended ? "true" : "false", now->failed ? "true" : "false",
                    reading->armed ? ",\"armed\":true" : "", now->processes, now->events);
    add_named_counts(text, "kinds", TSMITH_TYPE_KIND, now->kinds, TSMITH_LIVE_KINDS);
    text_add_format(text, ",\"lost\":%" PRIu64, top_lost(now));
    add_named_counts(text, "lost_by_reason", TSMITH_TYPE_REASON, now->lost, TSMITH_LIVE_REASONS);
    add_devices(text, now);
    add_kernels(text, reading);
    add_operations(text, "copies", now->copies, now->copy_count, true);
    add_operations(text, "waits", now->waits, now->wait_count, false);
    text_add_format(text,
                    ",\"memory\":{\"allocations\":%" PRIu64 ",\"frees\":%" PRIu64 ",\"live_bytes\":%" PRIu64
                    ",\"peak_bytes\":%" PRIu64 "},\"collector_ns\":%" PRId64 ",\"overhead\":{",
                    now->allocations, now->frees, now->live_bytes, now->peak_bytes, now->collector_time);
    add_amount(text, &now->overhead);
    text_add_cstr(text, "}}\n");
}
