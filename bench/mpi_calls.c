// SPDX-License-Identifier: Apache-2.0
// Calls of MPI on one rank, for bench_mpi.sh: prints the ns of a round.
//
//   mpi_calls barrier|iprobe|send ROUNDS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char out[8], in[8];

static void run_round(char kind) {
    MPI_Request request;
    int flag;
    switch (kind) {
    case 'b':
        MPI_Barrier(MPI_COMM_SELF);
        return;
    case 'i':
        MPI_Iprobe(0, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        return;
    default:
        MPI_Irecv(in, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, &request);
        MPI_Send(out, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv) {
    struct timespec start, end;
    const long rounds = argc > 2 ? atol(argv[2]) : 0;
    MPI_Init(&argc, &argv);
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (long i = 0; i < rounds; i++)
        run_round(argv[1][0]);
    clock_gettime(CLOCK_MONOTONIC, &end);
    const long ns = (end.tv_sec - start.tv_sec) * 1000000000L + end.tv_nsec - start.tv_nsec;
    if (rounds > 0)
        printf("%ld\n", ns / rounds);
    MPI_Finalize();
    return 0;
}
