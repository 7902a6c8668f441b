// SPDX-License-Identifier: Apache-2.0
// Kineto writes the ranges of the host before the host's calls and the device's work. When the first call comes, the
// Python functions and operators of its thread are therefore known, and are sorted once; a trace in the order of time
// needs no sorting. A range that comes later than a call inside it is counted as missing from that call's stack.
//
// The stack of a call is that of the innermost range around its start. A range is inside those that began before it
// and have not ended by then; if ranges cross, one that ends before the call is not part of its stack.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "event/text.h"
#include "import/chrome/rows.h"

enum {
    RANGES_MAX = 4 << 20,
    DEPTH_MAX = 1024, // of a stack: what is further out is left out
    SORTS_FREE = 1 << 20,
    SORTS_PER_RANGE = 32, // a range is moved as often, on an average; then the order is given up
    FIRST_SLOTS = 1024
};

static bool category_is(const struct chrome *chrome, const struct event *event, const char *text) {
    tsmith_string category = tsmith_dictionary_string(chrome->dictionary, event->category);
    return event->has_category && category.length == strlen(text) &&
           memcmp(category.bytes, text, category.length) == 0;
}

enum around_role around_role_of(struct chrome *chrome, const struct event *event, tsmith_kind kind) {
    static const char *const RANGES[] = {"python_function", "cpu_op", "Operator", "user_annotation"};
    if (event->ph != 'X')
        return AROUND_NOTHING;
    if (kind == TSMITH_KIND_API)
        return AROUND_CALL;
    for (size_t i = 0; i < sizeof RANGES / sizeof *RANGES; i++)
        if (category_is(chrome, event, RANGES[i])) {
            chrome->rows->stacks.python |= i == 0;
            return AROUND_RANGE;
        }
    return AROUND_NOTHING;
}

void around_track_finish(struct row_track *track) {
    if (track->around)
        free(track->around->items);
    free(track->around);
}

void stacks_finish(struct stacks *stacks) {
    free(stacks->frames);
}

// ---- ranges

// The outer one first, as the ranges of a trace are ordered everywhere.
static int compare(const struct around *a, const struct around *b, const tsmith_dictionary *dictionary) {
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    return a->name == b->name ? 0 : text_compare_ids(dictionary, a->name, b->name);
}

// The innermost of those up to `at` (index + 1) that has not ended by then.
static uint32_t find_enclosing(const struct around *items, uint32_t at, int64_t time) {
    while (at && items[at - 1].end <= time)
        at = items[at - 1].parent;
    return at;
}

static void set_parent(struct around *items, size_t index) {
    struct around *item = &items[index];
    item->stack = 0;
    item->parent = find_enclosing(items, (uint32_t)index, item->start);
    item->least_end = item->end;
    if (item->parent && items[item->parent - 1].least_end < item->end)
        item->least_end = items[item->parent - 1].least_end;
}

// NULL when there is no memory.
static struct around_track *around_of(struct chrome *chrome, struct row_track *track) {
    if (!track->around && !(track->around = calloc(1, sizeof *track->around)))
        chrome->rows->failed = true;
    return track->around;
}

static void add_range(struct chrome *chrome, struct row_track *track, const struct event *event) {
    struct stacks *stacks = &chrome->rows->stacks;
    struct around_track *around;
    int64_t end;
    if (!event->has_name || !event->start.there || !event->duration.there || event->duration.ns <= 0 ||
        __builtin_add_overflow(event->start.ns, event->duration.ns, &end) ||
        !(around = around_of(chrome, track)))
        return;
    if (++stacks->ranges > RANGES_MAX || !ARRAY_RESERVE(around->items, around->capacity, around->count + 1)) {
        stacks->off = true;
        return;
    }
    struct around *last = around->count ? &around->items[around->count - 1] : NULL;
    around->items[around->count++] =
        (struct around){.start = event->start.ns, .end = end, .name = event->name};
    if (around->has_asked && event->start.ns <= around->asked)
        chrome->problems.counts[PROBLEM_LATE_RANGE]++;
    if (last && !around->unsorted)
        around->unsorted = compare(last, last + 1, chrome->dictionary) > 0;
    if (!around->unsorted)
        set_parent(around->items, around->count - 1);
}

// The end of the ascending items from `from` on.
static size_t run_end(const struct around_track *around, size_t from, const tsmith_dictionary *dictionary) {
    size_t end = from;
    do
        end++;
    while (end < around->count && compare(&around->items[end - 1], &around->items[end], dictionary) <= 0);
    return end;
}

// The ascending items from[0 .. middle) and from[middle .. end), in order.
static void merge(const struct around *from, size_t middle, size_t end, struct around *into,
                  const tsmith_dictionary *dictionary) {
    size_t left = 0, right = middle;
    while (left < middle && right < end)
        *into++ = compare(&from[left], &from[right], dictionary) <= 0 ? from[left++] : from[right++];
    memcpy(into, from + left, (middle - left) * sizeof *from);
    memcpy(into + (middle - left), from + right, (end - right) * sizeof *from);
}

// Merges ascending runs until one is left: Kineto writes a run of operators and one of functions. False when there is no memory.
static bool merge_runs(struct around_track *around, const tsmith_dictionary *dictionary) {
    struct around *other = malloc(around->capacity * sizeof *other);
    for (size_t runs = 2; other && runs > 1;) {
        runs = 0;
        for (size_t from = 0, middle, end; from < around->count; from = end, runs++) {
            end = middle = run_end(around, from, dictionary);
            if (middle < around->count)
                end = run_end(around, middle, dictionary);
            merge(around->items + from, middle - from, end - from, other + from, dictionary);
        }
        struct around *merged = other;
        other = around->items;
        around->items = merged;
    }
    free(other);
    return other != NULL;
}

static bool sort(struct chrome *chrome, struct around_track *around) {
    struct stacks *stacks = &chrome->rows->stacks;
    stacks->sorted += around->count;
    if (stacks->sorted > SORTS_FREE + stacks->ranges * SORTS_PER_RANGE)
        return false;
    if (!merge_runs(around, chrome->dictionary)) {
        chrome->rows->failed = true;
        return false;
    }
    for (size_t i = 0; i < around->count; i++)
        set_parent(around->items, i);
    around->unsorted = false;
    return true;
}

// ---- stacks

static uint32_t add_frame(struct chrome *chrome, uint32_t parent, uint32_t name) {
    tsmith_dictionary *dictionary = chrome->dictionary;
    const tsmith_frame frame = {.address = name}; // of no module: what it is called is what it is
    uint32_t had = tsmith_dictionary_frame_count(dictionary);
    uint32_t id = tsmith_dictionary_intern_frame(dictionary, &frame);
    if (id && id == had)
        (void)tsmith_dictionary_add_symbol(dictionary, &(tsmith_symbol){.frame = id, .function = name});
    return id ? tsmith_dictionary_intern_stack(dictionary, &(tsmith_stack){parent, id}) : 0;
}

// The stack at `time` within that range (index + 1). The enclosing ranges that have not ended are kept with each range.
static uint32_t make_stack(struct chrome *chrome, struct around_track *around, uint32_t at, int64_t time) {
    uint32_t path[DEPTH_MAX];
    size_t depth = 0;
    uint32_t stack = 0;
    bool whole = at && around->items[at - 1].least_end > time;
    for (; at && depth < DEPTH_MAX; at = find_enclosing(around->items, around->items[at - 1].parent, time)) {
        if (whole && around->items[at - 1].stack) {
            stack = around->items[at - 1].stack;
            break;
        }
        path[depth++] = at;
    }
    while (depth-- > 0) {
        struct around *item = &around->items[path[depth] - 1];
        stack = add_frame(chrome, stack, item->name);
        if (whole)
            item->stack = stack;
    }
    return stack;
}

static uint32_t stack_at(struct chrome *chrome, struct row_track *track, int64_t time) {
    struct around_track *around = around_of(chrome, track);
    if (!around)
        return 0;
    if (!around->has_asked || time > around->asked)
        around->asked = time;
    around->has_asked = true;
    if (!chrome->rows->stacks.python)
        return 0;
    if (around->unsorted && !sort(chrome, around)) {
        chrome->rows->stacks.off = true;
        return 0;
    }
    // The first that begins later.
    const size_t at = SORTED_FIND(i, 0, around->count, around->items[i].start <= time);
    return make_stack(chrome, around, find_enclosing(around->items, (uint32_t)at, time), time);
}

// ---- events

void around_event(struct chrome *chrome, struct group *group, tsmith_batch *batch,
                  const struct event *event) {
    struct rows *rows = chrome->rows;
    struct stacks *stacks = &rows->stacks;
    uint32_t stack = 0;
    if (group->around == AROUND_RANGE) {
        if (!stacks->off)
            add_range(chrome, group->track, event);
        return;
    }
    if (event->start.there && !stacks->off)
        stack = stack_at(chrome, group->track, event->start.ns);
    if (stacks->off && stacks->python)
        chrome->problems.counts[PROBLEM_NO_STACK]++;
    if (stack)
        rows->failed |= tsmith_batch_set(batch, TSMITH_FIELD_STACK, stack) != TSMITH_OK;
}
