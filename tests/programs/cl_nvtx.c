// SPDX-License-Identifier: Apache-2.0
//
// Ranges around launches: 50 in the range "launches", a range "idles" around none, 7 after it.
//
//   cl_nvtx [ROUNDS [pause]]
//
//   cl_nvtx 1 spread
//
// With "spread" 12 of its 23 launches are in ranges "two words": one that another thread ends, a nested one, one of a domain.
//
// With "pause" it prints the session's path in the middle (or an empty line), and continues on request.

#include <pthread.h>

#include "nvtx_mini.h"
#include "program.h"

static const char source[] = "__kernel void tick(__global uint *count)\n"
                             "{\n"
                             "    count[0] += 1;\n"
                             "}\n";

static void launch(cl_command_queue queue, cl_kernel kernel, int times) {
    const size_t one = 1;
    for (int i = 0; i < times; i++)
        MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL));
}

static void round_of_launches(cl_command_queue queue, cl_kernel kernel) {
    nvtxRangePushA("launches");
    launch(queue, kernel, 50);
    nvtxRangePop();
    nvtxRangePushA("idles");
    nvtxRangePop();
    launch(queue, kernel, 7);
    MUST(clFinish(queue));
}

static void *end_range(void *id) {
    nvtxRangeEnd(*(nvtxRangeId_t *)id);
    return NULL;
}

static void spread(cl_command_queue queue, cl_kernel kernel) {
    const nvtxEventAttributes_t event = {.version = NVTX_VERSION,
                                         .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                         .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                         .message.ascii = "two words"};
    nvtxDomainHandle_t domain = nvtxDomainCreateA("elsewhere");
    pthread_t thread;
    launch(queue, kernel, 3);
    nvtxRangeId_t id = nvtxRangeStartA("two words");
    launch(queue, kernel, 5);
    nvtxRangePushA("two words");
    launch(queue, kernel, 2);
    EXPECT(pthread_create(&thread, NULL, end_range, &id) == 0);
    pthread_join(thread, NULL);
    launch(queue, kernel, 4);
    nvtxRangePop();
    nvtxRangePushA("two");
    launch(queue, kernel, 7);
    nvtxRangePop();
    nvtxDomainRangePushEx(domain, &event);
    launch(queue, kernel, 1);
    nvtxDomainRangePop(domain);
    launch(queue, kernel, 1);
    MUST(clFinish(queue));
}

static void pause_here(void) {
    const char *session = getenv("TRACESMITH_SESSION");
    char line[64];
    printf("%s\n", session ? session : "");
    fflush(stdout);
    EXPECT(fgets(line, sizeof line, stdin) != NULL);
}

int main(int argc, char **argv) {
    const long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    struct program_setup setup = program_start(source);
    cl_command_queue queue = program_queue(setup.context, setup.device, 0);
    cl_kernel kernel = program_kernel(setup.program, "tick");
    cl_mem count = program_buffer(setup.context, sizeof(cl_uint));
    MUST(clSetKernelArg(kernel, 0, sizeof count, &count));
    const bool spreads = argc > 2 && strcmp(argv[2], "spread") == 0;
    if (spreads)
        spread(queue, kernel);
    for (long i = 0; i < rounds && !spreads; i++) {
        if (argc > 2 && i == rounds / 2)
            pause_here();
        round_of_launches(queue, kernel);
    }

    MUST(clReleaseMemObject(count));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
    program_finish(&setup);
    return 0;
}
