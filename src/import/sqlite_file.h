// SPDX-License-Identifier: Apache-2.0
#ifndef IMPORT_SQLITE_FILE_H
#define IMPORT_SQLITE_FILE_H

#include <sqlite3.h>
#include <stdint.h>

// The size that an SQLite file states in its header.
uint64_t sqlite_file_stated(int fd);
// SQLite's view of a descriptor; an SQLite result code. *out is to be closed in any case.
int sqlite_file_open(int fd, sqlite3 **out);

#endif
