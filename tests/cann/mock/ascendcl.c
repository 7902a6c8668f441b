// SPDX-License-Identifier: Apache-2.0
// A mock of libascendcl: what the tests' program calls of the runtime. Commands take simulated time on their stream. Where MSPTI is
// in the process, it is notified of each, as the real one learns of them by taking the functions' place.
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct mock_call {
    uint64_t start, correlation;
};
static void (*begin)(struct mock_call *call, uint32_t id, const char *name);
static void (*end)(const struct mock_call *call, const char *acl, const char *runtime);
static void (*kernel)(const struct mock_call *, uint32_t device, uint32_t stream, const char *, uint64_t,
                      uint64_t);
static void (*copy)(const struct mock_call *, uint32_t kind, uint64_t bytes, uint64_t, uint64_t);
static void (*set)(const struct mock_call *, uint32_t to, uint64_t bytes, uint64_t, uint64_t);
static void (*memory)(const struct mock_call *, uint32_t operation, uint64_t address, uint64_t bytes);
static void (*collective)(const struct mock_call *, uint32_t stream, uint64_t, uint64_t);
static void (*mark)(uint32_t flag, uint64_t id, const char *name, uint32_t stream, uint64_t time);
static void (*rare)(const struct mock_call *);

enum { LAUNCH = 10, MEMCPY = 22, MEM_SET = 27, MALLOC = 15, FREE = 16, STREAMS = 16 };
static _Atomic uint64_t busy[STREAMS];

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t run_on(uint32_t stream, uint64_t ns, uint64_t *until) {
    const uint64_t after = busy[stream % STREAMS], time = now();
    const uint64_t start = after > time ? after : time;
    *until = start + ns;
    busy[stream % STREAMS] = *until;
    return start;
}

int aclInit(const char *configuration);
int aclInit(const char *configuration) {
    (void)configuration;
#define FIND(name) *(void **)&name = dlsym(RTLD_DEFAULT, "mock_" #name)
    FIND(begin);
    FIND(end);
    FIND(kernel);
    FIND(copy);
    FIND(set);
    FIND(memory);
    FIND(collective);
    FIND(mark);
    FIND(rare);
#undef FIND
    return 0;
}

#define BEGIN(id, name)                                                                                      \
    struct mock_call call = {0, 0};                                                                          \
    if (begin)                                                                                               \
        begin(&call, id, name);
#define END(acl, runtime)                                                                                    \
    if (end)                                                                                                 \
        end(&call, acl, runtime);

int aclrtLaunchKernel(const char *name, uint32_t blocks, uint32_t stream);
int aclrtLaunchKernel(const char *name, uint32_t blocks, uint32_t stream) {
    uint64_t until;
    BEGIN(LAUNCH, "aclrtLaunchKernel")
    const uint64_t start = run_on(stream, 100 * blocks, &until);
    if (kernel)
        kernel(&call, 0, stream, name, start, until);
    END("aclrtLaunchKernel", "rtKernelLaunch")
    return 0;
}

int aclrtMemcpy(void *to, const void *from, size_t bytes, uint32_t kind);
int aclrtMemcpy(void *to, const void *from, size_t bytes, uint32_t kind) {
    uint64_t until;
    BEGIN(MEMCPY, "aclrtMemcpy")
    const uint64_t start = run_on(0, bytes, &until);
    memcpy(to, from, bytes);
    if (copy)
        copy(&call, kind, bytes, start, until);
    END("aclrtMemcpy", NULL)
    return 0;
}

int aclrtMemset(void *to, int value, size_t bytes);
int aclrtMemset(void *to, int value, size_t bytes) {
    uint64_t until;
    BEGIN(MEM_SET, "aclrtMemset")
    const uint64_t start = run_on(3, bytes, &until);
    memset(to, value, bytes);
    if (set)
        set(&call, (uint32_t)value, bytes, start, until);
    END("aclrtMemset", NULL)
    return 0;
}

int aclrtMalloc(void **out, size_t bytes);
int aclrtMalloc(void **out, size_t bytes) {
    BEGIN(MALLOC, "aclrtMalloc")
    *out = malloc(bytes);
    if (memory)
        memory(&call, 0, (uint64_t)(uintptr_t)*out, bytes);
    END("aclrtMalloc", NULL)
    return *out ? 0 : 1;
}

int aclrtFree(void *at);
int aclrtFree(void *at) {
    BEGIN(FREE, "aclrtFree")
    if (memory)
        memory(&call, 1, (uint64_t)(uintptr_t)at, 0);
    free(at);
    END("aclrtFree", NULL)
    return 0;
}

int HcclAllReduce(uint32_t stream);
int HcclAllReduce(uint32_t stream) {
    uint64_t until;
    BEGIN(60, "HcclAllReduce")
    const uint64_t start = run_on(stream, 5000, &until);
    if (collective)
        collective(&call, stream, start, until);
    if (rare)
        rare(&call);
    END("HcclAllReduce", NULL)
    return 0;
}

// A range of the host, and the same on a stream, which has no name.
uint64_t mstxRangeStartA(const char *name, uint32_t stream);
uint64_t mstxRangeStartA(const char *name, uint32_t stream) {
    static _Atomic uint64_t ids;
    const uint64_t id = ++ids;
    if (mark)
        mark(stream ? 16 : 2, id, name, 0, 0);
    if (mark && stream)
        mark(16, id, "", stream, now() + 1000);
    return id;
}

void mstxRangeEnd(uint64_t id, uint32_t stream);
void mstxRangeEnd(uint64_t id, uint32_t stream) {
    if (mark && stream)
        mark(32, id, "", stream, now() + 3000);
    if (mark)
        mark(stream ? 32 : 4, id, NULL, 0, 0);
}

void mstxMarkA(const char *name);
void mstxMarkA(const char *name) {
    if (mark)
        mark(1, 1u << 30, name, 0, 0);
}
