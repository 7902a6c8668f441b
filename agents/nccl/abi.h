// SPDX-License-Identifier: Apache-2.0
// NCCL's interface to profiler plugins, versions 1 to 6, declared by ourselves: a plugin exports a structure of functions
// for each version that it knows, and NCCL takes the newest that both know. Descriptors grew by version; what they have
// in common lies in the same places.
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
enum nccl_state { NCCL_STATE_KERNEL_STOP = 22 };
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
    const char *function;
    const void *send;
    void *receive;
    size_t count;
    int root;
    const char *datatype;
    size_t traffic_bytes;
    uint8_t channels, warps;
    const char *algorithm, *protocol;
};
struct nccl_coll_v3 {
    const char *name;
    uint64_t comm, sequence;
    const char *function;
    const void *send;
    void *receive;
    size_t count;
    int root;
    const char *datatype;
    uint8_t channels, warps;
    const char *algorithm, *protocol;
};
struct nccl_coll_v4 {
    uint64_t sequence;
    const char *function;
    const void *send;
    void *receive;
    size_t count;
    int root;
    const char *datatype;
    uint8_t channels, warps;
    const char *algorithm, *protocol;
    void *parent_group; // from version 5
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
    const char *function;
    void *buffer;
    const char *datatype;
    size_t count;
    int peer;
};
struct nccl_p2p_v4 {
    const char *function;
    void *buffer;
    const char *datatype;
    size_t count;
    int peer;
    uint8_t channels;
    void *parent_group; // from version 5
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
    const char *function;
    const void *send;
    void *receive;
    size_t count;
    int root;
    const char *datatype;
    const char *sync_strategy;
    bool sync_within_batch;
    uint32_t batch_size, batches, ce_sequence;
    void *stream;
};
struct nccl_net_plugin {
    int64_t id;
    void *data;
};

#define NCCL_DESCRIPTOR(version, type_of_type, coll_type, p2p_type)                                          \
    struct nccl_descriptor_v##version {                                                                      \
        type_of_type type;                                                                                   \
        void *parent;                                                                                        \
        int rank;                                                                                            \
        union {                                                                                              \
            coll_type coll;                                                                                  \
            p2p_type p2p;                                                                                    \
            struct nccl_proxy_op proxy_op;                                                                   \
            struct nccl_kernel_channel kernel;                                                               \
            struct nccl_net_plugin net;                                                                      \
            struct nccl_coll_api coll_api;                                                                   \
            struct nccl_p2p_api p2p_api;                                                                     \
            struct nccl_ce_coll ce_coll;                                                                     \
            void *stream;                                                                                    \
        };                                                                                                   \
    }
NCCL_DESCRIPTOR(1, uint8_t, struct nccl_coll_v1, struct nccl_p2p_v1);
NCCL_DESCRIPTOR(2, uint8_t, struct nccl_coll_v2, struct nccl_p2p_v2);
NCCL_DESCRIPTOR(3, uint8_t, struct nccl_coll_v3, struct nccl_p2p_v2);
NCCL_DESCRIPTOR(4, uint8_t, struct nccl_coll_v4, struct nccl_p2p_v4);
NCCL_DESCRIPTOR(5, uint64_t, struct nccl_coll_v4, struct nccl_p2p_v4);
NCCL_DESCRIPTOR(6, uint64_t, struct nccl_coll_v4, struct nccl_p2p_v4);

// Of a state of a proxy operation (versions 1 to 3), of a step (4 and later), of a kernel's channel.
union nccl_state_arguments {
    struct {
        size_t bytes;
        int steps;
    } proxy;
    uint64_t timer;
};

#define NCCL_PLUGIN(version, ...)                                                                            \
    struct nccl_profiler_v##version {                                                                        \
        const char *name;                                                                                    \
        int (*init)(__VA_ARGS__);                                                                            \
        int (*start)(void *context, void **handle, struct nccl_descriptor_v##version *descriptor);           \
        int (*stop)(void *handle);                                                                           \
        int (*state)(void *handle, int state, union nccl_state_arguments *arguments);                        \
        int (*finalize)(void *context);                                                                      \
    }
NCCL_PLUGIN(1, void **context, int *mask);
NCCL_PLUGIN(2, void **context, int *mask);
NCCL_PLUGIN(3, void **context, int *mask);
NCCL_PLUGIN(4, void **context, int *mask, const char *name, uint64_t comm, int nodes, int ranks, int rank,
            nccl_log *log);
NCCL_PLUGIN(5, void **context, uint64_t comm, int *mask, const char *name, int nodes, int ranks, int rank,
            nccl_log *log);
NCCL_PLUGIN(6, void **context, uint64_t comm, int *mask, const char *name, int nodes, int ranks, int rank,
            nccl_log *log);

#endif
