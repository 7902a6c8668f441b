// SPDX-License-Identifier: Apache-2.0
// CSV of Nsight Compute (ncu --csv): metrics of launches of kernels, without times.
//
// The page "raw" has a line for each launch and a column for each metric, with a line of units below the head. The page "details"
// has a line for each metric of each launch. ncu writes numbers by the user's locale. Lines of ncu and of the profiled program
// may be before the head and between the lines.
#ifndef IMPORT_NCU_NCU_H
#define IMPORT_NCU_NCU_H

#include "base/table.h"
#include "import/rows_source.h"

enum {
    NCU_COLUMNS_MAX = 1 << 14,
    NCU_RECORD_MAX = 16 << 20 // bytes
};

// X(NAME, "column"): what identifies a launch.
#define NCU_COLUMN_TABLE(X)                                                                                  \
    X(ID, "ID")                                                                                              \
    X(PROCESS, "Process ID")                                                                                 \
    X(PROCESS_NAME, "Process Name")                                                                          \
    X(HOST, "Host Name")                                                                                     \
    X(KERNEL, "Kernel Name")                                                                                 \
    X(CONTEXT, "Context")                                                                                    \
    X(STREAM, "Stream")                                                                                      \
    X(BLOCK, "Block Size")                                                                                   \
    X(GRID, "Grid Size")                                                                                     \
    X(DEVICE, "Device")                                                                                      \
    X(CC, "CC")                                                                                              \
    X(SECTION, "Section Name")                                                                               \
    X(METRIC, "Metric Name")                                                                                 \
    X(UNIT, "Metric Unit")                                                                                   \
    X(VALUE, "Metric Value")                                                                                 \
    X(RULE, "Rule Name")                                                                                     \
    X(RULE_TEXT, "Rule Description")

enum ncu_column {
#define NCU_COLUMN_ENUM(NAME, name) NCU_##NAME,
    NCU_COLUMN_TABLE(NCU_COLUMN_ENUM)
#undef NCU_COLUMN_ENUM
        NCU_COLUMN_COUNT
};

struct ncu_cell {
    const char *at;
    size_t length;
};

// A cell is a number by the locale's separators, or a text.
struct ncu_numbers {
    char decimal;            // '.' or ','
    unsigned points, commas; // how many numbers show which of them it is
};

// Looks at a cell for what shows the decimal separator: both separators, or one that cannot group thousands.
void ncu_numbers_look(struct ncu_numbers *numbers, struct ncu_cell cell);
// False: it is no number of this locale, or one that a double does not hold.
bool ncu_numbers_read(const struct ncu_numbers *numbers, struct ncu_cell cell, double *out);

// Whether a record of the table begins here: with "ID", with a number, or with an empty cell. All else is of ncu or of the program.
bool ncu_is_record(const char *at, const char *end);
// Just past the record at `at`: a line, which has line breaks only within quotes. NULL if it does not end before `end` (with
// `last`: the end of the file) or within NCU_RECORD_MAX bytes.
const char *ncu_record_end(const char *at, const char *end, bool last);
// Splits a record in place: quotes are taken away. The number of cells, at most NCU_COLUMNS_MAX; 0 if it is no record of a table.
size_t ncu_cells(char *at, const char *end, struct ncu_cell *cells);

// Whether the input has the head of such a table in its first 64 KiB.
bool ncu_is(struct input *input);
// Takes over the input and the name.
tsmith_status ncu_open(struct input *input, char *name, tsmith_source **out, tsmith_error *error);

#endif
