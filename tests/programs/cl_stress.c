// SPDX-License-Identifier: Apache-2.0
//
// Many threads at once that allocate, load and unload a library, fork, or launch and check what was computed, until standard
// input ends. After each byte that is read there it prints how many rounds all threads have made together, as soon as each of them
// has made one more: a thread that is stuck shows.
//
//   cl_stress [-t THREADS] [--library PATH] [--rest MICROSECONDS]
//
// Between two rounds a thread rests, a millisecond unless another time is given.

#include "program.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { THREADS_MAX = 256, BLOCKS = 64, LAUNCHES = 4, CHILD_BLOCKS = 8 };

static const char source[] =
    "__kernel void add(__global uint *c) { c[get_global_id(0)] += get_global_id(0); }\n";

struct worker {
    pthread_t thread;
    _Atomic uint64_t rounds;
    unsigned seed;
    cl_command_queue queue;
    cl_kernel kernel;
    cl_mem buffer;
};

static struct worker workers[THREADS_MAX];
static unsigned long threads = 64;
static const char *library = "libm.so.6";
static struct program_setup setup;
static unsigned long rest = 1000; // us
static atomic_bool over;

// ---- what a round is

static void allocate(struct worker *worker) {
    unsigned char *blocks[BLOCKS];
    size_t sizes[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        sizes[i] = 1 + (unsigned)rand_r(&worker->seed) % (i % 16 ? 2000u : 300000u);
        blocks[i] = malloc(sizes[i]);
        EXPECT(blocks[i] != NULL);
        memset(blocks[i], i + 1, sizes[i]);
    }
    for (int i = 0; i < BLOCKS; i++) {
        EXPECT(blocks[i][0] == i + 1 && blocks[i][sizes[i] - 1] == i + 1);
        free(blocks[i]);
    }
}

static void load(struct worker *worker) {
    (void)worker;
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    EXPECT(handle != NULL && dlclose(handle) == 0);
}

static void fork_once(struct worker *worker) {
    int status = 0;
    const int code = (int)(rand_r(&worker->seed) % 100);
    const pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        void *blocks[CHILD_BLOCKS];
        for (int i = 0; i < CHILD_BLOCKS; i++)
            blocks[i] = malloc(5000);
        for (int i = 0; i < CHILD_BLOCKS; i++)
            free(blocks[i]);
        _exit(code);
    }
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == code);
}

static void launch(struct worker *worker) {
    const size_t global = 16;
    const cl_uint zero = 0;
    cl_uint counts[16];
    MUST(clEnqueueFillBuffer(worker->queue, worker->buffer, &zero, sizeof zero, 0, sizeof counts, 0, NULL,
                             NULL));
    for (int i = 0; i < LAUNCHES; i++)
        MUST(clEnqueueNDRangeKernel(worker->queue, worker->kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    MUST(
        clEnqueueReadBuffer(worker->queue, worker->buffer, CL_TRUE, 0, sizeof counts, counts, 0, NULL, NULL));
    for (cl_uint i = 0; i < COUNT_OF(counts); i++)
        EXPECT(counts[i] == i * LAUNCHES);
}

static void *work(void *argument) {
    static void (*const kinds[])(struct worker *) = {allocate, load, fork_once, launch};
    struct worker *worker = argument;
    const size_t kind = (size_t)(worker - workers) % COUNT_OF(kinds);
    const struct timespec pause = {.tv_nsec = (long)rest * 1000};
    while (!atomic_load(&over)) {
        kinds[kind](worker);
        atomic_fetch_add(&worker->rounds, 1);
        if (rest)
            nanosleep(&pause, NULL);
    }
    return NULL;
}

// ---- the whole

static void start(unsigned long index) {
    struct worker *worker = &workers[index];
    worker->seed = (unsigned)index;
    worker->queue =
        program_queue(setup.context, setup.device, index % 8 == 3 ? CL_QUEUE_PROFILING_ENABLE : 0);
    worker->kernel = program_kernel(setup.program, "add");
    worker->buffer = program_buffer(setup.context, 16 * sizeof(cl_uint));
    MUST(clSetKernelArg(worker->kernel, 0, sizeof worker->buffer, &worker->buffer));
    EXPECT(pthread_create(&worker->thread, NULL, work, worker) == 0);
}

static void finish(struct worker *worker) {
    EXPECT(pthread_join(worker->thread, NULL) == 0);
    MUST(clReleaseMemObject(worker->buffer));
    MUST(clReleaseKernel(worker->kernel));
    MUST(clReleaseCommandQueue(worker->queue));
}

static uint64_t wait_for_rounds(void) {
    uint64_t before[THREADS_MAX], sum = 0;
    const struct timespec moment = {.tv_nsec = 1000000};
    for (unsigned long i = 0; i < threads; i++)
        before[i] = atomic_load(&workers[i].rounds);
    for (unsigned long i = 0; i < threads; i++) {
        while (atomic_load(&workers[i].rounds) == before[i])
            nanosleep(&moment, NULL);
        sum += atomic_load(&workers[i].rounds);
    }
    return sum;
}

int main(int argc, char **argv) {
    char byte;
    for (int i = 1; i < argc; i += 2) {
        if (strcmp(argv[i], "-t") == 0)
            threads = program_number("-t", argv[i + 1]);
        else if (strcmp(argv[i], "--rest") == 0)
            rest = program_number("--rest", argv[i + 1]);
        else if (strcmp(argv[i], "--library") == 0 && argv[i + 1])
            library = argv[i + 1];
        else
            return EXIT_USAGE;
    }
    if (!threads || threads > THREADS_MAX || rest > 999999)
        return EXIT_USAGE;
    setup = program_start(source);
    for (unsigned long i = 0; i < threads; i++)
        start(i);
    do {
        printf("%llu\n", (unsigned long long)wait_for_rounds());
        fflush(stdout);
    } while (read(0, &byte, 1) == 1);
    atomic_store(&over, true);
    for (unsigned long i = 0; i < threads; i++)
        finish(&workers[i]);
    program_finish(&setup);
    puts("all right");
    return 0;
}
