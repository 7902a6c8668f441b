// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// The programs in the kernel. They see every process of the machine and look at those that the recording one started, and
// what these start: the map `processes`. Only fields that are named here are read of the kernel's structures, where this
// kernel has them (CO-RE).
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h> // before the two that use it

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "capture/agent_bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct ns_common {
    unsigned inum;
};
struct pid_namespace {
    struct ns_common ns;
};
struct upid {
    int nr;
    struct pid_namespace *ns;
};
struct pid {
    unsigned level;
    struct upid numbers[1];
};
typedef struct {
    int counter;
} atomic_t;
struct signal_struct {
    atomic_t live;
    struct pid *pids[4]; // 1: of the thread group
};
struct task_struct {
    unsigned __state;
    int pid, tgid;
    char comm[AGENT_BPF_COMM];
    struct pid *thread_pid;
    struct signal_struct *signal;
};
struct task_struct___before_5_14 {
    long state;
};
struct pt_regs___with_orig_ax {
    unsigned long orig_ax;
};
struct pt_regs___with_syscallno {
    int syscallno;
};
struct dma_fence {
    unsigned long long context, seqno;
};
#pragma clang attribute pop

// What the loader sets before it loads.
const volatile unsigned launcher;           // the recording process: its children are recorded
const volatile unsigned launcher_namespace; // of its process numbers, as an inode
const volatile bool with_stacks;            // of the kernel, where a thread waits

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 8 << 20);
} ring SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 16384);
    __type(key, unsigned); // thread group, as the kernel numbers it
    __type(value, unsigned);
} processes SEC(".maps");

struct off {
    unsigned long long start, woken;
    unsigned state, flags;
    int system_call, stack;
    unsigned waker_pid, waker_tid;
    char waker[AGENT_BPF_COMM];
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 65536);
    __type(key, unsigned); // thread, as the kernel numbers it
    __type(value, struct off);
} off_cpu SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_STACK_TRACE);
    __uint(max_entries, 16384);
    __type(key, unsigned);
    __uint(value_size, AGENT_BPF_DEPTH * sizeof(unsigned long long));
} stacks SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 65536);
    __type(key, unsigned long long); // of a fence that a recorded process emitted: its context
    __type(value, unsigned);
} fence_contexts SEC(".maps");

enum {
    LOST_RECORDS = AGENT_BPF_LOST_RECORDS,
    LOST_THREADS = AGENT_BPF_LOST_THREADS,
    LOST_STACKS = AGENT_BPF_LOST_STACKS,
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

// Nobody is woken for a record: who reads comes by. A ring that fills is worth a wake-up.
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

// ---- processes and threads

// The number that the process itself sees: of its innermost namespace.
static unsigned number_of(const struct pid *pid) {
    int number = 0;
    if (!pid)
        return 0;
    const unsigned level = BPF_CORE_READ(pid, level);
    const void *at = (const char *)pid + bpf_core_field_offset(struct pid, numbers) +
                     (level & 31) * bpf_core_type_size(struct upid) + bpf_core_field_offset(struct upid, nr);
    bpf_probe_read_kernel(&number, sizeof number, at);
    return (unsigned)number;
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

static unsigned namespace_of(struct task_struct *task) {
    const struct pid *pid = BPF_CORE_READ(task, thread_pid);
    struct pid_namespace *of = 0;
    if (!pid)
        return 0;
    const unsigned level = BPF_CORE_READ(pid, level);
    bpf_probe_read_kernel(&of, sizeof of,
                          (const char *)pid + bpf_core_field_offset(struct pid, numbers) +
                              (level & 31) * bpf_core_type_size(struct upid) +
                              bpf_core_field_offset(struct upid, ns));
    return of ? BPF_CORE_READ(of, ns.inum) : 0;
}

static bool is_recorded(struct task_struct *task) {
    const unsigned group = (unsigned)task->tgid;
    return bpf_map_lookup_elem(&processes, &group) != 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child) {
    const unsigned group = (unsigned)child->tgid, one = 1;
    if (child->tgid == parent->tgid)
        return 0; // a thread
    if (!is_recorded(parent) && (pid_of(parent) != launcher || namespace_of(parent) != launcher_namespace))
        return 0;
    if (bpf_map_update_elem(&processes, &group, &one, BPF_ANY))
        count_lost(LOST_THREADS);
    return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task) {
    const unsigned group = (unsigned)task->tgid, thread = (unsigned)task->pid;
    if (!is_recorded(task))
        return 0;
    bpf_map_delete_elem(&off_cpu, &thread);
    if (BPF_CORE_READ(task, signal, live.counter) == 0)
        bpf_map_delete_elem(&processes, &group);
    return 0;
}

// ---- time that a thread does not run

static unsigned state_of(struct task_struct *task) {
    if (bpf_core_field_exists(task->__state))
        return task->__state;
    return (unsigned)BPF_CORE_READ((struct task_struct___before_5_14 *)task, state);
}

// Of the current thread; -1: it is in none.
static int system_call_of(struct task_struct *task) {
    void *registers = (void *)bpf_task_pt_regs(task);
    if (!registers)
        return -1;
    if (bpf_core_field_exists(struct pt_regs___with_orig_ax, orig_ax))
        return (int)BPF_CORE_READ((struct pt_regs___with_orig_ax *)registers, orig_ax);
    if (bpf_core_field_exists(struct pt_regs___with_syscallno, syscallno))
        return BPF_CORE_READ((struct pt_regs___with_syscallno *)registers, syscallno);
    return -1;
}

enum { DEAD = 0x80 }; // of the states

static void stop_running(void *context, struct task_struct *task, bool preempted) {
    const unsigned thread = (unsigned)task->pid;
    struct off off = {.start = bpf_ktime_get_ns(), .state = preempted ? 0 : state_of(task)};
    if (off.state & DEAD)
        return;
    off.system_call = system_call_of(task);
    off.stack = with_stacks && off.state ? (int)bpf_get_stackid(context, &stacks, 0) : -1;
    if (with_stacks && off.state && off.stack < 0)
        count_lost(LOST_STACKS);
    if (bpf_map_update_elem(&off_cpu, &thread, &off, BPF_ANY))
        count_lost(LOST_THREADS);
}

static void begin_running(struct task_struct *task) {
    const unsigned thread = (unsigned)task->pid;
    const struct off *off = bpf_map_lookup_elem(&off_cpu, &thread);
    struct agent_bpf_off_cpu *record = off ? reserve(sizeof *record) : 0;
    if (record) {
        fill_head(&record->head, AGENT_BPF_OFF_CPU, off->flags, task);
        record->state = off->state;
        record->system_call = off->system_call;
        record->stack = off->stack;
        record->start = off->start;
        record->woken = off->woken;
        record->end = bpf_ktime_get_ns();
        record->waker_pid = off->waker_pid;
        record->waker_tid = off->waker_tid;
        __builtin_memcpy(record->waker, off->waker, sizeof record->waker);
        submit(record);
    }
    if (off)
        bpf_map_delete_elem(&off_cpu, &thread);
}

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, unsigned);
    __type(value, unsigned);
} interrupts SEC(".maps"); // that this processor is in, one inside the other

// A thread is switched to outside of any interrupt: a count that missed an end begins anew.
static void leave_interrupts(void) {
    const unsigned zero = 0;
    unsigned *depth = bpf_map_lookup_elem(&interrupts, &zero);
    if (depth)
        *depth = 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempted, struct task_struct *before, struct task_struct *after) {
    leave_interrupts();
    if (is_recorded(before))
        stop_running(ctx, before, preempted);
    if (is_recorded(after))
        begin_running(after);
    return 0;
}

// ---- interrupts: what they wake, the thread in whose time they come has not woken

static int change_interrupts(bool enter) {
    const unsigned zero = 0;
    unsigned *depth = bpf_map_lookup_elem(&interrupts, &zero);
    if (depth && enter)
        ++*depth;
    else if (depth && *depth) // one that was entered before all this was attached is not left
        --*depth;
    return 0;
}

SEC("tp_btf/irq_handler_entry")
int on_device_enter(void *context) {
    return change_interrupts(true);
}

SEC("tp_btf/irq_handler_exit")
int on_device_leave(void *context) {
    return change_interrupts(false);
}

SEC("tp_btf/softirq_entry")
int on_softirq_enter(void *context) {
    return change_interrupts(true);
}

SEC("tp_btf/softirq_exit")
int on_softirq_leave(void *context) {
    return change_interrupts(false);
}

SEC("tp_btf/hrtimer_expire_entry")
int on_timer_enter(void *context) {
    return change_interrupts(true);
}

SEC("tp_btf/hrtimer_expire_exit")
int on_timer_leave(void *context) {
    return change_interrupts(false);
}

static bool in_interrupt(void) {
    const unsigned zero = 0;
    const unsigned *depth = bpf_map_lookup_elem(&interrupts, &zero);
    return depth && *depth;
}

// Runs where the waking is done: the current thread is the waker, unless it is interrupted.
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task) {
    const unsigned thread = (unsigned)task->pid;
    if (!is_recorded(task))
        return 0;
    struct off *off = bpf_map_lookup_elem(&off_cpu, &thread);
    if (!off || off->flags)
        return 0;
    off->woken = bpf_ktime_get_ns();
    off->flags = AGENT_BPF_WOKEN;
    struct task_struct *waker = (struct task_struct *)bpf_get_current_task_btf();
    if (waker->pid == 0 || in_interrupt()) { // an idle processor wakes nobody by itself
        off->flags |= AGENT_BPF_WOKEN_BY_INTERRUPT;
        return 0;
    }
    off->waker_pid = pid_of(waker);
    off->waker_tid = tid_of(waker);
    bpf_get_current_comm(off->waker, sizeof off->waker);
    return 0;
}

// ---- probed functions

static int call(unsigned type, unsigned probe) {
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    if (!is_recorded(task))
        return 0;
    struct agent_bpf_call *record = reserve(sizeof *record);
    if (!record)
        return 0;
    fill_head(&record->head, type, probe, task);
    record->time = bpf_ktime_get_ns();
    submit(record);
    return 0;
}

SEC("uprobe")
int on_enter(void *context) {
    return call(AGENT_BPF_ENTER, (unsigned)bpf_get_attach_cookie(context));
}

SEC("uretprobe")
int on_leave(void *context) {
    return call(AGENT_BPF_LEAVE, (unsigned)bpf_get_attach_cookie(context));
}

// ---- fences of GPU drivers

static int fence(unsigned what, const struct dma_fence *of) {
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    const unsigned long long context = BPF_CORE_READ(of, context);
    const bool ours = is_recorded(task), device = what == AGENT_BPF_FENCE_SIGNALED;
    if (device ? !bpf_map_lookup_elem(&fence_contexts, &context) : !ours)
        return 0;
    const unsigned one = 1;
    if (what == AGENT_BPF_FENCE_EMIT)
        bpf_map_update_elem(&fence_contexts, &context, &one, BPF_ANY);
    struct agent_bpf_fence *record = reserve(sizeof *record);
    if (!record)
        return 0;
    fill_head(&record->head, AGENT_BPF_FENCE, what, task);
    if (device)
        record->head.pid = record->head.tid = 0;
    record->time = bpf_ktime_get_ns();
    record->context = context;
    record->sequence = BPF_CORE_READ(of, seqno);
    submit(record);
    return 0;
}

SEC("tp_btf/dma_fence_emit")
int BPF_PROG(on_fence_emit, struct dma_fence *of) {
    return fence(AGENT_BPF_FENCE_EMIT, of);
}

SEC("tp_btf/dma_fence_signaled")
int BPF_PROG(on_fence_signaled, struct dma_fence *of) {
    return fence(AGENT_BPF_FENCE_SIGNALED, of);
}

SEC("tp_btf/dma_fence_wait_start")
int BPF_PROG(on_fence_wait_start, struct dma_fence *of) {
    return fence(AGENT_BPF_FENCE_WAIT_START, of);
}

SEC("tp_btf/dma_fence_wait_end")
int BPF_PROG(on_fence_wait_end, struct dma_fence *of) {
    return fence(AGENT_BPF_FENCE_WAIT_END, of);
}

// What the kernel asks for to let a program read its memory. This file may be used under either licence.
char LICENSE[] SEC("license") = "GPL";
