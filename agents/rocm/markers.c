// SPDX-License-Identifier: Apache-2.0
// roctx: ranges and marks of the program, with its texts. The SDK's records of these calls have no text, so callbacks make the
// events, with times of the host. On the program's threads. Rules: agent.h.
#include "agent.h"
#include "agentkit/nesting.h"
#include "agentkit/record_words.h"
#include "agentkit/stacks.h"
#include "agentkit/texts.h"

enum { STARTED_MAX = 4096 };
enum opened_kind { OPENED_PUSH, OPENED_START };

#define MARK_WORDS(WORD) WORD(start, TSMITH_FIELD_START, RECORD_TICK) CATEGORY_WORD(WORD) STACK_OR_NONE(WORD)
#define MARKER_RECORDS(RECORD) RECORD(mark, MARK_WORDS, MARKER) RECORD(range, RANGE_TICKS_WORDS, RANGE)
MARKER_RECORDS(TRACK_RECORD_PART)
MARKER_RECORDS(TRACK_RECORD_SHAPE)

static struct { MARKER_RECORDS(TRACK_RECORD_MEMBER) } shapes;
static uint32_t category;

// Ranges that may end on another thread, by their numbers.
static struct started {
    _Atomic uint64_t number; // 0: none
    struct nesting range;
} started[STARTED_MAX];

void markers_init(void) {
    struct channel *channel = agent.channel;
    MARKER_RECORDS(CALL_RECORD_REGISTER)
    category = channel_string_cstr(channel, "roctx");
}

// The value of what was begun is its name.
static void write_range(const struct nesting *range) {
    if (range->start)
        RECORD_WRITE(channel_ring(agent.channel), shapes.range, (uint32_t)range->value, range_words,
                     range->start, agent_tick(), category, range->stack);
}

static void start(uint64_t number, const struct nesting *range) {
    struct started *place = &started[number % STARTED_MAX];
    uint64_t none = 0;
    if (!number || !range->start)
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
    const struct nesting range = place->range;
    atomic_store_explicit(&place->number, 0, memory_order_release);
    write_range(&range);
}

static void entered(int32_t operation, uint64_t argument) {
    const bool has_text =
        operation == SDK_MARKER_MARK || operation == SDK_MARKER_PUSH || operation == SDK_MARKER_START;
    const uint32_t text = has_text && agent_on() ? texts_id((const char *)(uintptr_t)argument) : 0;
    struct nesting range;
    switch (operation) {
    case SDK_MARKER_MARK:
        if (agent_on())
            RECORD_WRITE(channel_ring(agent.channel), shapes.mark, text, mark_words, agent_tick(), category,
                         stacks_capture());
        break;
    case SDK_MARKER_PUSH:
        nesting_begin(OPENED_PUSH, 0, text);
        break;
    case SDK_MARKER_POP:
        range = nesting_end(OPENED_PUSH, 0);
        write_range(&range);
        break;
    case SDK_MARKER_START: // its number comes with the end of the call
        nesting_begin(OPENED_START, 0, text);
        break;
    case SDK_MARKER_STOP:
        stop(argument);
        break;
    default:
        break;
    }
}

void markers_call(const struct sdk_callback_record *record) {
    const void *data = sdk_callback_payload(record);
    if (!data || !SDK_HAS(data, marker, argument))
        return;
    if (sdk_callback_phase(record) == SDK_PHASE_ENTER) {
        entered(sdk_callback_operation(record), sdk_marker_argument(data));
    } else if (sdk_callback_operation(record) == SDK_MARKER_START) {
        const struct nesting range = nesting_end(OPENED_START, 0);
        start(SDK_OR_0(data, marker, result), &range);
    }
}
