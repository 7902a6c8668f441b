// SPDX-License-Identifier: Apache-2.0
// A bottom-up merge sort over the ascending runs that are there: events of one thread come nearly in order.
#include "event/sort.h"

#include <string.h>

enum { SHORT_RUN = 16 };

static void insertion_sort(const int64_t *times, uint32_t *order, uint32_t from, uint32_t to) {
    for (uint32_t i = from + 1; i < to; i++) {
        uint32_t row = order[i], at = i;
        for (; at > from && times[order[at - 1]] > times[row]; at--)
            order[at] = order[at - 1];
        order[at] = row;
    }
}

static void merge(const int64_t *times, const uint32_t *from, uint32_t left, uint32_t middle, uint32_t right,
                  uint32_t *into) {
    uint32_t a = left, b = middle, at = left;
    if (middle < right && times[from[middle - 1]] > times[from[middle]]) {
        while (a < middle && b < right)
            into[at++] = times[from[b]] < times[from[a]] ? from[b++] : from[a++];
    }
    memcpy(into + at, from + a, (middle - a) * sizeof *into);
    at += middle - a;
    memcpy(into + at, from + b, (right - b) * sizeof *into);
}

void sort_order_by_time(const int64_t *times, uint32_t count, uint32_t *order, uint32_t *scratch) {
    for (uint32_t row = 0; row < count; row++)
        order[row] = row;
    for (uint32_t at = 0; at < count; at += SHORT_RUN)
        insertion_sort(times, order, at, count - at < SHORT_RUN ? count : at + SHORT_RUN);
    uint32_t *from = order, *into = scratch;
    for (uint64_t width = SHORT_RUN; width < count; width *= 2) {
        for (uint64_t at = 0; at < count; at += 2 * width) {
            uint32_t middle = at + width < count ? (uint32_t)(at + width) : count;
            uint32_t right = at + 2 * width < count ? (uint32_t)(at + 2 * width) : count;
            merge(times, from, (uint32_t)at, middle, right, into);
        }
        uint32_t *swap = from;
        from = into;
        into = swap;
    }
    if (from != order)
        memcpy(order, from, count * sizeof *order);
}
