// SPDX-License-Identifier: Apache-2.0
// NVLinks of this machine: asks the agent of NVML in a child process, and adds the answer to the topology. What the child writes
// into the pipe is not believed. topology.c and src/api/capture.c call it.
#include "launch/topology_nvlink.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "launch/launch_agents.h"
#include "wire/agent.h"

// The pipe has room for all GPUs of a machine: a recording reads it at its end.
enum { CHILD_SECONDS = 60, CHILD_FAILED = 1, PIPE_BYTES = 1 << 18 };
static const int64_t END_PATIENCE = 3000000000; // ns

// The topology has the agent's numbers.
_Static_assert((int)AGENT_END_GPU == (int)TSMITH_TOPOLOGY_END_GPU &&
                   (int)AGENT_END_SWITCH == (int)TSMITH_TOPOLOGY_END_SWITCH &&
                   (int)AGENT_END_OTHER == (int)TSMITH_TOPOLOGY_END_OTHER,
               "ends of links");

// ---- the child

static void put_links(void *context, const struct agent_gpu_links *links) {
    const char *at = (const char *)links;
    for (size_t left = sizeof *links; left > 0;) {
        const ssize_t written = write(*(const int *)context, at, left);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            _exit(CHILD_FAILED);
        at += written;
        left -= (size_t)written;
    }
}

static pid_t parent_of_child;

// A thread of the parent has ended, or all of it.
static void on_parent_end(int number) {
    (void)number;
    if (getppid() != parent_of_child)
        _exit(CHILD_FAILED);
}

// The kernel's signal comes when the thread ends that made this process, so a handler asks whether its process did.
static void end_with_parent(pid_t parent) {
    struct sigaction action = {.sa_handler = on_parent_end, .sa_flags = SA_RESTART};
    sigset_t signals;
    parent_of_child = parent;
    (void)sigaction(SIGUSR1, &action, NULL);
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGUSR1);
    (void)sigprocmask(SIG_UNBLOCK, &signals, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGUSR1);
    on_parent_end(0); // it may have ended before
}

// Nothing that the caller has open stays open here: who reads a pipe of the caller's would wait for this process too. `fd` is moved
// and returned.
static int close_inherited(int fd) {
    enum { KEPT = 3, OLD_KERNEL_MOST = 1 << 16 };
    fd = fcntl(fd, F_DUPFD, KEPT + 1);
    if (fd < 0)
        _exit(CHILD_FAILED);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < KEPT; i++)
        if (null < 0 || (null != i && dup2(null, i) < 0))
            close(i);
    if (dup2(fd, KEPT) < 0)
        _exit(CHILD_FAILED);
#ifdef SYS_close_range
    if (syscall(SYS_close_range, KEPT + 1U, ~0U, 0U) == 0)
        return KEPT;
#endif
    struct rlimit limit;
    const bool is_known = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < OLD_KERNEL_MOST;
    for (int i = KEPT + 1, most = is_known ? (int)limit.rlim_cur : OLD_KERNEL_MOST; i < most; i++)
        close(i);
    return KEPT;
}

static void ask_nvml(const char *path, int fd, pid_t parent) {
    agent_links_function *links = NULL;
    (void)alarm(CHILD_SECONDS); // it ends also where a driver holds it
    end_with_parent(parent);
    fd = close_inherited(fd);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library)
        *(void **)&links = dlsym(library, AGENT_LINKS_SYMBOL);
    if (!links)
        _exit(CHILD_FAILED);
    if (links(put_links, &fd) == AGENT_DEVICES_NO_LOADER)
        put_links(&fd, &(struct agent_gpu_links){.why = "libnvidia-ml.so.1 cannot be loaded"});
    put_links(&fd, &(struct agent_gpu_links){.count = UINT32_MAX}); // the end
    _exit(0);                                                       // no destructor of a driver runs
}

// ---- the parent

void nvlink_query_start(struct nvlink_query *query, const char *agent_directory) {
    char path[4096], library[4096];
    int ends[2];
    query->pid = 0;
    if ((!launch_find_library("libnvidia-ml.so.1", library, sizeof library) &&
         access("/proc/driver/nvidia", F_OK) != 0 && access("/dev/dxg", F_OK) != 0) ||
        !launch_agent_path(agent_directory, "nvml", path, sizeof path) || pipe2(ends, O_CLOEXEC))
        return;
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        ask_nvml(path, ends[1], parent);
    close(ends[1]);
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK); // it is polled
    (void)fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
    if (pid < 0)
        close(ends[0]);
    else
        *query = (struct nvlink_query){pid, ends[0], clock_trace_now()};
}

// Exactly so many bytes before the deadline.
static bool read_all(int fd, void *bytes, size_t size, int64_t deadline) {
    char *at = bytes;
    while (size > 0) {
        const int64_t left = deadline - clock_trace_now();
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        const int count = poll(&ready, 1, left > 0 ? (int)(left / 1000000) + 1 : 0);
        if (count < 0 && errno == EINTR)
            continue;
        const ssize_t got = count > 0 ? read(fd, at, size) : 0;
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

static void end_text(char *text, size_t size) {
    text[size - 1] = '\0';
    for (char *at = text; *at; at++)
        *at = isprint((unsigned char)*at) ? *at : '?';
}

static bool is_valid(struct agent_gpu_links *links) {
    uint64_t active = 0;
    end_text(links->gpu, sizeof links->gpu);
    end_text(links->uuid, sizeof links->uuid);
    end_text(links->why, sizeof links->why);
    for (uint32_t i = 0; i < links->count && links->count <= AGENT_LINK_GROUPS; i++) {
        struct agent_link_group *group = &links->groups[i];
        end_text(group->remote, sizeof group->remote);
        active += group->links;
        if (group->end > AGENT_END_OTHER || group->source > AGENT_SPEED_OF_VERSION || !group->links)
            return false;
    }
    return links->count <= AGENT_LINK_GROUPS && active == links->active && links->active <= 1024 &&
           links->inactive <= 1024;
}

// The node of the GPU; one that /sys does not show (as under WSL) is added. SIZE_MAX when memory is exhausted.
static size_t node_of(struct tsmith_topology *topology, const struct agent_gpu_links *links) {
    size_t gpus = 0;
    for (size_t i = 0; i < topology->count; i++)
        if (topology->nodes[i].kind == TSMITH_TOPOLOGY_GPU) {
            gpus = i + 1; // GPUs come first
            if (strcmp(topology->nodes[i].address, links->gpu) == 0)
                return i;
        }
    struct topology_node node = {.kind = TSMITH_TOPOLOGY_GPU,
                                 .vendor = TOPOLOGY_NVIDIA,
                                 .device = links->device,
                                 .numa = -1,
                                 .kfd = -1};
    (void)snprintf(node.address, sizeof node.address, "%.*s", TOPOLOGY_NAME - 1, links->gpu);
    if (!ARRAY_RESERVE(topology->nodes, topology->capacity, topology->count + 1)) {
        topology->failed = true;
        return SIZE_MAX;
    }
    memmove(&topology->nodes[gpus + 1], &topology->nodes[gpus],
            (topology->count - gpus) * sizeof *topology->nodes);
    topology->count++;
    (void)snprintf(node.name, sizeof node.name, "GPU%zu", gpus);
    topology->nodes[gpus] = node;
    return gpus;
}

static void add_links(struct tsmith_topology *topology, const struct agent_gpu_links *links) {
    const size_t at = node_of(topology, links);
    if (at == SIZE_MAX)
        return;
    struct topology_node *node = &topology->nodes[at];
    if (!node->uuid[0])
        (void)snprintf(node->uuid, sizeof node->uuid, "%.*s", TOPOLOGY_NAME - 1, links->uuid);
    node->has_nvlinks = !links->why[0];
    node->nvlinks = links->active;
    node->nvlinks_inactive = links->inactive;
    (void)snprintf(node->nvlinks_why, sizeof node->nvlinks_why, "%.*s", TOPOLOGY_REASON - 1, links->why);
    for (uint32_t i = 0; node->has_nvlinks && i < links->count; i++) {
        const struct agent_link_group *group = &links->groups[i];
        struct topology_nvlink link = {.from = at,
                                       .end = group->end,
                                       .source = group->source,
                                       .links = group->links,
                                       .version = group->version,
                                       .bytes_per_s = group->bytes_per_s};
        (void)snprintf(link.remote, sizeof link.remote, "%.*s", TOPOLOGY_NAME - 1, group->remote);
        (void)topology_add_nvlink(topology, &link);
    }
}

// Of all NVIDIA GPUs that NVML has not named.
static void set_why(struct tsmith_topology *topology, const char *why) {
    for (size_t i = 0; i < topology->count; i++) {
        struct topology_node *node = &topology->nodes[i];
        if (node->kind == TSMITH_TOPOLOGY_GPU && node->vendor == TOPOLOGY_NVIDIA && !node->has_nvlinks &&
            !node->nvlinks_why[0])
            (void)snprintf(node->nvlinks_why, sizeof node->nvlinks_why, "%.*s", TOPOLOGY_REASON - 1, why);
    }
}

static bool take_answer(const struct nvlink_query *query, int64_t patience, struct tsmith_topology *topology,
                        bool *is_complete) {
    const int64_t deadline = query->started + patience;
    struct agent_gpu_links links;
    char why[TOPOLOGY_REASON] = "NVML does not list this GPU";
    bool any = false;
    for (unsigned i = 0; i < TOPOLOGY_NODES_MOST; i++) {
        if (!read_all(query->fd, &links, sizeof links, deadline)) {
            set_why(topology, "NVML did not answer");
            return any;
        }
        *is_complete = links.count == UINT32_MAX;
        if (*is_complete)
            break;
        if (!is_valid(&links))
            continue;
        if (links.gpu[0])
            add_links(topology, &links);
        else
            (void)snprintf(why, sizeof why, "%.*s", TOPOLOGY_REASON - 1, links.why);
        any = true;
    }
    set_why(topology, why);
    return any;
}

bool nvlink_query_finish(struct nvlink_query *query, int64_t patience, struct tsmith_topology *topology) {
    if (!query->pid)
        return false;
    bool is_complete = false;
    const bool any = topology && take_answer(query, patience, topology, &is_complete);
    struct agent_gpu_links rest;
    const int64_t deadline = clock_trace_now() + END_PATIENCE;
    if (!is_complete)
        (void)kill(query->pid, SIGKILL);
    while (read_all(query->fd, &rest, sizeof rest, deadline))
        ;
    // The end of the pipe: the process has ended. One that a driver holds is not waited for.
    if (read(query->fd, &rest, 1) == 0)
        while (waitpid(query->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    close(query->fd);
    query->pid = 0;
    return any;
}
