// SPDX-License-Identifier: Apache-2.0
// Running a command in a restricted child process. What it tries and is refused is counted by the parent.
//
//   sandbox.c        the two processes, the private directory, and the report
//   sandbox_rules.c  what is restricted: seccomp filters, Landlock, or a read-only view of all file systems
#ifndef CLI_SANDBOX_H
#define CLI_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/present/text.h"

enum { SANDBOX_REFUSALS = 32, SANDBOX_WHAT = 160, SANDBOX_PATH = 256 };

// What the kernel let us restrict.
struct sandbox_limits {
    bool filtered;  // system calls: no sockets, no signals to others, no changes of ownership or mode
    bool counted;   // and refused attempts are counted
    bool writes;    // nothing outside the private directory and device files can be written, made or removed
    bool truncates; // nor made shorter
};

struct sandbox_report {
    struct sandbox_limits limits;
    size_t count;  // of the different refusals
    uint64_t more; // refusals that have no place in the list
    struct sandbox_refusal {
        char what[SANDBOX_WHAT];
        uint64_t times;
    } refusals[SANDBOX_REFUSALS];
};

struct sandbox {
    char directory[SANDBOX_PATH]; // the private one, empty
    int channel;                  // to the other process
    struct sandbox_limits limits;
};

// Starts the restricted process and returns true in it. In the parent it returns false when that has ended, with its exit
// code; and false when there can be no sandbox, after saying why. To be called with one thread.
bool sandbox_enter(struct sandbox *sandbox, int *code);
// What is restricted, what could not be, and what was refused until now. In the child.
void sandbox_add_report(struct text *text, const struct sandbox *sandbox, bool json);

// ---- sandbox_rules.c

// Of this process and all that it starts. Returns the descriptor that gets to know of attempts, or -1.
int sandbox_restrict(const char *directory, struct sandbox_limits *limits);
// Whether opening this path for writing is to be allowed, as far as its name goes.
bool sandbox_may_write(const char *directory, const char *path);

#endif
