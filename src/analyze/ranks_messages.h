// SPDX-License-Identifier: Apache-2.0
// Point-to-point messages of MPI.
#ifndef ANALYZE_RANKS_MESSAGES_H
#define ANALYZE_RANKS_MESSAGES_H

#include "analyze/ranks.h"
#include "tracesmith/view.h"

// Fields of the MPI agent.
enum {
    MESSAGE_COMM,
    MESSAGE_PEER,
    MESSAGE_TAG,
    MESSAGE_SENDS,
    MESSAGE_FROM,
    MESSAGE_FROM_TAG,
    MESSAGE_WAIT,
    MESSAGE_FIELDS,
    MESSAGE_BEGINS = 3
};

// What they are called.
#define MESSAGE_ARGUMENTS "comm", "peer", "tag", "sends", "from", "from_tag", "wait"

struct message_wait {
    uint64_t correlation;
    int64_t start;
};

// While a trace is read. Zeroed at first; messages_finish_trace frees it.
struct message_reading {
    uint32_t fields[MESSAGE_FIELDS]; // 0: the trace does not have it
    struct message_wait *waits;
    size_t wait_count, wait_capacity;
    uint32_t strings_seen,
        begins[MESSAGE_BEGINS]; // strings: the calls in which MPI begins; 0: the trace does not have it
};

void messages_learn_field(struct message_reading *reading, const char *name, tsmith_type type,
                          uint32_t field);
// Adds the messages of a batch to those of the rank; false when memory is exhausted.
bool messages_add_batch(struct message_reading *reading, struct rank *rank,
                        const tsmith_dictionary *dictionary, const tsmith_batch *batch);
// Finds the waits of the requests, and sorts the messages.
void messages_finish_trace(struct message_reading *reading, struct rank *rank);

// Calls `visit` with orders that follow from the matched messages of traces without losses that begin before MPI: the rank with the index `from` began to
// send at `sent`, on its clock, before the one with the index `to` had received at `received`. They hold in whichever order messages of
// several threads came. False when memory is exhausted or `visit` returns false.
typedef bool messages_visit(void *context, uint32_t from, int64_t sent, uint32_t to, int64_t received);
bool messages_each_order(const tsmith_ranks *ranks, messages_visit *visit, void *context);

// The table `messages`; false when memory is exhausted. After ranks_align.
bool ranks_write_messages(const tsmith_ranks *ranks, struct report *report);

#endif
