// SPDX-License-Identifier: Apache-2.0
// The commands that answer in numbers.
#include "options.h"
#include "tracesmith/analyze.h"

// ---- analyze

static const struct option analyze_options[] = {
    {.name = "only",
     .argument = "NAMES",
     .word = tsmith_analysis_name,
     .word_doc = tsmith_analysis_question,
     .list = true,
     .doc = "Only these analyses, separated by commas, each with its tables"},
    {.name = "all", .doc = "All analyses with their tables"},
    {.name = "ranks",
     .doc = "The files are the ranks of one run: who comes late to collectives, and who waits"},
    {.name = "gpu-util", .doc = "How busy the devices were, and why not: breakdown, idle, streams"},
    {.name = "memory", .doc = "What was allocated and moved: memory, bandwidth"},
    {.name = "kernels", .doc = "Which kernels take the time: kernels, launches"},
    {.name = "streams", .doc = "What ran side by side: streams, overlap, queue_length"},
    {.name = "hotspots", .doc = "What to look at first: advice, kernels, critical_path"},
    FROM_OPTION,
    TO_OPTION,
    {.name = "quick",
     .doc = "Only kernels, from the totals an .sbt file keeps: at once whatever its size, without medians"},
    {.name = "skip",
     .argument = "FUNCTION",
     .repeated = true,
     .doc =
         "In callsites: take this function for no place that launches, but the one that called it, as for a "
         "wrapper that every launch goes through; may be given several times"},
    HIDE_INTERPRETER_OPTION("In callsites"),
    {.name = "rows",
     .letter = 'n',
     .argument = "COUNT",
     .doc = "Show at most COUNT rows of a table; 20 when not given"},
    {.name = "output",
     .letter = 'o',
     .argument = "OUT",
     .kind = VALUE_FILE,
     .doc = "Write the answer into this file instead"},
    JSON_OPTION,
    {.name = "csv", .doc = "Answer with CSV: one table after the other, each with its header"},
    EXACT_OPTION,
    BINARY_OPTION,
    {.name = "list", .doc = "List the analyses there are and the question each answers"},
    END_OF_OPTIONS};
static const struct example analyze_examples[] = {
    {"tracesmith analyze trace.json.gz", "The three things to fix first, and what speaks for them"},
    {"tracesmith analyze trace.sbt kernels idle -n 5", "Two answers with their tables"},
    {"tracesmith analyze trace.sbt --gpu-util --from 1s --to 2s", "Of one second"},
    {"tracesmith analyze trace.sbt --json | jq '.traces[0].reports[] | {report, finding}'", "For a script"},
    {NULL, NULL}};

const struct command analyze_entry = {
    .name = "analyze",
    .operands = "FILE... [NAME...]",
    .doc = "Say what to fix first, and answer where the time went",
    .about = "Without more, names the three problems that cost the most wall time, each with what speaks for "
             "it, where it "
             "is worst, and what helps; then what each analysis found, in a sentence. NAME is an analysis "
             "(--list): its "
             "tables are shown.\n\n"
             "FILE is of any format that TraceSmith reads; - is standard input. Every answer says what part "
             "of the time it "
             "covers and what the trace does not tell. JSON and CSV have the same tables with every row.",
    .operands_most = (size_t)-1,
    .operand_kind = VALUE_TRACE,
    .operand_word = tsmith_analysis_name,
    .options = analyze_options,
    .examples = analyze_examples,
    .run = command_analyze,
};

// ---- diff

static const struct option diff_options[] = {
    {.name = "base",
     .argument = "FILES",
     .doc = "The traces of the base, separated by commas; the operands are then the new side"},
    {.name = "gate",
     .argument = "CONDITION",
     .repeated = true,
     .doc = "Exit with 1 unless METRIC<LIMIT holds, as in 'kernel_time<+3%'; may be given several times"},
    {.name = "junit",
     .argument = "OUT",
     .kind = VALUE_FILE,
     .doc = "Write the gates as JUnit XML into this file"},
    {.name = "confidence",
     .argument = "PERCENT",
     .doc = "Of the intervals, when both sides have several runs; 95 when not given"},
    {.name = "rows",
     .letter = 'n',
     .argument = "COUNT",
     .doc = "Show at most COUNT rows of a table; 20 when not given"},
    JSON_OPTION,
    {.name = "csv", .doc = "Answer with CSV: one table after the other, each with its header"},
    BINARY_OPTION,
    END_OF_OPTIONS};
static const struct example diff_examples[] = {
    {"tracesmith diff before.sbt after.sbt", "What changed, the largest change first"},
    {"tracesmith diff a1.sbt a2.sbt a3.sbt -- b1.sbt b2.sbt b3.sbt", "The same, with confidence intervals"},
    {"tracesmith diff main.sbt mine.sbt --gate 'kernel_time<+3%' --gate 'launch_count<=+0' --junit gates.xml",
     "For CI: exits with 1 when a gate is violated"},
    {NULL, NULL}};

const struct command diff_entry = {
    .name = "diff",
    .operands = "BASE... [--] NEW...",
    .doc = "Say what changed between two sides of traces, and gate on it",
    .about =
        "Kernels (also by shape), operators, ranges, states and totals are matched by name and compared; "
        "what a run "
        "does not have counts as 0. A side is one trace or several runs of one program: with two or more on "
        "both "
        "sides each change has a confidence interval (Welch's), and what it does not separate from noise is "
        "\"unsure\".\n\n"
        "A gate is METRIC, then < <= > or >=, then a limit. A limit with a sign or % is about the change: "
        "kernel_time<+3%, launch_count<=+10, idle<+2ms. Without one it is about the new value: "
        "peak_memory<2GiB. "
        "METRIC is total_time, kernel_time, compute_time, communication_time, copy_time, idle, launch_time, "
        "sync_time, kernel_count, launch_count, sync_count, peak_memory, or kernel:NAME, operator:NAME, "
        "range:NAME "
        "or state:NAME.",
    .operands_most = (size_t)-1,
    .operand_kind = VALUE_TRACE,
    .options = diff_options,
    .examples = diff_examples,
    .run = command_diff,
};
