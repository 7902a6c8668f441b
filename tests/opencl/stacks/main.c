// SPDX-License-Identifier: Apache-2.0
// An OpenCL program that launches a kernel from thousands of different call paths and writes down, for each launch, where
// it was called from by its functions' own account (__builtin_return_address):
//
//     main TRUTH PLUGIN PLUGIN [LAUNCH]
//
// After launch number LAUNCH it kills its parent and itself; its parent's session directory is in TRUTH.session.
//
// The number of a launch is its global offset. A line of TRUTH is the number, then the callers, innermost first:
// MODULE+ADDRESS, the address as in the file, or "signal" where one struck; "own" at
// the end of a stack that the program made itself.
#include <CL/cl.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "path.h"

enum { THREADS = 3, STACK = 64 << 10, TABLES = 4, NO_DEVICE = 4 };

extern path_function *const functions_main[FUNCTIONS], *const functions_one[FUNCTIONS],
                                                           *const functions_two[FUNCTIONS];

static _Atomic uint64_t launches;
static uint64_t last_launch;
static FILE *truth;
static pthread_mutex_t truth_lock = PTHREAD_MUTEX_INITIALIZER;
static cl_context context;
static cl_device_id device;
static cl_program program;
static __thread cl_command_queue queue;
static __thread cl_kernel kernel;
static __thread path_function *const *plugin;
static __thread struct path *of_signal;
static struct path on_other_stack;

static void must(int good, const char *what) {
    if (good)
        return;
    fprintf(stderr, "failed: %s\n", what);
    exit(1);
}

// ---- the truth

static void write_place(const void *place) {
    Dl_info module;
    must(dladdr(place, &module), "dladdr");
    fprintf(truth, " %s+%lx", module.dli_fname,
            (unsigned long)((const char *)place - (const char *)module.dli_fbase));
}

static void write_truth(uint64_t number, const struct path *path) {
    pthread_mutex_lock(&truth_lock);
    fprintf(truth, "%llu", (unsigned long long)number);
    for (uint32_t i = path->depth; i-- > 0;) {
        if (path->returns[i])
            write_place(path->returns[i]);
        else
            fprintf(truth, " signal");
    }
    fprintf(truth, path == &on_other_stack ? " own\n" : "\n");
    pthread_mutex_unlock(&truth_lock);
}

// ---- the path

__attribute__((noinline)) static long launch(struct path *path) {
    const uint64_t number = atomic_fetch_add(&launches, 1) + 1;
    const size_t offset = number, one = 1;
    PATH_CALLED(path);
    must(clEnqueueNDRangeKernel(queue, kernel, 1, &offset, &one, &one, 0, NULL, NULL) == CL_SUCCESS,
         "launch");
    write_truth(number, path);
    if (number == last_launch) {
        kill(getppid(), SIGKILL);
        kill(getpid(), SIGKILL);
    }
    if (number % 64 == 0)
        must(clFinish(queue) == CL_SUCCESS, "clFinish");
    PATH_LEFT(path);
    return (long)number;
}

long path_next(struct path *path) {
    path_function *const *tables[TABLES] = {functions_main, functions_one, functions_two, plugin};
    PATH_CALLED(path);
    uint32_t step = path->steps[path->at];
    long result =
        path->at++ == path->length ? launch(path) : tables[step / FUNCTIONS][step % FUNCTIONS](path);
    PATH_LEFT(path);
    return result;
}

static uint32_t next_random(uint64_t *random) {
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*random >> 33);
}

static void choose(struct path *path, uint64_t *random, uint32_t tables) {
    path->at = 0;
    path->length = 1 + next_random(random) % 24;
    for (uint32_t i = 0; i < path->length; i++)
        path->steps[i] = next_random(random) % (tables * FUNCTIONS);
}

__attribute__((noinline)) static void take(struct path *path, uint64_t *random, uint32_t count,
                                           uint32_t tables) {
    PATH_CALLED(path);
    while (count--) {
        choose(path, random, tables);
        must(path_next(path) != 0, "path");
    }
    PATH_LEFT(path);
}

// ---- signals

static void on_signal(int number) {
    static __thread uint64_t random = 5;
    struct path *path = of_signal;
    (void)number;
    path->returns[path->depth++] = NULL;
    PATH_CALLED(path);
    choose(path, &random, 3);
    must(path_next(path) != 0, "path in a signal handler");
    PATH_LEFT(path);
    path->depth--;
}

__attribute__((noinline)) static void interrupted(struct path *path) {
    PATH_CALLED(path);
    must(raise(SIGUSR1) == 0, "raise");
    PATH_LEFT(path);
}

__attribute__((noinline)) static void take_signals(struct path *path, int count, int flags) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
    PATH_CALLED(path);
    must(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
    of_signal = path;
    while (count--)
        interrupted(path);
    PATH_LEFT(path);
}

// ---- other stacks

static ucontext_t here, there;

static void coroutine(void) {
    uint64_t random = 77;
    on_other_stack.depth = 0;
    take(&on_other_stack, &random, 100, 3);
}

static void take_coroutine(void) {
    char *stack = malloc(STACK);
    must(getcontext(&there) == 0, "getcontext");
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = STACK;
    there.uc_link = &here;
    makecontext(&there, coroutine, 0);
    must(swapcontext(&here, &there) == 0, "swapcontext");
    free(stack);
}

// ---- threads

static void begin_thread(void) {
    cl_int status;
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    must(status == CL_SUCCESS, "queue");
    kernel = clCreateKernel(program, "nothing", &status);
    must(status == CL_SUCCESS, "kernel");
}

static void *thread_main(void *seed) {
    uint64_t random = (uintptr_t)seed;
    struct path path = {.depth = 0};
    begin_thread();
    PATH_CALLED(&path);
    take(&path, &random, 500, 3);
    must(clFinish(queue) == CL_SUCCESS, "clFinish");
    return NULL;
}

// ---- plugins

__attribute__((noinline)) static void take_plugin(struct path *path, uint64_t *random, const char *name) {
    PATH_CALLED(path);
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    must(library != NULL, "dlopen");
    plugin = dlsym(library, "functions_plugin");
    must(plugin != NULL, "dlsym");
    take(path, random, 3, 4);
    must(clFinish(queue) == CL_SUCCESS, "clFinish");
    plugin = NULL;
    must(dlclose(library) == 0, "dlclose");
    PATH_LEFT(path);
}

static void begin(void) {
    static const char *source = "__kernel void nothing(void) {}";
    cl_platform_id platform;
    cl_int status;
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        exit(NO_DEVICE);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    must(status == CL_SUCCESS, "context");
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    must(status == CL_SUCCESS && clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS,
         "program");
    begin_thread();
}

static void write_session(const char *base) {
    char path[4096];
    (void)snprintf(path, sizeof path, "%s.session", base);
    FILE *file = fopen(path, "w");
    const char *session = getenv("TRACESMITH_SESSION");
    must(file && session && fprintf(file, "%s", session) > 0 && fclose(file) == 0, path);
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    struct path path = {.depth = 0};
    uint64_t random = 1;
    stack_t alternate = {.ss_sp = malloc(STACK), .ss_size = STACK};
    must(argc == 4 || argc == 5, "usage: main TRUTH PLUGIN PLUGIN [LAUNCH]");
    last_launch = argc == 5 ? strtoull(argv[4], NULL, 10) : 0;
    truth = fopen(argv[1], "w");
    must(truth != NULL && setvbuf(truth, NULL, _IOLBF, 1 << 16) == 0, argv[1]);
    if (last_launch)
        write_session(argv[1]);
    begin();
    PATH_CALLED(&path);
    for (uintptr_t i = 0; i < THREADS; i++)
        must(pthread_create(&threads[i], NULL, thread_main, (void *)(i + 10)) == 0, "pthread_create");
    take(&path, &random, 3000, 3);
    for (int i = 0; i < 200; i++)
        take_plugin(&path, &random, argv[2 + i % 2]);
    take_signals(&path, 200, 0);
    must(sigaltstack(&alternate, NULL) == 0, "sigaltstack");
    take_signals(&path, 200, SA_ONSTACK);
    take_coroutine();
    for (int i = 0; i < THREADS; i++)
        must(pthread_join(threads[i], NULL) == 0, "pthread_join");
    must(clFinish(queue) == CL_SUCCESS && fclose(truth) == 0, "the end");
    printf("%llu\n", (unsigned long long)launches);
    return 0;
}
