// SPDX-License-Identifier: Apache-2.0
// How many intervals, which come in order of their start, are there at once.
#ifndef CLI_DEPTH_H
#define CLI_DEPTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Called for each stretch of time in which the number does not change and is not 0; in order.
typedef void depth_note(void *context, int64_t from, int64_t to, size_t depth);

// A zeroed struct with `note` and `context` set is empty.
struct depth {
    depth_note *note;
    void *context;
    int64_t *ends; // of those that are open: a heap, the first to end on top
    size_t count, capacity;
    int64_t since; // up to here everything was reported
};

// False when there is no memory.
bool depth_add(struct depth *depth, int64_t start, int64_t end);
// Reports the rest, and frees.
void depth_finish(struct depth *depth);

#endif
