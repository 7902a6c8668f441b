// SPDX-License-Identifier: Apache-2.0
// The words of the agent's records, each described once (src/wire/record_part.h). shapes.h lists the parts of each
// record.
#ifndef OPENCL_RECORD_PARTS_H
#define OPENCL_RECORD_PARTS_H

#include "agentkit/record_words.h"

// ---- on the calling thread

#define STACK_WORDS(WORD) WORD(stack, TSMITH_FIELD_STACK, RECORD_STACK)
#define BLOCKING_WORDS(WORD) WORD(blocking, TSMITH_FIELD_BLOCKING, RECORD_VALUE)

#define SYNC_WORDS(WORD)                                                                                     \
    WAIT_TICKS_WORDS(WORD)                                                                                   \
    WORD(correlation, TSMITH_FIELD_CORRELATION, OPTIONAL(RECORD_VALUE))

#define MEMORY_WORDS(WORD)                                                                                   \
    TICKS_WORDS(WORD)                                                                                        \
    WORD(operation, TSMITH_FIELD_OPERATION, RECORD_VALUE)                                                    \
    WORD(bytes, TSMITH_FIELD_BYTES, RECORD_VALUE)                                                            \
    WORD(flags, TSMITH_FIELD_FLAGS, RECORD_VALUE)                                                            \
    WORD(object, TSMITH_FIELD_OBJECT, OPTIONAL(RECORD_VALUE))                                                \
    WORD(parent, TSMITH_FIELD_PARENT, OPTIONAL(RECORD_VALUE))                                                \
    WORD(live_bytes, TSMITH_FIELD_LIVE_BYTES, RECORD_VALUE)

#define OBJECT_WORDS(WORD)                                                                                   \
    TICKS_WORDS(WORD)                                                                                        \
    WORD(operation, TSMITH_FIELD_OPERATION, RECORD_VALUE)                                                    \
    WORD(object, TSMITH_FIELD_OBJECT, OPTIONAL(RECORD_VALUE))                                                \
    WORD(parent, TSMITH_FIELD_PARENT, OPTIONAL(RECORD_VALUE))                                                \
    WORD(queue, TSMITH_FIELD_QUEUE_TRACK, OPTIONAL(RECORD_TRACK))

#define COMPILE_WORDS(WORD)                                                                                  \
    TICKS_WORDS(WORD)                                                                                        \
    WORD(operation, TSMITH_FIELD_OPERATION, RECORD_VALUE)                                                    \
    WORD(object, TSMITH_FIELD_OBJECT, OPTIONAL(RECORD_VALUE))                                                \
    WORD(options, TSMITH_FIELD_TEXT, OPTIONAL(RECORD_STRING))
#define RESULT_WORDS(WORD) WORD(result, TSMITH_FIELD_RESULT, RECORD_VALUE)

// ---- on the track of a queue

#define FIRST_LAUNCH_WORDS(WORD)                                                                             \
    WORD(start, TSMITH_FIELD_START, RECORD_DEVICE_TIME)                                                      \
    WORD(end, TSMITH_FIELD_DURATION, RECORD_DEVICE_END)                                                      \
    WORD(operation, TSMITH_FIELD_OPERATION, RECORD_VALUE)                                                    \
    WORD(name, TSMITH_FIELD_NAME, OPTIONAL(RECORD_STRING))                                                   \
    WORD(correlation, TSMITH_FIELD_CORRELATION, RECORD_VALUE)                                                \
    WORD(host_track, TSMITH_FIELD_HOST_TRACK, OPTIONAL(RECORD_TRACK))                                        \
    WORD(certainty, TSMITH_FIELD_CERTAINTY, RECORD_VALUE)

#define TIMED_WORDS(WORD)                                                                                    \
    WORD(start, TSMITH_FIELD_START, RECORD_DEVICE_TIME)                                                      \
    WORD(end, TSMITH_FIELD_DURATION, RECORD_DEVICE_END)                                                      \
    WORD(queued, TSMITH_FIELD_QUEUED, RECORD_DEVICE_TIME)                                                    \
    WORD(submitted, TSMITH_FIELD_SUBMITTED, RECORD_DEVICE_TIME)                                              \
    WORD(complete, TSMITH_FIELD_COMPLETED, OPTIONAL(RECORD_DEVICE_TIME))
// The host's times around QUEUED, which calibrate the device's clock.
#define CALIBRATION_WORDS(WORD)                                                                              \
    WORD(not_before, 0, RECORD_NOT_BEFORE)                                                                   \
    WORD(not_after, 0, RECORD_NOT_AFTER)
#define UNTIMED_WORDS(WORD)                                                                                  \
    WORD(start, TSMITH_FIELD_START, RECORD_TICK)                                                             \
    WORD(result, TSMITH_FIELD_RESULT, OPTIONAL(RECORD_VALUE))                                                \
    WORD(certainty, TSMITH_FIELD_CERTAINTY, RECORD_VALUE)

// What the wrapper builds when it enqueues a command: COMMAND_WORDS and those of its class.
#define COMMAND_WORDS(WORD)                                                                                  \
    WORD(correlation, TSMITH_FIELD_CORRELATION, RECORD_VALUE)                                                \
    WORD(host_track, TSMITH_FIELD_HOST_TRACK, OPTIONAL(RECORD_TRACK))                                        \
    WORD(name, TSMITH_FIELD_NAME, OPTIONAL(RECORD_STRING))                                                   \
    WORD(operation, TSMITH_FIELD_OPERATION, RECORD_VALUE)
#define KERNEL_1D_WORDS(WORD)                                                                                \
    WORD(global, TSMITH_FIELD_GLOBAL_X, RECORD_VALUE)                                                        \
    WORD(local, TSMITH_FIELD_LOCAL_X, OPTIONAL(RECORD_VALUE))
#define KERNEL_WORDS(WORD)                                                                                   \
    KERNEL_SIZES_WORDS(WORD)                                                                                 \
    WORD(offset_x, TSMITH_FIELD_OFFSET_X, OPTIONAL(RECORD_VALUE))                                            \
    WORD(offset_y, TSMITH_FIELD_OFFSET_Y, OPTIONAL(RECORD_VALUE))                                            \
    WORD(offset_z, TSMITH_FIELD_OFFSET_Z, OPTIONAL(RECORD_VALUE))
#define COPY_WORDS(WORD)                                                                                     \
    WORD(direction, TSMITH_FIELD_DIRECTION, OPTIONAL(RECORD_VALUE))                                          \
    WORD(bytes, TSMITH_FIELD_BYTES, OPTIONAL(RECORD_VALUE))                                                  \
    WORD(source, TSMITH_FIELD_SOURCE, OPTIONAL(RECORD_VALUE))                                                \
    WORD(destination, TSMITH_FIELD_DESTINATION, OPTIONAL(RECORD_VALUE))                                      \
    WORD(flags, TSMITH_FIELD_FLAGS, OPTIONAL(RECORD_VALUE))
#define FILL_WORDS(WORD)                                                                                     \
    WORD(bytes, TSMITH_FIELD_BYTES, OPTIONAL(RECORD_VALUE))                                                  \
    WORD(destination, TSMITH_FIELD_DESTINATION, OPTIONAL(RECORD_VALUE))
// Last of a record, of variable length: a count and that many correlation ids.
#define WAITS_WORDS(WORD) WORD(count, TSMITH_FIELD_WAITS, RECORD_LIST)

#define OPENCL_RECORD_PARTS(PART)                                                                            \
    PART(call_words, CALL_TICKS_WORDS)                                                                       \
    PART(stack_words, STACK_WORDS)                                                                           \
    PART(blocking_words, BLOCKING_WORDS)                                                                     \
    PART(sync_words, SYNC_WORDS)                                                                             \
    PART(memory_words, MEMORY_WORDS)                                                                         \
    PART(object_words, OBJECT_WORDS)                                                                         \
    PART(compile_words, COMPILE_WORDS)                                                                       \
    PART(result_words, RESULT_WORDS)                                                                         \
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
