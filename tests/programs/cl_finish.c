// SPDX-License-Identifier: Apache-2.0
//
// Frames that rely on one wait only: a kernel, a transfer that does not block, the wait, and at once a checksum of what
// arrived. A wait that returns too early is seen, because the checksum is compared with the host's own.
//
//   cl_finish [-n FRAMES] [-w WORK] [FORM...]     forms: finish, events, map, write, queues, out_of_order; all by default

#include "program.h"

static const char source[] =
    "__kernel void scramble(__global uint *out, __global const uint *in, uint seed, uint rounds) {\n"
    "    uint i = (uint)get_global_id(0), x = in[i] ^ seed;\n"
    "    for (uint k = 0; k < rounds; k++) x = x * 1664525u + 1013904223u + i;\n"
    "    out[i] = x;\n"
    "}\n";

enum { ITEMS = 1 << 15, BYTES = ITEMS * 4 };

static cl_uint frames = 4, rounds = 2000;
static struct program_setup setup;
static cl_kernel kernel;
static cl_mem in, middle, out;
static cl_uint host_in[ITEMS], host_out[ITEMS];

static cl_uint mix(cl_uint x, cl_uint i, cl_uint seed) {
    x ^= seed;
    for (cl_uint k = 0; k < rounds; k++)
        x = x * 1664525u + 1013904223u + i;
    return x;
}

static void launch(cl_command_queue queue, cl_mem to, cl_mem from, cl_uint seed, const cl_event *wait,
                   cl_event *event) {
    const size_t items = ITEMS;
    MUST(clSetKernelArg(kernel, 0, sizeof to, &to));
    MUST(clSetKernelArg(kernel, 1, sizeof from, &from));
    MUST(clSetKernelArg(kernel, 2, sizeof seed, &seed));
    MUST(clSetKernelArg(kernel, 3, sizeof rounds, &rounds));
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, wait ? 1 : 0, wait, event));
}

// Copies first, and what is expected is computed before the wait: no time passes in which late data could arrive.
static cl_uint sum_of(const cl_uint *data) {
    static cl_uint seen[ITEMS];
    memcpy(seen, data, BYTES);
    cl_uint sum = 0;
    for (cl_uint i = 0; i < ITEMS; i++)
        sum = sum * 31u + seen[i];
    return sum;
}

// `times`: how many kernels each value went through.
static cl_uint sum_expected(cl_uint seed, cl_uint times) {
    cl_uint sum = 0;
    for (cl_uint i = 0; i < ITEMS; i++) {
        cl_uint x = host_in[i];
        for (cl_uint t = 0; t < times; t++)
            x = mix(x, i, seed + t);
        sum = sum * 31u + x;
    }
    return sum;
}

static void check(const char *form, cl_uint frame, const cl_uint *data, cl_uint expected) {
    const cl_uint sum = sum_of(data);
    printf("%s %u %08x\n", form, frame, sum);
    fflush(stdout);
    if (sum != expected) {
        fprintf(stderr, "%s, frame %u: checksum %08x, expected %08x\n", form, frame, sum, expected);
        exit(EXIT_WRONG);
    }
}

static void fill_host(cl_uint frame) {
    for (cl_uint i = 0; i < ITEMS; i++)
        host_in[i] = i * 2654435761u + frame;
    memset(host_out, 0, BYTES);
}

static void finish(cl_command_queue queue, cl_uint frame) {
    const cl_uint expected = sum_expected(frame, 1);
    launch(queue, out, in, frame, NULL, NULL);
    MUST(clEnqueueReadBuffer(queue, out, CL_FALSE, 0, BYTES, host_out, 0, NULL, NULL));
    MUST(clFinish(queue));
    check("finish", frame, host_out, expected);
}

static void events(cl_command_queue queue, cl_uint frame) {
    const cl_uint expected = sum_expected(frame, 2);
    cl_event event, read;
    launch(queue, middle, in, frame, NULL, &event);
    launch(queue, out, middle, frame + 1, NULL, NULL);
    MUST(clEnqueueReadBuffer(queue, out, CL_FALSE, 0, BYTES, host_out, 1, &event, &read));
    MUST(clReleaseEvent(event));
    MUST(clWaitForEvents(1, &read));
    check("events", frame, host_out, expected);
    MUST(clReleaseEvent(read));
}

static void map(cl_command_queue queue, cl_uint frame) {
    const cl_uint expected = sum_expected(frame, 1);
    cl_int status;
    launch(queue, out, in, frame, NULL, NULL);
    const cl_uint *at =
        clEnqueueMapBuffer(queue, out, CL_FALSE, CL_MAP_READ, 0, BYTES, 0, NULL, NULL, &status);
    MUST(status);
    MUST(clFinish(queue));
    check("map", frame, at, expected);
    MUST(clEnqueueUnmapMemObject(queue, out, (void *)(uintptr_t)at, 0, NULL, NULL));
    MUST(clFinish(queue));
}

// The host writes its memory again as soon as the wait is over.
static void write_again(cl_command_queue queue, cl_uint frame) {
    const cl_uint expected = sum_expected(frame, 1);
    launch(queue, out, in, frame, NULL, NULL); // the write has to wait for it
    MUST(clEnqueueWriteBuffer(queue, in, CL_FALSE, 0, BYTES, host_in, 0, NULL, NULL));
    MUST(clFinish(queue));
    for (cl_uint i = 0; i < ITEMS; i++)
        host_in[i] = ~host_in[i];
    launch(queue, out, in, frame, NULL, NULL);
    MUST(clEnqueueReadBuffer(queue, out, CL_FALSE, 0, BYTES, host_out, 0, NULL, NULL));
    MUST(clFinish(queue));
    check("write", frame, host_out, expected);
}

// One computes, the other reads what it computed.
static void two_queues(cl_command_queue queue, cl_uint frame) {
    const cl_uint expected = sum_expected(frame, 1);
    cl_command_queue other = program_queue(setup.context, setup.device, 0);
    cl_event event;
    launch(other, out, in, frame, NULL, &event);
    MUST(clFlush(other)); // before another queue waits for it
    MUST(clEnqueueReadBuffer(queue, out, CL_FALSE, 0, BYTES, host_out, 1, &event, NULL));
    MUST(clFinish(queue));
    check("queues", frame, host_out, expected);
    MUST(clReleaseEvent(event));
    MUST(clReleaseCommandQueue(other));
}

static void out_of_order(cl_uint frame) {
    cl_command_queue_properties can = 0;
    MUST(clGetDeviceInfo(setup.device, CL_DEVICE_QUEUE_PROPERTIES, sizeof can, &can, NULL));
    if (!(can & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE))
        return;
    cl_command_queue queue =
        program_queue(setup.context, setup.device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    const cl_uint expected = sum_expected(frame, 2);
    cl_event first, second;
    launch(queue, middle, in, frame, NULL, &first);
    launch(queue, out, middle, frame + 1, &first, &second);
    MUST(clEnqueueReadBuffer(queue, out, CL_FALSE, 0, BYTES, host_out, 1, &second, NULL));
    MUST(clFinish(queue));
    check("out_of_order", frame, host_out, expected);
    MUST(clReleaseEvent(first));
    MUST(clReleaseEvent(second));
    MUST(clReleaseCommandQueue(queue));
}

static bool wanted(char **forms, const char *form) {
    bool any = false;
    for (; *forms; forms++) {
        any = true;
        if (strcmp(*forms, form) == 0)
            return true;
    }
    return !any;
}

int main(int argc, char **argv) {
    int option;
    while ((option = getopt(argc, argv, "n:w:")) != -1) {
        if (option == '?')
            return EXIT_USAGE;
        *(option == 'n' ? &frames : &rounds) = (cl_uint)program_number(option == 'n' ? "-n" : "-w", optarg);
    }
    setup = program_start(source);
    cl_command_queue queue = program_queue(setup.context, setup.device, 0);
    kernel = program_kernel(setup.program, "scramble");
    in = program_buffer(setup.context, BYTES);
    middle = program_buffer(setup.context, BYTES);
    out = program_buffer(setup.context, BYTES);
    for (cl_uint frame = 0; frame < frames; frame++) {
        fill_host(frame);
        MUST(clEnqueueWriteBuffer(queue, in, CL_TRUE, 0, BYTES, host_in, 0, NULL, NULL));
        if (wanted(argv + optind, "finish"))
            finish(queue, frame);
        if (wanted(argv + optind, "events"))
            events(queue, frame);
        if (wanted(argv + optind, "map"))
            map(queue, frame);
        if (wanted(argv + optind, "queues"))
            two_queues(queue, frame);
        if (wanted(argv + optind, "out_of_order"))
            out_of_order(frame);
        if (wanted(argv + optind, "write"))
            write_again(queue, frame);
    }
    MUST(clReleaseMemObject(in));
    MUST(clReleaseMemObject(middle));
    MUST(clReleaseMemObject(out));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
    program_finish(&setup);
    return 0;
}
