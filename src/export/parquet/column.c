// SPDX-License-Identifier: Apache-2.0
// Column chunks of Parquet. Used by parquet.c.
#include "export/parquet/column.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "event/text.h"
#include "export/parquet/encode.h"

enum { LEVEL = 1, BOUND_MAX = 256, CODEC_NONE = 0, CODEC_ZSTD = 6 };
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };
enum { PLAIN = 0, RLE = 3, DELTA_BINARY_PACKED = 5, RLE_DICTIONARY = 8 };

struct parquet_type parquet_type_of(tsmith_type type) {
    if (event_columns_is_text(type))
        return (struct parquet_type){PARQUET_BYTE_ARRAY, 0, false};
    switch ((int)type) {
    case TSMITH_TYPE_TIME:
    case TSMITH_TYPE_I64:
        return (struct parquet_type){PARQUET_INT64, 64, true};
    case TSMITH_TYPE_F64:
        return (struct parquet_type){PARQUET_DOUBLE, 0, false};
    case TSMITH_TYPE_BOOL:
        return (struct parquet_type){PARQUET_BOOLEAN, 0, false};
    case TSMITH_TYPE_U64:
    case TSMITH_TYPE_LIST:
        return (struct parquet_type){PARQUET_INT64, 64, false};
    default:
        return (struct parquet_type){PARQUET_INT32, 8 * (unsigned)tsmith_type_size(type), false};
    }
}

bool parquet_scratch_begin(struct parquet_scratch *scratch) {
    scratch->zstd = ZSTD_createCCtx();
    scratch->indices = malloc(ROWS_MAX * sizeof *scratch->indices);
    if (!scratch->zstd || !scratch->indices || !utf8_bytes_begin(&scratch->texts) ||
        !ARRAY_RESERVE(scratch->dense, scratch->dense_capacity, (size_t)ROWS_MAX))
        return false;
    (void)ZSTD_CCtx_setParameter(scratch->zstd, ZSTD_c_compressionLevel, LEVEL);
    return true;
}

void parquet_scratch_finish(struct parquet_scratch *scratch) {
    (void)ZSTD_freeCCtx(scratch->zstd);
    free(scratch->plain.bytes);
    free(scratch->packed.bytes);
    free(scratch->head.bytes);
    utf8_bytes_finish(&scratch->texts);
    free(scratch->dense);
    free(scratch->indices);
    free(scratch->levels);
}

// ---- pages

// Compresses what `plain` has into `packed`.
static void compress_page(struct parquet_scratch *scratch) {
    const size_t room = ZSTD_compressBound(scratch->plain.used);
    scratch->packed.used = 0;
    uint8_t *to = thrift_room(&scratch->packed, room);
    const size_t made =
        to ? ZSTD_compress2(scratch->zstd, to, room, scratch->plain.bytes, scratch->plain.used) : 0;
    scratch->failed |= !to || ZSTD_isError(made);
    scratch->packed.used = scratch->failed ? 0 : made;
}

static void put_header(struct thrift *out, int page, size_t plain, size_t stored, uint64_t entries,
                       int encoding) {
    thrift_element(out);
    thrift_int(out, 1, THRIFT_I32, page);
    thrift_int(out, 2, THRIFT_I32, (int64_t)plain);
    thrift_int(out, 3, THRIFT_I32, (int64_t)stored);
    thrift_struct(out, page == PAGE_DATA ? 5 : 7);
    thrift_int(out, 1, THRIFT_I32, (int64_t)entries);
    thrift_int(out, 2, THRIFT_I32, encoding);
    if (page == PAGE_DATA) {
        thrift_int(out, 3, THRIFT_I32, RLE);
        thrift_int(out, 4, THRIFT_I32, RLE);
    }
    thrift_end(out);
    thrift_end(out);
}

// Appends a page with the content of `plain` to `out`.
static void put_page(struct parquet_column *column, struct parquet_scratch *scratch, struct thrift *out,
                     int page, uint64_t entries, int encoding) {
    const struct thrift *content = &scratch->plain;
    if (scratch->plain.failed) {
        scratch->failed = true;
        return;
    }
    if (column->compressed) {
        compress_page(scratch);
        content = &scratch->packed;
    }
    const size_t begin = out->used;
    put_header(out, page, scratch->plain.used, content->used, entries, encoding);
    column->plain += out->used - begin + scratch->plain.used;
    thrift_bytes(out, content->bytes, content->used);
    scratch->failed |= out->failed || scratch->packed.failed;
}

static void put_data_page(struct parquet_column *column, struct parquet_scratch *scratch, uint64_t entries,
                          int encoding) {
    column->entries += entries;
    put_page(column, scratch, &column->pages, PAGE_DATA, entries, encoding);
}

// The rows that wait. No value is in the page, whatever its encoding.
static void put_waiting(struct parquet_column *column, struct parquet_scratch *scratch) {
    if (!column->waiting)
        return;
    const bool list = column->field->type == TSMITH_TYPE_LIST;
    scratch->plain.used = 0;
    if (list)
        encode_same_levels(&scratch->plain, 0, column->waiting, 1);
    encode_same_levels(&scratch->plain, 0, column->waiting, list ? 2 : 1);
    column->has_plain = true;
    column->nulls += column->waiting;
    put_data_page(column, scratch, column->waiting, PLAIN);
    column->waiting = 0;
}

// ---- values

#define GATHER(type)                                                                                         \
    for (uint32_t row = 0; !nulls && row < count; row++)                                                     \
        to[row] = ((const type *)values)[row];                                                               \
    for (uint32_t word = 0; nulls && word <= (count - 1) / 64; word++)                                       \
        for (uint64_t left = bits[word]; left; left &= left - 1)                                             \
            to[at++] = ((const type *)values)[word * 64 + (uint32_t)__builtin_ctzll(left)];

// The known values one after the other, 64 bits each.
static const uint64_t *gather_known(struct parquet_scratch *scratch, const struct event_rows_block *block,
                                    const struct event_rows_column *column) {
    const void *values = column->values;
    const uint64_t *bits = column->valid;
    uint64_t *to = scratch->dense;
    const uint32_t count = block->count, nulls = column->nulls;
    uint32_t at = 0;
    if (column->width == sizeof(uint64_t) && !nulls)
        return values;
    if (column->width == sizeof(uint64_t)) {
        GATHER(uint64_t)
    } else if (column->width == sizeof(uint32_t)) {
        GATHER(uint32_t)
    } else {
        GATHER(uint8_t)
    }
    return to;
}

#define EXTEND(type, from_bits)                                                                              \
    do {                                                                                                     \
        type least = from_bits(column->bounded ? column->least : values[0]);                                 \
        type most = from_bits(column->bounded ? column->most : values[0]);                                   \
        for (uint32_t i = 0; i < count; i++) {                                                               \
            const type value = from_bits(values[i]);                                                         \
            least = value < least ? value : least;                                                           \
            most = value > most ? value : most;                                                              \
        }                                                                                                    \
        memcpy(&column->least, &least, sizeof least);                                                        \
        memcpy(&column->most, &most, sizeof most);                                                           \
    } while (0)

static double double_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// The bounds include the values. NaN has no order: there are no bounds then.
static void extend_bounds(struct parquet_column *column, const uint64_t *values, uint32_t count) {
    const struct parquet_type type = parquet_type_of(column->field->type);
    if (!count)
        return;
    if (type.physical == PARQUET_DOUBLE) {
        for (uint32_t i = 0; i < count && !column->unordered; i++)
            column->unordered = isnan(double_of(values[i]));
        if (!column->unordered)
            EXTEND(double, double_of);
    } else if (type.is_signed) {
        EXTEND(int64_t, (int64_t));
    } else {
        EXTEND(uint64_t, (uint64_t));
    }
    column->bounded = true;
}

// Numbers of the dictionary of the row group for ids of texts.
static void number_texts(struct parquet_column *column, struct parquet_scratch *scratch, const uint64_t *ids,
                         uint32_t count) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < count; i++)
        most = ids[i] > most ? ids[i] : most;
    const size_t had = column->index_capacity;
    if (!ARRAY_RESERVE(column->index_of, column->index_capacity, (size_t)most + 1) ||
        !ARRAY_RESERVE(column->texts, column->text_capacity, column->text_count + count)) {
        scratch->failed = true;
        return;
    }
    if (column->index_capacity > had)
        memset(column->index_of + had, 0, (column->index_capacity - had) * sizeof *column->index_of);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *index = &column->index_of[ids[i]];
        if (!*index) {
            column->texts[column->text_count++] = (uint32_t)ids[i];
            *index = (uint32_t)column->text_count;
        }
        scratch->indices[i] = *index - 1;
    }
}

static int encode_known(struct parquet_column *column, struct parquet_scratch *scratch,
                        const uint64_t *values, uint32_t count) {
    const struct parquet_type type = parquet_type_of(column->field->type);
    if (type.physical == PARQUET_BYTE_ARRAY) {
        number_texts(column, scratch, values, count);
        if (!scratch->failed)
            encode_indices(&scratch->plain, scratch->indices, count, (uint32_t)column->text_count - 1);
        column->has_indices = true;
        return RLE_DICTIONARY;
    }
    extend_bounds(column, values, count);
    if (type.bits && count) {
        encode_deltas(&scratch->plain, values, count, type.physical == PARQUET_INT32);
        column->has_deltas = true;
        return DELTA_BINARY_PACKED;
    }
    if (type.physical == PARQUET_BOOLEAN) {
        uint8_t *bytes = (uint8_t *)scratch->indices;
        for (uint32_t i = 0; i < count; i++)
            bytes[i] = values[i] != 0;
        encode_booleans(&scratch->plain, bytes, count);
    } else {
        const size_t begin = scratch->plain.used;
        thrift_bytes(&scratch->plain, values, count * sizeof *values);
        if (!scratch->plain.failed)
            bytes_to_little(scratch->plain.bytes + begin, count, sizeof *values);
    }
    column->has_plain = true;
    return PLAIN;
}

// ---- lists

// Levels: a list without a value 0, one without elements 1, an element 2; an element that continues a list repeats.
static uint32_t list_levels(struct parquet_scratch *scratch, const struct event_rows_block *block,
                            const struct event_rows_column *lists, uint32_t *nulls) {
    const uint32_t total = lists->offsets[block->count];
    uint32_t at = 0;
    const size_t most = (size_t)total + block->count;
    *nulls = 0;
    if (!ARRAY_RESERVE(scratch->levels, scratch->level_capacity, 2 * most + 1)) {
        scratch->failed = true;
        return 0;
    }
    uint8_t *defined = scratch->levels, *repeated = scratch->levels + most;
    for (uint32_t row = 0; row < block->count; row++) {
        const uint32_t length = lists->offsets[row + 1] - lists->offsets[row];
        const bool known = !lists->nulls || (lists->valid[row / 64] >> (row % 64) & 1);
        defined[at] = length ? 2 : known ? 1 : 0;
        repeated[at++] = 0;
        *nulls += !length;
        for (uint32_t i = 1; i < length; i++) {
            defined[at] = 2;
            repeated[at++] = 1;
        }
    }
    encode_levels(&scratch->plain, repeated, at, 1);
    encode_levels(&scratch->plain, defined, at, 2);
    return at;
}

static void add_lists(struct parquet_column *column, struct parquet_scratch *scratch,
                      const struct event_rows_block *block, const struct event_rows_column *lists) {
    uint32_t nulls;
    const uint32_t entries = list_levels(scratch, block, lists, &nulls);
    const uint64_t *elements = (const uint64_t *)(const void *)lists->values;
    if (scratch->failed)
        return;
    const int encoding = encode_known(column, scratch, elements, lists->offsets[block->count]);
    column->nulls += nulls;
    put_data_page(column, scratch, entries, encoding);
}

// ---- the chunk

void parquet_column_add(struct parquet_column *column, struct parquet_scratch *scratch,
                        const struct event_rows_block *block, const struct event_rows_column *values) {
    if (event_rows_column_is_empty(block, values)) {
        column->waiting += block->count;
        return;
    }
    column->compressed = true;
    put_waiting(column, scratch);
    scratch->plain.used = 0;
    if (values->type == TSMITH_TYPE_LIST) {
        add_lists(column, scratch, block, values);
        return;
    }
    const uint32_t known = block->count - values->nulls;
    if (column->field->field && values->nulls)
        encode_bitmap_levels(&scratch->plain, values->valid, block->count);
    else if (column->field->field)
        encode_same_levels(&scratch->plain, 1, block->count, 1);
    const int encoding = encode_known(column, scratch, gather_known(scratch, block, values), known);
    column->nulls += values->nulls;
    put_data_page(column, scratch, block->count, encoding);
}

// ---- the dictionary

static bool add_text(struct utf8_bytes *to, const tsmith_dictionary *dictionary,
                     const struct utf8_text *words, uint32_t id) {
    if (words) {
        const int64_t *offsets = words->strings.offsets;
        return utf8_bytes_add(to, words->strings.bytes + offsets[id], (size_t)(offsets[id + 1] - offsets[id]),
                              false);
    }
    const tsmith_string text = tsmith_dictionary_string(dictionary, id);
    return utf8_bytes_add(to, text.bytes, text.length, true);
}

static tsmith_string text_at(const struct utf8_bytes *texts, size_t index) {
    const int64_t at = texts->offsets[index];
    return (tsmith_string){texts->bytes ? texts->bytes + at : NULL, (size_t)(texts->offsets[index + 1] - at)};
}

// The texts of the row group become scratch->texts, in the order of their numbers.
static bool collect_texts(const struct parquet_column *column, struct parquet_scratch *scratch,
                          const tsmith_dictionary *dictionary) {
    const bool strings = column->field->type == TSMITH_TYPE_STRING;
    struct utf8_text *words = strings ? NULL : utf8_text_of_words(column->field->type);
    bool good = strings || words;
    scratch->texts.count = scratch->texts.length = 0;
    for (size_t i = 0; good && i < column->text_count; i++)
        good = add_text(&scratch->texts, dictionary, words, column->texts[i]);
    utf8_text_release(words);
    return good;
}

static void put_dictionary(struct parquet_column *column, struct parquet_scratch *scratch,
                           const tsmith_dictionary *dictionary) {
    if (!collect_texts(column, scratch, dictionary)) {
        scratch->failed = true;
        return;
    }
    scratch->plain.used = 0;
    for (size_t i = 0; i < column->text_count; i++) {
        const tsmith_string text = text_at(&scratch->texts, i);
        uint8_t *to = thrift_room(&scratch->plain, 4 + text.length);
        if (!to)
            break;
        bytes_put_u32(to, (uint32_t)text.length);
        memcpy(to + 4, text.bytes, text.length);
    }
    put_page(column, scratch, &scratch->head, PAGE_DICTIONARY, column->text_count, PLAIN);
}

void parquet_column_end(struct parquet_column *column, struct parquet_scratch *scratch,
                        const tsmith_dictionary *dictionary, struct parquet_chunk *chunk) {
    put_waiting(column, scratch);
    scratch->head.used = 0;
    if (column->has_indices)
        put_dictionary(column, scratch, dictionary);
    *chunk =
        (struct parquet_chunk){&scratch->head, &scratch->texts,
                               (int64_t)(scratch->head.used + column->pages.used), (int64_t)column->plain};
}

// ---- metadata

static void put_bounds(struct thrift *out, const void *least, size_t least_length, const void *most,
                       size_t most_length) {
    thrift_binary(out, 5, most, most_length);
    thrift_binary(out, 6, least, least_length);
}

static void put_text_bounds(const struct utf8_bytes *texts, struct thrift *out) {
    tsmith_string least = text_at(texts, 0), most = least;
    for (size_t i = 1; i < texts->count; i++) {
        const tsmith_string text = text_at(texts, i);
        if (text_compare(text, least) < 0)
            least = text;
        if (text_compare(text, most) > 0)
            most = text;
    }
    if (least.length <= BOUND_MAX && most.length <= BOUND_MAX)
        put_bounds(out, least.bytes, least.length, most.bytes, most.length);
}

static void put_number_bounds(const struct parquet_column *column, int physical, struct thrift *out) {
    uint64_t least = column->least, most = column->most;
    const size_t size = physical == PARQUET_BOOLEAN ? 1 : physical == PARQUET_INT32 ? 4 : 8;
    // Of the zeros of a double a reader may not know which one is meant.
    if (physical == PARQUET_DOUBLE && double_of(least) == 0)
        least = UINT64_C(1) << 63;
    if (physical == PARQUET_DOUBLE && double_of(most) == 0)
        most = 0;
    bytes_to_little(&least, 1, sizeof least);
    bytes_to_little(&most, 1, sizeof most);
    put_bounds(out, &least, size, &most, size);
}

static void put_statistics(const struct parquet_column *column, const struct parquet_chunk *chunk,
                           int physical, struct thrift *out) {
    thrift_struct(out, 12);
    thrift_int(out, 3, THRIFT_I64, (int64_t)column->nulls);
    if (column->has_indices)
        put_text_bounds(chunk->texts, out);
    else if (column->bounded && !column->unordered)
        put_number_bounds(column, physical, out);
    thrift_end(out);
}

static void put_encodings(const struct parquet_column *column, struct thrift *out) {
    const bool plain = column->has_plain || column->has_indices; // of the dictionary page
    thrift_list(out, 2, THRIFT_I32, 1 + (size_t)plain + column->has_deltas + column->has_indices);
    thrift_item_int(out, RLE);
    if (plain)
        thrift_item_int(out, PLAIN);
    if (column->has_deltas)
        thrift_item_int(out, DELTA_BINARY_PACKED);
    if (column->has_indices)
        thrift_item_int(out, RLE_DICTIONARY);
}

static void put_path(const struct parquet_column *column, struct thrift *out) {
    const bool list = column->field->type == TSMITH_TYPE_LIST;
    thrift_list(out, 3, THRIFT_BINARY, list ? 3 : 1);
    thrift_item_binary(out, column->field->name, strlen(column->field->name));
    if (list) {
        thrift_item_binary(out, "list", 4);
        thrift_item_binary(out, "element", 7);
    }
}

void parquet_column_describe(const struct parquet_column *column, const struct parquet_chunk *chunk,
                             int64_t offset, struct thrift *out) {
    const int physical = parquet_type_of(column->field->type).physical;
    const int64_t head = (int64_t)chunk->head->used;
    thrift_element(out);
    thrift_int(out, 2, THRIFT_I64, 0);
    thrift_struct(out, 3);
    thrift_int(out, 1, THRIFT_I32, physical);
    put_encodings(column, out);
    put_path(column, out);
    thrift_int(out, 4, THRIFT_I32, column->compressed ? CODEC_ZSTD : CODEC_NONE);
    thrift_int(out, 5, THRIFT_I64, (int64_t)column->entries);
    thrift_int(out, 6, THRIFT_I64, chunk->plain);
    thrift_int(out, 7, THRIFT_I64, chunk->bytes);
    thrift_int(out, 9, THRIFT_I64, offset + head);
    if (head)
        thrift_int(out, 11, THRIFT_I64, offset);
    put_statistics(column, chunk, physical, out);
    thrift_end(out);
    thrift_end(out);
}

void parquet_column_reset(struct parquet_column *column) {
    for (size_t i = 0; i < column->text_count; i++)
        column->index_of[column->texts[i]] = 0;
    column->pages.used = 0;
    column->text_count = 0;
    column->entries = column->nulls = column->plain = 0;
    column->has_plain = column->has_deltas = column->has_indices = column->compressed = false;
    column->bounded = column->unordered = false;
}

void parquet_column_finish(struct parquet_column *column) {
    free(column->pages.bytes);
    free(column->index_of);
    free(column->texts);
}
