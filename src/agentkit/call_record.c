// SPDX-License-Identifier: Apache-2.0
// Writes the records of calls, as call_record.h describes them. The Level Zero and Vulkan agents call it.
#define RECORD_HOOKED 1 // --aggregate
#include "agentkit/call_record.h"

#include "agentkit/agent.h"
#include "agentkit/device.h"
#include "agentkit/record_words.h"

// clang-format off
#define CALL_WORDS(WORD) TICKS_WORDS(WORD) CORRELATION_OR_NONE(WORD) QUEUE_OR_NONE(WORD) STACK_OR_NONE(WORD)
#define RESULT_CALL_WORDS(WORD) CALL_WORDS(WORD) RESULT_WORD(WORD)
#define WAITS_WORDS(WORD) WORD(count, TSMITH_FIELD_WAITS, RECORD_LIST)
#define MEMORY_WORDS(WORD) \
    TICKS_WORDS(WORD) OPERATION_WORD(WORD) BYTES_WORD(WORD) OBJECT_WORD(WORD) \
    WORD(address, TSMITH_FIELD_ADDRESS, OPTIONAL(RECORD_VALUE)) LIVE_BYTES_WORD(WORD)
#define COMPILE_WORDS(WORD) \
    TICKS_WORDS(WORD) OPERATION_WORD(WORD) WORD(options, TSMITH_FIELD_TEXT, OPTIONAL(RECORD_STRING)) \
    RESULT_WORD(WORD)
#define CALL_PARTS(PART) \
    PART(void_words, CALL_WORDS) PART(call_words, RESULT_CALL_WORDS) PART(wait_words, WAIT_TICKS_WORDS) \
    PART(waits_words, WAITS_WORDS) PART(memory_words, MEMORY_WORDS) PART(compile_words, COMPILE_WORDS)
// clang-format on

CALL_PARTS(RECORD_PART)
CALL_PARTS(RECORD_PART_SHAPE)

static struct { uint16_t call, call_void, wait, wait_list, alloc, free, compile; } shapes;
static bool has_more;
static _Atomic uint64_t live_bytes;

#define REGISTER(kind, ...)                                                                                  \
    RECORD_REGISTER(agent.channel, TSMITH_KIND_##kind, RECORD_SUBJECT_NAME, __VA_ARGS__)

void call_records_register(record_part_add *more) {
    shapes.call = REGISTER(API, call_words_add);
    shapes.call_void = REGISTER(API, void_words_add);
    shapes.wait = REGISTER(SYNC, wait_words_add);
    shapes.wait_list = REGISTER(SYNC, wait_words_add, waits_words_add);
    shapes.alloc = REGISTER(ALLOC, memory_words_add, more);
    shapes.free = REGISTER(FREE, memory_words_add, more);
    shapes.compile = REGISTER(COMPILE, compile_words_add);
    has_more = more != NULL;
}

#define WRITE(shape, subject, part, ...)                                                                     \
    RECORD_WRITE(channel_ring(agent.channel), shapes.shape, subject, part, .start = call->start,             \
                 .end = call->end, __VA_ARGS__)

void call_record(const struct agent_call *call, int64_t result) {
    WRITE(call, call->name, call_words, .correlation = call->correlation, .queue = call->track,
          .stack = call->stack, .result = (uint64_t)result);
}

void call_record_void(const struct agent_call *call) {
    WRITE(call_void, call->name, void_words, .correlation = call->correlation, .queue = call->track,
          .stack = call->stack);
}

void call_record_wait(const struct agent_call *call, tsmith_operation operation, uint32_t count,
                      const uint64_t *waits) {
    const uint32_t words = 1 + RECORD_PART_WORDS(wait_words) + (count ? 1 + count : 0);
    struct ring *ring = channel_ring(agent.channel);
    uint64_t *at = record_begin(ring, count ? shapes.wait_list : shapes.wait, words, call->name);
    if (!at)
        return;
    uint64_t *const head = at - 1;
    RECORD_PUT(at, wait_words, .start = call->start, .end = call->end, .operation = operation,
               .queue = call->track);
    if (count)
        *at++ = count;
    for (uint32_t i = 0; i < count; i++)
        *at++ = waits[i];
    record_commit(ring, head, words);
}

void call_record_compile(const struct agent_call *call, uint32_t name, const char *options, int64_t result) {
    WRITE(compile, name ? name : call->name, compile_words, .operation = TSMITH_OPERATION_BUILD,
          .options = device_string(options), .result = (uint64_t)result);
}

// ---- memory

static void write_memory(uint16_t shape, const struct agent_call *call, const struct memory_facts *memory,
                         uint64_t live) {
    const uint32_t words = 1 + RECORD_PART_WORDS(memory_words) + has_more;
    struct ring *ring = channel_ring(agent.channel);
    uint64_t *at = call_is_recorded(call) ? record_begin(ring, shape, words, call->name) : NULL;
    if (!at)
        return;
    uint64_t *const head = at - 1;
    RECORD_PUT(at, memory_words, .start = call->start, .end = call->end, .operation = memory->operation,
               .bytes = memory->bytes, .object = memory->number, .address = memory->address,
               .live_bytes = live);
    if (has_more)
        *at = memory->more;
    record_commit(ring, head, words);
}

void call_record_alloc(const struct agent_call *call, const struct memory_facts *memory) {
    write_memory(shapes.alloc, call, memory, atomic_fetch_add(&live_bytes, memory->bytes) + memory->bytes);
}

void call_record_free(const struct agent_call *call, const struct memory_facts *memory) {
    write_memory(shapes.free, call, memory, atomic_fetch_sub(&live_bytes, memory->bytes) - memory->bytes);
}
