// SPDX-License-Identifier: Apache-2.0
// Records of the kernel become events. They come in order of time (a period off the processor at its end), from one buffer.
//
// Invariant: a thread's `calls` are the probed functions it is in, the outermost first; a return ends the innermost call of
// its function, as in logs of XRay.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/kernel_symbols.h"
#include "api/watch.h"
#include "base/array.h"
#include "base/status.h"
#include "import/gather.h"
#include "import/ledger.h"

enum { WINDOW = 1 << 20, THREADS_MOST = 1 << 16, DEPTH_MOST = 1 << 12 };

struct open_call {
    unsigned probe;
    uint64_t time;
};

struct watched_thread {
    struct watched_thread *next;
    unsigned pid, tid;
    uint32_t track;
    struct open_call *calls;
    size_t depth, capacity;
    struct agent_bpf_fence wait; // that it is in; type 0: none
};

// Of the kernel, as the dictionary has it.
struct kernel_stacks {
    struct kernel_symbols symbols;
    bool read;
    uint32_t module;
    uint32_t *ids; // by the kernel's number; 0: not asked for yet
    size_t capacity;
};

struct rows {
    tsmith_watch *watch;
    struct kernel_stacks stacks;
    struct host_clock clock;
    tsmith_dictionary *dictionary;
    struct gather gather;
    struct ledger ledger;
    struct watched_thread *threads[1024];
    size_t thread_count;
    uint32_t fences;                                     // track of what devices signaled; 0: none yet
    uint32_t field_state, field_context, field_sequence; // dynamic; 0: not there yet
    uint8_t *window;
    size_t filled, at;
    uint64_t offset;
    uint64_t unmatched, bad, too_many;
    bool over, failed;
};

// ---- words

// What threads wait in, by number. Not all that there are.
#define NAMED(name) [SYS_##name] = #name
static const char *const system_calls[] = {
    NAMED(read),
    NAMED(write),
    NAMED(readv),
    NAMED(writev),
    NAMED(pread64),
    NAMED(pwrite64),
    NAMED(futex),
    NAMED(ppoll),
    NAMED(pselect6),
    NAMED(epoll_pwait),
    NAMED(nanosleep),
    NAMED(clock_nanosleep),
    NAMED(sched_yield),
    NAMED(ioctl),
    NAMED(fsync),
    NAMED(fdatasync),
    NAMED(mmap),
    NAMED(munmap),
    NAMED(mprotect),
    NAMED(madvise),
    NAMED(mremap),
    NAMED(msync),
    NAMED(brk),
    NAMED(openat),
    NAMED(close),
    NAMED(newfstatat),
    NAMED(statx),
    NAMED(fstat),
    NAMED(getdents64),
    NAMED(unlinkat),
    NAMED(ftruncate),
    NAMED(fallocate),
    NAMED(wait4),
    NAMED(waitid),
    NAMED(recvfrom),
    NAMED(recvmsg),
    NAMED(sendto),
    NAMED(sendmsg),
    NAMED(socket),
    NAMED(accept),
    NAMED(accept4),
    NAMED(connect),
    NAMED(rt_sigtimedwait),
    NAMED(rt_sigsuspend),
    NAMED(rt_sigprocmask),
    NAMED(io_getevents),
    NAMED(execve),
    NAMED(clone),
    NAMED(exit_group),
    NAMED(exit),
    NAMED(flock),
    NAMED(splice),
    NAMED(sendfile),
    NAMED(getrandom),
    NAMED(membarrier),
    NAMED(prctl),
    NAMED(sched_setaffinity),
    NAMED(kill),
    NAMED(tgkill),
#if defined(SYS_poll) // those that newer machines never had
    NAMED(poll),
    NAMED(select),
    NAMED(epoll_wait),
    NAMED(pause),
    NAMED(fork),
    NAMED(vfork),
    NAMED(open),
    NAMED(stat),
    NAMED(unlink),
    NAMED(rename),
    NAMED(mkdir),
#endif
#if defined(SYS_clone3)
    NAMED(clone3),
#endif
#if defined(SYS_io_uring_enter)
    NAMED(io_uring_enter),
#endif
};
#undef NAMED

static const char *system_call_name(int number, char *room, size_t size) {
    if (number >= 0 && (size_t)number < sizeof system_calls / sizeof *system_calls && system_calls[number])
        return system_calls[number];
    snprintf(room, size, "system call %d", number);
    return room;
}

static uint32_t text(struct rows *rows, const char *cstr) {
    return tsmith_dictionary_intern_cstr(rows->dictionary, cstr);
}

static int64_t time_of(const struct rows *rows, uint64_t monotonic) {
    return host_clock_convert(&rows->clock, monotonic < INT64_MAX ? (int64_t)monotonic : INT64_MAX);
}

static void set(struct rows *rows, tsmith_batch *batch, uint32_t field, uint64_t bits) {
    rows->failed |= tsmith_batch_set(batch, field, bits) != TSMITH_OK;
}

static void set_own(struct rows *rows, tsmith_batch *batch, uint32_t *field, const char *name,
                    uint64_t value) {
    if (!*field)
        *field = tsmith_dictionary_field(rows->dictionary, name, TSMITH_TYPE_U64, "");
    rows->failed |= tsmith_batch_set_dynamic(batch, *field, TSMITH_TYPE_U64, value) != TSMITH_OK;
}

// ---- threads

static uint32_t process_of(struct rows *rows, unsigned pid) {
    const uint32_t count = tsmith_dictionary_process_count(rows->dictionary);
    for (uint32_t id = 1; id < count; id++)
        if (tsmith_dictionary_process(rows->dictionary, id)->pid == pid)
            return id;
    return tsmith_dictionary_add_process(rows->dictionary, &(tsmith_process){.pid = pid});
}

static struct watched_thread *thread_of(struct rows *rows, const struct agent_bpf_head *head) {
    struct watched_thread **slot = &rows->threads[(head->tid * 2654435761u >> 16) % 1024];
    for (struct watched_thread *thread = *slot; thread; thread = thread->next)
        if (thread->tid == head->tid && thread->pid == head->pid)
            return thread;
    struct watched_thread *thread = rows->thread_count < THREADS_MOST ? calloc(1, sizeof *thread) : NULL;
    if (!thread) {
        rows->too_many++;
        return NULL;
    }
    const tsmith_track track = {
        .kind = TSMITH_TRACK_THREAD, .tid = head->tid, .process = process_of(rows, head->pid)};
    thread->pid = head->pid;
    thread->tid = head->tid;
    thread->track = tsmith_dictionary_add_track(rows->dictionary, &track);
    thread->next = *slot;
    *slot = thread;
    rows->thread_count++;
    return thread;
}

// ---- stacks of the kernel

// A frame that is new to the dictionary is named at once: only the machine that recorded can.
static uint32_t frame_of(struct rows *rows, uint64_t address) {
    const uint32_t known = tsmith_dictionary_frame_count(rows->dictionary);
    const tsmith_frame frame = {
        .module = rows->stacks.module, .flags = TSMITH_FRAME_KERNEL, .address = address};
    const uint32_t id = tsmith_dictionary_intern_frame(rows->dictionary, &frame);
    const char *name = id && id >= known ? kernel_symbols_find(&rows->stacks.symbols, address) : NULL;
    if (name)
        tsmith_dictionary_add_symbol(rows->dictionary,
                                     &(tsmith_symbol){.frame = id, .function = text(rows, name)});
    return id;
}

// What the kernel was in because of us: the innermost frames of every stack.
static bool is_ours(const struct rows *rows, uint64_t address) {
    static const char *const ours[] = {"bpf_prog_", "bpf_trace_run", "__bpf_trace_", "__traceiter_",
                                       "bpf_trampoline_"};
    const char *name = kernel_symbols_find(&rows->stacks.symbols, address);
    for (size_t i = 0; name && i < sizeof ours / sizeof ours[0]; i++)
        if (strncmp(name, ours[i], strlen(ours[i])) == 0)
            return true;
    return false;
}

static uint32_t add_stack(struct rows *rows, int stack) {
    unsigned long long addresses[AGENT_BPF_DEPTH];
    const unsigned depth = rows->watch->table->stack(rows->watch->agent, stack, addresses);
    unsigned inner = 0;
    uint32_t parent = 0;
    if (!rows->stacks.read) {
        const tsmith_module module = {.path = text(rows, "[kernel]"), .flags = TSMITH_MODULE_KERNEL};
        kernel_symbols_read(&rows->stacks.symbols, "/proc/kallsyms");
        rows->stacks.module = tsmith_dictionary_intern_module(rows->dictionary, &module);
        rows->stacks.read = true;
    }
    while (inner < depth && is_ours(rows, addresses[inner]))
        inner++;
    // A return address lies behind the call: the call is before it.
    for (unsigned i = depth; i > inner; i--) {
        const tsmith_stack entry = {parent, frame_of(rows, addresses[i - 1] - 1)};
        parent = tsmith_dictionary_intern_stack(rows->dictionary, &entry);
    }
    return parent;
}

static uint32_t stack_of(struct rows *rows, int stack) {
    const size_t before = rows->stacks.capacity;
    void *ids = rows->stacks.ids;
    if (stack < 0 || stack >= 1 << 20 ||
        !array_reserve(&ids, &rows->stacks.capacity, (size_t)stack + 1, sizeof *rows->stacks.ids))
        return 0;
    rows->stacks.ids = ids;
    memset(rows->stacks.ids + before, 0, (rows->stacks.capacity - before) * sizeof *rows->stacks.ids);
    if (!rows->stacks.ids[stack])
        rows->stacks.ids[stack] = add_stack(rows, stack);
    return rows->stacks.ids[stack];
}

// ---- records

enum { INTERRUPTIBLE = 1, UNINTERRUPTIBLE = 2, STOPPED = 4 | 8 }; // states of the kernel

static tsmith_operation operation_of(unsigned state) {
    return state == 0              ? TSMITH_OPERATION_PREEMPTED
           : state & STOPPED       ? TSMITH_OPERATION_STOPPED
           : state & INTERRUPTIBLE ? TSMITH_OPERATION_SLEEPING
                                   : TSMITH_OPERATION_BLOCKED;
}

static void add_off_cpu(struct rows *rows, const struct agent_bpf_off_cpu *record) {
    char room[32], waker[AGENT_BPF_COMM + 1] = "";
    struct watched_thread *thread = thread_of(rows, &record->head);
    const int64_t start = time_of(rows, record->start), end = time_of(rows, record->end);
    tsmith_batch *batch =
        thread ? gather_row(&rows->gather, thread->track, 0, TSMITH_KIND_OFF_CPU, start, end - start) : NULL;
    if (!batch)
        return;
    rows->watch->totals.off_cpu++;
    set(rows, batch, TSMITH_FIELD_DURATION, (uint64_t)(end - start));
    set(rows, batch, TSMITH_FIELD_OPERATION, operation_of(record->state));
    if (record->system_call >= 0)
        set(rows, batch, TSMITH_FIELD_NAME,
            text(rows, system_call_name(record->system_call, room, sizeof room)));
    const uint32_t stack = stack_of(rows, record->stack);
    if (stack)
        set(rows, batch, TSMITH_FIELD_STACK, stack);
    if (!(record->head.more & AGENT_BPF_WOKEN))
        return;
    set(rows, batch, TSMITH_FIELD_WOKEN, (uint64_t)time_of(rows, record->woken));
    if (record->head.more & AGENT_BPF_WOKEN_BY_INTERRUPT) {
        set(rows, batch, TSMITH_FIELD_WAKER, text(rows, "interrupt"));
        return;
    }
    memcpy(waker, record->waker, AGENT_BPF_COMM);
    set(rows, batch, TSMITH_FIELD_WAKER, text(rows, waker));
    set(rows, batch, TSMITH_FIELD_WAKER_TID, record->waker_tid);
}

static void add_call(struct rows *rows, struct watched_thread *thread, const struct open_call *call,
                     const struct agent_bpf_call *end) {
    const int64_t start = time_of(rows, call->time), duration = end ? time_of(rows, end->time) - start : 0;
    tsmith_batch *batch =
        gather_row(&rows->gather, thread->track, 1, TSMITH_KIND_HOST_FUNCTION, start, duration);
    if (!batch)
        return;
    rows->watch->totals.hits[call->probe]++;
    set(rows, batch, TSMITH_FIELD_NAME, text(rows, rows->watch->names[call->probe]));
    set(rows, batch, TSMITH_FIELD_CATEGORY, text(rows, "probe"));
    if (end)
        set(rows, batch, TSMITH_FIELD_DURATION, (uint64_t)duration);
    else
        rows->unmatched++;
}

static void enter(struct rows *rows, struct watched_thread *thread, const struct agent_bpf_call *record) {
    void *calls = thread->calls;
    if (thread->depth == DEPTH_MOST ||
        !array_reserve(&calls, &thread->capacity, thread->depth + 1, sizeof *thread->calls)) {
        rows->too_many++;
        return;
    }
    thread->calls = calls;
    thread->calls[thread->depth++] = (struct open_call){record->head.more, record->time};
}

static void leave(struct rows *rows, struct watched_thread *thread, const struct agent_bpf_call *record) {
    size_t depth = thread->depth;
    while (depth && thread->calls[depth - 1].probe != record->head.more)
        depth--;
    if (!depth) {
        rows->unmatched++; // a return of a call that was begun before, or whose entry was lost
        return;
    }
    for (size_t i = thread->depth; i > depth; i--)
        add_call(rows, thread, &thread->calls[i - 1], NULL);
    add_call(rows, thread, &thread->calls[depth - 1], record);
    thread->depth = depth - 1;
}

// A static probe is passed, and not entered or left.
static void add_passed(struct rows *rows, const struct watched_thread *thread,
                       const struct agent_bpf_call *record) {
    tsmith_batch *batch =
        gather_row(&rows->gather, thread->track, 3, TSMITH_KIND_MARKER, time_of(rows, record->time), 0);
    if (!batch)
        return;
    rows->watch->totals.hits[record->head.more]++;
    set(rows, batch, TSMITH_FIELD_NAME, text(rows, rows->watch->names[record->head.more] + 1));
    set(rows, batch, TSMITH_FIELD_CATEGORY, text(rows, "probe"));
}

static void take_call(struct rows *rows, const struct agent_bpf_call *record) {
    struct watched_thread *thread = thread_of(rows, &record->head);
    if (record->head.more >= rows->watch->probe_count)
        rows->bad++;
    else if (thread && rows->watch->names[record->head.more][0] == '@')
        add_passed(rows, thread, record);
    else if (thread && record->head.type == AGENT_BPF_ENTER)
        enter(rows, thread, record);
    else if (thread)
        leave(rows, thread, record);
}

static void add_fence(struct rows *rows, uint32_t track, const struct agent_bpf_fence *record,
                      tsmith_operation operation, const struct agent_bpf_fence *end) {
    const int64_t start = time_of(rows, record->time), duration = end ? time_of(rows, end->time) - start : 0;
    tsmith_batch *batch = gather_row(&rows->gather, track, 2, TSMITH_KIND_DRIVER, start, duration);
    if (!batch)
        return;
    rows->watch->totals.fences++;
    set(rows, batch, TSMITH_FIELD_OPERATION, operation);
    set_own(rows, batch, &rows->field_context, "fence_context", record->context);
    set_own(rows, batch, &rows->field_sequence, "fence_sequence", record->sequence);
    if (end)
        set(rows, batch, TSMITH_FIELD_DURATION, (uint64_t)duration);
}

static void take_fence(struct rows *rows, const struct agent_bpf_fence *record) {
    if (record->head.more == AGENT_BPF_FENCE_SIGNALED) {
        const tsmith_track track = {.kind = TSMITH_TRACK_CUSTOM, .name = text(rows, "fences signaled")};
        if (!rows->fences)
            rows->fences = tsmith_dictionary_add_track(rows->dictionary, &track);
        add_fence(rows, rows->fences, record, TSMITH_OPERATION_FENCE_SIGNALED, NULL);
        return;
    }
    struct watched_thread *thread = thread_of(rows, &record->head);
    if (!thread)
        return;
    if (record->head.more == AGENT_BPF_FENCE_EMIT) {
        add_fence(rows, thread->track, record, TSMITH_OPERATION_FENCE_EMIT, NULL);
    } else if (record->head.more == AGENT_BPF_FENCE_WAIT_START) {
        thread->wait = *record;
    } else if (thread->wait.head.type && thread->wait.context == record->context &&
               thread->wait.sequence == record->sequence) {
        add_fence(rows, thread->track, &thread->wait, TSMITH_OPERATION_FENCE_WAIT, record);
        thread->wait.head.type = 0;
    }
}

static size_t size_of(unsigned type) {
    switch (type) {
    case AGENT_BPF_OFF_CPU:
        return sizeof(struct agent_bpf_off_cpu);
    case AGENT_BPF_ENTER:
    case AGENT_BPF_LEAVE:
        return sizeof(struct agent_bpf_call);
    case AGENT_BPF_FENCE:
        return sizeof(struct agent_bpf_fence);
    default:
        return 0;
    }
}

// The next record of the spool; false at its end.
static bool take_next(struct rows *rows) {
    union {
        struct agent_bpf_head head;
        struct agent_bpf_off_cpu off_cpu;
        struct agent_bpf_call call;
        struct agent_bpf_fence fence;
    } record;
    if (rows->filled - rows->at < sizeof record) {
        const ssize_t got = pread(rows->watch->spool, rows->window, WINDOW, (off_t)rows->offset);
        rows->filled = got > 0 ? (size_t)got : 0;
        rows->at = 0;
    }
    const size_t left = rows->filled - rows->at;
    memcpy(&record.head, rows->window + rows->at, left < sizeof record.head ? 0 : sizeof record.head);
    const size_t size = left < sizeof record.head ? 0 : size_of(record.head.type);
    if (!size || size > left) {
        rows->bad += left > 0;
        return false;
    }
    memcpy(&record, rows->window + rows->at, size);
    rows->at += size;
    rows->offset += size;
    if (record.head.type == AGENT_BPF_OFF_CPU)
        add_off_cpu(rows, &record.off_cpu);
    else if (record.head.type == AGENT_BPF_FENCE)
        take_fence(rows, &record.fence);
    else
        take_call(rows, &record.call);
    return true;
}

// ---- the end

static void note(struct rows *rows, uint64_t count, tsmith_reason reason, const char *what) {
    if (count)
        ledger_note(&rows->ledger, rows->dictionary, reason, count, true, "%llu %s",
                    (unsigned long long)count, what);
}

static void end(struct rows *rows) {
    for (size_t i = 0; i < sizeof rows->threads / sizeof rows->threads[0]; i++)
        for (struct watched_thread *thread = rows->threads[i]; thread; thread = thread->next)
            for (; thread->depth; thread->depth--)
                add_call(rows, thread, &thread->calls[thread->depth - 1], NULL);
    note(rows, rows->watch->lost, TSMITH_REASON_RING_FULL,
         "records of the kernel did not fit into its buffer");
    note(rows, rows->watch->lost_threads, TSMITH_REASON_TABLE_FULL,
         "threads or processes were too many for the kernel's tables");
    note(rows, rows->watch->lost_stacks, TSMITH_REASON_TABLE_FULL,
         "stacks of the kernel were too many for its table");
    note(rows, rows->watch->unspooled, TSMITH_REASON_DISK_FULL, "records of the kernel could not be kept");
    note(rows, rows->too_many, TSMITH_REASON_TABLE_FULL, "records of too many threads or calls");
    note(rows, rows->bad, TSMITH_REASON_CORRUPT, "records of the kernel could not be read");
    if (rows->unmatched)
        ledger_note(&rows->ledger, rows->dictionary, TSMITH_REASON_UNMATCHED, 0, false,
                    "%llu calls of probed functions were entered and not left, or left and not entered",
                    (unsigned long long)rows->unmatched);
    gather_flush(&rows->gather);
    rows->failed |= !ledger_write(&rows->ledger, rows->dictionary, &rows->gather);
    rows->over = true;
}

static tsmith_status next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct rows *rows = self;
    for (;;) {
        const tsmith_status status = gather_take(&rows->gather, out);
        if (status != TSMITH_OK || rows->failed || tsmith_dictionary_failed(rows->dictionary))
            return status_set(error, TSMITH_ERROR_NO_MEMORY, "no memory for what the kernel told");
        if (*out)
            return TSMITH_OK;
        if (rows->over)
            return TSMITH_END;
        while (!rows->over && !rows->failed && !gather_is_full(&rows->gather))
            if (!take_next(rows))
                end(rows);
    }
}

static const tsmith_dictionary *dictionary(void *self) {
    return ((struct rows *)self)->dictionary;
}

static void destroy(void *self) {
    struct rows *rows = self;
    for (size_t i = 0; i < sizeof rows->threads / sizeof rows->threads[0]; i++)
        for (struct watched_thread *thread = rows->threads[i], *after; thread; thread = after) {
            after = thread->next;
            free(thread->calls);
            free(thread);
        }
    kernel_symbols_finish(&rows->stacks.symbols);
    free(rows->stacks.ids);
    gather_finish(&rows->gather);
    ledger_finish(&rows->ledger);
    host_clock_finish(&rows->clock);
    tsmith_dictionary_destroy(rows->dictionary);
    free(rows->window);
    free(rows);
}

tsmith_status watch_source(tsmith_watch *watch, struct host_clock *clock, tsmith_source **out,
                           tsmith_error *error) {
    static const tsmith_source_ops ops = {next, dictionary, destroy};
    struct rows *rows = calloc(1, sizeof *rows);
    if (rows && (rows->window = malloc(WINDOW)) && tsmith_dictionary_create(&rows->dictionary) == TSMITH_OK &&
        tsmith_source_create(&ops, rows, out) == TSMITH_OK) {
        rows->watch = watch;
        rows->clock = *clock;
        *clock = (struct host_clock){0};
        return TSMITH_OK;
    }
    if (rows)
        destroy(rows);
    return status_set(error, TSMITH_ERROR_NO_MEMORY, "no memory for what the kernel told");
}
