// SPDX-License-Identifier: Apache-2.0
// CPython's perf trampolines (PYTHONPERFSUPPORT, -X perf, -X perf_jit): generated code through which the interpreter calls each Python
// function, one for each. It has no unwind data: it is known by its instructions behind the call. Both unwinders use it (unwind.c,
// watch/unwind_copy.c).
#ifndef UNWIND_PERF_TRAMPOLINE_H
#define UNWIND_PERF_TRAMPOLINE_H

#include <stdint.h>
#include <string.h>

// What the code at a return address does before it returns. The caller's stack pointer is two words above this one, and the caller's
// address right below that. Any other code of these instructions does the same.
enum perf_trampoline {
    PERF_TRAMPOLINE_NONE,              // something else
    PERF_TRAMPOLINE_SKIPS,             // takes a word off the stack: CPython 3.12 and 3.13 on x86-64
    PERF_TRAMPOLINE_POPS_FRAME_POINTER // CPython 3.14 on x86-64, and 3.12 to 3.13 on aarch64
};

#if defined(__aarch64__)
enum { PERF_TRAMPOLINE_BYTES = 8 };
#else
enum { PERF_TRAMPOLINE_BYTES = 5 };
#endif

static inline enum perf_trampoline perf_trampoline_of(const uint8_t bytes[PERF_TRAMPOLINE_BYTES]) {
#if defined(__x86_64__)
    static const uint8_t skips[] = {0x48, 0x83, 0xc4, 0x08, 0xc3}; // add $8, %rsp; ret
    static const uint8_t pops[] = {0x5d, 0xc3};                    // pop %rbp; ret
    if (memcmp(bytes, skips, sizeof skips) == 0)
        return PERF_TRAMPOLINE_SKIPS;
#elif defined(__aarch64__)
    static const uint8_t pops[] = {0xfd, 0x7b, 0xc1, 0xa8,
                                   0xc0, 0x03, 0x5f, 0xd6}; // ldp x29, x30, [sp], #16; ret
#endif
#if defined(__x86_64__) || defined(__aarch64__)
    return memcmp(bytes, pops, sizeof pops) == 0 ? PERF_TRAMPOLINE_POPS_FRAME_POINTER : PERF_TRAMPOLINE_NONE;
#else
    (void)bytes;
    return PERF_TRAMPOLINE_NONE;
#endif
}

#endif
