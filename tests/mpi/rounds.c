// SPDX-License-Identifier: Apache-2.0
// Rounds in which each rank of MPI sends to the next one and receives from the one before it, then the other way round.
#include <mpi.h>

enum { ROUNDS = 200 };

int main(int argc, char **argv) {
    int rank, ranks, sent = 0, got;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Sendrecv(&sent, 1, MPI_INT, next, 1, &got, 1, MPI_INT, before, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Sendrecv(&sent, 1, MPI_INT, before, 2, &got, 1, MPI_INT, next, 2, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
