// SPDX-License-Identifier: Apache-2.0
// Functions that LLVM XRay instruments, recorded together with what a capture records: XRay's runtime in the program is set
// up through its environment, and what it logged is joined with the trace when the program has ended, on the trace clock.
//
//     tsmith_xray_create -> tsmith_capture_create (with tsmith_xray_environment) -> tsmith_xray_join -> start, pump ...
//
// The program must have been built with clang -fxray-instrument. One thread at a time.
#ifndef TRACESMITH_XRAY_H
#define TRACESMITH_XRAY_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/capture.h"
#include "tracesmith/export.h"
#include "tracesmith/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// X(NAME, number, "name", "doc")
#define TSMITH_XRAY_MODE_TABLE(X)                                                                            \
    X(BASIC, 0, "basic", "every call, into a file that grows")                                               \
    X(FDR, 1, "fdr",                                                                                         \
      "XRay's flight data recorder: lower cost; its buffers keep the last calls; needs the program's "       \
      "symbols")

typedef enum tsmith_xray_mode {
#define TSMITH_XRAY_MODE_ENUM(NAME, number, name, doc) TSMITH_XRAY_##NAME = number,
    TSMITH_XRAY_MODE_TABLE(TSMITH_XRAY_MODE_ENUM)
#undef TSMITH_XRAY_MODE_ENUM
} tsmith_xray_mode;

typedef struct tsmith_xray tsmith_xray;

typedef struct tsmith_xray_options {
    size_t size; // sizeof(tsmith_xray_options)
    const char *
        program; // that will be run, as a path: has the names of its functions. Of other processes, their own
    tsmith_xray_mode mode;
    size_t buffers;              // FDR: of 64 KiB, that a process has; 0: 1024. What does not fit is lost
    const char *agent_directory; // as in tsmith_capture_options
    int64_t least_ns; // calls that took less are not logged (XRay counts in microseconds); 0: all are
} tsmith_xray_options;

// Makes a private folder for the logs, in TMPDIR or /tmp. Existing values of XRAY_OPTIONS, XRAY_BASIC_OPTIONS and
// LD_PRELOAD are kept. MISSING if the library that FDR needs is not installed.
TSMITH_API tsmith_status tsmith_xray_create(const tsmith_xray_options *options, tsmith_xray **out,
                                            tsmith_error *error);
// For tsmith_capture_options.environment; the object's.
TSMITH_API const char *const *tsmith_xray_environment(const tsmith_xray *xray);
// The logs come into the trace when the program has ended. Must outlive the capture.
TSMITH_API tsmith_status tsmith_xray_join(tsmith_xray *xray, tsmith_capture *capture, tsmith_error *error);
// After END: logs that were found, and of those, ones that could not be read (the last reason in `error`, if any).
TSMITH_API size_t tsmith_xray_logs(const tsmith_xray *xray, size_t *unreadable, tsmith_error *error);
// Removes the folder with the logs.
TSMITH_API void tsmith_xray_destroy(tsmith_xray *xray);

#ifdef __cplusplus
}
#endif
#endif
