// SPDX-License-Identifier: Apache-2.0
// The memory limit of answers about commands and calls. A file of a few KB can hold millions of equal commands, so
// its size is no measure: commands are counted, and if they do not fit, the error states the memory they would need.
#ifndef STATE_MEMORY_LIMIT_H
#define STATE_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// What a timeline with its graph, its states and an analysis or simulation takes at most, per command, command with other times
// than start and end, command or call with details (struct command_details), call, and element of a wait list. The test
// state.memory_limit measures it.
enum {
    MEMORY_PER_COMMAND = 280,
    MEMORY_PER_TIMES = 24,
    MEMORY_PER_DETAILS = 16,
    MEMORY_PER_CALL = 320,
    MEMORY_PER_WAIT = 32
};

// Bytes: the environment variable TRACESMITH_MEMORY_LIMIT ("3GiB", "512MiB", "800000000"), else half of the machine's
// memory; UINT64_MAX when that is not known.
uint64_t memory_limit(void);

// ERROR_NO_MEMORY with what so many commands and calls need, and how to allow it. `more`: bytes per command, for times and
// details.
tsmith_status memory_limit_refuse(size_t commands, size_t more, size_t calls, tsmith_error *error);

#endif
