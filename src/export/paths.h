// SPDX-License-Identifier: Apache-2.0
// Where time was spent, as a tree of names: the source of folded stacks and flame graphs.
//
// For a trace with call stacks: the time of commands of devices, beneath the process and the functions that launched
// them (their own stack, or that of their call), outermost first, folded and marked by the rules in event/fold.h;
// those without a stack beneath process and queue. With `of_samples`: the processor time that samples of threads stand
// for, beneath the process and the functions. For any other trace: nested slices, beneath process and track.
#ifndef EXPORT_PATHS_H
#define EXPORT_PATHS_H

#include <stdbool.h>

#include "base/status.h"
#include "base/table.h"
#include "export/order.h"
#include "tracesmith/batch.h"
#include "tracesmith/stacks.h"

enum { PATHS_NAME_SIZE = 8192, PATHS_DEPTH_MAX = 1 << 15 };

// What a name is of.
enum paths_name {
    PATHS_SLICE,
    PATHS_KIND,
    PATHS_PROCESS,
    PATHS_TRACK,
    PATHS_FUNCTION,
    PATHS_FRAME, // a place in code that has no name
    PATHS_COMMAND,
    PATHS_TRUNCATED, // represents the missing callers of a cut stack
};

// A path: its last name, and the path before that, which has a smaller number. [0] is the empty one.
struct paths_node {
    uint64_t name;
    uint32_t parent;
    int64_t self; // ns
};

// A zeroed struct has no paths.
struct paths {
    const tsmith_dictionary *dictionary;
    tsmith_stack_names *names;
    struct paths_node *nodes;
    size_t node_count, node_capacity;
    uint32_t *slots; // hash table of (parent, name): index of the node
    size_t slot_count;
    struct paths_track *tracks; // by id
    size_t track_capacity;
    size_t waiting; // of all tracks
    struct waiting_scratch scratch;
    struct paths_work *work;
    size_t work_count, work_capacity;
    struct table sampled; // of `work`, by process and stack
    uint32_t *way;        // stacks, from the innermost out
    size_t way_capacity;
    bool begun, by_stack, failed;
    bool hide_interpreter;           // set before the first batch
    bool of_samples;                 // too: the samples of threads, and no commands
    bool folded, truncated, guessed; // whether any path is
};

tsmith_status paths_add(struct paths *paths, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                        tsmith_error *error);
// After the last batch; then the nodes are whole.
tsmith_status paths_end(struct paths *paths, const tsmith_dictionary *dictionary, tsmith_error *error);
void paths_finish(struct paths *paths);
// What the paths have: "device time", "CPU time" or "time".
const char *paths_quantity(const struct paths *paths);

// The names of all nodes, each once, in the order of the nodes. Zero-initialized, it is empty.
struct paths_names {
    struct table numbers; // by name: index in `names`
    uint64_t *names;
    size_t count, capacity;
};

// After paths_end. False when memory is exhausted.
bool paths_number_names(const struct paths *paths, struct paths_names *names);
void paths_names_finish(struct paths_names *names);
static inline uint64_t paths_name_number(const struct paths_names *names, uint64_t name) {
    const uint64_t *number = table_find(&names->numbers, name);
    return number ? *number : 0;
}

enum paths_name paths_name_kind(uint64_t name);
// Bytes as they are in the trace; in `text` if they are nowhere else.
tsmith_string paths_name(struct paths *paths, uint64_t name, char text[PATHS_NAME_SIZE]);

#endif
