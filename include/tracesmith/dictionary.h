// SPDX-License-Identifier: Apache-2.0
// The dictionary: the objects that the events of a trace refer to by number: strings, processes, devices, tracks,
// clocks, attributes, additional fields, call stacks, ranks.
//
// A dictionary only grows: ids are consecutive, assigned in order, and never change their meaning. A source owns one
// and adds to it before it delivers a batch that needs it; a consumer that remembers how many entries of each
// table it has seen picks up the new ones by id. Id 0 of strings is the empty string; id 0 of every other
// table is "unknown" and is never described.
//
// Pointers handed out stay valid until the dictionary is destroyed. One thread at a time.
#ifndef TRACESMITH_DICTIONARY_H
#define TRACESMITH_DICTIONARY_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/export.h"
#include "tracesmith/schema.h"
#include "tracesmith/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsmith_dictionary tsmith_dictionary;

// A string as it is in the trace: any bytes, also NUL and invalid UTF-8; followed by a NUL that is not
// counted.
typedef struct tsmith_string {
    const char *bytes;
    size_t length;
} tsmith_string;

typedef struct tsmith_process {
    uint64_t pid;
    uint64_t parent_pid;
    int64_t start; // ns on the trace clock when it was first seen
    uint32_t name; // string: executable
    uint32_t command_line;
    uint32_t host; // string: host name
} tsmith_process;

typedef struct tsmith_device {
    uint32_t name; // strings
    uint32_t vendor;
    uint32_t driver;  // driver or platform and its version
    uint32_t api;     // "opencl", "cuda", ...
    uint32_t type;    // "cpu", "gpu", "accelerator"
    uint32_t process; // the process that reported it (0: the machine, as is every device with an identity)
    uint64_t memory_bytes;
    uint32_t compute_units;
    uint32_t clock_mhz;
    // String: the device identity: the same in every process and API, unique on its machine. The driver's UUID
    // ("GPU-8a1f...", "MIG-..."), else "pci:0000:65:00.0", else API, platform, name and number ("opencl:Portable
    // Computing Language/pthread-haswell/0"). 0: unknown; then it may be another entry's device too.
    uint32_t identity;
    uint32_t number; // 1 + the API's own number of it (CUDA device 1: 2); 0: unknown
} tsmith_device;

// X(NAME, number, "name", "doc")
#define TSMITH_TRACK_KIND_TABLE(X)                                                                           \
    X(THREAD, 1, "thread", "a host thread")                                                                  \
    X(QUEUE, 2, "queue", "a queue (stream) of a device")                                                     \
    X(COPY_ENGINE, 3, "copy_engine", "a copy engine of a device")                                            \
    X(COUNTER, 4, "counter", "a counter")                                                                    \
    X(PROCESS, 5, "process", "what belongs to a process as a whole: memory objects, its start and end")      \
    X(LOSS, 6, "loss", "the loss ledger of a process")                                                       \
    X(CUSTOM, 7, "custom", "a row the program or an importer named")

typedef enum tsmith_track_kind {
    TSMITH_TRACK_KIND_NONE = 0,
#define TSMITH_TRACK_KIND_ENUM(NAME, number, name, doc) TSMITH_TRACK_##NAME = number,
    TSMITH_TRACK_KIND_TABLE(TSMITH_TRACK_KIND_ENUM)
#undef TSMITH_TRACK_KIND_ENUM
} tsmith_track_kind;

enum {                                       // tsmith_track.flags
    TSMITH_TRACK_OUT_OF_ORDER = 1u << 0,     // commands of this queue may run in any order and side by side
    TSMITH_TRACK_PROGRAM_PROFILED = 1u << 1, // the program itself had asked for profiling of this queue
    TSMITH_TRACK_SIMULATED = 1u << 2,        // its events come from a mock library
    TSMITH_TRACK_UNNUMBERED = 1u << 3        // the source has no number for this queue: `queue` is 0
};

// One row of the timeline.
typedef struct tsmith_track {
    uint8_t kind; // tsmith_track_kind
    uint8_t reserved;
    uint16_t flags;
    uint32_t name;    // string
    uint32_t process; // ids of the dictionary, 0 when it belongs to none
    uint32_t device;
    uint32_t parent; // track it is shown under, or 0
    uint32_t reserved2;
    uint64_t tid;     // host thread id
    uint64_t context; // the API's objects, numbered per process
    uint64_t queue;
} tsmith_track;

// A clock other than the trace clock, and what is known of it.
typedef struct tsmith_clock {
    uint32_t name;    // string: "CLOCK_REALTIME", "tsc", "opencl device 1", ...
    uint32_t process; // 0 when it is the machine's
    uint32_t device;  // 0 when it is no device's
    uint32_t reserved;
} tsmith_clock;

// One comparison: when the clock showed `clock_time` (in its own unit), the trace clock showed `trace_time`,
// within `error` ns.
typedef struct tsmith_clock_pair {
    uint32_t clock;
    uint32_t reserved;
    int64_t clock_time;
    int64_t trace_time;
    int64_t error;
} tsmith_clock_pair;

// The attribute that names the trace clock of a recording: two traces with one value have one clock.
#define TSMITH_CLOCK_ATTRIBUTE "trace_clock.id"

// Names of clocks by which trace clocks of machines are compared. UTC: the pairs are those of CLOCK_REALTIME, and their error
// includes the bound that the kernel states of it (adjtimex); none while it is not synchronized. PTP: those of a PTP hardware clock,
// and their error includes how far the user says that it may be from those of the other machines. The last is followed by the
// TSMITH_CLOCK_ATTRIBUTE of another machine's trace clock: probes compared it with this one.
#define TSMITH_CLOCK_UTC "UTC"
#define TSMITH_CLOCK_PTP "PTP"
#define TSMITH_CLOCK_OF "trace clock "
// Of a merged trace: the trace clock of part 1, compared with that of the part whose first process the clock names. Between two
// comparisons, interpolate both the time and the error.
#define TSMITH_CLOCK_PART "clock of part 1"

// A fact about the whole trace: "command", "tool.version", "host", "wall_clock_start_ns", "simulated", ...
typedef struct tsmith_attribute {
    uint32_t key; // strings
    uint32_t value;
} tsmith_attribute;

// A field of the trace that is not in the schema; its number is TSMITH_FIELD_DYNAMIC + its id.
typedef struct tsmith_dynamic_field {
    uint32_t name; // strings
    uint32_t unit;
    uint32_t type; // tsmith_type
    uint32_t reserved;
} tsmith_dynamic_field;

enum {                                 // tsmith_module.flags
    TSMITH_MODULE_GENERATED = 1u << 0, // code made while the program ran; path is of the map that names it
    TSMITH_MODULE_KERNEL = 1u << 1,    // the operating system's
    TSMITH_MODULE_PYTHON = 1u << 2,    // a file of Python source
};

// Code that was loaded in a process.
typedef struct tsmith_module {
    uint32_t path;     // string; "[vdso]" for the kernel's code in every process, "" when it is not known
    uint32_t build_id; // string: lower-case hexadecimal, or 0
    uint32_t process;  // 0: unknown
    uint32_t flags;    // TSMITH_MODULE_...
} tsmith_module;

enum { // tsmith_frame.flags
    // It was found by a frame pointer, not by unwind data: callers may be missing between it and the function that it called.
    TSMITH_FRAME_GUESSED = 1u << 0,
    TSMITH_FRAME_PYTHON = 1u << 1,    // of a Python function
    TSMITH_FRAME_KERNEL = 1u << 2,    // in the operating system
    TSMITH_FRAME_TRUNCATED = 1u << 3, // its callers are unknown
};

// A code location.
typedef struct tsmith_frame {
    uint32_t module; // 0: unknown
    uint32_t flags;  // TSMITH_FRAME_...
    // In a module: the ELF virtual address (program counter - load bias); in generated code and in no module: the
    // program counter. A frame that waits for a call has its return address - 1, which is inside the call
    // instruction. PYTHON: the line, and in the upper 32 bits the function's name (a string).
    uint64_t address;
} tsmith_frame;

// A call path: `frame`, called from the path `parent`. TSMITH_FIELD_STACK is the id of one.
typedef struct tsmith_stack {
    uint32_t parent; // stack, less than this one's id; 0: the frame is the outermost
    uint32_t frame;
} tsmith_stack;

// A name of a frame. A frame with inlined functions has several consecutive rows, the innermost function first.
typedef struct tsmith_symbol {
    uint32_t frame;
    uint32_t function; // strings; demangled
    uint32_t file;
    uint32_t line; // 0: not known
} tsmith_symbol;

// What a launcher (torchrun, mpirun, srun) stated about a process. A process has at most one.
typedef struct tsmith_rank {
    uint32_t
        process; // 0: the run that was recorded, whichever of its processes: the profiler's own environment states it
    uint32_t rank;        // 1 + its rank; 0: unknown
    uint32_t world;       // number of ranks of the run; 0: unknown
    uint32_t local_rank;  // 1 + its rank among those of its host; 0: unknown
    uint32_t local_world; // number of ranks of its host; 0: unknown
    uint32_t node;        // 1 + the number of its host; 0: unknown
    uint32_t launcher;    // strings: a name of TSMITH_LAUNCHER_TABLE (tracesmith/launcher.h)
    uint32_t job;         // the launcher's name of the run
} tsmith_rank;

typedef enum tsmith_relation {
    TSMITH_RELATION_UNKNOWN = 0,
    TSMITH_RELATION_SAME_CLOCK = 1, // one clock
    TSMITH_RELATION_WALL_CLOCK =
        2,                       // the machines' wall clocks relate them; how well those agree is not known
    TSMITH_RELATION_COMPARED = 3 // probes, UTC or PTP relate them, within a known error (TSMITH_CLOCK_PART)
} tsmith_relation;

// A trace of which this one was merged (tsmith_traces_combine). Its times are on its own trace clock.
typedef struct tsmith_part {
    uint32_t name;          // string: the file
    uint32_t host;          // string: host name
    uint32_t first_process; // its processes have consecutive ids, from this one on
    uint32_t process_count;
    uint32_t wall_clock; // clock: its comparisons of CLOCK_REALTIME with its trace clock; 0: none
    uint32_t relation;   // tsmith_relation: of its trace clock and that of part 1
    int64_t offset; // ns that its times + offset are times of part 1 by this relation; 0 if that is unknown
    int64_t error;  // ns: the bound of that; below 0: unknown
} tsmith_part;

TSMITH_API tsmith_status tsmith_dictionary_create(tsmith_dictionary **out);
TSMITH_API void tsmith_dictionary_destroy(tsmith_dictionary *dictionary);

// The id of these bytes, which are added if they are new. 0 for the empty string, and if memory or the 2^32-2 ids are
// exhausted (tsmith_dictionary_failed then returns true).
TSMITH_API uint32_t tsmith_dictionary_intern(tsmith_dictionary *dictionary, const char *bytes, size_t length);
TSMITH_API uint32_t tsmith_dictionary_intern_cstr(tsmith_dictionary *dictionary, const char *text);
// Appends bytes as the next id even if they exist already, so that a reader keeps the ids of a file.
TSMITH_API uint32_t tsmith_dictionary_append_string(tsmith_dictionary *dictionary, const char *bytes,
                                                    size_t length);
// The string; {"", 0} for an id that does not exist.
TSMITH_API tsmith_string tsmith_dictionary_string(const tsmith_dictionary *dictionary, uint32_t id);
// True after an addition has failed because memory was exhausted.
TSMITH_API int tsmith_dictionary_failed(const tsmith_dictionary *dictionary);

// For each table: add (returns the id; 0 if memory is exhausted, or for a stack whose parent does not exist yet), get (NULL for
// an id that does not exist), and the number of ids including 0, so that valid ids are 1 .. count-1.
#define TSMITH_DICTIONARY_TABLES(X)                                                                          \
    X(process, tsmith_process)                                                                               \
    X(device, tsmith_device)                                                                                 \
    X(track, tsmith_track)                                                                                   \
    X(clock, tsmith_clock)                                                                                   \
    X(clock_pair, tsmith_clock_pair)                                                                         \
    X(attribute, tsmith_attribute)                                                                           \
    X(dynamic_field, tsmith_dynamic_field)                                                                   \
    X(module, tsmith_module)                                                                                 \
    X(frame, tsmith_frame)                                                                                   \
    X(stack, tsmith_stack)                                                                                   \
    X(symbol, tsmith_symbol)                                                                                 \
    X(rank, tsmith_rank)                                                                                     \
    X(part, tsmith_part)
#define TSMITH_DICTIONARY_DECLARE(name, type)                                                                \
    TSMITH_API uint32_t tsmith_dictionary_add_##name(tsmith_dictionary *dictionary, const type *entry);      \
    TSMITH_API const type *tsmith_dictionary_##name(const tsmith_dictionary *dictionary, uint32_t id);       \
    TSMITH_API uint32_t tsmith_dictionary_##name##_count(const tsmith_dictionary *dictionary);
TSMITH_DICTIONARY_TABLES(TSMITH_DICTIONARY_DECLARE)
#undef TSMITH_DICTIONARY_DECLARE
TSMITH_API uint32_t tsmith_dictionary_string_count(const tsmith_dictionary *dictionary);

// The id of an equal entry, the first if there are several; a new entry is added. 0 as with add.
TSMITH_API uint32_t tsmith_dictionary_intern_module(tsmith_dictionary *dictionary,
                                                    const tsmith_module *module);
TSMITH_API uint32_t tsmith_dictionary_intern_frame(tsmith_dictionary *dictionary, const tsmith_frame *frame);
TSMITH_API uint32_t tsmith_dictionary_intern_stack(tsmith_dictionary *dictionary, const tsmith_stack *stack);

// The stack of a call path that continues `parent` (0: an empty path) by `frames`, the outermost first: the same
// as intern_stack for one frame after the other, in a fraction of the time. `parent` itself when there are none.
TSMITH_API uint32_t tsmith_dictionary_intern_path(tsmith_dictionary *dictionary, uint32_t parent,
                                                  const uint32_t *frames, size_t count);

// Replaces the name of a track (a thread learns its name late). Sinks that have
// written it already may keep the first form.
TSMITH_API void tsmith_dictionary_rename_track(tsmith_dictionary *dictionary, uint32_t track, uint32_t name);

// Sets the properties of a device that are unknown (0) to those in `known`. Known properties and the process stay.
TSMITH_API void tsmith_dictionary_complete_device(tsmith_dictionary *dictionary, uint32_t device,
                                                  const tsmith_device *known);

// The number of the dynamic field with this name and type, which is added if it is new; 0 if memory is exhausted.
TSMITH_API uint32_t tsmith_dictionary_field(tsmith_dictionary *dictionary, const char *name, tsmith_type type,
                                            const char *unit);
// Describes any field, of the schema or dynamic. False if it does not exist.
TSMITH_API int tsmith_dictionary_describe_field(const tsmith_dictionary *dictionary, uint32_t field,
                                                tsmith_field_info *out);
// The value of an attribute by key; {NULL, 0} when there is none. The last one added wins.
TSMITH_API tsmith_string tsmith_dictionary_find_attribute(const tsmith_dictionary *dictionary,
                                                          const char *key);
TSMITH_API void tsmith_dictionary_set_attribute(tsmith_dictionary *dictionary, const char *key,
                                                const char *value);

// The rank of a process, all zeros if none is known: its own row, else that of process 0, else what PyTorch's distributedInfo
// states. Of process 0: the rank whose trace it is; unknown if rows disagree, as in a trace of several ranks.
TSMITH_API tsmith_rank tsmith_dictionary_find_rank(const tsmith_dictionary *dictionary, uint32_t process);

// The names of tracks and devices in all tables and pictures. `room` holds a name that is composed; it must live as long as the
// returned string is used.
enum { TSMITH_LABEL_SIZE = 192 };

// The name of a track, without trailing spaces. Without a name, a queue is called "stream 7" (of OpenCL "queue 7") and a thread
// "thread 4711", by their numbers; any other track by its kind and id.
TSMITH_API tsmith_string tsmith_track_name(const tsmith_dictionary *dictionary, uint32_t track,
                                           char room[TSMITH_LABEL_SIZE]);
// The name of a device; "device 1", by the API's own number, if it has no name.
TSMITH_API tsmith_string tsmith_device_name(const tsmith_dictionary *dictionary, uint32_t device,
                                            char room[TSMITH_LABEL_SIZE]);

enum {                              // bits of `without`
    TSMITH_LABEL_PROCESS = 1u << 0, // whose process a track is
    TSMITH_LABEL_DEVICE = 1u << 1,  // which device a queue is of
};

// Writes the suffix that distinguishes a track from others with the same name: " (device 1, pid 4700, tid 4711, #2)". It has
// the device of a queue if the trace has queues of several devices, the pid if it has several processes, the tid of a thread if
// its process has other threads of that name, and a number if all of these are equal; without the parts in `without`. Returns
// the length; 0 if no suffix is needed.
TSMITH_API size_t tsmith_track_distinction(const tsmith_dictionary *dictionary, uint32_t track,
                                           unsigned without, char out[TSMITH_LABEL_SIZE]);
// The same of a device whose name another one has: " (device 1)".
TSMITH_API size_t tsmith_device_distinction(const tsmith_dictionary *dictionary, uint32_t device,
                                            char out[TSMITH_LABEL_SIZE]);

TSMITH_API const char *tsmith_track_kind_name(tsmith_track_kind kind);

#ifdef __cplusplus
}
#endif
#endif
