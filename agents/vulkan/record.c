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
#define VULKAN_RECORD_PARTS(PART) \
    PART(call_words, CALL_WORDS) PART(call_result_words, CALL_RESULT_WORDS) \
    PART(wait_words, WAIT_TICKS_WORDS) PART(memory_words, MEMORY_WORDS) PART(compile_words, COMPILE_WORDS) \
    PART(frame_words, FRAME_WORDS) PART(waits_words, WAITS_WORDS) PART(timed_words, TIMED_WORDS) \
    PART(untimed_words, UNTIMED_TICK_WORDS) PART(command_words, COMMAND_WORDS) \
    PART(dispatch_words, KERNEL_SIZES_WORDS) PART(pass_words, PASS_WORDS) \
    PART(copy_words, DIRECTION_OR_NONE) PART(bytes_words, BYTES_WORD)
// clang-format on

static struct { uint16_t heap, barriers, draws; } fields;
VULKAN_RECORD_PARTS(RECORD_PART)
VULKAN_RECORD_PARTS(RECORD_PART_SHAPE)

static struct {
    uint16_t call, call_void, wait[2], alloc, free, compile, frame;
    uint16_t command[CLASS_LIMIT][2][2][2]; // timed, with bytes, with waits
} shapes;
static uint32_t call_names[CALL_LIMIT], frame_name;

static void wait_list_add(struct record_shape *shape) {
    wait_words_add(shape);
    waits_words_add(shape);
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
    const struct {
        uint16_t *shape;
        tsmith_kind kind;
        void (*add)(struct record_shape *shape);
    } rows[] = {{&shapes.call, TSMITH_KIND_API, call_result_words_add},
                {&shapes.call_void, TSMITH_KIND_API, call_words_add},
                {&shapes.wait[0], TSMITH_KIND_SYNC, wait_words_add},
                {&shapes.wait[1], TSMITH_KIND_SYNC, wait_list_add},
                {&shapes.alloc, TSMITH_KIND_ALLOC, memory_words_add},
                {&shapes.free, TSMITH_KIND_FREE, memory_words_add},
                {&shapes.compile, TSMITH_KIND_COMPILE, compile_words_add},
                {&shapes.frame, TSMITH_KIND_FRAME, frame_words_add}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        *rows[i].shape = record_register(agent.channel, rows[i].kind, RECORD_SUBJECT_NAME, rows[i].add);
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
    HOST_RECORD(shapes.call, call_names[call->function], call, call_result_words,
                .correlation = call->correlation, .queue = call->track, .stack = call->stack,
                .result = (uint64_t)(int64_t)result);
}

void record_call_void(struct call *call) {
    if (!agent_on())
        return;
    call->end = call->end ? call->end : agent_tick();
    HOST_RECORD(shapes.call_void, call_names[call->function], call, call_words,
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
    uint64_t *at = record_begin(ring, shapes.wait[count != 0], words, call_names[call->function]);
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
                    memory_words, .operation = TSMITH_OPERATION_BUFFER, .bytes = memory->memory.bytes,
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
