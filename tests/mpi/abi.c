// SPDX-License-Identifier: Apache-2.0
// agents/mpi/abi.h against the header of an MPI: it compiles if both say the same. OF_OPENMPI or OF_MPICH is defined; a program, because
// some values are addresses.
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

// The names of the table's columns are those of the header.
static const struct {
    size_t handle, status, source, tag;
    int proc_null, any_source, any_tag;
    void *in_place, *ignore;
    int undefined;
} header = {sizeof(MPI_Comm),
            sizeof(MPI_Status),
            offsetof(MPI_Status, MPI_SOURCE),
            offsetof(MPI_Status, MPI_TAG),
            MPI_PROC_NULL,
            MPI_ANY_SOURCE,
            MPI_ANY_TAG,
            MPI_IN_PLACE,
            MPI_STATUS_IGNORE,
            MPI_UNDEFINED};

#ifdef OF_MPICH
static const int handles[] = {MPI_COMM_WORLD, MPI_COMM_SELF, MPI_COMM_NULL, MPI_REQUEST_NULL, MPI_BYTE};
#endif
// The agent's names of its families are other things in this header.
#define MPI_OPENMPI FAMILY_OPENMPI
#define MPI_MPICH FAMILY_MPICH
#include "agents/mpi/abi.h"
#include "cli/mpi/mpi_abi.h"

static int failed;

#define CHECK(condition) ((condition) ? (void)0 : (void)(printf("not so: %s\n", #condition), failed = 1))

#define FAMILY(name, handle_, status_, source_, tag_, proc_null_, any_source_, any_tag_, in_place_, ignore_, \
               undefined_)                                                                                   \
    if (strcmp(#name, family) == 0) {                                                                        \
        CHECK(header.handle == (handle_));                                                                   \
        CHECK(header.status == (status_));                                                                   \
        CHECK(header.source == (source_));                                                                   \
        CHECK(header.tag == (tag_));                                                                         \
        CHECK(header.proc_null == (proc_null_));                                                             \
        CHECK(header.any_source == (any_source_));                                                           \
        CHECK(header.any_tag == (any_tag_));                                                                 \
        CHECK(header.in_place == (in_place_));                                                               \
        CHECK(header.ignore == (ignore_));                                                                   \
        CHECK((void *)MPI_STATUSES_IGNORE == (ignore_));                                                     \
        CHECK(header.undefined == (undefined_));                                                             \
        found = 1;                                                                                           \
    }

int main(int argc, char **argv) {
    const char *family = argc > 1 ? argv[1] : "";
    int found = 0;
    MPI_FAMILIES(FAMILY)
    CHECK(found);
    CHECK(sizeof(MPI_Status) <= MPI_STATUS_WORDS * sizeof(uint64_t));
    CHECK(sizeof(MPI_Request) == sizeof(MPI_Comm) && sizeof(MPI_Win) == sizeof(MPI_Comm) &&
          sizeof(MPI_Datatype) == sizeof(MPI_Comm));
    CHECK(sizeof(MPI_Aint) == sizeof(int64_t) && sizeof(MPI_Count) == sizeof(int64_t));
    CHECK(sizeof(MPI_File) == sizeof(void *) && sizeof(MPI_Offset) == sizeof(int64_t));
#ifdef OF_MPICH
    CHECK(handles[0] == MPICH_COMM_WORLD && handles[1] == MPICH_COMM_SELF && handles[2] == MPICH_COMM_NULL &&
          handles[3] == MPICH_REQUEST_NULL);
    CHECK(handles[0] == MPICH_WORLD && handles[4] == MPICH_BYTE); // tracesmith-mpi
#endif
    // The bytes of a message, as MPI itself tells them of a status that it has filled.
    MPI_Init(&argc, &argv);
    MPI_Status status;
    const MPI_Count sizes[] = {0, 1, 77, (MPI_Count)1 << 31, ((MPI_Count)5 << 32) + 3};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memset(&status, 0, sizeof status);
        MPI_Status_set_elements_x(&status, MPI_BYTE, sizes[i]);
#ifdef OF_MPICH
        CHECK(mpich_status_bytes(&status) == (uint64_t)sizes[i]);
#else
        CHECK(openmpi_status_bytes(&status) == (uint64_t)sizes[i]);
#endif
    }
    MPI_Finalize();
    return failed;
}
