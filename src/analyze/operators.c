// SPDX-License-Identifier: Apache-2.0
// Which operators put the work on the devices: the ranges around the call that launched a command. Self is the
// innermost range's, total that of every name around it (once, however often the name is among them).
#include <stdlib.h>

#include "analyze/analysis.h"
#include "base/array.h"
#include "base/plural.h"

struct entry {
    uint32_t key;
    uint64_t calls, self_count, total_count;
    int64_t host, self, total;
    uint32_t stamp; // command + 1 that was counted last
};

struct pair {
    uint32_t key, name;
    uint64_t count;
    int64_t time;
};

struct operators {
    struct entry *entries; // by key of the ranges, then in the order of the report
    size_t count;
    struct tally pair_numbers; // key << 32 | name of the command
    struct pair *pairs;
    size_t pair_capacity;
    uint64_t commands, outside;
    int64_t time, outside_time;
};

static bool count_calls(struct operators *operators, const struct analysis_context *context) {
    const struct ranges *ranges = context->ranges;
    operators->count = ranges->keys.count;
    operators->entries = calloc(operators->count + 1, sizeof *operators->entries);
    if (!operators->entries)
        return false;
    for (size_t i = 0; i < operators->count; i++)
        operators->entries[i].key = (uint32_t)i;
    for (size_t i = 0; i < ranges->track_count; i++) {
        for (size_t k = 0; k < ranges->tracks[i].count; k++) {
            const struct range *range = &ranges->tracks[i].items[k];
            if (range->start < context->window.from || range->start >= context->window.to)
                continue;
            struct entry *entry = &operators->entries[range->key];
            entry->calls++;
            entry->host = sweep_add(entry->host, range->end - range->start);
        }
    }
    return true;
}

static bool add_pair(struct operators *operators, uint32_t key, uint32_t name, int64_t time) {
    size_t known = operators->pair_numbers.count;
    uint32_t number = tally_number(&operators->pair_numbers, (uint64_t)key << 32 | name);
    if (number == UINT32_MAX ||
        !ARRAY_RESERVE(operators->pairs, operators->pair_capacity, operators->pair_numbers.count))
        return false;
    if (number == known)
        operators->pairs[number] = (struct pair){.key = key, .name = name};
    operators->pairs[number].count++;
    operators->pairs[number].time = sweep_add(operators->pairs[number].time, time);
    return true;
}

static bool add_up(struct operators *operators, const struct analysis_context *context) {
    const tsmith_timeline *timeline = context->timeline;
    for (uint32_t i = 0; i < timeline->command_count; i++) {
        const tsmith_command *command = &timeline->commands[i];
        int64_t time = command->end - command->start;
        if (!timeline_runs(command) || command->start < context->window.from ||
            command->start >= context->window.to)
            continue;
        operators->commands++;
        operators->time = sweep_add(operators->time, time);
        struct range_walk walk = range_walk_begin(context->ranges, timeline, command);
        if (!walk.at) {
            operators->outside++;
            operators->outside_time = sweep_add(operators->outside_time, time);
            continue;
        }
        if (!add_pair(operators, walk.at->key, command->name, time))
            return false;
        struct entry *self = &operators->entries[walk.at->key];
        self->self_count++;
        self->self = sweep_add(self->self, time);
        for (; walk.at; range_walk_next(&walk)) {
            struct entry *entry = &operators->entries[walk.at->key];
            if (entry->stamp == i + 1)
                continue;
            entry->stamp = i + 1;
            entry->total_count++;
            entry->total = sweep_add(entry->total, time);
        }
    }
    return true;
}

static int by_self(const void *left, const void *right) {
    const struct entry *a = left, *b = right;
    if (a->self != b->self)
        return a->self > b->self ? -1 : 1;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    return a->key < b->key ? -1 : a->key > b->key;
}

static int by_time(const void *left, const void *right) {
    const struct pair *a = left, *b = right;
    if (a->time != b->time)
        return a->time > b->time ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

static void write_operators(const struct operators *operators, const struct analysis_context *context,
                            struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"operator", TSMITH_CELL_TEXT},       {"category", TSMITH_CELL_TEXT},
        {"calls", TSMITH_CELL_COUNT},         {"host", TSMITH_CELL_DURATION},
        {"self_commands", TSMITH_CELL_COUNT}, {"self", TSMITH_CELL_DURATION},
        {"self_share", TSMITH_CELL_SHARE},    {"total_commands", TSMITH_CELL_COUNT},
        {"total", TSMITH_CELL_DURATION}};
    struct report_table *table = REPORT_TABLE(
        report, "operators",
        "device time of the commands launched in them, self or nested; host is the sum of all calls",
        COLUMNS);
    for (size_t i = 0; i < operators->count; i++) {
        const struct entry *entry = &operators->entries[i];
        if (!entry->total_count)
            continue;
        analysis_range_text(report, table, context, entry->key);
        report_integer(report, table, (int64_t)entry->calls);
        report_integer(report, table, entry->host);
        report_integer(report, table, (int64_t)entry->self_count);
        report_integer(report, table, entry->self);
        report_share(report, table, entry->self, operators->time);
        report_integer(report, table, (int64_t)entry->total_count);
        report_integer(report, table, entry->total);
    }
}

static void write_pairs(const struct operators *operators, const struct analysis_context *context,
                        struct report *report) {
    static const tsmith_report_column COLUMNS[] = {{"operator", TSMITH_CELL_TEXT},
                                                   {"category", TSMITH_CELL_TEXT},
                                                   {"command", TSMITH_CELL_TEXT},
                                                   {"count", TSMITH_CELL_COUNT},
                                                   {"total", TSMITH_CELL_DURATION}};
    struct report_table *table =
        REPORT_TABLE(report, "launched", "the commands that each operator launched itself", COLUMNS);
    for (size_t i = 0; i < operators->pair_numbers.count; i++) {
        const struct pair *pair = &operators->pairs[i];
        analysis_range_text(report, table, context, pair->key);
        report_text(report, table, tsmith_dictionary_string(context->dictionary, pair->name));
        report_integer(report, table, (int64_t)pair->count);
        report_integer(report, table, pair->time);
    }
}

static void write_finding(const struct operators *operators, const struct analysis_context *context,
                          struct report *report) {
    const struct entry *first = operators->entries;
    if (!operators->count || !first->self_count) {
        report_finding(report, "No range of the host is known around the launch of a command.");
        return;
    }
    char time[REPORT_TEXT];
    tsmith_string name =
        tsmith_dictionary_string(context->dictionary, range_key_name(context->ranges, first->key));
    report_finding(report, "%.*s%s launches most itself: %s of device time (%.1f%%) by %llu command%s.",
                   ANALYSIS_NAMED(name), report_duration(time, first->self),
                   report_percent(first->self, operators->time), (unsigned long long)first->self_count,
                   report_plural(first->self_count));
    if (operators->outside)
        report_note(report,
                    "%llu of %llu %s (%.1f%% of the device time) %s launched outside of any range, or by a "
                    "call that the trace does not have.",
                    (unsigned long long)operators->outside, (unsigned long long)operators->commands,
                    plural(operators->commands, "command", "commands"),
                    report_percent(operators->outside_time, operators->time),
                    plural(operators->outside, "was", "were"));
}

static tsmith_status finish(void *state, const struct analysis_context *context, struct report *report) {
    struct operators *operators = state;
    if (!count_calls(operators, context) || !add_up(operators, context))
        return TSMITH_ERROR_NO_MEMORY;
    qsort(operators->entries, operators->count, sizeof *operators->entries, by_self);
    if (operators->pair_numbers.count)
        qsort(operators->pairs, operators->pair_numbers.count, sizeof *operators->pairs, by_time);
    write_operators(operators, context, report);
    write_pairs(operators, context, report);
    write_finding(operators, context, report);
    return TSMITH_OK;
}

static void release(void *state) {
    struct operators *operators = state;
    free(operators->entries);
    free(operators->pairs);
    tally_finish(&operators->pair_numbers);
}

const struct analysis_kind analysis_operators = {
    .name = "operators",
    .question = "Which operators put the work on the devices?",
    .needs = NEEDS_TIMELINE,
    .ranges = true,
    .state_size = sizeof(struct operators),
    .finish = finish,
    .release = release,
};
