// SPDX-License-Identifier: Apache-2.0
// A program for Huawei's CANN, as far as the mock of libascendcl goes (tests/cann/mock). It opens the runtime itself, and prints what it
// did.
//
//     acl_work [launches=N] [threads=N] [feed=N]
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int (*aclInit)(const char *);
static int (*aclrtLaunchKernel)(const char *, uint32_t, uint32_t);
static int (*aclrtMemcpy)(void *, const void *, size_t, uint32_t);
static int (*aclrtMemset)(void *, int, size_t);
static int (*aclrtMalloc)(void **, size_t);
static int (*aclrtFree)(void *);
static int (*HcclAllReduce)(uint32_t);
static uint64_t (*mstxRangeStartA)(const char *, uint32_t);
static void (*mstxRangeEnd)(uint64_t, uint32_t);
static void (*mstxMarkA)(const char *);

static long launches = 100, threads = 1, feed;

static long word(const char *text, const char *name, long otherwise) {
    const size_t length = strlen(name);
    return strncmp(text, name, length) == 0 && text[length] == '=' ? atol(text + length + 1) : otherwise;
}

static void *run(void *number) {
    const uint32_t stream = 1 + (uint32_t)(uintptr_t)number;
    for (long i = 0; i < launches; i++)
        if (aclrtLaunchKernel(i % 2 ? "second" : "first", i % 2 ? 8 : 16, stream) != 0)
            exit(5);
    return NULL;
}

static void use_memory(void) {
    char host[4096], back[4096];
    void *device = NULL;
    memset(host, 7, sizeof host);
    if (aclrtMalloc(&device, sizeof host) || aclrtMemcpy(device, host, sizeof host, 2) ||
        aclrtMemset(device, 42, 100) || aclrtMemcpy(back, device, sizeof back, 3) || aclrtFree(device))
        exit(5);
    if (back[0] != 42 || back[100] != 7)
        exit(6);
}

int main(int count, char **words) {
    pthread_t others[16];
    for (int i = 1; i < count; i++) {
        launches = word(words[i], "launches", launches);
        threads = word(words[i], "threads", threads);
        feed = word(words[i], "feed", feed);
    }
    void *library = dlopen("libascendcl.so", RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        fprintf(stderr, "acl_work: no libascendcl.so\n");
        return 4;
    }
#define FIND(name) *(void **)&name = dlsym(library, #name)
    FIND(aclInit);
    FIND(aclrtLaunchKernel);
    FIND(aclrtMemcpy);
    FIND(aclrtMemset);
    FIND(aclrtMalloc);
    FIND(aclrtFree);
    FIND(HcclAllReduce);
    FIND(mstxRangeStartA);
    FIND(mstxRangeEnd);
    FIND(mstxMarkA);
    aclInit(NULL);
    use_memory();
    const uint64_t range = mstxRangeStartA("step", 0), device = mstxRangeStartA("on device", 1);
    for (long i = 1; i < threads && i < 16; i++)
        pthread_create(&others[i], NULL, run, (void *)(uintptr_t)i);
    run(NULL);
    for (long i = 1; i < threads && i < 16; i++)
        pthread_join(others[i], NULL);
    HcclAllReduce(9);
    mstxRangeEnd(device, 1);
    mstxRangeEnd(range, 0);
    mstxMarkA("done");
    printf("launches %ld first %ld threads %ld\n", launches * threads, (launches + 1) / 2 * threads, threads);
    uint64_t (*mock_feed)(uint64_t) = NULL;
    *(void **)&mock_feed = dlsym(RTLD_DEFAULT, "mock_feed");
    if (feed && mock_feed)
        printf("fed %ld nanoseconds %lld\n", feed, (long long)mock_feed((uint64_t)feed));
    return 0;
}
