// SPDX-License-Identifier: Apache-2.0
// What the two files of the mock of libcuda share.
#ifndef CUDA_MOCK_H
#define CUDA_MOCK_H

#include "mock.h"

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
    MOCK_CALLS(CALL_ID)
#undef CALL_ID
};
#define BEGIN(name) struct call call = mock_begin(1, ID_##name, #name)
struct call mock_begin(int domain, uint32_t id, const char *name);
int mock_end(struct call *call, int result);

struct context *mock_current(void);
void mock_set_current(struct context *context);
// Numbers it, and reports it to CUPTI.
void mock_context_made(const struct call *call, struct context *context, uint32_t device);
// Waits on the host until a time, and reports a stream and an event for it.
int mock_wait(struct call *call, uint32_t type, const struct stream *stream, uint64_t until, uint32_t event);

// cuda_contexts.c: a stream of a context, at an address that an earlier one may have had.
struct stream *mock_new_stream(struct context *context, uint32_t id);

#endif
