// SPDX-License-Identifier: Apache-2.0
// The agent of the imaginary GPU: a complete agent, as small as one can be. docs/new-agent.md goes through it.
//
// How a kernel goes: the driver calls tool_enter and tool_leave around toy_launch on the program's thread. tool_enter
// notes who launches and when; tool_leave writes the call. When the kernel has ended the driver calls tool_done on a
// thread of its own, which writes the kernel on the track of its queue.
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "agentkit/agent.h"
#include "agentkit/stacks.h"
#include "toy_gpu.h"
#include "wire/record_part.h"

// ---- records: each word is described once

#define CALL_WORDS(WORD)                                                                                     \
    WORD(start, TSMITH_FIELD_START, RECORD_TICK)                                                             \
    WORD(end, TSMITH_FIELD_DURATION, RECORD_TICK_END)                                                        \
    WORD(correlation, TSMITH_FIELD_CORRELATION, RECORD_VALUE | RECORD_ZERO_IS_NONE)                          \
    WORD(queue, TSMITH_FIELD_QUEUE_TRACK, RECORD_TRACK | RECORD_ZERO_IS_NONE)                                \
    WORD(result, TSMITH_FIELD_RESULT, RECORD_VALUE)                                                          \
    WORD(stack, TSMITH_FIELD_STACK, RECORD_STACK | RECORD_ZERO_IS_NONE)
#define WAIT_WORDS(WORD)                                                                                     \
    WORD(start, TSMITH_FIELD_START, RECORD_TICK)                                                             \
    WORD(end, TSMITH_FIELD_DURATION, RECORD_TICK_END)                                                        \
    WORD(operation, TSMITH_FIELD_OPERATION, RECORD_VALUE)                                                    \
    WORD(queue, TSMITH_FIELD_QUEUE_TRACK, RECORD_TRACK | RECORD_ZERO_IS_NONE)
// The GPU has a clock of its own. The host's times around QUEUED let the collector convert it.
#define KERNEL_WORDS(WORD)                                                                                   \
    WORD(start, TSMITH_FIELD_START, RECORD_DEVICE_TIME)                                                      \
    WORD(end, TSMITH_FIELD_DURATION, RECORD_DEVICE_END)                                                      \
    WORD(queued, TSMITH_FIELD_QUEUED, RECORD_DEVICE_TIME)                                                    \
    WORD(not_before, 0, RECORD_NOT_BEFORE)                                                                   \
    WORD(not_after, 0, RECORD_NOT_AFTER)                                                                     \
    WORD(name, TSMITH_FIELD_NAME, RECORD_STRING)                                                             \
    WORD(correlation, TSMITH_FIELD_CORRELATION, RECORD_VALUE)                                                \
    WORD(host_track, TSMITH_FIELD_HOST_TRACK, RECORD_TRACK | RECORD_ZERO_IS_NONE)

#define RECORD_PARTS(PART)                                                                                   \
    PART(call_words, CALL_WORDS)                                                                             \
    PART(wait_words, WAIT_WORDS)                                                                             \
    PART(kernel_words, KERNEL_WORDS)
RECORD_PARTS(RECORD_PART)
RECORD_PARTS(RECORD_PART_SHAPE)

static struct { uint16_t call, wait, kernel; } shapes;

static void begin(void) {
    struct record_shape shape = record_shape_begin(TSMITH_KIND_API, RECORD_SUBJECT_NAME);
    call_words_add(&shape);
    shapes.call = channel_shape(agent.channel, &shape);
    shape = record_shape_begin(TSMITH_KIND_SYNC, RECORD_SUBJECT_NAME);
    wait_words_add(&shape);
    shapes.wait = channel_shape(agent.channel, &shape);
    shape = record_shape_begin(TSMITH_KIND_KERNEL, RECORD_SUBJECT_TRACK);
    kernel_words_add(&shape);
    shapes.kernel = channel_shape(agent.channel, &shape);
    (void)stacks_start(agent.channel);
}

// ---- the device and its queues: each is a track

enum { QUEUES_MAX = 64, LISTS = 31, LAUNCHES_MAX = 4096 };

static struct queue {
    const toy_queue *_Atomic queue;
    uint32_t track;
} queues[QUEUES_MAX];

static uint32_t device(void) {
    static _Atomic uint32_t known;
    if (!atomic_load(&known)) {
        const tsmith_device toy = {.name = channel_string_cstr(agent.channel, "Toy GPU"),
                                   .api = channel_string_cstr(agent.channel, "toy"),
                                   .type = channel_string_cstr(agent.channel, "gpu"),
                                   .number = 1};
        atomic_store(&known, channel_device_identified(agent.channel, &toy, "toy:Toy GPU/0"));
    }
    return atomic_load(&known);
}

// Not on the event path: it may take locks and allocate.
static void queue_made(const toy_queue *handle) {
    static _Atomic uint32_t made;
    char name[32];
    const uint32_t number = atomic_fetch_add(&made, 1) + 1;
    snprintf(name, sizeof name, "queue %u", number);
    const tsmith_track track = {.kind = TSMITH_TRACK_QUEUE,
                                .name = channel_string_cstr(agent.channel, name),
                                .device = device(),
                                .queue = number};
    for (int i = 0; i < QUEUES_MAX; i++) {
        const toy_queue *was = atomic_load(&queues[i].queue);
        // A handle that comes again is another queue.
        if ((was == handle || !was) &&
            (was || atomic_compare_exchange_strong(&queues[i].queue, &was, handle))) {
            queues[i].track = channel_track(agent.channel, &track);
            return;
        }
    }
}

// Its place; -1: not known.
static int queue_find(const toy_queue *handle) {
    for (int i = 0; i < QUEUES_MAX; i++)
        if (atomic_load_explicit(&queues[i].queue, memory_order_acquire) == handle)
            return i;
    return -1;
}

// ---- names

// The id of a text that never changes and stays where it is. Interning takes a lock, so that an event path does it once
// per text.
static uint32_t name_of(const char *text) {
    enum { TEXTS = 256 };
    static struct {
        const char *_Atomic text;
        uint32_t id;
    } texts[TEXTS];
    const uint32_t place = (uint32_t)((uintptr_t)text >> 2) % TEXTS;
    if (atomic_load_explicit(&texts[place].text, memory_order_acquire) == text)
        return texts[place].id;
    const uint32_t id = channel_string_cstr(agent.channel, text);
    const char *none = NULL;
    static const char busy;
    if (atomic_compare_exchange_strong(&texts[place].text, &none, &busy)) {
        texts[place].id = id;
        atomic_store_explicit(&texts[place].text, text, memory_order_release);
    }
    return id;
}

// ---- calls, on the program's threads

// Launches on their way, by number. One whose place is taken by a later one has no record.
static struct launch {
    _Atomic uint64_t correlation; // 0: it is not recorded
    uint64_t command, entered;
    _Atomic uint64_t left;
    uint32_t thread;
} launches[LAUNCHES_MAX];

static __thread struct {
    uint64_t entered, correlation;
    uint32_t stack;
} here;

static void tool_enter(const char *function, toy_queue *queue, uint64_t command) {
    (void)function;
    here.entered = 0;
    if (!agent_on())
        return;
    here.correlation = command ? agent_correlation() : 0;
    here.stack = command ? stacks_capture() : 0;
    const int at = command ? queue_find(queue) : -1;
    here.entered = agent_tick();
    if (at < 0)
        return;
    struct launch *launch = &launches[command % LAUNCHES_MAX];
    launch->command = command;
    launch->entered = here.entered;
    launch->thread = channel_thread_track(agent.channel);
    atomic_store_explicit(&launch->left, 0, memory_order_relaxed);
    atomic_store_explicit(&launch->correlation, here.correlation, memory_order_release);
    // If the process is killed, launches that have begun and not ended are counted as never completed.
    channel_begun(agent.channel, (uint32_t)at % LISTS, 1);
}

static void write_call(const char *function, uint32_t track, uint64_t end, int result) {
    const uint32_t words = 1 + RECORD_PART_WORDS(call_words);
    struct ring *ring = channel_ring(agent.channel);
    uint64_t *at = record_begin(ring, shapes.call, words, name_of(function));
    if (!at)
        return; // dropped, and counted
    RECORD_SET(at, call_words, .start = here.entered, .end = end, .correlation = here.correlation,
               .queue = track, .result = (uint64_t)(int64_t)result, .stack = here.stack);
    ring_commit(ring, words);
}

static void write_wait(const char *function, uint32_t track, uint64_t end) {
    const uint32_t words = 1 + RECORD_PART_WORDS(wait_words);
    struct ring *ring = channel_ring(agent.channel);
    uint64_t *at = record_begin(ring, shapes.wait, words, name_of(function));
    if (!at)
        return;
    RECORD_SET(at, wait_words, .start = here.entered, .end = end, .operation = TSMITH_OPERATION_FINISH,
               .queue = track);
    ring_commit(ring, words);
}

static void tool_leave(const char *function, toy_queue *queue, uint64_t command, int result) {
    const uint64_t end = agent_tick();
    struct launch *launch = &launches[command % LAUNCHES_MAX];
    if (!here.entered)
        return;
    if (strcmp(function, "toy_queue_create") == 0 && result == 0)
        queue_made(queue);
    const int at = queue_find(queue);
    const uint32_t track = at < 0 ? 0 : queues[at].track;
    write_call(function, track, end, result);
    if (strcmp(function, "toy_finish") == 0)
        write_wait(function, track, end);
    if (!command || at < 0)
        return;
    atomic_store_explicit(&launch->left, end, memory_order_release);
    if (result != 0) { // nothing was launched
        atomic_store(&launch->correlation, 0);
        channel_ended(agent.channel, (uint32_t)at % LISTS, 1);
    }
}

// ---- kernels, on the driver's threads

static void tool_done(toy_queue *queue, uint64_t command, const char *kernel, uint64_t queued, uint64_t start,
                      uint64_t end) {
    struct launch *launch = &launches[command % LAUNCHES_MAX];
    const int at = queue_find(queue);
    const uint64_t correlation = atomic_load_explicit(&launch->correlation, memory_order_acquire);
    if (at < 0 || !correlation || launch->command != command || !agent_recording())
        return;
    // The kernel may be done before its call is.
    const uint64_t left = atomic_load_explicit(&launch->left, memory_order_acquire);
    const uint32_t words = 1 + RECORD_PART_WORDS(kernel_words);
    struct ring *ring = channel_ring(agent.channel);
    uint64_t *place = record_begin(ring, shapes.kernel, words, queues[at].track);
    if (place) {
        RECORD_SET(place, kernel_words, .start = start, .end = end, .queued = queued,
                   .not_before = launch->entered, .not_after = left ? left : agent_tick(),
                   .name = name_of(kernel), .correlation = correlation, .host_track = launch->thread);
        ring_commit(ring, words);
    }
    channel_ended(agent.channel, (uint32_t)at % LISTS, 1);
}

// ---- the driver's way in

static const struct agent_spec spec = {.api = "toy", .begin = begin, .not_in_children = true};

AGENT_EXPORT toy_tool_start_function toy_tool_start;
AGENT_EXPORT const toy_tool *toy_tool_start(void) {
    static const toy_tool tool = {.enter = tool_enter, .leave = tool_leave, .done = tool_done};
    return agent_attach(&spec) ? &tool : NULL;
}
