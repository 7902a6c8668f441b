// SPDX-License-Identifier: Apache-2.0
// What a watch keeps of the kernel's records while the program runs, in a file of the session's directory, so that it outlives
// the recording process: each record with its size before it. Most are the kernel's own (wire/agent_bpf.h); those below are
// made when these are taken, of what is gone later. The file is written by one process of this version, and believed as little
// as any other.
#ifndef WATCH_SPOOL_H
#define WATCH_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/status.h"
#include "wire/agent_bpf.h"

#define WATCH_SPOOL_NAME "kernel.watch"    // in the session's directory
#define WATCH_SAMPLES_NAME "samples.watch" // of a sampler of threads; it has the records from WATCH_SAMPLE on

enum { WATCH_RECORD_MOST = 1 << 16, WATCH_FRAMES_MOST = 256 };

// What is before each record.
struct watch_size {
    uint32_t size, version; // of the record; AGENT_BPF_INTERFACE
};

enum watch_type {
    WATCH_PROBE = 64,   // struct watch_probe
    WATCH_MODULE,       // struct watch_module
    WATCH_STACK,        // struct watch_stack
    WATCH_KERNEL_STACK, // the addresses of the kernel's stack `more`, the innermost first: 8 bytes each
    WATCH_END,          // struct watch_end; a recording that was killed has none
    WATCH_SAMPLE,       // struct watch_sample
    WATCH_SAMPLED,      // struct watch_stack: the stack `start` of samples, numbered from 1 on
    WATCH_SWITCHED,     // struct watch_switched
    WATCH_SAMPLES_END,  // struct watch_samples_end
    WATCH_REFUSED       // a head and the reason why the system permits no samples, as text
};

// Probe `more`, by its number; then its name.
struct watch_probe {
    struct agent_bpf_head head;
    uint32_t is_of_kernel, unused;
    struct agent_bpf_signature signature; // of a function of the kernel
};

// Code that a process had, which stacks after it have frames in.
struct watch_module {
    struct agent_bpf_head head; // more: its number, from 1 on; pid: of the process
    uint32_t flags;             // TSMITH_MODULE_...
    uint32_t path_size;         // the rest is its build id
    // then both
};

struct watch_place {
    uint32_t module; // 0: none
    uint32_t flags;  // TSMITH_FRAME_...
    uint64_t address;
};

// A stack of the program, the innermost frame first. Its head is that of the copy it was made from.
struct watch_stack {
    struct agent_bpf_head head;
    uint64_t start;
    // then struct watch_place
};

// A thread was found running. Times of samples are trace times.
struct watch_sample {
    struct agent_bpf_head head; // more: 1 if it was in the kernel
    int64_t time;
    uint64_t period; // ns that it stands for
    uint64_t stack;  // 0: none
};

// A thread did not run from `start` to `end` (0: it did not run again).
struct watch_switched {
    struct agent_bpf_head head; // more: 1 if another thread got its processor
    int64_t start, end;
};

struct watch_samples_end {
    struct agent_bpf_head head;
    uint64_t lost;      // records that did not fit into the kernel's buffers
    uint64_t throttled; // times that the kernel stopped sampling for a while
    uint64_t unread_code, short_copies, unspooled;
    uint64_t no_registers; // samples without a user stack: of 32-bit programs
    uint64_t too_many;     // records of threads beyond the table
    uint64_t cpu_ns;       // processor time of the sampled threads, by the kernel's count
    uint64_t period;
    uint32_t without_kernel; // time in system calls was not sampled
    uint32_t unused;
};

struct watch_end {
    struct agent_bpf_head head;
    uint64_t lost, lost_threads, lost_stacks, lost_copies_rate, lost_copies_room;
    uint64_t unread_code;  // stacks of processes that were gone before it was known where their code lay
    uint64_t short_copies; // stacks that go on beyond what is copied
    uint64_t unspooled;
    uint64_t lost_faults;
    uint64_t missed; // times that the kernel passed over one of its programs
};

// ---- writing

struct watch_spool {
    int fd; // -1: none yet
    uint8_t *buffer;
    size_t buffered;
    uint64_t unspooled; // records that could not be kept
    int failure;        // why, as an errno; 0: all were
};

#define WATCH_SPOOL_NONE ((struct watch_spool){.fd = -1})

// A new file of the session's directory. After a failure, too, it must be closed.
tsmith_status watch_spool_open(struct watch_spool *spool, const char *directory, const char *name,
                               tsmith_error *error);
void watch_spool_put(struct watch_spool *spool, const void *record, size_t size);
// So that what was put is in the file even if this process is killed.
void watch_spool_flush(struct watch_spool *spool);
void watch_spool_close(struct watch_spool *spool);

#endif
