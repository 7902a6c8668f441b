// SPDX-License-Identifier: Apache-2.0
// Translates a buffer of CUPTI's records into records of the ring; buffers.c calls it. Rules: agent.h. A buffer is read
// once, in the order it was filled; nothing is assumed of that order.
#include "records.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agentkit/track_table.h"
#include "green_contexts.h"
#include "library.h"
#include "reader.h"
#include "sharing.h"
#include "throttling.h"
#include "tracks.h"
#include "windows.h"
#include "wire/memory.h"

enum { READERS = 16, OUTSIDE = -1 };

static struct reader *readers; // READERS of them; a page that is not used is not there
static _Atomic uint32_t busy;  // a bit per reader
static _Atomic uint32_t generation = 1;

bool records_init(void) {
    readers = memory_take(READERS * sizeof *readers);
    reader_first();
    return readers != NULL;
}

void records_names_changed(void) {
    atomic_fetch_add(&generation, 1);
}

static struct reader *take_reader(void) {
    uint32_t now = atomic_load_explicit(&busy, memory_order_relaxed);
    while (now != (1u << READERS) - 1) {
        const int bit = __builtin_ctz(~now);
        if (atomic_compare_exchange_weak_explicit(&busy, &now, now | 1u << bit, memory_order_acquire,
                                                  memory_order_relaxed))
            return &readers[bit];
    }
    return NULL;
}

static void begin_buffer(struct reader *reader) {
    const uint32_t current = atomic_load(&generation);
    if (reader->generation != current) {
        memset(reader->names, 0, sizeof reader->names);
        reader->generation = current;
    }
    reader->base.clock = &cupti_clock;
    reader->ended = reader->thinned = 0;
    reader_buffer_begin(&reader->base);
}

// Right after their record: of a process that dies within a buffer nothing is both in the trace and missing.
static void launches_ended(struct reader *reader) {
    channel_ended(agent.channel, (uint32_t)(reader - readers), reader->ended);
    reader->ended = 0;
}

static void end_buffer(struct reader *reader) {
    reader_buffer_end(&reader->base);
    if (reader->thinned)
        agent_overhead_add(0, reader->thinned);
    atomic_fetch_and_explicit(&busy, ~(1u << (reader - readers)), memory_order_release);
}

// ---- what readers remember

uint32_t reader_queue_slow(struct reader *reader, uint32_t device, uint32_t context, uint32_t stream) {
    reader->device = device;
    reader->context = context;
    reader->stream = stream;
    reader->queue = tracks_stream(device, context, stream, NULL);
    return reader->queue;
}

static uint32_t sums_track_of(struct reader *reader, uint32_t device) {
    if (device == CUPTI_NONE)
        return sums_host;
    if (reader->sums_device != device || !reader->sums) {
        reader->sums_device = device;
        reader->sums = tracks_stream(device, CUPTI_NONE, CUPTI_NONE, "sums");
    }
    return reader->sums ? reader->sums : sums_host;
}

void reader_add_up(struct reader *reader, const struct reader_sum *sum) {
    const bool delayed = sum->span && sum->queued && sum->start >= sum->queued;
    const uint64_t known = (sum->span ? SUMS_TIMED : 0u) | (delayed ? SUMS_DELAYED : 0u);
    sums_add(sums_what(sum->kind, known, sum->operation, sum->direction, sum->name),
             sums_who(sums_track_of(reader, sum->device), sum->stack), sum->span ? sum->span->duration : 0,
             delayed ? sum->start - sum->queued : 0, sum->bytes);
}

// Where the library cannot be asked how it names threads: whether it is as the system does.
static bool is_system_thread(struct reader *reader, uint32_t tid) {
    char path[64];
    if (!vendor.partial || !tid || tid == reader->no_tid)
        return false;
    if (reader->tid == tid && reader->thread)
        return true;
    snprintf(path, sizeof path, "/proc/self/task/%u", tid);
    const bool is = access(path, F_OK) == 0;
    reader->no_tid = is ? reader->no_tid : tid;
    return is;
}

uint32_t reader_thread(struct reader *reader, uint32_t tid, uint32_t launched_by) {
    if (!tid || (!cupti.system_threads && (launched_by || !is_system_thread(reader, tid))))
        return launched_by ? launched_by
                           : tracks_stream(0, CUPTI_NONE, CUPTI_NONE, "calls of unknown threads");
    if (reader->tid != tid || !reader->thread) {
        reader->tid = tid;
        reader->thread = track_table_thread(tid);
    }
    return reader->thread;
}

// CUPTI gives all records of a kernel the same pointer, as long as its module is loaded.
uint32_t reader_kernel_name(struct reader *reader, const char *name) {
    // Names are close together in memory, in groups far apart.
    const size_t at = (uint64_t)(uintptr_t)name * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (READER_NAMES - 1);
    if (!name)
        return 0;
    if (reader->names[at].text != name) {
        reader->names[at].id = channel_function(agent.channel, name);
        reader->names[at].text = reader->names[at].id ? name : NULL;
    }
    return reader->names[at].id;
}

// ---- records

static void translate(struct reader *reader, const void *record) {
    switch (*(const uint32_t *)record) {
#define TRANSLATE(kind, function, type)                                                                      \
    case CUPTI_KIND_##kind:                                                                                  \
        function(reader, record);                                                                            \
        break;
        CUDA_TRANSLATED_KINDS(TRANSLATE)
#undef TRANSLATE
    case CUPTI_KIND_RUNTIME:
        record_call(reader, CUPTI_DOMAIN_RUNTIME, record);
        break;
    case CUPTI_KIND_DRIVER:
        record_call(reader, CUPTI_DOMAIN_DRIVER, record);
        break;
    case CUPTI_KIND_DEVICE:
        tracks_device(record);
        break;
    case CUPTI_KIND_CONTEXT:
        tracks_context(record);
        break;
    case CUPTI_KIND_GREEN_CONTEXT:
        tracks_green_context(record);
        green_contexts_describe(record);
        break;
    case CUPTI_KIND_STREAM:
    case CUPTI_KIND_NAME:
        break; // nothing beyond the data of the callbacks, and with times
    default:
        reader->base.unknown++;
    }
}

// The next record of a buffer. Data outside the buffer is not a record, even if CUPTI claims so.
static int next_record(uint8_t *buffer, size_t valid, void **record) {
    const int result = cupti.shared ? cupti.ActivityGetNextRecord_v2(cupti.subscriber, buffer, valid, record)
                                    : cupti.ActivityGetNextRecord(buffer, valid, record);
    const uint8_t *at = *record;
    return result == CUPTI_OK && (at < buffer || at >= buffer + valid) ? OUTSIDE : result;
}

bool records_know_devices(uint8_t *buffer, size_t valid) {
    void *record = NULL;
    if (tracks_described())
        return true;
    while (valid && next_record(buffer, valid, &record) == CUPTI_OK)
        if (*(const uint32_t *)record == CUPTI_KIND_DEVICE)
            tracks_device(record);
    return tracks_described();
}

// What only another tool of the program asked for.
static bool is_theirs(const void *record) {
    return atomic_load_explicit(&sharing_on, memory_order_relaxed) &&
           sharing_only_theirs(*(const uint32_t *)record);
}

void records_read(uint8_t *buffer, size_t valid) {
    struct reader *reader = valid ? take_reader() : NULL;
    void *record = NULL;
    if (valid && !reader) {
        channel_lose(agent.channel, TSMITH_REASON_NO_MEMORY, 1);
        return;
    }
    if (!reader)
        return;
    begin_buffer(reader);
    int result;
    while ((result = next_record(buffer, valid, &record)) == CUPTI_OK) {
        if (!is_theirs(record) && windows_want(reader, record))
            translate(reader, record);
        if (reader->ended)
            launches_ended(reader);
    }
    // Some version marks the end of a buffer so; anything else is a rest that cannot be read.
    if (result != CUPTI_LIMIT_REACHED && result != CUPTI_INVALID_KIND)
        channel_lose(agent.channel, TSMITH_REASON_CORRUPT, 1);
    end_buffer(reader);
}

void records_dropped(void *context, uint32_t stream) {
    size_t dropped = 0;
    const int result =
        !cupti.shared ? cupti.ActivityGetNumDroppedRecords(context, stream, &dropped)
        : cupti.ActivityGetNumDroppedRecords_v2
            ? cupti.ActivityGetNumDroppedRecords_v2(cupti.subscriber, context, stream, &dropped)
            : CUPTI_NOT_SUPPORTED;
    if (result == CUPTI_OK && dropped)
        channel_lose(agent.channel, TSMITH_REASON_VENDOR_DROPPED, dropped);
    sharing_dropped(result == CUPTI_OK ? dropped : 0);
}
