// SPDX-License-Identifier: Apache-2.0
// printf() and format() of SQL, with a limit to what a width or a precision asks for: SQLite writes that many
// characters one by one, without a limit, and cannot be interrupted meanwhile.
#ifndef QUERY_PRINTF_H
#define QUERY_PRINTF_H

#include <sqlite3.h>
#include <stdbool.h>

struct printf_plain {
    sqlite3 *db;             // has SQLite's own function
    sqlite3_stmt *statement; // that calls it
    int arguments;
};

// Gives db the functions. False when memory is exhausted. `plain` is zeroed, and must outlive db.
bool printf_add(struct printf_plain *plain, sqlite3 *db);
void printf_finish(struct printf_plain *plain);

#endif
