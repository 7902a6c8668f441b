// SPDX-License-Identifier: Apache-2.0
// Processes, devices and tracks as track descriptors, and the facts that Perfetto has no place for as attributes of
// the trace: "tracesmith.track.<uuid>" and the like, from which our importer makes the same dictionary again.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "export/perfetto/perfetto.h"

enum {
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8
};

void perfetto_put_packet(struct perfetto *perfetto) {
    struct proto_out *out = &perfetto->scratch;
    uint8_t *at = (uint8_t *)output_room(&perfetto->output);
    at = proto_varint(proto_tag(at, TRACE_PACKET, PROTO_BYTES), out->used);
    output_advance(&perfetto->output, (char *)at);
    output_bytes(&perfetto->output, (const char *)out->bytes, out->used);
    perfetto->failed |= out->failed;
    out->used = 0;
}

// ---- attributes of the trace

static void put_attribute(struct perfetto *perfetto, const char *key, size_t key_length, const char *value,
                          size_t length) {
    struct proto_out *out = &perfetto->scratch;
    size_t packet = proto_open(out), attribute = packet;
    proto_add_bytes(out, 1, key, key_length);
    proto_add_bytes(out, 3, value, length);
    proto_close(out, attribute, 1);
    proto_close(out, packet, PACKET_ATTRIBUTES);
    perfetto_put_packet(perfetto);
}

static void TSMITH_PRINTF(4, 5)
    put_fact(struct perfetto *perfetto, const char *what, uint64_t id, const char *format, ...) {
    char key[64], value[256];
    int key_length = snprintf(key, sizeof key, "tracesmith.%s.%" PRIu64, what, id);
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    put_attribute(perfetto, key, (size_t)key_length, value,
                  (size_t)length < sizeof value ? (size_t)length : sizeof value - 1);
}

// A string of a process or device; none when there is none.
static void put_text(struct perfetto *perfetto, const char *what, uint64_t id, const char *part,
                     uint32_t string) {
    char key[96];
    tsmith_string text = tsmith_dictionary_string(perfetto->dictionary, string);
    int length = snprintf(key, sizeof key, "tracesmith.%s.%" PRIu64 ".%s", what, id, part);
    if (text.length)
        put_attribute(perfetto, key, (size_t)length, text.bytes, text.length);
}

void perfetto_put_attributes(struct perfetto *perfetto) {
    uint32_t count = tsmith_dictionary_attribute_count(perfetto->dictionary);
    if (perfetto->attributes_written == 0)
        perfetto->attributes_written = 1;
    for (; perfetto->attributes_written < count; perfetto->attributes_written++) {
        const tsmith_attribute *attribute =
            tsmith_dictionary_attribute(perfetto->dictionary, perfetto->attributes_written);
        tsmith_string key = tsmith_dictionary_string(perfetto->dictionary, attribute->key);
        tsmith_string value = tsmith_dictionary_string(perfetto->dictionary, attribute->value);
        put_attribute(perfetto, key.bytes, key.length, value.bytes, value.length);
    }
}

// When the trace began by the calendar, as far as the trace knows it.
static void put_calendar(struct perfetto *perfetto) {
    struct proto_out *out = &perfetto->scratch;
    uint32_t count = tsmith_dictionary_clock_pair_count(perfetto->dictionary);
    for (uint32_t i = 1; i < count; i++) {
        const tsmith_clock_pair *pair = tsmith_dictionary_clock_pair(perfetto->dictionary, i);
        const tsmith_clock *clock = tsmith_dictionary_clock(perfetto->dictionary, pair->clock);
        if (!clock || pair->trace_time < 0 || pair->clock_time < 0 ||
            strcmp(tsmith_dictionary_string(perfetto->dictionary, clock->name).bytes, "CLOCK_REALTIME") != 0)
            continue;
        size_t snapshot = proto_open(out), at = snapshot;
        proto_add_uint(out, 1, CLOCK_REALTIME_ID);
        proto_add_uint(out, 2, (uint64_t)pair->clock_time);
        proto_close(out, at, 1);
        at = proto_open(out);
        proto_add_uint(out, 1, CLOCK_MONOTONIC_RAW_ID);
        proto_add_uint(out, 2, (uint64_t)pair->trace_time);
        proto_close(out, at, 1);
        proto_add_uint(out, 2, CLOCK_MONOTONIC_RAW_ID);
        proto_close(out, snapshot, PACKET_CLOCK_SNAPSHOT);
        perfetto_put_packet(perfetto);
        return;
    }
}

void perfetto_start(struct perfetto *perfetto) {
    static const char key[] = "tracesmith.export", value[] = "1";
    perfetto->origin = origin_of(perfetto->dictionary);
    put_attribute(perfetto, key, sizeof key - 1, value, sizeof value - 1);
    perfetto_put_attributes(perfetto);
    if (!perfetto->origin.imported)
        put_calendar(perfetto);
}

// ---- descriptors

// The uuid of an entry of a table, 0 when it is to be described now; NULL when memory is exhausted.
static uint32_t *uuid_of(struct perfetto *perfetto, uint32_t **uuids, size_t *capacity, uint32_t id) {
    size_t had = *capacity;
    if (!ARRAY_RESERVE(*uuids, *capacity, (size_t)id + 1)) {
        perfetto->failed = true;
        return NULL;
    }
    memset(*uuids + had, 0, (*capacity - had) * sizeof **uuids);
    return &(*uuids)[id];
}

// The numbers that the format has for a process or thread: 0 means the idle one.
static bool is_system_id(uint64_t id) {
    return id > 0 && id <= INT32_MAX;
}

static void put_process_descriptor(struct perfetto *perfetto, const tsmith_process *process, uint32_t uuid) {
    struct proto_out *out = &perfetto->scratch;
    tsmith_string name = tsmith_dictionary_string(perfetto->dictionary, process->name);
    tsmith_string command = tsmith_dictionary_string(perfetto->dictionary, process->command_line);
    size_t descriptor = proto_open(out);
    proto_add_uint(out, TRACK_UUID, uuid);
    if (is_system_id(process->pid)) {
        size_t at = proto_open(out);
        proto_add_uint(out, 1, process->pid);
        if (command.length)
            proto_add_bytes(out, 2, command.bytes, command.length);
        if (name.length)
            proto_add_bytes(out, 6, name.bytes, name.length);
        proto_close(out, at, TRACK_PROCESS);
    } else {
        char text[64];
        int length = snprintf(text, sizeof text, "process %" PRIu64, process->pid);
        proto_add_bytes(out, TRACK_NAME, name.length ? name.bytes : text,
                        name.length ? name.length : (size_t)length);
    }
    proto_close(out, descriptor, PACKET_TRACK);
    perfetto_put_packet(perfetto);
}

static uint32_t process_uuid(struct perfetto *perfetto, uint32_t id) {
    const tsmith_process *process = tsmith_dictionary_process(perfetto->dictionary, id);
    if (!process)
        return 0;
    uint32_t *uuid = uuid_of(perfetto, &perfetto->processes, &perfetto->process_capacity, id);
    if (!uuid || *uuid)
        return uuid ? *uuid : 0;
    *uuid = perfetto->next_uuid++;
    put_process_descriptor(perfetto, process, *uuid);
    put_fact(perfetto, "process", id, "%" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRId64, *uuid, process->pid,
             process->parent_pid, process->start);
    put_text(perfetto, "process", id, "name", process->name);
    put_text(perfetto, "process", id, "command_line", process->command_line);
    put_text(perfetto, "process", id, "host", process->host);
    return *uuid;
}

// A plain track with a name.
static void put_named(struct perfetto *perfetto, uint32_t uuid, uint32_t parent, tsmith_string name,
                      uint32_t empty_message) {
    struct proto_out *out = &perfetto->scratch;
    size_t descriptor = proto_open(out);
    proto_add_uint(out, TRACK_UUID, uuid);
    proto_add_bytes(out, TRACK_NAME, name.bytes, name.length);
    if (parent)
        proto_add_uint(out, TRACK_PARENT, parent);
    if (empty_message)
        proto_add_bytes(out, empty_message, "", 0);
    proto_close(out, descriptor, PACKET_TRACK);
    perfetto_put_packet(perfetto);
}

static void put_device_facts(struct perfetto *perfetto, uint32_t id, const tsmith_device *device) {
    put_fact(perfetto, "device", id, "%" PRIu32 " %" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIu32,
             device->process, device->memory_bytes, device->compute_units, device->clock_mhz, device->number);
    put_text(perfetto, "device", id, "name", device->name);
    put_text(perfetto, "device", id, "vendor", device->vendor);
    put_text(perfetto, "device", id, "driver", device->driver);
    put_text(perfetto, "device", id, "api", device->api);
    put_text(perfetto, "device", id, "type", device->type);
    put_text(perfetto, "device", id, "identity", device->identity);
}

// The queues of a device are shown together, beneath the device.
static uint32_t device_uuid(struct perfetto *perfetto, uint32_t id, uint32_t process) {
    const tsmith_device *device = tsmith_dictionary_device(perfetto->dictionary, id);
    if (!device)
        return process_uuid(perfetto, process);
    uint32_t *uuid = uuid_of(perfetto, &perfetto->devices, &perfetto->device_capacity, id);
    if (!uuid || *uuid)
        return uuid ? *uuid : 0;
    uint32_t parent = process_uuid(perfetto, device->process);
    tsmith_string name = tsmith_dictionary_string(perfetto->dictionary, device->name);
    *uuid = perfetto->next_uuid++;
    put_named(perfetto, *uuid, parent, name.length ? name : (tsmith_string){"device", 6}, 0);
    put_device_facts(perfetto, id, device);
    return *uuid;
}

// Where a track of the dictionary is shown.
static uint32_t parent_of(struct perfetto *perfetto, const tsmith_track *track) {
    return track->device ? device_uuid(perfetto, track->device, track->process)
                         : process_uuid(perfetto, track->process);
}

static bool is_thread(const struct perfetto *perfetto, const tsmith_track *track) {
    const tsmith_process *process = tsmith_dictionary_process(perfetto->dictionary, track->process);
    return track->kind == TSMITH_TRACK_THREAD && !track->device && process && is_system_id(process->pid) &&
           is_system_id(track->tid);
}

static void put_thread(struct perfetto *perfetto, uint32_t uuid, uint32_t parent, const tsmith_track *track) {
    const tsmith_process *process = tsmith_dictionary_process(perfetto->dictionary, track->process);
    tsmith_string name = tsmith_dictionary_string(perfetto->dictionary, track->name);
    struct proto_out *out = &perfetto->scratch;
    size_t descriptor = proto_open(out);
    proto_add_uint(out, TRACK_UUID, uuid);
    proto_add_uint(out, TRACK_PARENT, parent);
    size_t at = proto_open(out);
    proto_add_uint(out, 1, process->pid);
    proto_add_uint(out, 2, track->tid);
    if (name.length)
        proto_add_bytes(out, 5, name.bytes, name.length);
    proto_close(out, at, TRACK_THREAD);
    proto_close(out, descriptor, PACKET_TRACK);
    perfetto_put_packet(perfetto);
}

static void describe(struct perfetto *perfetto, struct sequence *sequence, uint32_t id,
                     const tsmith_track *track) {
    char room[TSMITH_LABEL_SIZE];
    uint32_t parent = parent_of(perfetto, track);
    sequence->described = true;
    sequence->name = track->name;
    if (is_thread(perfetto, track))
        put_thread(perfetto, sequence->uuid, parent, track);
    else
        put_named(perfetto, sequence->uuid, parent, output_track_name(perfetto->dictionary, id, room), 0);
}

static void put_track_facts(struct perfetto *perfetto, const struct sequence *sequence, uint32_t id,
                            const tsmith_track *track) {
    put_fact(perfetto, "track", sequence->uuid,
             "%" PRIu32 " %u %u %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64, id,
             track->kind, track->flags, track->process, track->device, track->parent, track->tid,
             track->context, track->queue);
    put_text(perfetto, "track", sequence->uuid, "name", track->name);
}

static void begin_sequence(struct perfetto *perfetto, struct sequence *sequence, uint32_t track) {
    struct proto_out *out = &perfetto->scratch;
    proto_add_uint(out, PACKET_SEQUENCE, track);
    proto_add_uint(out, PACKET_SEQUENCE_FLAGS, FLAG_STATE_CLEARED);
    size_t defaults = proto_open(out), event = defaults;
    proto_add_uint(out, EVENT_TRACK, sequence->uuid);
    proto_close(out, event, PACKET_TRACK_EVENT);
    proto_add_uint(out, PACKET_CLOCK, CLOCK_OF_SEQUENCE);
    proto_close(out, defaults, PACKET_DEFAULTS);
    perfetto_put_packet(perfetto);
    sequence->begun = true;
}

static struct sequence *find_sequence(struct perfetto *perfetto, uint32_t track) {
    size_t had = perfetto->sequence_capacity;
    if (!ARRAY_RESERVE(perfetto->sequences, perfetto->sequence_capacity, (size_t)track + 1))
        return NULL;
    memset(perfetto->sequences + had, 0, (perfetto->sequence_capacity - had) * sizeof *perfetto->sequences);
    if (!perfetto->sequences[track]) {
        struct sequence *sequence = calloc(1, sizeof *sequence);
        if (!sequence)
            return NULL;
        sequence->uuid = perfetto->next_uuid++;
        sequence->lanes.next_end = INT64_MAX;
        perfetto->sequences[track] = sequence;
    }
    return perfetto->sequences[track];
}

static struct sequence *described_sequence(struct perfetto *perfetto, uint32_t id) {
    struct sequence *sequence = find_sequence(perfetto, id);
    const tsmith_track *track = tsmith_dictionary_track(perfetto->dictionary, id);
    static const tsmith_track unknown;
    perfetto->failed |= !sequence;
    if (sequence && !sequence->described) {
        describe(perfetto, sequence, id, track ? track : &unknown);
        put_track_facts(perfetto, sequence, id, track ? track : &unknown);
    }
    return sequence;
}

struct sequence *perfetto_sequence(struct perfetto *perfetto, uint32_t track) {
    struct sequence *sequence = described_sequence(perfetto, track);
    if (sequence && !sequence->begun)
        begin_sequence(perfetto, sequence, track);
    return sequence;
}

uint32_t perfetto_put_lane(struct perfetto *perfetto, uint32_t id, const struct sequence *sequence) {
    char room[TSMITH_LABEL_SIZE];
    uint32_t uuid = perfetto->next_uuid++;
    put_named(perfetto, uuid, sequence->uuid, output_track_name(perfetto->dictionary, id, room), 0);
    put_fact(perfetto, "lane", uuid, "%" PRIu32, sequence->uuid);
    return uuid;
}

uint32_t perfetto_put_counter(struct perfetto *perfetto, uint32_t id, tsmith_string name,
                              const char *series) {
    const tsmith_track *track = tsmith_dictionary_track(perfetto->dictionary, id);
    const struct sequence *sequence = perfetto->sequences[id];
    uint32_t uuid = perfetto->next_uuid++, parent = track ? parent_of(perfetto, track) : 0;
    char *both = malloc(name.length + strlen(series) + 2);
    if (!both) {
        perfetto->failed = true;
        return uuid;
    }
    size_t length = name.length;
    memcpy(both, name.bytes, name.length);
    if (*series) {
        if (length)
            both[length++] = ' ';
        memcpy(both + length, series, strlen(series));
        length += strlen(series);
    }
    put_named(perfetto, uuid, parent, (tsmith_string){both, length}, TRACK_COUNTER);
    free(both);
    put_fact(perfetto, "counter", uuid, "%" PRIu32, sequence->uuid);
    if (*series) {
        char key[64];
        int key_length = snprintf(key, sizeof key, "tracesmith.counter.%" PRIu32 ".series", uuid);
        put_attribute(perfetto, key, (size_t)key_length, series, strlen(series));
    }
    return uuid;
}

void perfetto_put_rest(struct perfetto *perfetto) {
    uint32_t tracks = tsmith_dictionary_track_count(perfetto->dictionary);
    for (uint32_t id = 1; id < tracks && !perfetto->failed; id++) {
        struct sequence *sequence = described_sequence(perfetto, id);
        const tsmith_track *track = tsmith_dictionary_track(perfetto->dictionary, id);
        if (!sequence || sequence->name == track->name)
            continue;
        describe(perfetto, sequence, id, track);
        put_text(perfetto, "track", sequence->uuid, "name", track->name);
    }
    uint32_t processes = tsmith_dictionary_process_count(perfetto->dictionary);
    for (uint32_t id = 1; id < processes && !perfetto->failed; id++)
        (void)process_uuid(perfetto, id);
    uint32_t devices = tsmith_dictionary_device_count(perfetto->dictionary);
    for (uint32_t id = 1; id < devices && !perfetto->failed; id++)
        (void)device_uuid(perfetto, id, 0);
}

// ---- fields

static bool is_taken(const struct perfetto *perfetto, const char *name) {
    if (tsmith_field_find(name))
        return true;
    for (size_t i = 0; i < perfetto->field_count; i++)
        if (strcmp(perfetto->fields[i].name, name) == 0)
            return true;
    return false;
}

static char *TSMITH_PRINTF(1, 2) format_text(const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = length < 0 ? NULL : malloc((size_t)length + 1);
    if (text)
        (void)vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(arguments);
    return text;
}

// A name that no other field has: its own, or with a distinguishing suffix.
static char *unique_name(const struct perfetto *perfetto, const tsmith_field_info *info) {
    char *name = strdup(info->name);
    if (name && is_taken(perfetto, name)) {
        free(name);
        name = format_text("%s (%s%s%s)", info->name, info->unit, *info->unit ? " " : "",
                           tsmith_type_name(info->type));
    }
    if (name && is_taken(perfetto, name)) {
        free(name);
        name = format_text("%s (field %" PRIu32 ")", info->name, info->field);
    }
    return name;
}

size_t perfetto_field(struct perfetto *perfetto, uint32_t field) {
    for (size_t i = 0; i < perfetto->field_count; i++)
        if (perfetto->fields[i].field == field)
            return i;
    tsmith_field_info info;
    if (!tsmith_dictionary_describe_field(perfetto->dictionary, field, &info))
        return SIZE_MAX;
    bool dynamic = field > TSMITH_FIELD_DYNAMIC;
    char *name = dynamic ? unique_name(perfetto, &info) : strdup(info.name);
    if (!name || !ARRAY_RESERVE(perfetto->fields, perfetto->field_capacity, perfetto->field_count + 1)) {
        free(name);
        perfetto->failed = true;
        return SIZE_MAX;
    }
    perfetto->fields[perfetto->field_count] = (struct annotated){field, name};
    if (dynamic) {
        char *key = format_text("tracesmith.field.%s", name);
        char *value =
            format_text("%s %zu %s%s", tsmith_type_name(info.type), strlen(info.unit), info.unit, info.name);
        if (key && value)
            put_attribute(perfetto, key, strlen(key), value, strlen(value));
        perfetto->failed |= !key || !value;
        free(key);
        free(value);
    }
    return perfetto->field_count++;
}

void perfetto_finish_tracks(struct perfetto *perfetto) {
    for (size_t i = 0; i < perfetto->sequence_capacity; i++) {
        struct sequence *sequence = perfetto->sequences[i];
        if (!sequence)
            continue;
        perfetto_finish_lanes(&sequence->lanes);
        free(sequence->slots);
        free(sequence->interned.bytes);
        free(sequence->events.bytes);
        free(sequence->waiting);
        free(sequence);
    }
    for (size_t i = 0; i < perfetto->field_count; i++)
        free(perfetto->fields[i].name);
    free(perfetto->fields);
    free(perfetto->sequences);
    free(perfetto->processes);
    free(perfetto->devices);
    free(perfetto->sorting.items);
    free(perfetto->scratch.bytes);
}
