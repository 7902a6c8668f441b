// SPDX-License-Identifier: Apache-2.0
// Metadata of an export. Used by the exports to Arrow IPC and Parquet.
#include "export/about.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "event/utf8.h"
#include "tracesmith/version.h"

enum { VALUE_MAX = 4096 }; // longer attributes stay in the trace

static void add_pair(struct about *about, const char *prefix, const char *key, const char *value) {
    const size_t size = strlen(prefix) + strlen(key) + 1;
    char *named = malloc(size);
    struct about_pair pair = {NULL, NULL};
    if (named) {
        (void)snprintf(named, size, "%s%s", prefix, key);
        pair = (struct about_pair){utf8_copy(named), utf8_copy(value)};
    }
    free(named);
    struct about_pair *place =
        pair.key && pair.value ? ARRAY_PUSH(about->pairs, about->count, about->capacity) : NULL;
    if (place) {
        *place = pair;
        return;
    }
    free(pair.key);
    free(pair.value);
    about->failed = true;
}

static void add_number(struct about *about, const char *key, uint64_t value) {
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    add_pair(about, "tracesmith.", key, text);
}

static void add_attributes(struct about *about, const tsmith_dictionary *dictionary) {
    const uint32_t count = tsmith_dictionary_attribute_count(dictionary);
    for (uint32_t id = 1; id < count; id++) {
        const tsmith_attribute *attribute = tsmith_dictionary_attribute(dictionary, id);
        if (!attribute)
            continue;
        const tsmith_string key = tsmith_dictionary_string(dictionary, attribute->key);
        const tsmith_string value = tsmith_dictionary_string(dictionary, attribute->value);
        // Of several values of a key the last is valid.
        if (key.length && value.length && value.length <= VALUE_MAX &&
            tsmith_dictionary_find_attribute(dictionary, key.bytes).bytes == value.bytes)
            add_pair(about, "trace.", key.bytes, value.bytes);
    }
}

static void add_losses(struct about *about, const struct event_rows *rows) {
    uint64_t entries = 0, events = 0;
    for (unsigned reason = 0; reason < 256; reason++) {
        const struct event_rows_loss *loss = &rows->losses[reason];
        const char *word = reason ? tsmith_reason_name((tsmith_reason)reason) : "unknown";
        char key[96], value[64];
        if (!loss->entries)
            continue;
        entries += loss->entries;
        events += loss->events;
        (void)snprintf(key, sizeof key, "loss.%s", word ? word : "other");
        (void)snprintf(value, sizeof value, "%" PRIu64 " entries, %" PRIu64 " events", loss->entries,
                       loss->events);
        add_pair(about, "tracesmith.", key, value);
    }
    add_number(about, "loss_entries", entries);
    add_number(about, "lost_events", events);
}

void about_make(struct about *about, const tsmith_dictionary *dictionary, const struct event_rows *rows) {
    about_finish(about);
    add_pair(about, "tracesmith.", "version", tsmith_version());
    add_pair(about, "tracesmith.", "clock", "trace clock, which does not begin in 1970");
    add_pair(about, "tracesmith.", "time_unit", "ns");
    add_attributes(about, dictionary);
    if (rows) {
        add_number(about, "events", rows->total);
        add_losses(about, rows);
    }
}

void about_finish(struct about *about) {
    for (size_t i = 0; i < about->count; i++) {
        free(about->pairs[i].key);
        free(about->pairs[i].value);
    }
    free(about->pairs);
    *about = (struct about){.count = 0};
}
