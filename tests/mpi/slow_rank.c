// SPDX-License-Identifier: Apache-2.0
// slow_rank RANK: steps of a kernel on each rank's OpenCL device and a sum over all ranks. One rank is slow: it begins its kernel when all
// others have told it that they have finished theirs. Exits with 77 without a device.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N = 256, STEPS = 8 };

static int rank, ranks, slow;

static void be_slow(void) {
    int token = 0;
    if (rank != slow) {
        MPI_Send(&token, 1, MPI_INT, slow, 1, MPI_COMM_WORLD);
        return;
    }
    for (int i = 1; i < ranks; i++)
        MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
}

int main(int argc, char **argv) {
    static const char *source = "kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }";
    cl_platform_id platform;
    cl_device_id device;
    int values[N], total = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    slow = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
        MPI_Finalize();
        return 77;
    }
    for (int i = 0; i < N; i++)
        values[i] = rank + i;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof values, values, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    clBuildProgram(program, 1, &device, NULL, NULL, NULL);
    cl_kernel kernel = clCreateKernel(program, "twice", NULL);
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    for (int step = 0; step < STEPS; step++) {
        if (rank == slow)
            be_slow();
        clEnqueueNDRangeKernel(queue, kernel, 1, NULL, (size_t[]){N}, NULL, 0, NULL, NULL);
        clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL);
        if (rank != slow)
            be_slow();
        MPI_Allreduce(values, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("total %d\n", total);
    MPI_Finalize();
    return 0;
}
