// SPDX-License-Identifier: Apache-2.0
// Merge sort, as glibc's. The header names what calls it.
#include "platform/other/stable_sort.h"

#include <string.h>

// Merges both halves of `items` by way of `room`.
static void sort_part(char *items, char *room, size_t count, size_t size,
                      int (*compare)(const void *left, const void *right, void *context), void *context) {
    if (count < 2)
        return;
    const size_t half = count / 2;
    sort_part(items, room, half, size, compare, context);
    sort_part(items + half * size, room, count - half, size, compare, context);
    const char *left = items, *const middle = items + half * size, *right = middle;
    const char *const end = items + count * size;
    char *to = room;
    while (left < middle && right < end) {
        const char **from = compare(left, right, context) <= 0 ? &left : &right;
        memcpy(to, *from, size);
        *from += size;
        to += size;
    }
    memcpy(to, left, (size_t)(middle - left)); // what is left on the right is in its place
    memcpy(items, room, (size_t)(to - room) + (size_t)(middle - left));
}

void stable_sort(void *items, size_t count, size_t size,
                 int (*compare)(const void *left, const void *right, void *context), void *context) {
    char *room = malloc(count * size + 1);
    if (!room)
        abort(); // callers of qsort have no way to fail
    sort_part(items, room, count, size, compare, context);
    free(room);
}

struct plain {
    int (*compare)(const void *left, const void *right);
};

static int compare_plain(const void *left, const void *right, void *context) {
    return ((const struct plain *)context)->compare(left, right);
}

void stable_qsort(void *items, size_t count, size_t size,
                  int (*compare)(const void *left, const void *right)) {
    struct plain plain = {compare};
    stable_sort(items, count, size, compare_plain, &plain);
}
