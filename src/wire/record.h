// SPDX-License-Identifier: Apache-2.0
// The records of a ring, and the shapes that describe them.
//
// A record is a sequence of 64-bit words. Its first word (the head) names its shape, a channel-local
// description, registered once, of what the other words mean: one field of the schema per word. So an agent
// writes plain words, and the collector needs to know no agent: a new field is a new entry in a shape.
//
//     head = shape (16 bits) | words, head included (16 bits) | subject (32 bits)
//
// The subject is a string id or a track id (RECORD_SUBJECT_*), the two ids nearly every event has.
#ifndef WIRE_RECORD_H
#define WIRE_RECORD_H

#include <stdint.h>

#include "tracesmith/schema.h"

#define RECORD_MAX_WORDS 1024u // of a record, head and list included
#define RECORD_MAX_FIELDS 48u  // of a shape
#define RECORD_MAX_SHAPES                                                                                    \
    1024u // of a channel, of all its APIs; shape 0 is never used, so a zero head is no record
// Shape of a one-word record, written by the ring itself: what follows was recorded by the thread whose track is the
// subject.
#define RECORD_SWITCH 0xffffu

enum record_role {
    RECORD_EVENT = 1, // a whole event
    RECORD_BEGIN = 2, // opens a range on the ring's thread track; START and NAME
    RECORD_END = 3,   // closes the innermost open one; START is the end
};

enum record_subject {
    RECORD_SUBJECT_NAME = 1,  // the event's NAME; its track is the thread the ring belongs to
    RECORD_SUBJECT_TRACK = 2, // the event's track
};

// What a word is, and how it becomes the value of its field.
enum record_encoding {
    RECORD_VALUE = 1,       // as it is (integers, enums, booleans, bits of a double, ns of the trace clock)
    RECORD_TICK = 2,        // a host tick (clock_tick) -> trace time
    RECORD_TICK_END = 3,    // a host tick; the field is DURATION: this tick - the one of START
    RECORD_DEVICE_TIME = 4, // ns of the clock of the track's device -> trace time
    RECORD_DEVICE_END = 5,  // the same clock; the field is DURATION: this - the one of START
    RECORD_STRING = 6,      // a channel string id
    RECORD_TRACK = 7,       // a channel track id
    RECORD_DYNAMIC = 8,     // as it is; the field is a channel's own (channel_field)
    RECORD_LIST = 9,        // count, then that many words; last of the shape
    RECORD_NOT_BEFORE =
        10, // no field: a host tick at or before the QUEUED of this record, a RECORD_DEVICE_TIME
    RECORD_NOT_AFTER = 11,      // no field: a host tick at or after it. The two calibrate the device's clock
    RECORD_STACK = 12,          // a number of the channel's stacks (stacks.h)
    RECORD_ZERO_IS_NONE = 0x80, // flag: the word 0 means that the event has no such value
};

struct record_field {
    uint16_t field;   // tsmith_field, or a channel's own field; 0 for NOT_BEFORE / NOT_AFTER
    uint8_t encoding; // enum record_encoding
    uint8_t type;     // of a channel's own field; 0 otherwise
};

struct record_shape {
    uint8_t kind; // tsmith_kind
    uint8_t role;
    uint8_t subject;
    uint8_t field_count;
    struct record_field fields[RECORD_MAX_FIELDS]; // one per word after the head, START first
};

static inline uint64_t record_head(uint16_t shape, uint32_t words, uint32_t subject) {
    return (uint64_t)shape | (uint64_t)(words & 0xffffu) << 16 | (uint64_t)subject << 32;
}

#endif
