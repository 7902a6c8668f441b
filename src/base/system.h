// SPDX-License-Identifier: Apache-2.0
// Functions of the operating system that base needs. Readers for other systems take them from src/platform/.
#ifndef BASE_SYSTEM_H
#define BASE_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

// The text of an errno; in `room`, or a constant.
const char *system_error_text(int code, char *room, size_t size);

// The largest file that this process may write, in bytes; UINT64_MAX: there is no limit.
uint64_t system_file_limit(void);

#endif
