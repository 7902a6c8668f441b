// SPDX-License-Identifier: Apache-2.0
// CUPTI has one client per process before CUDA 13.3. A program that profiles itself (PyTorch's profiler, Kineto, is the one
// that many have) would be refused, or would take CUPTI's buffers away from us. So its calls of libcupti come here first
// (interpose.h), and both are served:
//
//   - CUPTI has our buffers and our subscription all the time. What the other tool registers is kept here.
//   - A kind, a callback is on while either wants it. What one of the two did not ask for, it does not see.
//   - Every record of theirs is copied into a buffer of theirs, in CUPTI's layout, once ours was read; a buffer is completed
//     when it is full, or when they flush. As with CUPTI, they get what began, or was launched, while the kind was on.
//   - Where they registered a clock of their own, CUPTI is not given it: times in their copies are converted. Threads are named
//     in their copies as they asked for.
//
// External correlation ids are CUPTI's own stack per thread. The agent pushes none, so theirs are never mixed with ours.
//
// This works for libraries that were linked with libcupti. A library that looks its functions up by dlsym is not seen.
#ifndef CUDA_SHARING_H
#define CUDA_SHARING_H

#include "agent.h"
#include "cupti.h"

// The other tool has, or had, something of CUPTI's.
extern atomic_bool sharing_on __attribute__((visibility("hidden")));

// Whether a library of the program calls CUPTI's first interface: it is served here then, where CUPTI could serve several too.
bool sharing_needed(void);
// We are subscribed: from now on other tools get CUPTI through us. Looks for libraries that call it.
void sharing_start(void);
// The same for libraries that were loaded since. Any thread.
void sharing_look(void);

// What we have switched on for ourselves.
void sharing_own_kind(uint32_t kind);
void sharing_own_call(int domain, uint32_t id);
// Whether only the other tool wants records of this kind.
bool sharing_only_theirs(uint32_t kind);
// Whether we must leave it switched on when we end.
bool sharing_kept(uint32_t kind);
// The agent gave up its subscription: calls go straight to CUPTI from now on.
void sharing_released(void);

// Passes data that CUPTI reported on to the tool.
void sharing_call(int domain, uint32_t id, const void *data);
// The records of a buffer that we have read. It is overwritten.
void sharing_buffer(uint8_t *buffer, size_t valid);
void sharing_dropped(uint64_t records);
// For the calling thread: CUPTI's default id of it.
void sharing_thread(uint32_t tid);
// Before the first call. False: there is no memory.
bool sharing_init(void);

#endif
