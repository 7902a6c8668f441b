// SPDX-License-Identifier: Apache-2.0
// From dicts of a snapshot to records: what a dict is follows from its keys.
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "import/torch_memory/torch_memory.h"

// X(NAME, "name"): the keys of a snapshot.
#define ROLE_TABLE(X)                                                                                        \
    X(FUNCTION, "name")                                                                                      \
    X(FILE, "filename")                                                                                      \
    X(LINE, "line")                                                                                          \
    X(ACTION, "action")                                                                                      \
    X(ADDR, "addr")                                                                                          \
    X(SIZE, "size")                                                                                          \
    X(STREAM, "stream")                                                                                      \
    X(TIME, "time_us")                                                                                       \
    X(FRAMES, "frames")                                                                                      \
    X(ADDRESS, "address")                                                                                    \
    X(TOTAL, "total_size")                                                                                   \
    X(ALLOCATED, "allocated_size")                                                                           \
    X(ACTIVE, "active_size")                                                                                 \
    X(REQUESTED, "requested_size")                                                                           \
    X(TYPE, "segment_type")                                                                                  \
    X(DEVICE, "device")                                                                                      \
    X(BLOCKS, "blocks")                                                                                      \
    X(STATE, "state")                                                                                        \
    X(HISTORY, "history")                                                                                    \
    X(REAL_SIZE, "real_size")                                                                                \
    X(SEGMENTS, "segments")                                                                                  \
    X(TRACES, "device_traces")                                                                               \
    X(ANNOTATIONS, "external_annotations")                                                                   \
    X(SETTINGS, "allocator_settings")

enum role {
    ROLE_UNKNOWN, // not looked up
    ROLE_NONE,    // no key of a snapshot
#define ROLE_ENUM(NAME, name) ROLE_##NAME,
    ROLE_TABLE(ROLE_ENUM)
#undef ROLE_ENUM
        ROLE_LIMIT
};

// ---- keys

// Room for a byte per string, zeroed.
static bool reserve_bytes(uint8_t **bytes, size_t *capacity, size_t needed) {
    const size_t had = *capacity;
    if (!ARRAY_RESERVE(*bytes, *capacity, needed))
        return false;
    memset(*bytes + had, 0, *capacity - had);
    return true;
}

static enum role role_of(struct torch_memory *memory, pickle_value key) {
    static const char *const names[ROLE_LIMIT] = {
#define ROLE_NAME(NAME, name) [ROLE_##NAME] = name,
        ROLE_TABLE(ROLE_NAME)
#undef ROLE_NAME
    };
    const uint32_t id = pickle_number(key);
    if (pickle_type(key) != PICKLE_STRING)
        return ROLE_NONE;
    if (!reserve_bytes(&memory->roles, &memory->role_capacity, (size_t)id + 1)) {
        memory->failed = true;
        return ROLE_NONE;
    }
    if (memory->roles[id] == ROLE_UNKNOWN) {
        const tsmith_string text = tsmith_dictionary_string(memory->dictionary, id);
        memory->roles[id] = ROLE_NONE;
        for (int i = ROLE_NONE + 1; i < ROLE_LIMIT; i++)
            if (text.length == strlen(names[i]) && memcmp(text.bytes, names[i], text.length) == 0)
                memory->roles[id] = (uint8_t)i;
    }
    return (enum role)memory->roles[id];
}

// The values of a dict by what their keys mean.
struct fields {
    pickle_value values[ROLE_LIMIT];
    uint64_t has; // a bit per role
    uint32_t others;
};

static struct fields fields_of(struct torch_memory *memory, const struct pickle_object *dict) {
    struct fields fields;
    fields.has = fields.others = 0;
    for (uint32_t i = 0; i + 1 < dict->count; i += 2) {
        const enum role role = role_of(memory, dict->items[i]);
        fields.values[role] = dict->items[i + 1];
        fields.has |= UINT64_C(1) << role;
        fields.others += role == ROLE_NONE;
    }
    return fields;
}

static bool has_role(const struct fields *fields, enum role role) {
    return fields->has >> role & 1;
}

// A number that is not below 0.
static bool get_u64(const struct torch_memory *memory, const struct fields *fields, enum role role,
                    uint64_t *out) {
    bool negative;
    *out = 0;
    return has_role(fields, role) && pickle_integer(&memory->pickle, fields->values[role], out, &negative) &&
           !negative;
}

static uint32_t get_string(const struct fields *fields, enum role role) {
    return has_role(fields, role) && pickle_type(fields->values[role]) == PICKLE_STRING
               ? pickle_number(fields->values[role])
               : 0;
}

// What a value was replaced by, if it is of this kind.
static bool get_replaced(const struct torch_memory *memory, pickle_value value, enum tm_kind kind,
                         uint32_t *out) {
    const struct pickle_object *object = pickle_object(&memory->pickle, value);
    if (!object || object->kind != PICKLE_REPLACED + (uint32_t)kind)
        return false;
    *out = object->count;
    return true;
}

static uint32_t get_stack(const struct torch_memory *memory, const struct fields *fields) {
    uint32_t stack = 0;
    return has_role(fields, ROLE_FRAMES) &&
                   get_replaced(memory, fields->values[ROLE_FRAMES], TM_STACK, &stack)
               ? stack
               : 0;
}

static uint32_t stream_number(struct torch_memory *memory, uint64_t name) {
    bool is_new;
    uint64_t *slot = table_add(&memory->streams, name, &is_new);
    if (!slot ||
        (is_new && !ARRAY_RESERVE(memory->stream_names, memory->stream_capacity, memory->stream_count + 1))) {
        memory->failed = true;
        return 0;
    }
    if (is_new) {
        *slot = memory->stream_count;
        memory->stream_names[memory->stream_count++] = name;
    }
    return (uint32_t)*slot;
}

// ---- frames and stacks

static uint32_t add_frame(struct torch_memory *memory, const struct tm_frame *frame) {
    const tsmith_string file = tsmith_dictionary_string(memory->dictionary, frame->file);
    const bool python = (file.length >= 3 && memcmp(file.bytes + file.length - 3, ".py", 3) == 0) ||
                        (file.length && file.bytes[0] == '<');
    // Where native code is, is not in the file: a number distinguishes it.
    tsmith_frame row = {.address = memory->frame_count + 1};
    if (python) {
        const tsmith_module module = {.path = frame->file, .flags = TSMITH_MODULE_PYTHON};
        row = (tsmith_frame){.module = tsmith_dictionary_intern_module(memory->dictionary, &module),
                             .flags = TSMITH_FRAME_PYTHON,
                             .address = (uint64_t)frame->function << 32 | frame->line};
    }
    const tsmith_symbol symbol = {.frame = tsmith_dictionary_intern_frame(memory->dictionary, &row),
                                  .function = frame->function,
                                  .file = frame->file,
                                  .line = frame->line};
    if (symbol.frame)
        (void)tsmith_dictionary_add_symbol(memory->dictionary, &symbol);
    return symbol.frame;
}

static uint64_t hash_frame(const struct tm_frame *frame) {
    return table_hash(table_hash((uint64_t)frame->function << 32 | frame->file) + frame->line);
}

static uint32_t find_frame(struct torch_memory *memory, const struct fields *fields) {
    uint64_t line;
    struct tm_frame frame = {.function = get_string(fields, ROLE_FUNCTION),
                             .file = get_string(fields, ROLE_FILE)};
    frame.line = get_u64(memory, fields, ROLE_LINE, &line) && line <= UINT32_MAX ? (uint32_t)line : 0;
    if (!TABLE_ROOM(memory->frames, memory->frame_capacity, memory->frame_count, 1024, slot, slot->id,
                    hash_frame(slot))) {
        memory->failed = true;
        return 0;
    }
    struct tm_frame *place = TABLE_SLOT(memory->frames, memory->frame_capacity, hash_frame(&frame), slot,
                                        !slot->id || (slot->function == frame.function &&
                                                      slot->file == frame.file && slot->line == frame.line));
    if (!place->id) {
        frame.id = add_frame(memory, &frame);
        memory->failed |= !frame.id;
        memory->frame_count += frame.id != 0;
        *place = frame;
    }
    return place->id;
}

// A list of frames, the innermost first. False when it is another list.
static bool find_stack(struct torch_memory *memory, const struct pickle_object *list, uint32_t *stack) {
    uint32_t path[TM_FRAMES_MAX + 1], frame;
    size_t count = 0;
    for (uint32_t i = 0; i < list->count; i++)
        if (!get_replaced(memory, list->items[i], TM_FRAME, &frame))
            return false;
    if (!list->count)
        return false;
    uint32_t last = list->count;
    if (last > TM_FRAMES_MAX) {
        const tsmith_frame outside = {.flags = TSMITH_FRAME_TRUNCATED};
        last = TM_FRAMES_MAX;
        path[count++] = tsmith_dictionary_intern_frame(memory->dictionary, &outside);
    }
    for (uint32_t i = last; i-- > 0;)
        if (get_replaced(memory, list->items[i], TM_FRAME, &frame))
            path[count++] = frame;
    *stack = tsmith_dictionary_intern_path(memory->dictionary, 0, path, count);
    return *stack != 0;
}

// ---- records

static uint8_t action_of(struct torch_memory *memory, uint32_t name) {
    static const char *const names[] = {
#define ACTION_NAME(NAME, name) [TM_##NAME] = name,
        TM_ACTION_TABLE(ACTION_NAME)
#undef ACTION_NAME
    };
    if (!reserve_bytes(&memory->actions, &memory->action_capacity, (size_t)name + 1)) {
        memory->failed = true;
        return TM_OTHER_ACTION;
    }
    if (!memory->actions[name]) {
        const tsmith_string text = tsmith_dictionary_string(memory->dictionary, name);
        memory->actions[name] = 1 + TM_OTHER_ACTION;
        for (size_t i = 1; i < sizeof names / sizeof *names; i++)
            if (text.length == strlen(names[i]) && memcmp(text.bytes, names[i], text.length) == 0)
                memory->actions[name] = (uint8_t)(1 + i);
    }
    return (uint8_t)(memory->actions[name] - 1);
}

// Values without a place in the record; what says nothing is left out.
static void keep_extras(struct torch_memory *memory, const struct pickle_object *dict) {
    for (uint32_t i = 0; i + 1 < dict->count; i += 2) {
        const pickle_value key = dict->items[i], value = dict->items[i + 1];
        const enum pickle_type type = pickle_type(value);
        if (role_of(memory, key) != ROLE_NONE || pickle_type(key) != PICKLE_STRING || type == PICKLE_NONE ||
            type == PICKLE_OBJECT || type == PICKLE_OTHER)
            continue;
        const tsmith_string text = tsmith_dictionary_string(memory->dictionary, pickle_number(value));
        if (type == PICKLE_STRING && (!text.length || strcmp(text.bytes, "N/A") == 0))
            continue;
        struct tm_extra *extra = ARRAY_PUSH(memory->extras, memory->extra_count, memory->extra_capacity);
        if (extra)
            *extra = (struct tm_extra){(uint32_t)memory->entry_count, pickle_number(key), value};
        memory->failed |= !extra;
    }
}

static void read_entry(struct torch_memory *memory, uint32_t object, const struct fields *fields) {
    uint64_t time, stream;
    bool negative;
    struct tm_entry entry = {.name = get_string(fields, ROLE_ACTION), .stack = get_stack(memory, fields)};
    entry.action = action_of(memory, entry.name);
    entry.has = (get_u64(memory, fields, ROLE_ADDR, &entry.address) ? TM_HAS_ADDRESS : 0) |
                (get_u64(memory, fields, ROLE_SIZE, &entry.size) ? TM_HAS_SIZE : 0);
    // oom has the bytes that were wanted, and no address.
    if (get_u64(memory, fields, ROLE_TIME, &time) && time <= INT64_MAX / 1000) {
        entry.time_us = (int64_t)time;
        entry.has |= TM_HAS_TIME;
    }
    if (has_role(fields, ROLE_STREAM) &&
        pickle_integer(&memory->pickle, fields->values[ROLE_STREAM], &stream, &negative))
        entry.stream = stream_number(memory, stream);
    if (fields->others)
        keep_extras(memory, pickle_object(&memory->pickle, (uint64_t)object << 3 | PICKLE_OBJECT));
    struct tm_entry *place = ARRAY_PUSH(memory->entries, memory->entry_count, memory->entry_capacity);
    if (place) {
        *place = entry;
        pickle_replace(&memory->pickle, object, TM_ENTRY, (uint32_t)memory->entry_count - 1);
    }
    memory->failed |= !place;
}

// Old snapshots have the stack of a block in a list of what it was used for, the newest first.
static void read_history(struct torch_memory *memory, const struct fields *fields, struct tm_block *block) {
    const struct pickle_object *list =
        has_role(fields, ROLE_HISTORY) ? pickle_object(&memory->pickle, fields->values[ROLE_HISTORY]) : NULL;
    const struct pickle_object *dict = list && list->kind == PICKLE_LIST && list->count
                                           ? pickle_object(&memory->pickle, list->items[0])
                                           : NULL;
    if (!dict || dict->kind != PICKLE_DICT)
        return;
    const struct fields newest = fields_of(memory, dict);
    block->stack = get_stack(memory, &newest);
    if (!block->has_requested)
        block->has_requested = get_u64(memory, &newest, ROLE_REAL_SIZE, &block->requested);
}

static void read_block(struct torch_memory *memory, uint32_t object, const struct fields *fields) {
    struct tm_block block = {.stack = get_stack(memory, fields), .state = get_string(fields, ROLE_STATE)};
    block.has_address = get_u64(memory, fields, ROLE_ADDRESS, &block.address);
    block.has_requested = get_u64(memory, fields, ROLE_REQUESTED, &block.requested);
    if (!get_u64(memory, fields, ROLE_SIZE, &block.size))
        tm_problem(memory, TM_PROBLEM_MALFORMED);
    if (!block.stack)
        read_history(memory, fields, &block);
    block.live =
        strcmp(tsmith_dictionary_string(memory->dictionary, block.state).bytes, "active_allocated") == 0;
    struct tm_block *place = ARRAY_PUSH(memory->blocks, memory->block_count, memory->block_capacity);
    if (place) {
        *place = block;
        pickle_replace(&memory->pickle, object, TM_BLOCK, (uint32_t)memory->block_count - 1);
    }
    memory->failed |= !place;
}

// The blocks of a segment, which are one behind the other in `blocks` unless another tool wrote the file.
static void read_blocks(struct torch_memory *memory, pickle_value value, struct tm_segment *segment) {
    const struct pickle_object *list = pickle_object(&memory->pickle, value);
    uint64_t at = segment->address;
    uint32_t number;
    if (!list || list->kind != PICKLE_LIST)
        return;
    for (uint32_t i = 0; i < list->count; i++) {
        if (!get_replaced(memory, list->items[i], TM_BLOCK, &number) ||
            (i && number != segment->first_block + i)) {
            tm_problem(memory, TM_PROBLEM_UNREADABLE);
            return;
        }
        if (!i)
            segment->first_block = number;
        struct tm_block *block = &memory->blocks[number];
        if (!block->has_address)
            block->address = at;
        block->has_address = true;
        if (__builtin_add_overflow(block->address, block->size, &at))
            at = UINT64_MAX;
        segment->block_count++;
    }
}

static void read_segment(struct torch_memory *memory, uint32_t object, const struct fields *fields) {
    struct tm_segment segment = {.type = get_string(fields, ROLE_TYPE), .stack = get_stack(memory, fields)};
    uint64_t device, stream;
    bool negative;
    if (!get_u64(memory, fields, ROLE_ADDRESS, &segment.address) ||
        !get_u64(memory, fields, ROLE_TOTAL, &segment.size))
        tm_problem(memory, TM_PROBLEM_MALFORMED);
    segment.has_allocated = get_u64(memory, fields, ROLE_ALLOCATED, &segment.allocated);
    segment.has_active = get_u64(memory, fields, ROLE_ACTIVE, &segment.active);
    if (get_u64(memory, fields, ROLE_DEVICE, &device) && device < INT32_MAX)
        segment.device = (int64_t)device;
    if (has_role(fields, ROLE_STREAM) &&
        pickle_integer(&memory->pickle, fields->values[ROLE_STREAM], &stream, &negative))
        segment.stream = stream_number(memory, stream);
    read_blocks(memory, fields->values[ROLE_BLOCKS], &segment);
    struct tm_segment *place = ARRAY_PUSH(memory->segments, memory->segment_count, memory->segment_capacity);
    if (place) {
        *place = segment;
        pickle_replace(&memory->pickle, object, TM_SEGMENT, (uint32_t)memory->segment_count - 1);
    }
    memory->failed |= !place;
}

void tm_complete(void *context, uint32_t number) {
    struct torch_memory *memory = context;
    const struct pickle_object *object = &memory->pickle.objects[number];
    uint32_t stack;
    if (memory->failed)
        return;
    if (object->kind == PICKLE_LIST) {
        if (find_stack(memory, object, &stack))
            pickle_replace(&memory->pickle, number, TM_STACK, stack);
        return;
    }
    if (object->kind != PICKLE_DICT || !object->count)
        return;
    const struct fields fields = fields_of(memory, object);
    if (has_role(&fields, ROLE_FUNCTION) && has_role(&fields, ROLE_FILE)) {
        const uint32_t frame = find_frame(memory, &fields);
        if (frame)
            pickle_replace(&memory->pickle, number, TM_FRAME, frame);
    } else if (has_role(&fields, ROLE_ACTION)) {
        read_entry(memory, number, &fields);
    } else if (has_role(&fields, ROLE_BLOCKS)) {
        read_segment(memory, number, &fields);
    } else if (has_role(&fields, ROLE_STATE) && has_role(&fields, ROLE_SIZE)) {
        read_block(memory, number, &fields);
    }
}

uint32_t tm_entry_of(const struct torch_memory *memory, pickle_value value) {
    uint32_t number;
    return get_replaced(memory, value, TM_ENTRY, &number) ? number : UINT32_MAX;
}

// ---- the result

static struct tm_device *device_of(struct torch_memory *memory, int64_t number) {
    for (size_t i = 0; i < memory->device_count; i++)
        if (memory->devices[i].number == number)
            return &memory->devices[i];
    if (memory->device_count >= TM_DEVICES_MAX) {
        tm_problem(memory, TM_PROBLEM_TOO_MANY);
        return NULL;
    }
    struct tm_device *device = ARRAY_PUSH(memory->devices, memory->device_count, memory->device_capacity);
    if (device)
        *device = (struct tm_device){number, PICKLE_NONE};
    memory->failed |= !device;
    return device;
}

static void read_segments(struct torch_memory *memory, const struct pickle_object *list) {
    uint32_t number;
    memory->has_segments = true;
    for (uint32_t i = 0; i < list->count; i++)
        if (get_replaced(memory, list->items[i], TM_SEGMENT, &number))
            (void)device_of(memory, memory->segments[number].device);
        else
            tm_problem(memory, TM_PROBLEM_UNREADABLE);
}

static void read_traces(struct torch_memory *memory, const struct pickle_object *list) {
    for (uint32_t i = 0; i < list->count; i++) {
        const struct pickle_object *history = pickle_object(&memory->pickle, list->items[i]);
        if (!history || history->kind != PICKLE_LIST)
            tm_problem(memory, TM_PROBLEM_UNREADABLE);
        if (!history || history->kind != PICKLE_LIST || !history->count)
            continue;
        struct tm_device *device = device_of(memory, i);
        if (device)
            device->history = list->items[i];
    }
}

// Settings are facts about the whole trace.
static void read_settings(struct torch_memory *memory, const struct pickle_object *dict) {
    for (uint32_t i = 0; i + 1 < dict->count; i += 2) {
        char key[128], text[64];
        uint64_t value;
        bool negative;
        if (pickle_type(dict->items[i]) != PICKLE_STRING)
            continue;
        (void)snprintf(key, sizeof key, "torch.allocator_settings.%s",
                       tsmith_dictionary_string(memory->dictionary, pickle_number(dict->items[i])).bytes);
        if (pickle_type(dict->items[i + 1]) == PICKLE_STRING) {
            tsmith_dictionary_set_attribute(
                memory->dictionary, key,
                tsmith_dictionary_string(memory->dictionary, pickle_number(dict->items[i + 1])).bytes);
        } else if (pickle_integer(&memory->pickle, dict->items[i + 1], &value, &negative)) {
            (void)snprintf(text, sizeof text, negative ? "%lld" : "%llu", (unsigned long long)value);
            tsmith_dictionary_set_attribute(memory->dictionary, key, text);
        }
    }
}

static const struct pickle_object *get_object(const struct torch_memory *memory, const struct fields *fields,
                                              enum role role, enum pickle_kind kind) {
    const struct pickle_object *object =
        has_role(fields, role) ? pickle_object(&memory->pickle, fields->values[role]) : NULL;
    return object && object->kind == kind ? object : NULL;
}

bool tm_read_result(struct torch_memory *memory) {
    const struct pickle_object *result = pickle_object(&memory->pickle, pickle_result(&memory->pickle));
    uint32_t number;
    if (!result)
        return false;
    if (result->kind == PICKLE_LIST && result->count &&
        get_replaced(memory, result->items[0], TM_SEGMENT, &number)) {
        read_segments(memory, result); // the oldest form
        return true;
    }
    if (result->kind != PICKLE_DICT)
        return false;
    const struct fields fields = fields_of(memory, result);
    const struct pickle_object *segments = get_object(memory, &fields, ROLE_SEGMENTS, PICKLE_LIST),
                               *traces = get_object(memory, &fields, ROLE_TRACES, PICKLE_LIST),
                               *settings = get_object(memory, &fields, ROLE_SETTINGS, PICKLE_DICT),
                               *ranges = get_object(memory, &fields, ROLE_ANNOTATIONS, PICKLE_LIST);
    if (traces)
        read_traces(memory, traces);
    if (segments)
        read_segments(memory, segments);
    if (settings)
        read_settings(memory, settings);
    if (ranges)
        tm_write_annotations(memory, ranges);
    return segments || traces;
}
