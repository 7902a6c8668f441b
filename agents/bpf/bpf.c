// SPDX-License-Identifier: Apache-2.0
// Loads the programs of trace.bpf.c into the kernel and attaches them (libbpf). Runs in the recording process, as a library
// of its own so that nothing else needs libbpf; wire/agent_bpf.h is all that is known of it.
#include "wire/agent_bpf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <trace.skel.h> // generated: cmake/bpf.cmake

#include "kernel_probe.h"
#include "probe_site.h"

enum { LINKS_MOST = AGENT_BPF_PROBES_MOST * PROBE_OFFSETS_MOST };

struct agent_bpf {
    struct trace_bpf *skeleton;
    struct ring_buffer *ring;
    struct probe_site probes[AGENT_BPF_PROBES_MOST];
    struct kernel_probe
        kernel[AGENT_BPF_PROBES_MOST]; // of the same numbers; of nothing where a file is probed
    struct bpf_link *links[LINKS_MOST];
    unsigned link_count, probe_count;
    bool sched, driver;
    char lacks[256];
    int (*each)(void *context, void *record, unsigned long size);
    void *context;
};

static int write_message(char *message, unsigned long size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int write_message(char *message, unsigned long size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, size, format, arguments);
    va_end(arguments);
    return -1;
}

static int be_quiet(enum libbpf_print_level level, const char *format, va_list arguments) {
    (void)level;
    (void)format;
    (void)arguments;
    return 0;
}

// ---- opening

static bool has_tracepoint(const struct btf *kernel, const char *name) {
    char type[64];
    snprintf(type, sizeof type, "btf_trace_%s", name);
    return kernel && btf__find_by_name_kind(kernel, type, BTF_KIND_TYPEDEF) > 0;
}

// How many arguments a tracepoint has; 0: there is none.
static unsigned arguments_of(const struct btf *kernel, const char *name) {
    char type[64];
    snprintf(type, sizeof type, "btf_trace_%s", name);
    const int id = kernel ? btf__find_by_name_kind(kernel, type, BTF_KIND_TYPEDEF) : 0;
    const struct btf_type *is = id > 0 ? btf__type_by_id(kernel, (unsigned)id) : NULL;
    is = is ? btf__type_by_id(kernel, is->type) : NULL;                   // the pointer
    is = is && btf_is_ptr(is) ? btf__type_by_id(kernel, is->type) : NULL; // the function
    return is && btf_is_func_proto(is) && btf_vlen(is) ? btf_vlen(is) - 1u : 0;
}

// Programs whose tracepoints this kernel lacks, and those not requested, are not loaded: a group all or none.
static bool choose_group(const struct btf *kernel, bool wanted, struct bpf_program *const *programs,
                         const char *const *tracepoints, size_t count) {
    for (size_t i = 0; i < count; i++)
        wanted = wanted && has_tracepoint(kernel, tracepoints[i]);
    for (size_t i = 0; i < count; i++)
        bpf_program__set_autoload(programs[i], wanted);
    return wanted;
}

#define CHOOSE_GROUP(kernel, wanted, programs, tracepoints)                                                  \
    choose_group(kernel, wanted, programs, tracepoints, sizeof(programs) / sizeof(programs)[0])

static void note_lacking(struct agent_bpf *agent, const char *what) {
    const size_t length = strlen(agent->lacks);
    if (agent->driver)
        snprintf(agent->lacks + length, sizeof agent->lacks - length, "%s%s", length ? ", " : "", what);
}

// Attaches to the first available target, also in a module. libbpf reports an error if there is none.
static bool choose_target(struct bpf_program *program, bool wanted, const char *const *names) {
    for (; wanted && *names; names++)
        if (bpf_program__set_attach_target(program, 0, *names) == 0)
            return true;
    bpf_program__set_autoload(program, false);
    return false;
}

// They had other names before Linux 6.17.
static void choose_jobs(struct agent_bpf *agent) {
    static const char *const queued[] = {"drm_sched_job_queue", "drm_sched_job", NULL},
                             *const run[] = {"drm_sched_job_run", "drm_run_job", NULL},
                             *const done[] = {"drm_sched_job_done", "drm_sched_process_job", NULL};
    const struct trace_bpf *skeleton = agent->skeleton;
    bool all = choose_target(skeleton->progs.on_job_queued, agent->driver, queued);
    all = choose_target(skeleton->progs.on_job_run, all, run) && all;
    all = choose_target(skeleton->progs.on_job_done, all, done) && all;
    bpf_program__set_autoload(skeleton->progs.on_job_queued, all);
    bpf_program__set_autoload(skeleton->progs.on_job_run, all);
    if (!all)
        note_lacking(agent, "jobs (gpu_scheduler)");
}

static void choose_calls(struct agent_bpf *agent, const struct btf *kernel) {
    struct bpf_program *const calls[] = {agent->skeleton->progs.on_call, agent->skeleton->progs.on_call_end};
    static const char *const call_points[] = {"sys_enter", "sys_exit"};
    struct bpf_program *const faults[] = {agent->skeleton->progs.on_fault};
    static const char *const fault_points[] = {"page_fault_user"};
    if (!CHOOSE_GROUP(kernel, agent->driver, calls, call_points))
        note_lacking(agent, "calls (raw_syscalls)");
    // Whose memory it was is found by what Linux 5.17 brought.
    const bool finds = kernel && btf__find_by_name_kind(kernel, "bpf_find_vma", BTF_KIND_FUNC) > 0;
    if (!CHOOSE_GROUP(kernel, agent->driver && finds, faults, fault_points))
        note_lacking(agent, "faults (page_fault_user)");
}

static void choose_programs(struct agent_bpf *agent) {
    struct btf *kernel = btf__load_vmlinux_btf();
    struct trace_bpf *skeleton = agent->skeleton;
    struct bpf_program *const sched[] = {skeleton->progs.on_switch, skeleton->progs.on_waking};
    static const char *const sched_points[] = {"sched_switch", "sched_waking"};
    struct bpf_program *const fences[] = {skeleton->progs.on_fence_emit, skeleton->progs.on_fence_signaled,
                                          skeleton->progs.on_fence_wait_start,
                                          skeleton->progs.on_fence_wait_end};
    static const char *const fence_points[] = {"dma_fence_emit", "dma_fence_signaled", "dma_fence_wait_start",
                                               "dma_fence_wait_end"};
    struct bpf_program *const devices[] = {skeleton->progs.on_device_enter, skeleton->progs.on_device_leave};
    static const char *const device_points[] = {"irq_handler_entry", "irq_handler_exit"};
    struct bpf_program *const softirqs[] = {skeleton->progs.on_softirq_enter,
                                            skeleton->progs.on_softirq_leave};
    static const char *const softirq_points[] = {"softirq_entry", "softirq_exit"};
    struct bpf_program *const timers[] = {skeleton->progs.on_timer_enter, skeleton->progs.on_timer_leave};
    static const char *const timer_points[] = {"hrtimer_expire_entry", "hrtimer_expire_exit"};
    CHOOSE_GROUP(kernel, agent->sched, sched, sched_points);
    skeleton->rodata->with_state = arguments_of(kernel, "sched_switch") >= 4;
    CHOOSE_GROUP(kernel, agent->sched, devices, device_points);
    CHOOSE_GROUP(kernel, agent->sched, softirqs, softirq_points);
    CHOOSE_GROUP(kernel, agent->sched, timers, timer_points);
    if (!CHOOSE_GROUP(kernel, agent->driver, fences, fence_points))
        note_lacking(agent, "fences (dma_fence)");
    choose_jobs(agent);
    choose_calls(agent, kernel);
    btf__free(kernel);
}

static int take_event(void *context, void *record, size_t size) {
    struct agent_bpf *agent = context;
    return agent->each ? agent->each(agent->context, record, size) : 0;
}

static int load(struct agent_bpf *agent, const struct agent_bpf_options *options, enum agent_bpf_why *why,
                char *message, unsigned long size) {
    struct stat namespace;
    agent->skeleton = trace_bpf__open();
    if (!agent->skeleton)
        return write_message(message, size, "the programs for the kernel cannot be opened: %s",
                             strerror(errno));
    agent->skeleton->rodata->launcher = (unsigned)getpid();
    if (stat("/proc/self/ns/pid", &namespace))
        return write_message(message, size, "/proc/self/ns/pid: %s", strerror(errno));
    agent->skeleton->rodata->launcher_namespace = (unsigned)namespace.st_ino;
    agent->skeleton->rodata->with_stacks = options->stacks != 0;
    choose_programs(agent);
    if (!options->stacks || !options->sched)
        bpf_map__set_max_entries(agent->skeleton->maps.copies, 1);
    if (options->ring_bytes)
        bpf_map__set_max_entries(agent->skeleton->maps.ring, (uint32_t)options->ring_bytes);
    const int failed = trace_bpf__load(agent->skeleton);
    *why = failed == -EPERM ? AGENT_BPF_NO_RIGHT
                            : AGENT_BPF_REFUSED; // EACCES is the verifier's answer for a program
    if (failed)
        return write_message(message, size, "the kernel rejects the programs: %s", strerror(-failed));
    for (unsigned i = 0; i < options->node_count; i++) {
        const unsigned node = options->nodes[i].major << 20 | options->nodes[i].minor, one = 1;
        bpf_map_update_elem(bpf_map__fd(agent->skeleton->maps.nodes), &node, &one, BPF_ANY);
    }
    for (unsigned i = 0; i < bpf_map__max_entries(agent->skeleton->maps.copies); i++)
        bpf_map_update_elem(bpf_map__fd(agent->skeleton->maps.free_copies), NULL, &i, BPF_ANY);
    agent->ring = ring_buffer__new(bpf_map__fd(agent->skeleton->maps.ring), take_event, agent, NULL);
    return agent->ring ? 0 : write_message(message, size, "no ring buffer: %s", strerror(errno));
}

static bool is_of_kernel(const struct agent_bpf *agent, unsigned probe) {
    return agent->kernel[probe].function[0] != '\0';
}

static struct kernel_probe_maps maps_of(const struct agent_bpf *agent) {
    return (struct kernel_probe_maps){.ring = bpf_map__fd(agent->skeleton->maps.ring),
                                      .processes = bpf_map__fd(agent->skeleton->maps.processes),
                                      .lost = bpf_map__fd(agent->skeleton->maps.lost)};
}

static int load_kernel_probes(struct agent_bpf *agent, char *message, unsigned long size) {
    const struct kernel_probe_maps maps = maps_of(agent);
    int status = 0;
    for (unsigned i = 0; !status && i < agent->probe_count; i++)
        if (is_of_kernel(agent, i))
            status = kernel_probe_load(&agent->kernel[i], i, &maps, message, size);
    return status;
}

static int find_probe(struct agent_bpf *agent, unsigned number, const struct agent_bpf_options *options,
                      char *message, unsigned long size) {
    const struct agent_bpf_probe *probe = &options->probes[number];
    if (strcmp(probe->path, AGENT_BPF_KERNEL) == 0)
        return kernel_probe_find(&agent->kernel[number], probe->function, message, size);
    return probe_site_find(&agent->probes[number], probe, options->demangle, message, size);
}

static void close_agent(struct agent_bpf *agent) {
    if (!agent)
        return;
    for (unsigned i = 0; i < agent->probe_count; i++)
        kernel_probe_close(&agent->kernel[i]);
    for (unsigned i = 0; i < agent->link_count; i++)
        bpf_link__destroy(agent->links[i]);
    ring_buffer__free(agent->ring);
    trace_bpf__destroy(agent->skeleton);
    free(agent);
}

static struct agent_bpf *open_agent(const struct agent_bpf_options *options, enum agent_bpf_why *why,
                                    char *message, unsigned long size) {
    struct agent_bpf *agent = calloc(1, sizeof *agent);
    *why = AGENT_BPF_REFUSED;
    libbpf_set_print(be_quiet);
    int status = agent ? 0 : write_message(message, size, "no memory");
    if (!status &&
        (options->interface != AGENT_BPF_INTERFACE || options->probe_count > AGENT_BPF_PROBES_MOST))
        status = write_message(message, size, "the programs for the kernel have another version");
    for (unsigned i = 0; !status && i < options->probe_count; i++) {
        status = find_probe(agent, i, options, message, size);
        *why = status ? AGENT_BPF_NOT_THERE : AGENT_BPF_REFUSED;
    }
    if (!status) {
        agent->probe_count = options->probe_count;
        agent->sched = options->sched != 0;
        agent->driver = options->driver != 0;
        status = load(agent, options, why, message, size);
    }
    if (!status)
        status = load_kernel_probes(agent, message, size);
    if (!status)
        return agent;
    close_agent(agent);
    return NULL;
}

// ---- probes

static struct bpf_link *attach(struct agent_bpf *agent, const char *path, uint64_t offset, unsigned cookie,
                               bool leave, pid_t pid) {
    LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = cookie, .retprobe = leave);
    const struct bpf_program *program =
        leave ? agent->skeleton->progs.on_leave : agent->skeleton->progs.on_enter;
    return bpf_program__attach_uprobe_opts(program, pid, path, offset, &options);
}

static void set_recorded(struct agent_bpf *agent, bool recorded) {
    const int processes = bpf_map__fd(agent->skeleton->maps.processes);
    const unsigned group = (unsigned)getpid(), one = 1;
    if (recorded)
        bpf_map_update_elem(processes, &group, &one, BPF_ANY);
    else
        bpf_map_delete_elem(processes, &group);
}

// The cost of a hit depends on the instruction that the kernel has to put elsewhere. So the same kind of one is probed here,
// in this process, which is recorded for the moment so that all is done that is done later.
static int cost_of_function(struct agent_bpf *agent, unsigned probe, struct agent_bpf_cost *out) {
    const struct probe_site *site = &agent->probes[probe];
    struct probe_site own;
    char message[256];
    if (probe_site_of_kind(&own, site->kind, message, sizeof message))
        return -1;
    const double bare = probe_site_time(own.kind);
    const bool returns = !site->is_static;
    struct bpf_link *enter = attach(agent, own.path, own.offsets[0], 0, false, getpid()),
                    *leave = returns ? attach(agent, own.path, own.offsets[0], 0, true, getpid()) : NULL;
    const bool measured = enter && (leave || !returns);
    if (measured) {
        set_recorded(agent, true);
        out->ns = probe_site_time(own.kind) - bare;
        set_recorded(agent, false);
        out->site = probe_site_kind_name(own.kind);
    }
    bpf_link__destroy(enter);
    bpf_link__destroy(leave);
    ring_buffer__consume(agent->ring); // each is not set yet: thrown away
    return measured ? 0 : -1;
}

// A probe of the kernel's costs by what the programs do, and not by its function.
static int cost_of_kernel(struct agent_bpf *agent, struct agent_bpf_cost *out) {
    const struct kernel_probe_maps maps = maps_of(agent);
    struct kernel_probe own = {0};
    char message[512];
    const bool is_there = !kernel_probe_find(&own, KERNEL_PROBE_OF_GETPPID, message, sizeof message) &&
                          !kernel_probe_load(&own, AGENT_BPF_PROBES_MOST, &maps, message, sizeof message);
    const double bare = kernel_probe_time();
    const bool measured = is_there && !kernel_probe_attach(&own, message, sizeof message);
    if (measured) {
        out->others_ns = kernel_probe_time() - bare;
        set_recorded(agent, true);
        out->ns = kernel_probe_time() - bare;
        set_recorded(agent, false);
        out->site = "a function of the kernel";
    }
    kernel_probe_close(&own);
    ring_buffer__consume(agent->ring); // thrown away, too
    return measured ? 0 : -1;
}

static int cost(struct agent_bpf *agent, unsigned probe, struct agent_bpf_cost *out) {
    *out = (struct agent_bpf_cost){0};
    return is_of_kernel(agent, probe) ? cost_of_kernel(agent, out) : cost_of_function(agent, probe, out);
}

static const struct agent_bpf_signature *signature(const struct agent_bpf *agent, unsigned probe) {
    return is_of_kernel(agent, probe) ? &agent->kernel[probe].signature : NULL;
}

static int start(struct agent_bpf *agent, char *message, unsigned long size) {
    // Probes first: what follows children only begins when they are in place.
    for (unsigned i = 0; i < agent->probe_count; i++) {
        const struct probe_site *site = &agent->probes[i];
        if (is_of_kernel(agent, i)) {
            if (kernel_probe_attach(&agent->kernel[i], message, size))
                return -1;
            continue;
        }
        const unsigned links = site->is_static ? site->count : 2; // of a function: entry and return
        for (unsigned j = 0; j < links; j++) {
            const uint64_t offset = site->offsets[site->is_static ? j : 0];
            struct bpf_link *link = attach(agent, site->path, offset, i, !site->is_static && j == 1, -1);
            if (!link)
                return write_message(message, size, "%s at 0x%llx cannot be probed: %s", site->path,
                                     (unsigned long long)offset, strerror(errno));
            agent->links[agent->link_count++] = link;
        }
    }
    const int failed = trace_bpf__attach(agent->skeleton);
    return failed ? write_message(message, size, "the kernel's tracepoints cannot be used: %s",
                                  strerror(-failed))
                  : 0;
}

// ---- records

static int read_records(struct agent_bpf *agent, int (*each)(void *context, void *record, unsigned long size),
                        void *context) {
    agent->each = each;
    agent->context = context;
    const int taken = ring_buffer__consume(agent->ring);
    agent->each = NULL;
    return taken;
}

static void wait_for_records(struct agent_bpf *agent, int milliseconds) {
    struct epoll_event event;
    (void)epoll_wait(ring_buffer__epoll_fd(agent->ring), &event, 1, milliseconds);
}

static void stop(struct agent_bpf *agent) {
    for (unsigned i = 0; i < agent->link_count; i++)
        bpf_link__destroy(agent->links[i]);
    agent->link_count = 0;
    for (unsigned i = 0; i < agent->probe_count; i++)
        kernel_probe_detach(&agent->kernel[i]);
    trace_bpf__detach(agent->skeleton);
}

static unsigned stack(struct agent_bpf *agent, int id, unsigned long long addresses[AGENT_BPF_DEPTH]) {
    unsigned depth = 0;
    memset(addresses, 0, AGENT_BPF_DEPTH * sizeof *addresses);
    if (id < 0 || bpf_map_lookup_elem(bpf_map__fd(agent->skeleton->maps.stacks), &id, addresses))
        return 0;
    while (depth < AGENT_BPF_DEPTH && addresses[depth])
        depth++;
    return depth;
}

static unsigned long long count_missed(const struct agent_bpf *agent) {
    unsigned long long count = kernel_probe_missed_of(agent->skeleton->obj);
    for (unsigned i = 0; i < agent->probe_count; i++)
        count += kernel_probe_missed(&agent->kernel[i]);
    return count;
}

static unsigned long long count_lost(struct agent_bpf *agent, enum agent_bpf_lost what) {
    if (what == AGENT_BPF_LOST_MISSED)
        return count_missed(agent);
    const unsigned which = what;
    unsigned long long count = 0;
    return bpf_map_lookup_elem(bpf_map__fd(agent->skeleton->maps.lost), &which, &count) == 0 ? count : 0;
}

static const char *list_lacking(const struct agent_bpf *agent) {
    return agent->lacks;
}

__attribute__((visibility("default"))) const struct agent_bpf_table *tracesmith_bpf_calls(void);
const struct agent_bpf_table *tracesmith_bpf_calls(void) {
    static const struct agent_bpf_table table = {.interface = AGENT_BPF_INTERFACE,
                                                 .open = open_agent,
                                                 .cost = cost,
                                                 .signature = signature,
                                                 .start = start,
                                                 .wait = wait_for_records,
                                                 .read = read_records,
                                                 .stop = stop,
                                                 .lost = count_lost,
                                                 .stack = stack,
                                                 .lacks = list_lacking,
                                                 .close = close_agent};
    return &table;
}
