// SPDX-License-Identifier: Apache-2.0
// The handles of MPI that the program passes: numbers in MPICH, addresses of exported objects in Open MPI. Both are passed in a register
// of 64 bits on x86-64 and on aarch64. tests/mpi/abi.c compares them with the header of MPICH.
#ifndef MPI_PROGRAM_ABI_H
#define MPI_PROGRAM_ABI_H

#include <stdint.h>

typedef uintptr_t mpi_word;

enum { MPICH_WORLD = 0x44000000, MPICH_BYTE = 0x4c00010d };

#endif
