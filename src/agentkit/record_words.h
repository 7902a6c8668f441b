// SPDX-License-Identifier: Apache-2.0
// Lists of words (wire/record_part.h) that records of several agents begin with, and how an agent declares and registers the fields
// that are its own.
#ifndef AGENTKIT_RECORD_WORDS_H
#define AGENTKIT_RECORD_WORDS_H

#include "wire/record_part.h"

// 0 means unknown.
#define OPTIONAL(encoding) ((encoding) | RECORD_ZERO_IS_NONE)

// On the trace clock.
#define INSTANT_WORDS(WORD) WORD(start, TSMITH_FIELD_START, RECORD_VALUE)
#define SPAN_WORDS(WORD)                                                                                     \
    INSTANT_WORDS(WORD)                                                                                      \
    WORD(duration, TSMITH_FIELD_DURATION, RECORD_VALUE)
// On the host's clock.
#define TICKS_WORDS(WORD)                                                                                    \
    WORD(start, TSMITH_FIELD_START, RECORD_TICK)                                                             \
    WORD(end, TSMITH_FIELD_DURATION, RECORD_TICK_END)

// The call that caused it.
#define CAUSE_WORDS(WORD)                                                                                    \
    WORD(correlation, TSMITH_FIELD_CORRELATION, OPTIONAL(RECORD_VALUE))                                      \
    WORD(name, TSMITH_FIELD_NAME, OPTIONAL(RECORD_STRING))                                                   \
    WORD(host_track, TSMITH_FIELD_HOST_TRACK, OPTIONAL(RECORD_TRACK))                                        \
    WORD(stack, TSMITH_FIELD_STACK, OPTIONAL(RECORD_STACK))

// A call, or what is named like one, on the trace clock; what a call caused.
#define NAMED_SPAN_WORDS(WORD)                                                                               \
    SPAN_WORDS(WORD)                                                                                         \
    WORD(correlation, TSMITH_FIELD_CORRELATION, OPTIONAL(RECORD_VALUE))                                      \
    WORD(name, TSMITH_FIELD_NAME, OPTIONAL(RECORD_STRING))
#define CAUSED_SPAN_WORDS(WORD)                                                                              \
    SPAN_WORDS(WORD)                                                                                         \
    CAUSE_WORDS(WORD)
// A call, and a wait, on the host's clock.
#define CALL_TICKS_WORDS(WORD)                                                                               \
    TICKS_WORDS(WORD)                                                                                        \
    WORD(correlation, TSMITH_FIELD_CORRELATION, OPTIONAL(RECORD_VALUE))                                      \
    WORD(queue, TSMITH_FIELD_QUEUE_TRACK, OPTIONAL(RECORD_TRACK))                                            \
    WORD(result, TSMITH_FIELD_RESULT, RECORD_VALUE)
#define WAIT_TICKS_WORDS(WORD)                                                                               \
    TICKS_WORDS(WORD)                                                                                        \
    WORD(operation, TSMITH_FIELD_OPERATION, RECORD_VALUE)                                                    \
    WORD(queue, TSMITH_FIELD_QUEUE_TRACK, OPTIONAL(RECORD_TRACK))

// A kernel's sizes, where most kernels have all of them; KERNEL_3D_WORDS: where most have one dimension.
#define KERNEL_SIZES_WORDS(WORD)                                                                             \
    WORD(global_x, TSMITH_FIELD_GLOBAL_X, OPTIONAL(RECORD_VALUE))                                            \
    WORD(global_y, TSMITH_FIELD_GLOBAL_Y, OPTIONAL(RECORD_VALUE))                                            \
    WORD(global_z, TSMITH_FIELD_GLOBAL_Z, OPTIONAL(RECORD_VALUE))                                            \
    WORD(local_x, TSMITH_FIELD_LOCAL_X, OPTIONAL(RECORD_VALUE))                                              \
    WORD(local_y, TSMITH_FIELD_LOCAL_Y, OPTIONAL(RECORD_VALUE))                                              \
    WORD(local_z, TSMITH_FIELD_LOCAL_Z, OPTIONAL(RECORD_VALUE))
#define KERNEL_3D_WORDS(WORD)                                                                                \
    WORD(global_y, TSMITH_FIELD_GLOBAL_Y, RECORD_VALUE)                                                      \
    WORD(global_z, TSMITH_FIELD_GLOBAL_Z, RECORD_VALUE)                                                      \
    WORD(local_y, TSMITH_FIELD_LOCAL_Y, RECORD_VALUE)                                                        \
    WORD(local_z, TSMITH_FIELD_LOCAL_Z, RECORD_VALUE)
#define BYTES_WORDS(WORD) WORD(bytes, TSMITH_FIELD_BYTES, RECORD_VALUE)

// Fields of an agent's own are a list of OWN(member of `fields`, name in the trace, type, unit).
#define OWN_FIELD_MEMBER(member, name, type, unit) uint16_t member;
// Expands where `channel` and `fields` are.
#define OWN_FIELD_REGISTER(member, name, type, unit)                                                         \
    fields.member = channel_field(channel, name, TSMITH_TYPE_##type, unit);

#endif
