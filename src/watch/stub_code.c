// SPDX-License-Identifier: Apache-2.0
// Recognizes stubs by their instructions. unwind_copy.c calls it.
#include "watch/stub_code.h"

#include <string.h>
#include <sys/uio.h>

#if defined(__x86_64__)

bool stub_code_is_at(struct stub_code *known, unsigned pid, uint64_t pc) {
    static const uint8_t end[] = {0x48, 0x83, 0xc4, 0x08, 0xc3}; // add $8, %rsp; ret
    enum { PLACES = sizeof known->places / sizeof known->places[0] };
    const size_t place = (pc >> 5 ^ pc) % PLACES; // stubs are 32 bytes apart, or a multiple
    uint8_t bytes[sizeof end];
    if (known->places[place].pc == pc)
        return known->places[place].is_stub;
    const struct iovec here = {bytes, sizeof bytes}, there = {(void *)(uintptr_t)pc, sizeof bytes};
    if (!pc || process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0) != (ssize_t)sizeof bytes)
        return false;
    known->places[place].pc = pc;
    known->places[place].is_stub = memcmp(bytes, end, sizeof end) == 0;
    return known->places[place].is_stub;
}

#else

// Stubs of other processors keep a frame pointer.
bool stub_code_is_at(struct stub_code *known, unsigned pid, uint64_t pc) {
    (void)known;
    (void)pid;
    (void)pc;
    return false;
}

#endif
