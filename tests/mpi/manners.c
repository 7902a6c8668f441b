// SPDX-License-Identifier: Apache-2.0
// What an MPI program may do that is not a plain call: threads that call at once, looks that find nothing, an end by MPI_Abort. Each
// says on standard output what it did.
//
//   manners threads|polls|abort
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 3, ROUNDS = 40, LOOKS = 100 };

static int rank, size;

static void *talk(void *data) {
    MPI_Comm comm = *(MPI_Comm *)data;
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request requests[2];
        int out = i, in = -1, sum = 0;
        MPI_Irecv(&in, 1, MPI_INT, left, i, comm, &requests[0]);
        MPI_Isend(&out, 1, MPI_INT, right, i, comm, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_SUM, comm);
        if (in != i || sum != i * size)
            MPI_Abort(MPI_COMM_WORLD, 9);
    }
    return NULL;
}

static void run_threads(void) {
    MPI_Comm comms[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, talk, &comms[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&comms[i]);
    printf("%d\n", THREADS * ROUNDS);
}

// Rank 1 sends once rank 0 has looked in vain so often.
static void run_polls(void) {
    int value = 0, flag = 0, looks = 0;
    MPI_Request request;
    if (rank == 1) {
        MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    }
    if (rank == 0) {
        MPI_Irecv(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &request);
        for (; looks < LOOKS; looks++)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        for (MPI_Test(&request, &flag, MPI_STATUS_IGNORE); !flag; looks++)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        printf("%d\n", looks);
    }
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "threads") == 0 && provided == MPI_THREAD_MULTIPLE)
        run_threads();
    else if (strcmp(what, "polls") == 0)
        run_polls();
    else if (strcmp(what, "abort") == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        printf("aborts\n");
        fflush(stdout);
        MPI_Abort(MPI_COMM_WORLD, 7);
    } else
        printf("nothing\n");
    MPI_Finalize();
    return 0;
}
