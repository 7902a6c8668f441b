// SPDX-License-Identifier: Apache-2.0
// The libcupti that is used: which one, and its functions. Found once, while the agent attaches; read only afterwards.
#ifndef CUDA_LIBRARY_H
#define CUDA_LIBRARY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "agentkit/foreign_clock.h"
#include "cupti.h"

// X(name, type of the pointer's function): without these there is nothing to be recorded.
#define CUPTI_FUNCTIONS(X)                                                                                   \
    X(GetVersion, int(uint32_t *))                                                                           \
    X(GetTimestamp, int(uint64_t *))                                                                         \
    X(ActivityRegisterCallbacks, int(cupti_buffer_wanted *, cupti_buffer_full *))                            \
    X(ActivityEnable, int(int))                                                                              \
    X(ActivityDisable, int(int))                                                                             \
    X(ActivityFlushAll, int(uint32_t))                                                                       \
    X(ActivityGetNextRecord, int(uint8_t *, size_t, void **))                                                \
    X(ActivityGetNumDroppedRecords, int(void *, uint32_t, size_t *))

// X(name, parameters): those that a vendor's library may lack (vendor.h). Then they return LIBRARY_LACKS.
#define CUPTI_CALLBACK_FUNCTIONS(X)                                                                          \
    X(GetResultString, int result, const char **text)                                                        \
    X(Subscribe, void **handle, cupti_callback *callback, void *context)                                     \
    X(Unsubscribe, void *handle)                                                                             \
    X(EnableCallback, uint32_t enable, void *handle, int domain, uint32_t id)                                \
    X(GetCallbackName, int domain, uint32_t id, const char **name)                                           \
    X(GetDeviceId, void *context, uint32_t *id)                                                              \
    X(GetContextId, void *context, uint32_t *id)                                                             \
    X(GetStreamIdEx, void *context, void *stream, uint8_t per_thread, uint32_t *id)
enum { LIBRARY_LACKS = -1 };

// Those that not every version has.
#define CUPTI_LATER_FUNCTIONS(X)                                                                             \
    X(ActivityConfigureUnifiedMemoryCounter, int(struct cupti_unified_memory_config *, uint32_t))            \
    X(ActivitySetAttribute, int(int, size_t *, void *))                                                      \
    X(ActivityEnableRuntimeApi, int(uint32_t, uint8_t))                                                      \
    X(ActivityEnableDriverApi, int(uint32_t, uint8_t))                                                       \
    X(ActivityEnableRuntimeApi_v2, int(void *, uint32_t, uint8_t))                                           \
    X(ActivityEnableDriverApi_v2, int(void *, uint32_t, uint8_t))                                            \
    X(ActivityGetApiName, int(int, uint32_t, const char **))                                                 \
    X(SetThreadIdType, int(int))                                                                             \
    X(GetGraphNodeId, int(void *, uint64_t *))                                                               \
    X(ActivityEnableCudaEventDeviceTimestamps, int(uint8_t))                                                 \
    X(GetCallbackState, int(uint32_t *, void *, int, uint32_t))                                              \
    X(ActivityEnableDeviceGraph, int(uint8_t))                                                               \
    X(ActivityEnableLatencyTimestamps, int(uint8_t))                                                         \
    X(Subscribe_v2, int(void **, cupti_callback *, void *, struct cupti_subscriber_params *))                \
    X(GetTimestamp_v2, int(void *, uint64_t *))                                                              \
    X(ActivityRegisterCallbacks_v2, int(void *, cupti_buffer_wanted_v2 *, cupti_buffer_full_v2 *))           \
    X(ActivityEnable_v2, int(void *, int, void *))                                                           \
    X(ActivitySetAttribute_v2, int(void *, int, size_t *, void *))                                           \
    X(ActivityGetNextRecord_v2, int(void *, uint8_t *, size_t, void **))                                     \
    X(ActivityGetNumDroppedRecords_v2, int(void *, void *, uint32_t, size_t *))

struct cupti {
#define CUPTI_POINTER(name, ...) __typeof__(__VA_ARGS__) *name;
    CUPTI_FUNCTIONS(CUPTI_POINTER)
    CUPTI_LATER_FUNCTIONS(CUPTI_POINTER)
#undef CUPTI_POINTER
#define CUPTI_POINTER(name, ...) int (*name)(__VA_ARGS__);
    CUPTI_CALLBACK_FUNCTIONS(CUPTI_POINTER)
#undef CUPTI_POINTER
    uint32_t version; // of CUPTI, whose form the records have
    uint32_t stated;  // what the library says
    bool shared; // subscribed so that other tools can be subscribed too: the _v2 functions are to be used
    void *subscriber;
    void *handle;      // of the library
    char path[1024];   // of the library
    const char *where; // it was found, in words
    bool was_loaded;   // before the agent looked for one
    bool simulated;    // it is a mock of the tests
    bool
        system_threads; // records identify threads by the system's ids; without it by pthread_self(), which is
                        // useless here
};
extern struct cupti cupti;

// CUPTI gives all times of host and devices on one clock of its own choice (CLOCK_REALTIME on most systems, which is slewed and
// stepped). Before the first context or kernel cuptiGetTimestamp may count from another origin.
//
// CUPTI would take the trace clock from us (cuptiActivityRegisterTimestampCallback). That is never used: a second registration in a
// process, as the program's own profiler makes, silently corrupts records, and with several subscribers it is not honored at all.
extern struct foreign_clock cupti_clock __attribute__((visibility("hidden")));

// CUPTI met an error that it does not recover from, and finalized itself, or another tool has ended it: it is not called any more.
extern atomic_bool library_gone __attribute__((visibility("hidden")));

// Whether records and functions of this version are there.
static inline bool cupti_has(uint32_t version) {
    return cupti.version >= version;
}

// Finds a libcupti that is compatible with the driver: the first of the candidates (candidates.h) that `take`
// subscribes to, or that fails for a reason that applies to every other too. `result` is its status. False: none, and
// `why` has the libraries tried and the remedy, in one line.
bool library_load(int (*take)(void), int *result, char *why, size_t size);

// Which one it is, in words; those that were refused, with their errors, or "". Static storage.
void library_describe(char *out, size_t size);
const char *library_refused(void);

// A function of the interface without its prefix; `name` gets its whole name. NULL: it is not there.
void *library_function(void *library, const char *function, char name[64]);

// What an error of CUPTI is called. Static storage.
const char *library_error(int result);

#endif
