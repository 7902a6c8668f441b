// SPDX-License-Identifier: Apache-2.0
// The MPI that has started this process. No header of an MPI is needed: one program serves Open MPI and the libraries with the binary
// interface of MPICH, as the agent does (agents/mpi/abi.h), and finds the one to use by the variables of the launcher.
#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/present/terminal.h"
#include "mpi_abi.h"
#include "mpi_program.h"

enum { END_SECONDS = 10 };

static struct {
    int (*init)(int *count, char ***words);
    int (*comm_rank)(mpi_word comm, int *rank);
    int (*comm_size)(mpi_word comm, int *size);
    int (*allgather)(const void *from, int count, mpi_word type, void *to, int each, mpi_word to_type,
                     mpi_word comm);
    int (*gather)(const void *from, int count, mpi_word type, void *to, int each, mpi_word to_type, int root,
                  mpi_word comm);
    int (*finalize)(void);
    mpi_word world, byte;
} mpi;

static bool find_functions(void *library) {
    static const struct {
        void *function;
        const char *name;
    } FUNCTIONS[] = {{&mpi.init, "MPI_Init"},           {&mpi.comm_rank, "MPI_Comm_rank"},
                     {&mpi.comm_size, "MPI_Comm_size"}, {&mpi.allgather, "MPI_Allgather"},
                     {&mpi.gather, "MPI_Gather"},       {&mpi.finalize, "MPI_Finalize"}};
    for (size_t i = 0; i < sizeof FUNCTIONS / sizeof *FUNCTIONS; i++) {
        void *found = dlsym(library, FUNCTIONS[i].name);
        if (!found)
            return false;
        memcpy(FUNCTIONS[i].function, &found, sizeof found);
    }
    const void *world = dlsym(library, "ompi_mpi_comm_world"), *byte = dlsym(library, "ompi_mpi_byte");
    mpi.world = world ? (mpi_word)world : MPICH_WORLD;
    mpi.byte = byte ? (mpi_word)byte : MPICH_BYTE;
    return !world == !byte;
}

// Open MPI's libraries load others that look for its functions in the whole process.
static void *open_library(bool is_open_mpi) {
    static const char *const OPEN_MPI[] = {"libmpi.so.40", NULL}, *const MPICH[] = {"libmpich.so.12",
                                                                                    "libmpi.so.12", NULL};
    const char *named = getenv("TRACESMITH_MPI_LIBRARY");
    void *library = named && *named ? dlopen(named, RTLD_NOW | RTLD_GLOBAL) : NULL;
    for (const char *const *name = is_open_mpi ? OPEN_MPI : MPICH; !named && !library && *name; name++)
        library = dlopen(*name, RTLD_NOW | RTLD_GLOBAL);
    return library;
}

bool job_start(struct job *job) {
    const bool is_open_mpi = getenv("OMPI_COMM_WORLD_SIZE") != NULL,
               has_launcher = is_open_mpi || getenv("PMI_RANK") || getenv("PMIX_RANK") ||
                              getenv("TRACESMITH_MPI_LIBRARY");
    *job = (struct job){.size = 1};
    if (!has_launcher)
        return true;
    job->library = open_library(is_open_mpi || (getenv("PMIX_RANK") && !getenv("PMI_RANK")));
    if (!job->library || !find_functions(job->library)) {
        complain("the MPI that started this process cannot be loaded (%s); name its library in "
                 "TRACESMITH_MPI_LIBRARY",
                 job->library ? "it lacks a function" : dlerror());
        return false;
    }
    return mpi.init(NULL, NULL) == 0 && mpi.comm_rank(mpi.world, &job->rank) == 0 &&
           mpi.comm_size(mpi.world, &job->size) == 0;
}

bool job_gather_to_all(const struct job *job, const void *mine, size_t size, void *all) {
    if (job->library)
        return mpi.allgather(mine, (int)size, mpi.byte, all, (int)size, mpi.byte, mpi.world) == 0;
    memcpy(all, mine, size);
    return true;
}

static char *gather_padded(const struct job *job, const char *mine, size_t longest) {
    char *padded = calloc(1, longest), *all = job->rank ? NULL : calloc((size_t)job->size, longest);
    bool done = padded && (job->rank || all);
    if (done) {
        memcpy(padded, mine, strlen(mine));
        if (job->library)
            done = mpi.gather(padded, (int)longest, mpi.byte, all, (int)longest, mpi.byte, 0, mpi.world) == 0;
        else
            memcpy(all, padded, longest);
    }
    free(padded);
    if (done && all)
        return all;
    free(all);
    return done ? strdup("") : NULL;
}

bool job_gather_texts(const struct job *job, const char *mine, char ***texts) {
    const uint64_t length = strlen(mine) + 1;
    uint64_t *lengths = calloc((size_t)job->size, sizeof *lengths), longest = 0;
    char *all = NULL, **out = NULL;
    if (lengths && job_gather_to_all(job, &length, sizeof length, lengths)) {
        for (int i = 0; i < job->size; i++)
            longest = lengths[i] > longest ? lengths[i] : longest;
        all = longest < INT_MAX ? gather_padded(job, mine, longest) : NULL;
    }
    free(lengths);
    *texts = NULL;
    if (all && !job->rank && (out = calloc((size_t)job->size + 1, sizeof *out)))
        for (int i = 0; i < job->size; i++)
            out[i] = strdup(all + (size_t)i * longest);
    const bool done = all && (job->rank || out);
    free(all);
    *texts = out;
    if (!done)
        complain("the ranks could not exchange the names of their traces");
    return done;
}

// ---- the process of the work

// A launcher ends all ranks when one is killed. So the work, which needs the memory and is what gets killed, is done in a child, and the
// rank only waits for it.
pid_t job_fork(void) {
    const pid_t rank = getpid(), child = fork();
    const char *launcher = getenv("PMI_FD"); // the connection to it belongs to the rank
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != rank)
            _exit(1);
        if (launcher)
            (void)close((int)strtol(launcher, NULL, 10));
    }
    return child;
}

static int end_code;

static void exit_late(int number) {
    (void)number;
    _exit(end_code);
}

void job_end(const struct job *job, int code) {
    if (!job->library)
        return;
    end_code = code;
    (void)signal(SIGALRM, exit_late); // a rank that the launcher has lost never comes
    (void)alarm(END_SECONDS);
    (void)mpi.finalize();
    (void)alarm(0);
}
