// SPDX-License-Identifier: Apache-2.0
// Where in a program a call stack is: its innermost function, and the innermost one that is not of the system's libraries. In a
// stack with Python functions, those of the interpreter are left out.
#ifndef ANALYZE_STACK_PLACES_H
#define ANALYZE_STACK_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracesmith/stacks.h"

struct stack_place {
    bool known;        // it was looked up
    uint32_t function; // of the program: a string; 0: none
    uint32_t innermost;
    bool in_interpreter; // of Python, which runs a function that the stack does not have
};

// A zeroed struct is valid and knows no place.
struct stack_places {
    const tsmith_dictionary *dictionary;
    tsmith_stack_names *names;  // NULL: of no dictionary yet
    struct stack_place *places; // by stack
    uint32_t count;
};

// Of the stacks that the dictionary has now. False when memory is exhausted.
bool stack_places_init(struct stack_places *places, const tsmith_dictionary *dictionary);
struct stack_place stack_places_find(struct stack_places *places, uint32_t stack);
void stack_places_finish(struct stack_places *places);

// Whether a function begins every program or thread.
bool stack_line_is_beginning(const tsmith_dictionary *dictionary, const tsmith_stack_line *line);

#endif
