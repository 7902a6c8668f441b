// SPDX-License-Identifier: Apache-2.0
//
// One context with all devices of the platform, each with a queue of its own: a chain of launches goes round them, each
// waiting for an event of another device, all on one buffer; besides, each device works on its own part of a second one, by
// itself, i + 2 times on device i.
//
//   cl_devices [-n ROUNDS] [--apart]      --apart: a context for each device, and no events between them
//
// Prints JSON: `devices`, and per device `name` and `launches`; `sum` of both buffers.

#include "program.h"

enum { COUNT = 1024, BYTES = COUNT * 4, PART = 256, PART_BYTES = PART * 4 };

static const char source[] = "__kernel void step_on(__global uint *v, uint k) {\n"
                             "    size_t i = get_global_id(0);\n"
                             "    v[i] = v[i] * 3 + k;\n"
                             "}\n";

struct place {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_kernel kernel;
    cl_mem chain, own;
    uint64_t launches;
};

static struct place places[DEVICES_MAX];
static cl_uint count;
static uint32_t chain[DEVICES_MAX][COUNT], own[DEVICES_MAX][PART], found[COUNT];

static void host_step(uint32_t *values, size_t size, uint32_t k) {
    for (size_t i = 0; i < size; i++)
        values[i] = values[i] * 3 + k;
}

static cl_event launch(struct place *place, cl_mem buffer, size_t size, uint32_t k, cl_event wait) {
    cl_event event;
    MUST(clSetKernelArg(place->kernel, 0, sizeof buffer, &buffer));
    MUST(clSetKernelArg(place->kernel, 1, sizeof k, &k));
    MUST(clEnqueueNDRangeKernel(place->queue, place->kernel, 1, NULL, &size, NULL, wait ? 1 : 0,
                                wait ? &wait : NULL, &event));
    MUST(clFlush(place->queue));
    place->launches++;
    return event;
}

static void set_up(bool apart) {
    cl_platform_id platform;
    cl_device_id devices[DEVICES_MAX];
    cl_mem whole = NULL, parts = NULL;
    cl_int status;
    count = program_devices(&platform, devices, DEVICES_MAX);
    for (cl_uint i = 0; i < count; i++) {
        struct place *place = &places[i];
        place->device = devices[i];
        if (apart || i == 0) {
            place->context = clCreateContext(NULL, apart ? 1 : count, &devices[i], NULL, NULL, &status);
            MUST(status);
            whole = program_buffer(place->context, BYTES);
            parts = program_buffer(place->context, DEVICES_MAX * PART_BYTES);
        } else {
            place->context = places[0].context;
        }
        place->queue = program_queue(place->context, place->device, 0);
        place->kernel = program_kernel(program_build(place->context, place->device, source), "step_on");
        place->chain = whole;
        const cl_buffer_region region = {i * PART_BYTES, PART_BYTES};
        place->own =
            clCreateSubBuffer(parts, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
        MUST(status);
    }
}

static void run(unsigned long rounds, bool apart) {
    cl_event last = NULL;
    for (cl_uint i = 0; i < count; i++) {
        uint32_t *at = chain[apart ? i : 0];
        for (uint32_t j = 0; j < COUNT; j++)
            at[j] = j;
        if (apart || i == 0)
            MUST(
                clEnqueueWriteBuffer(places[i].queue, places[i].chain, CL_TRUE, 0, BYTES, at, 0, NULL, NULL));
        MUST(clEnqueueWriteBuffer(places[i].queue, places[i].own, CL_TRUE, 0, PART_BYTES, own[i], 0, NULL,
                                  NULL));
    }
    for (unsigned long round = 0; round < rounds; round++)
        for (cl_uint i = 0; i < count; i++) {
            const uint32_t k = (uint32_t)round * 7 + i;
            last = launch(&places[i], places[i].chain, COUNT, k, apart ? NULL : last);
            host_step(chain[apart ? i : 0], COUNT, k);
        }
    for (cl_uint i = 0; i < count; i++)
        for (cl_uint j = 0; j < i + 2; j++) {
            launch(&places[i], places[i].own, PART, j + i, NULL);
            host_step(own[i], PART, j + i);
        }
    for (cl_uint i = 0; i < count; i++)
        MUST(clFinish(places[i].queue));
}

static uint64_t check(cl_command_queue queue, cl_mem buffer, const uint32_t *right, size_t size) {
    uint64_t sum = 0;
    MUST(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, size * sizeof *right, found, 0, NULL, NULL));
    for (size_t i = 0; i < size; i++) {
        EXPECT(found[i] == right[i]);
        sum += found[i];
    }
    return sum;
}

int main(int argc, char **argv) {
    unsigned long rounds = 4;
    bool apart = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-n") == 0) {
            rounds = program_number("-n", argv[i + 1]);
            i++;
        } else if (strcmp(argv[i], "--apart") == 0) {
            apart = true;
        } else {
            fprintf(stderr, "usage: %s [-n ROUNDS] [--apart]\n", argv[0]);
            return EXIT_USAGE;
        }
    }
    set_up(apart);
    run(rounds, apart);
    // The last device reads what the first one wrote, and the other way round.
    uint64_t sum = 0;
    for (cl_uint i = 0; i < count; i++) {
        const cl_uint reader = apart ? i : count - 1 - i;
        if (apart || i == 0)
            sum += check(places[reader].queue, places[i].chain, chain[i], COUNT);
        sum += check(places[reader].queue, places[i].own, own[i], PART);
    }
    printf("{\"devices\":%u,\"sum\":%llu,\"by_device\":[", count, (unsigned long long)sum);
    for (cl_uint i = 0; i < count; i++) {
        char name[256] = "";
        MUST(clGetDeviceInfo(places[i].device, CL_DEVICE_NAME, sizeof name - 1, name, NULL));
        printf("%s{\"name\":\"%s\",\"launches\":%llu}", i ? "," : "", name,
               (unsigned long long)places[i].launches);
    }
    printf("]}\n");
    return 0;
}
