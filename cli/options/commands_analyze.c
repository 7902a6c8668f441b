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
     .doc = "Run only these analyses, separated by commas, and print their tables"},
    {.name = "all", .doc = "Print the tables of all analyses"},
    {.name = "ranks",
     .doc = "Treat the files as ranks of one run: report which ranks arrive late at collectives, and which "
            "wait"},
    {.name = "partial",
     .doc = "Write the data that --ranks needs from the traces to --output; 'analyze' of such files gives "
            "the same answer as --ranks of the traces"},
    PAGE_OPTIONS("With --ranks: also write the answer"),
    {.name = "gpu-util", .doc = "Device utilization and its causes: breakdown, idle, streams"},
    {.name = "memory", .doc = "Memory use and transfers: memory, bandwidth"},
    {.name = "kernels", .doc = "Kernel time and launches: kernels, launches"},
    {.name = "streams", .doc = "Concurrency: streams, overlap, queue_length"},
    {.name = "hotspots", .doc = "Most expensive parts: advice, kernels, critical_path"},
    FROM_OPTION,
    TO_OPTION,
    {.name = "quick",
     .doc = "Print only kernels, from the totals stored in an .sbt file: immediate for any size, without "
            "medians"},
    {.name = "skip",
     .argument = "FUNCTION",
     .repeated = true,
     .doc = "In callsites: attribute launches of this function to its caller, for a wrapper that every "
            "launch goes through; may be given several times"},
    HIDE_INTERPRETER_OPTION("In callsites"),
    {.name = "peak",
     .argument = "PEAKS",
     .doc = "In roofline: the peak rates of every device per second, as flops=NUMBER, bytes=NUMBER or both "
            "with a comma: flops=989T,bytes=3.35T (k, M, G, T, P: powers of 1000)"},
    {.name = "frames",
     .argument = "FORM",
     .doc =
         "In frames: what a frame is: present, wait or range:NAME (docs/frames.md); default: what the trace "
         "states, else present"},
    {.name = "rows",
     .letter = 'n',
     .argument = "COUNT",
     .doc = "Print at most COUNT rows per table; default 20"},
    {.name = "output",
     .letter = 'o',
     .argument = "OUT",
     .kind = VALUE_FILE,
     .doc = "Write the answer to this file"},
    JSON_OPTION,
    {.name = "csv", .doc = "Print CSV: one table after the other, each with its header"},
    EXACT_OPTION,
    BINARY_OPTION,
    {.name = "list", .doc = "List the analyses and the question that each answers"},
    END_OF_OPTIONS};
static const struct example analyze_examples[] = {
    {"tracesmith analyze trace.json.gz", "The three most expensive problems, with evidence"},
    {"tracesmith analyze trace.sbt kernels idle -n 5", "Two analyses with their tables"},
    {"tracesmith analyze trace.sbt --gpu-util --from 1s --to 2s", "One second of the trace"},
    {"tracesmith analyze --partial -o rank7.part rank7.json.gz",
     "On each host; then on one: tracesmith analyze *.part"},
    {"tracesmith analyze trace.sbt --json | jq '.traces[0].reports[] | {report, finding}'", "For a script"},
    {NULL, NULL}};

const struct command analyze_entry = {
    .name = "analyze",
    .operands = "FILE... [NAME...]",
    .doc = "Report the most expensive problems and where the time went",
    .about = "Without a NAME, prints the three problems that cost the most wall time, each with evidence, "
             "the place where it is worst, and a fix; then the finding of each analysis in one sentence. "
             "NAME is an analysis (--list), whose tables are printed.\n\nFILE may have any format that "
             "TraceSmith reads; - is standard input. Every answer states how much of the time it covers and "
             "what is unknown. JSON and CSV have the same tables with all rows.",
    .operands_most = (size_t)-1,
    .operand_kind = VALUE_TRACE,
    .operand_word = tsmith_analysis_name,
    .options = analyze_options,
    .examples = analyze_examples,
    .run = command_analyze,
};

// ---- report

static const struct option report_options[] = {
    {.name = "format",
     .letter = 'f',
     .argument = "FORMAT",
     .word = option_report_word,
     .word_doc = option_report_doc,
     .doc = "Format of the report; default: by the extension of --output (.html, .md), else html"},
    {.name = "output",
     .letter = 'o',
     .argument = "OUT",
     .kind = VALUE_FILE,
     .doc = "Write the report to this file; default: standard output"},
    {.name = "title", .argument = "TEXT", .doc = "Title of the report; default: the name of the file"},
    {.name = "rows",
     .letter = 'n',
     .argument = "COUNT",
     .doc = "Show at most COUNT rows per table; default 30"},
    FROM_OPTION,
    TO_OPTION,
    BINARY_OPTION,
    END_OF_OPTIONS};
static const struct example report_examples[] = {
    {"tracesmith report trace.json.gz -o report.html", "One page to mail or to keep with a CI run"},
    {"tracesmith report trace.sbt -f markdown >> \"$GITHUB_STEP_SUMMARY\"", "A summary in a pull request"},
    {NULL, NULL}};

const struct command report_entry = {
    .name = "report",
    .operands = "FILE",
    .doc = "Write a report about a trace: one HTML page, or Markdown",
    .about = "The page has the most expensive problems, a timeline, the tables of all analyses, and the "
             "losses. It is one file that loads nothing and is complete without scripts; scripts only zoom "
             "the timeline. Names in the trace are always shown as plain text.\n\nFILE may have any format "
             "that TraceSmith reads; - is standard input.",
    .operands_least = 1,
    .operands_most = 1,
    .operand_kind = VALUE_TRACE,
    .options = report_options,
    .examples = report_examples,
    .run = command_report,
};

// ---- studio

static const struct option studio_options[] = {
    {.name = "port", .argument = "PORT", .doc = "Port to listen on; default a free port"},
    {.name = "listen",
     .argument = "ADDRESS",
     .doc = "Listen on this IPv4 address instead of 127.0.0.1. Anyone who can reach it and knows the printed "
            "address can then read the traces, over a connection that is not encrypted; ssh -L is safer"},
    {.name = "no-browser", .doc = "Only print the address; do not open a browser"},
    {.name = "export",
     .argument = "DIR",
     .doc = "Do not serve; write the page and the traces to this new folder, for any web server that answers "
            "range requests. The page has the timeline, findings, analyses and flame graph; for other "
            "questions it shows the command to run"},
    END_OF_OPTIONS};
static const struct example studio_examples[] = {
    {"tracesmith studio trace.sbt", "A trace in the browser"},
    {"tracesmith studio before.sbt after.sbt", "Two traces, side by side and compared"},
    {"tracesmith studio --no-browser --port 8123 trace.json.gz", "On a machine without a screen, for ssh -L"},
    {"tracesmith studio --export site trace.sbt", "A folder for a static host"},
    {NULL, NULL}};

const struct command studio_entry = {
    .name = "studio",
    .operands = "FILE...",
    .doc = "Show traces in a browser: timeline, findings, SQL, comparisons",
    .about =
        "Serves a page on 127.0.0.1 and prints its address, which contains a token; only a browser with this "
        "token can read the traces. The page loads nothing from other servers and sends nothing to them, and "
        "the files are not changed. Ctrl-C ends the server.\n\nThe page shows a trace of any size, because "
        "it requests only the visible part. Every view names the command that prints the same.",
    .operands_least = 1,
    .operands_most = (size_t)-1,
    .operand_kind = VALUE_TRACE,
    .options = studio_options,
    .examples = studio_examples,
    .run = command_studio,
};

// ---- diff

static const struct option diff_options[] = {
    {.name = "base",
     .argument = "FILES",
     .doc = "Traces of the base side, separated by commas; the operands are then the new side"},
    {.name = "gate",
     .argument = "CONDITION",
     .repeated = true,
     .doc = "Exit with 1 unless the condition METRIC<LIMIT holds, as in 'kernel_time<+3%'; may be given "
            "several times"},
    {.name = "junit",
     .argument = "OUT",
     .kind = VALUE_FILE,
     .doc = "Write the results of the gates to this file as JUnit XML"},
    PAGE_OPTIONS("Also write the answer"),
    {.name = "confidence",
     .argument = "PERCENT",
     .doc = "Confidence level of the intervals, if both sides have several runs; default 95"},
    {.name = "rows",
     .letter = 'n',
     .argument = "COUNT",
     .doc = "Print at most COUNT rows per table; default 20"},
    JSON_OPTION,
    {.name = "csv", .doc = "Print CSV: one table after the other, each with its header"},
    BINARY_OPTION,
    END_OF_OPTIONS};
static const struct example diff_examples[] = {
    {"tracesmith diff before.sbt after.sbt", "List the changes, largest first"},
    {"tracesmith diff a1.sbt a2.sbt a3.sbt -- b1.sbt b2.sbt b3.sbt", "The same, with confidence intervals"},
    {"tracesmith diff main.sbt mine.sbt --gate 'kernel_time<+3%' --gate 'launch_count<=+0' --junit gates.xml",
     "For CI: exit with 1 if a gate is violated"},
    {NULL, NULL}};

const struct command diff_entry = {
    .name = "diff",
    .operands = "BASE... [--] NEW...",
    .doc = "Compare two sides of traces, with gates for CI",
    .about =
        "Kernels (also by shape), operators, ranges, states and totals are matched by name and "
        "compared. A name that does not occur in a run counts as 0. A side is one trace or several runs "
        "of one program. With two or more runs on both sides each change has a confidence interval "
        "(Welch's), and a change that cannot be distinguished from noise is \"unsure\", as every change "
        "is with fewer runs.\n\nA gate is METRIC, then < <= > or >=, then a limit. A limit with a sign or "
        "% applies to the change: kernel_time<+3%, launch_count<=+10, idle<+2ms. A limit without one "
        "applies to the new value: peak_memory<2GiB. METRIC is total_time, kernel_time, compute_time, "
        "communication_time, copy_time, idle, launch_time, sync_time, kernel_count, launch_count, "
        "sync_count, peak_memory, or kernel:NAME, operator:NAME, range:NAME or state:NAME.",
    .operands_most = (size_t)-1,
    .operand_kind = VALUE_TRACE,
    .options = diff_options,
    .examples = diff_examples,
    .run = command_diff,
};
