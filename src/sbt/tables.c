// SPDX-License-Identifier: Apache-2.0
// Invariant of reading: a section is checked as a whole before its first row is added, so that a damaged one
// leaves no half of itself behind.
#include "sbt/tables.h"

#include <string.h>

#include "base/status.h"

// ---- blobs

enum { BLOB_PLAIN, BLOB_ZSTD, BLOB_WORTH_TRYING = 128 };

void blob_write(struct packer *packer, struct output *out, const void *bytes, size_t size) {
    size_t start = out->length;
    packer->trial.length = 0;
    size_t made =
        size < BLOB_WORTH_TRYING ? 0 : pack_zstd_text(packer, &packer->trial, bytes, size, size - size / 8);
    out->failed |= packer->trial.failed;
    output_u8(out, made ? BLOB_ZSTD : BLOB_PLAIN);
    output_varint(out, size);
    if (made)
        output_varint(out, made);
    output_bytes(out, made ? packer->trial.bytes : bytes, made ? made : size);
    if (out->failed)
        out->length = start;
}

bool blob_read(struct input *in, uint64_t limit, struct scratch *scratch, struct input *plain) {
    uint8_t encoding;
    uint64_t length, stored;
    if (!input_u8(in, &encoding) || !input_varint(in, &length) || length > limit)
        return false;
    if (encoding == BLOB_PLAIN)
        return input_part(in, length, plain);
    struct input part;
    if (encoding != BLOB_ZSTD || !input_varint(in, &stored) || !input_part(in, stored, &part))
        return false;
    uint8_t *bytes = scratch_take(scratch, length);
    if (!bytes || !unpack_zstd(scratch, part, bytes, length))
        return false;
    *plain = (struct input){bytes, bytes + length};
    return true;
}

// ---- rows: the integers of each table, in the order of the document

enum { MAX_COLUMNS = 9 };

struct row {
    uint64_t values[MAX_COLUMNS];
};

static const uint8_t table_columns[TABLE_LIMIT] = {
    [TABLE_PROCESSES] = 6,   [TABLE_DEVICES] = 9,    [TABLE_TRACKS] = 9, [TABLE_CLOCKS] = 3,
    [TABLE_CLOCK_PAIRS] = 4, [TABLE_ATTRIBUTES] = 2, [TABLE_FIELDS] = 3, [TABLE_TRACK_NAMES] = 2};

// Bit i: the integer at i is signed.
static const uint8_t table_signed[TABLE_LIMIT] = {[TABLE_PROCESSES] = 1 << 2, [TABLE_CLOCK_PAIRS] = 14};

static uint32_t table_count(const tsmith_dictionary *dictionary, enum sbt_table table) {
    switch (table) {
    case TABLE_STRINGS:
        return tsmith_dictionary_string_count(dictionary);
    case TABLE_PROCESSES:
        return tsmith_dictionary_process_count(dictionary);
    case TABLE_DEVICES:
        return tsmith_dictionary_device_count(dictionary);
    case TABLE_TRACKS:
        return tsmith_dictionary_track_count(dictionary);
    case TABLE_CLOCKS:
        return tsmith_dictionary_clock_count(dictionary);
    case TABLE_CLOCK_PAIRS:
        return tsmith_dictionary_clock_pair_count(dictionary);
    case TABLE_ATTRIBUTES:
        return tsmith_dictionary_attribute_count(dictionary);
    case TABLE_FIELDS:
        return tsmith_dictionary_dynamic_field_count(dictionary);
    default:
        return 0;
    }
}

static struct row get_row(const tsmith_dictionary *dictionary, enum sbt_table table, uint32_t id) {
    switch (table) {
    case TABLE_PROCESSES: {
        const tsmith_process *p = tsmith_dictionary_process(dictionary, id);
        return (struct row){{p->pid, p->parent_pid, (uint64_t)p->start, p->name, p->command_line, p->host}};
    }
    case TABLE_DEVICES: {
        const tsmith_device *d = tsmith_dictionary_device(dictionary, id);
        return (struct row){{d->name, d->vendor, d->driver, d->api, d->type, d->process, d->memory_bytes,
                             d->compute_units, d->clock_mhz}};
    }
    case TABLE_TRACKS: {
        const tsmith_track *t = tsmith_dictionary_track(dictionary, id);
        return (struct row){
            {t->kind, t->flags, t->name, t->process, t->device, t->parent, t->tid, t->context, t->queue}};
    }
    case TABLE_CLOCKS: {
        const tsmith_clock *c = tsmith_dictionary_clock(dictionary, id);
        return (struct row){{c->name, c->process, c->device}};
    }
    case TABLE_CLOCK_PAIRS: {
        const tsmith_clock_pair *p = tsmith_dictionary_clock_pair(dictionary, id);
        return (struct row){{p->clock, (uint64_t)p->clock_time, (uint64_t)p->trace_time, (uint64_t)p->error}};
    }
    case TABLE_ATTRIBUTES: {
        const tsmith_attribute *a = tsmith_dictionary_attribute(dictionary, id);
        return (struct row){{a->key, a->value}};
    }
    default: {
        const tsmith_dynamic_field *f = tsmith_dictionary_dynamic_field(dictionary, id);
        return (struct row){{f->name, f->unit, f->type}};
    }
    }
}

// The id it got, 0 when memory is exhausted. Numbers that do not fit their place are cut: a file that has
// them is not from any writer, and every id is checked by the one who looks it up.
static uint32_t add_row(tsmith_dictionary *dictionary, enum sbt_table table, const uint64_t *v) {
    switch (table) {
    case TABLE_PROCESSES:
        return tsmith_dictionary_add_process(dictionary, &(tsmith_process){.pid = v[0],
                                                                           .parent_pid = v[1],
                                                                           .start = (int64_t)v[2],
                                                                           .name = (uint32_t)v[3],
                                                                           .command_line = (uint32_t)v[4],
                                                                           .host = (uint32_t)v[5]});
    case TABLE_DEVICES:
        return tsmith_dictionary_add_device(dictionary, &(tsmith_device){.name = (uint32_t)v[0],
                                                                         .vendor = (uint32_t)v[1],
                                                                         .driver = (uint32_t)v[2],
                                                                         .api = (uint32_t)v[3],
                                                                         .type = (uint32_t)v[4],
                                                                         .process = (uint32_t)v[5],
                                                                         .memory_bytes = v[6],
                                                                         .compute_units = (uint32_t)v[7],
                                                                         .clock_mhz = (uint32_t)v[8]});
    case TABLE_TRACKS:
        return tsmith_dictionary_add_track(dictionary, &(tsmith_track){.kind = (uint8_t)v[0],
                                                                       .flags = (uint16_t)v[1],
                                                                       .name = (uint32_t)v[2],
                                                                       .process = (uint32_t)v[3],
                                                                       .device = (uint32_t)v[4],
                                                                       .parent = (uint32_t)v[5],
                                                                       .tid = v[6],
                                                                       .context = v[7],
                                                                       .queue = v[8]});
    case TABLE_CLOCKS:
        return tsmith_dictionary_add_clock(
            dictionary,
            &(tsmith_clock){.name = (uint32_t)v[0], .process = (uint32_t)v[1], .device = (uint32_t)v[2]});
    case TABLE_CLOCK_PAIRS:
        return tsmith_dictionary_add_clock_pair(dictionary, &(tsmith_clock_pair){.clock = (uint32_t)v[0],
                                                                                 .clock_time = (int64_t)v[1],
                                                                                 .trace_time = (int64_t)v[2],
                                                                                 .error = (int64_t)v[3]});
    case TABLE_ATTRIBUTES:
        return tsmith_dictionary_add_attribute(
            dictionary, &(tsmith_attribute){.key = (uint32_t)v[0], .value = (uint32_t)v[1]});
    default:
        return tsmith_dictionary_add_dynamic_field(
            dictionary,
            &(tsmith_dynamic_field){.name = (uint32_t)v[0], .unit = (uint32_t)v[1], .type = (uint32_t)v[2]});
    }
}

// ---- writing

void table_state_finish(struct table_state *state) {
    free(state->track_names);
    free(state->rows.bytes);
    *state = (struct table_state){0};
}

// What one section and one frame hold at most, about.
enum { SECTION_ROWS = 1 << 18, SECTION_BYTES = 4 << 20, FRAME_BYTES = 16 << 20 };

static void write_section(struct packer *packer, struct table_state *state, struct output *out,
                          enum sbt_table table, uint32_t first, uint32_t rows) {
    output_varint(out, table);
    output_varint(out, first);
    output_varint(out, rows);
    output_varint(out, table_columns[table]);
    blob_write(packer, out, state->rows.bytes, state->rows.length);
    out->failed |= state->rows.failed;
}

static void put_row(struct output *out, enum sbt_table table, const struct row *row) {
    for (unsigned i = 0; i < table_columns[table]; i++)
        output_varint(out, table_signed[table] >> i & 1 ? zigzag(row->values[i]) : row->values[i]);
}

// Up to where a section reaches that begins at `from`: a very large string shares its section with few
// others.
static uint32_t end_of_section(const tsmith_dictionary *dictionary, enum sbt_table table, uint32_t from,
                               uint32_t to) {
    if (table != TABLE_STRINGS)
        return to - from > SECTION_ROWS ? from + SECTION_ROWS : to;
    size_t bytes = 0;
    uint32_t end = from;
    for (; end < to && (end == from || bytes < SECTION_BYTES); end++)
        bytes += tsmith_dictionary_string(dictionary, end).length;
    return end;
}

static tsmith_status put_strings(struct table_state *state, const tsmith_dictionary *dictionary,
                                 uint32_t from, uint32_t to, tsmith_error *error) {
    for (uint32_t id = from; id < to; id++) {
        tsmith_string string = tsmith_dictionary_string(dictionary, id);
        if (string.length > SBT_MAX_STRING)
            return status_set(error, TSMITH_ERROR_LIMIT,
                              "a string of %zu bytes (\"%.32s...\") cannot be written: the limit is %d",
                              string.length, string.bytes, SBT_MAX_STRING);
        output_varint(&state->rows, string.length);
        state->spent += string.length;
    }
    for (uint32_t id = from; id < to; id++) {
        tsmith_string string = tsmith_dictionary_string(dictionary, id);
        output_bytes(&state->rows, string.bytes, string.length);
    }
    return TSMITH_OK;
}

static bool note_track_names(struct table_state *state, const tsmith_dictionary *dictionary, uint32_t from,
                             uint32_t to) {
    void *names = state->track_names;
    if (!array_reserve(&names, &state->track_name_capacity, to, sizeof *state->track_names))
        return false;
    state->track_names = names;
    for (uint32_t id = from; id < to; id++)
        state->track_names[id] = tsmith_dictionary_track(dictionary, id)->name;
    return true;
}

static tsmith_status put_rows(struct table_state *state, const tsmith_dictionary *dictionary,
                              enum sbt_table table, uint32_t from, uint32_t to, tsmith_error *error) {
    state->rows.length = 0;
    state->spent += (uint64_t)(to - from) * (table == TABLE_STRINGS ? SBT_STRING_COST : SBT_ROW_COST);
    if (table == TABLE_STRINGS)
        return put_strings(state, dictionary, from, to, error);
    for (uint32_t id = from; id < to; id++) {
        struct row row = get_row(dictionary, table, id);
        put_row(&state->rows, table, &row);
    }
    if (table == TABLE_TRACKS && !note_track_names(state, dictionary, from, to))
        state->rows.failed = true;
    return TSMITH_OK;
}

tsmith_status tables_write(struct packer *packer, struct table_state *state,
                           const tsmith_dictionary *dictionary, struct output *out, tsmith_error *error) {
    size_t before = out->length;
    for (enum sbt_table table = TABLE_STRINGS; table <= TABLE_FIELDS; table++) {
        uint32_t from = state->written[table] ? state->written[table] : 1;
        uint32_t to = table_count(dictionary, table);
        while (from < to) {
            if (out->length - before > FRAME_BYTES)
                return TSMITH_AGAIN;
            uint32_t end = end_of_section(dictionary, table, from, to);
            tsmith_status status = put_rows(state, dictionary, table, from, end, error);
            if (status != TSMITH_OK)
                return status;
            if (state->spent > SBT_MAX_DICTIONARY)
                return status_set(error, TSMITH_ERROR_LIMIT,
                                  "the names of this trace take more than the %d MiB a file may have: "
                                  "record less into one file",
                                  SBT_MAX_DICTIONARY >> 20);
            write_section(packer, state, out, table, from, end - from);
            if (out->failed)
                return status_set(error, TSMITH_ERROR_NO_MEMORY, "no memory to write the names of the trace");
            state->written[table] = from = end;
        }
    }
    return TSMITH_OK;
}

bool tables_mark_written(struct table_state *state, const tsmith_dictionary *dictionary) {
    for (enum sbt_table table = TABLE_STRINGS; table <= TABLE_FIELDS; table++)
        state->written[table] = table_count(dictionary, table);
    return note_track_names(state, dictionary, 1, state->written[TABLE_TRACKS]);
}

void tables_write_track_names(struct packer *packer, struct table_state *state,
                              const tsmith_dictionary *dictionary, struct output *out) {
    uint32_t rows = 0;
    state->rows.length = 0;
    for (uint32_t id = 1; id < state->written[TABLE_TRACKS]; id++) {
        uint32_t name = tsmith_dictionary_track(dictionary, id)->name;
        if (name == state->track_names[id])
            continue;
        put_row(&state->rows, TABLE_TRACK_NAMES, &(struct row){{id, name}});
        state->track_names[id] = name;
        rows++;
    }
    if (rows)
        write_section(packer, state, out, TABLE_TRACK_NAMES, 0, rows);
}

// ---- the vocabulary

static void put_string(struct output *out, const char *text) {
    size_t length = strlen(text);
    output_varint(out, length);
    output_bytes(out, text, length);
}

static void put_table(struct output *out, unsigned table, uint32_t rows, struct output *content) {
    output_varint(out, table);
    output_varint(out, rows);
    output_varint(out, content->length);
    output_bytes(out, content->bytes, content->length);
    out->failed |= content->failed;
    content->length = 0;
}

void tables_write_schema(struct packer *packer, struct output *out) {
    struct output all = {0}, rows = {0};
    uint32_t count = 0;
    output_varint(&all, 7);
#define NAMED(NAME, number, name, doc) output_varint(&rows, number), put_string(&rows, name), count++;
    TSMITH_KIND_TABLE(NAMED)
    put_table(&all, 1, count, &rows);
    count = 0;
#define FIELD(NAME, number, name, TYPE, unit, doc)                                                           \
    output_varint(&rows, number), output_varint(&rows, TSMITH_TYPE_##TYPE), put_string(&rows, name),         \
        put_string(&rows, unit), count++;
    TSMITH_FIELD_TABLE(FIELD)
    put_table(&all, 2, count, &rows);
    count = 0;
    TSMITH_OPERATION_TABLE(NAMED)
    put_table(&all, 3, count, &rows);
    count = 0;
    TSMITH_DIRECTION_TABLE(NAMED)
    put_table(&all, 4, count, &rows);
    count = 0;
    TSMITH_REASON_TABLE(NAMED)
    put_table(&all, 5, count, &rows);
    count = 0;
    TSMITH_TRACK_KIND_TABLE(NAMED)
    put_table(&all, 6, count, &rows);
    count = 0;
#define TYPE(NAME, number, ctype, doc)                                                                       \
    output_varint(&rows, number), output_varint(&rows, sizeof(ctype)), put_string(&rows, #NAME), count++;
    TSMITH_TYPE_TABLE(TYPE)
    put_table(&all, 7, count, &rows);
#undef NAMED
#undef FIELD
#undef TYPE
    blob_write(packer, out, all.bytes, all.length);
    out->failed |= all.failed;
    free(all.bytes);
    free(rows.bytes);
}

// ---- reading

struct section {
    uint32_t table, first, rows, columns;
    struct input bytes;
};

static bool read_section(struct input *in, struct scratch *scratch, struct section *section) {
    return input_count(in, UINT32_MAX, &section->table) && input_count(in, UINT32_MAX, &section->first) &&
           input_count(in, SBT_MAX_PAYLOAD, &section->rows) && input_count(in, 1024, &section->columns) &&
           blob_read(in, SBT_MAX_PAYLOAD, scratch, &section->bytes);
}

static bool charge(uint64_t *left, uint64_t cost) {
    if (cost > *left)
        return false;
    *left -= cost;
    return true;
}

static bool read_row(struct input *in, const struct section *section, uint64_t values[MAX_COLUMNS]) {
    memset(values, 0, MAX_COLUMNS * sizeof *values);
    for (uint32_t i = 0; i < section->columns; i++) {
        uint64_t value;
        if (!input_varint(in, &value))
            return false;
        if (i < MAX_COLUMNS)
            values[i] = table_signed[section->table] >> i & 1 ? unzigzag(value) : value;
    }
    return true;
}

// Whether the rows are all there, and nothing after them.
static bool check_rows(const struct section *section) {
    struct input in = section->bytes;
    uint64_t total = 0, value, values[MAX_COLUMNS];
    if (section->table != TABLE_STRINGS && section->columns == 0)
        return false;
    for (uint32_t i = 0; i < section->rows; i++) {
        if (section->table == TABLE_STRINGS) {
            if (!input_varint(&in, &value) || value > SBT_MAX_STRING)
                return false;
            total += value;
        } else if (!read_row(&in, section, values)) {
            return false;
        }
    }
    return total == input_left(&in);
}

// Ids whose frame was lost: they are there, and nothing is known of them.
static bool fill_gap(const struct section *section, tsmith_dictionary *dictionary, uint32_t count) {
    static const uint64_t nothing[MAX_COLUMNS];
    for (; count < section->first; count++)
        if (!(section->table == TABLE_STRINGS ? tsmith_dictionary_append_string(dictionary, "", 0)
                                              : add_row(dictionary, section->table, nothing)))
            return false;
    return true;
}

static bool add_rows(const struct section *section, tsmith_dictionary *dictionary) {
    struct input in = section->bytes, lengths = section->bytes;
    uint64_t length = 0, values[MAX_COLUMNS];
    for (uint32_t i = 0; section->table == TABLE_STRINGS && i < section->rows; i++)
        (void)input_varint(&in, &length); // checked; now `in` stands at the bytes
    for (uint32_t i = 0; i < section->rows; i++) {
        uint32_t id = 1;
        if (section->table == TABLE_STRINGS) {
            (void)input_varint(&lengths, &length);
            id = tsmith_dictionary_append_string(dictionary, (const char *)in.at, length);
            in.at += length;
        } else {
            (void)read_row(&in, section, values);
            if (section->table == TABLE_TRACK_NAMES)
                tsmith_dictionary_rename_track(dictionary, (uint32_t)values[0], (uint32_t)values[1]);
            else
                id = add_row(dictionary, section->table, values);
        }
        if (id == 0)
            return false;
    }
    return true;
}

static enum tables_result apply_section(const struct section *section, tsmith_dictionary *dictionary,
                                        uint64_t *left) {
    if (section->table == 0 || section->table >= TABLE_LIMIT)
        return TABLES_OK; // of a newer version
    if (!check_rows(section))
        return TABLES_DAMAGED;
    if (section->table != TABLE_TRACK_NAMES) {
        uint32_t count = table_count(dictionary, section->table);
        uint64_t cost = section->table == TABLE_STRINGS ? SBT_STRING_COST : SBT_ROW_COST;
        if (section->first < count ||
            !charge(left, ((uint64_t)section->first - count + section->rows) * cost +
                              (section->table == TABLE_STRINGS ? input_left(&section->bytes) : 0)))
            return TABLES_DAMAGED;
        if (!fill_gap(section, dictionary, count))
            return TABLES_NO_MEMORY;
    }
    return add_rows(section, dictionary) ? TABLES_OK : TABLES_NO_MEMORY;
}

enum tables_result tables_read(struct input payload, struct scratch *scratch, tsmith_dictionary *dictionary,
                               uint64_t *left) {
    enum tables_result result = TABLES_OK;
    while (result == TABLES_OK && input_left(&payload)) {
        struct section section;
        scratch_reset(scratch, SBT_MAX_PAYLOAD);
        if (!read_section(&payload, scratch, &section))
            return TABLES_DAMAGED;
        result = apply_section(&section, dictionary, left);
    }
    return result;
}
