// SPDX-License-Identifier: Apache-2.0
// Communicators, and operations between their beginning and their end. Rules: agent.h.
//
// A handle is a place in the pool and its generation, so that one that NCCL uses after the operation was written finds
// nothing. References to an operation: one until it is stopped, one for each of its children that has not ended, and one
// for each channel of its kernel that has not begun. The last to go writes the record and frees the place.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"

enum { POOL = 1 << 14, INDEX_BITS = 16 };
#define LIST UINT32_MAX // of channel_begun: threads share it

static struct operation pool[POOL];
static _Atomic uint32_t taken;   // places so far, again and again
static _Atomic uint64_t numbers; // of operations that are not a part of others

// ---- communicators

struct communicator *communicator_new(uint64_t id, const char *name, int nodes, int ranks, int rank) {
    struct communicator *communicator = calloc(1, sizeof *communicator);
    if (!communicator)
        return NULL;
    communicator->rank = -1;
    communicator->nodes = nodes;
    communicator->ranks = ranks;
    if (id || rank >= 0)
        communicator_learn(communicator, id, name, rank);
    return communicator;
}

void communicator_learn(struct communicator *communicator, uint64_t id, const char *name, int rank) {
    char text[64];
    if (communicator->name || !agent.channel)
        return;
    communicator->id = id;
    communicator->rank = rank;
    snprintf(text, sizeof text, "comm 0x%llx", (unsigned long long)id);
    communicator->name = channel_string_cstr(agent.channel, name && *name ? name : text);
}

// ---- the pool

// The next free place after the one taken last, so that a place rests as long as may be before it is used again: NCCL
// names an operation as the parent of others after it has stopped it.
static struct operation *pool_take(void) {
    enum { PROBES = 1024 };
    for (uint32_t i = 0; i < PROBES; i++) {
        struct operation *place = &pool[atomic_fetch_add(&taken, 1) % POOL];
        uint64_t life = atomic_load(&place->life);
        if (!(uint32_t)life && atomic_compare_exchange_strong(&place->life, &life, life + 1))
            return place;
    }
    return NULL;
}

static uint32_t generation_of(const struct operation *operation) {
    return (uint32_t)(atomic_load(&operation->life) >> 32);
}

static void *handle_of(const struct operation *operation) {
    const uintptr_t index = (uintptr_t)(operation - pool) + 1;
    return (void *)((uintptr_t)generation_of(operation) << INDEX_BITS | index); // never NULL: index is not 0
}

static struct operation *place_of(const void *handle) {
    const uintptr_t index = (uintptr_t)handle & ((1u << INDEX_BITS) - 1);
    return index && index <= POOL ? &pool[index - 1] : NULL;
}

struct operation *operation_of(void *handle) {
    struct operation *operation = place_of(handle);
    if (!operation)
        return NULL;
    const uint64_t life = atomic_load(&operation->life);
    return (uint32_t)life && (uint32_t)(life >> 32) == (uint32_t)((uintptr_t)handle >> INDEX_BITS) ? operation
                                                                                                   : NULL;
}

// One more reference to the operation of a handle, unless it is over.
static struct operation *retain(void *handle) {
    struct operation *operation = place_of(handle);
    if (!operation)
        return NULL;
    uint64_t life = atomic_load(&operation->life);
    while ((uint32_t)life && (uint32_t)(life >> 32) == (uint32_t)((uintptr_t)handle >> INDEX_BITS))
        if (atomic_compare_exchange_weak(&operation->life, &life, life + 1))
            return operation;
    return NULL;
}

static void release(struct operation *operation) {
    // The last reference goes after the record is written, so that no reader finds a half-written entry.
    uint64_t life = atomic_load(&operation->life);
    while ((uint32_t)life > 1)
        if (atomic_compare_exchange_weak(&operation->life, &life, life - 1))
            return;
    if (!operation->foreign) {
        record_operation(operation);
        channel_ended(agent.channel, LIST, 1);
    }
    atomic_store(&operation->life, ((life >> 32) + 1) << 32);
}

// ---- the life of one

enum {
    RECORDED = NCCL_GROUP | NCCL_COLL | NCCL_P2P | NCCL_PROXY_OP | NCCL_PROXY_STEP | NCCL_PROXY_CTRL |
               NCCL_KERNEL_CHANNEL | NCCL_NET_PLUGIN | NCCL_GROUP_API | NCCL_COLL_API | NCCL_P2P_API |
               NCCL_KERNEL_LAUNCH | NCCL_CE_COLL | NCCL_CE_SYNC | NCCL_CE_BATCH,
    WHOLE = NCCL_COLL | NCCL_P2P | NCCL_CE_COLL, // an operation of the program's, of which others are parts
    PARTS =
        NCCL_PROXY_OP | NCCL_PROXY_STEP | NCCL_KERNEL_CHANNEL | NCCL_NET_PLUGIN | NCCL_CE_SYNC | NCCL_CE_BATCH
};

// A channel's own reference is the one that its operation kept for it.
static struct operation *take_expected(void *parent) {
    struct operation *operation = retain(parent);
    uint32_t expected = operation ? atomic_load(&operation->expected) : 0;
    while (expected)
        if (atomic_compare_exchange_weak(&operation->expected, &expected, expected - 1)) {
            release(operation);
            break;
        }
    return operation;
}

static struct operation *hold_parent(const struct said *said) {
    return said->type == NCCL_KERNEL_CHANNEL ? take_expected(said->parent)
           : said->type & PARTS              ? retain(said->parent)
                                             : NULL;
}

// The place of a handle, also when the operation is over, as long as it is not another's.
static const struct operation *last_of(const void *handle) {
    const struct operation *place = place_of(handle);
    if (!place)
        return NULL;
    const uint64_t life = atomic_load(&place->life);
    const uint32_t since = (uint32_t)(life >> 32) - (uint32_t)((uintptr_t)handle >> INDEX_BITS);
    return since == 0 || (since == 1 && !(uint32_t)life) ? place : NULL;
}

static uint64_t number_of(const struct said *said) {
    const struct operation *parent = said->type & PARTS ? last_of(said->parent) : NULL;
    return said->type & WHOLE ? atomic_fetch_add(&numbers, 1) + 1 : parent ? parent->number : 0;
}

static void at_least_first(_Atomic uint64_t *first, uint64_t tick) {
    uint64_t known = atomic_load(first);
    while ((!known || tick < known) && !atomic_compare_exchange_weak(first, &known, tick))
        ;
}

static void at_least_last(_Atomic uint64_t *last, uint64_t tick) {
    uint64_t known = atomic_load(last);
    while (tick > known && !atomic_compare_exchange_weak(last, &known, tick))
        ;
}

struct operation *operation_begin(struct communicator *communicator, const struct said *said, void **handle) {
    struct channel *channel = agent.channel;
    struct operation *operation = pool_take();
    if (!operation) {
        operations_settle(NULL);
        operation = pool_take();
    }
    if (!operation) {
        channel_lose(channel, TSMITH_REASON_TABLE_FULL, 1);
        return NULL;
    }
    const uint64_t number = number_of(said);
    const struct operation *parent = hold_parent(said);
    operation->communicator = communicator;
    operation->said = *said;
    operation->number = number;
    if (parent && said->type & (NCCL_PROXY_STEP | NCCL_NET_PLUGIN)) { // as their proxy operation is
        operation->said.channel = parent->said.channel;
        operation->said.peer = parent->said.peer;
        operation->said.is_send = parent->said.is_send;
    }
    atomic_store(&operation->passage_count, 0);
    operation->parent = parent ? said->parent : NULL;
    operation->after = NULL;
    operation->foreign = !(said->type & RECORDED);
    operation->thread = channel_thread_track(channel);
    operation->function = text_id(said->function);
    operation->datatype = text_id(said->datatype);
    operation->algorithm = text_id(said->algorithm);
    operation->protocol = text_id(said->protocol);
    operation->stop = operation->timer_stop = 0;
    atomic_store(&operation->first, 0);
    atomic_store(&operation->last, 0);
    atomic_store(&operation->moved, 0);
    atomic_store(&operation->stopped, false);
    const uint32_t expected = nccl_wanted.channels ? said->awaits : 0;
    operation->start = agent_tick();
    // The references before the number that lets others give them back.
    atomic_fetch_add(&operation->life, expected);
    atomic_store(&operation->expected, expected);
    if (!operation->foreign)
        channel_begun(channel, LIST, 1);
    *handle = handle_of(operation);
    return operation;
}

void *operation_after(void *handle) {
    const struct operation *place = last_of(handle);
    return place ? place->after : NULL;
}

// One thread of NCCL's has an event in its hands.
static void note_passage(struct operation *operation, int state) {
    const uint32_t count = atomic_load_explicit(&operation->passage_count, memory_order_relaxed);
    for (uint32_t i = 0; i < count; i++)
        if (operation->passages[i].state == state)
            return;
    if (count == PASSAGES_MAX || state < 0 || state >= NCCL_STATE_LIMIT)
        return;
    operation->passages[count] = (struct passage){agent_tick(), (uint8_t)state};
    atomic_store_explicit(&operation->passage_count, count + 1, memory_order_release);
}

void operation_state(struct operation *operation, int state, const union nccl_state_arguments *arguments,
                     bool old) {
    const uint64_t type = operation->said.type;
    if (type == NCCL_KERNEL_CHANNEL) {
        if (arguments && state == NCCL_STATE_KERNEL_STOP)
            operation->timer_stop = arguments->timer;
        return;
    }
    note_passage(operation, state);
    if (arguments && type == (old ? NCCL_PROXY_OP : NCCL_PROXY_STEP))
        at_least_last(&operation->moved, arguments->proxy.bytes);
}

void operation_end(struct operation *operation) {
    if (atomic_exchange(&operation->stopped, true))
        return; // once
    operation->stop = agent_tick();
    struct operation *parent = operation->parent ? operation_of(operation->parent) : NULL;
    if (parent) {
        if (operation->said.type == NCCL_KERNEL_CHANNEL) {
            at_least_first(&parent->first, operation->start);
            at_least_last(&parent->last, operation->stop);
        }
        release(parent);
    }
    release(operation);
}

static void drop_expected(struct operation *operation) {
    uint32_t expected = atomic_exchange(&operation->expected, 0);
    while (expected-- > 0)
        release(operation);
}

void operations_settle(const struct communicator *communicator) {
    for (uint32_t i = 0; i < POOL; i++) {
        struct operation *operation = &pool[i];
        const uint64_t life = atomic_load(&operation->life);
        if (!(uint32_t)life || !atomic_load(&operation->stopped) ||
            (communicator && operation->communicator != communicator) || !retain(handle_of(operation)))
            continue;
        drop_expected(operation);
        release(operation);
    }
}

void operations_over(void) {
    uint64_t open = 0;
    operations_settle(NULL);
    for (uint32_t i = 0; i < POOL; i++)
        open += (uint32_t)atomic_load(&pool[i].life) != 0 && !pool[i].foreign;
    if (open) {
        channel_lose(agent.channel, TSMITH_REASON_NO_COMPLETION, open);
        channel_ended(agent.channel, LIST, open);
    }
}
