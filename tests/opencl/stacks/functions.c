// SPDX-License-Identifier: Apache-2.0
// Functions of all the kinds of frames that compilers make, compiled again and again: FUNCTIONS_NAME is the name of their
// table, SEED decides how large their frames are. Of two libraries with different seeds, functions are at the same addresses.
#include "path.h"

#include <alloca.h>
#include <string.h>

#define NOT_INLINE __attribute__((noinline, used))

// Through the PLT of a library, and not a tail call.
#define PLAIN(n)                                                                                             \
    NOT_INLINE static long plain_##n(struct path *path) {                                                    \
        volatile char room[16 * (1 + ((n)*7 + SEED * 5) % 23)];                                              \
        room[0] = (char)(n);                                                                                 \
        PATH_CALLED(path);                                                                                   \
        long result = path_next(path);                                                                       \
        PATH_LEFT(path);                                                                                     \
        return result + room[0];                                                                             \
    }
// A frame whose size is not known at compile time.
#define VARIABLE(n)                                                                                          \
    NOT_INLINE static long variable_##n(struct path *path) {                                                 \
        volatile char *room = alloca(16 + path->at % 7 * 48 + (n) + SEED);                                   \
        room[0] = (char)(n);                                                                                 \
        PATH_CALLED(path);                                                                                   \
        long result = path_next(path);                                                                       \
        PATH_LEFT(path);                                                                                     \
        return result + room[0];                                                                             \
    }
// Keeps what it was given in registers that it must give back.
#define SAVING(n)                                                                                            \
    NOT_INLINE static long saving_##n(struct path *path) {                                                   \
        long a = path->at * 3, b = path->length + (n), c = path->depth ^ SEED, d = a * b;                    \
        PATH_CALLED(path);                                                                                   \
        long result = path_next(path);                                                                       \
        PATH_LEFT(path);                                                                                     \
        return result + a * b + c * d + a;                                                                   \
    }
// A tail call: on no stack.
#define TAIL(n)                                                                                              \
    NOT_INLINE static long tail_##n(struct path *path) {                                                     \
        path->at += (n) < 0;                                                                                 \
        return path_next(path);                                                                              \
    }
#define KINDS(n) PLAIN(n) VARIABLE(n) SAVING(n) TAIL(n)
// What follows has no semicolons, which is taken for one declaration.
// clang-format off
KINDS(0) KINDS(1) KINDS(2) KINDS(3) KINDS(4) KINDS(5)
// clang-format on

#define NAMES(n) plain_##n, variable_##n, saving_##n, tail_##n
    path_function *const FUNCTIONS_NAME[FUNCTIONS] = {NAMES(0), NAMES(1), NAMES(2),
                                                      NAMES(3), NAMES(4), NAMES(5)};
