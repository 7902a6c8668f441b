// SPDX-License-Identifier: Apache-2.0
// Writes the records of calls and commands; record.h describes them. Rules: agent.h.
#include "record.h"

#include <stdio.h>

#include "wire/record_part.h"

#define OPTIONAL(encoding) ((encoding) | RECORD_ZERO_IS_NONE)

#define TIME_WORDS(WORD)                                                                                     \
    WORD(start, TSMITH_FIELD_START, RECORD_TICK)                                                             \
    WORD(end, TSMITH_FIELD_DURATION, RECORD_TICK_END)
#define CALL_WORDS(WORD)                                                                                     \
    WORD(correlation, TSMITH_FIELD_CORRELATION, OPTIONAL(RECORD_VALUE))                                      \
    WORD(queue, TSMITH_FIELD_QUEUE_TRACK, OPTIONAL(RECORD_TRACK))                                            \
    WORD(stack, TSMITH_FIELD_STACK, OPTIONAL(RECORD_STACK))
#define RESULT_WORDS(WORD) WORD(result, TSMITH_FIELD_RESULT, RECORD_VALUE)
#define WAIT_WORDS(WORD)                                                                                     \
    WORD(operation, TSMITH_FIELD_OPERATION, RECORD_VALUE)                                                    \
    WORD(queue, TSMITH_FIELD_QUEUE_TRACK, OPTIONAL(RECORD_TRACK))
#define MEMORY_WORDS(WORD)                                                                                   \
    WORD(operation, TSMITH_FIELD_OPERATION, RECORD_VALUE)                                                    \
    WORD(bytes, TSMITH_FIELD_BYTES, RECORD_VALUE)                                                            \
    WORD(object, TSMITH_FIELD_OBJECT, RECORD_VALUE)                                                          \
    WORD(live_bytes, TSMITH_FIELD_LIVE_BYTES, RECORD_VALUE)                                                  \
    WORD(heap, fields.heap, RECORD_DYNAMIC)
#define COMPILE_WORDS(WORD)                                                                                  \
    WORD(operation, TSMITH_FIELD_OPERATION, RECORD_VALUE)                                                    \
    WORD(result, TSMITH_FIELD_RESULT, RECORD_VALUE)
#define FRAME_WORDS(WORD)                                                                                    \
    WORD(correlation, TSMITH_FIELD_CORRELATION, OPTIONAL(RECORD_VALUE))                                      \
    WORD(queue, TSMITH_FIELD_QUEUE_TRACK, OPTIONAL(RECORD_TRACK))
#define WAITS_WORDS(WORD) WORD(count, TSMITH_FIELD_WAITS, RECORD_LIST)

#define TIMED_WORDS(WORD)                                                                                    \
    WORD(start, TSMITH_FIELD_START, RECORD_VALUE)                                                            \
    WORD(duration, TSMITH_FIELD_DURATION, RECORD_VALUE)                                                      \
    WORD(certainty, TSMITH_FIELD_CERTAINTY, OPTIONAL(RECORD_VALUE))
#define UNTIMED_WORDS(WORD)                                                                                  \
    WORD(start, TSMITH_FIELD_START, RECORD_TICK)                                                             \
    WORD(certainty, TSMITH_FIELD_CERTAINTY, RECORD_VALUE)
#define COMMAND_WORDS(WORD)                                                                                  \
    WORD(correlation, TSMITH_FIELD_CORRELATION, RECORD_VALUE)                                                \
    WORD(host_track, TSMITH_FIELD_HOST_TRACK, OPTIONAL(RECORD_TRACK))                                        \
    WORD(name, TSMITH_FIELD_NAME, OPTIONAL(RECORD_STRING))                                                   \
    WORD(stack, TSMITH_FIELD_STACK, OPTIONAL(RECORD_STACK))                                                  \
    WORD(operation, TSMITH_FIELD_OPERATION, OPTIONAL(RECORD_VALUE))                                          \
    WORD(barriers, fields.barriers, OPTIONAL(RECORD_DYNAMIC))
#define DISPATCH_WORDS(WORD)                                                                                 \
    WORD(global_x, TSMITH_FIELD_GLOBAL_X, OPTIONAL(RECORD_VALUE))                                            \
    WORD(global_y, TSMITH_FIELD_GLOBAL_Y, OPTIONAL(RECORD_VALUE))                                            \
    WORD(global_z, TSMITH_FIELD_GLOBAL_Z, OPTIONAL(RECORD_VALUE))                                            \
    WORD(local_x, TSMITH_FIELD_LOCAL_X, OPTIONAL(RECORD_VALUE))                                              \
    WORD(local_y, TSMITH_FIELD_LOCAL_Y, OPTIONAL(RECORD_VALUE))                                              \
    WORD(local_z, TSMITH_FIELD_LOCAL_Z, OPTIONAL(RECORD_VALUE))
#define PASS_WORDS(WORD) WORD(draws, fields.draws, RECORD_DYNAMIC)
#define COPY_WORDS(WORD) WORD(direction, TSMITH_FIELD_DIRECTION, OPTIONAL(RECORD_VALUE))
#define BYTES_WORDS(WORD) WORD(bytes, TSMITH_FIELD_BYTES, RECORD_VALUE)

#define VULKAN_RECORD_PARTS(PART)                                                                            \
    PART(time_words, TIME_WORDS)                                                                             \
    PART(call_words, CALL_WORDS)                                                                             \
    PART(result_words, RESULT_WORDS)                                                                         \
    PART(wait_words, WAIT_WORDS)                                                                             \
    PART(memory_words, MEMORY_WORDS)                                                                         \
    PART(compile_words, COMPILE_WORDS)                                                                       \
    PART(frame_words, FRAME_WORDS)                                                                           \
    PART(waits_words, WAITS_WORDS)                                                                           \
    PART(timed_words, TIMED_WORDS)                                                                           \
    PART(untimed_words, UNTIMED_WORDS)                                                                       \
    PART(command_words, COMMAND_WORDS)                                                                       \
    PART(dispatch_words, DISPATCH_WORDS)                                                                     \
    PART(pass_words, PASS_WORDS)                                                                             \
    PART(copy_words, COPY_WORDS)                                                                             \
    PART(bytes_words, BYTES_WORDS)

static struct { uint16_t heap, barriers, draws; } fields;
VULKAN_RECORD_PARTS(RECORD_PART)
VULKAN_RECORD_PARTS(RECORD_PART_SHAPE)

static struct {
    uint16_t call, call_void, wait[2], alloc, free, compile, frame;
    uint16_t command[CLASS_LIMIT][2][2][2]; // timed, with bytes, with waits
} shapes;
static uint32_t call_names[CALL_LIMIT], frame_name;

static uint16_t host_shape(tsmith_kind kind, void (*add)(struct record_shape *shape),
                           void (*more)(struct record_shape *shape)) {
    struct record_shape shape = record_shape_begin(kind, RECORD_SUBJECT_NAME);
    time_words_add(&shape);
    add(&shape);
    if (more)
        more(&shape);
    return channel_shape(agent.channel, &shape);
}

static uint16_t command_shape(enum command_class class, bool timed, bool bytes, bool waits) {
    static const uint8_t kinds[CLASS_LIMIT] = {[CLASS_DISPATCH] = TSMITH_KIND_KERNEL,
                                               [CLASS_PASS] = TSMITH_KIND_KERNEL,
                                               [CLASS_COPY] = TSMITH_KIND_MEMCPY,
                                               [CLASS_FILL] = TSMITH_KIND_MEMSET};
    struct record_shape shape = record_shape_begin((tsmith_kind)kinds[class], RECORD_SUBJECT_TRACK);
    if (timed)
        timed_words_add(&shape);
    else
        untimed_words_add(&shape);
    command_words_add(&shape);
    if (class == CLASS_DISPATCH)
        dispatch_words_add(&shape);
    if (class == CLASS_PASS)
        pass_words_add(&shape);
    if (class == CLASS_COPY)
        copy_words_add(&shape);
    if (bytes)
        bytes_words_add(&shape);
    if (waits)
        waits_words_add(&shape);
    return channel_shape(agent.channel, &shape);
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
    fields.heap = channel_field(agent.channel, "heap", TSMITH_TYPE_U64, "");
    fields.barriers = channel_field(agent.channel, "barriers", TSMITH_TYPE_U64, "");
    fields.draws = channel_field(agent.channel, "draws", TSMITH_TYPE_U64, "");
    shapes.call = host_shape(TSMITH_KIND_API, call_words_add, result_words_add);
    shapes.call_void = host_shape(TSMITH_KIND_API, call_words_add, NULL);
    shapes.wait[0] = host_shape(TSMITH_KIND_SYNC, wait_words_add, NULL);
    shapes.wait[1] = host_shape(TSMITH_KIND_SYNC, wait_words_add, waits_words_add);
    shapes.alloc = host_shape(TSMITH_KIND_ALLOC, memory_words_add, NULL);
    shapes.free = host_shape(TSMITH_KIND_FREE, memory_words_add, NULL);
    shapes.compile = host_shape(TSMITH_KIND_COMPILE, compile_words_add, NULL);
    shapes.frame = host_shape(TSMITH_KIND_FRAME, frame_words_add, NULL);
    for (int class = 0; class < CLASS_SECONDARY; class ++)
        for (int i = 0; i < 8; i++)
            shapes.command[class][i & 1][i >> 1 & 1][i >> 2] =
                command_shape((enum command_class) class, i & 1, i >> 1 & 1, i >> 2);
}

uint32_t record_call_name(enum call_id function) {
    return call_names[function];
}

// ---- on the calling thread

// Room for a record with `part`; returns from the function if there is none, which is counted.
#define HOST_RECORD(at, shape, subject, from, to, words)                                                     \
    struct ring *ring = channel_ring(agent.channel);                                                         \
    const uint32_t word_count = 1 + RECORD_PART_WORDS(time_words) + (words);                                 \
    uint64_t *at = record_begin(ring, shape, word_count, subject);                                           \
    if (!at)                                                                                                 \
        return;                                                                                              \
    RECORD_PUT(at, time_words, .start = (from), .end = (to))

static void write_call(struct call *call, const VkResult *result) {
    if (!call->end)
        call->end = agent_tick();
    HOST_RECORD(at, result ? shapes.call : shapes.call_void, call_names[call->function], call->start,
                call->end, RECORD_PART_WORDS(call_words) + (result ? RECORD_PART_WORDS(result_words) : 0));
    RECORD_PUT(at, call_words, .correlation = call->correlation, .queue = call->track, .stack = call->stack);
    if (result)
        RECORD_PUT(at, result_words, (uint64_t)(int64_t)*result);
    ring_commit(ring, word_count);
}

void record_call(struct call *call, VkResult result) {
    if (agent_on())
        write_call(call, &result);
}

void record_call_void(struct call *call) {
    if (agent_on())
        write_call(call, NULL);
}

void record_wait(const struct call *call, tsmith_operation operation, uint32_t count, const uint64_t *waits) {
    if (!agent_on())
        return;
    HOST_RECORD(at, shapes.wait[count != 0], call_names[call->function], call->start, call->end,
                RECORD_PART_WORDS(wait_words) + (count ? 1 + count : 0));
    RECORD_PUT(at, wait_words, .operation = operation, .queue = call->track);
    if (count)
        *at++ = count;
    for (uint32_t i = 0; i < count; i++)
        *at++ = waits[i];
    ring_commit(ring, word_count);
}

void record_memory(const struct call *call, tsmith_kind kind, const struct object *memory, uint64_t live) {
    if (!agent_on() || !call->end)
        return;
    HOST_RECORD(at, kind == TSMITH_KIND_ALLOC ? shapes.alloc : shapes.free, call_names[call->function],
                call->start, call->end, RECORD_PART_WORDS(memory_words));
    RECORD_PUT(at, memory_words, .operation = TSMITH_OPERATION_BUFFER, .bytes = memory->memory.bytes,
               .object = memory->number, .live_bytes = live, .heap = memory->memory.heap);
    ring_commit(ring, word_count);
}

void record_compile(const struct call *call, uint32_t name, VkResult result) {
    if (!agent_on() || !call->end)
        return;
    HOST_RECORD(at, shapes.compile, name ? name : call_names[call->function], call->start, call->end,
                RECORD_PART_WORDS(compile_words));
    RECORD_PUT(at, compile_words, .operation = TSMITH_OPERATION_BUILD, .result = (uint64_t)(int64_t)result);
    ring_commit(ring, word_count);
}

void record_frame(const struct call *call, struct object *swapchain) {
    const uint64_t begun = swapchain->swapchain.presented;
    swapchain->swapchain.presented = call->end;
    if (!agent_on())
        return;
    HOST_RECORD(at, shapes.frame, frame_name, begun, call->end, RECORD_PART_WORDS(frame_words));
    RECORD_PUT(at, frame_words, .correlation = call->correlation, .queue = call->track);
    ring_commit(ring, word_count);
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
    uint64_t *head = ring ? ring_reserve(ring, COMMAND_WORDS_MAX) : NULL;
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
    at = put_class(at, command);
    if (wait_count)
        *at++ = wait_count;
    for (uint32_t i = 0; i < wait_count; i++)
        *at++ = waits[i];
    const uint32_t words = (uint32_t)(at - head);
    *head = record_head(shapes.command[command->class][timed][command->has_bytes][wait_count != 0], words,
                        launch->track);
    ring_commit(ring, words);
}

uint32_t record_queue_track(const struct object *queue) {
    char name[64];
    snprintf(name, sizeof name, "Queue %u", queue->number);
    const tsmith_track track = {
        .kind = TSMITH_TRACK_QUEUE,
        .flags = TSMITH_TRACK_OUT_OF_ORDER, // commands overlap unless there are barriers
        .name = channel_string_cstr(agent.channel, name),
        .device = queue->device->id,
        .context = queue->device->number,
        .queue = queue->number,
    };
    return channel_track(agent.channel, &track);
}
