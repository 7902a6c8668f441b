// SPDX-License-Identifier: Apache-2.0
// A library that a Python interpreter loads with ctypes: its own stack as src/unwind sees it, as text.
#include <stdio.h>
#include <string.h>

#include "unwind/python.h"
#include "unwind/unwind.h"
#include "unwind/unwind_table.h"

enum { FRAMES_MAX = 1024, STRINGS_MAX = 65536 };

static char strings[STRINGS_MAX][PYTHON_TEXT_MAX + 1];
static uint32_t string_count;
static unsigned long interned;

static uint32_t intern(void *context, const char *bytes, size_t length) {
    (void)context;
    interned++;
    for (uint32_t i = 0; i < string_count; i++)
        if (strlen(strings[i]) == length && memcmp(strings[i], bytes, length) == 0)
            return i + 1;
    if (string_count == STRINGS_MAX)
        return 0;
    memcpy(strings[string_count], bytes, length);
    return ++string_count;
}

int probe_look(void);
unsigned long probe_interned(void);
int probe_stack(char *out, size_t size);
int probe_missing(void);
int probe_whole(void);

static __thread bool lacks, reaches_end;

// Whether Python functions were missing on the thread's last stack.
int probe_missing(void) {
    return lacks;
}

// Whether the native walk of the thread's last stack has reached its outermost frame.
int probe_whole(void) {
    return reaches_end;
}

int probe_look(void) {
    return python_look() && unwind_table_refresh(NULL);
}

unsigned long probe_interned(void) {
    return interned;
}

// A line per frame: "native ADDRESS", or "python FUNCTION<tab>FILE<tab>LINE". The number of frames, negative when it was cut.
__attribute__((noinline)) int probe_stack(char *out, size_t size) {
    static __thread struct unwind_thread native;
    static __thread struct python_thread python;
    uint64_t frames[FRAMES_MAX];
    struct unwind_registers registers;
    struct python_missing missing;
    if (!native.high && !unwind_thread_init(&native))
        return 0;
    unwind_capture(&registers);
    struct unwind_result result = unwind_walk(&native, &registers, frames, FRAMES_MAX);
    const struct python_native whole = {frames, result.count, FRAMES_MAX, result.end == UNWIND_OUTERMOST};
    uint32_t count = python_merge(&python, &whole, &(struct python_intern){.function = intern}, &missing);
    lacks = missing.functions;
    reaches_end = result.end == UNWIND_OUTERMOST && result.exact == result.count;
    size_t used = 0;
    int printed = 0;
    for (uint32_t i = 0; i < count && used < size; i++, printed++) {
        uint64_t word = frames[i], kind = PYTHON_WORD(word) << 56;
        if (kind == PYTHON_CODE && i + 1 < count) {
            used +=
                (size_t)snprintf(out + used, size - used, "python %s\t%s\t%u\n", strings[(uint32_t)word - 1],
                                 strings[(uint32_t)frames[i + 1] - 1], (unsigned)PYTHON_LINE(word));
            i++;
        } else {
            used += (size_t)snprintf(out + used, size - used, "native %#lx\n", (unsigned long)word);
        }
    }
    // A native walk that is full is no loss where Python's own functions end before it does.
    return missing.room || missing.frames ? -printed : printed;
}
