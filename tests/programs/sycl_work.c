// SPDX-License-Identifier: Apache-2.0
// A program that calls XPTI's framework as the SYCL runtime does (tests/sycl/mock), with no SYCL in it. It prints what it did.
//
//     sycl_work [submissions=N] [threads=N] [forever]
//
// Each submission is on queue 1 or 2, the odd ones with a host task begun in them, and followed by a wait. One submission has no end,
// and one end no begin.
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../agents/sycl/abi.h"

static void (*mock_start)(void);
static void (*mock_notify)(uint16_t, const struct xpti_payload *, uint64_t, uint64_t, const void *);
static long submissions = 100, threads = 1;
static _Atomic uint64_t instances = 1;

static void notify(uint16_t point, const char *name, uint64_t instance, uint64_t queue, const void *data) {
    const struct xpti_payload payload = {.name = name,
                                         .file =
                                             strcmp(name, "host task") == 0 ? "<unknown-file>" : "axpy.cpp",
                                         .line = 12,
                                         .column = 3};
    if (mock_notify)
        mock_notify(point, &payload, instance, queue, data);
}

static void *run(void *unused) {
    (void)unused;
    for (long i = 0; i < submissions; i++) {
        const uint64_t task = instances++, inner = instances++, wait = instances++;
        const uint64_t queue = i % 2 ? 2 : 1;
        const char *name = i % 2 ? "typeinfo name for Axpy<float>" : "fill usm";
        notify(XPTI_TASK_BEGIN, name, task, queue, NULL);
        if (i % 2) {
            notify(XPTI_TASK_BEGIN, "host task", inner, 0, NULL);
            notify(XPTI_TASK_END, "host task", inner, 0, NULL);
        }
        notify(XPTI_TASK_END, name, task, queue, NULL);
        notify(XPTI_WAIT_BEGIN, "queue[1]", wait, 0, i % 2 ? "event.wait[0x1]" : "queue.wait[0x2]");
        notify(XPTI_WAIT_END, "queue[1]", wait, 0, i % 2 ? "event.wait[0x1]" : "queue.wait[0x2]");
    }
    return NULL;
}

int main(int count, char **words) {
    pthread_t others[16];
    int forever = 0;
    for (int i = 1; i < count; i++) {
        if (strncmp(words[i], "submissions=", 12) == 0)
            submissions = atol(words[i] + 12);
        if (strncmp(words[i], "threads=", 8) == 0)
            threads = atol(words[i] + 8);
        forever |= strcmp(words[i], "forever") == 0;
    }
    const char *path = getenv("XPTI_FRAMEWORK_DISPATCHER");
    void *framework = path ? dlopen(path, RTLD_NOW) : NULL;
    if (framework) {
        *(void **)&mock_start = dlsym(framework, "mock_start");
        *(void **)&mock_notify = dlsym(framework, "mock_notify");
        mock_start();
    }
    for (long i = 1; i < threads && i < 16; i++)
        pthread_create(&others[i], NULL, run, NULL);
    run(NULL);
    for (long i = 1; i < threads && i < 16; i++)
        pthread_join(others[i], NULL);
    const uint64_t outer = instances++, never = instances++;
    notify(XPTI_TASK_END, "no begin", instances++, 1, NULL);
    notify(XPTI_TASK_BEGIN, "around", outer, 1, NULL);
    notify(XPTI_TASK_BEGIN, "no end", never, 1, NULL);
    if (forever) {
        printf("ready\n");
        fflush(stdout);
        for (;;)
            pause();
    }
    notify(XPTI_TASK_END, "around", outer, 1, NULL);
    printf("submissions %ld threads %ld\n", submissions * threads, threads);
    return 0;
}
