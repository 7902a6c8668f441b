// SPDX-License-Identifier: Apache-2.0
// Invariants: entry 0 of every table exists and is all zero ("unknown"); the hash table holds ids of strings that
// were interned, at most half full, with a power of two of slots; bytes never move (arena), entries may (arrays),
// so getters of entries return pointers into chunks, which do not move. A stack's parent is before it, so that
// following parents ends. The index of a table that is interned has all its rows below `seen`: the others are
// entered at the next intern call, so that readers do not pay for it. Of stacks it has only those that are not
// their parent's first: most paths continue without a branch and are found and created row after row without the
// index.
#include "event/dictionary.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/table.h"
#include "event/labels.h"

enum { CHUNK_ENTRIES = 256 };

// A table of entries of one size: chunks that never move, so that a pointer handed out stays good.
struct rows {
    unsigned char **chunks;
    size_t chunk_capacity;
    uint32_t count;
};

// The rows of a table by what they hold.
struct index {
    uint32_t *slots; // ids, 0: empty; a power of two, at most half of them used
    uint32_t slot_count, used, seen;
};

// An interned string; id 0: empty. The stored hash avoids comparing strings that only share the slot.
struct string_slot {
    uint32_t id, hash;
};

// A row that continues another: its content is stored here, so that the row itself need not be read. id 0: none does.
struct child {
    uint32_t id, frame;
};

struct tsmith_dictionary {
    struct arena arena;
    tsmith_string *strings;
    size_t string_capacity;
    uint32_t string_count;
    struct string_slot *slots;
    uint32_t slot_count, slots_used;
    bool failed;
#define TABLE(name, type) struct rows name##_table;
    TSMITH_DICTIONARY_TABLES(TABLE)
#undef TABLE
    struct index module_index, frame_index, stack_index;
    struct child *first_child; // by stack, for the rows below stack_index.seen
    size_t first_child_capacity;
    struct labels *labels; // counted when they are asked for, also of a dictionary that is only read
};

static void *rows_at(const struct rows *table, uint32_t id, size_t size) {
    return table->chunks[id / CHUNK_ENTRIES] + (id % CHUNK_ENTRIES) * size;
}

// The id of the copy of `entry`, UINT32_MAX when memory or ids are exhausted.
static inline uint32_t rows_add(struct rows *table, struct arena *arena, const void *entry, size_t size) {
    if (table->count == UINT32_MAX)
        return UINT32_MAX;
    size_t chunk = table->count / CHUNK_ENTRIES;
    if (table->count % CHUNK_ENTRIES == 0) {
        if (!ARRAY_RESERVE(table->chunks, table->chunk_capacity, chunk + 1))
            return UINT32_MAX;
        table->chunks[chunk] = arena_take(arena, size * CHUNK_ENTRIES, sizeof(uint64_t));
        if (!table->chunks[chunk])
            return UINT32_MAX;
    }
    memcpy(rows_at(table, table->count, size), entry, size);
    return table->count++;
}

static uint32_t add_string(tsmith_dictionary *dictionary, const char *bytes, size_t length) {
    if (dictionary->string_count == UINT32_MAX ||
        !ARRAY_RESERVE(dictionary->strings, dictionary->string_capacity,
                       dictionary->string_count + (size_t)1))
        return UINT32_MAX;
    char *copy = arena_copy(&dictionary->arena, bytes, length);
    if (!copy)
        return UINT32_MAX;
    dictionary->strings[dictionary->string_count] = (tsmith_string){copy, length};
    return dictionary->string_count++;
}

tsmith_status tsmith_dictionary_create(tsmith_dictionary **out) {
    *out = NULL;
    tsmith_dictionary *made = calloc(1, sizeof *made);
    if (!made)
        return TSMITH_ERROR_NO_MEMORY;
    made->labels = calloc(1, sizeof *made->labels);
    bool ok = made->labels && add_string(made, "", 0) == 0;
#define UNKNOWN(name, type)                                                                                  \
    ok = ok && rows_add(&made->name##_table, &made->arena, &(type){0}, sizeof(type)) == 0;
    TSMITH_DICTIONARY_TABLES(UNKNOWN)
#undef UNKNOWN
    if (!ok) {
        tsmith_dictionary_destroy(made);
        return TSMITH_ERROR_NO_MEMORY;
    }
    *out = made;
    return TSMITH_OK;
}

void tsmith_dictionary_destroy(tsmith_dictionary *dictionary) {
    if (!dictionary)
        return;
    arena_finish(&dictionary->arena);
#define FREE(name, type) free(dictionary->name##_table.chunks);
    TSMITH_DICTIONARY_TABLES(FREE)
#undef FREE
    free(dictionary->module_index.slots);
    free(dictionary->frame_index.slots);
    free(dictionary->stack_index.slots);
    free(dictionary->first_child);
    if (dictionary->labels)
        labels_finish(dictionary->labels);
    free(dictionary->labels);
    free(dictionary->strings);
    free(dictionary->slots);
    free(dictionary);
}

// ---- strings

static bool same_string(tsmith_string string, const char *bytes, size_t length) {
    return string.length == length && memcmp(string.bytes, bytes, length) == 0;
}

// The slot that holds these bytes, or the empty one where they belong, which then has their hash.
static struct string_slot *find_slot(const tsmith_dictionary *dictionary, const char *bytes, size_t length) {
    uint32_t hash = (uint32_t)hash_bytes(bytes, length);
    struct string_slot *found = TABLE_SLOT(
        dictionary->slots, dictionary->slot_count, hash, slot,
        !slot->id || (slot->hash == hash && same_string(dictionary->strings[slot->id], bytes, length)));
    found->hash = hash;
    return found;
}

static bool make_slot_room(tsmith_dictionary *dictionary) {
    return TABLE_ROOM(dictionary->slots, dictionary->slot_count, dictionary->slots_used, 256, slot, slot->id,
                      slot->hash);
}

uint32_t tsmith_dictionary_intern(tsmith_dictionary *dictionary, const char *bytes, size_t length) {
    if (length == 0)
        return 0;
    if (!make_slot_room(dictionary)) {
        dictionary->failed = true;
        return 0;
    }
    struct string_slot *slot = find_slot(dictionary, bytes, length);
    if (slot->id)
        return slot->id;
    uint32_t id = add_string(dictionary, bytes, length);
    if (id == UINT32_MAX) {
        dictionary->failed = true;
        return 0;
    }
    slot->id = id;
    dictionary->slots_used++;
    return id;
}

uint32_t tsmith_dictionary_intern_cstr(tsmith_dictionary *dictionary, const char *text) {
    return text ? tsmith_dictionary_intern(dictionary, text, strlen(text)) : 0;
}

uint32_t tsmith_dictionary_append_string(tsmith_dictionary *dictionary, const char *bytes, size_t length) {
    uint32_t id = make_slot_room(dictionary) ? add_string(dictionary, bytes, length) : UINT32_MAX;
    if (id == UINT32_MAX) {
        dictionary->failed = true;
        return 0;
    }
    struct string_slot *slot = find_slot(dictionary, bytes, length);
    if (length && !slot->id) {
        slot->id = id;
        dictionary->slots_used++;
    }
    return id;
}

tsmith_string tsmith_dictionary_string(const tsmith_dictionary *dictionary, uint32_t id) {
    return dictionary->strings[id < dictionary->string_count ? id : 0];
}

uint32_t tsmith_dictionary_string_count(const tsmith_dictionary *dictionary) {
    return dictionary->string_count;
}

int tsmith_dictionary_failed(const tsmith_dictionary *dictionary) {
    return dictionary->failed;
}

// ---- the other tables

static bool refers_back(const tsmith_stack *stack, const struct rows *table) {
    return !stack || stack->parent < table->count;
}

#define DEFINE(name, type)                                                                                     \
    uint32_t tsmith_dictionary_add_##name(tsmith_dictionary *dictionary, const type *entry) {                  \
        if (!refers_back(_Generic(entry, const tsmith_stack *: entry, default: NULL),                        \
                         &dictionary->name##_table)) \
            return 0;                                                                                          \
        uint32_t id = rows_add(&dictionary->name##_table, &dictionary->arena, entry, sizeof *entry);           \
        if (id != UINT32_MAX)                                                                                  \
            return id;                                                                                         \
        dictionary->failed = true;                                                                             \
        return 0;                                                                                              \
    }                                                                                                          \
    const type *tsmith_dictionary_##name(const tsmith_dictionary *dictionary, uint32_t id) {                   \
        const struct rows *table = &dictionary->name##_table;                                                  \
        return id && id < table->count ? rows_at(table, id, sizeof(type)) : NULL;                              \
    }                                                                                                          \
    uint32_t tsmith_dictionary_##name##_count(const tsmith_dictionary *dictionary) {                           \
        return dictionary->name##_table.count;                                                                 \
    }
TSMITH_DICTIONARY_TABLES(DEFINE)
#undef DEFINE

// ---- tables that are interned

// Rows are one or two words, and there are millions of them.
static uint32_t hash_row(const void *entry, size_t size) {
    uint64_t hash = bytes_get_u64(entry) * UINT64_C(0x9e3779b97f4a7c15);
    if (size > sizeof hash)
        hash = (hash ^ hash >> 29 ^ bytes_get_u64((const char *)entry + sizeof hash)) *
               UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(hash >> 32);
}

static bool same_row(const void *a, const void *b, size_t size) {
    return bytes_get_u64(a) == bytes_get_u64(b) &&
           (size == sizeof(uint64_t) ||
            bytes_get_u64((const char *)a + 8) == bytes_get_u64((const char *)b + 8));
}

// The slot of the row that holds this, or the empty one where it belongs.
static inline uint32_t *find_row(const struct index *index, const struct rows *table, const void *entry,
                                 size_t size) {
    return TABLE_SLOT(index->slots, index->slot_count, hash_row(entry, size), slot,
                      !*slot || same_row(rows_at(table, *slot, size), entry, size));
}

static bool make_room(struct index *index, const struct rows *table, size_t size) {
    return TABLE_ROOM(index->slots, index->slot_count, index->used, 256, slot, *slot,
                      hash_row(rows_at(table, *slot, size), size));
}

// Enters the rows that are new, and leaves room for one more.
static bool catch_up(struct index *index, const struct rows *table, size_t size) {
    for (index->seen = index->seen ? index->seen : 1;; index->seen++) {
        if (!make_room(index, table, size))
            return false;
        if (index->seen >= table->count)
            return true;
        uint32_t *slot = find_row(index, table, rows_at(table, index->seen, size), size);
        if (!*slot) {
            *slot = index->seen;
            index->used++;
        }
    }
}

// These types have no padding, so that equal rows are equal words.
_Static_assert(sizeof(tsmith_module) == 16 && sizeof(tsmith_frame) == 16 && sizeof(tsmith_stack) == 8, "");
#define INTERN(name)                                                                                         \
    uint32_t tsmith_dictionary_intern_##name(tsmith_dictionary *dictionary, const tsmith_##name *entry) {    \
        struct index *index = &dictionary->name##_index;                                                     \
        if (!catch_up(index, &dictionary->name##_table, sizeof *entry)) {                                    \
            dictionary->failed = true;                                                                       \
            return 0;                                                                                        \
        }                                                                                                    \
        uint32_t *slot = find_row(index, &dictionary->name##_table, entry, sizeof *entry);                   \
        if (*slot)                                                                                           \
            return *slot;                                                                                    \
        *slot = tsmith_dictionary_add_##name(dictionary, entry);                                             \
        index->used += *slot != 0;                                                                           \
        index->seen += *slot != 0;                                                                           \
        return *slot;                                                                                        \
    }
INTERN(module)
INTERN(frame)
#undef INTERN

static const tsmith_stack *stack_at(const tsmith_dictionary *dictionary, uint32_t id) {
    return rows_at(&dictionary->stack_table, id, sizeof(tsmith_stack));
}

// Where the id of a row that holds this is or belongs. NULL: memory is exhausted.
static uint32_t *place_stack(tsmith_dictionary *dictionary, const tsmith_stack *entry) {
    struct index *index = &dictionary->stack_index;
    struct child *first = &dictionary->first_child[entry->parent];
    if (!first->id || first->frame == entry->frame)
        return &first->id;
    return make_room(index, &dictionary->stack_table, sizeof *entry)
               ? find_row(index, &dictionary->stack_table, entry, sizeof *entry)
               : NULL;
}

// Puts the row `id` into its place.
static void enter_stack(tsmith_dictionary *dictionary, uint32_t *place, uint32_t id,
                        const tsmith_stack *entry) {
    struct child *first = &dictionary->first_child[entry->parent];
    *place = id;
    if (place == &first->id)
        first->frame = entry->frame;
    else
        dictionary->stack_index.used++;
    dictionary->stack_index.seen++;
}

// Room for the children of all rows, and of `more` further ones.
static bool make_children_room(tsmith_dictionary *dictionary, size_t more) {
    size_t had = dictionary->first_child_capacity, needed = dictionary->stack_table.count + more;
    if (needed <= had)
        return true;
    bool room = ARRAY_RESERVE(dictionary->first_child, dictionary->first_child_capacity, needed);
    if (room)
        memset(dictionary->first_child + had, 0,
               (dictionary->first_child_capacity - had) * sizeof *dictionary->first_child);
    return room;
}

static bool catch_up_stacks(tsmith_dictionary *dictionary) {
    struct index *index = &dictionary->stack_index;
    index->seen = index->seen ? index->seen : 1;
    while (index->seen < dictionary->stack_table.count) {
        const tsmith_stack *row = stack_at(dictionary, index->seen);
        uint32_t *place = place_stack(dictionary, row);
        if (!place)
            return false;
        if (*place)
            index->seen++; // there already
        else
            enter_stack(dictionary, place, index->seen, row);
    }
    return true;
}

// The rows of a path whose first row goes to `place`: no row continues a new row, so no lookup is
// needed.
static uint32_t add_path(tsmith_dictionary *dictionary, uint32_t *place, uint32_t parent,
                         const uint32_t *frames, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const tsmith_stack entry = {parent, frames[i]};
        uint32_t id = rows_add(&dictionary->stack_table, &dictionary->arena, &entry, sizeof entry);
        if (id == UINT32_MAX)
            return 0;
        enter_stack(dictionary, i ? &dictionary->first_child[parent].id : place, id, &entry);
        parent = id;
    }
    return parent;
}

uint32_t tsmith_dictionary_intern_path(tsmith_dictionary *dictionary, uint32_t parent, const uint32_t *frames,
                                       size_t count) {
    if (parent >= dictionary->stack_table.count)
        return 0;
    bool room = make_children_room(dictionary, count) && catch_up_stacks(dictionary);
    for (size_t i = 0; room && i < count; i++) {
        uint32_t *place = place_stack(dictionary, &(tsmith_stack){parent, frames[i]});
        if (place && *place) {
            parent = *place;
            continue;
        }
        uint32_t id = place ? add_path(dictionary, place, parent, frames + i, count - i) : 0;
        if (id)
            return id;
        room = false;
    }
    dictionary->failed |= !room;
    return room ? parent : 0;
}

uint32_t tsmith_dictionary_intern_stack(tsmith_dictionary *dictionary, const tsmith_stack *entry) {
    return tsmith_dictionary_intern_path(dictionary, entry->parent, &entry->frame, 1);
}

void tsmith_dictionary_rename_track(tsmith_dictionary *dictionary, uint32_t track, uint32_t name) {
    const struct rows *table = &dictionary->track_table;
    if (!track || track >= table->count)
        return;
    ((tsmith_track *)rows_at(table, track, sizeof(tsmith_track)))->name = name;
    labels_finish(dictionary->labels); // those of the same name are others now
}

struct labels *dictionary_labels(const tsmith_dictionary *dictionary) {
    return dictionary->labels;
}

void tsmith_dictionary_complete_device(tsmith_dictionary *dictionary, uint32_t device,
                                       const tsmith_device *known) {
    const struct rows *table = &dictionary->device_table;
    tsmith_device *entry =
        device && device < table->count ? rows_at(table, device, sizeof(tsmith_device)) : NULL;
    if (!entry)
        return;
#define COMPLETE(member) entry->member = entry->member ? entry->member : known->member
    COMPLETE(name);
    COMPLETE(vendor);
    COMPLETE(driver);
    COMPLETE(api);
    COMPLETE(type);
    COMPLETE(memory_bytes);
    COMPLETE(compute_units);
    COMPLETE(clock_mhz);
    COMPLETE(identity);
    COMPLETE(number);
#undef COMPLETE
}

// ---- dynamic fields

uint32_t tsmith_dictionary_field(tsmith_dictionary *dictionary, const char *name, tsmith_type type,
                                 const char *unit) {
    uint32_t name_id = tsmith_dictionary_intern_cstr(dictionary, name);
    uint32_t count = tsmith_dictionary_dynamic_field_count(dictionary);
    for (uint32_t id = 1; id < count; id++) {
        const tsmith_dynamic_field *field = tsmith_dictionary_dynamic_field(dictionary, id);
        if (field->name == name_id && field->type == (uint32_t)type)
            return TSMITH_FIELD_DYNAMIC + id;
    }
    tsmith_dynamic_field field = {
        .name = name_id, .unit = tsmith_dictionary_intern_cstr(dictionary, unit), .type = (uint32_t)type};
    uint32_t id = tsmith_dictionary_add_dynamic_field(dictionary, &field);
    return id ? TSMITH_FIELD_DYNAMIC + id : 0;
}

int tsmith_dictionary_describe_field(const tsmith_dictionary *dictionary, uint32_t field,
                                     tsmith_field_info *out) {
    const tsmith_field_info *known = tsmith_field_describe(field);
    if (known) {
        *out = *known;
        return 1;
    }
    const tsmith_dynamic_field *dynamic =
        field > TSMITH_FIELD_DYNAMIC
            ? tsmith_dictionary_dynamic_field(dictionary, field - TSMITH_FIELD_DYNAMIC)
            : NULL;
    if (!dynamic)
        return 0;
    *out = (tsmith_field_info){field, (tsmith_type)dynamic->type,
                               tsmith_dictionary_string(dictionary, dynamic->name).bytes,
                               tsmith_dictionary_string(dictionary, dynamic->unit).bytes, ""};
    return 1;
}

// ---- attributes

tsmith_string tsmith_dictionary_find_attribute(const tsmith_dictionary *dictionary, const char *key) {
    for (uint32_t id = tsmith_dictionary_attribute_count(dictionary); id-- > 1;) {
        const tsmith_attribute *attribute = tsmith_dictionary_attribute(dictionary, id);
        if (same_string(tsmith_dictionary_string(dictionary, attribute->key), key, strlen(key)))
            return tsmith_dictionary_string(dictionary, attribute->value);
    }
    return (tsmith_string){NULL, 0};
}

void tsmith_dictionary_set_attribute(tsmith_dictionary *dictionary, const char *key, const char *value) {
    tsmith_attribute attribute = {tsmith_dictionary_intern_cstr(dictionary, key),
                                  tsmith_dictionary_intern_cstr(dictionary, value)};
    (void)tsmith_dictionary_add_attribute(dictionary, &attribute);
}
