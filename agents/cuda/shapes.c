// SPDX-License-Identifier: Apache-2.0
// Registers the shapes of the agent's records when it attaches; the shapes are described in shapes.h. Rules: agent.h.
#include "shapes.h"

struct shapes shapes;

static struct cuda_fields fields;

#define KERNEL_SHAPE(bit, part, LIST) RECORD_PART_SHAPE(part, LIST)
RECORD_PART_SHAPE(kernel_words, KERNEL_WORDS)
CUDA_KERNEL_PARTS(KERNEL_SHAPE)
CUDA_RECORDS(TRACK_RECORD_SHAPE)
#undef KERNEL_SHAPE

static void register_kernel(struct channel *channel, uint32_t parts) {
    struct record_shape shape = record_shape_begin(TSMITH_KIND_KERNEL, RECORD_SUBJECT_TRACK);
    kernel_words_add(&shape);
#define ADD(bit, part, LIST)                                                                                 \
    if (parts & KERNEL_##bit)                                                                                \
        part##_add(&shape);
    CUDA_KERNEL_PARTS(ADD)
#undef ADD
    shapes.kernel[parts].words = (uint16_t)(1 + shape.field_count);
    shapes.kernel[parts].shape = channel_shape(channel, &shape);
}

void shapes_register(struct channel *channel) {
    CUDA_FIELDS(OWN_FIELD_REGISTER)
    shapes.latency = cuda_option(CUDA_OPTION_LATENCY) ? KERNEL_LATENCY : 0;
    for (uint32_t parts = 0; parts < KERNEL_SHAPES; parts++)
        if ((parts & KERNEL_LATENCY) == shapes.latency)
            register_kernel(channel, parts);
    CUDA_RECORDS(TRACK_RECORD_REGISTER)
}
