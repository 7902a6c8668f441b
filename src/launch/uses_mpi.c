// SPDX-License-Identifier: Apache-2.0
// Finds out whether a command uses MPI. The capture calls it before it starts a program.
#include "launch/uses_mpi.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WORDS_MAX = 16, FILE_MAX = 256 << 20 };

// The launchers, by the beginning of their names (mpirun.openmpi, mpiexec.hydra).
static bool is_launcher(const char *word) {
    static const char *const names[] = {"mpirun", "mpiexec", "orterun", "prterun"};
    const char *slash = strrchr(word, '/');
    const char *name = slash ? slash + 1 : word;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

// What a launcher sets for the processes that it starts: Open MPI, PMIx, and PMI of MPICH and Slurm.
static bool is_in_job(char *const *environment) {
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE=", "PMIX_RANK=", "PMI_RANK=", "PMI_SIZE="};
    for (char *const *entry = environment; entry && *entry; entry++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strncmp(*entry, names[i], strlen(names[i])) == 0)
                return true;
    return false;
}

// The names of libraries that a program needs, and those of its functions, are texts of its file, each after a 0.
static enum launch_mpi look_into(const char *bytes, size_t size) {
    static const char open_mpi[] = "\0libmpi", own[] = "\0PMPI_Init";
    if (size < 4 || memcmp(bytes, "\177ELF", 4) != 0)
        return LAUNCH_MPI_NONE;
    if (memmem(bytes, size, open_mpi, sizeof open_mpi - 1))
        return LAUNCH_MPI_USED;
    return memmem(bytes, size, own, sizeof own) ? LAUNCH_MPI_STATIC : LAUNCH_MPI_NONE;
}

static enum launch_mpi look_at_file(const char *path) {
    enum launch_mpi found = LAUNCH_MPI_NONE;
    struct stat status;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return found;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
        status.st_size <= FILE_MAX) {
        void *at = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (at != MAP_FAILED) {
            found = look_into(at, (size_t)status.st_size);
            munmap(at, (size_t)status.st_size);
        }
    }
    close(fd);
    return found;
}

static const char *value_of(char *const *environment, const char *name) {
    const size_t length = strlen(name);
    for (char *const *entry = environment; entry && *entry; entry++)
        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=')
            return *entry + length + 1;
    return NULL;
}

// The first word may be in a folder of PATH.
static enum launch_mpi look_in_path(const char *name, const char *folders) {
    char path[4096];
    for (const char *at = folders; at && *at;) {
        const size_t length = strcspn(at, ":");
        const int written = snprintf(path, sizeof path, "%.*s/%s", (int)length, at, name);
        if (written > 0 && (size_t)written < sizeof path && access(path, X_OK) == 0)
            return look_at_file(path);
        at += length + (at[length] == ':');
    }
    return LAUNCH_MPI_NONE;
}

enum launch_mpi launch_uses_mpi(char *const *argv, char *const *environment) {
    enum launch_mpi found = is_in_job(environment) ? LAUNCH_MPI_USED : LAUNCH_MPI_NONE;
    for (size_t i = 0; i < WORDS_MAX && argv[i] && found != LAUNCH_MPI_USED; i++) {
        const enum launch_mpi here = is_launcher(argv[i])   ? LAUNCH_MPI_USED
                                     : strchr(argv[i], '/') ? look_at_file(argv[i])
                                     : i == 0 ? look_in_path(argv[i], value_of(environment, "PATH"))
                                              : LAUNCH_MPI_NONE;
        found = here != LAUNCH_MPI_NONE ? here : found;
    }
    return found;
}
