// SPDX-License-Identifier: Apache-2.0
// Importer of toy traces: a source that reads a line at a time. The table of formats refers to it.
#include "import/toy/toy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/gather.h"

#define FIRST_LINE "toy-trace 1\n"

struct toy {
    struct input input;
    char *name;
    tsmith_dictionary *dictionary;
    struct gather gather;
    uint32_t track;
};

bool toy_probe(struct import_job *job) {
    const struct input *input = &job->input;
    return input->end - input->begin >= strlen(FIRST_LINE) &&
           memcmp(input->window + input->begin, FIRST_LINE, strlen(FIRST_LINE)) == 0;
}

static tsmith_status add_line(struct toy *toy, const char *line, size_t length, tsmith_error *error) {
    char text[128], *rest;
    snprintf(text, sizeof text, "%.*s", (int)length, line);
    const long long start = strtoll(text, &rest, 10), duration = strtoll(rest, &rest, 10);
    if (*rest != ' ' || !rest[1] || start < 0 || duration < 0)
        return status_set(error, TSMITH_ERROR_FORMAT, "%s: the line '%s' is no range", toy->name, text);
    tsmith_batch *batch = gather_row(&toy->gather, toy->track, 0, TSMITH_KIND_RANGE, start, duration);
    if (!batch || tsmith_batch_set(batch, TSMITH_FIELD_DURATION, (uint64_t)duration) != TSMITH_OK ||
        tsmith_batch_set(batch, TSMITH_FIELD_NAME,
                         tsmith_dictionary_intern_cstr(toy->dictionary, rest + 1)) != TSMITH_OK)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", toy->name);
    return TSMITH_OK;
}

// All whole lines of the window.
static tsmith_status add_lines(struct toy *toy, tsmith_error *error) {
    struct input *input = &toy->input;
    const char *line, *end;
    tsmith_status status = TSMITH_OK;
    while (status == TSMITH_OK && (line = input->window + input->begin,
                                   end = memchr(line, '\n', input->end - input->begin)) != NULL) {
        input->begin = (size_t)(end + 1 - input->window);
        status = add_line(toy, line, (size_t)(end - line), error);
    }
    return status;
}

static tsmith_status next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct toy *toy = self;
    tsmith_status status = add_lines(toy, error);
    while (status == TSMITH_OK && !toy->input.ended) {
        status = input_more(&toy->input, error);
        if (status >= 0) // TSMITH_END is seen in `ended`
            status = add_lines(toy, error);
    }
    if (status < 0)
        return status;
    if (toy->input.begin < toy->input.end)
        return status_set(error, TSMITH_ERROR_FORMAT, "%s: the last line has no end", toy->name);
    gather_flush(&toy->gather);
    status = gather_take(&toy->gather, out);
    return status != TSMITH_OK ? status : *out ? TSMITH_OK : TSMITH_END;
}

static const tsmith_dictionary *dictionary(void *self) {
    return ((struct toy *)self)->dictionary;
}

static void destroy(void *self) {
    struct toy *toy = self;
    gather_finish(&toy->gather);
    input_close(&toy->input);
    tsmith_dictionary_destroy(toy->dictionary);
    free(toy->name);
    free(toy);
}

tsmith_status toy_open(struct import_job *job, tsmith_source **out, tsmith_error *error) {
    static const tsmith_source_ops ops = {next, dictionary, destroy};
    struct toy *toy = calloc(1, sizeof *toy);
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    if (!toy) {
        input_close(&job->input);
        free(job->name);
        return status_set(error, status, "out of memory");
    }
    toy->input = job->input;
    toy->input.begin += strlen(FIRST_LINE);
    toy->name = job->name;
    if (tsmith_dictionary_create(&toy->dictionary) == TSMITH_OK) {
        const tsmith_track track = {.kind = TSMITH_TRACK_CUSTOM,
                                    .name = tsmith_dictionary_intern_cstr(toy->dictionary, "toy")};
        toy->track = tsmith_dictionary_add_track(toy->dictionary, &track);
        tsmith_dictionary_set_attribute(toy->dictionary, "import.format", "toy-text");
        status = tsmith_source_create(&ops, toy, out);
    }
    if (status == TSMITH_OK)
        return status;
    (void)status_set(error, status, "%s: out of memory", toy->name);
    destroy(toy);
    return status;
}
