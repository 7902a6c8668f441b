// SPDX-License-Identifier: Apache-2.0
// CTF 1.8 (LTTng, babeltrace2, barectf, THAPI) and CTF 2 (LTTng 2.14 and newer, babeltrace2 2.1): a folder with the file "metadata" and a
// file for each data stream.
//
// The metadata describe clocks, data streams, and the fields of each class of event records: in CTF 2 as JSON fragments, each after a
// record separator, in CTF 1.8 as TSDL. metadata.c reads the former into classes, tsdl.c the latter. locate.c finds the fields that others
// depend on, fields.c decodes a field by its class, packets.c the packets of a stream, pairs.c makes ranges, ctf.c is the source.
#ifndef IMPORT_CTF_CTF_H
#define IMPORT_CTF_CTF_H

#include "base/arena.h"
#include "base/table.h"
#include "import/json_members.h"
#include "import/rows_source.h"
#include "import/texts.h"

enum {
    CTF_METADATA_MAX = 64 << 20, // bytes
    CTF_CLASSES_MAX = 1 << 20,
    CTF_SLOTS_MAX = 1 << 16,
    CTF_COMPARISONS_MAX = 1 << 26, // of names, in the search for lengths and selectors
    CTF_DEPTH_MAX = 32,
    CTF_PATH_MAX = 32,
    CTF_ARRAY_MAX = 1 << 24, // elements
    CTF_STREAMS_MAX = 1 << 14,
    CTF_PACKET_MAX = 256 << 20 // bytes
};

// X(NAME, "type of a field class")
#define CTF_TYPE_TABLE(X)                                                                                    \
    X(BITS, "fixed-length-bit-array")                                                                        \
    X(MAP, "fixed-length-bit-map")                                                                           \
    X(BOOLEAN, "fixed-length-boolean")                                                                       \
    X(UNSIGNED, "fixed-length-unsigned-integer")                                                             \
    X(SIGNED, "fixed-length-signed-integer")                                                                 \
    X(FLOAT, "fixed-length-floating-point-number")                                                           \
    X(VAR_UNSIGNED, "variable-length-unsigned-integer")                                                      \
    X(VAR_SIGNED, "variable-length-signed-integer")                                                          \
    X(TEXT, "null-terminated-string")                                                                        \
    X(STATIC_TEXT, "static-length-string")                                                                   \
    X(DYNAMIC_TEXT, "dynamic-length-string")                                                                 \
    X(STATIC_BLOB, "static-length-blob")                                                                     \
    X(DYNAMIC_BLOB, "dynamic-length-blob")                                                                   \
    X(STRUCTURE, "structure")                                                                                \
    X(STATIC_ARRAY, "static-length-array")                                                                   \
    X(DYNAMIC_ARRAY, "dynamic-length-array")                                                                 \
    X(OPTIONAL, "optional")                                                                                  \
    X(VARIANT, "variant")

enum ctf_type {
#define CTF_TYPE_ENUM(NAME, name) CTF_##NAME,
    CTF_TYPE_TABLE(CTF_TYPE_ENUM)
#undef CTF_TYPE_ENUM
        CTF_TYPE_COUNT
};

// X(NAME, "role of a field")
#define CTF_ROLE_TABLE(X)                                                                                    \
    X(STREAM_CLASS, "data-stream-class-id")                                                                  \
    X(STREAM, "data-stream-id")                                                                              \
    X(MAGIC, "packet-magic-number")                                                                          \
    X(UUID, "metadata-stream-uuid")                                                                          \
    X(TIMESTAMP, "default-clock-timestamp")                                                                  \
    X(END, "packet-end-default-clock-timestamp")                                                             \
    X(DISCARDED, "discarded-event-record-counter-snapshot")                                                  \
    X(CONTENT, "packet-content-length")                                                                      \
    X(TOTAL, "packet-total-length")                                                                          \
    X(SEQUENCE, "packet-sequence-number")                                                                    \
    X(RECORD_CLASS, "event-record-class-id")

enum ctf_role {
#define CTF_ROLE_ENUM(NAME, name) CTF_ROLE_##NAME,
    CTF_ROLE_TABLE(CTF_ROLE_ENUM)
#undef CTF_ROLE_ENUM
        CTF_ROLE_COUNT
};

// X(NAME, "origin of a field location"): the root structures, in the order in which they are decoded.
#define CTF_ROOT_TABLE(X)                                                                                    \
    X(PACKET_HEADER, "packet-header")                                                                        \
    X(PACKET_CONTEXT, "packet-context")                                                                      \
    X(RECORD_HEADER, "event-record-header")                                                                  \
    X(COMMON_CONTEXT, "event-record-common-context")                                                         \
    X(SPECIFIC_CONTEXT, "event-record-specific-context")                                                     \
    X(PAYLOAD, "event-record-payload")

enum ctf_root {
#define CTF_ROOT_ENUM(NAME, name) CTF_ROOT_##NAME,
    CTF_ROOT_TABLE(CTF_ROOT_ENUM)
#undef CTF_ROOT_ENUM
        CTF_ROOT_COUNT
};

struct ctf_class;

struct ctf_range {
    int64_t from, to; // compared as the field's own type
};

struct ctf_member { // of a structure; an option of a variant; a mapping or flag (without a class)
    uint32_t name;  // string; 0: none
    struct ctf_class *of;
    struct ctf_range *ranges;
    size_t range_count;
};

// The labels of an enumeration of TSDL, by name, and those of one name in their order: the ranges of a name are next to each other.
struct ctf_labels {
    uint64_t *keys; // name << 32 | place in the enumeration
    struct ctf_range *ranges;
    size_t count;
};

struct ctf_class {
    enum ctf_type type;
    uint32_t roles;     // bits
    uint64_t length;    // bits of fixed-length fields, bytes of strings and BLOBs, elements of arrays
    uint64_t alignment; // of an instance, in bits
    bool big, last_to_first;
    uint8_t unit;               // bytes of a code unit of a string
    struct ctf_class *element;  // of arrays and optionals
    struct ctf_member *members; // of structures and variants
    size_t member_count;
    struct ctf_member *mappings;
    size_t mapping_count;
    const struct ctf_labels *labels; // the same, if they are of TSDL
    struct ctf_range *ranges;        // of an optional
    size_t range_count;
    struct ctf_class *scope;    // the structure that it is in; NULL: it is a root
    struct json_value location; // of the field that it depends on
    uint32_t slot;              // where its value is kept for others; 0: nowhere
    uint32_t needs;             // the slot of what it depends on
};

struct ctf_clock {
    uint64_t frequency;
    int64_t seconds;
    uint64_t cycles;
    bool unix_epoch;
};

enum ctf_side { CTF_SIDE_UNKNOWN, CTF_SIDE_NONE, CTF_SIDE_ENTRY, CTF_SIDE_EXIT };

struct ctf_record_class {
    uint32_t name; // string; 0: none
    enum ctf_side side;
    uint32_t call;     // string: the name of the function, or the name without _entry or _exit
    uint32_t provider; // string: that of THAPI whose functions are those of an API; 0: it is none
    bool of_thread;    // what it begins or ends belongs to a thread, not to the processor
    struct ctf_class *specific, *payload;
};

struct ctf_stream_class {
    struct ctf_clock *clock; // NULL: none
    struct ctf_class *context, *header, *common;
    struct table records; // struct ctf_record_class by id
};

struct ctf_slot {
    uint64_t bits;
    uint64_t stamp; // of the packet or record that has it
    bool is_signed;
};

// A packet and the place in it.
struct ctf_bits {
    const uint8_t *bytes;
    uint64_t at, end;    // bits
    const char *problem; // NULL: none yet
    bool short_of;       // more than `end` was needed
};

struct ctf_stream {
    char *name; // of the file, in the folder
    int fd;
};

// A record that begins or ends a call.
struct ctf_call_side {
    int64_t time;
    uint32_t track, call, provider, order;
    bool is_exit, of_stream; // the latter: the track is that of a stream
};

// A time, with both ends, in which records of a stream may be missing.
struct ctf_loss {
    int64_t from, to;
    uint32_t track; // of the stream; 0: of any
};

struct ctf {
    struct rows_source rows;
    struct texts texts;
    struct problems problems;
    struct arena arena;
    size_t class_count;
    struct table aliases; // 1 + place in `alias_values`, by string
    struct json_value *alias_values;
    size_t alias_count, alias_capacity;
    struct table clocks, streams_by_id;
    struct ctf_class *packet_header;
    uint8_t uuid[16];
    bool has_uuid, has_preamble;
    unsigned version; // of the metadata: 1 or 2
    char *metadata;   // as text
    struct ctf_slot *slots;
    size_t slot_count, slot_capacity;
    uint64_t stamp, packet_stamp, record_stamp; // the first: of what is decoded
    struct ctf_class **pending;                 // classes whose location is not found yet
    size_t pending_count, pending_capacity;
    uint64_t comparisons; // of names, so far

    struct ctf_stream *streams;
    size_t stream_count, stream_capacity;
    size_t stream_at;
    bool in_stream, in_packet;

    // of the stream that is read
    uint64_t offset, size; // bytes
    char *buffer;
    size_t buffer_capacity;
    uint64_t have; // bytes in the buffer, from `offset` on
    struct ctf_bits bits;
    struct ctf_stream_class *stream_class;
    uint64_t clock;
    uint64_t total; // bits of the packet
    struct ctf_roles {
        bool known[CTF_ROLE_COUNT];
        uint64_t values[CTF_ROLE_COUNT];
    } roles;
    bool has_discarded, has_sequence;
    uint64_t discarded, sequence, records;
    int64_t last_end;  // ns: of the packet before
    int64_t last_time; // ns: none of the stream's records up to here are missing that the losses do not have
    uint32_t stream_track;
    struct table threads, processes;
    struct ctf_value *values; // of the record that is read
    size_t value_count, value_capacity;
    char *text; // JSON of an array
    size_t text_used, text_capacity;
    struct table fields;           // by hash of name and type
    size_t packet_values;          // how many of them are of the packet
    uint64_t elements;             // of the arrays of a record
    uint32_t pid_field, tid_field; // of the contexts; 0: there is none
    struct ctf_call_side *sides;
    size_t side_count, side_capacity, side_at, side_open;
    bool sides_sorted;
    struct ctf_loss *losses;
    size_t loss_count, loss_capacity;
    bool has_unpaired;      // some records or losses were too many to be kept,
    int64_t unpaired_since; // ns: the first of them
};

struct ctf_value {
    uint32_t field;
    tsmith_type type;
    uint64_t bits;
};

// ---- metadata.c

// Zeroed memory that is released with the source; one element for a count of 0. NULL: the source has failed.
void *ctf_make(struct ctf *ctf, size_t count, size_t size);
// The class has a location, which ctf_locate will find.
bool ctf_add_pending(struct ctf *ctf, struct ctf_class *made);
// Sets the attribute trace.STEM KEY to a string.
void ctf_set_fact(struct ctf *ctf, const char *stem, const char *key, size_t length, uint32_t text);

// Reads the fragments. NULL, or what is wrong with the fragment at *at.
const char *ctf_read_metadata(struct ctf *ctf, const char **at);
// The class that the JSON describes: an object, or the name of an alias. NULL: it is none that can be read.
struct ctf_class *ctf_class_of(struct ctf *ctf, const struct json_value *value, struct ctf_class *scope,
                               unsigned depth);

// ---- locate.c

// Finds what the classes of this root depend on. `roots`: those that are decoded before it, and itself. NULL, or what is wrong.
const char *ctf_locate(struct ctf *ctf, struct ctf_class *const roots[CTF_ROOT_COUNT]);
// Counts comparisons of names. False: there were too many.
bool ctf_may_compare(struct ctf *ctf, size_t more);
extern const char ctf_comparisons_problem[];

// ---- fields.c

// How the values of a field are kept.
struct ctf_keep {
    const char *prefix; // NULL: only roles and slots matter
    bool json;          // as JSON in ctf->text
};
bool ctf_decode(struct ctf *ctf, struct ctf_class *of, const struct ctf_keep *keep, const char *name,
                unsigned depth);
// The class of ranges has this value.
bool ctf_in_ranges(const struct ctf_range *ranges, size_t count, uint64_t bits, bool is_signed);

// ---- packets.c

// Decodes the next records, packet or stream.
void ctf_read_some(struct ctf *ctf);

// ---- pairs.c

// Keeps the record, if its class begins or ends a call.
void ctf_note_side(struct ctf *ctf, struct ctf_record_class *of, uint32_t track, int64_t time);
// Records of the stream of this track (0: of any) may be missing from one time to another, both included.
void ctf_note_loss(struct ctf *ctf, uint32_t track, int64_t from, int64_t to);
// After all streams: reads up to `most` records and writes the ranges that end there. False when all are done.
bool ctf_write_ranges(struct ctf *ctf, size_t most);

// ---- ctf.c

// The file is the metadata of a trace of this version: 1 or 2.
bool ctf_is(struct input *input, unsigned version);
// Takes over the input and the name. The streams are the other files in the folder of `path`, which must be the file that is read.
tsmith_status ctf_open(struct input *input, char *name, tsmith_source **out, tsmith_error *error);
// The same with one stream, which is taken over: for tests.
tsmith_status ctf_open_stream(struct input *input, char *name, int stream, tsmith_source **out,
                              tsmith_error *error);

#endif
