// SPDX-License-Identifier: Apache-2.0
// The records of rocprofiler-sdk that the agent reads, as a table: layout, type, member, offset. The agent's accessors
// are made of it, and the mock's of the tests. Source: the public headers of rocprofiler-sdk 1.0 (ROCm 7) and, for HIP_GRAPH,
// HIP_EVENT, of its development in 2026. The names are our own. tests/rocm/layouts.tsv has the same offsets with AMD's names.
//
// Every record begins with its size. A newer SDK appends members: what is longer than our declaration is read as far as that
// goes, and a member that is beyond the end of a shorter record is unknown (SDK_HAS).
#ifndef ROCM_LAYOUTS_H
#define ROCM_LAYOUTS_H

#include <stddef.h>
#include <stdint.h>

#define SDK_HEAD(M, L) M(L, uint64_t, size, 0) M(L, int32_t, kind, 8) M(L, int32_t, operation, 12)

// Calls of HIP, HSA and RCCL.
#define SDK_API(M, L)                                                                                        \
    SDK_HEAD(M, L)                                                                                           \
    M(L, uint64_t, correlation, 16)                                                                          \
    M(L, uint64_t, start, 40)                                                                                \
    M(L, uint64_t, end, 48)                                                                                  \
    M(L, uint64_t, thread, 56)

#define SDK_ASYNC(M, L)                                                                                      \
    SDK_HEAD(M, L)                                                                                           \
    M(L, uint64_t, correlation, 16)                                                                          \
    M(L, uint64_t, thread, 32)                                                                               \
    M(L, uint64_t, start, 40)                                                                                \
    M(L, uint64_t, end, 48)

// The same of what may be part of another operation.
#define SDK_ASYNC_NESTED(M, L)                                                                               \
    SDK_HEAD(M, L)                                                                                           \
    M(L, uint64_t, correlation, 16)                                                                          \
    M(L, uint64_t, thread, 40)                                                                               \
    M(L, uint64_t, start, 48)                                                                                \
    M(L, uint64_t, end, 56)

// What is known of a dispatch, at offset O of a record: of its own size, and never longer than 128 bytes.
#define SDK_DISPATCH_INFO(M, L, O)                                                                           \
    M(L, uint64_t, info_size, (O))                                                                           \
    M(L, uint64_t, agent, (O) + 8)                                                                           \
    M(L, uint64_t, queue, (O) + 16)                                                                          \
    M(L, uint64_t, kernel, (O) + 24)                                                                         \
    M(L, uint64_t, dispatch, (O) + 32)                                                                       \
    M(L, uint32_t, private_segment, (O) + 40)                                                                \
    M(L, uint32_t, group_segment, (O) + 44)                                                                  \
    M(L, uint32_t, workgroup_x, (O) + 48)                                                                    \
    M(L, uint32_t, workgroup_y, (O) + 52)                                                                    \
    M(L, uint32_t, workgroup_z, (O) + 56)                                                                    \
    M(L, uint32_t, grid_x, (O) + 60)                                                                         \
    M(L, uint32_t, grid_y, (O) + 64)                                                                         \
    M(L, uint32_t, grid_z, (O) + 68)

#define SDK_DISPATCH(M, L) SDK_ASYNC(M, L) SDK_DISPATCH_INFO(M, L, 56)

#define SDK_COPY(M, L)                                                                                       \
    SDK_ASYNC(M, L)                                                                                          \
    M(L, uint64_t, destination_agent, 56)                                                                    \
    M(L, uint64_t, source_agent, 64)                                                                         \
    M(L, uint64_t, bytes, 72)                                                                                \
    M(L, uint64_t, destination, 80)                                                                          \
    M(L, uint64_t, source, 88)

#define SDK_ALLOCATION(M, L)                                                                                 \
    SDK_ASYNC_NESTED(M, L)                                                                                   \
    M(L, uint64_t, agent, 64)                                                                                \
    M(L, uint64_t, address, 72)                                                                              \
    M(L, uint64_t, bytes, 80)

#define SDK_SCRATCH(M, L)                                                                                    \
    SDK_HEAD(M, L)                                                                                           \
    M(L, uint64_t, correlation, 16)                                                                          \
    M(L, uint64_t, agent, 40)                                                                                \
    M(L, uint64_t, queue, 48)                                                                                \
    M(L, uint64_t, thread, 56)                                                                               \
    M(L, uint64_t, start, 64)                                                                                \
    M(L, uint64_t, end, 72)                                                                                  \
    M(L, uint64_t, bytes, 88)

// A HIP event as a queue reaches it, or waits for it.
#define SDK_EVENT(M, L)                                                                                      \
    SDK_ASYNC(M, L)                                                                                          \
    M(L, uint64_t, agent, 56)                                                                                \
    M(L, uint64_t, queue, 64)                                                                                \
    M(L, uint64_t, event, 72)                                                                                \
    M(L, uint64_t, source_queue, 80)

#define SDK_GRAPH(M, L)                                                                                      \
    SDK_ASYNC_NESTED(M, L)                                                                                   \
    M(L, uint64_t, agent, 64)                                                                                \
    M(L, uint64_t, graph, 80)                                                                                \
    M(L, uint64_t, kernels, 88)

#define SDK_MIGRATION(M, L)                                                                                  \
    SDK_HEAD(M, L)                                                                                           \
    M(L, uint64_t, start, 16)                                                                                \
    M(L, uint64_t, end, 24)                                                                                  \
    M(L, uint32_t, process, 32)                                                                              \
    M(L, uint64_t, from, 40)                                                                                 \
    M(L, uint64_t, to, 48)                                                                                   \
    M(L, uint64_t, source_agent, 56)                                                                         \
    M(L, uint64_t, destination_agent, 64)

// Events that the operating system's driver dropped.
#define SDK_DROPPED(M, L) SDK_HEAD(M, L) M(L, uint64_t, time, 16) M(L, uint32_t, count, 28)

// ---- what callbacks are given

#define SDK_CALLBACK(M, L)                                                                                   \
    M(L, uint64_t, context, 0)                                                                               \
    M(L, uint64_t, thread, 8)                                                                                \
    M(L, uint64_t, correlation, 16)                                                                          \
    M(L, int32_t, kind, 40)                                                                                  \
    M(L, int32_t, operation, 44)                                                                             \
    M(L, int32_t, phase, 48)                                                                                 \
    M(L, void *, payload, 56)

#define SDK_KERNEL_SYMBOL(M, L)                                                                              \
    M(L, uint64_t, size, 0)                                                                                  \
    M(L, uint64_t, kernel, 8)                                                                                \
    M(L, uint64_t, code_object, 16)                                                                          \
    M(L, const char *, name, 24)

#define SDK_LAUNCH(M, L) M(L, uint64_t, size, 0) SDK_DISPATCH_INFO(M, L, 24)

#define SDK_STREAM(M, L) M(L, uint64_t, size, 0) M(L, uint64_t, stream, 8)

// Of roctx: the first argument, a text or the number of a range, and what the call returns.
#define SDK_MARKER(M, L) M(L, uint64_t, size, 0) M(L, uint64_t, argument, 8) M(L, uint64_t, result, 24)

// A processor. Devices are those of type 2.
#define SDK_AGENT(M, L)                                                                                      \
    M(L, uint64_t, size, 0)                                                                                  \
    M(L, uint64_t, id, 8)                                                                                    \
    M(L, int32_t, type, 16)                                                                                  \
    M(L, uint32_t, compute_units, 72)                                                                        \
    M(L, uint32_t, target, 100)                                                                              \
    M(L, uint32_t, location, 108)                                                                            \
    M(L, uint32_t, domain, 112)                                                                              \
    M(L, uint32_t, clock_mhz, 140)                                                                           \
    M(L, uint64_t, memory_bytes, 176)                                                                        \
    M(L, const char *, name, 248)                                                                            \
    M(L, const char *, vendor, 256)                                                                          \
    M(L, const char *, product, 264)                                                                         \
    M(L, int32_t, number, 288)                                                                               \
    M(L, uint64_t, uuid, 296)

// LAYOUT(name, its members)
#define SDK_LAYOUTS(LAYOUT)                                                                                  \
    LAYOUT(head, SDK_HEAD)                                                                                   \
    LAYOUT(api, SDK_API)                                                                                     \
    LAYOUT(dispatch, SDK_DISPATCH)                                                                           \
    LAYOUT(copy, SDK_COPY)                                                                                   \
    LAYOUT(allocation, SDK_ALLOCATION)                                                                       \
    LAYOUT(scratch, SDK_SCRATCH)                                                                             \
    LAYOUT(event, SDK_EVENT)                                                                                 \
    LAYOUT(graph, SDK_GRAPH)                                                                                 \
    LAYOUT(migration, SDK_MIGRATION)                                                                         \
    LAYOUT(dropped, SDK_DROPPED)                                                                             \
    LAYOUT(callback, SDK_CALLBACK)                                                                           \
    LAYOUT(kernel_symbol, SDK_KERNEL_SYMBOL)                                                                 \
    LAYOUT(launch, SDK_LAUNCH)                                                                               \
    LAYOUT(stream, SDK_STREAM)                                                                               \
    LAYOUT(marker, SDK_MARKER)                                                                               \
    LAYOUT(agent, SDK_AGENT)

#define SDK_ACCESSOR(layout, type, member, offset)                                                           \
    enum { SDK_AT_##layout##_##member = (offset), SDK_END_##layout##_##member = (offset) + sizeof(type) };   \
    static inline type sdk_##layout##_##member(const void *record) {                                         \
        type value;                                                                                          \
        __builtin_memcpy(&value, (const char *)record + (offset), sizeof value);                             \
        return value;                                                                                        \
    }

#define SDK_MAKE(layout, LIST) LIST(SDK_ACCESSOR, layout)
SDK_LAYOUTS(SDK_MAKE)
#undef SDK_MAKE

// Whether the member is within the record.
#define SDK_HAS(record, layout, member) (sdk_head_size(record) >= SDK_END_##layout##_##member)
// Its value, or 0.
#define SDK_OR_0(record, layout, member)                                                                     \
    (SDK_HAS(record, layout, member) ? sdk_##layout##_##member(record) : 0)

#endif
