// SPDX-License-Identifier: Apache-2.0
// Chrome trace JSON.
//
// A batch is turned into a plan first: for each column what is to be printed and where. A row is then one pass
// over the plan for the keys of the event, and one for its arguments. What an importer kept in dynamic fields
// (see tracesmith/import.h) goes back to where it came from; what TraceSmith recorded itself is given the shape
// that readers of Kineto traces expect.
#include "tracesmith/export_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "event/category.h"
#include "export/chrome/chrome.h"
#include "export/chrome/top.h"
#include "export/formats.h"

// ---- reading columns

static bool has_value(const struct plan *plan, uint32_t row) {
    return plan && tsmith_view_has(&plan->column, row);
}

static uint64_t value_at(const struct plan *plan, uint32_t row) {
    return tsmith_view_known(&plan->column, row);
}

static tsmith_string string_at(const struct chrome *chrome, const struct plan *plan, uint32_t row) {
    return tsmith_dictionary_string(chrome->dictionary, (uint32_t)value_at(plan, row));
}

// ---- the plan of a batch

static bool add_plan(struct chrome *chrome, tsmith_view column, enum place place, tsmith_string name,
                     const char *unit) {
    if (!ARRAY_RESERVE(chrome->plans, chrome->plan_capacity, chrome->plan_count + 1))
        return false;
    struct output *text = chrome_text(chrome);
    json_out_string(text, name.bytes, name.length < OUTPUT_SIZE / 8 ? name.length : OUTPUT_SIZE / 8);
    output_char(text, ':');
    char *key = strndup(text->buffer, text->used);
    if (!key)
        return false;
    const char *last = strrchr(unit, ' ');
    chrome->plans[chrome->plan_count++] = (struct plan){
        .column = column,
        .place = place,
        .json = column.type == TSMITH_TYPE_STRING && strcmp(last ? last + 1 : unit, "json") == 0,
        .quotient = column.type == TSMITH_TYPE_BOOL && strcmp(unit, "bytes/duration") == 0,
        .key = key,
        .key_length = strlen(key)};
    return true;
}

static void clear_plans(struct chrome *chrome) {
    for (size_t i = 0; i < chrome->plan_count; i++)
        free(chrome->plans[i].key);
    chrome->plan_count = 0;
}

static enum place place_of(const char *unit) {
    if (strncmp(unit, "event", 5) == 0 && (unit[5] == '\0' || unit[5] == ' '))
        return PLACE_EVENT;
    if (strcmp(unit, "end") == 0 || strcmp(unit, "end json") == 0)
        return PLACE_END;
    if (strcmp(unit, "flow") == 0 || strcmp(unit, "raw json") == 0)
        return PLACE_NOWHERE;
    return PLACE_ARGUMENT;
}

// What mcTracer calls a field of the schema; NULL: as we do.
static const char *mctracer_name(uint32_t field) {
    return field == TSMITH_FIELD_CORRELATION ? "co_id"
           : field == TSMITH_FIELD_QUEUED    ? "queue_ts"
           : field == TSMITH_FIELD_SUBMITTED ? "submit_ts"
           : field == TSMITH_FIELD_COMPLETED ? "complete_ts"
                                             : NULL;
}

static bool plan_column(struct chrome *chrome, tsmith_view column) {
    tsmith_string name, unit = {"", 0};
    enum place place = PLACE_ARGUMENT;
    const tsmith_field_info *info = tsmith_field_describe(column.field);
    if (info) {
        const char *own = chrome->origin.mctracer ? mctracer_name(column.field) : NULL;
        own = own ? own : info->name;
        name = (tsmith_string){own, strlen(own)};
        if (column.field <= TSMITH_FIELD_NAME || column.field == TSMITH_FIELD_CATEGORY ||
            (column.field == TSMITH_FIELD_STACK && (chrome->stacks || chrome->origin.chrome)))
            place = PLACE_NOWHERE; // of a Chrome trace it was made from what the file has
        const bool derived = column.field == TSMITH_FIELD_DIRECTION || column.field == TSMITH_FIELD_FILE ||
                             column.field == TSMITH_FIELD_LINE || column.field == TSMITH_FIELD_PRIORITY ||
                             column.field == TSMITH_FIELD_OPERATION || column.field == TSMITH_FIELD_VALUE;
        if (derived && chrome->origin.chrome && !chrome->producer)
            place = PLACE_NOWHERE; // so were these, from a name or an argument
    } else {
        const tsmith_dynamic_field *field =
            column.field > TSMITH_FIELD_DYNAMIC
                ? tsmith_dictionary_dynamic_field(chrome->dictionary, column.field - TSMITH_FIELD_DYNAMIC)
                : NULL;
        if (!field)
            return true; // a field without a description has no name to print
        name = tsmith_dictionary_string(chrome->dictionary, field->name);
        unit = tsmith_dictionary_string(chrome->dictionary, field->unit);
        if (chrome->origin.chrome)
            place = place_of(unit.bytes);
    }
    return add_plan(chrome, column, place, name, unit.bytes);
}

// Where a dynamic field of the importer has a meaning of its own.
static void assign_dynamic(struct chrome *chrome, struct plan *plan) {
    const tsmith_dynamic_field *field =
        tsmith_dictionary_dynamic_field(chrome->dictionary, plan->column.field - TSMITH_FIELD_DYNAMIC);
    static const struct {
        const char *name, *unit;
        tsmith_type type;
        size_t at;
        bool taken; // not printed as a key of its own
    } meanings[] = {
        {"ph", "event", TSMITH_TYPE_STRING, offsetof(struct chrome, ph), true},
        {"ts", "event json", TSMITH_TYPE_STRING, offsetof(struct chrome, time_text), true},
        {"ts", "event fs", TSMITH_TYPE_I64, offsetof(struct chrome, time_rest), true},
        {"dur", "event json", TSMITH_TYPE_STRING, offsetof(struct chrome, duration_text), true},
        {"dur", "event fs", TSMITH_TYPE_I64, offsetof(struct chrome, duration_rest), true},
        {"flow", "flow", TSMITH_TYPE_STRING, offsetof(struct chrome, flow), true},
        {"flow_id", "flow", TSMITH_TYPE_I64, offsetof(struct chrome, flow_id), true},
        {"event", "raw json", TSMITH_TYPE_STRING, offsetof(struct chrome, raw), true},
    };
    const char *name = tsmith_dictionary_string(chrome->dictionary, field->name).bytes;
    const char *unit = tsmith_dictionary_string(chrome->dictionary, field->unit).bytes;
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        if (strcmp(name, meanings[i].name) != 0 || strcmp(unit, meanings[i].unit) != 0 ||
            plan->column.type != meanings[i].type)
            continue;
        const struct plan *const taken = plan;
        memcpy((char *)chrome + meanings[i].at, &taken, sizeof taken);
        plan->place = PLACE_NOWHERE;
    }
}

static void assign(struct chrome *chrome, struct plan *plan) {
    uint32_t field = plan->column.field;
    switch (field) {
    case TSMITH_FIELD_START:
        chrome->start = plan;
        break;
    case TSMITH_FIELD_DURATION:
        chrome->duration = plan;
        break;
    case TSMITH_FIELD_KIND:
        chrome->kind = plan;
        break;
    case TSMITH_FIELD_NAME:
        chrome->name = plan;
        break;
    case TSMITH_FIELD_CATEGORY:
        chrome->category = plan;
        break;
    case TSMITH_FIELD_CORRELATION:
        chrome->correlation = plan;
        break;
    case TSMITH_FIELD_BYTES:
        chrome->bytes = plan;
        break;
    case TSMITH_FIELD_STACK:
        chrome->stack = plan;
        break;
    case TSMITH_FIELD_GLOBAL_X:
    case TSMITH_FIELD_GLOBAL_Y:
    case TSMITH_FIELD_GLOBAL_Z:
        chrome->global[field - TSMITH_FIELD_GLOBAL_X] = plan;
        break;
    case TSMITH_FIELD_LOCAL_X:
    case TSMITH_FIELD_LOCAL_Y:
    case TSMITH_FIELD_LOCAL_Z:
        chrome->local[field - TSMITH_FIELD_LOCAL_X] = plan;
        break;
    default:
        if (field > TSMITH_FIELD_DYNAMIC && chrome->origin.chrome)
            assign_dynamic(chrome, plan);
    }
}

static bool make_plan(struct chrome *chrome, const tsmith_batch *batch) {
    clear_plans(chrome);
    chrome->track = tsmith_batch_track(batch);
    chrome->start = chrome->duration = chrome->kind = chrome->name = chrome->category = chrome->correlation =
        NULL;
    chrome->ph = chrome->raw = chrome->flow = chrome->flow_id = chrome->time_text = chrome->time_rest = NULL;
    chrome->duration_text = chrome->duration_rest = chrome->bytes = chrome->stack = NULL;
    memset(chrome->global, 0, sizeof chrome->global);
    memset(chrome->local, 0, sizeof chrome->local);
    uint32_t count = tsmith_batch_column_count(batch);
    for (uint32_t i = 0; i < count; i++)
        if (!plan_column(chrome, tsmith_view_at(batch, i)))
            return false;
    for (size_t i = 0; i < chrome->plan_count; i++)
        assign(chrome, &chrome->plans[i]);
    return true;
}

// ---- values

static void put_list(struct output *output, const tsmith_view *column, uint32_t row) {
    output_char(output, '[');
    for (uint32_t i = column->offsets[row]; i < column->offsets[row + 1]; i++) {
        if (i > column->offsets[row])
            output_char(output, ',');
        json_out_u64(output, ((const uint64_t *)column->values)[i]);
    }
    output_char(output, ']');
}

static void put_value(struct chrome *chrome, const struct plan *plan, uint32_t row) {
    struct output *output = &chrome->output;
    if (plan->column.type == TSMITH_TYPE_LIST) {
        put_list(output, &plan->column, row);
        return;
    }
    uint64_t bits = value_at(plan, row);
    const char *name;
    if (plan->quotient && has_value(chrome->bytes, row) && has_value(chrome->duration, row)) {
        double quotient =
            (double)value_at(chrome->bytes, row) / (double)(int64_t)value_at(chrome->duration, row);
        memcpy(&bits, &quotient, sizeof bits);
        json_out_double(&chrome->json, bits);
        return;
    }
    switch (plan->column.type) {
    case TSMITH_TYPE_TIME:
        if (chrome->origin.mctracer)
            json_out_i64(output, (int64_t)bits); // its times are ns
        else
            json_out_us(output, (int64_t)bits, 0);
        break;
    case TSMITH_TYPE_I64:
        json_out_i64(output, (int64_t)bits);
        break;
    case TSMITH_TYPE_F64:
        json_out_double(&chrome->json, bits);
        break;
    case TSMITH_TYPE_STRING:
        if (plan->json)
            json_out_raw_id(&chrome->json, chrome->dictionary, (uint32_t)bits);
        else
            json_out_string_id(&chrome->json, chrome->dictionary, (uint32_t)bits);
        break;
    case TSMITH_TYPE_BOOL:
        output_text(output, bits ? "true" : "false");
        break;
    default:
        name = tsmith_value_name(plan->column.type, bits);
        if (name)
            json_out_string(output, name, strlen(name));
        else
            json_out_u64(output, bits);
    }
}

// ---- rows

static void put_key(struct chrome *chrome, const char *key) {
    output_char(&chrome->output, chrome->separator);
    chrome->separator = ',';
    output_text(&chrome->output, key);
}

static void end(struct chrome *chrome) {
    if (chrome->separator == '{')
        output_char(&chrome->output, '{');
    output_char(&chrome->output, '}');
}

static void put_place(struct chrome *chrome) {
    const char *text = chrome_place(chrome, chrome->track, chrome->lane == LANE_NONE ? 0 : chrome->lane);
    if (*text)
        put_key(chrome, text);
}

static int64_t rest_at(const struct plan *plan, uint32_t row) {
    return has_value(plan, row) ? (int64_t)value_at(plan, row) : 0;
}

static void put_moment(struct chrome *chrome, const char *key, int64_t ns, const struct plan *rest,
                       const struct plan *text, uint32_t row) {
    bool odd = has_value(text, row);
    if (odd && value_at(text, row) == 0)
        return; // the event had none
    put_key(chrome, key);
    if (odd)
        json_out_raw_id(&chrome->json, chrome->dictionary, (uint32_t)value_at(text, row));
    else
        json_out_us(&chrome->output, ns, rest_at(rest, row));
}

static int64_t start_of(const struct chrome *chrome, uint32_t row) {
    return (int64_t)value_at(chrome->start, row);
}

static tsmith_kind kind_at(const struct chrome *chrome, uint32_t row) {
    return chrome->kind ? (tsmith_kind)value_at(chrome->kind, row) : TSMITH_KIND_NONE;
}

// The letter of a row that does not bring its own.
static char natural_ph(const struct chrome *chrome, uint32_t row) {
    tsmith_kind kind = kind_at(chrome, row);
    if (kind == TSMITH_KIND_COUNTER)
        return 'C';
    if (kind == TSMITH_KIND_MARKER || chrome->lane == LANE_NONE ||
        (!chrome->origin.chrome && !has_value(chrome->duration, row)))
        return 'i';
    return 'X';
}

static bool is_size(const struct chrome *chrome, const struct plan *plan) {
    for (int i = 0; i < 3; i++)
        if (plan == chrome->global[i] || plan == chrome->local[i])
            return true;
    return false;
}

// The number of dimensions that can be expressed as grid and block; 0 if impossible (no block known, or the global
// size is not a multiple of it).
static unsigned grid_of(const struct chrome *chrome, uint32_t row, uint64_t *grid, uint64_t *block) {
    unsigned count = 0;
    for (; count < 3 && has_value(chrome->global[count], row); count++) {
        uint64_t global = value_at(chrome->global[count], row);
        block[count] = has_value(chrome->local[count], row) ? value_at(chrome->local[count], row) : 0;
        if (!block[count] || global % block[count])
            return 0;
        grid[count] = global / block[count];
    }
    return count;
}

static void put_sizes(struct chrome *chrome, const uint64_t *sizes, unsigned count) {
    static const char *const axes[] = {"{\"x\":", ",\"y\":", ",\"z\":"};
    for (unsigned i = 0; i < count; i++) {
        output_text(&chrome->output, chrome->origin.mctracer ? axes[i] : i ? "," : "[");
        json_out_u64(&chrome->output, sizes[i]);
    }
    output_char(&chrome->output, chrome->origin.mctracer ? '}' : ']');
}

// The importer makes the bytes of MTIA's work from an argument that is there, too.
static bool bytes_derived(const struct chrome *chrome, uint32_t row) {
    return chrome->origin.chrome && !chrome->producer && has_value(chrome->category, row) &&
           strcmp(string_at(chrome, chrome->category, row).bytes, "mtia_ccp_events") == 0;
}

// The arguments of one place, or keys of the event.
static void put_columns(struct chrome *chrome, enum place place, uint32_t row) {
    uint64_t grid[3], block[3];
    unsigned sizes = place == PLACE_ARGUMENT && chrome->local[0] ? grid_of(chrome, row, grid, block) : 0;
    for (size_t i = 0; i < chrome->plan_count; i++) {
        const struct plan *plan = &chrome->plans[i];
        if (plan->place != place || !has_value(plan, row) || (sizes && is_size(chrome, plan)) ||
            (plan == chrome->bytes && bytes_derived(chrome, row)))
            continue;
        output_char(&chrome->output, chrome->separator);
        chrome->separator = ',';
        output_bytes(&chrome->output, plan->key, plan->key_length);
        put_value(chrome, plan, row);
    }
    if (sizes) {
        put_key(chrome, "\"grid\":");
        put_sizes(chrome, grid, sizes);
        put_key(chrome, "\"block\":");
        put_sizes(chrome, block, sizes);
    }
}

static bool has_columns(const struct chrome *chrome, enum place place, uint32_t row) {
    for (size_t i = 0; i < chrome->plan_count; i++)
        if (chrome->plans[i].place == place && has_value(&chrome->plans[i], row))
            return true;
    return false;
}

static bool on_device(const struct chrome *chrome, uint32_t row) {
    tsmith_kind kind = kind_at(chrome, row);
    return kind == TSMITH_KIND_KERNEL || kind == TSMITH_KIND_MEMCPY || kind == TSMITH_KIND_MEMSET;
}

// Where a device did it, by the names that Kineto has for it: tools for traces of PyTorch take what has a stream for
// work of a GPU, and nothing else.
static bool has_stream(const struct chrome *chrome, uint32_t row) {
    const tsmith_track *track = tsmith_dictionary_track(chrome->dictionary, chrome->track);
    return !chrome->origin.chrome && track && track->kind == TSMITH_TRACK_QUEUE && track->device &&
           on_device(chrome, row);
}

static void put_stream(struct chrome *chrome) {
    const tsmith_track *track = tsmith_dictionary_track(chrome->dictionary, chrome->track);
    put_key(chrome, "\"device\":");
    const tsmith_device *device = tsmith_dictionary_device(chrome->dictionary, track->device);
    json_out_u64(&chrome->output, (device && device->number ? device->number : track->device) - 1);
    put_key(chrome, "\"stream\":");
    json_out_u64(&chrome->output, track->queue ? track->queue : chrome->track);
}

// The kind, if our importer cannot derive it from the category; NULL: it can.
static const char *kind_to_say(const struct chrome *chrome, uint32_t row) {
    tsmith_kind kind = kind_at(chrome, row);
    char letter = natural_ph(chrome, row);
    if (chrome->origin.chrome || letter == 'C' || !has_value(chrome->category, row))
        return NULL;
    tsmith_kind natural = letter == 'i' ? TSMITH_KIND_MARKER : TSMITH_KIND_RANGE;
    tsmith_kind read = category_own_kind(string_at(chrome, chrome->category, row), natural);
    return read == kind ? NULL : tsmith_kind_name(kind);
}

static void put_args(struct chrome *chrome, enum place place, uint32_t row) {
    const char *kind = place == PLACE_ARGUMENT ? kind_to_say(chrome, row) : NULL;
    bool stream = place == PLACE_ARGUMENT && has_stream(chrome, row);
    if (!kind && !stream && !has_columns(chrome, place, row))
        return;
    put_key(chrome, "\"args\":");
    chrome->separator = '{';
    if (stream)
        put_stream(chrome);
    if (kind) {
        put_key(chrome, "\"kind\":\"");
        output_text(&chrome->output, kind);
        output_char(&chrome->output, '"');
    }
    put_columns(chrome, place, row);
    output_char(&chrome->output, '}');
    chrome->separator = ',';
}

// What tools for traces of PyTorch call the kind, or what we do.
static const char *category_of(tsmith_kind kind, tsmith_string name) {
    const char *kind_name = tsmith_kind_name(kind);
    if (kind == TSMITH_KIND_MEMCPY)
        return "gpu_memcpy";
    if (kind == TSMITH_KIND_MEMSET)
        return "gpu_memset";
    if (kind == TSMITH_KIND_API && name.length > 4 && memcmp(name.bytes, "cuda", 4) == 0)
        return "cuda_runtime";
    if (kind == TSMITH_KIND_API && name.length > 2 && memcmp(name.bytes, "cu", 2) == 0 &&
        name.bytes[2] >= 'A' && name.bytes[2] <= 'Z')
        return "cuda_driver";
    return kind_name ? kind_name : "event";
}

// A row of ours that has no name or category of its own gets those of its kind; an imported one had none.
static void put_head(struct chrome *chrome, tsmith_string ph, bool category, bool name, uint32_t row) {
    struct output *output = &chrome->output;
    tsmith_kind kind = kind_at(chrome, row);
    const char *kind_name = tsmith_kind_name(kind);
    bool own = !chrome->origin.chrome || kind == TSMITH_KIND_LOSS;
    if (!kind_name)
        kind_name = "event";
    if (ph.length) {
        put_key(chrome, "\"ph\":");
        json_out_string(output, ph.bytes, ph.length);
    }
    if (category && has_value(chrome->category, row)) {
        put_key(chrome, "\"cat\":");
        json_out_string_id(&chrome->json, chrome->dictionary, (uint32_t)value_at(chrome->category, row));
    } else if (category && own) {
        put_key(chrome, kind == TSMITH_KIND_LOSS ? "\"cat\":\"tracesmith." : "\"cat\":\"");
        output_text(output,
                    category_of(kind, has_value(chrome->name, row) ? string_at(chrome, chrome->name, row)
                                                                   : (tsmith_string){"", 0}));
        output_char(output, '"');
    }
    if (name && has_value(chrome->name, row)) {
        put_key(chrome, "\"name\":");
        json_out_string_id(&chrome->json, chrome->dictionary, (uint32_t)value_at(chrome->name, row));
    } else if (name && own) {
        put_key(chrome, "\"name\":");
        json_out_string(output, kind_name, strlen(kind_name));
    }
}

// A range with begin and end: two events again. `had` is the data of the end.
static void put_pair(struct chrome *chrome, uint32_t row, const char *had) {
    static const tsmith_string begin_ph = {"B", 1}, end_ph = {"E", 1};
    bool name = strchr(had, 'n') != NULL, category = strchr(had, 'c') != NULL;
    chrome_begin(chrome);
    put_head(chrome, begin_ph, true, true, row);
    put_place(chrome);
    put_moment(chrome, "\"ts\":", start_of(chrome, row), chrome->time_rest, chrome->time_text, row);
    put_columns(chrome, PLACE_EVENT, row);
    put_args(chrome, PLACE_ARGUMENT, row);
    end(chrome);
    chrome_begin(chrome);
    put_head(chrome, end_ph, category, name, row);
    put_place(chrome);
    int64_t after = 0;
    (void)__builtin_add_overflow(
        start_of(chrome, row),
        has_value(chrome->duration, row) ? (int64_t)value_at(chrome->duration, row) : 0, &after);
    put_moment(chrome, "\"ts\":", after, NULL, NULL, row);
    put_args(chrome, PLACE_END, row);
    end(chrome);
}

// The flow that the importer found at the event: `{"ph":...` and its data, with place, time and id.
static void put_attached_flow(struct chrome *chrome, uint32_t row) {
    struct output *output = &chrome->output;
    tsmith_string text = string_at(chrome, chrome->flow, row);
    if (text.length < 3 || text.bytes[0] != '{' || !json_is_valid(text.bytes, text.length))
        return;
    chrome_begin(chrome);
    output_bytes(output, text.bytes, text.length - 1);
    chrome->separator = ',';
    put_key(chrome, "\"id\":");
    if (has_value(chrome->flow_id, row))
        json_out_i64(output, (int64_t)value_at(chrome->flow_id, row));
    else
        json_out_u64(output, has_value(chrome->correlation, row) ? value_at(chrome->correlation, row) : 0);
    put_place(chrome);
    put_moment(chrome, "\"ts\":", start_of(chrome, row), chrome->time_rest, chrome->time_text, row);
    end(chrome);
}

// The number of an arrow: of the first process the correlation itself. As a number where a double holds it, else mixed
// and in hexadecimal, which readers take a text for.
static void put_flow_id(struct chrome *chrome, uint64_t correlation) {
    const tsmith_track *track = tsmith_dictionary_track(chrome->dictionary, chrome->track);
    uint64_t process = track && track->process ? track->process - 1 : 0;
    char text[24];
    if (correlation >> 40 == 0 && process >> 13 == 0) {
        json_out_u64(&chrome->output, process << 40 | correlation);
        return;
    }
    uint64_t mixed = (correlation ^ process * 0x9e3779b97f4a7c15u) | (uint64_t)1 << 63;
    (void)snprintf(text, sizeof text, "\"0x%llx\"", (unsigned long long)mixed);
    output_text(&chrome->output, text);
}

// An arrow from the call to the work it made, for traces of our own.
static void put_own_flow(struct chrome *chrome, uint32_t row) {
    bool device = on_device(chrome, row);
    if ((!device && kind_at(chrome, row) != TSMITH_KIND_API) || !has_value(chrome->duration, row))
        return;
    struct output *output = &chrome->output;
    chrome_begin(chrome);
    output_text(output, device ? "{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":"
                               : "{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":");
    put_flow_id(chrome, value_at(chrome->correlation, row));
    chrome->separator = ',';
    put_place(chrome);
    put_moment(chrome, "\"ts\":", start_of(chrome, row), NULL, NULL, row);
    end(chrome);
}

static void put_row(struct chrome *chrome, uint32_t row) {
    char letter = natural_ph(chrome, row);
    tsmith_string ph =
        has_value(chrome->ph, row) ? string_at(chrome, chrome->ph, row) : (tsmith_string){&letter, 1};
    if (ph.length >= 2 && memcmp(ph.bytes, "BE", 2) == 0) {
        put_pair(chrome, row, ph.bytes + 2);
        return;
    }
    chrome_begin(chrome);
    if (has_value(chrome->raw, row)) {
        json_out_raw_id(&chrome->json, chrome->dictionary, (uint32_t)value_at(chrome->raw, row));
        return;
    }
    put_head(chrome, ph, true, true, row);
    put_place(chrome);
    put_moment(chrome, "\"ts\":", start_of(chrome, row), chrome->time_rest, chrome->time_text, row);
    if (has_value(chrome->duration, row) ||
        has_value(chrome->duration_text, row)) // one that is no duration has its text only
        put_moment(chrome, "\"dur\":",
                   has_value(chrome->duration, row) ? (int64_t)value_at(chrome->duration, row) : 0,
                   chrome->duration_rest, chrome->duration_text, row);
    if (!chrome->origin.chrome && letter == 'i')
        put_key(chrome, "\"s\":\"t\"");
    if (chrome->stacks && has_value(chrome->stack, row) && value_at(chrome->stack, row)) {
        put_key(chrome, "\"sf\":");
        json_out_u64(&chrome->output, value_at(chrome->stack, row));
    }
    put_columns(chrome, PLACE_EVENT, row);
    put_args(chrome, PLACE_ARGUMENT, row);
    end(chrome);
    if (has_value(chrome->flow, row))
        put_attached_flow(chrome, row);
    else if (!chrome->origin.chrome && has_value(chrome->correlation, row))
        put_own_flow(chrome, row);
}

static void start(struct chrome *chrome, const tsmith_dictionary *dictionary) {
    chrome->dictionary = dictionary;
    if (chrome->started)
        return;
    chrome->started = true;
    chrome->origin = origin_of(dictionary);
    chrome->stacks = !chrome->origin.chrome && tsmith_dictionary_stack_count(dictionary) > 1;
    chrome->producer = !chrome->origin.chrome || chrome_by_us(dictionary);
    output_text(&chrome->output,
                chrome->producer ? "{" CHROME_PRODUCER ",\n\"traceEvents\":[" : "{\"traceEvents\":[");
}

static bool put_batch(struct chrome *chrome, const tsmith_batch *batch, const uint32_t *lanes) {
    if (!make_plan(chrome, batch))
        return false;
    uint32_t count = chrome->start ? tsmith_batch_count(batch) : 0;
    for (uint32_t row = 0; row < count; row++) {
        chrome->lane = lanes ? lanes[row] : 0;
        put_row(chrome, row);
    }
    return true;
}

static bool put_held(struct chrome *chrome) {
    struct chrome_lanes *lanes = &chrome->lanes;
    bool done = chrome_lanes_assign(lanes);
    for (size_t i = 0; i < lanes->count && done; i++)
        done = put_batch(chrome, lanes->held[i].batch, lanes->held[i].lanes);
    chrome_lanes_drop(lanes);
    return done;
}

// What was imported from Chrome's JSON goes back to the threads it came from.
static tsmith_status write_batch(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                 tsmith_error *error) {
    struct chrome *chrome = self;
    start(chrome, dictionary);
    bool done = chrome->origin.chrome ? put_batch(chrome, batch, NULL)
                                      : chrome_lanes_hold(&chrome->lanes, batch) &&
                                            (!chrome_lanes_full(&chrome->lanes) || put_held(chrome));
    if (chrome->output.status != TSMITH_OK && error)
        *error = chrome->output.error;
    if (!done || chrome->json.failed)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    return chrome->output.status;
}

// ---- the end

static void put_metadata_events(struct chrome *chrome) {
    uint32_t count = tsmith_dictionary_attribute_count(chrome->dictionary);
    for (uint32_t id = 1; id < count; id++) {
        const tsmith_attribute *attribute = tsmith_dictionary_attribute(chrome->dictionary, id);
        tsmith_string key = tsmith_dictionary_string(chrome->dictionary, attribute->key);
        if (key.length != 21 || memcmp(key.bytes, "import.metadata_event", 21) != 0)
            continue;
        chrome_begin(chrome);
        json_out_raw_id(&chrome->json, chrome->dictionary, attribute->value);
    }
}

static tsmith_status finish(void *self, const tsmith_dictionary *dictionary, tsmith_error *error) {
    struct chrome *chrome = self;
    start(chrome, dictionary);
    if (!put_held(chrome))
        chrome->json.failed = true;
    if (chrome->origin.chrome)
        put_metadata_events(chrome);
    else
        chrome_put_names(chrome);
    output_text(&chrome->output, "\n]");
    if (chrome->origin.chrome)
        chrome_put_top_keys(&chrome->json, chrome->dictionary, chrome->producer);
    else
        chrome_put_other_data(&chrome->json, chrome->dictionary);
    if (chrome->stacks && !chrome_put_stacks(&chrome->output, chrome->dictionary))
        chrome->json.failed = true;
    output_text(&chrome->output, "}\n");
    if (chrome->json.failed)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    return output_finish(&chrome->output, error);
}

static void destroy(void *self) {
    struct chrome *chrome = self;
    if (!chrome)
        return;
    clear_plans(chrome);
    free(chrome->plans);
    chrome_finish_tracks(chrome);
    chrome_lanes_finish(&chrome->lanes);
    json_out_finish(&chrome->json);
    output_close(&chrome->output);
    free(chrome->text.buffer);
    free(chrome);
}

tsmith_status chrome_open(const struct export_place *place, const tsmith_export_options *options,
                          tsmith_sink **out, tsmith_error *error) {
    static const tsmith_sink_ops ops = {write_batch, finish, destroy};
    struct chrome *chrome = calloc(1, sizeof *chrome);
    if (!chrome || !(chrome->text.buffer = malloc(OUTPUT_SIZE + OUTPUT_RESERVE))) {
        free(chrome);
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    }
    chrome->json.output = &chrome->output;
    return output_sink(&chrome->output, &ops, chrome, place, options, out, error);
}
