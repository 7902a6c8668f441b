// SPDX-License-Identifier: Apache-2.0
// What `analyze` writes of the reports of one trace.
#ifndef CLI_ANALYZE_PARTS_H
#define CLI_ANALYZE_PARTS_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/opened_trace.h"
#include "tracesmith/analyze.h"

// What to fix first, with its evidence, and what each analysis found, in a sentence each.
void analyze_add_overview(struct text *text, const tsmith_analysis *analysis);
// "FILE: 1.295 s, 117,635 events, chrome-json"
void analyze_add_head(struct text *text, const struct trace *trace);

// Whether it is a file, and one that `analyze --partial` wrote.
bool analyze_is_partial(const char *path);
// `analyze --partial`: writes what a comparison of ranks keeps of the traces and partials to `out`; the exit code.
int analyze_partial(const char *const *paths, size_t count, FILE *out);
// The answer to `analyze --ranks`, handed to `put`, which gives an exit code; the exit code.
int analyze_ranks(const char *const *paths, size_t count,
                  int (*put)(const void *context, const tsmith_report *report), const void *context);

#endif
