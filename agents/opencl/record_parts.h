// SPDX-License-Identifier: Apache-2.0
// The words of the agent's records, each described once (src/wire/record_part.h). shapes.h lists the parts of each
// record.
#ifndef OPENCL_RECORD_PARTS_H
#define OPENCL_RECORD_PARTS_H

#include "agentkit/record_words.h"

// ---- on the calling thread

#define BLOCKING_WORDS(WORD) WORD(blocking, TSMITH_FIELD_BLOCKING, RECORD_VALUE)

#define SYNC_WORDS(WORD) WAIT_TICKS_WORDS(WORD) CORRELATION_OR_NONE(WORD)

// clang-format off
#define MEMORY_WORDS(WORD) \
    TICKS_WORDS(WORD) OPERATION_WORD(WORD) BYTES_WORD(WORD) WORD(flags, TSMITH_FIELD_FLAGS, RECORD_VALUE) \
    OBJECT_OR_NONE(WORD) PARENT_OR_NONE(WORD) LIVE_BYTES_WORD(WORD)

#define OBJECT_WORDS(WORD) \
    TICKS_WORDS(WORD) OPERATION_WORD(WORD) OBJECT_OR_NONE(WORD) PARENT_OR_NONE(WORD) QUEUE_OR_NONE(WORD)

#define COMPILE_WORDS(WORD) \
    TICKS_WORDS(WORD) OPERATION_WORD(WORD) OBJECT_OR_NONE(WORD) \
    WORD(options, TSMITH_FIELD_TEXT, OPTIONAL(RECORD_STRING))

// ---- on the track of a queue

#define FIRST_LAUNCH_WORDS(WORD) \
    WORD(start, TSMITH_FIELD_START, RECORD_DEVICE_TIME) WORD(end, TSMITH_FIELD_DURATION, RECORD_DEVICE_END) \
    OPERATION_WORD(WORD) NAME_OR_NONE(WORD) CORRELATION_WORD(WORD) HOST_TRACK_OR_NONE(WORD) \
    CERTAINTY_WORD(WORD)

#define TIMED_WORDS(WORD) \
    WORD(start, TSMITH_FIELD_START, RECORD_DEVICE_TIME) WORD(end, TSMITH_FIELD_DURATION, RECORD_DEVICE_END) \
    WORD(queued, TSMITH_FIELD_QUEUED, RECORD_DEVICE_TIME) \
    WORD(submitted, TSMITH_FIELD_SUBMITTED, RECORD_DEVICE_TIME) \
    WORD(complete, TSMITH_FIELD_COMPLETED, OPTIONAL(RECORD_DEVICE_TIME))
// The host's times around QUEUED, which calibrate the device's clock.
#define CALIBRATION_WORDS(WORD) WORD(not_before, 0, RECORD_NOT_BEFORE) WORD(not_after, 0, RECORD_NOT_AFTER)
#define UNTIMED_WORDS(WORD) \
    WORD(start, TSMITH_FIELD_START, RECORD_TICK) RESULT_OR_NONE(WORD) CERTAINTY_WORD(WORD)

// What the wrapper builds when it enqueues a command: COMMAND_WORDS and those of its class.
#define COMMAND_WORDS(WORD) \
    CORRELATION_WORD(WORD) HOST_TRACK_OR_NONE(WORD) NAME_OR_NONE(WORD) OPERATION_WORD(WORD)
#define KERNEL_1D_WORDS(WORD) \
    WORD(global, TSMITH_FIELD_GLOBAL_X, RECORD_VALUE) \
    WORD(local, TSMITH_FIELD_LOCAL_X, OPTIONAL(RECORD_VALUE))
#define KERNEL_WORDS(WORD) \
    KERNEL_SIZES_WORDS(WORD) WORD(offset_x, TSMITH_FIELD_OFFSET_X, OPTIONAL(RECORD_VALUE)) \
    WORD(offset_y, TSMITH_FIELD_OFFSET_Y, OPTIONAL(RECORD_VALUE)) \
    WORD(offset_z, TSMITH_FIELD_OFFSET_Z, OPTIONAL(RECORD_VALUE))
#define COPY_WORDS(WORD) \
    DIRECTION_OR_NONE(WORD) BYTES_OR_NONE(WORD) SOURCE_OR_NONE(WORD) DESTINATION_OR_NONE(WORD) \
    FLAGS_OR_NONE(WORD)
// clang-format on
#define FILL_WORDS(WORD) BYTES_OR_NONE(WORD) DESTINATION_OR_NONE(WORD)
// Last of a record, of variable length: a count and that many correlation ids.
#define WAITS_WORDS(WORD) WORD(count, TSMITH_FIELD_WAITS, RECORD_LIST)

#define OPENCL_RECORD_PARTS(PART)                                                                            \
    PART(call_words, CALL_TICKS_WORDS)                                                                       \
    PART(stack_words, STACK_WORD)                                                                            \
    PART(blocking_words, BLOCKING_WORDS)                                                                     \
    PART(sync_words, SYNC_WORDS)                                                                             \
    PART(memory_words, MEMORY_WORDS)                                                                         \
    PART(object_words, OBJECT_WORDS)                                                                         \
    PART(compile_words, COMPILE_WORDS)                                                                       \
    PART(result_words, RESULT_WORD)                                                                          \
    PART(first_launch_words, FIRST_LAUNCH_WORDS)                                                             \
    PART(timed_words, TIMED_WORDS)                                                                           \
    PART(calibration_words, CALIBRATION_WORDS)                                                               \
    PART(untimed_words, UNTIMED_WORDS)                                                                       \
    PART(command_words, COMMAND_WORDS)                                                                       \
    PART(kernel_1d_words, KERNEL_1D_WORDS)                                                                   \
    PART(kernel_words, KERNEL_WORDS)                                                                         \
    PART(copy_words, COPY_WORDS)                                                                             \
    PART(fill_words, FILL_WORDS)                                                                             \
    PART(waits_words, WAITS_WORDS)

OPENCL_RECORD_PARTS(RECORD_PART)

#endif
