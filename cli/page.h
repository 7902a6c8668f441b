// SPDX-License-Identifier: Apache-2.0
// An answer of a command as a page, in addition to what the command prints: --html OUT, --markdown OUT.
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include <stdbool.h>

#include "cli/options/command.h"
#include "tracesmith/analyze.h"

// Whether the files that these options name may be written while `input` is read. Complains where one may not.
bool page_may_replace(const struct invocation *invocation, const char *input);
// Writes the pages that are asked for; the exit code.
int page_write(const struct invocation *invocation, const tsmith_report *report, const char *title);

#endif
