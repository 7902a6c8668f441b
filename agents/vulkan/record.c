// SPDX-License-Identifier: Apache-2.0
// Writes the records of calls and commands; record.h describes them. Rules: agent.h.
#define RECORD_HOOKED 1 // --aggregate
#include "record.h"

#include "agentkit/device.h"
#include "agentkit/record_words.h"

#define FRAME_WORDS(WORD) TICKS_WORDS(WORD) CORRELATION_OR_NONE(WORD) QUEUE_OR_NONE(WORD)
#define HEAP_WORDS(WORD) OWN_WORD(WORD, heap)
#define WAITS_WORDS(WORD) WORD(count, TSMITH_FIELD_WAITS, RECORD_LIST)
#define COMMAND_WORDS(WORD) OWN_OR_NONE(WORD, barriers)
#define PASS_WORDS(WORD) OWN_OR_NONE(WORD, barriers) OWN_WORD(WORD, draws)
#define VULKAN_PARTS(PART)                                                                                   \
    PART(frame_words, FRAME_WORDS)                                                                           \
    PART(heap_words, HEAP_WORDS)                                                                             \
    PART(waits_words, WAITS_WORDS)                                                                           \
    PART(command_words, COMMAND_WORDS)                                                                       \
    PART(pass_words, PASS_WORDS)
#define VULKAN_FIELDS(OWN)                                                                                   \
    OWN(heap, "heap", U64, "")                                                                               \
    OWN(barriers, "barriers", U64, "")                                                                       \
    OWN(draws, "draws", U64, "")

static struct { VULKAN_FIELDS(OWN_FIELD_MEMBER) } fields;
RECORD_PART(frame_words, FRAME_WORDS)
VULKAN_PARTS(RECORD_PART_SHAPE)

uint32_t record_call_names[CALL_LIMIT];
static uint32_t frame_name;
static uint16_t frame_shape;

void record_init(void) {
    static const char *const texts[] = {[CALL_NONE] = "",
#define CALL_TEXT(name, ...) [CALL_##name] = "vk" #name,
                                        VULKAN_CALLS(CALL_TEXT)
#undef CALL_TEXT
    };
    static record_part_add *const more[COMMAND_CLASSES] = {[COMMAND_KERNEL] = command_words_add,
                                                           [COMMAND_PASS] = pass_words_add,
                                                           [COMMAND_COPY] = command_words_add,
                                                           [COMMAND_FILL] = command_words_add};
    struct channel *channel = agent.channel;
    for (int i = 1; i < CALL_LIMIT; i++)
        record_call_names[i] = channel_string_cstr(channel, texts[i]);
    frame_name = channel_string_cstr(channel, "frame");
    VULKAN_FIELDS(OWN_FIELD_REGISTER)
    frame_shape = RECORD_REGISTER(channel, TSMITH_KIND_FRAME, RECORD_SUBJECT_NAME, frame_words_add);
    call_records_register(heap_words_add);
    command_records_register(more, waits_words_add);
}

void record_frame(const struct agent_call *call, struct object *swapchain) {
    const uint64_t begun = swapchain->swapchain.presented;
    swapchain->swapchain.presented = call->end;
    if (agent_on())
        RECORD_WRITE(channel_ring(agent.channel), frame_shape, frame_name, frame_words, .start = begun,
                     .end = call->end, .correlation = call->correlation, .queue = call->track);
}

void record_command(const struct command *command, const struct command_launch *launch, uint32_t wait_count,
                    const uint64_t *waits, const struct command_times *times) {
    uint64_t more[3 + VALUES_MAX];
    uint32_t count = 0;
    more[count++] = command->barriers;
    if (command->facts.class == COMMAND_PASS)
        more[count++] = command->draws;
    if (wait_count)
        more[count++] = wait_count;
    for (uint32_t i = 0; i < wait_count; i++)
        more[count++] = waits[i];
    command_record_more(&command->facts, launch, times, more, count, wait_count != 0);
}

// Commands overlap unless there are barriers.
uint32_t record_queue_track(const struct object *queue) {
    return device_queue_track("Queue", queue->handle.number, TSMITH_TRACK_OUT_OF_ORDER, queue->device->id,
                              queue->device->number);
}
