// SPDX-License-Identifier: Apache-2.0
//
// When contexts end: contexts of which the program releases the last reference, the queue, or the buffer last. Before
// each release the context must still exist, after the last one it must end. The buffer was written by a kernel that
// the program has waited for.
//
//   cl_context_ends      prints CL_CONTEXT_REFERENCE_COUNT and the calls of the destructor callback

#include <pthread.h>

#include "program.h"

static const char source[] =
    "__kernel void fill(__global uint *out) { out[get_global_id(0)] = (uint)get_global_id(0) * 3u; }\n";

enum { ITEMS = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ended; // contexts

static void CL_CALLBACK context_ended(cl_context context, void *user) {
    (void)context;
    (void)user;
    pthread_mutex_lock(&lock);
    ended++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void say(const char *when, cl_context context) {
    cl_uint count = 0;
    size_t size = 0;
    MUST(clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, &size));
    printf("  %s: %u references in %zu bytes\n", when, count, size);
}

static void say_ended(const char *when) {
    pthread_mutex_lock(&lock);
    printf("  %s: %d ended\n", when, ended);
    pthread_mutex_unlock(&lock);
}

// A driver's own threads may let go of the last a little later.
static void wait_for_end(const char *when) {
    struct timespec until;
    int waited = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    pthread_mutex_lock(&lock);
    while (!ended && !waited)
        waited = pthread_cond_timedwait(&changed, &lock, &until);
    printf("  %s: %d ended\n", when, ended);
    ended = 0;
    pthread_mutex_unlock(&lock);
}

static struct program_setup start(const char *name) {
    struct program_setup setup = {0};
    cl_int status;
    printf("%s\n", name);
    program_devices(&setup.platform, &setup.device, 1);
    setup.context = clCreateContext(NULL, 1, &setup.device, NULL, NULL, &status);
    MUST(status);
    MUST(clSetContextDestructorCallback(setup.context, context_ended, NULL));
    say("a new context", setup.context);
    return setup;
}

static cl_mem work(const struct program_setup *setup, cl_command_queue queue) {
    const size_t items = ITEMS;
    cl_mem buffer = program_buffer(setup->context, ITEMS * sizeof(cl_uint));
    cl_program program = program_build(setup->context, setup->device, source);
    cl_kernel kernel = program_kernel(program, "fill");
    cl_uint last = 0;
    MUST(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(queue, buffer, CL_TRUE, (ITEMS - 1) * sizeof last, sizeof last, &last, 0, NULL,
                             NULL));
    EXPECT(last == (ITEMS - 1) * 3u);
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseProgram(program));
    return buffer;
}

static void nothing_inside(void) {
    const struct program_setup setup = start("nothing in it");
    MUST(clRetainContext(setup.context));
    say("retained", setup.context);
    MUST(clReleaseContext(setup.context));
    say("released", setup.context);
    say_ended("released");
    MUST(clReleaseContext(setup.context));
    wait_for_end("released again");
}

static void context_last(void) {
    const struct program_setup setup = start("the context last");
    cl_command_queue queue = program_queue(setup.context, setup.device, 0);
    say("a queue", setup.context);
    cl_mem buffer = work(&setup, queue);
    MUST(clReleaseMemObject(buffer));
    MUST(clReleaseCommandQueue(queue));
    say_ended("the queue released");
    MUST(clReleaseContext(setup.context));
    wait_for_end("the context released");
}

static void queue_last(void) {
    const struct program_setup setup = start("the queue last");
    cl_command_queue queue = program_queue(setup.context, setup.device, 0);
    cl_mem buffer = work(&setup, queue);
    MUST(clReleaseContext(setup.context));
    say_ended("the context released");
    MUST(clReleaseMemObject(buffer));
    say_ended("the buffer released");
    MUST(clReleaseCommandQueue(queue));
    wait_for_end("the queue released");
}

static void buffer_last(void) {
    const struct program_setup setup = start("the buffer last");
    cl_command_queue queue = program_queue(setup.context, setup.device, 0);
    cl_mem buffer = work(&setup, queue);
    MUST(clReleaseCommandQueue(queue));
    MUST(clReleaseContext(setup.context));
    say_ended("the context released");
    MUST(clReleaseMemObject(buffer));
    wait_for_end("the buffer released");
}

int main(void) {
    nothing_inside();
    context_last();
    queue_last();
    buffer_last();
    return 0;
}
