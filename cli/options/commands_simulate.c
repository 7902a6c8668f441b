// SPDX-License-Identifier: Apache-2.0
// The table's entry of `simulate`.
#include "options.h"
#include "tracesmith/simulate.h"

static const char *policy_word(size_t index) {
    return index < TSMITH_POLICY_LIMIT ? tsmith_policy_name((tsmith_policy)index) : NULL;
}

static const char *policy_doc(size_t index) {
    return tsmith_policy_doc((tsmith_policy)index);
}

static const struct option simulate_options[] = {
    {.name = "scale",
     .argument = "WHAT=NAME:FACTOR",
     .repeated = true,
     .doc = "Multiply times by FACTOR. WHAT is kernel, copy, call or host (the host's time before a call); "
            "NAME may contain * and ?; FACTOR may be a sweep: FROM..TO or FROM..TO/STEPS. May be given "
            "several times"},
    {.name = "drop-sync",
     .argument = "NAME",
     .repeated = true,
     .doc = "Let calls of this name ('*': all) that wait for the device return immediately. May be given "
            "several times"},
    {.name = "fuse",
     .argument = "NAME+NAME...",
     .repeated = true,
     .doc = "Fuse kernels with these names that follow each other in a queue. May be given several times"},
    {.name = "graph",
     .argument = "TIME",
     .doc = "Replace the launches between two waits by one launch of a captured graph; TIME is the host's "
            "cost per command"},
    {.name = "overlap-comm",
     .doc = "Move communication to a separate queue; the host's next wait also waits for it. The answer is a "
            "bound"},
    {.name = "streams",
     .argument = "COUNT",
     .doc = "Spread the commands of in-order queues over COUNT queues, with only their real dependencies; "
            "needs a trace with a recording (profile --capture)"},
    {.name = "device-ratio",
     .argument = "COMPUTE[:MEMORY]",
     .doc = "Assume a device with COMPUTE times the arithmetic and MEMORY times the bandwidth. Kernels scale "
            "by something between the two, so the answer is a range"},
    {.name = "policy",
     .argument = "POLICY",
     .word = policy_word,
     .word_doc = policy_doc,
     .doc = "Scheduling policy when several commands could run on a device that runs one at a time; default "
            "original"},
    {.name = "priority",
     .argument = "QUEUE=NUMBER",
     .repeated = true,
     .doc = "With --policy priority: the priority of queues with this name (* and ?), higher first; default "
            "0. May be given several times"},
    {.name = "after",
     .argument = "FILE",
     .kind = VALUE_TRACE,
     .doc = "A trace of the changed program: compare its recorded time with the prediction"},
    {.name = "force", .doc = "Answer even if the model explains the trace badly"},
    JSON_OPTION,
    BINARY_OPTION,
    END_OF_OPTIONS};

static const struct example simulate_examples[] = {
    {"tracesmith simulate trace.sbt",
     "How well the model explains the trace, and what determines its duration"},
    {"tracesmith simulate trace.json.gz --scale 'kernel=*gemm*:0.5'",
     "Duration if all matrix products took half the time"},
    {"tracesmith simulate trace.sbt --scale 'kernel=softmax:0..1/10'",
     "The duration as a curve over a factor"},
    {"tracesmith simulate trace.sbt --drop-sync '*' --graph 1us",
     "Duration without waits and with captured launches"},
    {"tracesmith simulate before.sbt --scale 'kernel=softmax:0.5' --after after.sbt",
     "Compare the prediction with a trace of the changed program"},
    {"tracesmith simulate run.sbt --streams 4", "Duration if independent kernels ran concurrently"},
    {NULL, NULL}};

const struct command simulate_entry = {
    .name = "simulate",
    .operands = "FILE",
    .doc = "Predict how long a changed program would take",
    .about =
        "Runs the dependency graph of the trace in virtual time: host threads, launches, queues, events, "
        "waits, copy engines and devices. Commands and calls have their recorded durations; the times "
        "between them come from a model with few parameters, calibrated on the trace. The unmodified trace "
        "is simulated first. If that reproduces the recorded duration, the graph is sound; it does not show "
        "that predictions are accurate. For that, the second half of the trace is predicted from the first, "
        "and the difference is printed. If the simulated unmodified trace is off by more than 5 %, there is "
        "no answer (exit code 1) unless --force is given.\n\nAn answer is an interval. It accounts for what "
        "the trace does not determine: the cost of a launch that no longer follows a wait, the part of a "
        "command that does not scale, gaps that never mattered, and the mutual slowdown of commands; and for "
        "run-to-run variation with 8 %, or twice the held-out error.\n\nSeveral changes are applied in this "
        "order: scale, device-ratio, drop-sync, fuse, graph, overlap-comm, streams. Delays without an "
        "explanation in the trace are kept as recorded, and the answer states their share. Delays that never "
        "mattered in the trace (for example a gap between commands when the host was always later) are taken "
        "as 0, and the answer says that it is a bound.",
    .operands_least = 1,
    .operands_most = 1,
    .operand_kind = VALUE_TRACE,
    .options = simulate_options,
    .examples = simulate_examples,
    .run = command_simulate,
};
