// SPDX-License-Identifier: Apache-2.0
// Counts how many intervals overlap at each moment, with a heap of their ends. The timeline calls it.
#include "depth.h"

#include <stdlib.h>

static void sift_down(int64_t *ends, size_t count) {
    for (size_t at = 0;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < count && ends[child + 1] < ends[child])
            child++;
        if (child >= count || ends[at] <= ends[child])
            return;
        int64_t end = ends[at];
        ends[at] = ends[child];
        ends[child] = end;
        at = child;
    }
}

static void sift_up(int64_t *ends, size_t at) {
    while (at && ends[at] < ends[(at - 1) / 2]) {
        int64_t end = ends[at];
        ends[at] = ends[(at - 1) / 2];
        ends[(at - 1) / 2] = end;
        at = (at - 1) / 2;
    }
}

static void note_until(struct depth *depth, int64_t until) {
    if (depth->count && until > depth->since)
        depth->note(depth->context, depth->since, until, depth->count);
    depth->since = until > depth->since ? until : depth->since;
}

static void advance(struct depth *depth, int64_t until) {
    while (depth->count && depth->ends[0] <= until) {
        note_until(depth, depth->ends[0]);
        depth->ends[0] = depth->ends[--depth->count];
        sift_down(depth->ends, depth->count);
    }
    note_until(depth, until);
}

bool depth_add(struct depth *depth, int64_t start, int64_t end) {
    if (depth->count == depth->capacity) {
        size_t grown = depth->capacity ? 2 * depth->capacity : 16;
        int64_t *ends = realloc(depth->ends, grown * sizeof *ends);
        if (!ends)
            return false;
        depth->ends = ends;
        depth->capacity = grown;
    }
    if (!depth->count && start > depth->since)
        depth->since = start;
    advance(depth, start);
    depth->ends[depth->count] = end;
    sift_up(depth->ends, depth->count++);
    return true;
}

void depth_finish(struct depth *depth) {
    while (depth->count)
        advance(depth, depth->ends[0]);
    free(depth->ends);
    depth->ends = NULL;
    depth->capacity = 0;
}
