// SPDX-License-Identifier: Apache-2.0
// Memory: allocated, freed, pools of it, and what unified memory moves by itself. Rules: agent.h.
#include "library.h"
#include "reader.h"
#include "tracks.h"

static uint32_t memory_name(uint32_t kind) {
    static const char *const names[] = {
        "memory", "pageable memory", "pinned memory",        "device memory",
        "array",  "managed memory",  "static device memory", "static managed memory"};
    return TEXT_AT(names, kind < sizeof names / sizeof *names ? kind : 0);
}

void record_memory(struct reader *reader, const struct cupti_memory *record) {
    enum { ALLOCATION = 1, RELEASE = 2 };
    struct launch launch;
    uint64_t time;
    if (record->operation != ALLOCATION && record->operation != RELEASE) {
        reader->base.unknown++;
        return;
    }
    if (!reader_needs_time(&reader->base, record->timestamp, &time))
        return;
    launches_find(record->correlation, LAUNCH_LOOK, &launch, &reader->ended);
    const uint32_t track = tracks_stream(record->device, CUPTI_NONE, CUPTI_NONE, "memory");
    const uint32_t name = memory_name(record->memory_kind);
    const uint32_t queue = record->is_async && record->stream != CUPTI_NONE
                               ? reader_queue(reader, record->device, record->context, record->stream)
                               : 0;
#define MEMORY                                                                                               \
    .start = time, READER_LAUNCHED(record->correlation, name, &launch),                                      \
    .operation = TSMITH_OPERATION_BUFFER, .address = record->address, .bytes = record->bytes,                \
    .queue = queue, .pc = record->pc, .pool = record->pool_type ? record->pool_address : 0
    if (record->operation == RELEASE)
        TRACK_RECORD_WRITE(reader->base.ring, release, track, MEMORY);
    else
        TRACK_RECORD_WRITE(reader->base.ring, alloc, track, MEMORY);
#undef MEMORY
}

void record_pool(struct reader *reader, const struct cupti_memory_pool *record) {
    enum { OPERATIONS = 4 };
    static const char *const names[OPERATIONS] = {"memory pool", "memory pool created",
                                                  "memory pool destroyed", "memory pool trimmed"};
    const uint32_t operation = record->operation < OPERATIONS ? record->operation : 0;
    struct launch launch;
    uint64_t time;
    if (!reader_needs_time(&reader->base, record->timestamp, &time))
        return;
    launches_find(record->correlation, LAUNCH_LOOK, &launch, &reader->ended);
    const uint32_t track = tracks_stream(record->device, CUPTI_NONE, CUPTI_NONE, "memory");
    const uint32_t name = TEXT_AT(names, operation);
    TRACK_RECORD_WRITE(reader->base.ring, pool, track, .start = time,
                       READER_LAUNCHED(record->correlation, name, &launch), .address = record->address,
                       .bytes = record->size, .utilized = cupti_has(CUPTI_11_6) ? record->utilized : 0);
}

// ---- unified memory

enum { HTOD = 1, DTOH = 2, DTOD = 8, COUNTERS = 9 };

static void record_migration(struct reader *reader, const struct cupti_unified_memory *record,
                             const struct span *span, uint32_t track) {
    TRACK_RECORD_WRITE(reader->base.ring, copy, track, READER_SPAN(span),
                       .name = TEXT_ONCE("[Unified memory migration]"), .operation = TSMITH_OPERATION_MIGRATE,
                       .direction = record->counter == HTOD   ? TSMITH_DIRECTION_HOST_TO_DEVICE
                                    : record->counter == DTOH ? TSMITH_DIRECTION_DEVICE_TO_HOST
                                                              : TSMITH_DIRECTION_PEER_TO_PEER,
                       .bytes = record->value, .flags = record->flags);
}

static void record_counter(struct reader *reader, const struct cupti_unified_memory *record, uint32_t counter,
                           uint64_t time, uint32_t track) {
    static const char *const names[COUNTERS] = {"unified memory",  "unified memory",  "unified memory",
                                                "CPU page faults", "GPU page faults", "thrashing",
                                                "throttling",      "remote map",      "unified memory"};
    TRACK_RECORD_WRITE(reader->base.ring, counter, track, .start = time, .name = TEXT_AT(names, counter),
                       .value = record_double((double)record->value), .address = record->address);
}

void record_unified_memory(struct reader *reader, const struct cupti_unified_memory *record) {
    const uint32_t counter = record->counter < COUNTERS ? record->counter : 0;
    // The host is no device: what moves to it, moves from the source.
    const uint32_t device = record->destination == CUPTI_NONE ? record->source : record->destination;
    const bool moves = counter == HTOD || counter == DTOH || counter == DTOD;
    struct span span;
    uint64_t time;
    if (!reader_needs_time(&reader->base, record->start, &time) ||
        (moves && !reader_needs_span(&reader->base, record->start, record->end, &span)))
        return;
    const uint32_t track =
        tracks_stream(device == CUPTI_NONE ? 0 : device, CUPTI_NONE, CUPTI_NONE, "unified memory");
    if (moves)
        record_migration(reader, record, &span, track);
    else
        record_counter(reader, record, counter, time, track);
}
