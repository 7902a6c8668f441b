// SPDX-License-Identifier: Apache-2.0
// The commands that record, repair and know the machine.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "tracesmith/capture.h"
#include "tracesmith/flight.h"
#include "tracesmith/frames.h"
#include "tracesmith/xray.h"

// ---- words

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

// The index-th option of an agent's table that `chosen` accepts.
static bool find_agent_option(size_t index, bool (*chosen)(const tsmith_agent_option_description *option),
                              tsmith_agent_option_description *out) {
    out->size = sizeof *out;
    for (size_t i = 0; tsmith_agent_option_describe(i, out); i++)
        if ((!chosen || chosen(out)) && index-- == 0)
            return true;
    return false;
}

static bool is_cuda_flag(const tsmith_agent_option_description *option) {
    return strcmp(option->api, "cuda") == 0 && !option->argument;
}

static const char *cuda_word(size_t index) {
    tsmith_agent_option_description option;
    return find_agent_option(index, is_cuda_flag, &option) ? option.key : NULL;
}

static const char *agent_word(size_t index) {
    static char words[OPTIONS_MAX][48];
    tsmith_agent_option_description option;
    if (index >= OPTIONS_MAX || !find_agent_option(index, NULL, &option))
        return NULL;
    snprintf(words[index], sizeof words[index], "%s.%s", option.api, option.key);
    return words[index];
}

static const char *agent_doc(size_t index) {
    static char docs[OPTIONS_MAX][256];
    tsmith_agent_option_description option;
    if (index >= OPTIONS_MAX || !find_agent_option(index, NULL, &option))
        return NULL;
    if (!option.argument)
        return option.doc;
    snprintf(docs[index], sizeof docs[index], "%s (%s: %" PRIu64 " to %" PRIu64 "%s)", option.doc,
             option.argument, option.least, option.most, option.value_optional ? "; optional" : "");
    return docs[index];
}

static const char *wait_word(size_t index) {
    static const char *const names[] = {"all", "program", NULL};
    return names[index];
}

static const char *wait_doc(size_t index) {
    static const char *const docs[] = {
        "until all processes that the program started have exited; Ctrl-C ends the recording earlier",
        "until the program itself has exited",
    };
    return docs[index];
}

static const char *xray_word(size_t index) {
    static const char *const names[] = {
#define NAME(NAME_, number, name, doc) name,
        TSMITH_XRAY_MODE_TABLE(NAME)
#undef NAME
            NULL};
    return names[index];
}

static const char *xray_doc(size_t index) {
    static const char *const docs[] = {
#define DOC(NAME_, number, name, doc) doc,
        TSMITH_XRAY_MODE_TABLE(DOC)
#undef DOC
    };
    return docs[index];
}

// ---- profile

// tsmith_output_expand
#define OUTPUT_PATTERN                                                                                       \
    ". In its name, %r is the rank in a distributed run, %h the host name, %p the process id, and %% a "     \
    "percent sign"

// Of profile and attach.
#define FLIGHT_OPTIONS                                                                                       \
    {.name = "flight",                                                                                       \
     .argument = "TIME[,SIZE]",                                                                              \
     .optional = true,                                                                                       \
     .doc = "Flight recorder: keep the events of the last TIME (default 30s) in at most SIZE of memory "     \
            "(default "                                                                                      \
            "512M), and write them into a file of their own when a trigger occurs: FILE.1.sbt, FILE.2.sbt, " \
            "... "                                                                                           \
            "(docs/live.md)"},                                                                               \
        {.name = "trigger",                                                                                  \
         .argument = "WHAT",                                                                                 \
         .repeated = true,                                                                                   \
         .doc = "With --flight: when to write (below); may be given several times. SIGUSR2 and 'tracesmith " \
                "trigger' always write"},                                                                    \
        {.name = "after",                                                                                    \
         .argument = "TIME",                                                                                 \
         .doc = "With --flight: end the file this long after the trigger; default 0"},                       \
        {.name = "cool-down",                                                                                \
         .argument = "TIME",                                                                                 \
         .doc = "With --flight: time after a trigger in which other triggers are only counted; default 1s"}, \
    {                                                                                                        \
        .name = "max-files", .argument = "N",                                                                \
        .doc = "With --flight: number of files after which triggers are only counted; default 16"            \
    }

static const struct option profile_options[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .kind = VALUE_TRACE,
     .doc =
         "Output file; default trace.sbt" OUTPUT_PATTERN ". In front of a launcher (mpirun), a name with %r "
         "makes a file per rank, and one with %p a file per "
         "process (docs/cluster.md)"},
    {.name = "buffer",
     .letter = 'b',
     .argument = "SIZE",
     .doc = "Maximum size of each thread's ring buffer (512K, 4M, 1G); default 64M. Memory is allocated as "
            "needed"},
    {.name = "overflow",
     .argument = "POLICY",
     .word = overflow_word,
     .word_doc = overflow_doc,
     .doc = "What to do when a ring buffer is full; default drop-newest"},
    {.name = "block-timeout",
     .argument = "SECONDS",
     .doc = "With --overflow block: how long a thread waits without a heartbeat of the collector (stopped "
            "process, hanging disk) before it drops events; default 5. 'never' waits as long as the "
            "collector's process exists"},
    {.name = "api",
     .argument = "LIST",
     .word = tsmith_agent_name,
     .word_doc = tsmith_agent_doc,
     .list = true,
     .doc = "GPU APIs to record, separated by commas; default all but those that say otherwise"},
    {.name = "cuda",
     .argument = "LIST",
     .word = cuda_word,
     .list = true,
     .doc = "Additional CUDA data to record, separated by commas: options of the agent cuda (below)"},
    {.name = "pc-samples",
     .argument = "N",
     .optional = true,
     .doc = "Sample program counters and stall reasons on NVIDIA GPUs, every 2^N cycles (5 to 31; default "
            "chosen by CUPTI) (docs/cuda.md)"},
    {.name = "gpu-metrics",
     .argument = "US[:NAMES]",
     .optional = true,
     .doc = "Sample the activity of SMs, tensor cores, memory and links of NVIDIA GPUs every US microseconds "
            "(10 to 1000000; default 100), or the metrics in NAMES, separated by + (docs/cuda.md)"},
    {.name = "agent-option",
     .argument = "API.KEY[=VALUE]",
     .word = agent_word,
     .word_doc = agent_doc,
     .repeated = true,
     .assigned = true,
     .doc = "Option of an agent; may be given several times. --cuda, --pc-samples and --gpu-metrics are "
            "shorter forms"},
    {.name = "wait",
     .argument = "WHOM",
     .word = wait_word,
     .word_doc = wait_doc,
     .doc = "How long to record; default all"},
    {.name = "stacks",
     .doc = "Record the call stack of every call that enqueues a command, builds a program, allocates memory "
            "or waits"},
    {.name = "stack-frames",
     .argument = "N",
     .doc = "With --stacks: maximum number of frames per call stack (8 to 16384; default 1000; a Python "
            "function counts as two). Deeper stacks keep the innermost frames, are marked as truncated and "
            "counted (deep_stack)"},
    {.name = "capture",
     .argument = "RANGE",
     .optional = true,
     .doc = "Also capture commands and data for 'tracesmith replay' (OpenCL; frames of Vulkan), of the whole "
            "program or of a range (below). The cost in time and space is proportional to the data written "
            "and computed"},
    {.name = "no-payload",
     .doc = "With --capture: store hashes instead of data, so that the file can be shared. A replay can "
            "compare only results that do not depend on the missing data"},
    {.name = "capture-hashes",
     .doc = "With --capture: store a hash of the memory that each command wrote, so that a replay can name "
            "the first wrong command. Each command then waits for a copy"},
    {.name = "frames",
     .argument = "FORM",
     .optional = true,
     .doc = "State in the trace what a frame of this program is, for 'analyze frames' and --frame N of "
            "'view' and "
            "'replay' (below, docs/frames.md); default present"},
    {.name = "xray",
     .argument = "MODE",
     .optional = true,
     .word = xray_word,
     .word_doc = xray_doc,
     .doc = "Also record functions instrumented by clang -fxray-instrument, on the same clock "
            "(docs/sources.md); default mode basic"},
    {.name = "gpu-counters",
     .argument = "HZ",
     .doc = "Sample power, clocks, memory, utilization, NVLink and PCIe of NVIDIA GPUs HZ times per second "
            "(through NVML, in a separate process)"},
    {.name = "clock-probe",
     .argument = "LISTEN[,PEER...]",
     .doc = "Compare this host's clock with those of other hosts: listen on the address and port LISTEN, and "
            "ask "
            "the hosts that listen on PEER. All hosts need the same secret in TRACESMITH_PROBE_TOKEN "
            "(docs/cluster.md)"},
    {.name = "ptp",
     .argument = "DEVICE",
     .kind = VALUE_FILE,
     .doc =
         "Compare this host's clock with the PTP hardware clock DEVICE, such as /dev/ptp0 (docs/cluster.md); "
         "needs --ptp-error"},
    {.name = "ptp-error",
     .argument = "TIME",
     .doc = "With --ptp: how far the PTP clocks of the hosts may be from each other, as ptp4l reports it"},
    {.name = "max-overhead",
     .argument = "P",
     .doc = "Measure the overhead of recording per thread, and keep it below P % by recording only some "
            "commands (OpenCL) or calls (MPI), or leaving out calls (CUDA). The loss ledger counts what is "
            "left out. 100 only measures (docs/opencl.md, docs/cuda.md, docs/mpi.md)"},
    {.name = "nsys",
     .doc = "Record with Nsight Systems instead (nsys must be installed), and import its report"},
    {.name = "nsys-args",
     .argument = "OPTIONS",
     .doc = "The same, with OPTIONS for nsys profile, separated by blanks; quotes group words"},
    {.name = "mctracer",
     .doc = "Record with MetaX's mcTracer instead (the MACA SDK must be installed), and import its trace"},
    {.name = "xctrace",
     .doc = "Record with Apple's Instruments instead (macOS with Xcode), and import what xctrace exports"},
    {.name = "xctrace-template",
     .argument = "TEMPLATE",
     .doc = "The same, with another template of Instruments than 'Metal System Trace'"},
    {.name = "keep-trace",
     .doc = "With --xctrace: keep the trace of Instruments next to the output, as OUTPUT.trace"},
    {.name = "sched",
     .doc = "Record off-CPU times of the program's threads, what they waited for and which thread woke them "
            "(Linux with eBPF; root); with --stacks, with call stacks"},
    {.name = "sample",
     .argument = "HZ",
     .optional = true,
     .doc =
         "Sample the call stacks of the program's threads HZ times per second of their CPU time (1 to 20000; "
         "default 999), and record when they did not run. 'analyze idle' then names the code that ran while "
         "a device was idle (Linux perf events; no root needed) (docs/stacks.md)"},
    {.name = "driver",
     .argument = "NODE",
     .optional = true,
     .repeated = true,
     .doc = "Record requests of the program to GPU drivers (ioctl, mmap of device nodes), faults in mapped "
            "device memory, fences, and jobs of the kernel's GPU scheduler (Linux with eBPF; root). NODE "
            "adds a device node; may be given several times"},
    {.name = "probe",
     .argument = "FILE:FUNCTION",
     .repeated = true,
     .doc = "Record every call of a function in a library or program; with @NAME every pass of a static "
            "probe (USDT); with kernel:FUNCTION every call of a kernel function by the program's threads, "
            "with arguments and result (Linux with eBPF; root). The cost per call is measured and printed "
            "first. May be given several times"},
    FLIGHT_OPTIONS,
    {.name = "armed",
     .doc = "Load the agents, and record only when 'tracesmith record' requests it (docs/live.md)"},
    {.name = "duty",
     .argument = "TIME/PERIOD",
     .doc = "Record TIME of every PERIOD (1s/60s), and nothing in between; answers state how much they have "
            "seen "
            "(docs/live.md)"},
    {.name = "aggregate",
     .argument = "PERIOD",
     .doc =
         "Add events up in the program by kernel, call stack and device, and record the sums once in every "
         "PERIOD (10s) instead of the events. Not with --armed, --capture, --duty or --flight "
         "(docs/live.md)"},
    {.name = "metrics-listen",
     .argument = "ADDRESS",
     .doc = "Serve the totals to Prometheus on a port of the loopback interface (127.0.0.1:9464; port 0: a "
            "free port). The bearer token is in the session directory (docs/live.md)"},
    {.name = "otlp",
     .argument = "URL",
     .doc = "Send the totals as metrics and the ranges as spans to an OpenTelemetry collector on the "
            "loopback interface: OTLP "
            "over HTTP (http://127.0.0.1:4318), joined with the trace of TRACEPARENT (docs/live.md)"},
    {.name = "live",
     .doc = "Compute the totals of 'tracesmith top' from the first event on. Without this option they begin "
            "when the first 'top' starts (docs/live.md)"},
    {.name = "json", .doc = "Print the summary on stderr as one line of JSON"},
    END_OF_OPTIONS};
static const struct example profile_examples[] = {
    {"tracesmith profile -- ./program --its-own options", "Record a program into trace.sbt"},
    {"tracesmith profile -o run.sbt -b 16M python3 train.py", "Use larger ring buffers and another file"},
    {"tracesmith profile --capture -o run.sbt ./program", "Capture everything that a replay needs"},
    {"sudo -E tracesmith profile --sched -o run.sbt ./program", "Find out why the host did not launch"},
    {"tracesmith profile --capture=kernel:blur:3+1 ./program",
     "Capture the third launch of blur and the memory that it reads"},
    {"tracesmith profile --flight=10s --trigger 'range:step>p99*2' -o slow.sbt ./program",
     "Keep the last ten seconds, and write them into slow.1.sbt, ... when a step is slow"},
    {"tracesmith profile --nsys-args \"-t cuda,nvtx\" -o run.sbt ./program",
     "Record with Nsight Systems, into the same format"},
    {NULL, NULL}};

const struct command profile_entry = {
    .name = "profile",
    .operands = "[--] COMMAND [ARGUMENT...]",
    .doc = "Record a program that uses a GPU",
    .about = "Runs COMMAND with TraceSmith's agents injected, and writes the activity of the program and its "
             "devices into one file. Child processes are recorded too. Nothing has to be rebuilt.\n\nThe "
             "exit code is the program's own: 128 + N if signal N ended it, 127 if it was not found, 126 if "
             "it could not be run. It is 4 if the program succeeded but its trace could not be written, or "
             "if a requirement of --sched, --probe or --xray is missing; in that case the program was not "
             "run. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 are forwarded to the program. "
             "Processes that outlive it are recorded until they exit, or until one of these signals.\n\nAn "
             "existing output file is replaced if it is a trace; any other file is not changed.\n\nThe RANGE "
             "of --capture is one of the following.\n\n"
#define RANGE(name, argument, doc) name argument ": " doc "\n\n"
    TSMITH_CAPTURE_RANGE_TABLE(RANGE)
#undef RANGE
        "Memory that the range reads is copied when it is first read; the cost is proportional to the memory "
        "touched. With 'signal', SIGUSR1 to tracesmith begins and ends the capture, and is not "
        "forwarded; with 'frame', SIGUSR2 and 'tracesmith trigger' capture the next frame. "
        "Of Vulkan only whole frames are captured, with the ranges of frames and without a range.\n\nFORM of "
        "--frames is one of the following.\n\n"
#define FORM(name, argument, doc) name argument ": " doc "\n\n"
    TSMITH_FRAMES_TABLE(FORM)
#undef FORM
        "WHAT of --trigger is one of the following.\n\n"
#define TRIGGER(name, argument, doc) name argument ": " doc "\n\n"
    TSMITH_FLIGHT_TRIGGER_TABLE(TRIGGER)
#undef TRIGGER
        "Times are 20ms, 1.5s, 300us. With --flight, SIGUSR2 is not forwarded.",
    .operands_least = 1,
    .operands_most = (size_t)-1,
    .operand_kind = VALUE_PROGRAM,
    .options = profile_options,
    .examples = profile_examples,
    .run = command_profile,
};

// ---- attach

static const struct option attach_options[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .kind = VALUE_TRACE,
     .doc = "Output file; default trace.sbt" OUTPUT_PATTERN " (of PID)"},
    {.name = "duration",
     .letter = 'd',
     .argument = "TIME",
     .doc = "How long to record (5, 500ms, 2m); default until Ctrl-C or the end of the program"},
    {.name = "buffer",
     .letter = 'b',
     .argument = "SIZE",
     .doc = "Maximum size of each thread's ring buffer (512K, 4M, 1G); default 64M"},
    {.name = "overflow",
     .argument = "POLICY",
     .word = overflow_word,
     .word_doc = overflow_doc,
     .doc = "What to do when a ring buffer is full; default drop-newest"},
    {.name = "api",
     .argument = "LIST",
     .word = tsmith_agent_name,
     .word_doc = tsmith_agent_doc,
     .list = true,
     .doc = "GPU APIs to record, separated by commas; default all whose agents can be loaded into a running "
            "program (OpenCL, CUDA)"},
    {.name = "stacks",
     .doc = "Record the call stack of every call that enqueues a command, builds a program, allocates memory "
            "or waits; not of an armed program"},
    {.name = "patience",
     .argument = "TIME",
     .doc = "How long to try before giving up (500ms, 10s); default about 2s"},
    FLIGHT_OPTIONS,
    {.name = "json", .doc = "Print the summary on stderr as one line of JSON"},
    END_OF_OPTIONS};
static const struct example attach_examples[] = {
    {"tracesmith attach 4711 -d 10 -o trace.sbt", "Record process 4711 for ten seconds"},
    {"tracesmith attach 4711 --flight=10s --trigger 'call:clFinish>p99*4' -o slow.sbt",
     "Write the ten seconds before each slow clFinish"},
    {NULL, NULL}};

const struct command attach_entry = {
    .name = "attach",
    .operands = "PID",
    .doc = "Record a program that was started without TraceSmith",
    .about =
        "Records process PID of this user from now on, and leaves it as it was. If it is armed "
        "('tracesmith profile "
        "--armed'), its agents are switched on. Otherwise one of its threads that waits in a system "
        "call is borrowed for "
        "some hundred microseconds, to load the agents.\n\nWhat cannot be done safely is refused with "
        "the reason, and "
        "nothing is changed: programs that are statically linked, use musl or a glibc before 2.34, have "
        "a filter of system calls "
        "(seccomp) or a shadow stack, run as another user or under a debugger, or "
        "have no thread at a safe "
        "place in time (--patience). On processors other than x86-64 only armed programs can be recorded. "
        "OpenCL and CUDA can be recorded, also in containers; what "
        "a late arrival cannot see is listed in docs/live.md.\n\nWHAT of --trigger is one of those of "
        "'tracesmith help profile', but "
        "not exit and crash: how a process ends that another one has started is not known.",
    .operands_least = 1,
    .operands_most = 1,
    .options = attach_options,
    .examples = attach_examples,
    .run = command_attach,
};

// ---- top

static const struct option top_options[] = {
    {.name = "interval", .argument = "TIME", .doc = "Time between two readings (50ms to 1h); default 500ms"},
    {.name = "once", .doc = "Print one table, with the rates of one interval, and exit"},
    {.name = "json", .doc = "Print every reading as one line of JSON"},
    END_OF_OPTIONS};
static const struct example top_examples[] = {
    {"tracesmith top", "Show the only recording that is running"},
    {"tracesmith top --once --json 4711", "Totals of the recording of process 4711, for a program"},
    {NULL, NULL}};

const struct command top_entry = {
    .name = "top",
    .operands = "[PID | DIRECTORY]",
    .doc = "Show the totals of a running recording",
    .about = "Shows, twice a second, how busy each device is, the kernels with the most time, copies, waits, "
             "memory, lost events and the cost of recording itself, until the recording ends. PID is a "
             "recorded process, or the 'tracesmith profile' that records it; DIRECTORY is its session "
             "directory. Neither is needed if one recording of this user is running.\n\nThe collector adds "
             "up the events that it delivers, from the start of the first 'top' on, or from the start of the "
             "program with 'profile --live'; this costs the profiled program nothing. 'busy' is the share of "
             "the second before the last one, because events are delivered with a delay (docs/live.md).",
    .operands_most = 1,
    .options = top_options,
    .examples = top_examples,
    .run = command_top,
};

// ---- record

static const struct option record_options[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .kind = VALUE_TRACE,
     .doc = "Output file; default trace.sbt. If several programs are recorded, NAME.PID.sbt of "
            "each" OUTPUT_PATTERN " (of each tracesmith that runs an armed program)"},
    {.name = "duration",
     .letter = 'd',
     .argument = "TIME",
     .doc = "How long to record (5, 500ms, 2m); default 5s, or with --steps until the steps have ended"},
    {.name = "platform",
     .letter = 'p',
     .argument = "API",
     .word = tsmith_agent_name,
     .word_doc = tsmith_agent_doc,
     .doc = "Fail for a program that does not use this API"},
    {.name = "pid",
     .argument = "PID",
     .doc = "Record only the program that this process belongs to; default all armed programs of this user"},
    {.name = "steps", .argument = "N", .doc = "End when N ranges called 'step' (or --step) have ended"},
    {.name = "step", .argument = "NAME", .doc = "With --steps: name of the ranges; default step"},
    {.name = "at",
     .argument = "WHEN",
     .doc =
         "Begin at a time: @SECONDS since 1970, +TIME from now, or /TIME: when the time since 1970 is next a "
         "multiple of TIME (/10s), to begin on several machines at once"},
    END_OF_OPTIONS};
static const struct example record_examples[] = {
    {"tracesmith profile --armed -- python3 serve.py", "Start a program that can be recorded later"},
    {"tracesmith record -o trace.sbt -d 5", "Record it for five seconds"},
    {"tracesmith record -o trace.sbt --pid 4711 --steps 10", "Record ten steps of process 4711"},
    {NULL, NULL}};

const struct command record_entry = {
    .name = "record",
    .doc = "Record programs that are running",
    .about =
        "Records programs of this user that were started with 'tracesmith profile --armed': their agents are "
        "loaded and silent, and are switched on for the time of the recording. Programs that were started "
        "otherwise: 'tracesmith attach'. Ctrl-C ends the recording early and keeps what was recorded. An "
        "existing output file is replaced if it is a trace, when the new one is complete.",
    .options = record_options,
    .examples = record_examples,
    .run = command_record,
};

// ---- trigger

static const struct option trigger_options[] = {END_OF_OPTIONS};
static const struct example trigger_examples[] = {
    {"tracesmith trigger", "Write the last seconds of the only recording that is running"},
    {"tracesmith trigger 4711",
     "The same for the recording of process 4711; or, with --capture=frame, capture its next frame"},
    {NULL, NULL}};

const struct command trigger_entry = {
    .name = "trigger",
    .operands = "[PID | DIRECTORY]",
    .doc = "Write the window of a flight recorder, or capture the next frame",
    .about = "Requests a running 'tracesmith profile --flight' to write the events of its last seconds to a "
             "file, as if one of its triggers had occurred, or a running 'profile --capture=frame' to "
             "capture the next "
             "frame. Returns when the request was received; the file "
             "is complete about a second later. PID and DIRECTORY are as for 'tracesmith top'.",
    .operands_most = 1,
    .options = trigger_options,
    .examples = trigger_examples,
    .run = command_trigger,
};

// ---- recover

static const struct option recover_options[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .kind = VALUE_TRACE,
     .doc = "Output file; default recovered.sbt, or NAME.recovered.sbt in the directory of the NAME.sbt that "
            "a killed recording was writing"},
    {.name = "remove",
     .doc = "Remove DIRECTORY, and free its memory, after everything in it has been written"},
    JSON_OPTION,
    END_OF_OPTIONS};
static const struct example recover_examples[] = {
    {"tracesmith recover trace.sbt -o whole.sbt", "Repair a file that was cut off"},
    {"tracesmith recover", "List unfinished recordings on this machine"},
    {"tracesmith recover /dev/shm/tracesmith-x7Yk2q", "Write the whole trace of a killed recording"},
    {"tracesmith recover /dev/shm/tracesmith-x7Yk2q -o run.sbt --remove",
     "The same, replacing the unfinished file, and remove the directory"},
    {NULL, NULL}};

const struct command recover_entry = {
    .name = "recover",
    .operands = "[FILE | DIRECTORY]",
    .doc = "Write a whole trace from a damaged file or a killed recording",
    .about =
        "FILE is a truncated or damaged trace: everything readable is written to a new file, with the rest "
        "in its loss ledger. DIRECTORY is the session directory of a recording whose tracesmith process was "
        "killed: the new file has the events that had been written before, followed by those that had not, "
        "so that every committed event is there once. Neither the directory nor the unfinished file is "
        "changed, unless --output names that file; then the recovered trace replaces it. For a recording of "
        "another user, --output is required, and the unfinished file is read only if it belongs to that "
        "user.\n\nWithout an operand, lists running and unfinished recordings on this machine.",
    .operands_least = 0,
    .operands_most = 1,
    .operand_kind = VALUE_FILE,
    .options = recover_options,
    .examples = recover_examples,
    .run = command_recover,
};

// ---- devices

static const struct option devices_options[] = {
    {.name = "topology",
     .doc =
         "Print instead how GPUs and network adapters are connected: a matrix, and the rates of their links"},
    {.name = "sysroot",
     .argument = "DIR",
     .kind = VALUE_FILE,
     .doc = "With --topology: read DIR/sys, a copy of another machine's /sys"},
    {.name = "file",
     .argument = "FILE",
     .kind = VALUE_FILE,
     .doc = "With --topology: that of the machine on which the trace FILE was recorded"},
    {.name = "xml", .doc = "With --topology: print XML, with the names of --json"},
    JSON_OPTION,
    END_OF_OPTIONS};
static const struct example devices_examples[] = {
    {"tracesmith devices", "List the devices"},
    {"tracesmith devices --topology", "Which GPUs are close to each other and to which network adapter"},
    {"tracesmith devices --topology --file run.0.sbt", "The same of the machine that a trace is from"},
    {NULL, NULL}};

const struct command devices_entry = {
    .name = "devices",
    .doc = "List the devices that can be profiled",
    .about = "Queries every GPU API for which there is an agent. The numbers, from 0, are those of replay "
             "--device (OpenCL only), also with --json; in a trace, devices are numbered separately, from 1. "
             "If there is no device, prints how to get one and exits with 4.",
    .options = devices_options,
    .examples = devices_examples,
    .run = command_devices,
};

// ---- benchmark

static const struct option benchmark_options[] = {
    {.name = "launches",
     .letter = 'n',
     .argument = "COUNT",
     .doc = "Number of kernels to launch; default 10000"},
    {.name = "runs",
     .argument = "COUNT",
     .doc = "Number of runs of each kind; default 5. More runs are less affected by other processes"},
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .kind = VALUE_TRACE,
     .doc = "Keep the trace of the last traced run"},
    JSON_OPTION,
    END_OF_OPTIONS};
static const struct example benchmark_examples[] = {
    {"tracesmith benchmark", "Measure the cost of recording on this machine"}, {NULL, NULL}};

const struct command benchmark_entry = {
    .name = "benchmark",
    .doc = "Measure the overhead of recording on this machine",
    .about = "Launches nearly empty kernels on the first device, each from a different call path: bare, "
             "recorded, and recorded with call stacks, in turns. Prints for each the wall time of a launch "
             "(median and minimum of the runs), the processor time of the launching thread, whether every "
             "launch was recorded, and whether each has the correct call stack. Exits with 1 if a launch is "
             "missing from a trace or has a wrong stack.",
    .options = benchmark_options,
    .examples = benchmark_examples,
    .run = command_benchmark,
};
