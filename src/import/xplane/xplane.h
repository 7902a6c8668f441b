// SPDX-License-Identifier: Apache-2.0
// XPlane: the protobuf trace of XLA's profiler (JAX, TensorFlow, PyTorch/XLA), *.xplane.pb.
//
// A file is one XSpace message: planes (a host, a device), of lines (a thread, a stream), of events. What names mean stands
// behind the lines that use them, so each plane is read twice: plane.c learns its names and where its lines are,
// event.c turns the events of a line into rows; about.c keeps what describes planes and names; xplane.c is the
// source, and reads the file by ranges: no more of it is in memory than one event or one entry of names.
#ifndef IMPORT_XPLANE_XPLANE_H
#define IMPORT_XPLANE_XPLANE_H

#include "base/arena.h"
#include "base/table.h"
#include "event/gather.h"
#include "event/ledger.h"
#include "import/input.h"
#include "import/proto_in.h"
#include "import/seekable.h"
#include "tracesmith/dictionary.h"
#include "tracesmith/stream.h"

enum {
    XP_MESSAGE_MAX = 64 << 20, // bytes of one event or entry of names
    XP_LINES_MAX = 1 << 18,    // of all planes
    XP_NAMES_MAX = 1 << 22,    // of a plane
    XP_FIELDS_MAX = 2048,      // dynamic fields
    XP_FIXED_STATS_MAX = 4096, // bytes of the stats of a name that its events are given
    XP_ABOUT_MAX = 16 << 20    // bytes of the description of a plane
};

// X(NAME, lost, reason, "text"): what can be wrong. lost: 1 when an event is missing for each.
#define XP_PROBLEM_TABLE(X)                                                                                  \
    X(MALFORMED, 1, TSMITH_REASON_CORRUPT, "events or lines that are not valid protobuf")                    \
    X(TOO_LARGE, 1, TSMITH_REASON_TABLE_FULL, "events or names larger than 64 MiB")                          \
    X(TOO_MANY, 1, TSMITH_REASON_TABLE_FULL, "lines or names, more than can be kept")                        \
    X(NO_TIME, 1, TSMITH_REASON_CORRUPT, "events with an invalid time")                                      \
    X(AGGREGATED, 1, TSMITH_REASON_NO_TIMING, "events that have a count instead of a time")                  \
    X(BACKWARDS, 0, TSMITH_REASON_NO_TIMING, "events that end before they start")                            \
    X(NO_NAME, 0, TSMITH_REASON_CORRUPT, "numbers of names that the plane does not have")                    \
    X(TWICE, 0, TSMITH_REASON_TABLE_FULL, "stats that an event has twice; the last one is kept")             \
    X(TOO_MANY_FIELDS, 0, TSMITH_REASON_TABLE_FULL, "stats with more names than can be kept")                \
    X(ABOUT, 0, TSMITH_REASON_TABLE_FULL, "planes whose description is larger than can be kept")

enum xp_problem {
#define XP_PROBLEM_ENUM(NAME, lost, reason, text) XP_PROBLEM_##NAME,
    XP_PROBLEM_TABLE(XP_PROBLEM_ENUM)
#undef XP_PROBLEM_ENUM
        XP_PROBLEM_COUNT
};

// ---- ranges of the file (xplane.c)

struct xp_range {
    uint64_t at, end;
};

struct xp_field {
    uint32_t number, wire;
    uint64_t value;        // of a varint or fixed value
    struct xp_range range; // of what has a length
};

struct xplane;

// The next field of the range, which moves on; false at its end, and with *bad where no field is.
bool xp_next(struct xplane *xplane, struct xp_range *range, struct xp_field *field, bool *bad);
// Its bytes, until the next call; NULL when there are too many of them or they cannot be read.
const void *xp_bytes(struct xplane *xplane, struct xp_range range);

void xp_problem(struct xplane *xplane, enum xp_problem problem);

// ---- a plane (plane.c)

enum xp_role { XP_NO_ROLE, XP_CORRELATION, XP_KERNEL_DETAILS, XP_MEMCPY_DETAILS, XP_MEMSET_DETAILS };
enum { XP_FORMS = 5 }; // double, unsigned, signed, text, bytes

struct xp_stat_name {
    uint32_t name; // string
    enum xp_role role;
    uint32_t fields[2][XP_FORMS]; // dynamic fields: of an event, and of its name; 0: none yet
    uint64_t used[2];             // number of the event that had it last
};

struct xp_event_name {
    uint32_t name, display_name; // strings
    struct xp_range range;       // of the message
    const uint8_t
        *stats; // the messages of its stats, each behind its length; NULL: too many to be given to events
    uint32_t stats_length;
    bool details; // it has more than names: for the description
};

struct xp_line {
    struct xp_range range;
    int64_t id, display_id, timestamp_ns, duration_ps;
    uint32_t name, display_name; // strings
};

struct xp_plane {
    struct xp_range range;
    int64_t id;
    uint32_t name;
    uint32_t device, process; // of the dictionary
    bool is_device, is_tpu;
    struct xp_line *lines;
    size_t line_count, line_capacity;
    struct xp_stat_name *stats;
    size_t stat_count, stat_capacity;
    struct xp_event_name *events;
    size_t event_count, event_capacity;
    struct table stat_ids, event_ids; // from numbers of names to places in a list
    struct xp_range *own;             // its stats
    size_t own_count, own_capacity;
    struct arena arena; // stats of names
};

// Learns everything of the plane but its events.
void xp_plane_read(struct xplane *xplane, struct xp_range range);
void xp_plane_finish(struct xp_plane *plane);
struct xp_stat_name *xp_stat_name(struct xplane *xplane, int64_t id);
struct xp_event_name *xp_event_name(struct xplane *xplane, int64_t id);

// A stat as it stands in the file.
struct xp_stat {
    struct xp_stat_name *name;
    int form;      // -1: it has no value
    uint64_t bits; // of a number
    const char *bytes;
    size_t length;
};

bool xp_stat_read(struct xplane *xplane, struct proto_in in, struct xp_stat *stat);

// ---- rows (event.c)

// The track of the line.
uint32_t xp_line_track(struct xplane *xplane, const struct xp_line *line, bool *queue);
void xp_event_read(struct xplane *xplane, const struct xp_line *line, struct proto_in in);

// ---- descriptions (about.c)

// The plane as a JSON attribute: its own stats, its lines, and the data of its names besides the names.
void xp_describe(struct xplane *xplane);

// ---- the source

struct xplane {
    tsmith_dictionary *dictionary;
    char *name; // of the file, for messages
    struct seekable file;
    char *buffer; // buffer[0 .. have) is the file from `from` on
    size_t capacity, have;
    uint64_t from;
    struct xp_range space; // what is left of the file
    struct xp_plane plane;
    size_t line_at;       // of the plane
    struct xp_range line; // what is left of it
    uint32_t track;       // of the line
    bool in_line, queue;
    uint64_t events;
    size_t lines_in_all;
    uint32_t field_count;
    uint32_t rest_fields[2]; // dynamic fields of what is below a nanosecond
    struct gather gather;
    struct ledger ledger;
    uint64_t problems[XP_PROBLEM_COUNT];
    uint32_t host;      // string
    uint32_t processes; // how many there are
    int64_t pid;        // of the last one
    uint32_t process;
    bool over, failed, damaged;
    tsmith_error stop;
};

// Whether the window begins as such a file does.
bool xplane_is(struct input *input);
// Takes over the input and the name.
tsmith_status xplane_open(struct input *input, char *name, tsmith_source **out, tsmith_error *error);

#endif
