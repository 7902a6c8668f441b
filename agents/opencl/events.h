// SPDX-License-Identifier: Apache-2.0
// The program's events: which command each one belongs to, and whether the agent holds a reference of its
// own. Rules: agent.h.
//
// An entry is made when a call hands an event to the program (command.c, sync.c) and goes when the program
// has given back its last reference. Its value is one word, changed by compare-and-swap:
//     correlation (48 bits) | references of the program (15) | held by us (1)
// Events of our own, which the program never sees, are not here.
#ifndef OPENCL_EVENTS_H
#define OPENCL_EVENTS_H

#include "agent.h"

bool events_init(void);
void events_forget(void); // all of them

// The program got this event with one reference. False: no room, the event must not be held.
bool events_add(cl_event event, uint64_t correlation, bool held);
// Its command, 0 if unknown.
uint64_t events_correlation(cl_event event);
bool events_held(cl_event event);
// The agent is about to give back its reference.
void events_unhold(cl_event event, uint64_t correlation);
void events_retain(cl_event event);
void events_release(cl_event event); // before the driver releases it

// A wait list as a RECORD_LIST at `at`: the count, then the correlation ids of its commands. Events that are
// not known are left out, and so is what is beyond EVENTS_LIST_MAX. Returns the words written, at most 1 +
// EVENTS_LIST_MAX.
#define EVENTS_LIST_MAX 900u
uint32_t events_list(uint64_t *at, uint32_t count, const cl_event *events);
static inline uint32_t events_list_room(uint32_t count) {
    return 1 + (count < EVENTS_LIST_MAX ? count : EVENTS_LIST_MAX);
}

#endif
