// SPDX-License-Identifier: Apache-2.0
// The meeting point of the libraries of one process. Invariants: meeting.h. channel.c calls it when a channel is opened.
//
// An object file of its own in every library that opens channels (CMakeLists.txt): from an archive it would be hidden.
#include "wire/meeting.h"

#include <stddef.h>
#include <string.h>

#ifndef MEETING_BUILD
#error "MEETING_BUILD names the sources: CMakeLists.txt defines it"
#endif

// The compiler has no attribute for a unique object, so the assembler makes it.
__asm__(".pushsection .bss.tracesmith_meeting,\"aw\",%nobits\n"
        ".balign 8\n"
        ".globl tracesmith_meeting\n"
        ".type tracesmith_meeting, %gnu_unique_object\n"
        ".size tracesmith_meeting, 8\n"
        "tracesmith_meeting: .zero 8\n"
        ".popsection\n");
extern _Atomic(struct meeting *) tracesmith_meeting __attribute__((visibility("default")));

static struct meeting *find_from(struct meeting *entry) {
    while (entry && strcmp(entry->build, MEETING_BUILD) != 0)
        entry = entry->next;
    return entry;
}

const char *meeting_build(void) {
    return MEETING_BUILD;
}

struct meeting *meeting_find(void) {
    return find_from(atomic_load_explicit(&tracesmith_meeting, memory_order_acquire));
}

struct meeting *meeting_publish(struct meeting *own) {
    struct meeting *first = atomic_load_explicit(&tracesmith_meeting, memory_order_acquire);
    struct meeting *theirs;
    own->build = MEETING_BUILD;
    do {
        theirs = find_from(first);
        own->next = first;
    } while (!theirs && !atomic_compare_exchange_weak_explicit(&tracesmith_meeting, &first, own,
                                                               memory_order_acq_rel, memory_order_acquire));
    return theirs ? theirs : own;
}

const char *meeting_other_build(void) {
    const struct meeting *entry = atomic_load_explicit(&tracesmith_meeting, memory_order_acquire);
    while (entry && strcmp(entry->build, MEETING_BUILD) == 0)
        entry = entry->next;
    return entry ? entry->build : NULL;
}
