// SPDX-License-Identifier: Apache-2.0
//
// Seven small shapes of programs whose time has another cause each, and what can be changed about them: so that a
// prediction ("if this kernel took half as long") can be compared with the change really made.
//
//   cl_what_if chain|backlog|queues|copies|host|independent|tiny [-n STEPS] [--change CHANGE] [--work PERCENT]
//
// A step is a pause of the host, kernel work_a and kernel work_b. chain: one queue, the host waits after every step.
// backlog: one queue, the host waits once. queues: work_b runs on a queue of its own, behind work_a's event, and the
// host waits every fourth step. copies: a buffer is written before the kernels, and read with a blocking read after
// them. host: as chain, but the pause is longer than the kernels. independent: one queue, work_a on each of four buffers, and
// the host waits once. tiny: one kernel that takes next to no time, and the host waits after each and pauses nowhere. PERCENT
// of the work of each kernel and of each pause is done (100). CHANGE: double-a, half-a, half-copies, half-pause, no-waits (but for the last), fuse (one kernel that
// does the work of both) or streams-2 (independent: a second queue for every other buffer).
//
// Prints one JSON object with the wall time of the steps and their number. Kernels are one work-group, so on a device
// that gives each its own processor the host keeps one.

#include "program.h"

static const char source[] =
    "float work(float x, int n) { for (int i = 0; i < n; i++) x = x * 0.999f + 0.001f; return x; }\n"
    "__kernel void work_a(__global float *v, int n) { v[0] = work(v[0], n); }\n"
    "__kernel void work_b(__global float *v, int n) { v[1] = work(v[1], n); }\n"
    "__kernel void work_ab(__global float *v, int n, int m) { v[0] = work(v[0], n); v[1] = work(v[1], m); "
    "}\n";

enum { ITERATIONS = 100000, TINY_ITERATIONS = 10, COPY_BYTES = 4 << 20, QUEUES_WAIT_EVERY = 4, CHAINS = 4 };

struct shape {
    const char *name;
    long pause_us;
    unsigned wait_every; // steps; 0: only at the end
    bool two_queues, copies, independent, tiny;
};

static const struct shape shapes[] = {
    {"chain", 100, 1, false, false, false, false},
    {"backlog", 10, 0, false, false, false, false},
    {"queues", 50, QUEUES_WAIT_EVERY, true, false, false, false},
    {"copies", 50, 0, false, true, false, false},
    {"host", 1500, 1, false, false, false, false},
    {"independent", 10, 0, false, false, true, false},
    {"tiny", 0, 1, false, false, false, true},
};

struct steps {
    struct shape shape;
    unsigned long count;
    int iterations_a, iterations_b;
    size_t copy_bytes;
    bool fused, no_waits, two_streams;
    cl_command_queue first, second;
    cl_kernel a, b, ab;
    cl_mem values, big, chains[CHAINS];
    char *host;
};

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void pause_host(long us) {
    for (const int64_t until = now_ns() + us * 1000; now_ns() < until;) {
    }
}

static void launch(cl_command_queue queue, cl_kernel kernel, cl_uint waits, const cl_event *wait,
                   cl_event *event) {
    const size_t one = 1;
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, waits, wait, event));
    MUST(clFlush(queue));
}

static void run_step(const struct steps *steps, unsigned long number) {
    const bool last = number + 1 == steps->count;
    pause_host(steps->shape.pause_us);
    if (steps->shape.copies)
        MUST(clEnqueueWriteBuffer(steps->first, steps->big, CL_FALSE, 0, steps->copy_bytes, steps->host, 0,
                                  NULL, NULL));
    if (steps->fused) {
        launch(steps->first, steps->ab, 0, NULL, NULL);
    } else if (steps->shape.independent) {
        for (int i = 0; i < CHAINS; i++) {
            MUST(clSetKernelArg(steps->a, 0, sizeof *steps->chains, &steps->chains[i]));
            launch(steps->second && i % 2 ? steps->second : steps->first, steps->a, 0, NULL, NULL);
        }
    } else if (steps->shape.tiny) {
        launch(steps->first, steps->a, 0, NULL, NULL);
    } else if (steps->shape.two_queues) {
        cl_event done;
        launch(steps->first, steps->a, 0, NULL, &done);
        launch(steps->second, steps->b, 1, &done, NULL);
        MUST(clReleaseEvent(done));
    } else {
        launch(steps->first, steps->a, 0, NULL, NULL);
        launch(steps->first, steps->b, 0, NULL, NULL);
    }
    if (steps->shape.copies)
        MUST(clEnqueueReadBuffer(steps->first, steps->big, CL_TRUE, 0, steps->copy_bytes, steps->host, 0,
                                 NULL, NULL));
    const bool waits =
        steps->shape.wait_every && (number + 1) % steps->shape.wait_every == 0 && !steps->no_waits;
    if (waits || last) {
        MUST(clFinish(steps->first));
        if (steps->second)
            MUST(clFinish(steps->second));
    }
}

static void usage(const char *program) {
    fprintf(stderr,
            "usage: %s chain|backlog|queues|copies|host|independent|tiny [-n STEPS] [--change CHANGE] "
            "[--work PERCENT]\n",
            program);
    exit(EXIT_USAGE);
}

static void apply(struct steps *steps, const char *change, const char *program) {
    if (strcmp(change, "double-a") == 0)
        steps->iterations_a *= 2;
    else if (strcmp(change, "half-a") == 0)
        steps->iterations_a /= 2;
    else if (strcmp(change, "half-copies") == 0)
        steps->copy_bytes /= 2;
    else if (strcmp(change, "half-pause") == 0)
        steps->shape.pause_us /= 2;
    else if (strcmp(change, "no-waits") == 0)
        steps->no_waits = true;
    else if (strcmp(change, "fuse") == 0)
        steps->fused = true;
    else if (strcmp(change, "streams-2") == 0 && steps->shape.independent)
        steps->two_streams = true;
    else
        usage(program);
}

static struct steps parse(int argc, char **argv) {
    struct steps steps = {
        .count = 100, .iterations_a = ITERATIONS, .iterations_b = ITERATIONS / 2, .copy_bytes = COPY_BYTES};
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        if (argc > 1 && strcmp(argv[1], shapes[i].name) == 0)
            steps.shape = shapes[i];
    if (!steps.shape.name)
        usage(argv[0]);
    const char *change = NULL;
    unsigned long work = 100;
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "-n") == 0 && argv[i + 1]) {
            steps.count = program_number(argv[i], argv[i + 1]);
            i++;
        } else if (strcmp(argv[i], "--change") == 0 && argv[i + 1]) {
            change = argv[++i];
        } else if (strcmp(argv[i], "--work") == 0 && argv[i + 1]) {
            work = program_number(argv[i], argv[i + 1]);
            i++;
        } else {
            usage(argv[0]);
        }
    }
    if (steps.shape.tiny)
        steps.iterations_a = TINY_ITERATIONS;
    steps.iterations_a = (int)((unsigned long)steps.iterations_a * work / 100);
    steps.iterations_b = (int)((unsigned long)steps.iterations_b * work / 100);
    steps.shape.pause_us = steps.shape.pause_us * (long)work / 100;
    if (change)
        apply(&steps, change, argv[0]);
    return steps;
}

static void make_objects(struct steps *steps, cl_context context, cl_device_id device) {
    cl_int status;
    const cl_program program = program_build(context, device, source);
    steps->first = clCreateCommandQueue(context, device, 0, &status);
    MUST(status);
    if (steps->shape.two_queues || steps->two_streams) {
        steps->second = clCreateCommandQueue(context, device, 0, &status);
        MUST(status);
    }
    steps->values = clCreateBuffer(context, CL_MEM_READ_WRITE, 2 * sizeof(float), NULL, &status);
    MUST(status);
    for (int i = 0; i < CHAINS; i++) {
        steps->chains[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(float), NULL, &status);
        MUST(status);
    }
    steps->big = clCreateBuffer(context, CL_MEM_READ_WRITE, COPY_BYTES, NULL, &status);
    MUST(status);
    cl_kernel *const kernels[] = {&steps->a, &steps->b, &steps->ab};
    static const char *const names[] = {"work_a", "work_b", "work_ab"};
    const int iterations[] = {steps->iterations_a, steps->iterations_b, steps->iterations_a};
    for (size_t i = 0; i < COUNT_OF(kernels); i++) {
        *kernels[i] = clCreateKernel(program, names[i], &status);
        MUST(status);
        MUST(clSetKernelArg(*kernels[i], 0, sizeof steps->values, &steps->values));
        MUST(clSetKernelArg(*kernels[i], 1, sizeof(int), &iterations[i]));
    }
    MUST(clSetKernelArg(steps->ab, 2, sizeof(int), &steps->iterations_b));
    MUST(clReleaseProgram(program));
    steps->host = calloc(1, COPY_BYTES);
    EXPECT(steps->host);
}

int main(int argc, char **argv) {
    struct steps steps = parse(argc, argv);
    cl_platform_id platform;
    cl_device_id devices[DEVICES_MAX];
    cl_int status;
    program_devices(&platform, devices, DEVICES_MAX);
    const cl_context context = clCreateContext(NULL, 1, devices, NULL, NULL, &status);
    MUST(status);
    make_objects(&steps, context, devices[0]);
    const unsigned long count = steps.count;
    steps.count = 1; // compiles
    run_step(&steps, 0);
    steps.count = count;
    const int64_t start = now_ns();
    for (unsigned long i = 0; i < steps.count; i++)
        run_step(&steps, i);
    printf("{\"steps\": %lu, \"wall_ns\": %lld}\n", count, (long long)(now_ns() - start));
    MUST(clReleaseMemObject(steps.values));
    MUST(clReleaseMemObject(steps.big));
    MUST(clReleaseKernel(steps.a));
    MUST(clReleaseKernel(steps.b));
    MUST(clReleaseKernel(steps.ab));
    MUST(clReleaseCommandQueue(steps.first));
    if (steps.second)
        MUST(clReleaseCommandQueue(steps.second));
    MUST(clReleaseContext(context));
    free(steps.host);
    return 0;
}
