// SPDX-License-Identifier: Apache-2.0
// A second subscriber, over XPTI's own headers: it writes to the file OTHER_TOOL_LOG what the runtime reports, one line for each submission
// and wait that ends, for test_dpnp.sh. With it the agent's declarations are compared with the headers.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "agents/sycl/abi.h"
#include "xpti/xpti_trace_framework.h"

static_assert(XPTI_TASK_BEGIN == xpti::trace_task_begin && XPTI_TASK_END == xpti::trace_task_end, "points");
static_assert(XPTI_WAIT_BEGIN == xpti::trace_wait_begin && XPTI_WAIT_END == xpti::trace_wait_end, "points");
#define SAME(member, theirs)                                                                                 \
    static_assert(offsetof(xpti_payload, member) == offsetof(xpti::payload_t, theirs), #member)
SAME(name, name);
SAME(stack, stack_trace);
SAME(file, source_file);
SAME(line, line_no);
SAME(column, column_no);
static_assert((uint32_t)XPTI_NO_LINE == xpti::invalid_id<>, "unknown line");
static_assert(XPTI_OK == (int32_t)xpti::result_t::XPTI_RESULT_SUCCESS, "results");
static_assert(sizeof(xpti::stream_id_t) == 1 && sizeof(xpti::result_t) == 4, "types");

static FILE *log_file;

static void task_end(uint16_t, xpti::trace_event_data_t *, xpti::trace_event_data_t *event, uint64_t,
                     const void *) {
    const xpti::payload_t *payload = xptiQueryPayload(event);
    fprintf(log_file, "submission %s\n", payload && payload->name ? payload->name : "?");
    fflush(log_file);
}

static void wait_end(uint16_t, xpti::trace_event_data_t *, xpti::trace_event_data_t *, uint64_t,
                     const void *what) {
    const char *text = (const char *)what;
    fprintf(log_file, "wait %.*s\n", (int)strcspn(text, "["), text);
    fflush(log_file);
}

XPTI_CALLBACK_API void xptiTraceInit(unsigned int, unsigned int, const char *, const char *stream) {
    const char *path = getenv("OTHER_TOOL_LOG");
    if (!path || strcmp(stream, "sycl") != 0 || !(log_file = fopen(path, "w")))
        return;
    const xpti::stream_id_t id = xptiRegisterStream(stream);
    xptiRegisterCallback(id, xpti::trace_task_end, task_end);
    xptiRegisterCallback(id, xpti::trace_wait_end, wait_end);
}

XPTI_CALLBACK_API void xptiTraceFinish(const char *) {}
