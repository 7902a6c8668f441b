// SPDX-License-Identifier: Apache-2.0
// A probe of a function of the kernel: the kernel's description of the function (BTF), and a pair of programs
// (kernel_call.bpf.c) at its entry and return. They are removed with the process that has them open.
#ifndef AGENTS_BPF_KERNEL_PROBE_H
#define AGENTS_BPF_KERNEL_PROBE_H

#include "wire/agent_bpf.h"

struct bpf_object;
struct kernel_call_bpf;

// A zeroed struct is a valid one, of nothing.
struct kernel_probe {
    char function[128];
    struct agent_bpf_signature signature;
    struct kernel_call_bpf *skeleton;
};

// Maps of trace.bpf.c.
struct kernel_probe_maps {
    int ring, processes, lost;
};

// 0, or -1 with a message.
int kernel_probe_find(struct kernel_probe *probe, const char *function, char *message, unsigned long size);
// Loads the programs, whose records have `number`.
int kernel_probe_load(struct kernel_probe *probe, unsigned number, const struct kernel_probe_maps *maps,
                      char *message, unsigned long size);
int kernel_probe_attach(struct kernel_probe *probe, char *message, unsigned long size);
void kernel_probe_detach(struct kernel_probe *probe);
unsigned long long kernel_probe_missed(const struct kernel_probe *probe);
// How often the kernel passed over programs of an object: it runs none inside of itself.
unsigned long long kernel_probe_missed_of(const struct bpf_object *object);
void kernel_probe_close(struct kernel_probe *probe);

// A function that every call of getppid() comes by, and ns of such a call, the least of several measurements.
#define KERNEL_PROBE_OF_GETPPID "__task_pid_nr_ns"
double kernel_probe_time(void);

#endif
