// SPDX-License-Identifier: Apache-2.0
// The rates that ranges and kernels reach with the work that they state, compared with the peak of their device (the roofline model).
// A range is measured by the device time of its commands; a kernel by its own, with its own work or that of a range that
// launched nothing else (a launch of Triton's).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/peaks.h"
#include "analyze/stated_work.h"
#include "analyze/time_order.h"
#include "base/array.h"

// A range that states its work, on the devices.
struct measured {
    int64_t time;                  // that its commands cover, by device, added up
    int64_t last;                  // end of what is covered on the device at hand
    uint32_t device, first_device; // + 1; the one at hand, the first one
    uint32_t commands;
    uint32_t only; // the command, if there is one
    bool several;  // devices with different peaks
    bool untimed;  // a command has no times
};

// Of one name. Operations and bytes may be stated of different occurrences, so each has its own time.
struct entry {
    uint64_t key;
    uint64_t count, measured;
    double flops, bytes, flops_of_both, bytes_of_both;
    int64_t time, flops_time, bytes_time;
    uint32_t device; // dictionary device + 1 of all; 0: none yet
    bool several;    // devices with different peaks
};

struct list {
    struct tally numbers;
    struct entry *entries;
    size_t capacity;
};

struct roofline {
    struct stated_works works;
    struct measured *measured; // by stated range
    uint32_t *same;            // by device of the timeline: the first one with the same peaks
    struct list ranges, kernels;
    uint64_t unmeasured, incomplete; // ranges
    bool impossible;                 // a rate above the peak
    bool unknown;                    // a peak that a rate could be compared with
    bool compared;                   // a rate of operations, with a peak
};

static tsmith_status take_batch(void *state, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                const tsmith_interval *window) {
    struct roofline *roofline = state;
    return stated_works_add(&roofline->works, dictionary, batch, window) ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
}

// ---- peaks

static struct peaks find_peaks(const struct analysis_context *context, uint32_t device) {
    return peaks_of(context->dictionary, device, context->peak_flops, context->peak_bytes);
}

// Equal numbers, or both unknown.
static bool is_same(double a, double b) {
    return isnan(a) ? isnan(b) : a <= b && a >= b;
}

static bool have_same_peaks(const struct analysis_context *context, uint32_t device, uint32_t other) {
    const struct peaks a = find_peaks(context, device), b = find_peaks(context, other);
    return is_same(a.flops, b.flops) && is_same(a.bytes, b.bytes);
}

static bool group_devices(struct roofline *roofline, const struct analysis_context *context) {
    const tsmith_timeline *timeline = context->timeline;
    roofline->same = calloc(timeline->device_count + 1, sizeof *roofline->same);
    for (uint32_t d = 0; roofline->same && d < timeline->device_count; d++) {
        uint32_t first = 0;
        while (!have_same_peaks(context, timeline->devices[first].dictionary_device,
                                timeline->devices[d].dictionary_device) &&
               first < d)
            first++;
        roofline->same[d] = first;
    }
    return roofline->same;
}

// ---- device time of ranges

static void add_command(struct measured *measured, const tsmith_command *command, uint32_t index,
                        uint32_t device, const uint32_t *same) {
    if (command->untimed || command->end_unknown) {
        measured->untimed = true;
        return;
    }
    measured->commands++;
    measured->only = index;
    if (!measured->first_device)
        measured->first_device = device + 1;
    measured->several |= same[measured->first_device - 1] != same[device];
    if (measured->device != device + 1) {
        measured->device = device + 1;
        measured->last = command->start;
    }
    const int64_t from = command->start > measured->last ? command->start : measured->last;
    if (command->end > from)
        measured->time = sweep_add(measured->time, command->end - from);
    measured->last = command->end > measured->last ? command->end : measured->last;
}

static void measure_command(struct roofline *roofline, const struct analysis_context *context, uint32_t index,
                            uint32_t device) {
    const tsmith_command *command = &context->timeline->commands[index];
    struct range_walk walk = range_walk_begin(context->ranges, context->timeline, command);
    for (; walk.at; range_walk_next(&walk)) {
        const uint32_t work =
            roofline->works.of_range[walk.track->first + (size_t)(walk.at - walk.track->items)];
        if (work)
            add_command(&roofline->measured[work - 1], command, index, device, roofline->same);
    }
}

static bool measure(struct roofline *roofline, const struct analysis_context *context) {
    const tsmith_timeline *timeline = context->timeline;
    roofline->measured = calloc(roofline->works.ranges.count + 1, sizeof *roofline->measured);
    if (!roofline->measured)
        return false;
    for (uint32_t d = 0; d < timeline->device_count && roofline->works.ranges.count; d++) {
        const tsmith_row *device = &timeline->devices[d];
        struct time_order order;
        if (!time_order_begin(&order, timeline, device->first_row, device->row_count))
            return false;
        for (uint32_t i; (i = time_order_next(&order)) != TSMITH_INDEX_NONE;)
            if (timeline->commands[i].work != TSMITH_WORK_CONTROL)
                measure_command(roofline, context, i, d);
        time_order_finish(&order);
    }
    return true;
}

// ---- by name

static struct entry *find_entry(struct list *list, uint64_t key) {
    const size_t before = list->numbers.count;
    const uint32_t number = tally_number(&list->numbers, key);
    if (number == UINT32_MAX || !ARRAY_RESERVE(list->entries, list->capacity, list->numbers.count))
        return NULL;
    if (number == before)
        list->entries[number] = (struct entry){.key = key};
    return &list->entries[number];
}

static void add_device(struct entry *entry, const struct analysis_context *context, uint32_t device) {
    if (!entry->device)
        entry->device = device + 1;
    entry->several |= entry->device != device + 1 && !have_same_peaks(context, entry->device - 1, device);
}

static void add_measured(struct entry *entry, const struct stated_work *work, int64_t time) {
    entry->measured++;
    entry->time = sweep_add(entry->time, time);
    if (!isnan(work->flops)) {
        entry->flops += work->flops;
        entry->flops_time = sweep_add(entry->flops_time, time);
    }
    if (!isnan(work->bytes)) {
        entry->bytes += work->bytes;
        entry->bytes_time = sweep_add(entry->bytes_time, time);
    }
    if (!isnan(work->flops) && !isnan(work->bytes)) {
        entry->flops_of_both += work->flops;
        entry->bytes_of_both += work->bytes;
    }
}

static bool gather_kernels(struct roofline *roofline, const struct analysis_context *context) {
    for (size_t i = 0; i < roofline->works.kernels.count; i++) {
        const struct stated_work *work = &roofline->works.kernels.items[i];
        const tsmith_track *track = tsmith_dictionary_track(context->dictionary, work->track);
        struct entry *entry = find_entry(&roofline->kernels, work->key);
        if (!entry)
            return false;
        entry->count++;
        add_device(entry, context, track ? track->device : 0);
        add_measured(entry, work, work->end - work->start);
    }
    return true;
}

// The kernel that a range launched alone has the range's work, unless kernels of this name state theirs.
static bool add_launched(struct roofline *roofline, const struct analysis_context *context,
                         const struct stated_work *work, const struct measured *measured, size_t stating) {
    const tsmith_command *command = &context->timeline->commands[measured->only];
    const uint32_t device = context->timeline->devices[measured->first_device - 1].dictionary_device;
    if (measured->commands != 1 || command->kind != TSMITH_KIND_KERNEL)
        return true;
    struct entry *entry = find_entry(&roofline->kernels, command->name);
    if (!entry)
        return false;
    if ((size_t)(entry - roofline->kernels.entries) < stating)
        return true;
    entry->count++;
    add_device(entry, context, device);
    add_measured(entry, work, measured->time);
    return true;
}

// Whether no range inside this one states work around its command: the command has the work of one range only.
static bool is_innermost(const struct roofline *roofline, const struct analysis_context *context, size_t work,
                         const struct measured *measured) {
    const tsmith_command *command = &context->timeline->commands[measured->only];
    struct range_walk walk = range_walk_begin(context->ranges, context->timeline, command);
    for (; walk.at; range_walk_next(&walk)) {
        const uint32_t of =
            roofline->works.of_range[walk.track->first + (size_t)(walk.at - walk.track->items)];
        if (of)
            return of - 1 == work;
    }
    return false;
}

static bool gather_ranges(struct roofline *roofline, const struct analysis_context *context) {
    const tsmith_timeline *timeline = context->timeline;
    const size_t stating = roofline->kernels.numbers.count;
    for (size_t i = 0; i < roofline->works.ranges.count; i++) {
        const struct stated_work *work = &roofline->works.ranges.items[i];
        const struct measured *measured = &roofline->measured[i];
        struct entry *entry = find_entry(&roofline->ranges, work->key);
        if (!entry)
            return false;
        entry->count++;
        if (!measured->time || measured->untimed) {
            roofline->unmeasured++;
            continue;
        }
        const tsmith_track *track = tsmith_dictionary_track(context->dictionary, work->track);
        const tsmith_interval interval = {work->start,
                                          measured->last > work->end ? measured->last : work->end};
        roofline->incomplete += timeline_hole_time(timeline, track ? track->process : 0, interval) > 0;
        add_device(entry, context, timeline->devices[measured->first_device - 1].dictionary_device);
        entry->several |= measured->several;
        add_measured(entry, work, measured->time);
        if (is_innermost(roofline, context, i, measured) &&
            !add_launched(roofline, context, work, measured, stating))
            return false;
    }
    return true;
}

// ---- the report

// What a device could do at most per second with the intensity of an entry, and which peak that is.
struct roof {
    double flop_share, byte_share; // of the peaks; NAN: unknown
    const char *limit;             // NULL: unknown
};

static double rate_of(double work, int64_t time) {
    return time > 0 ? work / (double)time * 1e9 : NAN;
}

// The roof is the lower one at the intensity of the work, so its share is the higher one.
static struct roof find_roof(const struct entry *entry, const struct peaks *peaks) {
    struct roof roof = {rate_of(entry->flops, entry->flops_time) / peaks->flops,
                        rate_of(entry->bytes, entry->bytes_time) / peaks->bytes, NULL};
    if (entry->several)
        roof.flop_share = roof.byte_share = NAN;
    if (!isnan(roof.flop_share) && !isnan(roof.byte_share))
        roof.limit = roof.flop_share > roof.byte_share ? "compute" : "memory";
    return roof;
}

static void put_number(struct report *report, struct report_table *table, double value) {
    if (isfinite(value))
        report_number(report, table, value);
    else
        report_unknown(report, table);
}

static void put_text(struct report *report, struct report_table *table, const char *text) {
    if (text)
        report_text(report, table, analysis_text(text));
    else
        report_unknown(report, table);
}

// From `count` on, the columns of both tables.
#define RATE_COLUMNS                                                                                         \
    {"count", TSMITH_CELL_COUNT}, {"measured", TSMITH_CELL_COUNT}, {"time", TSMITH_CELL_DURATION},           \
        {"flop_rate", TSMITH_CELL_FLOP_RATE}, {"byte_rate", TSMITH_CELL_RATE},                               \
        {"intensity", TSMITH_CELL_NUMBER}, {"compute_share", TSMITH_CELL_SHARE},                             \
        {"memory_share", TSMITH_CELL_SHARE}, {                                                               \
        "limit", TSMITH_CELL_TEXT                                                                            \
    }

static void put_rates(struct roofline *roofline, const struct analysis_context *context,
                      const struct entry *entry, struct report_table *table, struct report *report) {
    const struct peaks peaks = find_peaks(context, entry->device ? entry->device - 1 : 0);
    const struct roof roof = find_roof(entry, &peaks);
    report_integer(report, table, (int64_t)entry->count);
    report_integer(report, table, (int64_t)entry->measured);
    if (entry->measured)
        report_integer(report, table, entry->time);
    else
        report_unknown(report, table);
    put_number(report, table, rate_of(entry->flops, entry->flops_time));
    put_number(report, table, rate_of(entry->bytes, entry->bytes_time));
    put_number(report, table, entry->bytes_of_both > 0 ? entry->flops_of_both / entry->bytes_of_both : NAN);
    put_number(report, table, roof.flop_share);
    put_number(report, table, roof.byte_share);
    put_text(report, table, roof.limit);
    roofline->compared |= isfinite(roof.flop_share);
    roofline->impossible |= roof.flop_share > 1 || roof.byte_share > 1;
    roofline->unknown |=
        (entry->flops_time && isnan(roof.flop_share)) || (entry->bytes_time && isnan(roof.byte_share));
}

static int by_time(const void *left, const void *right) {
    const struct entry *a = left, *b = right;
    if (a->time != b->time)
        return a->time > b->time ? -1 : 1;
    return a->key < b->key ? -1 : a->key > b->key;
}

static void write_ranges(struct roofline *roofline, const struct analysis_context *context,
                         struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"range", TSMITH_CELL_TEXT}, {"category", TSMITH_CELL_TEXT}, RATE_COLUMNS};
    struct report_table *table = REPORT_TABLE(
        report, "ranges",
        "ranges that state their work; time is what their commands cover on each device, added up", COLUMNS);
    for (size_t i = 0; i < roofline->ranges.numbers.count; i++) {
        const struct entry *entry = &roofline->ranges.entries[i];
        report_text(report, table,
                    tsmith_dictionary_string(context->dictionary, (uint32_t)(entry->key >> 32)));
        report_text(report, table, tsmith_dictionary_string(context->dictionary, (uint32_t)entry->key));
        put_rates(roofline, context, entry, table, report);
    }
}

static void write_kernels(struct roofline *roofline, const struct analysis_context *context,
                          struct report *report) {
    static const tsmith_report_column COLUMNS[] = {{"kernel", TSMITH_CELL_TEXT}, RATE_COLUMNS};
    struct report_table *table = REPORT_TABLE(
        report, "kernels",
        "kernels that state their work, and those that a range with stated work launched alone", COLUMNS);
    for (size_t i = 0; i < roofline->kernels.numbers.count; i++) {
        const struct entry *entry = &roofline->kernels.entries[i];
        report_text(report, table, tsmith_dictionary_string(context->dictionary, (uint32_t)entry->key));
        put_rates(roofline, context, entry, table, report);
    }
}

static void write_peaks(const struct analysis_context *context, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"device", TSMITH_CELL_TEXT},      {"flop_rate", TSMITH_CELL_FLOP_RATE},
        {"flop_source", TSMITH_CELL_TEXT}, {"byte_rate", TSMITH_CELL_RATE},
        {"byte_source", TSMITH_CELL_TEXT}, {"ridge", TSMITH_CELL_NUMBER}};
    struct report_table *table = REPORT_TABLE(
        report, "peaks", "peaks that --peak or the trace states; the two roofs meet at the intensity ridge",
        COLUMNS);
    for (size_t d = 0; d < context->timeline->device_count; d++) {
        const tsmith_row *device = &context->timeline->devices[d];
        const struct peaks peaks = find_peaks(context, device->dictionary_device);
        analysis_device_text(report, table, context, device);
        put_number(report, table, peaks.flops);
        put_text(report, table, peaks.flops_source);
        put_number(report, table, peaks.bytes);
        put_text(report, table, peaks.bytes_source);
        put_number(report, table, peaks.flops / peaks.bytes);
    }
}

static void write_finding(const struct roofline *roofline, const struct analysis_context *context,
                          struct report *report) {
    const bool ranges = roofline->ranges.numbers.count > 0;
    const struct list *list = ranges ? &roofline->ranges : &roofline->kernels;
    const struct entry *first = list->entries;
    char time[REPORT_TEXT], flops[REPORT_TEXT], bytes[REPORT_TEXT], share[REPORT_TEXT] = "";
    if (!list->numbers.count) {
        report_finding(report, "No range and no kernel of the %s states its operations or bytes.",
                       context->scope);
        return;
    }
    const tsmith_string name =
        tsmith_dictionary_string(context->dictionary, (uint32_t)(ranges ? first->key >> 32 : first->key));
    if (!first->measured) {
        report_finding(report, "No device time is known of the ranges that state their work.");
        return;
    }
    const struct peaks peaks = find_peaks(context, first->device - 1);
    const struct roof roof = find_roof(first, &peaks);
    const double highest = fmax(roof.flop_share, roof.byte_share);
    if (isfinite(highest))
        (void)snprintf(share, sizeof share, ", %.1f%% of the %s peak", 100 * highest,
                       roof.flop_share >= highest ? "compute" : "memory");
    report_finding(report, "%.*s%s takes longest of what states its work: %s, at %s%s%s%s.",
                   ANALYSIS_NAMED(name), report_duration(time, first->time),
                   first->flops_time ? report_flop_rate(flops, rate_of(first->flops, first->flops_time)) : "",
                   first->flops_time && first->bytes_time ? " and " : "",
                   first->bytes_time ? report_rate(bytes, rate_of(first->bytes, first->bytes_time)) : "",
                   share);
}

static void write_notes(const struct roofline *roofline, struct report *report) {
    if (roofline->unmeasured)
        report_note(report,
                    "%llu occurrence%s of ranges launched no command whose times are known, or one without "
                    "times, and %s no rate.",
                    (unsigned long long)roofline->unmeasured, report_plural(roofline->unmeasured),
                    roofline->unmeasured == 1 ? "has" : "have");
    if (roofline->incomplete)
        report_note(report,
                    "Events are missing during %llu occurrence%s of ranges: commands may be missing, and the "
                    "rates may be too high.",
                    (unsigned long long)roofline->incomplete, report_plural(roofline->incomplete));
    if (roofline->unknown)
        report_note(report, "Neither the trace nor --peak states all peaks: those shares are unknown.");
    if (roofline->compared)
        report_note(report,
                    "The peak of operations is of one number format: compute shares of work in other formats "
                    "do not apply.");
    if (roofline->impossible)
        report_note(report,
                    "A share is above 100%%: the stated work or the peak is wrong, or bytes came from a "
                    "cache.");
}

static tsmith_status finish(void *state, const struct analysis_context *context, struct report *report) {
    struct roofline *roofline = state;
    if (!stated_works_match(&roofline->works, context->ranges) || !group_devices(roofline, context) ||
        !measure(roofline, context) || !gather_kernels(roofline, context) ||
        !gather_ranges(roofline, context))
        return TSMITH_ERROR_NO_MEMORY;
    for (int i = 0; i < 2; i++) {
        struct list *list = i ? &roofline->kernels : &roofline->ranges;
        if (list->numbers.count)
            qsort(list->entries, list->numbers.count, sizeof *list->entries, by_time);
    }
    write_ranges(roofline, context, report);
    write_kernels(roofline, context, report);
    write_peaks(context, report);
    write_finding(roofline, context, report);
    write_notes(roofline, report);
    return TSMITH_OK;
}

static void release(void *state) {
    struct roofline *roofline = state;
    stated_works_finish(&roofline->works);
    for (int i = 0; i < 2; i++) {
        struct list *list = i ? &roofline->kernels : &roofline->ranges;
        tally_finish(&list->numbers);
        free(list->entries);
    }
    free(roofline->measured);
    free(roofline->same);
}

const struct analysis_kind analysis_roofline = {
    .name = "roofline",
    .question = "How near do kernels and ranges come to the peak of the device?",
    .needs = NEEDS_TIMELINE,
    .ranges = true,
    .state_size = sizeof(struct roofline),
    .write = take_batch,
    .finish = finish,
    .release = release,
};
