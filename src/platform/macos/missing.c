// SPDX-License-Identifier: Apache-2.0
// What reading code takes from glibc and macOS' C library has not.
#include <errno.h>
#include <limits.h>
#include <stdint.h>

void *memrchr(const void *bytes, int byte, size_t size) {
    const unsigned char *at = bytes;
    while (size)
        if (at[--size] == (unsigned char)byte)
            return (void *)(uintptr_t)(at + size);
    return NULL;
}

struct cookie {
    void *context;
    cookie_io_functions_t functions;
};

static int cookie_write(void *context, const char *bytes, int size) {
    const struct cookie *cookie = context;
    const ssize_t done = cookie->functions.write(cookie->context, bytes, (size_t)size);
    return done > 0 ? (int)done : -1; // glibc's functions return 0 for a failure
}

static int cookie_close(void *context) {
    free(context);
    return 0;
}

FILE *fopencookie(void *context, const char *mode, cookie_io_functions_t functions) {
    struct cookie *cookie = malloc(sizeof *cookie);
    (void)mode;
    if (!cookie)
        return NULL;
    *cookie = (struct cookie){context, functions};
    FILE *file = funopen(cookie, NULL, cookie_write, NULL, cookie_close);
    if (!file)
        free(cookie);
    return file;
}
