// SPDX-License-Identifier: Apache-2.0
// From a row of a rocpd database to events.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/table.h"
#include "import/rocpd/rocpd.h"

enum { PLACE_THREAD, PLACE_QUEUE, PLACE_COPIES, PLACE_PROCESS, PLACE_COUNTER };

enum rocpd_role rocpd_role(const char *column) {
    static const struct {
        const char *name;
        enum rocpd_role role;
    } roles[] = {{"id", ROCPD_NEEDLESS},
                 {"guid", ROCPD_NEEDLESS},
                 {"nid", ROCPD_NEEDLESS},
                 {"start", ROCPD_START},
                 {"timestamp", ROCPD_START},
                 {"end", ROCPD_END},
                 {"pid", ROCPD_PID},
                 {"tid", ROCPD_TID},
                 {"agent_id", ROCPD_AGENT},
                 {"queue_id", ROCPD_QUEUE},
                 {"stream_id", ROCPD_STREAM},
                 {"kernel_id", ROCPD_KERNEL},
                 {"name_id", ROCPD_NAME},
                 {"region_name_id", ROCPD_REGION_NAME},
                 {"event_id", ROCPD_EVENT},
                 {"track_id", ROCPD_TRACK},
                 {"grid_size_x", ROCPD_GRID_X},
                 {"grid_size_y", ROCPD_GRID_Y},
                 {"grid_size_z", ROCPD_GRID_Z},
                 {"workgroup_size_x", ROCPD_GROUP_X},
                 {"workgroup_size_y", ROCPD_GROUP_Y},
                 {"workgroup_size_z", ROCPD_GROUP_Z},
                 {"size", ROCPD_SIZE},
                 {"type", ROCPD_TYPE},
                 {"address", ROCPD_ADDRESS},
                 {"dst_agent_id", ROCPD_TO_AGENT},
                 {"src_agent_id", ROCPD_FROM_AGENT},
                 {"event category", ROCPD_CATEGORY},
                 {"stack_id", ROCPD_CORRELATION},
                 {"extdata", ROCPD_DOCUMENT},
                 {"event_extdata", ROCPD_DOCUMENT},
                 {"call_stack", ROCPD_DOCUMENT},
                 {"line_info", ROCPD_DOCUMENT}};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(roles[i].name, column) == 0)
            return roles[i].role;
    return ROCPD_AS_IS;
}

struct row {
    struct rocpd *rocpd;
    struct rocpd_part *part;
    tsmith_batch *batch;
    tsmith_kind kind;
    int64_t start, duration;
    bool has_duration;
    uint32_t name, category; // strings
    uint64_t told;           // roles that need no field
};

// ---- values of the row

static bool number_of(const struct row *row, enum rocpd_role role, int64_t *out) {
    int at = row->rocpd->roles[role];
    if (at < 0 || sqlite3_column_type(row->rocpd->rows, at) != SQLITE_INTEGER)
        return false;
    *out = sqlite3_column_int64(row->rocpd->rows, at);
    return true;
}

// What the number in this column refers to; NULL when there is none, or it leads nowhere.
static struct rocpd_info *info_of(const struct row *row, enum rocpd_role role,
                                  const struct rocpd_infos *infos) {
    int64_t id;
    if (!number_of(row, role, &id))
        return NULL;
    struct rocpd_info *info = rocpd_find(infos, id);
    row->rocpd->problems[ROCPD_PROBLEM_DANGLING] += !info;
    return info;
}

static bool text_is(const struct row *row, enum rocpd_role role, const char *wanted) {
    int at = row->rocpd->roles[role];
    const char *text = at < 0 ? NULL : (const char *)sqlite3_column_text(row->rocpd->rows, at);
    return text && strcmp(text, wanted) == 0;
}

static void set(struct row *row, uint32_t field, uint64_t bits) {
    row->rocpd->failed |= tsmith_batch_set(row->batch, field, bits) != TSMITH_OK;
}

static uint32_t new_field(struct rocpd *rocpd, uint32_t name, tsmith_type type, uint32_t unit) {
    tsmith_dictionary *dictionary = rocpd->dictionary;
    const tsmith_dynamic_field field = {.name = name, .unit = unit, .type = (uint32_t)type};
    for (uint32_t id = 1; id < tsmith_dictionary_dynamic_field_count(dictionary); id++) {
        const tsmith_dynamic_field *other = tsmith_dictionary_dynamic_field(dictionary, id);
        if (other->name == name && other->unit == unit && other->type == field.type)
            return TSMITH_FIELD_DYNAMIC + id;
    }
    if (rocpd->field_count == ROCPD_FIELDS_MAX) {
        rocpd->problems[ROCPD_PROBLEM_FIELDS]++;
        return 0;
    }
    rocpd->field_count++;
    uint32_t id = tsmith_dictionary_add_dynamic_field(dictionary, &field);
    rocpd->failed |= id == 0;
    return id ? TSMITH_FIELD_DYNAMIC + id : 0;
}

static void set_dynamic(struct row *row, uint32_t field, tsmith_type type, uint64_t bits) {
    if (field)
        row->rocpd->failed |= tsmith_batch_set_dynamic(row->batch, field, type, bits) != TSMITH_OK;
}

// The value as it is, in a field of the column's name.
static void keep_value(struct row *row, int index) {
    static const tsmith_type types[] = {TSMITH_TYPE_I64, TSMITH_TYPE_F64, TSMITH_TYPE_STRING,
                                        TSMITH_TYPE_STRING};
    struct rocpd *rocpd = row->rocpd;
    struct rocpd_column *column = &rocpd->columns[index];
    int type = sqlite3_column_type(rocpd->rows, index);
    int form = type == SQLITE_INTEGER ? 0 : type == SQLITE_FLOAT ? 1 : type == SQLITE_TEXT ? 2 : 3;
    double real = form == 1 ? sqlite3_column_double(rocpd->rows, index) : 0;
    uint64_t bits = 0;
    if (form == 0)
        bits = (uint64_t)sqlite3_column_int64(rocpd->rows, index);
    else if (form == 1)
        memcpy(&bits, &real, sizeof bits);
    else
        bits = rocpd_text(rocpd, rocpd->rows, index);
    uint32_t *field = &column->fields[form];
    if (!*field)
        *field = new_field(rocpd, tsmith_dictionary_intern_cstr(rocpd->dictionary, column->name), types[form],
                           form == 3 ? tsmith_dictionary_intern_cstr(rocpd->dictionary, "blob") : 0);
    set_dynamic(row, *field, types[form], bits);
}

// A text that a number stands for, in a field of this name.
static void keep_text(struct row *row, const char *name, uint32_t text) {
    uint32_t id = tsmith_dictionary_intern_cstr(row->rocpd->dictionary, name);
    set_dynamic(row, new_field(row->rocpd, id, TSMITH_TYPE_STRING, 0), TSMITH_TYPE_STRING, text);
}

// ---- tracks

// The track of this key, which `track` describes when it is new; 0 when there are too many.
static uint32_t track_of(struct rocpd *rocpd, const int64_t key[5], const tsmith_track *track) {
    if (!TABLE_ROOM(rocpd->places, rocpd->place_slots, rocpd->place_count, 256, slot, slot->track,
                    hash_words(slot->key, 5))) {
        rocpd->failed = true;
        return 0;
    }
    struct rocpd_place *place = TABLE_SLOT(rocpd->places, rocpd->place_slots, hash_words(key, 5), slot,
                                           !slot->track || memcmp(slot->key, key, sizeof slot->key) == 0);
    if (place->track)
        return place->track;
    if (rocpd->place_count == ROCPD_TRACKS_MAX)
        return 0;
    memcpy(place->key, key, sizeof place->key);
    place->track = tsmith_dictionary_add_track(rocpd->dictionary, track);
    rocpd->failed |= place->track == 0;
    rocpd->place_count++;
    return place->track;
}

static const char *string_of(const struct row *row, uint32_t id) {
    return tsmith_dictionary_string(row->rocpd->dictionary, id).bytes;
}

// Processes and threads of different parts are different ones: the part is in every key.
static uint32_t thread_track(struct row *row, int64_t pid, int64_t tid) {
    const struct rocpd_info *process = rocpd_find(&row->part->processes, pid),
                            *thread = rocpd_find(&row->part->threads, tid);
    const int64_t key[5] = {PLACE_THREAD, (int64_t)row->rocpd->part_at, pid, tid, 0};
    const tsmith_track track = {.kind = TSMITH_TRACK_THREAD,
                                .process = process ? process->entry : 0,
                                .name = thread ? thread->name : 0,
                                .tid = (uint64_t)(thread ? thread->a : tid)};
    return track_of(row->rocpd, key, &track);
}

static uint32_t process_track(struct row *row, int64_t pid) {
    const struct rocpd_info *process = rocpd_find(&row->part->processes, pid);
    const int64_t key[5] = {PLACE_PROCESS, (int64_t)row->rocpd->part_at, pid, 0, 0};
    const tsmith_track track = {.kind = TSMITH_TRACK_PROCESS,
                                .process = process ? process->entry : 0,
                                .name = process ? process->name : 0};
    return track_of(row->rocpd, key, &track);
}

static void name_queue(char *name, size_t size, const int64_t *queue, const int64_t *stream, bool copies) {
    if (queue || stream)
        (void)snprintf(name, size, "%s %" PRId64, queue ? "queue" : "stream", queue ? *queue : *stream);
    else
        (void)snprintf(name, size, "%s", copies ? "copies" : "queue");
}

// A queue of the hardware as one stream of the program uses it.
static uint32_t queue_track(struct row *row, int64_t pid, const struct rocpd_info *agent) {
    int64_t queue = 0, stream = 0;
    bool has_queue = number_of(row, ROCPD_QUEUE, &queue), has_stream = number_of(row, ROCPD_STREAM, &stream);
    const struct rocpd_info *process = rocpd_find(&row->part->processes, pid),
                            *queue_info = info_of(row, ROCPD_QUEUE, &row->part->queues),
                            *stream_info = info_of(row, ROCPD_STREAM, &row->part->streams);
    bool copies = row->kind == TSMITH_KIND_MEMCPY && !has_queue && !has_stream;
    const int64_t key[5] = {copies ? PLACE_COPIES : PLACE_QUEUE, (int64_t)row->rocpd->part_at << 32 | pid,
                            agent ? agent->id : -1, has_queue ? queue : -1, has_stream ? stream : -1};
    char name[256];
    const char *one = queue_info ? string_of(row, queue_info->name) : "",
               *two = stream_info ? string_of(row, stream_info->name) : "";
    (void)snprintf(name, sizeof name, "%.100s%s%.100s", one, *one && *two ? ", " : "", two);
    if (!*name)
        name_queue(name, sizeof name, has_queue ? &queue : NULL, has_stream ? &stream : NULL, copies);
    const tsmith_track track = {.kind = copies ? TSMITH_TRACK_COPY_ENGINE : TSMITH_TRACK_QUEUE,
                                .process = process ? process->entry : 0,
                                .device = agent ? agent->entry : 0,
                                .name = tsmith_dictionary_intern_cstr(row->rocpd->dictionary, name),
                                .flags = copies || has_queue || has_stream ? 0 : TSMITH_TRACK_UNNUMBERED,
                                .queue = (uint64_t)(has_stream ? stream : queue)};
    row->told |= 1u << ROCPD_QUEUE | 1u << ROCPD_STREAM | 1u << ROCPD_AGENT;
    if (queue_info == NULL || stream_info == NULL || !*one || !*two) // not all of it is in the name
        row->told &= ~(uint64_t)(1u << ROCPD_QUEUE | 1u << ROCPD_STREAM);
    return track_of(row->rocpd, key, &track);
}

// ---- kinds

static tsmith_kind kind_of_region(const struct row *row) {
    const char *category = string_of(row, row->category);
    size_t length = strlen(category);
    bool marker = strstr(category, "MARKER") || strstr(category, "ROCTX") || strstr(category, "roctx");
    if (marker)
        return row->duration || !row->has_duration ? TSMITH_KIND_RANGE : TSMITH_KIND_MARKER;
    // HIP_RUNTIME_API, HIP_COMPILER_API_EXT, HSA_CORE_API, RCCL_API, ...; rocprof-sys: rocm_hip_api
    bool api = strstr(category, "_API") || (length > 4 && strcmp(category + length - 4, "_api") == 0);
    return api ? TSMITH_KIND_API : TSMITH_KIND_RANGE;
}

static tsmith_kind kind_of(const struct row *row) {
    switch (row->rocpd->table) {
    case ROCPD_KERNELS:
        return TSMITH_KIND_KERNEL;
    case ROCPD_COPIES:
        return TSMITH_KIND_MEMCPY;
    case ROCPD_ALLOCATIONS:
        return text_is(row, ROCPD_TYPE, "FREE") || text_is(row, ROCPD_TYPE, "RECLAIM") ? TSMITH_KIND_FREE
                                                                                       : TSMITH_KIND_ALLOC;
    case ROCPD_REGIONS:
        return kind_of_region(row);
    default:
        return TSMITH_KIND_MARKER;
    }
}

// ---- what several columns say together

static void set_sizes(struct row *row) {
    for (int i = 0; i < 6; i++) {
        enum rocpd_role role = (enum rocpd_role)(ROCPD_GRID_X + i);
        int64_t size;
        if (!number_of(row, role, &size) || size <= 0)
            continue;
        set(row, (i < 3 ? TSMITH_FIELD_GLOBAL_X : TSMITH_FIELD_LOCAL_X - 3) + (uint32_t)i, (uint64_t)size);
        row->told |= (uint64_t)1 << role;
    }
}

static void set_direction(struct row *row, const struct rocpd_info *from, const struct rocpd_info *to) {
    static const struct {
        const char *text;
        tsmith_direction direction;
    } names[] = {{"HOST_TO_DEVICE", TSMITH_DIRECTION_HOST_TO_DEVICE},
                 {"DEVICE_TO_HOST", TSMITH_DIRECTION_DEVICE_TO_HOST},
                 {"HOST_TO_HOST", TSMITH_DIRECTION_HOST_TO_HOST},
                 {"DEVICE_TO_DEVICE", TSMITH_DIRECTION_DEVICE_TO_DEVICE}};
    tsmith_direction direction = TSMITH_DIRECTION_NONE;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(string_of(row, row->name), names[i].text))
            direction = names[i].direction;
    if (!direction && from && to)
        direction = from->gpu ? to->gpu ? TSMITH_DIRECTION_DEVICE_TO_DEVICE : TSMITH_DIRECTION_DEVICE_TO_HOST
                    : to->gpu ? TSMITH_DIRECTION_HOST_TO_DEVICE
                              : TSMITH_DIRECTION_HOST_TO_HOST;
    if (direction == TSMITH_DIRECTION_DEVICE_TO_DEVICE && from && to && from->gpu && to->gpu &&
        from->id != to->id)
        direction = TSMITH_DIRECTION_PEER_TO_PEER;
    if (direction)
        set(row, TSMITH_FIELD_DIRECTION, direction);
}

static void set_number(struct row *row, enum rocpd_role role, uint32_t field) {
    int64_t value;
    if (!number_of(row, role, &value) || (value == 0 && role == ROCPD_SIZE && row->kind == TSMITH_KIND_FREE))
        return;
    // Addresses beyond 2^63 are negative there.
    if (value < 0 && role != ROCPD_ADDRESS)
        return;
    set(row, field, (uint64_t)value);
    row->told |= (uint64_t)1 << role;
}

// ---- arguments and counter values

static void set_attribute(struct row *row, struct rocpd_attribute *attribute, size_t nth) {
    tsmith_dictionary *dictionary = row->rocpd->dictionary;
    uint64_t bits = attribute->value;
    uint32_t unit = attribute->type, name = attribute->name;
    if (attribute->counter)
        memcpy(&bits, &attribute->number, sizeof bits);
    else if (!unit)
        unit = tsmith_dictionary_intern_cstr(dictionary, "argument");
    if (nth) { // a counter of several instances
        char text[200];
        (void)snprintf(text, sizeof text, "%.160s #%zu", string_of(row, name), nth + 1);
        name = tsmith_dictionary_intern_cstr(dictionary, text);
    }
    tsmith_type type = attribute->counter ? TSMITH_TYPE_F64 : TSMITH_TYPE_STRING;
    set_dynamic(row, new_field(row->rocpd, name, type, unit), type, bits);
}

static void set_attributes(struct row *row) {
    int64_t event;
    struct rocpd_attribute *first =
        number_of(row, ROCPD_EVENT, &event) ? rocpd_attributes_of(row->part, event) : NULL;
    const struct rocpd_attribute *end = first ? row->part->attributes + row->part->attribute_count : NULL;
    for (struct rocpd_attribute *at = first; at && at < end && at->event == event; at++) {
        size_t nth = 0;
        for (const struct rocpd_attribute *other = first; other < at && at - first < 256; other++)
            nth += other->name == at->name && other->type == at->type && other->counter == at->counter;
        set_attribute(row, at, nth);
        at->used = 1;
    }
}

// ---- the row

static void add_column(struct row *row, int index) {
    struct rocpd *rocpd = row->rocpd;
    enum rocpd_role role = rocpd->columns[index].role;
    const struct rocpd_info *info;
    if (sqlite3_column_type(rocpd->rows, index) == SQLITE_NULL || role == ROCPD_NEEDLESS ||
        role == ROCPD_EVENT || role == ROCPD_START || (row->told >> role & 1 && role != ROCPD_DOCUMENT))
        return;
    if (role == ROCPD_DOCUMENT) {
        const char *text = (const char *)sqlite3_column_text(rocpd->rows, index);
        if (text && strcmp(text, "{}") == 0)
            return;
    }
    switch (role) {
    case ROCPD_REGION_NAME:
        if (!(info = info_of(row, role, &row->part->strings)))
            break;
        keep_text(row, "region", info->name);
        return;
    case ROCPD_STREAM:
    case ROCPD_QUEUE:
        info = info_of(row, role, role == ROCPD_QUEUE ? &row->part->queues : &row->part->streams);
        if (!info || !info->name)
            break;
        keep_text(row, role == ROCPD_QUEUE ? "queue" : "stream", info->name);
        return;
    case ROCPD_AGENT:
    case ROCPD_TO_AGENT:
    case ROCPD_FROM_AGENT:
        // An agent has its number, for several have one name.
        break;
    default:
        break;
    }
    keep_value(row, index);
}

static bool read_times(struct row *row) {
    int64_t end;
    if (!number_of(row, ROCPD_START, &row->start))
        return false;
    row->told |= 1u << ROCPD_END;
    if (!number_of(row, ROCPD_END, &end))
        return true;
    if (__builtin_sub_overflow(end, row->start, &row->duration))
        return false;
    row->has_duration = row->duration >= 0;
    if (!row->has_duration) {
        row->rocpd->problems[ROCPD_PROBLEM_BACKWARDS]++;
        row->duration = 0;
        row->told &= ~(uint64_t)(1u << ROCPD_END); // as it is
    }
    return true;
}

static void name_row(struct row *row) {
    const struct rocpd_info *info = info_of(row, ROCPD_CATEGORY, &row->part->strings);
    row->category = info ? info->name : 0;
    bool kernel = row->rocpd->table == ROCPD_KERNELS;
    enum rocpd_role role = kernel ? ROCPD_KERNEL : ROCPD_NAME;
    info = info_of(row, role, kernel ? &row->part->kernels : &row->part->strings);
    row->name = info ? info->name : 0;
    if (info)
        row->told |= (uint64_t)1 << ROCPD_NAME; // the number of the kernel is kept
    if (row->category)
        row->told |= (uint64_t)1 << ROCPD_CATEGORY;
}

static uint32_t find_track(struct row *row, const struct rocpd_info *from, const struct rocpd_info *to) {
    int64_t pid = -1, tid;
    bool has_tid = number_of(row, ROCPD_TID, &tid);
    (void)number_of(row, ROCPD_PID, &pid);
    row->told |= 1u << ROCPD_PID;
    if (row->kind == TSMITH_KIND_KERNEL)
        return queue_track(row, pid, info_of(row, ROCPD_AGENT, &row->part->agents));
    if (row->kind == TSMITH_KIND_MEMCPY)
        return queue_track(row, pid, to && to->gpu ? to : from && from->gpu ? from : to);
    if (!has_tid)
        return process_track(row, pid);
    row->told |= 1u << ROCPD_TID;
    return thread_track(row, pid, tid);
}

static bool begin_row(struct row *row, uint32_t track) {
    struct rocpd *rocpd = row->rocpd;
    if (!track) {
        rocpd->problems[ROCPD_PROBLEM_TOO_MANY]++;
        return false;
    }
    row->batch = gather_row(&rocpd->gather, track, (uint32_t)row->kind, row->kind, row->start, row->duration);
    rocpd->failed |= !row->batch;
    if (!row->batch)
        return false;
    if (row->name)
        set(row, TSMITH_FIELD_NAME, row->name);
    if (row->category)
        set(row, TSMITH_FIELD_CATEGORY, row->category);
    return true;
}

// The thread that launched, in the numbers of the system.
static void set_thread(struct row *row) {
    const struct rocpd_info *thread = info_of(row, ROCPD_TID, &row->part->threads);
    int64_t pid, tid;
    if (!thread || !number_of(row, ROCPD_PID, &pid) || !number_of(row, ROCPD_TID, &tid))
        return;
    uint32_t track = thread_track(row, pid, tid);
    if (track)
        set(row, TSMITH_FIELD_HOST_TRACK, track);
    row->told |= 1u << ROCPD_TID;
}

static void add_event(struct row *row) {
    const struct rocpd_info *from = NULL, *to = NULL;
    int64_t correlation;
    name_row(row);
    row->kind = kind_of(row);
    if (row->kind == TSMITH_KIND_MEMCPY) {
        from = info_of(row, ROCPD_FROM_AGENT, &row->part->agents);
        to = info_of(row, ROCPD_TO_AGENT, &row->part->agents);
    }
    if (!begin_row(row, find_track(row, from, to)))
        return;
    if (row->kind != TSMITH_KIND_MARKER && row->has_duration)
        set(row, TSMITH_FIELD_DURATION, (uint64_t)row->duration);
    if (number_of(row, ROCPD_CORRELATION, &correlation) && correlation > 0) {
        set(row, TSMITH_FIELD_CORRELATION, (uint64_t)correlation);
        row->told |= (uint64_t)1 << ROCPD_CORRELATION;
    }
    if (row->kind == TSMITH_KIND_KERNEL)
        set_sizes(row);
    if (row->kind == TSMITH_KIND_MEMCPY)
        set_direction(row, from, to);
    if (row->kind == TSMITH_KIND_KERNEL || row->kind == TSMITH_KIND_MEMCPY)
        set_thread(row);
    set_number(row, ROCPD_SIZE, TSMITH_FIELD_BYTES);
    set_number(row, ROCPD_ADDRESS, TSMITH_FIELD_OBJECT);
    for (int i = 0; i < row->rocpd->column_count; i++)
        add_column(row, i);
    set_attributes(row);
}

// ---- samples

// A value of a counter at a time, on the row of that counter.
static void add_value(struct row *row, const struct rocpd_info *track, struct rocpd_attribute *attribute) {
    const struct rocpd_info *process = track ? rocpd_find(&row->part->processes, track->a) : NULL;
    const int64_t key[5] = {PLACE_COUNTER, (int64_t)row->rocpd->part_at, track ? track->id : -1,
                            attribute->name, 0};
    const tsmith_track counter = {.kind = TSMITH_TRACK_COUNTER,
                                  .process = process ? process->entry : 0,
                                  .name = track && track->name ? track->name : attribute->name};
    uint64_t bits;
    memcpy(&bits, &attribute->number, sizeof bits);
    row->kind = TSMITH_KIND_COUNTER;
    row->name = attribute->name;
    attribute->used = 1;
    if (!begin_row(row, track_of(row->rocpd, key, &counter)))
        return;
    set(row, TSMITH_FIELD_VALUE, bits);
    for (int i = 0; i < row->rocpd->column_count; i++)
        if (row->rocpd->columns[i].role != ROCPD_TRACK)
            add_column(row, i);
}

static void add_sample(struct row *row) {
    const struct rocpd_info *track = info_of(row, ROCPD_TRACK, &row->part->tracks);
    int64_t event, correlation;
    struct rocpd_attribute *first =
        number_of(row, ROCPD_EVENT, &event) ? rocpd_attributes_of(row->part, event) : NULL;
    const struct rocpd_attribute *end = first ? row->part->attributes + row->part->attribute_count : NULL;
    bool counted = false;
    name_row(row);
    for (struct rocpd_attribute *at = first; at && at < end && at->event == event; at++) {
        if (at->counter)
            add_value(row, track, at);
        counted |= at->counter;
    }
    if (counted)
        return;
    row->kind = TSMITH_KIND_MARKER;
    row->name = track ? track->name : 0;
    if (!begin_row(row, track ? thread_track(row, track->a, track->b) : process_track(row, -1)))
        return;
    if (number_of(row, ROCPD_CORRELATION, &correlation) && correlation > 0) {
        set(row, TSMITH_FIELD_CORRELATION, (uint64_t)correlation);
        row->told |= (uint64_t)1 << ROCPD_CORRELATION;
    }
    for (int i = 0; i < row->rocpd->column_count; i++)
        if (row->rocpd->columns[i].role != ROCPD_TRACK)
            add_column(row, i);
    set_attributes(row);
}

void rocpd_add_row(struct rocpd *rocpd) {
    struct row row = {.rocpd = rocpd, .part = rocpd_part(rocpd)};
    if (!read_times(&row))
        rocpd->problems[ROCPD_PROBLEM_NO_TIME]++;
    else if (rocpd->table == ROCPD_SAMPLES)
        add_sample(&row);
    else
        add_event(&row);
}
