// SPDX-License-Identifier: Apache-2.0
// Whether a program that is about to be started uses MPI, so that the agent of MPI is preloaded into it and its children, and into no
// other program: the agent defines MPI's functions.
#ifndef LAUNCH_USES_MPI_H
#define LAUNCH_USES_MPI_H

enum launch_mpi {
    LAUNCH_MPI_NONE,
    LAUNCH_MPI_USED, // a launcher of MPI, a program that is linked with a library of MPI, or a process of an MPI job
    LAUNCH_MPI_STATIC // a program that has MPI in its own file: no library can take its calls
};

// `argv` as for exec, `environment` as the program gets it. Looks at the words of the command (`nice ./program`), not into scripts.
enum launch_mpi launch_uses_mpi(char *const *argv, char *const *environment);

#endif
