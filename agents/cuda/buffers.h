// SPDX-License-Identifier: Apache-2.0
// The buffers that CUPTI writes its records into: a pool of the kit (agentkit/buffer_pool.h).
//
//     buffer: FREE --given--> CUPTI's --handed back, read--> FREE
//                                 \--handed back, no device is described yet--> WAITING --flushed, read--> FREE
//
// They are small: at a flush CUPTI keeps each buffer in which one record is not complete, so for a program that is
// killed all of that buffer is lost.
//
// CUPTI describes the devices in a record, which may lie in a buffer that comes later than those of kernels. Readers of these
// first would make up a device, and a GPU that another source (NVML) has named already would be two.
// When CUPTI gets no buffer it drops records, which it counts (versions that crash then get more than others).
#ifndef CUDA_BUFFERS_H
#define CUDA_BUFFERS_H

#include "agent.h"

bool buffers_init(void);
// CUPTI is configured for zeroed buffers: they are zeroed after they were read, instead of by CUPTI on the program's
// thread before it uses them.
void buffers_are_zeroed(void);
// CUPTI's two callbacks, in the forms of both interfaces.
void buffers_wanted(uint8_t **buffer, size_t *size, size_t *records);
void buffers_full(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
void buffers_wanted_v2(uint8_t **buffer, size_t *size, size_t *records, void *info);
void buffers_full_v2(uint8_t *buffer, size_t size, size_t valid, void *info);
// From now on buffers may wait: the control thread calls buffers_flushed().
void buffers_may_wait(void);
// Then the control thread is woken, to flush at once.
bool buffers_any_wait(void);
// Has CUPTI hand back its buffers; `flags` are cuptiActivityFlushAll's.
void buffers_flush(uint32_t flags);
// CUPTI has handed back all that it had: what waits is read, and what other threads have in hand, for which it waits a second at most. Not
// within a callback of CUPTI.
void buffers_read_all(void);
// The other threads are the parent's.
void buffers_after_fork_child(void);
// CUPTI has handed back all that it had: those that wait are read. Any thread.
void buffers_flushed(void);
// How many were refused.
uint64_t buffers_refused(void);
// How often CUPTI has requested a buffer, and how much room those have that it has not handed back.
uint64_t buffers_requested(void);
uint64_t buffers_out_bytes(void);

#endif
