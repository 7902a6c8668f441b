// SPDX-License-Identifier: Apache-2.0
// The totals of a running recording as a table, for `top`.
#include <inttypes.h>

#include "terminal.h"
#include "top.h"
#include "tracesmith/schema.h"

enum { ROWS = 15, NAME_COLUMNS = 44 };

static double share_of(const struct top_reading *reading, int64_t now, int64_t before) {
    if (!reading->before || reading->now->now <= reading->before->now)
        return -1;
    return (double)(now - before) / (double)(reading->now->now - reading->before->now);
}

static void add_share_or_dash(struct text *text, double share) {
    if (share < 0)
        text_add_cstr(text, "     -");
    else
        text_add_share(text, share);
}

static void add_per_second(struct text *text, double rate) {
    if (rate < 0)
        text_add_cstr(text, "-");
    else
        text_add_count(text, (uint64_t)(rate + 0.5));
    text_add_cstr(text, "/s");
}

static void add_name(struct text *text, const char *name) {
    const size_t width = text_add_safe(text, text_string(name[0] ? name : "(no name)"), NAME_COLUMNS);
    text_add_repeat(text, ' ', NAME_COLUMNS > width ? NAME_COLUMNS - width : 0);
}

static void add_duration_cell(struct text *text, int64_t ns, size_t width) {
    struct text cell = {0};
    text_add_duration(&cell, ns);
    const size_t columns = text_columns(text_cstr(&cell), cell.length);
    text_add_repeat(text, ' ', width > columns ? width - columns : 0);
    text_add(text, text_cstr(&cell), cell.length);
    text_finish(&cell);
}

static void add_heading(struct text *text, const struct top_reading *reading) {
    const tsmith_live_totals *now = reading->now, *before = reading->before;
    text_add_safe(text, text_string(reading->directory), 0);
    text_add_cstr(text, now->ended        ? "  ended after "
                        : now->from_start ? "  recording for "
                                          : "  observed for ");
    text_add_duration(text, now->now - now->since);
    text_add_cstr(text, ", ");
    text_add_counted(text, now->processes, "process", "processes");
    if (reading->armed)
        text_add_cstr(text, "\narmed: it records only while 'tracesmith record' runs");
    text_add_cstr(text, "\nevents  ");
    text_add_count(text, now->events);
    text_add_cstr(text, "  ");
    add_per_second(text, top_rate(reading, now->events, before ? before->events : 0));
    text_add_cstr(text, "   lost ");
    text_add_count(text, top_lost(now));
    text_add_cstr(text, "   collector ");
    add_share_or_dash(text, share_of(reading, now->collector_time, before ? before->collector_time : 0));
    text_add_cstr(text, " of a core");
    if (now->overhead.count) {
        text_add_cstr(text, "   in the program ");
        text_add_duration(text, now->overhead.sum);
    }
    text_add_cstr(text, now->failed ? "   incomplete: out of memory\n" : "\n");
}

static void add_devices(struct text *text, const struct top_reading *reading) {
    const tsmith_live_totals *now = reading->now;
    const double window = (double)(now->recent_to - now->recent_from);
    for (uint32_t i = 0; i < now->device_count; i++) {
        const tsmith_live_device *device = &now->devices[i];
        text_add_format(text, "device %" PRIu64 "  ", device->id);
        add_name(text, device->name);
        if (!device->busy && device->commands) {
            text_add_cstr(text, device->work ? "  busy: not known of sums (--aggregate)\n"
                                             : "  busy: not known, its commands have no times\n");
            continue;
        }
        text_add_cstr(text, "  busy ");
        add_share_or_dash(text, window > 0 ? (double)device->recent / window : -1);
        text_add_cstr(text, "  in all ");
        text_add_duration(text, device->busy);
        text_add_char(text, '\n');
    }
}

static void add_kernels(struct text *text, const struct top_reading *reading) {
    const tsmith_live_totals *now = reading->now, *before = reading->before;
    text_add_cstr(text, "kernels ");
    text_add_count(text, now->kernels.count);
    text_add_cstr(text, "  ");
    add_per_second(text, top_rate(reading, now->kernels.count, before ? before->kernels.count : 0));
    text_add_cstr(text, "\n\n");
    if (now->device_kernel_count) {
        text_add_cstr(text, "  lately      total  share        count       mean  kernel\n");
    }
    for (uint32_t i = 0; i < now->device_kernel_count && i < ROWS; i++) {
        const tsmith_live_kernel *kernel = &now->device_kernels[i];
        const tsmith_live_kernel *earlier = top_kernel_before(reading, kernel);
        text_add_cstr(text, "  ");
        add_share_or_dash(text, earlier ? share_of(reading, kernel->amount.sum, earlier->amount.sum) : -1);
        add_duration_cell(text, kernel->amount.sum, 11);
        text_add_char(text, ' ');
        text_add_share(text, now->kernels.sum ? (double)kernel->amount.sum / (double)now->kernels.sum : 0);
        text_add_format(text, " %12" PRIu64, kernel->amount.count);
        add_duration_cell(text, kernel->amount.timed ? kernel->amount.sum / (int64_t)kernel->amount.timed : 0,
                          11);
        text_add_cstr(text, "  ");
        text_add_safe(text, text_string(kernel->name[0] ? kernel->name : "(no name)"), NAME_COLUMNS);
        text_add_char(text, '\n');
    }
    if (now->kernel_names > ROWS)
        text_add_format(text, "  and %" PRIu64 " more\n", now->kernel_names - ROWS);
}

static void add_operations(struct text *text, const char *what, const tsmith_live_operation *list,
                           uint32_t count, bool with_bytes) {
    for (uint32_t i = 0; i < count; i++) {
        const char *operation = tsmith_value_name(TSMITH_TYPE_OPERATION, list[i].operation);
        const char *direction = tsmith_value_name(TSMITH_TYPE_DIRECTION, list[i].direction);
        const tsmith_live_amount *amount = &list[i].amount;
        text_add_format(text, "%s %s%s%s  ", what, operation ? operation : "", direction ? " " : "",
                        direction ? direction : "");
        text_add_count(text, amount->count);
        text_add_cstr(text, "  ");
        text_add_duration(text, amount->sum);
        if (with_bytes) {
            text_add_cstr(text, "  ");
            text_add_bytes(text, (double)amount->bytes);
        }
        text_add_char(text, '\n');
    }
}

void top_add_text(struct text *text, const struct top_reading *reading) {
    const tsmith_live_totals *now = reading->now;
    if (terminal_is_output())
        text_add_cstr(text, "\x1b[H\x1b[J");
    add_heading(text, reading);
    add_devices(text, reading);
    add_kernels(text, reading);
    text_add_char(text, '\n');
    add_operations(text, "copies", now->copies, now->copy_count, true);
    add_operations(text, "waits", now->waits, now->wait_count, false);
    if (now->allocations || now->frees) {
        text_add_cstr(text, "memory  live ");
        text_add_bytes(text, (double)now->live_bytes);
        text_add_cstr(text, "  peak ");
        text_add_bytes(text, (double)now->peak_bytes);
        text_add_cstr(text, "  allocations ");
        text_add_count(text, now->allocations);
        text_add_char(text, '\n');
    }
    if (!terminal_is_output())
        text_add_char(text, '\n');
}
