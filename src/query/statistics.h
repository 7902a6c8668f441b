// SPDX-License-Identifier: Apache-2.0
// Aggregates that SQLite lacks: median(x), percentile(x, p) and stddev(x).
#ifndef QUERY_STATISTICS_H
#define QUERY_STATISTICS_H

#include <sqlite3.h>
#include <stdbool.h>

bool statistics_add(sqlite3 *db);

#endif
