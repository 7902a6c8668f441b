// SPDX-License-Identifier: Apache-2.0
// The commands that show what is in a trace.
#include "options.h"

// ---- words

static const char *format_word(size_t index) {
    static const char *const names[] = {"text", "json", "csv", NULL};
    return names[index];
}

static const char *format_doc(size_t index) {
    static const char *const docs[] = {
        "a table for people",
        "one document, one event per line, every field",
        "RFC 4180, a column for every field",
    };
    return docs[index];
}

// ---- view

static const struct option view_options[] = {
    {.name = "format",
     .letter = 'f',
     .argument = "FORMAT",
     .word = format_word,
     .word_doc = format_doc,
     .doc = "How to write the events; text when not given"},
    EXACT_OPTION,
    {.name = "count", .letter = 'n', .argument = "COUNT", .doc = "Show only the first COUNT events"},
    TYPE_OPTION,
    FROM_OPTION,
    TO_OPTION,
    BINARY_OPTION,
    {.name = "stacks",
     .doc = "With each event the call stack that made it, innermost function first, inlined functions and "
            "Python's among them"},
    HIDE_INTERPRETER_OPTION("With --stacks"),
    {.name = "stats",
     .doc = "Show totals instead: kernels, transfers, API calls, how busy each device was, what the "
            "host waited for"},
    {.name = "timeline", .doc = "Draw a timeline instead, one row per track"},
    {.name = "json", .doc = "The same as --format json; with --stats, the totals as one JSON document"},
    END_OF_OPTIONS};
static const struct example view_examples[] = {
    {"tracesmith view trace.sbt --timeline", "Who was busy when"},
    {"tracesmith view trace.sbt --stats", "Where the time went"},
    {"tracesmith view trace.sbt -t kernel,memcpy -n 20", "The first 20 kernels and transfers"},
    {"tracesmith view trace.sbt -t api --stacks", "Who made each call"},
    {"tracesmith view trace.sbt -f json | jq '.events[] | select(.kind == \"kernel\") | .duration'",
     "Every event for another program"},
    {NULL, NULL}};

const struct command view_entry = {
    .name = "view",
    .operands = "FILE",
    .doc = "Show the events of a trace, its totals, or a timeline",
    .about =
        "Without an option, lists all events of all tracks in the order they began: time since the start of "
        "the trace, duration, track, kind, and what happened.\n\n"
        "JSON and CSV carry every field of the event by the names in docs/events.md, times in nanoseconds "
        "on "
        "the trace clock. The JSON is one document with one event per line. What a trace has beyond those "
        "fields may have any name: it is in the object args of the event, and in CSV in columns args.NAME; "
        "of "
        "several such fields of one name an event shows the first. Names that are not UTF-8 have "
        "U+FFFD in place of the bytes that are not.\n\n"
        "With --stacks, events that a call stack was recorded for (`tracesmith profile --stacks`) show it: "
        "in text a "
        "line per function, in JSON the array frames, innermost first, and in CSV the column call_path, the "
        "names "
        "from the outermost to the innermost with semicolons between them. Names are looked up where the "
        "trace "
        "has none, in files that have the build id that was loaded; what has no name is the module and the "
        "offset in it.\n\n"
        "What the trace has lost, and damage of the file, is said on stderr.",
    .operands_least = 1,
    .operands_most = 1,
    .operand_kind = VALUE_TRACE,
    .options = view_options,
    .examples = view_examples,
    .run = command_view,
};

// ---- info

static const struct option info_options[] = {
    BINARY_OPTION,
    {.name = "quick", .doc = "Do not verify the checksums of the whole file (a second per few GB)"},
    JSON_OPTION,
    END_OF_OPTIONS};
static const struct example info_examples[] = {
    {"tracesmith info trace.sbt", "What is in it, and what is missing"},
    {"tracesmith info --json trace.sbt | jq .lost", "The same for a script"},
    {NULL, NULL}};

const struct command info_entry = {
    .name = "info",
    .operands = "FILE",
    .doc = "Say what a trace holds and what is missing from it",
    .about =
        "Answers without decoding events: version, duration, events by kind, processes, devices, tracks, "
        "clocks "
        "and how well they are known, what was lost and why, bytes per event, and whether the file ended "
        "properly. The checksums of the whole file are verified, so that 'complete' can be believed.",
    .operands_least = 1,
    .operands_most = 1,
    .operand_kind = VALUE_TRACE,
    .options = info_options,
    .examples = info_examples,
    .run = command_info,
};
