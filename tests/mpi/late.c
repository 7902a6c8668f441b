// SPDX-License-Identifier: Apache-2.0
// Three ranks in which rank 2 comes last to five collectives: the others tell it by a message that they are about to begin. Then messages
// whose receiver, or sender, comes first by the same means.
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { ROUNDS = 5, LATE = 2 };

static int rank;

// After all others have said that they begin. The others then run for a while before it begins, so that they are in the collective when
// it comes.
static void come_last(void) {
    int token = 0;
    if (rank != LATE) {
        MPI_Send(&token, 1, MPI_INT, LATE, 1, MPI_COMM_WORLD);
        return;
    }
    for (int i = 0; i < LATE; i++)
        MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    nanosleep(&(struct timespec){.tv_nsec = 150000000}, NULL);
}

int main(int argc, char **argv) {
    MPI_Comm pair;
    int value = 0, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < ROUNDS; i++) {
        come_last();
        value = rank + i;
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &pair); // 0; 1 and 2
    MPI_Barrier(pair);
    MPI_Bcast(&value, 1, MPI_INT, 0, pair);
    MPI_Allgather(&rank, 1, MPI_INT, (int[3]){0}, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Comm_free(&pair);
    if (rank == 0)
        printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
