// SPDX-License-Identifier: Apache-2.0
// What a watch keeps of the kernel's records while the program runs, in a file of the session's directory, so that it outlives
// the recording process: each record with its size before it. Most are the kernel's own (wire/agent_bpf.h); those below are
// made when these are taken, of what is gone later. The file is written by one process of this version, and believed as little
// as any other.
#ifndef WATCH_SPOOL_H
#define WATCH_SPOOL_H

#include <stdint.h>

#include "wire/agent_bpf.h"

#define WATCH_SPOOL_NAME "kernel.watch" // in the session's directory

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

struct watch_end {
    struct agent_bpf_head head;
    uint64_t lost, lost_threads, lost_stacks, lost_copies_rate, lost_copies_room;
    uint64_t unread_code;  // stacks of processes that were gone before it was known where their code lay
    uint64_t short_copies; // stacks that go on beyond what is copied
    uint64_t unspooled;
    uint64_t lost_faults;
    uint64_t missed; // times that the kernel passed over one of its programs
};

#endif
