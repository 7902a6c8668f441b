// SPDX-License-Identifier: Apache-2.0
// Events of the agent's own, which give the times of commands for which the program asked for no event. They come from pools of
// the agent, a few at a time, and are used again once their command is complete and they are reset. Rules: agent.h.
#ifndef LEVEL_ZERO_EVENTS_H
#define LEVEL_ZERO_EVENTS_H

#include "objects.h"

bool events_init(void);
// One of this context, that is not signaled; 0: there is none. Asks the driver for more when none is free.
uint32_t event_take(struct object *context);
// It is not signaled, and no command signals it.
void event_give_back(struct object *context, uint32_t number);
void *event_handle(uint32_t number);
// Before the program destroys the context. No command of it may be in flight.
void events_destroy(struct object *context);

#endif
