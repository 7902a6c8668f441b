// SPDX-License-Identifier: Apache-2.0
// pairs: eight ranks, two on each of four hosts, sum in pairs of two hosts, each pair in a communicator of its own; then in other pairs. The last
// host's ranks are with others in the first round, and with each other in the second.
#include <mpi.h>
#include <stdio.h>

enum { RANKS = 8, ROUNDS = 2, COUNT = 16384, TIMES = 12 };

// The number of a rank's pair.
static const int pairs[ROUNDS][RANKS] = {{0, 1, 0, 2, 2, 3, 1, 3}, {0, 1, 2, 0, 2, 1, 3, 3}};

int main(int argc, char **argv) {
    static int values[COUNT], sums[COUNT];
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm pair;
        MPI_Comm_split(MPI_COMM_WORLD, pairs[round][rank], rank, &pair);
        for (int i = 0; i < TIMES; i++)
            MPI_Allreduce(values, sums, COUNT, MPI_INT, MPI_SUM, pair);
        MPI_Comm_free(&pair);
    }
    return MPI_Finalize();
}
