// SPDX-License-Identifier: Apache-2.0
// Recordings: the commands of a program with their objects and data, kept in a trace (tsmith_capture_options.recording),
// and run again on a real device. Every buffer that a command wrote gets a verdict.
//
// docs/replay.md describes what a recording contains and what cannot be recorded. A replay runs in the calling process
// and loads the OpenCL loader into it; a crash of the driver ends the process. One thread at a time per recording.
#ifndef TRACESMITH_REPLAY_H
#define TRACESMITH_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/export.h"
#include "tracesmith/sbt.h"
#include "tracesmith/status.h"
#include "tracesmith/stream.h"
#include "tracesmith/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- writing

// A file writer like tsmith_sbt_writer_open's, which takes the recordings of a session into the file before it
// finishes it. `sink` is the caller's to destroy, and everything with it.
typedef struct tsmith_recording_writer {
    tsmith_sink *sink;
    void *self;
} tsmith_recording_writer;
TSMITH_API tsmith_status tsmith_recording_writer_open(const char *path,
                                                      const tsmith_sbt_write_options *options,
                                                      tsmith_recording_writer *out, tsmith_error *error);
// From this session's directory (tsmith_capture_directory), which must still be there when the sink is finished.
TSMITH_API tsmith_status tsmith_recording_writer_take(tsmith_recording_writer *writer, const char *directory,
                                                      tsmith_error *error);

// ---- reading

typedef struct tsmith_recording tsmith_recording;

// The contents of a recording; all 0 if there is none.
typedef struct tsmith_recording_summary {
    size_t size; // sizeof(tsmith_recording_summary), the caller's
    uint64_t processes;
    uint64_t unfinished; // processes whose recording ends early: they were killed, or the disk was full
    uint64_t commands;
    uint64_t kernels;       // of those
    uint64_t checks;        // results that a replay compares
    uint64_t refused;       // calls that cannot be replayed
    uint64_t chunks;        // of data, each kept once
    uint64_t chunk_bytes;   // in them
    uint64_t payload_bytes; // number of results that this one represents
    uint64_t damaged;       // records and chunks that could not be read
    uint64_t submissions;   // of the commands, those of Vulkan; their dispatches and draws are not counted
} tsmith_recording_summary;

// Reads the recording of a trace, which must stay open until the recording is closed. NOT_FOUND if there is none.
TSMITH_API tsmith_status tsmith_recording_open(tsmith_sbt *trace, tsmith_recording **out,
                                               tsmith_error *error);
TSMITH_API void tsmith_recording_close(tsmith_recording *recording);
TSMITH_API void tsmith_recording_summarize(const tsmith_recording *recording, tsmith_recording_summary *out);

// A function whose calls cannot be replayed, with the reason; false past the last index. The recording owns the texts.
typedef struct tsmith_recording_refusal {
    size_t size; // sizeof(tsmith_recording_refusal), the caller's
    const char *function;
    const char *reason;
    uint64_t count; // such calls
} tsmith_recording_refusal;
TSMITH_API int tsmith_recording_refusal_get(const tsmith_recording *recording, size_t index,
                                            tsmith_recording_refusal *out);

// A command of the recording. The recording owns the texts.
typedef struct tsmith_recorded_command {
    uint64_t pid, command; // how many commands of the process were before it
    const char *what;      // "kernel", "read", ...
    const char *kernel;    // its name, or NULL
    uint64_t queue;        // the recording's number of it
    uint64_t bytes;        // of a transfer, if the recording has it; else 0
    uint64_t buffer;       // that it writes, or else reads, where it names one; else 0
} tsmith_recorded_command;
typedef void tsmith_recorded_command_take(void *context, const tsmith_recorded_command *command);
TSMITH_API tsmith_status tsmith_recording_each_command(tsmith_recording *recording,
                                                       tsmith_recorded_command_take *take, void *context,
                                                       tsmith_error *error);

// A resource of a captured frame of Vulkan, with its state before the frame's first submission. Texts are good for the call.
typedef struct tsmith_recorded_resource {
    uint64_t pid, object; // the recording's number of it
    const char *kind;     // "buffer", "image", "shader module", ...
    const char *function; // that made it
    uint64_t bytes;       // of its content, of SPIR-V; else 0
    uint64_t usage;       // of buffers and images, as Vulkan has it
    uint64_t memory;      // the number of the memory that it is bound to, from `offset` on; 0: none
    uint64_t offset;      // bytes
    uint32_t width, height, depth, levels, layers, format; // of an image, the format as Vulkan has it; else 0
    uint32_t pixel_bytes;                                  // 0: its content is not captured
    int has_content;                                       // 0: undefined, or not captured
    uint64_t hash[2];                                      // of the content's pieces
    const char *
        format_name; // of an image or a view: "R8G8B8A8_UNORM"; NULL: another object, or a format of an extension
    uint32_t samples; // of an image; else 0
    uint64_t of;      // of a view: the object that it is of; else 0
} tsmith_recorded_resource;
// A command of a captured frame, in the order of its submissions.
typedef struct tsmith_recorded_call {
    uint64_t pid, correlation; // of the call that submitted it, in the trace; 0: not known
    uint64_t submission;       // how many of the process were before
    uint64_t buffer;           // the number of its command buffer
    const char *text;          // "vkCmdDispatch(64, 1, 1)"; objects are numbers with #
    const char
        *bound; // of a draw or a dispatch: "pipeline #9, set 0 #12, vertex buffer 0 #3 at 0"; else NULL
} tsmith_recorded_call;
// What a descriptor of a set names.
typedef struct tsmith_recorded_descriptor {
    uint64_t pid, set;         // the number of the set
    uint64_t submission;       // of the process: before which it was written
    uint32_t binding, element; // in the set
    const char *type;          // "storage buffer", "combined image sampler", ...
    uint64_t resource;         // the buffer or the image; 0: a sampler, or the view is not known
    uint64_t view, sampler;    // 0: none
    uint64_t offset, bytes;    // of a buffer; UINT64_MAX bytes: to its end
} tsmith_recorded_descriptor;
typedef void tsmith_recorded_resource_take(void *context, const tsmith_recorded_resource *resource);
typedef void tsmith_recorded_call_take(void *context, const tsmith_recorded_call *call);
typedef void tsmith_recorded_descriptor_take(void *context, const tsmith_recorded_descriptor *descriptor);
// The captured frames of Vulkan of a process that have a submission of these correlation ids (ascending): resources, then
// commands. `correlations` NULL: every resource of every process, each once, without content. Either function may be NULL.
TSMITH_API tsmith_status tsmith_recording_frame(tsmith_recording *recording, uint64_t pid,
                                                const uint64_t *correlations, size_t count,
                                                tsmith_recorded_resource_take *resource,
                                                tsmith_recorded_call_take *call, void *context,
                                                tsmith_error *error);
// The descriptor sets of such frames: what was written to them before the first submission, and before later ones.
TSMITH_API tsmith_status tsmith_recording_descriptors(tsmith_recording *recording, uint64_t pid,
                                                      const uint64_t *correlations, size_t count,
                                                      tsmith_recorded_descriptor_take *take, void *context,
                                                      tsmith_error *error);

// The source of the first program that has this kernel, as the recorded program gave it to its driver. The caller frees
// `text`, which ends with NUL. NOT_FOUND, naming the kernels there are, when none has it, or its program was given as a
// binary or in an intermediate language.
typedef struct tsmith_recorded_source {
    size_t size; // sizeof(tsmith_recorded_source), the caller's
    char *text;
    size_t length;   // without the NUL
    size_t included; // files that it includes: they are in the recording too
    size_t programs; // that have a kernel of this name
} tsmith_recorded_source;
TSMITH_API tsmith_status tsmith_recording_source(tsmith_recording *recording, const char *kernel,
                                                 tsmith_recorded_source *out, tsmith_error *error);

// ---- replaying

// X(NAME, number, "name", "what it means")
#define TSMITH_VERDICT_TABLE(X)                                                                              \
    X(EXACT, 0, "exact", "every byte is the same")                                                           \
    X(WITHIN_TOLERANCE, 1, "within-tolerance", "no element is further off than was allowed")                 \
    X(WITHIN_NOISE, 2, "within-noise", "replays differ among themselves as much as from the recording")      \
    X(DIVERGED, 3, "diverged", "it is not what was recorded")                                                \
    X(UNCOMPARABLE, 4, "uncomparable",                                                                       \
      "there is nothing to compare, or it depends on what cannot be replayed")

typedef enum tsmith_verdict {
#define TSMITH_VERDICT_ENUM(NAME, number, name, doc) TSMITH_VERDICT_##NAME = number,
    TSMITH_VERDICT_TABLE(TSMITH_VERDICT_ENUM)
#undef TSMITH_VERDICT_ENUM
        TSMITH_VERDICT_LIMIT
} tsmith_verdict;
TSMITH_API const char *tsmith_verdict_name(tsmith_verdict verdict); // NULL for another number

// The type of the elements of a buffer. X(NAME, number, "name", bytes)
#define TSMITH_ELEMENT_TABLE(X)                                                                              \
    X(U8, 0, "u8", 1)                                                                                        \
    X(I8, 1, "i8", 1)                                                                                        \
    X(U16, 2, "u16", 2)                                                                                      \
    X(I16, 3, "i16", 2)                                                                                      \
    X(U32, 4, "u32", 4)                                                                                      \
    X(I32, 5, "i32", 4)                                                                                      \
    X(U64, 6, "u64", 8)                                                                                      \
    X(I64, 7, "i64", 8)                                                                                      \
    X(F16, 8, "f16", 2)                                                                                      \
    X(F32, 9, "f32", 4)                                                                                      \
    X(F64, 10, "f64", 8)

typedef enum tsmith_element {
#define TSMITH_ELEMENT_ENUM(NAME, number, name, bytes) TSMITH_ELEMENT_##NAME = number,
    TSMITH_ELEMENT_TABLE(TSMITH_ELEMENT_ENUM)
#undef TSMITH_ELEMENT_ENUM
        TSMITH_ELEMENT_LIMIT
} tsmith_element;
TSMITH_API const char *tsmith_element_name(tsmith_element element); // NULL for another number

// A result of the first replay: its `size` bytes as recorded and as replayed. They are valid during the call.
typedef struct tsmith_replay_bytes {
    uint64_t pid, command, buffer; // as in tsmith_replay_result
    const char *what;
    tsmith_element element;
    const void *recorded, *replayed;
    size_t size;
    int equal;
} tsmith_replay_bytes;
typedef void tsmith_replay_take(void *context, const tsmith_replay_bytes *bytes);

typedef struct tsmith_replay_options {
    size_t size; // sizeof(tsmith_replay_options)
    // A number (0 is the first device of the first platform) or a part of a name; or several, separated by commas, which are
    // assigned to the devices of the recording in their order, in turns if there are fewer. NULL: devices with the recorded names
    // if there are any, else the first. "oclgrind": the interpreter, also if the loader does not list it.
    const char *device;
    uint32_t
        times; // replays; 0: one. Up to eight times as many where results vary and do not reach the recorded
    uint64_t ulps;       // tolerance of floating-point values, in representable values
    double absolute;     // tolerance of values of any type, as an absolute difference
    int64_t patience_ns; // the longest time of a single wait; after it the replay is aborted. 0: 60 s
    // The source of every program that has this kernel is taken from elsewhere: to try an edited kernel.
    const char *source_kernel, *source_text;
    // Selects commands that match all of these, and the commands that they depend on; 0 and NULL: everything.
    uint64_t first_command, command_count; // number of commands, from that one on
    const char *only_kernel;               // launches of kernels of this name; may have * and ?
    uint64_t only_queue;                   // the recording's number of it
    // Earliest time of the host's calls, relative to the first: 1 as recorded, 2 twice as fast; 0: at once.
    // Needs a recording with times (tsmith_recording_take_times). A pause is never longer than patience_ns.
    double speed;
    int timing;               // measure how long each command takes (tsmith_replay_time_get)
    tsmith_replay_take *take; // called with every result whose bytes were recorded; NULL: none
    void *take_context;
    // A second device, named like `device`. Both devices run the commands one after the other, and the results (data that is read or
    // mapped, and the final contents of buffers) are compared with each other, not with the recording: `recorded` of a result is that
    // of the first device. Selections, speed and timing do not apply. NULL: none.
    const char *against;
    int each; // with `against`: also compare what every command wrote, after the command
    // A part, as above: commands of these calls of this process, by the correlation ids that they have in the trace, ascending: a
    // frame (tracesmith/frames.h). NULL: of any.
    const uint64_t *calls;
    size_t call_count;
    uint64_t calls_pid;
    // Called before each record of a process's recording, by the thread that replays: how many of its records have been replayed, and how
    // many it has; with `against`, of its commands. Every replay begins anew. NULL: not called.
    void (*progress)(void *context, uint64_t done, uint64_t total);
    void *progress_context;
} tsmith_replay_options;

// Takes the times of the recorded commands from the trace that has the recording. Call it before a replay that needs them.
TSMITH_API tsmith_status tsmith_recording_take_times(tsmith_recording *recording,
                                                     const tsmith_timeline *timeline,
                                                     const tsmith_dictionary *dictionary,
                                                     tsmith_error *error);

// One result that was compared, in the order of the program.
typedef struct tsmith_replay_result {
    tsmith_verdict verdict;
    uint64_t pid;     // of the recorded process
    uint64_t command; // how many commands were before it
    const char
        *what; // "read", "map", "released", "at the end", "overwritten" (by a command that was not recorded):
    // where the program let it be seen; "written": after that command (profile --capture-hashes, each)
    uint64_t buffer;         // the recording's number of it
    uint64_t bytes;          // compared
    const char *writer;      // the kernel or command that wrote the buffer last; NULL: none did
    uint64_t writer_command; // how many commands were before that one
    tsmith_element element;
    const char *
        reason; // UNCOMPARABLE: why; or that only a hash was recorded, so that of these only `offset` is known:
    // Else, when anything differed in any replay, in the one where it differed most:
    uint64_t offset; // of the first element that is too far off (DIVERGED), or that differs at all
    uint64_t recorded, replayed; // the bits of it
    uint64_t different;          // elements
    uint64_t most_ulps;          // floating point; UINT64_MAX where one of the two is no number
    double most_absolute;        // how far two values are apart at most; infinite where one is no number
    uint32_t replays_exact;
    int varies; // from replay to replay
    uint64_t
        writer_correlation; // of that command's event in the same trace, with its time and call stack; 0: none
} tsmith_replay_result;

typedef struct tsmith_replay tsmith_replay;

// Runs the recording; `options` may be NULL. OK if everything ran, independent of the verdicts. MISSING without a
// device; LIMIT if it did not terminate; `out` then has the results up to that point.
TSMITH_API tsmith_status tsmith_replay_run(tsmith_recording *recording, const tsmith_replay_options *options,
                                           tsmith_replay **out, tsmith_error *error);
// Chooses the devices of a replay with these options without running anything, for tsmith_replay_mapping_get.
TSMITH_API tsmith_status tsmith_replay_choose(tsmith_recording *recording,
                                              const tsmith_replay_options *options, tsmith_replay **out,
                                              tsmith_error *error);
TSMITH_API void tsmith_replay_destroy(tsmith_replay *replay);
TSMITH_API const char *
tsmith_replay_device(const tsmith_replay *replay); // its name; of several: joined by " + "
// With options.against the second device's name, else NULL.
TSMITH_API const char *tsmith_replay_against(const tsmith_replay *replay);
// Which device a recorded one was replayed on; 0 past the last index. Text is the replay's.
typedef struct tsmith_replay_mapping {
    size_t size;                          // sizeof(tsmith_replay_mapping), the caller's
    uint64_t pid;                         // of the recorded process
    const char *recorded;                 // name
    uint64_t device;                      // number
    const char *name;                     // of that
    const char *recorded_driver, *driver; // versions; "" where it is not known
} tsmith_replay_mapping;
TSMITH_API int tsmith_replay_mapping_get(const tsmith_replay *replay, size_t index,
                                         tsmith_replay_mapping *out);
TSMITH_API size_t tsmith_replay_result_count(const tsmith_replay *replay);
TSMITH_API const tsmith_replay_result *tsmith_replay_result_get(const tsmith_replay *replay, size_t index);
// How long a command took, ns on the device: recorded (-1: not known), and over all replays.
typedef struct tsmith_replay_time {
    size_t size; // sizeof(tsmith_replay_time), the caller's
    uint64_t pid;
    uint64_t command;   // how many commands were before it
    const char *what;   // "kernel", "read", ...
    const char *kernel; // its name, or NULL
    uint64_t queue;     // the recording's number of it
    uint32_t replays;   // that gave a time
    int64_t recorded, least, median, most;
} tsmith_replay_time;
// With options.timing; 0 past the last index.
TSMITH_API int tsmith_replay_time_get(const tsmith_replay *replay, size_t index, tsmith_replay_time *out);

// The first wrong command is one of `count` commands from `first` on, in the order of the recording.
typedef struct tsmith_replay_culprit {
    size_t size; // sizeof(tsmith_replay_culprit), the caller's
    uint64_t pid;
    uint64_t first, count;     // 1: it is that one. Those between that cannot have caused it are not counted
    const char *what, *kernel; // of the first
    uint64_t queue, correlation;
    uint64_t replays; // made to find it
} tsmith_replay_culprit;
// 0 when nothing diverged, or what did comes of nothing that was run.
TSMITH_API int tsmith_replay_culprit_get(const tsmith_replay *replay, tsmith_replay_culprit *out);
// How many commands there are, and how many of them the options asked for and the replay ran: those, and what they need.
typedef struct tsmith_replay_extent {
    size_t size; // sizeof(tsmith_replay_extent), the caller's
    uint64_t commands, asked, ran;
} tsmith_replay_extent;
TSMITH_API void tsmith_replay_get_extent(const tsmith_replay *replay, tsmith_replay_extent *out);
// What could not be done as it was recorded; NULL past the last index.
TSMITH_API const char *tsmith_replay_note(const tsmith_replay *replay, size_t index);

// ---- the memory of a command

// Memory that a command writes, as a replay finds it before or after the command.
typedef struct tsmith_replay_memory {
    uint64_t pid, command, buffer; // as in tsmith_replay_result
    int after;                     // 0: before the command
    tsmith_element element;
    const void *bytes; // `size` of them, lent for the call; NULL: they are not known, for `reason`
    size_t size;
    const char *reason;
    uint64_t width, height, pixel_bytes; // of an image, row after row; 0: it is a buffer, or not known
} tsmith_replay_memory;
typedef void tsmith_replay_memory_take(void *context, const tsmith_replay_memory *memory);

// Runs the commands of the recording one after the other up to this one, and hands over all memory that it writes, first as it is
// before it, then as it is after it. Of `options` (may be NULL) device, patience and source count. `pid` 0: of the first process
// that has the command, and is not one of Vulkan. NOT_FOUND for a command that is not recorded or cannot be run, UNSUPPORTED
// if a process of Vulkan was left out and no other has the command; else as tsmith_replay_run.
TSMITH_API tsmith_status tsmith_replay_inspect(tsmith_recording *recording, uint64_t pid, uint64_t command,
                                               const tsmith_replay_options *options,
                                               tsmith_replay_memory_take *take, void *context,
                                               tsmith_error *error);

// ---- a part of a recording as a program

// A file of a program that is written. Lent for the call. The name is relative, may have folders, and is made of letters, digits
// and "/_.+-@" only; no part of it begins with a point.
typedef struct tsmith_emit_file {
    size_t size; // sizeof(tsmith_emit_file)
    const char *name;
    const void *bytes;
    size_t length;
} tsmith_emit_file;
// 0 ends the writing.
typedef int tsmith_emit_take(void *context, const tsmith_emit_file *file);

typedef struct tsmith_emit_summary {
    size_t size; // sizeof(tsmith_emit_summary), the caller's
    uint64_t pid;
    uint64_t commands, launches; // in the program
    uint64_t results;            // that it compares
    uint64_t data_bytes;
    uint64_t omissions;       // what was left out; its README.md lists it
    uint64_t other_processes; // with commands that were asked for: not in it
} tsmith_emit_summary;

// Writes the recorded OpenCL commands of a process as a C program (ISO C99) that needs neither TraceSmith nor the recorded
// program, runs on any device and compares its results by the rules of a replay: repro.c, sources, data, Makefile, README.md. Runs
// nothing. `pid` 0: the first process that has such commands. Of `options` (may be NULL) the selection and the tolerance count.
// NOT_FOUND if there is no such command, UNSUPPORTED if only processes of Vulkan have commands; LIMIT if the data is too large; IO if `take` returned 0.
TSMITH_API tsmith_status tsmith_replay_emit(tsmith_recording *recording, uint64_t pid,
                                            const tsmith_replay_options *options, tsmith_emit_take *take,
                                            void *context, tsmith_emit_summary *out, tsmith_error *error);

typedef struct tsmith_minimize_options {
    size_t size;                         // sizeof(tsmith_minimize_options)
    const tsmith_replay_options *replay; // device, tolerance, times, patience; NULL: defaults
    tsmith_recorded_command_take *each;  // called for every command that remains, in their order; NULL: none
    tsmith_emit_take
        *take;     // gets the part as a program, as tsmith_replay_emit writes it; NULL: it is not written
    void *context; // of both
} tsmith_minimize_options;

typedef struct tsmith_minimized {
    size_t size; // sizeof(tsmith_minimized), the caller's
    uint64_t
        diverged; // results of a replay of everything that diverged; 0: there is nothing to minimize, and the rest is 0
    uint64_t pid;                 // of the recorded process with the first of them
    uint64_t commands;            // of that process
    uint64_t remaining, launches; // commands of the part, and kernel launches among them
    uint64_t fed;   // contents of memory that the recording has, in place of the commands that made them
    uint64_t tries; // replays of parts
    uint64_t results, data_bytes, omissions; // of the program, as in tsmith_emit_summary
} tsmith_minimized;

// Finds the least part of a recording that still diverges on a device, by replaying parts of it: commands without which it still
// diverges are left out, and memory that they wrote gets its recorded content where the recording has it. Which work-items run
// stays as it is. OK also if nothing diverges. STATE if no part diverges alone; UNSUPPORTED if only hashes were recorded of
// what diverges; else as tsmith_replay_run and tsmith_replay_emit.
TSMITH_API tsmith_status tsmith_replay_minimize(tsmith_recording *recording,
                                                const tsmith_minimize_options *options, tsmith_minimized *out,
                                                tsmith_error *error);

#ifdef __cplusplus
}
#endif
#endif
