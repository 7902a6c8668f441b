// SPDX-License-Identifier: Apache-2.0
// The free memory between blocks whose addresses are known: external fragmentation when most was alive.
#include "analyze/memory.h"

struct block {
    uint64_t from, to;
};

struct spans {
    struct block *arena, *alive; // where blocks lay up to now; those that still do
    size_t arena_count, alive_count;
    uint64_t known, free, largest;
};

static int by_address(const void *left, const void *right) {
    const struct block *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

static struct block block_of(const struct memory_change *change) {
    uint64_t to;
    return (struct block){change->object,
                          __builtin_add_overflow(change->object, change->bytes, &to) ? UINT64_MAX : to};
}

// Sorted and joined where they touch: how many are left.
static size_t unite_blocks(struct block *blocks, size_t count) {
    size_t kept = 0;
    if (count)
        qsort(blocks, count, sizeof *blocks, by_address);
    for (size_t i = 0; i < count; i++) {
        if (kept && blocks[i].from <= blocks[kept - 1].to) {
            if (blocks[i].to > blocks[kept - 1].to)
                blocks[kept - 1].to = blocks[i].to;
        } else {
            blocks[kept++] = blocks[i];
        }
    }
    return kept;
}

static void add_free(struct spans *spans, uint64_t from, uint64_t to) {
    if (from >= to)
        return;
    spans->free += to - from;
    spans->largest = to - from > spans->largest ? to - from : spans->largest;
}

// The part of the arena that no live block covers; every block is inside it.
static void measure_free(struct spans *spans) {
    size_t next = 0;
    for (size_t i = 0; i < spans->arena_count; i++) {
        uint64_t at = spans->arena[i].from, to = spans->arena[i].to;
        spans->known += to - at;
        for (; next < spans->alive_count && spans->alive[next].from < to; next++) {
            add_free(spans, at, spans->alive[next].from);
            at = spans->alive[next].to;
        }
        add_free(spans, at, to);
    }
}

static bool has_span(const struct memory_change *change) {
    return change->addressed && change->bytes;
}

// Where blocks lay up to the peak, and those alive then.
static void find_blocks(const struct memory_place *place, struct memory_slots *slots, struct spans *spans) {
    for (size_t i = 0; i <= place->peak_change; i++) {
        const struct memory_change *change = &place->changes[i];
        struct memory_slot *slot = change->object ? memory_slot(slots, change->object) : NULL;
        if (!change->freed && has_span(change))
            spans->arena[spans->arena_count++] = block_of(change);
        if (slot && (!change->freed || slot->object))
            *slot = (struct memory_slot){change->object, change->freed ? TSMITH_INDEX_NONE : (uint32_t)i};
    }
    for (size_t i = 0; i < slots->size; i++) {
        const struct memory_slot *slot = &slots->items[i];
        if (slot->object && slot->change != TSMITH_INDEX_NONE && has_span(&place->changes[slot->change]))
            spans->alive[spans->alive_count++] = block_of(&place->changes[slot->change]);
    }
}

bool memory_space_measure(const struct memory_place *place, struct memory_space *space) {
    struct memory_slots slots;
    const size_t room = place->peak_change + 1;
    bool done = memory_slots_make(&slots, room);
    struct spans spans = {.arena = malloc(room * sizeof *spans.arena),
                          .alive = malloc(room * sizeof *spans.alive)};
    done = done && spans.arena && spans.alive;
    if (done) {
        find_blocks(place, &slots, &spans);
        spans.arena_count = unite_blocks(spans.arena, spans.arena_count);
        spans.alive_count = unite_blocks(spans.alive, spans.alive_count);
        measure_free(&spans);
        *space = (struct memory_space){spans.known, spans.free, spans.largest};
    }
    free(slots.items);
    free(spans.arena);
    free(spans.alive);
    return done;
}
