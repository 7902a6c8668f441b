// SPDX-License-Identifier: Apache-2.0
// Describes which part of its device a green context has (CUDA 13.2), as the attribute cuda.green_context.N.
#ifndef CUDA_GREEN_CONTEXTS_H
#define CUDA_GREEN_CONTEXTS_H

struct cupti_green_context;
// Any thread.
void green_contexts_describe(const struct cupti_green_context *record);

#endif
