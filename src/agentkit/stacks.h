// SPDX-License-Identifier: Apache-2.0
// The call stack of the calling thread, as a number in the channel's table of stacks. For agents, inside the call that they
// record:
//
//     attaching:      stacks_start(channel);                  once
//     in the call:    uint32_t stack = stacks_capture();      0: none; the word of a field with RECORD_STACK
//     periodically:   stacks_refresh();                       from a thread of the agent, about every 20 ms
//
// stacks_capture takes no lock, allocates nothing and makes no system call, but for the first one of a thread (its
// memory, its stack's bounds), when the table grows, and when code was loaded or unloaded that is on this stack. It may be
// called in signal handlers, on alternate signal stacks, after fork, and on stacks that are not the thread's own (then
// the path is partial). Frames of our own libraries, and of CUPTI, are left out; those of the API's loader stay.
//
// What cannot be kept is counted (channel_lose): NO_STACK when there is no stack, DEEP_STACK when it has more frames than
// the session wants, PARTIAL_STACK when it does not reach the outermost frame for another reason, PYTHON_STACK when
// Python's functions are missing.
//
// The table is the file NAME.stacks of the session (layout.h), which outlives the process; it grows by segments. What its
// program counters mean is in the channel's own table: an entry per module, before any stack that needs it.
#ifndef AGENTKIT_STACKS_H
#define AGENTKIT_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwind.h"
#include "wire/channel.h"
#include "wire/stack_words.h"

// Stacks are taken from now on, for this channel, if the session wants them. One channel per library at a time. After stacks_end,
// or for another session (agent_attach_late), it can be called again.
bool stacks_start(struct channel *channel);
// The channel is closed and nothing more is needed of its stacks: gives back their memory. Threads may still be in stacks_capture.
void stacks_end(void);

// Looks for code that was loaded, and for a Python interpreter. Takes the dynamic linker's lock.
void stacks_refresh(void);

extern bool stacks_on __attribute__((visibility("hidden")));
uint32_t stacks_take(const struct unwind_registers *registers);

// The stack of the function that this stands in.
__attribute__((always_inline)) static inline uint32_t stacks_capture(void) {
    if (__builtin_expect(!stacks_on, 1))
        return 0;
    struct unwind_registers registers;
    unwind_capture(&registers);
    return stacks_take(&registers);
}

#endif
