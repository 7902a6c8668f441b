// SPDX-License-Identifier: Apache-2.0
// Invariant: `slots` is a power of two of slots, at most half full, each holding the index + 1 of an entry or
// 0.
#include <string.h>

#include "base/array.h"
#include "base/table.h"
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

static uint64_t hash_of(unsigned kind, uint32_t name) {
    return (((uint64_t)name << 8 | kind) * 0x9e3779b97f4a7c15u) >> 32;
}

static bool is_of(const struct aggregate_entry *entry, unsigned kind, uint32_t name) {
    return entry->total.kind == kind && entry->total.name == name;
}

// The entry, added when it is new; NULL when memory or the limit is exhausted.
static struct aggregate_entry *find(struct aggregates *aggregates, unsigned kind, uint32_t name) {
    const struct aggregate_entry *entries = aggregates->entries;
    if (!TABLE_ROOM(aggregates->slots, aggregates->slot_count, aggregates->count, 64, slot, *slot,
                    hash_of(entries[*slot - 1].total.kind, entries[*slot - 1].total.name)))
        return NULL;
    uint32_t *found = TABLE_SLOT(aggregates->slots, aggregates->slot_count, hash_of(kind, name), slot,
                                 !*slot || is_of(&entries[*slot - 1], kind, name));
    if (*found)
        return &aggregates->entries[*found - 1];
    if (aggregates->count == SBT_MAX_AGGREGATES ||
        !ARRAY_RESERVE(aggregates->entries, aggregates->capacity, aggregates->count + 1))
        return NULL;
    struct aggregate_entry *entry = &aggregates->entries[aggregates->count++];
    *entry = (struct aggregate_entry){.total = {.name = name, .kind = (uint8_t)kind}};
    *found = (uint32_t)aggregates->count;
    return entry;
}

// The few names of a batch come again and again: their rows are summed up here first. A power of two in bytes.
enum { RECENT = 64 };
struct recent {
    uint64_t key; // name << 8 | kind
    uint64_t count, untimed, total, least, greatest;
    uint64_t unused[2];
};
static const uint64_t NO_KEY = UINT64_MAX;

static bool add_sum(struct aggregates *aggregates, const struct recent *sum) {
    struct aggregate_entry *entry =
        sum->count ? find(aggregates, sum->key & 255, (uint32_t)(sum->key >> 8)) : NULL;
    if (!entry)
        return sum->count == 0;
    entry->total.count += sum->count;
    if (sum->untimed == sum->count)
        return true;
    entry->total.min = entry->timed == 0 || sum->least < entry->total.min ? sum->least : entry->total.min;
    entry->total.max = sum->greatest > entry->total.max ? sum->greatest : entry->total.max;
    entry->total.total += sum->total;
    entry->timed += sum->count - sum->untimed;
    return true;
}

// The columns of a batch; NULL: missing; a bitmap that is NULL: all rows.
struct rows {
    const uint8_t *kinds;
    const uint32_t *names;
    const uint64_t *named;
    const int64_t *durations;
    const uint64_t *timed;
    uint32_t count;
};

static __attribute__((noinline)) bool make_room(struct aggregates *aggregates, struct recent *sum,
                                                uint64_t key) {
    const bool done = add_sum(aggregates, sum);
    *sum = (struct recent){.key = key, .least = UINT64_MAX};
    return done;
}

__attribute__((always_inline)) static inline bool add_rows(struct aggregates *aggregates,
                                                           struct recent *recent, struct rows rows) {
    bool done = true;
    for (uint32_t row = 0; row < rows.count; row++) {
        const bool named = rows.names && (!rows.named || (rows.named[row / 64] >> (row % 64) & 1));
        const uint32_t kind = rows.kinds[row], name = named ? rows.names[row] : 0;
        const uint64_t key = (uint64_t)name << 8 | kind;
        struct recent *sum = &recent[(name * 7 + kind) % RECENT];
        if (__builtin_expect(sum->key != key, 0))
            done &= make_room(aggregates, sum, key);
        sum->count++;
        if (!rows.durations || (rows.timed && !(rows.timed[row / 64] >> (row % 64) & 1))) {
            sum->untimed++;
            continue;
        }
        const uint64_t duration = rows.durations[row] > 0 ? (uint64_t)rows.durations[row] : 0;
        sum->total += duration;
        // Seldom: as jumps these cost less than as values that are stored again.
        if (__builtin_expect(duration < sum->least, 0))
            sum->least = duration;
        if (__builtin_expect(duration > sum->greatest, 0))
            sum->greatest = duration;
    }
    return done;
}

void aggregates_add(struct aggregates *aggregates, const tsmith_batch *batch) {
    tsmith_column kind, name, duration;
    struct recent recent[RECENT];
    struct rows rows = {.count = tsmith_batch_count(batch)};
    if (!tsmith_batch_column(batch, TSMITH_FIELD_KIND, &kind))
        return;
    rows.kinds = kind.values;
    if (tsmith_batch_column(batch, TSMITH_FIELD_NAME, &name))
        rows.names = name.values, rows.named = name.valid;
    if (tsmith_batch_column(batch, TSMITH_FIELD_DURATION, &duration))
        rows.durations = duration.values, rows.timed = duration.valid;
    for (size_t i = 0; i < RECENT; i++)
        recent[i] = (struct recent){.key = NO_KEY};
    // Most batches have both of all rows: for those a loop that does not ask.
    bool done;
    if (rows.names && !rows.named && rows.durations && !rows.timed)
        done = add_rows(
            aggregates, recent,
            (struct rows){
                .kinds = rows.kinds, .names = rows.names, .durations = rows.durations, .count = rows.count});
    else
        done = add_rows(aggregates, recent, rows);
    for (size_t i = 0; i < RECENT; i++)
        done &= add_sum(aggregates, &recent[i]);
    aggregates->failed |= !done;
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
        memset(aggregates->slots, 0, aggregates->slot_count * sizeof *aggregates->slots);
        for (size_t i = 0; i < aggregates->count; i++) {
            const tsmith_aggregate *total = &aggregates->entries[i].total;
            *TABLE_SLOT(aggregates->slots, aggregates->slot_count, hash_of(total->kind, total->name), slot,
                        !*slot) = (uint32_t)i + 1;
        }
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
