// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// The programs in the kernel. They see every process of the machine and look at those that the recording one started, and
// what these start: the map `processes`. Only fields that are named here are read of the kernel's structures, where this
// kernel has them (CO-RE).
#include "common.h"

// What the loader sets before it loads.
const volatile unsigned launcher;           // the recording process: its children are recorded
const volatile unsigned launcher_namespace; // of its process numbers, as an inode
const volatile bool with_stacks;            // of the kernel and the program, where a thread waits

const volatile bool with_state; // of a thread that stops running, as an argument (Linux 5.19 and newer)

unsigned launcher_level; // of its namespace, once it has a child

enum { OVER_RATE = 0x100, NO_ROOM = 0x200 }; // of flags: why there is no copy

struct off {
    unsigned long long start, woken; // start 0: it is over
    unsigned long long ran, born;    // how long the thread had run by then, and when it began to be
    unsigned state, flags;
    int system_call, stack, waker_stack;
    int copy; // in `copies`; -1: none
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
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1024);
    __type(key, unsigned);
    __type(value, struct agent_bpf_copy); // of a thread that waits
} copies SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_QUEUE);
    __uint(max_entries, 1024);
    __type(value, unsigned);
} free_copies SEC(".maps"); // the unused ones; the loader fills it

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, unsigned);
    __type(value, struct agent_bpf_copy);
} waker_copy SEC(".maps");

struct budget {
    unsigned long long full; // when it may take as many as it can at once
};

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 16384);
    __type(key, unsigned); // thread, as the kernel numbers it
    __type(value, struct budget);
} budgets SEC(".maps");

// ---- processes and threads

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

static void tell_new_code(struct task_struct *task) {
    struct agent_bpf_head *record = with_stacks ? reserve(sizeof *record) : 0;
    if (!record)
        return;
    fill_head(record, AGENT_BPF_NEW_CODE, number_at(BPF_CORE_READ(task, signal, pids[1]), launcher_level),
              task);
    submit(record);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task) {
    const unsigned group = (unsigned)task->tgid, none = 0;
    if (!is_recorded(task))
        return 0;
    bpf_map_update_elem(&processes, &group, &none, BPF_ANY);
    tell_new_code(task);
    return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child) {
    const unsigned group = (unsigned)child->tgid, none = 0;
    if (child->tgid == parent->tgid)
        return 0; // a thread
    if (!is_recorded(parent)) {
        if (pid_of(parent) != launcher || namespace_of(parent) != launcher_namespace)
            return 0;
        launcher_level = BPF_CORE_READ(parent, thread_pid, level);
    }
    if (bpf_map_update_elem(&processes, &group, &none, BPF_ANY))
        count_lost(LOST_THREADS);
    else
        tell_new_code(child);
    return 0;
}

// ---- time that a thread does not run

static unsigned state_of(struct task_struct *task) {
    if (bpf_core_field_exists(task->__state))
        return task->__state;
    return (unsigned)BPF_CORE_READ((struct task_struct___before_5_14 *)task, state);
}

// For the current thread; -1: it is in none.
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

// ---- stacks of the program: their top is copied, and unwound by who reads it

// For the current thread, which is in the kernel.
static bool copy_registers(struct agent_bpf_copy *copy, struct task_struct *task) {
    void *at = (void *)bpf_task_pt_regs(task);
    if (!at)
        return false;
    unsigned long long *registers = copy->registers;
#if defined(__TARGET_ARCH_x86)
    const struct pt_regs___x86 *from = at;
    registers[3] = BPF_CORE_READ(from, bx);
    registers[6] = BPF_CORE_READ(from, bp);
    registers[7] = BPF_CORE_READ(from, sp);
    registers[12] = BPF_CORE_READ(from, r12);
    registers[13] = BPF_CORE_READ(from, r13);
    registers[14] = BPF_CORE_READ(from, r14);
    registers[15] = BPF_CORE_READ(from, r15);
    copy->pc = BPF_CORE_READ(from, ip);
    copy->known = 0xf0c8;
#else
    const struct user_pt_regs___arm64 *from = at;
    bpf_core_read(registers, 31 * sizeof *registers, &from->regs);
    registers[31] = BPF_CORE_READ(from, sp);
    copy->pc = BPF_CORE_READ(from, pc);
    copy->known = 0xffffffff;
#endif
    return copy->pc != 0;
}

#if defined(__TARGET_ARCH_x86)
enum { STACK_POINTER = 7 };
#else
enum { STACK_POINTER = 31 };
#endif

// Page by page: the stack ends where nothing is mapped. What was never touched, or was swapped out, ends it too.
static void copy_bytes(struct agent_bpf_copy *copy) {
    const unsigned long long from = copy->registers[STACK_POINTER];
    unsigned long long done = 0;
    copy->more_above = 1;
    for (int i = 0; i <= AGENT_BPF_COPY_MOST / AGENT_BPF_PAGE; i++) {
        unsigned long long part = AGENT_BPF_PAGE - ((from + done) & (AGENT_BPF_PAGE - 1));
        if (done >= AGENT_BPF_COPY_MOST)
            break;
        if (part > AGENT_BPF_COPY_MOST - done)
            part = AGENT_BPF_COPY_MOST - done;
        barrier_var(part);
        if (part == 0 || part > AGENT_BPF_PAGE)
            break;
        if (bpf_probe_read_user(&copy->bytes[done & (AGENT_BPF_COPY_MOST - 1)], part,
                                (void *)(from + done))) {
            copy->more_above = 0;
            break;
        }
        done += part;
    }
    copy->bytes_count = (unsigned)done;
}

static bool copy_stack(struct agent_bpf_copy *copy, struct task_struct *task, unsigned long long start) {
    copy->start = start;
    copy->pid = pid_of(task);
    copy->group = number_at(BPF_CORE_READ(task, signal, pids[1]), launcher_level);
    if (!copy_registers(copy, task))
        return false;
    copy_bytes(copy);
    return true;
}

static void send_copy(struct agent_bpf_copy *copy, unsigned what, struct task_struct *waits, unsigned group) {
    const unsigned long long head = __builtin_offsetof(struct agent_bpf_copy, bytes);
    unsigned long long size = head + copy->bytes_count;
    unsigned *sent = bpf_map_lookup_elem(&processes, &group);
    fill_head(&copy->head, AGENT_BPF_COPY, what, waits);
    barrier_var(size);
    if (size < head || size > sizeof *copy)
        return;
    // Where the process has its code is best looked up before it is gone.
    const bool is_early = sent && *sent < 4;
    if (bpf_ringbuf_output(&ring, copy, size, is_early ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP))
        count_lost(LOST_RECORDS);
    else if (is_early)
        ++*sent;
}

// A thread may copy once per period, and save up for a burst.
static bool may_copy(unsigned thread, unsigned long long now) {
    struct budget *budget = bpf_map_lookup_elem(&budgets, &thread);
    if (!budget) {
        const struct budget first = {now + AGENT_BPF_COPY_PERIOD};
        bpf_map_update_elem(&budgets, &thread, &first, BPF_ANY);
        return true;
    }
    const unsigned long long full = budget->full > now ? budget->full : now;
    if (full - now > (unsigned long long)AGENT_BPF_COPY_PERIOD * AGENT_BPF_COPY_BURST)
        return false;
    budget->full = full + AGENT_BPF_COPY_PERIOD;
    return true;
}

// For a thread that begins to wait. The length of the wait is not known yet: the copy is discarded if it was short.
static void copy_wait(struct off *off, struct task_struct *task) {
    unsigned which;
    if (!task->mm)
        return;
    if (!may_copy((unsigned)task->pid, off->start)) {
        off->flags |= OVER_RATE;
        return;
    }
    if (bpf_map_pop_elem(&free_copies, &which)) {
        off->flags |= NO_ROOM;
        return;
    }
    struct agent_bpf_copy *copy = bpf_map_lookup_elem(&copies, &which);
    if (copy && copy_stack(copy, task, off->start))
        off->copy = (int)which;
    else
        bpf_map_push_elem(&free_copies, &which, 0);
}

static void end_wait(const struct off *off, struct task_struct *task, unsigned long long now) {
    const bool is_long = now - off->start >= AGENT_BPF_WAIT_LEAST;
    if (off->copy < 0) {
        if (is_long && off->flags & (OVER_RATE | NO_ROOM))
            count_lost(off->flags & OVER_RATE ? LOST_COPIES_RATE : LOST_COPIES_ROOM);
        return;
    }
    const unsigned which = (unsigned)off->copy;
    struct agent_bpf_copy *copy = bpf_map_lookup_elem(&copies, &which);
    if (copy && is_long)
        send_copy(copy, AGENT_BPF_OF_WAIT, task, (unsigned)task->tgid);
    bpf_map_push_elem(&free_copies, &which, 0);
}

// The current thread wakes one whose wait was long.
static void copy_waker(const struct off *off, struct task_struct *waker, struct task_struct *waits) {
    const unsigned zero = 0;
    struct agent_bpf_copy *copy = bpf_map_lookup_elem(&waker_copy, &zero);
    // An unreported interrupt may have come in between: it finds the copy in use.
    if (!copy || copy->head.type)
        return;
    copy->head.type = AGENT_BPF_COPY;
    if (copy_stack(copy, waker, off->start))
        send_copy(copy, AGENT_BPF_OF_WAKER, waits, (unsigned)waker->tgid);
    copy->head.type = 0;
}

enum { DEAD = 0x80 }; // of the states

static int kernel_stack(void *context) {
    const int stack = with_stacks ? (int)bpf_get_stackid(context, &stacks, 0) : -1;
    if (with_stacks && stack < 0)
        count_lost(LOST_STACKS);
    return stack;
}

// `end`: 0 when it is not known.
static void put_wait(struct off *off, struct task_struct *task, unsigned long long end, unsigned flags) {
    struct agent_bpf_off_cpu *record = reserve(sizeof *record);
    if (record) {
        fill_head(&record->head, AGENT_BPF_OFF_CPU,
                  (off->flags & (AGENT_BPF_WOKEN | AGENT_BPF_WOKEN_BY_INTERRUPT)) | flags, task);
        record->state = off->state;
        record->system_call = off->system_call;
        record->stack = off->stack;
        record->waker_stack = off->waker_stack;
        record->start = off->start;
        record->woken = off->woken;
        record->end = end;
        record->waker_pid = off->waker_pid;
        record->waker_tid = off->waker_tid;
        __builtin_memcpy(record->waker, off->waker, sizeof record->waker);
        submit(record);
    }
    off->start = 0;
}

// A thread that runs and was not seen to begin: some kernels do not report a switch away from certain system threads.
// It began as long ago as it has run since, which is up to date when it stops only.
static void end_unseen(struct task_struct *task, bool stops) {
    const unsigned thread = (unsigned)task->pid;
    const unsigned long long now = bpf_ktime_get_ns();
    struct off *off = bpf_map_lookup_elem(&off_cpu, &thread);
    if (!off || !off->start)
        return;
    const unsigned long long first = off->woken ? off->woken : off->start,
                             ran = task->se.sum_exec_runtime - off->ran;
    const unsigned long long began = now - first > ran ? now - ran : first;
    const bool is_it = off->born == task->start_time; // and not one that had its number before
    end_wait(off, task, is_it ? began : off->start);
    if (is_it)
        put_wait(off, task, stops ? began : 0, stops ? AGENT_BPF_END_INFERRED : 0);
}

static void stop_running(unsigned long long *context, struct task_struct *task, bool preempted) {
    const unsigned thread = (unsigned)task->pid;
    end_unseen(task, true);
    struct off off = {.start = bpf_ktime_get_ns(),
                      .ran = task->se.sum_exec_runtime,
                      .born = task->start_time,
                      // Who wakes it may have changed its own word for it by now.
                      .state = preempted    ? 0
                               : with_state ? (unsigned)context[3]
                                            : state_of(task),
                      .stack = -1,
                      .waker_stack = -1,
                      .copy = -1};
    if (off.state & DEAD) {
        bpf_map_delete_elem(&off_cpu, &thread);
        return;
    }
    off.system_call = system_call_of(task);
    if (with_stacks && off.state) {
        off.stack = kernel_stack(context);
        copy_wait(&off, task);
    }
    if (bpf_map_update_elem(&off_cpu, &thread, &off, BPF_ANY)) {
        const unsigned which = (unsigned)off.copy;
        count_lost(LOST_THREADS);
        if (off.copy >= 0)
            bpf_map_push_elem(&free_copies, &which, 0);
    }
}

static void begin_running(struct task_struct *task) {
    const unsigned thread = (unsigned)task->pid;
    struct off *off = bpf_map_lookup_elem(&off_cpu, &thread);
    const unsigned long long now = bpf_ktime_get_ns();
    if (!off || !off->start)
        return;
    end_wait(off, task, now);
    put_wait(off, task, now, 0);
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

// The current thread is `task`.
static void tell_name(struct task_struct *task) {
    struct agent_bpf_name *record = reserve(sizeof *record);
    if (!record)
        return;
    fill_head(&record->head, AGENT_BPF_NAME, 0, task);
    bpf_get_current_comm(record->name, sizeof record->name);
    submit(record);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task) {
    const unsigned group = (unsigned)task->tgid, thread = (unsigned)task->pid;
    if (!is_recorded(task))
        return 0;
    tell_name(task);
    end_unseen(task, false);
    bpf_map_delete_elem(&off_cpu, &thread);
    bpf_map_delete_elem(&budgets, &thread);
    if (BPF_CORE_READ(task, signal, live.counter) == 0)
        bpf_map_delete_elem(&processes, &group);
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

#define ON_INTERRUPT(tracepoint, name, enter)                                                                \
    SEC("tp_btf/" tracepoint)                                                                                \
    int name(void *context) {                                                                                \
        return change_interrupts(enter);                                                                     \
    }
ON_INTERRUPT("irq_handler_entry", on_device_enter, true)
ON_INTERRUPT("irq_handler_exit", on_device_leave, false)
ON_INTERRUPT("softirq_entry", on_softirq_enter, true)
ON_INTERRUPT("softirq_exit", on_softirq_leave, false)
ON_INTERRUPT("hrtimer_expire_entry", on_timer_enter, true)
ON_INTERRUPT("hrtimer_expire_exit", on_timer_leave, false)

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
    if (!off || !off->start || off->flags & AGENT_BPF_WOKEN)
        return 0;
    off->woken = bpf_ktime_get_ns();
    off->flags |= AGENT_BPF_WOKEN;
    struct task_struct *waker = (struct task_struct *)bpf_get_current_task_btf();
    if (waker->pid == 0 || in_interrupt()) { // an idle processor wakes no thread by itself
        off->flags |= AGENT_BPF_WOKEN_BY_INTERRUPT;
        return 0;
    }
    off->waker_pid = pid_of(waker);
    off->waker_tid = tid_of(waker);
    bpf_get_current_comm(off->waker, sizeof off->waker);
    if (!with_stacks || off->woken - off->start < AGENT_BPF_WAIT_LEAST)
        return 0;
    off->waker_stack = kernel_stack(ctx);
    if (waker->mm && off->copy >= 0 && is_recorded(waker))
        copy_waker(off, waker, task);
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

#include "driver.h"
