// SPDX-License-Identifier: Apache-2.0
// Commands of lists: with which event they give their times, and what is in flight of them. Rules: agent.h.
//
// A command of an immediate list runs once. One of another list runs each time that a queue executes the list, with the same
// event each time: its times are read, and the agent's event is reset, before the next execution is submitted. If the next
// comes earlier, neither has times.
#ifndef LEVEL_ZERO_COMMANDS_H
#define LEVEL_ZERO_COMMANDS_H

#include "objects.h"

void commands_begin(void);
// Called when any thread calls zeDriverGet.
zero_tracer_callback commands_inside;

// Before a command is appended: chooses the event of its times, and puts the agent's into `signal`, if it is empty.
void command_prepare(struct frame *frame, void **signal);
// After it.
void command_appended(const struct frame *frame);

// Before and after a queue executes a list.
void list_prepare(struct object *list);
void list_executed(struct object *list, struct object *queue, const struct frame *frame);
// Before the list is reset or destroyed: its commands are forgotten.
void list_clear(struct object *list);

#endif
