// SPDX-License-Identifier: Apache-2.0
// One row of a table into one event: first where and when, then every other column.
#include <stdio.h>
#include <string.h>

#include "import/nsys/nsys.h"

struct row {
    struct nsys *nsys;
    struct nsys_table *table;
    sqlite3_stmt *select;
    int first; // column of the statement that is the table's first
    tsmith_batch *batch;
    uint64_t told; // roles that need no field
    struct nsys_where where;
    uint8_t name_rank; // of the name it has
    uint32_t name;
    int name_column;
    bool has_duration;
};

// ---- values

static const tsmith_type FORM_TYPES[NSYS_FORMS] = {TSMITH_TYPE_I64, TSMITH_TYPE_F64, TSMITH_TYPE_STRING,
                                                   TSMITH_TYPE_STRING};

static int form_of(int type) {
    return type == SQLITE_INTEGER ? 0 : type == SQLITE_FLOAT ? 1 : type == SQLITE_TEXT ? 2 : 3;
}

static void set(struct row *row, uint32_t field, uint64_t bits) {
    row->nsys->failed |= tsmith_batch_set(row->batch, field, bits) != TSMITH_OK;
}

static void set_dynamic(struct row *row, uint32_t *field, const struct nsys_column *column, tsmith_type type,
                        uint64_t bits) {
    if (!*field)
        *field = tsmith_dictionary_field(row->nsys->dictionary,
                                         column->rule->as ? column->rule->as : column->name, type, "");
    row->nsys->failed |= !*field || tsmith_batch_set_dynamic(row->batch, *field, type, bits) != TSMITH_OK;
}

// A field of its own: bytes and text of one column are distinguished by its unit.
static uint32_t blob_field(struct row *row, const struct nsys_column *column) {
    tsmith_dictionary *dictionary = row->nsys->dictionary;
    tsmith_dynamic_field field = {.name = tsmith_dictionary_intern_cstr(dictionary, column->name),
                                  .unit = tsmith_dictionary_intern_cstr(dictionary, "blob"),
                                  .type = TSMITH_TYPE_STRING};
    uint32_t id = tsmith_dictionary_add_dynamic_field(dictionary, &field);
    return id ? TSMITH_FIELD_DYNAMIC + id : 0;
}

static uint32_t intern(struct row *row, int index) {
    const void *bytes = sqlite3_column_blob(row->select, index);
    int length = sqlite3_column_bytes(row->select, index);
    return bytes && length > 0 ? tsmith_dictionary_intern(row->nsys->dictionary, bytes, (size_t)length) : 0;
}

// The value as it is, in a field of the column's name.
static void keep_value(struct row *row, struct nsys_column *column, int index) {
    int form = form_of(sqlite3_column_type(row->select, index));
    uint64_t bits;
    double real;
    switch (form) {
    case 0:
        bits = (uint64_t)sqlite3_column_int64(row->select, index);
        break;
    case 1:
        real = sqlite3_column_double(row->select, index);
        memcpy(&bits, &real, sizeof bits);
        break;
    default:
        bits = intern(row, index);
    }
    if (form == 3 && !column->fields[form])
        column->fields[form] = blob_field(row, column);
    set_dynamic(row, &column->fields[form], column, FORM_TYPES[form], bits);
}

static void keep_text(struct row *row, struct nsys_column *column, uint32_t text) {
    set_dynamic(row, &column->label_field, column, TSMITH_TYPE_STRING, text);
}

// ---- columns

// A candidate for the name: the better one is the name, the other a field.
static void offer_name(struct row *row, struct nsys_column *column, int index, uint32_t text) {
    uint8_t rank = column->rule->name_rank;
    if (row->name_rank && row->name_rank <= rank) {
        keep_text(row, column, text);
        return;
    }
    if (row->name_rank)
        keep_text(row, &row->table->columns[row->name_column], row->name);
    row->name_rank = rank;
    row->name = text;
    row->name_column = index - row->first;
}

// The text of a range's name, without the numbers and lists in it, which become fields.
static uint32_t name_of_range(struct row *row, int index) {
#define FIELD_NAME(NAME, field) [TORCH_NAME_##NAME] = (field),
    static const char *const NAMES[TORCH_NAME_PARTS] = {TORCH_NAME_TABLE(FIELD_NAME)};
#undef FIELD_NAME
    tsmith_dictionary *dictionary = row->nsys->dictionary;
    const char *text = (const char *)sqlite3_column_blob(row->select, index);
    int length = sqlite3_column_bytes(row->select, index);
    if (!text || length <= 0)
        return 0;
    struct torch_name name = torch_name_split(text, (size_t)length);
    for (int i = 0; i < TORCH_NAME_PARTS; i++) {
        tsmith_type type = i < 2 ? TSMITH_TYPE_I64 : TSMITH_TYPE_STRING;
        uint32_t *field = &row->nsys->name_fields[i];
        if (!name.has[i])
            continue;
        if (!*field)
            *field = tsmith_dictionary_field(dictionary, NAMES[i], type, "");
        uint64_t bits = i < 2 ? (uint64_t)name.numbers[i]
                              : tsmith_dictionary_intern(dictionary, name.texts[i], name.lengths[i]);
        row->nsys->failed |= !*field || tsmith_batch_set_dynamic(row->batch, *field, type, bits) != TSMITH_OK;
    }
    return tsmith_dictionary_intern(dictionary, text, name.length);
}

static bool text_of_id(struct row *row, int index, uint32_t *text) {
    if (sqlite3_column_type(row->select, index) == SQLITE_TEXT) { // resolved already
        *text = intern(row, index);
        return true;
    }
    if (sqlite3_column_type(row->select, index) != SQLITE_INTEGER)
        return false;
    if (nsys_text(row->nsys, &row->nsys->strings, sqlite3_column_int64(row->select, index), text))
        return true;
    row->table->problems[NSYS_PROBLEM_DANGLING]++;
    return false;
}

static bool label_of(struct row *row, struct nsys_column *column, int index, uint32_t *text) {
    if (sqlite3_column_type(row->select, index) != SQLITE_INTEGER)
        return false;
    if (!column->labels)
        column->labels = nsys_labels(row->nsys, column->rule->labels);
    return column->labels &&
           nsys_text(row->nsys, column->labels, sqlite3_column_int64(row->select, index), text);
}

// Into the field of the vocabulary; false when the value does not fit there.
static bool set_field(struct row *row, const struct nsys_column_rule *rule, int index) {
    int type = sqlite3_column_type(row->select, index);
    if (type == SQLITE_FLOAT ? rule->field != TSMITH_FIELD_VALUE : type != SQLITE_INTEGER)
        return false;
    int64_t value = sqlite3_column_int64(row->select, index);
    if (rule->field == TSMITH_FIELD_VALUE) {
        double real = sqlite3_column_double(row->select, index);
        uint64_t bits;
        if (type == SQLITE_INTEGER && (value > (int64_t)1 << 53 || value < -((int64_t)1 << 53)))
            return false;
        memcpy(&bits, &real, sizeof bits);
        set(row, rule->field, bits);
        return true;
    }
    if (value < 0 && rule->field != TSMITH_FIELD_RESULT)
        return false;
    if (value || rule->form != NSYS_NUMBER)
        set(row, rule->field, (uint64_t)value);
    return true;
}

static void add_column(struct row *row, int index) {
    struct nsys_column *column = &row->table->columns[index - row->first];
    const struct nsys_column_rule *rule = column->rule;
    uint32_t text;
    if (sqlite3_column_type(row->select, index) == SQLITE_NULL)
        return;
    switch (rule->form) {
    case NSYS_PLACE:
        if (row->told >> rule->role & 1)
            return;
        break;
    case NSYS_FIELD:
    case NSYS_NUMBER:
        if (set_field(row, rule, index))
            return;
        break;
    case NSYS_TEXT_ID:
    case NSYS_NAME_ID:
        if (!text_of_id(row, index, &text))
            break;
        if (rule->form == NSYS_NAME_ID)
            offer_name(row, column, index, text);
        else
            keep_text(row, column, text);
        return;
    case NSYS_NAME:
        if (sqlite3_column_type(row->select, index) != SQLITE_TEXT)
            break;
        offer_name(row, column, index,
                   row->table->roles[NSYS_EVENT_TYPE] >= 0 && rule->name_rank == 1 ? name_of_range(row, index)
                                                                                   : intern(row, index));
        return;
    case NSYS_LABEL:
    case NSYS_CLASS:
        if (!label_of(row, column, index, &text))
            break;
        if (rule->form == NSYS_CLASS)
            set(row, TSMITH_FIELD_CATEGORY, text);
        else if (rule->name_rank)
            offer_name(row, column, index, text);
        else
            keep_text(row, column, text);
        return;
    case NSYS_AS_IS:
        break;
    }
    keep_value(row, column, index);
}

// ---- facts from several columns

// The number of a role's column.
static bool number_of(const struct row *row, enum nsys_role role, int64_t *out) {
    int at = row->table->roles[role];
    if (at < 0 || sqlite3_column_type(row->select, row->first + at) != SQLITE_INTEGER)
        return false;
    *out = sqlite3_column_int64(row->select, row->first + at);
    return true;
}

// Grid in blocks and block in threads become global and local size, when they come back from those exactly.
static void set_sizes(struct row *row) {
    int64_t size[6];
    uint64_t global[3];
    for (int i = 0; i < 6; i++)
        if (!number_of(row, (enum nsys_role)(NSYS_GRID_X + i), &size[i]) || size[i] <= 0)
            return;
    for (int i = 0; i < 3; i++)
        if (__builtin_mul_overflow((uint64_t)size[i], (uint64_t)size[i + 3], &global[i]))
            return;
    for (uint32_t i = 0; i < 3; i++) {
        set(row, TSMITH_FIELD_GLOBAL_X + i, global[i]);
        set(row, TSMITH_FIELD_LOCAL_X + i, (uint64_t)size[i + 3]);
    }
    for (int role = NSYS_GRID_X; role <= NSYS_BLOCK_Z; role++)
        row->told |= (uint64_t)1 << role;
}

// CUDA_MEMCPY_KIND and CUDA_MEMOPR_MEMORY_KIND as CUPTI counts them, in the words that its users know.
static const char *copy_word(int64_t kind) {
    static const char *const WORDS[] = {"",     "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD",
                                        "DtoA", "DtoD", "HtoH", "PtoP", "HtoD", "DtoH", "DtoD"};
    return kind > 0 && kind < (int64_t)(sizeof WORDS / sizeof *WORDS) ? WORDS[kind] : "";
}

static const char *memory_word(const struct row *row, enum nsys_role role) {
    static const char *const WORDS[] = {"Pageable", "Pinned",        "Device",         "Array",
                                        "Managed",  "Device Static", "Managed Static", "Unknown"};
    int64_t kind;
    bool known = number_of(row, role, &kind) && kind >= 0 && kind < 8;
    return WORDS[known ? kind : 7];
}

static void set_copy(struct row *row) {
    static const uint8_t DIRECTIONS[] = {
        [1] = TSMITH_DIRECTION_HOST_TO_DEVICE,   [2] = TSMITH_DIRECTION_DEVICE_TO_HOST,
        [8] = TSMITH_DIRECTION_DEVICE_TO_DEVICE, [9] = TSMITH_DIRECTION_HOST_TO_HOST,
        [10] = TSMITH_DIRECTION_PEER_TO_PEER,    [11] = TSMITH_DIRECTION_HOST_TO_DEVICE,
        [12] = TSMITH_DIRECTION_DEVICE_TO_HOST,  [13] = TSMITH_DIRECTION_DEVICE_TO_DEVICE};
    int64_t kind = 0;
    char name[80];
    (void)number_of(row, NSYS_COPY_KIND, &kind);
    if (kind > 0 && kind < (int64_t)sizeof DIRECTIONS && DIRECTIONS[kind])
        set(row, TSMITH_FIELD_DIRECTION, DIRECTIONS[kind]);
    int length = snprintf(name, sizeof name, "Memcpy %s (%s -> %s)", copy_word(kind),
                          memory_word(row, NSYS_SOURCE_KIND), memory_word(row, NSYS_TARGET_KIND));
    row->name = tsmith_dictionary_intern(row->nsys->dictionary, name, (size_t)length);
    row->name_rank = 1;
}

static void set_fill(struct row *row) {
    char name[80];
    int length = snprintf(name, sizeof name, "Memset (%s)", memory_word(row, NSYS_TARGET_KIND));
    row->name = tsmith_dictionary_intern(row->nsys->dictionary, name, (size_t)length);
    row->name_rank = 1;
}

// The domain is the category of an NVTX event; NVTX's own category has a field.
static void set_domain(struct row *row) {
    struct nsys *nsys = row->nsys;
    int64_t domain = 0, category, process = row->where.tid >> 24;
    (void)number_of(row, NSYS_DOMAIN, &domain);
    const struct nsys_pair *pair = nsys_find_pair(&nsys->places.domains, process, domain, 0);
    if (pair)
        set(row, TSMITH_FIELD_CATEGORY, pair->id);
    if (!number_of(row, NSYS_CATEGORY, &category) ||
        !(pair = nsys_find_pair(&nsys->places.categories, process, domain, category)))
        return;
    uint32_t *field = &row->table->category_field;
    if (!*field)
        *field = tsmith_dictionary_field(nsys->dictionary, "nvtxCategory", TSMITH_TYPE_STRING, "");
    nsys->failed |= tsmith_batch_set_dynamic(row->batch, *field, TSMITH_TYPE_STRING, pair->id) != TSMITH_OK;
}

// Where a sample found its thread: the innermost function is its name.
static void set_stack(struct row *row) {
    struct nsys *nsys = row->nsys;
    struct nsys_stack stack;
    int64_t id;
    if (!number_of(row, NSYS_SAMPLE, &id) || !nsys_stack(nsys, id, &stack))
        return;
    row->name = stack.leaf;
    row->name_rank = 1;
    set(row, TSMITH_FIELD_TEXT, stack.symbols);
    if (stack.stack)
        set(row, TSMITH_FIELD_STACK, stack.stack);
    if (!nsys->modules_field)
        nsys->modules_field = tsmith_dictionary_field(nsys->dictionary, "modules", TSMITH_TYPE_STRING, "");
    nsys->failed |= tsmith_batch_set_dynamic(row->batch, nsys->modules_field, TSMITH_TYPE_STRING,
                                             stack.modules) != TSMITH_OK;
}

// Who called: the number is kept as well.
static void set_callchain(struct row *row) {
    bool os = strcmp(row->table->name, "OSRT_API") == 0;
    int64_t id;
    if (!number_of(row, NSYS_CALLCHAIN, &id))
        return;
    uint32_t stack = nsys_callchain(row->nsys, os ? NSYS_OSRT_CALLCHAINS : NSYS_CUDA_CALLCHAINS, id);
    if (stack)
        set(row, TSMITH_FIELD_STACK, stack);
}

// The record of the event that is waited for, in the fields that Kineto has for it.
static void set_wait(struct row *row) {
    // CUpti_ActivitySynchronizationType
    static const uint8_t OPERATIONS[] = {[1] = TSMITH_OPERATION_WAIT,
                                         [2] = TSMITH_OPERATION_STREAM_WAIT,
                                         [3] = TSMITH_OPERATION_FINISH,
                                         [4] = TSMITH_OPERATION_DEVICE_SYNC};
    static const char *const NAMES[2] = {"wait_on_cuda_event_record_corr_id", "wait_on_stream"};
    struct nsys *nsys = row->nsys;
    int64_t sync, type;
    if (number_of(row, NSYS_SYNC_TYPE, &type) && type > 0 && type < (int64_t)sizeof OPERATIONS)
        set(row, TSMITH_FIELD_OPERATION, OPERATIONS[type]);
    const struct nsys_pair *pair = number_of(row, NSYS_EVENT_SYNC, &sync)
                                       ? nsys_find_pair(&nsys->places.event_records, row->where.pid, sync, 0)
                                       : NULL;
    for (int i = 0; pair && i < 2; i++) {
        uint32_t *field = &nsys->wait_fields[i];
        if (!*field)
            *field = tsmith_dictionary_field(nsys->dictionary, NAMES[i], TSMITH_TYPE_I64, "");
        nsys->failed |= tsmith_batch_set_dynamic(row->batch, *field, TSMITH_TYPE_I64,
                                                 i ? pair->second : pair->id) != TSMITH_OK;
    }
}

// ---- kinds

enum {
    NVTX_MARK = 34,
    NVTX_PUSH_POP = 59,
    NVTX_START_END = 60,
    NVTXT_MARK = 65,
    NVTXT_PUSH_POP = 70,
    NVTXT_START_END = 71
};

static bool is_range_type(int64_t type) {
    return type == NVTX_PUSH_POP || type == NVTX_START_END || type == NVTXT_PUSH_POP ||
           type == NVTXT_START_END;
}

static tsmith_kind kind_of(const struct row *row, bool has_end) {
    const struct nsys_table_rule *rule = row->table->rule;
    int64_t number;
    if (!rule)
        return has_end ? TSMITH_KIND_RANGE : TSMITH_KIND_MARKER;
    if (row->table->roles[NSYS_EVENT_TYPE] >= 0 && number_of(row, NSYS_EVENT_TYPE, &number))
        return is_range_type(number) ? TSMITH_KIND_RANGE : TSMITH_KIND_MARKER;
    if (rule->kind == TSMITH_KIND_ALLOC && number_of(row, NSYS_MEMORY_OPERATION, &number) && number == 1)
        return TSMITH_KIND_FREE;
    return rule->kind;
}

// Kinds whose events last.
static bool can_last(tsmith_kind kind) {
    return kind != TSMITH_KIND_MARKER && kind != TSMITH_KIND_COUNTER && kind != TSMITH_KIND_SAMPLE &&
           kind != TSMITH_KIND_ALLOC && kind != TSMITH_KIND_FREE && kind != TSMITH_KIND_EVENT_RECORD;
}

// ---- rows

static void find_where(struct row *row) {
    struct nsys_where *where = &row->where;
    int64_t *const numbers[NSYS_ROLES] = {
        [NSYS_TID] = &where->tid,       [NSYS_PID] = &where->pid,
        [NSYS_DEVICE] = &where->device, [NSYS_CONTEXT] = &where->context,
        [NSYS_STREAM] = &where->stream, [NSYS_METRIC_SOURCE] = &where->metric_source,
        [NSYS_METRIC] = &where->metric};
    for (int role = NSYS_TID; role <= NSYS_METRIC; role++)
        if (number_of(row, (enum nsys_role)role, numbers[role]))
            where->has |= (uint64_t)1 << role;
    // A number below 0 has no owner.
    if (where->tid < 0)
        where->has &= ~((uint64_t)1 << NSYS_TID);
    if (where->pid < 0)
        where->has &= ~((uint64_t)1 << NSYS_PID);
}

// Times beyond +-73 years are none, so that the difference of any two of them is a number.
static bool is_time(int64_t time) {
    return time > -((int64_t)1 << 61) && time < (int64_t)1 << 61;
}

// When it began and how long it lasted; false if the row has no time.
static bool find_time(struct row *row, int64_t *start, int64_t *duration, bool *has_end) {
    uint64_t *problems = row->table->problems;
    int64_t end;
    *duration = 0;
    if (!number_of(row, NSYS_START, start) || !is_time(*start)) {
        problems[NSYS_PROBLEM_NO_TIME]++;
        return false;
    }
    if (*start == 0 && row->table->rule && row->table->rule->flags & NSYS_ZERO_IS_NONE) {
        problems[NSYS_PROBLEM_NOT_TIMED]++;
        return false;
    }
    row->told |= 1u << NSYS_START;
    *has_end = number_of(row, NSYS_END, &end) && is_time(end);
    row->has_duration = *has_end && end >= *start;
    problems[NSYS_PROBLEM_BACKWARDS] += *has_end && !row->has_duration;
    if (row->has_duration) {
        *duration = end - *start;
        row->told |= 1u << NSYS_END; // otherwise it is kept as it is
    }
    return true;
}

void nsys_add_row(struct nsys *nsys, struct nsys_table *table, uint32_t lane, sqlite3_stmt *select,
                  int first) {
    struct row row = {.nsys = nsys, .table = table, .select = select, .first = first};
    int64_t start, duration;
    bool has_end;
    if (!find_time(&row, &start, &duration, &has_end))
        return;
    find_where(&row);
    uint64_t told;
    uint32_t track = nsys_track(nsys, table->rule, table->name, &row.where, &told);
    if (!track || track == UINT32_MAX) {
        table->problems[NSYS_PROBLEM_TOO_MANY]++;
        return;
    }
    row.told |= told;
    tsmith_kind kind = kind_of(&row, has_end);
    table->problems[NSYS_PROBLEM_NO_END] += !has_end && table->roles[NSYS_END] >= 0 && can_last(kind);
    row.batch = gather_row(&nsys->gather, track, lane, kind, start, duration);
    if (!row.batch)
        return;
    if (row.has_duration)
        set(&row, TSMITH_FIELD_DURATION, (uint64_t)duration);
    if (table->category)
        set(&row, TSMITH_FIELD_CATEGORY, table->category);
    if (kind == TSMITH_KIND_KERNEL)
        set_sizes(&row);
    else if (kind == TSMITH_KIND_MEMCPY)
        set_copy(&row);
    else if (kind == TSMITH_KIND_MEMSET)
        set_fill(&row);
    else if (kind == TSMITH_KIND_SYNC)
        set_wait(&row);
    else if (kind == TSMITH_KIND_SAMPLE)
        set_stack(&row);
    else if (table->roles[NSYS_DOMAIN] >= 0 || table->roles[NSYS_CATEGORY] >= 0)
        set_domain(&row);
    set_callchain(&row);
    for (int i = 0; i < table->column_count; i++)
        add_column(&row, first + i);
    if (row.name_rank)
        set(&row, TSMITH_FIELD_NAME, row.name);
    else if (kind == TSMITH_KIND_COUNTER)
        set(&row, TSMITH_FIELD_NAME, tsmith_dictionary_track(nsys->dictionary, track)->name);
}
