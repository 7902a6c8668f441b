// SPDX-License-Identifier: Apache-2.0
// A CUDA program that profiles itself with the mock of Kineto, now and then, and counts its launches.
//
//     cu_self subscribed|buffers early|late SESSIONS
//
// early: the profiler is loaded before CUDA is initialized, late: after it. Exit status 4: there is no CUDA here.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *driver, *kineto;

static void *find(void *library, const char *name) {
    void *at = library ? dlsym(library, name) : NULL;
    if (!at) {
        fprintf(stderr, "cu_self: no %s\n", name);
        exit(4);
    }
    return at;
}

static void *stream, *function;
static uint64_t memory;
static long launched;

static void launch(long count) {
    int (*const one)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                     void **, void **) =
        (int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                 void **, void **))(uintptr_t)find(driver, "cuLaunchKernel");
    for (long i = 0; i < count; i++)
        launched += one(function, 4, 1, 1, 32, 1, 1, 0, stream, NULL, NULL) == 0;
}

static void synchronize(void) {
    ((int (*)(void))(uintptr_t)find(driver, "cuCtxSynchronize"))();
    ((int (*)(void *))(uintptr_t)find(driver, "cuStreamSynchronize"))(stream);
}

static void session(void) {
    static char data[512];
    void (*const push)(uint64_t) = (void (*)(uint64_t))(uintptr_t)find(kineto, "kineto_push");
    ((void (*)(void))(uintptr_t)find(kineto, "kineto_start"))();
    for (uint64_t i = 1; i <= 10; i++) {
        push(i);
        launch(100);
        ((void (*)(void))(uintptr_t)find(kineto, "kineto_pop"))();
    }
    ((int (*)(uint64_t, const void *, size_t, void *))(uintptr_t)find(driver, "cuMemcpyHtoDAsync_v2"))(
        memory, data, sizeof data, stream);
    ((int (*)(uint64_t, unsigned char, size_t, void *))(uintptr_t)find(driver, "cuMemsetD8Async"))(
        memory, 7, sizeof data, stream);
    for (int i = 0; i < 50; i++) {
        void *context;
        ((int (*)(void **))(uintptr_t)find(driver, "cuCtxGetCurrent"))(&context);
    }
    synchronize();
    ((void (*)(void))(uintptr_t)find(kineto, "kineto_stop"))();
}

static void load(void) {
    kineto = dlopen("libkineto_mock.so", RTLD_NOW | RTLD_LOCAL);
    if (!kineto)
        fprintf(stderr, "cu_self: %s\n", dlerror());
}

int main(int count, char **words) {
    void *context, *module;
    const char *form = count > 1 ? words[1] : "buffers";
    const int early = count > 2 && strcmp(words[2], "early") == 0;
    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (early)
        load();
    if (((int (*)(unsigned))(uintptr_t)find(driver, "cuInit"))(0) != 0)
        return 4;
    if (!early)
        load();
    ((int (*)(const char *))(uintptr_t)find(kineto, "kineto_init"))(form);
    ((int (*)(void **, unsigned, int))(uintptr_t)find(driver, "cuCtxCreate_v2"))(&context, 0, 0);
    ((int (*)(void **, const void *))(uintptr_t)find(driver, "cuModuleLoadData"))(&module, "code");
    ((int (*)(void **, void *, const char *))(uintptr_t)find(driver, "cuModuleGetFunction"))(&function,
                                                                                             module, "work");
    ((int (*)(void **, unsigned))(uintptr_t)find(driver, "cuStreamCreate"))(&stream, 0);
    ((int (*)(uint64_t *, size_t))(uintptr_t)find(driver, "cuMemAlloc_v2"))(&memory, 512);
    launch(200);
    synchronize();
    for (long i = 0; i < (count > 3 ? atol(words[3]) : 1); i++) {
        session();
        launch(300);
        synchronize();
    }
    printf("launches %ld\n", launched);
    return 0;
}
