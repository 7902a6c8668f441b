// SPDX-License-Identifier: Apache-2.0
// Draws a progress bar on stderr. Every command that reads or writes a whole trace calls it.
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR_CELLS = 30 };
static const int64_t FIRST_AFTER = 300000000; // ns: quicker work draws nothing
static const int64_t EVERY = 100000000;

static int64_t monotonic_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void progress_show(struct progress *progress, double share) {
    if (progress->disabled)
        return;
    int64_t time = monotonic_ns();
    if (!progress->started) {
        progress->started = time;
        progress->disabled = !isatty(STDERR_FILENO);
    }
    if (time - progress->started < FIRST_AFTER || time - progress->last < EVERY)
        return;
    char bar[BAR_CELLS + 1];
    share = share > 1 ? 1 : share;
    size_t filled = share < 0 ? 0 : (size_t)(share * BAR_CELLS);
    memset(bar, '.', BAR_CELLS);
    memset(bar, '#', filled);
    bar[BAR_CELLS] = '\0';
    if (share < 0)
        fprintf(stderr, "\r%s ...", progress->what);
    else
        fprintf(stderr, "\r%s [%s] %3.0f%%", progress->what, bar, share * 100);
    fflush(stderr);
    progress->last = time;
    progress->drawn = true;
}

void progress_clear(struct progress *progress) {
    if (!progress->drawn)
        return;
    fprintf(stderr, "\r\x1b[K");
    fflush(stderr);
    progress->drawn = false;
}
