// SPDX-License-Identifier: Apache-2.0
// The records and their shapes, and the tracks of a communicator: its operations, what its proxy moves, the channels of
// its kernels. Calls of the program are on its own threads. Rules: agent.h.
#include <stdio.h>

#include "agent.h"

enum { WORDS_MAX = 20 };

static struct {
    uint16_t operation[2][2]; // [1]: with a peer or root; [][1]: with a sequence number
    uint16_t proxy[2];        // [1]: with bytes
    uint16_t channel[2];      // [1]: with the GPU's own times
    uint16_t call;
} shapes;

static uint16_t comm, rank, ranks, nodes, sequence, peer, count, datatype, algorithm, protocol, channels,
    channel, steps, chunk, sends, timer_start, timer_stop;

#define OPTIONAL(encoding) (uint8_t)((encoding) | RECORD_ZERO_IS_NONE)

static void add(struct record_shape *shape, uint16_t field, uint8_t encoding) {
    shape->fields[shape->field_count++] = (struct record_field){.field = field, .encoding = encoding};
}

static struct record_shape begin(tsmith_kind kind) {
    struct record_shape shape = {
        .kind = (uint8_t)kind, .role = RECORD_EVENT, .subject = RECORD_SUBJECT_TRACK};
    add(&shape, TSMITH_FIELD_START, RECORD_TICK);
    add(&shape, TSMITH_FIELD_DURATION, RECORD_TICK_END);
    add(&shape, TSMITH_FIELD_NAME, OPTIONAL(RECORD_STRING));
    add(&shape, TSMITH_FIELD_CATEGORY, OPTIONAL(RECORD_STRING));
    return shape;
}

static void register_fields(void) {
    struct channel *to = agent.channel;
    comm = channel_field(to, "comm", TSMITH_TYPE_U64, "");
    rank = channel_field(to, "rank", TSMITH_TYPE_I64, "");
    ranks = channel_field(to, "ranks", TSMITH_TYPE_U64, "");
    nodes = channel_field(to, "nodes", TSMITH_TYPE_U64, "");
    sequence = channel_field(to, "sequence", TSMITH_TYPE_U64, "");
    peer = channel_field(to, "peer", TSMITH_TYPE_I64, "");
    count = channel_field(to, "count", TSMITH_TYPE_U64, "");
    datatype = channel_field(to, "datatype", TSMITH_TYPE_STRING, "");
    algorithm = channel_field(to, "algorithm", TSMITH_TYPE_STRING, "");
    protocol = channel_field(to, "protocol", TSMITH_TYPE_STRING, "");
    channels = channel_field(to, "channels", TSMITH_TYPE_U64, "");
    channel = channel_field(to, "channel", TSMITH_TYPE_U64, "");
    steps = channel_field(to, "steps", TSMITH_TYPE_U64, "");
    chunk = channel_field(to, "chunk_bytes", TSMITH_TYPE_U64, "bytes");
    sends = channel_field(to, "sends", TSMITH_TYPE_BOOL, "");
    timer_start = channel_field(to, "gpu_timer_start", TSMITH_TYPE_U64, "ns");
    timer_stop = channel_field(to, "gpu_timer_stop", TSMITH_TYPE_U64, "ns");
}

static uint16_t operation_shape(bool has_peer, bool has_sequence) {
    struct record_shape shape = begin(TSMITH_KIND_COLLECTIVE);
    add(&shape, TSMITH_FIELD_HOST_TRACK, OPTIONAL(RECORD_TRACK));
    add(&shape, TSMITH_FIELD_BYTES, RECORD_VALUE);
    add(&shape, TSMITH_FIELD_INFERRED, RECORD_VALUE);
    add(&shape, comm, RECORD_DYNAMIC);
    add(&shape, rank, RECORD_DYNAMIC);
    add(&shape, ranks, OPTIONAL(RECORD_DYNAMIC));
    add(&shape, nodes, OPTIONAL(RECORD_DYNAMIC));
    add(&shape, count, RECORD_DYNAMIC);
    add(&shape, datatype, OPTIONAL(RECORD_DYNAMIC));
    add(&shape, algorithm, OPTIONAL(RECORD_DYNAMIC));
    add(&shape, protocol, OPTIONAL(RECORD_DYNAMIC));
    add(&shape, channels, OPTIONAL(RECORD_DYNAMIC));
    if (has_peer)
        add(&shape, peer, RECORD_DYNAMIC);
    if (has_sequence)
        add(&shape, sequence, RECORD_DYNAMIC);
    return channel_shape(agent.channel, &shape);
}

void record_init(void) {
    register_fields();
    for (int i = 0; i < 4; i++)
        shapes.operation[i / 2][i % 2] = operation_shape(i / 2, i % 2);
    for (int i = 0; i < 2; i++) {
        struct record_shape shape = begin(TSMITH_KIND_RANGE);
        add(&shape, channel, RECORD_DYNAMIC);
        add(&shape, peer, RECORD_DYNAMIC);
        add(&shape, steps, RECORD_DYNAMIC);
        add(&shape, chunk, RECORD_DYNAMIC);
        add(&shape, sends, RECORD_DYNAMIC);
        if (i)
            add(&shape, TSMITH_FIELD_BYTES, RECORD_VALUE);
        shapes.proxy[i] = channel_shape(agent.channel, &shape);
        shape = begin(TSMITH_KIND_RANGE);
        add(&shape, channel, RECORD_DYNAMIC);
        if (i) {
            add(&shape, timer_start, RECORD_DYNAMIC);
            add(&shape, timer_stop, RECORD_DYNAMIC);
        }
        shapes.channel[i] = channel_shape(agent.channel, &shape);
    }
    struct record_shape shape = begin(TSMITH_KIND_API);
    add(&shape, TSMITH_FIELD_OBJECT, OPTIONAL(RECORD_VALUE));
    shapes.call = channel_shape(agent.channel, &shape);
}

// ---- tracks

static uint32_t track_of(struct communicator *communicator, int which) {
    static const char *const what[] = {"", ", proxy", ", channels"};
    char text[96];
    if (communicator->tracks[which])
        return communicator->tracks[which];
    // Two threads may both make it: then one of the two has fewer events.
    if (communicator->ranks)
        snprintf(text, sizeof text, "NCCL 0x%llx rank %d of %d%s", (unsigned long long)communicator->id,
                 communicator->rank, communicator->ranks, what[which]);
    else
        snprintf(text, sizeof text, "NCCL 0x%llx rank %d%s", (unsigned long long)communicator->id,
                 communicator->rank, what[which]);
    communicator->tracks[which] =
        channel_track(agent.channel, &(tsmith_track){.kind = TSMITH_TRACK_CUSTOM,
                                                     .name = channel_string_cstr(agent.channel, text)});
    return communicator->tracks[which];
}

// ---- writing

static uint32_t put_operation(uint64_t *at, uint32_t words, const struct operation *operation,
                              bool inferred) {
    const struct communicator *communicator = operation->communicator;
    const struct said *said = &operation->said;
    at[words++] = operation->thread;
    at[words++] = said->bytes;
    at[words++] = inferred;
    at[words++] = communicator->id;
    at[words++] = (uint64_t)(int64_t)communicator->rank;
    at[words++] = (uint64_t)communicator->ranks;
    at[words++] = (uint64_t)communicator->nodes;
    at[words++] = said->count;
    at[words++] = operation->datatype;
    at[words++] = operation->algorithm;
    at[words++] = operation->protocol;
    at[words++] = said->channels;
    if (said->has_peer)
        at[words++] = (uint64_t)(int64_t)said->peer;
    if (said->has_sequence)
        at[words++] = said->sequence;
    return words;
}

static uint32_t put_proxy(uint64_t *at, uint32_t words, const struct operation *operation) {
    const struct said *said = &operation->said;
    const uint64_t moved = atomic_load(&operation->moved);
    at[words++] = said->channel;
    at[words++] = (uint64_t)(int64_t)said->peer;
    at[words++] = (uint64_t)(int64_t)said->steps;
    at[words++] = (uint64_t)(int64_t)said->chunk_bytes;
    at[words++] = said->is_send;
    if (moved)
        at[words++] = moved;
    return words;
}

static uint32_t put_channel(uint64_t *at, uint32_t words, const struct operation *operation) {
    at[words++] = operation->said.channel;
    if (operation->said.timer && operation->timer_stop) {
        at[words++] = operation->said.timer;
        at[words++] = operation->timer_stop;
    }
    return words;
}

void record_operation(const struct operation *operation) {
    const struct said *said = &operation->said;
    const uint64_t first = atomic_load(&operation->first), last = atomic_load(&operation->last);
    const bool ran = first && last;
    const int which = said->type == NCCL_PROXY_OP         ? TRACK_PROXY
                      : said->type == NCCL_KERNEL_CHANNEL ? TRACK_CHANNELS
                                                          : TRACK_OPERATIONS;
    const bool is_call = said->type & (NCCL_GROUP_API | NCCL_COLL_API | NCCL_P2P_API | NCCL_KERNEL_LAUNCH);
    const uint32_t track =
        is_call || said->type == NCCL_GROUP ? operation->thread : track_of(operation->communicator, which);
    struct ring *ring = channel_armed(agent.channel) ? channel_ring(agent.channel) : NULL;
    uint64_t *at = ring ? ring_reserve(ring, WORDS_MAX) : NULL;
    if (!at)
        return;
    uint16_t shape = shapes.call;
    uint32_t words = 1;
    at[words++] = ran ? first : operation->start;
    at[words++] = ran ? last : operation->stop;
    at[words++] = operation->function;
    at[words++] = operation->communicator->name;
    if (said->type & (NCCL_COLL | NCCL_P2P | NCCL_CE_COLL)) {
        shape = shapes.operation[said->has_peer][said->has_sequence];
        words = put_operation(at, words, operation, ran);
    } else if (said->type == NCCL_PROXY_OP) {
        shape = shapes.proxy[atomic_load(&operation->moved) != 0];
        words = put_proxy(at, words, operation);
    } else if (said->type == NCCL_KERNEL_CHANNEL) {
        shape = shapes.channel[said->timer && operation->timer_stop];
        words = put_channel(at, words, operation);
    } else {
        at[words++] = said->object;
    }
    at[0] = record_head(shape, words, track);
    ring_commit(ring, words);
}
