// SPDX-License-Identifier: Apache-2.0
// Call stacks of a Chrome trace, which has them in two ways: frames next to the events ("stackFrames"), which an
// event names ("sf": frames.c); and Kineto's, with_stack=True, as ranges of Python functions and operators that
// enclose the calls (around.c). Both become stacks of the dictionary.
#ifndef IMPORT_CHROME_STACKS_H
#define IMPORT_CHROME_STACKS_H

#include "import/chrome/chrome.h"

struct group;
struct row_track;

// What events of a group have to do with Kineto's stacks.
enum around_role { AROUND_NOTHING, AROUND_RANGE, AROUND_CALL };

// A function or operator that ran from start to end.
struct around {
    int64_t start, end;
    int64_t least_end; // its own and those of all enclosing ranges
    uint32_t name;     // string
    uint32_t parent;   // index + 1
    uint32_t stack;    // 0: not made yet
};

// Those of one thread. Sorted: each has its parent.
struct around_track {
    struct around *items;
    size_t count, capacity;
    int64_t asked; // the latest call that was given a stack
    bool unsorted, has_asked;
};

struct stacks {
    // Kineto's
    bool python; // there are Python functions: without them no stacks were requested
    bool off;    // too much, or in an order that takes too long
    size_t ranges, sorted;
    // stackFrames
    struct stack_frame *frames; // hash table by id
    size_t frame_slots, frame_count;
    bool looked; // the rest of the file was looked through for them
};

void stacks_finish(struct stacks *stacks);

// ---- around.c

// A new group's role, by its category and kind.
enum around_role around_role_of(struct chrome *chrome, const struct event *event, tsmith_kind kind);
// After the event has become the last row of the batch: takes what is needed of it, and gives the row its stack.
void around_event(struct chrome *chrome, struct group *group, tsmith_batch *batch, const struct event *event);
void around_track_finish(struct row_track *track);

// ---- frames.c

// The object "stackFrames": text[0 .. length), behind it INPUT_PADDING bytes.
void frames_read(struct chrome *chrome, const char *text, size_t length);
// The stack that "sf" names; 0: there is none of that id. Frames that come behind the events are looked for once.
uint32_t frames_stack(struct chrome *chrome, const struct value *id);

#endif
