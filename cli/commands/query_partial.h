// SPDX-License-Identifier: Apache-2.0
// Partials of a query, of one statement over the traces of many hosts.
#ifndef CLI_QUERY_PARTIAL_H
#define CLI_QUERY_PARTIAL_H

#include "cli/options/command.h"
#include "cli/present/rows.h"

// Whether it is a file, and one that `query --partial` wrote.
bool query_is_partial(const char *path);
// `query --partial`, or `query` on partials; the exit code.
int query_partials(const struct invocation *invocation, struct rows *rows);

#endif
