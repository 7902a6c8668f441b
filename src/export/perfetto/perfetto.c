// SPDX-License-Identifier: Apache-2.0
// Perfetto's protobuf trace.
//
// Every track of the dictionary is a sequence of packets with texts interned and times as differences. A batch is
// turned into a plan first: the target of each column. A row is then one pass over the plan that leaves a TrackEvent
// (without the packet around it) with its sequence, where it waits until its place among the others of its track is
// known (order.c).
//
// Every field of a row is kept: in Perfetto's own field (name, category, correlation, counters, flows) or as a
// debug annotation. Facts that are not in Perfetto's fields (a kind that the category does not imply, a start before
// 0) are an annotation with the name of the field.
#include <limits.h>
#include <stdlib.h>

#include "base/hash.h"
#include "event/category.h"
#include "export/formats.h"
#include "export/perfetto/perfetto.h"

enum {
    EXTRA_COUNTERS_MAX = 8, // that trace_processor accepts after the first one of an event
    INTERNED_MAX = 1 << 20, // texts of a sequence before it forgets them and begins anew
    BYTES_MAX = 1 << 30     // that one batch can make wait
};

// Facts of a row in annotations that other rows do not need.
enum exception {
    SAYS_START = 1 << 0,
    SAYS_DURATION = 1 << 1,
    SAYS_KIND = 1 << 2,
    SAYS_NAME = 1 << 3,
    SAYS_CATEGORY = 1 << 4
};

enum role {
    ROLE_ANNOTATION,
    ROLE_COUNTER, // a series when the event is a counter, an annotation when it is not
    ROLE_FLOWS,
    ROLE_ENDING_FLOWS,
    ROLE_STACK, // an annotation where the trace does not have it
    ROLE_SILENT // written in another way
};

struct perfetto_column {
    tsmith_view column;
    enum role role;
    uint32_t name_iid;
    size_t field;      // in perfetto->fields
    uint64_t last_key; // of the string seen last, and its number
    uint32_t last_iid;
};

// The columns of the batch by what they mean; NULL when it has none.
struct plan {
    struct perfetto *perfetto;
    struct sequence *sequence;
    uint32_t track, process;
    size_t row_bytes; // no row needs more, but for its lists
    struct perfetto_column *start, *duration, *kind, *name, *category, *correlation, *flow, *flow_id, *ph,
        *id;
    uint64_t flow_text; // of the flow seen last
    uint64_t flow_base;
    uint32_t flow_field;
    uint64_t name_key, category_key; // seen last
    struct interned name_seen, category_seen;
};

// ---- reading columns

static bool has_value(const struct perfetto_column *it, uint32_t row) {
    return it && tsmith_view_has(&it->column, row);
}

static uint64_t value_at(const struct perfetto_column *it, uint32_t row) {
    return tsmith_view_known(&it->column, row);
}

// ---- texts

static const struct interned *intern_string(struct plan *plan, enum space space, uint32_t id) {
    tsmith_string text = tsmith_dictionary_string(plan->perfetto->dictionary, id);
    return perfetto_intern(plan->perfetto, plan->sequence, space, (uint64_t)id + 1, text.bytes, text.length);
}

// A text of our tables: apart from the ids of the dictionary, which are below 2^32 + 1.
static const struct interned *intern_constant(struct plan *plan, enum space space, tsmith_type type,
                                              uint64_t value) {
    const char *text = tsmith_value_name(type, value);
    if (!text)
        text = "unknown";
    return perfetto_intern(plan->perfetto, plan->sequence, space, (uint64_t)(type + 2) << 40 | value, text,
                           strlen(text));
}

// ---- annotations

static bool is_text(tsmith_type type) {
    return type == TSMITH_TYPE_STRING || tsmith_type_has_names(type);
}

static uint32_t text_iid(struct plan *plan, struct perfetto_column *it, uint64_t value) {
    if (it->last_iid && it->last_key == value)
        return it->last_iid;
    const struct interned *interned = it->column.type == TSMITH_TYPE_STRING
                                          ? intern_string(plan, SPACE_STRING, (uint32_t)value)
                                          : intern_constant(plan, SPACE_STRING, it->column.type, value);
    it->last_key = value;
    it->last_iid = interned ? interned->iid : 0;
    return it->last_iid;
}

static uint32_t track_uuid(struct plan *plan, uint64_t track) {
    const struct sequence *sequence = track < tsmith_dictionary_track_count(plan->perfetto->dictionary)
                                          ? perfetto_sequence(plan->perfetto, (uint32_t)track)
                                          : NULL;
    return sequence ? sequence->uuid : 0;
}

// A scalar: at most 2 + 6 + 11 bytes.
static uint8_t *put_scalar(struct plan *plan, uint8_t *at, struct perfetto_column *it, uint64_t value) {
    uint8_t *length;
    *at++ = EVENT_ANNOTATION << 3 | PROTO_BYTES;
    length = at++;
    at = proto_uint(at, ANNOTATION_NAME, it->name_iid);
    switch ((int)it->column.type) {
    case TSMITH_TYPE_TIME:
    case TSMITH_TYPE_I64:
        at = proto_uint(at, ANNOTATION_INT, value);
        break;
    case TSMITH_TYPE_F64:
        at = proto_fixed64(at, ANNOTATION_DOUBLE, value);
        break;
    case TSMITH_TYPE_BOOL:
        at = proto_uint(at, ANNOTATION_BOOL, value != 0);
        break;
    case TSMITH_TYPE_TRACK:
        at = proto_uint(at, ANNOTATION_UINT, track_uuid(plan, value));
        break;
    default:
        at = is_text(it->column.type) ? proto_uint(at, ANNOTATION_STRING_ID, text_iid(plan, it, value))
                                      : proto_uint(at, ANNOTATION_UINT, value);
    }
    *length = (uint8_t)(at - length - 1);
    return at;
}

// False when the trace has no such stack.
static bool put_stack(struct plan *plan, uint8_t **at, struct perfetto_column *it, uint64_t stack) {
    if (stack > UINT32_MAX || !tsmith_dictionary_stack(plan->perfetto->dictionary, (uint32_t)stack))
        return false;
    if (!it->last_iid || it->last_key != stack) {
        it->last_key = stack;
        it->last_iid = perfetto_stack(plan->perfetto, plan->sequence, (uint32_t)stack);
    }
    *at = proto_uint(*at, EVENT_CALLSTACK, it->last_iid);
    return true;
}

static void put_list(struct proto_out *out, const struct perfetto_column *it, uint32_t row) {
    const uint64_t *values = it->column.values;
    size_t annotation = proto_open(out);
    proto_add_uint(out, ANNOTATION_NAME, it->name_iid);
    for (uint32_t i = it->column.offsets[row]; i < it->column.offsets[row + 1]; i++) {
        size_t value = proto_open(out);
        proto_add_uint(out, ANNOTATION_UINT, values[i]);
        proto_close(out, value, ANNOTATION_ARRAY);
    }
    // An empty list is a list, too.
    if (it->column.offsets[row] == it->column.offsets[row + 1])
        proto_add_bytes(out, ANNOTATION_ARRAY, "", 0);
    proto_close(out, annotation, EVENT_ANNOTATION);
}

static void put_flows(struct proto_out *out, const struct perfetto_column *it, uint32_t row) {
    const uint64_t *values = it->column.values;
    for (uint32_t i = it->column.offsets[row]; i < it->column.offsets[row + 1]; i++)
        proto_add_fixed64(out, it->role == ROLE_FLOWS ? EVENT_FLOW : EVENT_TERMINATING_FLOW, values[i]);
}

// An annotation of a field that is usually written in another way.
static void put_exception(struct plan *plan, uint32_t field, uint64_t value, uint32_t value_field) {
    struct perfetto *perfetto = plan->perfetto;
    struct proto_out *out = &plan->sequence->events;
    size_t index = perfetto_field(perfetto, field);
    if (index == SIZE_MAX)
        return;
    const char *name = perfetto->fields[index].name;
    const struct interned *interned =
        perfetto_intern(perfetto, plan->sequence, SPACE_ANNOTATION, index + 1, name, strlen(name));
    size_t annotation = proto_open(out);
    proto_add_uint(out, ANNOTATION_NAME, interned ? interned->iid : 0);
    proto_add_uint(out, value_field, value);
    proto_close(out, annotation, EVENT_ANNOTATION);
}

// ---- flows

// A number that arrows of other processes and categories do not have.
static uint64_t flow_number(uint64_t base, uint64_t id) {
    return (base ^ id * 0x9e3779b97f4a7c15u) | 1;
}

// "cat":"..." of the flow that a Chrome trace had at the event, and whether it begins there.
static void read_flow(struct plan *plan, uint64_t id) {
    static const char category[] = "\"cat\":\"", ending[] = "\"ph\":\"f\"";
    const char *text = tsmith_dictionary_string(plan->perfetto->dictionary, (uint32_t)id).bytes;
    const char *at = strstr(text, category);
    at = at ? at + sizeof category - 1 : "";
    plan->flow_text = id;
    plan->flow_base = hash_bytes(at, strcspn(at, "\""));
    plan->flow_field = strstr(text, ending) ? EVENT_TERMINATING_FLOW : EVENT_FLOW;
}

static uint8_t *put_imported_flow(struct plan *plan, uint8_t *at, tsmith_kind kind, uint32_t row) {
    const struct perfetto_column *id = has_value(plan->flow_id, row) ? plan->flow_id : plan->correlation;
    if (kind == TSMITH_KIND_FLOW && has_value(plan->ph, row) && has_value(plan->id, row)) {
        const tsmith_dictionary *dictionary = plan->perfetto->dictionary;
        tsmith_string ph = tsmith_dictionary_string(dictionary, (uint32_t)value_at(plan->ph, row));
        tsmith_string category = {"", 0};
        if (has_value(plan->category, row))
            category = tsmith_dictionary_string(dictionary, (uint32_t)value_at(plan->category, row));
        return proto_fixed64(
            at, *ph.bytes == 'f' ? EVENT_TERMINATING_FLOW : EVENT_FLOW,
            flow_number(hash_bytes(category.bytes, category.length), value_at(plan->id, row)));
    }
    if (!has_value(plan->flow, row) || !has_value(id, row))
        return at;
    uint64_t text = value_at(plan->flow, row);
    if (text != plan->flow_text)
        read_flow(plan, text);
    return proto_fixed64(at, plan->flow_field, flow_number(plan->flow_base, value_at(id, row)));
}

// An arrow from the call to the work it made.
static uint8_t *put_own_flow(struct plan *plan, uint8_t *at, tsmith_kind kind, uint32_t row) {
    if (!has_value(plan->correlation, row))
        return at;
    uint64_t number = flow_number((uint64_t)plan->process << 32, value_at(plan->correlation, row));
    if (kind == TSMITH_KIND_API)
        return proto_fixed64(at, EVENT_FLOW, number);
    if (kind == TSMITH_KIND_KERNEL || kind == TSMITH_KIND_MEMCPY || kind == TSMITH_KIND_MEMSET)
        return proto_fixed64(at, EVENT_TERMINATING_FLOW, number);
    return at;
}

// ---- counters

static uint32_t counter_uuid(struct plan *plan, const struct perfetto_column *it, uint32_t row) {
    struct perfetto *perfetto = plan->perfetto;
    uint64_t name = has_value(plan->name, row) ? value_at(plan->name, row) : 0;
    // Up to 2^24 fields, and the name.
    uint64_t key = (uint64_t)(it->field + 1) << 32 | (uint32_t)name;
    struct interned *slot = perfetto_slot(perfetto, plan->sequence, SPACE_COUNTER, key & ((1ull << 56) - 1));
    if (slot && !slot->iid) {
        bool series = it->column.field != TSMITH_FIELD_VALUE;
        uint32_t uuid = perfetto_put_counter(perfetto, plan->track,
                                             tsmith_dictionary_string(perfetto->dictionary, (uint32_t)name),
                                             series ? perfetto->fields[it->field].name : "");
        slot->iid = uuid;
    }
    return slot ? slot->iid : 0;
}

static uint8_t *put_series(uint8_t *at, const struct perfetto_column *it, uint32_t uuid, uint64_t value,
                           bool first) {
    bool real = it->column.type == TSMITH_TYPE_F64;
    at = proto_uint(at, first ? EVENT_TRACK : real ? EVENT_EXTRA_DOUBLE_TRACK : EVENT_EXTRA_TRACK, uuid);
    if (real)
        return proto_fixed64(at, first ? EVENT_DOUBLE_VALUE : EVENT_EXTRA_DOUBLE, value);
    return proto_uint(at, first ? EVENT_COUNTER_VALUE : EVENT_EXTRA_VALUE, value);
}

// ---- rows

static bool is_series(const struct perfetto_column *it, uint32_t row) {
    return it->role == ROLE_COUNTER && has_value(it, row) &&
           (it->column.type != TSMITH_TYPE_U64 || value_at(it, row) <= INT64_MAX);
}

static bool is_counter(const struct plan *plan, tsmith_kind kind, uint32_t row) {
    if (kind != TSMITH_KIND_COUNTER)
        return false;
    for (size_t i = 0; i < plan->perfetto->column_count; i++)
        if (is_series(&plan->perfetto->columns[i], row))
            return true;
    return false;
}

// Name and category. Fields that they do not imply are left in *exceptions, a bit per field.
static uint8_t *put_head(struct plan *plan, uint8_t *at, tsmith_kind kind, tsmith_kind natural, uint32_t row,
                         uint32_t *exceptions) {
    bool own = !plan->perfetto->origin.verbatim || kind == TSMITH_KIND_LOSS;
    tsmith_kind said = natural;
    if (has_value(plan->category, row) || own) {
        uint64_t key =
            has_value(plan->category, row) ? value_at(plan->category, row) : UINT64_MAX - (uint64_t)kind;
        if (key != plan->category_key || !plan->category_seen.iid) {
            const struct interned *it =
                key <= UINT32_MAX ? intern_string(plan, SPACE_CATEGORY, (uint32_t)key)
                                  : intern_constant(plan, SPACE_CATEGORY, TSMITH_TYPE_KIND, (uint64_t)kind);
            plan->category_key = key;
            plan->category_seen = it ? *it : (struct interned){0};
        }
        at = proto_uint(at, EVENT_CATEGORY, plan->category_seen.iid);
        if (plan->category_seen.kind)
            said = (tsmith_kind)plan->category_seen.kind;
        if (own && key <= UINT32_MAX && said == kind)
            *exceptions |= SAYS_CATEGORY;
    }
    if (said != kind)
        *exceptions |= SAYS_KIND;
    if (!has_value(plan->name, row) && !own)
        return at;
    uint64_t key = has_value(plan->name, row) ? value_at(plan->name, row) : UINT64_MAX - (uint64_t)kind;
    if (key != plan->name_key || !plan->name_seen.iid) {
        const struct interned *it = key <= UINT32_MAX
                                        ? intern_string(plan, SPACE_NAME, (uint32_t)key)
                                        : intern_constant(plan, SPACE_NAME, TSMITH_TYPE_KIND, (uint64_t)kind);
        plan->name_key = key;
        plan->name_seen = it ? *it : (struct interned){0};
    }
    if (own && key <= UINT32_MAX && plan->name_seen.kind == (uint32_t)kind)
        *exceptions |= SAYS_NAME;
    return proto_uint(at, EVENT_NAME, plan->name_seen.iid);
}

static void put_exceptions(struct plan *plan, uint32_t exceptions, tsmith_kind kind, uint32_t row) {
    if (exceptions & SAYS_KIND) {
        const struct interned *it = intern_constant(plan, SPACE_STRING, TSMITH_TYPE_KIND, (uint64_t)kind);
        put_exception(plan, TSMITH_FIELD_KIND, it ? it->iid : 0, ANNOTATION_STRING_ID);
    }
    if (exceptions & SAYS_NAME) {
        const struct interned *it = intern_string(plan, SPACE_STRING, (uint32_t)value_at(plan->name, row));
        put_exception(plan, TSMITH_FIELD_NAME, it ? it->iid : 0, ANNOTATION_STRING_ID);
    }
    if (exceptions & SAYS_CATEGORY) {
        const struct interned *it =
            intern_string(plan, SPACE_STRING, (uint32_t)value_at(plan->category, row));
        put_exception(plan, TSMITH_FIELD_CATEGORY, it ? it->iid : 0, ANNOTATION_STRING_ID);
    }
    if (exceptions & SAYS_START)
        put_exception(plan, TSMITH_FIELD_START, value_at(plan->start, row), ANNOTATION_INT);
    if (exceptions & SAYS_DURATION)
        put_exception(plan, TSMITH_FIELD_DURATION, value_at(plan->duration, row), ANNOTATION_INT);
}

// The columns: annotations, or series of a counter. False when memory is exhausted.
static bool put_columns(struct plan *plan, uint8_t *at, bool counter, uint32_t row) {
    struct proto_out *out = &plan->sequence->events;
    unsigned series = 0;
    for (size_t i = 0; i < plan->perfetto->column_count; i++) {
        struct perfetto_column *it = &plan->perfetto->columns[i];
        if (it->role == ROLE_SILENT || !tsmith_view_has(&it->column, row))
            continue;
        if (it->role == ROLE_STACK && put_stack(plan, &at, it, value_at(it, row)))
            continue;
        if (counter && series <= EXTRA_COUNTERS_MAX && is_series(it, row)) {
            at = put_series(at, it, counter_uuid(plan, it, row), value_at(it, row), series++ == 0);
        } else if (it->column.type != TSMITH_TYPE_LIST) {
            at = put_scalar(plan, at, it, value_at(it, row));
        } else {
            proto_end(out, at);
            if (it->role == ROLE_ANNOTATION)
                put_list(out, it, row);
            else
                put_flows(out, it, row);
            at = proto_begin(out, plan->row_bytes);
            if (!at)
                return false;
        }
    }
    proto_end(out, at);
    return true;
}

static void wait_for_place(struct plan *plan, int64_t start, int64_t end, size_t at) {
    struct sequence *sequence = plan->sequence;
    if (sequence->waiting_count == sequence->waiting_capacity) {
        void *waiting = sequence->waiting;
        if (!array_reserve(&waiting, &sequence->waiting_capacity, sequence->waiting_count + 1,
                           sizeof *sequence->waiting)) {
            plan->perfetto->failed = true;
            return;
        }
        sequence->waiting = waiting;
    }
    size_t length = sequence->events.used - at;
    sequence->waiting[sequence->waiting_count++] =
        (struct waiting){start, end, (uint32_t)at, (uint32_t)length};
    plan->perfetto->held += length + sizeof *sequence->waiting;
}

static void put_row(struct plan *plan, uint32_t row) {
    struct proto_out *out = &plan->sequence->events;
    size_t from = out->used;
    uint8_t *at = proto_begin(out, plan->row_bytes);
    if (!at)
        return;
    tsmith_kind kind = plan->kind ? (tsmith_kind)value_at(plan->kind, row) : TSMITH_KIND_NONE;
    int64_t start = (int64_t)value_at(plan->start, row), end = INT64_MIN;
    uint32_t exceptions = 0;
    bool counter = is_counter(plan, kind, row);
    if (has_value(plan->duration, row)) {
        int64_t duration = (int64_t)value_at(plan->duration, row);
        if (counter || start < 0 || duration < 0 || __builtin_add_overflow(start, duration, &end) ||
            end == INT64_MAX) {
            end = INT64_MIN;
            exceptions |= SAYS_DURATION;
        }
    }
    if (start < 0)
        exceptions |= SAYS_START;
    bool slice = end != INT64_MIN;
    *at++ = EVENT_TYPE << 3;
    *at++ = counter ? TYPE_COUNTER : slice ? TYPE_SLICE_BEGIN : TYPE_INSTANT;
    at = put_head(plan, at, kind,
                  counter ? TSMITH_KIND_COUNTER
                  : slice ? TSMITH_KIND_RANGE
                          : TSMITH_KIND_MARKER,
                  row, &exceptions);
    if (has_value(plan->correlation, row))
        at = proto_uint(at, EVENT_CORRELATION, value_at(plan->correlation, row));
    if (plan->perfetto->origin.chrome)
        at = put_imported_flow(plan, at, kind, row);
    else if (!plan->perfetto->origin.verbatim)
        at = put_own_flow(plan, at, kind, row);
    if (!put_columns(plan, at, counter, row))
        return;
    if (exceptions)
        put_exceptions(plan, exceptions, kind, row);
    wait_for_place(plan, start < 0 ? 0 : start, end, from);
}

// ---- the plan of a batch

static enum role role_of(const struct perfetto *perfetto, const tsmith_view *column,
                         const tsmith_field_info *info) {
    if (column->field <= TSMITH_FIELD_CORRELATION || column->field == TSMITH_FIELD_CATEGORY)
        return ROLE_SILENT;
    if (column->field == TSMITH_FIELD_STACK && perfetto->stacks)
        return ROLE_STACK;
    if (column->type == TSMITH_TYPE_LIST && strcmp(info->unit, "flow") == 0 && perfetto->origin.verbatim)
        return strcmp(info->name, "flow_ids") == 0               ? ROLE_FLOWS
               : strcmp(info->name, "terminating_flow_ids") == 0 ? ROLE_ENDING_FLOWS
                                                                 : ROLE_ANNOTATION;
    return origin_is_series(perfetto->origin, column, info) ? ROLE_COUNTER : ROLE_ANNOTATION;
}

// The columns that a Chrome trace had for what we name otherwise.
static void assign_dynamic(struct plan *plan, struct perfetto_column *it, const tsmith_field_info *info) {
    static const struct {
        const char *name, *unit;
        tsmith_type type;
        size_t at;
    } meanings[] = {
        {"flow", "flow", TSMITH_TYPE_STRING, offsetof(struct plan, flow)},
        {"flow_id", "flow", TSMITH_TYPE_I64, offsetof(struct plan, flow_id)},
        {"ph", "event", TSMITH_TYPE_STRING, offsetof(struct plan, ph)},
        {"id", "event", TSMITH_TYPE_I64, offsetof(struct plan, id)},
    };
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (strcmp(info->name, meanings[i].name) == 0 && strcmp(info->unit, meanings[i].unit) == 0 &&
            it->column.type == meanings[i].type)
            memcpy((char *)plan + meanings[i].at, &it, sizeof it);
}

static void assign(struct plan *plan, struct perfetto_column *it) {
    tsmith_field_info info;
    switch (it->column.field) {
    case TSMITH_FIELD_START:
        plan->start = it;
        break;
    case TSMITH_FIELD_DURATION:
        plan->duration = it;
        break;
    case TSMITH_FIELD_KIND:
        plan->kind = it;
        break;
    case TSMITH_FIELD_NAME:
        plan->name = it;
        break;
    case TSMITH_FIELD_CATEGORY:
        plan->category = it;
        break;
    case TSMITH_FIELD_CORRELATION:
        plan->correlation = it;
        break;
    default:
        if (it->column.field > TSMITH_FIELD_DYNAMIC &&
            tsmith_dictionary_describe_field(plan->perfetto->dictionary, it->column.field, &info))
            assign_dynamic(plan, it, &info);
    }
}

static void plan_column(struct plan *plan, tsmith_view column) {
    struct perfetto *perfetto = plan->perfetto;
    tsmith_field_info info;
    size_t field = perfetto_field(perfetto, column.field);
    if (field == SIZE_MAX || !tsmith_dictionary_describe_field(perfetto->dictionary, column.field, &info))
        return; // a field without a description has no name
    struct perfetto_column it = {.column = column, .role = role_of(perfetto, &column, &info), .field = field};
    if (it.role == ROLE_ANNOTATION || it.role == ROLE_COUNTER || it.role == ROLE_STACK) {
        const char *name = perfetto->fields[field].name;
        const struct interned *interned =
            perfetto_intern(perfetto, plan->sequence, SPACE_ANNOTATION, field + 1, name, strlen(name));
        it.name_iid = interned ? interned->iid : 0;
    }
    perfetto->columns[perfetto->column_count++] = it;
}

static bool open_stacks(struct perfetto *perfetto) {
    return perfetto->stacks || tsmith_dictionary_stack_count(perfetto->dictionary) <= 1 ||
           tsmith_stack_names_create(perfetto->dictionary, &perfetto->stacks) == TSMITH_OK;
}

static bool make_plan(struct perfetto *perfetto, struct plan *plan, const tsmith_batch *batch) {
    const tsmith_track *track = tsmith_dictionary_track(perfetto->dictionary, tsmith_batch_track(batch));
    uint32_t count = tsmith_batch_column_count(batch);
    *plan = (struct plan){.perfetto = perfetto,
                          .track = tsmith_batch_track(batch),
                          .process = track ? track->process : 0,
                          .row_bytes = (size_t)count * 32 + 96};
    plan->sequence = perfetto_sequence(perfetto, plan->track);
    if (!plan->sequence || !open_stacks(perfetto) ||
        !ARRAY_RESERVE(perfetto->columns, perfetto->column_capacity, count))
        return false;
    if (plan->sequence->slots_used > INTERNED_MAX) {
        perfetto_put_waiting(perfetto, plan->track, plan->sequence, plan->sequence->waiting_count, false);
        perfetto_forget(perfetto, plan->sequence);
        plan->sequence = perfetto_sequence(perfetto, plan->track);
    }
    perfetto->column_count = 0;
    for (uint32_t i = 0; i < count; i++)
        plan_column(plan, tsmith_view_at(batch, i));
    for (size_t i = 0; i < perfetto->column_count; i++)
        assign(plan, &perfetto->columns[i]);
    return !perfetto->failed;
}

// ---- the sink

static tsmith_status final_status(struct perfetto *perfetto, tsmith_error *error) {
    if (perfetto->failed)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    if (perfetto->output.status != TSMITH_OK && error)
        *error = perfetto->output.error;
    return perfetto->output.status;
}

static void begin(struct perfetto *perfetto, const tsmith_dictionary *dictionary) {
    perfetto->dictionary = dictionary;
    if (!perfetto->started)
        perfetto_start(perfetto);
    perfetto->started = true;
}

static tsmith_status write_batch(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                 tsmith_error *error) {
    struct perfetto *perfetto = self;
    struct plan plan;
    begin(perfetto, dictionary);
    uint32_t count = tsmith_batch_count(batch);
    if (count == 0)
        return final_status(perfetto, error);
    if (!make_plan(perfetto, &plan, batch))
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    for (uint32_t row = 0; plan.start && row < count; row++) {
        put_row(&plan, row);
        if (plan.sequence->events.used > BYTES_MAX || row + 1 == count)
            perfetto_put_interned(perfetto, plan.track, plan.sequence);
        if (plan.sequence->events.used > BYTES_MAX)
            perfetto_put_waiting(perfetto, plan.track, plan.sequence, plan.sequence->waiting_count, false);
    }
    perfetto->failed |= plan.sequence->events.failed;
    perfetto_bound(perfetto);
    return final_status(perfetto, error);
}

static tsmith_status finish(void *self, const tsmith_dictionary *dictionary, tsmith_error *error) {
    struct perfetto *perfetto = self;
    begin(perfetto, dictionary);
    for (size_t track = 0; track < perfetto->sequence_capacity && !perfetto->failed; track++)
        if (perfetto->sequences[track])
            perfetto_put_waiting(perfetto, (uint32_t)track, perfetto->sequences[track], SIZE_MAX, true);
    perfetto_put_attributes(perfetto);
    perfetto_put_rest(perfetto);
    if (perfetto->failed)
        return final_status(perfetto, error);
    return output_finish(&perfetto->output, error);
}

static void destroy(void *self) {
    struct perfetto *perfetto = self;
    if (!perfetto)
        return;
    perfetto_finish_tracks(perfetto);
    tsmith_stack_names_destroy(perfetto->stacks);
    free(perfetto->lines);
    free(perfetto->columns);
    output_close(&perfetto->output);
    free(perfetto);
}

tsmith_status perfetto_open(const struct export_place *place, const tsmith_export_options *options,
                            tsmith_sink **out, tsmith_error *error) {
    static const tsmith_sink_ops ops = {write_batch, finish, destroy};
    struct perfetto *perfetto = calloc(1, sizeof *perfetto);
    if (!perfetto)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    perfetto->next_uuid = 1;
    return output_sink(&perfetto->output, &ops, perfetto, place, options, out, error);
}
