// SPDX-License-Identifier: Apache-2.0
// A CUDA program of the driver API that knows nothing of us: it opens libcuda itself, so it needs no CUDA to be built,
// and counts what it does. Its own counts go to standard output, as one line of words and numbers.
//
// Drivers of other vendors have the same functions under another name: library=libmusa.so.1 prefix=mu.
//
//     cu_work [launches=N] [threads=N] [streams=N] [graphs=N] [feed=N] [callbacks=N] [hoard=N] [forks=N] [capture=N] [rare] [peers] [pause] [ask] [endless] [range] [idle] [managed] [fork] [end=return|exit|_exit|abort|kill] [bad=N] [close]
//
// Exit status 4: there is no CUDA here.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void *handle;
static int (*cuInit)(unsigned);
static int (*cuDeviceGet)(int *, int);
static int (*cuDeviceGetCount)(int *);
static int (*cuCtxCreate)(handle *, unsigned, int);
static int (*cuCtxSetCurrent)(handle);
static int (*cuCtxDestroy)(handle);
static int (*cuCtxSynchronize)(void);
static int (*cuStreamCreate)(handle *, unsigned);
static int (*cuStreamDestroy)(handle);
static int (*cuStreamSynchronize)(handle);
static int (*cuMemAlloc)(uint64_t *, size_t);
static int (*cuMemAllocManaged)(uint64_t *, size_t, unsigned);
static int (*cuMemFree)(uint64_t);
static int (*cuMemcpyHtoDAsync)(uint64_t, const void *, size_t, handle);
static int (*cuMemcpyDtoH)(void *, uint64_t, size_t);
static int (*cuMemcpyPeerAsync)(uint64_t, handle, uint64_t, handle, size_t, handle);
static int (*cuMemsetD8Async)(uint64_t, unsigned char, size_t, handle);
static int (*cuModuleLoadData)(handle *, const void *);
static int (*cuModuleUnload)(handle);
static int (*cuModuleGetFunction)(handle *, handle, const char *);
static int (*cuLaunchKernel)(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                             handle, void **, void **);
static int (*cuGraphLaunch)(handle, handle);
static int (*cuCtxGetCurrent)(handle *);
static int (*cuProfilerStart)(void);
static int (*cuProfilerStop)(void);
// With the mocks only.
static int (*mock_graph)(handle *, uint32_t);
static uint64_t (*mock_feed)(uint64_t);
static uint64_t (*mock_callbacks)(uint64_t);
static uint64_t (*mock_keep_buffers)(uint64_t);
static int (*mock_rare)(void);
static void (*mock_capture)(int);
static void (*mock_await_flushes)(uint64_t);

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                          ".visible .entry first()\n{\n ret;\n}\n"
                          ".visible .entry second()\n{\n ret;\n}\n";

enum { BYTES = 4096 };
static struct {
    long launches, threads, streams, graphs, bad, feed, callbacks, capture, hoard, forks;
    int fork, close, rare, peers, pause, ask, endless, range, idle, managed;
    const char *end, *library, *prefix;
} want = {
    .launches = 100, .threads = 1, .streams = 2, .end = "return", .library = "libcuda.so.1", .prefix = "cu"};

static void *find(void *library, const char *name) {
    char text[64];
    snprintf(text, sizeof text, "%s%s", want.prefix, name + strlen("cu"));
    void *at = dlsym(library, text);
    if (!at)
        fprintf(stderr, "cu_work: no %s\n", text);
    return at;
}

static void need(int result, const char *what) {
    if (result == 0)
        return;
    fprintf(stderr, "cu_work: %s gave %d\n", what, result);
    exit(4);
}

static handle open_driver(void) {
    void *library = dlopen(want.library, RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        fprintf(stderr, "cu_work: no %s\n", want.library);
        exit(4);
    }
#define FIND(name, symbol) *(void **)&name = find(library, symbol);
    FIND(cuInit, "cuInit")
    FIND(cuDeviceGet, "cuDeviceGet")
    FIND(cuDeviceGetCount, "cuDeviceGetCount")
    FIND(cuCtxCreate, "cuCtxCreate_v2")
    FIND(cuCtxSetCurrent, "cuCtxSetCurrent")
    FIND(cuCtxDestroy, "cuCtxDestroy_v2")
    FIND(cuCtxSynchronize, "cuCtxSynchronize")
    FIND(cuStreamCreate, "cuStreamCreate")
    FIND(cuStreamDestroy, "cuStreamDestroy_v2")
    FIND(cuStreamSynchronize, "cuStreamSynchronize")
    FIND(cuMemAlloc, "cuMemAlloc_v2")
    FIND(cuMemAllocManaged, "cuMemAllocManaged")
    FIND(cuMemFree, "cuMemFree_v2")
    FIND(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2")
    FIND(cuMemcpyDtoH, "cuMemcpyDtoH_v2")
    FIND(cuMemcpyPeerAsync, "cuMemcpyPeerAsync")
    FIND(cuMemsetD8Async, "cuMemsetD8Async")
    FIND(cuModuleLoadData, "cuModuleLoadData")
    FIND(cuModuleUnload, "cuModuleUnload")
    FIND(cuModuleGetFunction, "cuModuleGetFunction")
    FIND(cuLaunchKernel, "cuLaunchKernel")
    FIND(cuGraphLaunch, "cuGraphLaunch")
    FIND(cuCtxGetCurrent, "cuCtxGetCurrent")
    FIND(cuProfilerStart, "cuProfilerStart")
    FIND(cuProfilerStop, "cuProfilerStop")
    *(void **)&mock_graph = dlsym(library, "mock_graph");
    *(void **)&mock_feed = dlsym(library, "mock_feed");
    *(void **)&mock_keep_buffers = dlsym(library, "mock_keep_buffers");
    *(void **)&mock_callbacks = dlsym(library, "mock_callbacks");
    *(void **)&mock_capture = dlsym(library, "mock_capture");
    *(void **)&mock_rare = dlsym(library, "mock_rare");
    *(void **)&mock_await_flushes = dlsym(library, "mock_await_flushes");
    return library;
}

struct work {
    handle context, first, second;
    long launches;
    long waits, bad;
};

static void *run(void *argument) {
    struct work *work = argument;
    handle streams[16] = {NULL};
    need(cuCtxSetCurrent(work->context), "cuCtxSetCurrent");
    for (long i = 0; i < want.streams; i++)
        need(cuStreamCreate(&streams[i], 0), "cuStreamCreate");
    for (long i = 0; i < work->launches; i++) {
        handle stream = want.streams ? streams[i % want.streams] : NULL;
        if (i % 2)
            need(cuLaunchKernel(work->second, 4, 2, 1, 8, 4, 1, 0, stream, NULL, NULL), "cuLaunchKernel");
        else
            need(cuLaunchKernel(work->first, 16, 1, 1, 64, 1, 1, 128, stream, NULL, NULL), "cuLaunchKernel");
        if (i % 64 == 63) {
            need(cuStreamSynchronize(stream), "cuStreamSynchronize");
            work->waits++;
        }
    }
    // Launches that fail: no block has that many threads.
    for (; work->bad < want.bad; work->bad++)
        if (cuLaunchKernel(work->first, 1, 1, 1, 4096, 4096, 1, 0, NULL, NULL, NULL) == 0)
            exit(5);
    for (long i = 0; i < want.streams; i++) {
        need(cuStreamSynchronize(streams[i]), "cuStreamSynchronize");
        work->waits++;
        need(cuStreamDestroy(streams[i]), "cuStreamDestroy");
    }
    return NULL;
}

static void check_memory(handle stream) {
    static unsigned char data[BYTES];
    uint64_t memory = 0;
    memset(data, 7, sizeof data);
    need(cuMemAlloc(&memory, BYTES), "cuMemAlloc");
    need(cuMemcpyHtoDAsync(memory, data, BYTES, stream), "cuMemcpyHtoDAsync");
    need(cuCtxSynchronize(), "cuCtxSynchronize");
    need(cuMemsetD8Async(memory, 42, BYTES / 2, stream), "cuMemsetD8Async");
    need(cuMemcpyDtoH(data, memory, BYTES), "cuMemcpyDtoH");
    need(cuMemFree(memory), "cuMemFree");
    if (data[0] != 42 || data[BYTES / 2] != 7)
        exit(6);
}

static void copy_to_peer(handle context) {
    handle other = NULL;
    uint64_t here = 0, there = 0;
    unsigned char data[BYTES];
    memset(data, 9, sizeof data);
    need(cuMemAlloc(&here, BYTES), "cuMemAlloc");
    need(cuMemcpyHtoDAsync(here, data, BYTES, NULL), "cuMemcpyHtoDAsync");
    need(cuCtxCreate(&other, 0, 1), "cuCtxCreate");
    need(cuMemAlloc(&there, BYTES), "cuMemAlloc");
    need(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    need(cuMemcpyPeerAsync(there, other, here, context, BYTES, NULL), "cuMemcpyPeerAsync");
    need(cuCtxSynchronize(), "cuCtxSynchronize");
    need(cuCtxSetCurrent(other), "cuCtxSetCurrent");
    need(cuMemcpyDtoH(data, there, BYTES), "cuMemcpyDtoH");
    need(cuMemFree(there), "cuMemFree");
    need(cuCtxDestroy(other), "cuCtxDestroy");
    need(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    need(cuMemFree(here), "cuMemFree");
    if (data[0] != 9 || data[BYTES - 1] != 9)
        exit(7);
}

static void read_words(int count, char **words) {
    for (int i = 1; i < count; i++) {
        const char *equals = strchr(words[i], '=');
        const long number = equals ? atol(equals + 1) : 0;
        const size_t length = equals ? (size_t)(equals - words[i]) : strlen(words[i]);
#define WORD(text, ...)                                                                                      \
    if (strlen(text) == length && strncmp(words[i], text, length) == 0)                                      \
        __VA_ARGS__;
        WORD("launches", want.launches = number)
        WORD("threads", want.threads = number < 64 ? number : 64)
        WORD("streams", want.streams = number < 16 ? number : 16)
        WORD("graphs", want.graphs = number)
        WORD("bad", want.bad = number)
        WORD("feed", want.feed = number)
        WORD("forks", want.forks = number)
        WORD("hoard", want.hoard = number)
        WORD("callbacks", want.callbacks = number)
        WORD("fork", want.fork = 1)
        WORD("close", want.close = 1)
        WORD("rare", want.rare = 1)
        WORD("capture", want.capture = number)
        WORD("pause", want.pause = 1)
        WORD("ask", want.ask = 1)
        WORD("endless", want.endless = 1)
        WORD("range", want.range = 1)
        WORD("idle", want.idle = 1)
        WORD("managed", want.managed = 1)
        WORD("peers", want.peers = 1)
        WORD("library", want.library = equals ? equals + 1 : want.library)
        WORD("prefix", want.prefix = equals ? equals + 1 : want.prefix)
        WORD("end", want.end = equals ? equals + 1 : "return")
    }
}

static void run_threads(handle context, handle first, handle second, long *waits) {
    pthread_t threads[64];
    struct work work[64];
    for (long i = 0; i < want.threads; i++) {
        work[i] =
            (struct work){.context = context, .first = first, .second = second, .launches = want.launches};
        if (want.threads > 1)
            pthread_create(&threads[i], NULL, run, &work[i]);
        else
            run(&work[i]);
    }
    for (long i = 0; i < want.threads; i++) {
        if (want.threads > 1)
            pthread_join(threads[i], NULL);
        *waits += work[i].waits;
    }
}

static void finish(void) {
    fflush(stdout);
    if (strcmp(want.end, "exit") == 0)
        exit(0);
    if (strcmp(want.end, "_exit") == 0)
        _exit(0);
    if (strcmp(want.end, "abort") == 0)
        abort();
    if (strcmp(want.end, "kill") == 0)
        raise(SIGKILL);
}

static void *feed(void *unused) {
    (void)unused;
    mock_feed(60000);
    return NULL;
}

// Forks while another thread hands over records.
static void fork_often(void) {
    pthread_t feeder;
    pthread_create(&feeder, NULL, feed, NULL);
    for (long i = 0; i < want.forks; i++) {
        const pid_t child = fork();
        if (child == 0)
            _exit(0);
        waitpid(child, NULL, 0);
    }
    pthread_join(feeder, NULL);
}

// What only the mocks can be asked for, and copies between two devices.
static void use_mocks(handle context) {
    uint64_t memory;
    if (want.managed)
        need(cuMemAllocManaged(&memory, BYTES, 1), "cuMemAllocManaged");
    if (want.peers)
        copy_to_peer(context);
    if (want.rare && mock_rare)
        need(mock_rare(), "mock_rare");
    if (want.callbacks && mock_callbacks) {
        const uint64_t taken = mock_callbacks((uint64_t)want.callbacks);
        printf("called %ld nanoseconds %lld\n", want.callbacks, (long long)taken);
    }
    if (want.feed && mock_feed) {
        const uint64_t taken = mock_feed((uint64_t)want.feed);
        printf("fed %ld nanoseconds %lld\n", want.feed, (long long)taken);
    }
    if (want.forks && mock_feed)
        fork_often();
    if (want.hoard && mock_keep_buffers)
        printf("hoarded %lld\n", (long long)mock_keep_buffers((uint64_t)want.hoard));
}

// A kernel of the mock that does not end, on a stream without a wait.
static void launch_endless(handle kernel) {
    enum { ENDLESS_SHARED = 7777 };
    handle stream = NULL;
    need(cuStreamCreate(&stream, 0), "cuStreamCreate");
    need(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, ENDLESS_SHARED, stream, NULL, NULL), "cuLaunchKernel");
}

// What is launched; with `range`, between cuProfilerStart and cuProfilerStop, and as much outside.
static void run_range(handle context, handle first, handle second, long *waits) {
    handle current;
    for (int i = 0; want.idle && i < 100; i++)
        need(cuCtxGetCurrent(&current), "cuCtxGetCurrent");
    if (want.range)
        need(cuProfilerStart(), "cuProfilerStart");
    run_threads(context, first, second, waits);
    if (want.range) {
        long outside = 0;
        need(cuProfilerStop(), "cuProfilerStop");
        run_threads(context, first, second, &outside);
    }
}

// As many launches for each byte on standard input.
static void run_on_request(handle context, handle first, handle second, long *waits) {
    char byte;
    printf("ready\n");
    fflush(stdout);
    for (long i = 1; read(0, &byte, 1) == 1; i++) {
        run_threads(context, first, second, waits);
        need(cuCtxSynchronize(), "cuCtxSynchronize");
        printf("round %ld\n", i);
        fflush(stdout);
    }
}

int main(int count, char **words) {
    handle context = NULL, module = NULL, first = NULL, second = NULL, graph = NULL;
    int device = 0;
    long waits = 1; // of check_memory
    read_words(count, words);
    handle library = open_driver();
    need(cuInit(0), "cuInit");
    need(cuDeviceGet(&device, 0), "cuDeviceGet");
    need(cuCtxCreate(&context, 0, device), "cuCtxCreate");
    need(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
    need(cuModuleGetFunction(&first, module, "first"), "cuModuleGetFunction");
    need(cuModuleGetFunction(&second, module, "second"), "cuModuleGetFunction");
    check_memory(NULL);
    if (want.endless && mock_await_flushes)
        launch_endless(first);
    run_range(context, first, second, &waits);
    if (want.endless && mock_await_flushes)
        mock_await_flushes(3);
    if (want.pause) { // long enough for a poller to see it
        printf("pausing\n");
        fflush(stdout);
        usleep(700000);
        run_threads(context, first, second, &waits);
    }
    if (want.ask)
        run_on_request(context, first, second, &waits);
    // Launches that are captured into a graph run nothing.
    for (long i = 0; mock_capture && i < want.capture; i++) {
        mock_capture(1);
        need(cuLaunchKernel(first, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), "cuLaunchKernel");
        mock_capture(0);
    }
    if (want.graphs && mock_graph)
        need(mock_graph(&graph, 5), "mock_graph");
    for (long i = 0; graph && i < want.graphs; i++)
        need(cuGraphLaunch(graph, NULL), "cuGraphLaunch");
    if (want.fork) {
        // A child that knows that CUDA is not its own.
        const pid_t child = fork();
        if (child == 0)
            exit(0);
        waitpid(child, NULL, 0);
    }
    need(cuCtxSynchronize(), "cuCtxSynchronize");
    printf("launches %ld first %ld bad %ld waits %ld copies 2 sets 1 allocs 1 frees 1 graphs %ld streams %ld "
           "pid %d\n",
           want.launches * want.threads, (want.launches + 1) / 2 * want.threads, want.bad * want.threads,
           waits + 1, graph ? want.graphs : 0, want.streams * want.threads, (int)getpid());
    use_mocks(context);
    need(cuModuleUnload(module), "cuModuleUnload");
    need(cuCtxDestroy(context), "cuCtxDestroy");
    finish();
    if (want.close)
        dlclose(library);
    return 0;
}
