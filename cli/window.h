// SPDX-License-Identifier: Apache-2.0
// The part of a trace that --from, --to and --type choose.
#ifndef CLI_WINDOW_H
#define CLI_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options/command.h"
#include "tracesmith/sbt.h"

struct window {
    bool has_from, has_to;
    int64_t from, to; // as given: ns since the start of the trace
    uint64_t kinds;   // TSMITH_KIND_BIT of each; 0: all
};

// Reads the options the command has of these; false after a complaint.
bool window_read(const struct invocation *invocation, struct window *out);
static inline bool window_has_time(const struct window *window) {
    return window->has_from || window->has_to;
}

// On the trace clock, once the start of the trace is known: events that begin before *to and have not ended before
// *from; INT64_MIN and INT64_MAX where there is no bound.
void window_place(const struct window *window, int64_t first_start, int64_t *from, int64_t *to);

// A source of what is in the window of an open trace, event by event.
tsmith_status window_scan(const struct window *window, tsmith_sbt *file, tsmith_source **out,
                          tsmith_error *error);
// The same of any source, by kind only; takes the source.
tsmith_status window_kinds(const struct window *window, tsmith_source *taken, tsmith_source **out,
                           tsmith_error *error);

#endif
