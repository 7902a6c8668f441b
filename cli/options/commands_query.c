// SPDX-License-Identifier: Apache-2.0
// Options of `query`. commands.c has the command in its table.
#include "options.h"

static const struct option query_options[] = {
    JSON_OPTION,
    {.name = "partial",
     .doc =
         "Write what the statement keeps of the traces to --output. The partials of many hosts are joined by "
         "'tracesmith query PARTIAL...' without SQL (docs/partials.md)"},
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .kind = VALUE_FILE,
     .doc = "With --partial: the file to write"},
    {.name = "csv", .doc = "Print CSV (RFC 4180)"},
    EXACT_OPTION,
    BINARY_OPTION,
    END_OF_OPTIONS};
static const struct example query_examples[] = {
    {"tracesmith query trace.sbt \"SELECT name, count(*), sum(duration) FROM kernel GROUP BY name\"",
     "Time of each kernel"},
    {"tracesmith query trace.sbt .tables", "List the tables"},
    {"tracesmith query trace.sbt \".schema kernel\"", "List the columns of a table"},
    {"tracesmith query trace.json.gz - < questions.sql", "Run several statements on a trace of any format"},
    {"tracesmith query --partial -o 7.part rank7.sbt \"SELECT name, sum(duration) FROM kernel GROUP BY "
     "name\"",
     "Keep what the answer about many traces needs of one"},
    {"tracesmith query *.part", "Answer from the partials"},
    {NULL, NULL}};

const struct command query_entry = {
    .name = "query",
    .operands = "FILE... [SQL]",
    .doc = "Run SQL on a trace",
    .about = "Every kind of event is a table (kernel, memcpy, api...), and 'events' has all of them. Further "
             "tables are tracks, processes, devices, strings, attributes, stacks, frames, modules, "
             "aggregates, states and lives. docs/query.md has all tables and columns, and example "
             "questions.\n\nThe SQL is SQLite's. "
             "Statements are separated by semicolons; with - they are read from standard input. .tables "
             "lists the tables, .schema the columns of all tables or of one. Times and durations are "
             "integers in nanoseconds; unknown values are NULL. The trace cannot be changed; temporary "
             "tables and views last until the command ends. Ctrl-C interrupts the running statement; the "
             "exit code is then 1.\n\nThe text output cuts values of more than 60 characters, unless there "
             "is only one column; --json and --csv are complete. With --json, \"results\" has one object per "
             "statement with its columns and rows. Two columns of one name become NAME and NAME_2.",
    .operands_least = 1,
    .operands_most = (size_t)-1,
    .operand_kind = VALUE_TRACE,
    .options = query_options,
    .examples = query_examples,
    .run = command_query,
};
