// SPDX-License-Identifier: Apache-2.0
// The records: calls on the thread that made them, collectives on a track of their communicator, and what has a request on a track of
// the process, from its call to the call in which the program learned that it is complete. Rules: agent.h.
#include <stdio.h>
#include <unistd.h>

#include "agent.h"
#include "agentkit/record_words.h"

// All numbers of ranks are those in MPI_COMM_WORLD.
// clang-format off
#define MPI_FIELDS(OWN) \
    OWN(comm, "comm", U64, "") OWN(rank, "world_rank", I64, "") OWN(ranks, "ranks", U64, "") \
    OWN(sequence, "sequence", U64, "") OWN(root, "root", I64, "") OWN(peer, "peer", I64, "") \
    OWN(tag, "tag", I64, "") OWN(sends, "sends", BOOL, "") OWN(source, "from", I64, "") \
    OWN(source_tag, "from_tag", I64, "") OWN(received, "received", U64, "bytes") \
    OWN(wait, "wait", U64, "") OWN(completed, "requests", U64, "") OWN(level, "level", I64, "") \
    OWN(offset, "offset", I64, "")
static struct { MPI_FIELDS(OWN_FIELD_MEMBER) } fields;

#define CALL_WORDS(WORD) \
    TICKS_WORDS(WORD) CORRELATION_WORD(WORD) WORD(result, TSMITH_FIELD_RESULT, RECORD_VALUE) CATEGORY_WORD(WORD) STACK_OR_NONE(WORD)
#define COMM_WORDS(WORD) OWN_WORD(WORD, comm)
#define PEER_WORDS(WORD) OWN_WORD(WORD, peer) OWN_WORD(WORD, sends)
#define TAG_WORDS(WORD) OWN_WORD(WORD, tag)
#define SOURCE_WORDS(WORD) OWN_WORD(WORD, source) OWN_WORD(WORD, source_tag) OWN_WORD(WORD, received)
#define OFFSET_WORDS(WORD) OWN_WORD(WORD, offset)
#define WAIT_WORDS(WORD) OWN_WORD(WORD, completed)
#define POLL_WORDS(WORD) TICKS_WORDS(WORD) CATEGORY_WORD(WORD) WORD(count, TSMITH_FIELD_COUNT, RECORD_VALUE)
#define MARK_WORDS(WORD) WORD(start, TSMITH_FIELD_START, RECORD_TICK) CATEGORY_WORD(WORD) OWN_WORD(WORD, level)
#define OPERATION_WORDS(WORD) \
    TICKS_WORDS(WORD) NAME_OR_NONE(WORD) CATEGORY_WORD(WORD) CORRELATION_WORD(WORD) HOST_TRACK_OR_NONE(WORD) \
    CERTAINTY_WORD(WORD) OWN_OR_NONE(WORD, wait)
#define MEMBER_WORDS(WORD) OWN_WORD(WORD, comm) OWN_WORD(WORD, rank) OWN_WORD(WORD, ranks) OWN_WORD(WORD, sequence)
#define ROOT_WORDS(WORD) OWN_WORD(WORD, root)

#define MPI_RECORD_PARTS(PART) \
    PART(call_words, CALL_WORDS) PART(comm_words, COMM_WORDS) PART(bytes_words, BYTES_WORD) PART(peer_words, PEER_WORDS) \
    PART(tag_words, TAG_WORDS) PART(source_words, SOURCE_WORDS) PART(offset_words, OFFSET_WORDS) PART(wait_words, WAIT_WORDS) PART(poll_words, POLL_WORDS) \
    PART(mark_words, MARK_WORDS) PART(operation_words, OPERATION_WORDS) PART(member_words, MEMBER_WORDS) PART(root_words, ROOT_WORDS)
// clang-format on
MPI_RECORD_PARTS(RECORD_PART)
MPI_RECORD_PARTS(RECORD_PART_SHAPE)

enum { WORDS_MAX = 32 };

static struct {
    uint16_t call[HAS_LIMIT];     // by enum has
    uint16_t request[HAS_SOURCE]; // the same
    uint16_t offset[HAS_PEER];    // the same, of a call that has an offset
    uint16_t collective[2][2][2]; // comm, bytes and root are known
    uint16_t wait, poll, mark;
} shapes;
static uint32_t category, requests_track;
static _Atomic uint32_t names[CALLS];

static uint32_t name_of(enum call call) {
    return channel_string_once(agent.channel, &names[call], call_names[call]);
}

// ---- shapes

static void add_transfer(struct record_shape *shape, unsigned has) {
    if (has & HAS_COMM)
        comm_words_add(shape);
    if (has & HAS_BYTES)
        bytes_words_add(shape);
    if (has & HAS_PEER)
        peer_words_add(shape);
    if (has & HAS_TAG)
        tag_words_add(shape);
    if (has & HAS_SOURCE)
        source_words_add(shape);
    if (has & HAS_OFFSET)
        offset_words_add(shape);
}

static uint64_t *put_transfer(uint64_t *at, const struct transfer *transfer) {
    const unsigned has = transfer->has;
    if (has & HAS_COMM)
        RECORD_PUT(at, comm_words, transfer->comm);
    if (has & HAS_BYTES)
        RECORD_PUT(at, bytes_words, transfer->bytes);
    if (has & HAS_PEER)
        RECORD_PUT(at, peer_words, .peer = (uint64_t)transfer->peer, .sends = transfer->sends);
    if (has & HAS_TAG)
        RECORD_PUT(at, tag_words, (uint64_t)transfer->tag);
    if (has & HAS_SOURCE)
        RECORD_PUT(at, source_words, .source = (uint64_t)transfer->source,
                   .source_tag = (uint64_t)transfer->source_tag, .received = transfer->received);
    if (has & HAS_OFFSET)
        RECORD_PUT(at, offset_words, (uint64_t)transfer->offset);
    return at;
}

static uint16_t call_shape(unsigned has) {
    return has & HAS_OFFSET ? shapes.offset[has & (HAS_PEER - 1)] : shapes.call[has];
}

static uint16_t register_call(unsigned has) {
    struct record_shape shape = record_shape_begin(TSMITH_KIND_API, RECORD_SUBJECT_NAME);
    call_words_add(&shape);
    add_transfer(&shape, has);
    return channel_shape(agent.channel, &shape);
}

static void register_collectives(void) {
    for (int i = 0; i < 8; i++) {
        shapes.collective[i >> 2][i >> 1 & 1][i & 1] = RECORD_REGISTER(
            agent.channel, TSMITH_KIND_COLLECTIVE, RECORD_SUBJECT_TRACK, operation_words_add,
            i & 4 ? member_words_add : NULL, i & 2 ? bytes_words_add : NULL, i & 1 ? root_words_add : NULL);
    }
}

void record_init(void) {
    struct channel *channel = agent.channel;
    MPI_FIELDS(OWN_FIELD_REGISTER)
    category = channel_string_cstr(channel, "mpi");
    for (unsigned has = 0; has < HAS_LIMIT; has++)
        shapes.call[has] = register_call(has);
    for (unsigned has = 0; has < HAS_PEER; has++)
        shapes.offset[has] = register_call(has | HAS_OFFSET);
    for (unsigned has = 0; has < HAS_SOURCE; has++) {
        struct record_shape shape = record_shape_begin(TSMITH_KIND_RANGE, RECORD_SUBJECT_TRACK);
        operation_words_add(&shape);
        add_transfer(&shape, has);
        shapes.request[has] = channel_shape(channel, &shape);
    }
    shapes.wait =
        RECORD_REGISTER(channel, TSMITH_KIND_API, RECORD_SUBJECT_NAME, call_words_add, wait_words_add);
    shapes.poll = record_register(channel, TSMITH_KIND_API, RECORD_SUBJECT_NAME, poll_words_add);
    shapes.mark = record_register(channel, TSMITH_KIND_MARKER, RECORD_SUBJECT_NAME, mark_words_add);
    register_collectives();
}

void record_world(void) {
    char key[64], text[96];
    snprintf(key, sizeof key, "mpi.%d.distributedInfo", (int)getpid());
    snprintf(text, sizeof text, "{\"backend\": \"mpi\", \"rank\": %d, \"world_size\": %d}", mpi.world_rank,
             mpi.world_size);
    channel_attribute(agent.channel, key, text);
    if (mpi.version[0])
        channel_attribute(agent.channel, "mpi.library", mpi.version);
    snprintf(text, sizeof text, "MPI requests, rank %d of %d", mpi.world_rank, mpi.world_size);
    requests_track =
        channel_track(agent.channel, &(tsmith_track){.kind = TSMITH_TRACK_CUSTOM,
                                                     .name = channel_string_cstr(agent.channel, text)});
}

static uint32_t track_of(struct comm *comm) {
    uint32_t track = atomic_load_explicit(&comm->track, memory_order_relaxed);
    char text[96 + FILE_NAME];
    if (track)
        return track;
    // Two threads may both make it: then one of the two has fewer events.
    if (comm->is_file)
        snprintf(text, sizeof text, "MPI file %s 0x%llx rank %d of %d", comm->name,
                 (unsigned long long)comm->id, comm->rank, comm->size);
    else if (comm->id)
        snprintf(text, sizeof text, "MPI %s 0x%llx rank %d of %d",
                 comm->is_window ? "window" : "communicator", (unsigned long long)comm->id, comm->rank,
                 comm->size);
    else
        snprintf(text, sizeof text, "MPI communicator of several worlds, rank %d of %d", comm->rank,
                 comm->size);
    track = channel_track(agent.channel, &(tsmith_track){.kind = TSMITH_TRACK_CUSTOM,
                                                         .name = channel_string_cstr(agent.channel, text)});
    atomic_store_explicit(&comm->track, track, memory_order_relaxed);
    return track;
}

// ---- calls

uint64_t record_call(enum call call, const struct entry *entry, int result, const struct transfer *transfer) {
    const struct transfer none = {0}, *of = transfer ? transfer : &none;
    const uint64_t end = agent_tick(), correlation = agent_correlation();
    const uint32_t name = name_of(call);
    record_polls_end();
    struct ring *ring = channel_ring(agent.channel);
    uint64_t *const head = ring ? ring_reserve(ring, WORDS_MAX) : NULL;
    if (!head)
        return correlation; // dropped, and counted
    uint64_t *at = head + 1;
    RECORD_PUT(at, call_words, .start = entry->start, .end = end, .correlation = correlation,
               .result = (uint64_t)(int64_t)result, .category = category, .stack = entry->stack);
    at = put_transfer(at, of);
    record_close(ring, head, at, call_shape(of->has), name);
    return correlation;
}

// ---- what has a request, and collectives

static uint64_t *put_operation(uint64_t *at, enum call call, uint64_t start, uint64_t end,
                               uint64_t correlation, uint32_t thread, bool is_bounded, uint64_t wait) {
    RECORD_PUT(at, operation_words, .start = start, .end = end, .name = name_of(call), .category = category,
               .correlation = correlation, .host_track = thread,
               .certainty = is_bounded ? TSMITH_CERTAINTY_BOUNDED : TSMITH_CERTAINTY_MEASURED, .wait = wait);
    return at;
}

static void write_collective(enum call call, uint64_t start, uint64_t end, uint64_t correlation,
                             uint32_t thread, bool is_bounded, uint64_t wait,
                             const struct operation *operation) {
    struct comm *comm = operation->comm;
    const bool is_known = comm->id != 0;
    const uint32_t track = track_of(comm);
    struct ring *ring = track ? channel_ring(agent.channel) : NULL;
    uint64_t *const head = ring ? ring_reserve(ring, WORDS_MAX) : NULL;
    if (!head)
        return;
    uint64_t *at = put_operation(head + 1, call, start, end, correlation, thread, is_bounded, wait);
    if (is_known)
        RECORD_PUT(at, member_words, .comm = comm->id, .rank = (uint64_t)(int64_t)mpi.world_rank,
                   .ranks = (uint64_t)comm->size, .sequence = operation->sequence);
    if (operation->has_bytes)
        RECORD_PUT(at, bytes_words, operation->bytes);
    if (operation->has_root)
        RECORD_PUT(at, root_words, (uint64_t)operation->root);
    record_close(ring, head, at, shapes.collective[is_known][operation->has_bytes][operation->has_root],
                 track);
}

void record_collective(enum call call, uint64_t start, uint64_t end, uint64_t correlation,
                       const struct operation *operation) {
    if (operation->comm)
        write_collective(call, start, end, correlation, channel_thread_track(agent.channel), false, 0,
                         operation);
}

void record_request(const struct request *request, uint64_t end, uint64_t wait) {
    const struct transfer *transfer = &request->transfer;
    const enum call call = request->call;
    if (request->is_collective) {
        if (request->operation.comm && request->operation.comm->id != request->comm_id)
            channel_lose(agent.channel, TSMITH_REASON_NO_COMPLETION, 1); // its communicator was freed
        else if (request->operation.comm)
            write_collective(call, request->start, end, request->correlation, request->thread, true, wait,
                             &request->operation);
        return;
    }
    struct ring *ring = requests_track ? channel_ring(agent.channel) : NULL;
    uint64_t *const head = ring ? ring_reserve(ring, WORDS_MAX) : NULL;
    if (!head)
        return;
    uint64_t *at =
        put_operation(head + 1, call, request->start, end, request->correlation, request->thread, true, wait);
    at = put_transfer(at, transfer);
    record_close(ring, head, at, shapes.request[transfer->has & (HAS_SOURCE - 1)], requests_track);
}

void record_file(enum call call, const struct entry *entry, uint64_t end, uint64_t correlation,
                 const struct transfer *transfer) {
    const uint32_t track = entry->comm ? track_of(entry->comm) : 0;
    struct ring *ring = track ? channel_ring(agent.channel) : NULL;
    uint64_t *const head = ring ? ring_reserve(ring, WORDS_MAX) : NULL;
    struct transfer known = *transfer;
    if (!head)
        return;
    known.has &= HAS_COMM | HAS_BYTES;
    uint64_t *at = put_operation(head + 1, call, entry->start, end, correlation,
                                 channel_thread_track(agent.channel), false, 0);
    at = put_transfer(at, &known);
    record_close(ring, head, at, shapes.request[known.has], track);
}

uint64_t record_wait(enum call call, const struct entry *entry, int result, uint64_t completed) {
    const uint64_t end = agent_tick(), correlation = agent_correlation();
    const uint32_t name = name_of(call);
    record_polls_end();
    enum { WORDS = 1 + RECORD_PART_WORDS(call_words) + RECORD_PART_WORDS(wait_words) };
    uint64_t *at = record_begin(channel_ring(agent.channel), shapes.wait, WORDS, name);
    if (!at)
        return correlation;
    RECORD_PUT(at, call_words, .start = entry->start, .end = end, .correlation = correlation,
               .result = (uint64_t)(int64_t)result, .category = category, .stack = entry->stack);
    RECORD_SET(at, wait_words, completed);
    ring_commit(channel_ring(agent.channel), WORDS);
    return correlation;
}

// ---- looks that found nothing

static __thread struct {
    uint64_t first, last, count;
    enum call call;
} polls __attribute__((tls_model("initial-exec")));

void record_polls_end(void) {
    if (__builtin_expect(!polls.count, 1))
        return;
    RECORD_WRITE(channel_ring(agent.channel), shapes.poll, name_of(polls.call), poll_words,
                 .start = polls.first, .end = polls.last, .category = category, .count = polls.count);
    polls.count = 0;
}

void record_poll(enum call call, const struct entry *entry) {
    enum { MOST = 1 << 16 }; // so that a program that looks for ever is seen while it does
    if (polls.count && (polls.call != call || polls.count == MOST))
        record_polls_end();
    if (!polls.count) {
        polls.first = entry->start;
        polls.call = call;
    }
    polls.last = agent_tick();
    polls.count++;
}

void record_mark(int level) {
    RECORD_WRITE(channel_ring(agent.channel), shapes.mark, name_of(CALL_Pcontrol), mark_words,
                 .start = agent_tick(), .category = category, .level = (uint64_t)(int64_t)level);
}
