// SPDX-License-Identifier: Apache-2.0
// Recognizes perf trampolines by their instructions. unwind_copy.c calls it.
#include "watch/perf_trampolines.h"

#include <string.h>
#include <sys/uio.h>

#if defined(__x86_64__)

static enum perf_trampoline kind_of(const uint8_t bytes[5]) {
    static const uint8_t skips[] = {0x48, 0x83, 0xc4, 0x08, 0xc3}; // add $8, %rsp; ret
    static const uint8_t pops[] = {0x5d, 0xc3};                    // pop %rbp; ret
    return memcmp(bytes, skips, sizeof skips) == 0 ? PERF_TRAMPOLINE_SKIPS
           : memcmp(bytes, pops, sizeof pops) == 0 ? PERF_TRAMPOLINE_POPS_FRAME_POINTER
                                                   : PERF_TRAMPOLINE_NONE;
}

enum perf_trampoline perf_trampolines_find(struct perf_trampolines *known, unsigned pid, uint64_t pc) {
    enum { PLACES = sizeof known->places / sizeof known->places[0] };
    const size_t place = (pc >> 5 ^ pc) % PLACES; // trampolines are 32 bytes apart, or a multiple
    uint8_t bytes[5];
    if (known->places[place].pc == pc)
        return known->places[place].kind;
    const struct iovec here = {bytes, sizeof bytes}, there = {(void *)(uintptr_t)pc, sizeof bytes};
    if (!pc || process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0) != (ssize_t)sizeof bytes)
        return PERF_TRAMPOLINE_NONE;
    known->places[place].pc = pc;
    known->places[place].kind = kind_of(bytes);
    return known->places[place].kind;
}

#else

// Trampolines of other processors keep a frame pointer.
enum perf_trampoline perf_trampolines_find(struct perf_trampolines *known, unsigned pid, uint64_t pc) {
    (void)known;
    (void)pid;
    (void)pc;
    return PERF_TRAMPOLINE_NONE;
}

#endif
