// SPDX-License-Identifier: Apache-2.0
// Batches as arrays: each is a struct of columns that share the memory of a retained batch.
//
// The schema (`columns`) is settled once, from the options or from the schema and the dictionary. A batch has some of these
// columns; of the others it has nulls, whose buffers are zeros that all batches share.
#include <stdlib.h>
#include <string.h>

#include "arrow/array.h"
#include "arrow/stream.h"
#include "base/sized.h"
#include "base/status.h"
#include "event/batch.h"
#include "event/event_columns.h"
#include "event/select.h"

struct source_stream {
    tsmith_source *source;
    tsmith_arrow_options options;
    uint32_t *fields;   // of the options
    tsmith_batch *some; // rows of a batch of which not all are wanted
    uint32_t *rows;     // their numbers
    struct event_columns columns;
    struct utf8_text *strings;                  // of the dictionary, as far as it was needed
    struct utf8_text *words[TSMITH_TYPE_LIMIT]; // of kinds, operations...
};

// What columns without a value have for values, bitmap and offsets. Never written.
static uint64_t zeros[TSMITH_BATCH_MAX + 1];

// ---- the schema

static const char *format_of(tsmith_type type) {
    switch ((int)type) {
    case TSMITH_TYPE_TIME:
    case TSMITH_TYPE_I64:
        return "l";
    case TSMITH_TYPE_U64:
        return "L";
    case TSMITH_TYPE_U32:
    case TSMITH_TYPE_STRING: // number of the string
    case TSMITH_TYPE_TRACK:
        return "I";
    case TSMITH_TYPE_F64:
        return "g";
    case TSMITH_TYPE_BOOL:
        return "b";
    case TSMITH_TYPE_LIST:
        return "+l";
    default: // 8 bits, and kinds, operations... by number
        return "C";
    }
}

static tsmith_status settle_columns(struct source_stream *stream, tsmith_error *error) {
    return event_columns_settle(&stream->columns, tsmith_source_dictionary(stream->source), stream->fields,
                                stream->options.field_count, stream->options.without_track, error);
}

static bool column_schema(const struct event_columns_field *column, struct ArrowSchema *out) {
    const bool dictionary = event_columns_is_text(column->type);
    const bool list = column->type == TSMITH_TYPE_LIST;
    if (!arrow_schema_make(out, format_of(column->type), column->name, column->field != 0, list ? 1 : 0,
                           dictionary, column->unit, column->doc))
        return false;
    return (!list || arrow_schema_make(out->children[0], "L", "item", false, 0, false, NULL, NULL)) &&
           (!dictionary || arrow_schema_make(out->dictionary, "U", "", false, 0, false, NULL, NULL));
}

static tsmith_status source_schema(void *self, struct ArrowSchema *out, tsmith_error *error) {
    struct source_stream *stream = self;
    const tsmith_status status = settle_columns(stream, error);
    if (status != TSMITH_OK)
        return status;
    const size_t count = stream->columns.count;
    bool good = arrow_schema_make(out, "+s", "", false, (int64_t)count, false, NULL, NULL);
    for (size_t i = 0; good && i < count; i++)
        good = column_schema(&stream->columns.items[i], out->children[i]);
    if (!good && out->release)
        out->release(out);
    return good ? TSMITH_OK
                : status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while building an Arrow schema");
}

// ---- columns of a batch

// Parts that share the batch's buffers. A column that the batch does not have is all null.
static struct arrow_parts share_column(const tsmith_batch *batch, const tsmith_column *column) {
    struct arrow_parts parts = {.length = column->count,
                                .null_count = event_columns_count_nulls(column->valid, column->count),
                                .buffer_count = 2};
    parts.buffers[0] = column->valid;
    parts.buffers[1] = column->offsets ? (const void *)column->offsets : column->values;
    if (tsmith_batch_retain(batch, &parts.batch) != TSMITH_OK) // the batch is retained: this cannot fail
        parts.batch = NULL;
    return parts;
}

static bool make_bits(struct ArrowArray *out, const tsmith_batch *batch, const tsmith_column *column) {
    struct arrow_parts parts = share_column(batch, column);
    uint64_t *bits = calloc(batch_bitmap_words(column->count) + 1u, sizeof *bits);
    parts.buffers[1] = parts.owned[0] = bits;
    for (uint32_t row = 0; bits && row < column->count; row++)
        bits[row / 64] |= (uint64_t)(((const uint8_t *)column->values)[row] != 0) << (row % 64);
    if (!bits)
        parts.length = parts.null_count = 0;
    return arrow_array_make(out, &parts) && bits;
}

static bool make_list(struct ArrowArray *out, const tsmith_batch *batch, const tsmith_column *column) {
    struct arrow_parts parts = share_column(batch, column);
    tsmith_column items = {.count = column->offsets[column->count], .values = column->values};
    struct arrow_parts item_parts = share_column(batch, &items);
    parts.child_count = 1;
    if (!arrow_array_make(out, &parts)) {
        tsmith_batch_release(item_parts.batch);
        return false;
    }
    return arrow_array_make(out->children[0], &item_parts);
}

// Numbers that all have a word: those of a damaged trace, and what stands where there is no value, may not. False when memory is
// exhausted.
static bool repair_words(const tsmith_column *column, struct arrow_parts *parts) {
    const uint8_t *numbers = column->values;
    uint8_t *repaired = calloc(column->count + 1u, sizeof *repaired);
    uint64_t *valid = calloc(batch_bitmap_words(column->count) + 1u, sizeof *valid);
    parts->owned[0] = repaired;
    parts->owned[1] = valid;
    parts->null_count = 0;
    for (uint32_t row = 0; repaired && valid && row < column->count; row++) {
        const bool good = tsmith_column_has(column, row) && numbers[row] < UTF8_WORDS;
        repaired[row] = good ? numbers[row] : 0;
        valid[row / 64] |= (uint64_t)good << (row % 64);
        parts->null_count += !good;
    }
    parts->buffers[0] = valid;
    parts->buffers[1] = repaired;
    return repaired && valid;
}

static bool make_words(struct source_stream *stream, struct ArrowArray *out, const tsmith_batch *batch,
                       const tsmith_column *column, tsmith_type type) {
    struct utf8_text **words = &stream->words[type];
    if (!*words && !(*words = utf8_text_of_words(type)))
        return false;
    struct arrow_parts parts = share_column(batch, column);
    parts.dictionary = true;
    const bool good = !memchr(column->values, UTF8_WORDS, column->count) || repair_words(column, &parts);
    return arrow_array_make(out, &parts) && good && arrow_array_of_text(out->dictionary, *words);
}

// Numbers of strings that all refer to a string: those of a damaged trace, and what stands where there is no value, may not.
// False when memory is exhausted.
static bool repair_ids(const tsmith_column *column, size_t known, struct arrow_parts *parts) {
    const uint32_t *ids = column->values;
    uint32_t *repaired = calloc(column->count + 1u, sizeof *repaired);
    uint64_t *valid = calloc(batch_bitmap_words(column->count) + 1u, sizeof *valid);
    parts->owned[0] = repaired;
    parts->owned[1] = valid;
    parts->null_count = 0;
    for (uint32_t row = 0; repaired && valid && row < column->count; row++) {
        const bool good = tsmith_column_has(column, row) && ids[row] < known;
        repaired[row] = good ? ids[row] : 0;
        valid[row / 64] |= (uint64_t)good << (row % 64);
        parts->null_count += !good;
    }
    parts->buffers[0] = valid;
    parts->buffers[1] = repaired;
    return repaired && valid;
}

// The strings grow with a live source: they are copied again when a batch needs more of them.
static bool make_strings(struct source_stream *stream, struct ArrowArray *out, const tsmith_batch *batch,
                         const tsmith_column *column) {
    const tsmith_dictionary *dictionary = tsmith_source_dictionary(stream->source);
    const uint32_t *ids = column->values;
    uint32_t most = 0;
    for (uint32_t row = 0; row < column->count; row++)
        most = ids[row] > most ? ids[row] : most;
    const uint32_t there = tsmith_dictionary_string_count(dictionary);
    if (!stream->strings ||
        (most >= stream->strings->strings.count && there > stream->strings->strings.count)) {
        struct utf8_text *strings = utf8_text_of_strings(dictionary, there);
        if (!strings)
            return false;
        utf8_text_release(stream->strings);
        stream->strings = strings;
    }
    struct arrow_parts parts = share_column(batch, column);
    parts.dictionary = true;
    const size_t known = stream->strings->strings.count;
    const bool good = most < known || repair_ids(column, known, &parts);
    return arrow_array_make(out, &parts) && good && arrow_array_of_text(out->dictionary, stream->strings);
}

static bool make_column(struct source_stream *stream, const struct event_columns_field *wanted,
                        const tsmith_batch *batch, const tsmith_column *column, struct ArrowArray *out) {
    if (wanted->type == TSMITH_TYPE_STRING)
        return make_strings(stream, out, batch, column);
    if (tsmith_type_has_names(wanted->type))
        return make_words(stream, out, batch, column, wanted->type);
    if (wanted->type == TSMITH_TYPE_BOOL)
        return make_bits(out, batch, column);
    if (wanted->type == TSMITH_TYPE_LIST)
        return make_list(out, batch, column);
    const struct arrow_parts parts = share_column(batch, column);
    return arrow_array_make(out, &parts);
}

static bool make_track(const tsmith_batch *batch, struct ArrowArray *out) {
    const uint32_t count = tsmith_batch_count(batch), track = tsmith_batch_track(batch);
    uint32_t *tracks = malloc((count + 1u) * sizeof *tracks);
    for (uint32_t row = 0; tracks && row < count; row++)
        tracks[row] = track;
    return tracks && arrow_array_make(out, &(struct arrow_parts){.length = count,
                                                                 .buffers = {NULL, tracks},
                                                                 .buffer_count = 2,
                                                                 .owned = {tracks}});
}

// ---- batches

static tsmith_status make_batch(struct source_stream *stream, const tsmith_batch *batch,
                                struct ArrowArray *out, tsmith_error *error) {
    const tsmith_status status =
        event_columns_check(&stream->columns, tsmith_source_dictionary(stream->source), batch, error);
    if (status != TSMITH_OK)
        return status;
    const uint32_t count = tsmith_batch_count(batch);
    bool good = arrow_array_make(out, &(struct arrow_parts){.length = count,
                                                            .buffer_count = 1,
                                                            .child_count = (int64_t)stream->columns.count});
    for (size_t i = 0; good && i < stream->columns.count; i++) {
        const struct event_columns_field *wanted = &stream->columns.items[i];
        if (!wanted->field) {
            good = make_track(batch, out->children[i]);
            continue;
        }
        tsmith_column column = {.field = wanted->field, .type = wanted->type, .count = count};
        column.valid = column.values = zeros;
        column.offsets = wanted->type == TSMITH_TYPE_LIST ? (const uint32_t *)zeros : NULL;
        (void)tsmith_batch_column(batch, wanted->field, &column);
        good = make_column(stream, wanted, batch, &column, out->children[i]);
    }
    if (!good && out->release)
        out->release(out);
    return good ? TSMITH_OK
                : status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while building Arrow columns");
}

// The events of the batch that are wanted: the batch itself, or another one, which is lent too. It may have none.
static tsmith_status choose(struct source_stream *stream, const tsmith_batch **batch, tsmith_error *error) {
    const tsmith_arrow_options *options = &stream->options;
    const uint32_t count = tsmith_batch_count(*batch);
    if (!options->kinds && !options->has_window)
        return TSMITH_OK;
    tsmith_status status = stream->some ? TSMITH_OK : tsmith_batch_create(&stream->some);
    if (!status && !stream->rows && !(stream->rows = calloc(TSMITH_BATCH_MAX + 1, sizeof *stream->rows)))
        status = TSMITH_ERROR_NO_MEMORY;
    if (status)
        return status_set(error, status, "out of memory while building an Arrow batch");
    const int64_t from = options->has_window ? options->from : INT64_MIN;
    const int64_t to = options->has_window ? options->to : INT64_MAX;
    const uint32_t wanted = select_rows(*batch, options->kinds, from, to, stream->rows);
    if (wanted == count)
        return TSMITH_OK;
    status = select_batch(stream->some, *batch, stream->rows, wanted);
    *batch = stream->some;
    return status ? status_set(error, status, "out of memory while building an Arrow batch") : TSMITH_OK;
}

static tsmith_status source_next(void *self, struct ArrowArray *out, tsmith_error *error) {
    struct source_stream *stream = self;
    const tsmith_batch *batch, *kept;
    tsmith_status status = settle_columns(stream, error);
    while (status == TSMITH_OK) {
        status = tsmith_source_next(stream->source, &batch, error);
        if (status == TSMITH_OK)
            status = choose(stream, &batch, error);
        if (status == TSMITH_OK && tsmith_batch_count(batch) > 0)
            break;
        status = status == TSMITH_AGAIN ? TSMITH_OK : status;
    }
    if (status == TSMITH_TRUNCATED && stream->options.accept_truncated)
        return TSMITH_END;
    if (status != TSMITH_OK)
        return status;
    status = tsmith_batch_retain(batch, &kept);
    if (status != TSMITH_OK)
        return status_set(error, status, "out of memory while building an Arrow batch");
    status = make_batch(stream, kept, out, error);
    tsmith_batch_release(kept);
    return status;
}

static void free_stream(struct source_stream *stream) {
    event_columns_finish(&stream->columns);
    for (size_t i = 0; i < TSMITH_TYPE_LIMIT; i++)
        utf8_text_release(stream->words[i]);
    utf8_text_release(stream->strings);
    tsmith_batch_destroy(stream->some);
    free(stream->rows);
    free(stream->fields);
    free(stream);
}

static void source_destroy(void *self) {
    struct source_stream *stream = self;
    tsmith_source_destroy(stream->source);
    free_stream(stream);
}

tsmith_status tsmith_arrow_source(tsmith_source *source, const tsmith_arrow_options *options,
                                  struct ArrowArrayStream *out, tsmith_error *error) {
    static const struct arrow_stream_ops ops = {source_schema, source_next, source_destroy};
    struct source_stream *stream = calloc(1, sizeof *stream);
    *out = (struct ArrowArrayStream){.release = NULL};
    if (!stream)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while creating an Arrow stream");
    stream->source = source;
    tsmith_status status = sized_take(tsmith_arrow_options, options, &stream->options, error);
    const size_t count = stream->options.field_count;
    if (status == TSMITH_OK && stream->options.fields) {
        stream->fields = calloc(count + 1, sizeof *stream->fields);
        if (!stream->fields)
            status =
                status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while creating an Arrow stream");
        else if (count)
            memcpy(stream->fields, stream->options.fields, count * sizeof *stream->fields);
    }
    if (status == TSMITH_OK)
        status = arrow_stream_make(&ops, stream, out, error);
    if (status != TSMITH_OK)
        free_stream(stream);
    return status;
}
