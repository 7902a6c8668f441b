// SPDX-License-Identifier: Apache-2.0
// A function call in a running program that expects nothing of the kind, on one of its own threads: how `attach` loads its library.
//
// The call is made as the kernel delivers a signal. A thread that waits in a system call is stopped (ptrace), a signal frame with
// all its registers is written below its stack, it is set to the function, and let go at once. When the function returns, it
// returns into the rt_sigreturn of the program's own libc, which restores every register and the signal mask, and the system call
// begins again. Nothing of the program's code is written to; it stands still for a few hundred microseconds; and whatever happens
// to us after the registers are set, the thread finds back by itself.
//
// The function allocates memory and takes the loader's lock, as a thread of the program may that does something of that kind. So
// the thread must hold no such lock. It is taken only if
//   - it waits in a system call that is known and begins again without the program noticing;
//   - its whole stack is known, innermost first: one function of libc that waits and holds no lock (a list), then functions of the
//     program, then those of libc that start a thread or main. Nothing of the loader, no other function of libc, no signal
//     handler, no code without unwind tables;
//   - it has room on its stack.
// Other threads are not stopped: whatever locks they hold, they release. What must be known of the program is asked before any of its
// threads is stopped, and whatever is not as expected is a refusal with its reason.
#ifndef INJECT_INJECT_H
#define INJECT_INJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tracesmith/status.h"

struct inject_target;

// Looks at the process; changes and stops nothing. STATE, PERMISSION or UNSUPPORTED with the reason when it cannot be done here.
tsmith_status inject_open(pid_t pid, struct inject_target **out, tsmith_error *error);
void inject_close(struct inject_target *target);

// Whether a library is loaded that has the file name and the build id of our file `own`. The file that it was loaded from may have been
// removed or replaced since.
bool inject_has_same(const struct inject_target *target, const char *own);
// Whether one is loaded whose file name begins so ("libcuda.so").
bool inject_has_library(const struct inject_target *target, const char *beginning);

struct inject_call {
    const char *file;     // our file of a loaded library (inject_has_same); NULL: libc
    const char *function; // that it exports
    const char *text;     // first argument: a directory
    // How the function learns the thread's errno, to give it back. NULL: as its second argument. Otherwise `number` is the second one,
    // and the first is TEXT, as many slashes as errno is, and one more, and this name: the same path for all.
    const char *then;
    int number;
};

struct inject_report {
    int64_t
        stopped_ns; // of the thread that made the call: from before the request to stop to after it was let go
    int64_t longest_ns;     // the longest stop of any thread, those included that were let go at once
    uint32_t threads_tried; // stopped and found unsafe
    pid_t thread;           // that made the call
};

// Makes the call on a thread that is safe, waiting for one up to `patience_ns`; returns before the function does. BUSY with what was in
// the way when there is none.
tsmith_status inject_call(struct inject_target *target, const struct inject_call *call, int64_t patience_ns,
                          struct inject_report *report, tsmith_error *error);

#endif
