// SPDX-License-Identifier: Apache-2.0
// What the agent must know of the binary interface of an MPI, declared by ourselves: no header of an MPI is needed to build it,
// and one library serves all. tests/mpi/abi.c compares each value with the header of Open MPI and of MPICH.
//
// A handle is a pointer in Open MPI and an int in MPICH. Both are passed in a register or in a slot of the stack of 64 bits on
// x86-64 and on aarch64, so a wrapper that declares it as a word passes on what it got. The upper half of an int's word is
// undefined; mpi_key removes it. Handles in memory have the width `handle_bytes`.
#ifndef MPI_ABI_H
#define MPI_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uintptr_t mpi_handle;

// X(family, handle bytes, status bytes, offset of MPI_SOURCE, of MPI_TAG, MPI_PROC_NULL, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_IN_PLACE,
//   MPI_STATUS_IGNORE, MPI_UNDEFINED)
#define MPI_FAMILIES(X)                                                                                      \
    X(OPENMPI, sizeof(void *), 24, 0, 4, -2, -1, -1, (void *)1, (void *)0, -32766)                           \
    X(MPICH, sizeof(int), 20, 8, 12, -1, -2, -1, (void *)-1, (void *)1, -32766)

// Handles that are numbers in MPICH. Open MPI has addresses of its own objects for them, which the library exports.
enum {
    MPICH_COMM_WORLD = 0x44000000,
    MPICH_COMM_SELF = 0x44000001,
    MPICH_COMM_NULL = 0x04000000,
    MPICH_REQUEST_NULL = 0x2c000000,
    MPICH_BUILTIN =
        1 // in the two highest bits of a handle: the request is complete, and several operations have it
};

enum { MPI_STATUS_WORDS = 4 }; // room for a status of any family

// What the wrappers answer if there is no MPI in the process: MPI_ERR_OTHER of Open MPI, an error in every family.
enum { MPI_NO_LIBRARY = 16 };

// How many bytes a receive got, as MPI_Get_count with MPI_BYTE gives it.
static inline uint64_t openmpi_status_bytes(const void *status) {
    uint64_t bytes;
    __builtin_memcpy(&bytes, (const char *)status + 16, sizeof bytes);
    return bytes;
}
static inline uint64_t mpich_status_bytes(const void *status) {
    uint32_t low, high; // the lowest bit of `high` is no part of it
    __builtin_memcpy(&low, status, sizeof low);
    __builtin_memcpy(&high, (const char *)status + 4, sizeof high);
    return (uint64_t)(high >> 1) << 32 | low;
}

#endif
