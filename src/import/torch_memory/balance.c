// SPDX-License-Identifier: Apache-2.0
// What had been allocated when the history of a device begins. The segments are the state at the end; what the history does not
// explain of it was there before, and so was what the history frees without having allocated it.
#include "base/array.h"
#include "import/torch_memory/torch_memory.h"

static const uint64_t SEEN = UINT64_MAX; // alive at the end, by history and by segments

static void add_before(struct torch_memory *memory, uint64_t address, uint64_t size, uint32_t stream,
                       uint32_t stack) {
    struct tm_balance *balance = &memory->balance;
    struct tm_before *before = ARRAY_PUSH(balance->before, balance->count, balance->capacity);
    if (before)
        *before = (struct tm_before){address, size, stream, stack};
    memory->failed |= !before;
}

// Sums of what the history adds and takes; what overflows is unknown.
struct sums {
    int64_t reserved;
    bool overflow;
    uint64_t disagree; // with itself
};

static void follow_entry(struct torch_memory *memory, uint32_t number, struct sums *sums) {
    const struct tm_entry *entry = &memory->entries[number];
    const bool grows = entry->action == TM_SEGMENT_ALLOC || entry->action == TM_SEGMENT_MAP,
               shrinks = entry->action == TM_SEGMENT_FREE || entry->action == TM_SEGMENT_UNMAP;
    if ((grows || shrinks) && entry->has & TM_HAS_SIZE) {
        sums->overflow |=
            entry->size > INT64_MAX ||
            (grows ? __builtin_add_overflow(sums->reserved, (int64_t)entry->size, &sums->reserved)
                   : __builtin_sub_overflow(sums->reserved, (int64_t)entry->size, &sums->reserved));
        return;
    }
    if (!(entry->has & TM_HAS_ADDRESS))
        return;
    if (entry->action != TM_ALLOC && entry->action != TM_FREE && entry->action != TM_FREE_REQUESTED)
        return;
    bool is_new;
    uint64_t *slot = table_add(&memory->alive, entry->address, &is_new);
    if (!slot) {
        memory->failed = true;
    } else if (entry->action == TM_ALLOC) {
        sums->disagree += *slot != 0; // its free is missing
        *slot = (uint64_t)number + 1;
    } else {
        if (is_new && entry->has & TM_HAS_SIZE)
            add_before(memory, entry->address, entry->size, entry->stream, 0);
        sums->disagree += !is_new && !*slot;
        *slot = 0;
    }
}

static void follow_history(struct torch_memory *memory, struct sums *sums) {
    const struct pickle_object *list =
        pickle_object(&memory->pickle, memory->devices[memory->device_at].history);
    for (uint32_t i = 0; list && i < list->count && !memory->failed; i++) {
        const uint32_t number = tm_entry_of(memory, list->items[i]);
        if (number != UINT32_MAX)
            follow_entry(memory, number, sums);
    }
}

// A block that is allocated in the end.
static void follow_block(struct torch_memory *memory, const struct tm_segment *segment,
                         const struct tm_block *block, uint64_t *disagree) {
    bool is_new;
    uint64_t *slot = table_add(&memory->alive, block->address, &is_new);
    if (!slot)
        memory->failed = true;
    else if (is_new)
        add_before(memory, block->address, block->has_requested ? block->requested : block->size,
                   segment->stream, block->stack);
    else if (!*slot) // the history has freed it
        (*disagree)++;
    if (slot)
        *slot = SEEN;
}

static uint64_t follow_segments(struct torch_memory *memory, int64_t *reserved) {
    const int64_t device = memory->devices[memory->device_at].number;
    uint64_t disagree = 0;
    for (size_t i = 0; i < memory->segment_count && !memory->failed; i++) {
        const struct tm_segment *segment = &memory->segments[i];
        if (segment->device != device)
            continue;
        if (segment->size > INT64_MAX || __builtin_add_overflow(*reserved, (int64_t)segment->size, reserved))
            *reserved = INT64_MIN;
        for (uint32_t j = 0; j < segment->block_count && !memory->failed; j++)
            if (memory->blocks[segment->first_block + j].live)
                follow_block(memory, segment, &memory->blocks[segment->first_block + j], &disagree);
    }
    for (size_t i = 0; i < memory->alive.capacity; i++)
        disagree += memory->alive.slots[i].key && memory->alive.slots[i].value &&
                    memory->alive.slots[i].value != SEEN;
    return disagree;
}

void tm_balance(struct torch_memory *memory) {
    struct tm_balance *balance = &memory->balance;
    struct sums sums = {0};
    int64_t reserved = 0;
    balance->count = 0;
    balance->allocated = balance->reserved = 0;
    table_finish(&memory->alive);
    follow_history(memory, &sums);
    const uint64_t disagree = sums.disagree + (memory->has_segments ? follow_segments(memory, &reserved) : 0);
    memory->problems[TM_PROBLEM_DISAGREE] += disagree;
    balance->has_allocated = memory->has_segments && !disagree;
    for (size_t i = 0; i < balance->count; i++)
        if (__builtin_add_overflow(balance->allocated, balance->before[i].size, &balance->allocated))
            balance->has_allocated = false;
    balance->has_reserved = memory->has_segments && !sums.overflow && reserved >= sums.reserved;
    balance->reserved = balance->has_reserved ? (uint64_t)(reserved - sums.reserved) : 0;
    table_finish(&memory->alive);
}
