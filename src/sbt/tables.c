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
    size_t made = size < BLOB_WORTH_TRYING || packer->quick
                      ? 0
                      : pack_zstd_text(packer, &packer->trial, bytes, size, size - size / 8);
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
    uint8_t *bytes = scratch_take(scratch, (size_t)length); // at most `limit`
    if (!bytes || !unpack_zstd(scratch, part, bytes, (size_t)length))
        return false;
    *plain = (struct input){bytes, bytes + length};
    return true;
}

// ---- rows: the integers of each table, in the order of the document

enum { MAX_COLUMNS = 11 };

// How an integer is stored.
enum told {
    PLAIN,
    SIGNED, // zigzag
    STEP,   // zigzag of the difference to the row before in the section, of the first row to 0
    BACK,   // 0, or how many ids before the row's own
};

struct column {
    uint8_t at, size; // in the entry
    uint8_t told;
};

// What is between the tables of a dictionary and their rows; strings and new names of tracks are no entries.
struct form {
    uint32_t (*count)(const tsmith_dictionary *dictionary);
    const void *(*get)(const tsmith_dictionary *dictionary, uint32_t id);
    uint32_t (*add)(tsmith_dictionary *dictionary, const void *entry); // 0: no memory
    uint32_t cost;
    uint32_t column_count;
    struct column columns[MAX_COLUMNS];
};

union entry {
#define MEMBER(name, type) type name;
    TSMITH_DICTIONARY_TABLES(MEMBER)
#undef MEMBER
};

#define ACCESS(name, type)                                                                                   \
    static const void *get_##name(const tsmith_dictionary *dictionary, uint32_t id) {                        \
        return tsmith_dictionary_##name(dictionary, id);                                                     \
    }                                                                                                        \
    static uint32_t add_##name(tsmith_dictionary *dictionary, const void *entry) {                           \
        return tsmith_dictionary_add_##name(dictionary, entry);                                              \
    }
TSMITH_DICTIONARY_TABLES(ACCESS)
#undef ACCESS

#define FORM(name, cost) tsmith_dictionary_##name##_count, get_##name, add_##name, cost
#define AT(name, member, told)                                                                               \
    { offsetof(tsmith_##name, member), sizeof(((tsmith_##name *)0)->member), told }
#define U(name, member) AT(name, member, PLAIN)

static const struct form forms[TABLE_LIMIT] = {
    [TABLE_PROCESSES] = {FORM(process, SBT_ROW_COST),
                         6,
                         {U(process, pid), U(process, parent_pid), AT(process, start, SIGNED),
                          U(process, name), U(process, command_line), U(process, host)}},
    [TABLE_DEVICES] = {FORM(device, SBT_ROW_COST),
                       11,
                       {U(device, name), U(device, vendor), U(device, driver), U(device, api),
                        U(device, type), U(device, process), U(device, memory_bytes),
                        U(device, compute_units), U(device, clock_mhz), U(device, identity),
                        U(device, number)}},
    [TABLE_TRACKS] = {FORM(track, SBT_ROW_COST),
                      9,
                      {U(track, kind), U(track, flags), U(track, name), U(track, process), U(track, device),
                       U(track, parent), U(track, tid), U(track, context), U(track, queue)}},
    [TABLE_CLOCKS] = {FORM(clock, SBT_ROW_COST), 3, {U(clock, name), U(clock, process), U(clock, device)}},
    [TABLE_CLOCK_PAIRS] = {FORM(clock_pair, SBT_ROW_COST),
                           4,
                           {U(clock_pair, clock), AT(clock_pair, clock_time, SIGNED),
                            AT(clock_pair, trace_time, SIGNED), AT(clock_pair, error, SIGNED)}},
    [TABLE_ATTRIBUTES] = {FORM(attribute, SBT_ROW_COST), 2, {U(attribute, key), U(attribute, value)}},
    [TABLE_FIELDS] = {FORM(dynamic_field, SBT_ROW_COST),
                      3,
                      {U(dynamic_field, name), U(dynamic_field, unit), U(dynamic_field, type)}},
    [TABLE_MODULES] = {FORM(module, SBT_ROW_COST),
                       4,
                       {U(module, path), U(module, build_id), U(module, process), U(module, flags)}},
    [TABLE_FRAMES] = {FORM(frame, SBT_ROW_COST),
                      3,
                      {U(frame, module), U(frame, flags), AT(frame, address, STEP)}},
    [TABLE_STACKS] = {FORM(stack, SBT_STACK_COST), 2, {AT(stack, parent, BACK), AT(stack, frame, STEP)}},
    [TABLE_SYMBOLS] = {FORM(symbol, SBT_ROW_COST),
                       4,
                       {AT(symbol, frame, STEP), U(symbol, function), U(symbol, file), U(symbol, line)}},
    [TABLE_RANKS] = {FORM(rank, SBT_ROW_COST),
                     8,
                     {U(rank, process), U(rank, rank), U(rank, world), U(rank, local_rank),
                      U(rank, local_world), U(rank, node), U(rank, launcher), U(rank, job)}},
    [TABLE_PARTS] = {FORM(part, SBT_ROW_COST),
                     8,
                     {U(part, name), U(part, host), U(part, first_process), U(part, process_count),
                      U(part, wall_clock), U(part, relation), AT(part, offset, SIGNED),
                      AT(part, error, SIGNED)}},
};

// Tables whose rows change others' and begin with their ids: TABLE_TRACK_NAMES and
static const struct column device_facts[] = {
    U(device, name),     U(device, vendor),       U(device, driver),        U(device, api),
    U(device, type),     U(device, memory_bytes), U(device, compute_units), U(device, clock_mhz),
    U(device, identity), U(device, number)};
enum { DEVICE_FACTS = sizeof device_facts / sizeof *device_facts };

static bool changes_other_tables(uint32_t table) {
    return table == TABLE_TRACK_NAMES || table == TABLE_DEVICE_FACTS;
}

static uint32_t table_count(const tsmith_dictionary *dictionary, enum sbt_table table) {
    return table == TABLE_STRINGS ? tsmith_dictionary_string_count(dictionary)
           : forms[table].count   ? forms[table].count(dictionary)
                                  : 0;
}

static uint64_t get_value(const struct column *column, const void *entry) {
    return bytes_get_number((const uint8_t *)entry + column->at, column->size);
}

// Numbers that do not fit their place are cut: a file that has them is not from any writer, and every id is checked by
// the one who looks it up.
static void put_value(const struct column *column, void *entry, uint64_t value) {
    bytes_put_number((uint8_t *)entry + column->at, value, column->size);
}

// The id it got, 0 when memory is exhausted.
static uint32_t add_row(tsmith_dictionary *dictionary, enum sbt_table table, const uint64_t *values) {
    union entry entry;
    memset(&entry, 0, sizeof entry);
    for (uint32_t i = 0; i < forms[table].column_count; i++)
        put_value(&forms[table].columns[i], &entry, values[i]);
    return forms[table].add(dictionary, &entry);
}

// ---- writing

void table_state_finish(struct table_state *state) {
    free(state->track_names);
    free(state->devices);
    free(state->rows.bytes);
    *state = (struct table_state){0};
}

// What one section and one frame hold at most, about.
enum { SECTION_ROWS = 1 << 18, SECTION_BYTES = 4 << 20, FRAME_BYTES = 16 << 20 };

static void write_section(struct packer *packer, struct table_state *state, struct output *out,
                          enum sbt_table table, uint32_t first, uint32_t rows, uint32_t columns) {
    output_varint(out, table);
    output_varint(out, first);
    output_varint(out, rows);
    output_varint(out, columns);
    blob_write(packer, out, state->rows.bytes, state->rows.length);
    out->failed |= state->rows.failed;
}

// The entry of a section, after the one whose values are `before`, which become its own.
static void put_row(struct output *out, const struct form *form, uint32_t columns, const void *entry,
                    uint32_t id, uint64_t before[MAX_COLUMNS]) {
    for (uint32_t i = 0; i < columns; i++) {
        uint64_t value = get_value(&form->columns[i], entry);
        switch ((enum told)form->columns[i].told) {
        case SIGNED:
            output_varint(out, zigzag(value));
            break;
        case STEP:
            output_varint(out, zigzag(value - before[i]));
            break;
        case BACK:
            output_varint(out, value ? id - value : 0);
            break;
        case PLAIN:
            output_varint(out, value);
        }
        before[i] = value;
    }
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
    if (!ARRAY_RESERVE(state->track_names, state->track_name_capacity, to))
        return false;
    for (uint32_t id = from; id < to; id++)
        state->track_names[id] = tsmith_dictionary_track(dictionary, id)->name;
    return true;
}

static bool note_devices(struct table_state *state, const tsmith_dictionary *dictionary, uint32_t from,
                         uint32_t to) {
    if (!ARRAY_RESERVE(state->devices, state->device_capacity, to))
        return false;
    for (uint32_t id = from; id < to; id++)
        state->devices[id] = *tsmith_dictionary_device(dictionary, id);
    return true;
}

// Rows of devices end before their identity and number where no row of the section has either: files without them are
// what they were before devices had these.
enum { DEVICE_IDENTITY_COLUMNS = 2 };

static bool has_identity(const tsmith_device *device) {
    return device->identity || device->number;
}

static uint32_t columns_of(const tsmith_dictionary *dictionary, enum sbt_table table, uint32_t from,
                           uint32_t to) {
    if (table != TABLE_DEVICES)
        return forms[table].column_count;
    bool any = false;
    for (uint32_t id = from; id < to; id++)
        any |= has_identity(tsmith_dictionary_device(dictionary, id));
    return forms[table].column_count - (any ? 0 : DEVICE_IDENTITY_COLUMNS);
}

// Devices of which more is known than was written.
static void write_device_facts(struct packer *packer, struct table_state *state,
                               const tsmith_dictionary *dictionary, struct output *out) {
    uint32_t rows = 0, facts = DEVICE_FACTS - DEVICE_IDENTITY_COLUMNS;
    state->rows.length = 0;
    for (uint32_t id = 1; id < state->written[TABLE_DEVICES]; id++)
        if (has_identity(tsmith_dictionary_device(dictionary, id)))
            facts = DEVICE_FACTS;
    for (uint32_t id = 1; id < state->written[TABLE_DEVICES]; id++) {
        const tsmith_device *device = tsmith_dictionary_device(dictionary, id);
        if (memcmp(device, &state->devices[id], sizeof *device) == 0)
            continue;
        output_varint(&state->rows, id);
        for (uint32_t i = 0; i < facts; i++)
            output_varint(&state->rows, get_value(&device_facts[i], device));
        state->devices[id] = *device;
        rows++;
    }
    if (rows)
        write_section(packer, state, out, TABLE_DEVICE_FACTS, 0, rows, 1 + facts);
}

static tsmith_status put_rows(struct table_state *state, const tsmith_dictionary *dictionary,
                              enum sbt_table table, uint32_t from, uint32_t to, tsmith_error *error) {
    state->rows.length = 0;
    state->spent += (uint64_t)(to - from) * (table == TABLE_STRINGS ? SBT_STRING_COST : forms[table].cost);
    if (table == TABLE_STRINGS)
        return put_strings(state, dictionary, from, to, error);
    uint64_t before[MAX_COLUMNS] = {0};
    const uint32_t columns = columns_of(dictionary, table, from, to);
    for (uint32_t id = from; id < to; id++)
        put_row(&state->rows, &forms[table], columns, forms[table].get(dictionary, id), id, before);
    if ((table == TABLE_TRACKS && !note_track_names(state, dictionary, from, to)) ||
        (table == TABLE_DEVICES && !note_devices(state, dictionary, from, to)))
        state->rows.failed = true;
    return TSMITH_OK;
}

tsmith_status tables_write(struct packer *packer, struct table_state *state,
                           const tsmith_dictionary *dictionary, struct output *out, tsmith_error *error) {
    size_t before = out->length;
    for (enum sbt_table table = TABLE_STRINGS; table < TABLE_LIMIT; table++) {
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
            write_section(packer, state, out, table, from, end - from,
                          table == TABLE_STRINGS ? 0 : columns_of(dictionary, table, from, end));
            if (out->failed)
                return status_set(error, TSMITH_ERROR_NO_MEMORY,
                                  "out of memory while writing the names of the trace");
            state->written[table] = from = end;
        }
    }
    write_device_facts(packer, state, dictionary, out);
    return out->failed ? status_set(error, TSMITH_ERROR_NO_MEMORY,
                                    "out of memory while writing the names of the trace")
                       : TSMITH_OK;
}

bool tables_mark_written(struct table_state *state, const tsmith_dictionary *dictionary) {
    for (enum sbt_table table = TABLE_STRINGS; table < TABLE_LIMIT; table++)
        state->written[table] = table_count(dictionary, table);
    return note_track_names(state, dictionary, 1, state->written[TABLE_TRACKS]) &&
           note_devices(state, dictionary, 1, state->written[TABLE_DEVICES]);
}

void tables_write_track_names(struct packer *packer, struct table_state *state,
                              const tsmith_dictionary *dictionary, struct output *out) {
    uint32_t rows = 0;
    state->rows.length = 0;
    for (uint32_t id = 1; id < state->written[TABLE_TRACKS]; id++) {
        uint32_t name = tsmith_dictionary_track(dictionary, id)->name;
        if (name == state->track_names[id])
            continue;
        output_varint(&state->rows, id);
        output_varint(&state->rows, name);
        state->track_names[id] = name;
        rows++;
    }
    if (rows)
        write_section(packer, state, out, TABLE_TRACK_NAMES, 0, rows, 2);
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

void vocabulary_add(struct vocabulary *used, const tsmith_batch *batch) {
    tsmith_column kinds;
    for (uint32_t i = 0; i < tsmith_batch_column_count(batch); i++) {
        const tsmith_column column = tsmith_batch_column_at(batch, i);
        used->types |= 1u << column.type;
        if (column.field < TSMITH_FIELD_LIMIT)
            used->fields[column.field / 64] |= (uint64_t)1 << column.field % 64;
    }
    if (!tsmith_batch_column(batch, TSMITH_FIELD_KIND, &kinds))
        return;
    for (uint32_t row = 0; row < kinds.count; row++)
        used->kinds |= (uint64_t)1 << (((const uint8_t *)kinds.values)[row] & 63);
}

static bool uses_kind(const struct vocabulary *used, unsigned kind) {
    return !used || used->kinds >> kind & 1;
}

static bool uses_field(const struct vocabulary *used, unsigned field) {
    return !used || used->fields[field / 64] >> field % 64 & 1;
}

static bool uses_type(const struct vocabulary *used, unsigned type) {
    return !used || used->types >> type & 1;
}

void tables_write_schema(struct packer *packer, const struct vocabulary *used, struct output *out) {
    struct output all = {0}, rows = {0};
    uint32_t count = 0;
    output_varint(&all, 8);
#define NAME_IF(number, name, uses)                                                                          \
    if (uses)                                                                                                \
        output_varint(&rows, number), put_string(&rows, name), count++;
#define KIND(NAME, number, name, doc) NAME_IF(number, name, uses_kind(used, number))
    TSMITH_KIND_TABLE(KIND)
    put_table(&all, 1, count, &rows);
    count = 0;
#define FIELD(NAME, number, name, TYPE, unit, doc)                                                           \
    if (uses_field(used, number))                                                                            \
        output_varint(&rows, number), output_varint(&rows, TSMITH_TYPE_##TYPE), put_string(&rows, name),     \
            put_string(&rows, unit), count++;
    TSMITH_FIELD_TABLE(FIELD)
    put_table(&all, 2, count, &rows);
    count = 0;
#define OPERATION(NAME, number, name, doc) NAME_IF(number, name, uses_type(used, TSMITH_TYPE_OPERATION))
    TSMITH_OPERATION_TABLE(OPERATION)
    put_table(&all, 3, count, &rows);
    count = 0;
#define DIRECTION(NAME, number, name, doc) NAME_IF(number, name, uses_type(used, TSMITH_TYPE_DIRECTION))
    TSMITH_DIRECTION_TABLE(DIRECTION)
    put_table(&all, 4, count, &rows);
    count = 0;
#define REASON(NAME, number, name, doc) NAME_IF(number, name, uses_type(used, TSMITH_TYPE_REASON))
    TSMITH_REASON_TABLE(REASON)
    put_table(&all, 5, count, &rows);
    count = 0;
#define TRACK_KIND(NAME, number, name, doc) NAME_IF(number, name, true)
    TSMITH_TRACK_KIND_TABLE(TRACK_KIND)
    put_table(&all, 6, count, &rows);
    count = 0;
#define TYPE(NAME, number, ctype, doc)                                                                       \
    if (uses_type(used, number))                                                                             \
        output_varint(&rows, number), output_varint(&rows, sizeof(ctype)), put_string(&rows, #NAME), count++;
    TSMITH_TYPE_TABLE(TYPE)
    put_table(&all, 7, count, &rows);
    count = 0;
#define CERTAINTY(NAME, number, name, doc) NAME_IF(number, name, uses_type(used, TSMITH_TYPE_CERTAINTY))
    TSMITH_CERTAINTY_TABLE(CERTAINTY)
    put_table(&all, 8, count, &rows);
#undef NAME_IF
#undef KIND
#undef FIELD
#undef OPERATION
#undef DIRECTION
#undef REASON
#undef CERTAINTY
#undef TRACK_KIND
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

static bool charge_budget(uint64_t *left, uint64_t cost) {
    if (cost > *left)
        return false;
    *left -= cost;
    return true;
}

// The row at `index` of its section; `values` are the row's before it, zeros for the first.
static bool read_row(struct input *in, const struct section *section, uint32_t index,
                     uint64_t values[MAX_COLUMNS]) {
    const struct form *form = &forms[section->table];
    uint64_t id = (uint64_t)section->first + index;
    for (uint32_t i = 0; i < section->columns; i++) {
        uint64_t value;
        if (!input_varint(in, &value))
            return false;
        if (i >= MAX_COLUMNS)
            continue;
        switch ((enum told)form->columns[i].told) {
        case SIGNED:
            values[i] = unzigzag(value);
            break;
        case STEP:
            values[i] += unzigzag(value);
            break;
        case BACK:
            if (value >= id)
                return false;
            values[i] = value ? id - value : 0;
            break;
        case PLAIN:
            values[i] = value;
        }
    }
    return true;
}

// Whether the rows are all there, and nothing after them.
static bool check_rows(const struct section *section) {
    struct input in = section->bytes;
    uint64_t total = 0, value, values[MAX_COLUMNS] = {0};
    if (section->table != TABLE_STRINGS && section->columns == 0)
        return false;
    for (uint32_t i = 0; i < section->rows; i++) {
        if (section->table == TABLE_STRINGS) {
            if (!input_varint(&in, &value) || value > SBT_MAX_STRING)
                return false;
            total += value;
        } else if (!read_row(&in, section, i, values)) {
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

static void change_dictionary(const struct section *section, const uint64_t *values,
                              tsmith_dictionary *dictionary) {
    if (section->table == TABLE_TRACK_NAMES) {
        tsmith_dictionary_rename_track(dictionary, (uint32_t)values[0], (uint32_t)values[1]);
        return;
    }
    tsmith_device known = {0};
    for (uint32_t i = 0; i < DEVICE_FACTS; i++)
        put_value(&device_facts[i], &known, values[1 + i]);
    tsmith_dictionary_complete_device(dictionary, (uint32_t)values[0], &known);
}

static bool add_rows(const struct section *section, tsmith_dictionary *dictionary) {
    struct input in = section->bytes, lengths = section->bytes;
    uint64_t length = 0, values[MAX_COLUMNS] = {0};
    for (uint32_t i = 0; section->table == TABLE_STRINGS && i < section->rows; i++)
        (void)input_varint(&in, &length); // checked; now `in` stands at the bytes
    for (uint32_t i = 0; i < section->rows; i++) {
        uint32_t id = 1;
        if (section->table == TABLE_STRINGS) {
            (void)input_varint(&lengths, &length);
            id = tsmith_dictionary_append_string(dictionary, (const char *)in.at, (size_t)length);
            in.at += length;
        } else {
            (void)read_row(&in, section, i, values);
            if (changes_other_tables(section->table))
                change_dictionary(section, values, dictionary);
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
    if (!changes_other_tables(section->table)) {
        uint32_t count = table_count(dictionary, section->table);
        uint64_t cost = section->table == TABLE_STRINGS ? SBT_STRING_COST : forms[section->table].cost;
        if (section->first < count ||
            !charge_budget(left, ((uint64_t)section->first - count + section->rows) * cost +
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
