// SPDX-License-Identifier: Apache-2.0
// The NVTX agent: receives the ranges, marks and names that a program passes to NVTX.
//
// Rules inside the profiled process, for every file of this folder
//   1. A range or mark takes no lock, allocates nothing, makes no system call, prints nothing, but for the first of a
//      thread and the first time that a text is seen.
//   2. Nothing here ends the process, raises or handles a signal. What cannot be recorded is counted (channel_lose).
//   3. The tool that was to be injected first is injected, and gets every call as if it were alone (attach.c): it sees its own
//      handles, and the program sees what it answers.
//   4. After fork the ranges that were open are the parent's: the child passes over their ends.
//
// How a range goes (files): range.c keeps it on its thread's own stack (thread.c), of all domains together, and writes
// one record when it ends. text.c makes names into string ids; names.c keeps domains, categories, registered strings
// and the names of threads and resources. Ranges that are open when their thread or the process ends are written
// without a duration and counted as unmatched; in a process that is killed they are counted as never completed.
#ifndef NVTX_AGENT_H
#define NVTX_AGENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "agentkit/agent.h"
#include "base/torch_name.h"

// Another tool follows. Written before any call can come.
extern bool nvtx_chained;

// Whether this call is to be recorded.
static inline bool nvtx_on(void) {
    return channel_armed(agent.channel) && agent_recording();
}

// ---- our functions, by number, and those of the next tool: NULL where it has none

#define NVTX_DECLARE(name, type, arguments) type nvtx_##name arguments;
#define NVTX_DECLARE_NAMES(name, type, what)                                                                 \
    void nvtx_Name##name##A(type object, const char *text);                                                  \
    void nvtx_Name##name##W(type object, const wchar_t *text);
NVTX_CORE(NVTX_DECLARE)
NVTX_CORE2(NVTX_DECLARE)
NVTX_CUDA_NAMES(NVTX_DECLARE_NAMES)
NVTX_OPENCL_NAMES(NVTX_DECLARE_NAMES)
NVTX_CUDART_NAMES(NVTX_DECLARE_NAMES)

enum nvtx_function_number {
#define NVTX_NUMBER(name, type, arguments) NUMBER_##name,
#define NVTX_NUMBER_NAMES(name, type, what) NUMBER_Name##name##A, NUMBER_Name##name##W,
    NVTX_CORE(NVTX_NUMBER) NVTX_CORE2(NVTX_NUMBER) NVTX_CUDA_NAMES(NVTX_NUMBER_NAMES)
        NVTX_OPENCL_NAMES(NVTX_NUMBER_NAMES) NVTX_CUDART_NAMES(NVTX_NUMBER_NAMES) NVTX_NUMBER_LIMIT
};
extern nvtx_function *nvtx_next[NVTX_NUMBER_LIMIT];
// AFTER(name)(arguments): to be called only where HAS_AFTER(name).
#define AFTER(name) ((__typeof__(&nvtx_##name))nvtx_next[NUMBER_##name])
#define HAS_AFTER(name) __builtin_expect(nvtx_next[NUMBER_##name] != NULL, 0)

// ---- names (names.c)

struct domain {
    uint32_t name;   // string
    uint32_t number; // from 1; 0 is the default domain
    void *next;      // the handle of the next tool
};
struct registered {
    uint32_t text; // string
    char *copy;    // of it, for payloads; its beginning where it is long
    void *next;
};
static inline uint32_t domain_name(const struct domain *domain) {
    return domain ? domain->name : 0;
}
static inline uint32_t domain_number(const struct domain *domain) {
    return domain ? domain->number : 0;
}
static inline void *domain_next(const struct domain *domain) {
    return domain ? domain->next : NULL;
}
// The string of a category: its name, or its number where it has none; 0 for category 0 without a name.
uint32_t category_name(const struct domain *domain, uint32_t category);
// The track of a thread is known: the name that it was given before.
void names_thread_known(uint32_t tid, uint32_t track);
void names_after_fork_child(void);
// Before the first call. False: there is no memory.
bool names_init(void);

// ---- threads (thread.c)

// The data of an event other than its time.
struct label {
    uint32_t name;     // strings
    uint32_t domain;   // 0: the default one
    uint32_t category; // 0: none
    uint32_t color;
    bool has_color;
    uint8_t payload_type; // enum nvtx_payload
    uint8_t torch;        // which parts PyTorch wrote behind the name: bits 1 << TORCH_NAME_...; 0: none
    uint64_t payload;     // bits of the field's value
    uint64_t parts[TORCH_NAME_PARTS]; // numbers and strings; 0 where it has none
};

struct pushed {
    uint64_t start;
    struct label label;
    uint32_t domain; // its number
    uint32_t level;  // within its domain
    uint32_t generation;
};

enum { PUSHED_MAX = 512, TEXTS = 256, TEXT_KEPT = 112, PLACES = 64 };

struct text_kept {
    uint64_t hash;
    uint32_t length;
    uint32_t id;
    char bytes[TEXT_KEPT];
};

struct thread {
    struct thread *next; // all that there are, for the end of the process
    uint32_t tid;
    uint32_t list;          // of channel_begun
    uint32_t generation;    // of the process when the thread last recorded
    uint32_t beyond;        // pushed while there was no room
    _Atomic uint32_t depth; // of stack
    struct pushed stack[PUSHED_MAX];
    struct text_kept texts[TEXTS];
    struct {
        const char *text;
        struct text_kept *kept;
    } places[PLACES]; // the last text at an address
};
extern __thread struct thread *thread_own __attribute__((tls_model("initial-exec")));

bool threads_init(void); // before the channel is opened: see thread.c
struct thread *thread_make(void);
// The calling thread's; NULL without memory. What it then begins is of this process, also after a fork.
static inline struct thread *thread_here(void) {
    struct thread *thread = thread_own;
    if (__builtin_expect(
            thread && thread->generation == atomic_load_explicit(&agent.generation, memory_order_relaxed), 1))
        return thread;
    return thread_make();
}
void threads_after_fork_child(void);
// The process is ending: what is open is written or counted.
void threads_over(void);

// ---- texts (text.c)

uint32_t text_ascii(struct thread *thread, const char *text);
// The name and the parts of a text that PyTorch may have made.
void text_named(struct thread *thread, const char *text, struct label *label);
uint32_t text_unicode(struct thread *thread, const wchar_t *text);
uint32_t text_any(struct thread *thread, int32_t type, union nvtx_text text);

// ---- records (record.c)

enum form {
    FORM_RANGE, // on the calling thread's track: START, END
    FORM_TRACK, // on a track that is given: START, END
    FORM_OPEN,  // the same, without an end
    FORM_MARK,  // on the calling thread's: START
    FORM_LIMIT
};
void record_init(void);
void record_write(enum form form, uint32_t track, const struct label *label, uint64_t start, uint64_t end);
// A resource of the program was given a name.
void record_resource(const char *what, uint64_t object, uint32_t domain, uint32_t name);

// Ranges that were started and not ended (range.c).
void started_over(void);

#endif
