// SPDX-License-Identifier: Apache-2.0
// Two threads, one queue, one buffer that was never written. The first command that a recorder sees of memory makes
// it copy the memory; here the other thread's command comes just then: `during_copy` is called by a layer below the
// recorder (overtake_layer.c) as the driver is asked for the copy. A recorder that lets the command pass has its
// result in the copy. Prints the number of copies (0: no recorder).
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MUST(call)                                                                                           \
    do {                                                                                                     \
        const cl_int status_ = (call);                                                                       \
        if (status_ != CL_SUCCESS) {                                                                         \
            fprintf(stderr, "line %d: %d\n", __LINE__, status_);                                             \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static cl_command_queue queue;
static cl_kernel kernel;
static sem_t go;
static atomic_int other; // the thread's number
static atomic_bool launched, finished;
static atomic_int copies;

static void launch(void) {
    static const size_t size[] = {16};
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, size, size, 0, NULL, NULL));
}

static void *second(void *unused) {
    (void)unused;
    atomic_store(&other, (int)gettid());
    sem_wait(&go);
    launch();
    atomic_store(&launched, true);
    MUST(clFinish(queue));
    atomic_store(&finished, true);
    return NULL;
}

// How often the thread has gone to sleep so far.
static long naps_of(int thread) {
    static const char key[] = "\nvoluntary_ctxt_switches:";
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/status", thread);
    FILE *file = fopen(path, "r");
    const size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = '\0';
    const char *at = strstr(text, key);
    return at ? atol(at + sizeof key - 1) : 0;
}

void during_copy(void);

// Until the other thread's command has been executed, or the thread is held back: then it sleeps, again and again.
void during_copy(void) {
    enum { HELD = 8 };
    const struct timespec nap = {.tv_nsec = 1000000};
    if (atomic_fetch_add(&copies, 1))
        return;
    const long before = naps_of(atomic_load(&other));
    sem_post(&go);
    while (!atomic_load(&finished) &&
           (atomic_load(&launched) || naps_of(atomic_load(&other)) < before + HELD))
        nanosleep(&nap, NULL);
}

int main(void) {
    static const char *source = "__kernel void advance(__global int *a) { a[get_global_id(0)] += 1; }";
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    pthread_t thread;
    sem_init(&go, 0, 0);
    if (pthread_create(&thread, NULL, second, NULL))
        return 1;
    while (!atomic_load(&other))
        sched_yield();
    MUST(clGetPlatformIDs(1, &platform, NULL));
    MUST(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    MUST(status);
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    MUST(status);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    MUST(status);
    MUST(clBuildProgram(program, 0, NULL, "", NULL, NULL));
    kernel = clCreateKernel(program, "advance", &status);
    MUST(status);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &status);
    MUST(status);
    MUST(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    launch();
    const int seen = atomic_load(&copies);
    if (!seen)
        sem_post(&go);
    pthread_join(thread, NULL);
    MUST(clFinish(queue));
    MUST(clReleaseMemObject(buffer));
    printf("copies %d\n", seen);
    return 0;
}
