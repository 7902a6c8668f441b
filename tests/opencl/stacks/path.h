// SPDX-License-Identifier: Apache-2.0
// A requested call path, step by step, and the call sites that its functions record themselves.
// Nothing here knows of tracing.
#ifndef STACKS_PATH_H
#define STACKS_PATH_H

#include <stdint.h>

enum { FUNCTIONS = 24, DEPTH_MAX = 160 };

struct path {
    uint32_t steps[DEPTH_MAX]; // functions to go through
    uint32_t length, at;
    const void *returns
        [DEPTH_MAX]; // where each that is on the stack was called from, outermost first; NULL: a signal
    uint32_t depth;
};

typedef long path_function(struct path *path);

// Takes the next step; main.c.
path_function path_next;

#define PATH_CALLED(path) ((path)->returns[(path)->depth++] = __builtin_return_address(0))
#define PATH_LEFT(path) ((path)->depth--)

#endif
