// SPDX-License-Identifier: Apache-2.0
// The chain of work and waits that decides when a window ends, and how much later everything else could end.
//
// Every node of a graph is two points, its start and its end. Walking back from the last end, the chain goes at each
// point to the predecessor that came last: that is the one it waited for. The time between is attributed, so that the
// steps add up to the time from the first point of the chain to the last, exactly. A thread that only polls, like a
// watchdog, does not determine the last end.
//
// Slack uses the trace's own times: the unexplained time between a point and the last point that it waited for is
// kept. A point's slack is how much later it could come without the last end moving.
#ifndef STATE_CRITICAL_PATH_H
#define STATE_CRITICAL_PATH_H

#include "state/graph.h"

enum {
    PATH_RUN = TSMITH_EDGE_LIMIT, // a step in which the node itself is at work; other steps: the edge's kind
    PATH_UNEXPLAINED, // a command could have run, or been launched, and did not, for an unknown reason
    PATH_LIMIT
};

struct path_step {
    int64_t from, to;
    uint32_t node; // that is at work, or that waits
    uint32_t kind;
};

struct critical_path {
    struct path_step *steps; // ascending, without gaps
    size_t count, capacity;
    int64_t *slack;         // by node: of its end, in ns
    uint64_t inferred;      // inferred edges that the path goes through
    int64_t inferred_until; // and when the last of them is: all of the path before rests on them
};

// The name of a part of a path, in `analyze` and in `simulate`. For a command: the kind of its work, or "compile".
const char *path_command_name(const tsmith_command *command);
// For a host call.
const char *path_call_name(const tsmith_call *call);
// For the time between two nodes: an edge's kind or PATH_UNEXPLAINED.
const char *path_edge_name(uint32_t kind);

tsmith_status critical_path_make(struct critical_path *path, const tsmith_graph *graph,
                                 tsmith_interval window);
void critical_path_finish(struct critical_path *path);

#endif
