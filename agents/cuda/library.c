// SPDX-License-Identifier: Apache-2.0
// Finding libcupti. Rules: agent.h. It is looked for inside the program's first call of cuInit, or each time attach comes until it is
// found (way_in_late).
//
// A libcupti that is not compatible with the driver fails when its version is queried, or at subscribing. Then the
// next one is tried. One that was refused stays loaded: it may have started something in the driver that still uses
// its code.
#include "library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "candidates.h"
#include "vendor.h"

struct cupti cupti;
atomic_bool library_gone;

static bool read_clock(uint64_t *time) {
    return !atomic_load_explicit(&library_gone, memory_order_relaxed) &&
           (cupti.shared ? cupti.GetTimestamp_v2(cupti.subscriber, time) : cupti.GetTimestamp(time)) ==
               CUPTI_OK;
}
struct foreign_clock cupti_clock = {.read = read_clock, .comparing = ATOMIC_FLAG_INIT};

static struct candidates candidates;

// What was tried without success, for the reader of the trace.
static struct {
    void *handles[CANDIDATES_MAX];
    uint32_t count;
    char text[4096];
} refused;

void *library_function(void *library, const char *function, char name[64]) {
    snprintf(name, 64, "%s%s", vendor.prefix, function);
    return dlsym(library, name);
}

// ---- what a library may lack

#define CUPTI_LACKS(name, ...)                                                                               \
    static int lacks_##name(__VA_ARGS__) {                                                                   \
        return LIBRARY_LACKS;                                                                                \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
CUPTI_CALLBACK_FUNCTIONS(CUPTI_LACKS)
#pragma GCC diagnostic pop
#undef CUPTI_LACKS

// MCPTI names calls by the kind of their records.
static int name_by_kind(int domain, uint32_t id, const char **name) {
    const int kind = domain == CUPTI_DOMAIN_DRIVER ? CUPTI_KIND_DRIVER : CUPTI_KIND_RUNTIME;
    return cupti.ActivityGetApiName(kind, id, name);
}

// False: one that is needed is missing.
static bool find_functions(void *library) {
    char text[64];
    bool all = true;
#define CUPTI_FIND(name, ...)                                                                                \
    *(void **)&cupti.name = library_function(library, #name, text);                                          \
    all = all && cupti.name;
    CUPTI_FUNCTIONS(CUPTI_FIND)
#undef CUPTI_FIND
#define CUPTI_FIND(name, ...) *(void **)&cupti.name = library_function(library, #name, text);
    CUPTI_LATER_FUNCTIONS(CUPTI_FIND)
#undef CUPTI_FIND
#define CUPTI_FIND(name, ...)                                                                                \
    *(void **)&cupti.name = library_function(library, #name, text);                                          \
    all = all && (cupti.name || vendor.partial);                                                             \
    cupti.name = cupti.name ? cupti.name : lacks_##name;
    CUPTI_CALLBACK_FUNCTIONS(CUPTI_FIND)
#undef CUPTI_FIND
    if (cupti.GetCallbackName == lacks_GetCallbackName && cupti.ActivityGetApiName)
        cupti.GetCallbackName = name_by_kind;
    return all;
}

const char *library_error(int result) {
    const char *text = NULL;
    if (result == LIBRARY_LACKS)
        return "the library has no such function";
    return cupti.GetResultString(result, &text) == CUPTI_OK && text ? text : "an unknown error";
}

// An error that another libcupti need not give. INVALID_DEVICE: of one that is older than the GPU (triton-lang/triton#8953).
static bool is_of_library(int result) {
    return result == CUPTI_INVALID_DEVICE || result == CUPTI_NOT_COMPATIBLE ||
           result == CUPTI_NOT_INITIALIZED || result == CUPTI_UNKNOWN;
}

static void note_refused(const struct candidate *candidate, const char *what) {
    const size_t length = strlen(refused.text);
    const char *path = cupti.path[0] ? cupti.path : candidate->path;
    snprintf(refused.text + length, sizeof refused.text - length, "%s%s: %s", length ? "; " : "", path, what);
}

static bool tried_before(const void *handle) {
    for (uint32_t i = 0; i < refused.count; i++)
        if (refused.handles[i] == handle)
            return true;
    return false;
}

enum outcome { ABSENT, REFUSED, TAKEN };

// Opens a candidate and fills in `cupti`. `why` gets what is wrong with one that is there.
static enum outcome try_candidate(const struct candidate *candidate, int (*take)(void), int *result,
                                  char *why, size_t size) {
    struct link_map *map = NULL;
    void *library = dlopen(candidate->path, RTLD_NOW | RTLD_LOCAL | (candidate->mapped ? RTLD_NOLOAD : 0));
    *result = CUPTI_OK;
    cupti = (struct cupti){.handle = library};
    if (!library || tried_before(library))
        return ABSENT;
    refused.handles[refused.count++] = library;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map)
        snprintf(cupti.path, sizeof cupti.path, "%s", map->l_name);
    if (!find_functions(library)) {
        snprintf(why, size, "incomplete, or too old");
        return REFUSED;
    }
    *result = cupti.GetVersion(&cupti.stated);
    cupti.version = vendor.form ? vendor.form : cupti.stated;
    if (*result == CUPTI_OK && cupti.stated < vendor.oldest) {
        snprintf(why, size, "too old");
        return REFUSED;
    }
    if (*result == CUPTI_OK)
        *result = take();
    if (*result != CUPTI_OK && is_of_library(*result)) {
        snprintf(why, size, "%s (%d)", library_error(*result), *result);
        return REFUSED;
    }
    cupti.simulated = dlsym(library, "tracesmith_simulated") != NULL;
    cupti.where = candidate->where;
    cupti.was_loaded = candidate->mapped;
    return TAKEN;
}

static void driver_in_words(char *out, size_t size) {
    enum { PER_MAJOR = 1000, PER_MINOR = 10 };
    if (candidates.driver)
        snprintf(out, size, "the driver's CUDA %u.%u", candidates.driver / PER_MAJOR,
                 candidates.driver % PER_MAJOR / PER_MINOR);
    else
        snprintf(out, size, "this driver");
}

// Nothing can be used: the message, with the libraries that were tried.
static void explain(const char *asked, int result, char *why, size_t size) {
    char driver[64];
    const int stem = (int)strcspn(vendor.library, ".");
    driver_in_words(driver, sizeof driver);
    if (refused.count) {
        snprintf(
            why, size,
            "%s work is not recorded: no %.*s is compatible with %s: %s%s; %s%s is needed, of the driver's "
            "%sversion: %sset %s to its path",
            vendor.platform, stem, vendor.library, driver, refused.count > 1 ? "tried " : "", refused.text,
            vendor.interface, vendor.partial ? "" : " of CUDA 11.0 or newer", vendor.partial ? "" : "CUDA ",
            result == CUPTI_OK ? ""
            : vendor.partial   ? "check that the driver works, and "
                               : "check that the driver works (nvidia-smi), and ",
            vendor.variable);
    } else if (asked) {
        const char *error = dlerror(); // begins with the name
        snprintf(why, size,
                 "%s work is not recorded: %s names no library: %s; set it to the path of %.*s, or unset it "
                 "to search for it",
                 vendor.platform, vendor.variable, error ? error : asked, stem, vendor.library);
    } else {
        snprintf(why, size, "%s work is not recorded: %.*s was not found; %s or set %s to its path",
                 vendor.platform, stem, vendor.library, vendor.install, vendor.variable);
    }
}

bool library_load(int (*take)(void), int *result, char *why, size_t size) {
    const char *asked = secure_getenv(vendor.variable);
    char what[160];
    int first = CUPTI_OK;
    asked = asked && *asked ? asked : NULL;
    refused.count = 0; // of an earlier attempt (attach)
    refused.text[0] = '\0';
    candidates_find(&candidates, asked);
    for (uint32_t i = 0; i < candidates.count; i++) {
        const enum outcome outcome = try_candidate(&candidates.all[i], take, result, what, sizeof what);
        if (outcome == TAKEN)
            return true;
        if (outcome == REFUSED) {
            note_refused(&candidates.all[i], what);
            first = first == CUPTI_OK ? *result : first;
        }
    }
    explain(asked, first, why, size);
    return false;
}

void library_describe(char *out, size_t size) {
    char driver[64];
    driver_in_words(driver, sizeof driver);
    snprintf(out, size, "%s %u, %s (%s, with %s)", vendor.interface, cupti.stated, cupti.path, cupti.where,
             driver);
}

const char *library_refused(void) {
    return refused.text;
}
