// SPDX-License-Identifier: Apache-2.0
// Finds other users of CUPTI in the process, for messages about them. Rules: agent.h. The list of libraries is read,
// and /proc/self/status. A tool that has CUPTI linked statically, or loads it later, is not found.
#include "holder.h"

#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose.h"
#include "library.h"
#include "vendor.h"

struct words {
    char *out;
    size_t size, length;
    unsigned found;
};

__attribute__((format(printf, 2, 3))) static void add(struct words *words, const char *format, ...) {
    va_list arguments;
    if (words->length >= words->size)
        return;
    if (words->found++)
        words->length += (size_t)snprintf(words->out + words->length, words->size - words->length, ", ");
    if (words->length >= words->size)
        return;
    va_start(arguments, format);
    const int length = vsnprintf(words->out + words->length, words->size - words->length, format, arguments);
    va_end(arguments);
    words->length += length > 0 ? (size_t)length : 0;
}

static int look_at(struct dl_phdr_info *info, size_t size, void *context) {
    static const struct {
        const char *begins, *tool;
    } tools[] = {{"libToolsInjection", "Nsight Systems"},
                 {"libcuda-injection", "Nsight Compute"},
                 {"libsanitizer-collection", "Compute Sanitizer"}};
    struct words *words = context;
    const char *path = info->dlpi_name ? info->dlpi_name : "";
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    (void)size;
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (strncmp(name, tools[i].begins, strlen(tools[i].begins)) == 0)
            add(words, "%s (%s)", tools[i].tool, path);
    if (strncmp(name, vendor.library, strlen(vendor.library)) == 0 && strcmp(path, cupti.path) != 0)
        add(words, "a user of another copy of %s (%s)", vendor.interface, path);
    else if (interpose_needs_cupti(info))
        add(words, "%s", path[0] ? path : "the program");
    return 0;
}

// The process that traces this one; 0: none.
static long tracer(void) {
    char text[4096];
    const int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = '\0';
    const char *at = strstr(text, "\nTracerPid:");
    return at ? strtol(at + strlen("\nTracerPid:"), NULL, 10) : 0;
}

bool holder_find(bool before, char *out, size_t size) {
    struct words words = {.out = out, .size = size};
    const char *injected = vendor.next ? secure_getenv(vendor.next) : NULL;
    out[0] = '\0';
    if (injected && *injected)
        add(&words, "%s (injected before TraceSmith)", injected);
    dl_iterate_phdr(look_at, &words);
    if (before && !words.found)
        add(&words, "a library that loaded %s by name", cupti.path);
    const bool found = words.found != 0;
    if (!found)
        add(&words, "an unknown user");
    const long debugger = tracer();
    if (debugger)
        add(&words, "and the process is debugged by process %ld", debugger);
    return found;
}
