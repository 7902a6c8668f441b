// SPDX-License-Identifier: Apache-2.0
// The six structures that NCCL looks for, and what each version's descriptors say. Rules: agent.h.
//
// NCCL takes the newest version that we know, so a plugin that comes after us and knows older ones only cannot be served:
// it is said once, through NCCL's log.
#include <string.h>

#include "agent.h"

#define EXPORT __attribute__((visibility("default")))

enum {
    MASK_1 = NCCL_GROUP | NCCL_COLL | NCCL_P2P | NCCL_PROXY_OP,
    MASK_3 = MASK_1 | NCCL_KERNEL_CHANNEL,
    MASK_5 = MASK_3 | NCCL_GROUP_API | NCCL_COLL_API | NCCL_P2P_API | NCCL_KERNEL_LAUNCH,
    MASK_6 = MASK_5 | NCCL_CE_COLL
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
    said->bytes = bytes_of(said->datatype, said->count);
}

// ---- what descriptors say. Members that have the same name in several versions are read by one text.

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

static void say_shared(struct said *said, const struct nccl_proxy_op *proxy,
                       const struct nccl_kernel_channel *kernel, bool has_timer) {
    if (said->type == NCCL_PROXY_OP) {
        said->function = proxy->is_send ? "proxy send" : "proxy receive";
        said->channel = proxy->channel;
        said->peer = proxy->peer;
        said->steps = proxy->steps;
        said->chunk_bytes = proxy->chunk_bytes;
        said->is_send = proxy->is_send != 0;
    } else if (said->type == NCCL_KERNEL_CHANNEL) {
        said->function = "channel";
        said->channel = kernel->channel;
        said->timer = has_timer ? kernel->timer : 0;
    } else if (said->type == NCCL_GROUP) {
        said->function = "group";
    }
}

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
    say_shared(&said, &from->proxy_op, &from->kernel, false);
    finish_said(&said);
    return said;
}

static struct said say_v2(struct communicator *communicator, const struct nccl_descriptor_v2 *from) {
    struct said said = {.type = from->type, .parent = from->parent};
    if (said.type == NCCL_COLL) {
        communicator_learn(communicator, from->coll.comm, from->coll.name, from->rank);
        SAY_TEXTS(&said, from->coll);
        SAY_COLL(&said, from->coll);
    } else if (said.type == NCCL_P2P) {
        communicator_learn(communicator, from->p2p.comm, from->p2p.name, from->rank);
        said.function = from->p2p.function;
        said.datatype = from->p2p.datatype;
        SAY_P2P(&said, from->p2p);
    }
    say_shared(&said, &from->proxy_op, &from->kernel, false);
    finish_said(&said);
    return said;
}

static struct said say_v3(struct communicator *communicator, const struct nccl_descriptor_v3 *from) {
    struct said said = {.type = from->type, .parent = from->parent};
    if (said.type == NCCL_COLL) {
        communicator_learn(communicator, from->coll.comm, from->coll.name, from->rank);
        SAY_TEXTS(&said, from->coll);
        SAY_COLL(&said, from->coll);
        said.awaits = said.channels;
    } else if (said.type == NCCL_P2P) {
        communicator_learn(communicator, from->p2p.comm, from->p2p.name, from->rank);
        said.function = from->p2p.function;
        said.datatype = from->p2p.datatype;
        SAY_P2P(&said, from->p2p);
    }
    say_shared(&said, &from->proxy_op, &from->kernel, false);
    finish_said(&said);
    return said;
}

static void say_v4_operation(struct said *said, const struct nccl_coll_v4 *coll,
                             const struct nccl_p2p_v4 *p2p) {
    if (said->type == NCCL_COLL) {
        SAY_TEXTS(said, *coll);
        SAY_COLL(said, *coll);
    } else if (said->type == NCCL_P2P) {
        said->function = p2p->function;
        said->datatype = p2p->datatype;
        said->channels = p2p->channels;
        SAY_P2P(said, *p2p);
    }
    said->awaits = said->channels;
}

static struct said say_v4(struct communicator *communicator, const struct nccl_descriptor_v4 *from) {
    struct said said = {.type = from->type, .parent = from->parent};
    (void)communicator;
    say_v4_operation(&said, &from->coll, &from->p2p);
    say_shared(&said, &from->proxy_op, &from->kernel, true);
    finish_said(&said);
    return said;
}

// The calls of the program and copy engines, from version 5 and 6.
static void say_calls(struct said *said, const struct nccl_descriptor_v6 *from) {
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
    default:
        break;
    }
}

static struct said say_v6(struct communicator *communicator, const struct nccl_descriptor_v6 *from) {
    struct said said = {.type = from->type, .parent = from->parent};
    (void)communicator;
    say_v4_operation(&said, &from->coll, &from->p2p);
    say_shared(&said, &from->proxy_op, &from->kernel, true);
    say_calls(&said, from);
    finish_said(&said);
    return said;
}

static struct said say_v5(struct communicator *communicator, const struct nccl_descriptor_v5 *from) {
    // The two versions are laid out alike, but for what copy engines say, which only the later one has.
    _Static_assert(sizeof(struct nccl_descriptor_v5) == sizeof(struct nccl_descriptor_v6), "laid out alike");
    return say_v6(communicator, (const struct nccl_descriptor_v6 *)(const void *)from);
}

// ---- the functions that do not differ

static int stop_with(void *handle, int (*after)(void *)) {
    if (!agent.channel) // no session: the handles are those of whoever comes after us
        return after ? after(handle) : NCCL_SUCCESS;
    struct operation *operation = operation_of(handle);
    if (!operation)
        return NCCL_SUCCESS;
    if (after && operation->after)
        after(operation->after);
    operation_end(operation);
    return NCCL_SUCCESS;
}

static void warn(nccl_log *log, int version) {
    if (log)
        log(NCCL_LOG_WARN, (unsigned long)NCCL_LOG_ALL, __FILE__, __LINE__,
            "TraceSmith: the profiler plugin in NCCL_PROFILER_PLUGIN has no ncclProfiler_v%d and gets no "
            "events",
            version);
}

// What of a descriptor whoever comes after us must get in its own handles: the parent, and the group in versions 5 and 6.
#define AFTER_PARENT(copy) ((copy).parent = operation_after((copy).parent))
#define AFTER_GROUP(copy)                                                                                    \
    do {                                                                                                     \
        AFTER_PARENT(copy);                                                                                  \
        if ((copy).type == NCCL_COLL)                                                                        \
            (copy).coll.parent_group = operation_after((copy).coll.parent_group);                            \
        else if ((copy).type == NCCL_P2P)                                                                    \
            (copy).p2p.parent_group = operation_after((copy).p2p.parent_group);                              \
    } while (0)

#define COMMON(version, of_proxy, after_handles)                                                             \
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
            operation_state(operation, state, arguments, of_proxy);                                          \
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

#define TABLE(version)                                                                                       \
    {                                                                                                        \
        "TraceSmith", init_v##version, start_v##version, stop_v##version, state_v##version,                  \
            finalize_v##version                                                                              \
    }

// The mask is the process's: what we want, and what whoever comes after us wants.
static struct communicator *begin(int version, const void **next, void **context, int *mask, int ours,
                                  uint64_t comm, const char *name, int nodes, int ranks, int rank,
                                  nccl_log *log) {
    bool lacks;
    agent_attach();
    *next = agent_next(version, &lacks);
    if (lacks)
        warn(log, version);
    struct communicator *communicator = communicator_new(comm, name, nodes, ranks, rank);
    *context = communicator;
    *mask = agent.channel && communicator ? ours & ~(agent.channels ? 0 : NCCL_KERNEL_CHANNEL) : 0;
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

#define INIT_OLD(version, ours)                                                                              \
    static int init_v##version(void **context, int *mask) {                                                  \
        const void *next;                                                                                    \
        struct communicator *communicator =                                                                  \
            begin(version, &next, context, mask, ours, 0, NULL, 0, 0, -1, NULL);                             \
        AFTER_INIT(version, &communicator->after, &communicator->mask);                                      \
        return NCCL_SUCCESS;                                                                                 \
    }
#define INIT_NEW(version, ours)                                                                              \
    static int init_v##version(void **context, uint64_t comm, int *mask, const char *name, int nodes,        \
                               int ranks, int rank, nccl_log *log) {                                         \
        const void *next;                                                                                    \
        struct communicator *communicator =                                                                  \
            begin(version, &next, context, mask, ours, comm, name, nodes, ranks, rank, log);                 \
        AFTER_INIT(version, &communicator->after, comm, &communicator->mask, name, nodes, ranks, rank, log); \
        return NCCL_SUCCESS;                                                                                 \
    }

COMMON(1, true, AFTER_PARENT)
COMMON(2, true, AFTER_PARENT)
COMMON(3, true, AFTER_PARENT)
COMMON(4, false, AFTER_PARENT)
COMMON(5, false, AFTER_GROUP)
COMMON(6, false, AFTER_GROUP)
INIT_OLD(1, MASK_1)
INIT_OLD(2, MASK_1)
INIT_OLD(3, MASK_3)
static int init_v4(void **context, int *mask, const char *name, uint64_t comm, int nodes, int ranks, int rank,
                   nccl_log *log) {
    const void *next;
    struct communicator *communicator =
        begin(4, &next, context, mask, MASK_3, comm, name, nodes, ranks, rank, log);
    AFTER_INIT(4, &communicator->after, &communicator->mask, name, comm, nodes, ranks, rank, log);
    return NCCL_SUCCESS;
}
INIT_NEW(5, MASK_5)
INIT_NEW(6, MASK_6)

EXPORT const struct nccl_profiler_v1 ncclProfiler_v1 = TABLE(1);
EXPORT const struct nccl_profiler_v2 ncclProfiler_v2 = TABLE(2);
EXPORT const struct nccl_profiler_v3 ncclProfiler_v3 = TABLE(3);
EXPORT const struct nccl_profiler_v4 ncclProfiler_v4 = TABLE(4);
EXPORT const struct nccl_profiler_v5 ncclProfiler_v5 = TABLE(5);
EXPORT const struct nccl_profiler_v6 ncclProfiler_v6 = TABLE(6);
