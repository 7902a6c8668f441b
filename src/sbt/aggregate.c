// SPDX-License-Identifier: Apache-2.0
// Invariant: `slots` is a power of two of slots, at most half full, each holding the index + 1 of an entry or
// 0.
#include <string.h>

#include "base/array.h"
#include "sbt/totals.h"

void aggregates_finish(struct aggregates *aggregates) {
    free(aggregates->entries);
    free(aggregates->slots);
    *aggregates = (struct aggregates){0};
}

void aggregates_clear(struct aggregates *aggregates) {
    aggregates->count = 0;
    if (aggregates->slots)
        memset(aggregates->slots, 0, aggregates->slot_count * sizeof *aggregates->slots);
}

static size_t home(const struct aggregates *aggregates, unsigned kind, uint32_t name) {
    uint64_t key = (uint64_t)name << 8 | kind;
    return (size_t)((key * 0x9e3779b97f4a7c15u) >> 32) & (aggregates->slot_count - 1);
}

static bool rebuild_slots(struct aggregates *aggregates, size_t slot_count) {
    uint32_t *slots = calloc(slot_count, sizeof *slots);
    if (!slots)
        return false;
    free(aggregates->slots);
    aggregates->slots = slots;
    aggregates->slot_count = slot_count;
    for (size_t i = 0; i < aggregates->count; i++) {
        size_t at = home(aggregates, aggregates->entries[i].total.kind, aggregates->entries[i].total.name);
        while (slots[at])
            at = (at + 1) & (slot_count - 1);
        slots[at] = (uint32_t)i + 1;
    }
    return true;
}

// The entry, added when it is new; NULL when memory or the limit is exhausted.
static struct aggregate_entry *find(struct aggregates *aggregates, unsigned kind, uint32_t name) {
    if (aggregates->count * 2 >= aggregates->slot_count &&
        !rebuild_slots(aggregates, aggregates->slot_count ? aggregates->slot_count * 2 : 64))
        return NULL;
    size_t at = home(aggregates, kind, name);
    for (; aggregates->slots[at]; at = (at + 1) & (aggregates->slot_count - 1)) {
        struct aggregate_entry *entry = &aggregates->entries[aggregates->slots[at] - 1];
        if (entry->total.kind == kind && entry->total.name == name)
            return entry;
    }
    void *entries = aggregates->entries;
    if (aggregates->count == SBT_MAX_AGGREGATES ||
        !array_reserve(&entries, &aggregates->capacity, aggregates->count + 1, sizeof *aggregates->entries))
        return NULL;
    aggregates->entries = entries;
    struct aggregate_entry *entry = &aggregates->entries[aggregates->count++];
    *entry = (struct aggregate_entry){.total = {.name = name, .kind = (uint8_t)kind}};
    aggregates->slots[at] = (uint32_t)aggregates->count;
    return entry;
}

static void add_durations(struct aggregate_entry *entry, const tsmith_column *column, uint32_t from,
                          uint32_t to) {
    uint64_t total = 0, least = UINT64_MAX, greatest = 0, timed = 0;
    const int64_t *durations = column->values;
    for (uint32_t row = from; row < to; row++) {
        if (column->valid && !tsmith_column_has(column, row))
            continue;
        uint64_t duration = durations[row] > 0 ? (uint64_t)durations[row] : 0;
        total += duration;
        least = duration < least ? duration : least;
        greatest = duration > greatest ? duration : greatest;
        timed++;
    }
    if (timed == 0)
        return;
    entry->total.min = entry->timed == 0 || least < entry->total.min ? least : entry->total.min;
    entry->total.max = greatest > entry->total.max ? greatest : entry->total.max;
    entry->total.total += total;
    entry->timed += timed;
}

// What is asked of each row: its kind and name as one number.
struct keys {
    const uint8_t *kinds;
    tsmith_column names;
    bool named;
};

static uint64_t key_at(const struct keys *keys, uint32_t row) {
    bool named = keys->named && (!keys->names.valid || tsmith_column_has(&keys->names, row));
    uint32_t name = named ? ((const uint32_t *)keys->names.values)[row] : 0;
    return (uint64_t)name << 8 | keys->kinds[row];
}

// Events of one kind and name often follow one another.
static uint32_t end_of_run(const struct keys *keys, uint32_t row, uint32_t count) {
    uint64_t key = key_at(keys, row);
    if (keys->named && !keys->names.valid) {
        const uint32_t *names = keys->names.values;
        uint32_t name = names[row];
        uint8_t kind = keys->kinds[row];
        while (row < count && names[row] == name && keys->kinds[row] == kind)
            row++;
        return row;
    }
    while (row < count && key_at(keys, row) == key)
        row++;
    return row;
}

void aggregates_add(struct aggregates *aggregates, const tsmith_batch *batch) {
    tsmith_column kind, duration;
    struct keys keys;
    if (!tsmith_batch_column(batch, TSMITH_FIELD_KIND, &kind))
        return;
    keys.kinds = kind.values;
    keys.named = tsmith_batch_column(batch, TSMITH_FIELD_NAME, &keys.names) != 0;
    bool timed = tsmith_batch_column(batch, TSMITH_FIELD_DURATION, &duration) != 0;
    // The few names of a batch come again and again: where they were found last is looked at first.
    enum { RECENT = 64 };
    struct {
        uint64_t key;
        size_t index;
    } recent[RECENT];
    for (size_t i = 0; i < RECENT; i++)
        recent[i].key = UINT64_MAX;
    uint32_t count = tsmith_batch_count(batch);
    for (uint32_t from = 0, to; from < count; from = to) {
        uint64_t key = key_at(&keys, from);
        size_t slot = ((key >> 8) * 7 + (key & 255)) % RECENT;
        to = end_of_run(&keys, from, count);
        if (recent[slot].key != key) {
            struct aggregate_entry *found = find(aggregates, key & 255, (uint32_t)(key >> 8));
            if (!found) {
                aggregates->failed = true;
                return;
            }
            recent[slot].key = key;
            recent[slot].index = (size_t)(found - aggregates->entries);
        }
        struct aggregate_entry *entry = &aggregates->entries[recent[slot].index];
        entry->total.count += to - from;
        if (timed)
            add_durations(entry, &duration, from, to);
    }
}

static int by_kind_and_name(const void *a, const void *b) {
    const tsmith_aggregate *left = &((const struct aggregate_entry *)a)->total;
    const tsmith_aggregate *right = &((const struct aggregate_entry *)b)->total;
    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    return left->name < right->name ? -1 : left->name > right->name;
}

void aggregates_write(struct aggregates *aggregates, uint64_t first_sequence, struct packer *packer,
                      struct output *out) {
    struct output plain = {0};
    if (aggregates->count) {
        qsort(aggregates->entries, aggregates->count, sizeof *aggregates->entries, by_kind_and_name);
        if (!rebuild_slots(aggregates, aggregates->slot_count))
            out->failed = true;
    }
    output_varint(&plain, first_sequence);
    output_varint(&plain, aggregates->count);
    for (size_t i = 0; i < aggregates->count; i++) {
        const struct aggregate_entry *entry = &aggregates->entries[i];
        output_varint(&plain, entry->total.kind);
        output_varint(&plain, entry->total.name);
        output_varint(&plain, entry->total.count);
        output_varint(&plain, entry->timed);
        output_varint(&plain, entry->total.total);
        output_varint(&plain, entry->total.min);
        output_varint(&plain, entry->total.max);
    }
    blob_write(packer, out, plain.bytes, plain.length);
    out->failed |= plain.failed || aggregates->failed;
    free(plain.bytes);
}

// ---- reading

static bool read_entry(struct input *in, struct aggregate_entry *entry) {
    uint32_t kind;
    *entry = (struct aggregate_entry){0};
    if (!input_count(in, 255, &kind) || !input_count(in, UINT32_MAX, &entry->total.name) ||
        !input_varint(in, &entry->total.count) || !input_varint(in, &entry->timed) ||
        !input_varint(in, &entry->total.total) || !input_varint(in, &entry->total.min) ||
        !input_varint(in, &entry->total.max))
        return false;
    entry->total.kind = kind < TSMITH_KIND_LIMIT ? (uint8_t)kind : 0;
    return true;
}

static bool read_all(struct input in, uint32_t count) {
    struct aggregate_entry entry;
    for (uint32_t i = 0; i < count; i++)
        if (!read_entry(&in, &entry))
            return false;
    return input_left(&in) == 0;
}

static bool merge(struct aggregates *aggregates, const struct aggregate_entry *more) {
    struct aggregate_entry *entry = find(aggregates, more->total.kind, more->total.name);
    if (!entry)
        return false;
    if (more->timed) {
        if (entry->timed == 0 || more->total.min < entry->total.min)
            entry->total.min = more->total.min;
        if (entry->timed == 0 || more->total.max > entry->total.max)
            entry->total.max = more->total.max;
    }
    entry->timed += more->timed;
    entry->total.count += more->total.count;
    entry->total.total += more->total.total;
    return true;
}

bool aggregates_read(struct aggregates *aggregates, struct input payload, struct scratch *scratch,
                     uint64_t *first_sequence) {
    struct input in;
    uint32_t count;
    scratch_reset(scratch, SBT_MAX_PAYLOAD);
    if (!blob_read(&payload, SBT_MAX_PAYLOAD, scratch, &in) || input_left(&payload) ||
        !input_varint(&in, first_sequence) || !input_count(&in, input_left(&in) / 7, &count) ||
        !read_all(in, count))
        return false;
    struct aggregate_entry entry;
    for (uint32_t i = 0; i < count; i++) {
        (void)read_entry(&in, &entry);
        if (!merge(aggregates, &entry)) {
            aggregates->failed = true;
            return true;
        }
    }
    return true;
}
