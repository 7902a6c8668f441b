// SPDX-License-Identifier: Apache-2.0
// A program with three barriers, and a tool that takes them and calls MPI by its other name. -DTOOL: the tool only; -DPROGRAM: the program
// only; both in one file without.
#include <mpi.h>

#ifndef PROGRAM
int MPI_Barrier(MPI_Comm comm) {
    return PMPI_Barrier(comm);
}
#endif
#ifndef TOOL
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 3; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
#endif
