// SPDX-License-Identifier: Apache-2.0
// The opcodes of a pickle that are data (protocols 2 to 5), on a stack of values.
#include "import/torch_memory/pickle.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"

// X(NAME, byte): what is read.
#define OPCODE_TABLE(X)                                                                                      \
    X(MARK, '(')                                                                                             \
    X(STOP, '.')                                                                                             \
    X(POP, '0')                                                                                              \
    X(POP_MARK, '1')                                                                                         \
    X(BINBYTES, 'B')                                                                                         \
    X(SHORT_BINBYTES, 'C')                                                                                   \
    X(BINFLOAT, 'G')                                                                                         \
    X(BININT, 'J')                                                                                           \
    X(BININT1, 'K')                                                                                          \
    X(BININT2, 'M')                                                                                          \
    X(NONE, 'N')                                                                                             \
    X(BINSTRING, 'T')                                                                                        \
    X(SHORT_BINSTRING, 'U')                                                                                  \
    X(BINUNICODE, 'X')                                                                                       \
    X(EMPTY_LIST, ']')                                                                                       \
    X(APPEND, 'a')                                                                                           \
    X(DICT, 'd')                                                                                             \
    X(APPENDS, 'e')                                                                                          \
    X(BINGET, 'h')                                                                                           \
    X(LONG_BINGET, 'j')                                                                                      \
    X(LIST, 'l')                                                                                             \
    X(BINPUT, 'q')                                                                                           \
    X(LONG_BINPUT, 'r')                                                                                      \
    X(SETITEM, 's')                                                                                          \
    X(TUPLE, 't')                                                                                            \
    X(SETITEMS, 'u')                                                                                         \
    X(EMPTY_DICT, '}')                                                                                       \
    X(EMPTY_TUPLE, ')')                                                                                      \
    X(PROTO, 0x80)                                                                                           \
    X(TUPLE1, 0x85)                                                                                          \
    X(TUPLE2, 0x86)                                                                                          \
    X(TUPLE3, 0x87)                                                                                          \
    X(NEWTRUE, 0x88)                                                                                         \
    X(NEWFALSE, 0x89)                                                                                        \
    X(LONG1, 0x8a)                                                                                           \
    X(LONG4, 0x8b)                                                                                           \
    X(SHORT_BINUNICODE, 0x8c)                                                                                \
    X(BINUNICODE8, 0x8d)                                                                                     \
    X(BINBYTES8, 0x8e)                                                                                       \
    X(MEMOIZE, 0x94)                                                                                         \
    X(FRAME, 0x95)

enum {
#define OPCODE_ENUM(NAME, byte) OP_##NAME = byte,
    OPCODE_TABLE(OPCODE_ENUM)
#undef OPCODE_ENUM
};

// X(byte, "NAME"): what names or calls functions, or is made by them.
#define REFUSED_TABLE(X)                                                                                     \
    X('c', "GLOBAL")                                                                                         \
    X('R', "REDUCE")                                                                                         \
    X('b', "BUILD")                                                                                          \
    X('i', "INST")                                                                                           \
    X('o', "OBJ")                                                                                            \
    X('P', "PERSID")                                                                                         \
    X('Q', "BINPERSID")                                                                                      \
    X(0x81, "NEWOBJ")                                                                                        \
    X(0x82, "EXT1")                                                                                          \
    X(0x83, "EXT2")                                                                                          \
    X(0x84, "EXT4")                                                                                          \
    X(0x92, "NEWOBJ_EX")                                                                                     \
    X(0x93, "STACK_GLOBAL")                                                                                  \
    X(0x97, "NEXT_BUFFER")

enum { PROTOCOL_MAX = 5 };

static bool stop(struct pickle *pickle, const char *format, ...) TSMITH_PRINTF(2, 3);

// Always false.
static bool stop(struct pickle *pickle, const char *format, ...) {
    if (pickle->problem[0] || pickle->failed)
        return false;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(pickle->problem, sizeof pickle->problem, format, arguments);
    va_end(arguments);
    pickle->problem_at = pickle->input->offset + pickle->input->begin;
    return false;
}

static bool exhausted(struct pickle *pickle) {
    pickle->failed = true;
    return false;
}

// ---- bytes

// So many bytes of the file, which are then read; NULL when there are not.
static const uint8_t *take_bytes(struct pickle *pickle, uint64_t size) {
    struct input *input = pickle->input;
    while (__builtin_expect(input->end - input->begin < size, 0)) {
        if (size > INPUT_WINDOW_MAX / 2) {
            (void)stop(pickle, "a value of %llu bytes", (unsigned long long)size);
            return NULL;
        }
        tsmith_status status = input->ended ? TSMITH_END : input_more(input, NULL);
        if (status == TSMITH_ERROR_NO_MEMORY)
            pickle->failed = true;
        if (status != TSMITH_OK) {
            pickle->cut = true;
            (void)stop(pickle, "%s", input->problem ? input->problem : "the file ends within the pickle");
            return NULL;
        }
    }
    const uint8_t *bytes = (const uint8_t *)input->window + input->begin;
    input->begin += (size_t)size;
    return bytes;
}

// A little-endian number of so many bytes.
static bool take_number(struct pickle *pickle, unsigned bytes, uint64_t *out) {
    const uint8_t *at = take_bytes(pickle, bytes);
    *out = 0;
    for (unsigned i = 0; at && i < bytes; i++)
        *out |= (uint64_t)at[i] << 8 * i;
    return at != NULL;
}

// ---- values

static bool push(struct pickle *pickle, pickle_value value) {
    if (pickle->depth >= PICKLE_VALUES_MAX)
        return stop(pickle, "more values than can be kept");
    if (!ARRAY_RESERVE(pickle->stack, pickle->stack_capacity, pickle->depth + 1))
        return exhausted(pickle);
    pickle->stack[pickle->depth++] = value;
    return true;
}

static bool push_wide(struct pickle *pickle, enum pickle_type type, uint64_t bits, bool negative) {
    if (pickle->wide_count >= PICKLE_OBJECTS_MAX)
        return stop(pickle, "more numbers than can be kept");
    struct pickle_wide *wide = ARRAY_PUSH(pickle->wide, pickle->wide_count, pickle->wide_capacity);
    if (!wide)
        return exhausted(pickle);
    *wide = (struct pickle_wide){bits, negative};
    return push(pickle, (uint64_t)(pickle->wide_count - 1) << 3 | type);
}

static bool push_integer(struct pickle *pickle, uint64_t bits, bool negative) {
    const int64_t value = (int64_t)bits;
    if (negative == (value < 0) && value >= -(INT64_C(1) << 60) && value < INT64_C(1) << 60)
        return push(pickle, bits << 3 | PICKLE_INTEGER);
    return push_wide(pickle, PICKLE_WIDE, bits, negative);
}

static bool push_bits(struct pickle *pickle, unsigned bytes) {
    uint64_t bits;
    return take_number(pickle, bytes, &bits) && push_integer(pickle, bits, false);
}

// Two's complement of any length.
static bool push_long(struct pickle *pickle, uint64_t size) {
    const uint8_t *at = take_bytes(pickle, size);
    if (!at)
        return false;
    const bool negative = size && at[size - 1] & 0x80;
    uint64_t bits = negative ? UINT64_MAX : 0;
    while (size > 8 && at[size - 1] == (negative ? 0xff : 0))
        size--;
    if (size > 8 || (size == 8 && negative && !(at[7] & 0x80)))
        return push(pickle, PICKLE_OTHER);
    for (uint64_t i = 0; i < size; i++)
        bits = (bits & ~(UINT64_C(0xff) << 8 * i)) | (uint64_t)at[i] << 8 * i;
    return push_integer(pickle, bits, negative);
}

static bool push_string(struct pickle *pickle, unsigned length_bytes) {
    uint64_t length;
    const uint8_t *bytes = take_number(pickle, length_bytes, &length) ? take_bytes(pickle, length) : NULL;
    if (!bytes)
        return false;
    const uint32_t id = tsmith_dictionary_intern(pickle->dictionary, (const char *)bytes, (size_t)length);
    if (length && !id)
        return exhausted(pickle);
    return push(pickle, (uint64_t)id << 3 | PICKLE_STRING);
}

static bool skip_bytes(struct pickle *pickle, unsigned length_bytes) {
    uint64_t length;
    return take_number(pickle, length_bytes, &length) && take_bytes(pickle, length) &&
           push(pickle, PICKLE_OTHER);
}

// ---- objects

const struct pickle_object *pickle_object(const struct pickle *pickle, pickle_value value) {
    return pickle_type(value) == PICKLE_OBJECT ? &pickle->objects[pickle_number(value)] : NULL;
}

static bool push_object(struct pickle *pickle, enum pickle_kind kind) {
    if (pickle->object_count >= PICKLE_OBJECTS_MAX)
        return stop(pickle, "more lists and dicts than can be kept");
    struct pickle_object *object = ARRAY_PUSH(pickle->objects, pickle->object_count, pickle->object_capacity);
    if (!object)
        return exhausted(pickle);
    *object = (struct pickle_object){.kind = kind, .seen = UINT32_MAX};
    return push(pickle, (uint64_t)(pickle->object_count - 1) << 3 | PICKLE_OBJECT);
}

// Puts so many values from `from` of the stack into an object.
static bool put_items(struct pickle *pickle, uint32_t number, size_t from, size_t count) {
    struct pickle_object *object = &pickle->objects[number];
    if (count > PICKLE_VALUES_MAX - object->count)
        return stop(pickle, "more values than can be kept");
    const size_t needed = object->count + count;
    if (needed > object->capacity) {
        // The first values are mostly all of them.
        const size_t grown = !object->count ? needed : needed + needed / 2;
        pickle_value *items = realloc(object->items, grown * sizeof *items);
        if (!items)
            return exhausted(pickle);
        object->items = items;
        object->capacity = (uint32_t)grown;
    }
    if (count)
        memcpy(object->items + object->count, pickle->stack + from, count * sizeof *object->items);
    object->count = (uint32_t)needed;
    for (size_t i = 0; i < count; i++) {
        const pickle_value value = pickle->stack[from + i];
        if (pickle_type(value) != PICKLE_OBJECT)
            continue;
        struct pickle_object *part = &pickle->objects[pickle_number(value)];
        if (part->kind < PICKLE_REPLACED && part->seen != part->count) {
            part->seen = part->count;
            pickle->complete(pickle->context, pickle_number(value));
        }
    }
    return true;
}

void pickle_replace(struct pickle *pickle, uint32_t number, uint32_t kind, uint32_t of_caller) {
    struct pickle_object *object = &pickle->objects[number];
    free(object->items);
    *object = (struct pickle_object){.kind = PICKLE_REPLACED + kind, .count = of_caller};
}

// The values above the newest mark, which goes; *from is the place of the first. False without a mark.
static bool take_mark(struct pickle *pickle, size_t *from) {
    *from = 0;
    if (!pickle->mark_count)
        return stop(pickle, "the end of a container that was not begun");
    *from = pickle->marks[--pickle->mark_count];
    return true;
}

// Puts the values from `from` on into the object below them, which must be of this kind.
static bool add(struct pickle *pickle, size_t from, enum pickle_kind kind) {
    const size_t floor = pickle->mark_count ? pickle->marks[pickle->mark_count - 1] : 0;
    const struct pickle_object *into =
        from > floor && from <= pickle->depth ? pickle_object(pickle, pickle->stack[from - 1]) : NULL;
    const size_t count = pickle->depth - from;
    if (!into || into->kind != kind || (kind == PICKLE_DICT && count % 2))
        return stop(pickle, "values for a container that does not take them");
    if (!put_items(pickle, pickle_number(pickle->stack[from - 1]), from, count))
        return false;
    pickle->depth = from;
    return true;
}

static bool add_marked(struct pickle *pickle, enum pickle_kind kind) {
    size_t from;
    return take_mark(pickle, &from) && add(pickle, from, kind);
}

// The last `count` values, above the newest mark.
static bool add_last(struct pickle *pickle, size_t count, enum pickle_kind kind) {
    return pickle->depth > count ? add(pickle, pickle->depth - count, kind)
                                 : stop(pickle, "fewer values than an opcode needs");
}

// A new object of the values from `from` on.
static bool make_object(struct pickle *pickle, size_t from, enum pickle_kind kind) {
    const size_t count = pickle->depth - from;
    if (kind == PICKLE_DICT && count % 2)
        return stop(pickle, "a key without a value");
    if (!push_object(pickle, kind) ||
        !put_items(pickle, pickle_number(pickle->stack[pickle->depth - 1]), from, count))
        return false;
    pickle->stack[from] = pickle->stack[pickle->depth - 1];
    pickle->depth = from + 1;
    return true;
}

static bool make_marked(struct pickle *pickle, enum pickle_kind kind) {
    size_t from;
    return take_mark(pickle, &from) && make_object(pickle, from, kind);
}

static size_t above_mark(const struct pickle *pickle) {
    return pickle->depth - (pickle->mark_count ? pickle->marks[pickle->mark_count - 1] : 0);
}

static bool make_tuple(struct pickle *pickle, size_t count) {
    return above_mark(pickle) >= count ? make_object(pickle, pickle->depth - count, PICKLE_TUPLE)
                                       : stop(pickle, "fewer values than an opcode needs");
}

static bool set_mark(struct pickle *pickle) {
    if (pickle->mark_count >= PICKLE_DEPTH_MAX)
        return stop(pickle, "more than %d containers within each other", PICKLE_DEPTH_MAX);
    uint32_t *mark = ARRAY_PUSH(pickle->marks, pickle->mark_count, pickle->mark_capacity);
    if (!mark)
        return exhausted(pickle);
    *mark = (uint32_t)pickle->depth;
    return true;
}

static bool pop(struct pickle *pickle) {
    if (!above_mark(pickle))
        return stop(pickle, "fewer values than an opcode needs");
    pickle->depth--;
    return true;
}

static bool pop_mark(struct pickle *pickle) {
    size_t from;
    if (!take_mark(pickle, &from))
        return false;
    pickle->depth = from;
    return true;
}

// ---- the memo

// Every writer numbers them one after the other: a number beyond that would only take memory.
static bool memoize(struct pickle *pickle, uint64_t at) {
    if (!above_mark(pickle))
        return stop(pickle, "fewer values than an opcode needs");
    if (at > pickle->memo_count || at >= PICKLE_VALUES_MAX)
        return stop(pickle, "number %llu of the memo, which has %zu", (unsigned long long)at,
                    pickle->memo_count);
    if (!ARRAY_RESERVE(pickle->memo, pickle->memo_capacity, (size_t)at + 1))
        return exhausted(pickle);
    pickle->memo[at] = pickle->stack[pickle->depth - 1];
    pickle->memo_count += at == pickle->memo_count;
    return true;
}

static bool put_memo(struct pickle *pickle, unsigned bytes) {
    uint64_t at;
    return take_number(pickle, bytes, &at) && memoize(pickle, at);
}

static bool get_memo(struct pickle *pickle, unsigned bytes) {
    uint64_t at;
    if (!take_number(pickle, bytes, &at))
        return false;
    return at < pickle->memo_count ? push(pickle, pickle->memo[at])
                                   : stop(pickle, "number %llu of the memo, which has %zu",
                                          (unsigned long long)at, pickle->memo_count);
}

// ---- opcodes

static bool refuse_opcode(struct pickle *pickle, uint8_t opcode) {
    static const char *const names[256] = {
#define REFUSED_NAME(byte, name) [byte] = name,
        REFUSED_TABLE(REFUSED_NAME)
#undef REFUSED_NAME
    };
    pickle->input->begin--;
    pickle->refused = names[opcode] != NULL;
    return names[opcode] ? stop(pickle, "it names or calls functions (%s)", names[opcode])
                         : stop(pickle, "opcode 0x%02x, which no data has", opcode);
}

static bool check_protocol(struct pickle *pickle) {
    uint64_t protocol;
    return take_number(pickle, 1, &protocol) &&
           (protocol <= PROTOCOL_MAX || stop(pickle, "protocol %u", (unsigned)protocol));
}

static bool finish_result(struct pickle *pickle) {
    if (!pickle->depth || pickle->mark_count)
        return stop(pickle, "it ends without a result");
    pickle->over = true;
    return false;
}

static bool push_float(struct pickle *pickle) {
    const uint8_t *at = take_bytes(pickle, 8);
    uint64_t bits = 0;
    for (int i = 0; at && i < 8; i++)
        bits = bits << 8 | at[i];
    return at && push_wide(pickle, PICKLE_FLOAT, bits, false);
}

static bool push_sized_long(struct pickle *pickle, unsigned length_bytes) {
    uint64_t length;
    return take_number(pickle, length_bytes, &length) && push_long(pickle, length);
}

static bool run_number(struct pickle *pickle, uint8_t opcode) {
    switch (opcode) {
    case OP_BININT:
        return push_long(pickle, 4);
    case OP_BININT1:
        return push_bits(pickle, 1);
    case OP_BININT2:
        return push_bits(pickle, 2);
    case OP_LONG1:
        return push_sized_long(pickle, 1);
    case OP_LONG4:
        return push_sized_long(pickle, 4);
    case OP_BINFLOAT:
        return push_float(pickle);
    case OP_NONE:
        return push(pickle, PICKLE_NONE);
    case OP_NEWTRUE:
        return push(pickle, 1 << 3 | PICKLE_BOOL);
    case OP_NEWFALSE:
        return push(pickle, PICKLE_BOOL);
    case OP_SHORT_BINSTRING:
    case OP_SHORT_BINUNICODE:
        return push_string(pickle, 1);
    case OP_BINSTRING:
    case OP_BINUNICODE:
        return push_string(pickle, 4);
    case OP_BINUNICODE8:
        return push_string(pickle, 8);
    case OP_SHORT_BINBYTES:
        return skip_bytes(pickle, 1);
    case OP_BINBYTES:
        return skip_bytes(pickle, 4);
    case OP_BINBYTES8:
        return skip_bytes(pickle, 8);
    case OP_FRAME:
        return take_bytes(pickle, 8) != NULL; // a hint for reading ahead
    case OP_PROTO:
        return check_protocol(pickle);
    default:
        return refuse_opcode(pickle, opcode);
    }
}

static bool run_opcode(struct pickle *pickle, uint8_t opcode) {
    switch (opcode) {
    case OP_BINGET:
        return get_memo(pickle, 1);
    case OP_LONG_BINGET:
        return get_memo(pickle, 4);
    case OP_MEMOIZE:
        return memoize(pickle, pickle->memo_count);
    case OP_BINPUT:
        return put_memo(pickle, 1);
    case OP_LONG_BINPUT:
        return put_memo(pickle, 4);
    case OP_MARK:
        return set_mark(pickle);
    case OP_EMPTY_DICT:
        return push_object(pickle, PICKLE_DICT);
    case OP_EMPTY_LIST:
        return push_object(pickle, PICKLE_LIST);
    case OP_EMPTY_TUPLE:
        return push_object(pickle, PICKLE_TUPLE);
    case OP_SETITEMS:
        return add_marked(pickle, PICKLE_DICT);
    case OP_APPENDS:
        return add_marked(pickle, PICKLE_LIST);
    case OP_SETITEM:
        return add_last(pickle, 2, PICKLE_DICT);
    case OP_APPEND:
        return add_last(pickle, 1, PICKLE_LIST);
    case OP_DICT:
        return make_marked(pickle, PICKLE_DICT);
    case OP_LIST:
        return make_marked(pickle, PICKLE_LIST);
    case OP_TUPLE:
        return make_marked(pickle, PICKLE_TUPLE);
    case OP_TUPLE1:
        return make_tuple(pickle, 1);
    case OP_TUPLE2:
        return make_tuple(pickle, 2);
    case OP_TUPLE3:
        return make_tuple(pickle, 3);
    case OP_POP:
        return pop(pickle);
    case OP_POP_MARK:
        return pop_mark(pickle);
    case OP_STOP:
        return finish_result(pickle);
    default:
        return run_number(pickle, opcode);
    }
}

bool pickle_run(struct pickle *pickle, unsigned opcodes) {
    for (unsigned i = 0; i < opcodes; i++) {
        const uint8_t *opcode = take_bytes(pickle, 1);
        if (!opcode || !run_opcode(pickle, *opcode))
            return false;
    }
    return true;
}

void pickle_close(struct pickle *pickle) {
    while (pickle->mark_count && !pickle->failed) {
        const size_t from = pickle->marks[--pickle->mark_count];
        const struct pickle_object *into =
            from && from <= pickle->depth ? pickle_object(pickle, pickle->stack[from - 1]) : NULL;
        if (into && (into->kind == PICKLE_DICT || into->kind == PICKLE_LIST)) {
            const size_t count = pickle->depth - from;
            (void)put_items(pickle, pickle_number(pickle->stack[from - 1]), from,
                            into->kind == PICKLE_DICT ? count & ~(size_t)1 : count);
        }
        pickle->depth = from < pickle->depth ? from : pickle->depth;
    }
    pickle->depth = pickle->depth ? 1 : 0;
}

pickle_value pickle_result(const struct pickle *pickle) {
    return pickle->depth ? pickle->stack[pickle->depth - 1] : PICKLE_NONE;
}

bool pickle_integer(const struct pickle *pickle, pickle_value value, uint64_t *out, bool *negative) {
    *negative = false;
    if (pickle_type(value) == PICKLE_INTEGER || pickle_type(value) == PICKLE_BOOL) {
        *out = (uint64_t)((int64_t)value >> 3);
        *negative = (int64_t)*out < 0;
        return true;
    }
    if (pickle_type(value) != PICKLE_WIDE)
        return false;
    *out = pickle->wide[value >> 3].bits;
    *negative = pickle->wide[value >> 3].negative;
    return true;
}

void pickle_finish(struct pickle *pickle) {
    for (size_t i = 0; i < pickle->object_count; i++)
        free(pickle->objects[i].items);
    free(pickle->objects);
    free(pickle->stack);
    free(pickle->memo);
    free(pickle->marks);
    free(pickle->wide);
}
