// SPDX-License-Identifier: Apache-2.0
// The function of a program that a stack is in. Analyses, `view --timeline` and `studio` call it.
#include <string.h>

#include "tracesmith/stacks.h"

// The functions that wait, wake, copy and allocate are the system's; the reason is in their callers.
static int is_of_system(const tsmith_dictionary *dictionary, const tsmith_stack_line *line) {
    static const char *const libraries[] = {"libc.so",  "libc-",     "libpthread",
                                            "ld-linux", "libstdc++", "[vdso]"};
    const tsmith_module *module = tsmith_dictionary_module(dictionary, line->module);
    const char *path = module ? tsmith_dictionary_string(dictionary, module->path).bytes : "";
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
        if (strncmp(base, libraries[i], strlen(libraries[i])) == 0)
            return 1;
    return (line->flags & TSMITH_FRAME_KERNEL) != 0;
}

int tsmith_stack_place(const tsmith_dictionary *dictionary, tsmith_stack_names *names, uint32_t stack,
                       tsmith_stack_line *out) {
    enum { LINES = 256 };
    tsmith_stack_line lines[LINES];
    const size_t there = tsmith_stack_lines(names, stack, lines, LINES),
                 count = there < LINES ? there : LINES;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < count; i++)
        if (!is_of_system(dictionary, &lines[i])) {
            *out = lines[i];
            return 1;
        }
    if (count)
        *out = lines[0];
    return 0;
}
