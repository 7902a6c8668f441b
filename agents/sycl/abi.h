// SPDX-License-Identifier: Apache-2.0
// What the agent uses of XPTI, the tracing framework of DPC++'s SYCL runtime. Sources: the document "SYCL Instrumentation" and the
// comments of XPTI's headers (intel/llvm, July 2026; framework 1.0). The names are our own; tests/sycl/abi.cc compares values and
// offsets with the headers, which are C++ and come with intel-sycl-rt. Only functions and structs of C are used.
#ifndef SYCL_ABI_H
#define SYCL_ABI_H

#include <stddef.h>
#include <stdint.h>

// A trace point has a number for its begin and one for its end: trace_point_type_t.
enum xpti_point {
    XPTI_TASK_BEGIN = 5 << 1, // a command of the program is given to the backend
    XPTI_TASK_END = 5 << 1 | 1,
    XPTI_WAIT_BEGIN = 11 << 1,
    XPTI_WAIT_END = 11 << 1 | 1,
};

// trace_event_data_t: opaque. The same one for all executions of a place in the program.
struct xpti_event;

// payload_t, as far as it is read.
struct xpti_payload {
    const char *name;
    const char *stack;
    const char *file;
    uint32_t line, column;
};
enum { XPTI_NO_LINE = -1 };

// tracepoint_callback_api_t. `instance` is that of the other end too.
typedef void xpti_callback(uint16_t point, struct xpti_event *parent, struct xpti_event *event,
                           uint64_t instance, const void *data);

// X(name, type of the result, parameters): functions of the framework.
#define XPTI_FUNCTIONS(X)                                                                                    \
    X(RegisterStream, uint8_t, const char *stream)                                                           \
    X(RegisterCallback, int32_t, uint8_t stream, uint16_t point, xpti_callback *callback)                    \
    X(QueryPayload, const struct xpti_payload *, struct xpti_event *event)
// Those that older frameworks lack.
#define XPTI_LATER_FUNCTIONS(X) X(GetStashedTuple, int32_t, char **key, uint64_t *value)
enum { XPTI_OK = 0 };

#endif
