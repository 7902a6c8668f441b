// SPDX-License-Identifier: Apache-2.0
// Arrow's metadata as FlatBuffers. Used by arrow_ipc.c.
#include "export/arrow_ipc/messages.h"

#include <stdlib.h>
#include <string.h>

// Slots of tables, and numbers of unions and enums.
enum { VERSION_5 = 4, HEADER_SCHEMA = 1, HEADER_DICTIONARY = 2, HEADER_BATCH = 3, CODEC_ZSTD = 1 };
enum {
    TYPE_INT = 2,
    TYPE_FLOAT = 3,
    TYPE_BOOL = 6,
    TYPE_LIST = 12,
    TYPE_LARGE_UTF8 = 20,
    PRECISION_DOUBLE = 2
};
enum { MESSAGE_VERSION, MESSAGE_HEADER_TYPE, MESSAGE_HEADER, MESSAGE_BODY_LENGTH };
enum { SCHEMA_ENDIANNESS, SCHEMA_FIELDS, SCHEMA_METADATA };
enum {
    FIELD_NAME,
    FIELD_NULLABLE,
    FIELD_TYPE_TYPE,
    FIELD_TYPE,
    FIELD_DICTIONARY,
    FIELD_CHILDREN,
    FIELD_METADATA
};
enum { INT_WIDTH, INT_SIGNED };
enum { ENCODING_ID, ENCODING_INDEX };
enum { PAIR_KEY, PAIR_VALUE };
enum { BATCH_LENGTH, BATCH_NODES, BATCH_BUFFERS, BATCH_COMPRESSION };
enum { DICTIONARY_ID, DICTIONARY_DATA, DICTIONARY_DELTA };
enum { FOOTER_VERSION, FOOTER_SCHEMA, FOOTER_DICTIONARIES, FOOTER_BATCHES };

static size_t put_pair(struct flat *flat, const char *key, const char *value) {
    const size_t value_place = flat_string(flat, value, strlen(value));
    const size_t key_place = flat_string(flat, key, strlen(key));
    flat_begin(flat);
    flat_child(flat, PAIR_KEY, key_place);
    flat_child(flat, PAIR_VALUE, value_place);
    return flat_end(flat);
}

static size_t put_int(struct flat *flat, unsigned bits, bool is_signed) {
    flat_begin(flat);
    flat_field(flat, INT_WIDTH, bits, 4);
    flat_field(flat, INT_SIGNED, is_signed, 1);
    return flat_end(flat);
}

static size_t put_empty_table(struct flat *flat) {
    flat_begin(flat);
    return flat_end(flat);
}

// The type of the values of a column; *number is its number in the union.
static size_t put_type(struct flat *flat, tsmith_type type, unsigned *number) {
    *number = TYPE_INT;
    if (event_columns_is_text(type)) {
        *number = TYPE_LARGE_UTF8;
        return put_empty_table(flat);
    }
    switch ((int)type) {
    case TSMITH_TYPE_F64:
        *number = TYPE_FLOAT;
        flat_begin(flat);
        flat_field(flat, 0, PRECISION_DOUBLE, 2);
        return flat_end(flat);
    case TSMITH_TYPE_BOOL:
        *number = TYPE_BOOL;
        return put_empty_table(flat);
    case TSMITH_TYPE_LIST:
        *number = TYPE_LIST;
        return put_empty_table(flat);
    default:
        return put_int(flat, 8 * (unsigned)tsmith_type_size(type),
                       type == TSMITH_TYPE_TIME || type == TSMITH_TYPE_I64);
    }
}

static size_t put_encoding(struct flat *flat, tsmith_type type) {
    const size_t index = put_int(flat, 8 * (unsigned)tsmith_type_size(type), false);
    flat_begin(flat);
    flat_field(flat, ENCODING_ID, (uint64_t)messages_dictionary(type), 8);
    flat_child(flat, ENCODING_INDEX, index);
    return flat_end(flat);
}

// The elements of a list, or none.
static size_t put_children(struct flat *flat, tsmith_type type) {
    size_t place = 0;
    if (type != TSMITH_TYPE_LIST)
        return flat_tables(flat, NULL, 0);
    const size_t name = flat_string(flat, "item", 4), integer = put_int(flat, 64, false);
    const size_t children = flat_tables(flat, NULL, 0);
    flat_begin(flat);
    flat_child(flat, FIELD_NAME, name);
    flat_field(flat, FIELD_NULLABLE, false, 1);
    flat_field(flat, FIELD_TYPE_TYPE, TYPE_INT, 1);
    flat_child(flat, FIELD_TYPE, integer);
    flat_child(flat, FIELD_CHILDREN, children);
    place = flat_end(flat);
    return flat_tables(flat, &place, 1);
}

static size_t put_field(struct flat *flat, const struct event_columns_field *field) {
    size_t pairs[2], pair_count = 0;
    unsigned number;
    if (*field->unit)
        pairs[pair_count++] = put_pair(flat, "unit", field->unit);
    if (*field->doc)
        pairs[pair_count++] = put_pair(flat, "doc", field->doc);
    const size_t metadata = pair_count ? flat_tables(flat, pairs, pair_count) : 0;
    const size_t children = put_children(flat, field->type);
    const size_t encoding = event_columns_is_text(field->type) ? put_encoding(flat, field->type) : 0;
    const size_t type = put_type(flat, field->type, &number);
    const size_t name = flat_string(flat, field->name, strlen(field->name));
    flat_begin(flat);
    flat_child(flat, FIELD_NAME, name);
    flat_child(flat, FIELD_TYPE, type);
    flat_child(flat, FIELD_DICTIONARY, encoding);
    flat_child(flat, FIELD_CHILDREN, children);
    flat_child(flat, FIELD_METADATA, metadata);
    flat_field(flat, FIELD_NULLABLE, field->field != 0, 1);
    flat_field(flat, FIELD_TYPE_TYPE, number, 1);
    return flat_end(flat);
}

static size_t put_schema(struct flat *flat, const struct event_columns *columns, const struct about *about) {
    const size_t most = columns->count + about->count;
    size_t *places = malloc((most + 1) * sizeof *places);
    if (!places) {
        flat->failed = true;
        return 0;
    }
    for (size_t i = 0; i < about->count; i++)
        places[i] = put_pair(flat, about->pairs[i].key, about->pairs[i].value);
    const size_t metadata = flat_tables(flat, places, about->count);
    for (size_t i = 0; i < columns->count; i++)
        places[i] = put_field(flat, &columns->items[i]);
    const size_t fields = flat_tables(flat, places, columns->count);
    free(places);
    flat_begin(flat);
    flat_child(flat, SCHEMA_FIELDS, fields);
    flat_child(flat, SCHEMA_METADATA, metadata);
    flat_field(flat, SCHEMA_ENDIANNESS, 0, 2);
    return flat_end(flat);
}

static void finish_message(struct flat *flat, unsigned header_type, size_t header, int64_t body) {
    flat_begin(flat);
    flat_field(flat, MESSAGE_BODY_LENGTH, (uint64_t)body, 8);
    flat_child(flat, MESSAGE_HEADER, header);
    flat_field(flat, MESSAGE_VERSION, VERSION_5, 2);
    flat_field(flat, MESSAGE_HEADER_TYPE, header_type, 1);
    flat_finish(flat, flat_end(flat));
}

void messages_schema(struct flat *flat, const struct event_columns *columns, const struct about *about) {
    flat_reset(flat);
    finish_message(flat, HEADER_SCHEMA, put_schema(flat, columns, about), 0);
}

static size_t put_batch(struct flat *flat, const struct messages_batch *batch) {
    size_t compression = 0;
    if (batch->compressed) {
        flat_begin(flat);
        flat_field(flat, 0, CODEC_ZSTD, 1);
        compression = flat_end(flat);
    }
    const size_t buffers = flat_structs(flat, batch->buffers, batch->buffer_count, sizeof *batch->buffers);
    const size_t nodes = flat_structs(flat, batch->nodes, batch->node_count, sizeof *batch->nodes);
    flat_begin(flat);
    flat_field(flat, BATCH_LENGTH, (uint64_t)batch->length, 8);
    flat_child(flat, BATCH_NODES, nodes);
    flat_child(flat, BATCH_BUFFERS, buffers);
    flat_child(flat, BATCH_COMPRESSION, compression);
    return flat_end(flat);
}

void messages_record_batch(struct flat *flat, const struct messages_batch *batch) {
    flat_reset(flat);
    finish_message(flat, HEADER_BATCH, put_batch(flat, batch), batch->body);
}

void messages_dictionary_batch(struct flat *flat, tsmith_type type, bool is_delta,
                               const struct messages_batch *batch) {
    flat_reset(flat);
    const size_t data = put_batch(flat, batch);
    flat_begin(flat);
    flat_field(flat, DICTIONARY_ID, (uint64_t)messages_dictionary(type), 8);
    flat_child(flat, DICTIONARY_DATA, data);
    flat_field(flat, DICTIONARY_DELTA, is_delta, 1);
    finish_message(flat, HEADER_DICTIONARY, flat_end(flat), batch->body);
}

void messages_footer(struct flat *flat, const struct event_columns *columns, const struct about *about,
                     const struct messages_block *dictionaries, size_t dictionary_count,
                     const struct messages_block *batches, size_t batch_count) {
    flat_reset(flat);
    const size_t batch_place = flat_structs(flat, batches, batch_count, sizeof *batches);
    const size_t dictionary_place = flat_structs(flat, dictionaries, dictionary_count, sizeof *dictionaries);
    const size_t schema = put_schema(flat, columns, about);
    flat_begin(flat);
    flat_child(flat, FOOTER_SCHEMA, schema);
    flat_child(flat, FOOTER_DICTIONARIES, dictionary_place);
    flat_child(flat, FOOTER_BATCHES, batch_place);
    flat_field(flat, FOOTER_VERSION, VERSION_5, 2);
    flat_finish(flat, flat_end(flat));
}
