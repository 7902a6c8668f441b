// SPDX-License-Identifier: Apache-2.0
// The totals of a running recording (tracesmith/live.h): added up from the batches that it delivers, and published in a file of
// its session directory. src/api/capture.c calls it. Nothing is added up before it is requested.
#ifndef COLLECT_LIVE_H
#define COLLECT_LIVE_H

#include <stdbool.h>

#include "collect/live_totals.h"
#include "collect/session_directory.h"

struct live {
    struct live_totals *totals; // NULL: not requested yet
    bool from_start;            // nothing was delivered yet
    int64_t looked;             // trace time of the last look at the request, and of the last publication
    int64_t collector_before;   // processor time of this process when the totals began
    uint64_t sequence;
    int fd; // of the file; -1: not made
    bool failed;
    tsmith_live_totals *published; // room for what is written
};

// Zero the struct first. `at_once`: adds up from the first batch on.
void live_begin(struct live *live, bool at_once);
// A batch is delivered.
void live_take(struct live *live, const tsmith_dictionary *dictionary, const tsmith_batch *batch);
// Whether it is time to publish: looks, a few times a second, whether there is a request.
bool live_is_wanted(struct live *live, const struct session_directory *directory);
void live_publish(struct live *live, const struct session_directory *directory,
                  const tsmith_dictionary *dictionary, uint32_t processes);
// Puts the totals into live->published. False: none are added up.
bool live_give(struct live *live, const tsmith_dictionary *dictionary, uint32_t processes);
// Publishes the final totals.
void live_end(struct live *live, const struct session_directory *directory,
              const tsmith_dictionary *dictionary);
void live_finish(struct live *live);

#endif
