// SPDX-License-Identifier: Apache-2.0
// Events of a snapshot: what had been allocated before (certainty untimed), the history in its order, and the segments at its end.
// The clock of the history has microseconds: entries within one are 1 ns apart, so that none overtakes another.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "import/torch_memory/torch_memory.h"

enum { RANGES_OPEN_MAX = 1024 };

// X(NAME, "name", "unit"): fields of these events that no other source has.
#define TM_FIELD_TABLE(X)                                                                                    \
    X(ALLOCATED, "Total Allocated", "bytes")                                                                 \
    X(RESERVED, "Total Reserved", "bytes")                                                                   \
    X(SEGMENT_ALLOCATED, "Segment Allocated", "bytes")                                                       \
    X(SEGMENT_REQUESTED, "Segment Requested", "bytes")                                                       \
    X(SEGMENT_ACTIVE, "Segment Active", "bytes")                                                             \
    X(SEGMENT_LARGEST_FREE, "Segment Largest Free", "bytes")                                                 \
    X(SEGMENT_BLOCKS, "Segment Blocks", "blocks")                                                            \
    X(BEFORE, "Before History", "")

enum tm_field {
#define FIELD_ENUM(NAME, name, unit) FIELD_##NAME,
    TM_FIELD_TABLE(FIELD_ENUM)
#undef FIELD_ENUM
        FIELD_COUNT
};

// ---- places of values

static void set_field(struct torch_memory *memory, tsmith_batch *batch, enum tm_field field, uint64_t value) {
    static const struct {
        const char *name, *unit;
    } rows[FIELD_COUNT] = {
#define FIELD_ROW(NAME, name, unit) {name, unit},
        TM_FIELD_TABLE(FIELD_ROW)
#undef FIELD_ROW
    };
    const uint32_t id =
        tsmith_dictionary_field(memory->dictionary, rows[field].name, TSMITH_TYPE_U64, rows[field].unit);
    memory->failed |= !id || tsmith_batch_set_dynamic(batch, id, TSMITH_TYPE_U64, value) != TSMITH_OK;
}

static void set_device(struct torch_memory *memory, tsmith_batch *batch) {
    const uint32_t id = tsmith_dictionary_field(memory->dictionary, "Device Id", TSMITH_TYPE_I64, "");
    memory->failed |=
        !id || tsmith_batch_set_dynamic(batch, id, TSMITH_TYPE_I64,
                                        (uint64_t)memory->devices[memory->device_at].number) != TSMITH_OK;
}

static void set(struct torch_memory *memory, tsmith_batch *batch, uint32_t field, uint64_t value) {
    memory->failed |= tsmith_batch_set(batch, field, value) != TSMITH_OK;
}

static uint32_t track_of(struct torch_memory *memory, uint32_t stream) {
    bool is_new;
    uint64_t *slot = table_add(&memory->tracks, (uint64_t)memory->device_at << 32 | stream, &is_new);
    if (!slot)
        return 0;
    if (is_new) {
        const tsmith_track track = {.kind = TSMITH_TRACK_QUEUE,
                                    .device = memory->device_entry,
                                    .queue = stream < memory->stream_count ? memory->stream_names[stream] : 0,
                                    .flags = stream < memory->stream_count ? 0 : TSMITH_TRACK_UNNUMBERED};
        *slot = tsmith_dictionary_add_track(memory->dictionary, &track);
    }
    return (uint32_t)*slot;
}

static tsmith_batch *new_row(struct torch_memory *memory, uint32_t stream, tsmith_kind kind, int64_t start,
                             uint32_t name) {
    const uint32_t track = track_of(memory, stream);
    tsmith_batch *batch = track ? gather_row(&memory->gather, track, kind, kind, start, 0) : NULL;
    memory->failed |= !batch;
    if (batch) {
        set(memory, batch, TSMITH_FIELD_NAME, name);
        set_device(memory, batch);
    }
    return batch;
}

static void set_balance(struct torch_memory *memory, tsmith_batch *batch) {
    if (memory->balance.has_allocated)
        set_field(memory, batch, FIELD_ALLOCATED, memory->balance.allocated);
    if (memory->balance.has_reserved)
        set_field(memory, batch, FIELD_RESERVED, memory->balance.reserved);
}

// ---- before the history

static void write_before(struct torch_memory *memory, const struct tm_before *before) {
    const uint32_t name = tsmith_dictionary_intern_cstr(memory->dictionary, "alloc");
    tsmith_batch *batch = new_row(memory, before->stream, TSMITH_KIND_ALLOC, memory->first_ns - 1, name);
    if (!batch)
        return;
    set(memory, batch, TSMITH_FIELD_OBJECT, before->address);
    set(memory, batch, TSMITH_FIELD_BYTES, before->size);
    set(memory, batch, TSMITH_FIELD_CERTAINTY, TSMITH_CERTAINTY_UNTIMED);
    set_field(memory, batch, FIELD_BEFORE, 1);
    set_balance(memory, batch); // that of all of them, at this moment
    if (before->stack)
        set(memory, batch, TSMITH_FIELD_STACK, before->stack);
}

// ---- the history

static int64_t time_of(struct torch_memory *memory, const struct tm_entry *entry) {
    if (!(entry->has & TM_HAS_TIME))
        tm_problem(memory, TM_PROBLEM_NO_TIME);
    const int64_t ns = entry->has & TM_HAS_TIME ? entry->time_us * 1000 : 0;
    memory->last_ns = ns > memory->last_ns ? ns : memory->last_ns + 1;
    return memory->last_ns;
}

static void add_to(uint64_t *sum, bool *known, const struct tm_entry *entry, bool grows) {
    if (!(entry->has & TM_HAS_SIZE) || (grows ? __builtin_add_overflow(*sum, entry->size, sum)
                                              : __builtin_sub_overflow(*sum, entry->size, sum)))
        *known = false;
}

// The bytes allocated and reserved after the entry.
static void count(struct torch_memory *memory, const struct tm_entry *entry) {
    struct tm_balance *balance = &memory->balance;
    switch (entry->action) {
    case TM_ALLOC:
        add_to(&balance->allocated, &balance->has_allocated, entry, true);
        break;
    case TM_FREE:
    case TM_FREE_REQUESTED:
        add_to(&balance->allocated, &balance->has_allocated, entry, false);
        break;
    case TM_SEGMENT_ALLOC:
    case TM_SEGMENT_MAP:
        add_to(&balance->reserved, &balance->has_reserved, entry, true);
        break;
    case TM_SEGMENT_FREE:
    case TM_SEGMENT_UNMAP:
        add_to(&balance->reserved, &balance->has_reserved, entry, false);
        break;
    default:
        break;
    }
}

static void set_value(struct torch_memory *memory, tsmith_batch *batch, const struct tm_extra *extra) {
    const char *name = tsmith_dictionary_string(memory->dictionary, extra->key).bytes;
    const enum pickle_type type = pickle_type(extra->value);
    uint64_t bits;
    bool negative = false;
    tsmith_type as = TSMITH_TYPE_U64;
    if (type == PICKLE_STRING) {
        as = TSMITH_TYPE_STRING;
        bits = pickle_number(extra->value);
    } else if (type == PICKLE_FLOAT) {
        as = TSMITH_TYPE_F64;
        bits = memory->pickle.wide[extra->value >> 3].bits;
    } else if (pickle_integer(&memory->pickle, extra->value, &bits, &negative)) {
        as = negative ? TSMITH_TYPE_I64 : TSMITH_TYPE_U64;
    } else {
        return;
    }
    const uint32_t id = tsmith_dictionary_field(memory->dictionary, name, as, "");
    if (id) // too many names: no value is worth a trace
        (void)tsmith_batch_set_dynamic(batch, id, as, bits);
}

static void set_extras(struct torch_memory *memory, tsmith_batch *batch, uint32_t number) {
    size_t at = SORTED_FIND(i, 0, memory->extra_count, memory->extras[i].entry < number);
    for (; at < memory->extra_count && memory->extras[at].entry == number; at++)
        set_value(memory, batch, &memory->extras[at]);
}

static void write_entry(struct torch_memory *memory, uint32_t number) {
    const struct tm_entry *entry = &memory->entries[number];
    const bool frees = entry->action == TM_FREE || entry->action == TM_FREE_REQUESTED,
               about_block = (frees || entry->action == TM_ALLOC) && entry->has & TM_HAS_ADDRESS;
    const tsmith_kind kind = !about_block ? TSMITH_KIND_MARKER : frees ? TSMITH_KIND_FREE : TSMITH_KIND_ALLOC;
    tsmith_batch *batch = new_row(memory, entry->stream, kind, time_of(memory, entry), entry->name);
    count(memory, entry);
    if (!batch)
        return;
    if (entry->has & TM_HAS_ADDRESS)
        set(memory, batch, about_block ? TSMITH_FIELD_OBJECT : TSMITH_FIELD_ADDRESS, entry->address);
    if (entry->has & TM_HAS_SIZE)
        set(memory, batch, TSMITH_FIELD_BYTES, entry->size);
    if (entry->stack)
        set(memory, batch, TSMITH_FIELD_STACK, entry->stack);
    if (!(entry->has & TM_HAS_TIME))
        set(memory, batch, TSMITH_FIELD_CERTAINTY, TSMITH_CERTAINTY_UNTIMED);
    set_balance(memory, batch);
    set_extras(memory, batch, number);
}

// ---- the segments

static void write_segment(struct torch_memory *memory, const struct tm_segment *segment) {
    const uint32_t name = tsmith_dictionary_intern_cstr(memory->dictionary, "segment");
    uint64_t allocated = 0, requested = 0, active = 0, largest = 0, run = 0, at = segment->address;
    tsmith_batch *batch = new_row(memory, segment->stream, TSMITH_KIND_MARKER, memory->last_ns + 1, name);
    if (!batch)
        return;
    for (uint32_t i = 0; i < segment->block_count; i++) {
        const struct tm_block *block = &memory->blocks[segment->first_block + i];
        const char *state = tsmith_dictionary_string(memory->dictionary, block->state).bytes;
        const bool is_active = strncmp(state, "active", 6) == 0;
        allocated += block->live ? block->size : 0;
        requested += block->live ? (block->has_requested ? block->requested : block->size) : 0;
        active += is_active ? block->size : 0;
        run = is_active ? 0 : block->address == at ? run + block->size : block->size;
        at = block->address + block->size;
        largest = run > largest ? run : largest;
    }
    set(memory, batch, TSMITH_FIELD_ADDRESS, segment->address);
    set(memory, batch, TSMITH_FIELD_BYTES, segment->size);
    if (segment->type)
        set(memory, batch, TSMITH_FIELD_CATEGORY, segment->type);
    if (segment->stack)
        set(memory, batch, TSMITH_FIELD_STACK, segment->stack);
    set_field(memory, batch, FIELD_SEGMENT_ALLOCATED, allocated);
    set_field(memory, batch, FIELD_SEGMENT_REQUESTED, requested);
    set_field(memory, batch, FIELD_SEGMENT_ACTIVE, active);
    set_field(memory, batch, FIELD_SEGMENT_LARGEST_FREE, largest);
    set_field(memory, batch, FIELD_SEGMENT_BLOCKS, segment->block_count);
}

// ---- what the program marked

struct open_range {
    uint32_t name;
    int64_t start, device;
};

static uint64_t find_number(const struct torch_memory *memory, const struct pickle_object *dict,
                            const char *key, bool *found) {
    uint64_t value = 0;
    bool negative = false;
    *found = false;
    for (uint32_t i = 0; i + 1 < dict->count && !*found; i += 2)
        if (pickle_type(dict->items[i]) == PICKLE_STRING &&
            strcmp(tsmith_dictionary_string(memory->dictionary, pickle_number(dict->items[i])).bytes, key) ==
                0)
            *found = pickle_integer(&memory->pickle, dict->items[i + 1], &value, &negative) && !negative;
    return value;
}

static uint32_t find_text(const struct torch_memory *memory, const struct pickle_object *dict,
                          const char *key) {
    for (uint32_t i = 0; i + 1 < dict->count; i += 2)
        if (pickle_type(dict->items[i]) == PICKLE_STRING &&
            pickle_type(dict->items[i + 1]) == PICKLE_STRING &&
            strcmp(tsmith_dictionary_string(memory->dictionary, pickle_number(dict->items[i])).bytes, key) ==
                0)
            return pickle_number(dict->items[i + 1]);
    return 0;
}

static void write_range(struct torch_memory *memory, uint32_t track, const struct open_range *range,
                        int64_t end) {
    tsmith_batch *batch = gather_row(&memory->gather, track, 0, TSMITH_KIND_RANGE, range->start,
                                     end > range->start ? end - range->start : 0);
    memory->failed |= !batch;
    if (!batch)
        return;
    set(memory, batch, TSMITH_FIELD_NAME, range->name);
    set(memory, batch, TSMITH_FIELD_DURATION, end > range->start ? (uint64_t)(end - range->start) : 0);
}

// The end of the newest open range of this name.
static void end_range(struct torch_memory *memory, uint32_t track, struct open_range *open, size_t *count,
                      const struct open_range *end) {
    for (size_t i = *count; i-- > 0;) {
        if (open[i].name != end->name || open[i].device != end->device)
            continue;
        write_range(memory, track, &open[i], end->start);
        memmove(&open[i], &open[i + 1], (--*count - i) * sizeof *open);
        return;
    }
    tm_problem(memory, TM_PROBLEM_UNMATCHED);
}

void tm_write_annotations(struct torch_memory *memory, const struct pickle_object *list) {
    struct open_range *open = malloc(RANGES_OPEN_MAX * sizeof *open);
    const tsmith_track row = {.kind = TSMITH_TRACK_CUSTOM,
                              .name = tsmith_dictionary_intern_cstr(memory->dictionary, "annotations")};
    const uint32_t track = list->count ? tsmith_dictionary_add_track(memory->dictionary, &row) : 0;
    size_t count = 0;
    memory->failed |= !open || (list->count && !track);
    for (uint32_t i = 0; i < list->count && !memory->failed; i++) {
        const struct pickle_object *dict = pickle_object(&memory->pickle, list->items[i]);
        bool timed = false, has_device;
        if (!dict || dict->kind != PICKLE_DICT)
            continue;
        struct open_range range = {.name = find_text(memory, dict, "name")};
        const uint64_t time = find_number(memory, dict, "time_us", &timed);
        range.device = (int64_t)find_number(memory, dict, "device", &has_device);
        range.start = time <= INT64_MAX / 1000 ? (int64_t)time * 1000 : 0;
        const char *stage =
            tsmith_dictionary_string(memory->dictionary, find_text(memory, dict, "stage")).bytes;
        if (!timed || !range.name || time > INT64_MAX / 1000)
            tm_problem(memory, TM_PROBLEM_UNREADABLE);
        else if (strcmp(stage, "END") == 0)
            end_range(memory, track, open, &count, &range);
        else if (count < RANGES_OPEN_MAX)
            open[count++] = range;
        else
            tm_problem(memory, TM_PROBLEM_UNMATCHED);
    }
    memory->problems[TM_PROBLEM_UNMATCHED] += count;
    free(open);
}

// ---- from stage to stage

static const struct pickle_object *history(const struct torch_memory *memory) {
    return pickle_object(&memory->pickle, memory->devices[memory->device_at].history);
}

static void begin_device(struct torch_memory *memory) {
    const struct tm_device *device = &memory->devices[memory->device_at];
    const tsmith_device row = {.number = (uint32_t)device->number + 1,
                               .type = tsmith_dictionary_intern_cstr(memory->dictionary, "gpu")};
    const struct pickle_object *list = history(memory);
    memory->device_entry = tsmith_dictionary_add_device(memory->dictionary, &row);
    tm_balance(memory);
    memory->first_ns = 1;
    for (uint32_t i = 0; list && i < list->count; i++) {
        const uint32_t number = tm_entry_of(memory, list->items[i]);
        if (number == UINT32_MAX || !(memory->entries[number].has & TM_HAS_TIME))
            continue;
        memory->first_ns = memory->entries[number].time_us * 1000;
        break;
    }
    memory->last_ns = memory->first_ns - 1;
    memory->entry_at = 0;
    memory->stage = TM_BEFORE;
}

static void run_history(struct torch_memory *memory) {
    const struct pickle_object *list = history(memory);
    if (!list || memory->entry_at >= list->count) {
        memory->stage = TM_SEGMENTS;
        memory->entry_at = 0;
        return;
    }
    const uint32_t number = tm_entry_of(memory, list->items[memory->entry_at++]);
    if (number == UINT32_MAX)
        tm_problem(memory, TM_PROBLEM_UNREADABLE);
    else
        write_entry(memory, number);
}

static void run_segments(struct torch_memory *memory) {
    if (memory->entry_at >= memory->segment_count) {
        memory->stage = TM_NEXT;
        memory->device_at++;
        return;
    }
    const struct tm_segment *segment = &memory->segments[memory->entry_at++];
    if (segment->device == memory->devices[memory->device_at].number)
        write_segment(memory, segment);
}

bool tm_rows_run(struct torch_memory *memory) {
    switch (memory->stage) {
    case TM_BEFORE:
        if (memory->entry_at < memory->balance.count) {
            write_before(memory, &memory->balance.before[memory->entry_at++]);
            return true;
        }
        memory->stage = TM_HISTORY;
        memory->entry_at = 0;
        return true;
    case TM_HISTORY:
        run_history(memory);
        return true;
    case TM_SEGMENTS:
        run_segments(memory);
        return true;
    default:
        break;
    }
    if (memory->device_at >= memory->device_count)
        return false;
    begin_device(memory);
    return true;
}
