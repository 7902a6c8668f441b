// SPDX-License-Identifier: Apache-2.0
// Perfetto's protobuf trace.
//
// perfetto.c takes the file apart into packets and is the source; state.c keeps data that a sequence of packets
// has once (texts, defaults, clocks); tracks.c knows processes, threads and tracks; event.c turns
// track events into rows and pairs begins with ends; values.c reads their annotations; gpu.c reads GPU
// render stages and counters; stacks.c makes call stacks, samples.c reads samples of them;
// ledger.c counts what was not read.
//
// A file that TraceSmith's exporter wrote has the mark "tracesmith.export", and its additional data about processes,
// tracks and fields is then used to restore the same events.
#ifndef IMPORT_PERFETTO_PERFETTO_H
#define IMPORT_PERFETTO_PERFETTO_H

#include "event/gather.h"
#include "import/input.h"
#include "import/proto_in.h"
#include "tracesmith/dictionary.h"
#include "tracesmith/stream.h"

enum {
    PF_TRACKS_MAX = 1 << 18,
    PF_SEQUENCES_MAX = 1 << 14,
    PF_TEXTS_MAX = 1 << 22, // interned at a time, of all sequences
    PF_FIELDS_MAX = 2048,
    PF_OPEN_MAX = 1 << 16, // slices that begin and do not end, of all tracks
    PF_VALUES_MAX = 4096,  // of an event
    PF_CLOCKS_MAX = 4096,  // snapshots of a clock that are kept
    PF_EXTRA_MAX = 16,
    PF_MACHINE_CLOCKS = 64, // clocks with a lower number are the machine's, up to 127 the sequence's
    PF_DEPTH_MAX = 64,      // of nested annotations

    PF_CLOCK_REALTIME = 1,
    PF_CLOCK_MONOTONIC = 3,
    PF_CLOCK_BOOTTIME = 6,

    // Fields of InternedData that are used.
    PF_CATEGORIES = 1,
    PF_NAMES = 2,
    PF_ANNOTATIONS = 3,
    PF_LOCATIONS = 4,
    PF_FUNCTION_NAMES = 5,
    PF_CALLSTACKS = 7,
    PF_BUILD_IDS = 16,
    PF_MAPPING_PATHS = 17,
    PF_SOURCE_PATHS = 18,
    PF_LOG_BODIES = 20,
    PF_CONTEXTS = 23,
    PF_SPECIFICATIONS = 24,
    PF_STRINGS = 29,
    PF_CORRELATIONS = 43,
    PF_KERNELS = 1000,
    PF_TASK_CONTEXTS = 2000, // of stack samples
    PF_WEIGHTS = 2002
};

// X(NAME, lost, reason, "text"): what can be wrong. lost: 1 when an event is missing for each.
#define PF_PROBLEM_TABLE(X)                                                                                  \
    X(MALFORMED, 1, TSMITH_REASON_CORRUPT, "packets that are not valid protobuf")                            \
    X(TOO_LARGE, 1, TSMITH_REASON_TABLE_FULL, "packets too large to be read")                                \
    X(BAD_COMPRESSION, 1, TSMITH_REASON_CORRUPT, "compressed packets that cannot be unpacked")               \
    X(NO_STATE, 1, TSMITH_REASON_VENDOR_DROPPED, "packets whose texts were dropped when they were recorded") \
    X(NO_TIME, 1, TSMITH_REASON_CORRUPT, "events without a time")                                            \
    X(TOO_MANY, 1, TSMITH_REASON_TABLE_FULL, "events on more tracks or sequences than can be distinguished") \
    X(DROPPED, 0, TSMITH_REASON_VENDOR_DROPPED, "times that packets were dropped when they were recorded")   \
    X(NO_CLOCK, 0, TSMITH_REASON_CORRUPT,                                                                    \
      "points in time of a clock that the file does not relate to the others")                               \
    X(NO_TEXT, 0, TSMITH_REASON_CORRUPT, "numbers of texts that the file does not have")                     \
    X(NO_STACK, 0, TSMITH_REASON_CORRUPT,                                                                    \
      "numbers of call stacks, or of their parts, that the file does not have")                              \
    X(TOO_MANY_STACKS, 0, TSMITH_REASON_TABLE_FULL, "call stacks, more than can be kept")                    \
    X(CUT, 0, TSMITH_REASON_CORRUPT,                                                                         \
      "the file ends early, or its compressed data is damaged: events may be missing or wrong")              \
    X(SAMPLES, 1, TSMITH_REASON_VENDOR_DROPPED, "samples that were lost or skipped when they were recorded") \
    X(NO_END, 0, TSMITH_REASON_UNMATCHED, "slices that begin and do not end")                                \
    X(NO_BEGIN, 0, TSMITH_REASON_UNMATCHED, "ends of slices that did not begin")                             \
    X(BACKWARDS, 0, TSMITH_REASON_NO_TIMING, "slices that end before they begin")                            \
    X(UNREAD_FIELD, 0, TSMITH_REASON_UNTRACED, "parts of track events that are not read")                    \
    X(TOO_MANY_FIELDS, 0, TSMITH_REASON_TABLE_FULL, "annotations with more names than can be kept")

enum pf_problem {
#define PF_PROBLEM_ENUM(NAME, lost, reason, text) PF_PROBLEM_##NAME,
    PF_PROBLEM_TABLE(PF_PROBLEM_ENUM)
#undef PF_PROBLEM_ENUM
        PF_PROBLEM_COUNT
};

// Two numbers to one.
struct pf_map {
    struct pf_slot *slots;
    size_t count, used;
};

struct pf_pair {
    int64_t own, trace; // ns
};

// What is known of a clock: pairs in ascending order of its own time.
struct pf_clock {
    struct pf_pair *pairs;
    size_t count, capacity;
    int64_t unit, last; // of an incremental one: its time
    bool incremental;
};

struct pf_sequence {
    struct pf_map texts; // (field of InternedData, iid) to a string, or a name's index, or a context's pid
    bool valid, seen;
    uint32_t clock; // default of the packets
    uint64_t track;
    uint64_t extra[PF_EXTRA_MAX], extra_double[PF_EXTRA_MAX];
    uint32_t extra_count, extra_double_count;
    struct pf_clock *clocks; // PF_MACHINE_CLOCKS of the sequence; NULL: none yet
    int64_t delta_us;        // of the older form of times
    uint32_t thread;         // index of the track of its thread, 0: none
    bool weights_are_ns;     // of stack samples without a thread
};

enum pf_form { PF_BOOL, PF_UINT, PF_INT, PF_DOUBLE, PF_STRING, PF_JSON, PF_POINTER, PF_LIST, PF_FORMS };

// The name of an annotation, and the fields that its values go into.
struct pf_name {
    uint32_t string;
    uint32_t field; // the one field that it represents; 0: one per form
    uint32_t type;
    uint32_t fields[PF_FORMS];
};

struct pf_value {
    uint32_t field;
    uint32_t type;
    uint64_t bits; // of a list: where it begins
    uint32_t count;
};

struct pf_event {
    int64_t start, duration;
    bool has_duration, has_name, has_category, has_start;
    bool own_name, own_category; // marked as an ordinary field of its kind, but separate all the same
    uint32_t name, category;     // strings
    tsmith_kind kind;            // NONE: follows from the category; LIMIT: stated to have none
    tsmith_kind natural;         // for want of another
    struct pf_value *values;
    size_t count, capacity;
    uint64_t *items; // of lists
    size_t item_count, item_capacity;
};

struct pf_open {
    struct pf_open *below;
    struct pf_event event;
};

struct pf_track {
    uint64_t uuid, parent;
    tsmith_track entry; // of the dictionary, but for names and process
    uint32_t id;        // of the dictionary, 0: no event yet
    uint32_t name;      // string
    uint32_t process;   // index in pf.processes
    uint32_t written_name;
    bool described, is_counter, is_process, is_thread, incremental;
    int64_t multiplier;
    double total;   // of an incremental counter
    uint32_t main;  // index of the track that this one is a lane or counter of; 0: none
    uint32_t field; // that the values of the counter belong to; 0: VALUE
    uint32_t field_type;
    struct pf_open *open;
};

struct pf_process {
    tsmith_process entry;
    uint32_t id;               // 0: not in the dictionary
    bool numbered, unnumbered; // a descriptor has its number, or lacks it
};

struct pf_device {
    tsmith_device entry;
    uint32_t id;
};

struct pf {
    struct input input;
    char *name; // of the file
    tsmith_dictionary *dictionary;
    struct gather gather;
    bool over, failed; // failed: out of memory
    tsmith_status ended;
    tsmith_error stop;
    uint64_t problems[PF_PROBLEM_COUNT];
    uint64_t unread[1024]; // packets by field, and further ones at 0
    uint64_t ftrace_events;
    bool ledger_written;

    bool ours, verbatim; // of our exporter; and what has no name or category had none
    struct pf_map sequence_map;
    struct pf_sequence **sequences;
    size_t sequence_count, sequence_capacity;
    size_t text_live;       // interned, of all sequences
    struct pf_map name_map; // (string, 0) to an index in names
    struct pf_name *names;  // [0]: of what has no room
    size_t name_count, name_capacity;
    size_t field_count;
    struct pf_clock clocks[PF_MACHINE_CLOCKS];
    uint32_t trace_clock;
    uint32_t realtime; // clock of the dictionary

    struct pf_map track_map; // uuids and what else has a track
    struct pf_track *tracks; // from 1
    size_t track_count, track_capacity;
    uint32_t *ids; // index by id of the dictionary
    size_t id_count, id_capacity, ids_written;
    struct pf_map process_map;
    struct pf_process *processes; // from 1
    size_t process_count, process_capacity, processes_written;
    struct pf_device *devices; // from 1
    size_t device_count, device_capacity, devices_written;
    struct pf_map device_map, gpu_map;
    size_t open_slices;
    struct pf_event event;               // being read
    struct pf_map module_map, frame_map; // by what symbols for the whole file name them
    tsmith_symbol
        *symbols; // by frame: what it is called, of inlined functions the innermost; frame 0: nothing
    size_t symbol_capacity;
    uint32_t words[TSMITH_KIND_LIMIT]; // strings: names of the kinds, 0: not asked for yet
    char *scratch;                     // for JSON
    size_t scratch_used, scratch_capacity;
};

// Whether the window begins as such a file does; reads some of it.
bool pf_is(struct input *input);
// Takes input and name (freed with the source, and on failure).
tsmith_status pf_open_input(struct input *input, char *name, tsmith_source **out, tsmith_error *error);

static inline void pf_problem(struct pf *pf, enum pf_problem problem) {
    pf->problems[problem]++;
}

// ---- state.c

// The value of (a, b), made 0 when it is new and `add`; NULL when there is none, or no memory (pf->failed).
uint32_t *pf_map_at(struct pf *pf, struct pf_map *map, uint64_t a, uint64_t b, bool add);
void pf_map_finish(struct pf_map *map);
// NULL when there are too many.
struct pf_sequence *pf_sequence(struct pf *pf, uint64_t id);
void pf_clear_sequence(struct pf *pf, struct pf_sequence *sequence);
void pf_read_defaults(struct pf *pf, struct pf_sequence *sequence, struct proto_in in);
void pf_read_interned(struct pf *pf, struct pf_sequence *sequence, struct proto_in in);
// What the sequence has under this number; false (and counted) when there is nothing.
bool pf_text(struct pf *pf, const struct pf_sequence *sequence, uint32_t field, uint64_t iid, uint32_t *out);
// The same, without counting.
bool pf_find(struct pf *pf, const struct pf_sequence *sequence, uint32_t field, uint64_t iid, uint32_t *out);
// Where the sequence keeps what it has under this number from now on; NULL (and counted) when there is no room, or when the
// entry was `bad`.
uint32_t *pf_text_slot(struct pf *pf, struct pf_sequence *sequence, uint32_t field, uint64_t iid, bool bad);
void pf_read_clocks(struct pf *pf, struct pf_sequence *sequence, struct proto_in in);
// A time of a clock as ns of the trace.
int64_t pf_time(struct pf *pf, struct pf_sequence *sequence, uint64_t clock, uint64_t time);
void pf_state_finish(struct pf *pf);

// ---- tracks.c

uint32_t pf_intern(struct pf *pf, const struct proto_field *field);
// Index of a track, described or not; 0 when there are too many.
uint32_t pf_track_of_uuid(struct pf *pf, uint64_t uuid);
// For tracks without a descriptor: `space` distinguishes keys of different kinds and is above 0.
uint32_t pf_track_of_key(struct pf *pf, uint64_t space, uint64_t key);
uint32_t pf_thread_track(struct pf *pf, uint64_t pid, uint64_t tid);
uint32_t pf_process(struct pf *pf, uint64_t pid);
void pf_name_thread(struct pf *pf, uint64_t pid, uint64_t tid, uint32_t name);
void pf_name_process(struct pf *pf, uint64_t pid, uint32_t name);
// The device of a GPU's number.
uint32_t pf_gpu(struct pf *pf, uint64_t number);
// The id of the track in the dictionary, given when it is first asked for.
uint32_t pf_track_id(struct pf *pf, uint32_t track);
// The track whose rows the events of this one are (its own, or that of which it is a lane).
uint32_t pf_main_track(const struct pf *pf, uint32_t track);
void pf_read_track(struct pf *pf, struct proto_in in);
// Returns the thread's track.
uint32_t pf_read_thread(struct pf *pf, struct proto_in in, int64_t *reference_us);
uint64_t pf_read_process(struct pf *pf, struct proto_in in);
void pf_read_process_tree(struct pf *pf, struct proto_in in);
void pf_read_attributes(struct pf *pf, struct proto_in in);
// What is new goes into the dictionary: before a batch is given away.
void pf_write_dictionary(struct pf *pf);
void pf_tracks_finish(struct pf *pf);

// ---- values.c

// The index in pf.names of this text.
uint32_t pf_name(struct pf *pf, uint32_t string);
// The field for values of this form under a name; 0 when there are too many.
uint32_t pf_field(struct pf *pf, uint32_t name, enum pf_form form);
uint32_t pf_new_field(struct pf *pf, uint32_t name, uint32_t type, const char *unit);
void pf_event_begin(struct pf_event *event);
void pf_event_finish(struct pf_event *event);
void pf_add_value(struct pf *pf, struct pf_event *event, uint32_t field, uint32_t type, uint64_t bits);
// Under a name of our own choice, with a unit.
void pf_add_named(struct pf *pf, struct pf_event *event, const char *name, uint32_t type, uint64_t bits);
void pf_add_list(struct pf *pf, struct pf_event *event, uint32_t field, const uint64_t *items, size_t count);
void pf_read_annotation(struct pf *pf, const struct pf_sequence *sequence, struct pf_event *event,
                        struct proto_in in);

// ---- event.c

void pf_read_event(struct pf *pf, struct pf_sequence *sequence, struct proto_in in, bool has_time,
                   int64_t time);
// Puts a row into the batch of its track.
void pf_put_event(struct pf *pf, uint32_t track, const struct pf_event *event);
void pf_put_counter(struct pf *pf, uint32_t track, int64_t time, double value);
void pf_end_events(struct pf *pf);

// ---- gpu.c

void pf_read_render_stage(struct pf *pf, struct pf_sequence *sequence, struct proto_in in, bool has_time,
                          int64_t time);
void pf_read_gpu_counters(struct pf *pf, struct proto_in in, bool has_time, int64_t time);

// ---- stacks.c

// The bytes of a module's build id as hexadecimal digits.
uint32_t pf_build_id(struct pf *pf, const struct proto_field *field);
// The modules, frames and stacks of InternedData, whose texts are known already.
void pf_read_interned_stacks(struct pf *pf, struct pf_sequence *sequence, struct proto_in in);
// A row of the dictionary; 0 (and counted) when the sequence has none of this number.
uint32_t pf_stack(struct pf *pf, const struct pf_sequence *sequence, uint64_t iid);
// The same for a stack that is defined where it is used: by names, or by the numbers of its frames.
uint32_t pf_read_inline_stack(struct pf *pf, const struct pf_sequence *sequence, struct proto_in in);
// A row of the dictionary, called `symbol` (whose frame does not matter).
uint32_t pf_add_frame(struct pf *pf, tsmith_frame frame, const tsmith_symbol *symbol);
// The name of the innermost function; 0: not known.
uint32_t pf_innermost(const struct pf *pf, uint32_t stack);
// The names of all frames of a file, given after them.
void pf_read_module_symbols(struct pf *pf, struct proto_in in);
void pf_stacks_finish(struct pf *pf);

// ---- samples.c

void pf_read_sample_defaults(struct pf_sequence *sequence, struct proto_in in);
void pf_read_task_context(struct pf *pf, struct pf_sequence *sequence, struct proto_in in);
void pf_read_weight_unit(struct pf *pf, struct pf_sequence *sequence, struct proto_in in);
void pf_read_perf_sample(struct pf *pf, struct pf_sequence *sequence, struct proto_in in, int64_t time);
void pf_read_stack_sample(struct pf *pf, struct pf_sequence *sequence, struct proto_in in, int64_t time);
// Samples of the sequence's thread. `time`: of the packet, if it has one.
void pf_read_streaming(struct pf *pf, struct pf_sequence *sequence, struct proto_in in, bool has_time,
                       int64_t time);

// ---- ledger.c

void pf_write_ledger(struct pf *pf);
// What the attribute "import.<attribute>" of a Perfetto trace counts. NULL: it is none of these, or packets of a field without a name.
const char *pf_problem_doc(const char *attribute);

#endif
