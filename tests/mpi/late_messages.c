// SPDX-License-Identifier: Apache-2.0
// A pipeline of four ranks, in which rank 2 sends late: rank 3 says that it is about to receive, and then waits. At the end rank 1 receives
// late: rank 0 says that it is about to send synchronously, and then waits. `requests`: with requests instead of blocking calls.
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { ROUNDS = 6, READY = 1, WORK = 2, BACK = 3, SIZE = 1000 };

static int rank, is_async;

static void pause_while_others_wait(void) {
    nanosleep(&(struct timespec){.tv_nsec = 150000000}, NULL);
}

static void send(int *data, int count, int to, int tag) {
    MPI_Request request;
    if (is_async) {
        MPI_Isend(data, count, MPI_INT, to, tag, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(data, count, MPI_INT, to, tag, MPI_COMM_WORLD);
    }
}

static void receive(int *data, int count, int from, int tag) {
    MPI_Request request;
    if (is_async) {
        MPI_Irecv(data, count, MPI_INT, from, tag, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(data, count, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void pass_on(int *data) {
    int token = 0;
    if (rank > 0)
        receive(data, SIZE, rank - 1, WORK);
    if (rank == 2) {
        receive(&token, 1, 3, READY);
        pause_while_others_wait();
    }
    if (rank < 3)
        send(data, SIZE, rank + 1, WORK);
}

int main(int argc, char **argv) {
    int data[SIZE] = {0}, token = 0;
    MPI_Request request;
    is_async = argc > 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 5; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < ROUNDS; i++) {
        if (rank == 3)
            send(&token, 1, 2, READY);
        data[0] += rank;
        pass_on(data);
    }
    for (int i = 0; i < ROUNDS; i++) {
        if (rank == 0) {
            send(&token, 1, 1, READY);
            if (is_async) {
                MPI_Issend(data, 1, MPI_INT, 1, BACK, MPI_COMM_WORLD, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            } else {
                MPI_Ssend(data, 1, MPI_INT, 1, BACK, MPI_COMM_WORLD);
            }
        } else if (rank == 1) {
            receive(&token, 1, 0, READY);
            pause_while_others_wait();
            receive(data, 1, 0, BACK);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("passed %d\n", ROUNDS);
    MPI_Finalize();
    return 0;
}
