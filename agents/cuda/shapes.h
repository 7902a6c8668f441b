// SPDX-License-Identifier: Apache-2.0
// The shapes of the agent's records: which word of a record is which field. Rules: agent.h.
//
// All lie on a track (RECORD_SUBJECT_TRACK) and begin with START and DURATION in ns of the trace clock.
#ifndef CUDA_SHAPES_H
#define CUDA_SHAPES_H

#include "agent.h"

// The fields after START and DURATION. An upper-case word is of the schema (tracesmith/schema.h), X(shape, kind, words)
// and what each word is stands in shapes.c, in this order.
struct shapes {
    uint16_t
        kernel[2]
              [2]; // CORRELATION NAME HOST_TRACK STACK | GLOBAL_X LOCAL_X, or [1][] X Y Z | registers shared
                   // | [][1]: graph graph_node, cluster
    uint16_t untimed; // (no DURATION) INFERRED CORRELATION NAME HOST_TRACK
    uint16_t
        copy; // CORRELATION NAME HOST_TRACK OPERATION DIRECTION BYTES FLAGS source destination graph graph_node
    uint16_t fill;       // CORRELATION NAME HOST_TRACK OPERATION BYTES value graph graph_node
    uint16_t call;       // CORRELATION NAME RESULT
    uint16_t call_stack; // the same and STACK
    uint16_t sync;       // CORRELATION NAME OPERATION QUEUE_TRACK HOST_TRACK event
    uint16_t graph;      // CORRELATION NAME HOST_TRACK STACK graph
    uint16_t
        memory[2];  // (no DURATION) CORRELATION NAME OPERATION OBJECT BYTES QUEUE_TRACK HOST_TRACK pc pool;
                    // [0] ALLOC, [1] FREE
    uint16_t pool;  // (no DURATION) CORRELATION NAME HOST_TRACK OBJECT BYTES utilized
    uint16_t event; // (no DURATION) CORRELATION NAME HOST_TRACK OBJECT
    uint16_t overhead; // NAME CORRELATION
    uint16_t compile;  // NAME OPERATION CORRELATION TEXT BYTES
    uint16_t counter;  // NAME VALUE OBJECT
    uint16_t external; // (no DURATION) NAME CORRELATION external_id INFERRED
    uint16_t object;   // (no DURATION) OPERATION OBJECT PARENT BYTES
};
extern struct shapes shapes;

void shapes_register(struct channel *channel);

#endif
