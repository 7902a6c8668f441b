// SPDX-License-Identifier: Apache-2.0
// What the program's own ranges cost on the devices: every range of a host thread (NVTX, record_function, ours; not a
// framework's operators and not frames) is projected onto each device: from the first start to the last end of the
// commands that were launched in it. Kineto's gpu_user_annotation is the same, by queue. What PyTorch's backward pass launched
// for operators of a range is reported separately: the autograd engine has a thread of its own.
#include <stdlib.h>

#include "analyze/analysis.h"
#include "analyze/autograd.h"
#include "analyze/time_order.h"
#include "base/plural.h"

// A range on the device at hand.
struct projected {
    int64_t first, last;      // start of its first command, end of what is covered
    uint32_t device;          // + 1; another one's are old
    uint32_t backward_device; // the same of the backward pass
    int64_t backward_last;
};

struct entry {
    uint32_t key;
    uint64_t count, projections, commands;
    int64_t host, span, busy, total;
    uint64_t backward_commands; // of operators in it
    int64_t backward_busy, backward_total;
};

struct projection {
    struct entry *entries; // by key, then in the order of the report
    size_t count;
    struct projected *projected; // by number of the range
    uint8_t *user;               // by key
    struct autograd autograd;
    uint64_t backward, unmatched; // commands that autograd launched; those without a forward operator
};

static bool make_entries(struct projection *projection, const struct analysis_context *context) {
    const struct ranges *ranges = context->ranges;
    projection->count = ranges->keys.count;
    projection->entries = calloc(projection->count + 1, sizeof *projection->entries);
    projection->user = calloc(projection->count + 1, 1);
    projection->projected = calloc(ranges->count + 1, sizeof *projection->projected);
    if (!projection->entries || !projection->user || !projection->projected)
        return false;
    for (uint32_t i = 0; i < projection->count; i++) {
        projection->entries[i].key = i;
        projection->user[i] = range_key_class(ranges, context->dictionary, i) == RANGE_USER;
    }
    for (size_t i = 0; i < ranges->track_count; i++) {
        for (size_t k = 0; k < ranges->tracks[i].count; k++) {
            const struct range *range = &ranges->tracks[i].items[k];
            if (range->start < context->window.from || range->start >= context->window.to)
                continue;
            projection->entries[range->key].count++;
            projection->entries[range->key].host =
                sweep_add(projection->entries[range->key].host, range->end - range->start);
        }
    }
    return true;
}

static void add_command(struct projection *projection, const struct range_walk *walk,
                        const tsmith_command *command, uint32_t device) {
    struct projected *projected =
        &projection->projected[walk->track->first + (size_t)(walk->at - walk->track->items)];
    struct entry *entry = &projection->entries[walk->at->key];
    entry->commands++;
    entry->total = sweep_add(entry->total, command->end - command->start);
    if (projected->device != device + 1) {
        projected->first = projected->last = command->start;
        projected->device = device + 1;
        entry->projections++;
    }
    if (command->end <= projected->last)
        return;
    int64_t from = command->start > projected->last ? command->start : projected->last;
    entry->busy = sweep_add(entry->busy, command->end - from);
    entry->span = sweep_add(entry->span, command->end - projected->last);
    projected->last = command->end;
}

static void add_backward(struct projection *projection, const struct range_walk *walk,
                         const tsmith_command *command, uint32_t device) {
    struct projected *projected =
        &projection->projected[walk->track->first + (size_t)(walk->at - walk->track->items)];
    struct entry *entry = &projection->entries[walk->at->key];
    const bool begun = projected->backward_device == device + 1;
    const int64_t from =
        begun && projected->backward_last > command->start ? projected->backward_last : command->start;
    entry->backward_commands++;
    entry->backward_total = sweep_add(entry->backward_total, command->end - command->start);
    entry->backward_busy = sweep_add(entry->backward_busy, command->end > from ? command->end - from : 0);
    if (!begun || command->end > projected->backward_last)
        projected->backward_last = command->end;
    projected->backward_device = device + 1;
}

// Whether a range is among those around the command's own call.
static bool is_around_call(const struct analysis_context *context, const tsmith_command *command,
                           const struct range *range) {
    struct range_walk walk = range_walk_begin(context->ranges, context->timeline, command);
    while (walk.at && walk.at != range)
        range_walk_next(&walk);
    return walk.at;
}

static void project_command(struct projection *projection, const struct analysis_context *context,
                            const tsmith_command *command, uint32_t device) {
    struct range_walk walk = range_walk_begin(context->ranges, context->timeline, command);
    for (; walk.at; range_walk_next(&walk))
        if (projection->user[walk.at->key])
            add_command(projection, &walk, command, device);
    const enum autograd_match match =
        autograd_find(&projection->autograd, context->ranges, context->timeline, command, &walk);
    projection->backward += match != AUTOGRAD_NO;
    projection->unmatched += match == AUTOGRAD_UNMATCHED;
    for (; match == AUTOGRAD_MATCHED && walk.at; range_walk_next(&walk))
        if (projection->user[walk.at->key] && !is_around_call(context, command, walk.at))
            add_backward(projection, &walk, command, device);
}

static bool project(struct projection *projection, const struct analysis_context *context) {
    const tsmith_timeline *timeline = context->timeline;
    for (uint32_t d = 0; d < timeline->device_count; d++) {
        const tsmith_row *device = &timeline->devices[d];
        struct time_order order;
        if (!time_order_begin(&order, timeline, device->first_row, device->row_count))
            return false;
        for (uint32_t i; (i = time_order_next(&order)) != TSMITH_INDEX_NONE;) {
            const tsmith_command *command = &timeline->commands[i];
            if (!timeline_runs(command) || command->start < context->window.from ||
                command->start >= context->window.to)
                continue;
            project_command(projection, context, command, d);
        }
        time_order_finish(&order);
    }
    return true;
}

static int by_span(const void *left, const void *right) {
    const struct entry *a = left, *b = right;
    if (a->span != b->span)
        return a->span > b->span ? -1 : 1;
    if (a->host != b->host)
        return a->host > b->host ? -1 : 1;
    return a->key < b->key ? -1 : a->key > b->key;
}

static tsmith_status take_batch(void *state, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                const tsmith_interval *window) {
    struct projection *projection = state;
    (void)window; // the forward pass may be before it
    return autograd_add(&projection->autograd, dictionary, batch) ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
}

static void write_finding(const struct projection *projection, const struct analysis_context *context,
                          bool named, struct report *report) {
    const struct entry *first = projection->entries;
    char span[REPORT_TEXT], later[REPORT_TEXT];
    if (!named)
        report_finding(report, "The program named no range of its own.");
    else if (!first->projections)
        report_finding(report, "Nothing on a device is known to be launched in the program's ranges.");
    else {
        tsmith_string name =
            tsmith_dictionary_string(context->dictionary, range_key_name(context->ranges, first->key));
        report_finding(
            report,
            "%.*s%s takes longest on the devices: %s in all; the commands that were launched in it, by its "
            "own thread, cover %.1f%% of that.",
            ANALYSIS_NAMED(name), report_duration(span, first->span),
            report_percent(first->busy, first->span));
        if (first->backward_commands)
            report_note(report, "Autograd launched %llu more command%s for its operators, which take %s.",
                        (unsigned long long)first->backward_commands, report_plural(first->backward_commands),
                        report_duration(later, first->backward_busy));
    }
    if (projection->unmatched)
        report_note(report,
                    "Of %llu %s that autograd launched, %llu %s not matched with an operator of the "
                    "forward pass.",
                    (unsigned long long)projection->backward,
                    plural(projection->backward, "command", "commands"),
                    (unsigned long long)projection->unmatched, plural(projection->unmatched, "is", "are"));
}

static tsmith_status finish(void *state, const struct analysis_context *context, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {{"range", TSMITH_CELL_TEXT},
                                                   {"category", TSMITH_CELL_TEXT},
                                                   {"count", TSMITH_CELL_COUNT},
                                                   {"host", TSMITH_CELL_DURATION},
                                                   {"projections", TSMITH_CELL_COUNT},
                                                   {"commands", TSMITH_CELL_COUNT},
                                                   {"span", TSMITH_CELL_DURATION},
                                                   {"busy", TSMITH_CELL_DURATION},
                                                   {"total", TSMITH_CELL_DURATION},
                                                   {"utilization", TSMITH_CELL_SHARE},
                                                   {"autograd", TSMITH_CELL_COUNT},
                                                   {"autograd_busy", TSMITH_CELL_DURATION},
                                                   {"autograd_total", TSMITH_CELL_DURATION}};
    struct projection *projection = state;
    if (!autograd_make(&projection->autograd) || !make_entries(projection, context) ||
        !project(projection, context))
        return TSMITH_ERROR_NO_MEMORY;
    for (size_t i = 0; i < projection->count; i++) // those that count come first
        if (!projection->user[projection->entries[i].key])
            projection->entries[i].span = projection->entries[i].host = -1;
    qsort(projection->entries, projection->count, sizeof *projection->entries, by_span);
    struct report_table *table = REPORT_TABLE(
        report, "ranges",
        "span is from the first start to the last end of the commands launched in a range, busy what they "
        "cover of it, by range and device, added up; autograd is what the backward pass of its operators "
        "launched elsewhere",
        COLUMNS);
    for (size_t i = 0; i < projection->count; i++) {
        const struct entry *entry = &projection->entries[i];
        if (!projection->user[entry->key] || !(entry->count || entry->projections))
            continue;
        analysis_range_text(report, table, context, entry->key);
        report_integer(report, table, (int64_t)entry->count);
        report_integer(report, table, entry->host);
        report_integer(report, table, (int64_t)entry->projections);
        report_integer(report, table, (int64_t)entry->commands);
        report_integer(report, table, entry->span);
        report_integer(report, table, entry->busy);
        report_integer(report, table, entry->total);
        report_share(report, table, entry->busy, entry->span);
        const int64_t later[] = {(int64_t)entry->backward_commands, entry->backward_busy,
                                 entry->backward_total};
        for (size_t k = 0; k < sizeof later / sizeof *later; k++)
            if (projection->autograd.forward.count || projection->autograd.backward.count)
                report_integer(report, table, later[k]);
            else
                report_unknown(report, table); // the trace has no operators with numbers
    }
    write_finding(projection, context, table->cell_count, report);
    return TSMITH_OK;
}

static void release(void *state) {
    struct projection *projection = state;
    free(projection->entries);
    free(projection->projected);
    free(projection->user);
    autograd_finish(&projection->autograd);
}

const struct analysis_kind analysis_ranges = {
    .name = "ranges",
    .question = "What do the program's own ranges cost on the devices?",
    .needs = NEEDS_TIMELINE,
    .ranges = true,
    .state_size = sizeof(struct projection),
    .write = take_batch,
    .finish = finish,
    .release = release,
};
