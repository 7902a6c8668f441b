// SPDX-License-Identifier: Apache-2.0
// The table's entry of `replay`.
#include "options.h"

static const char *mode_word(size_t index) {
    static const char *const names[] = {"full", "partial", "stream", "dry-run", NULL};
    return names[index];
}

static const char *mode_doc(size_t index) {
    static const char *const docs[] = {
        "run everything", "run the commands of --range or --kernel, and those whose results they need",
        "run the commands of one queue (--stream), and those whose results they need",
        "list the commands that would be run, and run nothing"};
    return docs[index];
}

static const struct option replay_options[] = {
    {.name = "mode",
     .argument = "MODE",
     .word = mode_word,
     .word_doc = mode_doc,
     .doc = "What to do with the recording; full when not given"},
    {.name = "device",
     .letter = 'd',
     .argument = "DEVICE",
     .doc = "Where to replay: the number of a device (0 is the first), or a part of its name; several, with "
            "commas between, take the recorded devices in their order"},
    {.name = "against",
     .argument = "DEVICE",
     .doc =
         "Run it on a second device too, and compare the two with each other instead of with the recording"},
    {.name = "each", .doc = "With --against: compare what every command wrote after it, not only the end"},
    {.name = "range",
     .argument = "FIRST..LAST",
     .doc = "With --mode partial: these commands, numbered from 0 as results and findings name them"},
    {.name = "kernel",
     .argument = "NAME",
     .doc = "With --mode partial: launches of kernels of this name, which may have * and ?"},
    {.name = "stream", .argument = "QUEUE", .doc = "With --mode stream: the number of the queue"},
    {.name = "speed",
     .argument = "NUMBER",
     .doc = "Make the host's calls no sooner than they were made: 1 as recorded, 2 twice as fast; at once "
            "when not "
            "given"},
    {.name = "timing", .doc = "Measure how long each command takes, and compare with the recorded times"},
    {.name = "validate",
     .doc =
         "Replay at least three times and compare the replays with each other: exit code 1 when they differ"},
    {.name = "times",
     .letter = 'n',
     .argument = "COUNT",
     .doc = "Replay so many times: what differs from replay to replay is noise; 1 when not given"},
    {.name = "tolerance",
     .argument = "NUMBER[ulp]",
     .doc =
         "How far a value may be from the recorded one: 4ulp (representable values, of floating point), or "
         "1e-6 (of any type)"},
    {.name = "source",
     .argument = "KERNEL=FILE",
     .doc = "Take the source of the program with this kernel from FILE: what an edited kernel makes of the "
            "recorded data"},
    {.name = "save-source",
     .argument = "KERNEL=FILE",
     .doc = "Run nothing: write the source of the program with this kernel to FILE (- is standard output), "
            "to be edited "
            "for --source"},
    {.name = "save-results",
     .argument = "DIR",
     .doc = "Write every result that is different, as recorded and as replayed, to files in DIR, which is "
            "made (with --all, "
            "those that are exact too): PID-COMMAND-WHAT-buffer-NUMBER.recorded.f32 and .replayed.f32, or "
            "whatever its "
            "elements are"},
    {.name = "hazards",
     .doc = "Run nothing: say which commands use the same memory, one of them writing, with nothing that "
            "orders them"},
    {.name = "confirm",
     .doc = "With --hazards: replay each finding with its two commands the other way round; where a kernel "
            "may use other "
            "bytes and every result is the same, the finding is only possible, and is not in the exit code"},
    {.name = "permute",
     .argument = "COUNT",
     .doc = "Replay in so many other orders that the program leaves open (all of them, where there are no "
            "more), "
            "and name the commands whose order decides a result"},
    {.name = "seed",
     .argument = "NUMBER",
     .doc = "Of the orders of --permute: the same gives the same; 1 when not given"},
    {.name = "sandbox",
     .doc = "Replay in a restricted process: no network, no signals to other processes, no files written "
            "outside a "
            "private directory; what the kernel could not restrict and what was refused is listed"},
    {.name = "limit", .argument = "TIME", .doc = "Give up when a wait takes this long; 60s when not given"},
    {.name = "instructions",
     .argument = "KERNEL",
     .doc = "Run it on Oclgrind, and count the instructions, memory accesses and branches of KERNEL by "
            "source line "
            "(docs/instruction-level.md)"},
    {.name = "work-item",
     .argument = "X[,Y[,Z]]",
     .doc =
         "With --instructions: keep every instruction that the work-item of this global id runs, in order"},
    {.name = "steps",
     .argument = "COUNT",
     .doc = "With --work-item: the most instructions kept; 1000000 when not given"},
    {.name = "check",
     .doc =
         "Run it on Oclgrind, and look for races, values that nobody wrote, and accesses outside of buffers"},
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .kind = VALUE_TRACE,
     .doc = "With --instructions: write what was counted, and the work-item's instructions, as a trace"},
    {.name = "all", .doc = "List every result, also those that are exact, and every instruction"},
    JSON_OPTION,
    END_OF_OPTIONS};

static const struct example replay_examples[] = {
    {"tracesmith profile --capture -o run.sbt ./program", "Record with commands and data"},
    {"tracesmith replay run.sbt", "Run it again, and compare every result"},
    {"tracesmith replay --sandbox theirs.sbt", "A recording of somebody else's"},
    {"tracesmith replay run.sbt --times 5", "Tell noise (atomics, races) from wrong results"},
    {"tracesmith replay run.sbt --save-source blur=blur.cl", "Get the recorded source of a kernel"},
    {"tracesmith replay run.sbt --source blur=blur.cl --tolerance 2ulp --timing",
     "Try it edited on the recorded data"},
    {"tracesmith replay run.sbt --device 0 --against 1 --tolerance 4ulp",
     "Does another device or driver compute the same, and which command is the first that does not"},
    {"tracesmith replay run.sbt --instructions blur", "What each source line of a kernel does"},
    {"tracesmith replay run.sbt --instructions blur --work-item 3,0 -o blur.sbt",
     "And every instruction of one work-item, for view"},
    {"tracesmith replay run.sbt --check", "Races and uninitialised values of a recorded run"},
    {NULL, NULL}};

const struct command replay_entry = {
    .name = "replay",
    .operands = "FILE",
    .doc = "Run a recorded program's commands again and compare the results",
    .about =
        "FILE is a trace with a recording (profile --capture). Its objects are made anew on a device, "
        "its commands are "
        "enqueued in their order with the waits they had, and whatever the program read, and what "
        "every buffer that a command wrote held in the end, is compared byte by byte.\n\n"
        "Results are exact, within-tolerance, within-noise (they differ from replay to replay at least "
        "as much), "
        "diverged, or uncomparable with a reason. What cannot be replayed is listed. The program's own "
        "code does "
        "not run.\n\n"
        "With --instructions or --check, the device is Oclgrind, which interprets: slowly, but it knows "
        "all that a "
        "kernel does. The instructions are those of its compiler, not of the recorded device.\n\n"
        "The exit code is 1 when a result diverged or --check found something, and 4 when there is no "
        "device, the replay came to no end, nothing could be compared or checked, or "
        "--check could run nothing. It is 3 when the source given with --source does not make the kernel.",
    .operands_least = 1,
    .operands_most = 1,
    .operand_kind = VALUE_TRACE,
    .options = replay_options,
    .examples = replay_examples,
    .run = command_replay,
};
