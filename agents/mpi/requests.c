// SPDX-License-Identifier: Apache-2.0
// The operations in flight, by the handle of their request. Rules: agent.h.
//
// The entries are a pool of fixed size. An entry is found by its handle; MPI gives a handle out once until it is complete, but for those
// that are shared (request_begun).
#include "agent.h"
#include "agentkit/free_list.h"
#include "agentkit/map.h"
#include "wire/memory.h"

enum { POOL = 1 << 16, BUCKETS_LOG2 = 16, FLIGHTS = UINT32_MAX };

static struct map by_handle;
static struct request *pool;
static struct free_list free_entries;
static _Atomic uint64_t open_count;

bool requests_init(void) {
    pool = memory_take(POOL * sizeof *pool);
    return pool && map_init(&by_handle, BUCKETS_LOG2);
}

static uint32_t *next_free(uint32_t number) {
    return &pool[number - 1].next;
}

static struct request *take_entry(void) {
    uint32_t number = free_list_take(&free_entries, 1, next_free);
    if (!number)
        number = free_list_extend(&free_entries, 1, POOL);
    return number ? &pool[number - 1] : NULL;
}

static void free_entry(const struct request *entry) {
    const uint32_t number = (uint32_t)(entry - pool) + 1;
    free_list_give(&free_entries, number, number, next_free);
}

static void count_open(bool opens) {
    if (opens) {
        atomic_fetch_add_explicit(&open_count, 1, memory_order_relaxed);
        channel_begun(agent.channel, FLIGHTS, 1);
    } else {
        atomic_fetch_sub_explicit(&open_count, 1, memory_order_relaxed);
        channel_ended(agent.channel, FLIGHTS, 1);
    }
}

struct request *request_find(mpi_handle handle) {
    return handle == mpi.request_null
               ? NULL
               : (struct request *)(uintptr_t)map_get(&by_handle, (void *)mpi_key(handle));
}

// MPI uses one handle for many operations that were complete when their call returned.
static bool is_shared(mpi_handle handle) {
    return mpi.family == MPI_MPICH ? handle >> 30 == MPICH_BUILTIN
                                   : mpi.request_empty && handle == mpi.request_empty;
}

void request_begun(const void *place, const struct request *request) {
    const mpi_handle handle = mpi_read_handle(place, 0);
    if (handle == mpi.request_null || (is_shared(handle) && !request->is_persistent)) {
        if (request->start)
            record_request(request, agent_tick(), 0);
        return;
    }
    struct request *before = request_find(handle), *entry = before ? before : take_entry();
    if (before && before->start) { // its end was in a call that we do not know, or while nothing was recorded
        count_open(false);
        channel_lose(agent.channel, TSMITH_REASON_NO_COMPLETION, 1);
    }
    if (!entry) {
        channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
        return;
    }
    *entry = *request;
    if (!before && !map_put(&by_handle, (void *)mpi_key(handle), (uintptr_t)entry)) {
        channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
        free_entry(entry);
        return;
    }
    if (request->start)
        count_open(true);
}

void request_started(struct request *request, uint64_t start, uint64_t correlation, uint32_t thread) {
    request->start = start;
    request->correlation = correlation;
    request->thread = thread;
    count_open(true);
}

struct request *request_claim(mpi_handle handle) {
    struct request *request = request_find(handle);
    if (request)
        map_remove(&by_handle, (void *)mpi_key(handle));
    return request;
}

void request_return(mpi_handle handle, struct request *request) {
    if (!request || map_put(&by_handle, (void *)mpi_key(handle), (uintptr_t)request))
        return;
    channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
    if (request->start)
        count_open(false);
    free_entry(request);
}

static void drop_entry(mpi_handle handle, struct request *request) {
    request->start = 0;
    if (request->is_persistent)
        request_return(handle, request);
    else
        free_entry(request);
}

void request_completed(mpi_handle handle, struct request *request, const void *status, uint64_t end,
                       uint64_t wait) {
    if (!request)
        return;
    if (request->start) {
        // The entry of a communicator that was freed meanwhile may be that of another one.
        if (request->is_receive && status && request->comm && request->comm->id == request->comm_id)
            transfer_received(&request->transfer, request->comm, status);
        if (request->is_read && status) {
            request->transfer.bytes = status_bytes(status);
            request->transfer.has |= HAS_BYTES;
        }
        record_request(request, end, wait);
        count_open(false);
    }
    drop_entry(handle, request);
}

void request_forgotten(mpi_handle handle, struct request *request, bool is_freed) {
    if (!request)
        return;
    if (request->start) { // the program has not learned when it was complete
        channel_lose(agent.channel, TSMITH_REASON_NO_COMPLETION, 1);
        count_open(false);
    }
    request->is_persistent &= !is_freed;
    drop_entry(handle, request);
}

void requests_over(void) {
    const uint64_t open = atomic_load(&open_count);
    if (!open)
        return;
    channel_lose(agent.channel, TSMITH_REASON_NO_COMPLETION, open);
    channel_ended(agent.channel, FLIGHTS, open);
}
