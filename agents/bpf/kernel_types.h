// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// What is read of the kernel's structures: these fields, where this kernel has them.
#ifndef AGENTS_BPF_KERNEL_TYPES_H
#define AGENTS_BPF_KERNEL_TYPES_H

#include "wire/agent_bpf.h"

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
struct mm_struct;
struct qstr {
    const unsigned char *name;
};
struct dentry {
    struct qstr d_name;
};
struct path {
    struct dentry *dentry;
};
struct inode {
    unsigned short i_mode;
    unsigned i_rdev;
};
struct file {
    struct inode *f_inode;
    struct path f_path;
};
struct fdtable {
    unsigned max_fds;
    struct file **fd;
};
struct files_struct {
    struct fdtable *fdt;
};
struct vm_area_struct {
    struct file *vm_file;
};
struct sched_entity {
    unsigned long long sum_exec_runtime;
};
struct task_struct {
    unsigned __state;
    struct sched_entity se;
    unsigned long long start_time;
    int pid, tgid;
    char comm[AGENT_BPF_COMM];
    struct pid *thread_pid;
    struct signal_struct *signal;
    struct mm_struct *mm;
    struct files_struct *files;
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
struct pt_regs___x86 {
    unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags,
        sp;
};
struct user_pt_regs___arm64 {
    unsigned long long regs[31], sp, pc;
};
struct dma_fence {
    unsigned long long context, seqno;
};
struct drm_sched_fence {
    struct dma_fence finished;
};
struct drm_sched_job {
    struct drm_sched_fence *s_fence;
};
#pragma clang attribute pop

#endif
