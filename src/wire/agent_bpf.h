// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// The interface between the library and the loader of programs for the system's kernel (agents/bpf, libtracesmith-bpf.so, which
// needs libbpf): a table of functions, and the records that these programs write. The programs include it too, so it has
// nothing but C's own types. Times are CLOCK_MONOTONIC in ns; process and thread numbers are those that the process itself
// sees.
#ifndef WIRE_AGENT_BPF_H
#define WIRE_AGENT_BPF_H

enum { AGENT_BPF_INTERFACE = 4, AGENT_BPF_PROBES_MOST = 32, AGENT_BPF_COMM = 16, AGENT_BPF_DEPTH = 64 };

// For the program's own stacks. A wait of this length has one; a thread's stack is copied at most this often per
// second on average, and in a burst.
enum {
    AGENT_BPF_WAIT_LEAST = 50000,    // ns
    AGENT_BPF_COPY_PERIOD = 1000000, // ns
    AGENT_BPF_COPY_BURST = 64,
    AGENT_BPF_COPY_MOST = 16 << 10, // bytes of a stack
    AGENT_BPF_PAGE = 4096,
    AGENT_BPF_REGISTERS = 33 // by DWARF's numbers
};

enum agent_bpf_lost {
    AGENT_BPF_LOST_RECORDS,
    AGENT_BPF_LOST_THREADS,
    AGENT_BPF_LOST_STACKS,
    AGENT_BPF_LOST_COPIES_RATE, // long waits of threads whose stack was copied too often already
    AGENT_BPF_LOST_COPIES_ROOM, // too many threads waited at once
    AGENT_BPF_LOST_FAULTS,      // of memory that could not be looked at just then
    AGENT_BPF_LOST_MISSED,      // events at which the kernel passed over a program of ours
};

// ---- records

enum agent_bpf_type {
    AGENT_BPF_OFF_CPU = 1,
    AGENT_BPF_ENTER,
    AGENT_BPF_LEAVE,
    AGENT_BPF_FENCE,
    AGENT_BPF_COPY,
    AGENT_BPF_DRIVER,
    AGENT_BPF_NEW_CODE, // a head alone: a process, `more` as the recording one numbers it, is new or runs another program
    AGENT_BPF_KERNEL_ENTER, // struct agent_bpf_kernel_call
    AGENT_BPF_KERNEL_LEAVE,
    AGENT_BPF_NAME
};

// flags. The kernel does not report every switch: END_INFERRED has `end` computed from how long the thread ran afterwards.
enum { AGENT_BPF_WOKEN = 1, AGENT_BPF_WOKEN_BY_INTERRUPT = 2, AGENT_BPF_END_INFERRED = 4 };

enum agent_bpf_copy_what { AGENT_BPF_OF_WAIT = 1, AGENT_BPF_OF_WAKER };

enum agent_bpf_fence_what {
    AGENT_BPF_FENCE_EMIT = 1,
    AGENT_BPF_FENCE_SIGNALED,
    AGENT_BPF_FENCE_WAIT_START,
    AGENT_BPF_FENCE_WAIT_END,
    AGENT_BPF_JOB_QUEUED, // of the GPU scheduler, by their fence
    AGENT_BPF_JOB_RUN,
    AGENT_BPF_JOB_DONE
};

enum agent_bpf_driver_what { AGENT_BPF_IOCTL = 1, AGENT_BPF_MMAP, AGENT_BPF_FAULT };

enum { AGENT_BPF_NODES_MOST = 64, AGENT_BPF_ANY_MINOR = 0xfffff, AGENT_BPF_NODE_NAME = 32 };

// Every record begins like this.
struct agent_bpf_head {
    unsigned type; // enum agent_bpf_type
    unsigned pid, tid;
    unsigned more; // probe, fence_what, copy_what, driver_what or flags
};

// A thread did not run from `start` to `end` (0: it is not known when).
struct agent_bpf_off_cpu {
    struct agent_bpf_head head;
    unsigned long long start, woken, end;
    unsigned state;  // the kernel's: 0 it was ready to run
    int system_call; // it was in; -1: in none
    int stack;       // of the kernel where it waited; below 0: not known
    int waker_stack; // of the kernel where it was woken
    unsigned waker_pid, waker_tid;
    char waker[AGENT_BPF_COMM];
};

// A thread exits, with this name; it need not end in a NUL.
struct agent_bpf_name {
    struct agent_bpf_head head;
    char name[AGENT_BPF_COMM];
};

// A probed function was entered or left.
struct agent_bpf_call {
    struct agent_bpf_head head;
    unsigned long long time;
};

enum { AGENT_BPF_ARGUMENTS = 6, AGENT_BPF_VALUE_NAME = 32 };

// A probed function of the kernel was entered, with these arguments, or left: the first value is what it returned.
struct agent_bpf_kernel_call {
    struct agent_bpf_head head;
    unsigned long long time, values[AGENT_BPF_ARGUMENTS];
};

// pid and tid are 0 when a device's interrupt signaled it.
struct agent_bpf_fence {
    struct agent_bpf_head head;
    unsigned long long time, context, sequence;
};

// A thread called the driver of a device node, or touched memory that it mapped.
struct agent_bpf_driver {
    struct agent_bpf_head head;
    unsigned long long start, end;
    unsigned long long number;          // ioctl: the request
    unsigned long long address, length; // mmap, fault: what it is about
    long long result;                   // of a fault: the reason as the processor reports it
    unsigned major, minor;
    char node[AGENT_BPF_NODE_NAME]; // its name in its folder
};

// The registers and the top of a user stack of a thread that is in the kernel. Its head names the waiting thread, even if
// the stack is another thread's. It precedes the record of the wait.
struct agent_bpf_copy {
    struct agent_bpf_head head;
    unsigned long long start;     // of the wait
    unsigned group;               // the process whose stack it is, as the recording one numbers it
    unsigned pid;                 // and as it does itself
    unsigned long long pc, known; // known: a bit per register
    unsigned long long registers[AGENT_BPF_REGISTERS];
    unsigned bytes_count, more_above; // more_above: what follows them was left out
    unsigned char bytes[AGENT_BPF_COPY_MOST +
                        AGENT_BPF_PAGE]; // from the stack pointer on; a record has bytes_count of them
};

// ---- calls

struct agent_bpf;

#define AGENT_BPF_KERNEL "kernel" // as a path: a function of the system's kernel or a module of it

struct agent_bpf_probe {
    const char *path, *function;
};

struct agent_bpf_value {
    char name[AGENT_BPF_VALUE_NAME]; // of an argument; "": it has none
    unsigned char bytes;             // 0: nothing, or nothing that is recorded
    unsigned char is_signed, is_pointer, unused;
};

// For a function of the kernel: its first arguments, and its return value.
struct agent_bpf_signature {
    unsigned count;
    struct agent_bpf_value arguments[AGENT_BPF_ARGUMENTS], result;
};

// What a hit of a probe costs here, measured: entry and return together.
struct agent_bpf_cost {
    double ns;
    double others_ns; // in programs that are not recorded, of a function of the kernel
    const char *site; // what the first instruction of the function is: "nop", "push", "another"
};

// A device node: calls of its driver are recorded.
struct agent_bpf_node {
    unsigned major, minor; // AGENT_BPF_ANY_MINOR: every one
};

typedef unsigned long agent_bpf_demangle(const char *name, char *text, unsigned long size);

struct agent_bpf_options {
    unsigned interface; // AGENT_BPF_INTERFACE
    int sched;          // switches and wake-ups
    int driver;         // calls of the drivers of `nodes`, fences and jobs
    const struct agent_bpf_node *nodes;
    unsigned node_count;
    int stacks; // of the kernel and the program, where a thread waits, and of who wakes it
    const struct agent_bpf_probe *probes;
    unsigned probe_count;
    // Demangles a linker's name ("shop::Cart::total(int)"): returns its length, 0 if it is not a compiler's name.
    agent_bpf_demangle *demangle;
    unsigned long ring_bytes; // a power of two; 0: 8 MiB
};

enum agent_bpf_why {
    AGENT_BPF_NOT_THERE, // what was asked for
    AGENT_BPF_NO_RIGHT,  // of this process
    AGENT_BPF_REFUSED    // by this kernel, or it lacks what is needed
};

struct agent_bpf_table {
    unsigned interface;
    // Loads the programs; nothing is seen before `start`. NULL with a message, and why.
    struct agent_bpf *(*open)(const struct agent_bpf_options *options, enum agent_bpf_why *why, char *message,
                              unsigned long size);
    int (*cost)(struct agent_bpf *agent, unsigned probe, struct agent_bpf_cost *out);
    // NULL: it is none of the kernel.
    const struct agent_bpf_signature *(*signature)(const struct agent_bpf *agent, unsigned probe);
    // From here on processes that this one starts are seen. 0, or -1 with a message.
    int (*start)(struct agent_bpf *agent, char *message, unsigned long size);
    // Until a record needs to be read soon, or this many milliseconds have passed.
    void (*wait)(struct agent_bpf *agent, int milliseconds);
    // Hands over what was recorded; from one thread. Below 0: it cannot be read.
    int (*read)(struct agent_bpf *agent, int (*each)(void *context, void *record, unsigned long size),
                void *context);
    void (*stop)(struct agent_bpf *agent); // nothing more is recorded
    unsigned long long (*lost)(struct agent_bpf *agent, enum agent_bpf_lost what);
    // The addresses of a stack, the innermost first: how many.
    unsigned (*stack)(struct agent_bpf *agent, int stack, unsigned long long addresses[AGENT_BPF_DEPTH]);
    // What of the kernel is there for `driver`, as words for people; "" when all is.
    const char *(*lacks)(const struct agent_bpf *agent);
    void (*close)(struct agent_bpf *agent);
};

#define AGENT_BPF_ENTRY "tracesmith_bpf_calls"
typedef const struct agent_bpf_table *agent_bpf_entry(void);

#endif
