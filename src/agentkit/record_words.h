// SPDX-License-Identifier: Apache-2.0
// Lists of words (wire/record_part.h) that records of several agents begin with, and how an agent declares and registers the fields
// that are its own.
#ifndef AGENTKIT_RECORD_WORDS_H
#define AGENTKIT_RECORD_WORDS_H

#include "wire/record_part.h"

// 0 means unknown.
#define OPTIONAL(encoding) ((encoding) | RECORD_ZERO_IS_NONE)

// Lists of one word: a field of the schema, or one of the agent's own (`fields`). OR_NONE: 0 means unknown.
#define OPERATION_WORD(WORD) WORD(operation, TSMITH_FIELD_OPERATION, RECORD_VALUE)
#define OPERATION_OR_NONE(WORD) WORD(operation, TSMITH_FIELD_OPERATION, OPTIONAL(RECORD_VALUE))
#define BYTES_WORD(WORD) WORD(bytes, TSMITH_FIELD_BYTES, RECORD_VALUE)
#define BYTES_OR_NONE(WORD) WORD(bytes, TSMITH_FIELD_BYTES, OPTIONAL(RECORD_VALUE))
#define CERTAINTY_WORD(WORD) WORD(certainty, TSMITH_FIELD_CERTAINTY, RECORD_VALUE)
#define CORRELATION_WORD(WORD) WORD(correlation, TSMITH_FIELD_CORRELATION, RECORD_VALUE)
#define CORRELATION_OR_NONE(WORD) WORD(correlation, TSMITH_FIELD_CORRELATION, OPTIONAL(RECORD_VALUE))
#define NAME_OR_NONE(WORD) WORD(name, TSMITH_FIELD_NAME, OPTIONAL(RECORD_STRING))
#define CATEGORY_WORD(WORD) WORD(category, TSMITH_FIELD_CATEGORY, RECORD_STRING)
#define CATEGORY_OR_NONE(WORD) WORD(category, TSMITH_FIELD_CATEGORY, OPTIONAL(RECORD_STRING))
#define HOST_TRACK_OR_NONE(WORD) WORD(host_track, TSMITH_FIELD_HOST_TRACK, OPTIONAL(RECORD_TRACK))
#define QUEUE_OR_NONE(WORD) WORD(queue, TSMITH_FIELD_QUEUE_TRACK, OPTIONAL(RECORD_TRACK))
#define STACK_WORD(WORD) WORD(stack, TSMITH_FIELD_STACK, RECORD_STACK)
#define STACK_OR_NONE(WORD) WORD(stack, TSMITH_FIELD_STACK, OPTIONAL(RECORD_STACK))
#define RESULT_WORD(WORD) WORD(result, TSMITH_FIELD_RESULT, RECORD_VALUE)
#define RESULT_OR_NONE(WORD) WORD(result, TSMITH_FIELD_RESULT, OPTIONAL(RECORD_VALUE))
#define OBJECT_WORD(WORD) WORD(object, TSMITH_FIELD_OBJECT, RECORD_VALUE)
#define OBJECT_OR_NONE(WORD) WORD(object, TSMITH_FIELD_OBJECT, OPTIONAL(RECORD_VALUE))
#define HANDLE_OR_NONE(WORD) WORD(address, TSMITH_FIELD_OBJECT, OPTIONAL(RECORD_VALUE))
#define PARENT_OR_NONE(WORD) WORD(parent, TSMITH_FIELD_PARENT, OPTIONAL(RECORD_VALUE))
#define LIVE_BYTES_WORD(WORD) WORD(live_bytes, TSMITH_FIELD_LIVE_BYTES, RECORD_VALUE)
#define DIRECTION_OR_NONE(WORD) WORD(direction, TSMITH_FIELD_DIRECTION, OPTIONAL(RECORD_VALUE))
#define FLAGS_OR_NONE(WORD) WORD(flags, TSMITH_FIELD_FLAGS, OPTIONAL(RECORD_VALUE))
#define SOURCE_OR_NONE(WORD) WORD(source, TSMITH_FIELD_SOURCE, OPTIONAL(RECORD_VALUE))
#define DESTINATION_OR_NONE(WORD) WORD(destination, TSMITH_FIELD_DESTINATION, OPTIONAL(RECORD_VALUE))
#define OWN_WORD(WORD, member) WORD(member, fields.member, RECORD_DYNAMIC)
#define OWN_OR_NONE(WORD, member) WORD(member, fields.member, OPTIONAL(RECORD_DYNAMIC))

// On the trace clock.
#define INSTANT_WORDS(WORD) WORD(start, TSMITH_FIELD_START, RECORD_VALUE)
#define SPAN_WORDS(WORD) INSTANT_WORDS(WORD) WORD(duration, TSMITH_FIELD_DURATION, RECORD_VALUE)
// On the host's clock. Work that ran at an unknown time: `start` is that of its launch.
#define UNTIMED_TICK_WORDS(WORD) WORD(start, TSMITH_FIELD_START, RECORD_TICK) CERTAINTY_WORD(WORD)
// clang-format off
#define TICKS_WORDS(WORD) \
    WORD(start, TSMITH_FIELD_START, RECORD_TICK) WORD(end, TSMITH_FIELD_DURATION, RECORD_TICK_END)

// The call that caused it.
#define CAUSE_WORDS(WORD) \
    CORRELATION_OR_NONE(WORD) NAME_OR_NONE(WORD) HOST_TRACK_OR_NONE(WORD) STACK_OR_NONE(WORD)

// A call, or what is named like one, on the trace clock; what a call caused.
#define NAMED_SPAN_WORDS(WORD) SPAN_WORDS(WORD) CORRELATION_OR_NONE(WORD) NAME_OR_NONE(WORD)
#define CAUSED_SPAN_WORDS(WORD) SPAN_WORDS(WORD) CAUSE_WORDS(WORD)
// A call, and a wait, on the host's clock.
#define CALL_TICKS_WORDS(WORD) \
    TICKS_WORDS(WORD) CORRELATION_OR_NONE(WORD) QUEUE_OR_NONE(WORD) RESULT_WORD(WORD)
#define WAIT_TICKS_WORDS(WORD) TICKS_WORDS(WORD) OPERATION_WORD(WORD) QUEUE_OR_NONE(WORD)
// A range or a call of a runtime, with the runtime as its category.
#define RANGE_TICKS_WORDS(WORD) TICKS_WORDS(WORD) CATEGORY_WORD(WORD) STACK_OR_NONE(WORD)

// A kernel's sizes, where most kernels have all of them; KERNEL_3D_WORDS: where most have one dimension.
#define KERNEL_SIZES_WORDS(WORD) \
    WORD(global_x, TSMITH_FIELD_GLOBAL_X, OPTIONAL(RECORD_VALUE)) \
    WORD(global_y, TSMITH_FIELD_GLOBAL_Y, OPTIONAL(RECORD_VALUE)) \
    WORD(global_z, TSMITH_FIELD_GLOBAL_Z, OPTIONAL(RECORD_VALUE)) \
    WORD(local_x, TSMITH_FIELD_LOCAL_X, OPTIONAL(RECORD_VALUE)) \
    WORD(local_y, TSMITH_FIELD_LOCAL_Y, OPTIONAL(RECORD_VALUE)) \
    WORD(local_z, TSMITH_FIELD_LOCAL_Z, OPTIONAL(RECORD_VALUE))
#define KERNEL_3D_WORDS(WORD) \
    WORD(global_y, TSMITH_FIELD_GLOBAL_Y, RECORD_VALUE) WORD(global_z, TSMITH_FIELD_GLOBAL_Z, RECORD_VALUE) \
    WORD(local_y, TSMITH_FIELD_LOCAL_Y, RECORD_VALUE) WORD(local_z, TSMITH_FIELD_LOCAL_Z, RECORD_VALUE)
// clang-format on

// Fields of an agent's own are a list of OWN(member of `fields`, name in the trace, type, unit).
#define OWN_FIELD_MEMBER(member, name, type, unit) uint16_t member;
// These expand where `channel`, `fields` and `shapes` are.
#define OWN_FIELD_REGISTER(member, name, type, unit)                                                         \
    fields.member = channel_field(channel, name, TSMITH_TYPE_##type, unit);

// Records are a list of RECORD(name of the shape, its words, kind of the event): struct NAME_words, shapes.NAME. TRACK_RECORD_REGISTER:
// those on tracks; CALL_RECORD_REGISTER: those of the calling thread, with a name.
#define TRACK_RECORD_PART(name, LIST, kind) RECORD_PART(name##_words, LIST)
#define TRACK_RECORD_SHAPE(name, LIST, kind) RECORD_PART_SHAPE(name##_words, LIST)
#define TRACK_RECORD_MEMBER(name, LIST, kind) uint16_t name;
#define TRACK_RECORD_REGISTER(name, LIST, kind)                                                              \
    shapes.name = record_register(channel, TSMITH_KIND_##kind, RECORD_SUBJECT_TRACK, name##_words_add);
#define CALL_RECORD_REGISTER(name, LIST, kind)                                                               \
    shapes.name = record_register(channel, TSMITH_KIND_##kind, RECORD_SUBJECT_NAME, name##_words_add);

// Writes one on a track, if there is a ring, a track and room; the ring counts what has no room:
//     TRACK_RECORD_WRITE(ring, overhead, track, .start = start, .duration = duration);
#define TRACK_RECORD_WRITE(to, name, track, ...)                                                             \
    do {                                                                                                     \
        const uint32_t track_ = (track);                                                                     \
        if (track_)                                                                                          \
            RECORD_WRITE(to, shapes.name, track_, name##_words, __VA_ARGS__);                                \
    } while (0)

#endif
