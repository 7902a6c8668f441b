// SPDX-License-Identifier: Apache-2.0
// CLOCK_REALTIME and CLOCK_BOOTTIME are slewed alike, and both go on while the machine sleeps. So their difference changes only if
// CLOCK_REALTIME is set (or at a leap second), and by how much is known as exactly as the clocks can be read.
#include "collect/wall_clock.h"

#include <stdio.h>
#include <sys/timex.h>

#include "base/clock.h"

enum { ATTEMPTS = 16, ROUNDING = 2, NOTICES_MOST = 8 };
static const int64_t NS_PER_US = 1000;

static void describe_utc(struct wall_clock *wall, tsmith_dictionary *dictionary,
                         const tsmith_clock_pair *realtime) {
    struct timex kernel = {0};
    const int state = adjtimex(&kernel);
    if (state < 0 || state == TIME_ERROR || state == TIME_OOP || (kernel.status & STA_UNSYNC) ||
        kernel.maxerror < 0)
        return; // not synchronized, or in a leap second
    if (!wall->utc_clock)
        wall->utc_clock = tsmith_dictionary_add_clock(
            dictionary, &(tsmith_clock){.name = tsmith_dictionary_intern_cstr(dictionary, TSMITH_CLOCK_UTC)});
    tsmith_clock_pair pair = *realtime;
    pair.clock = wall->utc_clock;
    pair.error += (int64_t)kernel.maxerror * NS_PER_US;
    (void)tsmith_dictionary_add_clock_pair(dictionary, &pair);
}

static void compare(int64_t *offset, int64_t *error) {
    int64_t best = INT64_MAX;
    for (int i = 0; i < ATTEMPTS; i++) {
        const int64_t before = clock_now(CLOCK_BOOTTIME), there = clock_now(CLOCK_REALTIME),
                      after = clock_now(CLOCK_BOOTTIME);
        if (after < before || after - before >= best)
            continue;
        best = after - before;
        *offset = there - (before + best / 2);
    }
    *error = (best + 1) / 2 + ROUNDING;
}

static void note_step(const struct wall_clock *wall, tsmith_dictionary *dictionary, int64_t by, int64_t from,
                      int64_t to) {
    char key[48], text[256];
    if (wall->steps > NOTICES_MOST)
        return;
    snprintf(key, sizeof key, "notice.wall-clock.%u", wall->steps);
    if (wall->steps == NOTICES_MOST)
        snprintf(text, sizeof text, "CLOCK_REALTIME was set %u times or more; later times are not listed",
                 wall->steps);
    else
        snprintf(text, sizeof text,
                 "CLOCK_REALTIME was set by %+lld ns between %lld and %lld ns of the trace clock; times of "
                 "events are not affected",
                 (long long)by, (long long)from, (long long)to);
    tsmith_dictionary_set_attribute(dictionary, key, text);
}

void wall_clock_describe(struct wall_clock *wall, tsmith_dictionary *dictionary,
                         const tsmith_clock_pair *realtime) {
    int64_t offset = 0, error, by;
    describe_utc(wall, dictionary, realtime);
    compare(&offset, &error);
    const int64_t now = clock_trace_now();
    if (wall->compared && !__builtin_sub_overflow(offset, wall->offset, &by) &&
        (by > error + wall->error || by < -(error + wall->error))) {
        wall->steps++;
        note_step(wall, dictionary, by, wall->at, now);
    }
    wall->compared = true;
    wall->offset = offset;
    wall->error = error;
    wall->at = now;
}
