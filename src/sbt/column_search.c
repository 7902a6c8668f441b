// SPDX-License-Identifier: Apache-2.0
// Columns of a file that is to be small: more transforms, and most are chosen by packing with each and keeping the
// smallest. START comes first (its field has the lowest number) and decides whether it and DURATION are stored as NEST.
#include <string.h>

#include "base/bytes.h"
#include "event/batch.h"
#include "sbt/column_work.h"
#include "sbt/group.h"

enum { OTHER_SAMPLE = PACK_SAMPLE, MOST_WAYS = 8, LEAST_GROUPED = 32 };

// ---- decimal fractions

static const double powers[] = {1,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Whether the double is exactly what dividing an integer by 10^places gives; the integer.
static bool is_decimal(uint64_t bits, unsigned places, int64_t *out) {
    double value, back;
    memcpy(&value, &bits, sizeof value);
    double scaled = value * powers[places];
    if (!(scaled >= -9e15 && scaled <= 9e15))
        return false;
    *out = (int64_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
    back = (double)*out / powers[places];
    return memcmp(&back, &bits, sizeof back) == 0;
}

bool search_make_decimal(struct encoding *encoding, struct column_work *work) {
    unsigned places = 1;
    int64_t whole;
    for (uint32_t i = 0; i < work->count; i++) {
        while (places <= DECIMAL_MOST_PLACES && !is_decimal(work->values[i], places, &whole))
            places++;
        if (places > DECIMAL_MOST_PLACES)
            return true;
    }
    uint64_t *values = encoding_take(encoding, work->count * sizeof *values);
    if (!values)
        return false;
    for (uint32_t i = 0; i < work->count;
         i++) { // an early value need not be exact with the places of a later one
        if (!is_decimal(work->values[i], places, &whole))
            return true;
        values[i] = (uint64_t)whole;
    }
    work->values = values;
    work->form = TRANSFORM_DECIMAL;
    work->places = places;
    return true;
}

// ---- nesting

static bool take_nest(struct encoding *encoding, struct nest *nest) {
    size_t size = encoding->rows * sizeof *nest->opens;
    *nest = (struct nest){encoding_take(encoding, size), encoding_take(encoding, size),
                          encoding_take(encoding, size), encoding_take(encoding, size / 2)};
    return nest->opens && nest->steps && nest->closes && nest->stack;
}

static uint64_t estimate(const struct encoding *encoding, const uint64_t *values, uint32_t count) {
    return count ? pack_estimate(&encoding->encoder->packer, values, count) : 0;
}

// Bytes that a stream would take.
static size_t measure(struct encoding *encoding, const uint64_t *values, uint32_t count) {
    struct output *data = &encoding->encoder->data;
    struct scratch_mark mark = scratch_mark(&encoding->encoder->packer.scratch);
    size_t from = data->length;
    if (count)
        pack_stream(&encoding->encoder->packer, data, values, count, PACK_TIMES);
    size_t length = data->length - from;
    data->length = from;
    scratch_release(&encoding->encoder->packer.scratch, mark);
    return length;
}

// Whether START and DURATION are smaller as ranges within ranges than with `differences` for START and as they are.
static bool choose_nest(struct encoding *encoding, const uint64_t *differences) {
    tsmith_column column;
    if (!tsmith_batch_column(encoding->batch, TSMITH_FIELD_DURATION, &column) || encoding->rows < 16)
        return true;
    column = encoding_part(encoding, column);
    const int64_t *duration = encoding_durations(encoding);
    if (!duration || !take_nest(encoding, &encoding->nest))
        return false;
    nest_make(&encoding->nest, encoding->start, duration, column.valid, encoding->rows);
    bool any = false;
    for (uint32_t row = 0; row < encoding->rows; row++)
        any |= (encoding->nest.steps[row] & 1) == 0;
    if (!any)
        return true;
    size_t plain = measure(encoding, differences, encoding->rows - 1) +
                   measure(encoding, (const uint64_t *)duration, encoding->rows);
    size_t nested = measure(encoding, encoding->nest.opens, encoding->rows) +
                    measure(encoding, encoding->nest.steps, encoding->rows) +
                    measure(encoding, encoding->nest.closes, encoding->rows);
    encoding->nested = nested < plain;
    return true;
}

// ---- another column of the same event

static bool is_integer(tsmith_type type) {
    return type != TSMITH_TYPE_F64 && type != TSMITH_TYPE_LIST && type != TSMITH_TYPE_TIME;
}

static uint64_t value_at(const tsmith_column *column, uint32_t row) {
    const uint32_t size = tsmith_type_size(column->type);
    return tsmith_column_has(column, row)
               ? bytes_get_number((const char *)column->values + (size_t)row * size, size)
               : 0;
}

static uint32_t row_of(const struct column_work *work, uint32_t index) {
    return work->rows ? work->rows[index] : index;
}

static void subtract_other(const struct column_work *work, const tsmith_column *other, uint32_t step,
                           uint32_t count, uint64_t *out) {
    for (uint32_t i = 0; i < count; i++)
        out[i] = work->values[i * step] - value_at(other, row_of(work, i * step));
}

// The earlier column that this one is most alike; false when none is worth trying.
static bool find_other(struct encoding *encoding, const struct column_work *work, uint32_t *field) {
    uint64_t sample[OTHER_SAMPLE];
    uint32_t step = work->count > OTHER_SAMPLE ? work->count / OTHER_SAMPLE : 1;
    uint32_t count = work->count / step < OTHER_SAMPLE ? work->count / step : OTHER_SAMPLE;
    for (uint32_t i = 0; i < count; i++)
        sample[i] = work->values[i * step];
    uint64_t best = estimate(encoding, sample, count);
    bool found = false;
    for (uint32_t i = 0; i < tsmith_batch_column_count(encoding->batch); i++) {
        tsmith_column other = encoding_part(encoding, tsmith_batch_column_at(encoding->batch, i));
        if (other.field >= work->column.field)
            break;
        if (!is_integer(other.type) || tsmith_type_size(other.type) < 4 ||
            other.field == TSMITH_FIELD_DURATION)
            continue;
        subtract_other(work, &other, step, count, sample);
        uint64_t bits = estimate(encoding, sample, count);
        if (bits < best - best / 4) {
            best = bits;
            *field = other.field;
            found = true;
        }
    }
    return found;
}

// ---- trying

static void write_stream(struct encoding *encoding, const struct column_work *work, const uint64_t *values,
                         uint32_t count) {
    if (count)
        pack_stream(&encoding->encoder->packer, &encoding->encoder->data, values, count, work_hints(work));
}

// The integers of a column in one way, in order of events; for a chain that is grouped the values themselves.
static void make_integers(struct encoding *encoding, const struct column_work *work,
                          const struct candidate *way, uint64_t *out) {
    tsmith_column other;
    switch (way->transform & TRANSFORM_MASK) {
    case TRANSFORM_NEST: {
        const uint64_t *from =
            work->column.field == TSMITH_FIELD_START ? encoding->nest.opens : encoding->nest.closes;
        for (uint32_t i = 0; i < work->count; i++)
            out[i] = from[row_of(work, i)];
        break;
    }
    case TRANSFORM_OTHER:
        (void)tsmith_batch_column(encoding->batch, way->reference_field, &other);
        other = encoding_part(encoding, other);
        subtract_other(work, &other, 1, work->count, out);
        break;
    default:
        encoding_transform(encoding, work, way, 0, work->count, out);
    }
}

// Puts the integers into the order of their events' names.
static uint64_t *group(struct encoding *encoding, const struct column_work *work, const uint64_t *integers) {
    tsmith_column names;
    if (!tsmith_batch_column(encoding->batch, TSMITH_FIELD_NAME, &names))
        return NULL;
    names = encoding_part(encoding, names);
    uint64_t *keys = encoding_take(encoding, work->count * sizeof *keys);
    for (uint32_t i = 0; keys && i < work->count; i++)
        keys[i] = value_at(&names, row_of(work, i));
    const uint32_t *order = keys ? group_order(&encoding->encoder->packer.scratch, keys, work->count) : NULL;
    for (uint32_t i = 0; order && i < work->count; i++)
        keys[i] = integers[order[i]];
    return order ? keys : NULL;
}

// The integers of a way as they stand in its stream, and for a chain the value before.
static const uint64_t *order_integers(struct encoding *encoding, const struct column_work *work,
                                      const struct candidate *way, uint64_t *first) {
    bool chain = candidate_is_chain(way);
    uint64_t *integers = encoding_take(encoding, work->count * sizeof *integers);
    if (!integers)
        return NULL;
    if (!(way->transform & TRANSFORM_GROUPED)) {
        make_integers(encoding, work, way, integers);
        *first = work->values[0] - work->origin;
        return integers + chain;
    }
    if (!chain)
        make_integers(encoding, work, way, integers);
    integers = group(encoding, work, chain ? work->values : integers);
    if (!integers || !chain)
        return integers;
    *first = integers[0] - work->origin;
    for (uint32_t i = work->count - 1; i > 0; i--)
        integers[i] -= integers[i - 1];
    return integers + 1;
}

static bool write_way(struct encoding *encoding, const struct column_work *work,
                      const struct candidate *way) {
    struct output *data = &encoding->encoder->data;
    bool chain = candidate_is_chain(way);
    uint64_t first = 0;
    const uint64_t *integers = order_integers(encoding, work, way, &first);
    if (!integers)
        return false;
    if (way->transform & TRANSFORM_GROUPED)
        output_varint(data, TSMITH_FIELD_NAME);
    if ((way->transform & TRANSFORM_MASK) == TRANSFORM_OTHER)
        output_varint(data, way->reference_field);
    if (work->form == TRANSFORM_DECIMAL)
        output_u8(data, work->places);
    if (chain)
        output_zigzag(data, first);
    write_stream(encoding, work, integers, work->count - chain);
    if ((way->transform & TRANSFORM_MASK) == TRANSFORM_NEST && work->column.field == TSMITH_FIELD_START)
        write_stream(encoding, work, encoding->nest.steps, work->count);
    return true;
}

// Writes each way behind the best so far, and keeps the shorter.
static bool write_smallest(struct encoding *encoding, const struct column_work *work,
                           const struct candidate *ways, uint32_t count) {
    struct output *directory = &encoding->encoder->directory, *data = &encoding->encoder->data;
    size_t start = data->length, best_length = SIZE_MAX;
    uint32_t best = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct scratch_mark mark = scratch_mark(&encoding->encoder->packer.scratch);
        size_t from = data->length = i ? start + best_length : start;
        bool ok = write_way(encoding, work, &ways[i]);
        scratch_release(&encoding->encoder->packer.scratch, mark);
        if (!ok || data->failed)
            return false;
        // Who reads a grouped column has to decode the names too.
        size_t length = data->length - from;
        if (ways[i].transform & TRANSFORM_GROUPED ? length + length / 64 + 4 < best_length
                                                  : length < best_length) {
            best_length = length;
            best = i;
            memmove(data->bytes + start, data->bytes + from, best_length);
        }
    }
    data->length = start + best_length;
    output_u8(directory, ways[best].transform | work->form);
    if ((ways[best].transform & TRANSFORM_MASK) == TRANSFORM_RELATIVE)
        output_varint(directory, ways[best].reference_field);
    return true;
}

static uint32_t list_ways(struct encoding *encoding, const struct column_work *work, struct candidate *ways) {
    uint32_t count = 0;
    if (work->column.type == TSMITH_TYPE_TIME) {
        struct candidate times[MAX_CANDIDATES];
        uint32_t found = encoding_time_candidates(encoding, &work->column, times);
        ways[count++] = encoding_choose(encoding, work, times, found);
        return count;
    }
    ways[count++] = (struct candidate){TRANSFORM_PLAIN, 0, NULL};
    if (tsmith_type_size(work->column.type) > 1)
        ways[count++] = (struct candidate){TRANSFORM_DELTA, 0, NULL};
    uint32_t other;
    if (is_integer(work->column.type) && tsmith_type_size(work->column.type) > 1 &&
        work->column.field != TSMITH_FIELD_DURATION && find_other(encoding, work, &other))
        ways[count++] = (struct candidate){TRANSFORM_OTHER, other, NULL};
    return count;
}

// Each way but GAP may be grouped by NAME, where there are some names and many values.
static uint32_t add_grouped(const struct encoding *encoding, const struct column_work *work,
                            struct candidate *ways, uint32_t count) {
    tsmith_column names;
    uint32_t ungrouped = count;
    if (work->column.field == TSMITH_FIELD_NAME || work->count < LEAST_GROUPED ||
        !tsmith_batch_column(encoding->batch, TSMITH_FIELD_NAME, &names))
        return count;
    names = encoding_part(encoding, names);
    const uint32_t *ids = names.values;
    if (memcmp(ids, ids + 1, (encoding->rows - 1) * sizeof *ids) == 0)
        return count;
    for (uint32_t i = 0; i < ungrouped; i++) {
        if ((ways[i].transform & TRANSFORM_MASK) == TRANSFORM_GAP)
            continue;
        ways[count] = ways[i];
        ways[count++].transform |= TRANSFORM_GROUPED;
    }
    return count;
}

// START decides for DURATION too.
static bool search_start(struct encoding *encoding, const struct column_work *work,
                         const struct candidate *way) {
    uint64_t *integers = encoding_take(encoding, work->count * sizeof *integers);
    if (!integers)
        return false;
    make_integers(encoding, work, way, integers);
    return choose_nest(encoding, integers + 1);
}

bool search_write(struct encoding *encoding, struct column_work *work) {
    struct candidate ways[MOST_WAYS];
    uint32_t count = 0;
    if (!(encoding->nested && work->column.field == TSMITH_FIELD_DURATION))
        count = list_ways(encoding, work, ways);
    if (work->column.field == TSMITH_FIELD_START && !search_start(encoding, work, &ways[0]))
        return false;
    if (encoding->nested && work->column.field <= TSMITH_FIELD_DURATION) {
        ways[0] = (struct candidate){TRANSFORM_NEST, 0, NULL};
        count = 1;
    }
    return write_smallest(encoding, work, ways, add_grouped(encoding, work, ways, count));
}
