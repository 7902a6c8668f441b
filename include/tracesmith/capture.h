// SPDX-License-Identifier: Apache-2.0
// Recording another program: a session directory, the program with the agents injected, and the source of the recorded
// events. `tracesmith profile` is a capture and a file writer.
#ifndef TRACESMITH_CAPTURE_H
#define TRACESMITH_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/export.h"
#include "tracesmith/live.h"
#include "tracesmith/status.h"
#include "tracesmith/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

// The policy of a full ring. X(NAME, number, "name", "doc")
#define TSMITH_OVERFLOW_TABLE(X)                                                                             \
    X(DROP_NEWEST, 0, "drop-newest",                                                                         \
      "keep the oldest events; count the events that arrive while the ring is full")                         \
    X(DROP_OLDEST, 1, "drop-oldest", "keep the newest events; count the events that are overwritten")        \
    X(BLOCK, 2, "block",                                                                                     \
      "let the program wait until there is room; events are lost, and counted as block_timeout, only if "    \
      "the collector has no heartbeat for longer than the block timeout")

typedef enum tsmith_overflow {
#define TSMITH_OVERFLOW_ENUM(NAME, number, name, doc) TSMITH_OVERFLOW_##NAME = number,
    TSMITH_OVERFLOW_TABLE(TSMITH_OVERFLOW_ENUM)
#undef TSMITH_OVERFLOW_ENUM
} tsmith_overflow;

typedef struct tsmith_capture tsmith_capture;

enum { TSMITH_STACK_FRAMES_LEAST = 8, TSMITH_STACK_FRAMES_DEFAULT = 1000, TSMITH_STACK_FRAMES_MOST = 16384 };

// An option of an agent: a key of its table (tsmith_agent_option_describe) and a value.
typedef struct tsmith_agent_option {
    const char *api;   // "cuda"
    const char *key;   // "pc-samples"
    const char *value; // "12"; NULL or "": none
} tsmith_agent_option;

typedef struct tsmith_capture_options {
    size_t size;         // sizeof(tsmith_capture_options)
    size_t buffer_bytes; // of the ring of each thread; 0: the default (at most 64 MiB, allocated as needed)
    tsmith_overflow overflow;
    // The agents to inject, by name ("opencl"); NULL: all that are injected by default (tsmith_agent_name).
    const char *const *apis;
    size_t api_count;
    const char *agent_directory; // folder of the agents; NULL: next to the library, or TRACESMITH_AGENT_DIR
    int only_program; // end with the program, even if processes that it started still run (tsmith_capture_stop)
    const char
        *session_root; // where the session directory is created; NULL: /dev/shm, else TMPDIR, else /tmp
    // The file to which the caller writes each batch before it requests the next one; NULL: none. A killed recording
    // is then recovered into one whole trace (tsmith_capture_complete).
    const char *output;
    int stacks; // record the call stack of every call that enqueues a command or builds a program
    // A range (below): also record commands, objects and data, so that tsmith_replay_run can run them again
    // (tracesmith/replay.h). NULL: record events only.
    const char *recording;
    const char *const *environment; // "NAME=VALUE", NULL after the last: added for the program; NULL: none
    uint32_t gpu_counter_rate; // samples per second of NVIDIA GPUs' counters, in a separate process; 0: none
    int recording_hashes_only; // record hashes of data, and no data; the file can be published
    int recording_every_command; // also record hashes of what each command wrote
    // % of a thread's time that recording may take (OpenCL, CUDA, MPI). Beyond it, events are left out and counted. 0: no limit.
    double max_overhead;
    // The older form of agent_options, for CUDA only: keys separated by commas, each with its value after a ':'; the
    // names of metrics after another one ("graphs,metrics:100:NAME+NAME").
    const char *cuda;
    // Policy block: seconds that a thread waits without a heartbeat of the collector; 0: 5; below 0: as long as the
    // collector's process lives.
    double block_timeout;
    // With `stacks`: how many innermost frames of a stack are recorded, TSMITH_STACK_FRAMES_LEAST to
    // TSMITH_STACK_FRAMES_MOST (a Python function counts as two); 0: TSMITH_STACK_FRAMES_DEFAULT.
    uint32_t stack_frames;
    // Options of injected agents; of two with the same key the last applies. INVALID_ARGUMENT for an unknown agent, key
    // or value, with a message that lists the valid ones.
    const tsmith_agent_option *agent_options;
    size_t agent_option_count;
    int live;  // add up the totals of tracesmith/live.h from the first event on; 0: from the first request on
    int armed; // load the agents, but record nothing until tsmith_capture_arm
    int64_t attach_patience; // ns after which tsmith_capture_attach gives up; 0: 1.5 s
    // What a frame of this program is (tracesmith/frames.h); the trace states it. NULL: it states nothing.
    const char *frames;
    // Compare this host's trace clock with those of other hosts while the program runs (docs/cluster.md): the numeric address and port
    // on which to listen, and those of the other hosts, separated by commas. Needs the variable TRACESMITH_PROBE_TOKEN. If the
    // port is refused, the trace has a notice. Processes whose local rank is above 0 leave it to that of rank 0. NULL: no.
    const char *clock_probe;
    // Record `duty_on` ns of every `duty_period` ns, from the start on. Times in which nothing is recorded are losses (OFF_DUTY), and the
    // attributes duty.* of the trace state how much was recorded. docs/live.md lists the agents that do not support this. 0: always.
    int64_t duty_on, duty_period;
    // The process that tsmith_capture_attach will be called with. Needed where it sees other files (a container, a chroot): the session
    // directory is created where it can use it (its /dev/shm, /tmp, /var/tmp or /run), and `session_root` is not used. 0: not known.
    uint32_t attach_pid;
    uint32_t reserved;
    // A PTP hardware clock ("/dev/ptp0") to compare with the trace clock while the program runs, and how far, in ns, it may be from those of
    // the other hosts of the run (docs/cluster.md). A device that cannot be read is refused. NULL: none.
    const char *ptp_clock;
    int64_t ptp_error;
    // Agents that can (OpenCL, CUDA) add up events in the program, and write sums of them (TSMITH_KIND_SUM) once in so many ns, in place of
    // an event for each kernel, copy, call and wait. The attribute aggregate.period_ns of the trace states it. Not with `armed`, `duty_on`
    // or a recording. 0: they write events.
    int64_t aggregate;
} tsmith_capture_options;

// The commands that are recorded for replay. X("name", "argument", "which commands")
#define TSMITH_CAPTURE_RANGE_TABLE(X)                                                                        \
    X("all", "", "everything")                                                                               \
    X("kernels", ":M+N", "N launches from the Mth on (the first is 1), and the commands between them")       \
    X("kernel", ":NAME[:M+N]", "the launches of one kernel, or N of them from the Mth on")                   \
    X("between", ":NAME..NAME", "from a launch of one kernel to the next of another, each time")             \
    X("queue", ":N", "the commands of the Nth queue that the program creates")                               \
    X("thread", ":N", "the commands of the Nth host thread that enqueues one")                               \
    X("signal", "", "the commands between one tsmith_capture_trigger and the next")                          \
    X("range", ":NAME", "the commands that any thread enqueues while an NVTX range of this name is open")    \
    X("frame", "", "the next whole frame (--frames wait or range:NAME) after each tsmith_capture_trigger")   \
    X("key", ":KEY",                                                                                         \
      "the next frame (--frames present) after each press of KEY, F1 to F12, in a window of the program "    \
      "(Vulkan, X11)")                                                                                       \
    X("frames", ":M+N", "N frames from the Mth on (the first is 1)")                                         \
    X("frames-every", ":N", "every Nth frame")                                                               \
    X("frames-after", ":MS", "each frame (--frames wait) that follows one of MS milliseconds or more")

// Whether the APIs and the agents' options exist and fit together, before anything is made: INVALID_ARGUMENT names
// the problem and the available values. tsmith_capture_create checks the same.
TSMITH_API tsmith_status tsmith_capture_check(const tsmith_capture_options *options, tsmith_error *error);
// Makes the session directory (0700, unpredictable name). `options` may be NULL.
TSMITH_API tsmith_status tsmith_capture_create(const tsmith_capture_options *options, tsmith_capture **out,
                                               tsmith_error *error);
// Starts the program with the agents injected (argv is NULL-terminated; argv[0] is looked up in PATH).
// NOT_FOUND or PERMISSION when it cannot be run, as a shell would see it.
TSMITH_API tsmith_status tsmith_capture_start(tsmith_capture *capture, char *const *argv,
                                              tsmith_error *error);
// The effect of attaching on a program.
typedef struct tsmith_attach_report {
    size_t size;             // sizeof(tsmith_attach_report), the caller's
    uint32_t thread;         // id of the program's thread that loaded the agents
    uint32_t threads_tried;  // other threads that were stopped, found unsafe and resumed
    int64_t stopped_ns;      // how long the thread was stopped, from before the request until it was resumed
    int64_t longest_stop_ns; // the longest such time of any thread
    int64_t ready_ns;        // from the begin of the call until the agents recorded
    char text[512];          // a message about what is not recorded; "" if there is none
    // How the agents were loaded: "borrowed thread", or "remote execution" by the program's own Python, for which no thread is
    // stopped. And why a Python program was not recorded in the latter way; "" if it was, or is none.
    char way[32];
    char not_remote[192];
} tsmith_attach_report;

// Instead of tsmith_capture_start: records a running program of this user, from now until tsmith_capture_stop or its end. One of
// its threads loads the agents. Fails with the reason if this is not safe: PERMISSION, STATE, UNSUPPORTED, BUSY (no thread
// was at a safe place, or the agents were not loaded, in time). Requires x86-64, glibc 2.34 or newer, and agents that can be loaded late (docs/live.md). `out` may be
// NULL; it is also filled on failure. The agents leave by themselves when the capture ends or its process is gone.
TSMITH_API tsmith_status tsmith_capture_attach(tsmith_capture *capture, uint32_t pid,
                                               tsmith_attach_report *out, tsmith_error *error);
// The live source. next() returns AGAIN after at most about 50 ms without a batch, and END when the program has ended and its
// rings are drained. The capture owns the source.
TSMITH_API tsmith_source *tsmith_capture_source(tsmith_capture *capture);
// Adds another source to the recording. Its batches follow all batches of the programs. Its processes and threads are those of
// the recording with the same ids; its times must be on the trace clock. The capture takes ownership, also on failure.
TSMITH_API tsmith_status tsmith_capture_add_source(tsmith_capture *capture, tsmith_source *taken);
// Calls `ended` once, in next(), when all events of the programs were delivered and no more will come; `ended` may then add
// sources of events that were gathered meanwhile. At most four such functions, else LIMIT.
TSMITH_API tsmith_status tsmith_capture_on_end(tsmith_capture *capture,
                                               void (*ended)(void *context, tsmith_capture *capture),
                                               void *context);
// When the program has ended but processes it started still run (a shell's background job, a daemon), the recording
// continues until they have ended, or until it is stopped: from then on nothing more is recorded, and next() drains
// to END. Async-signal-safe. Processes that were recorded and still run are in the ledger as still_running.
TSMITH_API void tsmith_capture_stop(tsmith_capture *capture);
// The number of such processes at the last check; 0 while the program itself runs. Async-signal-safe.
TSMITH_API uint32_t tsmith_capture_left_running(const tsmith_capture *capture);
// After END: how many processes used a GPU API and could not be recorded, because they had no file descriptor, memory
// or space left for it. The trace's attribute "unrecorded.processes" has the same number.
TSMITH_API uint32_t tsmith_capture_unrecorded(const tsmith_capture *capture);
// Whether the session directory was removed while the program ran. Processes that started after that were not recorded, and
// the trace has a loss with the time of the removal.
TSMITH_API int tsmith_capture_directory_removed(const tsmith_capture *capture);
// Sends a signal to the program (async-signal-safe); for forwarding SIGINT, SIGTERM, SIGHUP, ...
TSMITH_API void tsmith_capture_signal(tsmith_capture *capture, int signal_number);
// Switches recording on or off, for all processes of the program. docs/live.md lists the agents that do not support this. Does
// nothing after the recording has ended.
TSMITH_API void tsmith_capture_arm(tsmith_capture *capture, int on);
// The totals of the recording up to now, if it was made with `live`; else zeros.
TSMITH_API void tsmith_capture_live(tsmith_capture *capture, tsmith_live_totals *out);
// For the range "signal": begins a captured range, or ends it; for "frame": captures the next frame (async-signal-safe).
TSMITH_API void tsmith_capture_trigger(tsmith_capture *capture);
// After END: the program's wait status as waitpid gives it.
TSMITH_API int tsmith_capture_wait_status(const tsmith_capture *capture);
// The APIs that were used: the name, and the number of processes that used it. False past the last index.
TSMITH_API int tsmith_capture_api_seen(const tsmith_capture *capture, size_t index, const char **name,
                                       uint32_t *processes);
// After the start: a requested option that could not be applied, though the program runs; "" if there is none.
TSMITH_API const char *tsmith_capture_note(const tsmith_capture *capture);
TSMITH_API const char *tsmith_capture_directory(const tsmith_capture *capture);
// Ends the recording. The session directory is removed if everything in it was delivered, otherwise it is kept for
// recovery.
TSMITH_API void tsmith_capture_destroy(tsmith_capture *capture);

// The result of completing a recording whose collector is gone (killed, full disk).
typedef struct tsmith_capture_completion {
    size_t size;          // sizeof(tsmith_capture_completion), the caller's
    uint64_t file_events; // copied from the file that the recording had been writing
    uint64_t ring_events; // added from the session directory
    int file_missing; // that file does not exist, cannot be read, or is not of this recording: nothing is copied from it
    int file_damaged;   // parts of it could not be read; the ledger has them
    int file_whole;     // it was complete already
    int may_repeat;     // the last events may be in it twice, because the journal had no space
    int output_failed;  // the call failed because `path` could not be written
    int recording_left; // the call failed, and the data for replay is only in the session directory
    char note[512];     // a message for the user about any of these; "" if there is none
} tsmith_capture_completion;

// Writes one trace of everything that a recording committed, each event once: the whole frames of the file that it was
// writing, and the events left in its session directory. `path` may be the same file: it is replaced when the new one is
// complete. The old file is only read if it is a regular file of the session directory's owner. Nothing else is changed, and
// a second call gives the same bytes. TRUNCATED: everything readable was written.
// `keep_going` as for tsmith_pump.
TSMITH_API tsmith_status tsmith_capture_complete(const char *directory, const char *path,
                                                 int (*keep_going)(void *context), void *context,
                                                 tsmith_capture_completion *out, tsmith_error *error);

// A session directory, running or left behind.
typedef struct tsmith_capture_left {
    size_t size;        // sizeof(tsmith_capture_left), the caller's
    char output[4096];  // the file to which it is written; "": none
    char command[4096]; // the profiled program; "": unknown
    uint32_t collector_pid;
    uint32_t processes;       // live processes that record into it, or may
    int collected;            // the collector is alive
    int64_t started_realtime; // ns of CLOCK_REALTIME; 0: not known
    uint64_t bytes;           // memory (or disk) that it takes
    // The user id of its owner. That user chose `output` and `command`: do not write to `output` for another user.
    uint32_t user;
} tsmith_capture_left;

TSMITH_API tsmith_status tsmith_capture_look(const char *directory, tsmith_capture_left *out,
                                             tsmith_error *error);
// The same of every session directory in /dev/shm, $TMPDIR and /tmp, of any user, running or left behind; a directory that cannot
// be read, or is of another version, is passed over. Reads the processes of the machine once. `directory` and `left` are valid
// until `each` returns.
TSMITH_API tsmith_status tsmith_capture_look_all(void (*each)(void *context, const char *directory,
                                                              const tsmith_capture_left *left),
                                                 void *context, tsmith_error *error);
// Removes the directory with its contents. BUSY while a process records into it or collects from it.
TSMITH_API tsmith_status tsmith_capture_remove(const char *directory, tsmith_error *error);

// A source over a session directory whose collector has ended. It yields all events of the directory, including those that are
// already in a file. tsmith_capture_is_session reports whether a directory is a session directory.
TSMITH_API tsmith_status tsmith_capture_recover(const char *directory, tsmith_source **out,
                                                tsmith_error *error);
TSMITH_API int tsmith_capture_is_session(const char *directory);

TSMITH_API const char *tsmith_overflow_name(tsmith_overflow overflow);
TSMITH_API int tsmith_overflow_find(const char *name, tsmith_overflow *out);

// ---- agents

// The agents that can be injected, by index: the name of the API, and a line about it; NULL past the last.
TSMITH_API const char *tsmith_agent_name(size_t index);
TSMITH_API const char *tsmith_agent_doc(size_t index);

// An option of an agent. The texts are constant.
typedef struct tsmith_agent_option_description {
    size_t size; // sizeof(tsmith_agent_option_description), the caller's
    const char *api;
    const char *key;
    const char *argument; // placeholder of its value in help; NULL: the option has no value
    int value_optional;
    uint64_t least, most; // bounds of a number; of a list, of its length
    const char *doc;      // a sentence without its full stop
} tsmith_agent_option_description;

// The options of all agents, by index; false past the last.
TSMITH_API int tsmith_agent_option_describe(size_t index, tsmith_agent_option_description *out);

// ---- devices

// Adds every device an agent finds to the dictionary. Further facts about a device are attributes, for display: "device.2.uuid"
// (by the entry's number); "problem.cuda" is the reason why an API reports no device or incomplete data. If there is no device,
// the error states how to get one (MISSING if the API is not installed). Drivers are queried in a child process.
TSMITH_API tsmith_status tsmith_devices_enumerate(const char *agent_directory, tsmith_dictionary *into,
                                                  tsmith_error *error);

#ifdef __cplusplus
}
#endif
#endif
