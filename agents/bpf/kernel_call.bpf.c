// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// A probed function of the kernel. Loaded once for each, as the kernel binds such a program to its function, with the maps of
// trace.bpf.c.
#include "common.h"

// What the loader sets before it loads.
const volatile unsigned probe;
const volatile unsigned
    argument_count; // a function has no more than it has: the kernel refuses to look at others
const volatile bool has_result;

// Inlined: the kernel forgets of what a function returns that it is a record, or none.
static __always_inline struct agent_bpf_kernel_call *begin(unsigned type) {
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    if (!is_recorded(task))
        return 0;
    struct agent_bpf_kernel_call *record = reserve(sizeof *record);
    if (!record)
        return 0;
    fill_head(&record->head, type, probe, task);
    __builtin_memset(record->values, 0, sizeof record->values);
    record->time = bpf_ktime_get_ns();
    return record;
}

// By numbers that are known when it is loaded, one by one.
#define TAKE_ARGUMENT(number)                                                                                \
    if (argument_count > (number))                                                                           \
    record->values[number] = arguments[number]

SEC("fentry")
int on_kernel_enter(unsigned long long *arguments) {
    struct agent_bpf_kernel_call *record = begin(AGENT_BPF_KERNEL_ENTER);
    if (!record)
        return 0;
    TAKE_ARGUMENT(0);
    TAKE_ARGUMENT(1);
    TAKE_ARGUMENT(2);
    TAKE_ARGUMENT(3);
    TAKE_ARGUMENT(4);
    TAKE_ARGUMENT(5);
    submit(record);
    return 0;
}

// What is returned comes after the arguments.
#define TAKE_RESULT(number)                                                                                  \
    if (has_result && argument_count == (number))                                                            \
    record->values[0] = arguments[number]

SEC("fexit")
int on_kernel_leave(unsigned long long *arguments) {
    struct agent_bpf_kernel_call *record = begin(AGENT_BPF_KERNEL_LEAVE);
    if (!record)
        return 0;
    TAKE_RESULT(0);
    TAKE_RESULT(1);
    TAKE_RESULT(2);
    TAKE_RESULT(3);
    TAKE_RESULT(4);
    TAKE_RESULT(5);
    TAKE_RESULT(6);
    submit(record);
    return 0;
}
