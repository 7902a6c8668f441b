// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// What all programs in the kernel share: the ring that their records go into, whose threads are recorded, and what is lost.
#ifndef AGENTS_BPF_COMMON_H
#define AGENTS_BPF_COMMON_H

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h> // before the two that use it

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "kernel_types.h"
#include "wire/agent_bpf.h"

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 8 << 20);
} ring SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 16384);
    __type(key, unsigned);   // thread group, as the kernel numbers it
    __type(value, unsigned); // stacks of it that were copied
} processes SEC(".maps");

enum {
    LOST_RECORDS = AGENT_BPF_LOST_RECORDS,
    LOST_THREADS = AGENT_BPF_LOST_THREADS,
    LOST_STACKS = AGENT_BPF_LOST_STACKS,
    LOST_COPIES_RATE = AGENT_BPF_LOST_COPIES_RATE,
    LOST_COPIES_ROOM = AGENT_BPF_LOST_COPIES_ROOM,
    LOST_FAULTS = AGENT_BPF_LOST_FAULTS,
    LOST_COUNT
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, LOST_COUNT);
    __type(key, unsigned);
    __type(value, unsigned long long);
} lost SEC(".maps");

static void count_lost(unsigned what) {
    unsigned long long *count = bpf_map_lookup_elem(&lost, &what);
    if (count)
        __sync_fetch_and_add(count, 1);
}

// A record wakes no reader: the reader polls. A ring that fills up wakes it.
static void submit(void *record) {
    const unsigned long long filled = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
    bpf_ringbuf_submit(record, filled > 2 << 20 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

static void *reserve(unsigned long size) {
    void *record = bpf_ringbuf_reserve(&ring, size, 0);
    if (!record)
        count_lost(LOST_RECORDS);
    return record;
}

static unsigned number_at(const struct pid *pid, unsigned level) {
    int number = 0;
    const void *at = (const char *)pid + bpf_core_field_offset(struct pid, numbers) +
                     (level & 31) * bpf_core_type_size(struct upid) + bpf_core_field_offset(struct upid, nr);
    bpf_probe_read_kernel(&number, sizeof number, at);
    return (unsigned)number;
}

// The number that the process itself sees: of its innermost namespace.
static unsigned number_of(const struct pid *pid) {
    return pid ? number_at(pid, BPF_CORE_READ(pid, level)) : 0;
}

static unsigned tid_of(struct task_struct *task) {
    return number_of(BPF_CORE_READ(task, thread_pid));
}

static unsigned pid_of(struct task_struct *task) {
    return number_of(BPF_CORE_READ(task, signal, pids[1]));
}

static void fill_head(struct agent_bpf_head *head, unsigned type, unsigned more, struct task_struct *task) {
    head->type = type;
    head->pid = pid_of(task);
    head->tid = tid_of(task);
    head->more = more;
}

static bool is_recorded(struct task_struct *task) {
    const unsigned group = (unsigned)task->tgid;
    return bpf_map_lookup_elem(&processes, &group) != 0;
}

// What the kernel asks for to let a program read its memory. These files may be used under either license.
char LICENSE[] SEC("license") = "GPL";

#endif
