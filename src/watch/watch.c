// SPDX-License-Identifier: Apache-2.0
// Programs in the kernel during a capture. A thread of this process carries their records into a file of the session
// while the program runs (spool.h); when it has ended they become events, because by then the processes, the threads
// and the clock's offset are known.
//
//     created --join--> watching (reader runs) --the program ended--> stopped, source added
#include "watch/watch.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/quiet_thread.h"
#include "base/sized.h"
#include "base/status.h"
#include "demangle/demangle.h"
#include "launch/launch.h"
#include "launch/launch_agents.h"
#include "watch/nodes.h"

enum { NAP = 5 }; // ms between looks at the kernel's buffer

// ---- opening

static tsmith_status load_table(tsmith_watch *watch, const char *wanted, tsmith_error *error) {
    char directory[4096], path[4096 + 64];
    tsmith_status status = launch_agent_directory(wanted, directory, sizeof directory, error);
    if (status != TSMITH_OK)
        return status;
    if (!launch_agent_path(directory, "bpf", path, sizeof path))
        return status_set(error, TSMITH_ERROR_MISSING,
                          "%s has no libtracesmith-bpf.so: ./dev build builds it where libbpf, libelf, clang "
                          "and bpftool are "
                          "(Debian: apt install libbpf-dev libelf-dev clang bpftool)",
                          directory);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    agent_bpf_entry *entry =
        library ? __extension__(agent_bpf_entry *) dlsym(library, AGENT_BPF_ENTRY) : NULL;
    if (!entry)
        return status_set(error, TSMITH_ERROR_MISSING, "%s cannot be loaded: %s", path, dlerror());
    watch->table = entry();
    if (watch->table->interface == AGENT_BPF_INTERFACE)
        return TSMITH_OK;
    return status_set(error, TSMITH_ERROR_MISSING, "%s belongs to another version of TraceSmith", path);
}

static unsigned long name_of(const char *name, char *text, unsigned long size) {
    return demangle(name, text, size);
}

static tsmith_status open_agent(tsmith_watch *watch, const tsmith_watch_options *options,
                                tsmith_error *error) {
    struct agent_bpf_probe probes[AGENT_BPF_PROBES_MOST];
    char message[1024] = "";
    enum agent_bpf_why why = AGENT_BPF_REFUSED;
    for (size_t i = 0; i < options->probe_count; i++)
        probes[i] = (struct agent_bpf_probe){options->probes[i].file, options->probes[i].function};
    struct agent_bpf_node nodes[AGENT_BPF_NODES_MOST];
    unsigned node_count = 0;
    const tsmith_status found =
        options->driver ? watch_nodes_find(options->nodes, options->node_count, nodes, &node_count, error)
                        : TSMITH_OK;
    if (found != TSMITH_OK)
        return found;
    const struct agent_bpf_options wanted = {.interface = AGENT_BPF_INTERFACE,
                                             .sched = options->sched,
                                             .stacks = options->stacks,
                                             .driver = options->driver,
                                             .nodes = nodes,
                                             .node_count = node_count,
                                             .probes = probes,
                                             .probe_count = (unsigned)options->probe_count,
                                             .demangle = name_of};
    if (access("/sys/kernel/btf/vmlinux", R_OK))
        return status_set(error, TSMITH_ERROR_MISSING,
                          "this kernel has no type information (/sys/kernel/btf/vmlinux is missing): "
                          "it must be built with CONFIG_DEBUG_INFO_BTF");
    watch->agent = watch->table->open(&wanted, &why, message, sizeof message);
    if (watch->agent)
        return TSMITH_OK;
    if (why == AGENT_BPF_NO_RIGHT)
        return status_set(
            error, TSMITH_ERROR_PERMISSION,
            "only root, or a program with CAP_BPF and CAP_PERFMON, may observe the kernel: run it "
            "with sudo -E");
    return status_set(error, why == AGENT_BPF_NOT_THERE ? TSMITH_ERROR_NOT_FOUND : TSMITH_ERROR_MISSING, "%s",
                      message);
}

tsmith_status tsmith_watch_create(const tsmith_watch_options *given, tsmith_watch **out,
                                  tsmith_error *error) {
    tsmith_watch_options options = {0};
    *out = NULL;
    tsmith_status status = sized_take(tsmith_watch_options, given, &options, error);
    if (status != TSMITH_OK)
        return status;
    if (options.node_count > AGENT_BPF_NODES_MOST / 2)
        return status_set(error, TSMITH_ERROR_LIMIT, "at most %d device nodes can be named",
                          AGENT_BPF_NODES_MOST / 2);
    if (options.probe_count > AGENT_BPF_PROBES_MOST)
        return status_set(error, TSMITH_ERROR_LIMIT, "at most %d functions can be probed",
                          AGENT_BPF_PROBES_MOST);
    tsmith_watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return status_set(error, TSMITH_ERROR_NO_MEMORY,
                          "out of memory while preparing to record kernel events");
    watch->spool = WATCH_SPOOL_NONE;
    bool room = true;
    for (; room && watch->probe_count < options.probe_count; watch->probe_count++)
        room = (watch->names[watch->probe_count] = strdup(options.probes[watch->probe_count].function));
    status = room ? TSMITH_OK
                  : status_set(error, TSMITH_ERROR_NO_MEMORY,
                               "out of memory while preparing to record kernel events");
    if (status == TSMITH_OK)
        status = load_table(watch, options.agent_directory, error);
    if (status == TSMITH_OK)
        status = open_agent(watch, &options, error);
    if (status == TSMITH_OK)
        *out = watch;
    else
        tsmith_watch_destroy(watch);
    return status;
}

tsmith_status tsmith_watch_probe_cost(tsmith_watch *watch, size_t probe, double *ns, const char **site,
                                      tsmith_error *error) {
    struct agent_bpf_cost cost;
    if (probe >= watch->probe_count || watch->table->cost(watch->agent, (unsigned)probe, &cost))
        return status_set(error, TSMITH_ERROR_UNSUPPORTED, "the cost of a probe cannot be measured here");
    *ns = cost.ns;
    *site = cost.site;
    if (watch->table->signature(watch->agent, (unsigned)probe)) {
        snprintf(watch->cost_of_others, sizeof watch->cost_of_others,
                 "%s: a call by a program that is not recorded costs %.2f us", cost.site,
                 cost.others_ns / 1000);
        *site = watch->cost_of_others;
    }
    return TSMITH_OK;
}

// ---- watching

static void spool_record(void *context, const void *record, size_t size) {
    tsmith_watch *watch = context;
    watch_spool_put(&watch->spool, record, size);
}

// What a number of the kernel's means is written down before it is used.
static void put_kernel_stack(tsmith_watch *watch, int number) {
    struct {
        struct agent_bpf_head head;
        unsigned long long addresses[AGENT_BPF_DEPTH];
    } record = {.head = {.type = WATCH_KERNEL_STACK, .more = (unsigned)number}};
    if (number < 0 || number >= WATCH_KERNEL_STACKS || watch->kernel_stacks[number / 8] >> number % 8 & 1)
        return;
    const unsigned count = watch->table->stack(watch->agent, number, record.addresses);
    watch->kernel_stacks[number / 8] |= (uint8_t)(1 << number % 8);
    spool_record(watch, &record, sizeof record.head + count * sizeof record.addresses[0]);
}

static int take_record(void *context, void *record, unsigned long size) {
    tsmith_watch *watch = context;
    const struct agent_bpf_head *head = record;
    const struct agent_bpf_off_cpu *off = record;
    if (head->type == AGENT_BPF_COPY) {
        watch_copies_take(&watch->copies, record, size, spool_record, watch);
        return 0;
    }
    if (head->type == AGENT_BPF_NEW_CODE) {
        watch_copies_forget(&watch->copies, head->more);
        return 0;
    }
    if (head->type == AGENT_BPF_OFF_CPU) {
        put_kernel_stack(watch, off->stack);
        put_kernel_stack(watch, off->waker_stack);
    }
    spool_record(watch, record, size);
    return 0;
}

// Everything that was read is in the file before it is waited for more.
static void *read_kernel(void *context) {
    tsmith_watch *watch = context;
    while (!atomic_load(&watch->stopping)) {
        watch->table->read(watch->agent, take_record, watch);
        watch_spool_flush(&watch->spool);
        watch->table->wait(watch->agent, NAP);
    }
    return NULL;
}

static void put_end(tsmith_watch *watch) {
    const struct agent_bpf_table *table = watch->table;
    watch->ended =
        (struct watch_end){.head.type = WATCH_END,
                           .lost = table->lost(watch->agent, AGENT_BPF_LOST_RECORDS),
                           .lost_threads = table->lost(watch->agent, AGENT_BPF_LOST_THREADS),
                           .lost_stacks = table->lost(watch->agent, AGENT_BPF_LOST_STACKS),
                           .lost_copies_rate = table->lost(watch->agent, AGENT_BPF_LOST_COPIES_RATE),
                           .lost_copies_room = table->lost(watch->agent, AGENT_BPF_LOST_COPIES_ROOM),
                           .unread_code = watch->copies.unread_code,
                           .short_copies = watch->copies.short_copies,
                           .unspooled = watch->spool.unspooled,
                           .lost_faults = table->lost(watch->agent, AGENT_BPF_LOST_FAULTS),
                           .missed = table->lost(watch->agent, AGENT_BPF_LOST_MISSED)};
    spool_record(watch, &watch->ended, sizeof watch->ended);
    watch_spool_flush(&watch->spool);
}

static void stop_reading(tsmith_watch *watch) {
    if (!atomic_load(&watch->reading))
        return;
    atomic_store(&watch->stopping, true);
    pthread_join(watch->reader, NULL);
    atomic_store(&watch->reading, false);
    watch->table->stop(watch->agent);
    watch->table->read(watch->agent, take_record, watch);
    put_end(watch);
}

// The program has ended.
static void finish(void *context, tsmith_capture *capture) {
    tsmith_watch *watch = context;
    struct host_clock clock = {0};
    tsmith_source *source = NULL;
    stop_reading(watch);
    const tsmith_dictionary *dictionary = tsmith_source_dictionary(tsmith_capture_source(capture));
    if (host_clock_read(&clock, dictionary, "CLOCK_MONOTONIC") &&
        host_clock_add_now(&clock, CLOCK_MONOTONIC) &&
        watch_source(watch->spool.fd, &watch->totals, &clock, &source, NULL) == TSMITH_OK)
        tsmith_capture_add_source(capture, source);
    else
        watch->spool.unspooled = watch->totals.off_cpu =
            UINT64_MAX; // out of memory: nothing of it is in the trace
    host_clock_finish(&clock);
}

static tsmith_status open_spool(tsmith_watch *watch, const char *directory, tsmith_error *error) {
    const tsmith_status status = watch_spool_open(&watch->spool, directory, WATCH_SPOOL_NAME, error);
    if (status != TSMITH_OK)
        return status;
    for (size_t i = 0; i < watch->probe_count; i++) {
        struct {
            struct watch_probe probe;
            char name[256];
        } record = {.probe.head = {.type = WATCH_PROBE, .more = (unsigned)i}};
        const struct agent_bpf_signature *signature = watch->table->signature(watch->agent, (unsigned)i);
        const size_t length = strnlen(watch->names[i], sizeof record.name - 1);
        record.probe.is_of_kernel = signature != NULL;
        if (signature)
            record.probe.signature = *signature;
        memcpy(record.name, watch->names[i], length);
        spool_record(watch, &record, sizeof record.probe + length);
    }
    return TSMITH_OK;
}

static bool start_reader(tsmith_watch *watch) {
    const bool started = quiet_thread_start(&watch->reader, read_kernel, watch) == 0;
    atomic_store(&watch->reading, started);
    return started;
}

tsmith_status tsmith_watch_join(tsmith_watch *watch, tsmith_capture *capture, tsmith_error *error) {
    char message[1024] = "";
    if (watch->started)
        return status_set(error, TSMITH_ERROR_STATE, "a program can be watched only once");
    if (open_spool(watch, tsmith_capture_directory(capture), error) != TSMITH_OK)
        return error ? error->status : TSMITH_ERROR_IO;
    if (watch->table->start(watch->agent, message, sizeof message))
        return status_set(error, TSMITH_ERROR_MISSING, "%s", message);
    watch->started = true;
    tsmith_status status = tsmith_capture_on_end(capture, finish, watch);
    if (status == TSMITH_OK && !start_reader(watch))
        status = TSMITH_ERROR_NO_MEMORY;
    return status == TSMITH_OK
               ? status
               : status_set(error, status,
                            "cannot start the thread that reads kernel events, or no space for them");
}

// ---- afterwards

void tsmith_watch_total(const tsmith_watch *watch, tsmith_watch_totals *out) {
    const tsmith_watch_totals totals = {.off_cpu = watch->totals.off_cpu,
                                        .fences = watch->totals.fences,
                                        .driver = watch->totals.driver,
                                        .lost = watch->ended.lost + watch->spool.unspooled};
    sized_give(tsmith_watch_totals, &totals, out);
}

const char *tsmith_watch_lacks(const tsmith_watch *watch) {
    return watch->table->lacks(watch->agent);
}

uint64_t tsmith_watch_probe_hits(const tsmith_watch *watch, size_t probe) {
    return probe < watch->probe_count ? watch->totals.hits[probe] : 0;
}

void tsmith_watch_destroy(tsmith_watch *watch) {
    if (!watch)
        return;
    stop_reading(watch);
    if (watch->agent)
        watch->table->close(watch->agent);
    for (size_t i = 0; i < watch->probe_count; i++)
        free(watch->names[i]);
    watch_spool_close(&watch->spool);
    watch_copies_finish(&watch->copies);
    free(watch);
}
