// SPDX-License-Identifier: Apache-2.0
// Records of the kernel become events. They come in order of time (a period off the processor at its end), from one buffer.
//
// Invariant: a thread's `calls` are the probed functions it is in, the outermost first; a return ends the innermost call of
// its function, as in logs of XRay.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/plural.h"
#include "base/sorted.h"
#include "base/status.h"
#include "event/gather.h"
#include "event/ledger.h"
#include "watch/driver_names.h"
#include "watch/sample_losses.h"
#include "watch/stacks.h"
#include "watch/system_calls.h"
#include "watch/watch.h"

enum { WINDOW = 1 << 20, THREADS_MOST = 1 << 16, DEPTH_MOST = 1 << 12 };

struct open_call {
    unsigned probe;
    uint64_t time;
    unsigned long long values[AGENT_BPF_ARGUMENTS]; // that a function of the kernel was called with
};

struct watched_thread {
    struct watched_thread *next;
    unsigned pid, tid;
    uint32_t track;
    struct open_call *calls;
    size_t depth, capacity;
    struct agent_bpf_fence wait; // that it is in; type 0: none
    struct {
        uint64_t start;
        uint32_t stack;
    } waits, woken; // stacks of the program, of the wait that began then; 0: none
};

// What a thread was called when it exited.
struct watched_name {
    unsigned pid, tid;
    size_t order; // of the records: a number may be used again
    char name[AGENT_BPF_COMM + 1];
};

struct watched_probe {
    char name[256];
    bool is_of_kernel;
    struct agent_bpf_signature signature;
    uint32_t fields[AGENT_BPF_ARGUMENTS], field_result; // dynamic; 0: not there yet
};

struct rows {
    int spool;
    struct watch_totals *totals, own_totals;
    struct watched_probe *probes; // by number
    size_t probe_count, probe_capacity;
    struct watch_stacks stacks;
    struct watch_end ended; // type 0: there is none
    struct watch_samples_end samples_ended;
    bool refused;      // the system permitted no samples
    uint32_t *sampled; // stacks of samples, by their numbers - 1
    size_t sampled_count, sampled_capacity;
    uint64_t no_stack; // samples without one
    struct host_clock clock;
    tsmith_dictionary *dictionary;
    struct gather gather;
    struct ledger ledger;
    struct watched_thread *threads[1024];
    size_t thread_count;
    struct watched_name *names; // sorted by process, thread and order, once they are all there
    size_t name_count, name_capacity;
    bool has_names;
    uint32_t fences, jobs; // tracks of what devices signaled, and of what the scheduler did; 0: none yet
    uint32_t field_state, field_context, field_sequence; // dynamic; 0: not there yet
    uint8_t *window;
    size_t filled, at;
    uint64_t offset;
    uint64_t unmatched, bad, too_many;
    bool over, failed;
};

static uint32_t intern_text(struct rows *rows, const char *cstr) {
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

// ---- names of threads, which only those that have exited have

static int compare_names(const void *left, const void *right) {
    const struct watched_name *a = left, *b = right;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

// The last name of a thread; 0: it has none.
static uint32_t name_of(struct rows *rows, unsigned pid, unsigned tid) {
    // The first that comes after those of this thread.
    const size_t at =
        SORTED_FIND(i, 0, rows->name_count,
                    rows->names[i].pid < pid || (rows->names[i].pid == pid && rows->names[i].tid <= tid));
    const struct watched_name *found = at ? &rows->names[at - 1] : NULL;
    return found && found->pid == pid && found->tid == tid ? intern_text(rows, found->name) : 0;
}

static void take_name(struct rows *rows, const struct agent_bpf_name *record) {
    struct watched_name *name = rows->name_count < THREADS_MOST
                                    ? ARRAY_PUSH(rows->names, rows->name_count, rows->name_capacity)
                                    : NULL;
    if (!name)
        return;
    *name =
        (struct watched_name){.pid = record->head.pid, .tid = record->head.tid, .order = rows->name_count};
    memcpy(name->name, record->name, sizeof record->name);
}

// ---- threads

static uint32_t process_of(struct rows *rows, unsigned pid) {
    const uint32_t count = tsmith_dictionary_process_count(rows->dictionary);
    for (uint32_t id = 1; id < count; id++)
        if (tsmith_dictionary_process(rows->dictionary, id)->pid == pid)
            return id;
    // A process is called what its first thread is.
    return tsmith_dictionary_add_process(rows->dictionary,
                                         &(tsmith_process){.pid = pid, .name = name_of(rows, pid, pid)});
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
    const tsmith_track track = {.kind = TSMITH_TRACK_THREAD,
                                .name = name_of(rows, head->pid, head->tid),
                                .tid = head->tid,
                                .process = process_of(rows, head->pid)};
    thread->pid = head->pid;
    thread->tid = head->tid;
    thread->track = tsmith_dictionary_add_track(rows->dictionary, &track);
    thread->next = *slot;
    *slot = thread;
    rows->thread_count++;
    return thread;
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
    const int64_t start = time_of(rows, record->start),
                  duration = record->end ? time_of(rows, record->end) - start : 0;
    tsmith_batch *batch =
        thread ? gather_row(&rows->gather, thread->track, 0, TSMITH_KIND_OFF_CPU, start, duration) : NULL;
    if (!batch)
        return;
    rows->totals->off_cpu++;
    if (record->end)
        set(rows, batch, TSMITH_FIELD_DURATION, (uint64_t)duration);
    if (record->head.more & AGENT_BPF_END_INFERRED)
        set(rows, batch, TSMITH_FIELD_CERTAINTY, TSMITH_CERTAINTY_INFERRED);
    set(rows, batch, TSMITH_FIELD_OPERATION, operation_of(record->state));
    if (record->system_call >= 0)
        set(rows, batch, TSMITH_FIELD_NAME,
            intern_text(rows, system_call_name(record->system_call, room, sizeof room)));
    const uint32_t stack = watch_stacks_kernel(&rows->stacks, record->stack,
                                               thread->waits.start == record->start ? thread->waits.stack : 0,
                                               true),
                   waker_stack = watch_stacks_kernel(
                       &rows->stacks, record->waker_stack,
                       thread->woken.start == record->start ? thread->woken.stack : 0, false);
    if (stack)
        set(rows, batch, TSMITH_FIELD_STACK, stack);
    if (!(record->head.more & AGENT_BPF_WOKEN))
        return;
    set(rows, batch, TSMITH_FIELD_WOKEN, (uint64_t)time_of(rows, record->woken));
    if (record->head.more & AGENT_BPF_WOKEN_BY_INTERRUPT) {
        set(rows, batch, TSMITH_FIELD_WAKER, intern_text(rows, "interrupt"));
        return;
    }
    memcpy(waker, record->waker, AGENT_BPF_COMM);
    set(rows, batch, TSMITH_FIELD_WAKER, intern_text(rows, waker));
    set(rows, batch, TSMITH_FIELD_WAKER_TID, record->waker_tid);
    if (waker_stack)
        set(rows, batch, TSMITH_FIELD_WAKER_STACK, waker_stack);
}

static bool take_stack(struct rows *rows, const struct watch_stack *record, size_t size) {
    struct watched_thread *thread = thread_of(rows, &record->head);
    if (thread && record->head.more == AGENT_BPF_OF_WAKER) {
        thread->woken.start = record->start;
        thread->woken.stack = watch_stacks_user(&rows->stacks, record, size);
    } else if (thread) {
        thread->waits.start = record->start;
        thread->waits.stack = watch_stacks_user(&rows->stacks, record, size);
    }
    return true;
}

// As the processor hands over a value, whose upper bits may be anything. 0 where there is none.
static uint64_t bits_of(const struct agent_bpf_value *value, uint64_t bits) {
    if (!value->bytes)
        return 0;
    const unsigned unused = value->bytes < 8 ? 64 - 8u * value->bytes : 0;
    bits <<= unused;
    return value->is_signed ? (uint64_t)((int64_t)bits >> unused) : bits >> unused;
}

static void set_value(struct rows *rows, tsmith_batch *batch, uint32_t *field, const char *name,
                      const struct agent_bpf_value *value, uint64_t bits) {
    const tsmith_type type = value->is_signed ? TSMITH_TYPE_I64 : TSMITH_TYPE_U64;
    if (!*field)
        *field = tsmith_dictionary_field(rows->dictionary, name, type, "");
    rows->failed |= tsmith_batch_set_dynamic(batch, *field, type, bits_of(value, bits)) != TSMITH_OK;
}

static void set_arguments(struct rows *rows, tsmith_batch *batch, const struct open_call *call) {
    struct watched_probe *probe = &rows->probes[call->probe];
    const struct agent_bpf_signature *signature = &probe->signature;
    for (unsigned i = 0; i < signature->count; i++) {
        const struct agent_bpf_value *value = &signature->arguments[i];
        char name[AGENT_BPF_VALUE_NAME + 8];
        if (value->name[0])
            snprintf(name, sizeof name, "arg_%s", value->name);
        else
            snprintf(name, sizeof name, "arg_%u", i + 1);
        set_value(rows, batch, &probe->fields[i], name, value, call->values[i]);
    }
}

// What is an address is none that a call has as its result, but the kernel's errors are.
static void set_result(struct rows *rows, tsmith_batch *batch, struct watched_probe *probe, uint64_t bits) {
    const struct agent_bpf_value *result = &probe->signature.result;
    const int64_t number = (int64_t)bits_of(result, bits);
    if (!result->bytes)
        return;
    if (result->is_pointer && !(number < 0 && number >= -4095))
        set_value(rows, batch, &probe->field_result, "returned", result, bits);
    else
        set(rows, batch, TSMITH_FIELD_RESULT, (uint64_t)number);
}

// `end`: when it was left, with what it returned, if it is one of the kernel; NULL: it is not known.
static void add_call(struct rows *rows, struct watched_thread *thread, const struct open_call *call,
                     const struct open_call *end) {
    struct watched_probe *probe = &rows->probes[call->probe];
    const int64_t start = time_of(rows, call->time), duration = end ? time_of(rows, end->time) - start : 0;
    tsmith_batch *batch =
        gather_row(&rows->gather, thread->track, 1, TSMITH_KIND_HOST_FUNCTION, start, duration);
    if (!batch)
        return;
    rows->totals->hits[call->probe]++;
    set(rows, batch, TSMITH_FIELD_NAME, intern_text(rows, probe->name));
    set(rows, batch, TSMITH_FIELD_CATEGORY, intern_text(rows, probe->is_of_kernel ? "kernel" : "probe"));
    set_arguments(rows, batch, call);
    if (!end) {
        rows->unmatched++;
        return;
    }
    set(rows, batch, TSMITH_FIELD_DURATION, (uint64_t)duration);
    set_result(rows, batch, probe, end->values[0]);
}

static void enter(struct rows *rows, struct watched_thread *thread, const struct open_call *call) {
    if (thread->depth == DEPTH_MOST || !ARRAY_RESERVE(thread->calls, thread->capacity, thread->depth + 1)) {
        rows->too_many++;
        return;
    }
    thread->calls[thread->depth++] = *call;
}

static void leave(struct rows *rows, struct watched_thread *thread, const struct open_call *end) {
    size_t depth = thread->depth;
    while (depth && thread->calls[depth - 1].probe != end->probe)
        depth--;
    if (!depth) {
        rows->unmatched++; // a return of a call that was begun before, or whose entry was lost
        return;
    }
    for (size_t i = thread->depth; i > depth; i--)
        add_call(rows, thread, &thread->calls[i - 1], NULL);
    add_call(rows, thread, &thread->calls[depth - 1], end);
    thread->depth = depth - 1;
}

// A static probe is passed, and not entered or left.
static void add_passed(struct rows *rows, const struct watched_thread *thread, const struct open_call *call) {
    tsmith_batch *batch =
        gather_row(&rows->gather, thread->track, 3, TSMITH_KIND_MARKER, time_of(rows, call->time), 0);
    if (!batch)
        return;
    rows->totals->hits[call->probe]++;
    set(rows, batch, TSMITH_FIELD_NAME, intern_text(rows, rows->probes[call->probe].name + 1));
    set(rows, batch, TSMITH_FIELD_CATEGORY, intern_text(rows, "probe"));
}

static void take_call(struct rows *rows, const struct agent_bpf_head *head, const struct open_call *call) {
    struct watched_thread *thread = thread_of(rows, head);
    const bool is_of_kernel = head->type == AGENT_BPF_KERNEL_ENTER || head->type == AGENT_BPF_KERNEL_LEAVE;
    if (call->probe >= rows->probe_count || rows->probes[call->probe].is_of_kernel != is_of_kernel)
        rows->bad++;
    else if (thread && rows->probes[call->probe].name[0] == '@')
        add_passed(rows, thread, call);
    else if (thread && (head->type == AGENT_BPF_ENTER || head->type == AGENT_BPF_KERNEL_ENTER))
        enter(rows, thread, call);
    else if (thread)
        leave(rows, thread, call);
}

static bool take_user_call(struct rows *rows, const struct agent_bpf_call *record) {
    take_call(rows, &record->head, &(struct open_call){record->head.more, record->time, {0}});
    return true;
}

static bool take_kernel_call(struct rows *rows, const struct agent_bpf_kernel_call *record) {
    struct open_call call = {record->head.more, record->time, {0}};
    memcpy(call.values, record->values, sizeof call.values);
    take_call(rows, &record->head, &call);
    return true;
}

static void add_fence(struct rows *rows, uint32_t track, const struct agent_bpf_fence *record,
                      tsmith_operation operation, const struct agent_bpf_fence *end) {
    const int64_t start = time_of(rows, record->time), duration = end ? time_of(rows, end->time) - start : 0;
    tsmith_batch *batch = gather_row(&rows->gather, track, 2, TSMITH_KIND_DRIVER, start, duration);
    if (!batch)
        return;
    rows->totals->fences++;
    set(rows, batch, TSMITH_FIELD_OPERATION, operation);
    set_own(rows, batch, &rows->field_context, "fence_context", record->context);
    set_own(rows, batch, &rows->field_sequence, "fence_sequence", record->sequence);
    if (end)
        set(rows, batch, TSMITH_FIELD_DURATION, (uint64_t)duration);
}

// What is done by no thread of the program has a row of its own.
static uint32_t device_track(struct rows *rows, uint32_t *id, const char *name) {
    const tsmith_track track = {.kind = TSMITH_TRACK_CUSTOM, .name = intern_text(rows, name)};
    if (!*id)
        *id = tsmith_dictionary_add_track(rows->dictionary, &track);
    return *id;
}

static void take_fence(struct rows *rows, const struct agent_bpf_fence *record) {
    if (record->head.more == AGENT_BPF_JOB_RUN || record->head.more == AGENT_BPF_JOB_DONE) {
        add_fence(rows, device_track(rows, &rows->jobs, "GPU scheduler"), record,
                  record->head.more == AGENT_BPF_JOB_RUN ? TSMITH_OPERATION_JOB_RUN
                                                         : TSMITH_OPERATION_JOB_DONE,
                  NULL);
        return;
    }
    if (record->head.more == AGENT_BPF_FENCE_SIGNALED) {
        add_fence(rows, device_track(rows, &rows->fences, "fences signaled"), record,
                  TSMITH_OPERATION_FENCE_SIGNALED, NULL);
        return;
    }
    struct watched_thread *thread = thread_of(rows, &record->head);
    if (!thread)
        return;
    if (record->head.more == AGENT_BPF_FENCE_EMIT) {
        add_fence(rows, thread->track, record, TSMITH_OPERATION_FENCE_EMIT, NULL);
    } else if (record->head.more == AGENT_BPF_JOB_QUEUED) {
        add_fence(rows, thread->track, record, TSMITH_OPERATION_JOB_QUEUED, NULL);
    } else if (record->head.more == AGENT_BPF_FENCE_WAIT_START) {
        thread->wait = *record;
    } else if (thread->wait.head.type && thread->wait.context == record->context &&
               thread->wait.sequence == record->sequence) {
        add_fence(rows, thread->track, &thread->wait, TSMITH_OPERATION_FENCE_WAIT, record);
        thread->wait.head.type = 0;
    }
}

static void add_driver(struct rows *rows, const struct agent_bpf_driver *record) {
    static const struct {
        tsmith_operation operation;
        uint32_t lane;
    } of[] = {[AGENT_BPF_IOCTL] = {TSMITH_OPERATION_IOCTL, 4},
              [AGENT_BPF_MMAP] = {TSMITH_OPERATION_DEVICE_MMAP, 5},
              [AGENT_BPF_FAULT] = {TSMITH_OPERATION_DEVICE_FAULT, 6}};
    const unsigned what = record->head.more;
    struct watched_thread *thread = thread_of(rows, &record->head);
    const int64_t start = time_of(rows, record->start), duration = time_of(rows, record->end) - start;
    char node[AGENT_BPF_NODE_NAME + 1] = "", name[64];
    if (what < AGENT_BPF_IOCTL || what > AGENT_BPF_FAULT) {
        rows->bad++;
        return;
    }
    tsmith_batch *batch =
        thread ? gather_row(&rows->gather, thread->track, of[what].lane, TSMITH_KIND_DRIVER, start, duration)
               : NULL;
    if (!batch)
        return;
    rows->totals->driver++;
    memcpy(node, record->node, AGENT_BPF_NODE_NAME);
    if (what != AGENT_BPF_FAULT)
        set(rows, batch, TSMITH_FIELD_DURATION, (uint64_t)duration);
    set(rows, batch, TSMITH_FIELD_OPERATION, of[what].operation);
    set(rows, batch, TSMITH_FIELD_CATEGORY, intern_text(rows, node));
    if (what == AGENT_BPF_FAULT) {
        set(rows, batch, TSMITH_FIELD_ADDRESS, record->address);
        return;
    }
    if (what == AGENT_BPF_IOCTL) {
        const uint32_t bytes = driver_ioctl_bytes(node, (uint32_t)record->number);
        driver_ioctl_name(node, (uint32_t)record->number, name, sizeof name);
        set(rows, batch, TSMITH_FIELD_NAME, intern_text(rows, name));
        set(rows, batch, TSMITH_FIELD_FLAGS, record->number);
        set(rows, batch, TSMITH_FIELD_RESULT, (uint64_t)record->result);
        if (bytes)
            set(rows, batch, TSMITH_FIELD_BYTES, bytes);
        return;
    }
    // The address is what a call returns that did not fail.
    const bool failed = record->result < 0 && record->result >= -4095;
    set(rows, batch, TSMITH_FIELD_NAME, intern_text(rows, "mmap"));
    set(rows, batch, TSMITH_FIELD_BYTES, record->length);
    set(rows, batch, TSMITH_FIELD_RESULT, failed ? (uint64_t)record->result : 0);
    if (!failed)
        set(rows, batch, TSMITH_FIELD_ADDRESS, (uint64_t)record->result);
}

static bool is_valid(const struct agent_bpf_signature *signature) {
    bool valid = signature->count <= AGENT_BPF_ARGUMENTS && signature->result.bytes <= 8;
    for (unsigned i = 0; valid && i < signature->count; i++)
        valid = signature->arguments[i].bytes - 1u < 8 &&
                memchr(signature->arguments[i].name, 0, AGENT_BPF_VALUE_NAME);
    return valid;
}

static bool take_probe(struct rows *rows, const struct watch_probe *record, size_t size) {
    size -= sizeof *record;
    if (record->head.more != rows->probe_count || rows->probe_count == AGENT_BPF_PROBES_MOST ||
        size >= sizeof rows->probes->name || !is_valid(&record->signature) ||
        !ARRAY_RESERVE(rows->probes, rows->probe_capacity, rows->probe_count + 1))
        return false;
    struct watched_probe *probe = &rows->probes[rows->probe_count++];
    *probe =
        (struct watched_probe){.is_of_kernel = record->is_of_kernel != 0, .signature = record->signature};
    memcpy(probe->name, record + 1, size);
    return true;
}

// ---- samples, whose times are trace times

static bool take_sampled_stack(struct rows *rows, const struct watch_stack *record, size_t size) {
    uint32_t *stack = size >= sizeof *record && record->start == rows->sampled_count + 1
                          ? ARRAY_PUSH(rows->sampled, rows->sampled_count, rows->sampled_capacity)
                          : NULL;
    if (stack)
        *stack = watch_stacks_user(&rows->stacks, record, size);
    return stack != NULL;
}

static void add_sample(struct rows *rows, const struct watch_sample *record) {
    struct watched_thread *thread = thread_of(rows, &record->head);
    tsmith_batch *batch =
        thread ? gather_row(&rows->gather, thread->track, 7, TSMITH_KIND_SAMPLE, record->time, 0) : NULL;
    if (!batch)
        return;
    rows->totals->samples++;
    const uint32_t stack =
        record->stack && record->stack <= rows->sampled_count ? rows->sampled[record->stack - 1] : 0;
    rows->no_stack += stack == 0;
    if (stack)
        set(rows, batch, TSMITH_FIELD_STACK, stack);
    set(rows, batch, TSMITH_FIELD_SAMPLER_PERIOD, record->period);
    set(rows, batch, TSMITH_FIELD_CATEGORY, intern_text(rows, record->head.more ? "kernel" : "user"));
}

static void add_switched(struct rows *rows, const struct watch_switched *record) {
    struct watched_thread *thread = thread_of(rows, &record->head);
    const int64_t duration = record->end > record->start ? record->end - record->start : 0;
    tsmith_batch *batch =
        thread ? gather_row(&rows->gather, thread->track, 0, TSMITH_KIND_OFF_CPU, record->start, duration)
               : NULL;
    if (!batch)
        return;
    rows->totals->off_cpu++;
    if (record->end)
        set(rows, batch, TSMITH_FIELD_DURATION, (uint64_t)duration);
    set(rows, batch, TSMITH_FIELD_OPERATION,
        record->head.more ? TSMITH_OPERATION_PREEMPTED : TSMITH_OPERATION_WAITING);
}

static bool take_refusal(struct rows *rows, const struct agent_bpf_head *record, size_t size) {
    const char *text = (const char *)(record + 1);
    rows->refused = true;
    ledger_note(&rows->ledger, rows->dictionary, TSMITH_REASON_NOT_PERMITTED, 0, false,
                "no CPU samples: %.*s", (int)strnlen(text, size - sizeof *record), text);
    return true;
}

// False: it is none that is known.
static bool take_record(struct rows *rows, const void *record, size_t size) {
    const struct agent_bpf_head *head = record;
    switch (head->type) {
    case AGENT_BPF_OFF_CPU:
        return size == sizeof(struct agent_bpf_off_cpu) && (add_off_cpu(rows, record), true);
    case AGENT_BPF_ENTER:
    case AGENT_BPF_LEAVE:
        return size == sizeof(struct agent_bpf_call) && take_user_call(rows, record);
    case AGENT_BPF_KERNEL_ENTER:
    case AGENT_BPF_KERNEL_LEAVE:
        return size == sizeof(struct agent_bpf_kernel_call) && take_kernel_call(rows, record);
    case AGENT_BPF_FENCE:
        return size == sizeof(struct agent_bpf_fence) && (take_fence(rows, record), true);
    case AGENT_BPF_DRIVER:
        return size == sizeof(struct agent_bpf_driver) && (add_driver(rows, record), true);
    case AGENT_BPF_NAME:
        return size == sizeof(struct agent_bpf_name); // taken before all others
    case WATCH_PROBE:
        return size >= sizeof(struct watch_probe) && take_probe(rows, record, size);
    case WATCH_MODULE:
        return watch_stacks_add_module(&rows->stacks, record, size, process_of(rows, head->pid));
    case WATCH_STACK:
        return size >= sizeof(struct watch_stack) && take_stack(rows, record, size);
    case WATCH_KERNEL_STACK:
        return watch_stacks_add_kernel(&rows->stacks, record, size);
    case WATCH_END:
        if (size == sizeof rows->ended)
            memcpy(&rows->ended, record, size);
        return size == sizeof rows->ended;
    case WATCH_SAMPLE:
        return size == sizeof(struct watch_sample) && (add_sample(rows, record), true);
    case WATCH_SAMPLED:
        return take_sampled_stack(rows, record, size);
    case WATCH_SWITCHED:
        return size == sizeof(struct watch_switched) && (add_switched(rows, record), true);
    case WATCH_SAMPLES_END:
        if (size == sizeof rows->samples_ended)
            memcpy(&rows->samples_ended, record, size);
        return size == sizeof rows->samples_ended;
    case WATCH_REFUSED:
        return take_refusal(rows, record, size);
    default:
        return false;
    }
}

// Bytes of the spool from the current position, at least this many if available; NULL at its end.
static const uint8_t *borrow_bytes(struct rows *rows, size_t size) {
    if (rows->filled - rows->at < size) {
        const ssize_t got = pread(rows->spool, rows->window, WINDOW, (off_t)rows->offset);
        rows->filled = got > 0 ? (size_t)got : 0;
        rows->at = 0;
    }
    return rows->filled - rows->at < size ? NULL : rows->window + rows->at;
}

struct watch_record {
    uint64_t words[WATCH_RECORD_MOST / sizeof(uint64_t)];
    size_t size;
};

// The next record of the spool; false at its end.
static bool read_next(struct rows *rows, struct watch_record *record) {
    struct watch_size size;
    const uint8_t *at = borrow_bytes(rows, sizeof size);
    if (!at) {
        rows->bad += rows->filled != rows->at;
        return false;
    }
    memcpy(&size, at, sizeof size);
    const bool is_one = size.version == AGENT_BPF_INTERFACE && size.size >= sizeof(struct agent_bpf_head) &&
                        size.size <= sizeof record->words;
    at = is_one ? borrow_bytes(rows, sizeof size + size.size) : NULL;
    if (!at) {
        rows->bad++;
        return false;
    }
    memcpy(record->words, at + sizeof size, size.size);
    record->size = size.size;
    rows->at += sizeof size + size.size;
    rows->offset += sizeof size + size.size;
    return true;
}

static bool take_next(struct rows *rows) {
    struct watch_record record;
    const bool there = read_next(rows, &record);
    if (there)
        rows->bad += !take_record(rows, record.words, record.size);
    return there;
}

// A thread's name comes with its exit, after all its events, and a track is named when it is made: so the spool
// is read for names first, from its beginning, and then again.
static void take_names(struct rows *rows) {
    struct watch_record record;
    while (read_next(rows, &record)) {
        const struct agent_bpf_head *head = (const void *)record.words;
        if (head->type == AGENT_BPF_NAME && record.size == sizeof(struct agent_bpf_name))
            take_name(rows, (const void *)record.words);
    }
    if (rows->name_count)
        qsort(rows->names, rows->name_count, sizeof *rows->names, compare_names);
    rows->offset = rows->filled = rows->at = rows->bad = 0;
    rows->has_names = true;
}

// ---- the end

static void note_loss(struct rows *rows, uint64_t count, tsmith_reason reason, const char *what) {
    if (count)
        ledger_note(&rows->ledger, rows->dictionary, reason, count, true, "%llu %s",
                    (unsigned long long)count, what);
}

// Waits that are there, without all of their stacks.
static void note_stacks(struct rows *rows, const struct watch_end *ended) {
    const struct {
        uint64_t count;
        tsmith_reason reason;
        const char *what;
    } causes[] = {
        {ended->lost_stacks, TSMITH_REASON_NO_STACK, "stacks of the kernel were too many for its table"},
        {ended->lost_copies_rate, TSMITH_REASON_NO_STACK,
         "long waits have no stack of the program: their threads waited more than 1,000 times a second"},
        {ended->lost_copies_room, TSMITH_REASON_NO_STACK,
         "long waits have no stack of the program: more than 1,024 threads waited at once"},
        {ended->unread_code, TSMITH_REASON_NO_STACK,
         "long waits have no stack of the program: the process had exited before its memory was read"},
        {ended->short_copies, TSMITH_REASON_PARTIAL_STACK,
         "stacks of the program are deeper than the 16 KiB that are copied of them"},
    };
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++)
        if (causes[i].count)
            ledger_note(&rows->ledger, rows->dictionary, causes[i].reason, causes[i].count, false, "%llu %s",
                        (unsigned long long)causes[i].count, causes[i].what);
}

static void end(struct rows *rows) {
    for (size_t i = 0; i < sizeof rows->threads / sizeof rows->threads[0]; i++)
        for (struct watched_thread *thread = rows->threads[i]; thread; thread = thread->next)
            for (; thread->depth; thread->depth--)
                add_call(rows, thread, &thread->calls[thread->depth - 1], NULL);
    const struct watch_end *ended = &rows->ended;
    note_loss(rows, ended->lost, TSMITH_REASON_RING_FULL,
              "records of the kernel did not fit into its buffer");
    note_loss(rows, ended->lost_threads, TSMITH_REASON_TABLE_FULL,
              "threads or processes were too many for the kernel's tables");
    note_loss(rows, ended->unspooled, TSMITH_REASON_DISK_FULL, "records of the kernel could not be kept");
    note_loss(rows, ended->missed, TSMITH_REASON_VENDOR_DROPPED,
              "times the kernel skipped a tracing program");
    note_stacks(rows, ended);
    if (rows->samples_ended.head.type)
        sample_losses_note(&rows->samples_ended, rows->totals->samples, &rows->ledger, rows->dictionary);
    if (ended->lost_faults)
        ledger_note(
            &rows->ledger, rows->dictionary, TSMITH_REASON_UNTRACED, 0, true,
            "%llu %s occurred while the process's mappings were changing, and may belong to device memory",
            (unsigned long long)ended->lost_faults, plural(ended->lost_faults, "fault", "faults"));
    if (!ended->head.type && !rows->samples_ended.head.type && !rows->refused)
        ledger_note(&rows->ledger, rows->dictionary, TSMITH_REASON_PROCESS_DIED, 0, true,
                    "the recording was killed; kernel events that had not been read by then are lost");
    note_loss(rows, rows->too_many, TSMITH_REASON_TABLE_FULL, "its records are of too many threads or calls");
    note_loss(rows, rows->bad, TSMITH_REASON_CORRUPT, "records of the kernel could not be read");
    if (rows->unmatched)
        ledger_note(&rows->ledger, rows->dictionary, TSMITH_REASON_UNMATCHED, 0, false,
                    "%llu %s of probed functions %s an entry without a return or a return without an entry",
                    (unsigned long long)rows->unmatched, plural(rows->unmatched, "call", "calls"),
                    plural(rows->unmatched, "has", "have"));
    gather_flush(&rows->gather);
    rows->failed |= !ledger_write(&rows->ledger, rows->dictionary, &rows->gather);
    rows->over = true;
}

static tsmith_status next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct rows *rows = self;
    if (!rows->has_names)
        take_names(rows);
    for (;;) {
        const tsmith_status status = gather_take(&rows->gather, out);
        if (status != TSMITH_OK || rows->failed || tsmith_dictionary_failed(rows->dictionary))
            return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading kernel events");
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
    watch_stacks_finish(&rows->stacks);
    free(rows->probes);
    free(rows->names);
    free(rows->sampled);
    gather_finish(&rows->gather);
    ledger_finish(&rows->ledger);
    host_clock_finish(&rows->clock);
    tsmith_dictionary_destroy(rows->dictionary);
    free(rows->window);
    free(rows);
}

tsmith_status watch_source(int spool, struct watch_totals *totals, struct host_clock *clock,
                           tsmith_source **out, tsmith_error *error) {
    static const tsmith_source_ops ops = {next, dictionary, destroy};
    struct rows *rows = calloc(1, sizeof *rows);
    if (rows && (rows->window = malloc(WINDOW)) && tsmith_dictionary_create(&rows->dictionary) == TSMITH_OK &&
        tsmith_source_create(&ops, rows, out) == TSMITH_OK) {
        rows->spool = spool;
        rows->totals = totals ? totals : &rows->own_totals;
        rows->stacks.dictionary = rows->dictionary;
        rows->clock = *clock;
        *clock = (struct host_clock){0};
        return TSMITH_OK;
    }
    if (rows)
        destroy(rows);
    return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading kernel events");
}
