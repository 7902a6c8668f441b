// SPDX-License-Identifier: Apache-2.0
// Lists the paths at which a libcupti may be found; library.c calls it. Rules: agent.h. Everything is looked up in the
// file system and in the list of loaded libraries; Python is not asked.
#include "candidates.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"

enum { PLACE_BYTES = 600, FOLDERS_MAX = 8 };

// ---- what is loaded

struct mapped {
    const char *prefix;
    char path[CANDIDATE_BYTES];
};

static int look_at(struct dl_phdr_info *info, size_t size, void *context) {
    struct mapped *mapped = context;
    (void)size;
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    const char *name = slash ? slash + 1 : info->dlpi_name;
    const size_t length = name ? strlen(info->dlpi_name) : 0;
    if (!name || strncmp(name, mapped->prefix, strlen(mapped->prefix)) != 0 || length >= sizeof mapped->path)
        return 0;
    memcpy(mapped->path, info->dlpi_name, length + 1);
    return 1;
}

static bool find_mapped(const char *prefix, struct mapped *out) {
    *out = (struct mapped){.prefix = prefix};
    return dl_iterate_phdr(look_at, out) != 0;
}

// cuDriverGetVersion is a constant of the driver and may be asked before cuInit.
static uint32_t driver_version(void) {
    void *driver = vendor.driver ? dlopen(vendor.driver, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) : NULL;
    int (*get)(int *) = NULL;
    int version = 0;
    if (!driver)
        return 0;
    *(void **)&get = dlsym(driver, vendor.driver_version);
    const bool known = get && get(&version) == 0 && version > 0;
    dlclose(driver); // only the reference of above
    return known ? (uint32_t)version : 0;
}

// ---- adding

// "libcupti.so.12", "libcupti.so.11.8" and a link to one of them; a plain "libcupti.so.2025.3.1" has no version of CUDA.
static uint32_t major_of(const char *path) {
    enum { OLDEST = 9, NEWEST = 99 };
    char target[PATH_MAX];
    const char *number = strstr(path, "libcupti.so.");
    uint32_t major = number ? (uint32_t)strtoul(number + strlen("libcupti.so."), NULL, 10) : 0;
    const ssize_t length = major ? 0 : readlink(path, target, sizeof target - 1);
    if (length > 0) {
        target[length] = '\0';
        number = strstr(target, "libcupti.so.");
        major = number ? (uint32_t)strtoul(number + strlen("libcupti.so."), NULL, 10) : 0;
    }
    return major >= OLDEST && major <= NEWEST ? major : 0;
}

static void add_candidate(struct candidates *candidates, const char *path, const char *where) {
    if (strlen(path) >= CANDIDATE_BYTES || candidates->count == CANDIDATES_MAX)
        return;
    for (uint32_t i = 0; i < candidates->count; i++)
        if (strcmp(candidates->all[i].path, path) == 0)
            return;
    struct candidate *added = &candidates->all[candidates->count++];
    *added = (struct candidate){.where = where, .major = major_of(path)};
    memcpy(added->path, path, strlen(path) + 1);
}

// All that a pattern matches, the newest first: by name, which ends in the version.
static void add_pattern(struct candidates *candidates, const char *pattern, const char *where) {
    glob_t found;
    const int before = errno;
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = found.gl_pathc; i > 0; i--)
            add_candidate(candidates, found.gl_pathv[i - 1], where);
        globfree(&found);
    }
    errno = before;
}

static void add_below(struct candidates *candidates, const char *folder, vendor_list places,
                      const char *where) {
    char pattern[PLACE_BYTES];
    for (; places && *places; places++) {
        const int length = snprintf(pattern, sizeof pattern, "%s/%s", folder, *places);
        if (length > 0 && (size_t)length < sizeof pattern)
            add_pattern(candidates, pattern, where);
    }
}

// ---- where

// Next to the program's CUDA runtime, or where toolkits and Python's wheels have it from there.
static void add_beside_runtime(struct candidates *candidates) {
    struct mapped runtime;
    if (!find_mapped(vendor.runtime, &runtime) || !strrchr(runtime.path, '/'))
        return;
    *strrchr(runtime.path, '/') = '\0';
    add_below(candidates, runtime.path, vendor.near, "next to the program's runtime");
}

// Folders of packages (site-packages, dist-packages) that the process has libraries of.
struct folders {
    char paths[FOLDERS_MAX][CANDIDATE_BYTES];
    uint32_t count;
};

static int look_for_packages(struct dl_phdr_info *info, size_t size, void *context) {
    struct folders *folders = context;
    const char *name = info->dlpi_name ? info->dlpi_name : "";
    const char *at = strstr(name, "/site-packages/");
    (void)size;
    at = at ? at : strstr(name, "/dist-packages/");
    if (!at)
        return 0;
    const size_t length = (size_t)(at - name) + strlen("/site-packages");
    if (length >= CANDIDATE_BYTES)
        return 0;
    for (uint32_t i = 0; i < folders->count; i++)
        if (strlen(folders->paths[i]) == length && memcmp(folders->paths[i], name, length) == 0)
            return 0;
    memcpy(folders->paths[folders->count], name, length);
    folders->paths[folders->count++][length] = '\0';
    return folders->count == FOLDERS_MAX;
}

static void add_prefix(struct candidates *candidates, const char *prefix) {
    if (prefix && *prefix == '/')
        add_below(candidates, prefix, vendor.prefixes, "in the Python environment");
}

// PREFIX/bin/python3 of how the program was called: in a virtual environment that is a link to elsewhere.
static void add_prefix_of_program(struct candidates *candidates, const char *program) {
    char prefix[CANDIDATE_BYTES];
    const char *name = strrchr(program, '/');
    if (!name || strncmp(name + 1, "python", strlen("python")) != 0 ||
        (size_t)(name - program) >= sizeof prefix)
        return;
    memcpy(prefix, program, (size_t)(name - program));
    prefix[name - program] = '\0';
    char *folder = strrchr(prefix, '/');
    if (!folder || strcmp(folder, "/bin") != 0)
        return;
    *folder = '\0';
    add_prefix(candidates, prefix);
}

static void add_python(struct candidates *candidates) {
    struct folders *folders = calloc(1, sizeof *folders);
    char program[CANDIDATE_BYTES];
    if (folders) {
        dl_iterate_phdr(look_for_packages, folders);
        for (uint32_t i = 0; i < folders->count; i++)
            add_below(candidates, folders->paths[i], vendor.packages, "in the Python environment");
        free(folders);
    }
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    const char *name = strrchr(program, '/');
    if (!name || strncmp(name + 1, "python", strlen("python")) != 0)
        return;
    add_prefix(candidates, secure_getenv("VIRTUAL_ENV"));
    add_prefix(candidates, secure_getenv("CONDA_PREFIX"));
    add_prefix_of_program(candidates, program_invocation_name);
    add_prefix_of_program(candidates, program);
}

static void add_names(struct candidates *candidates) {
    for (vendor_list name = vendor.names; *name; name++)
        add_candidate(candidates, *name, "known to the dynamic linker");
}

static void add_toolkit(struct candidates *candidates, const char *folder) {
    if (folder && *folder == '/')
        add_below(candidates, folder, vendor.in_home, "in a toolkit");
}

static void add_toolkits(struct candidates *candidates) {
    for (vendor_list folder = vendor.homes; *folder; folder++)
        add_toolkit(candidates, *folder);
}

// Keeps the order, but for those that are too new for the driver, and the plain name: they go to the end. Once the plain name is
// loaded, the linker takes its real name for it.
static void put_unlikely_last(struct candidates *candidates) {
    enum { PER_MAJOR = 1000 };
    const uint32_t most = candidates->driver / PER_MAJOR;
    static struct candidate late[CANDIDATES_MAX]; // of one call
    uint32_t kept = 0, moved = 0;
    for (uint32_t i = 0; i < candidates->count; i++) {
        const struct candidate *one = &candidates->all[i];
        if (!one->mapped && ((most && one->major > most) || strcmp(one->path, vendor.library) == 0))
            late[moved++] = *one;
        else
            candidates->all[kept++] = *one;
    }
    memcpy(&candidates->all[kept], late, moved * sizeof *late);
}

void candidates_find(struct candidates *candidates, const char *asked) {
    struct mapped mapped;
    candidates->count = 0;
    candidates->driver = driver_version();
    if (find_mapped(vendor.library, &mapped)) {
        add_candidate(candidates, mapped.path, "loaded by the program");
        if (candidates->count)
            candidates->all[0].mapped = true;
    }
    if (asked) {
        add_candidate(candidates, asked, vendor.named);
        return;
    }
    add_beside_runtime(candidates);
    add_python(candidates);
    add_names(candidates);
    add_toolkit(candidates, secure_getenv(vendor.home_variable));
    add_toolkits(candidates);
    put_unlikely_last(candidates);
}
