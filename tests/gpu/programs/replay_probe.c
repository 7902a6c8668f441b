// SPDX-License-Identifier: Apache-2.0
// Queries the driver for the prerequisites of replaying CUDA programs. One line for each answer:
//
//     probe NAME yes|no|not-there|skipped DETAIL
//
// replay_probe parameters   cuFuncGetParamInfo: offset and size of each parameter of a kernel whose layout is known
// replay_probe addresses    whether memory can be had at a fixed address in another process (cuMemAddressReserve with a hint)
// replay_probe checkpoint   whether another process can be checkpointed and continues with its memory at the same addresses
#define _GNU_SOURCE
#include "driver.h"

#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static void say(const char *name, const char *answer, const char *detail) {
    printf("probe %s %s %s\n", name, answer, detail);
    fflush(stdout);
}

// ---- parameters

static void parameters(void) {
#if CUDA_VERSION >= 12040
    static const char wanted[] = "0+8 8+8 16+4 24+24 48+1";
    CUmodule module;
    CUfunction kernel;
    char text[256] = "";
    size_t length = 0;
    if (!DRIVER_HAS(cuFuncGetParamInfo)) {
        say("parameter-sizes", "not-there", "the driver has no cuFuncGetParamInfo");
        return;
    }
    driver_context();
    driver_need(DRIVER(cuModuleLoadData)(&module, driver_ptx), "cuModuleLoadData");
    driver_need(DRIVER(cuModuleGetFunction)(&kernel, module, "probe"), "cuModuleGetFunction");
    for (size_t i = 0; i < 16; i++) {
        size_t offset = 0, size = 0;
        if (DRIVER(cuFuncGetParamInfo)(kernel, i, &offset, &size) != CUDA_SUCCESS)
            break;
        length +=
            (size_t)snprintf(text + length, sizeof text - length, "%s%zu+%zu", i ? " " : "", offset, size);
    }
    say("parameter-sizes", strcmp(text, wanted) == 0 ? "yes" : "no", text);
#else
    say("parameter-sizes", "not-there", "built with headers older than CUDA 12.4");
#endif
}

// ---- addresses

static CUmemAllocationProp properties(void) {
    CUmemAllocationProp wanted;
    memset(&wanted, 0, sizeof wanted);
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    return wanted;
}

// Memory at an address that is reserved, written and read.
static int usable(CUdeviceptr at, size_t size) {
    const CUmemAllocationProp wanted = properties();
    CUmemAccessDesc access;
    CUmemGenericAllocationHandle handle;
    uint64_t value = 0, said = UINT64_C(0x1234567890abcdef);
    memset(&access, 0, sizeof access);
    access.location = wanted.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return DRIVER(cuMemCreate)(&handle, size, &wanted, 0) == CUDA_SUCCESS &&
           DRIVER(cuMemMap)(at, size, 0, handle, 0) == CUDA_SUCCESS &&
           DRIVER(cuMemSetAccess)(at, size, &access, 1) == CUDA_SUCCESS &&
           DRIVER(cuMemcpyHtoD)(at, &said, sizeof said) == CUDA_SUCCESS &&
           DRIVER(cuMemcpyDtoH)(&value, at, sizeof value) == CUDA_SUCCESS && value == said;
}

static int has_addresses(void) {
    return DRIVER_HAS(cuMemAddressReserve) && DRIVER_HAS(cuMemCreate) && DRIVER_HAS(cuMemMap) &&
           DRIVER_HAS(cuMemSetAccess) && DRIVER_HAS(cuMemGetAllocationGranularity);
}

static size_t granularity(void) {
    const CUmemAllocationProp wanted = properties();
    size_t size = 0;
    driver_need(DRIVER(cuMemGetAllocationGranularity)(&size, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                "cuMemGetAllocationGranularity");
    return size ? size : 2 * MIB;
}

// addresses-again NAME ADDRESS...: in a process of its own, whether each can be had.
static void addresses_again(int count, char **words) {
    driver_context();
    const size_t size = granularity();
    for (int i = 0; i + 1 < count; i += 2) {
        const CUdeviceptr wanted = strtoull(words[i + 1], NULL, 16) / size * size;
        CUdeviceptr got = 0;
        char name[64], detail[160];
        const int result = (int)DRIVER(cuMemAddressReserve)(&got, size, 0, wanted, 0);
        const int can = result == 0 && usable(got, size);
        snprintf(name, sizeof name, "fixed-address-%s", words[i]);
        snprintf(detail, sizeof detail, "wanted 0x%llx got 0x%llx result %d usable %d",
                 (unsigned long long)wanted, (unsigned long long)got, result, can);
        say(name, result == 0 && got == wanted && can ? "yes" : "no", detail);
    }
}

static void run_again(char **words) {
    const pid_t child = fork();
    int status = 0;
    if (child == 0) {
        execv("/proc/self/exe", words);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status)
        say("fixed-address", "no", "the second process failed");
}

static void addresses(void) {
    static char own[32], allocated[32];
    CUdeviceptr reserved = 0, memory = 0;
    driver_context();
    if (!has_addresses()) {
        say("fixed-address", "not-there", "the driver has no virtual memory management");
        return;
    }
    driver_need(DRIVER(cuMemAddressReserve)(&reserved, granularity(), 0, 0, 0), "cuMemAddressReserve");
    driver_need(DRIVER(cuMemAlloc)(&memory, 64 * MIB), "cuMemAlloc");
    snprintf(own, sizeof own, "%llx", (unsigned long long)reserved);
    snprintf(allocated, sizeof allocated, "%llx", (unsigned long long)memory);
    // Two that other tools take, one that this process was given for itself, and one of its ordinary allocations.
    char *words[] = {(char *)"replay_probe",
                     (char *)"addresses-again",
                     (char *)"reserved",
                     own,
                     (char *)"allocated",
                     allocated,
                     (char *)"low",
                     (char *)"153940000000",
                     (char *)"high",
                     (char *)"7facd0000000",
                     NULL};
    run_again(words);
}

// ---- checkpoint

static const char pattern = 0x5a;

// checkpoint-child: has memory with a pattern; after a word on stdin whether it is still there, at its address.
static int checkpoint_child(void) {
    CUdeviceptr memory = 0;
    char *host = (char *)malloc(MIB), word[8];
    size_t right = 0;
    driver_context();
    driver_need(DRIVER(cuMemAlloc)(&memory, MIB), "cuMemAlloc");
    memset(host, pattern, MIB);
    driver_need(DRIVER(cuMemcpyHtoD)(memory, host, MIB), "cuMemcpyHtoD");
    memset(host, 0, MIB);
    printf("ready\n");
    fflush(stdout);
    if (!fgets(word, sizeof word, stdin))
        return 1;
    if (DRIVER(cuMemcpyDtoH)(host, memory, MIB) == CUDA_SUCCESS)
        while (right < MIB && host[right] == pattern)
            right++;
    printf("%s\n", right == MIB ? "kept" : "lost");
    return 0;
}

#if CUDA_VERSION >= 12080
static void checkpoint_of(int pid, FILE *to, FILE *from) {
    CUcheckpointLockArgs lock;
    char word[32] = "", detail[200];
    int results[4] = {-1, -1, -1, -1};
    long long took[4] = {0};
    memset(&lock, 0, sizeof lock);
    lock.timeoutMs = 10000;
    for (int step = 0; step < 4 && (step == 0 || results[step - 1] == 0); step++) {
        const long long begin = clock_ns(CLOCK_MONOTONIC);
        switch (step) {
        case 0:
            results[0] = (int)DRIVER(cuCheckpointProcessLock)(pid, &lock);
            break;
        case 1:
            results[1] = (int)DRIVER(cuCheckpointProcessCheckpoint)(pid, NULL);
            break;
        case 2:
            results[2] = (int)DRIVER(cuCheckpointProcessRestore)(pid, NULL);
            break;
        default:
            results[3] = (int)DRIVER(cuCheckpointProcessUnlock)(pid, NULL);
        }
        took[step] = (clock_ns(CLOCK_MONOTONIC) - begin) / 1000;
    }
    // A child that stays locked would never answer.
    if (results[3] == 0) {
        fprintf(to, "go\n");
        fflush(to);
        if (!fgets(word, sizeof word, from))
            word[0] = '\0';
        word[strcspn(word, "\n")] = '\0';
    }
    snprintf(detail, sizeof detail,
             "lock %d checkpoint %d restore %d unlock %d; us %lld %lld %lld %lld; memory %s", results[0],
             results[1], results[2], results[3], took[0], took[1], took[2], took[3],
             word[0] ? word : "unknown");
    say("checkpoint", strcmp(word, "kept") == 0 ? "yes" : "no", detail);
}
#endif

static void checkpoint(void) {
#if CUDA_VERSION >= 12080
    int in[2], out[2];
    char word[64];
    if (!DRIVER_HAS(cuCheckpointProcessLock) || !DRIVER_HAS(cuCheckpointProcessCheckpoint) ||
        !DRIVER_HAS(cuCheckpointProcessRestore) || !DRIVER_HAS(cuCheckpointProcessUnlock)) {
        say("checkpoint", "not-there", "the driver has no cuCheckpointProcess*");
        return;
    }
    if (pipe(in) || pipe(out))
        return;
    const pid_t child = fork();
    if (child == 0) {
        char *words[] = {(char *)"replay_probe", (char *)"checkpoint-child", NULL};
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        close(out[0]);
        execv("/proc/self/exe", words);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    FILE *to = fdopen(in[1], "w"), *from = fdopen(out[0], "r");
    driver_need(DRIVER(cuInit)(0), "cuInit");
    do {
        if (!to || !from || !fgets(word, sizeof word, from)) {
            say("checkpoint", "no", "the process to checkpoint did not start");
            return;
        }
    } while (strcmp(word, "ready\n") != 0);
    checkpoint_of(child, to, from);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
#else
    say("checkpoint", "not-there", "built with headers older than CUDA 12.8");
#endif
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    driver_open();
    if (strcmp(what, "parameters") == 0)
        parameters();
    else if (strcmp(what, "addresses") == 0)
        addresses();
    else if (strcmp(what, "addresses-again") == 0)
        addresses_again(argc - 2, argv + 2);
    else if (strcmp(what, "checkpoint") == 0)
        checkpoint();
    else if (strcmp(what, "checkpoint-child") == 0)
        return checkpoint_child();
    else
        return 2;
    return 0;
}
