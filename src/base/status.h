// SPDX-License-Identifier: Apache-2.0
// Filling a tsmith_error in one line.
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include "tracesmith/status.h"

// Sets status and message, clears the rest; `error` may be NULL. Returns `status`, so that a failure is one
// line:
//     return status_set(error, TSMITH_ERROR_CORRUPT, "…: …", path);
tsmith_status status_set(tsmith_error *error, tsmith_status status, const char *format, ...)
    TSMITH_PRINTF(3, 4);

// The same for input at a place: byte offset and record index (UINT64_MAX when there is none).
tsmith_status status_set_at(tsmith_error *error, tsmith_status status, uint64_t offset, uint64_t record,
                            const char *format, ...) TSMITH_PRINTF(5, 6);

// The same from errno (which it reads): the status that fits it (NO_SPACE, PERMISSION, NOT_FOUND, NO_MEMORY,
// IO), and the message followed by ": " and the system's text.
tsmith_status status_set_errno(tsmith_error *error, const char *format, ...) TSMITH_PRINTF(2, 3);

#endif
