// SPDX-License-Identifier: Apache-2.0
// roctx: ranges and marks of the program, with its texts. The SDK's records of these calls have no text, so callbacks make the
// events, with times of the host. On the program's threads. Rules: agent.h.
#include "agent.h"
#include "agentkit/record_words.h"
#include "agentkit/texts.h"
#include "wire/memory.h"

enum { DEPTH_MAX = 64, STARTED_MAX = 4096 };

#define LABEL_WORDS(WORD) CATEGORY_WORD(WORD) STACK_OR_NONE(WORD)
#define MARK_WORDS(WORD) WORD(start, TSMITH_FIELD_START, RECORD_TICK) LABEL_WORDS(WORD)
#define RANGE_WORDS(WORD) TICKS_WORDS(WORD) LABEL_WORDS(WORD)
RECORD_PART(mark_words, MARK_WORDS)
RECORD_PART(range_words, RANGE_WORDS)
RECORD_PART_SHAPE(mark_words, MARK_WORDS)
RECORD_PART_SHAPE(range_words, RANGE_WORDS)

static uint16_t mark_shape, range_shape;
static uint32_t category;

struct range {
    uint64_t tick; // 0: it is not recorded
    uint32_t name, stack;
};

// What the calling thread has pushed.
static __thread struct {
    uint32_t depth;
    struct range *at; // DEPTH_MAX, made at the first one
} here __attribute__((tls_model("initial-exec")));

// Ranges that may end on another thread, by their numbers.
static struct started {
    _Atomic uint64_t number; // 0: none
    struct range range;
} started[STARTED_MAX];

void markers_init(void) {
    mark_shape = record_register(agent.channel, TSMITH_KIND_MARKER, RECORD_SUBJECT_NAME, mark_words_add);
    range_shape = record_register(agent.channel, TSMITH_KIND_RANGE, RECORD_SUBJECT_NAME, range_words_add);
    category = channel_string_cstr(agent.channel, "roctx");
}

static void write_range(const struct range *range) {
    if (range->tick)
        RECORD_WRITE(channel_ring(agent.channel), range_shape, range->name, range_words, range->tick,
                     agent_tick(), category, range->stack);
}

static void push(const struct range *range) {
    if (!here.at && !(here.at = memory_take(DEPTH_MAX * sizeof *here.at)))
        return;
    if (here.depth < DEPTH_MAX)
        here.at[here.depth] = *range;
    else
        channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
    here.depth++;
}

static void pop(void) {
    if (!here.depth)
        return; // pushed before the recording
    here.depth--;
    if (here.depth < DEPTH_MAX)
        write_range(&here.at[here.depth]);
}

static void start(uint64_t number, const struct range *range) {
    struct started *place = &started[number % STARTED_MAX];
    uint64_t none = 0;
    if (!number || !range->tick)
        return;
    if (atomic_load_explicit(&place->number, memory_order_acquire)) {
        channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
        return;
    }
    place->range = *range;
    if (!atomic_compare_exchange_strong_explicit(&place->number, &none, number, memory_order_release,
                                                 memory_order_relaxed))
        channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
}

static void stop(uint64_t number) {
    struct started *place = &started[number % STARTED_MAX];
    if (!number || atomic_load_explicit(&place->number, memory_order_acquire) != number)
        return; // started before the recording
    const struct range range = place->range;
    atomic_store_explicit(&place->number, 0, memory_order_release);
    write_range(&range);
}

void markers_call(const struct sdk_callback_record *record, uint32_t stack) {
    static __thread struct range starting __attribute__((tls_model("initial-exec")));
    const void *data = sdk_callback_payload(record);
    const bool enters = sdk_callback_phase(record) == SDK_PHASE_ENTER;
    const int32_t operation = sdk_callback_operation(record);
    if (!agent_recording() || !data || !SDK_HAS(data, marker, argument))
        return;
    struct range range = {0};
    if (enters && agent_on() && operation != SDK_MARKER_POP && operation != SDK_MARKER_STOP) {
        range = (struct range){.name = texts_id((const char *)(uintptr_t)sdk_marker_argument(data)),
                               .stack = stack};
        range.tick = agent_tick();
    }
    if (operation == SDK_MARKER_MARK && range.tick)
        RECORD_WRITE(channel_ring(agent.channel), mark_shape, range.name, mark_words, agent_tick(), category,
                     range.stack);
    else if (operation == SDK_MARKER_PUSH && enters)
        push(&range);
    else if (operation == SDK_MARKER_POP && enters)
        pop();
    else if (operation == SDK_MARKER_START && enters)
        starting = range;
    else if (operation == SDK_MARKER_START && SDK_HAS(data, marker, result))
        start(sdk_marker_result(data), &starting);
    else if (operation == SDK_MARKER_STOP && enters)
        stop(sdk_marker_argument(data));
}
