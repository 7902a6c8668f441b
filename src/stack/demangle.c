// SPDX-License-Identifier: Apache-2.0
// The work is libiberty's. A hostile name of a hundred bytes can stand for gigabytes (its parts refer to one another), so
// output is counted as it comes, and given up, together with the time it takes, when there is too much. That is a jump
// out of libiberty, which these entry points allow: all their memory is on the stack.
#include "stack/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

struct output {
    char *at;
    size_t length, size;
    jmp_buf *enough;
};

static void put(const char *bytes, size_t length, void *context) {
    struct output *output = context;
    if (length >= output->size - output->length)
        longjmp(*output->enough, 1);
    memcpy(output->at + output->length, bytes, length);
    output->length += length;
}

static bool take_apart(const char *name, struct output *output) {
    jmp_buf enough;
    output->enough = &enough;
    if (setjmp(enough))
        return false;
    // Rust's older mangling is also valid C++, with a hash for the last name: first what knows that.
    return rust_demangle_callback(name, DMGL_PARAMS, put, output) ||
           cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, put, output);
}

size_t demangle(const char *name, char *into, size_t size) {
    static const char STUB[] = "@plt";
    struct output output = {.at = into, .size = size};
    char whole[DEMANGLE_MAX + 1];
    size_t length = name[0] == '_' ? strnlen(name, DEMANGLE_MAX + 1) : 0;
    if (!length || !size || length > DEMANGLE_MAX)
        return 0;
    bool stub = length > sizeof STUB && memcmp(name + length - (sizeof STUB - 1), STUB, sizeof STUB) == 0;
    if (stub) {
        memcpy(whole, name, length);
        whole[length - (sizeof STUB - 1)] = '\0';
    }
    if (!take_apart(stub ? whole : name, &output))
        output.length = 0;
    if (stub && output.length && size - output.length >= sizeof STUB) {
        memcpy(into + output.length, STUB, sizeof STUB - 1);
        output.length += sizeof STUB - 1;
    }
    into[output.length] = '\0';
    return output.length;
}
