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
     .doc = "WHAT is kernel, copy, call or host (what the host does before a call); NAME may have * and ?; "
            "FACTOR may "
            "be a sweep: FROM..TO or FROM..TO/STEPS. May be given several times"},
    {.name = "drop-sync",
     .argument = "NAME",
     .repeated = true,
     .doc =
         "Calls of this name ('*': all) that wait for the device return at once. May be given several times"},
    {.name = "fuse",
     .argument = "NAME+NAME...",
     .repeated = true,
     .doc = "Kernels that follow each other in a queue become one. May be given several times"},
    {.name = "graph",
     .argument = "TIME",
     .doc = "Launches between two waits become one launch of a captured graph: TIME of the host for each "
            "command"},
    {.name = "overlap-comm",
     .doc = "Communication moves to a queue of its own; the host's next wait waits for it too: a bound"},
    {.name = "streams",
     .argument = "COUNT",
     .doc = "The commands of queues in order are spread over COUNT queues, and wait for what they really "
            "need: of a "
            "trace with a recording (profile --capture)"},
    {.name = "device-ratio",
     .argument = "COMPUTE[:MEMORY]",
     .doc = "A device with COMPUTE times the arithmetic and MEMORY times the bandwidth: kernels lie between "
            "the two, so "
            "the answer is a range"},
    {.name = "policy",
     .argument = "POLICY",
     .word = policy_word,
     .word_doc = policy_doc,
     .doc = "Who goes first when several commands could run on a device that runs one at a time; original "
            "when not "
            "given"},
    {.name = "priority",
     .argument = "QUEUE=NUMBER",
     .repeated = true,
     .doc = "With --policy priority: the priority of queues of this name (* and ?), higher first; 0 when not "
            "given. May "
            "be given several times"},
    {.name = "after",
     .argument = "FILE",
     .kind = VALUE_TRACE,
     .doc = "A trace of the changed program: compare its recorded time with the prediction"},
    {.name = "force", .doc = "Answer even where the model explains the trace badly"},
    JSON_OPTION,
    BINARY_OPTION,
    END_OF_OPTIONS};

static const struct example simulate_examples[] = {
    {"tracesmith simulate trace.sbt",
     "How well the model explains the trace, and what decides how long it takes"},
    {"tracesmith simulate trace.json.gz --scale 'kernel=*gemm*:0.5'",
     "If all matrix products took half the time"},
    {"tracesmith simulate trace.sbt --scale 'kernel=softmax:0..1/10'", "The same as a curve"},
    {"tracesmith simulate trace.sbt --drop-sync '*' --graph 1us", "Without waits and with captured launches"},
    {"tracesmith simulate before.sbt --scale 'kernel=softmax:0.5' --after after.sbt",
     "Compare the prediction with a trace of the changed program"},
    {"tracesmith simulate run.sbt --streams 4", "If independent kernels ran beside each other"},
    {NULL, NULL}};

const struct command simulate_entry = {
    .name = "simulate",
    .operands = "FILE",
    .doc = "Say how long a trace would take if something were different",
    .about =
        "Runs the dependency graph of the trace in virtual time: host threads, launches, queues, "
        "events, waits, copy "
        "engines and devices. What a command or call takes is the trace's; what lies between them is a "
        "model with few "
        "figures, calibrated from the trace. The unmodified trace is simulated first. That it comes out as "
        "recorded says that the graph is sound, not that a prediction is: for that the second half of the "
        "trace is predicted from the first, and the difference is printed. Where the unmodified trace is "
        "more than 5 % off there is no answer (exit code 1), unless --force is given.\n\n"
        "An answer is an interval. It takes in what the trace leaves open: what a launch costs that no "
        "longer follows a wait, how much of a command does not scale, gaps that never decided anything, "
        "how commands slow each other; and 8 %, or twice the held-out error, for what differs from run to "
        "run.\n\n"
        "Several changes together apply in this order: scale, device-ratio, drop-sync, fuse, graph, "
        "overlap-comm, streams. Delays that "
        "nothing in the trace explains are kept as recorded, and the answer says how much of the time "
        "they are; what "
        "never decided anything in the trace (a gap between commands where the host was always later, "
        "say) is taken as "
        "0, and the answer says that it is a bound.",
    .operands_least = 1,
    .operands_most = 1,
    .operand_kind = VALUE_TRACE,
    .options = simulate_options,
    .examples = simulate_examples,
    .run = command_simulate,
};
