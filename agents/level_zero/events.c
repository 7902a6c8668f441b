// SPDX-License-Identifier: Apache-2.0
// Lends timestamp events of the agent's own pools to commands, as described in events.h. Rules: agent.h.
#include "events.h"

#include "wire/memory.h"

enum { EVENTS_MAX = 1 << 16, EVENTS_OF_POOL = 64, EVENTS_OF_LIST = 16 };

struct own_event {
    void *handle; // NULL: none
    void *pool;   // set in the first of its pool
    struct object *context;
    uint32_t next; // in a chain
};

static struct own_event *table;  // by number - 1
static struct free_list numbers; // of the table: those of destroyed contexts are not used again

static struct own_event *event_of(uint32_t number) {
    return &table[number - 1];
}

static uint32_t *link_of(uint32_t number) {
    return &event_of(number)->next;
}

// A thread that takes events may read the link of one that is in use.
static uint32_t next_of(uint32_t number) {
    return __atomic_load_n(link_of(number), __ATOMIC_RELAXED);
}
static void set_next(uint32_t number, uint32_t next) {
    __atomic_store_n(link_of(number), next, __ATOMIC_RELAXED);
}

bool events_init(void) {
    table = memory_take(sizeof *table * EVENTS_MAX);
    return table != NULL;
}

void event_chain_add(struct event_chain *chain, uint32_t number) {
    set_next(number, chain->first);
    chain->first = number;
    chain->last = chain->last ? chain->last : number;
}

void events_give_back(struct object *context, struct event_chain *chain) {
    if (chain->first && context)
        free_list_give(&context->context.events, chain->first, chain->last, link_of);
    *chain = (struct event_chain){0};
}

static void more_events(struct object *context) {
    const struct zero_event_pool_desc desc = {.stype = ZERO_EVENT_POOL_DESC,
                                              .flags = ZERO_POOL_HOST_VISIBLE | ZERO_POOL_TIMESTAMP,
                                              .count = EVENTS_OF_POOL};
    struct zero_event_desc event = {.stype = ZERO_EVENT_DESC};
    struct event_chain made = {0};
    void *pool = NULL;
    const uint32_t first = free_list_extend(&numbers, EVENTS_OF_POOL, EVENTS_MAX);
    if (!first)
        return;
    agent_thread.busy++;
    if (zero.zeEventPoolCreate(context->handle.key, &desc, 0, NULL, &pool) != ZERO_SUCCESS)
        pool = NULL;
    event_of(first)->context = context;
    event_of(first)->pool = pool;
    for (; pool && event.index < EVENTS_OF_POOL; event.index++) {
        struct own_event *own = event_of(first + event.index);
        own->context = context;
        if (zero.zeEventCreate(pool, &event, &own->handle) == ZERO_SUCCESS)
            event_chain_add(&made, first + event.index);
        else
            own->handle = NULL;
    }
    agent_thread.busy--;
    events_give_back(context, &made);
}

// Not inlined: most commands find an event in their list.
__attribute__((noinline)) static void refill(struct list *list) {
    struct free_list *free = &list->context->context.events;
    list->events = free_list_take(free, EVENTS_OF_LIST, link_of);
    if (list->events)
        return;
    more_events(list->context);
    list->events = free_list_take(free, EVENTS_OF_LIST, link_of);
}

bool event_take(struct list *list, struct timing *out) {
    if (!list->events && list->context)
        refill(list);
    if (!list->events)
        return false;
    out->own = list->events;
    out->handle = event_of(out->own)->handle;
    list->events = next_of(out->own);
    return true;
}

void event_put_back(struct list *list, uint32_t number) {
    set_next(number, list->events);
    list->events = number;
}

void events_leave(struct list *list) {
    struct event_chain chain = {0};
    for (uint32_t number = list->events, next; number; number = next) {
        next = next_of(number);
        event_chain_add(&chain, number);
    }
    list->events = 0;
    events_give_back(list->context, &chain);
}

void events_destroy(struct object *context) {
    const uint32_t used = atomic_load(&numbers.used);
    atomic_store(&context->context.events.top, 0);
    agent_thread.busy++;
    // The entries of other contexts are not written to: another thread may be making their events.
    for (uint32_t i = 0; i < used; i++) {
        if (table[i].context != context || !table[i].handle)
            continue;
        zero.zeEventDestroy(table[i].handle);
        table[i].handle = NULL;
    }
    for (uint32_t i = 0; i < used; i++) {
        if (table[i].context != context)
            continue;
        if (table[i].pool)
            zero.zeEventPoolDestroy(table[i].pool);
        table[i].pool = table[i].context = NULL;
    }
    agent_thread.busy--;
}
