// SPDX-License-Identifier: Apache-2.0
// The agent of MPI: a library that is preloaded and defines the functions MPI_* of the table in calls.h. Each passes the call on to
// the next library that defines it, a tool of the user or MPI itself, and records it. The functions PMPI_* are defined as well, because MPI's
// Fortran bindings call them: a call of these is recorded, with the C handles that the binding has converted.
//
// Rules: agentkit/agent.h. In addition:
//   1. No message is sent that the program does not send. Of MPI itself only local functions are called, by their PMPI names:
//      sizes of types, ranks and groups of communicators. They get handles only that the program's call has just accepted.
//   2. A call that MPI makes within a call (MPI-IO over point-to-point) is passed on unrecorded, and a call of PMPI_* by others than
//      the program and MPI's Fortran bindings.
//   3. The program's arguments are passed on as they are, but for a status that it ignores: then a call of a single message or a
//      transfer of a file gets one of ours, because the bytes and the sender are only in it.
//
// Files: library.c finds the functions and the kind of MPI; communicators.c gives communicators and windows identities that are the
// same on all ranks; requests.c keeps the operations in flight; throttling.c leaves calls out (--max-overhead); wrappers.c has the
// functions; record.c writes.
#ifndef MPI_AGENT_H
#define MPI_AGENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "agentkit/agent.h"
#include "calls.h"

#define CALL_NUMBER(name, ...) CALL_NUMBER_(name)
#define CALL_NUMBER_(name) CALL_##name,
#define CALL_NUMBER_C(name, ...) CALL_NUMBER_C_(name)
#define CALL_NUMBER_C_(name) CALL_##name##_c,
enum call {
    MPI_COUNTED(CALL_NUMBER) MPI_COUNTED(CALL_NUMBER_C) MPI_OTHERS(CALL_NUMBER) CALL_Pcontrol,
    CALLS
};

// ---- the library (library.c)

enum mpi_family {
#define FAMILY_NUMBER(name, ...) MPI_##name,
    MPI_FAMILIES(FAMILY_NUMBER)
#undef FAMILY_NUMBER
        MPI_FAMILY_COUNT
};

struct mpi_abi {
    size_t handle_bytes, status_bytes, source_at, tag_at;
    int proc_null, any_source, any_tag;
    void *in_place, *status_ignore;
    int undefined;
};

// The local functions of MPI that the agent calls. X(member, name, parameters)
#define MPI_LOCAL_FUNCTIONS(X)                                                                               \
    X(comm_rank, "PMPI_Comm_rank", (mpi_handle comm, int *rank))                                             \
    X(comm_size, "PMPI_Comm_size", (mpi_handle comm, int *size))                                             \
    X(comm_test_inter, "PMPI_Comm_test_inter", (mpi_handle comm, int *flag))                                 \
    X(comm_group, "PMPI_Comm_group", (mpi_handle comm, mpi_handle * group))                                  \
    X(comm_remote_group, "PMPI_Comm_remote_group", (mpi_handle comm, mpi_handle * group))                    \
    X(group_size, "PMPI_Group_size", (mpi_handle group, int *size))                                          \
    X(group_free, "PMPI_Group_free", (mpi_handle * group))                                                   \
    X(group_translate_ranks, "PMPI_Group_translate_ranks",                                                   \
      (mpi_handle from, int count, const int *ranks, mpi_handle to, int *out))                               \
    X(type_size, "PMPI_Type_size", (mpi_handle type, int *size))

struct mpi {
    const struct mpi_abi *abi;
    enum mpi_family family;
    char version[160]; // the library's own text, one line
    mpi_handle comm_world, comm_self, comm_null, request_null;
    mpi_handle request_empty; // Open MPI: one handle of many complete requests; 0: none
    mpi_handle world_group;   // 0: not known
    int world_rank, world_size;
#define LOCAL_MEMBER(member, name, parameters) int(*member) parameters;
    MPI_LOCAL_FUNCTIONS(LOCAL_MEMBER)
#undef LOCAL_MEMBER
};
extern struct mpi mpi; // written in MPI_Init, before it returns

// Each function has two names: programs call MPI_Send, and MPI's Fortran bindings PMPI_Send.
enum entry_point { ENTRY_MPI, ENTRY_PMPI, ENTRY_POINTS };
// The function that the program would have called without us, NULL: there is no MPI.
extern void *_Atomic library_functions[ENTRY_POINTS][CALLS] __attribute__((visibility("hidden")));
void *library_search(enum entry_point point, enum call call);
static inline void *library_next(enum entry_point point, enum call call) {
    void *function = atomic_load_explicit(&library_functions[point][call], memory_order_relaxed);
    return __builtin_expect(function != NULL, 1) ? function : library_search(point, call);
}
// Whether a function PMPI_... was called by the program or by a library of MPI's Fortran bindings. MPI itself and tools call them too.
bool library_is_program(const void *caller);
// Finds out which MPI it is, and its local functions; false: it is none that we know.
bool library_learn(void);
// MPI_Init is called: attaches to the session.
void library_attach(void);

extern const char *const call_names[CALLS]; // "MPI_Send"

// A handle as a key of a map: an int's upper half is undefined.
static inline mpi_handle mpi_key(mpi_handle handle) {
    return mpi.abi->handle_bytes == sizeof(int) ? (uint32_t)handle : handle;
}
static inline mpi_handle mpi_read_handle(const void *place, size_t index) {
    mpi_handle handle = 0;
    __builtin_memcpy(&handle, (const char *)place + index * mpi.abi->handle_bytes, mpi.abi->handle_bytes);
    return handle;
}

// ---- communicators, windows and files (communicators.c)

enum { FILE_NAME = 48 };
struct comm {
    struct comm *next_free;
    uint64_t id;      // the same number on every rank; 0: unknown
    int rank, size;   // size: processes of both sides, of an intercommunicator
    int leader;       // world rank of its first process; below 0: unknown
    int peers;        // processes that a peer's number means: the other side's, of an intercommunicator
    int *world_ranks; // of them; NULL: unknown
    int capacity;     // of world_ranks
    _Atomic uint64_t sequence; // of collectives that were begun
    _Atomic uint32_t track;    // 0: not yet made
    bool is_window, is_file;
    char name[FILE_NAME]; // of a file: the end of its path
};

bool comms_init(void);
struct comm *comm_find(mpi_handle handle); // NULL: unknown
struct comm *win_find(mpi_handle handle);
struct comm *file_find(mpi_handle handle);
void comms_add_world(void);
// After a call that made it, collective over `parent`, whose number of that call is `sequence`.
void comm_made(const struct comm *parent, uint64_t sequence, const void *handle);
// The same of MPI_Comm_idup: the communicator cannot be asked yet, and has the group of its parent.
void comm_duplicated(const struct comm *parent, uint64_t sequence, const void *handle);
// The same of calls that are collective over its own group only.
void comm_made_of_group(const void *handle, int tag, bool is_inter);
void win_made(const struct comm *parent, uint64_t sequence, const void *handle);
void file_made(const struct comm *parent, uint64_t sequence, const void *handle, const char *path);
// The call that frees it takes it out of the table before, because another thread may get the handle as soon as it is free; then it is
// freed, or put back.
struct comm *comm_claim(mpi_handle handle);
struct comm *win_claim(mpi_handle handle);
struct comm *file_claim(mpi_handle handle);
void comm_freed(struct comm *comm);
void comm_return(mpi_handle handle, struct comm *comm);
void win_return(mpi_handle handle, struct comm *comm);
void file_return(mpi_handle handle, struct comm *comm);
// Files are pointers in every family.
static inline mpi_handle file_read_handle(const void *place) {
    mpi_handle handle;
    __builtin_memcpy(&handle, place, sizeof handle);
    return handle;
}
static inline int comm_world_rank(const struct comm *comm, int rank) {
    return comm && comm->world_ranks && rank >= 0 && rank < comm->peers ? comm->world_ranks[rank] : -1;
}
// The number of the next collective.
static inline uint64_t comm_next(struct comm *comm) {
    if (!comm)
        return 0;
    // MPI requires that collectives on a communicator are called one after the other.
    const uint64_t number = atomic_load_explicit(&comm->sequence, memory_order_relaxed);
    atomic_store_explicit(&comm->sequence, number + 1, memory_order_relaxed);
    return number;
}
// A message of MPI_Mprobe, until it is received.
void message_found(const void *place, const struct comm *comm);
struct comm *message_take(mpi_handle handle);

// ---- what a call says, and where it is

struct said {
    int64_t count, alt_count; // of elements of `type`; the second if the first buffer is MPI_IN_PLACE
    mpi_handle type, alt_type, comm, win, file;
    const void *in_place;
    const void *counts, *alt_counts, *alt_counts_all; // an element per rank; of alt_counts, this rank's own
    size_t counts_width;
    bool times_ranks, has_root, has_offset, reads;
    int64_t offset; // of a file
    const char *name;
    int root, peer, tag, source, source_tag;
    void *request, *made, *message;
    void *requests, *statuses;
    int request_count;
    int *flag, *indices;
};
enum { PEER_FROM_STATUS = INT32_MIN };

struct request;

struct entry {
    bool is_outer, is_on; // is_outer: a call of the program, is_on: it is recorded
    uint32_t stack;
    uint64_t start;
    void *status; // that MPI writes; NULL: none
    struct comm *comm;
    mpi_handle freed; // handle of what the call frees
    struct request *request;
    uint64_t entered, called, returned; // of a call that is measured (throttling.h); entered 0: it is not
    uint64_t own_status[MPI_STATUS_WORDS];
};

// ---- records (record.c)

enum has {
    HAS_COMM = 1,
    HAS_BYTES = 2,
    HAS_PEER = 4,
    HAS_TAG = 8,
    HAS_SOURCE = 16, // the receiving half of MPI_Sendrecv
    HAS_LIMIT = 32,
    HAS_OFFSET = 32 // of a file; only with comm and bytes
};
// What is known of a message.
struct transfer {
    unsigned has; // of enum has
    uint64_t comm, bytes, received;
    int64_t peer, tag, source, source_tag; // peer, source: world ranks
    int64_t offset;                        // in a file, as the program says it
    uint8_t sends;                         // 1: a send; 0: a receive
};

struct operation { // collective
    struct comm *comm;
    uint64_t sequence, bytes;
    int64_t root; // world rank
    bool has_bytes, has_root;
};

void record_init(void);
void record_world(void);
uint64_t record_call(enum call call, const struct entry *entry, int result, const struct transfer *transfer);
uint64_t record_wait(enum call call, const struct entry *entry, int result, uint64_t completed);
void record_collective(enum call call, uint64_t start, uint64_t end, uint64_t correlation,
                       const struct operation *operation);
// A transfer of a file that is no collective, on the file's track.
void record_file(enum call call, const struct entry *entry, uint64_t end, uint64_t correlation,
                 const struct transfer *transfer);
void record_started(enum call call, const struct entry *entry, uint64_t end, uint64_t correlation,
                    const struct operation *operation);
// A look for a message or a request that found none: the looks of a thread in a row are one event.
void record_poll(enum call call, const struct entry *entry);
void record_polls_end(void);
void record_mark(int level);

// ---- operations in flight (requests.c)

struct request {
    uint64_t start, correlation; // start 0: not begun
    struct transfer transfer;
    struct operation operation; // of a collective, if it has a communicator
    const struct comm *comm;    // of a receive
    uint64_t comm_id;           // its identity, or that of the operation's communicator
    uint32_t thread;            // track
    uint16_t call;
    bool is_persistent, is_collective, is_receive, is_read; // is_read: of a file
    uint32_t next;                                          // in the list of free ones
};
bool requests_init(void);
// Takes a copy under the handle at `place`. Of a handle that is complete already and shared, the record is written at once.
void request_begun(const void *place, const struct request *request);
struct request *request_find(mpi_handle handle);
// Another thread may get the handle of a request as soon as MPI has completed it. So a call that may complete requests takes their
// entries out of the table before it calls MPI; NULL: unknown. Then it gives each to one of the three below.
struct request *request_claim(mpi_handle handle);
// Not complete.
void request_return(mpi_handle handle, struct request *request);
// Complete at `end`: writes its record. `status` may be NULL.
void request_completed(mpi_handle handle, struct request *request, const void *status, uint64_t end,
                       uint64_t wait);
// Complete, or freed before, and has no record.
void request_forgotten(mpi_handle handle, struct request *request, bool is_freed);
void record_request(const struct request *request, uint64_t end, uint64_t wait);
void requests_over(void);
// A persistent request is begun again.
void request_started(struct request *request, uint64_t start, uint64_t correlation, uint32_t thread);

// Of a status that MPI has written.
static inline int status_word(const void *status, size_t at) {
    int word;
    __builtin_memcpy(&word, (const char *)status + at, sizeof word);
    return word;
}
static inline uint64_t status_bytes(const void *status) {
    return mpi.family == MPI_OPENMPI ? openmpi_status_bytes(status) : mpich_status_bytes(status);
}
// The sender, the tag and the bytes of a received message.
static inline void transfer_received(struct transfer *transfer, const struct comm *comm, const void *status) {
    const int source = status_word(status, mpi.abi->source_at);
    if (source == mpi.abi->proc_null)
        return;
    const int peer = comm_world_rank(comm, source);
    transfer->bytes = status_bytes(status);
    transfer->tag = status_word(status, mpi.abi->tag_at);
    transfer->has |= HAS_BYTES | HAS_TAG | (peer >= 0 ? HAS_PEER : 0);
    transfer->peer = peer;
}

#endif
