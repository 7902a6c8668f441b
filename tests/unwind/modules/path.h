// SPDX-License-Identifier: Apache-2.0
// A call path through generated functions: each notes its return address, then asks for the next.
#ifndef MODULES_PATH_H
#define MODULES_PATH_H

#include <stdint.h>

enum { PATH_MAX_DEPTH = 64, PATH_FUNCTIONS = 300 };

struct path {
    uint64_t (*functions[PATH_MAX_DEPTH])(struct path *);
    uint32_t length, at;
    uint64_t noted[2 * PATH_MAX_DEPTH];
    uint32_t count;
};

typedef uint64_t path_function(struct path *);

// In the library: calls the next function of the path, or arrives.
uint64_t path_next(struct path *path);
// In the program: the end of the path.
uint64_t path_arrive(struct path *path);

#define PATH_NOTE(path) ((path)->noted[(path)->count++] = (uint64_t)(uintptr_t)__builtin_return_address(0))

#endif
