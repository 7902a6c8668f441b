// SPDX-License-Identifier: Apache-2.0
// A simulated NCCL: no GPU, no communication. Loads a profiler plugin as NCCL does (NCCL_PROFILER_PLUGIN, the newest
// version that both know, or the one asked for) and calls it in NCCL's order: groups, operations in them, which are over
// as soon as they are enqueued, and then, on a thread of its own, the channels of their kernels and the proxy's work.
//
//   nccl_host VERSION [OPERATIONS] [killed | quick]
//
// Prints its own count. An operation's channels take at least 50 us, which is when it ends; with "quick" they take no
// time; with "killed" no more than half of the operations get there before the program is killed.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../agents/nccl/abi.h"

enum { CHANNELS = 2, COUNT = 1000, COMM = 0xabcdef };

static int version, mask;
static void *context;
static long said_channels, said_proxies, said_steps, said_networks, said_controls, said_copies,
    channel_ns = 50000;

// The plugin, whichever version: its functions take the descriptors of version 6, from which others are made.
static union {
    const struct nccl_profiler_v1 *v1;
    const struct nccl_profiler_v2 *v2;
    const struct nccl_profiler_v3 *v3;
    const struct nccl_profiler_v4 *v4;
    const struct nccl_profiler_v5 *v5;
    const struct nccl_profiler_v6 *v6;
} plugin;

static void note(int level, unsigned long flags, const char *file, int line, const char *format, ...) {
    va_list arguments;
    (void)level, (void)flags, (void)file, (void)line;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

static void moment(long ns) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < ns);
}

static int load(void) {
    char name[32];
    const char *path = getenv("NCCL_PROFILER_PLUGIN");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library)
        return 0;
    snprintf(name, sizeof name, "ncclProfiler_v%d", version);
    plugin.v6 = dlsym(library, name);
    if (!plugin.v6)
        return 0;
    switch (version) {
    case 1:
        return plugin.v1->init(&context, &mask) == 0;
    case 2:
        return plugin.v2->init(&context, &mask) == 0;
    case 3:
        return plugin.v3->init(&context, &mask) == 0;
    case 4:
        return plugin.v4->init(&context, &mask, "simulated", COMM, 1, 8, 3, note) == 0;
    case 5:
        return plugin.v5->init(&context, COMM, &mask, "simulated", 1, 8, 3, note) == 0;
    default:
        return plugin.v6->init(&context, COMM, &mask, "simulated", 1, 8, 3, note) == 0;
    }
}

#define OLD_COLL(from)                                                                                       \
    descriptor.coll.name = "simulated", descriptor.coll.comm = COMM,                                         \
    descriptor.coll.sequence = (from)->coll.sequence, descriptor.coll.count = (from)->coll.count,            \
    descriptor.coll.root = (from)->coll.root, descriptor.coll.channels = (from)->coll.channels
#define OLD_P2P(from)                                                                                        \
    descriptor.p2p.name = "simulated", descriptor.p2p.comm = COMM, descriptor.p2p.count = (from)->p2p.count, \
    descriptor.p2p.peer = (from)->p2p.peer
#define OLD_REST(from)                                                                                       \
    do {                                                                                                     \
        if ((from)->type == NCCL_PROXY_OP)                                                                   \
            descriptor.proxy_op = (from)->proxy_op;                                                          \
        else if ((from)->type == NCCL_KERNEL_CHANNEL)                                                        \
            descriptor.kernel.channel = (from)->kernel.channel;                                              \
        else if ((from)->type == NCCL_PROXY_STEP)                                                            \
            descriptor.step = (from)->step;                                                                  \
        else if ((from)->type == NCCL_NET_PLUGIN)                                                            \
            descriptor.net = (from)->net;                                                                    \
    } while (0)
#define OLD_TEXTS(from)                                                                                      \
    descriptor.coll.function = (from)->coll.function, descriptor.coll.datatype = (from)->coll.datatype,      \
    descriptor.coll.algorithm = (from)->coll.algorithm, descriptor.coll.protocol = (from)->coll.protocol
#define OLD_START(number, texts, p2p_texts)                                                                  \
    static void start_v##number(void **handle, const struct nccl_descriptor_v6 *from) {                      \
        struct nccl_descriptor_v##number descriptor;                                                         \
        memset(&descriptor, 0, sizeof descriptor);                                                           \
        descriptor.type = (uint8_t)from->type;                                                               \
        descriptor.parent = from->parent;                                                                    \
        descriptor.rank = from->rank;                                                                        \
        if (from->type == NCCL_COLL) {                                                                       \
            OLD_COLL(from);                                                                                  \
            texts;                                                                                           \
        } else if (from->type == NCCL_P2P) {                                                                 \
            OLD_P2P(from);                                                                                   \
            p2p_texts;                                                                                       \
        }                                                                                                    \
        OLD_REST(from);                                                                                      \
        plugin.v##number->start(context, handle, &descriptor);                                               \
    }
// Numbers in version 1: AllReduce, Send, ncclFloat32, RING, SIMPLE.
OLD_START(1,
          (descriptor.coll.function = 4, descriptor.coll.datatype = 7, descriptor.coll.algorithm = 1,
           descriptor.coll.protocol = 2),
          (descriptor.p2p.function = 6, descriptor.p2p.datatype = 7))
OLD_START(2, OLD_TEXTS(from),
          (descriptor.p2p.function = from->p2p.function, descriptor.p2p.datatype = from->p2p.datatype))
OLD_START(3, OLD_TEXTS(from),
          (descriptor.p2p.function = from->p2p.function, descriptor.p2p.datatype = from->p2p.datatype))

static void start(void **handle, struct nccl_descriptor_v6 *descriptor) {
    *handle = NULL;
    if (!plugin.v6 || !(mask & (int)descriptor->type))
        return;
    struct nccl_descriptor_v4 four;
    switch (version) {
    case 1:
        start_v1(handle, descriptor);
        break;
    case 2:
        start_v2(handle, descriptor);
        break;
    case 3:
        start_v3(handle, descriptor);
        break;
    case 4:
        memcpy(&four, descriptor, sizeof four);
        four.type = (uint8_t)descriptor->type;
        plugin.v4->start(context, handle, &four);
        break;
    case 5:
        plugin.v5->start(context, handle, (struct nccl_descriptor_v5 *)(void *)descriptor);
        break;
    default:
        plugin.v6->start(context, handle, descriptor);
    }
}

static void stop(void *handle) {
    if (handle)
        plugin.v6->stop(handle); // the place of this function is the same in all versions
}

static void state(void *handle, int number, union nccl_state_arguments *arguments) {
    if (handle)
        plugin.v6->state(handle, number, arguments);
}

// ---- the thread that sees kernels and moves data

static struct {
    void *tasks[1 << 16];
    uint32_t made, done, most; // most: that are run
    int over;
    pthread_mutex_t lock;
    pthread_cond_t changed;
} queue = {.most = UINT32_MAX, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

// Events of a network plugin while a step waits for it: by turns of a queue pair, a socket, and of an unknown kind.
static void say_network(void *step, int number) {
    struct nccl_net_ib ib = {1, 4, 77, 2, 9, 2000};
    struct nccl_net_socket socket = {1, 12, 1, 1500};
    void *handle;
    struct nccl_descriptor_v6 descriptor = {.type = NCCL_NET_PLUGIN, .parent = step, .rank = 3};
    descriptor.net = number % 3 == 0   ? (struct nccl_net_plugin){NCCL_NET_IB | NCCL_NET_VERSION, &ib}
                     : number % 3 == 1 ? (struct nccl_net_plugin){NCCL_NET_SOCKET | NCCL_NET_VERSION, &socket}
                                       : (struct nccl_net_plugin){5 << 16 | 1, &number};
    start(&handle, &descriptor);
    said_networks += handle != NULL;
    stop(handle);
}

static void say_step(void *proxy, int number, int is_send) {
    union nccl_state_arguments moved = {.proxy = {.bytes = 2000}};
    struct nccl_descriptor_v6 descriptor = {.type = NCCL_PROXY_STEP, .parent = proxy, .rank = 3};
    void *step;
    descriptor.step = number;
    start(&step, &descriptor);
    said_steps += step != NULL;
    state(step, is_send ? NCCL_STATE_STEP_SEND_GPU_WAIT : NCCL_STATE_STEP_RECEIVE_WAIT, NULL);
    if (is_send && version >= 4)
        state(step, NCCL_STATE_STEP_SEND_PEER_WAIT, NULL);
    state(step, is_send ? NCCL_STATE_STEP_SEND_WAIT : NCCL_STATE_STEP_RECEIVE_GPU_WAIT,
          version >= 4 ? &moved : NULL);
    if (step)
        say_network(step, (int)said_steps);
    stop(step);
}

static void say_control(void) {
    struct nccl_descriptor_v6 descriptor = {.type = NCCL_PROXY_CTRL, .rank = 3};
    void *control;
    start(&control, &descriptor);
    said_controls += control != NULL;
    state(control, NCCL_STATE_CONTROL_APPEND, NULL);
    state(control, NCCL_STATE_CONTROL_APPEND_END, NULL);
    stop(control);
}

static void run_task(void *task) {
    void *channels[CHANNELS], *proxy;
    struct nccl_descriptor_v6 descriptor = {.type = NCCL_PROXY_OP, .parent = task, .rank = 3};
    union nccl_state_arguments arguments = {.proxy = {.bytes = 4000, .steps = 2}};
    descriptor.proxy_op = (struct nccl_proxy_op){getpid(), 1, 5, 2, 2048, 1};
    start(&proxy, &descriptor);
    said_proxies += proxy != NULL;
    for (int i = 0; i < CHANNELS; i++) {
        descriptor = (struct nccl_descriptor_v6){.type = NCCL_KERNEL_CHANNEL, .parent = task};
        descriptor.kernel = (struct nccl_kernel_channel){(uint8_t)i, 1000000};
        start(&channels[i], &descriptor);
        said_channels += channels[i] != NULL;
    }
    moment(channel_ns);
    for (int i = 0; i < CHANNELS; i++) {
        union nccl_state_arguments timer = {.timer = 1050000};
        state(channels[i], NCCL_STATE_KERNEL_STOP, &timer);
        stop(channels[i]);
    }
    for (int i = 0; i < 2; i++)
        say_step(proxy, i, 1);
    if (version < 4)
        for (int i = NCCL_STATE_SEND_POSTED; i <= NCCL_STATE_SEND_DONE; i++)
            state(proxy, i, &arguments);
    else
        state(proxy, NCCL_STATE_OP_IN_PROGRESS, NULL);
    stop(proxy);
    say_control();
}

static void *proxy_main(void *unused) {
    (void)unused;
    pthread_mutex_lock(&queue.lock);
    while (!queue.over || queue.done != queue.made) {
        if (queue.done == queue.made || queue.done == queue.most) {
            pthread_cond_wait(&queue.changed, &queue.lock);
            continue;
        }
        void *task = queue.tasks[queue.done++ % (1 << 16)];
        pthread_mutex_unlock(&queue.lock);
        run_task(task);
        pthread_mutex_lock(&queue.lock);
    }
    pthread_mutex_unlock(&queue.lock);
    return NULL;
}

static void hand_over(void *task) {
    pthread_mutex_lock(&queue.lock);
    queue.tasks[queue.made++ % (1 << 16)] = task;
    pthread_cond_signal(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
}

// ---- the program's thread

static struct nccl_descriptor_v6 describe(uint64_t type, void *parent, void *group, long number) {
    struct nccl_descriptor_v6 descriptor = {.type = type, .parent = version >= 5 ? parent : group, .rank = 3};
    if (type == NCCL_COLL)
        descriptor.coll = (struct nccl_coll_v5){(uint64_t)number, "AllReduce", NULL, NULL,   COUNT,    0,
                                                "ncclFloat32",    CHANNELS,    16,   "RING", "SIMPLE", group};
    else
        descriptor.p2p = (struct nccl_p2p_v5){"Send", NULL, "ncclFloat32", COUNT, 5, CHANNELS, group};
    return descriptor;
}

// Copy engines, which version 6 knows: a collective that waits for all, copies in a batch, and waits for the end.
static void copy_with_engines(long number) {
    struct nccl_descriptor_v6 descriptor = {.type = NCCL_CE_COLL, .rank = 3};
    void *all, *part;
    descriptor.ce_coll = (struct nccl_ce_coll){
        .sequence = (uint64_t)number, .function = "AllGather", .count = COUNT, .datatype = "ncclFloat32"};
    start(&all, &descriptor);
    for (int i = 0; i < 3; i++) {
        descriptor = (struct nccl_descriptor_v6){
            .type = i == 1 ? NCCL_CE_BATCH : NCCL_CE_SYNC, .parent = all, .rank = 3};
        if (i == 1)
            descriptor.ce_batch = (struct nccl_ce_batch){7, 28000, false};
        else
            descriptor.ce_sync = (struct nccl_ce_sync){i == 2, 8};
        start(&part, &descriptor);
        stop(part);
    }
    said_copies += all != NULL;
    stop(all);
}

static void operate(long number) {
    const int is_coll = number % 4 != 0;
    void *group_api, *api, *group, *task, *launch;
    struct nccl_descriptor_v6 descriptor = {.type = NCCL_GROUP_API};
    start(&group_api, &descriptor);
    state(group_api, NCCL_STATE_GROUP_STARTED, NULL);
    descriptor =
        (struct nccl_descriptor_v6){.type = is_coll ? NCCL_COLL_API : NCCL_P2P_API, .parent = group_api};
    if (is_coll)
        descriptor.coll_api = (struct nccl_coll_api){"AllReduce", COUNT, "ncclFloat32", 0, &queue, false};
    else
        descriptor.p2p_api = (struct nccl_p2p_api){"Send", COUNT, "ncclFloat32", &queue, false};
    start(&api, &descriptor);
    stop(api);
    state(group_api, NCCL_STATE_GROUP_ENDING, NULL);
    descriptor = (struct nccl_descriptor_v6){.type = NCCL_GROUP};
    start(&group, &descriptor);
    descriptor = describe(is_coll ? NCCL_COLL : NCCL_P2P, api, group, number);
    start(&task, &descriptor);
    descriptor = (struct nccl_descriptor_v6){.type = NCCL_KERNEL_LAUNCH, .parent = group_api};
    descriptor.stream = &queue;
    start(&launch, &descriptor);
    stop(launch);
    hand_over(task);
    stop(task);
    stop(group);
    stop(group_api);
}

int main(int argc, char **argv) {
    pthread_t proxy;
    version = argc > 1 ? atoi(argv[1]) : 6;
    const long operations = argc > 2 ? strtol(argv[2], NULL, 10) : 100;
    const int killed = argc > 3 && strcmp(argv[3], "killed") == 0;
    if (argc > 3 && strcmp(argv[3], "quick") == 0)
        channel_ns = 0;
    const int loaded = load();
    if (killed)
        queue.most = (uint32_t)operations / 2;
    pthread_create(&proxy, NULL, proxy_main, NULL);
    for (long i = 0; i < operations; i++)
        operate(i);
    for (long i = 0; i < operations / 10 && version >= 6; i++)
        copy_with_engines(i);
    if (killed)
        raise(SIGKILL);
    pthread_mutex_lock(&queue.lock);
    queue.over = 1;
    pthread_cond_signal(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
    pthread_join(proxy, NULL);
    if (loaded)
        plugin.v6->finalize(context);
    printf(
        "{\"simulated\": true, \"loaded\": %d, \"mask\": %d, \"p2p\": %ld, \"coll\": %ld, \"channels\": %ld, "
        "\"proxies\": %ld, \"steps\": %ld, \"networks\": %ld, \"controls\": %ld, \"copies\": %ld}\n",
        loaded, mask, (operations + 3) / 4, operations - (operations + 3) / 4, said_channels, said_proxies,
        said_steps, said_networks, said_controls, said_copies);
    return 0;
}
