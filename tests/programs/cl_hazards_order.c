// SPDX-License-Identifier: Apache-2.0
//
// Programs that forget to order two commands where atomics, parts of a buffer, callbacks or the host's memory are at stake, and
// their twins that do not. As cl_hazards:
//
//   cl_hazards_order list             one line for each: its name, and "device" or "host"
//   cl_hazards_order NAME [--fixed]   the one with the mistake, or its twin

#include "program.h"

#include <semaphore.h>

enum { COUNT = 1024, BYTES = COUNT * 4, HALF = COUNT / 2, QUEUES = 3 };

static const char source[] =
    "__kernel void count(__global int *sum) { atomic_add(&sum[get_global_id(0) % 4], (int)get_global_id(0)); "
    "}\n"
    "__kernel void twice(__global const int *from, __global int *to) {\n"
    "    size_t i = get_global_id(0);\n"
    "    to[i] = 2 * from[i] + 1;\n"
    "}\n"
    "__kernel void scale(__global int *v, int k) { v[get_global_id(0)] = v[get_global_id(0)] * k + 1; }\n"
    "__kernel void scale_part(__global int *v, int from, int k) {\n"
    "    v[from + get_global_id(0)] = v[from + get_global_id(0)] * k + 1;\n"
    "}\n"
    "__kernel void scale_from(__global int *v, uint from, int k) {\n"
    "    const size_t i = get_global_id(0) + from;\n"
    "    v[i] = v[i] * k + 1;\n"
    "}\n"
    "__kernel void scale_group(__global int *v, int group, int k) {\n"
    "    for (int j = 0; j < 2; j++)\n"
    "        v[group * 512 + j * 256 + get_global_id(0)] *= k;\n"
    "}\n";

static struct program_setup setup;
static cl_command_queue queues[QUEUES];
static cl_mem A, B;
static cl_kernel count_kernel, twice_kernel, scale_kernel, part_kernel, from_kernel, group_kernel;
static int32_t host[COUNT], result[COUNT];
static sem_t called;

static cl_event launch(cl_command_queue queue, cl_kernel kernel, size_t offset, size_t items, cl_event wait) {
    cl_event event;
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, &offset, &items, NULL, wait ? 1 : 0, wait ? &wait : NULL,
                                &event));
    MUST(clFlush(queue));
    return event;
}

static cl_event count(cl_command_queue queue, cl_event wait) {
    MUST(clSetKernelArg(count_kernel, 0, sizeof A, &A));
    return launch(queue, count_kernel, 0, COUNT, wait);
}

static cl_event twice(cl_command_queue queue, cl_event wait) {
    MUST(clSetKernelArg(twice_kernel, 0, sizeof A, &A));
    MUST(clSetKernelArg(twice_kernel, 1, sizeof B, &B));
    return launch(queue, twice_kernel, 0, COUNT, wait);
}

static cl_event scale(cl_command_queue queue, size_t offset, size_t items, cl_int k, cl_event wait) {
    MUST(clSetKernelArg(scale_kernel, 0, sizeof A, &A));
    MUST(clSetKernelArg(scale_kernel, 1, sizeof k, &k));
    return launch(queue, scale_kernel, offset, items, wait);
}

static cl_event scale_by(cl_kernel kernel, cl_command_queue queue, cl_int from, cl_int k, size_t items) {
    MUST(clSetKernelArg(kernel, 0, sizeof A, &A));
    MUST(clSetKernelArg(kernel, 1, sizeof from, &from));
    MUST(clSetKernelArg(kernel, 2, sizeof k, &k));
    return launch(queue, kernel, 0, items, NULL);
}

static void read_from(cl_command_queue queue, cl_uint waits, const cl_event *events) {
    MUST(clEnqueueReadBuffer(queue, A, CL_TRUE, 0, BYTES, result, waits, events, NULL));
}

static cl_event gate(void) {
    cl_int status;
    cl_event event = clCreateUserEvent(setup.context, &status);
    MUST(status);
    return event;
}

// ---- atomics

// Only one of the two counts is waited for. The twin's two counts still meet each other, which is no mistake.
static void atomics_one_awaited(bool fixed) {
    const cl_event events[] = {count(queues[0], NULL), count(queues[1], NULL)};
    read_from(queues[2], fixed ? 2 : 1, fixed ? events : events + 1);
}

static void atomics_and_fill(bool fixed) {
    const cl_int value = 5;
    cl_event counted = count(queues[0], NULL);
    MUST(clEnqueueFillBuffer(queues[1], A, &value, sizeof value, 0, BYTES, fixed ? 1 : 0,
                             fixed ? &counted : NULL, NULL));
}

static void atomics_and_reader(bool fixed) {
    cl_event counted = count(queues[0], NULL);
    twice(queues[1], fixed ? counted : NULL);
}

// ---- parts of a buffer

static void parts_by_argument(bool fixed) {
    scale_by(part_kernel, queues[0], 0, 3, HALF);
    scale_by(part_kernel, queues[1], fixed ? HALF : HALF / 2, 5, HALF);
}

static void parts_by_variable(bool fixed) {
    scale_by(from_kernel, queues[0], HALF, 3, HALF);
    scale_by(from_kernel, queues[1], fixed ? 0 : 1, 5, HALF);
}

static void parts_by_offset(bool fixed) {
    scale(queues[0], 0, HALF, 3, NULL);
    scale(queues[1], fixed ? HALF : HALF - 1, HALF, 5, NULL);
}

// Which bytes it uses is not found: with other arguments it may well be other ones. The mistake is a reader of all.
static void parts_unknown(bool fixed) {
    const cl_event events[] = {scale_by(group_kernel, queues[0], 0, 3, 256),
                               scale_by(group_kernel, queues[1], 1, 5, 256)};
    read_from(queues[2], fixed ? 2 : 1, events);
}

static void parts_same(bool fixed) {
    cl_event first = scale(queues[0], 0, HALF, 3, NULL);
    scale(queues[1], 0, HALF, 5, fixed ? first : NULL);
}

// ---- the host's memory

static void host_changes_write(bool fixed) {
    for (int i = 0; i < COUNT; i++)
        host[i] = i;
    MUST(clEnqueueWriteBuffer(queues[0], A, fixed, 0, BYTES, host, 0, NULL, NULL));
    MUST(clFlush(queues[0]));
    host[COUNT - 1] = -1;
    MUST(clFinish(queues[0]));
}

static void host_changes_part(bool fixed) {
    cl_event written;
    for (int i = 0; i < COUNT; i++)
        host[i] = i;
    MUST(clEnqueueWriteBuffer(queues[0], A, CL_FALSE, 0, BYTES / 2, host, 0, NULL, &written));
    MUST(clFlush(queues[0]));
    host[fixed ? HALF : HALF - 1] = -1; // the first that it does not take, or the last that it takes
    MUST(clWaitForEvents(1, &written));
    read_from(queues[0], 0, NULL);
}

// ---- callbacks

static void CL_CALLBACK post(cl_event event, cl_int status, void *user) {
    (void)event;
    (void)status;
    (void)user;
    sem_post(&called);
}

static void CL_CALLBACK open_gate(cl_event event, cl_int status, void *user) {
    (void)event;
    (void)status;
    MUST(clSetUserEventStatus(*(cl_event *)user, CL_COMPLETE));
    sem_post(&called);
}

static void CL_CALLBACK enqueue_twice(cl_event event, cl_int status, void *user) {
    (void)event;
    (void)status;
    (void)user;
    twice(queues[1], NULL);
    sem_post(&called);
}

static void wait_for_call(void) {
    while (sem_wait(&called) != 0) {
    }
}

// The program continues when the callback was called: of the command that matters, or of another.
static void callback_goes_on(bool fixed) {
    cl_event other = launch(queues[2], scale_kernel, 0, 1, NULL),
             written = scale(queues[0], 0, COUNT, 3, NULL);
    MUST(clSetEventCallback(fixed ? written : other, CL_COMPLETE, post, NULL));
    wait_for_call();
    twice(queues[1], NULL);
}

// The callback sets a user event that the second command waits for.
static void callback_opens_gate(bool fixed) {
    cl_event open = gate(), other = launch(queues[2], scale_kernel, 0, 1, NULL),
             written = scale(queues[0], 0, COUNT, 3, NULL);
    twice(queues[1], open);
    MUST(clSetEventCallback(fixed ? written : other, CL_COMPLETE, open_gate, &open));
    wait_for_call();
}

// The callback enqueues the second command itself, or the program does without waiting.
static void callback_enqueues(bool fixed) {
    cl_event go = gate(), written = scale(queues[0], 0, COUNT, 3, go);
    if (fixed)
        MUST(clSetEventCallback(written, CL_COMPLETE, enqueue_twice, NULL));
    else
        twice(queues[1], NULL);
    MUST(clSetUserEventStatus(go, CL_COMPLETE));
    if (fixed)
        wait_for_call();
}

static const struct {
    const char *name, *where;
    void (*run)(bool fixed);
} programs[] = {{"atomics-one-awaited", "device", atomics_one_awaited},
                {"atomics-and-fill", "device", atomics_and_fill},
                {"atomics-and-reader", "device", atomics_and_reader},
                {"parts-by-argument", "device", parts_by_argument},
                {"parts-by-variable", "device", parts_by_variable},
                {"parts-by-offset", "device", parts_by_offset},
                {"parts-unknown", "device", parts_unknown},
                {"parts-same", "device", parts_same},
                {"host-changes-write", "host", host_changes_write},
                {"host-changes-part", "host", host_changes_part},
                {"callback-goes-on", "device", callback_goes_on},
                {"callback-opens-gate", "device", callback_opens_gate},
                {"callback-enqueues", "device", callback_enqueues}};

static void run(size_t index, bool fixed) {
    cl_int status;
    setup = program_start(source);
    for (int i = 0; i < QUEUES; i++)
        queues[i] = program_queue(setup.context, setup.device, 0);
    count_kernel = program_kernel(setup.program, "count");
    twice_kernel = program_kernel(setup.program, "twice");
    scale_kernel = program_kernel(setup.program, "scale");
    part_kernel = program_kernel(setup.program, "scale_part");
    from_kernel = program_kernel(setup.program, "scale_from");
    group_kernel = program_kernel(setup.program, "scale_group");
    EXPECT(sem_init(&called, 0, 0) == 0);
    for (int i = 0; i < COUNT; i++)
        host[i] = 3 * i + 1;
    A = clCreateBuffer(setup.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, BYTES, host, &status);
    MUST(status);
    B = program_buffer(setup.context, BYTES);
    // A command next to the others, on memory of its own.
    cl_mem unrelated = program_buffer(setup.context, BYTES);
    const cl_int k = 1;
    MUST(clSetKernelArg(scale_kernel, 0, sizeof unrelated, &unrelated));
    MUST(clSetKernelArg(scale_kernel, 1, sizeof k, &k));
    programs[index].run(fixed);
    for (int i = 0; i < QUEUES; i++)
        MUST(clFinish(queues[i]));
    MUST(clReleaseMemObject(A));
    MUST(clReleaseMemObject(B));
    MUST(clReleaseMemObject(unrelated));
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < COUNT_OF(programs); i++) {
        if (strcmp(name, "list") == 0)
            printf("%s %s\n", programs[i].name, programs[i].where);
        if (strcmp(name, programs[i].name) == 0) {
            run(i, argc > 2 && strcmp(argv[2], "--fixed") == 0);
            return 0;
        }
    }
    return strcmp(name, "list") == 0 ? 0 : EXIT_USAGE;
}
