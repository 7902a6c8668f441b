// SPDX-License-Identifier: Apache-2.0
// Opens libraries late. Called by test_manners.sh:
//
//     late plugin LIBRARY | dlsym | none
//
// plugin: a library that is linked with the loader, and whose function `use` is called. dlsym: zeInit by name.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "none";
    if (strcmp(what, "plugin") == 0) {
        void *library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
        int (*use)(void) = NULL;
        if (library)
            *(void **)&use = dlsym(library, "use");
        printf("plugin %d\n", use ? use() : -1);
    } else if (strcmp(what, "dlsym") == 0) {
        void *loader = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
        int (*init)(unsigned flags) = NULL;
        if (loader)
            *(void **)&init = dlsym(loader, "zeInit");
        printf("dlsym %d\n", init ? init(0) : -1);
    } else {
        printf("none\n");
    }
    return 0;
}
