// SPDX-License-Identifier: Apache-2.0
// Writes the records of commands, as command_record.h describes them. The Level Zero and Vulkan agents call it.
#define RECORD_HOOKED 1 // --aggregate
#include "agentkit/command_record.h"

#include "agentkit/agent.h"
#include "agentkit/record_words.h"

enum { UNTIMED, TIMED, INFERRED, HOW_TIMED };

// clang-format off
#define INFERRED_WORDS(WORD) SPAN_WORDS(WORD) CERTAINTY_WORD(WORD)
#define FACTS_WORDS(WORD) CAUSE_WORDS(WORD) OPERATION_OR_NONE(WORD)
#define COMMAND_PARTS(PART) \
    PART(untimed_words, UNTIMED_TICK_WORDS) PART(timed_words, SPAN_WORDS) PART(inferred_words, INFERRED_WORDS) \
    PART(facts_words, FACTS_WORDS) PART(kernel_words, KERNEL_SIZES_WORDS) PART(copy_words, DIRECTION_OR_NONE) \
    PART(bytes_words, BYTES_WORD)
// clang-format on

COMMAND_PARTS(RECORD_PART)
COMMAND_PARTS(RECORD_PART_SHAPE)

enum {
    WORDS_MAX = 1 + RECORD_PART_WORDS(inferred_words) + RECORD_PART_WORDS(facts_words) +
                RECORD_PART_WORDS(kernel_words) + RECORD_PART_WORDS(bytes_words)
};

static uint16_t shapes[2][COMMAND_CLASSES][HOW_TIMED][2]; // with a list, class, how timed, bytes are known

static void register_shapes(bool with_list, record_part_add *const *more, record_part_add *list) {
    static const uint8_t kinds[COMMAND_CLASSES] = {[COMMAND_KERNEL] = TSMITH_KIND_KERNEL,
                                                   [COMMAND_PASS] = TSMITH_KIND_KERNEL,
                                                   [COMMAND_COPY] = TSMITH_KIND_MEMCPY,
                                                   [COMMAND_FILL] = TSMITH_KIND_MEMSET};
    static record_part_add *const parts[COMMAND_CLASSES] = {
        [COMMAND_KERNEL] = kernel_words_add, [COMMAND_COPY] = copy_words_add};
    static record_part_add *const times[HOW_TIMED] = {untimed_words_add, timed_words_add, inferred_words_add};
    for (int class = 0; class < COMMAND_CLASSES; class ++)
        for (int how = 0; how < HOW_TIMED; how++)
            for (int bytes = 0; bytes < 2; bytes++)
                shapes[with_list][class][how][bytes] =
                    RECORD_REGISTER(agent.channel, (tsmith_kind)kinds[class], RECORD_SUBJECT_TRACK,
                                    times[how], facts_words_add, parts[class], bytes ? bytes_words_add : NULL,
                                    more ? more[class] : NULL, list);
}

void command_records_register(record_part_add *const *more, record_part_add *list) {
    register_shapes(false, more, NULL);
    if (list)
        register_shapes(true, more, list);
}

__attribute__((always_inline)) static inline void
write_record(const struct command_facts *facts, const struct command_launch *launch,
             const struct command_times *times, const uint64_t *more, uint32_t more_count, bool with_list) {
    const int how = !times->start ? UNTIMED : times->inferred ? INFERRED : TIMED;
    if (how == UNTIMED)
        channel_lose_at(agent.channel, launch->not_after, TSMITH_REASON_NO_TIMING, 1);
    struct ring *ring = channel_ring(agent.channel);
    uint64_t *head = ring ? record_reserve(ring, WORDS_MAX + more_count) : NULL;
    if (!head)
        return;
    uint64_t *at = head + 1;
    if (how == UNTIMED)
        RECORD_PUT(at, untimed_words, .start = launch->not_after, .certainty = TSMITH_CERTAINTY_UNTIMED);
    else
        RECORD_PUT(at, timed_words, .start = times->start, .duration = times->end - times->start);
    if (how == INFERRED)
        *at++ = TSMITH_CERTAINTY_INFERRED;
    RECORD_PUT(at, facts_words, .correlation = launch->correlation, .host_track = launch->host_track,
               .name = facts->name, .stack = facts->stack ? facts->stack : launch->stack,
               .operation = facts->operation);
    if (facts->class == COMMAND_KERNEL)
        RECORD_PUT(at, kernel_words, .global_x = facts->global[0], .global_y = facts->global[1],
                   .global_z = facts->global[2], .local_x = facts->local[0], .local_y = facts->local[1],
                   .local_z = facts->local[2]);
    if (facts->class == COMMAND_COPY)
        RECORD_PUT(at, copy_words, .direction = facts->direction);
    if (facts->has_bytes)
        *at++ = facts->bytes;
    for (uint32_t i = 0; i < more_count; i++)
        *at++ = more[i];
    record_close(ring, head, at, shapes[with_list][facts->class][how][facts->has_bytes], launch->track);
}

void command_record(const struct command_facts *facts, const struct command_launch *launch,
                    const struct command_times *times) {
    write_record(facts, launch, times, NULL, 0, false);
}

void command_record_more(const struct command_facts *facts, const struct command_launch *launch,
                         const struct command_times *times, const uint64_t *more, uint32_t more_count,
                         bool with_list) {
    write_record(facts, launch, times, more, more_count, with_list);
}
