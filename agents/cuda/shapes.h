// SPDX-License-Identifier: Apache-2.0
// The shapes of the agent's records: which word of a record is which field. Rules: agent.h.
//
// All lie on a track (RECORD_SUBJECT_TRACK) and begin with START and DURATION in ns of the trace clock.
#ifndef CUDA_SHAPES_H
#define CUDA_SHAPES_H

#include "agent.h"

// There are more kernels than anything else, so the record of one has only words that say something. Bits of the index
// of its shape: what follows the others, in this order.
enum kernel_words {
    KERNEL_HOST = 1,   // HOST_TRACK
    KERNEL_STACK = 2,  // STACK
    KERNEL_3D = 4,     // GLOBAL_Y GLOBAL_Z LOCAL_Y LOCAL_Z
    KERNEL_SHARED = 8, // static, dynamic and executed shared memory
    KERNEL_MORE = 16,  // graph, graph node, blocks of a cluster
    KERNEL_LOCAL = 32, // local memory of a thread and in all, launch type
    KERNEL_SHAPES = 64
};
// Every kernel's last words where the user asked for them: QUEUED SUBMITTED.

// The fields after START and DURATION (LAUNCHED: CORRELATION NAME HOST_TRACK STACK); an instant has no DURATION.
// Upper-case words are of the schema
// (tracesmith/schema.h), others are fields of our own.
struct shapes {
    bool latency;
    uint16_t
        kernel[KERNEL_SHAPES]; // CORRELATION NAME GLOBAL_X LOCAL_X registers, and by the bits of the index
    uint16_t untimed;          // instant: INFERRED LAUNCHED
    // LAUNCHED OPERATION DIRECTION BYTES FLAGS source and destination kind, peer, graph, graph node
    uint16_t copy;
    uint16_t fill;       // LAUNCHED OPERATION BYTES value, memory kind, graph, graph node
    uint16_t call;       // CORRELATION NAME RESULT
    uint16_t call_stack; // the same and STACK
    uint16_t sync;       // CORRELATION NAME OPERATION QUEUE_TRACK HOST_TRACK event RESULT
    uint16_t graph;      // LAUNCHED graph
    uint16_t memory[2];  // instant: LAUNCHED OPERATION OBJECT BYTES QUEUE_TRACK pc, pool; ALLOC, FREE
    uint16_t pool;       // instant: LAUNCHED OBJECT BYTES utilized
    uint16_t event;      // instant: LAUNCHED OBJECT
    uint16_t overhead;   // NAME CORRELATION
    uint16_t compile;    // NAME OPERATION CORRELATION TEXT BYTES
    uint16_t counter;    // instant: NAME VALUE OBJECT
    uint16_t external;   // instant: NAME CORRELATION external id, INFERRED
    uint16_t object;     // instant: OPERATION OBJECT PARENT BYTES
};
extern struct shapes shapes;

void shapes_register(struct channel *channel);

#endif
