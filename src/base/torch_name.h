// SPDX-License-Identifier: Apache-2.0
// Splits the names of ranges that PyTorch makes (torch.autograd.profiler.emit_nvtx).
#ifndef BASE_TORCH_NAME_H
#define BASE_TORCH_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Two numbers, then two lists: X(NAME, "name of the field")
#define TORCH_NAME_TABLE(X)                                                                                  \
    X(SEQ, "seq")                                                                                            \
    X(OP_ID, "op_id")                                                                                        \
    X(SIZES, "sizes")                                                                                        \
    X(INPUT_OP_IDS, "input_op_ids")

enum torch_name_part {
#define TORCH_NAME_ENUM(NAME, field) TORCH_NAME_##NAME,
    TORCH_NAME_TABLE(TORCH_NAME_ENUM)
#undef TORCH_NAME_ENUM
        TORCH_NAME_PARTS
};

// `length` bytes are the name itself; the parts point into the text.
struct torch_name {
    size_t length;
    bool has[TORCH_NAME_PARTS];
    int64_t numbers[TORCH_NAME_PARTS];
    const char *texts[TORCH_NAME_PARTS];
    size_t lengths[TORCH_NAME_PARTS];
};

// Of a text of at least one byte. A text with anything else behind its name is a name as it is. Allocates nothing.
struct torch_name torch_name_split(const char *text, size_t length);

#endif
