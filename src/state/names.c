// SPDX-License-Identifier: Apache-2.0
#include "state/names.h"

#include <string.h>

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
    static const struct {
        const char *text;
        uint8_t direction;
    } DIRECTIONS[] = {{"HtoD", TSMITH_DIRECTION_HOST_TO_DEVICE},
                      {"DtoH", TSMITH_DIRECTION_DEVICE_TO_HOST},
                      {"DtoD", TSMITH_DIRECTION_DEVICE_TO_DEVICE},
                      {"HtoH", TSMITH_DIRECTION_HOST_TO_HOST},
                      {"PtoP", TSMITH_DIRECTION_PEER_TO_PEER}};
    uint16_t class = NAME_SEEN;
    for (size_t i = 0; i < sizeof DIRECTIONS / sizeof *DIRECTIONS; i++)
        if (strcasestr(name.bytes, DIRECTIONS[i].text))
            class |= (uint16_t)(DIRECTIONS[i].direction << NAME_DIRECTION_SHIFT);
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

uint16_t names_classify(tsmith_string name) {
    uint16_t class = NAME_SEEN;
    for (size_t i = 0; i < sizeof COMMUNICATION / sizeof *COMMUNICATION; i++)
        if (starts_with(name, COMMUNICATION[i]))
            return class | NAME_COMMUNICATION;
    if (starts_with(name, "Memcpy ") || starts_with(name, "memcpy "))
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
