// SPDX-License-Identifier: Apache-2.0
// Labels of tracks and devices for display. A track's label is its name and, in brackets, a suffix that distinguishes
// it from others; duplicates are counted here, by the hash of their common part. Tracks are entered once each; a
// track that is renamed makes all of it stale.
#include "event/labels.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "event/dictionary.h"

enum { NAME_MOST = 40 }; // bytes of a device's name within a label

void labels_finish(struct labels *labels) {
    table_finish(&labels->counts);
    free(labels->ordinals);
    free(labels->with_threads);
    *labels = (struct labels){0};
}

// ---- names

static tsmith_string made_up(char out[TSMITH_LABEL_SIZE], const char *what, uint64_t number) {
    // Foreign files have negative numbers.
    const int length = snprintf(out, TSMITH_LABEL_SIZE, "%s %" PRId64, what, (int64_t)number);
    return (tsmith_string){out, length > 0 ? (size_t)length : 0};
}

static bool is_opencl(const tsmith_dictionary *dictionary, const tsmith_track *track) {
    const tsmith_device *device = tsmith_dictionary_device(dictionary, track->device);
    return device && strcmp(tsmith_dictionary_string(dictionary, device->api).bytes, "opencl") == 0;
}

static tsmith_string without_spaces_behind(tsmith_string text) {
    while (text.length && text.bytes[text.length - 1] == ' ')
        text.length--;
    return text;
}

tsmith_string tsmith_track_name(const tsmith_dictionary *dictionary, uint32_t track,
                                char room[TSMITH_LABEL_SIZE]) {
    const tsmith_track *entry = tsmith_dictionary_track(dictionary, track);
    const char *kind = entry ? tsmith_track_kind_name((tsmith_track_kind)entry->kind) : NULL;
    tsmith_string name = without_spaces_behind(tsmith_dictionary_string(dictionary, entry ? entry->name : 0));
    if (name.length)
        return name;
    if (entry && entry->kind == TSMITH_TRACK_QUEUE && !(entry->flags & TSMITH_TRACK_UNNUMBERED) &&
        (entry->queue || entry->device))
        return made_up(room, is_opencl(dictionary, entry) ? "queue" : "stream", entry->queue);
    if (entry && entry->kind == TSMITH_TRACK_THREAD && entry->tid)
        return made_up(room, "thread", entry->tid);
    return made_up(room, kind && *kind ? kind : "track", track);
}

tsmith_string tsmith_device_name(const tsmith_dictionary *dictionary, uint32_t device,
                                 char room[TSMITH_LABEL_SIZE]) {
    const tsmith_device *entry = tsmith_dictionary_device(dictionary, device);
    const tsmith_string name = tsmith_dictionary_string(dictionary, entry ? entry->name : 0);
    if (name.length)
        return name;
    if (entry && entry->number)
        return made_up(room, "device", entry->number - UINT64_C(1));
    return (tsmith_string){"unnamed device", sizeof "unnamed device" - 1};
}

// ---- counting

static uint64_t count_of(const struct labels *labels, uint64_t key) {
    const uint64_t *count = table_find(&labels->counts, key);
    return count ? *count : 0;
}

// How many there are now; 0: no memory.
static uint32_t count_one(struct labels *labels, uint64_t key) {
    uint64_t *count = table_add(&labels->counts, key, NULL);
    return count ? (uint32_t)++ * count : 0;
}

// The common part of labels. `with_number`: also the text in the brackets.
static uint64_t key_of(const tsmith_dictionary *dictionary, uint32_t id, const tsmith_track *track,
                       bool with_number) {
    char room[TSMITH_LABEL_SIZE];
    const tsmith_string name = tsmith_track_name(dictionary, id, room);
    const uint64_t parts[] = {hash_bytes(name.bytes, name.length),
                              track->kind,
                              track->process,
                              track->kind == TSMITH_TRACK_QUEUE ? track->device : 0,
                              with_number && track->kind == TSMITH_TRACK_THREAD ? track->tid : 0,
                              with_number};
    return hash_bytes(parts, sizeof parts) | 1;
}

static bool mark_process(struct labels *labels, uint32_t process) {
    const size_t had = labels->with_threads_capacity;
    if (!ARRAY_RESERVE(labels->with_threads, labels->with_threads_capacity, process + (size_t)1))
        return false;
    memset(labels->with_threads + had, 0,
           (labels->with_threads_capacity - had) * sizeof *labels->with_threads);
    labels->processes_with_threads += !labels->with_threads[process];
    labels->with_threads[process] = true;
    return true;
}

static bool enter(const tsmith_dictionary *dictionary, struct labels *labels, uint32_t id) {
    const tsmith_track *track = tsmith_dictionary_track(dictionary, id);
    if (!ARRAY_RESERVE(labels->ordinals, labels->ordinal_capacity, id + (size_t)1))
        return false;
    labels->ordinals[id] = count_one(labels, key_of(dictionary, id, track, true));
    if (!labels->ordinals[id] || !count_one(labels, key_of(dictionary, id, track, false)))
        return false;
    if (track->kind == TSMITH_TRACK_QUEUE && track->device) {
        labels->several_devices |= labels->queue_device && labels->queue_device != track->device;
        labels->queue_device = track->device;
    }
    return track->kind != TSMITH_TRACK_THREAD || !tsmith_dictionary_process(dictionary, track->process) ||
           mark_process(labels, track->process);
}

// NULL: no memory.
static const struct labels *catch_up(const tsmith_dictionary *dictionary) {
    struct labels *labels = dictionary_labels(dictionary);
    const uint32_t count = tsmith_dictionary_track_count(dictionary);
    labels->tracks_seen = labels->tracks_seen ? labels->tracks_seen : 1;
    for (; labels->tracks_seen < count && !labels->failed; labels->tracks_seen++)
        labels->failed = !enter(dictionary, labels, labels->tracks_seen);
    return labels->failed ? NULL : labels;
}

// ---- distinguishing labels

static bool shares_number(const tsmith_dictionary *dictionary, uint32_t device) {
    const uint32_t number = tsmith_dictionary_device(dictionary, device)->number;
    for (uint32_t id = 1; id < tsmith_dictionary_device_count(dictionary); id++)
        if (id != device && tsmith_dictionary_device(dictionary, id)->number == number)
            return true;
    return false;
}

static bool shares_name(const tsmith_dictionary *dictionary, uint32_t device) {
    const tsmith_string name =
        tsmith_dictionary_string(dictionary, tsmith_dictionary_device(dictionary, device)->name);
    for (uint32_t id = 1; id < tsmith_dictionary_device_count(dictionary); id++) {
        const tsmith_device *entry = tsmith_dictionary_device(dictionary, id);
        const tsmith_string other = tsmith_dictionary_string(dictionary, entry->name);
        if (!other.length && entry->number)
            continue; // called by its number
        if (id != device && other.length == name.length && memcmp(other.bytes, name.bytes, name.length) == 0)
            return true;
    }
    return false;
}

// One more part of the brackets.
static size_t add(char out[TSMITH_LABEL_SIZE], size_t length, const char *part) {
    const int more = snprintf(out + length, TSMITH_LABEL_SIZE - length, "%s%s", length ? ", " : " (", part);
    return more > 0 && length + (size_t)more < TSMITH_LABEL_SIZE - 1 ? length + (size_t)more : length;
}

static size_t end(char out[TSMITH_LABEL_SIZE], size_t length) {
    if (length) {
        out[length++] = ')';
        out[length] = '\0';
    }
    return length;
}

static size_t add_device(const tsmith_dictionary *dictionary, uint32_t device, char out[TSMITH_LABEL_SIZE],
                         size_t length) {
    const tsmith_device *entry = tsmith_dictionary_device(dictionary, device);
    char room[TSMITH_LABEL_SIZE], part[TSMITH_LABEL_SIZE];
    const tsmith_string name = tsmith_device_name(dictionary, device, room);
    if (entry->number && !shares_number(dictionary, device))
        (void)snprintf(part, sizeof part, "device %" PRIu32, entry->number - 1);
    else if (shares_name(dictionary, device))
        (void)snprintf(part, sizeof part, "%.*s #%" PRIu32,
                       (int)(name.length < NAME_MOST ? name.length : NAME_MOST), name.bytes, device);
    else
        (void)snprintf(part, sizeof part, "%.*s", (int)(name.length < NAME_MOST ? name.length : NAME_MOST),
                       name.bytes);
    return add(out, length, part);
}

size_t tsmith_track_distinction(const tsmith_dictionary *dictionary, uint32_t track, unsigned without,
                                char out[TSMITH_LABEL_SIZE]) {
    const tsmith_track *entry = track ? tsmith_dictionary_track(dictionary, track) : NULL;
    const struct labels *labels = entry ? catch_up(dictionary) : NULL;
    char part[48];
    size_t length = 0;
    out[0] = '\0';
    if (!labels)
        return 0;
    const tsmith_process *process = tsmith_dictionary_process(dictionary, entry->process);
    if (entry->kind == TSMITH_TRACK_QUEUE && tsmith_dictionary_device(dictionary, entry->device) &&
        labels->several_devices && !(without & TSMITH_LABEL_DEVICE))
        length = add_device(dictionary, entry->device, out, length);
    if (process && labels->processes_with_threads > 1 && entry->process < labels->with_threads_capacity &&
        labels->with_threads[entry->process] && !(without & TSMITH_LABEL_PROCESS)) {
        (void)snprintf(part, sizeof part, "pid %" PRId64, (int64_t)process->pid);
        length = add(out, length, part);
    }
    if (entry->kind == TSMITH_TRACK_THREAD && entry->tid &&
        tsmith_dictionary_string(dictionary, entry->name).length &&
        count_of(labels, key_of(dictionary, track, entry, false)) > 1) {
        (void)snprintf(part, sizeof part, "tid %" PRId64, (int64_t)entry->tid);
        length = add(out, length, part);
    }
    if (count_of(labels, key_of(dictionary, track, entry, true)) > 1) {
        (void)snprintf(part, sizeof part, "#%" PRIu32, labels->ordinals[track]);
        length = add(out, length, part);
    }
    return end(out, length);
}

size_t tsmith_device_distinction(const tsmith_dictionary *dictionary, uint32_t device,
                                 char out[TSMITH_LABEL_SIZE]) {
    const tsmith_device *entry = device ? tsmith_dictionary_device(dictionary, device) : NULL;
    char part[48];
    out[0] = '\0';
    if (!entry || !shares_name(dictionary, device))
        return 0;
    const bool number = entry->number && !shares_number(dictionary, device);
    if (number && !tsmith_dictionary_string(dictionary, entry->name).length)
        return 0; // its number is its name
    (void)snprintf(part, sizeof part, number ? "device %" PRIu32 : "#%" PRIu32,
                   number ? entry->number - 1 : device);
    return end(out, add(out, 0, part));
}
