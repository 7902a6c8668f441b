// SPDX-License-Identifier: Apache-2.0
// A library with the meeting point that TraceSmith had before its meeting points had notes: a unique symbol, the head of a list of
// entries. tests/wire/test_meeting.c loads it: nothing may be written there.
#include <stdbool.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

__asm__(".pushsection .data.tracesmith_meeting,\"aw\"\n"
        ".balign 8\n"
        ".globl tracesmith_meeting\n"
        ".type tracesmith_meeting, %gnu_unique_object\n"
        ".size tracesmith_meeting, 8\n"
        "tracesmith_meeting: .zero 8\n"
        ".popsection\n");

struct entry {
    struct entry *next;
    const char *build;
};

extern struct entry *tracesmith_meeting EXPORT;
static struct entry own = {NULL, "older"};

__attribute__((constructor)) static void meet(void) {
    tracesmith_meeting = &own;
}

EXPORT extern bool older_is_unchanged(void);
EXPORT bool older_is_unchanged(void) {
    return tracesmith_meeting == &own && own.next == NULL;
}
