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

// `count` rows, in the order in which they stand where times are equal.
static void sort_rows(const int64_t *times, uint32_t count, uint32_t *order, uint32_t *scratch) {
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

// Rows that are earlier than one before them, in their order; UINT32_MAX where they are more than `limit`.
static uint32_t find_late(const int64_t *times, uint32_t count, uint32_t *late, uint32_t limit) {
    uint32_t found = 0;
    int64_t latest = INT64_MIN;
    for (uint32_t row = 0; row < count; row++) {
        if (times[row] >= latest) {
            latest = times[row];
            continue;
        }
        if (found == limit)
            return UINT32_MAX;
        late[found++] = row;
    }
    return found;
}

// The others ascend; each late row, by time, goes behind those of them that are not later than it is. Of equal time, none
// of them stood behind it.
static void insert_late(const int64_t *times, uint32_t count, uint32_t *order, const uint32_t *late,
                        const uint32_t *by_time, uint32_t late_count) {
    uint32_t at = 0, row = 0, skipped = 0;
    for (uint32_t i = 0; i <= late_count; i++) {
        for (; row < count; row++) {
            if (skipped < late_count && late[skipped] == row) {
                skipped++;
                continue;
            }
            if (i < late_count && times[row] > times[by_time[i]])
                break;
            order[at++] = row;
        }
        if (i < late_count)
            order[at++] = by_time[i];
    }
}

bool sort_is_done(const int64_t *times, uint32_t count) {
    for (uint32_t row = 1; row < count; row++)
        if (times[row] < times[row - 1])
            return false;
    return true;
}

void sort_order_by_time(const int64_t *times, uint32_t count, uint32_t *order, uint32_t *scratch) {
    const uint32_t limit = count / 8;
    uint32_t *late = scratch, *by_time = scratch + limit;
    const uint32_t late_count = find_late(times, count, late, limit);
    if (late_count != UINT32_MAX) {
        memcpy(by_time, late, late_count * sizeof *by_time);
        sort_rows(times, late_count, by_time, scratch + 2 * (size_t)limit);
        insert_late(times, count, order, late, by_time, late_count);
        return;
    }
    for (uint32_t row = 0; row < count; row++)
        order[row] = row;
    sort_rows(times, count, order, scratch);
}
