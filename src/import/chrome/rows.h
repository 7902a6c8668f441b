// SPDX-License-Identifier: Apache-2.0
// The state of what puts events into batches (rows.c, tracks.c).
#ifndef IMPORT_CHROME_ROWS_H
#define IMPORT_CHROME_ROWS_H

#include "import/chrome/chrome.h"
#include "import/chrome/stacks.h"

enum {
    TRACKS_MAX = 1 << 18,
    OPEN_RANGES_MAX = 1 << 16, // of all tracks together
    FLOW_FORMS = 16,
    PYTHON_PLACES = 1024,
    NEEDED_NAMES = 1024
};

// A begun range: its event until the end comes.
struct open_range {
    struct open_range *below;
    struct event event;
    struct value values[]; // of it
};

// Events of one track and category: a batch of them has the same columns nearly throughout.
struct group {
    struct group *next; // of the track
    struct row_track *track;
    uint32_t category;
    char ph;
    bool has_category;
    bool by_name; // its events are distinguished by their names
    tsmith_kind kind;
    enum around_role around;
    tsmith_batch *batch; // NULL: none yet
};

struct row_track {
    uint32_t index; // its id in the dictionary is one more
    struct ident pid, tid;
    uint32_t process;   // index in processes
    uint32_t name;      // string
    bool device;        // shows what a GPU did
    bool by_name;       // its events are distinguished by their names (kinds.c)
    bool is_runtime;    // its events are calls of a GPU API
    uint32_t device_id; // its thread, if the format has one (0: its pid is used)
    uint64_t queue;
    bool unnumbered; // with device_id: the source has no number for the queue
    struct group *groups;
    struct open_range *open;
    struct around_track *around; // NULL: nothing of a call stack was seen here
};

struct row_process {
    struct ident pid;
    uint32_t name, written_name;
    uint32_t device; // the device that it represents, 0: none
};

// An event that flows may be attached to.
struct last_row {
    struct group *group;
    uint32_t row; // in its batch
    struct ident pid, tid;
    struct moment start;
    uint64_t correlation;
    bool has_correlation, has_flow;
};

// What a flow has besides its place and id, as JSON.
struct flow_form {
    char ph;
    uint32_t name, category, binding;
    bool has_binding;
    uint32_t text;
};

// What is in the name of a Python function.
struct python_place {
    uint32_t name;       // string
    uint32_t file, line; // 0: none
};

// Whether events of a kind and name are needed.
struct needed {
    uint32_t name; // string
    uint8_t kind;
    bool is_known, is_needed;
};

// An event that is not needed, but shows how long the trace is; without its values.
struct bound {
    struct event event;
    int64_t time;
    bool any;
};

struct rows {
    size_t hold_bytes;
    struct row_track **tracks;
    size_t track_count, track_capacity, tracks_written;
    struct row_process *processes;
    size_t process_count, process_capacity, processes_written;
    uint32_t *process_slots; // hash table of index + 1
    size_t process_slot_count;
    uint32_t *track_slots; // hash table of index + 1
    size_t slot_count;
    struct row_track *last_track; // of the last event

    tsmith_batch **ready; // full ones, the oldest first
    size_t ready_count, ready_capacity, ready_taken;
    tsmith_batch *given; // with the consumer
    size_t ready_bytes;
    size_t group_bytes; // estimate of what the groups' batches hold, beyond the least a batch has
    size_t group_batches;

    struct stacks stacks;
    struct last_row last;
    struct flow_form flow_forms[FLOW_FORMS];
    size_t flow_form_count;
    uint32_t field_flow, field_flow_id, field_time[2], field_duration[2], field_ph, field_args, field_raw,
        field_bandwidth;
    uint32_t key_binding; // string ids
    uint32_t key_binding_value;

    size_t open_ranges;
    int64_t first_start, last_end;
    bool any;
    tsmith_status device_status;
    uint32_t copy_name;                               // string id whose direction was looked up last
    uint8_t copy_direction;                           // which
    uint32_t python_category;                         // string id of "python_function", 0: not seen yet
    struct python_place python_places[PYTHON_PLACES]; // of the names that were asked last, by name
    uint32_t mtia_category;                           // string id of "mtia_ccp_events", 0: not seen yet
    uint32_t devices_text;                            // string id of deviceProperties, 0: none yet
    struct needed needed[NEEDED_NAMES];               // of the names that were asked last, by name
    struct bound first_left_out, last_left_out;       // of the events that are left out
    uint32_t *devices;                                // by number (the pid, in Kineto): device id
    size_t device_capacity;
    size_t metadata_bytes;
    bool ended, failed;
};

// ---- kinds.c

tsmith_kind kinds_of(const struct chrome *chrome, const struct row_track *track, const struct event *event);
// Whether it is MTIA hardware, whose kinds of work share a category and are distinguished by their names.
bool kinds_is_mtia(const struct chrome *chrome, const struct event *event);
// Facts in a name or an argument: the direction of a copy, the priority of a stream, file and line of a
// Python function. An exporter leaves these
// columns out again (export/chrome/chrome.c).
void kinds_derive(struct chrome *chrome, tsmith_batch *batch, tsmith_kind kind, const struct event *event);
// Before the first event of a track: the facts that it and the name of its process determine for all events.
void kinds_learn(struct chrome *chrome, struct row_track *track, const struct event *event);

// ---- overlaps.c

// Counts those of a finished batch as problems.
void overlaps_count(struct chrome *chrome, const tsmith_batch *batch);

// ---- needs.c

// Whether the caller needs the event, which is of that kind.
bool needs_ask(struct chrome *chrome, tsmith_kind kind, const struct event *event);
// Leaves out an event that is not needed.
void needs_leave_out(struct rows *rows, const struct event *event);

// ---- own.c

// A top-level key other than the events: whether it names TraceSmith as the writer.
void own_recognize(struct chrome *chrome, const char *key, size_t key_length, const char *text,
                   size_t length);
tsmith_kind own_kind(const struct chrome *chrome, const struct event *event, tsmith_kind otherwise);
// The device and queue of a track, by an event of it.
void own_learn(struct chrome *chrome, struct row_track *track, const struct event *event);
// Puts the value into the field of its name; false when there is none or it does not fit.
bool own_set(struct chrome *chrome, tsmith_batch *batch, const struct value *value);
// The field of an argument of this name; TSMITH_FIELD_NONE when it has none.
uint32_t own_field(tsmith_string name);

// ---- tracks.c

// The track of an event, made when it is new; NULL when there are too many.
struct row_track *tracks_find(struct chrome *chrome, struct ident pid, struct ident tid, bool device);
// Adds what is new to the dictionary: the next batch may refer to it.
void tracks_write(struct chrome *chrome);
// A metadata event: process_name, thread_name and the like.
void tracks_metadata(struct chrome *chrome, const struct event *event, const char *text, size_t length);
// Where the id of the device of that number is, 0 when it has none yet; NULL when there are too many.
uint32_t *tracks_device(struct rows *rows, uint64_t number);
// The number of a queue: a tid that is a number, or "stream 7". False, and 0, when the tid has none.
bool tracks_number(const struct chrome *chrome, struct ident tid, uint64_t *out);
void tracks_finish(struct rows *rows);

#endif
