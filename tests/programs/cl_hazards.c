// SPDX-License-Identifier: Apache-2.0
//
// Small programs that forget to order two commands, each with a twin that does not.
//
//   cl_hazards list                 one line for each: its name, and "device" when another order of its commands gives
//                                   another result, or "host" when only the program's own memory is at stake
//   cl_hazards NAME [--fixed]       the one with the mistake, or its twin
//
// The results of those with the mistake are not checked: on a slow device they are wrong.

#include "program.h"

enum { COUNT = 1024, BYTES = COUNT * 4, HALF = BYTES / 2, QUEUES = 3, BUFFERS = 3 };

static const char source[] = "__kernel void add(__global int *v, int k) { v[get_global_id(0)] += k; }\n"
                             "__kernel void twice(__global int *from, __global int *to) {\n"
                             "    size_t i = get_global_id(0);\n"
                             "    to[i] = 2 * from[i] + 1;\n"
                             "}\n";

static struct program_setup setup;
static cl_command_queue queues[QUEUES], loose; // in order, and one out of order
static cl_mem buffers[BUFFERS];
static cl_kernel add_kernel, twice_kernel;
static int32_t host[2][COUNT], shared[COUNT], results[4][COUNT];

#define A buffers[0]
#define B buffers[1]
#define C buffers[2]

// ---- commands; `wait` may be NULL

static cl_event launch(cl_command_queue queue, cl_kernel kernel, size_t count, cl_event wait) {
    cl_event event;
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, wait ? 1 : 0, wait ? &wait : NULL,
                                &event));
    MUST(clFlush(queue));
    return event;
}

static cl_event add_part(cl_command_queue queue, cl_mem buffer, int number, size_t count, cl_event wait) {
    MUST(clSetKernelArg(add_kernel, 0, sizeof buffer, &buffer));
    MUST(clSetKernelArg(add_kernel, 1, sizeof number, &number));
    return launch(queue, add_kernel, count, wait);
}

static cl_event add(cl_command_queue queue, cl_mem buffer, int number, cl_event wait) {
    return add_part(queue, buffer, number, COUNT, wait);
}

static cl_event twice(cl_command_queue queue, cl_mem from, cl_mem to, cl_event wait) {
    MUST(clSetKernelArg(twice_kernel, 0, sizeof from, &from));
    MUST(clSetKernelArg(twice_kernel, 1, sizeof to, &to));
    return launch(queue, twice_kernel, COUNT, wait);
}

static cl_event fill(cl_command_queue queue, cl_mem buffer, int32_t value, size_t offset, size_t size,
                     cl_event wait) {
    cl_event event;
    MUST(clEnqueueFillBuffer(queue, buffer, &value, sizeof value, offset, size, wait ? 1 : 0,
                             wait ? &wait : NULL, &event));
    return event;
}

static cl_event copy(cl_command_queue queue, cl_mem from, cl_mem to, size_t offset, size_t size) {
    cl_event event;
    MUST(clEnqueueCopyBuffer(queue, from, to, offset, 0, size, 0, NULL, &event));
    return event;
}

static void read_into(cl_command_queue queue, cl_mem buffer, cl_bool blocking, void *to) {
    MUST(clEnqueueReadBuffer(queue, buffer, blocking, 0, BYTES, to, 0, NULL, NULL));
}

static cl_mem part(cl_mem buffer, size_t origin, size_t size) {
    const cl_buffer_region region = {origin, size};
    cl_int status;
    cl_mem made =
        clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    MUST(status);
    return made;
}

// ---- the programs: `fixed` is the twin without the mistake

static void two_queues_raw(bool fixed) {
    cl_event written = add(queues[0], A, 3, NULL);
    twice(queues[1], A, B, fixed ? written : NULL);
}

static void two_queues_war(bool fixed) {
    cl_event read = twice(queues[0], A, B, NULL);
    add(queues[1], A, 3, fixed ? read : NULL);
}

static void two_queues_waw(bool fixed) {
    cl_event first = fill(queues[0], A, 1, 0, BYTES, NULL);
    fill(queues[1], A, 2, 0, BYTES, fixed ? first : NULL);
}

// The twin runs two kernels at once that both read one buffer, which is no mistake.
static void readers(bool fixed) {
    cl_event written = add(queues[0], A, 5, NULL);
    twice(queues[1], A, B, fixed ? written : NULL);
    twice(queues[2], A, C, written);
}

static void loose_kernels(bool fixed) {
    cl_event written = add(loose, A, 3, NULL);
    twice(loose, A, B, fixed ? written : NULL);
}

static void loose_barrier(bool fixed) {
    add(loose, A, 3, NULL);
    if (fixed)
        MUST(clEnqueueBarrierWithWaitList(loose, 0, NULL, NULL));
    twice(loose, A, B, NULL);
}

static void marker_is_no_barrier(bool fixed) {
    add(loose, A, 3, NULL);
    if (fixed)
        MUST(clEnqueueBarrierWithWaitList(loose, 0, NULL, NULL));
    else
        MUST(clEnqueueMarkerWithWaitList(loose, 0, NULL, NULL));
    twice(loose, A, B, NULL);
}

static void barrier_of_another_queue(bool fixed) {
    cl_event after;
    add(queues[0], A, 3, NULL);
    MUST(clEnqueueBarrierWithWaitList(queues[0], 0, NULL, &after));
    MUST(clFlush(queues[0]));
    twice(queues[1], A, B, fixed ? after : NULL);
}

static void read_is_not_there(bool fixed) {
    read_into(queues[0], A, fixed, host[0]);
    MUST(clEnqueueWriteBuffer(queues[1], B, CL_TRUE, 0, BYTES, host[0], 0, NULL, NULL));
    MUST(clFinish(queues[0]));
}

static void write_is_on_its_way(bool fixed) {
    for (int i = 0; i < COUNT; i++)
        host[0][i] = 7;
    MUST(clEnqueueWriteBuffer(queues[0], A, fixed, 0, BYTES, host[0], 0, NULL, NULL));
    MUST(clFlush(queues[0]));
    twice(queues[1], A, B, NULL);
}

static void parts_overlap(bool fixed) {
    cl_mem low = part(A, 0, HALF), high = part(A, fixed ? HALF : HALF / 2, HALF);
    fill(queues[0], low, 1, 0, HALF, NULL);
    fill(queues[1], high, 2, 0, HALF, NULL);
}

static void part_and_whole(bool fixed) {
    cl_mem low = part(A, 0, HALF);
    cl_event written = add(queues[0], A, 3, NULL);
    MUST(clSetKernelArg(twice_kernel, 0, sizeof low, &low));
    MUST(clSetKernelArg(twice_kernel, 1, sizeof(cl_mem), &B));
    launch(queues[1], twice_kernel, COUNT / 2, fixed ? written : NULL);
}

static void map_is_not_there(bool fixed) {
    cl_int status;
    int32_t *at =
        clEnqueueMapBuffer(queues[0], A, fixed, CL_MAP_READ | CL_MAP_WRITE, 0, BYTES, 0, NULL, NULL, &status);
    MUST(status);
    at[0] += 1;
    MUST(clEnqueueUnmapMemObject(queues[0], A, at, 0, NULL, NULL));
}

static void map_of_what_is_written(bool fixed) {
    cl_int status;
    cl_event written = add(queues[0], A, 3, NULL);
    int32_t *at = clEnqueueMapBuffer(queues[1], A, CL_TRUE, CL_MAP_READ, 0, BYTES, fixed ? 1 : 0,
                                     fixed ? &written : NULL, NULL, &status);
    MUST(status);
    MUST(clEnqueueUnmapMemObject(queues[1], A, at, 0, NULL, NULL));
}

static void used_after_unmap(bool fixed) {
    cl_int status;
    cl_event unmapped;
    int32_t *at = clEnqueueMapBuffer(queues[0], A, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, BYTES, 0, NULL,
                                     NULL, &status);
    MUST(status);
    for (int i = 0; i < COUNT; i++)
        at[i] = 9 * i;
    MUST(clEnqueueUnmapMemObject(queues[0], A, at, 0, NULL, &unmapped));
    MUST(clFlush(queues[0]));
    twice(queues[1], A, B, fixed ? unmapped : NULL);
}

static void copies_overlap(bool fixed) {
    copy(queues[0], A, B, 0, HALF);
    copy(queues[1], B, C, fixed ? HALF : 0, HALF);
}

// Tiles of a picture with rows of 128 bytes: adjacent tiles share no byte, though each crosses the other's rows.
static void boxes_overlap(bool fixed) {
    static const size_t none[3] = {0, 0, 0}, region[3] = {64, 16, 1};
    const size_t left[3] = {0, 0, 0}, right[3] = {fixed ? 64 : 32, 0, 0};
    memset(host[0], 1, sizeof host[0]);
    memset(host[1], 2, sizeof host[1]);
    MUST(clEnqueueWriteBufferRect(queues[0], A, CL_FALSE, left, none, region, 128, 0, 64, 0, host[0], 0, NULL,
                                  NULL));
    MUST(clEnqueueWriteBufferRect(queues[1], A, CL_FALSE, right, none, region, 128, 0, 64, 0, host[1], 0,
                                  NULL, NULL));
}

static void wrong_event(bool fixed) {
    cl_event first = add(loose, A, 3, NULL), second = twice(loose, A, B, first);
    twice(queues[0], B, C, fixed ? second : first);
}

static void user_event_only(bool fixed) {
    cl_int status;
    cl_event go = clCreateUserEvent(setup.context, &status);
    MUST(status);
    cl_event written = add(queues[0], A, 3, go);
    twice(queues[1], A, B, fixed ? written : go);
    MUST(clSetUserEventStatus(go, CL_COMPLETE));
}

static void finish_of_another_queue(bool fixed) {
    add(queues[0], A, 3, NULL);
    add(queues[1], B, 4, NULL);
    MUST(clFinish(fixed ? queues[0] : queues[1]));
    twice(queues[2], A, C, NULL);
}

static void flush_is_no_finish(bool fixed) {
    add(queues[0], A, 3, NULL);
    MUST(fixed ? clFinish(queues[0]) : clFlush(queues[0]));
    twice(queues[1], A, B, NULL);
}

static void skipped_link(bool fixed) {
    cl_event first = add(queues[0], A, 3, NULL), second = twice(queues[1], A, B, first);
    add(queues[2], B, 4, fixed ? second : first);
}

static void one_place_for_two_reads(bool fixed) {
    read_into(queues[0], A, CL_FALSE, shared);
    read_into(queues[1], B, CL_FALSE, fixed ? host[0] : shared);
    MUST(clFinish(queues[0]));
    MUST(clFinish(queues[1]));
}

static void read_never_awaited(bool fixed) {
    add(queues[0], A, 3, NULL);
    read_into(queues[0], A, CL_FALSE, shared);
    MUST(fixed ? clFinish(queues[0]) : clFlush(queues[0]));
}

// Two buffers in turns, filled by one queue and used by another: the fourth fill does not wait for the second use.
static void double_buffer(bool fixed) {
    cl_event used[4] = {0};
    for (int i = 0; i < 4; i++) {
        const bool waits = i >= 2 && (fixed || i != 3);
        cl_event filled = fill(queues[0], buffers[i % 2], i + 1, 0, BYTES, waits ? used[i - 2] : NULL);
        MUST(clFlush(queues[0]));
        used[i] = twice(queues[1], buffers[i % 2], C, filled);
        read_into(queues[1], C, CL_FALSE, results[i]);
    }
}

static const struct {
    const char *name;
    void (*run)(bool fixed);
    bool on_device;
} programs[] = {
    {"two-queues-raw", two_queues_raw, true},
    {"two-queues-war", two_queues_war, true},
    {"two-queues-waw", two_queues_waw, true},
    {"readers", readers, true},
    {"loose-kernels", loose_kernels, true},
    {"loose-barrier", loose_barrier, true},
    {"marker-is-no-barrier", marker_is_no_barrier, true},
    {"barrier-of-another-queue", barrier_of_another_queue, true},
    {"read-is-not-there", read_is_not_there, false},
    {"write-is-on-its-way", write_is_on_its_way, true},
    {"parts-overlap", parts_overlap, true},
    {"part-and-whole", part_and_whole, true},
    {"map-is-not-there", map_is_not_there, false},
    {"map-of-what-is-written", map_of_what_is_written, true},
    {"used-after-unmap", used_after_unmap, true},
    {"copies-overlap", copies_overlap, true},
    {"boxes-overlap", boxes_overlap, true},
    {"wrong-event", wrong_event, true},
    {"user-event-only", user_event_only, true},
    {"finish-of-another-queue", finish_of_another_queue, true},
    {"flush-is-no-finish", flush_is_no_finish, true},
    {"skipped-link", skipped_link, true},
    {"one-place-for-two-reads", one_place_for_two_reads, false},
    {"read-never-awaited", read_never_awaited, false},
    {"double-buffer", double_buffer, true},
};

static void run(size_t index, bool fixed) {
    cl_int status;
    setup = program_start(source);
    for (int i = 0; i < QUEUES; i++)
        queues[i] = program_queue(setup.context, setup.device, 0);
    loose = program_queue(setup.context, setup.device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    add_kernel = program_kernel(setup.program, "add");
    twice_kernel = program_kernel(setup.program, "twice");
    for (int i = 0; i < BUFFERS; i++) {
        for (int j = 0; j < COUNT; j++)
            host[0][j] = (i + 1) * 1000 + j;
        buffers[i] =
            clCreateBuffer(setup.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, BYTES, host[0], &status);
        MUST(status);
    }
    programs[index].run(fixed);
    if (strcmp(programs[index].name, "read-never-awaited") == 0)
        return; // nothing waits in this one
    for (int i = 0; i < QUEUES; i++)
        MUST(clFinish(queues[i]));
    MUST(clFinish(loose));
}

int main(int argc, char **argv) {
    const bool fixed = argc > 2 && strcmp(argv[2], "--fixed") == 0;
    for (size_t i = 0; i < COUNT_OF(programs); i++) {
        if (argc > 1 && strcmp(argv[1], "list") == 0) {
            printf("%s %s\n", programs[i].name, programs[i].on_device ? "device" : "host");
        } else if (argc > 1 && strcmp(argv[1], programs[i].name) == 0) {
            run(i, fixed);
            return 0;
        }
    }
    if (argc > 1 && strcmp(argv[1], "list") == 0)
        return 0;
    fprintf(stderr, "usage: %s list | NAME [--fixed]\n", argv[0]);
    return EXIT_USAGE;
}
