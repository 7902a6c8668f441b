// SPDX-License-Identifier: Apache-2.0
// Only what is asked for is decoded, and what that depends on: a time may be kept relative to another one,
// START to the end of the event before. A column is in one of these states:
//
//     FRESH -> BUSY -> DONE       decoded; `values` has one element per row, 0 where there is none
//                   -> SKIPPED    not readable by this version: left out, and so is what is relative to it
//                   -> (damage)   the whole frame is given up; so it is when a BUSY column is needed (a
//                   cycle)
//
// A column that was asked for is decoded into the batch, any other into scratch memory. The column `inferred` of older
// files goes into the batch as certainty: its numbers are exchanged last, for other columns may refer to them.
#include <string.h>

#include "base/sorted.h"
#include "event/batch.h"
#include "sbt/column.h"
#include "sbt/group.h"
#include "sbt/loops.h"
#include "sbt/nest.h"
#include "sbt/versions.h"

enum column_state { FRESH, BUSY, DONE, SKIPPED };

struct stored_column {
    uint32_t field;
    uint8_t type, validity, transform;
    uint32_t size; // bytes of a value, 0 of an unknown type
    uint32_t argument, reference;
    struct input validity_bytes, value_bytes;
    enum column_state state;
    bool wanted;
    bool readable;         // field, type and validity encoding are known
    uint32_t count;        // values that exist
    const uint64_t *valid; // NULL: every row; made with the validity
    bool has_validity;     // `count` and `valid` are set
    void *values;
    double power; // DECIMAL: what the integers are divided by
};

struct decoding {
    const struct frame_header *header;
    const struct column_request *request;
    struct scratch *scratch;
    tsmith_batch *batch;
    uint32_t rows;
    struct stored_column *columns;
    uint32_t column_count;
    const int64_t *end; // start + duration by row; made on first use
    unsigned depth;     // columns that wait for the one being decoded
};

// ---- the directory

static bool type_is_known(const struct decoding *decoding, uint32_t field, uint8_t type) {
    if (tsmith_type_size((tsmith_type)type) == 0)
        return false;
    if (field <= TSMITH_FIELD_DYNAMIC) {
        const tsmith_field_info *info = tsmith_field_describe(field);
        if (field == SBT_FIELD_INFERRED)
            return type == TSMITH_TYPE_BOOL;
        return info && info->type == (tsmith_type)type;
    }
    // Without its row in the dictionary (a damaged frame) a field has lost its name, not its values.
    const tsmith_dynamic_field *known =
        decoding->request->dictionary
            ? tsmith_dictionary_dynamic_field(decoding->request->dictionary, field - TSMITH_FIELD_DYNAMIC)
            : NULL;
    return !known || known->type == 0 || known->type == type;
}

static bool is_wanted(const struct column_request *request, uint32_t stored) {
    const uint32_t field = version_field(stored);
    if (!request->fields || field == TSMITH_FIELD_START || field == TSMITH_FIELD_KIND)
        return true;
    for (size_t i = 0; i < request->field_count; i++)
        if (request->fields[i] == field)
            return true;
    return false;
}

static bool read_entry(struct decoding *decoding, struct input *in, struct stored_column *column,
                       uint32_t *value_length, uint32_t *validity_length) {
    bool ok = input_count(in, UINT32_MAX, &column->field) && input_u8(in, &column->type) &&
              input_u8(in, &column->validity);
    column->size = ok ? tsmith_type_size((tsmith_type)column->type) : 0;
    if (ok && column->validity >= VALIDITY_SAME && column->validity <= VALIDITY_ZSTD)
        ok = input_count(in, UINT32_MAX, &column->argument);
    ok = ok && input_u8(in, &column->transform);
    if (ok && (column->transform & TRANSFORM_MASK) == TRANSFORM_RELATIVE)
        ok = input_count(in, UINT32_MAX, &column->reference);
    *validity_length = column->validity == VALIDITY_BITMAP ? (decoding->rows + 7) / 8
                       : column->validity >= VALIDITY_RUNS ? column->argument
                                                           : 0;
    return ok && input_count(in, SBT_MAX_PAYLOAD, value_length);
}

static bool read_directory(struct decoding *decoding, struct input *in) {
    if (!input_count(in, SBT_MAX_COLUMNS, &decoding->column_count))
        return false;
    uint32_t count = decoding->column_count;
    struct lengths {
        uint32_t validity, values;
    } *lengths = scratch_take(decoding->scratch, count * sizeof *lengths);
    decoding->columns = scratch_take(decoding->scratch, count * sizeof *decoding->columns);
    if (!lengths || !decoding->columns)
        return false;
    memset(decoding->columns, 0, count * sizeof *decoding->columns);
    for (uint32_t i = 0; i < count; i++) {
        struct stored_column *column = &decoding->columns[i];
        if (!read_entry(decoding, in, column, &lengths[i].values, &lengths[i].validity) ||
            (i && column->field <= decoding->columns[i - 1].field))
            return false;
        column->readable = column->validity <= VALIDITY_ZSTD && column->field != 0 &&
                           type_is_known(decoding, column->field, column->type);
        column->wanted = column->readable && is_wanted(decoding->request, column->field);
    }
    for (uint32_t i = 0; i < count; i++)
        if (!input_part(in, lengths[i].validity, &decoding->columns[i].validity_bytes) ||
            !input_part(in, lengths[i].values, &decoding->columns[i].value_bytes))
            return false;
    return input_left(in) == 0;
}

static struct stored_column *find_column(const struct decoding *decoding, uint32_t field) {
    const uint32_t at = SORTED_FIND(i, 0, decoding->column_count, decoding->columns[i].field < field);
    return at < decoding->column_count && decoding->columns[at].field == field ? &decoding->columns[at]
                                                                               : NULL;
}

// ---- which rows have a value

static void set_bits(uint64_t *words, uint32_t from, uint32_t to) {
    while (from < to) {
        uint32_t end = to / 64 == from / 64 ? to : (from / 64 + 1) * 64;
        words[from / 64] |= ~(uint64_t)0 >> (64 - (end - from)) << from % 64;
        from = end;
    }
}

static bool read_runs(uint64_t *words, uint32_t rows, struct input in) {
    uint32_t at = 0;
    bool has = false;
    while (input_left(&in)) {
        uint32_t length;
        if (!input_count(&in, rows - at, &length))
            return false;
        if (has)
            set_bits(words, at, at + length);
        at += length;
        has = !has;
    }
    return at == rows;
}

static enum unpack_result read_validity(struct decoding *decoding, struct stored_column *column) {
    if (column->has_validity)
        return UNPACK_OK;
    column->has_validity = true;
    column->count = decoding->rows;
    if (column->validity == VALIDITY_ALL)
        return UNPACK_OK;
    if (column->validity == VALIDITY_SAME) {
        if (column->argument >= (uint32_t)(column - decoding->columns))
            return UNPACK_DAMAGED;
        struct stored_column *other = &decoding->columns[column->argument];
        if (other->validity == VALIDITY_SAME)
            return UNPACK_DAMAGED;
        if (other->validity > VALIDITY_ZSTD)
            return UNPACK_UNKNOWN;
        enum unpack_result result = read_validity(decoding, other);
        column->valid = other->valid;
        column->count = other->count;
        return result;
    }
    uint32_t count = batch_bitmap_words(decoding->rows);
    size_t bytes = (decoding->rows + (size_t)7) / 8;
    uint64_t *words = scratch_take(decoding->scratch, count * sizeof *words);
    if (!words)
        return UNPACK_DAMAGED;
    memset(words, 0, count * sizeof *words);
    if (column->validity == VALIDITY_BITMAP)
        memcpy(words, column->validity_bytes.at, bytes);
    else if (column->validity == VALIDITY_RUNS
                 ? !read_runs(words, decoding->rows, column->validity_bytes)
                 : !unpack_zstd(decoding->scratch, column->validity_bytes, words, bytes))
        return UNPACK_DAMAGED;
    if (column->validity != VALIDITY_RUNS)
        bytes_to_little(words, count, sizeof *words);
    if (decoding->rows % 64 && words[count - 1] >> decoding->rows % 64)
        return UNPACK_DAMAGED;
    column->count = 0;
    for (uint32_t i = 0; i < count; i++)
        column->count += (uint32_t)__builtin_popcountll(words[i]);
    column->valid = words;
    return UNPACK_OK;
}

// ---- values

static void *take_values(struct decoding *decoding, const struct stored_column *column) {
    size_t size = (size_t)decoding->rows * column->size;
    if (!column->wanted)
        return scratch_take(decoding->scratch, size);
    if (!scratch_charge(decoding->scratch, size))
        return NULL;
    uint64_t *valid;
    void *values = batch_add_column(decoding->batch, version_field(column->field),
                                    version_type(column->field, column->type), column->valid ? &valid : NULL);
    if (values && column->valid)
        memcpy(valid, column->valid, batch_bitmap_words(decoding->rows) * sizeof *valid);
    return values;
}

static void store(const struct stored_column *column, uint32_t at, const uint64_t *values, uint32_t count) {
    switch (column->size) {
    case 1:
        loops()->narrow8((uint8_t *)column->values + at, values, count);
        version_numbers((uint8_t *)column->values + at, count, column->type);
        break;
    case 4:
        loops()->narrow32((uint32_t *)column->values + at, values, count);
        break;
    default:
        memcpy((uint64_t *)column->values + at, values, count * sizeof *values);
    }
}

static void store_constant(const struct stored_column *column, uint64_t value) {
    switch (column->size) {
    case 1:
        memset(column->values, version_number(column->type, (uint8_t)value), column->count);
        break;
    case 4:
        loops()->fill32(column->values, (uint32_t)value, column->count);
        break;
    default:
        loops()->fill64(column->values, value, column->count);
    }
}

// Values stand densely at the front: from the last to the first they go to their rows, whole words of the bitmap at once
// where all or none of their rows have a value.
#define SPREAD(type)                                                                                         \
    do {                                                                                                     \
        type *values = column->values;                                                                       \
        uint32_t next = column->count;                                                                       \
        for (uint32_t word = (rows + 63) / 64; word-- > 0;) {                                                \
            uint32_t from = word * 64, to = rows < from + 64 ? rows : from + 64;                             \
            uint64_t bits = column->valid[word];                                                             \
            if (bits == 0) {                                                                                 \
                memset(values + from, 0, (to - from) * sizeof *values);                                      \
            } else if (bits == UINT64_MAX) {                                                                 \
                next -= 64;                                                                                  \
                memmove(values + from, values + next, 64 * sizeof *values);                                  \
            } else {                                                                                         \
                for (uint32_t row = to; row-- > from;)                                                       \
                    values[row] = bits >> (row - from) & 1 ? values[--next] : 0;                             \
            }                                                                                                \
        }                                                                                                    \
    } while (0)

static void spread_values(const struct stored_column *column, uint32_t rows) {
    switch (column->size) {
    case 1:
        SPREAD(uint8_t);
        break;
    case 4:
        SPREAD(uint32_t);
        break;
    default:
        SPREAD(uint64_t);
    }
}

// The form of a double: none, an integer, or an integer and the power of ten it is divided by.
static void to_doubles(const struct stored_column *column, uint64_t *values, uint32_t count) {
    if (!(column->transform & (TRANSFORM_INTEGRAL | TRANSFORM_DECIMAL)))
        return;
    for (uint32_t i = 0; i < count; i++) {
        double value = (double)(int64_t)values[i];
        if (column->transform & TRANSFORM_DECIMAL)
            value /= column->power;
        memcpy(&values[i], &value, sizeof value);
    }
}

static enum unpack_result decode_column(struct decoding *decoding, struct stored_column *column);

static enum unpack_result decode_needed(struct decoding *decoding, uint32_t field, uint8_t type,
                                        struct stored_column **out) {
    *out = find_column(decoding, field);
    if (!*out)
        return UNPACK_OK;
    if (!(*out)->readable)
        return UNPACK_UNKNOWN;
    return (*out)->type == type ? decode_column(decoding, *out) : UNPACK_DAMAGED;
}

static enum unpack_result find_end(struct decoding *decoding, const int64_t **out) {
    struct stored_column *start, *duration;
    enum unpack_result result = decode_needed(decoding, TSMITH_FIELD_START, TSMITH_TYPE_TIME, &start);
    if (result == UNPACK_OK)
        result = decode_needed(decoding, TSMITH_FIELD_DURATION, TSMITH_TYPE_I64, &duration);
    if (result == UNPACK_OK && !decoding->end) {
        uint64_t *end = scratch_take(decoding->scratch, decoding->rows * sizeof *end);
        if (!end)
            return UNPACK_DAMAGED;
        memcpy(end, start->values, decoding->rows * sizeof *end);
        if (duration)
            loops()->add(end, duration->values, decoding->rows);
        decoding->end = (const int64_t *)end;
    }
    *out = decoding->end;
    return result;
}

static enum unpack_result find_reference(struct decoding *decoding, const struct stored_column *column,
                                         const int64_t **out) {
    if (column->reference == 0)
        return find_end(decoding, out);
    struct stored_column *other, *start;
    enum unpack_result result = decode_needed(decoding, column->reference, TSMITH_TYPE_TIME, &other);
    if (result != UNPACK_OK || !other)
        return other ? result : UNPACK_DAMAGED;
    *out = other->values;
    if (!other->valid)
        return UNPACK_OK;
    result = decode_needed(decoding, TSMITH_FIELD_START, TSMITH_TYPE_TIME, &start);
    int64_t *filled = scratch_take(decoding->scratch, decoding->rows * sizeof *filled);
    if (result != UNPACK_OK || !filled)
        return result != UNPACK_OK ? result : UNPACK_DAMAGED;
    for (uint32_t row = 0; row < decoding->rows; row++)
        filled[row] = other->valid[row / 64] >> row % 64 & 1 ? ((const int64_t *)other->values)[row]
                                                             : ((const int64_t *)start->values)[row];
    *out = filled;
    return UNPACK_OK;
}

// DELTA and GAP: each value follows from the one before.
static bool decode_chain(const struct stored_column *column, struct stream *stream, uint64_t first,
                         const uint64_t *durations) {
    uint64_t values[SBT_VECTOR], previous = first;
    values[0] = first;
    to_doubles(column, values, 1);
    store(column, 0, values, 1);
    for (uint32_t at = 1; at < column->count;) {
        uint32_t count = unpack_next(stream, values);
        if (count == 0)
            return false;
        if (durations)
            loops()->add(values, durations + at - 1, count);
        for (uint32_t i = 0; i < count; i++)
            values[i] = previous += values[i];
        to_doubles(column, values, count);
        store(column, at, values, count);
        at += count;
    }
    return true;
}

static bool decode_each(const struct stored_column *column, struct stream *stream, uint64_t origin) {
    uint64_t values[SBT_VECTOR];
    if (stream->packing == PACKING_CONSTANT) {
        values[0] = stream->base + origin;
        to_doubles(column, values, 1);
        store_constant(column, values[0]);
        return true;
    }
    for (uint32_t at = 0; at < column->count;) {
        uint32_t count = unpack_next(stream, values);
        if (count == 0)
            return false;
        if (origin)
            loops()->add_one(values, origin, count);
        to_doubles(column, values, count);
        store(column, at, values, count);
        at += count;
    }
    return true;
}

// ---- other columns of the same event

// Decodes a column of integers that another one refers to.
static enum unpack_result decode_other(struct decoding *decoding, struct input *in,
                                       struct stored_column **out) {
    uint32_t field;
    struct stored_column *other = input_count(in, UINT32_MAX, &field) ? find_column(decoding, field) : NULL;
    if (!other || other->type == TSMITH_TYPE_TIME || other->type == TSMITH_TYPE_F64 ||
        other->type == TSMITH_TYPE_LIST)
        return UNPACK_DAMAGED;
    *out = other;
    return other->readable ? decode_column(decoding, other) : UNPACK_UNKNOWN;
}

static uint64_t integer_at(const struct stored_column *column, uint32_t row) {
    switch (column->size) {
    case 1:
        return ((const uint8_t *)column->values)[row];
    case 4:
        return ((const uint32_t *)column->values)[row];
    default:
        return ((const uint64_t *)column->values)[row];
    }
}

static bool has_value(const struct stored_column *column, uint32_t row) {
    return !column->valid || (column->valid[row / 64] >> row % 64 & 1);
}

// Where the values of a column that is grouped by `key` belong: that of the k-th is at order[k] of those that exist. NULL
// when memory is exhausted.
static const uint32_t *make_order(struct decoding *decoding, const struct stored_column *column,
                                  const struct stored_column *key) {
    uint64_t *keys = scratch_take(decoding->scratch, column->count * sizeof *keys);
    if (!keys)
        return NULL;
    for (uint32_t row = 0, used = 0; row < decoding->rows; row++)
        if (has_value(column, row))
            keys[used++] = integer_at(key, row);
    return group_order(decoding->scratch, keys, column->count);
}

// A whole stream of at least one integer, and where it is grouped in the order of events again. A chain has its first
// value before the stream.
static enum unpack_result take_integers(struct decoding *decoding, struct input *in, uint32_t count,
                                        const uint64_t *first, const uint32_t *order, uint64_t **out) {
    struct stream stream;
    uint64_t *integers = scratch_take(decoding->scratch, count * sizeof *integers);
    uint32_t before = first != NULL;
    enum unpack_result result = integers ? UNPACK_OK : UNPACK_DAMAGED;
    if (result == UNPACK_OK && count > before)
        result = unpack_open(&stream, in, count - before, decoding->scratch);
    if (result == UNPACK_OK && count > before && !unpack_all(&stream, integers + before))
        result = UNPACK_DAMAGED;
    if (result == UNPACK_OK && first) {
        integers[0] = *first;
        for (uint32_t i = 1; i < count; i++)
            integers[i] += integers[i - 1];
    }
    *out = integers;
    if (result != UNPACK_OK || !order)
        return result;
    *out = scratch_take(decoding->scratch, count * sizeof **out);
    for (uint32_t i = 0; *out && i < count; i++)
        (*out)[order[i]] = integers[i];
    return *out ? UNPACK_OK : UNPACK_DAMAGED;
}

// ---- NEST: START and DURATION come together

// One stream, as a value per row: 0 where the column has none.
static enum unpack_result take_rows(struct decoding *decoding, const struct stored_column *column,
                                    struct input *in, const uint32_t *order, uint64_t **out) {
    uint64_t *dense;
    enum unpack_result result = take_integers(decoding, in, column->count, NULL, order, &dense);
    *out = dense;
    if (result != UNPACK_OK || !column->valid)
        return result;
    *out = scratch_take(decoding->scratch, decoding->rows * sizeof **out);
    for (uint32_t row = 0, used = 0; *out && row < decoding->rows; row++)
        (*out)[row] = column->valid[row / 64] >> row % 64 & 1 ? dense[used++] : 0;
    return *out ? UNPACK_OK : UNPACK_DAMAGED;
}

// What stands before the stream of a column.
struct head {
    struct stored_column *key;   // GROUPED: by this one
    struct stored_column *other; // OTHER
    uint64_t first;              // DELTA and GAP
};

static enum unpack_result read_head(struct decoding *decoding, struct stored_column *column, struct input *in,
                                    struct head *head) {
    unsigned transform = column->transform & TRANSFORM_MASK;
    enum unpack_result result = UNPACK_OK;
    uint8_t places;
    *head = (struct head){0};
    if (column->count == 0)
        return UNPACK_OK;
    if (column->transform & TRANSFORM_GROUPED)
        result = decode_other(decoding, in, &head->key);
    if (result == UNPACK_OK && transform == TRANSFORM_OTHER)
        result = decode_other(decoding, in, &head->other);
    if (result == UNPACK_OK && column->transform & TRANSFORM_DECIMAL) {
        if (!input_u8(in, &places) || places > DECIMAL_MOST_PLACES)
            return UNPACK_DAMAGED;
        column->power = 1;
        for (; places; places--)
            column->power *= 10; // exact up to 10^22
    }
    if (result == UNPACK_OK && (transform == TRANSFORM_DELTA || transform == TRANSFORM_GAP) &&
        !input_zigzag(in, &head->first))
        return UNPACK_DAMAGED;
    return result;
}

// What was taken to decode the values of a column is needed no more, unless they are among it.
static void release(struct decoding *decoding, const struct stored_column *column, struct scratch_mark mark) {
    if (!column->wanted)
        return;
    scratch_release(decoding->scratch, mark);
    (void)scratch_charge(decoding->scratch, (size_t)decoding->rows * column->size);
}

static enum unpack_result read_nest(struct decoding *decoding, struct stored_column *start,
                                    struct stored_column *duration, struct nest *nest) {
    struct input in = start->value_bytes, end = duration->value_bytes;
    struct head head, end_head;
    const uint32_t *order = NULL, *end_order = NULL;
    enum unpack_result result = read_head(decoding, start, &in, &head);
    if (result == UNPACK_OK)
        result = read_head(decoding, duration, &end, &end_head);
    if (result == UNPACK_OK &&
        ((head.key && !(order = make_order(decoding, start, head.key))) ||
         (end_head.key && !(end_order = make_order(decoding, duration, end_head.key)))))
        return UNPACK_DAMAGED;
    if (result == UNPACK_OK)
        result = take_rows(decoding, start, &in, order, &nest->opens);
    if (result == UNPACK_OK)
        result = take_rows(decoding, start, &in, NULL, &nest->steps);
    if (result == UNPACK_OK)
        result = take_rows(decoding, duration, &end, end_order, &nest->closes);
    nest->stack = scratch_take(decoding->scratch, decoding->rows * sizeof *nest->stack);
    if (result == UNPACK_OK && (input_left(&in) || input_left(&end) || !nest->stack))
        return UNPACK_DAMAGED;
    return result;
}

static enum unpack_result decode_nest(struct decoding *decoding) {
    struct stored_column *start = find_column(decoding, TSMITH_FIELD_START);
    struct stored_column *duration = find_column(decoding, TSMITH_FIELD_DURATION);
    struct nest nest = {0};
    if (!duration || (start->transform & TRANSFORM_MASK) != TRANSFORM_NEST ||
        (duration->transform & TRANSFORM_MASK) != TRANSFORM_NEST || start->type != TSMITH_TYPE_TIME ||
        duration->type != TSMITH_TYPE_I64)
        return UNPACK_DAMAGED;
    if (!start->readable || !duration->readable)
        return UNPACK_UNKNOWN;
    enum unpack_result result = read_validity(decoding, start);
    if (result == UNPACK_OK)
        result = read_validity(decoding, duration);
    if (result == UNPACK_OK && (start->valid || duration->count == 0))
        return UNPACK_DAMAGED;
    if (result == UNPACK_OK)
        result = read_nest(decoding, start, duration, &nest);
    if (result != UNPACK_OK)
        return result;
    start->values = take_values(decoding, start);
    duration->values = take_values(decoding, duration);
    if (!start->values || !duration->values ||
        !nest_undo(&nest, decoding->header->first_start, duration->valid, decoding->rows, start->values,
                   duration->values))
        return UNPACK_DAMAGED;
    start->state = duration->state = DONE;
    return UNPACK_OK;
}

// ---- any other scalar column

// Adds the values of another column, where this one has a value.
static void add_other(struct decoding *decoding, const struct stored_column *column,
                      const struct stored_column *other) {
    for (uint32_t row = 0; row < decoding->rows; row++) {
        if (!has_value(column, row))
            continue;
        uint64_t sum = integer_at(column, row) + integer_at(other, row);
        store(column, row, &sum, 1);
    }
}

// The parts of a column's transform that this version knows, together as the document allows them.
static enum unpack_result check_transform(const struct stored_column *column) {
    unsigned transform = column->transform & TRANSFORM_MASK;
    unsigned doubles = column->transform & (TRANSFORM_INTEGRAL | TRANSFORM_DECIMAL);
    if (transform >= TRANSFORM_LIMIT ||
        column->transform & ~(TRANSFORM_MASK | TRANSFORM_INTEGRAL | TRANSFORM_DECIMAL | TRANSFORM_GROUPED))
        return UNPACK_UNKNOWN;
    bool time = column->type == TSMITH_TYPE_TIME;
    if ((transform == TRANSFORM_GAP &&
         (column->field != TSMITH_FIELD_START || column->transform & TRANSFORM_GROUPED)) ||
        (transform == TRANSFORM_RELATIVE && !time) ||
        (transform == TRANSFORM_NEST && column->field != TSMITH_FIELD_START &&
         column->field != TSMITH_FIELD_DURATION) ||
        (transform == TRANSFORM_OTHER && (time || column->type == TSMITH_TYPE_F64 ||
                                          column->field == TSMITH_FIELD_DURATION || column->size == 1)))
        return UNPACK_DAMAGED;
    if (doubles && (column->type != TSMITH_TYPE_F64 || transform > TRANSFORM_DELTA ||
                    doubles == (TRANSFORM_INTEGRAL | TRANSFORM_DECIMAL)))
        return UNPACK_DAMAGED;
    return UNPACK_OK;
}

// Values that are grouped, all at once.
static enum unpack_result decode_grouped(struct decoding *decoding, struct stored_column *column,
                                         struct input *in, const struct head *head, bool chain,
                                         uint64_t origin) {
    uint64_t *integers;
    const uint32_t *order = make_order(decoding, column, head->key);
    if (!order)
        return UNPACK_DAMAGED;
    enum unpack_result result =
        take_integers(decoding, in, column->count, chain ? &head->first : NULL, order, &integers);
    if (result != UNPACK_OK || input_left(in))
        return result != UNPACK_OK ? result : UNPACK_DAMAGED;
    column->values = take_values(decoding, column);
    if (!column->values)
        return UNPACK_DAMAGED;
    loops()->add_one(integers, origin, column->count);
    to_doubles(column, integers, column->count);
    store(column, 0, integers, column->count);
    return UNPACK_OK;
}

// The values that exist, before what they are relative to is added.
static enum unpack_result decode_values(struct decoding *decoding, struct stored_column *column,
                                        struct input *in, const struct head *head,
                                        const uint64_t *durations) {
    unsigned transform = column->transform & TRANSFORM_MASK;
    bool chain = transform == TRANSFORM_DELTA || transform == TRANSFORM_GAP;
    uint64_t origin = column->type == TSMITH_TYPE_TIME && transform != TRANSFORM_RELATIVE
                          ? (uint64_t)decoding->header->first_start
                          : 0;
    if (head->key)
        return decode_grouped(decoding, column, in, head, chain, origin);
    struct stream stream = {0};
    enum unpack_result result = UNPACK_OK;
    if (column->count > chain)
        result = unpack_open(&stream, in, column->count - chain, decoding->scratch);
    if (result != UNPACK_OK || input_left(in))
        return result != UNPACK_OK ? result : UNPACK_DAMAGED;
    column->values = take_values(decoding, column);
    if (column->values &&
        (column->count == 0 || (chain ? decode_chain(column, &stream, head->first + origin, durations)
                                      : decode_each(column, &stream, origin))))
        return UNPACK_OK;
    return UNPACK_DAMAGED;
}

static enum unpack_result decode_scalar(struct decoding *decoding, struct stored_column *column) {
    unsigned transform = column->transform & TRANSFORM_MASK;
    enum unpack_result result = check_transform(column);
    const int64_t *reference = NULL;
    struct stored_column *duration = NULL;
    struct input in = column->value_bytes;
    struct head head;
    if (result == UNPACK_OK && transform == TRANSFORM_NEST)
        return decode_nest(decoding);
    if (result == UNPACK_OK && transform == TRANSFORM_RELATIVE)
        result = find_reference(decoding, column, &reference);
    else if (result == UNPACK_OK && transform == TRANSFORM_GAP)
        result = decode_needed(decoding, TSMITH_FIELD_DURATION, TSMITH_TYPE_I64, &duration);
    if (result == UNPACK_OK)
        result = read_head(decoding, column, &in, &head);
    struct scratch_mark mark = scratch_mark(decoding->scratch);
    if (result == UNPACK_OK)
        result = decode_values(decoding, column, &in, &head, duration ? duration->values : NULL);
    if (result != UNPACK_OK)
        return result;
    if (column->valid)
        spread_values(column, decoding->rows);
    if (reference)
        loops()->add(column->values, (const uint64_t *)reference, decoding->rows);
    if (head.other)
        add_other(decoding, column, head.other);
    release(decoding, column, mark);
    return UNPACK_OK;
}

static bool fill_offsets(const struct stored_column *column, const uint64_t *lengths, uint32_t rows,
                         uint32_t total, uint32_t *offsets) {
    uint64_t used = 0;
    uint32_t next = 0;
    for (uint32_t row = 0; row < rows; row++) {
        offsets[row] = (uint32_t)used;
        if (!column->valid || column->valid[row / 64] >> row % 64 & 1) {
            if (lengths[next] > total - used)
                return false;
            used += lengths[next++];
        }
    }
    offsets[rows] = (uint32_t)used;
    return used == total;
}

static enum unpack_result decode_list(struct decoding *decoding, struct stored_column *column) {
    struct input in = column->value_bytes;
    struct stream length_stream, element_stream;
    uint32_t total = 0;
    if (column->transform != TRANSFORM_PLAIN)
        return UNPACK_UNKNOWN;
    if (!column->wanted)
        return UNPACK_OK;
    enum unpack_result result = UNPACK_OK;
    if (column->count) {
        if (!input_count(&in, decoding->scratch->left / sizeof(uint64_t), &total))
            return UNPACK_DAMAGED;
        result = unpack_open(&length_stream, &in, column->count, decoding->scratch);
        if (result == UNPACK_OK && total)
            result = unpack_open(&element_stream, &in, total, decoding->scratch);
    }
    if (result != UNPACK_OK || input_left(&in))
        return result != UNPACK_OK ? result : UNPACK_DAMAGED;
    uint64_t *lengths = scratch_take(decoding->scratch, column->count * sizeof *lengths);
    uint64_t *valid = NULL;
    uint32_t *offsets;
    if (!lengths || !scratch_charge(decoding->scratch, total * sizeof(uint64_t)))
        return UNPACK_DAMAGED;
    uint64_t *elements =
        batch_add_list_column(decoding->batch, column->field, total, &offsets, column->valid ? &valid : NULL);
    if (!elements)
        return UNPACK_DAMAGED;
    if (valid)
        memcpy(valid, column->valid, batch_bitmap_words(decoding->rows) * sizeof *valid);
    if ((column->count && !unpack_all(&length_stream, lengths)) ||
        !fill_offsets(column, lengths, decoding->rows, total, offsets) ||
        (total && !unpack_all(&element_stream, elements)))
        return UNPACK_DAMAGED;
    for (uint32_t i = 1; i < total; i++)
        elements[i] += elements[i - 1];
    return UNPACK_OK;
}

static enum unpack_result decode_column(struct decoding *decoding, struct stored_column *column) {
    if (column->state == DONE)
        return UNPACK_OK;
    if (column->state == SKIPPED)
        return UNPACK_UNKNOWN;
    if (column->state == BUSY || decoding->depth > SBT_MAX_REFERENCES)
        return UNPACK_DAMAGED;
    column->state = BUSY;
    decoding->depth++;
    enum unpack_result result = read_validity(decoding, column);
    if (result == UNPACK_OK)
        result = column->type == TSMITH_TYPE_LIST ? decode_list(decoding, column)
                                                  : decode_scalar(decoding, column);
    decoding->depth--;
    column->state = result == UNPACK_UNKNOWN ? SKIPPED : DONE;
    return result;
}

// ---- the frame as a whole

// Conditions that every consumer relies on: ascending starts from the header's start, no end beyond the header's end.
static bool check_times(const struct decoding *decoding) {
    const struct stored_column *start = find_column(decoding, TSMITH_FIELD_START);
    const struct stored_column *duration = find_column(decoding, TSMITH_FIELD_DURATION);
    const int64_t *starts = start->values;
    bool ok = starts[0] == decoding->header->first_start &&
              starts[decoding->rows - 1] <= decoding->header->last_end &&
              loops()->ascending(starts, decoding->rows);
    if (duration && duration->state == DONE && duration->type == TSMITH_TYPE_I64)
        ok = ok && loops()->ends_within(starts, duration->values, decoding->rows, decoding->header->last_end);
    return ok;
}

static bool has_events_basics(const struct decoding *decoding) {
    const struct stored_column *start = find_column(decoding, TSMITH_FIELD_START);
    const struct stored_column *kind = find_column(decoding, TSMITH_FIELD_KIND);
    return start && kind && start->validity == VALIDITY_ALL && kind->validity == VALIDITY_ALL &&
           start->readable && kind->readable;
}

bool columns_decode(struct input payload, const struct frame_header *header,
                    const struct column_request *request, struct scratch *scratch, tsmith_batch *batch,
                    uint32_t *unknown) {
    struct decoding decoding = {
        .header = header, .request = request, .scratch = scratch, .batch = batch, .rows = header->events};
    scratch_reset(scratch, SBT_MAX_DECODED);
    if (header->events == 0 || header->events > TSMITH_BATCH_MAX ||
        batch_begin_columns(batch, header->track, header->events) != TSMITH_OK ||
        !read_directory(&decoding, &payload) || !has_events_basics(&decoding))
        return false;
    struct stored_column *inferred = find_column(&decoding, SBT_FIELD_INFERRED);
    if (inferred && find_column(&decoding, TSMITH_FIELD_CERTAINTY))
        inferred->wanted = false;
    for (uint32_t i = 0; i < decoding.column_count; i++) {
        struct stored_column *column = &decoding.columns[i];
        enum unpack_result result = column->wanted ? decode_column(&decoding, column) : UNPACK_OK;
        if (result == UNPACK_DAMAGED || (result == UNPACK_UNKNOWN && (column->field == TSMITH_FIELD_START ||
                                                                      column->field == TSMITH_FIELD_KIND)))
            return false;
        *unknown += !column->readable || result == UNPACK_UNKNOWN;
    }
    if (!check_times(&decoding))
        return false;
    if (inferred && inferred->wanted && inferred->state == DONE)
        version_certainties(inferred->values, decoding.rows);
    batch_set_bounds(batch, header->first_start, header->last_end);
    return true;
}
