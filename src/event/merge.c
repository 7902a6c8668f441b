// SPDX-License-Identifier: Apache-2.0
// Invariants: `map.ids[i]` is the id in `into` of entry i of `from`, for all below `map.count`. A matcher has one
// place per different entry of a table of `into`, with the ids of those equal to it that are not taken yet, in order.
// Entries are compared with their padding cleared. Modules, frames and stacks are what they hold, regardless of which
// process recorded them, and are interned. A frame is named once: where others have named one of `into`, `named` has
// it. More facts about a device become known during a recording, so two entries of it may differ. It is the device
// with the same identity (in older files the attribute device.N.uuid, where N is its id), else one like it.
#include "event/merge.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/table.h"
#include "event/batch.h"

struct map {
    uint32_t *ids;
    size_t capacity;
    uint32_t count;
};

struct place {
    uint32_t sample; // an entry that is like those of this place; 0: empty
    uint32_t head, tail;
};

struct matcher {
    struct place *places;
    size_t place_count; // a power of two, more than half of them empty; 0: nothing can match
    uint32_t *next;     // by id: the next equal one, 0: none
};

// By device, of one dictionary: the identity, as a string's id; 0: none is known.
struct identities {
    uint32_t *texts;
    size_t capacity;
    uint32_t count;           // of `texts` that are filled in
    uint32_t attributes_seen; // those below are in `texts`
};

struct merge {
    tsmith_dictionary *into;
    enum merge_entries entries;
    const tsmith_dictionary *from; // MERGE_USED; what of it is taken
    merge_chooses *chooses;
    void *context;
    uint32_t *way; // from a call path to one that is taken
    size_t way_capacity;
    uint32_t *symbol_of; // by frame of `from`: its first row of names; 0: none
    tsmith_batch *batch;
    struct map string;
#define MEMBERS(name, type)                                                                                  \
    struct map name;                                                                                         \
    struct matcher name##_matcher;
    TSMITH_DICTIONARY_TABLES(MEMBERS)
#undef MEMBERS
    struct identities known, taken_in; // of devices of `into`, before it got any; and of those of `from`
    bool *device_taken;                // by device of `known`
    uint32_t *shared;                  // MERGE_PARTS: devices of `into` that are on the same machine
    size_t shared_count, shared_capacity;
    uint64_t *named; // bit per frame of `into`
    size_t named_capacity;
    uint32_t symbols_seen; // of `into`: those below are in `named`, or this merge's own
};

static bool map_add(struct map *map, uint32_t id) {
    bool room = ARRAY_RESERVE(map->ids, map->capacity, map->count + (size_t)1);
    if (room)
        map->ids[map->count++] = id;
    return room;
}

static uint32_t map_id(const struct map *map, uint32_t id) {
    return id < map->count ? map->ids[id] : 0;
}

// ---- ids of `into`

// Of MERGE_USED, a string is taken when something refers to it.
static uint32_t id_of_string(struct merge *merge, uint32_t id) {
    if (merge->entries != MERGE_USED || id >= merge->string.count || merge->string.ids[id])
        return map_id(&merge->string, id);
    const tsmith_string text = tsmith_dictionary_string(merge->from, id);
    return merge->string.ids[id] = tsmith_dictionary_intern(merge->into, text.bytes, text.length);
}

// ---- entries with the ids of `into`. Without a merge they stay as they are.

#define ID(table, id) (merge ? map_id(&merge->table, id) : (id))
#define TEXT(id) (merge ? id_of_string(merge, id) : (id))

static void translate_process(struct merge *merge, const tsmith_process *from, tsmith_process *to) {
    to->pid = from->pid;
    to->parent_pid = from->parent_pid;
    to->start = from->start;
    to->name = TEXT(from->name);
    to->command_line = TEXT(from->command_line);
    to->host = TEXT(from->host);
}

static void translate_device(struct merge *merge, const tsmith_device *from, tsmith_device *to) {
    to->name = TEXT(from->name);
    to->vendor = TEXT(from->vendor);
    to->driver = TEXT(from->driver);
    to->api = TEXT(from->api);
    to->type = TEXT(from->type);
    to->process = ID(process, from->process);
    to->memory_bytes = from->memory_bytes;
    to->compute_units = from->compute_units;
    to->clock_mhz = from->clock_mhz;
    to->identity = TEXT(from->identity);
    to->number = from->number;
}

static void translate_track(struct merge *merge, const tsmith_track *from, tsmith_track *to) {
    to->kind = from->kind;
    to->flags = from->flags;
    to->name = TEXT(from->name);
    to->process = ID(process, from->process);
    to->device = ID(device, from->device);
    to->parent = ID(track, from->parent);
    to->tid = from->tid;
    to->context = from->context;
    to->queue = from->queue;
}

static void translate_clock(struct merge *merge, const tsmith_clock *from, tsmith_clock *to) {
    to->name = TEXT(from->name);
    to->process = ID(process, from->process);
    to->device = ID(device, from->device);
}

static void translate_clock_pair(struct merge *merge, const tsmith_clock_pair *from, tsmith_clock_pair *to) {
    to->clock = ID(clock, from->clock);
    to->clock_time = from->clock_time;
    to->trace_time = from->trace_time;
    to->error = from->error;
}

static void translate_attribute(struct merge *merge, const tsmith_attribute *from, tsmith_attribute *to) {
    to->key = TEXT(from->key);
    to->value = TEXT(from->value);
}

static void translate_dynamic_field(struct merge *merge, const tsmith_dynamic_field *from,
                                    tsmith_dynamic_field *to) {
    to->name = TEXT(from->name);
    to->unit = TEXT(from->unit);
    to->type = from->type;
}

static void translate_module(struct merge *merge, const tsmith_module *from, tsmith_module *to) {
    to->path = TEXT(from->path);
    to->build_id = TEXT(from->build_id);
    to->process = ID(process, from->process);
    to->flags = from->flags;
}

static void translate_frame(struct merge *merge, const tsmith_frame *from, tsmith_frame *to) {
    to->module = ID(module, from->module);
    to->flags = from->flags;
    to->address = from->address;
    if (from->flags & TSMITH_FRAME_PYTHON)
        to->address = (uint64_t)TEXT((uint32_t)(from->address >> 32)) << 32 | (uint32_t)from->address;
}

static void translate_stack(struct merge *merge, const tsmith_stack *from, tsmith_stack *to) {
    to->parent = ID(stack, from->parent);
    to->frame = ID(frame, from->frame);
}

static void translate_symbol(struct merge *merge, const tsmith_symbol *from, tsmith_symbol *to) {
    to->frame = ID(frame, from->frame);
    to->function = TEXT(from->function);
    to->file = TEXT(from->file);
    to->line = from->line;
}

static void translate_rank(struct merge *merge, const tsmith_rank *from, tsmith_rank *to) {
    *to = *from;
    to->process = ID(process, from->process);
    to->launcher = TEXT(from->launcher);
    to->job = TEXT(from->job);
}

static void translate_part(struct merge *merge, const tsmith_part *from, tsmith_part *to) {
    *to = *from;
    to->name = TEXT(from->name);
    to->host = TEXT(from->host);
    to->first_process = ID(process, from->first_process);
    to->wall_clock = ID(clock, from->wall_clock);
}

// ---- finding equal entries

// An entry of `into` by its id, its padding cleared.
typedef void read_entry(const tsmith_dictionary *dictionary, uint32_t id, void *out);

static struct place *find_place(const struct matcher *matcher, const tsmith_dictionary *into,
                                read_entry *read, const void *entry, size_t size) {
    uint64_t other[16]; // any entry
    return TABLE_SLOT(matcher->places, matcher->place_count, hash_bytes(entry, size), place,
                      !place->sample || (read(into, place->sample, other), memcmp(other, entry, size) == 0));
}

static bool matcher_fill(struct matcher *matcher, const tsmith_dictionary *into, uint32_t count,
                         read_entry *read, size_t size) {
    uint64_t entry[16];
    const size_t places = table_capacity(count);
    matcher->places = calloc(places, sizeof *matcher->places);
    matcher->next = calloc(count, sizeof *matcher->next);
    if (!matcher->places || !matcher->next)
        return false;
    matcher->place_count = places;
    for (uint32_t id = 1; id < count; id++) {
        read(into, id, entry);
        struct place *place = find_place(matcher, into, read, entry, size);
        if (place->sample)
            matcher->next[place->tail] = id;
        else
            place->sample = place->head = id;
        place->tail = id;
    }
    return true;
}

// Takes the first entry like this one that was not taken yet; 0: there is none.
static uint32_t matcher_take(struct matcher *matcher, const tsmith_dictionary *into, read_entry *read,
                             const void *entry, size_t size) {
    if (matcher->place_count == 0)
        return 0;
    struct place *place = find_place(matcher, into, read, entry, size);
    uint32_t id = place->head;
    if (id)
        place->head = matcher->next[id];
    return id;
}

static void matcher_finish(struct matcher *matcher) {
    free(matcher->places);
    free(matcher->next);
}

static bool is_chosen(const struct merge *merge, enum merge_table table, uint32_t id) {
    return merge->entries != MERGE_USED || merge->chooses(merge->context, table, id);
}

#define DEFINE_READ(name, type)                                                                              \
    static void read_##name(const tsmith_dictionary *dictionary, uint32_t id, void *out) {                   \
        memset(out, 0, sizeof(type));                                                                        \
        translate_##name(NULL, tsmith_dictionary_##name(dictionary, id), out);                               \
    }                                                                                                        \
    _Static_assert(sizeof(type) <= 16 * sizeof(uint64_t), "fits find_place");
#define DEFINE_FILL(name, type)                                                                              \
    static bool fill_##name(struct merge *merge) {                                                           \
        return matcher_fill(&merge->name##_matcher, merge->into,                                             \
                            tsmith_dictionary_##name##_count(merge->into), read_##name, sizeof(type));       \
    }                                                                                                        \
    static uint32_t match_##name(struct merge *merge, const type *entry) {                                   \
        uint32_t id = matcher_take(&merge->name##_matcher, merge->into, read_##name, entry, sizeof *entry);  \
        return id ? id : tsmith_dictionary_add_##name(merge->into, entry);                                   \
    }
#define DEFINE_TAKE(name, type)                                                                              \
    static bool take_##name(struct merge *merge, const tsmith_dictionary *from) {                            \
        bool done = merge->name.count > 0 || map_add(&merge->name, 0);                                       \
        while (done && merge->name.count < tsmith_dictionary_##name##_count(from)) {                         \
            const uint32_t id = merge->name.count;                                                           \
            type entry;                                                                                      \
            if (!is_chosen(merge, MERGE_TABLE_##name, id)) {                                                 \
                done = map_add(&merge->name, 0);                                                             \
                continue;                                                                                    \
            }                                                                                                \
            memset(&entry, 0, sizeof entry);                                                                 \
            translate_##name(merge, tsmith_dictionary_##name(from, id), &entry);                             \
            done = map_add(&merge->name, place_##name(merge, &entry));                                       \
        }                                                                                                    \
        return done;                                                                                         \
    }
#define MATCHED(X)                                                                                           \
    X(process, tsmith_process)                                                                               \
    X(track, tsmith_track)                                                                                   \
    X(clock, tsmith_clock)                                                                                   \
    X(clock_pair, tsmith_clock_pair)                                                                         \
    X(attribute, tsmith_attribute)                                                                           \
    X(dynamic_field, tsmith_dynamic_field)                                                                   \
    X(rank, tsmith_rank)                                                                                     \
    X(part, tsmith_part)
MATCHED(DEFINE_READ)
MATCHED(DEFINE_FILL)

#define PLACE_MATCHED(X)                                                                                     \
    X(clock, tsmith_clock)                                                                                   \
    X(clock_pair, tsmith_clock_pair)                                                                         \
    X(dynamic_field, tsmith_dynamic_field)                                                                   \
    X(part, tsmith_part)
#define DEFINE_PLACE(name, type)                                                                             \
    static uint32_t place_##name(struct merge *merge, const type *entry) {                                   \
        return match_##name(merge, entry);                                                                   \
    }
PLACE_MATCHED(DEFINE_PLACE)

static uint32_t place_rank(struct merge *merge, const tsmith_rank *entry) {
    return merge->entries == MERGE_PARTS ? 0 : match_rank(merge, entry);
}

static uint32_t place_process(struct merge *merge, const tsmith_process *entry) {
    uint32_t id = merge->entries == MERGE_SAME_PROCESSES ? tsmith_dictionary_process_count(merge->into) : 0;
    while (id > 1)
        if (tsmith_dictionary_process(merge->into, --id)->pid == entry->pid)
            return id;
    return match_process(merge, entry);
}

static uint32_t place_track(struct merge *merge, const tsmith_track *entry) {
    const bool same =
        merge->entries == MERGE_SAME_PROCESSES && entry->kind == TSMITH_TRACK_THREAD && entry->tid;
    uint32_t id = same ? tsmith_dictionary_track_count(merge->into) : 0;
    while (id > 1) {
        const tsmith_track *track = tsmith_dictionary_track(merge->into, --id);
        // A thread's number is the machine's, so a process that is not known does not matter.
        if (track->kind == TSMITH_TRACK_THREAD && track->tid == entry->tid &&
            (track->process == entry->process || !entry->process))
            return id;
    }
    return match_track(merge, entry);
}

// ---- devices

// The N of "device.N.uuid"; 0: the attribute is another.
static uint32_t identified_device(const tsmith_dictionary *dictionary, uint32_t key) {
    static const char before[] = "device.", after[] = ".uuid";
    enum { AROUND = sizeof before - 1 + sizeof after - 1 };
    const tsmith_string text = tsmith_dictionary_string(dictionary, key);
    char number[12] = "", *end;
    if (text.length <= AROUND || text.length - AROUND >= sizeof number ||
        memcmp(text.bytes, before, sizeof before - 1) != 0 ||
        memcmp(text.bytes + text.length - (sizeof after - 1), after, sizeof after - 1) != 0)
        return 0;
    memcpy(number, text.bytes + sizeof before - 1, text.length - AROUND);
    const unsigned long long device = strtoull(number, &end, 10); // long has 32 bits on Windows
    return *end || device > UINT32_MAX ? 0 : (uint32_t)device;
}

static bool note_identities(struct identities *identities, const tsmith_dictionary *dictionary) {
    const uint32_t devices = tsmith_dictionary_device_count(dictionary);
    if (!ARRAY_RESERVE(identities->texts, identities->capacity, devices))
        return false;
    for (; identities->count < devices; identities->count++)
        identities->texts[identities->count] = 0;
    for (uint32_t id = 1; id < devices; id++)
        if (tsmith_dictionary_device(dictionary, id)->identity)
            identities->texts[id] = tsmith_dictionary_device(dictionary, id)->identity;
    for (; identities->attributes_seen < tsmith_dictionary_attribute_count(dictionary);
         identities->attributes_seen++) {
        if (identities->attributes_seen == 0)
            continue;
        const tsmith_attribute *entry = tsmith_dictionary_attribute(dictionary, identities->attributes_seen);
        const uint32_t device = identified_device(dictionary, entry->key);
        if (device && device < devices)
            identities->texts[device] = entry->value;
    }
    return true;
}

// Whether one may be a device of which less was known.
static bool may_be(const tsmith_device *known, const tsmith_device *entry, bool exactly) {
#define SAME(member) (known->member == entry->member || (!exactly && !known->member))
    return known->process == entry->process && SAME(name) && SAME(vendor) && SAME(driver) && SAME(api) &&
           SAME(type) && SAME(memory_bytes) && SAME(compute_units) && SAME(clock_mhz);
#undef SAME
}

static uint32_t find_device(const struct merge *merge, const tsmith_device *entry, uint32_t identity,
                            bool exactly) {
    for (uint32_t id = 1; id < merge->known.count; id++) {
        const uint32_t other = merge->known.texts[id];
        if (!merge->device_taken[id] && !(other && (identity || !exactly)) &&
            may_be(tsmith_dictionary_device(merge->into, id), entry, exactly))
            return id;
    }
    return 0;
}

static uint32_t find_identity(const struct merge *merge, uint32_t identity) {
    for (uint32_t id = 1; identity && id < merge->known.count; id++)
        if (merge->known.texts[id] == identity)
            return id;
    return 0;
}

bool merge_share_device(struct merge *merge, uint32_t device) {
    uint32_t *place = ARRAY_PUSH(merge->shared, merge->shared_count, merge->shared_capacity);
    if (place)
        *place = device;
    return place;
}

static uint32_t find_shared(const struct merge *merge, const tsmith_device *entry) {
    for (size_t i = 0; entry->identity && i < merge->shared_count; i++) {
        const tsmith_device *other = tsmith_dictionary_device(merge->into, merge->shared[i]);
        if (other->identity == entry->identity && other->api == entry->api)
            return merge->shared[i];
    }
    return 0;
}

static uint32_t place_device(struct merge *merge, const tsmith_device *entry) {
    const uint32_t shared = find_shared(merge, entry);
    if (shared)
        tsmith_dictionary_complete_device(merge->into, shared, entry);
    if (merge->entries != MERGE_EQUAL)
        return shared ? shared : tsmith_dictionary_add_device(merge->into, entry);
    const uint32_t of = merge->device.count; // the entry's own id
    const uint32_t identity =
        of < merge->taken_in.count ? map_id(&merge->string, merge->taken_in.texts[of]) : 0;
    uint32_t id = find_identity(merge, identity);
    for (int exactly = 1; !id && exactly >= 0; exactly--)
        id = find_device(merge, entry, identity, exactly != 0);
    if (!id)
        return tsmith_dictionary_add_device(merge->into, entry);
    merge->device_taken[id] = true;
    return id;
}

static bool know_devices(struct merge *merge) {
    if (!note_identities(&merge->known, merge->into))
        return false;
    merge->device_taken = calloc(merge->known.count + (size_t)1, sizeof *merge->device_taken);
    return merge->device_taken != NULL;
}

// What `from` knows by now of devices that were taken in before.
static void complete_devices(struct merge *merge, const tsmith_dictionary *from) {
    for (uint32_t id = 1; merge->entries == MERGE_EQUAL && id < merge->device.count; id++) {
        tsmith_device entry = {0};
        translate_device(merge, tsmith_dictionary_device(from, id), &entry);
        tsmith_dictionary_complete_device(merge->into, map_id(&merge->device, id), &entry);
    }
}

static uint32_t place_attribute(struct merge *merge, tsmith_attribute *entry) {
    char key[32];
    // Of another source of a recording, the sampler's figures: all other attributes are the recording's.
    if (merge->entries == MERGE_SAME_PROCESSES &&
        strncmp(tsmith_dictionary_string(merge->into, entry->key).bytes, "sampler.", 8) != 0)
        return 0;
    // A device may have another number there.
    const uint32_t known = identified_device(merge->into, entry->key), device = map_id(&merge->device, known);
    // Of a device that was not taken: its number is another device's here.
    if (known && !device && merge->entries != MERGE_EQUAL)
        return 0;
    if (device) {
        snprintf(key, sizeof key, "device.%u.uuid", device);
        entry->key = tsmith_dictionary_intern_cstr(merge->into, key);
    }
    return merge->entries == MERGE_PARTS && !device ? 0 : match_attribute(merge, entry);
}

static uint32_t place_module(struct merge *merge, const tsmith_module *entry) {
    return tsmith_dictionary_intern_module(merge->into, entry);
}

static uint32_t place_frame(struct merge *merge, const tsmith_frame *entry) {
    return tsmith_dictionary_intern_frame(merge->into, entry);
}

static uint32_t place_stack(struct merge *merge, const tsmith_stack *entry) {
    return tsmith_dictionary_intern_stack(merge->into, entry);
}

static bool note_named(struct merge *merge) {
    for (; merge->symbols_seen < tsmith_dictionary_symbol_count(merge->into); merge->symbols_seen++) {
        if (merge->symbols_seen == 0)
            continue;
        uint32_t frame = tsmith_dictionary_symbol(merge->into, merge->symbols_seen)->frame;
        if (frame >= tsmith_dictionary_frame_count(merge->into))
            continue;
        size_t before = merge->named_capacity;
        if (!ARRAY_RESERVE(merge->named, merge->named_capacity, frame / 64 + (size_t)1))
            return false;
        memset(merge->named + before, 0, (merge->named_capacity - before) * sizeof *merge->named);
        merge->named[frame / 64] |= UINT64_C(1) << frame % 64;
    }
    return true;
}

static uint32_t place_symbol(struct merge *merge, const tsmith_symbol *entry) {
    if (!note_named(merge))
        return 0;
    if (entry->frame / 64 < merge->named_capacity && merge->named[entry->frame / 64] >> entry->frame % 64 & 1)
        return 0;
    uint32_t id = tsmith_dictionary_add_symbol(merge->into, entry);
    merge->symbols_seen += id != 0;
    return id;
}

TSMITH_DICTIONARY_TABLES(DEFINE_TAKE)

// ---- only what is used

static void use_module(struct merge *merge, uint32_t id) {
    tsmith_module module = {0};
    if (id == 0 || id >= merge->module.count || merge->module.ids[id])
        return;
    translate_module(merge, tsmith_dictionary_module(merge->from, id), &module);
    merge->module.ids[id] = place_module(merge, &module);
}

// Takes a code location and its names, which follow each other.
static uint32_t use_frame(struct merge *merge, uint32_t id) {
    const uint32_t before = tsmith_dictionary_frame_count(merge->into);
    if (id == 0 || id >= merge->frame.count || merge->frame.ids[id])
        return map_id(&merge->frame, id);
    tsmith_frame frame = {0};
    use_module(merge, tsmith_dictionary_frame(merge->from, id)->module);
    translate_frame(merge, tsmith_dictionary_frame(merge->from, id), &frame);
    merge->frame.ids[id] = place_frame(merge, &frame);
    const bool is_new = tsmith_dictionary_frame_count(merge->into) > before;
    for (uint32_t at = merge->symbol_of[id]; is_new && at; at++) {
        const tsmith_symbol *from = tsmith_dictionary_symbol(merge->from, at);
        tsmith_symbol symbol = {0};
        if (!from || from->frame != id)
            break;
        translate_symbol(merge, from, &symbol);
        (void)tsmith_dictionary_add_symbol(merge->into, &symbol); // a failure is noticed by use_values
    }
    return merge->frame.ids[id];
}

// Takes a call path and those that it continues. A path has a greater id than the one that it continues.
static bool use_stack(struct merge *merge, uint32_t id) {
    size_t length = 0;
    while (id && id < merge->stack.count && !merge->stack.ids[id]) {
        uint32_t *place = ARRAY_PUSH(merge->way, length, merge->way_capacity);
        if (!place)
            return false;
        *place = id;
        id = tsmith_dictionary_stack(merge->from, id)->parent;
    }
    while (length > 0) {
        const uint32_t inner = merge->way[--length];
        const tsmith_stack *from = tsmith_dictionary_stack(merge->from, inner);
        const tsmith_stack stack = {.parent = map_id(&merge->stack, from->parent),
                                    .frame = use_frame(merge, from->frame)};
        merge->stack.ids[inner] = place_stack(merge, &stack);
    }
    return true;
}

static bool is_stack(const tsmith_column *column) {
    return (column->field == TSMITH_FIELD_STACK || column->field == TSMITH_FIELD_WAKER_STACK) &&
           column->type == TSMITH_TYPE_U32;
}

// What the rows of a batch refer to.
static bool use_values(struct merge *merge, const tsmith_batch *batch) {
    bool done = true;
    for (uint32_t i = 0; i < tsmith_batch_column_count(batch); i++) {
        const tsmith_column column = tsmith_batch_column_at(batch, i);
        const uint32_t *values = column.values;
        const bool is_string = column.type == TSMITH_TYPE_STRING;
        if (!is_string && !is_stack(&column))
            continue;
        for (uint32_t row = 0; done && row < column.count; row++)
            if (is_string && tsmith_column_has(&column, row))
                (void)id_of_string(merge, values[row]);
            else if (tsmith_column_has(&column, row))
                done = use_stack(merge, values[row]);
    }
    return done && !tsmith_dictionary_failed(merge->into);
}

// Nothing of a table is taken yet.
static bool map_clear(struct map *map, uint32_t count) {
    if (!ARRAY_RESERVE(map->ids, map->capacity, count))
        return false;
    memset(map->ids, 0, count * sizeof *map->ids);
    map->count = count;
    return true;
}

bool merge_choose(struct merge *merge, const tsmith_dictionary *from, merge_chooses *chooses, void *context) {
    const uint32_t frames = tsmith_dictionary_frame_count(from);
    merge->from = from;
    merge->chooses = chooses;
    merge->context = context;
    merge->symbol_of = calloc(frames, sizeof *merge->symbol_of);
    for (uint32_t id = tsmith_dictionary_symbol_count(from); merge->symbol_of && --id > 0;) {
        const uint32_t frame = tsmith_dictionary_symbol(from, id)->frame;
        if (frame < frames)
            merge->symbol_of[frame] = id;
    }
    return merge->symbol_of && map_clear(&merge->string, tsmith_dictionary_string_count(from)) &&
           map_clear(&merge->module, tsmith_dictionary_module_count(from)) &&
           map_clear(&merge->frame, frames) &&
           map_clear(&merge->stack, tsmith_dictionary_stack_count(from)) &&
           map_clear(&merge->symbol, tsmith_dictionary_symbol_count(from));
}

// ---- life

struct merge *merge_create(tsmith_dictionary *into, enum merge_entries entries) {
    struct merge *merge = calloc(1, sizeof *merge);
    if (!merge)
        return NULL;
    merge->into = into;
    merge->entries = entries;
    bool done = tsmith_batch_create(&merge->batch) == TSMITH_OK && fill_dynamic_field(merge);
    if (entries == MERGE_EQUAL)
        done = done && fill_process(merge) && know_devices(merge) && fill_track(merge) && fill_clock(merge) &&
               fill_clock_pair(merge) && fill_attribute(merge) && fill_rank(merge) && fill_part(merge);
    if (done)
        return merge;
    merge_destroy(merge);
    return NULL;
}

void merge_destroy(struct merge *merge) {
    if (!merge)
        return;
    tsmith_batch_destroy(merge->batch);
    free(merge->string.ids);
#define FREE(name, type)                                                                                     \
    free(merge->name.ids);                                                                                   \
    matcher_finish(&merge->name##_matcher);
    TSMITH_DICTIONARY_TABLES(FREE)
#undef FREE
    free(merge->known.texts);
    free(merge->taken_in.texts);
    free(merge->device_taken);
    free(merge->shared);
    free(merge->named);
    free(merge->symbol_of);
    free(merge->way);
    free(merge);
}

tsmith_status merge_take(struct merge *merge, const tsmith_dictionary *from) {
    bool done = true;
    while (done && merge->string.count < tsmith_dictionary_string_count(from)) {
        tsmith_string text = tsmith_dictionary_string(from, merge->string.count);
        done = map_add(&merge->string, tsmith_dictionary_intern(merge->into, text.bytes, text.length));
    }
    // In the order in which they refer to each other.
    done = done && note_identities(&merge->taken_in, from) && take_process(merge, from) &&
           take_device(merge, from) && take_track(merge, from) && take_clock(merge, from) &&
           take_clock_pair(merge, from) && take_attribute(merge, from) && take_dynamic_field(merge, from) &&
           take_module(merge, from) && take_frame(merge, from) && take_stack(merge, from) &&
           take_symbol(merge, from) && take_rank(merge, from) && take_part(merge, from);
    complete_devices(merge, from);
    return done && !tsmith_dictionary_failed(merge->into) ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
}

// ---- batches

static bool copy_list(tsmith_batch *batch, uint32_t field, const tsmith_column *column, uint64_t **valid) {
    uint32_t *offsets;
    uint32_t first = column->offsets[0], total = column->offsets[column->count] - first;
    uint64_t *values = batch_add_list_column(batch, field, total, &offsets, valid);
    if (!values)
        return false;
    memcpy(values, (const uint64_t *)column->values + first, total * sizeof *values);
    for (uint32_t row = 0; row <= column->count; row++)
        offsets[row] = column->offsets[row] - first;
    return true;
}

static bool copy_column(struct merge *merge, const tsmith_column *column) {
    uint64_t *bits = NULL, **valid = column->valid ? &bits : NULL;
    uint32_t field = column->field;
    if (field > TSMITH_FIELD_DYNAMIC) {
        uint32_t id = map_id(&merge->dynamic_field, field - TSMITH_FIELD_DYNAMIC);
        if (id == 0)
            return true; // a field that the dictionary does not describe means nothing
        field = TSMITH_FIELD_DYNAMIC + id;
    }
    if (column->type == TSMITH_TYPE_LIST) {
        if (!copy_list(merge->batch, field, column, valid))
            return false;
    } else {
        void *values = batch_add_column(merge->batch, field, column->type, valid);
        if (!values)
            return false;
        const struct map *map = column->type == TSMITH_TYPE_STRING  ? &merge->string
                                : column->type == TSMITH_TYPE_TRACK ? &merge->track
                                : is_stack(column)                  ? &merge->stack
                                                                    : NULL;
        memcpy(values, column->values, (size_t)column->count * tsmith_type_size(column->type));
        for (uint32_t row = 0; map && row < column->count; row++)
            ((uint32_t *)values)[row] = map_id(map, ((uint32_t *)values)[row]);
    }
    if (bits)
        memcpy(bits, column->valid, batch_bitmap_words(column->count) * sizeof *bits);
    return true;
}

tsmith_status merge_batch(struct merge *merge, const tsmith_batch *batch, const tsmith_batch **out) {
    if (merge->entries == MERGE_USED && !use_values(merge, batch))
        return TSMITH_ERROR_NO_MEMORY;
    tsmith_status status = batch_begin_columns(merge->batch, map_id(&merge->track, tsmith_batch_track(batch)),
                                               tsmith_batch_count(batch));
    for (uint32_t i = 0; status == TSMITH_OK && i < tsmith_batch_column_count(batch); i++) {
        tsmith_column column = tsmith_batch_column_at(batch, i);
        if (!copy_column(merge, &column))
            status = TSMITH_ERROR_NO_MEMORY;
    }
    batch_set_bounds(merge->batch, tsmith_batch_first_start(batch), tsmith_batch_last_end(batch));
    *out = merge->batch;
    return status;
}
