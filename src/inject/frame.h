// SPDX-License-Identifier: Apache-2.0
// The part of a call in another process that depends on its processor: a stopped thread's registers, and the signal frame from which it
// comes back. x86-64; elsewhere nothing can be called.
#ifndef INJECT_FRAME_H
#define INJECT_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/target.h"

#if defined(__x86_64__)
#define FRAME_SUPPORTED 1
#include <sys/user.h>
struct frame_registers {
    struct user_regs_struct general;
};
#else
#define FRAME_SUPPORTED 0
struct frame_registers {
    uint64_t none;
};
#endif

enum frame_wait {
    FRAME_NOT_WAITING, // in no system call, or one that is not known to begin again
    FRAME_EXACT,       // it begins again, and ends when it would have ended
    FRAME_ANEW,        // it begins again, but its time limit anew
};

bool frame_get(pid_t thread, struct frame_registers *out);
// By DWARF's numbers.
void frame_unwind_registers(const struct frame_registers *frame, uint64_t *registers);
enum frame_wait frame_waits(const struct inject_target *target, const struct frame_registers *frame);
// Whether the number is of a system call that is known: before a thread is stopped for it.
bool frame_is_known_call(long number);
// Where a stop makes this call end with EINTR, lets it begin again. False: it cannot be set.
bool frame_undo_stop(pid_t thread, const struct frame_registers *frame);
// Sets the thread to `function`, which returns into what `frame` says. False: nothing was changed that it can notice.
bool frame_call(const struct inject_target *target, pid_t thread, const struct frame_registers *frame,
                uint64_t function, const char *text, int number);
// The code in libc by which a signal handler returns: 0: not found.
uint64_t frame_find_return(const struct inject_target *target);
// Where the thread has its errno, if that can be seen; 0.
uint64_t frame_find_errno(const struct inject_target *target, const struct frame_registers *frame);

#endif
