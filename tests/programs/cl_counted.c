// SPDX-License-Identifier: Apache-2.0
//
// Kernels for which the effect of each line is known. Prints the facts, by the number of the source
// line: how many bytes of global and local memory it reads and writes, how often it branches. With --faulty, kernels
// with a race, an uninitialized value, and an access outside of the buffer as well.
//
//   cl_counted [--faulty] [-n TRIPS]

#include "program.h"

enum { ITEMS = 24, GROUP = 8 };

// The number of each line is its index.
static const char *const lines[] = {
    "",
    "__kernel void counted(__global int *out, __global const int *in, int trips, __local int *shared)",
    "{",
    "    const int me = get_global_id(0), mine = get_local_id(0);",
    "    int sum = 0;",
    "    for (int i = 0; i < trips; i++)", // branches trips + 1 times, and continues trips times
    "        sum += in[i];",               // 4 bytes of global memory, trips times
    "    shared[mine] = sum;",             // 4 bytes of local memory
    "    barrier(CLK_LOCAL_MEM_FENCE);",
    "    if (me % 3 == 0)",                         // one in three is true
    "        out[me] = shared[mine] + me;",         // 4 bytes of local memory, 4 of global memory
    "    atomic_add(&out[get_global_size(0)], 1);", // one atomic operation
    "}",
};

static const char faulty[] =
    "__kernel void racy(__global int *out) { out[0] = get_global_id(0); }\n"
    "__kernel void unwritten(__global int *out, __local int *shared)\n"
    "{ if (shared[get_local_id(0)] == 12345) out[get_global_id(0)] = 1; }\n"
    "__kernel void outside(__global int *out, __global const int *in)\n"
    "{ if (in[get_global_size(0)] == 12345) out[1] = 1; }\n" // one element behind the last
    // Read before another one writes and, by the last work-item, after.
    "__kernel void neighbors(__global int *out)\n"
    "{ int next = out[(get_global_id(0) + 1) % get_global_size(0)];\n"
    "  out[get_global_id(0)] = next; }\n";

static char *source_of(bool with_faults) {
    static char text[4096];
    size_t used = 0;
    for (size_t i = 1; i < COUNT_OF(lines); i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\n", lines[i]);
    if (with_faults)
        snprintf(text + used, sizeof text - used, "%s", faulty);
    return text;
}

static void run_faulty(struct program_setup *setup, cl_command_queue queue) {
    const size_t items = ITEMS;
    cl_mem out = program_buffer(setup->context, ITEMS * sizeof(cl_int)),
           in = program_buffer(setup->context, ITEMS * sizeof(cl_int));
    const cl_int zeros[ITEMS] = {0};
    cl_int first = 0;
    MUST(clEnqueueWriteBuffer(queue, out, CL_TRUE, 0, sizeof zeros, zeros, 0, NULL, NULL));
    MUST(clEnqueueWriteBuffer(queue, in, CL_TRUE, 0, sizeof zeros, zeros, 0, NULL, NULL));
    cl_kernel racy = program_kernel(setup->program, "racy"),
              unwritten = program_kernel(setup->program, "unwritten"),
              outside = program_kernel(setup->program, "outside"),
              neighbors = program_kernel(setup->program, "neighbors");
    MUST(clSetKernelArg(racy, 0, sizeof out, &out));
    MUST(clSetKernelArg(neighbors, 0, sizeof out, &out));
    MUST(clSetKernelArg(unwritten, 0, sizeof out, &out));
    MUST(clSetKernelArg(unwritten, 1, ITEMS * sizeof(cl_int), NULL));
    MUST(clSetKernelArg(outside, 0, sizeof out, &out));
    MUST(clSetKernelArg(outside, 1, sizeof in, &in));
    MUST(clEnqueueNDRangeKernel(queue, racy, 1, NULL, &items, NULL, 0, NULL, NULL));
    MUST(clEnqueueNDRangeKernel(queue, unwritten, 1, NULL, &items, &items, 0, NULL, NULL));
    MUST(clEnqueueNDRangeKernel(queue, outside, 1, NULL, &items, NULL, 0, NULL, NULL));
    MUST(clEnqueueNDRangeKernel(queue, neighbors, 1, NULL, &items, NULL, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof first, &first, 0, NULL, NULL));
    MUST(clReleaseKernel(racy));
    MUST(clReleaseKernel(neighbors));
    MUST(clReleaseKernel(unwritten));
    MUST(clReleaseKernel(outside));
    MUST(clReleaseMemObject(in));
    MUST(clReleaseMemObject(out));
}

int main(int argc, char **argv) {
    bool with_faults = false;
    cl_int trips = 10;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--faulty") == 0)
            with_faults = true;
        else if (strcmp(argv[i], "-n") == 0 && i + 1 < argc)
            trips = (cl_int)program_number("-n", argv[++i]);
        else
            return EXIT_USAGE;
    }
    struct program_setup setup = program_start(source_of(with_faults));
    cl_command_queue queue = program_queue(setup.context, setup.device, 0);
    cl_kernel kernel = program_kernel(setup.program, "counted");
    cl_mem out = program_buffer(setup.context, (ITEMS + 1) * sizeof(cl_int)),
           in = program_buffer(setup.context, (size_t)trips * sizeof(cl_int));
    const size_t items = ITEMS, group = GROUP;
    cl_int result[ITEMS + 1] = {0};
    cl_int *twos = calloc((size_t)trips + 1, sizeof *twos);
    EXPECT(twos != NULL);
    for (cl_int i = 0; i < trips; i++)
        twos[i] = 2;
    MUST(clEnqueueWriteBuffer(queue, out, CL_TRUE, 0, sizeof result, result, 0, NULL, NULL));
    MUST(clEnqueueWriteBuffer(queue, in, CL_TRUE, 0, (size_t)trips * sizeof *twos, twos, 0, NULL, NULL));
    free(twos);
    MUST(clSetKernelArg(kernel, 0, sizeof out, &out));
    MUST(clSetKernelArg(kernel, 1, sizeof in, &in));
    MUST(clSetKernelArg(kernel, 2, sizeof trips, &trips));
    MUST(clSetKernelArg(kernel, 3, GROUP * sizeof(cl_int), NULL));
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof result, result, 0, NULL, NULL));
    for (int i = 0; i < ITEMS; i++)
        EXPECT(result[i] == (i % 3 == 0 ? 2 * trips + i : 0));
    EXPECT(result[ITEMS] == ITEMS);
    if (with_faults)
        run_faulty(&setup, queue);
    printf("{\"items\":%d,\"lines\":{"
           "\"5\":{\"branches\":%d,\"taken\":%d},"
           "\"6\":{\"global_loads\":%d,\"global_load_bytes\":%d},"
           "\"7\":{\"local_stores\":%d,\"local_store_bytes\":%d},"
           "\"9\":{\"branches\":%d,\"taken\":%d},"
           "\"10\":{\"local_loads\":%d,\"global_stores\":%d,\"global_store_bytes\":%d},"
           "\"11\":{\"atomics\":%d}}}\n",
           ITEMS, ITEMS * (trips + 1), ITEMS * trips, ITEMS * trips, ITEMS * trips * 4, ITEMS, ITEMS * 4,
           ITEMS, ITEMS / 3, ITEMS / 3, ITEMS / 3, ITEMS / 3 * 4, ITEMS);
    MUST(clReleaseMemObject(in));
    MUST(clReleaseMemObject(out));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
    program_finish(&setup);
    return 0;
}
