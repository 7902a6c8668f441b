// SPDX-License-Identifier: Apache-2.0
// Registers the shapes of the agent's records when it attaches; the shapes are described in shapes.h. Rules: agent.h.
#include "shapes.h"

struct shapes shapes;
const uint8_t shapes_kinds[CLASS_LIMIT] = {
    [CLASS_KERNEL_1D] = TSMITH_KIND_KERNEL,    [CLASS_KERNEL] = TSMITH_KIND_KERNEL,
    [CLASS_COPY] = TSMITH_KIND_MEMCPY,         [CLASS_FILL] = TSMITH_KIND_MEMSET,
    [CLASS_FREE] = TSMITH_KIND_FREE,           [CLASS_HOST] = TSMITH_KIND_HOST_FUNCTION,
    [CLASS_MARKER] = TSMITH_KIND_EVENT_RECORD, [CLASS_BARRIER] = TSMITH_KIND_SYNC,
};

OPENCL_RECORD_PARTS(RECORD_PART_SHAPE)

static record_part_add *const class_parts[CLASS_LIMIT] = {[CLASS_KERNEL_1D] = kernel_1d_words_add,
                                                          [CLASS_KERNEL] = kernel_words_add,
                                                          [CLASS_COPY] = copy_words_add,
                                                          [CLASS_FILL] = fill_words_add};

static uint16_t device_shape(struct channel *channel, enum device_class class, bool timed, bool waits,
                             bool calibrates, bool stack) {
    return RECORD_REGISTER(channel, (tsmith_kind)shapes_kinds[class], RECORD_SUBJECT_TRACK,
                           timed ? timed_words_add : untimed_words_add,
                           calibrates ? calibration_words_add : NULL, stack ? stack_words_add : NULL,
                           command_words_add, class_parts[class], waits ? waits_words_add : NULL);
}

static void register_calls(struct channel *channel) {
    for (int stack = 0; stack < 2; stack++)
        for (int blocking = 0; blocking < 2; blocking++)
            shapes.call[blocking][stack] =
                RECORD_REGISTER(channel, TSMITH_KIND_API, RECORD_SUBJECT_NAME, call_words_add,
                                stack ? stack_words_add : NULL, blocking ? blocking_words_add : NULL);
    for (int waits = 0; waits < 2; waits++)
        shapes.sync[waits] = RECORD_REGISTER(channel, TSMITH_KIND_SYNC, RECORD_SUBJECT_NAME, sync_words_add,
                                             waits ? waits_words_add : NULL);
}

static void register_objects(struct channel *channel) {
    shapes.memory[0] = record_register(channel, TSMITH_KIND_ALLOC, RECORD_SUBJECT_NAME, memory_words_add);
    shapes.memory[1] = record_register(channel, TSMITH_KIND_FREE, RECORD_SUBJECT_NAME, memory_words_add);
    shapes.object = record_register(channel, TSMITH_KIND_OBJECT, RECORD_SUBJECT_NAME, object_words_add);
    shapes.first_launch =
        record_register(channel, TSMITH_KIND_COMPILE, RECORD_SUBJECT_TRACK, first_launch_words_add);

    for (int result = 0; result < 2; result++)
        shapes.compile[result] = RECORD_REGISTER(channel, TSMITH_KIND_COMPILE, RECORD_SUBJECT_NAME,
                                                 compile_words_add, result ? result_words_add : NULL);
}

void shapes_register(struct channel *channel) {
    for (int class = 0; class < CLASS_LIMIT; class ++) {
        for (int waits = 0; waits < 2; waits++) {
            for (int stack = 0; stack < 2; stack++) {
                for (int calibrates = 0; calibrates < 2; calibrates++)
                    shapes.timed[class][waits][calibrates][stack] =
                        device_shape(channel, (enum device_class) class, true, waits, calibrates, stack);
                shapes.untimed[class][waits][stack] =
                    device_shape(channel, (enum device_class) class, false, waits, false, stack);
            }
        }
    }
    register_calls(channel);
    register_objects(channel);
}
