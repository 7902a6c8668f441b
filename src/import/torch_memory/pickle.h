// SPDX-License-Identifier: Apache-2.0
// Reads a pickle of Python that holds data only: numbers, texts, lists, tuples and dicts. Python's own reader runs whatever
// functions a pickle names; this one has no opcode that names, calls or builds anything, and stops at the first of them.
//
// Nothing is copied and nothing is followed: a value that the memo gives again is the same number of an object, whatever
// that contains, so cycles and shared values cost 8 bytes each time. An object is complete when it is put into another
// one; the caller then sees it (`complete`) and may replace it by a number of its own, which frees what it held.
#ifndef IMPORT_TORCH_MEMORY_PICKLE_H
#define IMPORT_TORCH_MEMORY_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/input.h"
#include "tracesmith/dictionary.h"

enum {
    PICKLE_OBJECTS_MAX = 1 << 26, // lists, tuples and dicts of a file
    PICKLE_VALUES_MAX = 1 << 28,  // on the stack, in the memo
    PICKLE_DEPTH_MAX = 1 << 14    // containers that are begun and not ended
};

// A value: its type in the lower 3 bits, above them the number of an object or string, or a small integer.
typedef uint64_t pickle_value;

enum pickle_type {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INTEGER, // 61 bits, signed
    PICKLE_WIDE,    // an integer of 64 bits: its number in `wide`
    PICKLE_FLOAT,   // its number in `wide`, the bits of a double
    PICKLE_STRING,  // an id of the dictionary
    PICKLE_OBJECT,
    PICKLE_OTHER // bytes, or an integer of more than 64 bits
};

enum pickle_kind { PICKLE_LIST, PICKLE_TUPLE, PICKLE_DICT, PICKLE_REPLACED };

struct pickle_object {
    pickle_value *items; // of a dict key, value, key, value...
    uint32_t count, capacity;
    uint32_t kind; // pickle_kind, or PICKLE_REPLACED + what the caller says: then `count` is the caller's
    uint32_t seen; // how many items it had when `complete` saw it last
};

struct pickle {
    struct input *input; // the caller's
    tsmith_dictionary *dictionary;
    void (*complete)(void *context, uint32_t object);
    void *context;
    pickle_value *stack, *memo;
    size_t depth, stack_capacity, memo_count, memo_capacity;
    uint32_t *marks; // depths of the stack
    size_t mark_count, mark_capacity;
    struct pickle_object *objects;
    size_t object_count, object_capacity;
    struct pickle_wide {
        uint64_t bits;
        bool negative;
    } * wide;
    size_t wide_count, wide_capacity;
    char problem[120];   // why it cannot be read on; "": it can
    uint64_t problem_at; // byte
    bool refused;        // the problem is that it is more than data
    bool cut;            // ... that the file ends
    bool over, failed;   // `failed`: out of memory
};

static inline enum pickle_type pickle_type(pickle_value value) {
    return (enum pickle_type)(value & 7);
}

static inline uint32_t pickle_number(pickle_value value) {
    return (uint32_t)(value >> 3);
}

// Reads so many opcodes. False at the end: `over`, a problem, or `failed`.
bool pickle_run(struct pickle *pickle, unsigned opcodes);
// What was read becomes the result, although the file ended: containers that were begun are ended.
void pickle_close(struct pickle *pickle);
// The result, PICKLE_NONE if there is none.
pickle_value pickle_result(const struct pickle *pickle);
void pickle_finish(struct pickle *pickle);

// The object of a value; NULL: it is none.
const struct pickle_object *pickle_object(const struct pickle *pickle, pickle_value value);
// Frees what the object holds; it now is PICKLE_REPLACED + `kind`, and `number` is in its `count`.
void pickle_replace(struct pickle *pickle, uint32_t object, uint32_t kind, uint32_t number);
// An integer that 64 bits hold; of a negative one the bits, and *negative.
bool pickle_integer(const struct pickle *pickle, pickle_value value, uint64_t *out, bool *negative);

#endif
