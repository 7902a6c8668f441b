// SPDX-License-Identifier: Apache-2.0
// Call stacks of events, for people and for programs.
#ifndef CLI_STACK_LINES_H
#define CLI_STACK_LINES_H

#include "cli/present/text.h"
#include "opened_trace.h"
#include "tracesmith/stacks.h"

struct stacks_call;

struct stacks {
    const tsmith_dictionary *dictionary;
    struct stacks_call *calls; // those that have a stack, by correlation
    size_t call_count, call_capacity;
    tsmith_stack_names *names;
    tsmith_stack_line *lines;
    size_t capacity;
};

// Looks up the names of frames that have none in the trace, and reports what could not be found. False when memory is
// exhausted (complained about). Before events are read.
bool stacks_open(struct stacks *stacks, struct trace *trace, bool hide_interpreter);
void stacks_close(struct stacks *stacks);

// Gives every call of the API that has a stack and a correlation to `take`, until that returns false: then this does, too. Damage
// costs calls.
typedef bool (*stacks_call_taker)(void *context, uint32_t track, uint64_t correlation, uint32_t stack);
bool stacks_each_call(const struct trace *trace, stacks_call_taker take, void *context);

// Whether an event of this kind is shown with the stack of the call that launched it, when it has none of its own (other
// profilers take stacks of calls only).
bool stacks_are_of_call(tsmith_kind kind);
// The stack of the one call with that correlation; 0: no call has it, or several with different stacks.
uint32_t stacks_of_call(const struct stacks *stacks, uint64_t correlation);

// A line per function, innermost first, `columns` wide at most (0: any); nothing for stack 0.
//     #0  launch_blur (inlined) at src/blur.c:41
void stacks_add_text(struct stacks *stacks, struct text *text, uint32_t stack, size_t columns);
// An array of objects, innermost first.
void stacks_add_json(struct stacks *stacks, struct text *text, uint32_t stack);
// One word for it all, as flame graphs have it: main;frame;launch_blur. Bytes as they are in the trace.
void stacks_add_path(struct stacks *stacks, struct text *text, uint32_t stack);

#endif
