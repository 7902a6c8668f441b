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
    uint16_t step;    // of a proxy operation, and what it or its operation was in
    uint16_t network; // also of no device
    uint16_t other;   // copy engines; the proxy itself
} shapes;

static uint16_t comm, rank, ranks, nodes, sequence, peer, count, datatype, algorithm, protocol, channels,
    channel, steps, chunk, sends, timer_start, timer_stop, operation_number, step, device, opcode;

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
    operation_number = channel_field(to, "nccl_operation", TSMITH_TYPE_U64, "");
    step = channel_field(to, "step", TSMITH_TYPE_I64, "");
    device = channel_field(to, "device", TSMITH_TYPE_I64, "");
    opcode = channel_field(to, "opcode", TSMITH_TYPE_I64, "");
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
    add(&shape, operation_number, OPTIONAL(RECORD_DYNAMIC));
    if (has_peer)
        add(&shape, peer, RECORD_DYNAMIC);
    if (has_sequence)
        add(&shape, sequence, RECORD_DYNAMIC);
    return channel_shape(agent.channel, &shape);
}

static void register_details(void) {
    struct record_shape shape = begin(TSMITH_KIND_RANGE);
    add(&shape, operation_number, OPTIONAL(RECORD_DYNAMIC));
    add(&shape, channel, RECORD_DYNAMIC);
    add(&shape, peer, RECORD_DYNAMIC);
    add(&shape, sends, RECORD_DYNAMIC);
    struct record_shape network = shape;
    add(&shape, step, RECORD_DYNAMIC);
    add(&shape, TSMITH_FIELD_BYTES, OPTIONAL(RECORD_VALUE));
    shapes.step = channel_shape(agent.channel, &shape);
    add(&network, device, RECORD_DYNAMIC);
    add(&network, opcode, RECORD_DYNAMIC);
    add(&network, TSMITH_FIELD_BYTES, OPTIONAL(RECORD_VALUE));
    shapes.network = channel_shape(agent.channel, &network);
    shape = begin(TSMITH_KIND_RANGE);
    add(&shape, operation_number, OPTIONAL(RECORD_DYNAMIC));
    add(&shape, count, OPTIONAL(RECORD_DYNAMIC));
    add(&shape, TSMITH_FIELD_BYTES, OPTIONAL(RECORD_VALUE));
    shapes.other = channel_shape(agent.channel, &shape);
}

void record_init(void) {
    register_fields();
    for (int i = 0; i < 4; i++)
        shapes.operation[i / 2][i % 2] = operation_shape(i / 2, i % 2);
    for (int i = 0; i < 2; i++) {
        struct record_shape shape = begin(TSMITH_KIND_RANGE);
        add(&shape, operation_number, OPTIONAL(RECORD_DYNAMIC));
        add(&shape, channel, RECORD_DYNAMIC);
        add(&shape, peer, RECORD_DYNAMIC);
        add(&shape, steps, RECORD_DYNAMIC);
        add(&shape, chunk, RECORD_DYNAMIC);
        add(&shape, sends, RECORD_DYNAMIC);
        if (i)
            add(&shape, TSMITH_FIELD_BYTES, RECORD_VALUE);
        shapes.proxy[i] = channel_shape(agent.channel, &shape);
        shape = begin(TSMITH_KIND_RANGE);
        add(&shape, operation_number, OPTIONAL(RECORD_DYNAMIC));
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
    register_details();
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
    at[words++] = operation->number;
    if (said->has_peer)
        at[words++] = (uint64_t)(int64_t)said->peer;
    if (said->has_sequence)
        at[words++] = said->sequence;
    return words;
}

static uint32_t put_proxy(uint64_t *at, uint32_t words, const struct operation *operation) {
    const struct said *said = &operation->said;
    const uint64_t moved = atomic_load(&operation->moved);
    at[words++] = operation->number;
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
    at[words++] = operation->number;
    at[words++] = operation->said.channel;
    if (operation->said.timer && operation->timer_stop) {
        at[words++] = operation->said.timer;
        at[words++] = operation->timer_stop;
    }
    return words;
}

static uint32_t put_step(uint64_t *at, uint32_t words, const struct operation *operation) {
    const struct said *said = &operation->said;
    at[words++] = operation->number;
    at[words++] = said->channel;
    at[words++] = (uint64_t)(int64_t)said->peer;
    at[words++] = said->is_send;
    if (said->type == NCCL_NET_PLUGIN) {
        at[words++] = (uint64_t)(int64_t)said->device;
        at[words++] = (uint64_t)(int64_t)said->opcode;
        at[words++] = said->bytes;
    } else {
        at[words++] = (uint64_t)(int64_t)said->steps;
        at[words++] = atomic_load(&operation->moved);
    }
    return words;
}

static uint32_t put_other(uint64_t *at, uint32_t words, const struct operation *operation) {
    at[words++] = operation->number;
    at[words++] = operation->said.count;
    at[words++] = operation->said.bytes;
    return words;
}

// ---- what an event was in, one after the other, until it was in the next, or over

static const char *state_name(uint8_t state) {
    static const char *const names[NCCL_STATE_LIMIT] = {
#define STATE_NAME(NAME, number, text) [number] = text,
        NCCL_STATES(STATE_NAME)
#undef STATE_NAME
    };
    return names[state];
}

static void record_passages(const struct operation *operation, uint32_t track) {
    const uint32_t passed = atomic_load_explicit(&operation->passage_count, memory_order_acquire);
    const bool is_step = operation->said.type & (NCCL_PROXY_OP | NCCL_PROXY_STEP);
    for (uint32_t i = 0; i < passed; i++) {
        const struct passage *passage = &operation->passages[i];
        const uint32_t name = text_id(state_name(passage->state));
        struct ring *ring = channel_ring(agent.channel);
        uint64_t *at = ring ? ring_reserve(ring, WORDS_MAX) : NULL;
        uint32_t words = 1;
        if (!at)
            return;
        at[words++] = passage->tick;
        at[words++] = i + 1 < passed ? operation->passages[i + 1].tick : operation->stop;
        at[words++] = name;
        at[words++] = operation->communicator->name;
        words = is_step ? put_step(at, words, operation) : put_other(at, words, operation);
        at[0] = record_head(is_step ? shapes.step : shapes.other, words, track);
        ring_commit(ring, words);
    }
}

// ---- what is recorded of each type

struct form {
    uint16_t shape;
    uint32_t (*put)(uint64_t *at, uint32_t words, const struct operation *operation);
    int track; // TRACK_THREAD: the thread that was there
};
enum { TRACK_THREAD = -1 };

static uint32_t put_whole(uint64_t *at, uint32_t words, const struct operation *operation) {
    return put_operation(at, words, operation,
                         atomic_load(&operation->first) && atomic_load(&operation->last));
}

static uint32_t put_call(uint64_t *at, uint32_t words, const struct operation *operation) {
    at[words++] = operation->said.object;
    return words;
}

static struct form form_of(const struct operation *operation) {
    const struct said *said = &operation->said;
    switch (said->type) {
    case NCCL_COLL:
    case NCCL_P2P:
    case NCCL_CE_COLL:
        return (struct form){shapes.operation[said->has_peer][said->has_sequence], put_whole,
                             TRACK_OPERATIONS};
    case NCCL_PROXY_OP:
        return (struct form){shapes.proxy[atomic_load(&operation->moved) != 0], put_proxy, TRACK_PROXY};
    case NCCL_PROXY_STEP:
        return (struct form){shapes.step, put_step, TRACK_PROXY};
    case NCCL_NET_PLUGIN:
        return said->has_device ? (struct form){shapes.network, put_step, TRACK_PROXY}
                                : (struct form){shapes.other, put_other, TRACK_PROXY};
    case NCCL_PROXY_CTRL:
        return (struct form){shapes.other, put_other, TRACK_PROXY};
    case NCCL_CE_SYNC:
    case NCCL_CE_BATCH:
        return (struct form){shapes.other, put_other, TRACK_CHANNELS};
    case NCCL_KERNEL_CHANNEL:
        return (struct form){shapes.channel[said->timer && operation->timer_stop], put_channel,
                             TRACK_CHANNELS};
    default:
        return (struct form){shapes.call, put_call, TRACK_THREAD};
    }
}

void record_operation(const struct operation *operation) {
    const uint64_t first = atomic_load(&operation->first), last = atomic_load(&operation->last);
    const bool ran = first && last;
    const struct form form = form_of(operation);
    const uint32_t track =
        form.track == TRACK_THREAD ? operation->thread : track_of(operation->communicator, form.track);
    struct ring *ring = channel_armed(agent.channel) ? channel_ring(agent.channel) : NULL;
    uint64_t *at = ring ? ring_reserve(ring, WORDS_MAX) : NULL;
    uint32_t words = 1;
    if (!at)
        return;
    at[words++] = ran ? first : operation->start;
    at[words++] = ran ? last : operation->stop;
    at[words++] = operation->function;
    at[words++] = operation->communicator->name;
    words = form.put(at, words, operation);
    at[0] = record_head(form.shape, words, track);
    ring_commit(ring, words);
    record_passages(operation, track);
}
