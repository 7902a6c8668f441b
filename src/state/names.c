// SPDX-License-Identifier: Apache-2.0
// Classifies calls and kernels by their names. The timeline and the analysis of ranks call it.
#include "state/names.h"

#include <string.h>

#include "event/copy_name.h"

// Searched for in the part of the name after the API's prefix; the first that fits counts.
static const struct {
    const char *text;
    uint8_t role;
} ROLES[] = {
    {"DeviceSynchronize", TSMITH_CALL_SYNC_DEVICE},
    {"CtxSynchronize", TSMITH_CALL_SYNC_DEVICE},
    {"StreamSynchronize", TSMITH_CALL_SYNC_QUEUE},
    {"Finish", TSMITH_CALL_SYNC_QUEUE},
    {"EventSynchronize", TSMITH_CALL_SYNC_EVENT},
    {"WaitForEvents", TSMITH_CALL_SYNC_EVENT},
    {"EventRecord", TSMITH_CALL_RECORD},
    {"SetUserEventStatus", TSMITH_CALL_SET_EVENT},
    {"StreamWaitEvent", TSMITH_CALL_WAIT_EVENT},
    {"BuildProgram", TSMITH_CALL_COMPILE},
    {"CompileProgram", TSMITH_CALL_COMPILE},
    {"LinkProgram", TSMITH_CALL_COMPILE},
    {"ModuleLoad", TSMITH_CALL_COMPILE},
    {"LibraryLoad", TSMITH_CALL_COMPILE},
    {"Malloc", TSMITH_CALL_MEMORY},
    {"Free", TSMITH_CALL_MEMORY},
    {"MemAlloc", TSMITH_CALL_MEMORY},
    {"MemFree", TSMITH_CALL_MEMORY},
    {"HostAlloc", TSMITH_CALL_MEMORY},
    {"ExtMalloc", TSMITH_CALL_MEMORY},
    {"HostMalloc", TSMITH_CALL_MEMORY},
};

static const char *const COMMUNICATION[] = {"nccl",  "rccl",   "mscclKernel", "hccl",
                                            "gloo:", "oneccl", "msccl"};

static bool starts_with(tsmith_string name, const char *prefix) {
    size_t length = strlen(prefix);
    return name.length >= length && memcmp(name.bytes, prefix, length) == 0;
}

// CUPTI's and Kineto's names of copies: "Memcpy HtoD (Pageable -> Device)"; mcTracer's: "memcpy HTOD(pinned,device)".
static uint16_t classify_copy(tsmith_string name) {
    uint16_t class = (uint16_t)(NAME_SEEN | copy_direction(name) << NAME_DIRECTION_SHIFT);
    if (strcasestr(name.bytes, "Pageable"))
        class |= NAME_PAGEABLE;
    return class;
}

// The length of the API's prefix; 0 when it has none.
static size_t api_prefix(tsmith_string name) {
    static const char *const PREFIXES[] = {"cuda", "hip", "cu", "cl", "mc", "musa"};
    for (size_t i = 0; i < sizeof PREFIXES / sizeof *PREFIXES; i++) {
        size_t length = strlen(PREFIXES[i]);
        if (starts_with(name, PREFIXES[i]) && name.length > length && name.bytes[length] >= 'A' &&
            name.bytes[length] <= 'Z')
            return length;
    }
    return 0;
}

// Collectives that are not a library's: symmetric memory and multimem (PyTorch, vLLM, SGLang, TensorRT-LLM, FlashInfer)
// and NVSHMEM. Looked for in the kernel's own name, before its template arguments and parameters.
static bool is_collective_kernel(tsmith_string name) {
    static const char *const WORDS[] = {"multimem",      "all_reduce", "allreduce", "all_gather",
                                        "allgather",     "all_to_all", "alltoall",  "reduce_scatter",
                                        "reducescatter", "nvshmem",    "deep_ep::", "cross_device_reduce",
                                        "symm_mem"};
    // Compiled from an expression that mentions a collective, or an all-reduce within a warp or a block: computation.
    static const char *const NOT[] = {"triton_", "warp", "block"};
    char own[256];
    size_t length = 0;
    bool found = false;
    for (; length < name.length && length + 1 < sizeof own && !strchr("<(", name.bytes[length]); length++)
        own[length] = (char)(name.bytes[length] >= 'A' && name.bytes[length] <= 'Z' ? name.bytes[length] + 32
                                                                                    : name.bytes[length]);
    own[length] = '\0';
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS && !found; i++)
        found = strstr(own, WORDS[i]) != NULL;
    for (size_t i = 0; i < sizeof NOT / sizeof *NOT && found; i++)
        found = strstr(own, NOT[i]) == NULL;
    return found;
}

bool names_communicates(tsmith_string name) {
    for (size_t i = 0; i < sizeof COMMUNICATION / sizeof *COMMUNICATION; i++)
        if (starts_with(name, COMMUNICATION[i]))
            return true;
    return is_collective_kernel(name);
}

uint16_t names_classify(tsmith_string name) {
    uint16_t class = NAME_SEEN;
    if (names_communicates(name))
        return class | NAME_COMMUNICATION;
    if (starts_with(name, "Memcpy ") || starts_with(name, "memcpy ") || starts_with(name, "Copy") ||
        starts_with(name, "MEMORY_COPY_"))
        return classify_copy(name);
    size_t prefix = api_prefix(name);
    if (!prefix)
        return class;
    tsmith_string rest = {name.bytes + prefix, name.length - prefix};
    if (starts_with(rest, "Memcpy") && !memmem(rest.bytes, rest.length, "Async", 5))
        class |= NAME_BLOCKING;
    for (size_t i = 0; i < sizeof ROLES / sizeof *ROLES; i++)
        if (starts_with(rest, ROLES[i].text))
            return (uint16_t)(class | ROLES[i].role << NAME_ROLE_SHIFT);
    return class;
}
