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
     .doc = "Output format; default text"},
    EXACT_OPTION,
    {.name = "count", .letter = 'n', .argument = "COUNT", .doc = "Print only the first COUNT events"},
    TYPE_OPTION,
    FROM_OPTION,
    TO_OPTION,
    {.name = "frame",
     .argument = "N",
     .doc = "Only the Nth frame: the commands that its calls launched, and what the process did in it "
            "(docs/frames.md)"},
    {.name = "frames",
     .argument = "FORM",
     .doc =
         "With --frame: what a frame is: present, wait or range:NAME; default: what the trace states, else "
         "present"},
    BINARY_OPTION,
    {.name = "stacks",
     .doc =
         "Print the call stack of each event, innermost function first, with inlined and Python functions"},
    HIDE_INTERPRETER_OPTION("With --stacks"),
    {.name = "stats",
     .doc = "Print totals instead: kernels, transfers, API calls, device utilization, waits of the host"},
    {.name = "timeline", .doc = "Draw a timeline instead, with one row per track"},
    {.name = "json", .doc = "The same as --format json; with --stats, the totals as one JSON document"},
    END_OF_OPTIONS};
static const struct example view_examples[] = {
    {"tracesmith view trace.sbt --timeline", "Which device and thread was busy when"},
    {"tracesmith view trace.sbt --stats", "Where the time went"},
    {"tracesmith view trace.sbt -t kernel,memcpy -n 20", "The first 20 kernels and transfers"},
    {"tracesmith view trace.sbt -t api --stacks", "Call stack of each call"},
    {"tracesmith view trace.sbt --frame 12 --frames wait",
     "What was done between the 11th and the 12th wait"},
    {"tracesmith view trace.sbt -f json | jq '.events[] | select(.kind == \"kernel\") | .duration'",
     "All events for another program"},
    {NULL, NULL}};

const struct command view_entry = {
    .name = "view",
    .operands = "FILE",
    .doc = "Show the events of a trace, its totals, or a timeline",
    .about =
        "Without an option, lists all events of all tracks in the order of their start: time since the start "
        "of the trace, duration, track, kind, and a description.\n\nJSON and CSV have every field of the "
        "event under the names in docs/events.md, with times in nanoseconds on the trace clock. The JSON is "
        "one document with one event per line. Additional fields of a trace are in the object args of the "
        "event, and in CSV in columns args.NAME. If an event has several such fields with the same name, the "
        "first is shown. Bytes that are not UTF-8 are replaced by U+FFFD.\n\nWith --stacks, events with a "
        "recorded call stack (`tracesmith profile --stacks`) show it: in text as one line per function, in "
        "JSON as the array frames, innermost first, and in CSV as the column call_path, with the names from "
        "the outermost to the innermost separated by semicolons. Names that are not in the trace are looked "
        "up in files with the recorded build id. A frame without a name is shown as module and "
        "offset.\n\nLosses of the trace and damage of the file are reported on stderr.",
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
    {.name = "quick",
     .doc = "Do not verify the checksums of the whole file (which takes about one second for a few GiB)"},
    JSON_OPTION,
    END_OF_OPTIONS};
static const struct example info_examples[] = {
    {"tracesmith info trace.sbt", "Content and losses of a trace"},
    {"tracesmith info --json trace.sbt | jq .lost", "The same for a script"},
    {NULL, NULL}};

const struct command info_entry = {
    .name = "info",
    .operands = "FILE",
    .doc = "Summarize the content and the losses of a trace",
    .about = "Prints, without decoding events: version, duration, events by kind, processes, devices, "
             "tracks, clocks and their accuracy, losses and their reasons, bytes per event, and whether the "
             "file is complete. The checksums of the whole file are verified.",
    .operands_least = 1,
    .operands_most = 1,
    .operand_kind = VALUE_TRACE,
    .options = info_options,
    .examples = info_examples,
    .run = command_info,
};
