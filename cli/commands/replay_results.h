// SPDX-License-Identifier: Apache-2.0
// Of `replay`: results as files (--save-results).
#ifndef CLI_REPLAY_RESULTS_H
#define CLI_REPLAY_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/present/text.h"
#include "replay_pictures.h"
#include "tracesmith/replay.h"

struct results_writer {
    const char *directory;
    bool all;                 // exact ones too
    bool failed;              // a complaint was made
    uint64_t count;           // results that were written
    struct pictures pictures; // which results are images
};

// Makes the directory, or takes one that is empty; false after a complaint.
bool results_begin(struct results_writer *writer, const char *directory, bool all);
void results_finish(struct results_writer *writer);
tsmith_replay_take results_take; // its context is the writer
void results_add_summary(struct text *text, const struct results_writer *writer);

#endif
