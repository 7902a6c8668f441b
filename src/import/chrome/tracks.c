// SPDX-License-Identifier: Apache-2.0
// Processes, threads and devices of a Chrome trace.
//
// Tracks and processes get their ids when they are first seen, but enter the dictionary only before the first
// batch is delivered: a file has names and devices late, often at its end.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/chrome/rows.h"
#include "import/json_scan.h"

enum { METADATA_BYTES_MAX = 64 << 20, DEVICES_MAX = 4096 };

static uint64_t hash_idents(struct ident pid, struct ident tid) {
    uint64_t hash = (pid.bits + pid.form) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 29 ^ tid.bits ^ (uint64_t)tid.form << 60) * 0xd6e8feb86659fd93u;
    return hash ^ hash >> 32;
}

static bool grow_slots(struct rows *rows) {
    size_t grown = rows->slot_count ? rows->slot_count * 2 : 256;
    uint32_t *slots = calloc(grown, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < rows->track_count; i++) {
        size_t at = hash_idents(rows->tracks[i]->pid, rows->tracks[i]->tid) & (grown - 1);
        while (slots[at])
            at = (at + 1) & (grown - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(rows->track_slots);
    rows->track_slots = slots;
    rows->slot_count = grown;
    return true;
}

// Where the process is or would be.
static uint32_t *process_slot(const struct rows *rows, uint32_t *slots, size_t slot_count, struct ident pid) {
    size_t at = hash_idents(pid, (struct ident){FORM_NONE, 0}) & (slot_count - 1);
    while (slots[at] && !ident_same(rows->processes[slots[at] - 1].pid, pid))
        at = (at + 1) & (slot_count - 1);
    return &slots[at];
}

static bool grow_process_slots(struct rows *rows) {
    size_t grown = rows->process_slot_count ? rows->process_slot_count * 2 : 64;
    uint32_t *slots = calloc(grown, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < rows->process_count; i++)
        *process_slot(rows, slots, grown, rows->processes[i].pid) = (uint32_t)i + 1;
    free(rows->process_slots);
    rows->process_slots = slots;
    rows->process_slot_count = grown;
    return true;
}

// The index of the process, SIZE_MAX when memory is exhausted.
static size_t find_process(struct rows *rows, struct ident pid) {
    if (rows->process_count >= rows->process_slot_count / 2 && !grow_process_slots(rows))
        return SIZE_MAX;
    uint32_t *slot = process_slot(rows, rows->process_slots, rows->process_slot_count, pid);
    if (*slot)
        return *slot - 1;
    if (!ARRAY_RESERVE(rows->processes, rows->process_capacity, rows->process_count + 1))
        return SIZE_MAX;
    rows->processes[rows->process_count] = (struct row_process){.pid = pid};
    *slot = (uint32_t)rows->process_count + 1;
    return rows->process_count++;
}

static struct row_track *add_track(struct rows *rows, struct ident pid, struct ident tid, bool device) {
    if (rows->track_count >= TRACKS_MAX)
        return NULL;
    size_t process = find_process(rows, pid);
    if (process == SIZE_MAX) {
        rows->failed = true;
        return NULL;
    }
    struct row_track *track = malloc(sizeof *track);
    if (!track || !ARRAY_RESERVE(rows->tracks, rows->track_capacity, rows->track_count + 1)) {
        free(track);
        rows->failed = true;
        return NULL;
    }
    *track = (struct row_track){.index = (uint32_t)rows->track_count,
                                .pid = pid,
                                .tid = tid,
                                .process = (uint32_t)process,
                                .device = device};
    return rows->tracks[rows->track_count++] = track;
}

struct row_track *tracks_find(struct chrome *chrome, struct ident pid, struct ident tid, bool device) {
    struct rows *rows = chrome->rows;
    struct row_track *last = rows->last_track;
    if (last && ident_same(last->pid, pid) && ident_same(last->tid, tid)) {
        last->device |= device;
        return last;
    }
    if (rows->track_count >= rows->slot_count / 2 && !grow_slots(rows)) {
        rows->failed = true;
        return NULL;
    }
    size_t at = hash_idents(pid, tid) & (rows->slot_count - 1);
    struct row_track *track = NULL;
    for (; rows->track_slots[at]; at = (at + 1) & (rows->slot_count - 1)) {
        struct row_track *candidate = rows->tracks[rows->track_slots[at] - 1];
        if (ident_same(candidate->pid, pid) && ident_same(candidate->tid, tid)) {
            track = candidate;
            track->device |= device;
            break;
        }
    }
    if (!track) {
        track = add_track(rows, pid, tid, device);
        if (!track)
            return NULL;
        rows->track_slots[at] = track->index + 1;
    }
    rows->last_track = track;
    return track;
}

void tracks_finish(struct rows *rows) {
    free(rows->tracks);
    free(rows->processes);
    free(rows->process_slots);
    free(rows->track_slots);
    free(rows->devices);
}

// ---- into the dictionary

// What cannot be a number of the dictionary is stored separately: "import.track.3.tid" = the JSON text, or "=" and the
// string, or "" when the events have none.
static void note_ident(struct chrome *chrome, const char *what, size_t id, const char *part,
                       struct ident ident) {
    tsmith_dictionary *dictionary = chrome->dictionary;
    tsmith_string text = {"", 0};
    char key[64], number[32] = "", *quoted = NULL;
    double real;
    (void)snprintf(key, sizeof key, "import.%s.%zu.%s", what, id, part);
    switch (ident.form) {
    case FORM_I64:
        if ((int64_t)ident.bits >= 0)
            return;
        (void)snprintf(number, sizeof number, "%lld", (long long)ident.bits);
        break;
    case FORM_U64:
        return;
    case FORM_F64:
        memcpy(&real, &ident.bits, sizeof real);
        (void)snprintf(number, sizeof number, "%.17g", real);
        break;
    case FORM_BOOL:
        (void)snprintf(number, sizeof number, "%s", ident.bits ? "true" : "false");
        break;
    case FORM_STRING:
        text = tsmith_dictionary_string(dictionary, (uint32_t)ident.bits);
        quoted = malloc(text.length + 1);
        if (!quoted) {
            chrome->rows->failed = true;
            return;
        }
        quoted[0] = '=';
        memcpy(quoted + 1, text.bytes, text.length);
        text = (tsmith_string){quoted, text.length + 1};
        break;
    case FORM_JSON:
        text = tsmith_dictionary_string(dictionary, (uint32_t)ident.bits);
        break;
    default:
        break;
    }
    if (!text.length)
        text = (tsmith_string){number, strlen(number)};
    tsmith_attribute attribute = {tsmith_dictionary_intern_cstr(dictionary, key),
                                  tsmith_dictionary_intern(dictionary, text.bytes, text.length)};
    (void)tsmith_dictionary_add_attribute(dictionary, &attribute);
    free(quoted);
}

static uint64_t ident_number(struct ident ident) {
    return ident.form == FORM_I64 || ident.form == FORM_U64 ? ident.bits : 0;
}

// A number, or "stream 7" as Kineto wrote until 2021.
static bool is_stream(const struct chrome *chrome, struct ident tid) {
    static const char prefix[] = "stream ";
    if (tid.form != FORM_STRING)
        return true;
    tsmith_string name = tsmith_dictionary_string(chrome->dictionary, (uint32_t)tid.bits);
    return name.length >= sizeof prefix && memcmp(name.bytes, prefix, sizeof prefix - 1) == 0;
}

bool tracks_number(const struct chrome *chrome, struct ident tid, uint64_t *out) {
    bool is_number = tid.form == FORM_I64 || tid.form == FORM_U64;
    *out = ident_number(tid);
    if (is_number || tid.form != FORM_STRING || !is_stream(chrome, tid))
        return is_number;
    tsmith_string text = tsmith_dictionary_string(chrome->dictionary, (uint32_t)tid.bits);
    uint64_t number = 0;
    enum { PREFIX = sizeof "stream " - 1, DIGITS_MOST = 19 };
    if (text.length > PREFIX + DIGITS_MOST)
        return false;
    for (size_t i = PREFIX; i < text.length; i++) {
        if (text.bytes[i] < '0' || text.bytes[i] > '9')
            return false;
        number = number * 10 + (uint64_t)(text.bytes[i] - '0');
    }
    *out = number;
    return true;
}

uint32_t *tracks_device(struct rows *rows, uint64_t number) {
    const size_t had = rows->device_capacity;
    if (number >= DEVICES_MAX || !ARRAY_RESERVE(rows->devices, rows->device_capacity, (size_t)number + 1))
        return NULL;
    memset(rows->devices + had, 0, (rows->device_capacity - had) * sizeof *rows->devices);
    return &rows->devices[number];
}

// The device that a process of Kineto represents: its pid is the number of the GPU.
static uint32_t device_of(struct chrome *chrome, const struct row_track *track) {
    struct rows *rows = chrome->rows;
    uint64_t pid = ident_number(track->pid);
    if (!track->device || track->pid.form != FORM_I64 || !is_stream(chrome, track->tid))
        return 0;
    uint32_t *slot = tracks_device(rows, pid);
    if (!slot)
        return 0;
    if (!*slot) {
        char name[32];
        (void)snprintf(name, sizeof name, "GPU %u", (unsigned)pid);
        tsmith_device device = {.name = tsmith_dictionary_intern_cstr(chrome->dictionary, name),
                                .type = tsmith_dictionary_intern_cstr(chrome->dictionary, "gpu"),
                                .number = (uint32_t)pid + 1};
        *slot = tsmith_dictionary_add_device(chrome->dictionary, &device);
    }
    return *slot;
}

static void write_process(struct chrome *chrome, size_t index) {
    struct row_process *process = &chrome->rows->processes[index];
    uint32_t name = process->name                      ? process->name
                    : process->pid.form == FORM_STRING ? (uint32_t)process->pid.bits
                                                       : 0;
    tsmith_process entry = {.pid = ident_number(process->pid), .name = name};
    uint32_t id = tsmith_dictionary_add_process(chrome->dictionary, &entry);
    process->written_name = process->name;
    note_ident(chrome, "process", id, "pid", process->pid);
}

static void write_track(struct chrome *chrome, size_t index) {
    struct row_track *track = chrome->rows->tracks[index];
    uint32_t name = track->name                      ? track->name
                    : track->tid.form == FORM_STRING ? (uint32_t)track->tid.bits
                                                     : 0;
    uint64_t number;
    bool numbered = tracks_number(chrome, track->tid, &number);
    if (track->device_id) {
        number = track->queue;
        numbered = !track->unnumbered;
    }
    // A thread has a number; Kineto writes -1 for the records of waits that are on no stream.
    const bool thread = track->tid.form == FORM_I64 && track->tid.bits && (int64_t)track->tid.bits != -1;
    tsmith_track entry = {.kind = track->device ? TSMITH_TRACK_QUEUE
                                  : thread      ? TSMITH_TRACK_THREAD
                                                : TSMITH_TRACK_CUSTOM,
                          .name = name,
                          .process = track->process + 1,
                          .device = track->device_id ? track->device_id : device_of(chrome, track),
                          .tid = ident_number(track->tid),
                          .queue = track->device ? number : 0,
                          .flags = track->device && !numbered ? TSMITH_TRACK_UNNUMBERED : 0};
    uint32_t id = tsmith_dictionary_add_track(chrome->dictionary, &entry);
    note_ident(chrome, "track", id, "tid", track->tid);
}

void tracks_write(struct chrome *chrome) {
    struct rows *rows = chrome->rows;
    for (; rows->processes_written < rows->process_count; rows->processes_written++)
        write_process(chrome, rows->processes_written);
    for (; rows->tracks_written < rows->track_count; rows->tracks_written++)
        write_track(chrome, rows->tracks_written);
}

// ---- metadata events

static bool is_text(const struct chrome *chrome, uint32_t id, const char *text) {
    tsmith_string string = tsmith_dictionary_string(chrome->dictionary, id);
    return string.length == strlen(text) && memcmp(string.bytes, text, string.length) == 0;
}

static void name_track(struct chrome *chrome, const struct event *event, uint32_t name) {
    struct rows *rows = chrome->rows;
    struct row_track *track = tracks_find(chrome, event->pid, event->tid, false);
    if (!track)
        return;
    track->name = name;
    size_t index = track->index;
    if (index < rows->tracks_written)
        tsmith_dictionary_rename_track(chrome->dictionary, (uint32_t)index + 1, name);
}

static void name_process(struct chrome *chrome, const struct event *event, uint32_t name) {
    size_t index = find_process(chrome->rows, event->pid);
    if (index == SIZE_MAX)
        chrome->rows->failed = true;
    else
        chrome->rows->processes[index].name = name;
}

void tracks_metadata(struct chrome *chrome, const struct event *event, const char *text, size_t length) {
    struct rows *rows = chrome->rows;
    for (size_t i = 0; i < event->count; i++) {
        const struct key *key = &chrome->keys[event->values[i].key];
        if (key->place != PLACE_ARGUMENT || event->values[i].form != FORM_STRING ||
            !is_text(chrome, key->name, "name"))
            continue;
        if (is_text(chrome, event->name, "thread_name"))
            name_track(chrome, event, (uint32_t)event->values[i].bits);
        else if (is_text(chrome, event->name, "process_name"))
            name_process(chrome, event, (uint32_t)event->values[i].bits);
    }
    if (rows->metadata_bytes + length > METADATA_BYTES_MAX) {
        chrome->problems.counts[PROBLEM_TOO_MANY]++;
        return;
    }
    rows->metadata_bytes += length;
    enum text_form form;
    tsmith_attribute attribute = {tsmith_dictionary_intern_cstr(chrome->dictionary, "import.metadata_event"),
                                  texts_json_once(&chrome->texts, text, length, &form)};
    (void)tsmith_dictionary_add_attribute(chrome->dictionary, &attribute);
}
