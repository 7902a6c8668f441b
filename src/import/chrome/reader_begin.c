// SPDX-License-Identifier: Apache-2.0
// The beginning and the end of a reader's life, and how a Chrome trace begins. pipeline.c and source.c call it.
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "import/chrome/reader.h"

tsmith_status reader_create(struct chrome *chrome) {
    struct reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return TSMITH_ERROR_NO_MEMORY;
    chrome->reader = reader;
    // calloc, because most of them are never touched; it does not align to cache lines.
    reader->keys_memory = calloc(KEYS_MAX + 2, sizeof *reader->keys);
    reader->keys = (struct key *)(((uintptr_t)reader->keys_memory + alignof(struct key) - 1) &
                                  ~(uintptr_t)(alignof(struct key) - 1));
    reader->transitions = calloc(TRANSITIONS_MAX, sizeof *reader->transitions);
    chrome->keys = reader->keys;
    reader->event.values = malloc(VALUES_MAX * sizeof *reader->event.values);
    if (!reader->keys_memory || !reader->transitions || !reader->event.values)
        return TSMITH_ERROR_NO_MEMORY;
    reader->key_count = 1; // 0: the beginning of an event
    reader->nested_limit = NESTED_LIMIT;
    return TSMITH_OK;
}

void reader_destroy(struct reader *reader) {
    if (!reader)
        return;
    free(reader->keys_memory);
    free(reader->transitions);
    free(reader->event.values);
    free(reader);
}

tsmith_status reader_begin(struct chrome *chrome, tsmith_error *error) {
    struct input *input = &chrome->input;
    const char *at = input->window + input->begin, *end = input->window + input->end;
    if (end - at >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
        at += 3;
    for (;;) {
        at = json_skip_space(at, end);
        if (at < end)
            break;
        input->begin = input->end;
        if (input_more(input, error) != TSMITH_OK)
            return status_set_at(error, TSMITH_ERROR_FORMAT, input->offset + input->end, UINT64_MAX, "%s: %s",
                                 chrome->name, input->problem ? input->problem : "empty, or only spaces");
        at = input->window + input->begin;
        end = input->window + input->end;
    }
    uint64_t offset = input->offset + (uint64_t)(at - input->window);
    if (end - at >= 4 && memcmp(at, "SBT\x89", 4) == 0) // a plain one does not come here
        return status_set_at(error, TSMITH_ERROR_FORMAT, offset, UINT64_MAX,
                             "%s: a compressed .sbt file: decompress it first", chrome->name);
    if (*at != '{' && *at != '[')
        return status_set_at(
            error, TSMITH_ERROR_FORMAT, offset, UINT64_MAX,
            "%s: no trace that TraceSmith reads: byte %llu is 0x%02x, and a Chrome or Kineto trace "
            "begins with '{' or '['",
            chrome->name, (unsigned long long)offset, (unsigned char)*at);
    chrome->reader->array_form = *at == '[';
    chrome->reader->saw_events = *at == '[';
    reader_commit(chrome, *at == '[' ? BEFORE_EVENTS : TOP_LEVEL, at + 1);
    return TSMITH_OK;
}
