// SPDX-License-Identifier: Apache-2.0
// The records and their shapes, and the tracks of a communicator: its operations, what its proxy moves, the channels of
// its kernels. Calls of the program are on its own threads. Rules: agent.h.
#include <stdio.h>

#include "agent.h"
#include "record_parts.h"

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

static struct nccl_fields fields;

NCCL_RECORD_PARTS(RECORD_PART_SHAPE)

#define SHAPE(kind, ...)                                                                                     \
    RECORD_REGISTER(channel, TSMITH_KIND_##kind, RECORD_SUBJECT_TRACK, begin_words_add, __VA_ARGS__)

void record_init(void) {
    struct channel *channel = agent.channel;
    NCCL_FIELDS(OWN_FIELD_REGISTER)
    for (int i = 0; i < 4; i++)
        shapes.operation[i / 2][i % 2] = SHAPE(COLLECTIVE, operation_words_add, i / 2 ? peer_words_add : NULL,
                                               i % 2 ? sequence_words_add : NULL);
    for (int i = 0; i < 2; i++) {
        shapes.proxy[i] = SHAPE(RANGE, proxy_words_add, i ? moved_words_add : NULL);
        shapes.channel[i] = SHAPE(RANGE, channel_words_add, i ? timer_words_add : NULL);
    }
    shapes.call = SHAPE(API, call_words_add);
    shapes.step = SHAPE(RANGE, transfer_words_add, step_words_add);
    shapes.network = SHAPE(RANGE, transfer_words_add, network_words_add);
    shapes.other = SHAPE(RANGE, other_words_add);
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

static uint64_t *put_operation(uint64_t *at, const struct operation *operation) {
    const struct communicator *communicator = operation->communicator;
    const struct said *said = &operation->said;
    const bool observed = atomic_load(&operation->first) && atomic_load(&operation->last);
    RECORD_PUT(at, operation_words, .thread = operation->thread, .bytes = said->bytes,
               .certainty = observed ? TSMITH_CERTAINTY_BOUNDED : TSMITH_CERTAINTY_MEASURED,
               .comm = communicator->id, .rank = (uint64_t)(int64_t)communicator->rank,
               .ranks = (uint64_t)communicator->ranks, .nodes = (uint64_t)communicator->nodes,
               .count = said->count, .datatype = operation->datatype, .algorithm = operation->algorithm,
               .protocol = operation->protocol, .channels = said->channels, .number = operation->number);
    if (said->has_peer)
        RECORD_PUT(at, peer_words, (uint64_t)(int64_t)said->peer);
    if (said->has_sequence)
        RECORD_PUT(at, sequence_words, said->sequence);
    return at;
}

static uint64_t *put_proxy(uint64_t *at, const struct operation *operation) {
    const struct said *said = &operation->said;
    const uint64_t moved = atomic_load(&operation->moved);
    RECORD_PUT(at, proxy_words, .number = operation->number, .channel = said->channel,
               .peer = (uint64_t)(int64_t)said->peer, .steps = (uint64_t)(int64_t)said->steps,
               .chunk = (uint64_t)(int64_t)said->chunk_bytes, .sends = said->is_send);
    if (moved)
        RECORD_PUT(at, moved_words, moved);
    return at;
}

static uint64_t *put_channel(uint64_t *at, const struct operation *operation) {
    RECORD_PUT(at, channel_words, .number = operation->number, .channel = operation->said.channel);
    if (operation->said.timer && operation->timer_stop)
        RECORD_PUT(at, timer_words, .start = operation->said.timer, .stop = operation->timer_stop);
    return at;
}

static uint64_t *put_step(uint64_t *at, const struct operation *operation) {
    const struct said *said = &operation->said;
    RECORD_PUT(at, transfer_words, .number = operation->number, .channel = said->channel,
               .peer = (uint64_t)(int64_t)said->peer, .sends = said->is_send);
    if (said->type == NCCL_NET_PLUGIN)
        RECORD_PUT(at, network_words, .device = (uint64_t)(int64_t)said->device,
                   .opcode = (uint64_t)(int64_t)said->opcode, .bytes = said->bytes);
    else
        RECORD_PUT(at, step_words, .step = (uint64_t)(int64_t)said->steps,
                   .bytes = atomic_load(&operation->moved));
    return at;
}

static uint64_t *put_other(uint64_t *at, const struct operation *operation) {
    RECORD_PUT(at, other_words, .number = operation->number, .count = operation->said.count,
               .bytes = operation->said.bytes);
    return at;
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
        uint64_t *const head = ring ? ring_reserve(ring, WORDS_MAX) : NULL;
        if (!head)
            return;
        uint64_t *at = head + 1;
        RECORD_PUT(at, begin_words, .start = passage->tick,
                   .end = i + 1 < passed ? operation->passages[i + 1].tick : operation->stop, .name = name,
                   .category = operation->communicator->name);
        at = is_step ? put_step(at, operation) : put_other(at, operation);
        record_close(ring, head, at, is_step ? shapes.step : shapes.other, track);
    }
}

// ---- what is recorded of each type

struct form {
    uint16_t shape;
    uint64_t *(*put)(uint64_t *at, const struct operation *operation); // the place behind it
    int track; // TRACK_THREAD: the thread that was there
};
enum { TRACK_THREAD = -1 };

static uint64_t *put_call(uint64_t *at, const struct operation *operation) {
    RECORD_PUT(at, call_words, operation->said.object);
    return at;
}

static struct form form_of(const struct operation *operation) {
    const struct said *said = &operation->said;
    switch (said->type) {
    case NCCL_COLL:
    case NCCL_P2P:
    case NCCL_CE_COLL:
        return (struct form){shapes.operation[said->has_peer][said->has_sequence], put_operation,
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
    uint64_t *const head = ring ? ring_reserve(ring, WORDS_MAX) : NULL;
    if (!head)
        return;
    uint64_t *at = head + 1;
    RECORD_PUT(at, begin_words, .start = ran ? first : operation->start, .end = ran ? last : operation->stop,
               .name = operation->function, .category = operation->communicator->name);
    at = form.put(at, operation);
    record_close(ring, head, at, form.shape, track);
    record_passages(operation, track);
}
