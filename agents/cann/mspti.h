// SPDX-License-Identifier: Apache-2.0
// The part of MSPTI's binary interface that is used, declared by ourselves: the agent builds without CANN. From the public headers
// mspti_activity.h, mspti_callback.h and mspti_result.h (Ascend/mspti a389160, July 2026, and 01ce25b, which adds overhead records and
// the functions that may be missing). tests/cann/test_layouts.sh compares the table with such headers.
//
// Records are packed, so members lie at any address: they are read by the functions that the table makes.
#ifndef CANN_MSPTI_H
#define CANN_MSPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { MSPTI_OK = 0, MSPTI_MULTIPLE_SUBSCRIBERS = 2, MSPTI_LIMIT_REACHED = 3, MSPTI_WITHOUT_PRELOAD = 6 };

// KIND(NAME, number, MSPTI's struct, bytes)
#define MSPTI_KINDS(KIND)                                                                                    \
    KIND(MARKER, 1, msptiActivityMarker, 56)                                                                 \
    KIND(KERNEL, 2, msptiActivityKernel, 56)                                                                 \
    KIND(API, 3, msptiActivityApi, 48)                                                                       \
    KIND(HCCL, 4, msptiActivityHccl, 56)                                                                     \
    KIND(MEMORY, 5, msptiActivityMemory, 64)                                                                 \
    KIND(MEMSET, 6, msptiActivityMemset, 56)                                                                 \
    KIND(MEMCPY, 7, msptiActivityMemcpy, 56)                                                                 \
    KIND(EXTERNAL_CORRELATION, 8, msptiActivityExternalCorrelation, 24)                                      \
    KIND(COMMUNICATION, 9, msptiActivityCommunication, 72)                                                   \
    KIND(ACL_API, 10, msptiActivityApi, 48)                                                                  \
    KIND(NODE_API, 11, msptiActivityApi, 48)                                                                 \
    KIND(RUNTIME_API, 12, msptiActivityApi, 48)                                                              \
    KIND(OVERHEAD, 13, msptiActivityOverhead, 56)
enum mspti_kind {
#define MSPTI_NUMBER(NAME, number, type, bytes) MSPTI_##NAME = number,
    MSPTI_KINDS(MSPTI_NUMBER)
#undef MSPTI_NUMBER
        MSPTI_KIND_LIMIT = 14
};

// MEMBER(record, our name, offset, type, MSPTI's struct, MSPTI's name)
#define MSPTI_MEMBERS(MEMBER)                                                                                \
    MEMBER(any, kind, 0, uint32_t, msptiActivity, kind)                                                      \
    MEMBER(marker, flag, 4, uint32_t, msptiActivityMarker, flag)                                             \
    MEMBER(marker, source, 8, uint32_t, msptiActivityMarker, sourceKind)                                     \
    MEMBER(marker, time, 12, uint64_t, msptiActivityMarker, timestamp)                                       \
    MEMBER(marker, id, 20, uint64_t, msptiActivityMarker, id)                                                \
    MEMBER(marker, device, 28, uint32_t, msptiActivityMarker, objectId.ds.deviceId)                          \
    MEMBER(marker, stream, 32, uint32_t, msptiActivityMarker, objectId.ds.streamId)                          \
    MEMBER(marker, thread, 32, uint32_t, msptiActivityMarker, objectId.pt.threadId)                          \
    MEMBER(marker, name, 36, const char *, msptiActivityMarker, name)                                        \
    MEMBER(marker, domain, 44, const char *, msptiActivityMarker, domain)                                    \
    MEMBER(kernel, start, 4, uint64_t, msptiActivityKernel, start)                                           \
    MEMBER(kernel, end, 12, uint64_t, msptiActivityKernel, end)                                              \
    MEMBER(kernel, device, 20, uint32_t, msptiActivityKernel, ds.deviceId)                                   \
    MEMBER(kernel, stream, 24, uint32_t, msptiActivityKernel, ds.streamId)                                   \
    MEMBER(kernel, correlation, 28, uint64_t, msptiActivityKernel, correlationId)                            \
    MEMBER(kernel, type, 36, const char *, msptiActivityKernel, type)                                        \
    MEMBER(kernel, name, 44, const char *, msptiActivityKernel, name)                                        \
    MEMBER(api, start, 4, uint64_t, msptiActivityApi, start)                                                 \
    MEMBER(api, end, 12, uint64_t, msptiActivityApi, end)                                                    \
    MEMBER(api, thread, 24, uint32_t, msptiActivityApi, pt.threadId)                                         \
    MEMBER(api, correlation, 28, uint64_t, msptiActivityApi, correlationId)                                  \
    MEMBER(api, name, 36, const char *, msptiActivityApi, name)                                              \
    MEMBER(hccl, start, 4, uint64_t, msptiActivityHccl, start)                                               \
    MEMBER(hccl, end, 12, uint64_t, msptiActivityHccl, end)                                                  \
    MEMBER(hccl, device, 20, uint32_t, msptiActivityHccl, ds.deviceId)                                       \
    MEMBER(hccl, stream, 24, uint32_t, msptiActivityHccl, ds.streamId)                                       \
    MEMBER(hccl, name, 36, const char *, msptiActivityHccl, name)                                            \
    MEMBER(hccl, comm, 44, const char *, msptiActivityHccl, commName)                                        \
    MEMBER(memory, operation, 4, uint32_t, msptiActivityMemory, memoryOperationType)                         \
    MEMBER(memory, memory_kind, 8, uint32_t, msptiActivityMemory, memoryKind)                                \
    MEMBER(memory, correlation, 12, uint64_t, msptiActivityMemory, correlationId)                            \
    MEMBER(memory, start, 20, uint64_t, msptiActivityMemory, start)                                          \
    MEMBER(memory, end, 28, uint64_t, msptiActivityMemory, end)                                              \
    MEMBER(memory, address, 36, uint64_t, msptiActivityMemory, address)                                      \
    MEMBER(memory, bytes, 44, uint64_t, msptiActivityMemory, bytes)                                          \
    MEMBER(memory, device, 56, uint32_t, msptiActivityMemory, deviceId)                                      \
    MEMBER(set, value, 4, uint32_t, msptiActivityMemset, value)                                              \
    MEMBER(set, bytes, 8, uint64_t, msptiActivityMemset, bytes)                                              \
    MEMBER(set, start, 16, uint64_t, msptiActivityMemset, start)                                             \
    MEMBER(set, end, 24, uint64_t, msptiActivityMemset, end)                                                 \
    MEMBER(set, device, 32, uint32_t, msptiActivityMemset, deviceId)                                         \
    MEMBER(set, stream, 36, uint32_t, msptiActivityMemset, streamId)                                         \
    MEMBER(set, correlation, 40, uint64_t, msptiActivityMemset, correlationId)                               \
    MEMBER(copy, copy_kind, 4, uint32_t, msptiActivityMemcpy, copyKind)                                      \
    MEMBER(copy, bytes, 8, uint64_t, msptiActivityMemcpy, bytes)                                             \
    MEMBER(copy, start, 16, uint64_t, msptiActivityMemcpy, start)                                            \
    MEMBER(copy, end, 24, uint64_t, msptiActivityMemcpy, end)                                                \
    MEMBER(copy, device, 32, uint32_t, msptiActivityMemcpy, deviceId)                                        \
    MEMBER(copy, stream, 36, uint32_t, msptiActivityMemcpy, streamId)                                        \
    MEMBER(copy, correlation, 40, uint64_t, msptiActivityMemcpy, correlationId)                              \
    MEMBER(external, external_kind, 4, uint32_t, msptiActivityExternalCorrelation, externalKind)             \
    MEMBER(external, id, 8, uint64_t, msptiActivityExternalCorrelation, externalId)                          \
    MEMBER(external, correlation, 16, uint64_t, msptiActivityExternalCorrelation, correlationId)             \
    MEMBER(comm, type, 4, uint32_t, msptiActivityCommunication, dataType)                                    \
    MEMBER(comm, count, 8, uint64_t, msptiActivityCommunication, count)                                      \
    MEMBER(comm, device, 16, uint32_t, msptiActivityCommunication, ds.deviceId)                              \
    MEMBER(comm, stream, 20, uint32_t, msptiActivityCommunication, ds.streamId)                              \
    MEMBER(comm, start, 24, uint64_t, msptiActivityCommunication, start)                                     \
    MEMBER(comm, end, 32, uint64_t, msptiActivityCommunication, end)                                         \
    MEMBER(comm, algorithm, 40, const char *, msptiActivityCommunication, algType)                           \
    MEMBER(comm, name, 48, const char *, msptiActivityCommunication, name)                                   \
    MEMBER(comm, group, 56, const char *, msptiActivityCommunication, commName)                              \
    MEMBER(comm, correlation, 64, uint64_t, msptiActivityCommunication, correlationId)                       \
    MEMBER(overhead, overhead_kind, 4, uint32_t, msptiActivityOverhead, overheadKind)                        \
    MEMBER(overhead, thread, 12, uint32_t, msptiActivityOverhead, objectId.pt.threadId)                      \
    MEMBER(overhead, start, 16, uint64_t, msptiActivityOverhead, start)                                      \
    MEMBER(overhead, end, 24, uint64_t, msptiActivityOverhead, end)                                          \
    MEMBER(overhead, object_kind, 48, uint32_t, msptiActivityOverhead, objectKind)

#define MSPTI_READER(record, name, offset, type, their_struct, theirs)                                       \
    enum { MSPTI_AT_##record##_##name = offset };                                                            \
    static inline type mspti_##record##_##name(const void *at) {                                             \
        type value;                                                                                          \
        memcpy(&value, (const char *)at + (offset), sizeof value);                                           \
        return value;                                                                                        \
    }
MSPTI_MEMBERS(MSPTI_READER)
#undef MSPTI_READER

enum { MSPTI_NONE = -1 }; // a stream that is none

enum {
    MSPTI_MARK = 1,
    MSPTI_MARK_START = 2,
    MSPTI_MARK_END = 4,
    MSPTI_MARK_DEVICE = 8,
    MSPTI_MARK_DEVICE_START = 16,
    MSPTI_MARK_DEVICE_END = 32,
};
enum { MSPTI_SOURCE_DEVICE = 1, MSPTI_RELEASE = 1, MSPTI_OBJECT_THREAD = 2 };
enum { MSPTI_COPY_HTOH = 1, MSPTI_COPY_HTOD = 2, MSPTI_COPY_DTOH = 3, MSPTI_COPY_DTOD = 4 };
enum { MSPTI_DOMAIN_RUNTIME = 1, MSPTI_ENTER = 0, MSPTI_LAUNCH_FIRST = 10, MSPTI_LAUNCH_LAST = 14 };

// Only what precedes `parameters` is set by MSPTI: the rest, with the correlation id, is not.
struct mspti_callback_data {
    int site;
    const char *function;
};

typedef void mspti_callback(void *context, int domain, uint32_t id, const struct mspti_callback_data *data);
typedef void mspti_buffer_wanted(uint8_t **buffer, size_t *size, size_t *records);
typedef void mspti_buffer_full(uint8_t *buffer, size_t size, size_t valid);

// X(name, parameters)
#define MSPTI_FUNCTIONS(X)                                                                                   \
    X(Subscribe, void **subscriber, mspti_callback *callback, void *context)                                 \
    X(EnableCallback, uint32_t enable, void *subscriber, int domain, uint32_t id)                            \
    X(ActivityRegisterCallbacks, mspti_buffer_wanted *wanted, mspti_buffer_full *full)                       \
    X(ActivityEnable, int kind)                                                                              \
    X(ActivityDisable, int kind)                                                                             \
    X(ActivityGetNextRecord, uint8_t *buffer, size_t valid, void **record)                                   \
    X(ActivityFlushAll, uint32_t flag)
// Those that older versions lack.
#define MSPTI_LATER_FUNCTIONS(X)                                                                             \
    X(GetVersion, uint32_t *version)                                                                         \
    X(GetTimestamp, uint64_t *time)                                                                          \
    X(ActivityGetNumDroppedRecords, void *context, uint32_t stream, size_t *dropped)

#endif
