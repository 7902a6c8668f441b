// SPDX-License-Identifier: Apache-2.0
//
// Launches kernels of several names and asks the driver for the times of each launch, as programs do that measure themselves, so that
// a test can compare what a profiler added up with what the program added up.
//
//   cl_sums [-n LAUNCHES] [--threads N] [--paths BITS] [--fork] [--fork-after] [--pause] [--end return|_exit]
//
// Each thread launches each of three kernels LAUNCHES times, and writes and reads a buffer once in every 16. --paths: each launch of
// the first kernel comes from another call path, through BITS functions. --fork: a child does all of it too, with objects of its own.
// --fork-after: when all is done, a child is made, which ends. --pause: at the end it prints "ready" and waits for a byte. Prints one JSON object per process.

#include "program.h"

#include <pthread.h>
#include <sys/wait.h>

enum { KERNELS = 3, THREADS_MAX = 8, EVERY = 16, BYTES = 64 };

static const char source[] = "__kernel void first(__global uint *at) { at[get_global_id(0)] += 1; }\n"
                             "__kernel void second(__global uint *at) { at[get_global_id(0)] += 2; }\n"
                             "__kernel void third(__global uint *at) { at[get_global_id(0)] += 3; }\n";
static const char *const names[KERNELS] = {"first", "second", "third"};

struct sum {
    uint64_t count, total, shortest, longest, delay;
};

struct worker {
    struct program_setup *setup;
    unsigned long launches;
    int bits;
    struct sum kernels[KERNELS];
    uint64_t writes, reads;
};

static struct {
    unsigned long launches, threads, bits;
    bool fork, fork_after, pause, ends_early;
} want = {.launches = 100, .threads = 1};

static cl_ulong ask(cl_event event, cl_profiling_info what) {
    cl_ulong time = 0;
    MUST(clGetEventProfilingInfo(event, what, sizeof time, &time, NULL));
    return time;
}

static void add(struct sum *sum, cl_event event) {
    const uint64_t queued = ask(event, CL_PROFILING_COMMAND_QUEUED),
                   start = ask(event, CL_PROFILING_COMMAND_START), end = ask(event, CL_PROFILING_COMMAND_END);
    const uint64_t took = end - start;
    sum->shortest = !sum->count || took < sum->shortest ? took : sum->shortest;
    sum->longest = took > sum->longest ? took : sum->longest;
    sum->count++;
    sum->total += took;
    sum->delay += start - queued;
    MUST(clReleaseEvent(event));
}

struct launch {
    cl_command_queue queue;
    cl_kernel kernel;
    cl_event event;
};

static void launch(struct launch *launch) {
    const size_t size = BYTES / sizeof(cl_uint);
    MUST(clEnqueueNDRangeKernel(launch->queue, launch->kernel, 1, NULL, &size, &size, 0, NULL,
                                &launch->event));
}

// Two functions of which a path has one or the other at each step. What follows the call keeps it from being a jump.
static volatile int steps;
static void descend(struct launch *at, unsigned long path, int bits);
static __attribute__((noinline)) void left(struct launch *at, unsigned long path, int bits) {
    descend(at, path, bits);
    steps++;
}
static __attribute__((noinline)) void right(struct launch *at, unsigned long path, int bits) {
    descend(at, path, bits);
    steps += 2;
}
static __attribute__((noinline)) void descend(struct launch *at, unsigned long path, int bits) {
    if (!bits)
        launch(at);
    else if (path & 1)
        right(at, path >> 1, bits - 1);
    else
        left(at, path >> 1, bits - 1);
    steps++;
}

static void *work(void *context) {
    struct worker *worker = context;
    cl_command_queue queue =
        program_queue(worker->setup->context, worker->setup->device, CL_QUEUE_PROFILING_ENABLE);
    cl_mem buffer = program_buffer(worker->setup->context, BYTES);
    cl_kernel kernels[KERNELS];
    cl_uint bytes[BYTES / sizeof(cl_uint)] = {0};
    for (int k = 0; k < KERNELS; k++) {
        kernels[k] = program_kernel(worker->setup->program, names[k]);
        MUST(clSetKernelArg(kernels[k], 0, sizeof buffer, &buffer));
    }
    for (unsigned long i = 0; i < worker->launches; i++) {
        struct launch at[KERNELS];
        for (int k = 0; k < KERNELS; k++) {
            at[k] = (struct launch){.queue = queue, .kernel = kernels[k]};
            descend(&at[k], i, k ? 0 : worker->bits);
        }
        MUST(clFinish(queue));
        for (int k = 0; k < KERNELS; k++)
            add(&worker->kernels[k], at[k].event);
        if (i % EVERY)
            continue;
        MUST(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, BYTES, bytes, 0, NULL, NULL));
        MUST(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, BYTES, bytes, 0, NULL, NULL));
        worker->writes++;
        worker->reads++;
    }
    for (int k = 0; k < KERNELS; k++)
        MUST(clReleaseKernel(kernels[k]));
    MUST(clReleaseMemObject(buffer));
    MUST(clReleaseCommandQueue(queue));
    return NULL;
}

static void join(struct sum *all, const struct sum *more) {
    if (!more->count)
        return;
    all->shortest = !all->count || more->shortest < all->shortest ? more->shortest : all->shortest;
    all->longest = more->longest > all->longest ? more->longest : all->longest;
    all->count += more->count;
    all->total += more->total;
    all->delay += more->delay;
}

static void print_truth(const struct worker *workers) {
    struct sum sums[KERNELS] = {{0}};
    uint64_t writes = 0, reads = 0;
    for (unsigned long i = 0; i < want.threads; i++) {
        for (int k = 0; k < KERNELS; k++)
            join(&sums[k], &workers[i].kernels[k]);
        writes += workers[i].writes;
        reads += workers[i].reads;
    }
    printf("{\"pid\":%ld,\"writes\":%llu,\"reads\":%llu,\"bytes\":%d,\"kernels\":{", (long)getpid(),
           (unsigned long long)writes, (unsigned long long)reads, BYTES);
    for (int k = 0; k < KERNELS; k++)
        printf("%s\"%s\":{\"count\":%llu,\"total\":%llu,\"shortest\":%llu,\"longest\":%llu,\"delay\":%llu}",
               k ? "," : "", names[k], (unsigned long long)sums[k].count, (unsigned long long)sums[k].total,
               (unsigned long long)sums[k].shortest, (unsigned long long)sums[k].longest,
               (unsigned long long)sums[k].delay);
    printf("}}\n");
    fflush(stdout);
}

static void make_child(void) {
    int status = 0;
    const pid_t child = fork();
    EXPECT(child >= 0);
    if (!child)
        exit(0);
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

static void run(void) {
    static struct worker workers[THREADS_MAX];
    pthread_t threads[THREADS_MAX];
    struct program_setup setup = program_start(source);
    for (unsigned long i = 0; i < want.threads; i++) {
        workers[i] = (struct worker){.setup = &setup, .launches = want.launches, .bits = (int)want.bits};
        EXPECT(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
    }
    for (unsigned long i = 0; i < want.threads; i++)
        EXPECT(pthread_join(threads[i], NULL) == 0);
    print_truth(workers);
    if (want.fork_after)
        make_child();
    if (want.pause) {
        printf("ready\n");
        fflush(stdout);
        EXPECT(getchar() != EOF);
    }
    if (want.ends_early)
        _exit(0);
    program_finish(&setup);
}

static void parse(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "-n") == 0)
            want.launches = program_number(argv[i], argv[i + 1]), i++;
        else if (strcmp(argv[i], "--threads") == 0)
            want.threads = program_number(argv[i], argv[i + 1]), i++;
        else if (strcmp(argv[i], "--paths") == 0)
            want.bits = program_number(argv[i], argv[i + 1]), i++;
        else if (strcmp(argv[i], "--fork") == 0)
            want.fork = true;
        else if (strcmp(argv[i], "--fork-after") == 0)
            want.fork_after = true;
        else if (strcmp(argv[i], "--pause") == 0)
            want.pause = true;
        else if (strcmp(argv[i], "--end") == 0)
            want.ends_early = strcmp(value, "_exit") == 0, i++;
        else
            exit(EXIT_USAGE);
    }
    if (!want.threads || want.threads > THREADS_MAX)
        exit(EXIT_USAGE);
}

int main(int argc, char **argv) {
    parse(argc, argv);
    // Before the parent uses OpenCL: few drivers work in a forked child otherwise.
    const pid_t child = want.fork ? fork() : 0;
    EXPECT(child >= 0);
    run();
    if (want.fork && !child)
        return 0;
    int status = 0;
    EXPECT(!want.fork || (waitpid(child, &status, 0) == child && status == 0));
    return 0;
}
