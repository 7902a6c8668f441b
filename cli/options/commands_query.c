// SPDX-License-Identifier: Apache-2.0
#include "options.h"

static const struct option query_options[] = {JSON_OPTION,
                                              {.name = "csv", .doc = "Answer with CSV (RFC 4180)"},
                                              EXACT_OPTION,
                                              BINARY_OPTION,
                                              END_OF_OPTIONS};
static const struct example query_examples[] = {
    {"tracesmith query trace.sbt \"SELECT name, count(*), sum(duration) FROM kernel GROUP BY name\"",
     "The time of each kernel"},
    {"tracesmith query trace.sbt .tables", "What there is to ask"},
    {"tracesmith query trace.sbt \".schema kernel\"", "The columns of a table"},
    {"tracesmith query trace.json.gz - < questions.sql", "Many questions, of any format of trace"},
    {NULL, NULL}};

const struct command query_entry = {
    .name = "query",
    .operands = "FILE SQL",
    .doc = "Answer a question in SQL",
    .about =
        "Every kind of event is a table (kernel, memcpy, api...), 'events' is all of them; tracks, "
        "processes, "
        "devices, strings, attributes, aggregates, states and lives say the rest. docs/query.md has all "
        "tables "
        "and columns, and useful questions.\n\n"
        "The SQL is SQLite's. Several statements are separated by semicolons; with - they are read from "
        "standard input. .tables lists the tables, .schema the columns of all or of one. Times and durations "
        "are integers in nanoseconds, what is not known is NULL. Nothing can be changed; temporary tables "
        "and "
        "views last until the command ends. Ctrl-C ends the statement that runs; the exit "
        "code is then 1.\n\n"
        "The table for people cuts texts of more than 60 characters, unless there is one column only; --json "
        "and "
        "--csv have them whole. With --json, \"results\" has one object per statement: its columns and its "
        "rows. Two columns of one "
        "name become NAME and NAME_2.",
    .operands_least = 2,
    .operands_most = 2,
    .operand_kind = VALUE_TRACE,
    .options = query_options,
    .examples = query_examples,
    .run = command_query,
};
