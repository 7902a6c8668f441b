// SPDX-License-Identifier: Apache-2.0
// The fixed part of the programs that `replay --emit-c` writes: repro.template, which the build makes a C file of. For emit_program.c.
#ifndef REPLAY_OPENCL_EMIT_TEMPLATE_H
#define REPLAY_OPENCL_EMIT_TEMPLATE_H

#include <stddef.h>

extern const unsigned char emit_template[];
extern const size_t emit_template_size;

#endif
