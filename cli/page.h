// SPDX-License-Identifier: Apache-2.0
// An answer of a command as a page, in addition to what the command prints: --html OUT, --markdown OUT.
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/options/command.h"
#include "cli/present/out_file.h"
#include "tracesmith/analyze.h"

// Whether the files that these options name may be written while `input` is read. Complains where one may not.
bool page_may_replace(const struct invocation *invocation, const char *input);
// Writes the pages that are asked for; the exit code.
int page_write(const struct invocation *invocation, const tsmith_report *report, const char *title);

// The same in two steps, for an answer that is made where no file can be opened (replay --sandbox).
enum { PAGE_FORMATS = 2 };
struct page_files {
    struct out_file files[PAGE_FORMATS]; // zeroed: not asked for
};
// Opens the files; the exit code. A zeroed struct has none.
int page_open(const struct invocation *invocation, struct page_files *out);
bool page_is_open(const struct page_files *files);
// Writes them; `rows` is the maximum number of rows per table, 0: the default.
int page_put(struct page_files *files, const tsmith_report *report, const char *title, size_t rows);
// In the process that opened them: gives those that were written their names, and removes the others. The exit code.
int page_close(struct page_files *files);

#endif
