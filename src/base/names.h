// SPDX-License-Identifier: Apache-2.0
// The names and descriptions of the rows of a table. The tables are macros that are given one with the
// columns (NAME, number, name, ...); the column `doc`, if present, is the last.
#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#define NAMES_NAME(NAME, number, name, ...)                                                                  \
    case number:                                                                                             \
        return name;
#define NAMES_DOC(NAME, number, name, doc)                                                                   \
    case number:                                                                                             \
        return doc;

// Defines the function that returns COLUMN (NAMES_NAME, NAMES_DOC) of the row with this number, `otherwise` when there is none.
#define NAMES_DEFINE(function, type, TABLE, COLUMN, otherwise)                                               \
    const char *function(type value) {                                                                       \
        switch ((int)value) { TABLE(COLUMN) }                                                                \
        return otherwise;                                                                                    \
    }

// The limit of a table, one past its largest number, is what the enumeration counts after the last row: that is wrong where
// the last row does not have the largest number. The size of a union of arrays is the largest number + 1.
#define NAMES_ROOM(NAME, number, ...) char NAME[(number) + 1];
#define NAMES_CHECK_LIMIT(TABLE, limit)                                                                      \
    _Static_assert(sizeof(union {TABLE(NAMES_ROOM)}) == (limit), #limit " is one past the largest number")

#endif
