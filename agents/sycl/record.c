// SPDX-License-Identifier: Apache-2.0
// Writes the records of submissions and waits. The callbacks of agent.c call it. Rules: agent.h.
#define RECORD_HOOKED 1 // --aggregate
#include "agent.h"
#include "agentkit/record_words.h"

// OWN(member of `fields`, name in the trace, type, unit)
#define SYCL_FIELDS(OWN)                                                                                     \
    OWN(queue, "syclQueue", U64, "")                                                                         \
    OWN(file, "sourceFile", STRING, "")                                                                      \
    OWN(line, "sourceLine", U64, "")
static struct { SYCL_FIELDS(OWN_FIELD_MEMBER) } fields;
static struct { uint16_t submission, wait; } shapes;
static uint32_t category;

#define SUBMISSION_WORDS(WORD)                                                                               \
    RANGE_TICKS_WORDS(WORD) OWN_OR_NONE(WORD, queue) OWN_OR_NONE(WORD, file) OWN_OR_NONE(WORD, line)

RECORD_PART(wait_words, RANGE_TICKS_WORDS)
RECORD_PART(submission_words, SUBMISSION_WORDS)
RECORD_PART_SHAPE(wait_words, RANGE_TICKS_WORDS)
RECORD_PART_SHAPE(submission_words, SUBMISSION_WORDS)

void record_init(void) {
    struct channel *channel = agent.channel;
    SYCL_FIELDS(OWN_FIELD_REGISTER)
    category = channel_string_cstr(channel, "sycl");
    shapes.submission =
        record_register(channel, TSMITH_KIND_RANGE, RECORD_SUBJECT_NAME, submission_words_add);
    shapes.wait = record_register(channel, TSMITH_KIND_API, RECORD_SUBJECT_NAME, wait_words_add);
}

void record_submission(const struct nesting *opened, uint64_t end, uint32_t name, uint32_t file,
                       uint32_t line, int64_t queue) {
    RECORD_WRITE(channel_ring(agent.channel), shapes.submission, name, submission_words,
                 .start = opened->start, .end = end, .category = category, .stack = opened->stack,
                 .queue = queue > 0 ? (uint64_t)queue : 0, .file = file, .line = line);
}

void record_wait(const struct nesting *opened, uint64_t end, uint32_t name) {
    RECORD_WRITE(channel_ring(agent.channel), shapes.wait, name, wait_words, .start = opened->start,
                 .end = end, .category = category, .stack = opened->stack);
}
