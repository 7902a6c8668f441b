// SPDX-License-Identifier: Apache-2.0
// The table's entry of `replay`.
#include "options.h"

static const char *mode_word(size_t index) {
    static const char *const names[] = {"full", "partial", "stream", "dry-run", NULL};
    return names[index];
}

static const char *mode_doc(size_t index) {
    static const char *const docs[] = {
        "run all commands", "run the commands of --range or --kernel, and those whose results they need",
        "run the commands of one queue (--stream), and those whose results they need",
        "list the commands that would be run, and run nothing"};
    return docs[index];
}

static const struct option replay_options[] = {
    {.name = "mode",
     .argument = "MODE",
     .word = mode_word,
     .word_doc = mode_doc,
     .doc = "What to do with the recording; default full"},
    {.name = "device",
     .letter = 'd',
     .argument = "DEVICE",
     .doc = "Device to replay on: a number (0 is the first), or a part of its name. Several, separated by "
            "commas, are assigned to the recorded devices in order"},
    {.name = "against",
     .argument = "DEVICE",
     .doc = "Also run on a second device, and compare the two devices with each other instead of with the "
            "recording"},
    {.name = "each", .doc = "With --against: compare results after every command, not only final results"},
    {.name = "range",
     .argument = "FIRST..LAST",
     .doc = "With --mode partial: run these commands, numbered from 0 as in results and findings. frame:N "
            "(--mode partial "
            "is then the default): those that the calls of the Nth frame of the trace enqueued "
            "(docs/frames.md)"},
    {.name = "frames",
     .argument = "FORM",
     .doc = "With --range frame:N: what a frame is: present, wait or range:NAME; default: what the trace "
            "states, else "
            "present"},
    {.name = "kernel",
     .argument = "NAME",
     .doc = "With --mode partial: run launches of kernels with this name, which may contain * and ?"},
    {.name = "stream", .argument = "QUEUE", .doc = "With --mode stream: the number of the queue"},
    {.name = "speed",
     .argument = "NUMBER",
     .doc = "Issue the host's calls no earlier than recorded: 1 as recorded, 2 twice as fast; default "
            "immediately"},
    {.name = "timing", .doc = "Measure the time of each command, and compare it with the recorded time"},
    {.name = "validate",
     .doc =
         "Replay at least three times and compare the replays with each other; exit code 1 if they differ"},
    {.name = "times",
     .letter = 'n',
     .argument = "COUNT",
     .doc = "Number of replays; differences between replays count as noise; default 1"},
    {.name = "tolerance",
     .argument = "NUMBER[ulp]",
     .doc = "Allowed difference from the recorded value: 4ulp (units in the last place, floating point "
            "only), or 1e-6 (any type)"},
    {.name = "source",
     .argument = "KERNEL=FILE",
     .doc = "Build the program with this kernel from the source in FILE, to run an edited kernel on the "
            "recorded data"},
    {.name = "save-source",
     .argument = "KERNEL=FILE",
     .doc = "Run nothing; write the source of the program with this kernel to FILE (- is standard output), "
            "for editing and --source"},
    {.name = "save-results",
     .argument = "DIR",
     .doc = "Write every result that differs (with --all, exact ones too), as recorded and as replayed, to "
            "files in DIR, which is created: PID-COMMAND-WHAT-buffer-NUMBER.recorded.f32 and .replayed.f32 "
            "(f32: the type of its elements)"},
    {.name = "emit-c",
     .argument = "DIR",
     .doc = "Run nothing; write the OpenCL commands as a C program with its data and a Makefile to DIR, "
            "which is created: it "
            "needs no TraceSmith, runs on any device and reports EXACT or DIVERGED itself"},
    {.name = "minimize",
     .doc = "Find the least part that still diverges on this device: commands are left out as long as it "
            "does, and memory gets "
            "its recorded content instead. With --emit-c: write that part"},
    {.name = "contents",
     .argument = "COMMAND",
     .doc = "Run up to this command (numbered from 0, as in results) and print the memory that it writes, "
            "before "
            "and after it; with --json up to 1 MiB of each buffer, in base64"},
    {.name = "pid",
     .argument = "PID",
     .doc = "With --contents: the recorded process whose command it is; default the first that has one of "
            "this number. With --emit-c: the recorded process that is written; default the first"},
    {.name = "hazards",
     .doc = "Run nothing; report commands that use the same memory, at least one of them writing, without a "
            "dependency between them"},
    {.name = "confirm",
     .doc = "With --hazards: replay each finding with its two commands exchanged. If the kernels may use "
            "different bytes and every result is the same, the finding is called possible and does not set "
            "the exit code"},
    {.name = "permute",
     .argument = "COUNT",
     .doc = "Replay in COUNT other orders that the program allows (or in all of them, if there are fewer), "
            "and name the commands whose order changes a result"},
    {.name = "seed",
     .argument = "NUMBER",
     .doc = "Random seed of --permute; the same seed gives the same orders; default 1"},
    {.name = "sandbox",
     .doc = "Replay in a restricted process: no network, no signals to other processes, no files written "
            "outside a private directory. Restrictions that the kernel does not support, and refused calls, "
            "are listed"},
    {.name = "limit", .argument = "TIME", .doc = "Give up after a wait of this length; default 60s"},
    {.name = "instructions",
     .argument = "KERNEL",
     .doc = "Run on Oclgrind and count the instructions, memory accesses and branches of KERNEL by source "
            "line (docs/instruction-level.md)"},
    {.name = "work-item",
     .argument = "X[,Y[,Z]]",
     .doc = "With --instructions: record every instruction of the work-item with this global id, in order"},
    {.name = "steps",
     .argument = "COUNT",
     .doc = "With --work-item: maximum number of recorded instructions; default 1000000"},
    {.name = "check",
     .doc = "Run on Oclgrind and report data races, uninitialized reads and out-of-bounds accesses"},
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .kind = VALUE_TRACE,
     .doc = "With --instructions: write the counts and the work-item's instructions as a trace"},
    PAGE_OPTIONS("Also write the commands with their verdicts, the first wrong command and the differences"),
    {.name = "all", .doc = "List all results, including exact ones, and all instructions"},
    JSON_OPTION,
    END_OF_OPTIONS};

static const struct example replay_examples[] = {
    {"tracesmith profile --capture -o run.sbt ./program", "Record a program with commands and data"},
    {"tracesmith replay run.sbt", "Run the commands again and compare every result"},
    {"tracesmith replay --sandbox theirs.sbt", "Replay a recording from another user"},
    {"tracesmith replay --sandbox run.sbt --html replay.html", "The verdicts as one page, for mail or CI"},
    {"tracesmith replay run.sbt --times 5", "Distinguish noise (atomics, races) from wrong results"},
    {"tracesmith replay run.sbt --save-source blur=blur.cl", "Get the recorded source of a kernel"},
    {"tracesmith replay run.sbt --source blur=blur.cl --tolerance 2ulp --timing",
     "Run the edited kernel on the recorded data"},
    {"tracesmith replay run.sbt --device 0 --against 1 --tolerance 4ulp",
     "Compare two devices or drivers, and find the first command that differs"},
    {"tracesmith replay run.sbt --range frame:12 --frames wait",
     "Run what was enqueued between the 11th and the 12th wait, and what that needs"},
    {"tracesmith replay run.sbt --instructions blur",
     "Count the instructions of each source line of a kernel"},
    {"tracesmith replay run.sbt --instructions blur --work-item 3,0 -o blur.sbt",
     "Record every instruction of one work-item, for view"},
    {"tracesmith replay run.sbt --check", "Find data races and uninitialized reads in a recorded run"},
    {NULL, NULL}};

const struct command replay_entry = {
    .name = "replay",
    .operands = "FILE",
    .doc = "Run a recorded program's commands again and compare the results",
    .about = "FILE is a trace with a recording (profile --capture). Its objects are created again on a "
             "device, and its commands are enqueued in the recorded order with the recorded waits. All data "
             "that the program read, and the final content of every buffer that a command wrote, is compared "
             "byte by byte.\n\nResults are exact, within-tolerance, within-noise (replays differ from each "
             "other by at least as much), diverged, or uncomparable with a reason. Calls that cannot be "
             "replayed are listed. The program's own code does not run.\n\nWith --instructions or --check "
             "the device is Oclgrind, an interpreter: slow, but it observes everything that a kernel does. "
             "The instructions are those of its compiler and not of the recorded device.\n\nThe exit code is "
             "1 if a result diverged or --check found something, and 4 if there is no device, the replay did "
             "not terminate, nothing could be compared or checked, or --check could run nothing. It is 3 if "
             "the source given with --source does not build the kernel.",
    .operands_least = 1,
    .operands_most = 1,
    .operand_kind = VALUE_TRACE,
    .options = replay_options,
    .examples = replay_examples,
    .run = command_replay,
};
