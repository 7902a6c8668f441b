// SPDX-License-Identifier: Apache-2.0
// JSON of rocprofv3 (rocprofiler-sdk): {"rocprofiler-sdk-tool":[{"metadata":{..},"agents":[..],..,
// "kernel_symbols":[..],..,"buffer_records":{"kernel_dispatch":[{..},..],"hip_api":[..],..}}]}.
//
// Every buffer record becomes an event like those of a Chrome trace, its members arguments named by their path
// ("dispatch_info.private_segment_size"), so that rows, tracks and export are the same. Of the other parts of the
// file, metadata and agents become attributes, symbols the names of the kernels that ran; code objects are left out.
//
// Invariant: input.begin is behind the last complete item, and `state` is the position in the structure.
#include "import/rocprof/rocprof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/plural.h"
#include "import/chrome/reader.h"
#include "import/chrome/rows.h"
#include "import/json_scan.h"

enum { PATH_MAX_LENGTH = 256, DEPTH_MAX = 16, KERNELS_MAX = 1 << 24 };

enum state { IN_FILE, IN_TOOL, IN_RECORDS, IN_ARRAY, OVER };

// A kernel's name as it is in the file. Only those that ran become strings of the trace: a file names thousands.
struct kernel {
    const char *raw;
    uint32_t length;
    uint32_t name; // string id, 0: not interned yet
};

struct rocprof {
    enum state state;
    bool saw_tool;
    uint32_t category;      // of the array being read
    struct kernel *kernels; // by kernel_id
    size_t kernel_capacity;
    struct arena names;
    uint32_t *devices; // pairs: agent handle, device id
    size_t device_count, device_capacity;
    int64_t pid;
    struct event event;
    size_t value_capacity; // of the event
    uint64_t events;
};

// What flattening a record has found besides the arguments.
struct record {
    // sizes: grid x y z, work-group x y z; -1: none
    int64_t start, end, thread, kernel, agent, queue, operation, sizes[6];
};

static void finish(void *state) {
    struct rocprof *rocprof = state;
    if (!rocprof)
        return;
    arena_finish(&rocprof->names);
    free(rocprof->kernels);
    free(rocprof->devices);
    free(rocprof->event.values);
    free(rocprof);
}

bool rocprof_is(const struct input *input) {
    static const char key[] = "\"rocprofiler-sdk-tool\"";
    const char *at = input->window + input->begin, *end = input->window + input->end;
    at = json_skip_space(at, end);
    if (at >= end || *at != '{')
        return false;
    at = json_skip_space(at + 1, end);
    return (size_t)(end - at) >= sizeof key && memcmp(at, key, sizeof key - 1) == 0;
}

static tsmith_status begin(struct chrome *chrome, void **state, tsmith_error *error) {
    struct rocprof *rocprof = calloc(1, sizeof *rocprof);
    *state = rocprof;
    if (!rocprof)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", chrome->name);
    chrome->input.begin = (size_t)(json_skip_space(chrome->input.window + chrome->input.begin,
                                                   chrome->input.window + chrome->input.end) -
                                   chrome->input.window) +
                          1;
    return TSMITH_OK;
}

// ---- flattening

static int64_t *known_number(struct record *record, const char *path) {
    static const struct {
        const char *path;
        size_t at;
    } known[] = {
        {"start_timestamp", offsetof(struct record, start)},
        {"end_timestamp", offsetof(struct record, end)},
        {"thread_id", offsetof(struct record, thread)},
        {"dispatch_info.kernel_id", offsetof(struct record, kernel)},
        {"dispatch_info.agent_id.handle", offsetof(struct record, agent)},
        {"dispatch_info.queue_id.handle", offsetof(struct record, queue)},
        {"dst_agent_id.handle", offsetof(struct record, agent)},
        {"dispatch_info.grid_size.x", offsetof(struct record, sizes[0])},
        {"dispatch_info.grid_size.y", offsetof(struct record, sizes[1])},
        {"dispatch_info.grid_size.z", offsetof(struct record, sizes[2])},
        {"dispatch_info.workgroup_size.x", offsetof(struct record, sizes[3])},
        {"dispatch_info.workgroup_size.y", offsetof(struct record, sizes[4])},
        {"dispatch_info.workgroup_size.z", offsetof(struct record, sizes[5])},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].path, path) == 0)
            return (int64_t *)(void *)((char *)record + known[i].at);
    return NULL;
}

static void add_value(struct chrome *chrome, struct rocprof *rocprof, const char *path, uint32_t form,
                      uint64_t bits) {
    struct event *event = &rocprof->event;
    uint32_t key = reader_find_key(chrome, path, strlen(path), true, PLACE_ARGUMENT);
    if (!key || !ARRAY_RESERVE(event->values, rocprof->value_capacity, event->count + 1)) {
        event->too_large = true;
        return;
    }
    const uint8_t role = chrome->keys[key].role;
    event->values[event->count++] = (struct value){key, (uint8_t)form, role, bits};
    event->roles |= 1u << role;
}

static const char *flatten(struct chrome *chrome, struct rocprof *rocprof, struct record *record,
                           const char *at, const char *end, char *path, size_t length, unsigned depth);

// A value that is no object; just past it, or NULL.
static const char *flatten_value(struct chrome *chrome, struct rocprof *rocprof, struct record *record,
                                 const char *at, const char *end, const char *path) {
    struct json_number number;
    enum text_form form;
    bool plain;
    if (*at == '"') {
        const char *quote = json_string_end(at + 1, end, &plain);
        if (quote)
            add_value(chrome, rocprof, path, FORM_STRING,
                      texts_string(&chrome->texts, at + 1, (size_t)(quote - at - 1), plain));
        return quote ? quote + 1 : NULL;
    }
    const char *after = json_number_read(at, end, &number);
    if (after && number.integral && number.exact && number.mantissa <= (uint64_t)INT64_MAX) {
        int64_t value = number.negative ? -(int64_t)number.mantissa : (int64_t)number.mantissa;
        int64_t *known = known_number(record, path);
        if (strcmp(path, "operation") == 0)
            record->operation = value; // and an argument, too
        if (known)
            *known = value;
        else
            add_value(chrome, rocprof, strcmp(path, "correlation_id.internal") == 0 ? "correlation" : path,
                      FORM_I64, (uint64_t)value);
        return after;
    }
    if (!after && *at == '[')
        after = json_nested_end(at, end);
    if (!after) // true, false, null
        for (after = at; after < end && *after >= 'a' && *after <= 'z';)
            after++;
    if (after == at)
        return NULL;
    uint32_t id = texts_json(&chrome->texts, at, (size_t)(after - at), &form);
    add_value(chrome, rocprof, path, form == TEXT_JSON ? FORM_JSON : FORM_STRING, id);
    return after;
}

// The object at `at`, whole; just past it, or NULL when it is none.
static const char *flatten(struct chrome *chrome, struct rocprof *rocprof, struct record *record,
                           const char *at, const char *end, char *path, size_t length, unsigned depth) {
    bool plain;
    at = json_skip_space(at + 1, end);
    while (at < end && *at != '}') {
        if (*at == ',')
            at = json_skip_space(at + 1, end);
        const char *text = at + 1,
                   *quote = at < end && *at == '"' ? json_string_end(text, end, &plain) : NULL;
        size_t key_length = quote ? (size_t)(quote - text) : 0;
        if (!quote || length + key_length + 2 > PATH_MAX_LENGTH || depth > DEPTH_MAX)
            return NULL;
        size_t grown = length;
        if (length)
            path[grown++] = '.';
        memcpy(path + grown, text, key_length);
        path[grown += key_length] = '\0';
        at = json_skip_space(quote + 1, end);
        if (at >= end || *at != ':')
            return NULL;
        at = json_skip_space(at + 1, end);
        if (at >= end)
            return NULL;
        at = *at == '{' ? flatten(chrome, rocprof, record, at, end, path, grown, depth + 1)
                        : flatten_value(chrome, rocprof, record, at, end, path);
        if (!at)
            return NULL;
        at = json_skip_space(at, end);
    }
    return at < end ? at + 1 : NULL;
}

// ---- records

static uint32_t device_of(const struct rocprof *rocprof, int64_t agent) {
    for (size_t i = 0; i + 1 < rocprof->device_count; i += 2)
        if (rocprof->devices[i] == agent)
            return rocprof->devices[i + 1];
    return 0;
}

// Grid and work-group size as in Kineto: blocks and threads of a block.
static void add_sizes(struct chrome *chrome, struct rocprof *rocprof, const int64_t *sizes) {
    static const char *const paths[] = {"grid_size.x",      "grid_size.y",      "grid_size.z",
                                        "workgroup_size.x", "workgroup_size.y", "workgroup_size.z"};
    bool whole = true;
    for (int i = 0; i < 3; i++)
        whole &= sizes[i] > 0 && sizes[i + 3] > 0 && sizes[i] % (sizes[i + 3] ? sizes[i + 3] : 1) == 0;
    for (int i = 0; !whole && i < 6; i++)
        if (sizes[i] != -1)
            add_value(chrome, rocprof, paths[i], FORM_I64, (uint64_t)sizes[i]);
    for (int i = 0; whole && i < 2; i++) {
        char text[96];
        int64_t x = sizes[3], y = sizes[4], z = sizes[5];
        if (i == 0) {
            x = sizes[0] / x;
            y = sizes[1] / y;
            z = sizes[2] / z;
        }
        (void)snprintf(text, sizeof text, "[%lld,%lld,%lld]", (long long)x, (long long)y, (long long)z);
        add_value(chrome, rocprof, i ? "block" : "grid", FORM_JSON,
                  tsmith_dictionary_intern_cstr(chrome->dictionary, text));
    }
}

static void place_event(struct chrome *chrome, struct rocprof *rocprof, const struct record *record) {
    struct event *event = &rocprof->event;
    event->pid = (struct ident){FORM_I64, (uint64_t)rocprof->pid};
    event->tid = (struct ident){FORM_I64, (uint64_t)record->thread};
    if (record->queue == -1)
        return;
    // The record's thread is the one that launched; the event is the queue's.
    char text[96];
    (void)snprintf(text, sizeof text, "agent %lld queue %lld", (long long)record->agent,
                   (long long)record->queue);
    add_value(chrome, rocprof, "thread_id", FORM_I64, (uint64_t)record->thread);
    event->tid = (struct ident){FORM_STRING, tsmith_dictionary_intern_cstr(chrome->dictionary, text)};
    struct row_track *track = tracks_find(chrome, event->pid, event->tid, true);
    if (track) {
        track->device_id = device_of(rocprof, record->agent);
        track->queue = (uint64_t)record->queue;
    }
}

// For a kernel without a name in the file: a description.
static uint32_t kernel_name(struct chrome *chrome, struct rocprof *rocprof, uint64_t id) {
    struct kernel *kernel = id < rocprof->kernel_capacity ? &rocprof->kernels[id] : NULL;
    if (!kernel || !kernel->raw)
        return rocprof->category;
    if (!kernel->name)
        kernel->name = texts_string(&chrome->texts, kernel->raw, kernel->length,
                                    memchr(kernel->raw, '\\', kernel->length) == NULL);
    return kernel->name;
}

// For a copy, by rocprofiler's number; 0 for anything else.
static uint8_t direction_of(const struct chrome *chrome, const struct rocprof *rocprof, int64_t operation) {
    static const uint8_t DIRECTIONS[] = {0, TSMITH_DIRECTION_HOST_TO_HOST, TSMITH_DIRECTION_HOST_TO_DEVICE,
                                         TSMITH_DIRECTION_DEVICE_TO_HOST, TSMITH_DIRECTION_DEVICE_TO_DEVICE};
    const char *category = tsmith_dictionary_string(chrome->dictionary, rocprof->category).bytes;
    return strcmp(category, "memory_copy") == 0 && operation > 0 && operation < (int64_t)sizeof DIRECTIONS
               ? DIRECTIONS[operation]
               : 0;
}

static bool add_record(struct chrome *chrome, struct rocprof *rocprof, const char *text, size_t length) {
    struct event *event = &rocprof->event;
    struct value *values = event->values;
    struct record record = {-1, -1, -1, -1, -1, -1, -1, {-1, -1, -1, -1, -1, -1}};
    char path[PATH_MAX_LENGTH] = "";
    *event = (struct event){.values = values, .ph = 'X', .id = {FORM_NONE, 0}};
    if (!flatten(chrome, rocprof, &record, text, text + length, path, 0, 0) || record.start < 0) {
        chrome->problems.counts[PROBLEM_MALFORMED_EVENT]++;
        return true;
    }
    event->category = rocprof->category;
    event->has_category = event->has_name = true;
    event->name = rocprof->category;
    if (record.kernel >= 0) {
        add_value(chrome, rocprof, "kernel_id", FORM_I64, (uint64_t)record.kernel);
        event->name = kernel_name(chrome, rocprof, (uint64_t)record.kernel);
    }
    event->direction = direction_of(chrome, rocprof, record.operation);
    event->start = (struct moment){.ns = record.start, .there = true};
    int64_t duration;
    if (record.end >= record.start && !__builtin_sub_overflow(record.end, record.start, &duration))
        event->duration = (struct moment){.ns = duration, .there = true};
    else if (record.end >= 0)
        chrome->problems.counts[PROBLEM_BACKWARDS]++;
    add_sizes(chrome, rocprof, record.sizes);
    place_event(chrome, rocprof, &record);
    rocprof->events++;
    return rows_add(chrome, event, text, length);
}

// ---- outside the records

static const char *find(const char *text, size_t length, const char *key) {
    const char *found = memmem(text, length, key, strlen(key));
    return found ? json_skip_space(found + strlen(key), text + length) : NULL;
}

static int64_t find_number(const char *text, size_t length, const char *key) {
    const char *at = find(text, length, key);
    struct json_number number;
    if (!at || !json_number_read(at, text + length, &number) || !number.integral || !number.exact ||
        number.mantissa > (uint64_t)INT64_MAX)
        return -1;
    return (int64_t)number.mantissa;
}

static uint32_t find_string(struct chrome *chrome, const char *text, size_t length, const char *key) {
    const char *at = find(text, length, key), *quote = NULL;
    bool plain = true;
    if (at && at < text + length && *at == '"')
        quote = json_string_end(at + 1, text + length, &plain);
    return quote ? texts_string(&chrome->texts, at + 1, (size_t)(quote - at - 1), plain) : 0;
}

static void add_symbol(struct chrome *chrome, struct rocprof *rocprof, const char *text, size_t length) {
    int64_t id = find_number(text, length, "\"kernel_id\":");
    const size_t had = rocprof->kernel_capacity;
    if (id < 0 || id >= KERNELS_MAX)
        return;
    if (!ARRAY_RESERVE(rocprof->kernels, rocprof->kernel_capacity, (size_t)id + 1)) {
        chrome->rows->failed = true;
        return;
    }
    memset(rocprof->kernels + had, 0, (rocprof->kernel_capacity - had) * sizeof *rocprof->kernels);
    const char *at = find(text, length, "\"formatted_kernel_name\":"), *quote = NULL;
    bool plain;
    if (at && at < text + length && *at == '"')
        quote = json_string_end(at + 1, text + length, &plain);
    if (quote)
        rocprof->kernels[id] = (struct kernel){arena_copy(&rocprof->names, at + 1, (size_t)(quote - at - 1)),
                                               (uint32_t)(quote - at - 1), 0};
}

static void add_agent(struct chrome *chrome, struct rocprof *rocprof, const char *text, size_t length) {
    int64_t handle = find_number(text, length, "\"handle\":"),
            units = find_number(text, length, "\"cu_count\":");
    bool gpu = find_number(text, length, "\"simd_count\":") > 0;
    tsmith_device device = {.name = find_string(chrome, text, length, "\"product_name\":"),
                            .vendor = find_string(chrome, text, length, "\"vendor_name\":"),
                            .type = tsmith_dictionary_intern_cstr(chrome->dictionary, gpu ? "gpu" : "cpu"),
                            .compute_units = units > 0 && units <= UINT32_MAX ? (uint32_t)units : 0};
    if (!gpu || handle < 0 || handle > UINT32_MAX)
        return;
    if (!ARRAY_RESERVE(rocprof->devices, rocprof->device_capacity, rocprof->device_count + 2)) {
        chrome->rows->failed = true;
        return;
    }
    rocprof->devices[rocprof->device_count++] = (uint32_t)handle;
    rocprof->devices[rocprof->device_count++] = tsmith_dictionary_add_device(chrome->dictionary, &device);
}

// Each object of an array to `add`.
static void each_object(struct chrome *chrome, struct rocprof *rocprof, const char *at, const char *end,
                        void (*add)(struct chrome *, struct rocprof *, const char *, size_t)) {
    for (at++; at < end && (at = memchr(at, '{', (size_t)(end - at)));) {
        const char *after = json_nested_end(at, end);
        if (!after)
            return;
        add(chrome, rocprof, at, (size_t)(after - at));
        at = after;
    }
}

static bool is_key(const char *key, size_t length, const char *wanted) {
    return strlen(wanted) == length && memcmp(key, wanted, length) == 0;
}

static void add_part(struct chrome *chrome, struct rocprof *rocprof, const char *key, size_t key_length,
                     const char *text, size_t length) {
    const char *end = text + length;
    if (is_key(key, key_length, "kernel_symbols")) {
        each_object(chrome, rocprof, text, end, add_symbol);
        return;
    }
    if (is_key(key, key_length, "agents"))
        each_object(chrome, rocprof, text, end, add_agent);
    else if (is_key(key, key_length, "metadata"))
        rocprof->pid = find_number(text, length, "\"pid\":");
    else
        return;
    rows_add_top(chrome, key, key_length, text, length);
}

// ---- running

enum step { WENT, NEEDS_MORE, BROKEN };

// A record of an array, or its end.
static enum step step_in_array(struct chrome *chrome, struct rocprof *rocprof, const char *at,
                               const char *end, bool *full) {
    if (*at == ']') {
        rocprof->state = IN_RECORDS;
        chrome->input.begin = (size_t)(at + 1 - chrome->input.window);
        return WENT;
    }
    if (*at != '{')
        return BROKEN;
    const char *after = json_nested_end(at, end);
    if (!after)
        return NEEDS_MORE;
    chrome->input.begin = (size_t)(after - chrome->input.window);
    *full = !add_record(chrome, rocprof, at, (size_t)(after - at));
    return WENT;
}

// A key and what is to be done with its value.
static enum step step_key(struct chrome *chrome, struct rocprof *rocprof, const char *at, const char *end) {
    bool plain;
    const char *key = at + 1, *quote = json_string_end(key, end, &plain);
    if (!quote)
        return NEEDS_MORE;
    size_t length = (size_t)(quote - key);
    at = json_skip_space(quote + 1, end);
    if (at < end && *at != ':')
        return BROKEN;
    at = json_skip_space(at < end ? at + 1 : at, end);
    if (at >= end)
        return NEEDS_MORE;
    bool tool = rocprof->state == IN_FILE && *at == '[';
    bool records = rocprof->state == IN_TOOL && *at == '{' && is_key(key, length, "buffer_records");
    bool array = rocprof->state == IN_RECORDS && *at == '[';
    if (tool || records || array) {
        rocprof->state = tool ? IN_TOOL : records ? IN_RECORDS : IN_ARRAY;
        rocprof->saw_tool |= tool;
        rocprof->category = tsmith_dictionary_intern(chrome->dictionary, key, length);
        chrome->input.begin = (size_t)(at + 1 - chrome->input.window);
        return WENT;
    }
    const char *after = *at == '[' || *at == '{' ? json_nested_end(at, end) : NULL;
    if (*at == '"' && (after = json_string_end(at + 1, end, &plain)))
        after++;
    if (!after && *at != '[' && *at != '{' && *at != '"') {
        for (after = at; after < end && !strchr(",}] \n\r\t", *after);)
            after++;
        if (after == at)
            return BROKEN;
    }
    if (!after || after >= end)
        return NEEDS_MORE;
    if (rocprof->state == IN_TOOL)
        add_part(chrome, rocprof, key, length, at, (size_t)(after - at));
    chrome->input.begin = (size_t)(after - chrome->input.window);
    return WENT;
}

static enum step read_record(struct chrome *chrome, struct rocprof *rocprof, bool *full) {
    const char *at = chrome->input.window + chrome->input.begin,
               *end = chrome->input.window + chrome->input.end;
    while (at < end && strchr(", \n\r\t", *at) && *at)
        at++;
    if (at >= end)
        return NEEDS_MORE;
    if (rocprof->state == IN_ARRAY)
        return step_in_array(chrome, rocprof, at, end, full);
    if (*at == '"')
        return step_key(chrome, rocprof, at, end);
    chrome->input.begin = (size_t)(at + 1 - chrome->input.window);
    if (rocprof->state == IN_TOOL && (*at == '{' || *at == '}')) // one tool after the other
        return WENT;
    if (rocprof->state == IN_TOOL && *at == ']')
        rocprof->state = IN_FILE;
    else if (rocprof->state == IN_RECORDS && *at == '}')
        rocprof->state = IN_TOOL;
    else if (rocprof->state == IN_FILE && *at == '}')
        rocprof->state = OVER;
    else
        return BROKEN;
    return WENT;
}

static tsmith_status run(struct chrome *chrome, void *state, tsmith_error *error) {
    struct rocprof *rocprof = state;
    bool full = false;
    while (!full && rocprof->state != OVER) {
        enum step went = read_record(chrome, rocprof, &full);
        if (chrome->texts.failed || tsmith_dictionary_failed(chrome->dictionary) || rows_failed(chrome->rows))
            return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", chrome->name);
        if (went == WENT)
            continue;
        uint64_t offset = chrome->input.offset + chrome->input.begin;
        tsmith_status status = went == BROKEN ? TSMITH_END : input_more(&chrome->input, error);
        if (status == TSMITH_OK)
            continue;
        if (status < 0 && status != TSMITH_ERROR_LIMIT)
            return status;
        chrome->problems.counts[rocprof->state == IN_ARRAY ? PROBLEM_TRUNCATED : PROBLEM_NO_END]++;
        rocprof->state = OVER;
        return status_set_at(error, TSMITH_TRUNCATED, offset, rocprof->events,
                             "%s: cannot be read beyond byte %llu; everything before it (%llu %s) was read",
                             chrome->name, (unsigned long long)offset, (unsigned long long)rocprof->events,
                             plural(rocprof->events, "record", "records"));
    }
    if (full)
        return TSMITH_OK;
    return reader_finish(chrome, rocprof->events, error);
}

tsmith_status rocprof_open(struct import_job *job, tsmith_source **out, tsmith_error *error) {
    static const struct json_reader reader = {"rocprofv3-json", begin, run, finish};
    return json_source_open(&reader, job, out, error);
}
