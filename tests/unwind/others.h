// SPDX-License-Identifier: Apache-2.0
// The other unwinders: glibc's backtrace() and libunwind, which is opened by name, since a program that links it gets
// its backtrace() from there.
#ifndef STACK_OTHERS_H
#define STACK_OTHERS_H

#include <dlfcn.h>
#include <execinfo.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(__has_include)
#if __has_include(<libunwind.h>) && defined(__x86_64__)
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#define OTHERS_LIBUNWIND 1
#endif
#endif

#ifdef OTHERS_LIBUNWIND
#define OTHERS_TEXT2(x) #x
#define OTHERS_TEXT(x) OTHERS_TEXT2(x)

struct libunwind {
    int (*getcontext)(unw_tdep_context_t *);
    int (*init_local)(unw_cursor_t *, unw_context_t *);
    int (*init_local2)(unw_cursor_t *, unw_context_t *, int);
    int (*step)(unw_cursor_t *);
    int (*get_reg)(unw_cursor_t *, int, unw_word_t *);
    int (*backtrace)(void **, int);
    void (*flush_cache)(unw_addr_space_t, unw_word_t, unw_word_t);
    unw_addr_space_t *space;
};

static inline bool libunwind_open(struct libunwind *library) {
    void *handle = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return false;
#define OTHERS_FIND(field, name)                                                                             \
    do {                                                                                                     \
        void *found_ = dlsym(handle, name);                                                                  \
        memcpy(&library->field, &found_, sizeof found_);                                                     \
    } while (0)
    OTHERS_FIND(getcontext, OTHERS_TEXT(unw_tdep_getcontext));
    OTHERS_FIND(init_local, OTHERS_TEXT(unw_init_local));
    OTHERS_FIND(init_local2, OTHERS_TEXT(unw_init_local2));
    OTHERS_FIND(step, OTHERS_TEXT(unw_step));
    OTHERS_FIND(get_reg, OTHERS_TEXT(unw_get_reg));
    OTHERS_FIND(flush_cache, OTHERS_TEXT(unw_flush_cache));
    OTHERS_FIND(space, OTHERS_TEXT(unw_local_addr_space));
    OTHERS_FIND(backtrace, "unw_backtrace");
#undef OTHERS_FIND
    return library->getcontext && library->init_local && library->step && library->get_reg &&
           library->backtrace;
}

// Program counters from `context`, its own first.
static inline int libunwind_walk(const struct libunwind *library, unw_context_t *context, uint64_t *frames,
                                 int capacity) {
    unw_cursor_t cursor;
    int count = 0;
    if (library->init_local(&cursor, context))
        return 0;
    do {
        unw_word_t pc = 0;
        if (library->get_reg(&cursor, UNW_REG_IP, &pc) || !pc)
            break;
        frames[count++] = pc;
    } while (count < capacity && library->step(&cursor) > 0);
    return count;
}
#endif

#endif
