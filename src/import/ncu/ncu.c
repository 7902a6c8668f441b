// SPDX-License-Identifier: Apache-2.0
// The source: finds the table, and turns lines into launches.
#include "import/ncu/ncu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

enum { LOOK_BYTES = 64 << 10, LINES_PER_RUN = 256, FIELD_NAME_SIZE = 512, NUMBERS_LOOK = 4 << 20 };
// Of each metric two fields: of numbers, and of texts.
struct metric {
    uint32_t fields[2];
};

struct value {
    uint32_t field;
    tsmith_type type; // 0: a field of the schema
    uint64_t bits;
};

struct ncu {
    struct rows_source rows;
    struct ncu_numbers numbers;
    struct ncu_cell cells[NCU_COLUMNS_MAX];
    uint32_t columns[NCU_COLUMN_COUNT]; // 1 + where each is; 0: it is not there
    size_t column_count;
    bool has_head, is_details;
    bool own[NCU_COLUMNS_MAX];              // the column is in NCU_COLUMN_TABLE
    uint32_t names[NCU_COLUMNS_MAX];        // of the head: strings
    uint32_t units[NCU_COLUMNS_MAX];        // strings; 0: none
    struct metric metrics[NCU_COLUMNS_MAX]; // of the page raw, by column
    struct table details; // of the page details: 1 + index, by hash of section, metric and unit
    struct metric *detail_metrics;
    size_t detail_count, detail_capacity;
    struct table processes, devices, tracks;
    struct value *values; // of the launch being read, whose lines of the page details follow each other
    size_t value_count, value_capacity;
    uint32_t track;  // of the launch; 0: none is being read
    uint64_t launch; // hash of what identifies it
};

static bool cell_is(struct ncu_cell cell, const char *text) {
    return cell.length == strlen(text) && memcmp(cell.at, text, cell.length) == 0;
}

// ---- whether it is one

// Where the line with the head begins; NULL if it is not there.
static const char *find_head(const char *at, const char *end) {
    static const char HEAD[] = "\"ID\",\"Process ID\",\"Process Name\",";
    while (at < end) {
        if ((size_t)(end - at) >= sizeof HEAD - 1 && memcmp(at, HEAD, sizeof HEAD - 1) == 0)
            return at;
        at = memchr(at, '\n', (size_t)(end - at));
        if (!at)
            return NULL;
        at++;
    }
    return NULL;
}

bool ncu_is(struct input *input) {
    while (input->end - input->begin < LOOK_BYTES && !input->ended && input_more(input, NULL) == TSMITH_OK)
        ;
    const size_t have = input->end - input->begin;
    const char *at = input->window + input->begin;
    const char *head = find_head(at, at + (have < LOOK_BYTES ? have : LOOK_BYTES));
    const char *end = head ? ncu_record_end(head, at + have, input->ended) : NULL;
    return end && memmem(head, (size_t)(end - head), "\"Kernel Name\"", 13) != NULL;
}

// ---- the head and the units

static void read_head(struct ncu *ncu, size_t count) {
    static const char *const NAMES[NCU_COLUMN_COUNT] = {
#define NAME(NAME_, name) [NCU_##NAME_] = name,
        NCU_COLUMN_TABLE(NAME)
#undef NAME
    };
    memset(ncu->columns, 0, sizeof ncu->columns);
    memset(ncu->metrics, 0, sizeof ncu->metrics);
    memset(ncu->units, 0, sizeof ncu->units);
    memset(ncu->own, 0, sizeof ncu->own);
    for (size_t i = 0; i < count; i++) {
        ncu->names[i] =
            tsmith_dictionary_intern(ncu->rows.dictionary, ncu->cells[i].at, ncu->cells[i].length);
        for (uint32_t c = 0; c < NCU_COLUMN_COUNT; c++)
            if (cell_is(ncu->cells[i], NAMES[c]) && !ncu->columns[c]) {
                ncu->columns[c] = (uint32_t)i + 1;
                ncu->own[i] = true;
            }
    }
    ncu->column_count = count;
    ncu->is_details = ncu->columns[NCU_METRIC] && ncu->columns[NCU_VALUE];
    ncu->has_head = true;
}

static struct ncu_cell cell_of(const struct ncu *ncu, enum ncu_column column) {
    return ncu->columns[column] ? ncu->cells[ncu->columns[column] - 1] : (struct ncu_cell){"", 0};
}

static uint32_t string_of(struct ncu *ncu, struct ncu_cell cell) {
    return cell.length ? tsmith_dictionary_intern(ncu->rows.dictionary, cell.at, cell.length) : 0;
}

static bool whole_number(struct ncu_cell cell, uint64_t *out) {
    *out = 0;
    for (size_t i = 0; i < cell.length; i++) {
        if (i && i + 3 < cell.length && (cell.at[i] == ',' || cell.at[i] == '.'))
            continue; // a group
        if (cell.at[i] < '0' || cell.at[i] > '9' || *out > (UINT64_MAX - 9) / 10)
            return false;
        *out = *out * 10 + (uint64_t)(cell.at[i] - '0');
    }
    return cell.length > 0;
}

// "(256, 1, 1)"
static bool three_numbers(struct ncu_cell cell, uint64_t *out) {
    size_t at = 0;
    for (unsigned n = 0; n < 3; n++) {
        while (at < cell.length && (cell.at[at] == '(' || cell.at[at] == ' ' || cell.at[at] == ','))
            at++;
        size_t from = at;
        while (at < cell.length && cell.at[at] >= '0' && cell.at[at] <= '9')
            at++;
        if (!whole_number((struct ncu_cell){cell.at + from, at - from}, &out[n]) || out[n] > UINT32_MAX)
            return false;
    }
    return true;
}

// ---- a launch

static uint64_t *slot_of(struct ncu *ncu, struct table *table, uint64_t key, bool *is_new) {
    uint64_t *slot = table_add(table, key, is_new);
    ncu->rows.failed |= !slot;
    return slot;
}

static uint32_t process_of(struct ncu *ncu) {
    tsmith_process process = {.name = string_of(ncu, cell_of(ncu, NCU_PROCESS_NAME)),
                              .host = string_of(ncu, cell_of(ncu, NCU_HOST))};
    bool is_new;
    if (!whole_number(cell_of(ncu, NCU_PROCESS), &process.pid))
        return 0;
    uint64_t *slot = slot_of(ncu, &ncu->processes, process.pid, &is_new);
    if (slot && is_new)
        *slot = tsmith_dictionary_add_process(ncu->rows.dictionary, &process);
    return slot ? (uint32_t)*slot : 0;
}

static uint32_t device_of(struct ncu *ncu) {
    uint64_t number;
    bool is_new;
    if (!whole_number(cell_of(ncu, NCU_DEVICE), &number) || number >= UINT32_MAX)
        return 0;
    uint64_t *slot = slot_of(ncu, &ncu->devices, number, &is_new);
    if (slot && is_new) {
        const tsmith_device device = {.number = (uint32_t)number + 1,
                                      .api = tsmith_dictionary_intern_cstr(ncu->rows.dictionary, "cuda")};
        *slot = tsmith_dictionary_add_device(ncu->rows.dictionary, &device);
    }
    return slot ? (uint32_t)*slot : 0;
}

static uint32_t track_of(struct ncu *ncu) {
    tsmith_track track = {.kind = TSMITH_TRACK_QUEUE, .process = process_of(ncu), .device = device_of(ncu)};
    bool is_new;
    if (!whole_number(cell_of(ncu, NCU_STREAM), &track.queue))
        track.flags = TSMITH_TRACK_UNNUMBERED;
    (void)whole_number(cell_of(ncu, NCU_CONTEXT), &track.context);
    uint64_t key = table_hash((uint64_t)track.process << 32 | track.device);
    key = table_hash(key ^ track.queue * 2) ^ track.context << 48 ^ track.flags;
    uint64_t *slot = slot_of(ncu, &ncu->tracks, key, &is_new);
    if (slot && is_new)
        *slot = tsmith_dictionary_add_track(ncu->rows.dictionary, &track);
    return slot ? (uint32_t)*slot : 0;
}

static void put_value(struct ncu *ncu, uint32_t field, tsmith_type type, uint64_t bits) {
    struct value *value = ARRAY_PUSH(ncu->values, ncu->value_count, ncu->value_capacity);
    if (value && field)
        *value = (struct value){field, type, bits};
    else
        ncu->rows.failed = true;
}

static void put_dynamic(struct ncu *ncu, const char *name, tsmith_type type, uint64_t bits) {
    put_value(ncu, tsmith_dictionary_field(ncu->rows.dictionary, name, type, ""), type, bits);
}

static void put_sizes(struct ncu *ncu) {
    uint64_t block[3], grid[3];
    if (!three_numbers(cell_of(ncu, NCU_BLOCK), block) || !three_numbers(cell_of(ncu, NCU_GRID), grid))
        return;
    for (unsigned i = 0; i < 3; i++) {
        put_value(ncu, TSMITH_FIELD_GLOBAL_X + i, 0, block[i] * grid[i]);
        put_value(ncu, TSMITH_FIELD_LOCAL_X + i, 0, block[i]);
    }
}

static void end_launch(struct ncu *ncu) {
    if (!ncu->track)
        return;
    tsmith_batch *batch = gather_row(&ncu->rows.gather, ncu->track, 0, TSMITH_KIND_KERNEL, 0, 0);
    for (size_t i = 0; batch && i < ncu->value_count; i++) {
        const struct value *value = &ncu->values[i];
        const tsmith_status status =
            value->type ? tsmith_batch_set_dynamic(batch, value->field, value->type, value->bits)
                        : tsmith_batch_set(batch, value->field, value->bits);
        ncu->rows.failed |= status == TSMITH_ERROR_NO_MEMORY;
    }
    ncu->rows.failed |= !batch;
    ncu->track = 0;
    ncu->value_count = 0;
}

static void begin_launch(struct ncu *ncu) {
    uint64_t id;
    end_launch(ncu);
    ncu->track = track_of(ncu);
    ncu->rows.failed |= !ncu->track;
    put_value(ncu, TSMITH_FIELD_CERTAINTY, 0, TSMITH_CERTAINTY_UNTIMED);
    if (cell_of(ncu, NCU_KERNEL).length)
        put_value(ncu, TSMITH_FIELD_NAME, 0, string_of(ncu, cell_of(ncu, NCU_KERNEL)));
    put_sizes(ncu);
    if (whole_number(cell_of(ncu, NCU_ID), &id))
        put_dynamic(ncu, "ncu_id", TSMITH_TYPE_U64, id);
    if (cell_of(ncu, NCU_CC).length)
        put_dynamic(ncu, "ncu_compute_capability", TSMITH_TYPE_STRING, string_of(ncu, cell_of(ncu, NCU_CC)));
}

// ---- metrics

static void put_metric(struct ncu *ncu, struct metric *metric, const char *name, uint32_t unit,
                       struct ncu_cell cell) {
    double number;
    const bool numeric = ncu_numbers_read(&ncu->numbers, cell, &number);
    const tsmith_type type = numeric ? TSMITH_TYPE_F64 : TSMITH_TYPE_STRING;
    uint64_t bits = 0;
    if (numeric)
        memcpy(&bits, &number, sizeof bits);
    else
        bits = string_of(ncu, cell);
    if (!metric->fields[numeric])
        metric->fields[numeric] = tsmith_dictionary_field(
            ncu->rows.dictionary, name, type, tsmith_dictionary_string(ncu->rows.dictionary, unit).bytes);
    put_value(ncu, metric->fields[numeric], type, bits);
}

static void read_raw(struct ncu *ncu) {
    for (size_t i = 0; i < ncu->column_count; i++)
        if (!ncu->own[i] && ncu->cells[i].length)
            put_metric(ncu, &ncu->metrics[i],
                       tsmith_dictionary_string(ncu->rows.dictionary, ncu->names[i]).bytes, ncu->units[i],
                       ncu->cells[i]);
}

// The name of a metric is unique within its section, and its unit may differ from launch to launch.
static void read_detail(struct ncu *ncu) {
    struct ncu_cell section = cell_of(ncu, NCU_SECTION), name = cell_of(ncu, NCU_METRIC),
                    unit = cell_of(ncu, NCU_UNIT), value = cell_of(ncu, NCU_VALUE);
    char text[FIELD_NAME_SIZE];
    if (!name.length && cell_of(ncu, NCU_RULE).length) {
        name = cell_of(ncu, NCU_RULE);
        value = cell_of(ncu, NCU_RULE_TEXT);
    }
    if (!name.length || !value.length)
        return;
    if (cell_is(section, "Command line profiler metrics"))
        section.length = 0;
    (void)snprintf(text, sizeof text, "%.*s%s%.*s%s%.*s%s",
                   (int)(section.length < 150 ? section.length : 150), section.at, section.length ? ": " : "",
                   (int)(name.length < 150 ? name.length : 150), name.at, unit.length ? " [" : "",
                   (int)(unit.length < 100 ? unit.length : 100), unit.at, unit.length ? "]" : "");
    uint64_t *slot = table_add(&ncu->details, hash_bytes(text, strlen(text)), NULL);
    if (slot && !*slot) {
        struct metric *added = ARRAY_PUSH(ncu->detail_metrics, ncu->detail_count, ncu->detail_capacity);
        if (added)
            *added = (struct metric){{0, 0}};
        *slot = added ? ncu->detail_count : 0;
    }
    if (!slot || !*slot)
        ncu->rows.failed = true;
    else
        put_metric(ncu, &ncu->detail_metrics[*slot - 1], text, string_of(ncu, unit), value);
}

// ---- lines

static void read_record(struct ncu *ncu, char *at, const char *end) {
    const uint64_t offset = rows_source_at(&ncu->rows, at);
    if (!ncu_is_record(at, end))
        return;
    const size_t count = ncu_cells(at, end, ncu->cells);
    if (count && cell_is(ncu->cells[0], "ID")) { // also again, of a further table in the same output
        end_launch(ncu);
        read_head(ncu, count);
        return;
    }
    if (!ncu->has_head)
        return;
    // The columns of rules are left out where a line has none.
    if (count < ncu->column_count && count > ncu->columns[NCU_KERNEL] && ncu->is_details &&
        count >= ncu->columns[NCU_VALUE])
        for (size_t i = count; i < ncu->column_count; i++)
            ncu->cells[i] = (struct ncu_cell){"", 0};
    else if (count != ncu->column_count) {
        rows_source_bad(&ncu->rows, offset);
        return;
    }
    if (!cell_of(ncu, NCU_ID).length && !cell_of(ncu, NCU_KERNEL).length) {
        for (size_t i = 0; i < count; i++)
            ncu->units[i] = string_of(ncu, ncu->cells[i]);
        return;
    }
    const struct ncu_cell id = cell_of(ncu, NCU_ID), process = cell_of(ncu, NCU_PROCESS);
    const uint64_t launch = hash_bytes(id.at, id.length) ^ table_hash(hash_bytes(process.at, process.length));
    if (!ncu->is_details || !ncu->track || launch != ncu->launch)
        begin_launch(ncu);
    ncu->launch = launch;
    if (ncu->rows.failed)
        return;
    if (ncu->is_details)
        read_detail(ncu);
    else
        read_raw(ncu);
}

static void end(struct ncu *ncu) {
    end_launch(ncu);
    if (ncu->numbers.points && ncu->numbers.commas)
        ledger_note(&ncu->rows.ledger, ncu->rows.dictionary, TSMITH_REASON_CORRUPT, 0, false,
                    "numbers with both separators of decimals; '%c' was taken", ncu->numbers.decimal);
    tsmith_dictionary_set_attribute(ncu->rows.dictionary, "import.decimal",
                                    ncu->numbers.decimal == ',' ? "," : ".");
    rows_source_end(&ncu->rows, "lines of the table");
}

// A record that does not end within its bounds: its first line is left out.
static void skip_line(struct ncu *ncu, const char *at, const char *end_of) {
    const char *line = memchr(at, '\n', (size_t)(end_of - at));
    rows_source_bad(&ncu->rows, rows_source_at(&ncu->rows, at));
    ncu->rows.input.begin = (size_t)((line ? line + 1 : end_of) - ncu->rows.input.window);
}

static void run(struct rows_source *rows) {
    struct ncu *ncu = (struct ncu *)rows;
    struct input *input = &rows->input;
    for (int i = 0; i < LINES_PER_RUN && !rows->over && !rows->failed; i++) {
        char *at = input->window + input->begin;
        const char *end_of = input->window + input->end, *past = ncu_record_end(at, end_of, input->ended);
        if (at == end_of && input->ended) {
            end(ncu);
        } else if (past) {
            read_record(ncu, at, past);
            input->begin = (size_t)(past - input->window);
        } else if (input->ended || end_of - at >= NCU_RECORD_MAX || input_more(input, NULL) < TSMITH_OK) {
            skip_line(ncu, at, end_of);
        }
    }
}

// The cells of a record, as they are in the window.
static void look_at_record(struct ncu *ncu, const char *at, const char *end, size_t *capability) {
    for (size_t column = 0; at < end; at++) {
        const char *quote = at + 1;
        if (*at != '"')
            continue;
        while (quote < end && (*quote != '"' || (quote + 1 < end && quote[1] == '"')))
            quote += *quote == '"' ? 2 : 1;
        if (quote >= end)
            return;
        const struct ncu_cell cell = {at + 1, (size_t)(quote - at - 1)};
        if (cell_is(cell, "CC"))
            *capability = column;
        else if (column != *capability) // which is written with a point everywhere
            ncu_numbers_look(&ncu->numbers, cell);
        column++;
        at = quote;
    }
}

// The first megabytes of the file show how its locale writes numbers.
static void look_at_numbers(struct ncu *ncu) {
    struct input *input = &ncu->rows.input;
    while (input->end - input->begin < NUMBERS_LOOK && !input->ended && input_more(input, NULL) == TSMITH_OK)
        ;
    const char *at = input->window + input->begin, *end_of = input->window + input->end, *past;
    size_t capability = SIZE_MAX;
    for (; at < end_of && (past = ncu_record_end(at, end_of, input->ended)); at = past)
        if (ncu_is_record(at, past))
            look_at_record(ncu, at, past, &capability);
    ncu->numbers.decimal = ncu->numbers.commas > ncu->numbers.points ? ',' : '.';
}

static void release(struct rows_source *rows) {
    struct ncu *ncu = (struct ncu *)rows;
    table_finish(&ncu->details);
    table_finish(&ncu->processes);
    table_finish(&ncu->devices);
    table_finish(&ncu->tracks);
    free(ncu->detail_metrics);
    free(ncu->values);
    free(ncu);
}

tsmith_status ncu_open(struct input *input, char *name, tsmith_source **out, tsmith_error *error) {
    struct ncu *ncu = calloc(1, sizeof *ncu);
    if (!ncu)
        return rows_source_no_memory(input, name, error);
    ncu->rows.run = run;
    ncu->rows.release = release;
    const tsmith_status status = rows_source_open(&ncu->rows, input, name, "ncu-csv", out, error);
    if (status == TSMITH_OK)
        look_at_numbers(ncu);
    return status;
}
