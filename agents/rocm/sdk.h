// SPDX-License-Identifier: Apache-2.0
// What the agent uses of rocprofiler-sdk: kinds, operations, types of functions, and the functions that library.c finds. The
// names are our own. tests/rocm/test_layouts.sh compares the numbers with AMD's headers where they are. Records: layouts.h.
#ifndef ROCM_SDK_H
#define ROCM_SDK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layouts.h"

// Versions are 10000 * major + 100 * minor + patch. Older than 1.0 the records are of other forms. From 1.1 on every stream has a
// number (ROCm 7.1).
enum { SDK_VERSION_LEAST = 10000, SDK_VERSION_STREAMS = 10100 };

enum { SDK_SUCCESS = 0 };

// KIND(NAME, number, name that the SDK gives the kind). Kinds are found by that name at run time: the SDK appends to its list.
#define SDK_KIND_TABLE(KIND)                                                                                 \
    KIND(HSA_CORE, 1, "HSA_CORE_API")                                                                        \
    KIND(HSA_AMD, 2, "HSA_AMD_EXT_API")                                                                      \
    KIND(HSA_IMAGE, 3, "HSA_IMAGE_EXT_API")                                                                  \
    KIND(HSA_FINALIZE, 4, "HSA_FINALIZE_EXT_API")                                                            \
    KIND(HIP, 5, "HIP_RUNTIME_API")                                                                          \
    KIND(COPY, 10, "MEMORY_COPY")                                                                            \
    KIND(DISPATCH, 11, "KERNEL_DISPATCH")                                                                    \
    KIND(SCRATCH, 12, "SCRATCH_MEMORY")                                                                      \
    KIND(RCCL, 14, "RCCL_API")                                                                               \
    KIND(ALLOCATION, 16, "MEMORY_ALLOCATION")                                                                \
    KIND(DROPPED, 28, "KFD_EVENT_DROPPED_EVENTS")                                                            \
    KIND(MIGRATION, 29, "KFD_PAGE_MIGRATE")                                                                  \
    KIND(GRAPH, 33, "HIP_GRAPH")                                                                             \
    KIND(EVENT, 38, "HIP_EVENT")

enum sdk_kind {
    SDK_KIND_UNKNOWN,
#define SDK_KIND(NAME, number, name) SDK_KIND_##NAME,
    SDK_KIND_TABLE(SDK_KIND)
#undef SDK_KIND
        SDK_KIND_COUNT
};
enum { SDK_KINDS_MAX = 128 }; // numbers beyond are of no kind that the agent knows

// Kinds of callbacks, and what of each is used.
enum sdk_callback_kind {
    SDK_CALLBACK_HIP = 5,
    SDK_CALLBACK_MARKER = 7,
    SDK_CALLBACK_CODE_OBJECT = 10,
    SDK_CALLBACK_DISPATCH = 12,
    SDK_CALLBACK_COPY = 13,
    SDK_CALLBACK_STREAM = 20
};
enum sdk_phase { SDK_PHASE_NONE, SDK_PHASE_ENTER, SDK_PHASE_EXIT };
enum sdk_marker { SDK_MARKER_MARK, SDK_MARKER_PUSH, SDK_MARKER_POP, SDK_MARKER_START, SDK_MARKER_STOP };
enum { SDK_CODE_OBJECT_KERNEL = 2, SDK_DISPATCH_ENQUEUE = 1, SDK_STREAM_SET = 3 };

enum sdk_copy_operation { SDK_COPY_NONE, SDK_COPY_H2H, SDK_COPY_H2D, SDK_COPY_D2H, SDK_COPY_D2D };
enum sdk_memory_operation {
    SDK_MEMORY_NONE,
    SDK_MEMORY_ALLOC,
    SDK_MEMORY_VALLOC,
    SDK_MEMORY_FREE,
    SDK_MEMORY_VFREE
};
enum sdk_scratch_operation { SDK_SCRATCH_NONE, SDK_SCRATCH_ALLOC, SDK_SCRATCH_FREE, SDK_SCRATCH_RECLAIM };
enum sdk_event_operation { SDK_EVENT_NONE, SDK_EVENT_RECORD, SDK_EVENT_WAIT };

enum {
    SDK_CATEGORY_TRACING = 1,
    SDK_BUFFER_LOSSLESS = 2,
    SDK_AGENT_CPU = 1,
    SDK_AGENT_GPU = 2,
    SDK_AGENT_VERSION = 1
};

// The agent of a record that has none, as of memory that is freed: 0, and this in builds before the release of 1.0.
#define SDK_AGENT_NONE UINT64_MAX

struct sdk_id {
    uint64_t handle;
};
struct sdk_record_header {
    uint32_t category, kind;
    void *payload;
};
// A callback's record as it is passed, by value: sdk_callback_* of layouts.h read it.
struct sdk_callback_record {
    uint64_t words[8];
};
struct sdk_client {
    size_t size;
    const char *name;
    uint32_t handle;
};
struct sdk_tool {
    size_t size;
    int (*initialize)(void (*finalize)(struct sdk_client), void *data); // 0: good
    void (*finalize)(void *data);
    void *data;
};
typedef struct sdk_tool *sdk_configure_function(uint32_t version, const char *runtime, uint32_t priority,
                                                struct sdk_client *client);

// `dropped` is the count since the buffer was made.
typedef void sdk_buffer_callback(struct sdk_id context, struct sdk_id buffer,
                                 struct sdk_record_header **headers, size_t count, void *data,
                                 uint64_t dropped);
typedef void sdk_tracing_callback(struct sdk_callback_record record, void *word, void *data);
typedef int sdk_agents_callback(int version, const void **agents, size_t count, void *data);

// FUNCTION(name after rocprofiler_, required, its parameters)
#define SDK_FUNCTIONS(FUNCTION)                                                                              \
    FUNCTION(get_version, true, (uint32_t *, uint32_t *, uint32_t *))                                        \
    FUNCTION(get_timestamp, true, (uint64_t *))                                                              \
    FUNCTION(create_context, true, (struct sdk_id *))                                                        \
    FUNCTION(start_context, true, (struct sdk_id))                                                           \
    FUNCTION(stop_context, true, (struct sdk_id))                                                            \
    FUNCTION(create_buffer, true,                                                                            \
             (struct sdk_id, size_t, size_t, int, sdk_buffer_callback *, void *, struct sdk_id *))           \
    FUNCTION(flush_buffer, true, (struct sdk_id))                                                            \
    FUNCTION(configure_buffer_tracing_service, true,                                                         \
             (struct sdk_id, int, const int32_t *, size_t, struct sdk_id))                                   \
    FUNCTION(configure_callback_tracing_service, true,                                                       \
             (struct sdk_id, int, const int32_t *, size_t, sdk_tracing_callback *, void *))                  \
    FUNCTION(query_buffer_tracing_kind_name, true, (int, const char **, uint64_t *))                         \
    FUNCTION(query_buffer_tracing_kind_operation_name, true, (int, int32_t, const char **, uint64_t *))      \
    FUNCTION(query_available_agents, true, (int, sdk_agents_callback *, size_t, void *))                     \
    FUNCTION(create_callback_thread, false, (struct sdk_id *))                                               \
    FUNCTION(assign_callback_thread, false, (struct sdk_id, struct sdk_id))

// The library of the process. Written by library_load, then only read.
struct sdk {
    void *library;
    bool simulated; // it is the mock of the tests
#define SDK_POINTER(name, required, parameters) int(*name) parameters;
    SDK_FUNCTIONS(SDK_POINTER)
#undef SDK_POINTER
};
extern struct sdk sdk __attribute__((visibility("hidden")));

// Finds the SDK, if it is in the process or, with `open`, can be loaded, and its functions. False: why.
bool library_load(bool open, char *why, size_t size);

#endif
