// SPDX-License-Identifier: Apache-2.0
// What the two files of the double of libcuda share.
#ifndef CUDA_DOUBLE_H
#define CUDA_DOUBLE_H

#include "double.h"

enum { OK = 0, INVALID = 1, NO_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, BAD_HANDLE = 400 };

struct stream {
    uint32_t id;
    struct context *context;
    _Atomic uint64_t busy_until;
    struct stream *next; // of the context
};
struct context {
    uint32_t id, device, parent, processors;
    struct stream null;
    struct stream *streams;
};

enum {
#define CALL_ID(domain, number, name) ID_##name = number,
    DOUBLE_CALLS(CALL_ID)
#undef CALL_ID
};
#define BEGIN(name) struct call call = double_begin(1, ID_##name, #name)
struct call double_begin(int domain, uint32_t id, const char *name);
int double_end(struct call *call, int result);

struct context *double_current(void);
void double_set_current(struct context *context);
// Numbers it, and tells CUPTI.
void double_context_made(const struct call *call, struct context *context, uint32_t device);
// Waits on the host until a time, and says so of a stream and an event.
int double_wait(struct call *call, uint32_t type, const struct stream *stream, uint64_t until,
                uint32_t event);

// cuda_contexts.c: a stream of a context, at an address that an earlier one may have had.
struct stream *double_new_stream(struct context *context, uint32_t id);

#endif
