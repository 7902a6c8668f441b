// SPDX-License-Identifier: Apache-2.0
// Writes the records of calls and commands; record.h describes them. Rules: agent.h.
#define RECORD_HOOKED 1 // --aggregate
#include "record.h"

#include <stdio.h>

#include "agentkit/record_words.h"

#define CALL_WORDS(WORD) CALL_TICKS_WORDS(WORD) STACK_OR_NONE(WORD)
// clang-format off
#define MEMORY_WORDS(WORD) \
    TICKS_WORDS(WORD) OPERATION_WORD(WORD) BYTES_WORD(WORD) OBJECT_WORD(WORD) \
    WORD(address, TSMITH_FIELD_ADDRESS, RECORD_VALUE) LIVE_BYTES_WORD(WORD)
#define COMPILE_WORDS(WORD) \
    TICKS_WORDS(WORD) OPERATION_WORD(WORD) WORD(options, TSMITH_FIELD_TEXT, OPTIONAL(RECORD_STRING)) \
    RESULT_WORD(WORD)
// clang-format on

#define COMMAND_WORDS(WORD) CAUSE_WORDS(WORD) OPERATION_WORD(WORD)

// clang-format off
#define LEVEL_ZERO_RECORDS(RECORD) \
    RECORD(call, CALL_WORDS, API) RECORD(wait, WAIT_TICKS_WORDS, SYNC) RECORD(alloc, MEMORY_WORDS, ALLOC) \
    RECORD(free, MEMORY_WORDS, FREE) RECORD(compile, COMPILE_WORDS, COMPILE)
#define LEVEL_ZERO_COMMAND_PARTS(PART) \
    PART(timed_words, SPAN_WORDS) PART(untimed_words, UNTIMED_TICK_WORDS) PART(command_words, COMMAND_WORDS) \
    PART(kernel_words, KERNEL_SIZES_WORDS) PART(copy_words, DIRECTION_OR_NONE) PART(bytes_words, BYTES_WORD)
// clang-format on

LEVEL_ZERO_RECORDS(TRACK_RECORD_PART)
LEVEL_ZERO_RECORDS(TRACK_RECORD_SHAPE)
LEVEL_ZERO_COMMAND_PARTS(RECORD_PART)
LEVEL_ZERO_COMMAND_PARTS(RECORD_PART_SHAPE)

static struct {
    LEVEL_ZERO_RECORDS(TRACK_RECORD_MEMBER)
    uint16_t command[CLASS_LIMIT][2][2]; // timed, bytes are known
} shapes;
static uint32_t call_names[CALL_LIMIT], copy_name, fill_name;

static uint16_t command_shape(enum command_class class, bool timed, bool bytes) {
    static const uint8_t kinds[CLASS_LIMIT] = {[CLASS_KERNEL] = TSMITH_KIND_KERNEL,
                                               [CLASS_COPY] = TSMITH_KIND_MEMCPY,
                                               [CLASS_FILL] = TSMITH_KIND_MEMSET};
    return RECORD_REGISTER(agent.channel, (tsmith_kind)kinds[class], RECORD_SUBJECT_TRACK,
                           timed ? timed_words_add : untimed_words_add, command_words_add,
                           class == CLASS_KERNEL ? kernel_words_add
                           : class == CLASS_COPY ? copy_words_add
                                                 : NULL,
                           bytes ? bytes_words_add : NULL);
}

void record_init(void) {
    struct channel *channel = agent.channel;
    char text[128];
    for (int i = 0; i < CALL_LIMIT; i++) {
        snprintf(text, sizeof text, "ze%s", call_rows[i].name);
        call_names[i] = channel_string_cstr(channel, text);
    }
    copy_name = channel_string_cstr(channel, "copy");
    fill_name = channel_string_cstr(channel, "fill");
    LEVEL_ZERO_RECORDS(CALL_RECORD_REGISTER)
    for (int class = 0; class < CLASS_LIMIT; class ++)
        for (int timed = 0; timed < 2; timed++)
            for (int bytes = 0; bytes < 2; bytes++)
                shapes.command[class][timed][bytes] =
                    command_shape((enum command_class) class, timed, bytes && class != CLASS_KERNEL);
}

// ---- on the calling thread

#define HOST_RECORD(shape, frame, part, ...)                                                                 \
    RECORD_WRITE(channel_ring(agent.channel), shape, call_names[(frame)->function], part,                    \
                 .start = (frame)->start, .end = (frame)->end, __VA_ARGS__)

void record_call(const struct frame *frame) {
    HOST_RECORD(shapes.call, frame, call_words, .correlation = frame->correlation, .queue = frame->track,
                .result = (uint64_t)(int64_t)frame->result, .stack = frame->stack);
}

void record_wait(const struct frame *frame, tsmith_operation operation) {
    HOST_RECORD(shapes.wait, frame, wait_words, .operation = operation, .queue = frame->track);
}

void record_memory(const struct frame *frame, tsmith_kind kind, const struct memory *memory, uint64_t live) {
    HOST_RECORD(kind == TSMITH_KIND_ALLOC ? shapes.alloc : shapes.free, frame, alloc_words,
                .operation = memory->operation, .bytes = memory->bytes, .object = memory->number,
                .address = (uintptr_t)memory->at, .live_bytes = live);
}

void record_compile(const struct frame *frame, const char *options) {
    const uint32_t text = options && options[0] ? channel_string_cstr(agent.channel, options) : 0;
    HOST_RECORD(shapes.compile, frame, compile_words, .operation = TSMITH_OPERATION_BUILD, .options = text,
                .result = (uint64_t)(int64_t)frame->result);
}

// ---- on the track of a queue

enum {
    COMMAND_WORDS_MAX = 1 + RECORD_PART_WORDS(timed_words) + RECORD_PART_WORDS(command_words) +
                        RECORD_PART_WORDS(kernel_words) + RECORD_PART_WORDS(bytes_words)
};
static_assert(RECORD_PART_WORDS(timed_words) == RECORD_PART_WORDS(untimed_words), "either fits");

void record_command(const struct command *command, const struct launch *launch, uint64_t start,
                    uint64_t end) {
    const bool timed = start != 0;
    if (!timed)
        channel_lose_at(agent.channel, launch->not_after, TSMITH_REASON_NO_TIMING, 1);
    struct ring *ring = channel_ring(agent.channel);
    uint64_t *head = ring ? record_reserve(ring, COMMAND_WORDS_MAX) : NULL;
    if (!head)
        return;
    uint64_t *at = head + 1;
    if (timed)
        RECORD_PUT(at, timed_words, .start = start, .duration = end - start);
    else
        RECORD_PUT(at, untimed_words, .start = launch->not_after, .certainty = TSMITH_CERTAINTY_UNTIMED);
    RECORD_PUT(at, command_words, .correlation = launch->correlation, .host_track = launch->host_track,
               .name = command->class == CLASS_KERNEL ? command->name
                       : command->class == CLASS_COPY ? copy_name
                                                      : fill_name,
               .stack = launch->stack, .operation = command->operation);
    if (command->class == CLASS_KERNEL)
        RECORD_PUT(at, kernel_words, .global_x = command->global[0], .global_y = command->global[1],
                   .global_z = command->global[2], .local_x = command->local[0], .local_y = command->local[1],
                   .local_z = command->local[2]);
    if (command->class == CLASS_COPY)
        RECORD_PUT(at, copy_words, .direction = command->direction);
    if (command->has_bytes)
        RECORD_PUT(at, bytes_words, .bytes = command->bytes);
    record_close(ring, head, at, shapes.command[command->class][timed][command->has_bytes], launch->track);
}

uint32_t record_queue_track(const struct object *queue, const char *what, const struct object *device,
                            const struct object *context) {
    return device_queue_track(what, queue->handle.number,
                              device && device->device.simulated ? TSMITH_TRACK_SIMULATED : 0,
                              device ? device->device.id : 0, context ? context->handle.number : 0);
}
