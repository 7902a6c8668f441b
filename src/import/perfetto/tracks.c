// SPDX-License-Identifier: Apache-2.0
// Processes, threads and tracks. They get their numbers when an event first needs them, but enter the dictionary only
// before a batch is delivered: a file may have names late.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "import/perfetto/perfetto.h"

enum { SPACE_UUID, SPACE_THREAD = 1 << 20 }; // what a key of the track map is; others choose theirs between

uint32_t pf_intern(struct pf *pf, const struct proto_field *field) {
    if (!field->bytes || field->length == 0)
        return 0;
    return tsmith_dictionary_intern(pf->dictionary, (const char *)field->bytes, field->length);
}

// ---- tables that begin at 1

static uint32_t add_track(struct pf *pf) {
    if (pf->track_count == 0)
        pf->track_count = 1;
    if (pf->track_count > PF_TRACKS_MAX)
        return 0;
    if (!ARRAY_RESERVE(pf->tracks, pf->track_capacity, pf->track_count + 1)) {
        pf->failed = true;
        return 0;
    }
    pf->tracks[pf->track_count] = (struct pf_track){.multiplier = 1, .entry = {.kind = TSMITH_TRACK_CUSTOM}};
    return (uint32_t)pf->track_count++;
}

uint32_t pf_track_of_key(struct pf *pf, uint64_t space, uint64_t key) {
    uint32_t *index = pf_map_at(pf, &pf->track_map, key, space, pf->track_count <= PF_TRACKS_MAX);
    if (index && !*index)
        *index = add_track(pf);
    return index ? *index : 0;
}

uint32_t pf_track_of_uuid(struct pf *pf, uint64_t uuid) {
    uint32_t track = pf_track_of_key(pf, SPACE_UUID, uuid);
    if (track)
        pf->tracks[track].uuid = uuid;
    return track;
}

uint32_t pf_process(struct pf *pf, uint64_t pid) {
    if (pf->process_count == 0)
        pf->process_count = 1;
    uint32_t *index = pf_map_at(pf, &pf->process_map, pid, 0, pf->process_count <= PF_TRACKS_MAX);
    if (!index || *index)
        return index ? *index : 0;
    if (!ARRAY_RESERVE(pf->processes, pf->process_capacity, pf->process_count + 1)) {
        pf->failed = true;
        return 0;
    }
    pf->processes[pf->process_count] = (struct pf_process){.entry = {.pid = pid}};
    return *index = (uint32_t)pf->process_count++;
}

static uint32_t device_of_key(struct pf *pf, struct pf_map *map, uint64_t key) {
    if (pf->device_count == 0)
        pf->device_count = 1;
    uint32_t *index = pf_map_at(pf, map, key, 0, pf->device_count <= PF_TRACKS_MAX);
    if (!index || *index)
        return index ? *index : 0;
    if (!ARRAY_RESERVE(pf->devices, pf->device_capacity, pf->device_count + 1)) {
        pf->failed = true;
        return 0;
    }
    pf->devices[pf->device_count] = (struct pf_device){.id = 0};
    return *index = (uint32_t)pf->device_count++;
}

uint32_t pf_gpu(struct pf *pf, uint64_t number) {
    uint32_t index = device_of_key(pf, &pf->gpu_map, number);
    if (index && !pf->devices[index].entry.name) {
        char name[32];
        (void)snprintf(name, sizeof name, "GPU %" PRIu64, number);
        pf->devices[index].entry.name = tsmith_dictionary_intern_cstr(pf->dictionary, name);
        pf->devices[index].entry.type = tsmith_dictionary_intern_cstr(pf->dictionary, "gpu");
    }
    return index;
}

uint32_t pf_thread_track(struct pf *pf, uint64_t pid, uint64_t tid) {
    uint32_t process = pf_process(pf, pid);
    uint32_t track = pf_track_of_key(pf, SPACE_THREAD + process, tid);
    if (track) {
        pf->tracks[track].entry.kind = TSMITH_TRACK_THREAD;
        pf->tracks[track].entry.tid = tid;
        pf->tracks[track].process = process;
    }
    return track;
}

void pf_name_thread(struct pf *pf, uint64_t pid, uint64_t tid, uint32_t name) {
    uint32_t track = pf_thread_track(pf, pid, tid);
    if (track && name)
        pf->tracks[track].name = name;
}

void pf_name_process(struct pf *pf, uint64_t pid, uint32_t name) {
    uint32_t process = pf_process(pf, pid);
    if (process && name && !pf->ours)
        pf->processes[process].entry.name = name;
}

// ---- descriptors

// A process without a number is that of number 0, and `query` has none for it.
static void note_pid(struct pf *pf, uint64_t pid, bool known) {
    const uint32_t process = pf_process(pf, pid);
    if (process && !pid) {
        pf->processes[process].numbered |= known;
        pf->processes[process].unnumbered |= !known;
    }
}

uint32_t pf_read_thread(struct pf *pf, struct proto_in in, int64_t *reference_us) {
    struct proto_field field;
    uint64_t pid = 0, tid = 0;
    uint32_t name = 0;
    bool has_pid = false;
    while (proto_next(&in, &field)) {
        if (field.number == 1) {
            pid = (uint64_t)(int64_t)(int32_t)field.value;
            has_pid = true;
        } else if (field.number == 2)
            tid = field.value;
        else if (field.number == 5 && field.wire == PROTO_BYTES)
            name = pf_intern(pf, &field);
        else if (field.number == 6 && reference_us)
            *reference_us = (int64_t)field.value;
    }
    note_pid(pf, pid, has_pid);
    pf_name_thread(pf, pid, tid, name);
    return pf_thread_track(pf, pid, tid);
}

uint64_t pf_read_process(struct pf *pf, struct proto_in in) {
    struct proto_field field, command = {.number = 0}, name = {.number = 0};
    uint64_t pid = 0;
    bool has_pid = false;
    while (proto_next(&in, &field)) {
        if (field.number == 1) {
            pid = (uint64_t)(int64_t)(int32_t)field.value;
            has_pid = true;
        } else if (field.number == 2 && field.wire == PROTO_BYTES && !command.number)
            command = field;
        else if (field.number == 6 && field.wire == PROTO_BYTES)
            name = field;
    }
    note_pid(pf, pid, has_pid);
    uint32_t process = pf_process(pf, pid);
    if (process && !pf->ours && command.length)
        pf->processes[process].entry.command_line = pf_intern(pf, &command);
    pf_name_process(pf, pid, pf_intern(pf, &name));
    return pid;
}

// Units other than nothing are shown with the values as they are; a multiplier is applied.
static void read_counter(struct pf_track *track, struct proto_in in) {
    struct proto_field field;
    track->is_counter = true;
    while (proto_next(&in, &field)) {
        if (field.number == 4 && field.value)
            track->multiplier = (int64_t)field.value;
        else if (field.number == 5)
            track->incremental = field.value != 0;
    }
}

// The thread of a descriptor is the track of that thread, under this uuid, too.
static void become_thread(struct pf *pf, uint32_t index, uint32_t thread) {
    uint32_t *at = pf_map_at(pf, &pf->track_map, pf->tracks[index].uuid, SPACE_UUID, false);
    if (!thread || pf->tracks[index].id || thread == index) {
        if (thread) { // it has events already: two tracks of the same thread
            pf->tracks[index].entry.kind = TSMITH_TRACK_THREAD;
            pf->tracks[index].entry.tid = pf->tracks[thread].entry.tid;
            pf->tracks[index].process = pf->tracks[thread].process;
        }
        return;
    }
    pf->tracks[thread].uuid = pf->tracks[index].uuid;
    pf->tracks[thread].parent = pf->tracks[index].parent;
    pf->tracks[thread].is_thread = pf->tracks[thread].described = true;
    if (at)
        *at = thread;
}

void pf_read_track(struct pf *pf, struct proto_in in) {
    struct proto_in look = in;
    struct proto_field field, thread = {.number = 0};
    uint64_t uuid = 0;
    while (proto_next(&look, &field))
        if (field.number == 1)
            uuid = field.value;
    uint32_t index = look.bad ? 0 : pf_track_of_uuid(pf, uuid);
    if (!index) {
        pf_problem(pf, look.bad ? PF_PROBLEM_MALFORMED : PF_PROBLEM_TOO_MANY);
        return;
    }
    pf->tracks[index].described = true;
    while (proto_next(&in, &field)) {
        struct pf_track *track = &pf->tracks[index];
        if (field.number == 5) {
            track->parent = field.value;
        } else if (field.wire != PROTO_BYTES) {
            continue;
        } else if (field.number == 2 || field.number == 10 || field.number == 13) {
            track->name = pf_intern(pf, &field);
        } else if (field.number == 3) {
            uint32_t process = pf_process(pf, pf_read_process(pf, proto_within(&field)));
            pf->tracks[index].process = process;
            pf->tracks[index].is_process = true;
            if (!pf->ours)
                pf->tracks[index].entry.kind = TSMITH_TRACK_PROCESS;
        } else if (field.number == 4) {
            thread = field;
        } else if (field.number == 8) {
            read_counter(track, proto_within(&field));
            if (!pf->ours)
                pf->tracks[index].entry.kind = TSMITH_TRACK_COUNTER;
        }
    }
    if (thread.number && !pf->ours)
        become_thread(pf, index, pf_read_thread(pf, proto_within(&thread), NULL));
}

void pf_read_process_tree(struct pf *pf, struct proto_in in) {
    struct proto_field field, part;
    while (proto_next(&in, &field)) {
        if (field.wire != PROTO_BYTES || field.number > 2)
            continue;
        struct proto_in entry = proto_within(&field);
        struct proto_field text = {.number = 0};
        uint64_t first = 0, second = 0; // pid and parent, or tid and pid
        while (proto_next(&entry, &part)) {
            if (part.number == 1)
                first = (uint64_t)(int64_t)(int32_t)part.value;
            else if (part.wire == PROTO_VARINT && part.number == (field.number == 1 ? 2 : 3))
                second = (uint64_t)(int64_t)(int32_t)part.value;
            else if (part.wire == PROTO_BYTES && part.number == (field.number == 1 ? 3 : 2) && !text.number)
                text = part;
        }
        if (field.number == 2) {
            pf_name_thread(pf, second, first, pf_intern(pf, &text));
            continue;
        }
        pf_name_process(pf, first, pf_intern(pf, &text));
        uint32_t process = pf_process(pf, first);
        if (process)
            pf->processes[process].entry.parent_pid = second;
    }
}

// ---- what our exporter adds to the format

static uint64_t next_number(const char **at) {
    char *end;
    uint64_t number = **at == '-' ? (uint64_t)strtoll(*at, &end, 10) : strtoull(*at, &end, 10);
    *at = end;
    return number;
}

static void set_process(struct pf *pf, uint64_t id, const char *part, const char *value, uint32_t text) {
    // By the number it had in the dictionary: two processes may have one pid.
    uint32_t index = pf_process(pf, ~id);
    if (!index)
        return;
    tsmith_process *entry = &pf->processes[index].entry;
    if (strcmp(part, ".name") == 0) {
        entry->name = text;
    } else if (strcmp(part, ".command_line") == 0) {
        entry->command_line = text;
    } else if (strcmp(part, ".host") == 0) {
        entry->host = text;
    } else if (!*part) {
        (void)next_number(&value);
        entry->pid = next_number(&value);
        entry->parent_pid = next_number(&value);
        entry->start = (int64_t)next_number(&value);
    }
}

static void set_device(struct pf *pf, uint64_t id, const char *part, const char *value, uint32_t text) {
    uint32_t index = device_of_key(pf, &pf->device_map, id);
    if (!index)
        return;
    tsmith_device *entry = &pf->devices[index].entry;
    if (strcmp(part, ".name") == 0) {
        entry->name = text;
    } else if (strcmp(part, ".vendor") == 0) {
        entry->vendor = text;
    } else if (strcmp(part, ".driver") == 0) {
        entry->driver = text;
    } else if (strcmp(part, ".api") == 0) {
        entry->api = text;
    } else if (strcmp(part, ".type") == 0) {
        entry->type = text;
    } else if (strcmp(part, ".identity") == 0) {
        entry->identity = text;
    } else if (!*part) {
        uint64_t process = next_number(&value);
        entry->process = process ? pf_process(pf, ~process) : 0;
        entry->memory_bytes = next_number(&value);
        entry->compute_units = (uint32_t)next_number(&value);
        entry->clock_mhz = (uint32_t)next_number(&value);
        entry->number = (uint32_t)next_number(&value);
    }
}

// "id kind flags process device parent tid context queue"
static void set_track(struct pf *pf, uint64_t uuid, const char *part, const char *value, uint32_t text) {
    uint32_t index = pf_track_of_uuid(pf, uuid);
    if (!index)
        return;
    if (strcmp(part, ".name") == 0) {
        pf->tracks[index].name = text;
        return;
    }
    (void)next_number(&value);
    uint64_t kind = next_number(&value), flags = next_number(&value), process = next_number(&value);
    uint64_t device = next_number(&value);
    (void)next_number(&value); // parent: a number of the dictionary it came from
    uint32_t process_index = process ? pf_process(pf, ~process) : 0;
    uint32_t device_index = device ? device_of_key(pf, &pf->device_map, device) : 0;
    struct pf_track *track = &pf->tracks[index];
    track->name = 0; // one that was shown for want of another
    track->process = process_index;
    track->entry = (tsmith_track){.kind = (uint8_t)kind, .flags = (uint16_t)flags, .device = device_index};
    track->entry.tid = next_number(&value);
    track->entry.context = next_number(&value);
    track->entry.queue = next_number(&value);
}

static uint32_t name_of(struct pf *pf, const char *text) {
    return pf_name(pf, tsmith_dictionary_intern_cstr(pf->dictionary, text));
}

// "TYPE LENGTH UNIT NAME", separated by one space; LENGTH is the length of the unit; unit and name have no spaces.
static void set_field(struct pf *pf, const char *annotation, const char *value) {
    size_t type_length = strcspn(value, " ");
    uint32_t number = 0;
    for (uint32_t i = 1; i < TSMITH_TYPE_LIMIT; i++) {
        const char *type = tsmith_type_name((tsmith_type)i);
        if (strlen(type) == type_length && memcmp(type, value, type_length) == 0)
            number = i;
    }
    const char *at = value + type_length;
    uint64_t length = next_number(&at);
    uint32_t name = name_of(pf, annotation);
    if (!number || !name || *at != ' ' || length > strlen(at + 1))
        return;
    char *unit = strndup(at + 1, length);
    if (!unit) {
        pf->failed = true;
        return;
    }
    uint32_t string = tsmith_dictionary_intern_cstr(pf->dictionary, at + 1 + length);
    pf->names[name].field = pf_new_field(pf, string, number, unit);
    pf->names[name].type = number;
    free(unit);
}

static void set_counter(struct pf *pf, uint64_t uuid, const char *part, const char *value) {
    uint32_t index = pf_track_of_uuid(pf, uuid);
    if (!index)
        return;
    if (strcmp(part, ".series") == 0) {
        uint32_t name = name_of(pf, value);
        pf->tracks[index].field = name ? pf->names[name].field : 0;
        pf->tracks[index].field_type = name ? pf->names[name].type : 0;
    } else {
        pf->tracks[index].main = pf_track_of_uuid(pf, next_number(&value));
        pf->tracks[index].is_counter = true;
    }
}

static void set_lane(struct pf *pf, uint64_t uuid, const char *value) {
    uint32_t lane = pf_track_of_uuid(pf, uuid);
    uint32_t main = pf_track_of_uuid(pf, next_number(&value));
    if (lane)
        pf->tracks[lane].main = main;
}

// "process.3.name" and the like.
static void set_fact(struct pf *pf, const char *key, const char *value, uint32_t text) {
    const char *part = strchr(key, '.');
    if (strncmp(key, "field.", 6) == 0) {
        set_field(pf, key + 6, value);
        return;
    }
    if (!part) {
        pf->ours |= strcmp(key, "export") == 0;
        return;
    }
    part++;
    uint64_t number = next_number(&part);
    if (strncmp(key, "process.", 8) == 0)
        set_process(pf, number, part, value, text);
    else if (strncmp(key, "device.", 7) == 0)
        set_device(pf, number, part, value, text);
    else if (strncmp(key, "track.", 6) == 0)
        set_track(pf, number, part, value, text);
    else if (strncmp(key, "counter.", 8) == 0)
        set_counter(pf, number, part, value);
    else if (strncmp(key, "lane.", 5) == 0)
        set_lane(pf, number, value);
}

static void read_attribute(struct pf *pf, struct proto_in in) {
    static const char prefix[] = "tracesmith.", foreign[] = "trace.";
    struct proto_field field, key = {.number = 0}, text = {.number = 0};
    char number[32] = "";
    while (proto_next(&in, &field)) {
        if (field.number == 1 && field.wire == PROTO_BYTES)
            key = field;
        else if (field.number == 3 && field.wire == PROTO_BYTES)
            text = field;
        else if (field.number == 2)
            (void)snprintf(number, sizeof number, "%" PRId64, (int64_t)field.value);
    }
    uint32_t id = pf_intern(pf, &key);
    uint32_t value =
        text.number ? pf_intern(pf, &text) : tsmith_dictionary_intern_cstr(pf->dictionary, number);
    const char *name = tsmith_dictionary_string(pf->dictionary, id).bytes;
    if (strncmp(name, prefix, sizeof prefix - 1) == 0) {
        set_fact(pf, name + sizeof prefix - 1, tsmith_dictionary_string(pf->dictionary, value).bytes, value);
        return;
    }
    if (!pf->ours && key.length < INT16_MAX) {
        char longer[INT16_MAX + sizeof foreign];
        int length = snprintf(longer, sizeof longer, "%s%s", foreign, name);
        id = tsmith_dictionary_intern(pf->dictionary, longer, (size_t)length);
    } else if (strcmp(name, "import.format") == 0) {
        const char *format = tsmith_dictionary_string(pf->dictionary, value).bytes;
        pf->verbatim = strcmp(format, "chrome-json") == 0 || strcmp(format, "rocprofv3-json") == 0 ||
                       strcmp(format, "perfetto") == 0;
    }
    (void)tsmith_dictionary_add_attribute(pf->dictionary, &(tsmith_attribute){id, value});
}

void pf_read_attributes(struct pf *pf, struct proto_in in) {
    struct proto_field field;
    while (proto_next(&in, &field))
        if (field.number == 1 && field.wire == PROTO_BYTES)
            read_attribute(pf, proto_within(&field));
}

// ---- into the dictionary

uint32_t pf_main_track(const struct pf *pf, uint32_t track) {
    return pf->tracks[track].main ? pf->tracks[track].main : track;
}

uint32_t pf_track_id(struct pf *pf, uint32_t track) {
    if (!track)
        return 0;
    if (pf->tracks[track].id)
        return pf->tracks[track].id;
    if (!ARRAY_RESERVE(pf->ids, pf->id_capacity, pf->id_count + 1)) {
        pf->failed = true;
        return 0;
    }
    pf->ids[pf->id_count++] = track;
    return pf->tracks[track].id = (uint32_t)pf->id_count;
}

static uint32_t process_id(struct pf *pf, uint32_t index) {
    if (!index)
        return 0;
    struct pf_process *process = &pf->processes[index];
    if (process->id)
        return process->id;
    process->id = tsmith_dictionary_add_process(pf->dictionary, &process->entry);
    if (process->unnumbered && !process->numbered) {
        char key[48];
        (void)snprintf(key, sizeof key, "import.process.%" PRIu32 ".pid", process->id);
        tsmith_dictionary_set_attribute(pf->dictionary, key, "null");
    }
    return process->id;
}

static uint32_t device_id(struct pf *pf, uint32_t index) {
    if (!index)
        return 0;
    struct pf_device *device = &pf->devices[index];
    if (!device->id) {
        tsmith_device entry = device->entry;
        entry.process = process_id(pf, entry.process);
        device->id = tsmith_dictionary_add_device(pf->dictionary, &entry);
    }
    return device->id;
}

// The process that a track or one above it belongs to.
static uint32_t process_of(struct pf *pf, const struct pf_track *track) {
    for (int depth = 0; depth < 16; depth++) {
        if (track->process)
            return track->process;
        uint32_t *parent = pf_map_at(pf, &pf->track_map, track->parent, SPACE_UUID, false);
        if (!track->parent || !parent || !*parent)
            return 0;
        track = &pf->tracks[*parent];
    }
    return 0;
}

void pf_write_dictionary(struct pf *pf) {
    for (; pf->ids_written < pf->id_count; pf->ids_written++) {
        struct pf_track *track = &pf->tracks[pf->ids[pf->ids_written]];
        tsmith_track entry = track->entry;
        uint32_t process = pf->ours ? track->process : process_of(pf, track);
        entry.process = process_id(pf, process);
        entry.device = device_id(pf, entry.device);
        entry.name = track->written_name = track->name;
        if (tsmith_dictionary_add_track(pf->dictionary, &entry) != track->id)
            pf->failed = true;
    }
    for (size_t i = 0; pf->over && i < pf->id_count; i++) {
        struct pf_track *track = &pf->tracks[pf->ids[i]];
        if (track->name != track->written_name)
            tsmith_dictionary_rename_track(pf->dictionary, track->id, track->name);
        track->written_name = track->name;
    }
}

void pf_tracks_finish(struct pf *pf) {
    for (size_t i = 1; i < pf->track_count; i++)
        for (struct pf_open *open = pf->tracks[i].open; open;) {
            struct pf_open *below = open->below;
            pf_event_finish(&open->event);
            free(open);
            open = below;
        }
    free(pf->tracks);
    free(pf->ids);
    free(pf->processes);
    free(pf->devices);
    pf_map_finish(&pf->track_map);
    pf_map_finish(&pf->process_map);
    pf_map_finish(&pf->device_map);
    pf_map_finish(&pf->gpu_map);
}
