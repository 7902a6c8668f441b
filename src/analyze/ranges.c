// SPDX-License-Identifier: Apache-2.0
// Finds the host ranges around each launching call. The analyses that attribute launches to code call it.
#include "analyze/ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "event/text.h"
#include "tracesmith/view.h"

void ranges_finish(struct ranges *ranges) {
    for (size_t i = 0; i < ranges->track_count; i++)
        free(ranges->tracks[i].items);
    free(ranges->tracks);
    free(ranges->of_track);
    free(ranges->of_thread);
    free(ranges->of_call);
    tally_finish(&ranges->keys);
    *ranges = (struct ranges){0};
}

static struct range_track *find_track(struct ranges *ranges, uint32_t track) {
    if (track >= ranges->of_track_count) {
        size_t grown = (size_t)track + 64;
        uint32_t *moved = realloc(ranges->of_track, grown * sizeof *moved);
        if (!moved)
            return NULL;
        memset(moved + ranges->of_track_count, 0, (grown - ranges->of_track_count) * sizeof *moved);
        ranges->of_track = moved;
        ranges->of_track_count = grown;
    }
    if (!ranges->of_track[track]) {
        if (!ARRAY_RESERVE(ranges->tracks, ranges->track_capacity, ranges->track_count + 1))
            return NULL;
        ranges->tracks[ranges->track_count] = (struct range_track){.track = track};
        ranges->of_track[track] = (uint32_t)++ranges->track_count;
    }
    return &ranges->tracks[ranges->of_track[track] - 1];
}

// Times beyond +-73 years are cut, as in the timeline.
static int64_t clamp_time(int64_t time) {
    const int64_t limit = (int64_t)1 << 61;
    return time < -limit ? -limit : time > limit ? limit : time;
}

static bool add_range(struct ranges *ranges, struct range_track *track, int64_t start, int64_t duration,
                      uint64_t key) {
    int64_t end;
    if (!ARRAY_RESERVE(track->items, track->capacity, track->count + 1))
        return false;
    if (__builtin_add_overflow(start, duration, &end))
        end = INT64_MAX;
    struct range range = {clamp_time(start), clamp_time(end), tally_number(&ranges->keys, key),
                          TSMITH_INDEX_NONE};
    if (track->count) {
        const struct range *last = &track->items[track->count - 1];
        track->unsorted |= range.start < last->start || (range.start == last->start && range.end > last->end);
    }
    track->items[track->count++] = range;
    return range.key != UINT32_MAX && track->count < TSMITH_INDEX_NONE;
}

bool ranges_add(struct ranges *ranges, const tsmith_dictionary *dictionary, const tsmith_batch *batch) {
    static const uint32_t fields[] = {TSMITH_FIELD_KIND, TSMITH_FIELD_START, TSMITH_FIELD_DURATION,
                                      TSMITH_FIELD_NAME, TSMITH_FIELD_CATEGORY};
    enum { KIND, START, DURATION, NAME, CATEGORY, FIELDS };
    const uint32_t number = tsmith_batch_track(batch);
    const tsmith_track *entry = tsmith_dictionary_track(dictionary, number);
    struct range_track *track = NULL;
    tsmith_view views[FIELDS];
    if (entry && (entry->kind == TSMITH_TRACK_QUEUE || entry->kind == TSMITH_TRACK_COPY_ENGINE))
        return true; // what a queue shows of ranges is made from these
    tsmith_view_batch(batch, fields, FIELDS, views);
    const uint8_t *kinds = tsmith_view_every(&views[KIND]);
    const int64_t *starts = tsmith_view_every(&views[START]);
    if (!kinds || !starts || !tsmith_view_exists(&views[DURATION]))
        return true;
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        int64_t duration;
        if (kinds[row] != TSMITH_KIND_RANGE || !tsmith_view_i64(&views[DURATION], row, &duration) ||
            duration < 0)
            continue;
        const uint64_t key =
            (uint64_t)tsmith_view_id(&views[NAME], row) << 32 | tsmith_view_id(&views[CATEGORY], row);
        if ((!track && !(track = find_track(ranges, number))) ||
            !add_range(ranges, track, starts[row], duration, key))
            return false;
    }
    return true;
}

// ---- order

// Of ranges with one start and one end the one that was recorded first is the outer one: sources write a range before
// what it contains. Until there are parents, `parent` holds the place in that order.
static int compare_ranges(const void *left, const void *right) {
    const struct range *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    return a->parent < b->parent ? -1 : a->parent > b->parent;
}

static void sort_track(struct range_track *track) {
    for (size_t i = 0; i < track->count; i++)
        track->items[i].parent = (uint32_t)i;
    qsort(track->items, track->count, sizeof *track->items, compare_ranges);
    for (size_t i = 0; i < track->count; i++)
        track->items[i].parent = TSMITH_INDEX_NONE;
}

static int by_number(const void *left, const void *right) {
    const struct range_track *a = left, *b = right;
    return a->track < b->track ? -1 : a->track > b->track;
}

// ---- innermost

// Ranges that have begun; ended ones may be among them, below one that has not ended.
struct stack {
    uint32_t *items;
    size_t count, capacity;
};

static bool push(struct stack *stack, struct range *ranges, uint32_t index) {
    while (stack->count && ranges[stack->items[stack->count - 1]].end <= ranges[index].start)
        stack->count--;
    if (!ARRAY_RESERVE(stack->items, stack->capacity, stack->count + 1))
        return false;
    ranges[index].parent = stack->count ? stack->items[stack->count - 1] : TSMITH_INDEX_NONE;
    stack->items[stack->count++] = index;
    return true;
}

static bool find_innermost(struct ranges *ranges, const tsmith_timeline *timeline,
                           const tsmith_thread *thread, struct range_track *track, struct stack *stack) {
    uint32_t next = 0;
    stack->count = 0;
    for (uint32_t i = thread->first_call; i < thread->first_call + thread->call_count; i++) {
        const tsmith_call *call = &timeline->calls[i];
        if (!call->command_count)
            continue;
        for (; next < track->count && track->items[next].start <= call->start; next++)
            if (!push(stack, track->items, next))
                return false;
        while (stack->count && track->items[stack->items[stack->count - 1]].end <= call->start)
            stack->count--;
        if (stack->count)
            ranges->of_call[i] = stack->items[stack->count - 1];
    }
    return true;
}

// Parents of all, also of those behind the last call and of threads without calls.
static bool find_parents(struct range_track *track, struct stack *stack) {
    stack->count = 0;
    for (uint32_t i = 0; i < track->count; i++)
        if (!push(stack, track->items, i))
            return false;
    return true;
}

bool ranges_make(struct ranges *ranges, const tsmith_timeline *timeline) {
    struct stack stack = {0};
    bool done = true;
    if (ranges->track_count)
        qsort(ranges->tracks, ranges->track_count, sizeof *ranges->tracks, by_number);
    for (size_t i = 0; i < ranges->track_count; i++) {
        struct range_track *track = &ranges->tracks[i];
        if (track->unsorted)
            sort_track(track);
        track->first = ranges->count;
        ranges->count += track->count;
        ranges->of_track[track->track] = (uint32_t)i + 1;
        done = done && find_parents(track, &stack);
    }
    ranges->of_thread = malloc((timeline->thread_count + 1) * sizeof *ranges->of_thread);
    ranges->of_call = malloc((timeline->call_count + 1) * sizeof *ranges->of_call);
    if (!ranges->of_thread || !ranges->of_call)
        return false;
    for (size_t i = 0; i < timeline->call_count; i++)
        ranges->of_call[i] = TSMITH_INDEX_NONE;
    for (size_t i = 0; i < timeline->thread_count && done; i++) {
        uint32_t track = timeline->threads[i].track;
        ranges->of_thread[i] =
            track < ranges->of_track_count ? ranges->of_track[track] - 1 : TSMITH_INDEX_NONE;
        if (ranges->of_thread[i] != TSMITH_INDEX_NONE)
            done = find_innermost(ranges, timeline, &timeline->threads[i],
                                  &ranges->tracks[ranges->of_thread[i]], &stack);
    }
    free(stack.items);
    return done;
}

enum range_class range_key_class(const struct ranges *ranges, const tsmith_dictionary *dictionary,
                                 uint32_t key) {
    // What PyTorch's profiler calls them, now and before 1.12.
    static const struct {
        const char *category;
        enum range_class class;
    } CLASSES[] = {{"cpu_op", RANGE_OPERATOR},
                   {"Operator", RANGE_OPERATOR},
                   {"python_function", RANGE_FRAME},
                   {"Trace", RANGE_PROFILER}};
    tsmith_string category = tsmith_dictionary_string(dictionary, range_key_category(ranges, key));
    // Before 1.12 the program's ranges were operators, too: "ProfilerStep#5", "Optimizer.step#SGD.step".
    if (strcmp(category.bytes, "Operator") == 0 &&
        strchr(tsmith_dictionary_string(dictionary, range_key_name(ranges, key)).bytes, '#'))
        return RANGE_USER;
    for (size_t i = 0; i < sizeof CLASSES / sizeof *CLASSES; i++)
        if (strcmp(category.bytes, CLASSES[i].category) == 0)
            return CLASSES[i].class;
    return RANGE_USER;
}

// ---- walking out

static void skip_ended(struct range_walk *walk) {
    while (walk->at && walk->at->end <= walk->time)
        walk->at = walk->at->parent == TSMITH_INDEX_NONE ? NULL : &walk->track->items[walk->at->parent];
}

struct range_walk range_walk_begin(const struct ranges *ranges, const tsmith_timeline *timeline,
                                   const tsmith_command *command) {
    struct range_walk walk = {0};
    if (command->call == TSMITH_INDEX_NONE || ranges->of_call[command->call] == TSMITH_INDEX_NONE)
        return walk;
    const tsmith_call *call = &timeline->calls[command->call];
    walk.track = &ranges->tracks[ranges->of_thread[call->thread]];
    walk.at = &walk.track->items[ranges->of_call[command->call]];
    walk.time = call->start;
    return walk;
}

void range_walk_next(struct range_walk *walk) {
    walk->at = walk->at->parent == TSMITH_INDEX_NONE ? NULL : &walk->track->items[walk->at->parent];
    skip_ended(walk);
}
