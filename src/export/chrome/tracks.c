// SPDX-License-Identifier: Apache-2.0
// Processes and threads of Chrome's JSON, which knows nothing else: tracks and their lanes as threads.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "export/chrome/chrome.h"

// Numbers that no thread of Linux has, and that have 32 bits: Perfetto takes a larger one for no number.
enum { FIRST_TRACK = 1 << 30, FIRST_LANE = FIRST_TRACK + (1 << 29) };

static tsmith_string attribute_of(const struct chrome *chrome, const char *what, uint32_t id,
                                  const char *part) {
    char key[64];
    (void)snprintf(key, sizeof key, "import.%s.%u.%s", what, id, part);
    return tsmith_dictionary_find_attribute(chrome->dictionary, key);
}

// `"pid":` and a value into text that is made by a second output of its own.
static void put_ident(struct chrome *chrome, struct output *output, const char *key, tsmith_string text,
                      uint64_t number) {
    if (text.bytes && text.length == 0)
        return; // the events had none
    if (output->used)
        output_char(output, ',');
    output_text(output, key);
    if (!text.bytes)
        json_out_u64(output, number);
    else if (text.bytes[0] == '=')
        json_out_string(output, text.bytes + 1, text.length - 1);
    else if (chrome->origin.chrome)
        output_bytes(output, text.bytes, text.length);
}

// A queue or counter of ours becomes a thread with a number of its own, and so does a thread whose number is not known.
static uint64_t thread_number(const struct chrome *chrome, uint32_t id, const tsmith_track *track) {
    if (chrome->origin.chrome || (track->kind == TSMITH_TRACK_THREAD && track->tid))
        return track->tid;
    return FIRST_TRACK + (uint64_t)id;
}

// The attribute could be anything in a file from another writer.
static tsmith_string checked(tsmith_string text) {
    if (!text.bytes || text.length == 0 || text.bytes[0] == '=' || json_is_valid(text.bytes, text.length))
        return text;
    return (tsmith_string){NULL, 0};
}

static const char nothing[] = "\"pid\":0,\"tid\":0";

// NULL when memory is exhausted.
static struct chrome_track *find_track(struct chrome *chrome, uint32_t id) {
    size_t had = chrome->track_capacity;
    if (!ARRAY_RESERVE(chrome->tracks, chrome->track_capacity, (size_t)id + 1)) {
        chrome->json.failed = true;
        return NULL;
    }
    memset(chrome->tracks + had, 0, (chrome->track_capacity - had) * sizeof *chrome->tracks);
    return &chrome->tracks[id];
}

static const char *track_text(struct chrome *chrome, uint32_t id) {
    struct chrome_track *made = find_track(chrome, id);
    if (!made || made->text)
        return made ? made->text : nothing;
    const tsmith_track *track = tsmith_dictionary_track(chrome->dictionary, id);
    if (!track)
        return nothing;
    const tsmith_process *process = tsmith_dictionary_process(chrome->dictionary, track->process);
    tsmith_string none = {NULL, 0};
    tsmith_string pid =
        chrome->origin.chrome ? checked(attribute_of(chrome, "process", track->process, "pid")) : none;
    tsmith_string tid = chrome->origin.chrome ? checked(attribute_of(chrome, "track", id, "tid")) : none;
    if (pid.length + tid.length > OUTPUT_SIZE / 8)
        return nothing;
    struct output *text = chrome_text(chrome);
    put_ident(chrome, text, "\"pid\":", pid, process ? process->pid : 0);
    put_ident(chrome, text, "\"tid\":", tid, thread_number(chrome, id, track));
    made->text = strndup(text->buffer, text->used);
    return made->text ? made->text : nothing;
}

const char *chrome_place(struct chrome *chrome, uint32_t id, uint32_t lane) {
    if (lane == 0)
        return track_text(chrome, id);
    const tsmith_track *track = tsmith_dictionary_track(chrome->dictionary, id);
    const tsmith_process *process = tsmith_dictionary_process(chrome->dictionary, track ? track->process : 0);
    struct chrome_track *made = find_track(chrome, id);
    void *lanes = made ? made->lanes : NULL;
    if (!made || !array_reserve(&lanes, &made->lane_capacity, lane, sizeof *made->lanes)) {
        chrome->json.failed = true;
        return nothing;
    }
    made->lanes = lanes;
    for (; made->lane_count < lane; made->lane_count++)
        (void)snprintf(made->lanes[made->lane_count], sizeof *made->lanes, "\"pid\":%llu,\"tid\":%u",
                       process ? (unsigned long long)process->pid : 0, FIRST_LANE + chrome->lane_numbers++);
    return made->lanes[lane - 1];
}

// ---- names

static void put_metadata(struct chrome *chrome, const char *name, const char *place) {
    chrome_begin(chrome);
    output_text(&chrome->output, "{\"ph\":\"M\",\"name\":\"");
    output_text(&chrome->output, name);
    output_text(&chrome->output, "\",");
    output_text(&chrome->output, place);
    output_text(&chrome->output, ",\"args\":{");
}

// The name, and where it stands among the others: viewers put what has no place by its number, or by its first event.
static void put_thread(struct chrome *chrome, const char *place, tsmith_string name, size_t lane,
                       uint64_t *order) {
    struct output *output = &chrome->output;
    put_metadata(chrome, "thread_name", place);
    output_text(output, "\"name\":");
    if (lane) {
        char *text = NULL;
        int length = asprintf(&text, "%s (%zu)", name.bytes, lane + 1);
        chrome->json.failed |= length < 0;
        json_out_string(output, length < 0 ? "" : text, length < 0 ? 0 : (size_t)length);
        free(length < 0 ? NULL : text);
    } else {
        json_out_string(output, name.bytes, name.length);
    }
    output_text(output, "}}");
    if (!chrome->lane_numbers)
        return;
    put_metadata(chrome, "thread_sort_index", place);
    output_text(output, "\"sort_index\":");
    json_out_u64(output, (*order)++);
    output_text(output, "}}");
}

void chrome_put_names(struct chrome *chrome) {
    struct output *output = &chrome->output;
    uint64_t order = 0;
    uint32_t processes = tsmith_dictionary_process_count(chrome->dictionary);
    for (uint32_t id = 1; id < processes; id++) {
        const tsmith_process *process = tsmith_dictionary_process(chrome->dictionary, id);
        if (!process->name)
            continue;
        chrome_begin(chrome);
        output_text(output, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":");
        json_out_u64(output, process->pid);
        output_text(output, ",\"tid\":0,\"args\":{\"name\":");
        json_out_string_id(&chrome->json, chrome->dictionary, process->name);
        output_text(output, "}}");
    }
    uint32_t tracks = tsmith_dictionary_track_count(chrome->dictionary);
    for (uint32_t id = 1; id < tracks; id++) {
        char room[TSMITH_LABEL_SIZE];
        const tsmith_string name = output_track_name(chrome->dictionary, id, room);
        put_thread(chrome, track_text(chrome, id), name, 0, &order);
        size_t lanes = id < chrome->track_capacity ? chrome->tracks[id].lane_count : 0;
        for (size_t lane = 1; lane <= lanes; lane++)
            put_thread(chrome, chrome->tracks[id].lanes[lane - 1], name, lane, &order);
    }
}

void chrome_finish_tracks(struct chrome *chrome) {
    for (size_t i = 0; i < chrome->track_capacity; i++) {
        free(chrome->tracks[i].text);
        free(chrome->tracks[i].lanes);
    }
    free(chrome->tracks);
}
