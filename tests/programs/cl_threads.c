// SPDX-License-Identifier: Apache-2.0
//
// Several threads launch at once, spread over the devices; every one launches its own count of its own
// kernel, so that a trace can be checked thread by thread.
//
//   cl_threads [-t THREADS] [-n LAUNCHES] [--share none|context|queue]
//
// Thread i launches LAUNCHES + i times. With --share none each thread has its own context and queue,
// with context they share one, with queue they share the context and each device's one queue. Each
// thread has a cl_kernel of its own, as OpenCL demands of threads that set arguments.

#include "program.h"

#include <pthread.h>
#include <sys/syscall.h>

enum { THREADS_MAX = 16 };

static const char source[] = "__kernel void count_0(__global uint *c) { c[get_global_id(0)] += 1; }\n"
                             "__kernel void count_1(__global uint *c) { c[get_global_id(0)] += 1; }\n"
                             "__kernel void count_2(__global uint *c) { c[get_global_id(0)] += 1; }\n"
                             "__kernel void count_3(__global uint *c) { c[get_global_id(0)] += 1; }\n";

static const char *const kernel_names[] = {"count_0", "count_1", "count_2", "count_3"};

enum share { SHARE_NONE, SHARE_CONTEXT, SHARE_QUEUE };

struct options {
    unsigned long threads;
    unsigned long launches;
    enum share share;
};

struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    cl_device_id device;
    unsigned device_index;
    cl_context context;
    cl_program program;
    cl_command_queue queue;
    const char *kernel;
    unsigned long launches;
    long tid;
};

static void *work(void *argument) {
    struct worker *worker = argument;
    const size_t global = 16;
    const cl_uint zero = 0;
    cl_uint counts[16];
    cl_kernel kernel = program_kernel(worker->program, worker->kernel);
    cl_mem buffer = program_buffer(worker->context, sizeof counts);
    worker->tid = syscall(SYS_gettid);
    MUST(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    MUST(clEnqueueFillBuffer(worker->queue, buffer, &zero, sizeof zero, 0, sizeof counts, 0, NULL, NULL));
    pthread_barrier_wait(worker->start); // all launch at the same time
    for (unsigned long i = 0; i < worker->launches; i++)
        MUST(clEnqueueNDRangeKernel(worker->queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(worker->queue, buffer, CL_TRUE, 0, sizeof counts, counts, 0, NULL, NULL));
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        EXPECT(counts[i] == worker->launches);
    MUST(clReleaseMemObject(buffer));
    MUST(clReleaseKernel(kernel));
    return NULL;
}

static struct options parse(int argc, char **argv) {
    struct options options = {.threads = 4, .launches = 500, .share = SHARE_NONE};
    for (int i = 1; i < argc; i += 2) {
        const char *value = argv[i + 1];
        if (strcmp(argv[i], "-t") == 0)
            options.threads = program_number("-t", value);
        else if (strcmp(argv[i], "-n") == 0)
            options.launches = program_number("-n", value);
        else if (strcmp(argv[i], "--share") == 0 && value && strcmp(value, "none") == 0)
            options.share = SHARE_NONE;
        else if (strcmp(argv[i], "--share") == 0 && value && strcmp(value, "context") == 0)
            options.share = SHARE_CONTEXT;
        else if (strcmp(argv[i], "--share") == 0 && value && strcmp(value, "queue") == 0)
            options.share = SHARE_QUEUE;
        else {
            fprintf(stderr, "usage: %s [-t THREADS] [-n LAUNCHES] [--share none|context|queue]\n", argv[0]);
            exit(EXIT_USAGE);
        }
    }
    if (options.threads == 0 || options.threads > THREADS_MAX) {
        fprintf(stderr, "-t takes 1 to %d\n", THREADS_MAX);
        exit(EXIT_USAGE);
    }
    return options;
}

static void give_objects(struct worker *workers, unsigned i, const struct options *options,
                         cl_uint device_count, const cl_device_id *devices) {
    struct worker *worker = &workers[i];
    cl_int status = CL_SUCCESS;
    if (i == 0 || options->share == SHARE_NONE) {
        worker->context = clCreateContext(NULL, device_count, devices, NULL, NULL, &status);
        MUST(status);
        worker->program = program_build(worker->context, worker->device, source);
    } else {
        worker->context = workers[0].context;
        worker->program = workers[0].program;
    }
    if (i < device_count || options->share != SHARE_QUEUE)
        worker->queue = program_queue(worker->context, worker->device, 0);
    else
        worker->queue = workers[i % device_count].queue;
}

static void release_objects(struct worker *workers, unsigned i, const struct options *options,
                            cl_uint device_count) {
    if (i < device_count || options->share != SHARE_QUEUE)
        MUST(clReleaseCommandQueue(workers[i].queue));
    if (i == 0 || options->share == SHARE_NONE) {
        MUST(clReleaseProgram(workers[i].program));
        MUST(clReleaseContext(workers[i].context));
    }
}

static void print_truth(const struct worker *workers, const struct options *options, cl_uint devices) {
    unsigned long total = 0;
    unsigned long per_kernel[COUNT_OF(kernel_names)] = {0};
    for (unsigned i = 0; i < options->threads; i++) {
        total += workers[i].launches;
        per_kernel[i % COUNT_OF(kernel_names)] += workers[i].launches;
    }
    printf("{\"program\":\"cl_threads\",\"pid\":%ld,\"devices\":%u,\"contexts\":%lu,\"queues\":%lu,"
           "\"launches\":%lu,"
           "\"fill_buffer\":%lu,\"read_buffer\":%lu,\"kernels\":{",
           (long)getpid(), devices, options->share == SHARE_NONE ? options->threads : 1,
           options->share == SHARE_QUEUE && devices < options->threads ? devices : options->threads, total,
           options->threads, options->threads);
    for (size_t i = 0; i < COUNT_OF(kernel_names) && i < options->threads; i++)
        printf("%s\"%s\":%lu", i ? "," : "", kernel_names[i], per_kernel[i]);
    printf("},\"threads\":[");
    for (unsigned i = 0; i < options->threads; i++)
        printf("%s{\"tid\":%ld,\"device\":%u,\"kernel\":\"%s\",\"launches\":%lu}", i ? "," : "",
               workers[i].tid, workers[i].device_index, workers[i].kernel, workers[i].launches);
    printf("]}\n");
}

int main(int argc, char **argv) {
    const struct options options = parse(argc, argv);
    struct worker workers[THREADS_MAX] = {0};
    cl_platform_id platform = NULL;
    cl_device_id devices[DEVICES_MAX];
    pthread_barrier_t start;
    const cl_uint device_count = program_devices(&platform, devices, DEVICES_MAX);
    const unsigned threads = (unsigned)options.threads;
    pthread_barrier_init(&start, NULL, threads);
    for (unsigned i = 0; i < threads; i++) {
        workers[i].device_index = i % device_count;
        workers[i].device = devices[i % device_count];
        workers[i].kernel = kernel_names[i % COUNT_OF(kernel_names)];
        workers[i].launches = options.launches + i;
        workers[i].start = &start;
        give_objects(workers, i, &options, device_count, devices);
    }
    for (unsigned i = 0; i < threads; i++)
        EXPECT(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
    for (unsigned i = 0; i < threads; i++)
        EXPECT(pthread_join(workers[i].thread, NULL) == 0);
    print_truth(workers, &options, device_count);
    for (unsigned i = threads; i-- > 0;)
        release_objects(workers, i, &options, device_count);
    pthread_barrier_destroy(&start);
    return 0;
}
