// SPDX-License-Identifier: Apache-2.0
// Repeated sequences of kernels: the commands that one call of an operator (or one range) launches, in the order in
// which it starts, if that is 3 commands or more. As in Holistic Trace Analysis, but for every operator at once; of
// nested calls of the same name only the outermost counts. Sequences are distinguished by a 64-bit hash of their names.
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/time_order.h"
#include "base/array.h"
#include "base/hash.h"

enum { SHORTEST = 3, SHOWN = 100, TEXT = 400 };

// What a range has launched.
struct launched {
    uint64_t hash;
    int64_t time;
    uint32_t count;
};

struct sequence {
    uint32_t key, length, track, example; // a range of it
    uint64_t hash, count;
    int64_t host, time;
};

struct sequences {
    struct launched *launched; // by number of the range
    uint8_t *counts;           // by key
    uint32_t *stamps;          // by key: command + 1 that was seen last in a range of it
    struct range_walk *outer;  // of a command: what counts
    size_t outer_capacity;
    struct tally numbers;
    struct sequence *items;
    size_t capacity;
};

static uint64_t mix_hash(uint64_t hash, uint64_t value) {
    return hash_bytes((const uint64_t[]){hash, value}, 2 * sizeof hash);
}

// The outermost range of each name around a command takes it: walking out, a later one of the same name replaces.
static bool add_command(struct sequences *sequences, const struct analysis_context *context, uint32_t index) {
    const tsmith_command *command = &context->timeline->commands[index];
    struct range_walk walk = range_walk_begin(context->ranges, context->timeline, command);
    size_t count = 0;
    for (; walk.at; range_walk_next(&walk)) {
        if (!sequences->counts[walk.at->key])
            continue;
        if (!ARRAY_RESERVE(sequences->outer, sequences->outer_capacity, count + 1))
            return false;
        sequences->outer[count++] = walk;
    }
    while (count-- > 0) { // from the outermost in
        const struct range_walk *at = &sequences->outer[count];
        if (sequences->stamps[at->at->key] == index + 1)
            continue;
        sequences->stamps[at->at->key] = index + 1;
        struct launched *launched =
            &sequences->launched[at->track->first + (size_t)(at->at - at->track->items)];
        launched->hash = mix_hash(launched->hash, command->name);
        launched->time = sweep_add(launched->time, command->end - command->start);
        launched->count++;
    }
    return true;
}

static bool add_range(struct sequences *sequences, const struct ranges *ranges, uint32_t track, uint32_t at) {
    const struct range *range = &ranges->tracks[track].items[at];
    const struct launched *launched = &sequences->launched[ranges->tracks[track].first + at];
    size_t known = sequences->numbers.count;
    if (launched->count < SHORTEST)
        return true;
    uint32_t number =
        tally_number(&sequences->numbers, mix_hash(mix_hash(launched->hash, launched->count), range->key));
    if (number == UINT32_MAX ||
        !ARRAY_RESERVE(sequences->items, sequences->capacity, sequences->numbers.count))
        return false;
    struct sequence *sequence = &sequences->items[number];
    if (number == known)
        *sequence = (struct sequence){range->key, launched->count, track, at, launched->hash, 0, 0, 0};
    sequence->count++;
    sequence->host = sweep_add(sequence->host, range->end - range->start);
    sequence->time = sweep_add(sequence->time, launched->time);
    return true;
}

static bool collect(struct sequences *sequences, const struct analysis_context *context) {
    const struct ranges *ranges = context->ranges;
    const tsmith_timeline *timeline = context->timeline;
    struct time_order order;
    bool done = true;
    sequences->launched = calloc(ranges->count + 1, sizeof *sequences->launched);
    sequences->counts = calloc(ranges->keys.count + 1, 1);
    sequences->stamps = calloc(ranges->keys.count + 1, sizeof *sequences->stamps);
    if (!sequences->launched || !sequences->counts || !sequences->stamps ||
        !time_order_begin(&order, timeline, 0, (uint32_t)timeline->row_count))
        return false;
    for (uint32_t i = 0; i < ranges->keys.count; i++)
        sequences->counts[i] = range_key_class(ranges, context->dictionary, i) != RANGE_FRAME;
    for (uint32_t i; done && (i = time_order_next(&order)) != TSMITH_INDEX_NONE;) {
        const tsmith_command *command = &timeline->commands[i];
        if (timeline_runs(command) && command->start >= context->window.from &&
            command->start < context->window.to)
            done = add_command(sequences, context, i);
    }
    time_order_finish(&order);
    for (uint32_t t = 0; t < ranges->track_count && done; t++)
        for (uint32_t i = 0; i < ranges->tracks[t].count && done; i++)
            done = add_range(sequences, ranges, t, i);
    return done;
}

// HTA's order: the most frequent first.
static int by_count(const void *left, const void *right) {
    const struct sequence *a = left, *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    if (a->time != b->time)
        return a->time > b->time ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->hash < b->hash ? -1 : a->hash > b->hash;
}

// ---- the names of those that are shown

struct shown {
    char text[TEXT];
    uint32_t track, example, left;
};

static int by_example(const void *left, const void *right) {
    const struct shown *a = *(const struct shown *const *)left, *b = *(const struct shown *const *)right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    return a->example < b->example ? -1 : a->example > b->example;
}

// The shown one whose example is this range, NULL when there is none.
static struct shown *find_shown(struct shown *const *sorted, size_t count, const struct shown *key) {
    struct shown *const *found = bsearch(&key, sorted, count, sizeof *sorted, by_example);
    return found ? *found : NULL;
}

static void append_name(struct shown *shown, tsmith_string name) {
    size_t length = strlen(shown->text);
    shown->left--;
    if (snprintf(shown->text + length, TEXT - length, "%s%.*s%s", length ? " > " : "",
                 ANALYSIS_SHOWN(name)) >= (int)(TEXT - length))
        shown->text[TEXT - 2] = '~'; // the list is cut
}

static bool name_sequences(const struct sequences *sequences, const struct analysis_context *context,
                           struct shown *shown, size_t count) {
    struct shown *sorted[SHOWN];
    struct time_order order;
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        const struct sequence *sequence = &sequences->items[i];
        shown[i] = (struct shown){"", sequence->track, sequence->example, sequence->length};
        sorted[i] = &shown[i];
        left += sequence->length;
    }
    qsort(sorted, count, sizeof *sorted, by_example);
    if (!time_order_begin(&order, context->timeline, 0, (uint32_t)context->timeline->row_count))
        return false;
    for (uint32_t i; left && (i = time_order_next(&order)) != TSMITH_INDEX_NONE;) {
        const tsmith_command *command = &context->timeline->commands[i];
        if (!timeline_runs(command) || command->start < context->window.from)
            continue;
        struct range_walk walk = range_walk_begin(context->ranges, context->timeline, command);
        for (; walk.at; range_walk_next(&walk)) {
            const struct shown key = {"", (uint32_t)(walk.track - context->ranges->tracks),
                                      (uint32_t)(walk.at - walk.track->items), 0};
            struct shown *found = find_shown(sorted, count, &key);
            if (!found || !found->left)
                continue;
            append_name(found, analysis_command_name(context, command));
            left--;
        }
    }
    time_order_finish(&order);
    return true;
}

static bool write_sequences(const struct sequences *sequences, const struct analysis_context *context,
                            struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"operator", TSMITH_CELL_TEXT}, {"category", TSMITH_CELL_TEXT},  {"length", TSMITH_CELL_COUNT},
        {"count", TSMITH_CELL_COUNT},   {"total", TSMITH_CELL_DURATION}, {"host", TSMITH_CELL_DURATION},
        {"commands", TSMITH_CELL_TEXT}};
    struct report_table *table = REPORT_TABLE(
        report, "sequences",
        "commands that one call of an operator launched, in the order of their start; total is their time",
        COLUMNS);
    size_t count = sequences->numbers.count < SHOWN ? sequences->numbers.count : SHOWN;
    struct shown *shown = calloc(count + 1, sizeof *shown);
    bool done = shown && name_sequences(sequences, context, shown, count);
    for (size_t i = 0; i < count && done; i++) {
        const struct sequence *sequence = &sequences->items[i];
        analysis_range_text(report, table, context, sequence->key);
        report_integer(report, table, sequence->length);
        report_integer(report, table, (int64_t)sequence->count);
        report_integer(report, table, sequence->time);
        report_integer(report, table, sequence->host);
        report_text(report, table, analysis_text(shown[i].text));
    }
    free(shown);
    return done;
}

static tsmith_status finish(void *state, const struct analysis_context *context, struct report *report) {
    struct sequences *sequences = state;
    if (!collect(sequences, context))
        return TSMITH_ERROR_NO_MEMORY;
    size_t count = sequences->numbers.count;
    if (!count) {
        report_finding(report, "No operator or range launched %d commands or more.", SHORTEST);
        return TSMITH_OK;
    }
    qsort(sequences->items, count, sizeof *sequences->items, by_count);
    if (!write_sequences(sequences, context, report))
        return TSMITH_ERROR_NO_MEMORY;
    const struct sequence *first = sequences->items;
    tsmith_string name =
        tsmith_dictionary_string(context->dictionary, range_key_name(context->ranges, first->key));
    char time[REPORT_TEXT];
    report_finding(report,
                   "The most frequent sequence, %u commands of %.*s%s, ran %llu time%s (%s of device time).",
                   first->length, ANALYSIS_NAMED(name), (unsigned long long)first->count,
                   report_plural(first->count), report_duration(time, first->time));
    if (count > SHOWN)
        report_note(report, "The %d most frequent of %zu sequences are shown.", SHOWN, count);
    return TSMITH_OK;
}

static void release(void *state) {
    struct sequences *sequences = state;
    free(sequences->launched);
    free(sequences->counts);
    free(sequences->stamps);
    free(sequences->outer);
    tally_finish(&sequences->numbers);
    free(sequences->items);
}

const struct analysis_kind analysis_sequences = {
    .name = "sequences",
    .question = "Which sequences of kernels repeat?",
    .needs = NEEDS_TIMELINE,
    .ranges = true,
    .state_size = sizeof(struct sequences),
    .finish = finish,
    .release = release,
};
