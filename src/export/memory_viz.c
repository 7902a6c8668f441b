// SPDX-License-Identifier: Apache-2.0
// A memory snapshot as PyTorch writes it, for pytorch.org/memory_viz and torch.cuda._memory_viz: the allocations and frees of
// each device with their stacks, and what is alive at the end. A pickle of data only (protocol 2, which every reader of
// such files reads). Memory: 88 bytes per allocation and per free.
//
// An object without an address (OpenCL) is given one of its own. Where the trace does not say which segments the allocator had, each
// object that is alive at the end is a segment.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "base/table.h"
#include "export/formats.h"
#include "export/output.h"
#include "tracesmith/stacks.h"
#include "tracesmith/view.h"

enum { ROUND = 512, LINES_MAX = 4096, BATCHED = 1000 };
static const uint64_t FIRST_ADDRESS = UINT64_C(0x7f0000000000); // of objects without one

// X(NAME, "key")
#define KEY_TABLE(X)                                                                                         \
    X(ACTION, "action")                                                                                      \
    X(ADDR, "addr")                                                                                          \
    X(SIZE, "size")                                                                                          \
    X(STREAM, "stream")                                                                                      \
    X(TIME, "time_us")                                                                                       \
    X(FRAMES, "frames")                                                                                      \
    X(NAME, "name")                                                                                          \
    X(FILENAME, "filename")                                                                                  \
    X(LINE, "line")                                                                                          \
    X(ADDRESS, "address")                                                                                    \
    X(TOTAL, "total_size")                                                                                   \
    X(ALLOCATED, "allocated_size")                                                                           \
    X(ACTIVE, "active_size")                                                                                 \
    X(REQUESTED, "requested_size")                                                                           \
    X(TYPE, "segment_type")                                                                                  \
    X(DEVICE, "device")                                                                                      \
    X(BLOCKS, "blocks")                                                                                      \
    X(STATE, "state")                                                                                        \
    X(SEGMENTS, "segments")                                                                                  \
    X(TRACES, "device_traces")                                                                               \
    X(SETTINGS, "allocator_settings")                                                                        \
    X(DEVICE_FREE, "device_free")                                                                            \
    X(ACTIVE_ALLOCATED, "active_allocated")                                                                  \
    X(INACTIVE, "inactive")                                                                                  \
    X(LARGE, "large")                                                                                        \
    X(FREE_COMPLETED, "free_completed")                                                                      \
    X(FREE_REQUESTED, "free_requested")                                                                      \
    X(ALLOC, "alloc")                                                                                        \
    X(POOL, "segment_pool_id")                                                                               \
    X(EXPANDABLE, "is_expandable")

enum key {
#define KEY_ENUM(NAME, text) KEY_##NAME,
    KEY_TABLE(KEY_ENUM)
#undef KEY_ENUM
        KEY_COUNT
};

enum entry_kind { ENTRY_ALLOC, ENTRY_FREE, ENTRY_OTHER, ENTRY_SEGMENT };

struct entry {
    int64_t time;
    uint64_t place; // process << 32 | device
    uint64_t object, bytes, address, correlation;
    uint32_t stack, name, track, type;
    uint8_t kind, early, addressed, has_address, has_bytes,
        has_free; // has_free: `object` is what the device had free
};

struct call {
    uint64_t correlation;
    int64_t time;
    uint32_t process, track, stack;
};

struct memory_viz {
    struct output output;
    struct entry *entries;
    size_t count, capacity;
    struct call *calls; // with stacks
    size_t call_count, call_capacity;
    uint32_t memo;                        // values that the reader keeps
    uint32_t keys[KEY_COUNT];             // memo number + 1
    struct table frames, stacks, strings; // memo number + 1, by id
    tsmith_stack_names *names;
    bool completes; // the trace says itself when a free is complete
    bool failed;
};

// ---- values of a pickle

static void put_byte(struct memory_viz *viz, int opcode) {
    output_char(&viz->output, (char)opcode);
}

static void put_number(struct memory_viz *viz, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++)
        output_char(&viz->output, (char)(value >> 8 * i));
}

// BININT, or LONG1 with a byte for the sign.
static void put_integer(struct memory_viz *viz, uint64_t value) {
    if (value <= INT32_MAX) {
        put_byte(viz, 'J');
        put_number(viz, value, 4);
        return;
    }
    unsigned bytes = value >> 63 ? 9 : 8;
    put_byte(viz, 0x8a);
    put_byte(viz, (int)bytes);
    put_number(viz, value, 8);
    if (bytes == 9)
        put_byte(viz, 0);
}

// The reader keeps the newest value; its number + 1.
static uint32_t keep_value(struct memory_viz *viz) {
    put_byte(viz, 'r');
    put_number(viz, viz->memo, 4);
    return ++viz->memo;
}

static void put_kept(struct memory_viz *viz, uint64_t kept) {
    put_byte(viz, 'j');
    put_number(viz, kept - 1, 4);
}

static void put_text(struct memory_viz *viz, tsmith_string text) {
    put_byte(viz, 'X');
    put_number(viz, text.length, 4);
    output_bytes(&viz->output, text.bytes, text.length);
}

static void put_key(struct memory_viz *viz, enum key key) {
    static const char *const TEXTS[KEY_COUNT] = {
#define KEY_TEXT(NAME, text) text,
        KEY_TABLE(KEY_TEXT)
#undef KEY_TEXT
    };
    if (viz->keys[key]) {
        put_kept(viz, viz->keys[key]);
        return;
    }
    put_text(viz, (tsmith_string){TEXTS[key], strlen(TEXTS[key])});
    viz->keys[key] = keep_value(viz);
}

// The slot of what is kept by this id; its value is 0 where it is not there yet. NULL when memory is exhausted.
static uint64_t *kept_slot(struct memory_viz *viz, struct table *table, uint64_t id) {
    uint64_t *slot = table_add(table, id, NULL);
    viz->failed |= !slot;
    return slot;
}

// A text that is valid UTF-8 or becomes so: what is none is replaced byte by byte.
static void put_string(struct memory_viz *viz, const tsmith_dictionary *dictionary, uint32_t id) {
    uint64_t *slot = kept_slot(viz, &viz->strings, id);
    if (slot && *slot) {
        put_kept(viz, *slot);
        return;
    }
    const tsmith_string text = tsmith_dictionary_string(dictionary, id);
    size_t at = 0;
    for (unsigned length; at < text.length && (length = json_utf8_length(text.bytes + at, text.length - at));)
        at += length;
    if (at == text.length) {
        put_text(viz, text);
    } else {
        put_byte(viz, 'X');
        put_number(viz, text.length, 4);
        for (size_t i = 0; i < text.length; i++)
            output_char(&viz->output, (unsigned char)text.bytes[i] < 0x80 ? text.bytes[i] : '?');
    }
    if (slot)
        *slot = keep_value(viz);
}

static void put_field(struct memory_viz *viz, enum key key, uint64_t value) {
    put_key(viz, key);
    put_integer(viz, value);
}

// ---- stacks

static void put_frame(struct memory_viz *viz, const tsmith_dictionary *dictionary,
                      const tsmith_stack_line *line, uint32_t inlined) {
    char text[1024];
    uint64_t *slot = kept_slot(viz, &viz->frames, (uint64_t)line->frame << 16 | (inlined & 0xffff));
    if (slot && *slot) {
        put_kept(viz, *slot);
        return;
    }
    put_byte(viz, '}');
    put_byte(viz, '(');
    put_key(viz, KEY_NAME);
    if (line->function) {
        put_string(viz, dictionary, line->function);
    } else {
        const size_t length = tsmith_stack_line_text(dictionary, line, text, sizeof text);
        put_text(viz, (tsmith_string){text, length < sizeof text ? length : sizeof text - 1});
    }
    put_key(viz, KEY_FILENAME);
    const tsmith_module *module = tsmith_dictionary_module(dictionary, line->module);
    put_string(viz, dictionary, line->file ? line->file : module ? module->path : 0);
    put_field(viz, KEY_LINE, line->line);
    put_byte(viz, 'u');
    slot = kept_slot(viz, &viz->frames, (uint64_t)line->frame << 16 | (inlined & 0xffff));
    if (slot)
        *slot = keep_value(viz);
}

// "frames": the innermost first.
static void put_stack(struct memory_viz *viz, const tsmith_dictionary *dictionary, uint32_t stack) {
    tsmith_stack_line *lines = NULL;
    put_key(viz, KEY_FRAMES);
    uint64_t *slot = kept_slot(viz, &viz->stacks, stack);
    if (slot && *slot) {
        put_kept(viz, *slot);
        return;
    }
    size_t count = stack ? tsmith_stack_lines(viz->names, stack, NULL, 0) : 0;
    count = count < LINES_MAX ? count : LINES_MAX;
    put_byte(viz, ']');
    if (count && (lines = malloc(count * sizeof *lines))) {
        (void)tsmith_stack_lines(viz->names, stack, lines, count);
        put_byte(viz, '(');
        for (size_t i = 0, inlined = 0; i < count; i++) {
            inlined = i && lines[i].frame == lines[i - 1].frame ? inlined + 1 : 0;
            put_frame(viz, dictionary, &lines[i], (uint32_t)inlined);
        }
        put_byte(viz, 'e');
    }
    viz->failed |= count && !lines;
    free(lines);
    slot = kept_slot(viz, &viz->stacks, stack);
    if (slot)
        *slot = keep_value(viz);
}

// ---- events

static const char *const ACTIONS[] = {"free_completed", "segment_alloc", "segment_free", "segment_map",
                                      "segment_unmap",  "oom",           "snapshot"};

// What an instant is, by its name; false: it is not about memory.
static bool read_instant(struct memory_viz *viz, const char *name, bool is_segment, struct entry *entry) {
    entry->kind = ENTRY_OTHER;
    if (is_segment && strcmp(name, "segment") == 0) {
        entry->kind = ENTRY_SEGMENT;
        return true;
    }
    for (size_t i = 0; i < sizeof ACTIONS / sizeof *ACTIONS; i++)
        if (strcmp(name, ACTIONS[i]) == 0) {
            viz->completes |= i == 0;
            return true;
        }
    return false;
}

// X(NAME): fields of the vocabulary; X(NAME, "name"): of the trace's own.
#define KNOWN_TABLE(X)                                                                                       \
    X(KIND) X(START) X(NAME) X(OPERATION) X(OBJECT) X(BYTES) X(ADDRESS) X(STACK) X(CATEGORY) X(CORRELATION)
#define OWN_TABLE(X)                                                                                         \
    X(DEVICE, "Device Id")                                                                                   \
    X(DEVICE_OF_NSYS, "deviceId")                                                                            \
    X(TYPE, "Device Type")                                                                                   \
    X(ADDRESS, "Addr")                                                                                       \
    X(BYTES, "Bytes")                                                                                        \
    X(SEGMENT, "Segment Allocated")                                                                          \
    X(BEFORE, "Before History")                                                                              \
    X(FREE, "device_free")

enum {
#define KNOWN_ENUM(NAME) AT_##NAME,
    KNOWN_TABLE(KNOWN_ENUM)
#undef KNOWN_ENUM
        KNOWN_COUNT
};
enum own {
#define OWN_ENUM(NAME, name) OWN_##NAME,
    OWN_TABLE(OWN_ENUM)
#undef OWN_ENUM
        OWN_COUNT
};

struct views {
    tsmith_view known[KNOWN_COUNT];
    tsmith_view own[OWN_COUNT][2]; // signed, unsigned
};

static void find_views(const tsmith_dictionary *dictionary, const tsmith_batch *batch, struct views *views) {
    static const uint32_t fields[KNOWN_COUNT] = {
#define KNOWN_FIELD(NAME) TSMITH_FIELD_##NAME,
        KNOWN_TABLE(KNOWN_FIELD)
#undef KNOWN_FIELD
    };
    static const char *const names[OWN_COUNT] = {
#define OWN_NAME(NAME, name) name,
        OWN_TABLE(OWN_NAME)
#undef OWN_NAME
    };
    tsmith_view_batch(batch, fields, KNOWN_COUNT, views->known);
    for (int i = 0; i < OWN_COUNT; i++)
        for (int form = 0; form < 2; form++)
            views->own[i][form] = tsmith_view_typed(batch, UINT32_MAX, TSMITH_TYPE_U64);
    const uint32_t count = tsmith_dictionary_dynamic_field_count(dictionary);
    for (uint32_t id = 1; id < count; id++) {
        const tsmith_dynamic_field *field = tsmith_dictionary_dynamic_field(dictionary, id);
        if (field->type != TSMITH_TYPE_I64 && field->type != TSMITH_TYPE_U64)
            continue;
        const char *name = tsmith_dictionary_string(dictionary, field->name).bytes;
        for (int i = 0; i < OWN_COUNT; i++)
            if (strcmp(name, names[i]) == 0)
                views->own[i][field->type == TSMITH_TYPE_U64] =
                    tsmith_view_typed(batch, TSMITH_FIELD_DYNAMIC + id, (tsmith_type)field->type);
    }
}

static bool get_own(const struct views *views, uint32_t row, enum own field, uint64_t *out) {
    return tsmith_view_u64(&views->own[field][0], row, out) ||
           tsmith_view_u64(&views->own[field][1], row, out);
}

// The number of the device, UINT32_MAX if the trace has none.
static uint32_t device_of(const struct views *views, uint32_t row) {
    uint64_t device;
    return (get_own(views, row, OWN_DEVICE, &device) || get_own(views, row, OWN_DEVICE_OF_NSYS, &device)) &&
                   device < UINT32_MAX
               ? (uint32_t)device
               : UINT32_MAX;
}

// PyTorch's instants "[memory]" in traces of its profiler: bytes below 0 are freed. False: it is not about a device.
static bool read_kineto(const struct views *views, uint32_t row, struct entry *entry) {
    uint64_t type, bytes;
    const bool grows = tsmith_view_u64(&views->known[AT_BYTES], row, &bytes);
    if (!get_own(views, row, OWN_TYPE, &type) || type == 0 ||
        !get_own(views, row, OWN_ADDRESS, &entry->object) || !entry->object ||
        (!grows && !get_own(views, row, OWN_BYTES, &bytes)))
        return false;
    const bool frees = !grows && (int64_t)bytes < 0;
    entry->kind = frees ? ENTRY_FREE : ENTRY_ALLOC;
    entry->bytes = frees ? 0 - bytes : bytes;
    entry->has_bytes = entry->addressed = 1;
    return true;
}

static bool read_row(struct memory_viz *viz, const tsmith_dictionary *dictionary, const struct views *views,
                     uint32_t row, uint8_t kind, struct entry *entry) {
    uint64_t value;
    const char *name = tsmith_dictionary_string(dictionary, entry->name).bytes;
    if (kind == TSMITH_KIND_MARKER && strcmp(name, "[memory]") == 0)
        return read_kineto(views, row, entry);
    if (kind == TSMITH_KIND_MARKER &&
        !read_instant(viz, name, get_own(views, row, OWN_SEGMENT, &value), entry))
        return false;
    if (kind != TSMITH_KIND_MARKER)
        entry->kind = kind == TSMITH_KIND_ALLOC ? ENTRY_ALLOC : ENTRY_FREE;
    if (tsmith_view_word(&views->known[AT_OPERATION], row) == TSMITH_OPERATION_SUB_BUFFER)
        return false; // owns no bytes
    entry->has_bytes = tsmith_view_u64(&views->known[AT_BYTES], row, &entry->bytes) != 0;
    entry->has_address = tsmith_view_u64(&views->known[AT_ADDRESS], row, &entry->address) != 0;
    entry->object = tsmith_view_u64_or(&views->known[AT_OBJECT], row, 0);
    entry->addressed = (uint32_t)entry->place != UINT32_MAX && entry->object;
    entry->type = tsmith_view_id(&views->known[AT_CATEGORY], row);
    entry->early = get_own(views, row, OWN_BEFORE, &value) && value;
    if (entry->kind == ENTRY_OTHER)
        entry->has_free = get_own(views, row, OWN_FREE, &entry->object);
    return entry->kind == ENTRY_OTHER || entry->object || entry->has_address;
}

// A call with a stack, for allocations that have none of their own. False when memory is exhausted.
static bool keep_call(struct memory_viz *viz, const struct entry *entry) {
    if (!entry->stack)
        return true;
    struct call *call = ARRAY_PUSH(viz->calls, viz->call_count, viz->call_capacity);
    if (call)
        *call = (struct call){entry->correlation, entry->time, (uint32_t)(entry->place >> 32), entry->track,
                              entry->stack};
    return call;
}

static tsmith_status write_batch(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                 tsmith_error *error) {
    struct memory_viz *viz = self;
    struct views views;
    const uint32_t number = tsmith_batch_track(batch);
    const tsmith_track *track = tsmith_dictionary_track(dictionary, number);
    find_views(dictionary, batch, &views);
    const uint8_t *kinds = tsmith_view_every(&views.known[AT_KIND]);
    const int64_t *starts = tsmith_view_every(&views.known[AT_START]);
    for (uint32_t row = 0; kinds && starts && row < tsmith_batch_count(batch); row++) {
        const uint8_t kind = kinds[row];
        if (kind != TSMITH_KIND_ALLOC && kind != TSMITH_KIND_FREE && kind != TSMITH_KIND_MARKER &&
            kind != TSMITH_KIND_API)
            continue;
        struct entry entry = {.time = starts[row],
                              .place = (uint64_t)(track ? track->process : 0) << 32 | device_of(&views, row),
                              .name = tsmith_view_id(&views.known[AT_NAME], row),
                              .stack = tsmith_view_id(&views.known[AT_STACK], row),
                              .correlation = tsmith_view_u64_or(&views.known[AT_CORRELATION], row, 0),
                              .track = number};
        bool done = true;
        if (kind == TSMITH_KIND_API) {
            done = keep_call(viz, &entry);
        } else if (read_row(viz, dictionary, &views, row, kind, &entry)) {
            struct entry *place = ARRAY_PUSH(viz->entries, viz->count, viz->capacity);
            done = place;
            if (place)
                *place = entry;
        }
        if (!done)
            return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    }
    return TSMITH_OK;
}

// ---- stacks of calls

static int by_correlation(const void *left, const void *right) {
    const struct call *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->correlation < b->correlation ? -1 : a->correlation > b->correlation;
}

static int by_start(const void *left, const void *right) {
    const struct call *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    return a->time < b->time ? -1 : a->time > b->time;
}

// An allocation has the stack of the call with its correlation, or of the call that begins with it on its thread.
static void join_calls(struct memory_viz *viz) {
    static int (*const orders[])(const void *, const void *) = {by_correlation, by_start};
    for (size_t order = 0; viz->call_count && order < sizeof orders / sizeof *orders; order++) {
        qsort(viz->calls, viz->call_count, sizeof *viz->calls, orders[order]);
        for (size_t i = 0; i < viz->count; i++) {
            struct entry *entry = &viz->entries[i];
            const struct call key = {entry->correlation, entry->time, (uint32_t)(entry->place >> 32),
                                     entry->track, 0};
            if (entry->stack || (order == 0 && !entry->correlation))
                continue;
            const struct call *call = bsearch(&key, viz->calls, viz->call_count, sizeof key, orders[order]);
            entry->stack = call ? call->stack : 0;
        }
    }
}

// ---- histories

static int by_time(const void *left, const void *right) {
    const struct entry *a = left, *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    if ((a->kind == ENTRY_SEGMENT) != (b->kind == ENTRY_SEGMENT))
        return a->kind == ENTRY_SEGMENT ? 1 : -1;
    if (a->kind == ENTRY_SEGMENT && a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if ((a->kind == ENTRY_FREE) != (b->kind == ENTRY_FREE))
        return a->kind == ENTRY_FREE ? -1 : 1;
    return a->object < b->object ? -1 : a->object > b->object;
}

static uint64_t stream_of(const tsmith_dictionary *dictionary, uint32_t track) {
    const tsmith_track *entry = tsmith_dictionary_track(dictionary, track);
    return entry && entry->kind == TSMITH_TRACK_QUEUE ? entry->queue : 0;
}

static void put_entry(struct memory_viz *viz, const tsmith_dictionary *dictionary, const struct entry *entry,
                      enum key action, uint64_t address, uint64_t bytes) {
    put_byte(viz, '}');
    put_byte(viz, '(');
    put_key(viz, KEY_ACTION);
    if (action == KEY_COUNT)
        put_string(viz, dictionary, entry->name);
    else
        put_key(viz, action);
    if (entry->has_free)
        put_field(viz, KEY_DEVICE_FREE, entry->object);
    else
        put_field(viz, KEY_ADDR, address);
    put_field(viz, KEY_SIZE, bytes);
    put_field(viz, KEY_STREAM, stream_of(dictionary, entry->track));
    put_field(viz, KEY_TIME, entry->time > 0 ? (uint64_t)entry->time / 1000 : 0);
    put_stack(viz, dictionary, entry->stack);
    put_byte(viz, 'u');
}

// One entry of a history. `alive`: 1 + the number of the allocation, by object; `next`: an address that is free.
static void put_change(struct memory_viz *viz, const tsmith_dictionary *dictionary, size_t number,
                       struct table *alive, uint64_t *next) {
    struct entry *entry = &viz->entries[number];
    if (entry->kind == ENTRY_OTHER) {
        put_entry(viz, dictionary, entry, KEY_COUNT, entry->address, entry->bytes);
        return;
    }
    uint64_t *slot = table_add(alive, entry->object, NULL);
    if (!slot) {
        viz->failed = true;
        return;
    }
    if (entry->kind == ENTRY_ALLOC) {
        entry->address = entry->addressed ? entry->object : *next;
        *next += (entry->bytes / ROUND + 1) * ROUND;
        *slot = (uint64_t)number + 1;
        if (!entry->early)
            put_entry(viz, dictionary, entry, KEY_ALLOC, entry->address, entry->bytes);
        return;
    }
    const struct entry *made = *slot ? &viz->entries[*slot - 1] : NULL;
    const uint64_t address = made ? made->address : entry->object,
                   bytes = made && made->has_bytes ? made->bytes : entry->bytes;
    put_entry(viz, dictionary, entry, KEY_FREE_REQUESTED, address, bytes);
    if (!viz->completes)
        put_entry(viz, dictionary, entry, KEY_FREE_COMPLETED, address, bytes);
    *slot = 0;
}

// ---- segments

struct block {
    uint64_t address, size;
    const struct entry *made;
};

static int by_address(const void *left, const void *right) {
    const struct block *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

static void put_block(struct memory_viz *viz, const tsmith_dictionary *dictionary, uint64_t address,
                      uint64_t size, const struct entry *made) {
    put_byte(viz, '}');
    put_byte(viz, '(');
    put_field(viz, KEY_ADDRESS, address);
    put_field(viz, KEY_SIZE, size);
    put_field(viz, KEY_REQUESTED, made ? made->bytes : 0);
    put_key(viz, KEY_STATE);
    put_key(viz, made ? KEY_ACTIVE_ALLOCATED : KEY_INACTIVE);
    put_stack(viz, dictionary, made ? made->stack : 0);
    put_byte(viz, 'u');
}

// A segment and the blocks in it, which come in order; how many of `blocks` it has.
static size_t put_segment(struct memory_viz *viz, const tsmith_dictionary *dictionary,
                          const struct entry *segment, uint64_t device, const struct block *blocks,
                          size_t count) {
    const uint64_t end = segment->address + segment->bytes;
    uint64_t at = segment->address, allocated = 0, requested = 0;
    size_t used = 0;
    put_byte(viz, '}');
    put_byte(viz, '(');
    put_field(viz, KEY_DEVICE, device);
    put_field(viz, KEY_ADDRESS, segment->address);
    put_field(viz, KEY_TOTAL, segment->bytes);
    put_field(viz, KEY_STREAM, stream_of(dictionary, segment->track));
    put_key(viz, KEY_TYPE);
    if (segment->type && segment->kind == ENTRY_SEGMENT)
        put_string(viz, dictionary, segment->type);
    else
        put_key(viz, KEY_LARGE);
    put_key(viz, KEY_POOL);
    put_byte(viz, 'J'), put_number(viz, 0, 4), put_byte(viz, 'J'), put_number(viz, 0, 4), put_byte(viz, 0x86);
    put_key(viz, KEY_EXPANDABLE);
    put_byte(viz, 0x89);
    put_stack(viz, dictionary, segment->kind == ENTRY_SEGMENT ? segment->stack : 0);
    put_key(viz, KEY_BLOCKS);
    put_byte(viz, ']');
    put_byte(viz, '(');
    for (; used < count && blocks[used].address < end; used++) {
        const struct block *block = &blocks[used];
        const uint64_t limit =
            used + 1 < count && blocks[used + 1].address < end ? blocks[used + 1].address : end;
        const uint64_t size = block->address + block->size > limit ? limit - block->address : block->size;
        if (block->address > at)
            put_block(viz, dictionary, at, block->address - at, NULL);
        put_block(viz, dictionary, block->address, size, block->made);
        at = block->address + size;
        allocated += size;
        requested += block->made->bytes;
    }
    if (at < end || !used)
        put_block(viz, dictionary, at, end - at, NULL);
    put_byte(viz, 'e');
    put_field(viz, KEY_ALLOCATED, allocated);
    put_field(viz, KEY_ACTIVE, allocated);
    put_field(viz, KEY_REQUESTED, requested);
    put_byte(viz, 'u');
    return used;
}

// What is alive at the end of a place: entries [from, to), the segments behind the others.
static void put_segments(struct memory_viz *viz, const tsmith_dictionary *dictionary, size_t from, size_t to,
                         uint64_t device, const struct table *alive) {
    struct block *blocks = malloc((alive->count + 1) * sizeof *blocks);
    size_t count = 0, next = 0;
    for (size_t i = 0; blocks && i < alive->capacity; i++) {
        if (!alive->slots[i].key || !alive->slots[i].value)
            continue;
        const struct entry *made = &viz->entries[alive->slots[i].value - 1];
        const uint64_t size = (made->bytes + ROUND - 1) / ROUND * ROUND;
        blocks[count++] = (struct block){made->address, size ? size : ROUND, made};
    }
    viz->failed |= !blocks;
    if (count)
        qsort(blocks, count, sizeof *blocks, by_address);
    for (size_t i = from; i < to; i++) {
        const struct entry *segment = &viz->entries[i];
        if (segment->kind != ENTRY_SEGMENT)
            continue;
        for (; next < count && blocks[next].address < segment->address; next++) {
            struct entry own = *blocks[next].made;
            own.bytes = blocks[next].size;
            (void)put_segment(viz, dictionary, &own, device, &blocks[next], 1);
        }
        next += put_segment(viz, dictionary, segment, device, blocks + next, count - next);
    }
    for (; next < count; next++) {
        struct entry own = *blocks[next].made;
        own.bytes = blocks[next].size;
        (void)put_segment(viz, dictionary, &own, device, &blocks[next], 1);
    }
    free(blocks);
}

// ---- the whole

// The numbers of devices are those of the trace if there is one process and every place has one.
static bool numbers_fit(const struct memory_viz *viz) {
    for (size_t i = 0; i < viz->count; i++)
        if ((uint32_t)viz->entries[i].place > 255 ||
            viz->entries[i].place >> 32 != viz->entries[0].place >> 32)
            return false;
    return true;
}

struct place {
    size_t from, to;
    uint64_t device;
    struct table alive;
};

static size_t find_places(const struct memory_viz *viz, struct place *places, size_t limit) {
    const bool fit = numbers_fit(viz);
    size_t count = 0;
    for (size_t from = 0, to; from < viz->count && count < limit; from = to) {
        for (to = from + 1; to < viz->count && viz->entries[to].place == viz->entries[from].place;)
            to++;
        places[count] = (struct place){
            .from = from, .to = to, .device = fit ? (uint32_t)viz->entries[from].place : count};
        count++;
    }
    return count;
}

enum { PLACES_MAX = 4096 };

static tsmith_status finish(void *self, const tsmith_dictionary *dictionary, tsmith_error *error) {
    struct memory_viz *viz = self;
    struct place *places = calloc(PLACES_MAX, sizeof *places);
    if (!places || tsmith_stack_names_create(dictionary, &viz->names) != TSMITH_OK) {
        free(places);
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    }
    join_calls(viz);
    if (viz->count)
        qsort(viz->entries, viz->count, sizeof *viz->entries, by_time);
    const size_t count = find_places(viz, places, PLACES_MAX);
    uint64_t device = 0, next = FIRST_ADDRESS;
    output_bytes(&viz->output, "\x80\x02}(", 4);
    put_key(viz, KEY_TRACES);
    output_bytes(&viz->output, "](", 2);
    for (size_t i = 0; i < count; i++, device++) {
        for (; device < places[i].device; device++)
            put_byte(viz, ']'); // a device without events
        output_bytes(&viz->output, "](", 2);
        for (size_t j = places[i].from; j < places[i].to; j++)
            if (viz->entries[j].kind != ENTRY_SEGMENT)
                put_change(viz, dictionary, j, &places[i].alive, &next);
        put_byte(viz, 'e');
    }
    put_byte(viz, 'e');
    put_key(viz, KEY_SEGMENTS);
    output_bytes(&viz->output, "](", 2);
    for (size_t i = 0; i < count; i++) {
        put_segments(viz, dictionary, places[i].from, places[i].to, places[i].device, &places[i].alive);
        table_finish(&places[i].alive);
    }
    put_byte(viz, 'e');
    put_key(viz, KEY_SETTINGS);
    output_bytes(&viz->output, "}u.", 3);
    free(places);
    return viz->failed ? status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory")
                       : output_finish(&viz->output, error);
}

static void destroy(void *self) {
    struct memory_viz *viz = self;
    if (!viz)
        return;
    output_close(&viz->output);
    table_finish(&viz->frames);
    table_finish(&viz->stacks);
    table_finish(&viz->strings);
    if (viz->names)
        tsmith_stack_names_destroy(viz->names);
    free(viz->entries);
    free(viz->calls);
    free(viz);
}

tsmith_status memory_viz_open(const struct export_place *place, const tsmith_export_options *options,
                              tsmith_sink **out, tsmith_error *error) {
    static const tsmith_sink_ops ops = {write_batch, finish, destroy};
    struct memory_viz *viz = calloc(1, sizeof *viz);
    if (!viz)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    return output_sink(&viz->output, &ops, viz, place, options, out, error);
}
