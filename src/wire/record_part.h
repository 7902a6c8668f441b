// SPDX-License-Identifier: Apache-2.0
// Parts of records. A part is described once, as a list of its words; the struct that an agent fills and the part's
// piece of a shape come from the list, so that a word cannot mean one thing to the writer and another to the reader.
//
// #define COPY_WORDS(WORD) WORD(bytes, TSMITH_FIELD_BYTES, RECORD_VALUE) WORD(source, TSMITH_FIELD_SOURCE, RECORD_VALUE)
// RECORD_PART(copy_words, COPY_WORDS)        in a header: struct copy_words { uint64_t bytes, source; };
// RECORD_PART_SHAPE(copy_words, COPY_WORDS)  in the file that registers shapes: copy_words_add(&shape)
//
//     uint64_t *at = record_begin(ring, shape, words, subject);
//     RECORD_PUT(at, copy_words, .bytes = 4096, .source = buffer);
//     ring_commit(ring, words);
//
// A word that is not named is 0. For a channel's own field, the list has the variable that holds its id.
#ifndef WIRE_RECORD_PART_H
#define WIRE_RECORD_PART_H

#include "record.h"
#include "ring.h"

#define RECORD_PART_MEMBER(member, field, encoding) uint64_t member;
#define RECORD_PART_FIELD(member, field, encoding) record_shape_add(shape, (field), (uint8_t)(encoding));

#define RECORD_PART(name, LIST)                                                                              \
    struct name {                                                                                            \
        LIST(RECORD_PART_MEMBER)                                                                             \
    };

#define RECORD_PART_SHAPE(name, LIST)                                                                        \
    static void name##_add(struct record_shape *shape) {                                                     \
        LIST(RECORD_PART_FIELD)                                                                              \
    }

// Words of a part.
#define RECORD_PART_WORDS(name) ((uint32_t)(sizeof(struct name) / sizeof(uint64_t)))

// Fills the part at `at`.
#define RECORD_SET(at, name, ...) (*(struct name *)(void *)(at) = (struct name){__VA_ARGS__})
// The same, and moves `at` behind it.
#define RECORD_PUT(at, name, ...)                                                                            \
    do {                                                                                                     \
        RECORD_SET(at, name, __VA_ARGS__);                                                                   \
        (at) += RECORD_PART_WORDS(name);                                                                     \
    } while (0)

static inline void record_shape_add(struct record_shape *shape, uint16_t field, uint8_t encoding) {
    shape->fields[shape->field_count++] = (struct record_field){.field = field, .encoding = encoding};
}

static inline struct record_shape record_shape_begin(tsmith_kind kind, enum record_subject subject) {
    return (struct record_shape){.kind = (uint8_t)kind, .role = RECORD_EVENT, .subject = (uint8_t)subject};
}

// The word of a number with a fraction.
static inline uint64_t record_double(double value) {
    uint64_t word;
    __builtin_memcpy(&word, &value, sizeof word);
    return word;
}

// Room for a record of this many words, head included, with its head: the place of the first word behind that. NULL:
// no room, or no ring; the ring has counted the event.
static inline uint64_t *record_begin(struct ring *ring, uint16_t shape, uint32_t words, uint32_t subject) {
    uint64_t *at = ring ? ring_reserve(ring, words) : NULL;
    if (!at)
        return NULL;
    *at = record_head(shape, words, subject);
    return at + 1;
}

#endif
