// SPDX-License-Identifier: Apache-2.0
// The ranks of distributed runs: what the environment of a process states about its rank, and names of output files with it.
#ifndef TRACESMITH_LAUNCHER_H
#define TRACESMITH_LAUNCHER_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/export.h"
#include "tracesmith/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// The launchers, and the variables with which each numbers its processes; "": it has none. Of several that are in one
// environment the first applies, so a launcher that another one starts is above it. A launcher applies if its needed variable
// is set, its rank is a number, and its other numbers, as far as they are set, agree with it.
// X("name", "doc", needed, rank, world size, local rank, local world size, node, job)
#define TSMITH_LAUNCHER_TABLE(X)                                                                             \
    X("torchrun", "torchrun (PyTorch)", "TORCHELASTIC_RUN_ID", "RANK", "WORLD_SIZE", "LOCAL_RANK",           \
      "LOCAL_WORLD_SIZE", "GROUP_RANK", "TORCHELASTIC_RUN_ID")                                               \
    X("openmpi", "mpirun of Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK",                       \
      "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "",                \
      "PMIX_NAMESPACE")                                                                                      \
    X("hydra", "mpiexec of MPICH and Intel MPI (Hydra)", "MPI_LOCALRANKID", "PMI_RANK", "PMI_SIZE",          \
      "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "", "")                                                          \
    X("environment", "DeepSpeed, and others that set PyTorch's variables", "WORLD_SIZE", "RANK",             \
      "WORLD_SIZE", "LOCAL_RANK", "LOCAL_SIZE", "", "")                                                      \
    X("flux", "flux run", "FLUX_TASK_RANK", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", "", "", \
      "FLUX_JOB_ID")                                                                                         \
    X("slurm", "srun of Slurm", "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "",        \
      "SLURM_NODEID", "SLURM_JOB_ID")                                                                        \
    X("pmix", "other launchers with PMIx", "PMIX_RANK", "PMIX_RANK", "", "", "", "", "PMIX_NAMESPACE")       \
    X("pmi", "other launchers with PMI", "PMI_RANK", "PMI_RANK", "PMI_SIZE", "", "", "", "PMI_JOBID")

// What a launcher states about a process. -1: unknown.
typedef struct tsmith_launch {
    size_t size; // sizeof(tsmith_launch), the caller's
    int64_t rank;
    int64_t world;       // number of ranks of the run
    int64_t local_rank;  // among the ranks of its host
    int64_t local_world; // number of ranks of its host
    int64_t node;        // number of its host
    char launcher[16];   // a name of the table; "": none
    char job[128];       // the launcher's name of the run; "": unknown
} tsmith_launch;

// Fills `out` from the environment of the calling process (pid 0), or from the one with which another process of this user
// began. True if the rank is known; otherwise all is unknown. Any thread that may call getenv.
TSMITH_API int tsmith_launch_find(uint32_t pid, tsmith_launch *out);

// The name of an output file: in `pattern`, %r is the rank, %h the host name, %p a process id, and %% a percent sign; rank and id
// are those of `pid`, or (0) of the calling process. `out` has room for `size` bytes. INVALID_ARGUMENT, with a message that the
// user can act on: another letter, a rank that is not known, or no room.
TSMITH_API tsmith_status tsmith_output_expand(const char *pattern, uint32_t pid, char *out, size_t size,
                                              tsmith_error *error);

// Whether one recording of several processes, made by the calling process, becomes several files by this name: it has %p, or %r and
// the calling process has no rank. tsmith_trace_split (tracesmith/merge.h) makes them.
TSMITH_API int tsmith_output_splits(const char *pattern);
// The name of the file with the whole of such a recording, until it is split: %r is "all" and %p is "all" and the id of the calling
// process. INVALID_ARGUMENT as tsmith_output_expand, and if one of them is in the name of a folder.
TSMITH_API tsmith_status tsmith_output_whole(const char *pattern, char *out, size_t size,
                                             tsmith_error *error);

#ifdef __cplusplus
}
#endif
#endif
