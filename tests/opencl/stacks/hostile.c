// SPDX-License-Identifier: Apache-2.0
// Launches from where no path is to be expected: code made at run time, with and without a frame pointer, and stacks that the
// program has overwritten. The number of a launch is its global offset. x86-64 only.
//
//     hostile            prints how many launches there were
#include <CL/cl.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NO_DEVICE = 4, SMASHED = 300, WORDS = 48, PAGE = 4096 };

static cl_command_queue queue;
static cl_kernel kernel;
static size_t launches;

static void must(int good, const char *what) {
    if (good)
        return;
    fprintf(stderr, "failed: %s\n", what);
    exit(1);
}

__attribute__((noinline)) static void launch(void) {
    const size_t offset = ++launches, one = 1;
    must(clEnqueueNDRangeKernel(queue, kernel, 1, &offset, &one, &one, 0, NULL, NULL) == CL_SUCCESS,
         "launch");
}

// push rbp; mov rbp, rsp (or a number); call rdi; nop; pop rbp; ret. Without the nop it would be left right behind the call, and known by that.
static const uint8_t framed[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x90, 0x5d, 0xc3};
static const uint8_t unframed[] = {0x55, 0x48, 0xbd, 0x10, 0x32, 0x54, 0x76, 0x98,
                                   0xba, 0x01, 0x00, 0xff, 0xd7, 0x90, 0x5d, 0xc3};

typedef void generated_function(void (*function)(void));

__attribute__((noinline)) static void take_generated(void) {
    char path[64];
    uint8_t *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(code != MAP_FAILED, "mmap");
    memcpy(code, framed, sizeof framed);
    memcpy(code + 64, unframed, sizeof unframed);
    must(mprotect(code, PAGE, PROT_READ | PROT_EXEC) == 0, "mprotect");
    (void)snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(path, "w");
    must(map &&
             fprintf(map, "%lx 40 generated_framed\n%lx 40 generated_unframed\n", (unsigned long)code,
                     (unsigned long)code + 64) > 0 &&
             fclose(map) == 0,
         path);
    generated_function *functions[2];
    for (int i = 0; i < 2; i++) {
        uint8_t *at = code + 64 * i;
        memcpy(&functions[i], &at, sizeof at);
        functions[i](launch);
    }
}

static uint64_t next_random(uint64_t *random) {
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return *random;
}

// What is above this function's own frame is other words while it launches.
__attribute__((noinline)) static void take_smashed(uint64_t *random) {
    static volatile uint64_t kept[WORDS];
    volatile uint64_t *above = __builtin_frame_address(0);
    uint64_t state = *random;
    for (int i = 0; i < WORDS; i++)
        kept[i] = above[i];
    for (int i = 0; i < WORDS; i++) {
        uint64_t word = next_random(&state);
        switch (word >> 60 & 3) {
        case 0:
            above[i] = (uint64_t)(uintptr_t)above + (word >> 20 & 0xfff8);
            break;
        case 1:
            above[i] = (uint64_t)(uintptr_t)launch + (word >> 20 & 0x7ff);
            break;
        case 2:
            above[i] = word;
            break;
        default:
            break;
        }
    }
    launch();
    for (int i = 0; i < WORDS; i++)
        above[i] = kept[i];
    *random = state;
}

// Frames for take_smashed to overwrite.
__attribute__((noinline)) static uint64_t go_deeper(uint64_t *random, int depth) {
    volatile uint64_t room[8] = {*random};
    if (depth)
        room[1] = go_deeper(random, depth - 1);
    else
        take_smashed(random);
    return room[0] + room[1];
}

int main(void) {
    static const char *source = "__kernel void nothing(void) {}";
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    uint64_t random = 11;
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return NO_DEVICE;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    must(status == CL_SUCCESS, "context");
    queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    must(status == CL_SUCCESS, "queue");
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    must(status == CL_SUCCESS && clBuildProgram(program, 1, &device, "", NULL, NULL) == CL_SUCCESS,
         "program");
    kernel = clCreateKernel(program, "nothing", &status);
    must(status == CL_SUCCESS, "kernel");
    take_generated();
    for (int i = 0; i < SMASHED; i++)
        (void)go_deeper(&random, 12);
    must(clFinish(queue) == CL_SUCCESS, "clFinish");
    printf("%zu\n", launches);
    return 0;
}
