// SPDX-License-Identifier: Apache-2.0
// How every call of the library reports its result: one signed status, and an optional error message for the user.
//
// 0 is success, positive values are ordinary outcomes that are not failures (the end of a stream, "try
// again", "what was readable has been delivered"), negative values are failures.
#ifndef TRACESMITH_STATUS_H
#define TRACESMITH_STATUS_H

#include <stdint.h>

#include "tracesmith/export.h"

#ifdef __cplusplus
extern "C" {
#endif

// X(NAME, value, "what it means to a user")
#define TSMITH_STATUS_TABLE(X)                                                                               \
    X(OK, 0, "success")                                                                                      \
    X(END, 1, "end of the stream")                                                                           \
    X(AGAIN, 2, "nothing yet, try again")                                                                    \
    X(TRUNCATED, 3, "the input ends early; everything before that was delivered")                            \
    X(ERROR_INVALID_ARGUMENT, -1, "invalid argument")                                                        \
    X(ERROR_NO_MEMORY, -2, "out of memory")                                                                  \
    X(ERROR_IO, -3, "input/output error")                                                                    \
    X(ERROR_NOT_FOUND, -4, "not found")                                                                      \
    X(ERROR_CORRUPT, -5, "damaged input")                                                                    \
    X(ERROR_UNSUPPORTED, -6, "not supported")                                                                \
    X(ERROR_NO_SPACE, -7, "no space left")                                                                   \
    X(ERROR_PERMISSION, -8, "permission denied")                                                             \
    X(ERROR_LIMIT, -9, "a limit was exceeded")                                                               \
    X(ERROR_BUSY, -10, "busy")                                                                               \
    X(ERROR_STATE, -11, "not possible in this state")                                                        \
    X(ERROR_MISSING, -12, "the machine lacks something")                                                     \
    X(ERROR_FORMAT, -13, "not a format TraceSmith reads")

typedef enum tsmith_status {
#define TSMITH_STATUS_ENUM(name, value, text) TSMITH_##name = value,
    TSMITH_STATUS_TABLE(TSMITH_STATUS_ENUM)
#undef TSMITH_STATUS_ENUM
} tsmith_status;

#define TSMITH_ERROR_MESSAGE_SIZE 512

// What went wrong, for a person. Caller-owned, may be uninitialized before a call and may be NULL wherever
// one is taken; written only when the call returns a negative status or TSMITH_TRUNCATED. `offset` and
// `record` are UINT64_MAX when they do not apply.
typedef struct tsmith_error {
    tsmith_status status;
    int system_errno;                        // errno at the failure, or 0
    uint64_t offset;                         // byte offset in the input
    uint64_t record;                         // record (frame, event) index in the input
    char message[TSMITH_ERROR_MESSAGE_SIZE]; // complete sentence: what happened, where, what to do
} tsmith_error;

// The constant's own name ("ERROR_CORRUPT") and its meaning; never NULL, static storage. Any thread.
TSMITH_API const char *tsmith_status_name(tsmith_status status);
TSMITH_API const char *tsmith_status_text(tsmith_status status);

#ifdef __cplusplus
}
#endif
#endif
