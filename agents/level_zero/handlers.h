// SPDX-License-Identifier: Apache-2.0
// What the agent does when the program enters and leaves a function: the functions that calls.h names. `done`: the function
// succeeded. They are called while recording is off as well, to know the objects; then `frame` is not to be recorded, and
// frame->start is 0. Rules: agent.h.
#ifndef LEVEL_ZERO_HANDLERS_H
#define LEVEL_ZERO_HANDLERS_H

#include "agent.h"

typedef void enter_function(struct frame *frame, void **arguments);
typedef void leave_function(struct frame *frame, void **arguments, int result);

struct call_row {
    uint32_t signal; // index of the argument; 0: none
    enter_function *enter;
    leave_function *leave;
};
extern const struct call_row call_rows[CALL_LIMIT];

#endif
