// SPDX-License-Identifier: Apache-2.0
// The texts of the counts that importers leave as attributes. formats.c gives them to readers of traces.
#include "import/problems.h"

#include <stddef.h>
#include <string.h>

const char *problems_doc(const char *attribute) {
    static const struct {
        const char *attribute, *text;
    } rows[] = {
#define ROW(NAME, attribute, lost, text) {attribute, text},
        PROBLEM_TABLE(ROW)
#undef ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].attribute, attribute) == 0)
            return rows[i].text;
    return NULL;
}
