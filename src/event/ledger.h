// SPDX-License-Identifier: Apache-2.0
// The loss ledger of an importer: what it could not read, and what the file lacks. Noted while reading, written as events of kind
// LOSS at the end.
#ifndef EVENT_LEDGER_H
#define EVENT_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/gather.h"
#include "tracesmith/dictionary.h"

struct ledger_entry;

struct ledger {
    struct ledger_entry *entries;
    size_t count, capacity;
    bool failed; // out of memory
};

// A zeroed struct is a valid, empty one. `lost` events are missing (0: unknown how many, or none). An entry that
// `covers` the trace means that events may be missing anywhere in it; another entry names missing knowledge, and
// covers no time.
void ledger_note(struct ledger *ledger, tsmith_dictionary *dictionary, tsmith_reason reason, uint64_t lost,
                 bool covers, const char *format, ...) TSMITH_PRINTF(6, 7);
// Everything that was noted becomes rows of a track of its own, and the rows ready. False when memory is exhausted.
bool ledger_write(struct ledger *ledger, tsmith_dictionary *dictionary, struct gather *gather);
void ledger_finish(struct ledger *ledger);

#endif
