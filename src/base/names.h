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

#endif
