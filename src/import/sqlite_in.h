// SPDX-License-Identifier: Apache-2.0
// An SQLite database of unknown origin, opened so that it can be read and nothing else: from a descriptor, without views,
// triggers and most functions, and with a bound on the work that a damaged tree can cause.
#ifndef IMPORT_SQLITE_IN_H
#define IMPORT_SQLITE_IN_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "import/open.h"
#include "import/seekable.h"
#include "tracesmith/stream.h"

struct sqlite_in {
    sqlite3 *db;
    struct seekable file;
    uint64_t work; // that SQLite has done
    char **tables;
    size_t table_count, table_capacity;
};

// Takes over the file. On failure everything is released. Must not move afterwards (sqlite_in_watch).
tsmith_status sqlite_in_open(struct sqlite_in *in, struct seekable *file, const char *name,
                             tsmith_error *error);
// Bounds the work that is done from now on: when `in` stands where it will stay.
void sqlite_in_watch(struct sqlite_in *in);
void sqlite_in_close(struct sqlite_in *in);
bool sqlite_in_has(const struct sqlite_in *in, const char *table);
// Whether the file has a view of that name, which is not read.
bool sqlite_in_has_view(const struct sqlite_in *in, const char *name);
// Why the last call failed, for a message. SQLite reports "out of memory" also for damaged sizes: this does not.
const char *sqlite_in_why(const struct sqlite_in *in);
bool sqlite_in_has_column(const struct sqlite_in *in, const char *table, const char *column);

// Whether a file begins as an SQLite database does.
bool sqlite_in_is(const void *bytes, size_t length);
// Opens the database as the format of its tables: an export of nsys, a trace of rocprofv3 (rocpd). Takes over the file.
tsmith_status sqlite_in_source(struct seekable *file, const char *name, tsmith_source **out,
                               tsmith_error *error);

#endif
