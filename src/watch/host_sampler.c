// SPDX-License-Identifier: Apache-2.0
// Samples threads of a recorded program. A thread of this process reads the kernel's buffers while the program runs, unwinds
// the copied stacks while the processes exist, and keeps numbers of stacks in a file of the session (spool.h); when the
// program has ended, these records become events.
//
//     created --join--> sampling (reader runs) --the program ended--> stopped, source added
//
// Invariant: of each processor the records come in order of time, so after a round over all processors everything that
// happened before the round began has been read. Switches wait until then: a thread may leave one processor and
// continue on another.
#include "tracesmith/host_sampler.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/quiet_thread.h"
#include "base/sized.h"
#include "base/status.h"
#include "base/table.h"
#include "watch/copies.h"
#include "watch/perf_events.h"
#include "watch/watch.h"

enum { STACKS_MOST = 1 << 21, THREADS_MOST = 1 << 16, BUFFER_LEAST = 16 << 10 };

// ns between rounds. What just began may end soon, and its code can be read only before that.
static const int64_t NAP = 10000000, LONG_NAP = 40000000, NEW = 1000000000;

struct sampled_thread {
    uint32_t pid, tid; // tid 0: the slot is free
    int64_t off_since; // 0: it runs, or it is not known
    bool preempted;
};

// By what its frames are; two hashes, so that two stacks are not taken for one.
struct sampled_stack {
    uint64_t hash, other;
    uint64_t number; // 0: the slot is free
};

struct thread_switch {
    int64_t time;
    uint32_t pid, tid;
    bool out, preempted;
};

struct tsmith_host_sampler {
    tsmith_host_sampler_options options;
    char refusal[512];
    struct perf_events events;
    bool is_open, started;
    struct watch_spool spool;
    struct watch_copies copies;
    struct sampled_thread *threads; // hash table
    size_t thread_slots, thread_count;
    struct sampled_stack *stacks; // hash table
    size_t stack_slots, stack_count;
    uint64_t last_number, number;   // of stacks: the last new one, and that of the sample at hand
    struct thread_switch *switches; // since the last round
    size_t switch_count, switch_capacity;
    int64_t last_begin; // when a thread was seen for the first time, or a program was executed
    struct watch_samples_end ended;
    struct watch_totals totals;
    pthread_t reader;
    atomic_bool reading, stopping;
};

// ---- creation

tsmith_status tsmith_host_sampler_create(const tsmith_host_sampler_options *given, tsmith_host_sampler **out,
                                         tsmith_error *error) {
    tsmith_host_sampler_options options = {0};
    *out = NULL;
    tsmith_status status = sized_take(tsmith_host_sampler_options, given, &options, error);
    if (status != TSMITH_OK)
        return status;
    options.rate = options.rate ? options.rate : TSMITH_SAMPLE_RATE_DEFAULT;
    if (options.rate > TSMITH_SAMPLE_RATE_MOST)
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "%u is not a rate of samples; available: 1 to %d per second", options.rate,
                          TSMITH_SAMPLE_RATE_MOST);
    if (options.buffer_bytes & (options.buffer_bytes - 1) ||
        (options.buffer_bytes && options.buffer_bytes < BUFFER_LEAST))
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "a buffer for samples must have a power of two of bytes, at least %d",
                          BUFFER_LEAST);
    tsmith_host_sampler *sampler = calloc(1, sizeof *sampler);
    if (!sampler)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while preparing to sample threads");
    sampler->options = options;
    sampler->spool = WATCH_SPOOL_NONE;
    sampler->copies.told_of_code = true;
    const struct perf_events_options wanted = {
        .period = 1000000000 / options.rate, .switches = !options.no_off_cpu, .buffer = options.buffer_bytes};
    sampler->ended = (struct watch_samples_end){.head.type = WATCH_SAMPLES_END, .period = wanted.period};
    sampler->is_open = perf_events_open(&sampler->events, &wanted, sampler->refusal, sizeof sampler->refusal);
    sampler->ended.without_kernel = sampler->events.without_kernel;
    *out = sampler;
    return TSMITH_OK;
}

const char *tsmith_host_sampler_refusal(const tsmith_host_sampler *sampler) {
    return sampler->refusal;
}

// ---- threads

// As /proc has it: a thread that never changed its name has that of its creator.
static void put_name_of(tsmith_host_sampler *sampler, uint32_t pid, uint32_t tid) {
    char path[64];
    struct agent_bpf_name record = {.head = {.type = AGENT_BPF_NAME, .pid = pid, .tid = tid}};
    snprintf(path, sizeof path, "/proc/%u/task/%u/comm", pid, tid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd >= 0 ? read(fd, record.name, sizeof record.name) : 0;
    if (fd >= 0)
        close(fd);
    if (got <= 1)
        return;
    record.name[got - 1] = '\0'; // a line feed
    watch_spool_put(&sampler->spool, &record, sizeof record);
}

static uint64_t hash_thread(uint32_t pid, uint32_t tid) {
    return table_hash((uint64_t)pid << 32 | tid);
}

// NULL: there are too many.
static struct sampled_thread *thread_of(tsmith_host_sampler *sampler, uint32_t pid, uint32_t tid) {
    if (!tid || !TABLE_ROOM(sampler->threads, sampler->thread_slots, sampler->thread_count, 64, slot,
                            slot->tid, hash_thread(slot->pid, slot->tid)))
        return NULL;
    struct sampled_thread *thread = TABLE_SLOT(sampler->threads, sampler->thread_slots, hash_thread(pid, tid),
                                               slot, !slot->tid || (slot->tid == tid && slot->pid == pid));
    if (!thread->tid && sampler->thread_count == THREADS_MOST)
        return NULL;
    if (!thread->tid) {
        *thread = (struct sampled_thread){.pid = pid, .tid = tid};
        sampler->thread_count++;
        sampler->last_begin = clock_trace_now();
        put_name_of(sampler, pid, tid);
    }
    return thread;
}

// ---- stacks

static uint64_t number_of(tsmith_host_sampler *sampler, const void *places, size_t size, bool *is_new) {
    const uint64_t hash = hash_bytes(places, size), other = (uint64_t)crc32c(0, places, size) << 32 | size;
    *is_new = true;
    if (sampler->stack_count >= STACKS_MOST ||
        !TABLE_ROOM(sampler->stacks, sampler->stack_slots, sampler->stack_count, 1024, slot, slot->number,
                    slot->hash))
        return ++sampler->last_number;
    struct sampled_stack *stack = TABLE_SLOT(sampler->stacks, sampler->stack_slots, hash, slot,
                                             !slot->number || (slot->hash == hash && slot->other == other));
    *is_new = !stack->number;
    if (*is_new) {
        *stack = (struct sampled_stack){hash, other, ++sampler->last_number};
        sampler->stack_count++;
    }
    return stack->number;
}

// A stack that was unwound, and before it modules that are new.
static void take_unwound(void *context, const void *record, size_t size) {
    tsmith_host_sampler *sampler = context;
    struct {
        struct watch_stack stack;
        struct watch_place places[WATCH_FRAMES_MOST];
    } copy;
    bool is_new;
    const struct watch_stack *stack = record;
    if (stack->head.type != WATCH_STACK || size > sizeof copy) {
        watch_spool_put(&sampler->spool, record, size);
        return;
    }
    sampler->number = number_of(sampler, stack + 1, size - sizeof *stack, &is_new);
    if (!is_new)
        return;
    memcpy(&copy, record, size);
    copy.stack.head.type = WATCH_SAMPLED;
    copy.stack.start = sampler->number;
    watch_spool_put(&sampler->spool, &copy, size);
}

static void unwind(tsmith_host_sampler *sampler, const struct perf_sample *sample) {
    const struct agent_bpf_head head = {.pid = sample->pid, .tid = sample->tid};
    sampler->number = 0;
    if (!sample->has_registers || !sample->copy.bytes) {
        sampler->ended.no_registers++;
        return;
    }
    watch_copies_unwind(&sampler->copies, &head, sample->pid, 0, &sample->copy, take_unwound, sampler);
}

// ---- records

static void take_sample(tsmith_host_sampler *sampler, const struct perf_event_header *header) {
    struct perf_sample sample;
    if (!perf_sample_read(header, &sample) || !thread_of(sampler, sample.pid, sample.tid)) {
        sampler->ended.too_many++;
        return;
    }
    unwind(sampler, &sample);
    const struct watch_sample record = {
        .head = {.type = WATCH_SAMPLE, .pid = sample.pid, .tid = sample.tid, .more = sample.in_kernel},
        .time = sample.time,
        .period = sampler->ended.period,
        .stack = sampler->number};
    watch_spool_put(&sampler->spool, &record, sizeof record);
}

static void take_switch(tsmith_host_sampler *sampler, const struct perf_event_header *header) {
    struct perf_origin origin;
    struct thread_switch *one =
        perf_origin_read(header, &origin) && origin.tid
            ? ARRAY_PUSH(sampler->switches, sampler->switch_count, sampler->switch_capacity)
            : NULL;
    if (one)
        *one = (struct thread_switch){origin.time, origin.pid, origin.tid,
                                      (header->misc & PERF_RECORD_MISC_SWITCH_OUT) != 0,
                                      (header->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0};
    else
        sampler->ended.too_many++;
}

static void take_comm(tsmith_host_sampler *sampler, const struct perf_event_header *header) {
    struct agent_bpf_name record = {.head.type = AGENT_BPF_NAME};
    const uint8_t *body = (const uint8_t *)(header + 1);
    if (header->size < sizeof *header + 8 + AGENT_BPF_COMM)
        return;
    memcpy(&record.head.pid, body, sizeof record.head.pid);
    memcpy(&record.head.tid, body + 4, sizeof record.head.tid);
    memcpy(record.name, body + 8, strnlen((const char *)body + 8, AGENT_BPF_COMM - 1));
    if (header->misc & PERF_RECORD_MISC_COMM_EXEC) {
        watch_copies_forget(&sampler->copies, record.head.pid);
        sampler->last_begin = clock_trace_now();
    }
    watch_spool_put(&sampler->spool, &record, sizeof record);
}

static void take_record(void *context, const struct perf_event_header *header) {
    tsmith_host_sampler *sampler = context;
    const uint8_t *body = (const uint8_t *)(header + 1);
    uint64_t count = 0;
    uint32_t pid = 0;
    switch (header->type) {
    case PERF_RECORD_SAMPLE:
        take_sample(sampler, header);
        break;
    case PERF_RECORD_SWITCH:
        take_switch(sampler, header);
        break;
    case PERF_RECORD_COMM:
        take_comm(sampler, header);
        break;
    case PERF_RECORD_MMAP2:
        memcpy(&pid, body, sizeof pid);
        watch_copies_changed(&sampler->copies, pid);
        break;
    case PERF_RECORD_LOST:
        memcpy(&count, body + sizeof count, sizeof count); // after the number of the event
        sampler->ended.lost += count;
        break;
    case PERF_RECORD_THROTTLE:
        sampler->ended.throttled++;
        break;
    default:
        break;
    }
}

// ---- times in which threads did not run

static int by_time(const void *left, const void *right) {
    const struct thread_switch *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (int)a->out - (int)b->out;
}

static void put_off_cpu(tsmith_host_sampler *sampler, struct sampled_thread *thread, int64_t end) {
    const struct watch_switched record = {
        .head = {.type = WATCH_SWITCHED, .pid = thread->pid, .tid = thread->tid, .more = thread->preempted},
        .start = thread->off_since,
        .end = end};
    if (thread->off_since)
        watch_spool_put(&sampler->spool, &record, sizeof record);
    thread->off_since = 0;
}

// Those before `until`.
static void take_switches(tsmith_host_sampler *sampler, int64_t until) {
    size_t i = 0;
    if (sampler->switch_count)
        qsort(sampler->switches, sampler->switch_count, sizeof *sampler->switches, by_time);
    for (; i < sampler->switch_count && sampler->switches[i].time < until; i++) {
        const struct thread_switch *one = &sampler->switches[i];
        struct sampled_thread *thread = thread_of(sampler, one->pid, one->tid);
        if (!thread) {
            sampler->ended.too_many++;
        } else if (one->out) {
            thread->off_since = one->time;
            thread->preempted = one->preempted;
        } else {
            put_off_cpu(sampler, thread, one->time);
        }
    }
    sampler->switch_count -= i;
    if (sampler->switch_count)
        memmove(sampler->switches, sampler->switches + i, sampler->switch_count * sizeof *sampler->switches);
}

// ---- reading

static int nap_of(const tsmith_host_sampler *sampler, int64_t now) {
    const int64_t nap = now - sampler->last_begin < NEW ? NAP : LONG_NAP,
                  room = perf_events_room(&sampler->events);
    return (int)((nap < room ? nap : room) / 1000000) + 1;
}

static void *read_events(void *context) {
    tsmith_host_sampler *sampler = context;
    while (!atomic_load(&sampler->stopping)) {
        const int64_t begin = clock_trace_now();
        perf_events_read(&sampler->events, take_record, sampler);
        take_switches(sampler, begin);
        watch_spool_flush(&sampler->spool);
        perf_events_wait(&sampler->events, nap_of(sampler, begin));
    }
    return NULL;
}

static void put_end(tsmith_host_sampler *sampler) {
    struct watch_samples_end *ended = &sampler->ended;
    uint64_t lost;
    perf_events_count(&sampler->events, &ended->cpu_ns, &lost);
    ended->lost = lost > ended->lost ? lost : ended->lost; // the last ones have no record
    ended->unread_code = sampler->copies.unread_code;
    ended->short_copies = sampler->copies.short_copies;
    ended->unspooled = sampler->spool.unspooled;
    watch_spool_put(&sampler->spool, ended, sizeof *ended);
    watch_spool_flush(&sampler->spool);
}

static void stop_reading(tsmith_host_sampler *sampler) {
    if (!atomic_load(&sampler->reading))
        return;
    perf_events_stop(&sampler->events);
    atomic_store(&sampler->stopping, true);
    pthread_join(sampler->reader, NULL);
    atomic_store(&sampler->reading, false);
    perf_events_read(&sampler->events, take_record, sampler);
    take_switches(sampler, INT64_MAX);
    for (size_t i = 0; i < sampler->thread_slots; i++)
        if (sampler->threads[i].tid)
            put_off_cpu(sampler, &sampler->threads[i], 0);
    put_end(sampler);
}

static void put_refusal(tsmith_host_sampler *sampler) {
    struct {
        struct agent_bpf_head head;
        char text[sizeof sampler->refusal];
    } record = {.head.type = WATCH_REFUSED};
    memcpy(record.text, sampler->refusal, strlen(sampler->refusal));
    watch_spool_put(&sampler->spool, &record, sizeof record);
    watch_spool_flush(&sampler->spool);
}

// The program has ended.
static void finish(void *context, tsmith_capture *capture) {
    tsmith_host_sampler *sampler = context;
    struct host_clock none = {0};
    tsmith_source *source = NULL;
    stop_reading(sampler);
    if (watch_source(sampler->spool.fd, &sampler->totals, &none, &source, NULL) == TSMITH_OK)
        tsmith_capture_add_source(capture, source);
    else
        sampler->ended.lost = UINT64_MAX; // out of memory: nothing of it is in the trace
}

static bool start_reader(tsmith_host_sampler *sampler) {
    const bool started = quiet_thread_start(&sampler->reader, read_events, sampler) == 0;
    atomic_store(&sampler->reading, started);
    return started;
}

tsmith_status tsmith_host_sampler_join(tsmith_host_sampler *sampler, tsmith_capture *capture,
                                       tsmith_error *error) {
    if (sampler->started)
        return status_set(error, TSMITH_ERROR_STATE, "a sampler can sample only one program");
    tsmith_status status =
        watch_spool_open(&sampler->spool, tsmith_capture_directory(capture), WATCH_SAMPLES_NAME, error);
    if (status != TSMITH_OK)
        return status;
    sampler->started = true;
    if (!sampler->is_open)
        put_refusal(sampler);
    status = tsmith_capture_on_end(capture, finish, sampler);
    if (status == TSMITH_OK && sampler->is_open && !start_reader(sampler))
        status = TSMITH_ERROR_NO_MEMORY;
    return status == TSMITH_OK ? status
                               : status_set(error, status, "cannot start the thread that reads samples");
}

// ---- afterwards

void tsmith_host_sampler_total(const tsmith_host_sampler *sampler, tsmith_host_sampler_totals *out) {
    const tsmith_host_sampler_totals totals = {.samples = sampler->totals.samples,
                                               .off_cpu = sampler->totals.off_cpu,
                                               .lost = sampler->ended.lost,
                                               .period_ns = sampler->ended.period,
                                               .cpu_ns = sampler->ended.cpu_ns,
                                               .without_kernel = sampler->ended.without_kernel != 0};
    sized_give(tsmith_host_sampler_totals, &totals, out);
}

void tsmith_host_sampler_destroy(tsmith_host_sampler *sampler) {
    if (!sampler)
        return;
    stop_reading(sampler);
    perf_events_close(&sampler->events);
    watch_spool_close(&sampler->spool);
    watch_copies_finish(&sampler->copies);
    free(sampler->threads);
    free(sampler->stacks);
    free(sampler->switches);
    free(sampler);
}
