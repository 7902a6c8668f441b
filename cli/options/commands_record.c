// SPDX-License-Identifier: Apache-2.0
// The commands that record, repair and know the machine.
#include "options.h"
#include "tracesmith/capture.h"
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

static const char *api_word(size_t index) {
    static const char *const names[] = {"opencl", "cuda", "nvtx", "nccl", NULL};
    return names[index];
}

static const char *api_doc(size_t index) {
    static const char *const docs[] = {"OpenCL, through a layer of its loader",
                                       "CUDA: its driver loads the agent, and CUPTI tells it what happens",
                                       "Ranges, marks and names that the program says to NVTX",
                                       "Collectives, through a profiler plugin of NCCL"};
    return docs[index];
}

static const char *cuda_word(size_t index) {
    static const char *const names[] = {"graphs", "events", "faults", "latency", "range", NULL};
    return names[index];
}

static const char *cuda_doc(size_t index) {
    static const char *const docs[] = {
        "a launched graph as one event, not each of its nodes: costs less",
        "when each recorded event was reached on the device (CUDA 12.8)",
        "page faults of unified memory, which slow it down",
        "when each kernel was queued and submitted, which slows launches down",
        "only what lies between cudaProfilerStart and cudaProfilerStop",
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
    {.name = "block-timeout",
     .argument = "SECONDS",
     .doc =
         "With --overflow block: how long a thread of the program waits for a collector that gives no sign "
         "of life (it is stopped, or its disk hangs) before it drops events; 5 when not given, never: as "
         "long as the collector's process lives"},
    {.name = "api",
     .argument = "LIST",
     .word = api_word,
     .word_doc = api_doc,
     .list = true,
     .doc = "Which GPU APIs to record, separated by commas; all there are when not given"},
    {.name = "cuda",
     .argument = "LIST",
     .word = cuda_word,
     .word_doc = cuda_doc,
     .list = true,
     .doc = "What else to record of CUDA, separated by commas"},
    {.name = "pc-samples",
     .argument = "N",
     .optional = true,
     .doc =
         "Sample where NVIDIA GPUs are, instruction by instruction, and why they stall: every 2^N cycles (5 "
         "to 31), or as often as CUPTI likes (docs/cuda.md)"},
    {.name = "gpu-metrics",
     .argument = "US[:NAMES]",
     .optional = true,
     .doc = "Sample how busy NVIDIA GPUs' SMs, tensor cores, memory and links are, every US microseconds "
            "(100; 10 to "
            "1000000), or the metrics that are named, with + between them (docs/cuda.md)"},
    {.name = "wait",
     .argument = "WHOM",
     .word = wait_word,
     .word_doc = wait_doc,
     .doc = "How long to record; all when not given"},
    {.name = "stacks",
     .doc =
         "Record the call stack of every call that enqueues a command, builds a program, allocates or waits"},
    {.name = "stack-frames",
     .argument = "N",
     .doc = "With --stacks: record at most the N innermost frames of each call stack (8 to 16384; 1000 when "
            "not given; a Python function counts as two); deeper stacks are marked as truncated and counted "
            "(deep_stack)"},
    {.name = "capture",
     .argument = "RANGE",
     .optional = true,
     .doc =
         "Record commands and data too, so that 'tracesmith replay' can run them again (OpenCL): of "
         "everything, or of a range (below); it costs time and space for all that is written and computed"},
    {.name = "no-payload",
     .doc = "With --capture: keep hashes of data, not the data, so that the file can be given away; a "
            "replay can compare what depends on none of it"},
    {.name = "capture-hashes",
     .doc = "With --capture: keep hashes of what every single command wrote, so that a replay names the "
            "first that goes wrong; each then waits for a copy"},
    {.name = "xray",
     .argument = "MODE",
     .optional = true,
     .word = xray_word,
     .word_doc = xray_doc,
     .doc = "Record the functions that clang -fxray-instrument put into the program too, on the same clock "
            "(docs/sources.md); basic when no mode is given"},
    {.name = "gpu-counters",
     .argument = "HZ",
     .doc = "Sample power, clocks, memory, utilisation, NVLink and PCIe of NVIDIA GPUs so often per second "
            "(through NVML, "
            "outside the program)"},
    {.name = "max-overhead",
     .argument = "P",
     .doc = "Measure what recording costs each thread, and record only some of the commands (OpenCL) or "
            "leave out "
            "calls (CUDA) where it would be more than P % of its time; what is left out is in the loss "
            "ledger; 100 "
            "only measures (docs/opencl.md, docs/cuda.md)"},
    {.name = "nsys",
     .doc = "Let Nsight Systems record instead (nsys, where it is installed), and import its report into the "
            "trace"},
    {.name = "nsys-args",
     .argument = "OPTIONS",
     .doc = "The same, with OPTIONS for nsys profile: words between blanks; quotes keep blanks together"},
    {.name = "sched",
     .doc =
         "Record when threads of the program did not run, what they waited in and who woke them (Linux with "
         "eBPF; root); with --stacks, from where"},
    {.name = "driver",
     .argument = "NODE",
     .optional = true,
     .repeated = true,
     .doc =
         "Record what threads of the program ask of GPU drivers by their device nodes (ioctl, mmap), faults "
         "in "
         "memory of theirs, fences, and jobs of the kernel's GPU scheduler (Linux with eBPF; root). NODE: of "
         "this device, too"},
    {.name = "probe",
     .argument = "FILE:FUNCTION",
     .repeated = true,
     .doc =
         "Record every call of a function of a library or program, or every pass of a static probe (USDT) "
         "if it is @NAME, or, with kernel:FUNCTION, what the program's threads call in the system's kernel, "
         "with arguments and result (Linux with eBPF; root); what one costs is measured and said first. May "
         "be given several times"},
    {.name = "json", .doc = "Make the summary on stderr one line of JSON"},
    END_OF_OPTIONS};
static const struct example profile_examples[] = {
    {"tracesmith profile -- ./program --its-own options", "Record a program into trace.sbt"},
    {"tracesmith profile -o run.sbt -b 16M python3 train.py", "Larger rings, another file"},
    {"tracesmith profile --capture -o run.sbt ./program", "With all that is needed to replay it"},
    {"sudo -E tracesmith profile --sched -o run.sbt ./program", "Why the host did not launch"},
    {"tracesmith profile --capture=kernel:blur:3+1 ./program",
     "Its third launch of blur, and what that reads"},
    {"tracesmith profile --nsys-args \"-t cuda,nvtx\" -o run.sbt ./program",
     "By Nsight Systems, into the same format"},
    {NULL, NULL}};

const struct command profile_entry = {
    .name = "profile",
    .operands = "[--] COMMAND [ARGUMENT...]",
    .doc = "Record a program that uses a GPU",
    .about =
        "Runs COMMAND with TraceSmith's agents injected, and writes what the device and the program did "
        "into one file. Programs it starts are recorded too. Nothing has to be rebuilt.\n\n"
        "The exit code is the program's own: 128 + N when signal N ended it, 127 when it was not found, 126 "
        "when it could not be run. Only when the program succeeded and its trace could not be written is it "
        "4, or when something is lacking that --sched, --probe or --xray need: then nothing was run. SIGINT, "
        "SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 are handed on to the program. "
        "Processes that outlive it are recorded until they end, or until one of these signals.\n\n"
        "A file that is there already is replaced if it is a trace; any other file is left alone.\n\n"
        "The RANGE of --capture is one of these.\n\n"
#define RANGE(name, argument, doc) name argument ": " doc "\n\n"
    TSMITH_CAPTURE_RANGE_TABLE(RANGE)
#undef RANGE
        "What memory holds that a range reads first is copied then: it costs what it touches. With "
        "'signal', SIGUSR1 to tracesmith begins and ends recording, and is not handed on.",
    .operands_least = 1,
    .operands_most = (size_t)-1,
    .operand_kind = VALUE_PROGRAM,
    .options = profile_options,
    .examples = profile_examples,
    .run = command_profile,
};

// ---- recover

static const struct option recover_options[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .kind = VALUE_TRACE,
     .doc = "Where the repaired trace is written; when not given, recovered.sbt, or NAME.recovered.sbt "
            "beside the "
            "NAME.sbt that a killed recording was writing"},
    {.name = "remove",
     .doc = "Remove DIRECTORY, and free the memory it takes, once everything in it is written"},
    JSON_OPTION,
    END_OF_OPTIONS};
static const struct example recover_examples[] = {
    {"tracesmith recover trace.sbt -o whole.sbt", "Repair a file that was cut off"},
    {"tracesmith recover", "What was left behind on this machine"},
    {"tracesmith recover /dev/shm/tracesmith-x7Yk2q", "Write the whole trace of a killed recording"},
    {"tracesmith recover /dev/shm/tracesmith-x7Yk2q -o run.sbt --remove",
     "The same in the place of what it had written, and tidy up"},
    {NULL, NULL}};

const struct command recover_entry = {
    .name = "recover",
    .operands = "[FILE | DIRECTORY]",
    .doc = "Write a whole trace from a damaged file or a killed recording",
    .about =
        "FILE is a trace that was cut off or damaged: everything readable is written into a new file, with "
        "what is missing in its loss ledger. DIRECTORY is what a recording left behind when tracesmith "
        "itself was killed: the new file begins with what the recording had written before, and goes on with "
        "what it had not, so that everything the program had committed is there once. Neither the directory "
        "nor the file that was being written is changed, unless --output names that file: then the whole "
        "trace takes its place. For a recording of another user, --output is required, and the file that was "
        "being written is only read when it belongs to that user.\n\n"
        "Without an operand, lists the recordings that run or were left behind on this machine.",
    .operands_least = 0,
    .operands_most = 1,
    .operand_kind = VALUE_FILE,
    .options = recover_options,
    .examples = recover_examples,
    .run = command_recover,
};

// ---- devices

static const struct option devices_options[] = {JSON_OPTION, END_OF_OPTIONS};
static const struct example devices_examples[] = {{"tracesmith devices", "What there is to profile on"},
                                                  {NULL, NULL}};

const struct command devices_entry = {
    .name = "devices",
    .doc = "List the devices that can be profiled",
    .about = "Asks every GPU API there is an agent for. The numbers, from 0, are those that replay --device "
             "takes (OpenCL only), with --json too; in a trace devices are numbered by themselves, from 1. "
             "When there is no device, says how to get one and exits with 4.",
    .options = devices_options,
    .examples = devices_examples,
    .run = command_devices,
};

// ---- benchmark

static const struct option benchmark_options[] = {{.name = "launches",
                                                   .letter = 'n',
                                                   .argument = "COUNT",
                                                   .doc = "Kernels to launch; 10000 when not given"},
                                                  {.name = "runs",
                                                   .argument = "COUNT",
                                                   .doc = "Runs of each kind; 5 when not given. More of them "
                                                          "find times that nothing else disturbed"},
                                                  {.name = "output",
                                                   .letter = 'o',
                                                   .argument = "FILE",
                                                   .kind = VALUE_TRACE,
                                                   .doc = "Keep the trace of the last traced run"},
                                                  JSON_OPTION,
                                                  END_OF_OPTIONS};
static const struct example benchmark_examples[] = {
    {"tracesmith benchmark", "What recording costs on this machine"}, {NULL, NULL}};

const struct command benchmark_entry = {
    .name = "benchmark",
    .doc = "Measure what recording costs on this machine",
    .about =
        "Launches kernels that do next to nothing on the first device, each from another call path: "
        "bare, recorded, "
        "and recorded with call stacks, in turns. Prints the wall time of a launch in each (the median of "
        "the runs, and the least), the processor time of the thread that launches, "
        "whether every launch was recorded, and whether each has the call stack that it was made from. "
        "Exits with 1 "
        "when a launch is missing from a trace or has another stack.",
    .options = benchmark_options,
    .examples = benchmark_examples,
    .run = command_benchmark,
};
