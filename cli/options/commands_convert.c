// SPDX-License-Identifier: Apache-2.0
// The commands that bring traces in and hand them on.
#include "options.h"

// ---- import

static const struct option import_options[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .kind = VALUE_TRACE,
     .doc = "Output file or directory, or - for standard output; default the name of IN with .sbt, in the "
            "current directory"},
    {.name = "level",
     .letter = 'l',
     .argument = "LEVEL",
     .doc = "Compression level: 1 (fastest) to 19 (smallest); from 4 on all encodings are tried; default 7"},
    {.name = "join",
     .argument = "OTHER",
     .kind = VALUE_FILE,
     .doc = "Give each event the values that OTHER has of it: CSV of Nsight Compute (ncu --csv) of the same "
            "program, or an execution trace of PyTorch of the same run; what could belong to several events "
            "is not joined"},
    BINARY_OPTION,
    JSON_OPTION,
    END_OF_OPTIONS};
static const struct example import_examples[] = {
    {"tracesmith import run.pt.trace.json.gz -o run.sbt",
     "Convert a PyTorch trace; the result is much smaller and opens quickly"},
    {"zstdcat big.json.zst | tracesmith import - -o big.sbt", "Read from a pipe"},
    {"tracesmith import report.sqlite", "Convert the output of nsys export --type sqlite"},
    {"tracesmith import run.sbt --join metrics.csv -o joined.sbt",
     "Add the metrics of Nsight Compute to the kernels of a trace"},
    {"tracesmith import rank*.json.gz -o ranks/", "Convert several files into a directory"},
    {NULL, NULL}};

const struct command import_entry = {
    .name = "import",
    .operands = "IN...",
    .doc = "Convert traces of other profilers to .sbt files",
    .about = "Every command opens these formats directly; an .sbt file is smaller, opens at once, and "
             "windows of it are read without the rest.\n\nThe format of IN is detected from its content. A "
             "file may be plain, or compressed with gzip or zstd. SBT itself is read too, and reports of "
             "Nsight Systems (.nsys-rep) are read with the nsys that is installed. - is standard input. "
             "Nothing is left out: a value without a field of its own becomes a dynamic field. Damaged parts "
             "are counted in the loss ledger.",
    .list_heading = "Formats",
    .list_word = option_import_word,
    .list_doc = option_import_doc,
    .operands_least = 1,
    .operands_most = (size_t)-1,
    .operand_kind = VALUE_TRACE,
    .options = import_options,
    .examples = import_examples,
    .run = command_import,
};

// ---- export

static const struct option export_options[] = {
    {.name = "format",
     .letter = 'f',
     .argument = "FORMAT",
     .word = option_export_word,
     .word_doc = option_export_doc,
     .doc = "Output format; default by the extension of --output"},
    {.name = "output",
     .letter = 'o',
     .argument = "OUT",
     .kind = VALUE_FILE,
     .doc = "Output file; default, and with -, standard output"},
    {.name = "gzip", .letter = 'z', .doc = "Compress with gzip; implied if OUT ends in .gz"},
    HIDE_INTERPRETER_OPTION("In folded stacks and flame graphs"),
    {.name = "cpu",
     .doc = "In folded stacks, flame graphs, pprof and speedscope: the CPU time of the program's threads by "
            "their "
            "samples (profile --sample), instead of device time"},
    TYPE_OPTION,
    FROM_OPTION,
    TO_OPTION,
    BINARY_OPTION,
    END_OF_OPTIONS};
static const struct example export_examples[] = {
    {"tracesmith export trace.sbt -o trace.json.gz", "For chrome://tracing and Perfetto"},
    {"tracesmith export trace.sbt -f chrome --from 1s --to 1.2s -o part.json", "Export a window"},
    {"tracesmith export trace.sbt -f dot --from 10ms --to 12ms | dot -Tsvg >why.svg",
     "Draw the dependencies in a window"},
    {NULL, NULL}};

const struct command export_entry = {
    .name = "export",
    .operands = "FILE",
    .doc = "Convert a trace, or a window of it, for other tools",
    .about = "FILE may have any format that TraceSmith reads; - is standard input. A window contains every "
             "event that overlaps it, uncut.\n\nAn existing file is replaced unless it is a .sbt trace.",
    .operands_least = 1,
    .operands_most = 1,
    .operand_kind = VALUE_TRACE,
    .options = export_options,
    .examples = export_examples,
    .run = command_export,
};

// ---- merge

static const struct option merge_options[] = {{.name = "output",
                                               .letter = 'o',
                                               .argument = "FILE",
                                               .kind = VALUE_TRACE,
                                               .doc = "Output file; default merged.sbt"},
                                              JSON_OPTION,
                                              END_OF_OPTIONS};
static const struct example merge_examples[] = {
    {"tracesmith merge -o all.sbt run.*.sbt", "Make one trace of the ranks of a run"},
    {"tracesmith query all.sbt \"SELECT rank, count(*) FROM events JOIN tracks ON tracks.id = track JOIN "
     "processes ON processes.id = process GROUP BY rank\"",
     "Count the events of each rank"},
    {NULL, NULL}};

const struct command merge_entry = {
    .name = "merge",
    .operands = "IN IN...",
    .doc = "Make one trace of the traces of several ranks",
    .about = "IN may have any format that TraceSmith reads. Processes, tracks and clocks of two traces stay "
             "apart. Each "
             "process keeps its rank, its host and its part of the loss ledger.\n\nTimes are not changed. "
             "Traces of one "
             "machine have one clock. For those of several machines, 'tracesmith info' and the SQL table "
             "parts have the "
             "offset of each clock by the wall clocks of the machines. How well those agree is not known.\n\n"
             "For a comparison of ranks no merged trace is needed: see 'tracesmith analyze --ranks'.",
    .operands_least = 2,
    .operands_most = (size_t)-1,
    .operand_kind = VALUE_TRACE,
    .options = merge_options,
    .examples = merge_examples,
    .run = command_merge,
};

// ---- split

static const struct option split_options[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .kind = VALUE_TRACE,
     .doc = "Name of the output files. In it, %r is the rank ('norank' for processes without one), %p the "
            "process id, %h the host that the trace states (or 'nohost'), and %% a percent sign. %r or %p is "
            "required; with %p each "
            "process has a file of its own"},
    JSON_OPTION,
    END_OF_OPTIONS};
static const struct example split_examples[] = {
    {"tracesmith split all.sbt -o run.%r.sbt", "Write a file for each rank of a trace of several ranks"},
    {NULL, NULL}};

const struct command split_entry = {
    .name = "split",
    .operands = "FILE",
    .doc = "Make a trace of each rank, or of each process, of a trace",
    .about =
        "FILE may have any format that TraceSmith reads, but must not be a merged trace. Each file is a "
        "complete trace with the events, names, clocks and losses of its rank. Events that belong to no "
        "process (counters of the machine) are in every file. FILE is left as it is.\n\n"
        "'tracesmith profile -o run.%r.sbt -- mpirun ...' splits what it recorded by itself. This command "
        "is for a recording that was killed before that, and for traces of several ranks that exist.",
    .operands_least = 1,
    .operands_most = 1,
    .operand_kind = VALUE_TRACE,
    .options = split_options,
    .examples = split_examples,
    .run = command_split,
};
