// SPDX-License-Identifier: Apache-2.0
// Finds the helpers of `benchmark` and `studio`.
#include "cli/helper_program.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/present/terminal.h"

#ifndef TRACESMITH_HELPER_DIR
#define TRACESMITH_HELPER_DIR "../libexec/tracesmith" // from where the command is
#endif

bool helper_own_path(char *out, size_t size) {
    const ssize_t length = readlink("/proc/self/exe", out, size - 1);
    if (length <= 0 || (size_t)length >= size - 1)
        return false;
    out[length] = '\0';
    return true;
}

bool helper_find(const char *name, char *out, size_t size, const char *needs) {
    char self[PATH_MAX];
    const bool found = helper_own_path(self, sizeof self);
    const int length =
        found ? snprintf(out, size, "%s/%s/%s", dirname(self), TRACESMITH_HELPER_DIR, name) : -1;
    if (length > 0 && (size_t)length < size && access(out, X_OK) == 0)
        return true;
    complain("a part of TraceSmith is missing: %s", length > 0 ? out : name);
    complain("./dev build builds it in the source tree, where %s", needs);
    return false;
}
