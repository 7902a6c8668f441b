// SPDX-License-Identifier: Apache-2.0
// Rules: agent.h. What the shapes are: shapes.h.
#include "shapes.h"

struct shapes shapes;

#define OPTIONAL(encoding) (uint8_t)((encoding) | RECORD_ZERO_IS_NONE)

static void add(struct record_shape *shape, uint16_t field, uint8_t encoding) {
    shape->fields[shape->field_count++] = (struct record_field){.field = field, .encoding = encoding};
}

static struct record_shape begin(tsmith_kind kind, enum record_subject subject) {
    return (struct record_shape){.kind = (uint8_t)kind, .role = RECORD_EVENT, .subject = (uint8_t)subject};
}

static struct record_shape begin_call(tsmith_kind kind) {
    struct record_shape shape = begin(kind, RECORD_SUBJECT_NAME);
    add(&shape, TSMITH_FIELD_START, RECORD_TICK);
    add(&shape, TSMITH_FIELD_DURATION, RECORD_TICK_END);
    return shape;
}

static void add_times(struct record_shape *shape, bool calibrates) {
    add(shape, TSMITH_FIELD_START, RECORD_DEVICE_TIME);
    add(shape, TSMITH_FIELD_DURATION, RECORD_DEVICE_END);
    add(shape, TSMITH_FIELD_QUEUED, RECORD_DEVICE_TIME);
    add(shape, TSMITH_FIELD_SUBMITTED, RECORD_DEVICE_TIME);
    add(shape, TSMITH_FIELD_COMPLETED, OPTIONAL(RECORD_DEVICE_TIME));
    if (calibrates) {
        add(shape, 0, RECORD_NOT_BEFORE);
        add(shape, 0, RECORD_NOT_AFTER);
    }
}

static void add_no_times(struct record_shape *shape) {
    add(shape, TSMITH_FIELD_START, RECORD_TICK);
    add(shape, TSMITH_FIELD_RESULT, OPTIONAL(RECORD_VALUE));
    add(shape, TSMITH_FIELD_INFERRED, RECORD_VALUE);
}

static void add_class(struct record_shape *shape, enum device_class class) {
    static const uint16_t sizes[] = {
        TSMITH_FIELD_GLOBAL_X, TSMITH_FIELD_GLOBAL_Y, TSMITH_FIELD_GLOBAL_Z,
        TSMITH_FIELD_LOCAL_X,  TSMITH_FIELD_LOCAL_Y,  TSMITH_FIELD_LOCAL_Z,
        TSMITH_FIELD_OFFSET_X, TSMITH_FIELD_OFFSET_Y, TSMITH_FIELD_OFFSET_Z,
    };
    add(shape, TSMITH_FIELD_CORRELATION, RECORD_VALUE);
    add(shape, TSMITH_FIELD_HOST_TRACK, OPTIONAL(RECORD_TRACK));
    add(shape, TSMITH_FIELD_NAME, OPTIONAL(RECORD_STRING));
    add(shape, TSMITH_FIELD_OPERATION, RECORD_VALUE);
    if (class == CLASS_KERNEL_1D) {
        add(shape, TSMITH_FIELD_GLOBAL_X, RECORD_VALUE);
        add(shape, TSMITH_FIELD_LOCAL_X, OPTIONAL(RECORD_VALUE));
    } else if (class == CLASS_KERNEL) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            add(shape, sizes[i], OPTIONAL(RECORD_VALUE));
    } else if (class == CLASS_COPY) {
        add(shape, TSMITH_FIELD_DIRECTION, OPTIONAL(RECORD_VALUE));
        add(shape, TSMITH_FIELD_BYTES, OPTIONAL(RECORD_VALUE));
        add(shape, TSMITH_FIELD_SOURCE, OPTIONAL(RECORD_VALUE));
        add(shape, TSMITH_FIELD_DESTINATION, OPTIONAL(RECORD_VALUE));
        add(shape, TSMITH_FIELD_FLAGS, OPTIONAL(RECORD_VALUE));
    } else if (class == CLASS_FILL) {
        add(shape, TSMITH_FIELD_BYTES, OPTIONAL(RECORD_VALUE));
        add(shape, TSMITH_FIELD_DESTINATION, OPTIONAL(RECORD_VALUE));
    }
}

static uint16_t device_shape(struct channel *channel, enum device_class class, bool timed, bool waits,
                             bool calibrates, bool stack) {
    static const uint8_t kinds[CLASS_LIMIT] = {
        [CLASS_KERNEL_1D] = TSMITH_KIND_KERNEL,    [CLASS_KERNEL] = TSMITH_KIND_KERNEL,
        [CLASS_COPY] = TSMITH_KIND_MEMCPY,         [CLASS_FILL] = TSMITH_KIND_MEMSET,
        [CLASS_FREE] = TSMITH_KIND_FREE,           [CLASS_HOST] = TSMITH_KIND_HOST_FUNCTION,
        [CLASS_MARKER] = TSMITH_KIND_EVENT_RECORD, [CLASS_BARRIER] = TSMITH_KIND_SYNC,
    };
    struct record_shape shape = begin((tsmith_kind)kinds[class], RECORD_SUBJECT_TRACK);
    if (timed)
        add_times(&shape, calibrates);
    else
        add_no_times(&shape);
    if (stack)
        add(&shape, TSMITH_FIELD_STACK, RECORD_STACK);
    add_class(&shape, class);
    if (waits)
        add(&shape, TSMITH_FIELD_WAITS, RECORD_LIST);
    return channel_shape(channel, &shape);
}

static void register_calls(struct channel *channel) {
    struct record_shape shape = begin_call(TSMITH_KIND_API);
    add(&shape, TSMITH_FIELD_CORRELATION, OPTIONAL(RECORD_VALUE));
    add(&shape, TSMITH_FIELD_QUEUE_TRACK, OPTIONAL(RECORD_TRACK));
    add(&shape, TSMITH_FIELD_RESULT, RECORD_VALUE);
    for (int stack = 0; stack < 2; stack++) {
        if (stack)
            add(&shape, TSMITH_FIELD_STACK, RECORD_STACK);
        shapes.call[0][stack] = channel_shape(channel, &shape);
        struct record_shape blocking = shape;
        add(&blocking, TSMITH_FIELD_BLOCKING, RECORD_VALUE);
        shapes.call[1][stack] = channel_shape(channel, &blocking);
    }

    shape = begin_call(TSMITH_KIND_SYNC);
    add(&shape, TSMITH_FIELD_OPERATION, RECORD_VALUE);
    add(&shape, TSMITH_FIELD_QUEUE_TRACK, OPTIONAL(RECORD_TRACK));
    add(&shape, TSMITH_FIELD_CORRELATION, OPTIONAL(RECORD_VALUE));
    shapes.sync[0] = channel_shape(channel, &shape);
    add(&shape, TSMITH_FIELD_WAITS, RECORD_LIST);
    shapes.sync[1] = channel_shape(channel, &shape);
}

static void register_objects(struct channel *channel) {
    static const uint8_t kinds[] = {TSMITH_KIND_ALLOC, TSMITH_KIND_FREE};
    for (size_t i = 0; i < 2; i++) {
        struct record_shape shape = begin_call((tsmith_kind)kinds[i]);
        add(&shape, TSMITH_FIELD_OPERATION, RECORD_VALUE);
        add(&shape, TSMITH_FIELD_BYTES, RECORD_VALUE);
        add(&shape, TSMITH_FIELD_FLAGS, RECORD_VALUE);
        add(&shape, TSMITH_FIELD_OBJECT, OPTIONAL(RECORD_VALUE));
        add(&shape, TSMITH_FIELD_PARENT, OPTIONAL(RECORD_VALUE));
        add(&shape, TSMITH_FIELD_LIVE_BYTES, RECORD_VALUE);
        shapes.memory[i] = channel_shape(channel, &shape);
    }
    struct record_shape shape = begin_call(TSMITH_KIND_OBJECT);
    add(&shape, TSMITH_FIELD_OPERATION, RECORD_VALUE);
    add(&shape, TSMITH_FIELD_OBJECT, OPTIONAL(RECORD_VALUE));
    add(&shape, TSMITH_FIELD_PARENT, OPTIONAL(RECORD_VALUE));
    add(&shape, TSMITH_FIELD_QUEUE_TRACK, OPTIONAL(RECORD_TRACK));
    add(&shape, TSMITH_FIELD_FLAGS, OPTIONAL(RECORD_VALUE));
    add(&shape, TSMITH_FIELD_TEXT, OPTIONAL(RECORD_STRING));
    shapes.object = channel_shape(channel, &shape);

    shape = begin_call(TSMITH_KIND_COMPILE);
    add(&shape, TSMITH_FIELD_OPERATION, RECORD_VALUE);
    add(&shape, TSMITH_FIELD_OBJECT, OPTIONAL(RECORD_VALUE));
    add(&shape, TSMITH_FIELD_TEXT, OPTIONAL(RECORD_STRING));
    shapes.compile[0] = channel_shape(channel, &shape);
    add(&shape, TSMITH_FIELD_RESULT, RECORD_VALUE);
    shapes.compile[1] = channel_shape(channel, &shape);

    shape = begin(TSMITH_KIND_COMPILE, RECORD_SUBJECT_TRACK);
    add(&shape, TSMITH_FIELD_START, RECORD_DEVICE_TIME);
    add(&shape, TSMITH_FIELD_DURATION, RECORD_DEVICE_END);
    add(&shape, TSMITH_FIELD_OPERATION, RECORD_VALUE);
    add(&shape, TSMITH_FIELD_NAME, OPTIONAL(RECORD_STRING));
    add(&shape, TSMITH_FIELD_CORRELATION, RECORD_VALUE);
    add(&shape, TSMITH_FIELD_HOST_TRACK, OPTIONAL(RECORD_TRACK));
    add(&shape, TSMITH_FIELD_INFERRED, RECORD_VALUE);
    shapes.first_launch = channel_shape(channel, &shape);
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
