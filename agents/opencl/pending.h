// SPDX-License-Identifier: Apache-2.0
// Commands of OpenCL in flight: enqueued, and their times not yet asked for. Rules: agent.h; lists, threads and states:
// agentkit/pending.h.
//
// The control thread (control.c) is for programs that never wait. It is made at the first command, blocks every signal, and
// ends in the exit handler, which gives it a bounded time for a last pass: a driver that hangs there delays no thread. What is
// still in flight when the library goes is counted as NO_COMPLETION.
#ifndef OPENCL_PENDING_H
#define OPENCL_PENDING_H

#include "agent.h"
#include "agentkit/pending.h"
#include "objects.h"

// Before the first command.
void pending_begin(void);

struct entry {
    struct pending_entry head; // first
    uint16_t timed, untimed;   // the shapes of its record
    bool held;                 // the program has the event too
    bool first_launch;
    bool calibrates; // brings the host's times next to the device's
    uint8_t class;   // enum device_class
    uint32_t track;  // of its record
    uint32_t stack;  // of its call; 0: none
    cl_event event;
    uint64_t not_before;
    uint64_t not_after;
    uint64_t body[]; // words - ENTRY_WORDS
};
enum { ENTRY_WORDS = sizeof(struct entry) / 8 };

static inline struct entry *entry_of(struct pending_entry *head) {
    return (struct entry *)head;
}

#endif
