// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// The part of trace.bpf.c that looks at drivers of GPUs: fences, jobs, and calls by their device nodes. All programs share their
// maps, so it is a part of that file.
#ifndef AGENTS_BPF_DRIVER_H
#define AGENTS_BPF_DRIVER_H

// ---- fences of GPU drivers

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 65536);
    __type(key, unsigned long long); // of a fence that a recorded process emitted: its context
    __type(value, unsigned);
} fence_contexts SEC(".maps");

static bool is_of_device(unsigned what) {
    return what == AGENT_BPF_FENCE_SIGNALED || what == AGENT_BPF_JOB_RUN || what == AGENT_BPF_JOB_DONE;
}

static int fence(unsigned what, const struct dma_fence *of) {
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    const unsigned long long context = BPF_CORE_READ(of, context);
    const bool ours = is_recorded(task), device = is_of_device(what);
    if (device ? !bpf_map_lookup_elem(&fence_contexts, &context) : !ours)
        return 0;
    const unsigned one = 1;
    if (what == AGENT_BPF_FENCE_EMIT || what == AGENT_BPF_JOB_QUEUED)
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

#define ON_FENCE(tracepoint, name, what)                                                                     \
    SEC("tp_btf/" tracepoint)                                                                                \
    int BPF_PROG(name, struct dma_fence *of) {                                                               \
        return fence(what, of);                                                                              \
    }
ON_FENCE("dma_fence_emit", on_fence_emit, AGENT_BPF_FENCE_EMIT)
ON_FENCE("dma_fence_signaled", on_fence_signaled, AGENT_BPF_FENCE_SIGNALED)
ON_FENCE("dma_fence_wait_start", on_fence_wait_start, AGENT_BPF_FENCE_WAIT_START)
ON_FENCE("dma_fence_wait_end", on_fence_wait_end, AGENT_BPF_FENCE_WAIT_END)

// ---- jobs of the kernel's GPU scheduler, which several drivers share

static int submit_job_fence(unsigned what, const struct drm_sched_job *of) {
    const struct drm_sched_fence *sched = BPF_CORE_READ(of, s_fence);
    return sched ? fence(what, &sched->finished) : 0;
}

SEC("tp_btf/drm_sched_job_queue")
int BPF_PROG(on_job_queued, struct drm_sched_job *of) {
    return submit_job_fence(AGENT_BPF_JOB_QUEUED, of);
}

SEC("tp_btf/drm_sched_job_run")
int BPF_PROG(on_job_run, struct drm_sched_job *of) {
    return submit_job_fence(AGENT_BPF_JOB_RUN, of);
}

SEC("tp_btf/drm_sched_job_done")
int BPF_PROG(on_job_done, struct drm_sched_fence *of) {
    return fence(AGENT_BPF_JOB_DONE, &of->finished);
}

// ---- calls of drivers, by their device nodes

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, AGENT_BPF_NODES_MOST);
    __type(key, unsigned); // device number
    __type(value, unsigned);
} nodes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 16384);
    __type(key, unsigned long long); // thread, and what it is in
    __type(value, struct agent_bpf_driver);
} driver_calls SEC(".maps");

enum { MINOR_BITS = 20, KIND_OF_FILE = 0170000, CHARACTERS = 0020000 };

static bool is_node(const struct file *file, struct agent_bpf_driver *call) {
    const struct inode *inode = file ? BPF_CORE_READ(file, f_inode) : 0;
    if (!inode || (BPF_CORE_READ(inode, i_mode) & KIND_OF_FILE) != CHARACTERS)
        return false;
    const unsigned device = BPF_CORE_READ(inode, i_rdev), any = device | AGENT_BPF_ANY_MINOR;
    if (!bpf_map_lookup_elem(&nodes, &device) && !bpf_map_lookup_elem(&nodes, &any))
        return false;
    call->major = device >> MINOR_BITS;
    call->minor = device & AGENT_BPF_ANY_MINOR;
    bpf_probe_read_kernel_str(call->node, sizeof call->node, BPF_CORE_READ(file, f_path.dentry, d_name.name));
    return true;
}

static const struct file *file_of(const struct task_struct *task, unsigned number) {
    const struct fdtable *table = BPF_CORE_READ(task, files, fdt);
    struct file *file = 0;
    if (!table || number >= BPF_CORE_READ(table, max_fds))
        return 0;
    bpf_probe_read_kernel(&file, sizeof file, BPF_CORE_READ(table, fd) + number);
    return file;
}

// The number of the system call of these registers.
static unsigned long long argument(const void *registers, int number) {
#if defined(__TARGET_ARCH_x86)
    const struct pt_regs___x86 *from = registers;
    return number == 0   ? BPF_CORE_READ(from, di)
           : number == 1 ? BPF_CORE_READ(from, si)
                         : BPF_CORE_READ(from, r8); // the fifth
#else
    const struct user_pt_regs___arm64 *from = registers;
    return BPF_CORE_READ(from, regs[number]);
#endif
}

static unsigned long long driver_key(const struct task_struct *task, unsigned what) {
    return (unsigned long long)what << 32 | (unsigned)task->pid;
}

static void enter_driver(const struct task_struct *task, unsigned what, struct agent_bpf_driver *call) {
    const unsigned long long key = driver_key(task, what);
    call->start = bpf_ktime_get_ns();
    bpf_map_update_elem(&driver_calls, &key, call, BPF_ANY);
}

static void leave_driver(struct task_struct *task, unsigned what, long long result) {
    const unsigned long long key = driver_key(task, what);
    const struct agent_bpf_driver *call = bpf_map_lookup_elem(&driver_calls, &key);
    struct agent_bpf_driver *record = call ? reserve(sizeof *record) : 0;
    if (record) {
        __builtin_memcpy(record, call, sizeof *record);
        fill_head(&record->head, AGENT_BPF_DRIVER, what, task);
        record->end = bpf_ktime_get_ns();
        record->result = result;
        submit(record);
    }
    if (call)
        bpf_map_delete_elem(&driver_calls, &key);
}

#if defined(__TARGET_ARCH_x86)
enum { CALL_IOCTL = 16, CALL_MMAP = 9 };
#else
enum { CALL_IOCTL = 29, CALL_MMAP = 222 };
#endif

// Every call of the machine comes by here.
SEC("tp_btf/sys_enter")
int BPF_PROG(on_call, struct pt_regs *registers, long number) {
    if (number != CALL_IOCTL && number != CALL_MMAP)
        return 0;
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    if (!is_recorded(task))
        return 0;
    const bool is_ioctl = number == CALL_IOCTL;
    struct agent_bpf_driver call = {.number = is_ioctl ? (unsigned)argument(registers, 1) : 0,
                                    .length = is_ioctl ? 0 : argument(registers, 1)};
    if (is_node(file_of(task, (unsigned)argument(registers, is_ioctl ? 0 : 4)), &call))
        enter_driver(task, is_ioctl ? AGENT_BPF_IOCTL : AGENT_BPF_MMAP, &call);
    return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_call_end, struct pt_regs *registers, long result) {
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    if (!is_recorded(task))
        return 0;
    leave_driver(task, AGENT_BPF_IOCTL, result);
    leave_driver(task, AGENT_BPF_MMAP, result);
    return 0;
}

static long look_at_area(struct task_struct *task, struct vm_area_struct *area,
                         struct agent_bpf_driver *call) {
    call->major = 0;
    call->number = is_node(area->vm_file, call);
    return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(on_fault, unsigned long address, struct pt_regs *registers, unsigned long why) {
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    if (!is_recorded(task))
        return 0;
    struct agent_bpf_driver call = {.address = address, .result = (long long)why};
    enum {
        NOT_THERE = -2
    }; // ENOENT; other failures: another thread is changing the process's memory at this moment
    const long failed = bpf_find_vma(task, address, look_at_area, &call, 0);
    if (failed && failed != NOT_THERE)
        count_lost(LOST_FAULTS);
    if (failed || !call.number)
        return 0;
    struct agent_bpf_driver *record = reserve(sizeof *record);
    if (!record)
        return 0;
    __builtin_memcpy(record, &call, sizeof *record);
    fill_head(&record->head, AGENT_BPF_DRIVER, AGENT_BPF_FAULT, task);
    record->start = record->end = bpf_ktime_get_ns();
    submit(record);
    return 0;
}

#endif
