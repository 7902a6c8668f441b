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

// What a full ring does with events. X(NAME, number, "name", "doc")
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
    size_t buffer_bytes; // of the ring of each thread; 0: the default (at most 64 MiB, taken as needed)
    tsmith_overflow overflow;
    const char *const *apis; // which agents to inject, by name ("opencl"); NULL: all there are
    size_t api_count;
    const char *agent_directory; // where the agents are; NULL: next to the library, or TRACESMITH_AGENT_DIR
    int only_program; // end with the program, even when processes it started still run (tsmith_capture_stop)
    const char *session_root; // where the session directory is made; NULL: /dev/shm, else TMPDIR, else /tmp
    const char *
        output; // the file that every batch is written to before the next one is asked for, if there is one: then
                // a recording that is killed is recovered into one whole trace (tsmith_capture_complete)
    int stacks; // every call that puts something into a queue, or builds a program, gets its call stack
    const char *
        recording; // a range (below): record commands, objects and data too, so that tsmith_replay_run can run
                   // them again (tracesmith/replay.h); NULL: only what happened when
    const char *const
        *environment; // "NAME=VALUE", NULL after the last: set for the program; NULL: nothing more
    uint32_t
        gpu_counter_rate; // sample NVIDIA GPUs' counters so often per second, in a process of our own; 0: not
    int recording_hashes_only;   // of data; the file can be given away without it
    int recording_every_command; // hashes of what each command wrote, besides
    double
        max_overhead; // % of a thread's time that recording may take (OpenCL, CUDA): more thins what is recorded; 0: not looked at
    const char *
        cuda; // the older form of agent_options, for CUDA alone: keys separated by commas, each with its value after
    // a ':'; the metrics' names after another one ("graphs,metrics:100:NAME+NAME")
    double
        block_timeout; // policy block: seconds that a thread waits without a heartbeat of the collector; 0: 5;
                       // below 0: as long as the collector's process lives
    uint32_t
        stack_frames; // with `stacks`: the innermost frames that are recorded of each, TSMITH_STACK_FRAMES_LEAST to
    // TSMITH_STACK_FRAMES_MOST (a Python function counts as two); 0: TSMITH_STACK_FRAMES_DEFAULT
    const tsmith_agent_option *
        agent_options; // of agents that are injected; of two with the same key the last applies. INVALID_ARGUMENT for
                       // an agent, a key or a value that does not exist, with those that do
    size_t agent_option_count;
    int live;  // add up the totals of tracesmith/live.h from the first event on; 0: from the first request on
    int armed; // agents are loaded and record nothing until tsmith_capture_arm
} tsmith_capture_options;

// What is recorded to be replayed. X("name", "argument", "which commands")
#define TSMITH_CAPTURE_RANGE_TABLE(X)                                                                        \
    X("all", "", "everything")                                                                               \
    X("kernels", ":M+N", "N launches from the Mth on (the first is 1), and the commands between them")       \
    X("kernel", ":NAME[:M+N]", "the launches of one kernel, or N of them from the Mth on")                   \
    X("between", ":NAME..NAME", "from a launch of one kernel to the next of another, each time")             \
    X("queue", ":N", "the commands of the Nth queue that the program creates")                               \
    X("thread", ":N", "the commands of the Nth host thread that enqueues one")                               \
    X("signal", "", "the commands between one tsmith_capture_trigger and the next")                          \
    X("range", ":NAME", "the commands that any thread enqueues while an NVTX range of this name is open")

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
// What attaching did to a program.
typedef struct tsmith_attach_report {
    size_t size;            // sizeof(tsmith_attach_report), the caller's
    uint32_t thread;        // of the program, which loaded the agent
    uint32_t threads_tried; // others that were stopped, found unsafe and let go
    int64_t
        stopped_ns; // how long the thread stood still, from before it was asked to stop until it was let go
    int64_t longest_stop_ns; // the same, of any thread
    int64_t ready_ns;        // from the beginning until the agents recorded
    char text[512];          // what is not recorded, for people; "" if there is nothing to say
} tsmith_attach_report;

// Instead of tsmith_capture_start: records a program of this user that runs already, from now until tsmith_capture_stop or its
// end. One of its threads is borrowed to load the agents; what cannot be done safely is refused with the reason: PERMISSION, STATE,
// UNSUPPORTED, BUSY (no thread was at a safe place for a second). Only x86-64 with glibc 2.34 or newer; only agents that can
// come late (docs/live.md). `out` may be NULL; it is filled on failure, too. The agents leave by themselves when the capture ends or
// its process is gone.
TSMITH_API tsmith_status tsmith_capture_attach(tsmith_capture *capture, uint32_t pid,
                                               tsmith_attach_report *out, tsmith_error *error);
// The live source: next() returns AGAIN after at most ~50 ms without news, END when the program has ended and
// all it left is drained. Destroying the capture destroys it.
TSMITH_API tsmith_source *tsmith_capture_source(tsmith_capture *capture);
// Joins another source with the recording: its batches follow all that the programs recorded. Its processes and threads are
// those of the recording that have the same numbers; its times must be on the trace clock. Taken, also on failure.
TSMITH_API tsmith_status tsmith_capture_add_source(tsmith_capture *capture, tsmith_source *taken);
// Calls `ended` once, in next(), when all that the programs recorded was delivered and nothing more comes: the moment to add
// sources of what was gathered meanwhile. At most four. LIMIT.
TSMITH_API tsmith_status tsmith_capture_on_end(tsmith_capture *capture,
                                               void (*ended)(void *context, tsmith_capture *capture),
                                               void *context);
// When the program has ended but processes it started still run (a shell's background job, a daemon), the recording
// continues until they have ended, or until it is stopped: from then on nothing more is recorded, and next() drains
// to END. Async-signal-safe. Processes that were recorded and still run are in the ledger as still_running.
TSMITH_API void tsmith_capture_stop(tsmith_capture *capture);
// How many such processes there were at the last look; 0 while the program itself runs. Async-signal-safe.
TSMITH_API uint32_t tsmith_capture_left_running(const tsmith_capture *capture);
// After END: how many processes used a GPU API and could not be recorded, because they had no file descriptor, memory
// or space left for it. The trace's attribute "unrecorded.processes" has the same number.
TSMITH_API uint32_t tsmith_capture_unrecorded(const tsmith_capture *capture);
// Whether the session directory was removed while the program ran: processes that started after that found no session
// and were not recorded. The trace has a loss with the time.
TSMITH_API int tsmith_capture_directory_removed(const tsmith_capture *capture);
// Hands a signal to the program (async-signal-safe); for forwarding SIGINT, SIGTERM, SIGHUP, ...
TSMITH_API void tsmith_capture_signal(tsmith_capture *capture, int signal_number);
// Switches recording on or off, for all processes of the program. Agents that cannot follow are in docs/live.md. Nothing once the
// recording has ended.
TSMITH_API void tsmith_capture_arm(tsmith_capture *capture, int on);
// The totals of the recording up to now, if it was made with `live`; else zeros.
TSMITH_API void tsmith_capture_live(tsmith_capture *capture, tsmith_live_totals *out);
// For the range "signal": begins to capture, or ends it again (async-signal-safe).
TSMITH_API void tsmith_capture_trigger(tsmith_capture *capture);
// After END: the program's wait status as waitpid gives it.
TSMITH_API int tsmith_capture_wait_status(const tsmith_capture *capture);
// Which APIs were seen in use by name, and by how many processes; false past the last index.
TSMITH_API int tsmith_capture_api_seen(const tsmith_capture *capture, size_t index, const char **name,
                                       uint32_t *processes);
// After the start: a requested option that could not be applied, though the program runs; "" if there is none.
TSMITH_API const char *tsmith_capture_note(const tsmith_capture *capture);
TSMITH_API const char *tsmith_capture_directory(const tsmith_capture *capture);
// Ends the recording; the session directory is removed when everything in it was delivered, else kept for
// recover.
TSMITH_API void tsmith_capture_destroy(tsmith_capture *capture);

// What became of a recording whose collector is gone (killed, full disk), as one file.
typedef struct tsmith_capture_completion {
    size_t size;          // sizeof(tsmith_capture_completion), the caller's
    uint64_t file_events; // carried over from the file that the recording had been writing
    uint64_t ring_events; // added from what it left behind
    int file_missing; // that file is not there, cannot be read, or holds something else: it is not in this one
    int file_damaged;   // parts of it could not be read; the ledger has them
    int file_whole;     // it had everything already (it was completed before)
    int may_repeat;     // what was written last may be in it twice: there was no space to note what was
    int output_failed;  // the call failed because of `path`, and not because of what was read
    int recording_left; // the call failed, and what was recorded for a replay is in the directory alone
    char note[512];     // a message for the user about any of these; "" if there is none
} tsmith_capture_completion;

// Writes one trace of everything that a recording committed, each event once: the whole frames of the file that it was
// writing, and what is left in its session directory. `path` may be that very file: it is replaced when the new one is
// whole. The file that was being written is only read when it is a regular file of the session directory's owner. Nothing
// else is changed, and doing it again gives the same bytes. TRUNCATED: what was readable is written.
// `keep_going` as for tsmith_pump.
TSMITH_API tsmith_status tsmith_capture_complete(const char *directory, const char *path,
                                                 int (*keep_going)(void *context), void *context,
                                                 tsmith_capture_completion *out, tsmith_error *error);

// A session directory, running or left behind.
typedef struct tsmith_capture_left {
    size_t size;        // sizeof(tsmith_capture_left), the caller's
    char output[4096];  // the file it is written to; "" when there is none
    char command[4096]; // what is recorded; "" when it is not known
    uint32_t collector_pid;
    uint32_t processes;       // alive that record into it, or may
    int collected;            // the collector is alive
    int64_t started_realtime; // ns of CLOCK_REALTIME; 0: not known
    uint64_t bytes;           // memory (or disk) that it takes
    // The user id of its owner. `output` and `command` are that user's word: do not write to `output` for another user.
    uint32_t user;
} tsmith_capture_left;

TSMITH_API tsmith_status tsmith_capture_look(const char *directory, tsmith_capture_left *out,
                                             tsmith_error *error);
// Removes it with all that is in it. BUSY while anybody records into it or collects from it.
TSMITH_API tsmith_status tsmith_capture_remove(const char *directory, tsmith_error *error);

// A source over a session directory whose collector has ended: all its events, also those that are already in a file.
// tsmith_capture_is_session reports whether a directory is one.
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
    const char *argument; // what its value is called; NULL: it takes none
    int value_optional;
    uint64_t least, most; // of a number; of a list, how many
    const char *doc;      // a sentence without its end
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
