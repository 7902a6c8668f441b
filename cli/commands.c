// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include <string.h>

#include "tracesmith/capture.h"
#include "tracesmith/schema.h"

// ---- words of options

static const char *overflow_word(size_t index) {
    static const char *const names[] = {
#define NAME(NAME_, number, name, doc) name,
        TSMITH_OVERFLOW_TABLE(NAME)
#undef NAME
            NULL};
    return names[index];
}

static const char *overflow_doc(size_t index) {
    static const char *const docs[] = {
#define DOC(NAME_, number, name, doc) doc,
        TSMITH_OVERFLOW_TABLE(DOC)
#undef DOC
    };
    return docs[index];
}

static const char *api_word(size_t index) {
    static const char *const names[] = {"opencl", NULL};
    return names[index];
}

static const char *api_doc(size_t index) {
    static const char *const docs[] = {"OpenCL, through a layer of its loader"};
    return docs[index];
}

static const char *kind_word(size_t index) {
    static const char *const names[] = {
#define NAME(NAME_, number, name, doc) name,
        TSMITH_KIND_TABLE(NAME)
#undef NAME
            NULL};
    return names[index];
}

static const char *kind_doc(size_t index) {
    static const char *const docs[] = {
#define DOC(NAME_, number, name, doc) doc,
        TSMITH_KIND_TABLE(DOC)
#undef DOC
    };
    return docs[index];
}

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

static const char *wait_word(size_t index) {
    static const char *const names[] = {"all", "program", NULL};
    return names[index];
}

static const char *wait_doc(size_t index) {
    static const char *const docs[] = {
        "until everything it started has ended too; Ctrl-C ends the recording before that",
        "until it has ended itself",
    };
    return docs[index];
}

static const char *help_word(size_t index) {
    static const char *const names[] = {"text", "man", "markdown", "events", "bash", "zsh", "fish", NULL};
    return names[index];
}

static const char *help_word_doc(size_t index) {
    static const char *const docs[] = {
        "what --help prints",  "a man page: of the command named, or of tracesmith",
        "docs/commands.md",    "docs/events.md: every kind of event and every field",
        "completion for bash", "completion for zsh",
        "completion for fish",
    };
    return docs[index];
}

// ---- options

#define JSON_OPTION                                                                                          \
    { .name = "json", .doc = "Answer with one JSON document" }
#define END_OF_OPTIONS                                                                                       \
    { .name = NULL }

const struct option global_options[] = {
    {.name = "help", .letter = 'h', .doc = "Say what the command does and which options it has"},
    {.name = "no-color",
     .doc = "Use no colors; they are only used on a terminal, and not when NO_COLOR is set"},
    {.name = "version", .doc = "Say which version this is"},
    END_OF_OPTIONS};

static const struct option profile_options[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .kind = VALUE_TRACE,
     .doc = "Where the trace is written; trace.sbt when not given"},
    {.name = "buffer",
     .letter = 'b',
     .argument = "SIZE",
     .doc = "Size of the ring each thread records into (512K, 4M, 1G), at most; it takes what it needs, up "
            "to 64M when not given"},
    {.name = "overflow",
     .argument = "POLICY",
     .word = overflow_word,
     .word_doc = overflow_doc,
     .doc = "What to do when a ring is full; drop-newest when not given"},
    {.name = "api",
     .argument = "LIST",
     .word = api_word,
     .word_doc = api_doc,
     .list = true,
     .doc = "Which GPU APIs to record, separated by commas; all there are when not given"},
    {.name = "wait",
     .argument = "WHOM",
     .word = wait_word,
     .word_doc = wait_doc,
     .doc = "How long to record; all when not given"},
    {.name = "json", .doc = "Make the summary on stderr one line of JSON"},
    END_OF_OPTIONS};

static const struct option view_options[] = {
    {.name = "format",
     .letter = 'f',
     .argument = "FORMAT",
     .word = format_word,
     .word_doc = format_doc,
     .doc = "How to write the events; text when not given"},
    {.name = "count", .letter = 'n', .argument = "COUNT", .doc = "Show only the first COUNT events"},
    {.name = "type",
     .letter = 't',
     .argument = "TYPES",
     .word = kind_word,
     .word_doc = kind_doc,
     .list = true,
     .doc = "Show only events of these kinds, separated by commas"},
    {.name = "from",
     .argument = "TIME",
     .doc = "Only what happens at or after TIME (1.5ms, 2s, 300us) since the start of the trace"},
    {.name = "to", .argument = "TIME", .doc = "Only what begins before TIME since the start of the trace"},
    {.name = "stats",
     .doc = "Show totals instead: kernels, transfers, API calls, how busy each device was, what the "
            "host waited for"},
    {.name = "timeline", .doc = "Draw a timeline instead, one row per track"},
    {.name = "json", .doc = "The same as --format json; with --stats, the totals as one JSON document"},
    END_OF_OPTIONS};

static const struct option info_options[] = {
    {.name = "quick", .doc = "Do not verify the checksums of the whole file (a second per few GB)"},
    JSON_OPTION,
    END_OF_OPTIONS};

static const struct option recover_options[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .kind = VALUE_TRACE,
     .doc = "Where the repaired trace is written; recovered.sbt when not given"},
    JSON_OPTION,
    END_OF_OPTIONS};

static const struct option devices_options[] = {JSON_OPTION, END_OF_OPTIONS};

static const struct option benchmark_options[] = {{.name = "launches",
                                                   .letter = 'n',
                                                   .argument = "COUNT",
                                                   .doc = "Kernels to launch; 10000 when not given"},
                                                  {.name = "output",
                                                   .letter = 'o',
                                                   .argument = "FILE",
                                                   .kind = VALUE_TRACE,
                                                   .doc = "Keep the trace of the last traced run"},
                                                  JSON_OPTION,
                                                  END_OF_OPTIONS};

static const struct option version_options[] = {JSON_OPTION, END_OF_OPTIONS};

static const struct option help_options[] = {{.name = "as",
                                              .argument = "FORM",
                                              .word = help_word,
                                              .word_doc = help_word_doc,
                                              .doc = "What to write; text when not given"},
                                             END_OF_OPTIONS};

// ---- examples

static const struct example profile_examples[] = {
    {"tracesmith profile -- ./program --its-own options", "Record a program into trace.sbt"},
    {"tracesmith profile -o run.sbt -b 16M python3 train.py", "Larger rings, another file"},
    {NULL, NULL}};
static const struct example view_examples[] = {
    {"tracesmith view trace.sbt --timeline", "Who was busy when"},
    {"tracesmith view trace.sbt --stats", "Where the time went"},
    {"tracesmith view trace.sbt -t kernel,memcpy -n 20", "The first 20 kernels and transfers"},
    {"tracesmith view trace.sbt -f json | jq '.events[] | select(.kind == \"kernel\") | .duration'",
     "Every event for another program"},
    {NULL, NULL}};
static const struct example info_examples[] = {
    {"tracesmith info trace.sbt", "What is in it, and what is missing"},
    {"tracesmith info --json trace.sbt | jq .lost", "The same for a script"},
    {NULL, NULL}};
static const struct example recover_examples[] = {
    {"tracesmith recover trace.sbt -o whole.sbt", "Repair a file that was cut off"},
    {"tracesmith recover /dev/shm/tracesmith-1000-x7Yk2q -o run.sbt",
     "Write the file a killed recording had not"},
    {NULL, NULL}};
static const struct example devices_examples[] = {{"tracesmith devices", "What there is to profile on"},
                                                  {NULL, NULL}};
static const struct example benchmark_examples[] = {
    {"tracesmith benchmark", "What recording costs on this machine"}, {NULL, NULL}};
static const struct example version_examples[] = {{"tracesmith version --json", "For a bug report"},
                                                  {NULL, NULL}};
static const struct example help_examples[] = {
    {"tracesmith help view", "The options of a command"},
    {"tracesmith help --as bash > ~/.local/share/bash-completion/completions/tracesmith",
     "Install the completion"},
    {NULL, NULL}};

// ---- commands

const struct command commands[] = {
    {.name = "profile",
     .operands = "[--] COMMAND [ARGUMENT...]",
     .doc = "Record a program that uses a GPU",
     .about =
         "Runs COMMAND with TraceSmith's agents injected, and writes what the device and the program did "
         "into one file. Programs it starts are recorded too. Nothing has to be rebuilt.\n\n"
         "The exit code is the program's own: 128 + N when signal N ended it, 127 when it was not found, 126 "
         "when it could not be run. Only when the program succeeded and its trace could not be written is it "
         "4. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 are handed on to the program. "
         "Processes that outlive it are recorded until they end, or until one of these signals.\n\n"
         "A file that is there already is replaced if it is a trace; any other file is left alone.",
     .operands_least = 1,
     .operands_most = (size_t)-1,
     .operand_kind = VALUE_PROGRAM,
     .options = profile_options,
     .examples = profile_examples,
     .run = command_profile},
    {.name = "view",
     .operands = "FILE",
     .doc = "Show the events of a trace, its totals, or a timeline",
     .about =
         "Without an option, lists all events of all tracks in the order they began: time since the start of "
         "the trace, duration, track, kind, and what happened.\n\n"
         "JSON and CSV carry every field of the event by the names in docs/events.md, times in nanoseconds "
         "on "
         "the trace clock. The JSON is one document with one event per line. Names that are not UTF-8 have "
         "U+FFFD in place of the bytes that are not.\n\n"
         "What the trace has lost, and damage of the file, is said on stderr.",
     .operands_least = 1,
     .operands_most = 1,
     .operand_kind = VALUE_TRACE,
     .options = view_options,
     .examples = view_examples,
     .run = command_view},
    {.name = "info",
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
     .run = command_info},
    {.name = "recover",
     .operands = "[FILE | DIRECTORY]",
     .doc = "Write a whole trace from a damaged file or a killed recording",
     .about =
         "FILE is a trace that was cut off or damaged: everything readable is written into a new file, with "
         "what is missing in its loss ledger. DIRECTORY is what a recording left behind when tracesmith "
         "itself was killed: everything the program had committed is written.\n\n"
         "Without an operand, lists the recordings that were left behind on this machine.",
     .operands_least = 0,
     .operands_most = 1,
     .operand_kind = VALUE_FILE,
     .options = recover_options,
     .examples = recover_examples,
     .run = command_recover},
    {.name = "devices",
     .doc = "List the devices that can be profiled",
     .about =
         "Asks every GPU API there is an agent for. When there is no device, says how to get one and exits "
         "with 4.",
     .options = devices_options,
     .examples = devices_examples,
     .run = command_devices},
    {.name = "benchmark",
     .doc = "Measure what recording costs on this machine",
     .about = "Launches kernels that do next to nothing on the first device, bare and recorded in turns, and "
              "prints the wall time of a launch in both (medians of five runs), and whether every launch was "
              "recorded. Exits with 1 when a launch is missing from a trace.",
     .options = benchmark_options,
     .examples = benchmark_examples,
     .run = command_benchmark},
    {.name = "version",
     .doc = "Say which version this is",
     .about = "The command's and the library's version.",
     .options = version_options,
     .examples = version_examples,
     .run = command_version},
    {.name = "help",
     .operands = "[COMMAND]",
     .doc = "Explain a command",
     .about = "Also writes the man pages, the reference and the shell completions, all from the same table.",
     .operands_most = 1,
     .operand_kind = VALUE_COMMAND,
     .options = help_options,
     .examples = help_examples,
     .run = command_help},
    {.name = NULL}};

const struct command *command_find(const char *name) {
    for (const struct command *command = commands; command->name; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

const char *command_name_at(size_t index) {
    return commands[index].name;
}
