// SPDX-License-Identifier: Apache-2.0
// The six structures that NCCL looks for, and the descriptors of each version. Rules: agent.h.
//
// NCCL takes the newest version that we know, so a plugin that comes after us and knows older ones only cannot be
// served: it is reported once, through NCCL's log.
#include <string.h>

#include "agent.h"

#define EXPORT __attribute__((visibility("default")))

enum {
    MASK_1 = NCCL_GROUP | NCCL_COLL | NCCL_P2P | NCCL_PROXY_OP | NCCL_PROXY_STEP | NCCL_PROXY_CTRL,
    MASK_2 = MASK_1,
    MASK_3 = MASK_1 | NCCL_KERNEL_CHANNEL | NCCL_NET_PLUGIN,
    MASK_4 = MASK_3,
    MASK_5 = MASK_3 | NCCL_GROUP_API | NCCL_COLL_API | NCCL_P2P_API | NCCL_KERNEL_LAUNCH,
    MASK_6 = MASK_5 | NCCL_CE_COLL | NCCL_CE_SYNC | NCCL_CE_BATCH,
    DETAILS = NCCL_PROXY_STEP | NCCL_PROXY_CTRL | NCCL_NET_PLUGIN, // many
};

// ---- texts and numbers

#define TEXT_OF(list, number) ((size_t)(number) < sizeof(list) / sizeof *(list) ? (list)[number] : NULL)

// Version 1 gives numbers.
static const char *const functions_v1[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                           "AllReduce", "SendRecv", "Send",      "Recv"};
static const char *const algorithms_v1[] = {"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                            "NVLS_TREE", "PAT"};
static const char *const protocols_v1[] = {"LL", "LL128", "SIMPLE"};

static const struct {
    const char *name;
    uint8_t bytes;
} datatypes[] = {{"ncclInt8", 1},    {"ncclUint8", 1},    {"ncclInt32", 4},      {"ncclUint32", 4},
                 {"ncclInt64", 8},   {"ncclUint64", 8},   {"ncclFloat16", 2},    {"ncclFloat32", 4},
                 {"ncclFloat64", 8}, {"ncclBfloat16", 2}, {"ncclFloat8e4m3", 1}, {"ncclFloat8e5m2", 1}};
enum { DATATYPES = sizeof datatypes / sizeof datatypes[0] };

static uint64_t bytes_of(const char *datatype, uint64_t count) {
    for (size_t i = 0; datatype && i < DATATYPES; i++)
        if (strcmp(datatypes[i].name, datatype) == 0)
            return count * datatypes[i].bytes;
    return 0;
}

static bool has_root(const char *function) {
    return function && (strcmp(function, "Broadcast") == 0 || strcmp(function, "Reduce") == 0 ||
                        strcmp(function, "Scatter") == 0 || strcmp(function, "Gather") == 0);
}

static void finish_said(struct said *said) {
    if (said->type & (NCCL_COLL | NCCL_P2P | NCCL_CE_COLL))
        said->bytes = bytes_of(said->datatype, said->count);
}

// ---- descriptors. Members that have the same name in several versions are read by one macro.

#define SAY_COLL(said, coll)                                                                                 \
    do {                                                                                                     \
        (said)->sequence = (coll).sequence;                                                                  \
        (said)->has_sequence = true;                                                                         \
        (said)->count = (coll).count;                                                                        \
        (said)->peer = (coll).root;                                                                          \
        (said)->has_peer = has_root((said)->function);                                                       \
        (said)->channels = (coll).channels;                                                                  \
    } while (0)
#define SAY_TEXTS(said, coll)                                                                                \
    ((said)->function = (coll).function, (said)->datatype = (coll).datatype,                                 \
     (said)->algorithm = (coll).algorithm, (said)->protocol = (coll).protocol)
#define SAY_P2P(said, p2p) ((said)->count = (p2p).count, (said)->peer = (p2p).peer, (said)->has_peer = true)

static void say_net_operation(struct said *said, uint64_t type, const char *what, size_t bytes, int device,
                              int opcode) {
    const bool known = (uint8_t)type == 1;
    said->function = known ? what : "network";
    said->bytes = known ? bytes : 0;
    said->device = device;
    said->opcode = opcode;
    said->has_device = known;
}

static void say_net(struct said *said, const struct nccl_net_plugin *net) {
    said->function = "network";
    if (!net->data)
        return;
    if (net->id == (NCCL_NET_IB | NCCL_NET_VERSION)) {
        const struct nccl_net_ib *ib = net->data;
        say_net_operation(said, ib->type, "InfiniBand work request", ib->bytes, ib->device, ib->opcode);
    } else if (net->id == (NCCL_NET_SOCKET | NCCL_NET_VERSION)) {
        const struct nccl_net_socket *socket = net->data;
        say_net_operation(said, socket->type, "socket transfer", socket->bytes, socket->fd,
                          socket->operation);
    }
}

// The members common to all versions.
static void say_shared(struct said *said, const struct nccl_proxy_op *proxy, int step,
                       const struct nccl_kernel_channel *kernel, const struct nccl_net_plugin *net,
                       bool has_timer) {
    switch (said->type) {
    case NCCL_PROXY_OP:
        said->function = proxy->is_send ? "proxy send" : "proxy receive";
        said->channel = proxy->channel;
        said->peer = proxy->peer;
        said->steps = proxy->steps;
        said->chunk_bytes = proxy->chunk_bytes;
        said->is_send = proxy->is_send != 0;
        break;
    case NCCL_PROXY_STEP:
        said->function = "proxy step";
        said->steps = step;
        break;
    case NCCL_PROXY_CTRL:
        said->function = "proxy control";
        break;
    case NCCL_KERNEL_CHANNEL:
        said->function = "channel";
        said->channel = kernel->channel;
        said->timer = has_timer ? kernel->timer : 0;
        break;
    case NCCL_NET_PLUGIN:
        say_net(said, net);
        break;
    case NCCL_GROUP:
        said->function = "group";
        break;
    default:
        break;
    }
}
#define SAY_SHARED(said, from, has_timer)                                                                    \
    say_shared(said, &(from)->proxy_op, (from)->step, &(from)->kernel, &(from)->net, has_timer)

static struct said say_v1(struct communicator *communicator, const struct nccl_descriptor_v1 *from) {
    struct said said = {.type = from->type, .parent = from->parent};
    if (said.type == NCCL_COLL) {
        communicator_learn(communicator, from->coll.comm, from->coll.name, from->rank);
        said.function = TEXT_OF(functions_v1, from->coll.function);
        said.datatype = from->coll.datatype < DATATYPES ? datatypes[from->coll.datatype].name : NULL;
        said.algorithm = TEXT_OF(algorithms_v1, from->coll.algorithm);
        said.protocol = TEXT_OF(protocols_v1, from->coll.protocol);
        SAY_COLL(&said, from->coll);
    } else if (said.type == NCCL_P2P) {
        communicator_learn(communicator, from->p2p.comm, from->p2p.name, from->rank);
        said.function = TEXT_OF(functions_v1, from->p2p.function);
        said.datatype = from->p2p.datatype < DATATYPES ? datatypes[from->p2p.datatype].name : NULL;
        SAY_P2P(&said, from->p2p);
    }
    SAY_SHARED(&said, from, false);
    finish_said(&said);
    return said;
}

#define SAY_OLD(version, awaited)                                                                            \
    static struct said say_v##version(struct communicator *communicator,                                     \
                                      const struct nccl_descriptor_v##version *from) {                       \
        struct said said = {.type = from->type, .parent = from->parent};                                     \
        if (said.type == NCCL_COLL) {                                                                        \
            communicator_learn(communicator, from->coll.comm, from->coll.name, from->rank);                  \
            SAY_TEXTS(&said, from->coll);                                                                    \
            SAY_COLL(&said, from->coll);                                                                     \
            said.awaits = awaited;                                                                           \
        } else if (said.type == NCCL_P2P) {                                                                  \
            communicator_learn(communicator, from->p2p.comm, from->p2p.name, from->rank);                    \
            said.function = from->p2p.function;                                                              \
            said.datatype = from->p2p.datatype;                                                              \
            SAY_P2P(&said, from->p2p);                                                                       \
        }                                                                                                    \
        SAY_SHARED(&said, from, false);                                                                      \
        finish_said(&said);                                                                                  \
        return said;                                                                                         \
    }
SAY_OLD(2, 0)
SAY_OLD(3, said.channels) // from then on NCCL reports the channels of its kernels

#define SAY_V4(said, from)                                                                                   \
    do {                                                                                                     \
        if ((said).type == NCCL_COLL) {                                                                      \
            SAY_TEXTS(&(said), (from)->coll);                                                                \
            SAY_COLL(&(said), (from)->coll);                                                                 \
        } else if ((said).type == NCCL_P2P) {                                                                \
            (said).function = (from)->p2p.function;                                                          \
            (said).datatype = (from)->p2p.datatype;                                                          \
            (said).channels = (from)->p2p.channels;                                                          \
            SAY_P2P(&(said), (from)->p2p);                                                                   \
        }                                                                                                    \
        (said).awaits = (said).channels;                                                                     \
    } while (0)

// The calls of the program, from version 5.
static void say_calls(struct said *said, const struct nccl_descriptor_v5 *from) {
    switch (said->type) {
    case NCCL_GROUP_API:
        said->function = "ncclGroup";
        break;
    case NCCL_COLL_API:
        said->function = from->coll_api.function;
        said->object = (uint64_t)(uintptr_t)from->coll_api.stream;
        break;
    case NCCL_P2P_API:
        said->function = from->p2p_api.function;
        said->object = (uint64_t)(uintptr_t)from->p2p_api.stream;
        break;
    case NCCL_KERNEL_LAUNCH:
        said->function = "NCCL kernel launch";
        said->object = (uint64_t)(uintptr_t)from->stream;
        break;
    default:
        break;
    }
}

// Copy engines, from version 6.
static void say_copies(struct said *said, const struct nccl_descriptor_v6 *from) {
    switch (said->type) {
    case NCCL_CE_COLL:
        said->function = from->ce_coll.function;
        said->datatype = from->ce_coll.datatype;
        said->algorithm = "copy engine";
        said->sequence = from->ce_coll.sequence;
        said->has_sequence = true;
        said->count = from->ce_coll.count;
        said->peer = from->ce_coll.root;
        said->has_peer = has_root(said->function);
        break;
    case NCCL_CE_SYNC:
        said->function =
            from->ce_sync.complete ? "copy engines wait for the end" : "copy engines wait for all";
        said->count = (uint64_t)from->ce_sync.ranks;
        break;
    case NCCL_CE_BATCH:
        said->function = "copy engine batch";
        said->count = (uint64_t)from->ce_batch.operations;
        said->bytes = from->ce_batch.bytes;
        break;
    default:
        break;
    }
}

#define SAY_NEW(version, more)                                                                               \
    static struct said say_v##version(struct communicator *communicator,                                     \
                                      const struct nccl_descriptor_v##version *from) {                       \
        struct said said = {.type = from->type, .parent = from->parent};                                     \
        (void)communicator;                                                                                  \
        SAY_V4(said, from);                                                                                  \
        SAY_SHARED(&said, from, true);                                                                       \
        more;                                                                                                \
        finish_said(&said);                                                                                  \
        return said;                                                                                         \
    }
// The two are laid out alike in what both have.
_Static_assert(offsetof(struct nccl_descriptor_v5, stream) == offsetof(struct nccl_descriptor_v6, stream),
               "");
SAY_NEW(4, (void)0)
SAY_NEW(5, say_calls(&said, from))
SAY_NEW(6, (say_calls(&said, (const struct nccl_descriptor_v5 *)(const void *)from), say_copies(&said, from)))

// ---- the functions that do not differ

static int stop_with(void *handle, int (*after)(void *)) {
    if (!agent.channel) // no session: the handles are those of the next tool
        return after ? after(handle) : NCCL_SUCCESS;
    struct operation *operation = operation_of(handle);
    if (!operation)
        return NCCL_SUCCESS;
    if (after && operation->after)
        after(operation->after);
    operation_end(operation);
    return NCCL_SUCCESS;
}

static void log_warning(nccl_log *log, int version) {
    if (log)
        log(NCCL_LOG_WARN, (unsigned long)NCCL_LOG_ALL, __FILE__, __LINE__,
            "TraceSmith: the profiler plugin in NCCL_PROFILER_PLUGIN has no ncclProfiler_v%d and gets no "
            "events",
            version);
}

// What of a descriptor the next tool must get in its own handles: the parent, and the group in versions 5 and 6.
#define AFTER_PARENT(copy) ((copy).parent = operation_after((copy).parent))
#define AFTER_GROUP(copy)                                                                                    \
    do {                                                                                                     \
        AFTER_PARENT(copy);                                                                                  \
        if ((copy).type == NCCL_COLL)                                                                        \
            (copy).coll.parent_group = operation_after((copy).coll.parent_group);                            \
        else if ((copy).type == NCCL_P2P)                                                                    \
            (copy).p2p.parent_group = operation_after((copy).p2p.parent_group);                              \
    } while (0)

#define COMMON(version, after_handles)                                                                       \
    static const struct nccl_profiler_v##version *next_v##version;                                           \
    static int start_v##version(void *context, void **handle, struct nccl_descriptor_v##version *from) {     \
        struct communicator *communicator = context;                                                         \
        *handle = NULL;                                                                                      \
        if (!communicator)                                                                                   \
            return NCCL_SUCCESS;                                                                             \
        if (!agent.channel)                                                                                  \
            return next_v##version ? next_v##version->start(communicator->after, handle, from)               \
                                   : NCCL_SUCCESS;                                                           \
        const struct said said = say_v##version(communicator, from);                                         \
        struct operation *operation = operation_begin(communicator, &said, handle);                          \
        if (operation && next_v##version && communicator->mask & (int)said.type) {                           \
            struct nccl_descriptor_v##version copy = *from;                                                  \
            after_handles(copy);                                                                             \
            next_v##version->start(communicator->after, &operation->after, &copy);                           \
        }                                                                                                    \
        return NCCL_SUCCESS;                                                                                 \
    }                                                                                                        \
    static int stop_v##version(void *handle) {                                                               \
        return stop_with(handle, next_v##version ? next_v##version->stop : NULL);                            \
    }                                                                                                        \
    static int state_v##version(void *handle, int state, union nccl_state_arguments *arguments) {            \
        if (!agent.channel)                                                                                  \
            return next_v##version ? next_v##version->state(handle, state, arguments) : NCCL_SUCCESS;        \
        struct operation *operation = operation_of(handle);                                                  \
        if (operation) {                                                                                     \
            operation_state(operation, state, arguments, version < 4);                                       \
            if (next_v##version && operation->after)                                                         \
                next_v##version->state(operation->after, state, arguments);                                  \
        }                                                                                                    \
        return NCCL_SUCCESS;                                                                                 \
    }                                                                                                        \
    static int finalize_v##version(void *context) {                                                          \
        struct communicator *communicator = context;                                                         \
        if (!communicator)                                                                                   \
            return NCCL_SUCCESS;                                                                             \
        if (agent.channel)                                                                                   \
            operations_settle(communicator);                                                                 \
        return next_v##version ? next_v##version->finalize(communicator->after) : NCCL_SUCCESS;              \
    }

// The mask is the process's: what we want, and what the next tool wants.
static struct communicator *communicator_begin(int version, const void **next, void **context, int *mask,
                                               int ours, uint64_t comm, const char *name, int nodes,
                                               int ranks, int rank, nccl_log *log) {
    bool lacks;
    nccl_attach();
    *next = nccl_next(version, &lacks);
    if (lacks)
        log_warning(log, version);
    struct communicator *communicator = communicator_new(comm, name, nodes, ranks, rank);
    *context = communicator;
    *mask = 0;
    if (agent.channel && communicator)
        *mask =
            ours & ~(nccl_wanted.channels ? 0 : NCCL_KERNEL_CHANNEL) & ~(nccl_wanted.details ? 0 : DETAILS);
    return communicator;
}

#define AFTER_INIT(version, ...)                                                                             \
    do {                                                                                                     \
        next_v##version = next;                                                                              \
        if (communicator && next_v##version && next_v##version->init(__VA_ARGS__) == NCCL_SUCCESS)           \
            *mask |= communicator->mask;                                                                     \
        else if (communicator)                                                                               \
            communicator->mask = 0;                                                                          \
    } while (0)

// A communicator begins in three ways.
#define INIT_OLD(version)                                                                                    \
    static int init_v##version NCCL_INIT_1 {                                                                 \
        const void *next;                                                                                    \
        struct communicator *communicator =                                                                  \
            communicator_begin(version, &next, context, mask, MASK_##version, 0, NULL, 0, 0, -1, NULL);      \
        AFTER_INIT(version, &communicator->after, &communicator->mask);                                      \
        return NCCL_SUCCESS;                                                                                 \
    }
#define INIT_NEW(version, arguments, ...)                                                                    \
    static int init_v##version arguments {                                                                   \
        const void *next;                                                                                    \
        struct communicator *communicator = communicator_begin(                                              \
            version, &next, context, mask, MASK_##version, comm, name, nodes, ranks, rank, log);             \
        AFTER_INIT(version, __VA_ARGS__, name, nodes, ranks, rank, log);                                     \
        return NCCL_SUCCESS;                                                                                 \
    }

COMMON(1, AFTER_PARENT)
COMMON(2, AFTER_PARENT)
COMMON(3, AFTER_PARENT)
COMMON(4, AFTER_PARENT)
COMMON(5, AFTER_GROUP)
COMMON(6, AFTER_GROUP)
INIT_OLD(1)
INIT_OLD(2)
INIT_OLD(3)
static int init_v4 NCCL_INIT_4 {
    const void *next;
    struct communicator *communicator =
        communicator_begin(4, &next, context, mask, MASK_4, comm, name, nodes, ranks, rank, log);
    AFTER_INIT(4, &communicator->after, &communicator->mask, name, comm, nodes, ranks, rank, log);
    return NCCL_SUCCESS;
}
INIT_NEW(5, NCCL_INIT_5, &communicator->after, comm, &communicator->mask)
INIT_NEW(6, NCCL_INIT_5, &communicator->after, comm, &communicator->mask)

#define EXPORTED(version, ...)                                                                               \
    EXPORT const struct nccl_profiler_v##version ncclProfiler_v##version = {                                 \
        "TraceSmith",    init_v##version,  start_v##version,                                                 \
        stop_v##version, state_v##version, finalize_v##version};
NCCL_VERSIONS(EXPORTED)
