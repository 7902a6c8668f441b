// SPDX-License-Identifier: Apache-2.0
// The NCCL agent: a profiler plugin, as NCCL loads by NCCL_PROFILER_PLUGIN, that records NCCL's events.
//
// Rules inside the profiled process, for every file of this folder
//   1. NCCL always gets "success", and its own answers otherwise. Nothing here ends the process or prints, but for one
//      line through NCCL's own log where another plugin cannot be served.
//   2. An event takes no lock, allocates nothing, makes no system call, but for the first of a thread, of a communicator,
//      and the first time that a text is seen.
//   3. The plugin that was named before us is loaded and gets every event that it asked for, with its own contexts and
//      handles, where it knows the version that NCCL speaks with us (versions.c).
//
// How an operation goes (files): versions.c makes of each version's descriptor one form (struct said); operation.c
// keeps operations between their beginning and their end in a pool of fixed size; record.c writes them.
//
// A collective is over for NCCL's host code as soon as it is enqueued. It is written when the channels of its kernel have
// ended, which NCCL tells later and on another thread: from the first channel's beginning to the last one's end, as a
// host thread of NCCL saw them (BOUNDED). Without a reported channel it is the time that the host code took.
#ifndef NCCL_AGENT_H
#define NCCL_AGENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "agentkit/agent.h"
#include "agentkit/texts.h"

// What the user wants to be recorded. Written before any call can come.
struct nccl_wanted {
    bool channels; // of kernels are asked for: NCCL's proxy thread then looks for them all the time
    bool details; // steps of the proxy, what it does otherwise, and the network are asked for: there are many
};
extern struct nccl_wanted nccl_wanted;

// Attaches, at the first communicator. Where there is no session the plugin does nothing.
void nccl_attach(void);
// The plugin that comes after us, its structure of this version; NULL when there is none. `lacks` is then set if it
// exists and knows other versions only.
const void *nccl_next(int version, bool *lacks);

// ---- communicators (operation.c)

struct communicator {
    struct communicator *next;
    uint64_t id;
    int32_t rank, ranks, nodes; // ranks, nodes: 0 is unknown
    uint32_t name;              // string
    uint32_t tracks[3];         // see below; 0: not yet made
    int mask;                   // what the next tool asked for
    void *after;                // its context
};
enum { TRACK_OPERATIONS, TRACK_PROXY, TRACK_CHANNELS };

struct communicator *communicator_new(uint64_t id, const char *name, int nodes, int ranks, int rank);
// Versions 1 to 3 name the communicator with each operation, not at the beginning.
void communicator_learn(struct communicator *communicator, uint64_t id, const char *name, int rank);

// ---- operations (operation.c)

// The data of a descriptor of any version. Texts may be NULL.
struct said {
    uint64_t type;
    void *parent;
    const char *function, *datatype, *algorithm, *protocol;
    uint64_t sequence, count, bytes, object, timer;
    int32_t peer; // or root
    uint32_t channels, channel;
    uint32_t awaits;            // channels that NCCL will report
    int32_t steps, chunk_bytes; // of a step: which one
    int32_t device, opcode;     // of the network
    bool has_peer, has_sequence, is_send, has_device;
};

// When an event was first in a state.
struct passage {
    uint64_t tick;
    uint8_t state;
};
enum { PASSAGES_MAX = 8 };

struct operation {
    _Atomic uint64_t life;        // generation << 32 | references; no reference: free
    _Atomic uint32_t expected;    // channels of the kernel that have not begun: each holds a reference
    _Atomic uint64_t first, last; // ticks of the first channel's beginning and the last one's end; 0: none
    _Atomic uint64_t moved;       // bytes that a proxy reports as moved
    atomic_bool stopped;
    bool foreign; // only the next tool wants it
    struct communicator *communicator;
    void *parent;
    void *after;     // the handle of the next tool
    uint64_t number; // of the operation that it is or is a part of; 0: not known
    uint64_t start, stop, timer_stop;
    _Atomic uint32_t passage_count;
    struct passage passages[PASSAGES_MAX];
    uint32_t thread;                                  // track
    uint32_t function, datatype, algorithm, protocol; // strings
    struct said said;
};

// Begins one; its handle, NULL when there is no room (counted).
struct operation *operation_begin(struct communicator *communicator, const struct said *said, void **handle);
// The operation of a handle that NCCL gives back; NULL when it is over.
struct operation *operation_of(void *handle);
// The handle that the next tool has given for it; also when it is over, as long as its place is not used again.
void *operation_after(void *handle);
// `old`: a version in which the proxy's operations, not their steps, report the bytes they have moved.
void operation_state(struct operation *operation, int state, const union nccl_state_arguments *arguments,
                     bool old);
void operation_end(struct operation *operation);
// Writes what has been stopped and waits for channels: all, or those of a communicator.
void operations_settle(const struct communicator *communicator);
// The process is ending.
void operations_over(void);

// The string of a text; 0 for none.
static inline uint32_t text_id(const char *text) {
    return text && *text ? texts_id(text) : 0;
}

// ---- records (record.c)

void record_init(void);
void record_operation(const struct operation *operation);

#endif
