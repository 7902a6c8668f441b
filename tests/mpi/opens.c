// SPDX-License-Identifier: Apache-2.0
// Opens the library $MANNERS, which is linked with MPI, for itself only (RTLD_LOCAL), as Python does, and calls what is in it.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    void *library = dlopen(getenv("MANNERS"), RTLD_NOW | RTLD_LOCAL);
    int (*run)(int, char **) = NULL;
    if (library)
        *(void **)&run = dlsym(library, "run_it");
    if (!run) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    return run(argc, argv);
}
