// SPDX-License-Identifier: Apache-2.0
// For callers that build a tree of many stacks frame by frame: a frame of the interpreter that several stacks share is hidden in
// the stacks that have a Python function and shown in the others.
#ifndef EVENT_STACKS_H
#define EVENT_STACKS_H

#include <stdbool.h>

#include "tracesmith/stacks.h"

// Whether a frame is a function of Python, and whether it is one of the interpreter itself (tsmith_stack_names_hide_interpreter).
bool stacks_is_python(const tsmith_stack_names *names, uint32_t frame);
bool stacks_is_interpreter(const tsmith_stack_names *names, uint32_t frame);
// Whether the interpreter itself is in a stack, and not only what programs without Python have as well (libffi).
bool stacks_runs_python(const tsmith_stack_names *names, uint32_t stack);
// Whether the interpreter's functions are left out of this stack.
bool stacks_hide(tsmith_stack_names *names, uint32_t stack);
// tsmith_frame_lines, and with `hide` 0 for a function of the interpreter.
size_t stacks_frame_lines(tsmith_stack_names *names, uint32_t frame, bool hide, tsmith_stack_line *lines,
                          size_t limit);

#endif
