// SPDX-License-Identifier: Apache-2.0
// Folded stacks: one line per path of slices that lie within one another, `process;thread;outer;inner NS`, with the
// time that was spent in the innermost and in no slice within it. flamegraph.pl, inferno and speedscope draw it.
//
// Slices of a track wait until there are many, are sorted, and go down a trie of names. A slice lies within the
// innermost open one that ends no earlier; one that crosses another lies beside it. What comes after later ones were
// counted already (more than WAITING_MAX slices wait at once) is counted as if it lay in none.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "export/formats.h"
#include "export/order.h"
#include "export/output.h"
#include "tracesmith/batch.h"

enum { WAITING_MAX = 4 << 20, FIRST_SLOTS = 1024, NODES_MAX = 1 << 26 };

// A path: its last name, and the path before that. [0] is the empty one.
struct node {
    uint64_t name; // see name_number
    uint32_t parent;
    int64_t self; // ns
};

struct open {
    int64_t end;
    uint32_t node;
};

struct folded_track {
    struct waiting *waiting; // `at`: string of the name; `length`: 0, or the kind + 1 of what has no name
    size_t count, capacity;
    struct open *open; // the innermost last
    size_t open_count, open_capacity;
    uint32_t root;
    int64_t counted; // start of the latest slice that was
};

struct folded {
    struct output output;
    const tsmith_dictionary *dictionary;
    struct node *nodes;
    size_t node_count, node_capacity;
    uint32_t *slots; // hash table of (parent, name): index of the node
    size_t slot_count;
    struct folded_track *tracks; // by id
    size_t track_capacity;
    size_t waiting; // of all tracks
    struct waiting_scratch scratch;
    bool failed;
};

// ---- paths

static size_t slot_of(const struct folded *folded, uint32_t parent, uint64_t name) {
    uint64_t hash = (name * 0xd6e8feb86659fd93u ^ parent) * 0x9e3779b97f4a7c15u;
    size_t at = (size_t)(hash ^ hash >> 32) & (folded->slot_count - 1);
    while (folded->slots[at] && (folded->nodes[folded->slots[at]].parent != parent ||
                                 folded->nodes[folded->slots[at]].name != name))
        at = (at + 1) & (folded->slot_count - 1);
    return at;
}

static bool grow(struct folded *folded) {
    size_t count = folded->slot_count ? folded->slot_count * 2 : FIRST_SLOTS;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return false;
    free(folded->slots);
    folded->slots = slots;
    folded->slot_count = count;
    for (size_t i = 1; i < folded->node_count; i++)
        folded->slots[slot_of(folded, folded->nodes[i].parent, folded->nodes[i].name)] = (uint32_t)i;
    return true;
}

// The path with one name more; 0 when memory is exhausted.
static uint32_t child(struct folded *folded, uint32_t parent, uint64_t name) {
    if (folded->node_count == 0)
        folded->node_count = 1;
    if (folded->node_count * 2 >= folded->slot_count && !grow(folded)) {
        folded->failed = true;
        return 0;
    }
    size_t at = slot_of(folded, parent, name);
    if (folded->slots[at])
        return folded->slots[at];
    void *nodes = folded->nodes;
    if (folded->node_count >= NODES_MAX ||
        !array_reserve(&nodes, &folded->node_capacity, folded->node_count + 1, sizeof *folded->nodes)) {
        folded->failed = true;
        return 0;
    }
    folded->nodes = nodes;
    folded->nodes[folded->node_count] = (struct node){.name = name, .parent = parent};
    return folded->slots[at] = (uint32_t)folded->node_count++;
}

// ---- names

// What a node is called is a string of the dictionary, or the name of a kind, a process, or a track.
enum { NAME_STRING, NAME_OF_KIND, NAME_PROCESS, NAME_TRACK };

static uint64_t name_number(unsigned what, uint32_t id) {
    return (uint64_t)(what + 1) << 32 | id;
}

// Semicolons part the names and line feeds the lines.
static void put_clean(struct output *output, const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++)
        output_char(output, bytes[i] == ';' ? ':' : (unsigned char)bytes[i] < ' ' ? ' ' : bytes[i]);
}

static void put_number(struct output *output, const char *what, uint64_t number) {
    char text[48];
    (void)snprintf(text, sizeof text, "%s%" PRIu64, what, number);
    output_text(output, text);
}

static void put_process(struct folded *folded, uint32_t id) {
    const tsmith_process *process = tsmith_dictionary_process(folded->dictionary, id);
    tsmith_string name = tsmith_dictionary_string(folded->dictionary, process ? process->name : 0);
    put_clean(&folded->output, name.bytes, name.length);
    if (process)
        put_number(&folded->output, name.length ? " " : "process ", process->pid);
    else if (!name.length)
        output_text(&folded->output, "no process");
}

static void put_track(struct folded *folded, uint32_t id) {
    const tsmith_track *track = tsmith_dictionary_track(folded->dictionary, id);
    const char *kind = track ? tsmith_track_kind_name((tsmith_track_kind)track->kind) : NULL;
    tsmith_string name = tsmith_dictionary_string(folded->dictionary, track ? track->name : 0);
    if (name.length) {
        put_clean(&folded->output, name.bytes, name.length);
        return;
    }
    output_text(&folded->output, kind ? kind : "track");
    put_number(&folded->output, " ", track && track->kind == TSMITH_TRACK_THREAD ? track->tid : id);
}

static void put_name(struct folded *folded, uint64_t name) {
    uint32_t id = (uint32_t)name;
    tsmith_string text = tsmith_dictionary_string(folded->dictionary, id);
    const char *kind = tsmith_kind_name((tsmith_kind)id);
    switch ((unsigned)(name >> 32) - 1) {
    case NAME_STRING:
        put_clean(&folded->output, text.bytes, text.length);
        break;
    case NAME_OF_KIND:
        output_text(&folded->output, kind ? kind : "event");
        break;
    case NAME_PROCESS:
        put_process(folded, id);
        break;
    default:
        put_track(folded, id);
    }
}

// ---- slices

static void add_self(struct folded *folded, uint32_t node, int64_t ns) {
    int64_t *self = &folded->nodes[node].self;
    if (__builtin_add_overflow(*self, ns, self))
        *self = ns > 0 ? INT64_MAX : INT64_MIN;
}

static bool push(struct folded *folded, struct folded_track *track, int64_t end, uint32_t node) {
    void *open = track->open;
    if (!array_reserve(&open, &track->open_capacity, track->open_count + 1, sizeof *track->open)) {
        folded->failed = true;
        return false;
    }
    track->open = open;
    track->open[track->open_count++] = (struct open){end, node};
    return true;
}

static void count_slice(struct folded *folded, struct folded_track *track, const struct waiting *it) {
    uint64_t name = it->length ? name_number(NAME_OF_KIND, it->length - 1) : name_number(NAME_STRING, it->at);
    int64_t duration = it->end - it->start;
    uint32_t parent = track->root;
    bool late = it->start < track->counted;
    while (!late && track->open_count && track->open[track->open_count - 1].end <= it->start)
        track->open_count--;
    for (size_t i = late ? 0 : track->open_count; i-- > 0;)
        if (track->open[i].end >= it->end) {
            parent = track->open[i].node;
            add_self(folded, parent, -duration);
            break;
        }
    uint32_t node = child(folded, parent, name);
    if (!node)
        return;
    add_self(folded, node, duration);
    if (!late) {
        track->counted = it->start;
        (void)push(folded, track, it->end, node);
    }
}

// Counts the earliest half of what waits, or all.
static void count_waiting(struct folded *folded, uint32_t id, bool all) {
    struct folded_track *track = &folded->tracks[id];
    const tsmith_track *entry = tsmith_dictionary_track(folded->dictionary, id);
    size_t count = all ? track->count : (track->count + 1) / 2;
    if (!waiting_sort(track->waiting, track->count, &folded->scratch)) {
        folded->failed = true;
        return;
    }
    if (!track->root) {
        uint32_t process = child(folded, 0, name_number(NAME_PROCESS, entry ? entry->process : 0));
        track->root = process ? child(folded, process, name_number(NAME_TRACK, id)) : 0;
    }
    for (size_t i = 0; i < count && track->root; i++)
        count_slice(folded, track, &track->waiting[i]);
    memmove(track->waiting, track->waiting + count, (track->count - count) * sizeof *track->waiting);
    track->count -= count;
    folded->waiting -= count;
}

// ---- the sink

static struct folded_track *find_track(struct folded *folded, uint32_t id) {
    size_t had = folded->track_capacity;
    void *tracks = folded->tracks;
    if (!array_reserve(&tracks, &folded->track_capacity, (size_t)id + 1, sizeof *folded->tracks))
        return NULL;
    folded->tracks = tracks;
    for (size_t i = had; i < folded->track_capacity; i++)
        folded->tracks[i] = (struct folded_track){.counted = INT64_MIN};
    return &folded->tracks[id];
}

static void add_rows(struct folded *folded, struct folded_track *track, const tsmith_batch *batch) {
    tsmith_column start, duration, name = {0}, kind = {0};
    if (!tsmith_batch_column(batch, TSMITH_FIELD_START, &start) ||
        !tsmith_batch_column(batch, TSMITH_FIELD_DURATION, &duration))
        return; // nothing but instants
    bool named = tsmith_batch_column(batch, TSMITH_FIELD_NAME, &name);
    bool has_kind = tsmith_batch_column(batch, TSMITH_FIELD_KIND, &kind);
    void *waiting = track->waiting;
    if (!array_reserve(&waiting, &track->capacity, track->count + start.count, sizeof *track->waiting)) {
        folded->failed = true;
        return;
    }
    track->waiting = waiting;
    for (uint32_t row = 0; row < start.count; row++) {
        struct waiting it = {.start = ((const int64_t *)start.values)[row]};
        uint32_t kind_number = has_kind ? ((const uint8_t *)kind.values)[row] : 0;
        int64_t lasted = ((const int64_t *)duration.values)[row];
        if (!tsmith_column_has(&duration, row) || lasted < 0 || kind_number == TSMITH_KIND_LOSS ||
            __builtin_add_overflow(it.start, lasted, &it.end))
            continue;
        if (named && tsmith_column_has(&name, row))
            it.at = ((const uint32_t *)name.values)[row];
        else
            it.length = kind_number + 1;
        track->waiting[track->count++] = it;
        folded->waiting++;
    }
}

static tsmith_status write_batch(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                 tsmith_error *error) {
    struct folded *folded = self;
    folded->dictionary = dictionary;
    struct folded_track *track = find_track(folded, tsmith_batch_track(batch));
    if (track)
        add_rows(folded, track, batch);
    while (folded->waiting > WAITING_MAX && track && !folded->failed)
        for (size_t id = 0; id < folded->track_capacity; id++)
            if (folded->tracks[id].count)
                count_waiting(folded, (uint32_t)id, false);
    return folded->failed || !track ? status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory") : TSMITH_OK;
}

// Of a path deeper than DEPTH the outermost names are left out.
static void put_path(struct folded *folded, uint32_t node) {
    enum { DEPTH = 4096 };
    uint32_t path[DEPTH];
    size_t depth = 0;
    for (uint32_t at = node; at && depth < DEPTH; at = folded->nodes[at].parent)
        path[depth++] = at;
    while (depth-- > 0) {
        put_name(folded, folded->nodes[path[depth]].name);
        if (depth)
            output_char(&folded->output, ';');
    }
    put_number(&folded->output, " ", (uint64_t)folded->nodes[node].self);
    output_char(&folded->output, '\n');
}

static tsmith_status finish(void *self, const tsmith_dictionary *dictionary, tsmith_error *error) {
    struct folded *folded = self;
    folded->dictionary = dictionary;
    for (size_t id = 0; id < folded->track_capacity; id++)
        if (folded->tracks[id].count)
            count_waiting(folded, (uint32_t)id, true);
    for (size_t i = 1; i < folded->node_count; i++)
        if (folded->nodes[i].self > 0)
            put_path(folded, (uint32_t)i);
    if (folded->failed)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    return output_finish(&folded->output, error);
}

static void destroy(void *self) {
    struct folded *folded = self;
    if (!folded)
        return;
    for (size_t i = 0; i < folded->track_capacity; i++) {
        free(folded->tracks[i].waiting);
        free(folded->tracks[i].open);
    }
    free(folded->tracks);
    free(folded->nodes);
    free(folded->slots);
    free(folded->scratch.items);
    output_close(&folded->output);
    free(folded);
}

tsmith_status folded_open(const char *path, int fd, const tsmith_export_options *options, tsmith_sink **out,
                          tsmith_error *error) {
    static const tsmith_sink_ops ops = {write_batch, finish, destroy};
    *out = NULL;
    struct folded *folded = calloc(1, sizeof *folded);
    if (!folded)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    tsmith_status status = output_open(&folded->output, path, fd, options, error);
    if (status != TSMITH_OK) {
        free(folded);
        return status;
    }
    if (tsmith_sink_create(&ops, folded, out) == TSMITH_OK)
        return TSMITH_OK;
    destroy(folded);
    return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
}
