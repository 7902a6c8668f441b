// SPDX-License-Identifier: Apache-2.0
// Perfetto's protobuf trace, the parts behind perfetto.c: encoding events, describing tracks, putting slices in
// order and on lanes.
#ifndef EXPORT_PERFETTO_PERFETTO_H
#define EXPORT_PERFETTO_PERFETTO_H

#include "export/order.h"
#include "export/origin.h"
#include "export/output.h"
#include "export/proto_out.h"
#include "tracesmith/batch.h"
#include "tracesmith/dictionary.h"
#include "tracesmith/stacks.h"

// Numbers of the format (https://perfetto.dev/docs/reference/trace-packet-proto).
enum {
    TRACE_PACKET = 1,
    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_CLOCK = 58,
    PACKET_DEFAULTS = 59,
    PACKET_TRACK = 60,
    PACKET_ATTRIBUTES = 126,

    FLAG_STATE_CLEARED = 1,
    FLAG_NEEDS_STATE = 2,

    CLOCK_REALTIME_ID = 1,
    CLOCK_MONOTONIC_RAW_ID = 5,
    CLOCK_BOOTTIME_ID = 6,
    CLOCK_OF_SEQUENCE = 64, // incremental: the time since the packet before

    EVENT_CATEGORY = 3,
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_NAME = 10,
    EVENT_TRACK = 11,
    EVENT_EXTRA_VALUE = 12,
    EVENT_COUNTER_VALUE = 30,
    EVENT_EXTRA_TRACK = 31,
    EVENT_DOUBLE_VALUE = 44,
    EVENT_EXTRA_DOUBLE_TRACK = 45,
    EVENT_EXTRA_DOUBLE = 46,
    EVENT_FLOW = 47,
    EVENT_TERMINATING_FLOW = 48,
    EVENT_CORRELATION = 52,
    EVENT_CALLSTACK = 56,

    TYPE_SLICE_BEGIN = 1,
    TYPE_SLICE_END = 2,
    TYPE_INSTANT = 3,
    TYPE_COUNTER = 4,

    ANNOTATION_NAME = 1,
    ANNOTATION_BOOL = 2,
    ANNOTATION_UINT = 3,
    ANNOTATION_INT = 4,
    ANNOTATION_DOUBLE = 5,
    ANNOTATION_ARRAY = 12,
    ANNOTATION_STRING_ID = 17,

    INTERNED_CATEGORY = 1,
    INTERNED_NAME = 2,
    INTERNED_ANNOTATION = 3,
    INTERNED_FUNCTION = 5,
    INTERNED_FRAME = 6,
    INTERNED_CALLSTACK = 7,
    INTERNED_BUILD_ID = 16,
    INTERNED_PATH = 17,
    INTERNED_SOURCE = 18,
    INTERNED_MAPPING = 19,
    INTERNED_STRING = 29,
};

// What is interned in a sequence.
enum space {
    SPACE_NAME,
    SPACE_CATEGORY,
    SPACE_STRING,
    SPACE_ANNOTATION,
    SPACE_COUNTER,
    SPACE_FUNCTION,
    SPACE_SOURCE,
    SPACE_BUILD_ID,
    SPACE_PATH,
    SPACE_MAPPING,
    SPACE_FRAME,
    SPACE_STACK,
    SPACE_COUNT
};

// kind_str of frames: what Perfetto has no number for.
#define FRAME_GUESSED_TEXT "guessed"
#define FRAME_TRUNCATED_TEXT "truncated"
#define FRAME_TRUNCATED_GUESSED_TEXT "truncated, guessed"

struct interned {
    uint64_t key;  // 0: a free slot
    uint32_t iid;  // of a counter: its uuid
    uint32_t kind; // the kind that the text names, if any
};

struct lane {
    int64_t *ends; // of the open slices, the outermost first
    size_t depth, capacity;
    uint32_t uuid; // 0: not described yet
};

struct lanes {
    struct lane *lanes;
    size_t count, capacity;
    int64_t next_end; // the earliest end of all that is open; INT64_MAX: nothing is
    bool late;        // slices that came when later ones were written already
};

// A track of the dictionary: a sequence of packets with interned data and a clock of its own.
struct sequence {
    uint32_t uuid;
    uint32_t name; // string, as it was described
    bool described, begun, clocked;
    int64_t last_time; // of the last packet
    struct interned *slots;
    size_t slot_count, slots_used;
    uint32_t next_iid[SPACE_COUNT];
    struct proto_out interned; // not written yet
    struct waiting *waiting;   // each `length` bytes of TrackEvent at `at` of events
    size_t waiting_count, waiting_capacity;
    struct proto_out events;
    struct lanes lanes;
};

// A field as an annotation: its name, which no other field has.
struct annotated {
    uint32_t field;
    char *name;
};

struct perfetto_column;

struct perfetto {
    struct output output;
    const tsmith_dictionary *dictionary; // of the call
    bool started, failed;
    struct origin origin;
    uint32_t next_uuid;
    uint32_t attributes_written;   // of the dictionary
    uint32_t *processes, *devices; // uuids by id; 0: not described
    size_t process_capacity, device_capacity, devices_described;
    struct sequence **sequences; // by track id
    size_t sequence_capacity;
    struct annotated *fields;
    size_t field_count, field_capacity;
    size_t held; // bytes that wait
    struct proto_out scratch;
    struct waiting_scratch sorting;
    struct perfetto_column *columns; // of the batch
    size_t column_count, column_capacity;
    tsmith_stack_names *stacks; // NULL: the trace has none
    tsmith_stack_line *lines;   // of a stack
    size_t line_capacity;
};

// ---- import/perfetto/tracks.c

void perfetto_start(struct perfetto *perfetto);
// Attributes of the dictionary that are new.
void perfetto_put_attributes(struct perfetto *perfetto);
// The sequence of a track, described; NULL when memory is exhausted.
struct sequence *perfetto_sequence(struct perfetto *perfetto, uint32_t track);
// The uuid of a track under which a counter or lane is shown next to `sequence`.
uint32_t perfetto_put_lane(struct perfetto *perfetto, uint32_t track, const struct sequence *sequence);
uint32_t perfetto_put_counter(struct perfetto *perfetto, uint32_t track, tsmith_string name,
                              const char *series);
// Tracks that have no event, and names that came late.
void perfetto_put_rest(struct perfetto *perfetto);
// The index of the field in perfetto->fields, which gives it its name; SIZE_MAX when it cannot be named.
size_t perfetto_field(struct perfetto *perfetto, uint32_t field);
void perfetto_finish_tracks(struct perfetto *perfetto);
// Writes perfetto->scratch as a packet and empties it.
void perfetto_put_packet(struct perfetto *perfetto);

// ---- intern.c

// The number of a text in the sequence, defined for the reader when it is new. `key` distinguishes texts of a space:
// not 0 in its lowest 56 bits. The pointer lives until the next call.
const struct interned *perfetto_intern(struct perfetto *perfetto, struct sequence *sequence, enum space space,
                                       uint64_t key, const char *bytes, size_t length);
struct interned *perfetto_slot(struct perfetto *perfetto, struct sequence *sequence, enum space space,
                               uint64_t key);
void perfetto_put_interned(struct perfetto *perfetto, uint32_t track, struct sequence *sequence);
// Forgets the texts; nothing of the sequence may wait. perfetto_sequence then begins it anew.
void perfetto_forget(struct perfetto *perfetto, struct sequence *sequence);

// ---- import/perfetto/stacks.c

// The number of a call stack in the sequence, defined for the reader when it is new.
uint32_t perfetto_stack(struct perfetto *perfetto, struct sequence *sequence, uint32_t stack);

// ---- order.c

// Writes the earliest `most` waiting events of the sequence and, with `end`, the ends of open slices. Their interned
// texts must have been defined.
void perfetto_put_waiting(struct perfetto *perfetto, uint32_t track, struct sequence *sequence, size_t most,
                          bool end);
// Writes older halves while too much waits.
void perfetto_bound(struct perfetto *perfetto);
void perfetto_finish_lanes(struct lanes *lanes);

#endif
