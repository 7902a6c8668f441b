// SPDX-License-Identifier: Apache-2.0
// Writes the records of calls and commands; record.h describes them. Rules: agent.h.
#define RECORD_HOOKED 1 // --aggregate
#include "record.h"

#include "agentkit/device.h"
#include "agentkit/record_words.h"

#define CALL_WORDS(WORD) TICKS_WORDS(WORD) CORRELATION_OR_NONE(WORD) QUEUE_OR_NONE(WORD) STACK_OR_NONE(WORD)
#define CALL_RESULT_WORDS(WORD) CALL_WORDS(WORD) RESULT_WORD(WORD)
// clang-format off
#define MEMORY_WORDS(WORD) \
    TICKS_WORDS(WORD) OPERATION_WORD(WORD) BYTES_WORD(WORD) OBJECT_WORD(WORD) LIVE_BYTES_WORD(WORD) \
    OWN_WORD(WORD, heap)
#define COMPILE_WORDS(WORD) TICKS_WORDS(WORD) OPERATION_WORD(WORD) RESULT_WORD(WORD)
#define FRAME_WORDS(WORD) TICKS_WORDS(WORD) CORRELATION_OR_NONE(WORD) QUEUE_OR_NONE(WORD)
#define WAITS_WORDS(WORD) WORD(count, TSMITH_FIELD_WAITS, RECORD_LIST)

#define TIMED_WORDS(WORD) SPAN_WORDS(WORD) WORD(certainty, TSMITH_FIELD_CERTAINTY, OPTIONAL(RECORD_VALUE))
#define COMMAND_WORDS(WORD) \
    CORRELATION_WORD(WORD) HOST_TRACK_OR_NONE(WORD) NAME_OR_NONE(WORD) STACK_OR_NONE(WORD) \
    OPERATION_OR_NONE(WORD) OWN_OR_NONE(WORD, barriers)
// clang-format on
#define PASS_WORDS(WORD) OWN_WORD(WORD, draws)

// clang-format off
#define VULKAN_RECORDS(RECORD) \
    RECORD(call, CALL_RESULT_WORDS, API) RECORD(call_void, CALL_WORDS, API) RECORD(wait, WAIT_TICKS_WORDS, SYNC) \
    RECORD(alloc, MEMORY_WORDS, ALLOC) RECORD(free, MEMORY_WORDS, FREE) \
    RECORD(compile, COMPILE_WORDS, COMPILE) RECORD(frame, FRAME_WORDS, FRAME)
#define VULKAN_COMMAND_PARTS(PART) \
    PART(waits_words, WAITS_WORDS) PART(timed_words, TIMED_WORDS) PART(untimed_words, UNTIMED_TICK_WORDS) \
    PART(command_words, COMMAND_WORDS) PART(dispatch_words, KERNEL_SIZES_WORDS) PART(pass_words, PASS_WORDS) \
    PART(copy_words, DIRECTION_OR_NONE) PART(bytes_words, BYTES_WORD)
#define VULKAN_FIELDS(OWN) \
    OWN(heap, "heap", U64, "") OWN(barriers, "barriers", U64, "") OWN(draws, "draws", U64, "")
// clang-format on

static struct { VULKAN_FIELDS(OWN_FIELD_MEMBER) } fields;
VULKAN_RECORDS(TRACK_RECORD_PART)
VULKAN_RECORDS(TRACK_RECORD_SHAPE)
VULKAN_COMMAND_PARTS(RECORD_PART)
VULKAN_COMMAND_PARTS(RECORD_PART_SHAPE)

static struct {
    VULKAN_RECORDS(TRACK_RECORD_MEMBER)
    uint16_t wait_list;
    uint16_t command[CLASS_LIMIT][2][2][2]; // timed, with bytes, with waits
} shapes;
static uint32_t call_names[CALL_LIMIT], frame_name;

static uint16_t command_shape(enum command_class class, bool timed, bool bytes, bool waits) {
    static const uint8_t kinds[CLASS_LIMIT] = {[CLASS_DISPATCH] = TSMITH_KIND_KERNEL,
                                               [CLASS_PASS] = TSMITH_KIND_KERNEL,
                                               [CLASS_COPY] = TSMITH_KIND_MEMCPY,
                                               [CLASS_FILL] = TSMITH_KIND_MEMSET};
    static record_part_add *const parts[CLASS_LIMIT] = {
        [CLASS_DISPATCH] = dispatch_words_add, [CLASS_PASS] = pass_words_add, [CLASS_COPY] = copy_words_add};
    return RECORD_REGISTER(agent.channel, (tsmith_kind)kinds[class], RECORD_SUBJECT_TRACK,
                           timed ? timed_words_add : untimed_words_add, command_words_add, parts[class],
                           bytes ? bytes_words_add : NULL, waits ? waits_words_add : NULL);
}

void record_init(void) {
    static const char *const texts[] = {[CALL_NONE] = "",
#define CALL_TEXT(name, ...) [CALL_##name] = "vk" #name,
                                        VULKAN_CALLS(CALL_TEXT)
#undef CALL_TEXT
    };
    for (int i = 1; i < CALL_LIMIT; i++)
        call_names[i] = channel_string_cstr(agent.channel, texts[i]);
    frame_name = channel_string_cstr(agent.channel, "frame");
    struct channel *channel = agent.channel;
    VULKAN_FIELDS(OWN_FIELD_REGISTER)
    VULKAN_RECORDS(CALL_RECORD_REGISTER)
    shapes.wait_list =
        RECORD_REGISTER(channel, TSMITH_KIND_SYNC, RECORD_SUBJECT_NAME, wait_words_add, waits_words_add);
    for (int class = 0; class < CLASS_SECONDARY; class ++)
        for (int i = 0; i < 8; i++)
            shapes.command[class][i & 1][i >> 1 & 1][i >> 2] =
                command_shape((enum command_class) class, i & 1, i >> 1 & 1, i >> 2);
}

uint32_t record_call_name(enum call_id function) {
    return call_names[function];
}

// ---- on the calling thread

#define HOST_RECORD(shape, subject, call, part, ...)                                                         \
    RECORD_WRITE(channel_ring(agent.channel), shape, subject, part, .start = (call)->start,                  \
                 .end = (call)->end, __VA_ARGS__)

void record_call(struct call *call, VkResult result) {
    if (!agent_on())
        return;
    call->end = call->end ? call->end : agent_tick();
    HOST_RECORD(shapes.call, call_names[call->function], call, call_words, .correlation = call->correlation,
                .queue = call->track, .stack = call->stack, .result = (uint64_t)(int64_t)result);
}

void record_call_void(struct call *call) {
    if (!agent_on())
        return;
    call->end = call->end ? call->end : agent_tick();
    HOST_RECORD(shapes.call_void, call_names[call->function], call, call_void_words,
                .correlation = call->correlation, .queue = call->track, .stack = call->stack);
}

// A count of correlation ids and the ids, if there are any.
static uint64_t *put_waits(uint64_t *at, uint32_t count, const uint64_t *waits) {
    if (count)
        *at++ = count;
    for (uint32_t i = 0; i < count; i++)
        *at++ = waits[i];
    return at;
}

void record_wait(const struct call *call, tsmith_operation operation, uint32_t count, const uint64_t *waits) {
    const uint32_t words = 1 + RECORD_PART_WORDS(wait_words) + (count ? 1 + count : 0);
    struct ring *ring = agent_on() ? channel_ring(agent.channel) : NULL;
    uint64_t *at =
        record_begin(ring, count ? shapes.wait_list : shapes.wait, words, call_names[call->function]);
    if (!at)
        return;
    uint64_t *const head = at - 1;
    RECORD_PUT(at, wait_words, .start = call->start, .end = call->end, .operation = operation,
               .queue = call->track);
    put_waits(at, count, waits);
    record_commit(ring, head, words);
}

void record_memory(const struct call *call, tsmith_kind kind, const struct object *memory, uint64_t live) {
    if (agent_on() && call->end)
        HOST_RECORD(kind == TSMITH_KIND_ALLOC ? shapes.alloc : shapes.free, call_names[call->function], call,
                    alloc_words, .operation = TSMITH_OPERATION_BUFFER, .bytes = memory->memory.bytes,
                    .object = memory->handle.number, .live_bytes = live, .heap = memory->memory.heap);
}

void record_compile(const struct call *call, uint32_t name, VkResult result) {
    if (agent_on() && call->end)
        HOST_RECORD(shapes.compile, name ? name : call_names[call->function], call, compile_words,
                    .operation = TSMITH_OPERATION_BUILD, .result = (uint64_t)(int64_t)result);
}

void record_frame(const struct call *call, struct object *swapchain) {
    const uint64_t begun = swapchain->swapchain.presented;
    swapchain->swapchain.presented = call->end;
    if (agent_on())
        RECORD_WRITE(channel_ring(agent.channel), shapes.frame, frame_name, frame_words, .start = begun,
                     .end = call->end, .correlation = call->correlation, .queue = call->track);
}

// ---- on the track of a queue

enum {
    COMMAND_WORDS_MAX = 1 + RECORD_PART_WORDS(timed_words) + RECORD_PART_WORDS(command_words) +
                        RECORD_PART_WORDS(dispatch_words) + RECORD_PART_WORDS(bytes_words) + 1 + VALUES_MAX
};

static uint64_t *put_class(uint64_t *at, const struct command *command) {
    if (command->class == CLASS_DISPATCH)
        RECORD_PUT(at, dispatch_words, .global_x = command->global[0], .global_y = command->global[1],
                   .global_z = command->global[2], .local_x = command->local[0], .local_y = command->local[1],
                   .local_z = command->local[2]);
    if (command->class == CLASS_PASS)
        RECORD_PUT(at, pass_words, .draws = command->draws);
    if (command->class == CLASS_COPY)
        RECORD_PUT(at, copy_words, .direction = command->direction);
    if (command->has_bytes)
        RECORD_PUT(at, bytes_words, .bytes = command->bytes);
    return at;
}

void record_command(const struct command *command, const struct launch *launch, uint32_t wait_count,
                    const uint64_t *waits, uint64_t start, uint64_t end, bool inferred) {
    const bool timed = start != 0;
    if (!timed)
        channel_lose(agent.channel, TSMITH_REASON_NO_TIMING, 1);
    struct ring *ring = channel_ring(agent.channel);
    uint64_t *head = ring ? record_reserve(ring, COMMAND_WORDS_MAX) : NULL;
    if (!head)
        return;
    uint64_t *at = head + 1;
    if (timed)
        RECORD_PUT(at, timed_words, .start = start, .duration = end - start,
                   .certainty = inferred ? TSMITH_CERTAINTY_INFERRED : 0);
    else
        RECORD_PUT(at, untimed_words, .start = launch->returned, .certainty = TSMITH_CERTAINTY_UNTIMED);
    RECORD_PUT(at, command_words, .correlation = launch->correlation, .host_track = launch->host_track,
               .name = command->name, .stack = command->stack ? command->stack : launch->stack,
               .operation = command->operation, .barriers = command->barriers);
    at = put_waits(put_class(at, command), wait_count, waits);
    record_close(ring, head, at, shapes.command[command->class][timed][command->has_bytes][wait_count != 0],
                 launch->track);
}

// Commands overlap unless there are barriers.
uint32_t record_queue_track(const struct object *queue) {
    return device_queue_track("Queue", queue->handle.number, TSMITH_TRACK_OUT_OF_ORDER, queue->device->id,
                              queue->device->number);
}
