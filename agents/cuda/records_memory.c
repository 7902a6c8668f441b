// SPDX-License-Identifier: Apache-2.0
// Memory: allocated, freed, pools of it, and what unified memory moves by itself. Rules: agent.h.
#include "library.h"
#include "reader.h"
#include "shapes.h"
#include "tracks.h"

static uint32_t memory_name(uint32_t kind) {
    static const char *const names[] = {
        "memory", "pageable memory", "pinned memory",        "device memory",
        "array",  "managed memory",  "static device memory", "static managed memory"};
    enum { NAMES = sizeof names / sizeof *names };
    static _Atomic uint32_t ids[NAMES];
    return reader_constant(&ids[kind < NAMES ? kind : 0], names[kind < NAMES ? kind : 0]);
}

void record_memory(struct reader *reader, const struct cupti_memory *record) {
    enum { WORDS = 12, ALLOCATION = 1, RELEASE = 2 };
    struct launch launch;
    uint64_t time;
    if (record->operation != ALLOCATION && record->operation != RELEASE) {
        reader->unknown++;
        return;
    }
    if (!reader_time(reader, record->timestamp, &time)) {
        reader->untimed++;
        return;
    }
    launches_find(record->correlation, LAUNCH_LOOK, &launch, &reader->ended);
    const uint32_t track = tracks_stream(record->device, CUPTI_NONE, CUPTI_NONE, "memory");
    uint64_t *at = reader_reserve(reader, shapes.memory[record->operation == RELEASE], WORDS, track);
    if (!at)
        return;
    at[1] = time;
    at = reader_launched(at + 2, record->correlation, memory_name(record->memory_kind), &launch);
    at[0] = TSMITH_OPERATION_BUFFER;
    at[1] = record->address;
    at[2] = record->bytes;
    at[3] = record->is_async && record->stream != CUPTI_NONE
                ? reader_queue(reader, record->device, record->context, record->stream)
                : 0;
    at[4] = record->pc;
    at[5] = record->pool_type ? record->pool_address : 0;
    ring_commit(reader->ring, WORDS);
}

void record_pool(struct reader *reader, const struct cupti_memory_pool *record) {
    enum { WORDS = 9, OPERATIONS = 4 };
    static const char *const names[OPERATIONS] = {"memory pool", "memory pool created",
                                                  "memory pool destroyed", "memory pool trimmed"};
    static _Atomic uint32_t ids[OPERATIONS];
    const uint32_t operation = record->operation < OPERATIONS ? record->operation : 0;
    struct launch launch;
    uint64_t time;
    if (!reader_time(reader, record->timestamp, &time)) {
        reader->untimed++;
        return;
    }
    launches_find(record->correlation, LAUNCH_LOOK, &launch, &reader->ended);
    const uint32_t track = tracks_stream(record->device, CUPTI_NONE, CUPTI_NONE, "memory");
    uint64_t *at = reader_reserve(reader, shapes.pool, WORDS, track);
    if (!at)
        return;
    at[1] = time;
    at = reader_launched(at + 2, record->correlation, reader_constant(&ids[operation], names[operation]),
                         &launch);
    at[0] = record->address;
    at[1] = record->size;
    at[2] = cupti_has(CUPTI_11_6) ? record->utilized : 0;
    ring_commit(reader->ring, WORDS);
}

// ---- unified memory

enum { HTOD = 1, DTOH = 2, DTOD = 8, COUNTERS = 9 };

static void migration(struct reader *reader, const struct cupti_unified_memory *record,
                      const struct span *span, uint32_t track) {
    enum { WORDS = 16 };
    static const struct launch nobody;
    static _Atomic uint32_t name;
    uint64_t *at = reader_reserve(reader, shapes.copy, WORDS, track);
    if (!at)
        return;
    at[1] = (uint64_t)span->start;
    at[2] = span->duration;
    at = reader_launched(at + 3, 0, reader_constant(&name, "[Unified memory migration]"), &nobody);
    at[0] = TSMITH_OPERATION_MIGRATE;
    at[1] = record->counter == HTOD   ? TSMITH_DIRECTION_HOST_TO_DEVICE
            : record->counter == DTOH ? TSMITH_DIRECTION_DEVICE_TO_HOST
                                      : TSMITH_DIRECTION_PEER_TO_PEER;
    at[2] = record->value;
    at[3] = record->flags;
    at[4] = at[5] = at[6] = at[7] = at[8] = 0;
    ring_commit(reader->ring, WORDS);
}

static void count(struct reader *reader, const struct cupti_unified_memory *record, uint32_t counter,
                  uint64_t time, uint32_t track) {
    enum { WORDS = 5 };
    static const char *const names[COUNTERS] = {"unified memory",  "unified memory",  "unified memory",
                                                "CPU page faults", "GPU page faults", "thrashing",
                                                "throttling",      "remote map",      "unified memory"};
    static _Atomic uint32_t ids[COUNTERS];
    const double value = (double)record->value;
    uint64_t *at = reader_reserve(reader, shapes.counter, WORDS, track);
    if (!at)
        return;
    at[1] = time;
    at[2] = reader_constant(&ids[counter], names[counter]);
    __builtin_memcpy(&at[3], &value, sizeof value);
    at[4] = record->address;
    ring_commit(reader->ring, WORDS);
}

void record_unified_memory(struct reader *reader, const struct cupti_unified_memory *record) {
    const uint32_t counter = record->counter < COUNTERS ? record->counter : 0;
    // The host is no device: what moves to it, moves from the source.
    const uint32_t device = record->destination == CUPTI_NONE ? record->source : record->destination;
    const bool moves = counter == HTOD || counter == DTOH || counter == DTOD;
    struct span span;
    uint64_t time;
    if (!reader_time(reader, record->start, &time) ||
        (moves && !reader_span(reader, record->start, record->end, &span))) {
        reader->untimed++;
        return;
    }
    const uint32_t track =
        tracks_stream(device == CUPTI_NONE ? 0 : device, CUPTI_NONE, CUPTI_NONE, "unified memory");
    if (moves)
        migration(reader, record, &span, track);
    else
        count(reader, record, counter, time, track);
}
