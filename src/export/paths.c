// SPDX-License-Identifier: Apache-2.0
// Slices of a track wait until there are many, are sorted, and go down a trie of names. A slice is inside the
// innermost open one that ends no earlier; one that crosses another is its sibling. A slice that comes after later
// ones were already counted (more than WAITING_MAX slices wait at once) is counted as if it were inside none.
//
// In a trace with call stacks, commands and the calls that launched them wait until the end: 48 bytes each.
#include "export/paths.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "base/table.h"
#include "event/fold.h"
#include "event/stacks.h"
#include "tracesmith/batch.h"
#include "tracesmith/view.h"

enum { WAITING_MAX = 4 << 20, FIRST_SLOTS = 1024, NODES_MAX = 1 << 26, INLINED_MAX = 256 };

struct open {
    int64_t end;
    uint32_t node;
};

struct paths_track {
    struct waiting *waiting; // `at`: string of the name; `length`: 0, or the kind + 1 of what has no name
    size_t count, capacity;
    struct open *open; // the innermost last
    size_t open_count, open_capacity;
    uint32_t root;
    int64_t counted; // start of the latest slice that was
};

// A command, or (duration -1) a call that has a stack.
struct paths_work {
    int64_t start, duration;
    uint64_t correlation, name; // name: of a node
    uint32_t process, track, stack;
};

// ---- paths

static uint64_t hash_of(uint32_t parent, uint64_t name) {
    return table_hash(name * 0xd6e8feb86659fd93u ^ parent);
}

static bool is_child(const struct paths_node *node, uint32_t parent, uint64_t name) {
    return node->parent == parent && node->name == name;
}

// The path with one name more; 0 when memory is exhausted.
static uint32_t child(struct paths *paths, uint32_t parent, uint64_t name) {
    if (paths->node_count == 0)
        paths->node_count = 1;
    if (!TABLE_ROOM(paths->slots, paths->slot_count, paths->node_count, FIRST_SLOTS, slot, *slot,
                    hash_of(paths->nodes[*slot].parent, paths->nodes[*slot].name))) {
        paths->failed = true;
        return 0;
    }
    uint32_t *found = TABLE_SLOT(paths->slots, paths->slot_count, hash_of(parent, name), slot,
                                 !*slot || is_child(&paths->nodes[*slot], parent, name));
    if (*found)
        return *found;
    if (paths->node_count >= NODES_MAX ||
        !ARRAY_RESERVE(paths->nodes, paths->node_capacity, paths->node_count + 1)) {
        paths->failed = true;
        return 0;
    }
    paths->nodes[paths->node_count] = (struct paths_node){.name = name, .parent = parent};
    return *found = (uint32_t)paths->node_count++;
}

// ---- names

static const uint64_t IS_GUESSED = UINT64_C(1) << 63;

static uint64_t name_number(enum paths_name what, uint32_t id) {
    return (uint64_t)(what + 1) << 32 | id;
}

enum paths_name paths_name_kind(uint64_t name) {
    return (enum paths_name)(((name & ~IS_GUESSED) >> 32) - 1);
}

static size_t put_process(const struct paths *paths, uint32_t id, char *text) {
    const tsmith_process *process = tsmith_dictionary_process(paths->dictionary, id);
    tsmith_string name = tsmith_dictionary_string(paths->dictionary, process ? process->name : 0);
    int shown = name.length < PATHS_NAME_SIZE / 2 ? (int)name.length : PATHS_NAME_SIZE / 2;
    memcpy(text, name.bytes, (size_t)shown);
    size_t room = PATHS_NAME_SIZE - (size_t)shown;
    if (process)
        return (size_t)shown +
               (size_t)snprintf(text + shown, room, "%s%" PRIu64, shown ? " " : "process ", process->pid);
    return shown ? (size_t)shown : (size_t)snprintf(text, room, "no process");
}

static size_t put_track(const struct paths *paths, uint32_t id, char *text) {
    char room[TSMITH_LABEL_SIZE], distinction[TSMITH_LABEL_SIZE];
    const tsmith_string name = tsmith_track_name(paths->dictionary, id, room);
    (void)tsmith_track_distinction(paths->dictionary, id, TSMITH_LABEL_PROCESS, distinction);
    const int length = snprintf(text, PATHS_NAME_SIZE, "%.*s%s",
                                (int)(name.length < PATHS_NAME_SIZE ? name.length : PATHS_NAME_SIZE),
                                name.bytes, distinction);
    return length < 0 ? 0 : length < PATHS_NAME_SIZE ? (size_t)length : PATHS_NAME_SIZE - 1;
}

static size_t put_frame(struct paths *paths, uint32_t id, char *text) {
    tsmith_stack_line line;
    if (!tsmith_frame_lines(paths->names, id, &line, 1))
        return 0;
    size_t length = tsmith_stack_line_text(paths->dictionary, &line, text, PATHS_NAME_SIZE);
    if (length >= PATHS_NAME_SIZE)
        text[PATHS_NAME_SIZE - 2] = '~'; // the name is cut
    return length < PATHS_NAME_SIZE ? length : PATHS_NAME_SIZE - 1;
}

static tsmith_string add_mark(tsmith_string name, char text[PATHS_NAME_SIZE]) {
    enum { ROOM = PATHS_NAME_SIZE - (int)sizeof FOLD_GUESSED };
    const size_t shown = name.length < ROOM ? name.length : ROOM;
    memmove(text, name.bytes, shown);
    if (shown < name.length)
        text[shown - 1] = '~';
    memcpy(text + shown, FOLD_GUESSED, sizeof FOLD_GUESSED);
    return (tsmith_string){text, shown + sizeof FOLD_GUESSED - 1};
}

tsmith_string paths_name(struct paths *paths, uint64_t name, char text[PATHS_NAME_SIZE]) {
    uint32_t id = (uint32_t)name;
    const char *kind;
    if (name & IS_GUESSED)
        return add_mark(paths_name(paths, name & ~IS_GUESSED, text), text);
    switch (paths_name_kind(name)) {
    case PATHS_KIND:
        kind = tsmith_kind_name((tsmith_kind)id);
        kind = kind ? kind : "event";
        return (tsmith_string){kind, strlen(kind)};
    case PATHS_PROCESS:
        return (tsmith_string){text, put_process(paths, id, text)};
    case PATHS_TRACK:
        return (tsmith_string){text, put_track(paths, id, text)};
    case PATHS_FRAME:
        return (tsmith_string){text, put_frame(paths, id, text)};
    case PATHS_TRUNCATED:
        return (tsmith_string){FOLD_TRUNCATED, sizeof FOLD_TRUNCATED - 1};
    default: // PATHS_SLICE, PATHS_FUNCTION, PATHS_COMMAND
        return tsmith_dictionary_string(paths->dictionary, id);
    }
}

// ---- slices

static void add_self(struct paths *paths, uint32_t node, int64_t ns) {
    int64_t *self = &paths->nodes[node].self;
    if (__builtin_add_overflow(*self, ns, self))
        *self = ns > 0 ? INT64_MAX : INT64_MIN;
}

static bool push(struct paths *paths, struct paths_track *track, int64_t end, uint32_t node) {
    void *open = track->open;
    if (!array_reserve(&open, &track->open_capacity, track->open_count + 1, sizeof *track->open)) {
        paths->failed = true;
        return false;
    }
    track->open = open;
    track->open[track->open_count++] = (struct open){end, node};
    return true;
}

static void count_slice(struct paths *paths, struct paths_track *track, const struct waiting *it) {
    uint64_t name = it->length ? name_number(PATHS_KIND, it->length - 1) : name_number(PATHS_SLICE, it->at);
    int64_t duration = it->end - it->start;
    uint32_t parent = track->root;
    bool late = it->start < track->counted;
    while (!late && track->open_count && track->open[track->open_count - 1].end <= it->start)
        track->open_count--;
    for (size_t i = late ? 0 : track->open_count; i-- > 0;)
        if (track->open[i].end >= it->end) {
            parent = track->open[i].node;
            add_self(paths, parent, -duration);
            break;
        }
    uint32_t node = child(paths, parent, name);
    if (!node)
        return;
    add_self(paths, node, duration);
    if (!late) {
        track->counted = it->start;
        (void)push(paths, track, it->end, node);
    }
}

// Counts the earliest half of what waits, or all.
static void count_waiting(struct paths *paths, uint32_t id, bool all) {
    struct paths_track *track = &paths->tracks[id];
    const tsmith_track *entry = tsmith_dictionary_track(paths->dictionary, id);
    size_t count = all ? track->count : (track->count + 1) / 2;
    if (!waiting_sort(track->waiting, track->count, &paths->scratch)) {
        paths->failed = true;
        return;
    }
    if (!track->root) {
        uint32_t process = child(paths, 0, name_number(PATHS_PROCESS, entry ? entry->process : 0));
        track->root = process ? child(paths, process, name_number(PATHS_TRACK, id)) : 0;
    }
    for (size_t i = 0; i < count && track->root; i++)
        count_slice(paths, track, &track->waiting[i]);
    memmove(track->waiting, track->waiting + count, (track->count - count) * sizeof *track->waiting);
    track->count -= count;
    paths->waiting -= count;
}

// ---- commands beneath the path that launched them

static bool is_command(tsmith_kind kind) {
    return kind == TSMITH_KIND_KERNEL || kind == TSMITH_KIND_MEMCPY || kind == TSMITH_KIND_MEMSET ||
           kind == TSMITH_KIND_COLLECTIVE;
}

enum { START, DURATION, NAME, KIND, CORRELATION, STACK, PERIOD, SUMMED, TOTAL, FIELDS };

static const uint32_t fields[FIELDS] = {[START] = TSMITH_FIELD_START,
                                        [DURATION] = TSMITH_FIELD_DURATION,
                                        [NAME] = TSMITH_FIELD_NAME,
                                        [KIND] = TSMITH_FIELD_KIND,
                                        [CORRELATION] = TSMITH_FIELD_CORRELATION,
                                        [STACK] = TSMITH_FIELD_STACK,
                                        [PERIOD] = TSMITH_FIELD_SAMPLER_PERIOD,
                                        [SUMMED] = TSMITH_FIELD_SUMMED,
                                        [TOTAL] = TSMITH_FIELD_TOTAL};

static void add_work(struct paths *paths, const tsmith_batch *batch, const tsmith_view views[FIELDS]) {
    uint32_t track = tsmith_batch_track(batch);
    const tsmith_track *entry = tsmith_dictionary_track(paths->dictionary, track);
    const uint32_t count = tsmith_batch_count(batch);
    const int64_t *starts = tsmith_view_every(&views[START]);
    if (!ARRAY_RESERVE(paths->work, paths->work_capacity, paths->work_count + count)) {
        paths->failed = true;
        return;
    }
    for (uint32_t row = 0; row < count; row++) {
        const tsmith_kind kind = (tsmith_kind)tsmith_view_word(&views[KIND], row);
        const uint32_t name = tsmith_view_id(&views[NAME], row);
        struct paths_work one = {.start = starts[row],
                                 .duration = tsmith_view_i64_or(&views[DURATION], row, -1),
                                 .correlation = tsmith_view_u64_or(&views[CORRELATION], row, 0),
                                 .name =
                                     name ? name_number(PATHS_COMMAND, name) : name_number(PATHS_KIND, kind),
                                 .process = entry ? entry->process : 0,
                                 .track = track,
                                 .stack = tsmith_view_id(&views[STACK], row)};
        if (kind == TSMITH_KIND_SUM || (!is_command(kind) && (!one.stack || !one.correlation)))
            continue;
        if (!is_command(kind))
            one.duration = -1;
        else if (one.duration < 0)
            continue;
        paths->work[paths->work_count++] = one;
    }
}

// Commands that the program added up (--aggregate): their time, wherever it was within the period.
static void add_sums(struct paths *paths, const tsmith_batch *batch, const tsmith_view views[FIELDS]) {
    const uint32_t track = tsmith_batch_track(batch);
    const tsmith_track *entry = tsmith_dictionary_track(paths->dictionary, track);
    for (uint32_t row = 0; row < tsmith_batch_count(batch) && !paths->failed; row++) {
        const tsmith_kind kind = (tsmith_kind)tsmith_view_word(&views[SUMMED], row);
        const int64_t time = tsmith_view_i64_or(&views[TOTAL], row, -1);
        const uint32_t name = tsmith_view_id(&views[NAME], row);
        if (tsmith_view_word(&views[KIND], row) != TSMITH_KIND_SUM || !is_command(kind) || time < 0)
            continue;
        struct paths_work *work = ARRAY_PUSH(paths->work, paths->work_count, paths->work_capacity);
        paths->failed = !work;
        if (work)
            *work = (struct paths_work){.duration = time,
                                        .name = name ? name_number(PATHS_COMMAND, name)
                                                     : name_number(PATHS_KIND, kind),
                                        .process = entry ? entry->process : 0,
                                        .track = track,
                                        .stack = paths->by_stack ? tsmith_view_id(&views[STACK], row) : 0};
    }
}

// Samples of threads, added up by process and stack.
static void add_samples(struct paths *paths, const tsmith_batch *batch, const tsmith_view views[FIELDS]) {
    const uint32_t track = tsmith_batch_track(batch);
    const tsmith_track *entry = tsmith_dictionary_track(paths->dictionary, track);
    for (uint32_t row = 0; row < tsmith_batch_count(batch) && !paths->failed; row++) {
        if (tsmith_view_word(&views[KIND], row) != TSMITH_KIND_SAMPLE || !entry ||
            entry->kind != TSMITH_TRACK_THREAD)
            continue;
        const uint32_t stack = tsmith_view_id(&views[STACK], row);
        const uint64_t period = tsmith_view_u64_or(&views[PERIOD], row, 1);
        // Those without a stack are shown by thread.
        const uint64_t key = (uint64_t)(stack ? entry->process : track) << 32 | stack;
        bool is_new;
        uint64_t *number = table_add(&paths->sampled, key + 1, &is_new);
        struct paths_work *work =
            number && is_new ? ARRAY_PUSH(paths->work, paths->work_count, paths->work_capacity) : NULL;
        paths->failed = !number || (is_new && !work);
        if (work) {
            *number = paths->work_count - 1;
            *work = (struct paths_work){.process = entry->process, .track = track, .stack = stack};
        }
        if (!paths->failed)
            paths->work[*number].duration += period < INT32_MAX ? (int64_t)period : 1;
    }
}

// Calls first, by number and process; of several the earliest, which called the others.
static int by_call(const void *left, const void *right) {
    const struct paths_work *a = left, *b = right;
    if ((a->duration < 0) != (b->duration < 0))
        return a->duration < 0 ? -1 : 1;
    if (a->correlation != b->correlation)
        return a->correlation < b->correlation ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

// The call of the same number: of the command's process, else of the only process that has one.
static const struct paths_work *find_call(const struct paths *paths, size_t calls,
                                          const struct paths_work *command) {
    const size_t at = SORTED_FIND(k, 0, calls, paths->work[k].correlation < command->correlation);
    const struct paths_work *found = NULL;
    for (size_t i = at;
         i < calls && command->correlation && paths->work[i].correlation == command->correlation; i++) {
        const struct paths_work *call = &paths->work[i];
        if (call->process == command->process)
            return call;
        if (found && found->process != call->process)
            return NULL;
        found = found ? found : call;
    }
    return found;
}

// Where a stack of a process ends.
struct paths_end {
    uint32_t process, node; // nodes; 0: not known yet
};

// The path with one function more, folded.
static uint32_t folded_child(struct paths *paths, uint32_t node, uint64_t name) {
    uint64_t names[FOLD_NAMES];
    uint32_t count = 0;
    for (uint32_t at = node; at && count < FOLD_NAMES; at = paths->nodes[at].parent)
        names[count++] = paths->nodes[at].name;
    const uint32_t period = fold_period(names, count, name);
    if (!period)
        return child(paths, node, name);
    paths->folded = true;
    for (uint32_t i = 1; i < period; i++)
        node = paths->nodes[node].parent;
    return node;
}

// One frame further down: its functions, outermost first. `hide`: without the interpreter's.
static uint32_t step_into_frame(struct paths *paths, uint32_t node, uint32_t frame, bool hide) {
    tsmith_stack_line lines[INLINED_MAX];
    size_t count = stacks_frame_lines(paths->names, frame, hide, lines, INLINED_MAX);
    const uint32_t flags = count ? lines[0].flags : 0;
    const uint64_t mark = flags & TSMITH_FRAME_GUESSED ? IS_GUESSED : 0;
    if (flags & TSMITH_FRAME_TRUNCATED)
        node = child(paths, node, name_number(PATHS_TRUNCATED, 0));
    paths->truncated |= (flags & TSMITH_FRAME_TRUNCATED) != 0;
    paths->guessed |= mark != 0;
    for (size_t i = count < INLINED_MAX ? count : INLINED_MAX; i-- > 0 && node;)
        node = folded_child(paths, node,
                            mark | (lines[i].function ? name_number(PATHS_FUNCTION, lines[i].function)
                                                      : name_number(PATHS_FRAME, lines[i].frame)));
    return node;
}

// Climbs to where a path is known, or its outermost frame, and descends from there: each stack is gone once, and once
// more if the interpreter's functions are hidden on one path through it and not on another.
static uint32_t descend(struct paths *paths, struct paths_end *ends, uint32_t process, uint32_t stack) {
    const bool hide = stacks_hide(paths->names, stack);
    size_t depth = 0;
    const tsmith_stack *entry;
    uint32_t at = stack, node = process;
    ends += hide ? tsmith_dictionary_stack_count(paths->dictionary) : 0;
    for (; (entry = tsmith_dictionary_stack(paths->dictionary, at)) && ends[at].process != process;
         at = entry->parent) {
        if (!ARRAY_RESERVE(paths->way, paths->way_capacity, depth + 1)) {
            paths->failed = true;
            return 0;
        }
        paths->way[depth++] = at;
    }
    if (entry)
        node = ends[at].node;
    while (depth-- > 0 && node) {
        at = paths->way[depth];
        node = step_into_frame(paths, node, tsmith_dictionary_stack(paths->dictionary, at)->frame, hide);
        ends[at] = (struct paths_end){process, node};
    }
    return node;
}

static int by_stack(const void *left, const void *right) {
    const struct paths_work *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->stack != b->stack)
        return a->stack < b->stack ? -1 : 1;
    return a->stack ? 0 : (a->track > b->track) - (a->track < b->track);
}

static void count_work(struct paths *paths) {
    size_t calls = 0;
    if (!paths->work_count)
        return;
    qsort(paths->work, paths->work_count, sizeof *paths->work, by_call);
    while (calls < paths->work_count && paths->work[calls].duration < 0)
        calls++;
    for (size_t i = calls; i < paths->work_count; i++) {
        struct paths_work *command = &paths->work[i];
        const struct paths_work *call = command->stack ? NULL : find_call(paths, calls, command);
        if (call) {
            command->stack = call->stack;
            command->process = call->process;
        }
    }
    struct paths_work *commands = paths->work + calls;
    size_t count = paths->work_count - calls;
    uint32_t path = 0;
    // For each stack, first unchanged and then without the interpreter.
    struct paths_end *ends =
        calloc(tsmith_dictionary_stack_count(paths->dictionary) + (size_t)1, 2 * sizeof *ends);
    if (!ends)
        paths->failed = true;
    if (count)
        qsort(commands, count, sizeof *commands, by_stack);
    for (size_t i = 0; i < count && !paths->failed; i++) {
        if (i == 0 || by_stack(&commands[i - 1], &commands[i]) != 0) {
            uint32_t process = child(paths, 0, name_number(PATHS_PROCESS, commands[i].process));
            path = commands[i].stack ? descend(paths, ends, process, commands[i].stack)
                                     : child(paths, process, name_number(PATHS_TRACK, commands[i].track));
        }
        const uint32_t node = path && !paths->of_samples ? child(paths, path, commands[i].name) : path;
        if (node)
            add_self(paths, node, commands[i].duration);
    }
    free(ends);
}

// ---- the whole

static struct paths_track *find_track(struct paths *paths, uint32_t id) {
    size_t had = paths->track_capacity;
    if (!ARRAY_RESERVE(paths->tracks, paths->track_capacity, (size_t)id + 1))
        return NULL;
    for (size_t i = had; i < paths->track_capacity; i++)
        paths->tracks[i] = (struct paths_track){.counted = INT64_MIN};
    return &paths->tracks[id];
}

static void add_rows(struct paths *paths, struct paths_track *track, const tsmith_batch *batch,
                     const tsmith_view views[FIELDS]) {
    const uint32_t count = tsmith_batch_count(batch);
    const int64_t *starts = tsmith_view_every(&views[START]);
    void *waiting = track->waiting;
    if (!array_reserve(&waiting, &track->capacity, track->count + count, sizeof *track->waiting)) {
        paths->failed = true;
        return;
    }
    track->waiting = waiting;
    for (uint32_t row = 0; row < count; row++) {
        struct waiting it = {.start = starts[row]};
        const uint8_t kind = tsmith_view_word(&views[KIND], row);
        int64_t lasted;
        if (!tsmith_view_i64(&views[DURATION], row, &lasted) || lasted < 0 || kind == TSMITH_KIND_LOSS ||
            kind == TSMITH_KIND_SUM || __builtin_add_overflow(it.start, lasted, &it.end))
            continue;
        if (tsmith_view_has(&views[NAME], row))
            it.at = tsmith_view_id(&views[NAME], row);
        else
            it.length = kind + 1u;
        track->waiting[track->count++] = it;
        paths->waiting++;
    }
}

// What a trace is drawn by is decided when its first batch comes, with which its stacks are known.
static bool begin(struct paths *paths, const tsmith_dictionary *dictionary) {
    paths->dictionary = dictionary;
    if (paths->begun)
        return true;
    paths->begun = true;
    paths->by_stack = paths->of_samples || tsmith_dictionary_stack_count(dictionary) > 1;
    if (!paths->by_stack)
        return true;
    if (tsmith_stack_names_create(dictionary, &paths->names) != TSMITH_OK)
        return false;
    tsmith_stack_names_hide_interpreter(paths->names, paths->hide_interpreter);
    return true;
}

tsmith_status paths_add(struct paths *paths, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                        tsmith_error *error) {
    tsmith_view views[FIELDS];
    bool ok = begin(paths, dictionary);
    struct paths_track *track = ok ? find_track(paths, tsmith_batch_track(batch)) : NULL;
    tsmith_view_batch(batch, fields, FIELDS, views);
    const bool has_events = tsmith_view_exists(&views[START]);
    if (ok && track && has_events && !paths->of_samples && tsmith_view_exists(&views[SUMMED]))
        add_sums(paths, batch, views);
    if (ok && track && has_events && paths->of_samples)
        add_samples(paths, batch, views);
    else if (ok && track && has_events && paths->by_stack)
        add_work(paths, batch, views);
    else if (ok && track && has_events && tsmith_view_exists(&views[DURATION]))
        add_rows(paths, track, batch, views);
    while (paths->waiting > WAITING_MAX && track && !paths->failed)
        for (size_t id = 0; id < paths->track_capacity; id++)
            if (paths->tracks[id].count)
                count_waiting(paths, (uint32_t)id, false);
    return paths->failed || !track ? status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory") : TSMITH_OK;
}

tsmith_status paths_end(struct paths *paths, const tsmith_dictionary *dictionary, tsmith_error *error) {
    bool ok = begin(paths, dictionary);
    for (size_t id = 0; id < paths->track_capacity; id++)
        if (paths->tracks[id].count)
            count_waiting(paths, (uint32_t)id, true);
    if (ok && paths->work_count)
        count_work(paths);
    return paths->failed || !ok ? status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory") : TSMITH_OK;
}

bool paths_number_names(const struct paths *paths, struct paths_names *names) {
    bool good = true;
    for (size_t i = 1; i < paths->node_count && good; i++) {
        bool is_new;
        uint64_t *number = table_add(&names->numbers, paths->nodes[i].name, &is_new);
        uint64_t *place = number && is_new ? ARRAY_PUSH(names->names, names->count, names->capacity) : NULL;
        good = number && (!is_new || place);
        if (place) {
            *place = paths->nodes[i].name;
            *number = names->count - 1;
        }
    }
    return good;
}

void paths_names_finish(struct paths_names *names) {
    table_finish(&names->numbers);
    free(names->names);
}

void paths_finish(struct paths *paths) {
    for (size_t i = 0; i < paths->track_capacity; i++) {
        free(paths->tracks[i].waiting);
        free(paths->tracks[i].open);
    }
    tsmith_stack_names_destroy(paths->names);
    free(paths->work);
    table_finish(&paths->sampled);
    free(paths->way);
    free(paths->tracks);
    free(paths->nodes);
    free(paths->slots);
    free(paths->scratch.items);
}

const char *paths_quantity(const struct paths *paths) {
    return paths->of_samples ? "CPU time" : paths->by_stack ? "device time" : "time";
}
