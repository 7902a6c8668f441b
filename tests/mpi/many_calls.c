// SPDX-License-Identifier: Apache-2.0
// Two ranks of MPI that make calls as fast as they can for some time, and print how many they made in all.
//
//   many_calls MILLISECONDS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MESSAGES = 20 };
static long calls;

static long milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000L + now.tv_nsec / 1000000;
}

// A rank to itself: no other process has to be awake.
static void send_to_self(void) {
    int out = 1, in;
    MPI_Request request;
    MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
    MPI_Send(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    calls += 3;
}

int main(int argc, char **argv) {
    int rank, over = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const long end = milliseconds() + (argc > 1 ? atol(argv[1]) : 0);
    while (!over) {
        int is_over = milliseconds() >= end;
        for (int i = 0; i < MESSAGES; i++)
            send_to_self();
        MPI_Allreduce(&is_over, &over, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        calls++;
    }
    calls += 3; // MPI_Init, the reduction below and MPI_Finalize
    long all = 0;
    MPI_Reduce(&calls, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld\n", all);
    MPI_Finalize();
    return 0;
}
