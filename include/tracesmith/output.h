// SPDX-License-Identifier: Apache-2.0
// Output to a function of the caller, which may write to memory, a socket, a compressor or a file object of another
// language.
#ifndef TRACESMITH_OUTPUT_H
#define TRACESMITH_OUTPUT_H

#include <stddef.h>

#include "tracesmith/export.h"
#include "tracesmith/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Who takes the bytes of an output. The struct is copied by the function that is given it; `context` is the caller's, and
// must live until that function has returned, or, of a sink, until the sink is destroyed.
//
// `write` takes the next `size` bytes (at least 1), all of them, and keeps no pointer into `bytes`. It returns OK, or a
// failure: then it is not called again for this output, and the function of the library that was writing returns the same
// status. A status above 0 counts as ERROR_IO. It is called by the thread that called the library, during that call, and
// must not call functions of the object that is being written.
typedef struct tsmith_output {
    tsmith_status (*write)(void *context, const void *bytes, size_t size);
    void *context;
} tsmith_output;

#ifdef __cplusplus
}
#endif
#endif
