// SPDX-License-Identifier: Apache-2.0
// The functions of MPI that programs and MPI's Fortran bindings call in place of MPI's own. Each is a row of calls.h; what its class does
// before and after the call is here. Rules: agent.h.
#include <stdarg.h>

#include "agent.h"
#include "agentkit/stacks.h"
#include "throttling.h"
#include "wire/memory.h"

enum { FEW = 64 };

// A request that the call may complete.
struct claim {
    mpi_handle handle;
    struct request *request;
};

// A call under way. Calls that MPI makes within it have frames below its own.
static __thread struct {
    uintptr_t frame;       // 0: none
    struct claim few[FEW]; // requests of a call that completes some
    struct claim *claims;  // those, or as many as there are
    int count;
} here __attribute__((tls_model("initial-exec")));

// ---- entering and leaving

__attribute__((always_inline)) static inline void enter(struct entry *entry, enum left_out rule,
                                                        const struct said *said) {
    const uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    entry->is_outer = entry->is_on = false;
    entry->status = NULL;
    // An error handler of the program may have left a call without returning: then its frame is gone.
    if (!mpi.abi || !agent_recording() || (here.frame && frame < here.frame))
        return;
    here.frame = frame;
    entry->is_outer = true;
    entry->comm = NULL;
    entry->entered = 0;
    entry->is_on = agent_on();
    if (!entry->is_on || (__builtin_expect(agent_overhead.on, 0) && !throttling_enter(entry, rule, said)))
        return;
    entry->stack = stacks_capture();
    entry->start = agent_tick();
}

static inline void leave(const struct entry *entry) {
    here.frame = 0;
    if (__builtin_expect(entry->entered != 0, 0))
        throttling_left(entry);
}

// What MPI gets for the status of a single message.
static inline void *give_status(struct entry *entry, void *status) {
    if (!entry->is_on)
        return status;
    entry->status = status == mpi.abi->status_ignore ? entry->own_status : status;
    return entry->status;
}
#define STATUS(status) give_status(&entry, status)

// ---- bytes

static bool add_bytes(mpi_handle type, int64_t count, uint64_t *bytes) {
    int size = 0;
    if (!type || mpi.type_size(type, &size) != 0 || size < 0 || count < 0)
        return false;
    *bytes += (uint64_t)count * (uint64_t)size;
    return true;
}

static int64_t count_at(const void *counts, size_t width, int index) {
    int narrow;
    int64_t wide;
    if (width == sizeof wide) {
        memcpy(&wide, (const char *)counts + (size_t)index * width, sizeof wide);
        return wide;
    }
    memcpy(&narrow, (const char *)counts + (size_t)index * width, sizeof narrow);
    return narrow;
}

static int64_t sum(const void *counts, size_t width, int ranks) {
    int64_t total = 0;
    for (int i = 0; i < ranks; i++)
        total += count_at(counts, width, i);
    return total;
}

// The bytes of this rank's part: what it sends, or gets from a root. False: unknown.
static bool part_bytes(const struct said *said, const struct comm *comm, uint64_t *bytes) {
    const bool in_place = said->in_place == mpi.abi->in_place;
    int64_t count = in_place ? said->alt_count : said->count;
    const mpi_handle type = in_place ? said->alt_type : said->type;
    *bytes = 0;
    if (!said->type && !said->alt_type)
        return false;
    if (!comm && (said->counts || said->times_ranks || said->alt_counts))
        return false;
    if (said->counts)
        count = sum(in_place ? said->alt_counts_all : said->counts, said->counts_width, comm->peers);
    else if (in_place && said->alt_counts)
        count = count_at(said->alt_counts, said->counts_width, comm->rank);
    if (said->times_ranks)
        count *= comm->peers;
    return add_bytes(type, count, bytes);
}

// ---- messages

static struct transfer sent(const struct said *said, const struct comm *comm, bool sends) {
    struct transfer transfer = {.sends = sends};
    if (comm && comm->id) {
        transfer.comm = comm->id;
        transfer.has = HAS_COMM;
    }
    if (said->peer == mpi.abi->proc_null || said->peer == PEER_FROM_STATUS)
        return transfer;
    const int peer = comm_world_rank(comm, said->peer);
    if (peer >= 0) {
        transfer.peer = peer;
        transfer.has |= HAS_PEER;
    }
    if (sends || said->tag != mpi.abi->any_tag) {
        transfer.tag = said->tag;
        transfer.has |= HAS_TAG;
    }
    if (sends && add_bytes(said->type, said->count, &transfer.bytes))
        transfer.has |= HAS_BYTES;
    return transfer;
}

static inline void before_SEND(struct entry *entry, const struct said *said) {
    entry->comm = comm_find(said->comm);
}
static inline void after_SEND(enum call call, struct entry *entry, const struct said *said, int result) {
    if (!entry->is_on)
        return;
    const struct transfer transfer = result == 0 ? sent(said, entry->comm, true) : (struct transfer){0};
    record_call(call, entry, result, &transfer);
}

static inline void before_RECV(struct entry *entry, const struct said *said) {
    entry->comm = said->message ? message_take(mpi_read_handle(said->message, 0)) : comm_find(said->comm);
}
static inline void after_RECV(enum call call, struct entry *entry, const struct said *said, int result) {
    if (!entry->is_on)
        return;
    struct transfer transfer = {0};
    if (result == 0) {
        transfer = sent(said, entry->comm, false);
        transfer_received(&transfer, entry->comm, entry->status);
    }
    record_call(call, entry, result, &transfer);
}

#define before_SENDRECV before_SEND
static inline void after_SENDRECV(enum call call, struct entry *entry, const struct said *said, int result) {
    if (!entry->is_on)
        return;
    struct transfer transfer = {0}, got = {0};
    if (result == 0) {
        transfer = sent(said, entry->comm, true);
        transfer_received(&got, entry->comm, entry->status);
        if (got.has & HAS_PEER) {
            transfer.source = got.peer;
            transfer.source_tag = got.tag;
            transfer.received = got.bytes;
            transfer.has |= HAS_SOURCE;
        }
    }
    record_call(call, entry, result, &transfer);
}

static void begin_request(enum call call, const struct entry *entry, const struct said *said, int result,
                          bool sends, bool is_persistent) {
    if (!entry->is_on && !is_persistent)
        return;
    struct request request = {.call = (uint16_t)call,
                              .comm = entry->comm,
                              .comm_id = entry->comm ? entry->comm->id : 0,
                              .is_persistent = is_persistent,
                              .is_receive = !sends};
    if (result == 0)
        request.transfer = sent(said, entry->comm, sends);
    if (entry->is_on) {
        request.correlation = record_call(call, entry, result, &request.transfer);
        request.start = is_persistent ? 0 : entry->start;
        request.thread = channel_thread_track(agent.channel);
    }
    if (result == 0)
        request_begun(said->request, &request);
}

#define before_ISEND before_SEND
static inline void after_ISEND(enum call call, struct entry *entry, const struct said *said, int result) {
    begin_request(call, entry, said, result, true, false);
}
#define before_IRECV before_RECV
static inline void after_IRECV(enum call call, struct entry *entry, const struct said *said, int result) {
    begin_request(call, entry, said, result, false, false);
}
#define before_MAKE_SEND before_SEND
static inline void after_MAKE_SEND(enum call call, struct entry *entry, const struct said *said, int result) {
    begin_request(call, entry, said, result, true, true);
}
#define before_MAKE_RECV before_SEND
static inline void after_MAKE_RECV(enum call call, struct entry *entry, const struct said *said, int result) {
    begin_request(call, entry, said, result, false, true);
}

static inline void before_START(struct entry *entry, const struct said *said) {
    (void)entry, (void)said;
}
static inline void after_START(enum call call, struct entry *entry, const struct said *said, int result) {
    if (!entry->is_on)
        return;
    const uint64_t correlation = record_call(call, entry, result, NULL);
    const uint32_t thread = channel_thread_track(agent.channel);
    for (int i = 0; result == 0 && i < said->request_count; i++) {
        struct request *request = request_find(mpi_read_handle(said->requests, (size_t)i));
        if (request && !request->start)
            request_started(request, entry->start, correlation, thread);
    }
}

// ---- waits: MPI overwrites the handles of what is complete, so they are read before

static void claim_requests(struct entry *entry, const struct said *said) {
    const int count = said->request_count > 0 && said->requests ? said->request_count : 0;
    bool is_begun = false;
    here.claims = count > FEW ? memory_take((size_t)count * sizeof *here.claims) : here.few;
    here.count = here.claims ? count : 0;
    for (int i = 0; i < here.count; i++) {
        const mpi_handle handle = mpi_read_handle(said->requests, (size_t)i);
        here.claims[i] = (struct claim){handle, request_claim(handle)};
        is_begun |= here.claims[i].request && here.claims[i].request->start;
    }
    // The end of an operation that is recorded is recorded too.
    if (__builtin_expect(agent_overhead.on, 0) && entry->is_on && !is_begun &&
        !throttling_admits(LEFT_OUT_CALL, said))
        entry->is_on = false;
}

// Those that are not complete go back.
static void return_claims(const struct said *said) {
    for (int i = 0; i < here.count; i++)
        request_return(here.claims[i].handle, here.claims[i].request);
    if (here.claims && here.claims != here.few)
        munmap(here.claims, (size_t)said->request_count * sizeof *here.claims);
    here.claims = NULL;
    here.count = 0;
}

static const void *status_at(const struct said *said, int index) {
    return said->statuses && said->statuses != mpi.abi->status_ignore
               ? (const char *)said->statuses + (size_t)index * mpi.abi->status_bytes
               : NULL;
}

static bool is_complete(const struct said *said, int index, int result) {
    if (result == 0)
        return true;
    // Of several that were waited for, some failed: those that are complete have no request any more.
    return mpi_read_handle(said->requests, (size_t)index) == mpi.request_null;
}

// How the completed ones are named.
enum which { ALL, ONE, SOME };

static int completed_count(const struct said *said, enum which which, int result) {
    if (which == ONE) // MPI_UNDEFINED: none was active
        return result == 0 && (!said->indices || *said->indices >= 0);
    if (which == SOME)
        return result == 0 && *said->flag > 0 ? *said->flag : 0;
    return here.count;
}

static void end_wait(enum call call, const struct entry *entry, const struct said *said, int result,
                     enum which which) {
    const int count = completed_count(said, which, result);
    const uint64_t end = entry->is_on ? agent_tick() : 0;
    uint64_t completed = 0;
    for (int i = 0; i < count; i++) {
        const int index = which == ALL ? i : said->indices ? said->indices[which == ONE ? 0 : i] : 0;
        completed += index < here.count && here.claims[index].handle != mpi.request_null;
    }
    const uint64_t wait = entry->is_on ? record_wait(call, entry, result, completed) : 0;
    for (int i = 0; i < count; i++) {
        const int index = which == ALL ? i : said->indices ? said->indices[which == ONE ? 0 : i] : 0;
        if (index >= here.count || !is_complete(said, index, result))
            continue;
        const void *status = result != 0 ? NULL : entry->status ? entry->status : status_at(said, i);
        struct claim *claim = &here.claims[index];
        if (entry->is_on)
            request_completed(claim->handle, claim->request, status, end, wait);
        else
            request_forgotten(claim->handle, claim->request, false);
        claim->request = NULL;
    }
    return_claims(said);
}

static inline bool found_none(const struct said *said, int result) {
    return result == 0 && said->flag && !*said->flag;
}

#define before_WAIT claim_requests
#define after_WAIT(call, entry, said, result) end_wait(call, entry, said, result, ONE)
#define before_WAITALL claim_requests
#define after_WAITALL(call, entry, said, result) end_wait(call, entry, said, result, ALL)
#define before_WAITANY claim_requests
#define after_WAITANY(call, entry, said, result) end_wait(call, entry, said, result, ONE)
#define before_WAITSOME claim_requests
#define after_WAITSOME(call, entry, said, result) end_wait(call, entry, said, result, SOME)

static void end_test(enum call call, const struct entry *entry, const struct said *said, int result,
                     enum which which) {
    if (!found_none(said, result)) {
        end_wait(call, entry, said, result, which);
        return;
    }
    return_claims(said);
    if (entry->is_on)
        record_poll(call, entry);
}
#define before_TEST claim_requests
#define after_TEST(call, entry, said, result) end_test(call, entry, said, result, ONE)
#define before_TESTALL claim_requests
#define after_TESTALL(call, entry, said, result) end_test(call, entry, said, result, ALL)
#define before_TESTANY claim_requests
#define after_TESTANY(call, entry, said, result) end_test(call, entry, said, result, ONE)
#define before_TESTSOME claim_requests
#define after_TESTSOME(call, entry, said, result) end_test(call, entry, said, result, SOME)

static inline void before_FREE_REQUEST(struct entry *entry, const struct said *said) {
    entry->freed = mpi_read_handle(said->requests, 0);
    entry->request = request_claim(entry->freed);
}
static inline void after_FREE_REQUEST(enum call call, struct entry *entry, const struct said *said,
                                      int result) {
    (void)said;
    if (entry->is_on)
        record_call(call, entry, result, NULL);
    if (result == 0)
        request_forgotten(entry->freed, entry->request, true);
    else
        request_return(entry->freed, entry->request);
}

// ---- probes

#define before_PROBE before_SEND
static inline void after_PROBE(enum call call, struct entry *entry, const struct said *said, int result) {
    struct transfer transfer = {0};
    if (!entry->is_on)
        return;
    if (result == 0) {
        transfer = sent(said, entry->comm, false);
        if (entry->status)
            transfer_received(&transfer, entry->comm, entry->status);
    }
    record_call(call, entry, result, &transfer);
}
#define before_MPROBE before_SEND
static inline void after_MPROBE(enum call call, struct entry *entry, const struct said *said, int result) {
    if (result == 0)
        message_found(said->message, entry->comm);
    after_PROBE(call, entry, said, result);
}
#define before_POLL before_SEND
static inline void after_POLL(enum call call, struct entry *entry, const struct said *said, int result) {
    if (!found_none(said, result))
        after_PROBE(call, entry, said, result);
    else if (entry->is_on)
        record_poll(call, entry);
}
#define before_MPOLL before_SEND
static inline void after_MPOLL(enum call call, struct entry *entry, const struct said *said, int result) {
    if (result == 0 && *said->flag)
        message_found(said->message, entry->comm);
    after_POLL(call, entry, said, result);
}

// ---- collectives

static struct operation operation_of(const struct said *said, struct comm *comm, int result) {
    struct operation operation = {.comm = comm, .sequence = comm_next(comm)};
    if (result == 0)
        operation.has_bytes = part_bytes(said, comm, &operation.bytes);
    if (said->has_root) {
        operation.root = comm_world_rank(comm, said->root);
        operation.has_root = operation.root >= 0;
    }
    return operation;
}

#define before_COLL before_SEND
static inline void after_COLL(enum call call, struct entry *entry, const struct said *said, int result) {
    if (!entry->is_on) {
        comm_next(entry->comm);
        return;
    }
    const uint64_t end = agent_tick();
    const struct operation operation = operation_of(said, entry->comm, result);
    const uint64_t correlation = record_call(call, entry, result, NULL);
    record_collective(call, entry->start, end, correlation, &operation);
}

static void start_collective(enum call call, const struct entry *entry, const void *place,
                             const struct operation *operation, int result) {
    struct request request = {.call = (uint16_t)call,
                              .is_collective = true,
                              .operation = *operation,
                              .comm_id = operation->comm ? operation->comm->id : 0};
    request.correlation = record_call(call, entry, result, NULL);
    request.start = entry->start;
    request.thread = channel_thread_track(agent.channel);
    if (result == 0)
        request_begun(place, &request);
}

#define before_ICOLL before_SEND
static inline void after_ICOLL(enum call call, struct entry *entry, const struct said *said, int result) {
    const struct operation operation = operation_of(said, entry->comm, result);
    if (entry->is_on)
        start_collective(call, entry, said->request, &operation, result);
}

// ---- communicators

static uint64_t end_collective(enum call call, const struct entry *entry, struct comm *comm, int result) {
    const struct operation operation = {.comm = comm, .sequence = comm_next(comm)};
    if (entry->is_on) {
        const uint64_t end = agent_tick(), correlation = record_call(call, entry, result, NULL);
        record_collective(call, entry->start, end, correlation, &operation);
    }
    return operation.sequence;
}

#define before_MAKE_COMM before_SEND
static inline void after_MAKE_COMM(enum call call, struct entry *entry, const struct said *said, int result) {
    const uint64_t sequence = end_collective(call, entry, entry->comm, result);
    if (result == 0)
        comm_made(entry->comm, sequence, said->made);
}
#define before_IDUP_COMM before_SEND
static inline void after_IDUP_COMM(enum call call, struct entry *entry, const struct said *said, int result) {
    const struct operation operation = {.comm = entry->comm, .sequence = comm_next(entry->comm)};
    if (entry->is_on)
        start_collective(call, entry, said->request, &operation, result);
    if (result == 0)
        comm_duplicated(entry->comm, operation.sequence, said->made);
}
#define before_GROUP_COMM before_SEND
static inline void after_GROUP_COMM(enum call call, struct entry *entry, const struct said *said,
                                    int result) {
    if (entry->is_on)
        record_call(call, entry, result, NULL);
    if (result == 0)
        comm_made_of_group(said->made, said->tag, false);
}
#define before_INTER_COMM before_SEND
static inline void after_INTER_COMM(enum call call, struct entry *entry, const struct said *said,
                                    int result) {
    end_collective(call, entry, entry->comm, result);
    if (result == 0)
        comm_made_of_group(said->made, said->tag, true);
}

static inline void before_FREE_COMM(struct entry *entry, const struct said *said) {
    entry->freed = mpi_read_handle(said->made, 0);
    entry->comm = comm_claim(entry->freed);
}
static inline void after_FREE_COMM(enum call call, struct entry *entry, const struct said *said, int result) {
    (void)said;
    end_collective(call, entry, entry->comm, result);
    if (result == 0)
        comm_freed(entry->comm);
    else
        comm_return(entry->freed, entry->comm);
}

// ---- one-sided

static inline void before_RMA(struct entry *entry, const struct said *said) {
    entry->comm = win_find(said->win);
}
static struct transfer one_sided(enum call call, const struct entry *entry, const struct said *said,
                                 int result) {
    if (result != 0)
        return (struct transfer){0};
    struct transfer transfer = sent(said, entry->comm, true);
    transfer.has &= ~(unsigned)HAS_TAG;
    transfer.sends = call != CALL_Get && call != CALL_Rget && call != CALL_Get_c && call != CALL_Rget_c;
    return transfer;
}
static inline void after_RMA(enum call call, struct entry *entry, const struct said *said, int result) {
    if (!entry->is_on)
        return;
    const struct transfer transfer = one_sided(call, entry, said, result);
    record_call(call, entry, result, &transfer);
}
#define before_IRMA before_RMA
static inline void after_IRMA(enum call call, struct entry *entry, const struct said *said, int result) {
    if (!entry->is_on)
        return;
    struct request request = {.call = (uint16_t)call,
                              .transfer = one_sided(call, entry, said, result),
                              .start = entry->start,
                              .thread = channel_thread_track(agent.channel)};
    request.correlation = record_call(call, entry, result, &request.transfer);
    if (result == 0)
        request_begun(said->request, &request);
}
#define before_WIN before_RMA
static inline void after_WIN(enum call call, struct entry *entry, const struct said *said, int result) {
    struct transfer transfer = {0};
    (void)said;
    if (!entry->is_on)
        return;
    if (entry->comm && entry->comm->id)
        transfer = (struct transfer){.has = HAS_COMM, .comm = entry->comm->id};
    record_call(call, entry, result, &transfer);
}
#define before_WIN_PEER before_RMA
static inline void after_WIN_PEER(enum call call, struct entry *entry, const struct said *said, int result) {
    if (!entry->is_on)
        return;
    struct transfer transfer = {.sends = 1};
    if (result == 0) {
        transfer = sent(&(struct said){.peer = said->peer}, entry->comm, true);
        transfer.has &= HAS_COMM | HAS_PEER;
    }
    record_call(call, entry, result, &transfer);
}
#define before_WIN_COLL before_RMA
static inline void after_WIN_COLL(enum call call, struct entry *entry, const struct said *said, int result) {
    (void)said;
    end_collective(call, entry, entry->comm, result);
}
#define before_MAKE_WIN before_SEND
static inline void after_MAKE_WIN(enum call call, struct entry *entry, const struct said *said, int result) {
    const uint64_t sequence = end_collective(call, entry, entry->comm, result);
    if (result == 0)
        win_made(entry->comm, sequence, said->made);
}
static inline void before_FREE_WIN(struct entry *entry, const struct said *said) {
    entry->freed = mpi_read_handle(said->made, 0);
    entry->comm = win_claim(entry->freed);
}
static inline void after_FREE_WIN(enum call call, struct entry *entry, const struct said *said, int result) {
    (void)said;
    end_collective(call, entry, entry->comm, result);
    if (result == 0)
        comm_freed(entry->comm);
    else
        win_return(entry->freed, entry->comm);
}

// ---- files

static inline void before_FILE_MOVE(struct entry *entry, const struct said *said) {
    entry->comm = file_find(said->file);
}

// What a call has moved is in its status: a read ends at the end of the file.
static struct transfer file_transfer(const struct entry *entry, const struct said *said, int result) {
    struct transfer transfer = {.offset = said->offset, .has = said->has_offset ? HAS_OFFSET : 0};
    if (entry->comm && entry->comm->id) {
        transfer.comm = entry->comm->id;
        transfer.has |= HAS_COMM;
    }
    if (result == 0 && entry->status) {
        transfer.bytes = status_bytes(entry->status);
        transfer.has |= HAS_BYTES;
    }
    return transfer;
}

static inline void after_FILE_MOVE(enum call call, struct entry *entry, const struct said *said, int result) {
    if (!entry->is_on)
        return;
    const struct transfer transfer = file_transfer(entry, said, result);
    const uint64_t end = agent_tick(), correlation = record_call(call, entry, result, &transfer);
    if (result == 0)
        record_file(call, entry, end, correlation, &transfer);
}

static void end_file_collective(enum call call, struct entry *entry, const struct said *said, int result) {
    struct operation operation = {.comm = entry->comm, .sequence = comm_next(entry->comm)};
    if (!entry->is_on)
        return;
    struct transfer transfer = file_transfer(entry, said, result);
    operation.bytes = transfer.bytes;
    operation.has_bytes = transfer.has & HAS_BYTES;
    transfer.has &= HAS_OFFSET;
    const uint64_t end = agent_tick(), correlation = record_call(call, entry, result, &transfer);
    record_collective(call, entry->start, end, correlation, &operation);
}
#define before_FILE_MOVE_ALL before_FILE_MOVE
#define after_FILE_MOVE_ALL end_file_collective
#define before_FILE_BEGIN before_FILE_MOVE
#define after_FILE_BEGIN end_file_collective
#define before_FILE_COLL before_FILE_MOVE
#define after_FILE_COLL end_file_collective

#define before_FILE_START before_FILE_MOVE
static inline void after_FILE_START(enum call call, struct entry *entry, const struct said *said,
                                    int result) {
    if (!entry->is_on)
        return;
    struct request request = {.call = (uint16_t)call,
                              .transfer = file_transfer(entry, said, result),
                              .is_read = said->reads,
                              .start = entry->start,
                              .thread = channel_thread_track(agent.channel)};
    if (result == 0 && !said->reads && add_bytes(said->type, said->count, &request.transfer.bytes))
        request.transfer.has |= HAS_BYTES;
    request.correlation = record_call(call, entry, result, &request.transfer);
    request.transfer.has &= ~(unsigned)HAS_OFFSET;
    if (result == 0)
        request_begun(said->request, &request);
}
#define before_FILE_START_ALL before_FILE_MOVE
#define after_FILE_START_ALL after_ICOLL

#define before_MAKE_FILE before_SEND
static inline void after_MAKE_FILE(enum call call, struct entry *entry, const struct said *said, int result) {
    const uint64_t sequence = end_collective(call, entry, entry->comm, result);
    if (result == 0)
        file_made(entry->comm, sequence, said->made, said->name);
}
static inline void before_FREE_FILE(struct entry *entry, const struct said *said) {
    entry->freed = file_read_handle(said->made);
    entry->comm = file_claim(entry->freed);
}
static inline void after_FREE_FILE(enum call call, struct entry *entry, const struct said *said, int result) {
    (void)said;
    end_collective(call, entry, entry->comm, result);
    if (result == 0)
        comm_freed(entry->comm);
    else
        file_return(entry->freed, entry->comm);
}

// ---- the beginning and the end

static inline void before_CALL(struct entry *entry, const struct said *said) {
    (void)entry, (void)said;
}
static inline void after_CALL(enum call call, struct entry *entry, const struct said *said, int result) {
    (void)said;
    if (entry->is_on)
        record_call(call, entry, result, NULL);
}

#define before_INIT before_CALL
static inline void after_INIT(enum call call, struct entry *entry, const struct said *said, int result) {
    (void)said;
    if (result == 0) {
        comms_add_world();
        record_world();
    }
    if (entry->is_on)
        record_call(call, entry, result, NULL);
}

static inline void before_FINALIZE(struct entry *entry, const struct said *said) {
    (void)entry, (void)said;
    if (mpi.world_group)
        mpi.group_free(&mpi.world_group);
    mpi.world_group = 0;
}
static inline void after_FINALIZE(enum call call, struct entry *entry, const struct said *said, int result) {
    (void)said;
    end_collective(call, entry, comm_find(mpi.comm_world), result);
}

// It does not return: the call is recorded before.
static inline void before_ABORT(struct entry *entry, const struct said *said) {
    (void)said;
    if (entry->is_on)
        record_call(CALL_Abort, entry, 0, NULL);
}
static inline void after_ABORT(enum call call, struct entry *entry, const struct said *said, int result) {
    (void)call, (void)entry, (void)said, (void)result;
}

// ---- the functions

#define WRAPPER(name, class, params, args, ...) WRAPPER_(name, class, params, args, __VA_ARGS__)
#define WRAPPER_C(name, class, params, args, ...) WRAPPER_C_(name, class, params, args, __VA_ARGS__)
#define WRAPPER_C_(name, class, params, args, ...) WRAPPER_(name##_c, class, params, args, __VA_ARGS__)
#define WRAPPER_(name, class, params, args, ...)                                                             \
    ENTRY(MPI, name, true, class, params, args, __VA_ARGS__)                                                 \
    ENTRY(PMPI, name, library_is_program(__builtin_return_address(0)), class, params, args, __VA_ARGS__)
#define ENTRY(prefix, name, is_program, class, params, args, ...)                                            \
    AGENT_EXPORT int prefix##_##name params;                                                                 \
    AGENT_EXPORT int prefix##_##name params {                                                                \
        struct entry entry;                                                                                  \
        entry.is_outer = entry.is_on = false;                                                                \
        const bool is_seen = is_program;                                                                     \
        if (is_seen && (CALL_##name == CALL_Init || CALL_##name == CALL_Init_thread))                        \
            library_attach();                                                                                \
        int(*const next) params = (int(*) params)(uintptr_t)library_next(ENTRY_##prefix, CALL_##name);       \
        const struct said said = {__VA_ARGS__};                                                              \
        if (is_seen)                                                                                         \
            enter(&entry, (enum left_out)RULE_##class, &said);                                               \
        if (__builtin_expect(!next, 0))                                                                      \
            return MPI_NO_LIBRARY;                                                                           \
        if (entry.is_outer) {                                                                                \
            before_##class(&entry, &said);                                                                   \
            if (__builtin_expect(entry.entered != 0, 0))                                                     \
                entry.called = agent_tick();                                                                 \
        }                                                                                                    \
        const int result = next args;                                                                        \
        if (entry.is_outer) {                                                                                \
            if (__builtin_expect(entry.entered != 0, 0))                                                     \
                entry.returned = agent_tick();                                                               \
            after_##class(CALL_##name, &entry, &said, result);                                               \
            leave(&entry);                                                                                   \
        }                                                                                                    \
        return result;                                                                                       \
    }

#define COUNT int
MPI_COUNTED(WRAPPER)
#undef COUNT
#define COUNT int64_t
MPI_COUNTED(WRAPPER_C)
#undef COUNT
MPI_OTHERS(WRAPPER)

// A program marks something. The arguments after the level are the next library's, as words.
#define MARK(prefix, is_program)                                                                             \
    AGENT_EXPORT int prefix##_Pcontrol(int level, ...);                                                      \
    AGENT_EXPORT int prefix##_Pcontrol(int level, ...) {                                                     \
        int (*next)(int level, ...) = NULL;                                                                  \
        struct entry entry;                                                                                  \
        entry.is_outer = false;                                                                              \
        va_list more;                                                                                        \
        void *words[4];                                                                                      \
        *(void **)&next = library_next(ENTRY_##prefix, CALL_Pcontrol);                                       \
        va_start(more, level);                                                                               \
        for (int i = 0; i < 4; i++)                                                                          \
            words[i] = va_arg(more, void *);                                                                 \
        va_end(more);                                                                                        \
        if (is_program)                                                                                      \
            enter(&entry, LEFT_OUT_NONE, NULL);                                                              \
        if (entry.is_outer) {                                                                                \
            entry.called = entry.returned = entry.entered;                                                   \
            if (entry.is_on)                                                                                 \
                record_mark(level);                                                                          \
            leave(&entry);                                                                                   \
        }                                                                                                    \
        return next ? next(level, words[0], words[1], words[2], words[3]) : MPI_NO_LIBRARY;                  \
    }
MARK(MPI, true)
MARK(PMPI, library_is_program(__builtin_return_address(0)))
