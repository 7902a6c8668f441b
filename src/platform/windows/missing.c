// SPDX-License-Identifier: Apache-2.0
// What reading code takes from the C library and Windows' has not.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *memmem(const void *bytes, size_t size, const void *wanted, size_t length) {
    const char *at = bytes;
    for (; size >= length; at++, size--)
        if (memcmp(at, wanted, length) == 0)
            return (void *)(uintptr_t)at;
    return NULL;
}

void *memrchr(const void *bytes, int byte, size_t size) {
    const unsigned char *at = bytes;
    while (size)
        if (at[--size] == (unsigned char)byte)
            return (void *)(uintptr_t)(at + size);
    return NULL;
}

char *strcasestr(const char *text, const char *wanted) {
    const size_t length = strlen(wanted);
    for (; strlen(text) >= length; text++)
        if (_strnicmp(text, wanted, length) == 0)
            return (char *)(uintptr_t)text;
    return NULL;
}

char *strndup(const char *text, size_t most) {
    const size_t length = strnlen(text, most);
    char *copy = malloc(length + 1);
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

// For terminals, which nothing here writes to.
int wcwidth(wchar_t character) {
    return character < ' ' ? -1 : 1;
}
