// SPDX-License-Identifier: Apache-2.0
// Recognizes perf trampolines by their instructions. unwind_copy.c calls it.
#include "watch/perf_trampolines.h"

#include <string.h>
#include <sys/uio.h>

enum perf_trampoline perf_trampolines_find(struct perf_trampolines *known, unsigned pid, uint64_t pc) {
    enum { PLACES = sizeof known->places / sizeof known->places[0] };
    const size_t place = (pc >> 5 ^ pc) % PLACES; // trampolines are 32 bytes apart, or a multiple
    uint8_t bytes[PERF_TRAMPOLINE_BYTES];
    if (known->places[place].pc == pc)
        return known->places[place].kind;
    const struct iovec here = {bytes, sizeof bytes}, there = {(void *)(uintptr_t)pc, sizeof bytes};
    if (!pc || process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0) != (ssize_t)sizeof bytes)
        return PERF_TRAMPOLINE_NONE;
    known->places[place].pc = pc;
    known->places[place].kind = perf_trampoline_of(bytes);
    return known->places[place].kind;
}
