// SPDX-License-Identifier: Apache-2.0
// A library whose notes look like those of meeting points (src/wire/meeting.h) and lead nowhere, and which exports a function by
// the name of the former point. tests/wire/test_meeting.c loads it before agents: nothing may be
// written there.
#include "wire/meeting.h"

#include <stdbool.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))
#define POINT __attribute__((used, visibility("hidden")))

// A note of TraceSmith with an offset. BYTES and TYPE as they should be are 8 and 1.
#define NOTE(bytes, type, offset)                                                                            \
    __asm__(".pushsection .note.garbage,\"a\",%note\n.balign 4\n.long 11, " bytes ", " type                  \
            "\n.asciz \"" MEETING_NOTE_OWNER "\"\n.balign 4\n" offset "\n.popsection\n")

extern const struct meeting_point garbage_read_only;
extern struct meeting_point garbage_half, garbage_state, garbage_list, garbage_protected;
POINT const struct meeting_point garbage_read_only = {.magic = {MEETING_MAGIC_0, MEETING_MAGIC_1}};
POINT struct meeting_point garbage_half = {.magic = {MEETING_MAGIC_0, 1}};
POINT struct meeting_point garbage_state = {.magic = {MEETING_MAGIC_0, MEETING_MAGIC_1}, .agreed = 2};
POINT struct meeting_point garbage_list = {.magic = {MEETING_MAGIC_0, MEETING_MAGIC_1},
                                           .newest = (struct meeting *)8};
// Read-only once the library is loaded.
POINT __attribute__((section(".data.rel.ro"))) struct meeting_point garbage_protected = {
    .magic = {MEETING_MAGIC_0, MEETING_MAGIC_1}};

NOTE("8", "1", ".quad garbage_read_only - .");
NOTE("8", "1", ".quad garbage_protected - .");
NOTE("8", "1", ".quad garbage_half - .");
NOTE("8", "1", ".quad garbage_state - .");
NOTE("8", "1", ".quad garbage_list - .");
NOTE("8", "1", ".quad garbage_list + 1 - .");
NOTE("8", "1", ".quad 0x7fffffffffffffff");
NOTE("8", "1", ".quad -0x7fffffffffffffff");
NOTE("8", "1", ".quad 0");
NOTE("8", "2", ".quad 0");
NOTE("0xffffffff", "1", ".quad 0");
NOTE("8", "1", ""); // without the offset, at the end of the segment

EXPORT extern void tracesmith_meeting(void);
EXPORT void tracesmith_meeting(void) {}

EXPORT extern bool garbage_is_unchanged(void);
EXPORT bool garbage_is_unchanged(void) {
    return garbage_half.agreed == 0 && !garbage_half.newest && garbage_state.agreed == 2 &&
           !garbage_state.newest && garbage_list.agreed == 0 && garbage_list.newest == (struct meeting *)8;
}
