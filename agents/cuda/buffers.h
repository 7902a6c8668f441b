// SPDX-License-Identifier: Apache-2.0
// The buffers that CUPTI writes its records into. They are ours, made beforehand: CUPTI asks for one on the program's
// own threads, so giving one is a single atomic operation.
//
//     buffer: FREE --given--> CUPTI's --handed back, read--> FREE
//
// When CUPTI holds them all, it gets more, up to a limit: the memory that it holds is what it has not handed back yet.
// Beyond the limit it gets none, and drops records, which it counts (versions that crash then get more all the same).
#ifndef CUDA_BUFFERS_H
#define CUDA_BUFFERS_H

#include "agent.h"

bool buffers_init(void);
// CUPTI's two callbacks, in the forms of both interfaces.
void buffers_wanted(uint8_t **buffer, size_t *size, size_t *records);
void buffers_full(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
void buffers_wanted_v2(uint8_t **buffer, size_t *size, size_t *records, void *info);
void buffers_full_v2(uint8_t *buffer, size_t size, size_t valid, void *info);
// How many were refused.
uint64_t buffers_refused(void);

#endif
