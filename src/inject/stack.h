// SPDX-License-Identifier: Apache-2.0
// Whether a stopped thread may be borrowed for a call: by its registers and its stack. The rules are in inject.h.
#ifndef INJECT_STACK_H
#define INJECT_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/target.h"

enum { STACK_ROOM = 64 << 10 }; // bytes that must be below the stack pointer

// Whether there is room below the stack pointer. Reads the mappings: before the thread is stopped.
bool stack_has_room(const struct inject_target *target, uint64_t stack_pointer, bool is_main);
// `registers` by DWARF's numbers, with the program counter. Not safe: `why` says what is in the way ("it is in the loader").
bool stack_is_safe(const struct inject_target *target, const uint64_t *registers, const char **why);

#endif
