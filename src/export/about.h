// SPDX-License-Identifier: Apache-2.0
// What an export as a table says about its trace: keys and values for the metadata of the file.
#ifndef EXPORT_ABOUT_H
#define EXPORT_ABOUT_H

#include "export/event_rows.h"

struct about_pair {
    char *key, *value; // UTF-8, freed by about_finish
};

// Zero-initialized, it is empty.
struct about {
    struct about_pair *pairs;
    size_t count, capacity;
    bool failed; // out of memory
};

// The version of TraceSmith, the clock and unit of times, and the attributes of the trace as "trace.KEY". With `rows` also what
// is known after the last event: the number of events and the losses, by reason.
void about_make(struct about *about, const tsmith_dictionary *dictionary, const struct event_rows *rows);
void about_finish(struct about *about);

#endif
