// SPDX-License-Identifier: Apache-2.0
#include "capture/injection.h"

#include <dlfcn.h>
#include <stdlib.h>

void *injection_open_next(const char *next, const void *own) {
    const char *path = secure_getenv(next);
    Dl_info info;
    if (!path || !*path)
        return NULL;
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    void *ourselves =
        dladdr(own, &info) && info.dli_fname ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (ourselves)
        dlclose(ourselves);
    return library == ourselves ? NULL : library;
}
