// SPDX-License-Identifier: Apache-2.0
// NCCL's interface to profiler plugins, versions 1 to 6, declared by ourselves: a plugin exports a structure of
// functions for each version that it knows, and NCCL takes the newest that both know. Descriptors grew by version;
// their common members have the same offsets.
#ifndef NCCL_ABI_H
#define NCCL_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum nccl_type {
    NCCL_GROUP = 1 << 0,
    NCCL_COLL = 1 << 1,
    NCCL_P2P = 1 << 2,
    NCCL_PROXY_OP = 1 << 3,
    NCCL_PROXY_STEP = 1 << 4,
    NCCL_PROXY_CTRL = 1 << 5,
    NCCL_KERNEL_CHANNEL = 1 << 6,
    NCCL_NET_PLUGIN = 1 << 7,
    NCCL_GROUP_API = 1 << 8, // from version 5
    NCCL_COLL_API = 1 << 9,
    NCCL_P2P_API = 1 << 10,
    NCCL_KERNEL_LAUNCH = 1 << 11,
    NCCL_CE_COLL = 1 << 12, // copy engines, from version 6
    NCCL_CE_SYNC = 1 << 13,
    NCCL_CE_BATCH = 1 << 14,
};
// X(NAME, number, "what it is called in the trace"): what an event of NCCL is in from then on.
#define NCCL_STATES(X)                                                                                       \
    X(SEND_POSTED, 0, "posted")                                                                              \
    X(SEND_FIFO_WAIT, 1, "waits for the peer's queue")                                                       \
    X(SEND_TRANSMITTED, 2, "transmitted")                                                                    \
    X(SEND_DONE, 3, "done")                                                                                  \
    X(RECEIVE_POSTED, 4, "posted")                                                                           \
    X(RECEIVE_RECEIVED, 5, "received")                                                                       \
    X(RECEIVE_TRANSMITTED, 6, "transmitted")                                                                 \
    X(RECEIVE_DONE, 7, "done")                                                                               \
    X(STEP_SEND_GPU_WAIT, 8, "waits for the GPU")                                                            \
    X(STEP_SEND_WAIT, 9, "waits for the network")                                                            \
    X(STEP_RECEIVE_WAIT, 10, "waits for the network")                                                        \
    X(STEP_RECEIVE_FLUSH_WAIT, 11, "waits for the flush")                                                    \
    X(STEP_RECEIVE_GPU_WAIT, 12, "waits for the GPU")                                                        \
    X(CONTROL_IDLE, 13, "idle")                                                                              \
    X(CONTROL_ACTIVE, 14, "active")                                                                          \
    X(CONTROL_SLEEP, 15, "sleeps")                                                                           \
    X(CONTROL_WAKEUP, 16, "wakes up")                                                                        \
    X(CONTROL_APPEND, 17, "takes operations")                                                                \
    X(CONTROL_APPEND_END, 18, "took operations")                                                             \
    X(OP_IN_PROGRESS, 19, "in progress")                                                                     \
    X(STEP_SEND_PEER_WAIT, 20, "waits for the peer")                                                         \
    X(NET_UPDATE, 21, "updated")                                                                             \
    X(KERNEL_STOP, 22, "stopped")                                                                            \
    X(GROUP_STARTED, 23, "in the group")                                                                     \
    X(GROUP_ENDING, 24, "ncclGroupEnd")
enum nccl_state {
#define NCCL_STATE_NUMBER(NAME, number, text) NCCL_STATE_##NAME = number,
    NCCL_STATES(NCCL_STATE_NUMBER)
#undef NCCL_STATE_NUMBER
        NCCL_STATE_LIMIT
};
enum { NCCL_SUCCESS = 0, NCCL_LOG_WARN = 2, NCCL_LOG_ALL = ~0 };

typedef void nccl_log(int level, unsigned long flags, const char *file, int line, const char *format, ...);

struct nccl_proxy_op {
    pid_t pid;
    uint8_t channel;
    int peer;
    int steps;
    int chunk_bytes;
    int is_send;
};
struct nccl_kernel_channel {
    uint8_t channel;
    uint64_t timer; // of the GPU; from version 4
};

// What the versions of an event have in common, in their order.
#define NCCL_COLL_DATA                                                                                       \
    const char *function;                                                                                    \
    const void *send;                                                                                        \
    void *receive;                                                                                           \
    size_t count;                                                                                            \
    int root;                                                                                                \
    const char *datatype;
#define NCCL_COLL_CHANNELS                                                                                   \
    uint8_t channels, warps;                                                                                 \
    const char *algorithm, *protocol;
#define NCCL_P2P_DATA                                                                                        \
    const char *function;                                                                                    \
    void *buffer;                                                                                            \
    const char *datatype;                                                                                    \
    size_t count;                                                                                            \
    int peer;

// What follows `rank`, as far as it is read; NCCL's own structures may be larger.
struct nccl_coll_v1 {
    const char *name;
    uint64_t comm, sequence;
    uint8_t function;
    const void *send;
    void *receive;
    size_t count;
    int root;
    uint8_t datatype;
    uint32_t operator;
    size_t traffic_bytes;
    uint8_t channels, warps, algorithm, protocol;
    int is_collnet, is_nvls;
};
struct nccl_coll_v2 {
    const char *name;
    uint64_t comm, sequence;
    NCCL_COLL_DATA
    size_t traffic_bytes;
    NCCL_COLL_CHANNELS
};
struct nccl_coll_v3 {
    const char *name;
    uint64_t comm, sequence;
    NCCL_COLL_DATA
    NCCL_COLL_CHANNELS
};
struct nccl_coll_v4 {
    uint64_t sequence;
    NCCL_COLL_DATA
    NCCL_COLL_CHANNELS
};
struct nccl_coll_v5 {
    uint64_t sequence;
    NCCL_COLL_DATA
    NCCL_COLL_CHANNELS
    void *parent_group;
};
struct nccl_p2p_v1 {
    const char *name;
    uint64_t comm;
    uint8_t function;
    void *buffer;
    uint8_t datatype;
    size_t count;
    int peer;
};
struct nccl_p2p_v2 {
    const char *name;
    uint64_t comm;
    NCCL_P2P_DATA
};
struct nccl_p2p_v4 {
    NCCL_P2P_DATA
    uint8_t channels;
};
struct nccl_p2p_v5 {
    NCCL_P2P_DATA
    uint8_t channels;
    void *parent_group;
};
struct nccl_coll_api {
    const char *function;
    size_t count;
    const char *datatype;
    int root;
    void *stream;
    bool captured;
};
struct nccl_p2p_api {
    const char *function;
    size_t count;
    const char *datatype;
    void *stream;
    bool captured;
};
struct nccl_ce_coll {
    uint64_t sequence;
    NCCL_COLL_DATA
    const char *sync_strategy;
    bool sync_within_batch;
    uint32_t batch_size, batches, ce_sequence;
    void *stream;
};
struct nccl_ce_sync {
    bool complete;
    int ranks;
};
struct nccl_ce_batch {
    int operations;
    size_t bytes;
    bool within;
};

// A network plugin's event, by its own type and version: `id` is NCCL_NET_IB or NCCL_NET_SOCKET and NCCL_NET_VERSION.
struct nccl_net_plugin {
    int64_t id;
    void *data;
};
enum { NCCL_NET_IB = 1 << 16, NCCL_NET_SOCKET = 2 << 16, NCCL_NET_VERSION = 1 };
struct nccl_net_ib {
    uint64_t type; // of which the lowest byte; 1: a work request of a queue pair
    int device;
    uint64_t request;
    int opcode, queue_pair;
    size_t bytes;
};
struct nccl_net_socket {
    uint64_t type; // of which the lowest byte; 1: a transfer
    int fd, operation;
    size_t bytes;
};

// The data of every version, at its offsets; each kind of event reads one of them.
#define NCCL_SAID_OF_ALL                                                                                     \
    struct nccl_proxy_op proxy_op;                                                                           \
    int step; /* of a proxy operation */                                                                     \
    struct nccl_kernel_channel kernel;                                                                       \
    struct nccl_net_plugin net;
#define NCCL_SAID_FROM_5                                                                                     \
    NCCL_SAID_OF_ALL                                                                                         \
    struct nccl_coll_api coll_api;                                                                           \
    struct nccl_p2p_api p2p_api;                                                                             \
    void *stream; /* of a kernel's launch */
#define NCCL_SAID_FROM_6                                                                                     \
    NCCL_SAID_FROM_5                                                                                         \
    struct nccl_ce_coll ce_coll;                                                                             \
    struct nccl_ce_sync ce_sync;                                                                             \
    struct nccl_ce_batch ce_batch;

// How a plugin learns of a communicator.
#define NCCL_INIT_1 (void **context, int *mask)
#define NCCL_INIT_4                                                                                          \
    (void **context, int *mask, const char *name, uint64_t comm, int nodes, int ranks, int rank,             \
     nccl_log *log)
#define NCCL_INIT_5                                                                                          \
    (void **context, uint64_t comm, int *mask, const char *name, int nodes, int ranks, int rank,             \
     nccl_log *log)

// X(version, type of an event's type, a collective, a send or receive, what else, how a communicator begins)
#define NCCL_VERSIONS(X)                                                                                     \
    X(1, uint8_t, nccl_coll_v1, nccl_p2p_v1, NCCL_SAID_OF_ALL, NCCL_INIT_1)                                  \
    X(2, uint8_t, nccl_coll_v2, nccl_p2p_v2, NCCL_SAID_OF_ALL, NCCL_INIT_1)                                  \
    X(3, uint8_t, nccl_coll_v3, nccl_p2p_v2, NCCL_SAID_OF_ALL, NCCL_INIT_1)                                  \
    X(4, uint8_t, nccl_coll_v4, nccl_p2p_v4, NCCL_SAID_OF_ALL, NCCL_INIT_4)                                  \
    X(5, uint64_t, nccl_coll_v5, nccl_p2p_v5, NCCL_SAID_FROM_5, NCCL_INIT_5)                                 \
    X(6, uint64_t, nccl_coll_v5, nccl_p2p_v5, NCCL_SAID_FROM_6, NCCL_INIT_5)

// For a state of a proxy operation (versions 1 to 3), of a step (4 and later), of a kernel's channel.
union nccl_state_arguments {
    struct {
        size_t bytes;
        int steps;
    } proxy;
    uint64_t timer;
};

#define NCCL_DECLARE(version, type_of_type, coll_type, p2p_type, others, init_arguments)                     \
    struct nccl_descriptor_v##version {                                                                      \
        type_of_type type;                                                                                   \
        void *parent;                                                                                        \
        int rank;                                                                                            \
        union {                                                                                              \
            struct coll_type coll;                                                                           \
            struct p2p_type p2p;                                                                             \
            others                                                                                           \
        };                                                                                                   \
    };                                                                                                       \
    struct nccl_profiler_v##version {                                                                        \
        const char *name;                                                                                    \
        int(*init) init_arguments;                                                                           \
        int (*start)(void *context, void **handle, struct nccl_descriptor_v##version *descriptor);           \
        int (*stop)(void *handle);                                                                           \
        int (*state)(void *handle, int state, union nccl_state_arguments *arguments);                        \
        int (*finalize)(void *context);                                                                      \
    };
NCCL_VERSIONS(NCCL_DECLARE)

#endif
