// SPDX-License-Identifier: Apache-2.0
// A trace for each rank or process of one trace: what `split` and `profile` have in common.
#ifndef CLI_SPLIT_H
#define CLI_SPLIT_H

#include "cli/present/text.h"
#include "tracesmith/merge.h"

struct split {
    tsmith_split_result result;
    struct text list;  // of the files, as elements of a JSON array
    struct text first; // name of the first of them
};

// tsmith_trace_split. split_finish follows in every case.
tsmith_status split_run(struct split *split, const char *path, const char *pattern, tsmith_error *error);
void split_finish(struct split *split);

// What messages call the files: the pattern, or the name of the only one.
const char *split_name(struct split *split, const char *pattern);
// "run.%r.sbt: 8 files of 8 of 8 ranks"
void split_add_text(struct text *line, struct split *split, const char *pattern);
// "files":[...], and the ranks (no braces)
void split_add_json(struct text *line, struct split *split);
// Complains about ranks that are missing or unknown.
void split_complain(const struct split *split, const char *pattern);

#endif
