// SPDX-License-Identifier: Apache-2.0
// Parts of records. A part is described once, as a list of its words; the struct that an agent fills and the part's
// piece of a shape come from the list, so that a word cannot mean one thing to the writer and another to the reader.
//
// #define COPY_WORDS(WORD) WORD(bytes, TSMITH_FIELD_BYTES, RECORD_VALUE) WORD(source, TSMITH_FIELD_SOURCE, RECORD_VALUE)
// RECORD_PART(copy_words, COPY_WORDS)        in a header: struct copy_words { uint64_t bytes, source; };
// RECORD_PART_SHAPE(copy_words, COPY_WORDS)  in the file that registers shapes: copy_words_add(&shape)
//
//     shape = record_register(channel, TSMITH_KIND_MEMCPY, RECORD_SUBJECT_TRACK, copy_words_add);
//     RECORD_WRITE(ring, shape, track, copy_words, .bytes = 4096, .source = buffer);
//
// A record of several parts is put together by record_begin, RECORD_PUT and record_commit.
// A word that is not named is 0. For a channel's own field, the list has the variable that holds its id.
#ifndef WIRE_RECORD_PART_H
#define WIRE_RECORD_PART_H

#include "channel.h"

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

// Takes records before they go to the ring; NULL: all go there. Files whose records may be looked at define RECORD_HOOKED as 1
// before they include anything: others do not pay for it.
struct record_hook {
    uint64_t *(*reserve)(uint32_t words);                              // NULL: the ring is to be asked
    void (*commit)(struct ring *ring, uint64_t *head, uint32_t words); // of what `reserve` gave, or the ring
};
extern const struct record_hook *record_hook __attribute__((visibility("hidden")));
#ifndef RECORD_HOOKED
#define RECORD_HOOKED 0
#endif

// As ring_reserve and ring_commit; `head` is what was reserved.
static inline uint64_t *record_reserve(struct ring *ring, uint32_t words) {
    uint64_t *const at = RECORD_HOOKED && record_hook ? record_hook->reserve(words) : NULL;
    return at ? at : ring_reserve(ring, words);
}
static inline void record_commit(struct ring *ring, uint64_t *head, uint32_t words) {
    if (RECORD_HOOKED && record_hook)
        record_hook->commit(ring, head, words);
    else
        ring_commit(ring, words);
}

// Room for a record of this many words, head included, with its head: the place of the first word behind that. NULL:
// no room, or no ring; the ring has counted the event.
static inline uint64_t *record_begin(struct ring *ring, uint16_t shape, uint32_t words, uint32_t subject) {
    uint64_t *at = ring ? record_reserve(ring, words) : NULL;
    if (!at)
        return NULL;
    *at = record_head(shape, words, subject);
    return at + 1;
}

// Ends a record of a length that was not known before: `head` is what was reserved, `at` the place behind its last word.
static inline void record_close(struct ring *ring, uint64_t *head, const uint64_t *at, uint16_t shape,
                                uint32_t subject) {
    const uint32_t words = (uint32_t)(at - head);
    *head = record_head(shape, words, subject);
    record_commit(ring, head, words);
}

// Writes a record that has one part. Without room, or a ring, the event is dropped; the ring has counted it.
#define RECORD_WRITE(to, shape, subject, part, ...)                                                          \
    do {                                                                                                     \
        enum { RECORD_WORDS_ = 1 + RECORD_PART_WORDS(part) };                                                \
        struct ring *const ring_ = (to);                                                                     \
        uint64_t *const at_ = record_begin(ring_, shape, RECORD_WORDS_, subject);                            \
        if (at_) {                                                                                           \
            RECORD_SET(at_, part, __VA_ARGS__);                                                              \
            record_commit(ring_, at_ - 1, RECORD_WORDS_);                                                    \
        }                                                                                                    \
    } while (0)

typedef void record_part_add(struct record_shape *shape);

static inline uint16_t record_register_parts(struct channel *channel, tsmith_kind kind,
                                             enum record_subject subject, record_part_add *const *parts,
                                             size_t count) {
    struct record_shape shape = record_shape_begin(kind, subject);
    for (size_t i = 0; i < count; i++)
        if (parts[i])
            parts[i](&shape);
    return channel_shape(channel, &shape);
}

// Registers the shape of a record of one part, of which `add` is; of several parts, of which NULL ones are left out:
//
//     shape = RECORD_REGISTER(channel, kind, RECORD_SUBJECT_TRACK, timed ? timed_words_add : NULL, copy_words_add);
//
// 0: no room in the channel's table.
static inline uint16_t record_register(struct channel *channel, tsmith_kind kind, enum record_subject subject,
                                       record_part_add *add) {
    return record_register_parts(channel, kind, subject, &add, 1);
}
#define RECORD_REGISTER(channel, kind, subject, ...)                                                         \
    record_register_parts(channel, kind, subject, (record_part_add *const[]){__VA_ARGS__},                   \
                          sizeof((record_part_add *const[]){__VA_ARGS__}) / sizeof(record_part_add *))

#endif
