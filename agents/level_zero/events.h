// SPDX-License-Identifier: Apache-2.0
// Events of the agent's own, which give the times of commands for which the program asked for no event. They come from pools of
// the agent, and are used again once their command is complete and they are reset. A list takes a few at a time, so that an append
// changes nothing that threads share. Rules: agent.h.
#ifndef LEVEL_ZERO_EVENTS_H
#define LEVEL_ZERO_EVENTS_H

#include "objects.h"

// Events that are not signaled, and that no command signals, on their way back to their context.
struct event_chain {
    uint32_t first, last; // 0: none
};

bool events_init(void);
// For a command of the list, on the thread that appends it: number and handle. False: there is none. Asks the driver for more when none
// is free.
bool event_take(struct list *list, struct timing *out);
// The command was not appended.
void event_put_back(struct list *list, uint32_t number);
void event_chain_add(struct event_chain *chain, uint32_t number);
// `context` NULL: it was destroyed, and they with it.
void events_give_back(struct object *context, struct event_chain *chain);
// The list's own go back to its context.
void events_leave(struct list *list);
// Before the program destroys the context. No command of it may be in flight.
void events_destroy(struct object *context);

#endif
