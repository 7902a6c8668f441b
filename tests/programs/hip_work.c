// SPDX-License-Identifier: Apache-2.0
// A HIP program that knows nothing of a profiler and prints how much of what it did. It opens HIP itself, by name.
//     hip_work [launches=N] [threads=N] [streams=N] [copies=N] [graphs=N] [events=N] [marks=N] [special=1] [wait=0] [then=WORD]
// special: a launch each on hipStreamLegacy and hipStreamPerThread. `then`: exit (the default), _exit, kill, fork and forkexit (a child
// that calls _exit, exit).
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../rocm/mock/hip.h"

#define FUNCTIONS(FUNCTION)                                                                                  \
    FUNCTION(hipInit)                                                                                        \
    FUNCTION(hipMalloc)                                                                                      \
    FUNCTION(hipFree)                                                                                        \
    FUNCTION(hipMemcpyWithStream)                                                                            \
    FUNCTION(hipStreamCreate)                                                                                \
    FUNCTION(hipStreamDestroy)                                                                               \
    FUNCTION(hipModuleLaunchKernel)                                                                          \
    FUNCTION(hipDeviceSynchronize)                                                                           \
    FUNCTION(hipEventRecord)                                                                                 \
    FUNCTION(hipStreamWaitEvent)                                                                             \
    FUNCTION(mockKernel)                                                                                     \
    FUNCTION(mockEvent)                                                                                      \
    FUNCTION(mockGraphLaunch)                                                                                \
    FUNCTION(mockByItself)                                                                                   \
    FUNCTION(roctxMarkA)                                                                                     \
    FUNCTION(roctxRangePushA)                                                                                \
    FUNCTION(roctxRangePop)                                                                                  \
    FUNCTION(roctxRangeStartA)                                                                               \
    FUNCTION(roctxRangeStop)                                                                                 \
    FUNCTION(ncclAllReduce)

static struct {
#define POINTER(name) __typeof__(&name) name;
    FUNCTIONS(POINTER)
#undef POINTER
} hip;

enum { STREAMS_MAX = 16, BYTES = 4096 };

static unsigned launches = 10, threads = 1, stream_count = 1, copies, graphs, events, marks, special,
                waits = 1;
static uintptr_t streams[STREAMS_MAX], first, second;

static unsigned number(int argc, char **argv, const char *key, unsigned otherwise) {
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], key, strlen(key)) == 0 && argv[i][strlen(key)] == '=')
            return (unsigned)strtoul(argv[i] + strlen(key) + 1, NULL, 10);
    return otherwise;
}

static void open_hip(void) {
    void *library = dlopen("libamdhip64.so", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(77);
    }
#define FIND(name) *(void **)&hip.name = dlsym(library, #name);
    FUNCTIONS(FIND)
#undef FIND
}

static void *launch(void *argument) {
    const unsigned thread = (unsigned)(uintptr_t)argument;
    for (unsigned i = 0; i < launches; i++) {
        const uintptr_t stream = streams[(thread + i) % stream_count];
        if (i % 2)
            hip.hipModuleLaunchKernel(second, 4, 2, 1, 8, 4, 1, 0, stream);
        else
            hip.hipModuleLaunchKernel(first, 16, 1, 1, 64, 1, 1, 128, stream);
    }
    return NULL;
}

static void transfer(void) {
    void *memory;
    char host[BYTES] = {1};
    hip.hipMalloc(&memory, BYTES);
    for (unsigned i = 0; i < copies; i++) {
        hip.hipMemcpyWithStream(memory, host, BYTES, 1, streams[0]);
        hip.hipMemcpyWithStream(host, memory, BYTES, 2, streams[0]);
        hip.hipMemcpyWithStream(memory, memory, BYTES / 2, 3, streams[0]);
        hip.hipMemcpyWithStream(memory, memory, BYTES / 4, 4, streams[0]);
    }
    hip.hipFree(memory);
}

static void mark(void) {
    for (unsigned i = 0; i < marks; i++) {
        const uint64_t range = hip.roctxRangeStartA("across");
        hip.roctxRangePushA("outer");
        hip.roctxRangePushA("inner");
        hip.roctxMarkA("here");
        hip.roctxRangePop();
        hip.roctxRangeStop(range);
        hip.roctxRangePop();
        hip.ncclAllReduce(BYTES);
    }
}

static void order(void) {
    const uintptr_t event = hip.mockEvent();
    for (unsigned i = 0; i < events; i++) {
        hip.hipModuleLaunchKernel(first, 16, 1, 1, 64, 1, 1, 128, streams[0]);
        hip.hipEventRecord(event, streams[0]);
        hip.hipStreamWaitEvent(streams[stream_count - 1], event, 0);
        hip.hipModuleLaunchKernel(second, 4, 2, 1, 8, 4, 1, 0, streams[stream_count - 1]);
    }
}

static void work(void) {
    pthread_t all[STREAMS_MAX];
    for (unsigned i = 1; i < threads; i++)
        pthread_create(&all[i], NULL, launch, (void *)(uintptr_t)i);
    launch(NULL);
    for (unsigned i = 1; i < threads; i++)
        pthread_join(all[i], NULL);
    if (copies)
        transfer();
    for (unsigned i = 0; i < graphs; i++)
        hip.mockGraphLaunch(first, 5, streams[0]);
    order();
    mark();
    for (uintptr_t stream = 1; special && stream <= 2; stream++)
        hip.hipModuleLaunchKernel(second, 4, 2, 1, 8, 4, 1, 0, stream);
    if (waits)
        hip.hipDeviceSynchronize();
}

int main(int argc, char **argv) {
    const char *then = "exit";
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "then=", 5) == 0)
            then = argv[i] + 5;
    launches = number(argc, argv, "launches", launches);
    threads = number(argc, argv, "threads", threads);
    stream_count = number(argc, argv, "streams", stream_count);
    copies = number(argc, argv, "copies", copies);
    graphs = number(argc, argv, "graphs", graphs);
    events = number(argc, argv, "events", events);
    marks = number(argc, argv, "marks", marks);
    special = number(argc, argv, "special", special) ? 2 : 0;
    waits = number(argc, argv, "wait", waits);
    open_hip();
    hip.hipInit(0);
    first = hip.mockKernel("_Z5firstPfi");
    second = hip.mockKernel("second");
    for (unsigned i = 0; i < stream_count; i++)
        hip.hipStreamCreate(&streams[i]);
    work();
    if (number(argc, argv, "itself", 0))
        hip.mockByItself();
    for (unsigned i = 0; i < stream_count; i++)
        hip.hipStreamDestroy(streams[i]);
    const unsigned all = launches * threads + 5 * graphs + 2 * events + special;
    printf("kernels %u launches %u copies %u graphs %u events %u marks %u streams %u threads %u calls %u\n",
           all, launches * threads + 2 * events + special, 4 * copies, graphs, events, marks, stream_count,
           threads,
           1 + 2 * stream_count + launches * threads + (copies ? 2 + 4 * copies : 0) + graphs + 4 * events +
               special + (waits != 0));
    fflush(stdout);
    if (strncmp(then, "fork", 4) == 0) {
        const pid_t child = fork();
        if (child == 0 && strcmp(then, "forkexit") == 0)
            exit(0);
        if (child == 0)
            _exit(0);
        waitpid(child, NULL, 0);
    } else if (strcmp(then, "_exit") == 0) {
        _exit(0);
    } else if (strcmp(then, "kill") == 0) {
        raise(SIGKILL);
    }
    return 0;
}
