// SPDX-License-Identifier: Apache-2.0
// Lends timestamp events of the agent's own pools to commands, as described in events.h. Rules: agent.h.
//
// The free events of a context are a stack without a lock: the number of the top one and a count of changes in one word.
#include "events.h"

#include "wire/memory.h"

enum { EVENTS_MAX = 1 << 16, EVENTS_OF_POOL = 64 };

struct own_event {
    void *handle; // NULL: none
    void *pool;   // set in the first of its pool
    struct object *context;
    _Atomic uint32_t below; // in the stack
};

static struct own_event *table; // number 0 is none
static _Atomic uint32_t used = 1;

bool events_init(void) {
    table = memory_take(sizeof *table * EVENTS_MAX);
    return table != NULL;
}

void *event_handle(uint32_t number) {
    return table[number].handle;
}

static uint64_t top_word(uint64_t old, uint32_t number) {
    return ((old >> 32) + 1) << 32 | number;
}

void event_give_back(struct object *context, uint32_t number) {
    uint64_t top = atomic_load(&context->context.free);
    do
        atomic_store_explicit(&table[number].below, (uint32_t)top, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&context->context.free, &top, top_word(top, number)));
}

static uint32_t pop(struct object *context) {
    uint64_t top = atomic_load(&context->context.free);
    while ((uint32_t)top &&
           !atomic_compare_exchange_weak(
               &context->context.free, &top,
               top_word(top, atomic_load_explicit(&table[(uint32_t)top].below, memory_order_relaxed))))
        ;
    return (uint32_t)top;
}

static void more_events(struct object *context) {
    const struct zero_event_pool_desc desc = {.stype = ZERO_EVENT_POOL_DESC,
                                              .flags = ZERO_POOL_HOST_VISIBLE | ZERO_POOL_TIMESTAMP,
                                              .count = EVENTS_OF_POOL};
    struct zero_event_desc event = {.stype = ZERO_EVENT_DESC};
    void *pool = NULL;
    const uint32_t first = atomic_fetch_add(&used, EVENTS_OF_POOL);
    if (first > EVENTS_MAX - EVENTS_OF_POOL) {
        atomic_fetch_sub(&used, EVENTS_OF_POOL);
        return;
    }
    agent_thread.busy++;
    if (zero.zeEventPoolCreate(context->handle.key, &desc, 0, NULL, &pool) != ZERO_SUCCESS)
        pool = NULL;
    table[first].context = context;
    table[first].pool = pool;
    for (; pool && event.index < EVENTS_OF_POOL; event.index++) {
        struct own_event *own = &table[first + event.index];
        own->context = context;
        if (zero.zeEventCreate(pool, &event, &own->handle) == ZERO_SUCCESS)
            event_give_back(context, first + event.index);
        else
            own->handle = NULL;
    }
    agent_thread.busy--;
}

uint32_t event_take(struct object *context) {
    if (!context || !table)
        return 0;
    const uint32_t number = pop(context);
    if (number)
        return number;
    more_events(context);
    return pop(context);
}

void events_destroy(struct object *context) {
    const uint32_t end = atomic_load(&used);
    atomic_store(&context->context.free, 0);
    agent_thread.busy++;
    for (uint32_t i = 1; i < end; i++) {
        if (table[i].context == context && table[i].handle)
            zero.zeEventDestroy(table[i].handle);
        table[i].handle = table[i].context == context ? NULL : table[i].handle;
    }
    for (uint32_t i = 1; i < end; i++) {
        if (table[i].context != context)
            continue;
        if (table[i].pool)
            zero.zeEventPoolDestroy(table[i].pool);
        table[i].pool = table[i].context = NULL;
    }
    agent_thread.busy--;
}
