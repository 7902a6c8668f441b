// SPDX-License-Identifier: Apache-2.0
// Finds the functions that the wrappers call, and which MPI it is. Rules: agent.h.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "agent.h"
#include "agentkit/stacks.h"
#include "throttling.h"

struct mpi mpi;

static const struct mpi_abi abis[] = {
#define FAMILY(name, handle, status, source, tag, proc_null, any_source, any_tag, in_place, ignore,          \
               undefined)                                                                                    \
    {handle, status, source, tag, proc_null, any_source, any_tag, in_place, ignore, undefined},
    MPI_FAMILIES(FAMILY)
#undef FAMILY
};

#define CALL_NAME(name, ...) CALL_NAME_(name)
#define CALL_NAME_(name) "MPI_" #name,
#define CALL_NAME_C(name, ...) CALL_NAME_C_(name)
#define CALL_NAME_C_(name) "MPI_" #name "_c",
const char *const call_names[CALLS] = {MPI_COUNTED(CALL_NAME) MPI_COUNTED(CALL_NAME_C)
                                           MPI_OTHERS(CALL_NAME) "MPI_Pcontrol"};

// ---- functions

static int find_library(struct dl_phdr_info *info, size_t size, void *found) {
    const char *slash = strrchr(info->dlpi_name, '/');
    (void)size;
    if (!slash || (strncmp(slash, "/libmpi.so", 10) != 0 && strncmp(slash, "/libmpich.so", 12) != 0))
        return 0;
    *(void **)found = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    return *(void **)found != NULL;
}

// The next library in the search order; a library that the program has loaded for itself only (RTLD_LOCAL) is not in it.
static void *find_function(const char *name) {
    void *function = dlsym(RTLD_NEXT, name), *library = NULL;
    if (!function && dl_iterate_phdr(find_library, &library))
        function = dlsym(library, name);
    if (!function)
        (void)dlerror();
    return function;
}

void *_Atomic library_functions[ENTRY_POINTS][CALLS];

void *library_search(enum entry_point point, enum call call) {
    char name[64];
    snprintf(name, sizeof name, "%s%s", point == ENTRY_PMPI ? "P" : "", call_names[call]);
    void *function = find_function(name);
    atomic_store_explicit(&library_functions[point][call], function, memory_order_relaxed);
    return function;
}

// ---- callers of PMPI_*

// The libraries of Fortran bindings: libmpi_mpifh and libmpi_usempif08 of Open MPI, libmpichfort of MPICH, libmpifort of those with its
// interface.
static bool is_binding(const char *path) {
    static const char *const names[] = {"libmpi_mpifh", "libmpi_usempi", "libmpichf", "libmpifort"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static bool look_up_caller(const void *caller) {
    Dl_info info, program;
    if (!dladdr(caller, &info))
        return false;
    const uintptr_t entry = (uintptr_t)getauxval(AT_ENTRY);
    return is_binding(info.dli_fname) ||
           (entry && dladdr((const void *)entry, &program) && program.dli_fbase == info.dli_fbase);
}

bool library_is_program(const void *caller) {
    enum { PLACES_LOG2 = 8 };
    // The place of a caller has its address, and in the lowest bit whether it is of the program.
    static _Atomic uint64_t places[1 << PLACES_LOG2];
    const uint64_t address = (uint64_t)(uintptr_t)caller << 1;
    _Atomic uint64_t *place = &places[address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PLACES_LOG2)];
    const uint64_t kept = atomic_load_explicit(place, memory_order_relaxed);
    if (__builtin_expect((kept & ~UINT64_C(1)) == address, 1))
        return kept & 1;
    const bool is_program = look_up_caller(caller);
    atomic_store_explicit(place, address | is_program, memory_order_relaxed);
    return is_program;
}

static bool find_local_functions(void) {
    bool all = true;
#define LOCAL_FIND(member, name, parameters)                                                                 \
    *(void **)&mpi.member = find_function(name);                                                             \
    all = all && mpi.member;
    MPI_LOCAL_FUNCTIONS(LOCAL_FIND)
#undef LOCAL_FIND
    return all;
}

// An object of Open MPI. A program that is linked with it may have a copy of the object, which the library then uses too: the
// first in the search order.
static mpi_handle object(const char *name) {
    const void *found = dlsym(RTLD_DEFAULT, name);
    return (mpi_handle)(found ? found : find_function(name));
}

// The libraries with the binary interface of MPICH call themselves by these names.
static bool is_mpich(const char *version) {
    static const char *const names[] = {"MPICH", "MVAPICH", "Intel(R) MPI", "CRAY MPICH"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(version, names[i]))
            return true;
    return false;
}

static void learn_version(void) {
    int (*get)(char *text, int *length) = NULL;
    static char text[8192 + 1]; // MPI_MAX_LIBRARY_VERSION_STRING of MPICH
    int length = 0;
    *(void **)&get = find_function("PMPI_Get_library_version");
    if (!get || get(text, &length) != 0)
        return;
    text[strcspn(text, "\r\n")] = '\0';
    for (char *tab = text; (tab = strchr(tab, '\t'));)
        *tab = ' ';
    snprintf(mpi.version, sizeof mpi.version, "%.150s", text);
}

bool library_learn(void) {
    learn_version();
    if (object("ompi_mpi_comm_world")) {
        mpi.family = MPI_OPENMPI;
        mpi.comm_world = object("ompi_mpi_comm_world");
        mpi.comm_self = object("ompi_mpi_comm_self");
        mpi.comm_null = object("ompi_mpi_comm_null");
        mpi.request_null = object("ompi_request_null");
        mpi.request_empty = object("ompi_request_empty");
    } else if (is_mpich(mpi.version)) {
        mpi.family = MPI_MPICH;
        mpi.comm_world = MPICH_COMM_WORLD;
        mpi.comm_self = MPICH_COMM_SELF;
        mpi.comm_null = MPICH_COMM_NULL;
        mpi.request_null = MPICH_REQUEST_NULL;
    } else {
        return false;
    }
    mpi.abi = &abis[mpi.family];
    return find_local_functions();
}

// ---- attaching

static bool prepare(void) {
    return comms_init() && requests_init();
}

static void begin(void) {
    record_init();
    (void)stacks_start(agent.channel);
    throttling_start();
}

static const struct agent_spec spec = {
    .api = "mpi", .prepare = prepare, .begin = begin, .end = requests_over, .not_in_children = true};

static void attach(void) {
    const bool known = library_learn();
    if (!known) // of an unknown interface nothing is read: calls are passed on
        mpi.abi = NULL;
    if (!agent_attach(&spec))
        return;
    if (!known) {
        agent_untraced("the program's MPI is none that is recorded (Open MPI, and MPICH and those with its "
                       "binary interface)");
        mpi.abi = NULL;
        return;
    }
    throttling_watch();
}

void library_attach(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, attach);
}
