// SPDX-License-Identifier: Apache-2.0
// The dependencies that determine when commands ran: a graph of the commands and calls of a timeline.
//
// Every command and every call is a node. An edge connects a moment of one node (its start or its end) with a moment of
// another node that must not come before it. Edges always point forward in time: one that the trace's own times
// contradict (clocks that disagree) is left out and counted. Dependencies that are not in the trace are not guessed,
// except for the kinds marked "inferred", whose description has the rule.
//
// A device's clock may differ from the hosts'. If the recorded times of a device are impossible (a command that
// starts before the call that launched it, a wait that returns before what it waited for has ended), its times are
// placed by tsmith_graph_clocks() before they are compared with those of a host or another device.
//
// 8 bytes per edge and 4 per node. Built once, read-only afterwards; it borrows the timeline. One thread at a
// time.
#ifndef TRACESMITH_GRAPH_H
#define TRACESMITH_GRAPH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tracesmith/dictionary.h"
#include "tracesmith/export.h"
#include "tracesmith/output.h"
#include "tracesmith/status.h"
#include "tracesmith/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

// X(NAME, number, "name", from its end?, to its end?, "doc")
#define TSMITH_EDGE_TABLE(X)                                                                                 \
    X(PROGRAM_ORDER, 0, "program_order", 1, 0, "a thread makes one call after the other")                    \
    X(CALLED, 1, "called", 0, 0, "a call is made inside another, or before another has ended")               \
    X(RETURNED, 2, "returned", 1, 1, "a call ends after the calls inside it")                                \
    X(LAUNCH, 3, "launch", 0, 0, "a call launches a command, or sets an event that it waits for")            \
    X(STREAM_ORDER, 4, "stream_order", 1, 0, "an in-order queue runs one command after the other")           \
    X(GRAPH_NODE, 5, "graph_node", 1, 0, "stream order within one launch of a captured graph")               \
    X(BARRIER, 6, "barrier", 1, 0, "a barrier or marker of an out-of-order queue")                           \
    X(EVENT_WAIT, 7, "event_wait", 1, 0, "a command had another in its wait list")                           \
    X(DEFAULT_STREAM, 8, "default_stream", 1, 0,                                                             \
      "inferred: a stream that never overlapped the default stream, and waited for it at least twice")       \
    X(RESOURCE, 9, "resource", 1, 0,                                                                         \
      "inferred: a device or copy engine that never ran two commands at once, and at least twice made "      \
      "one wait")                                                                                            \
    X(COMPILE, 10, "compile", 1, 0, "a kernel waited for its compilation")                                   \
    X(COLLECTIVE, 11, "collective", 0, 1, "a collective ends after its last participant has begun")          \
    X(SYNC_RETURN, 12, "sync_return", 1, 1, "a call returns after the commands it waits for")                \
    X(SYNC_INFERRED, 13, "sync_inferred", 1, 1,                                                              \
      "inferred: a call that waits for a queue the trace does not name, or returned, by its times, only "    \
      "after a device had finished")                                                                         \
    X(QUEUE_INFERRED, 14, "queue_inferred", 1, 0,                                                            \
      "inferred: gaps of a queue that end with commands of another again and again, more often than by "     \
      "chance")                                                                                              \
    X(THREAD_INFERRED, 15, "thread_inferred", 1, 0,                                                          \
      "inferred: a thread that goes on when another falls silent, again and again, or after its last call")

typedef enum tsmith_edge_kind {
#define TSMITH_EDGE_ENUM(NAME, number, name, from_end, to_end, doc) TSMITH_EDGE_##NAME = number,
    TSMITH_EDGE_TABLE(TSMITH_EDGE_ENUM)
#undef TSMITH_EDGE_ENUM
        TSMITH_EDGE_LIMIT
} tsmith_edge_kind;

typedef struct tsmith_graph tsmith_graph;

typedef struct tsmith_edge {
    uint32_t from; // node
    uint32_t kind; // tsmith_edge_kind
} tsmith_edge;

typedef enum tsmith_clock_state {
    TSMITH_CLOCK_AS_RECORDED = 0,  // nothing in the trace rules out that it agrees with the hosts' clock
    TSMITH_CLOCK_PLACED = 1,       // it does not: `offset` and `drift` are added to its times
    TSMITH_CLOCK_CONTRADICTED = 2, // nor would any offset and drift: its times are used as recorded
} tsmith_clock_state;

// The offset of a device's clock from the hosts' clock, in ns. A recorded time t becomes t + offset + drift * (t - at).
typedef struct tsmith_device_clock {
    int64_t offset, at;
    double drift;
    int64_t low,
        high; // the offsets at `at` that the trace admits; TSMITH_TIME_UNKNOWN where there is no such bound
    uint64_t launches, waits; // how many bounds of each kind the trace gives
    uint64_t left_out;        // bounds that contradict the others
    uint32_t state;           // tsmith_clock_state
} tsmith_device_clock;

TSMITH_API tsmith_status tsmith_graph_create(const tsmith_timeline *timeline,
                                             const tsmith_dictionary *dictionary, tsmith_graph **out,
                                             tsmith_error *error);
TSMITH_API void tsmith_graph_destroy(tsmith_graph *graph);

// Nodes 0 .. commands-1 are the timeline's commands, the next its calls.
TSMITH_API uint32_t tsmith_graph_node_count(const tsmith_graph *graph);
// The edges into a node, by kind and then by where they come from.
TSMITH_API const tsmith_edge *tsmith_graph_predecessors(const tsmith_graph *graph, uint32_t node,
                                                        uint32_t *count);
TSMITH_API uint64_t tsmith_graph_edge_count(const tsmith_graph *graph, tsmith_edge_kind kind);
// Edges that the times of the trace contradict; they are not in the graph.
TSMITH_API uint64_t tsmith_graph_contradicted(const tsmith_graph *graph, tsmith_edge_kind kind);
// By device of the timeline.
TSMITH_API const tsmith_device_clock *tsmith_graph_clocks(const tsmith_graph *graph, size_t *count);
TSMITH_API const char *tsmith_edge_kind_name(tsmith_edge_kind kind);
// Whether edges of the kind are inferred: conclusions from them are less certain than recorded facts.
TSMITH_API int tsmith_edge_kind_inferred(tsmith_edge_kind kind);
TSMITH_API const char *tsmith_edge_kind_doc(tsmith_edge_kind kind);

// Writes the nodes that touch [from, to] and the edges between them for Graphviz, one cluster per queue and thread.
// At most `node_limit` nodes (0: 2000, about the limit of a readable drawing); a comment in the file says how many
// are left out.
TSMITH_API tsmith_status tsmith_graph_write_dot(const tsmith_graph *graph,
                                                const tsmith_dictionary *dictionary, tsmith_interval window,
                                                uint32_t node_limit, FILE *out, tsmith_error *error);
// The same bytes, written to a function of the caller. If it fails, its status is returned.
TSMITH_API tsmith_status tsmith_graph_write_dot_to(const tsmith_graph *graph,
                                                   const tsmith_dictionary *dictionary,
                                                   tsmith_interval window, uint32_t node_limit,
                                                   const tsmith_output *output, tsmith_error *error);

#ifdef __cplusplus
}
#endif
#endif
