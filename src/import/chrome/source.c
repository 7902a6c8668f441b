// SPDX-License-Identifier: Apache-2.0
// The batch source around a JSON trace: opens the input and runs a reader. pipeline.c and rocprof.c call it.
#include "import/chrome/source.h"

#include <stdlib.h>

#include "import/chrome/reader.h"

struct json_source {
    struct chrome chrome;
    const struct json_reader *reader;
    void *state; // of the reader
    char *name;
    bool over;           // the reader has nothing more
    tsmith_status ended; // END or TRUNCATED: returned after the last batch
    tsmith_error stop;   // why TRUNCATED
};

static void destroy(void *self) {
    struct json_source *source = self;
    if (!source)
        return;
    source->reader->finish(source->state);
    reader_destroy(source->chrome.reader);
    rows_destroy(source->chrome.rows);
    texts_finish(&source->chrome.texts);
    input_close(&source->chrome.input);
    tsmith_dictionary_destroy(source->chrome.dictionary);
    free(source->name);
    free(source);
}

static const tsmith_dictionary *dictionary(void *self) {
    return ((struct json_source *)self)->chrome.dictionary;
}

static tsmith_status next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct json_source *source = self;
    struct chrome *chrome = &source->chrome;
    for (;;) {
        tsmith_status status = rows_take(chrome, out);
        if (status != TSMITH_OK)
            return status_set(error, status, "%s: out of memory", source->name);
        if (*out)
            return TSMITH_OK;
        if (source->over) {
            rows_count_problems(chrome);
            if (source->ended == TSMITH_TRUNCATED && error)
                *error = source->stop;
            return source->ended;
        }
        status = source->reader->run(chrome, source->state, &source->stop);
        if (status < 0) {
            if (error)
                *error = source->stop;
            return status;
        }
        if (status != TSMITH_OK) {
            source->over = true;
            source->ended = status;
            rows_end(chrome);
        }
    }
}

tsmith_status json_source_open(const struct json_reader *reader, struct import_job *job, tsmith_source **out,
                               tsmith_error *error) {
    static const tsmith_source_ops ops = {next, dictionary, destroy};
    struct json_source *source = calloc(1, sizeof *source);
    if (!source) {
        tsmith_status status =
            status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", job->place->name);
        input_close(&job->input);
        free(job->name);
        return status;
    }
    struct chrome *chrome = &source->chrome;
    source->reader = reader;
    source->name = job->name;
    chrome->name = job->name;
    chrome->fd = job->place->fd;
    chrome->input = job->input;
    chrome->one_thread = job->place->one_thread;
    chrome->arguments = job->place->arguments;
    chrome->argument_count = job->place->argument_count;
    chrome->needs_event = job->place->needs_event;
    tsmith_status status = TSMITH_OK;
    if (tsmith_dictionary_create(&chrome->dictionary) != TSMITH_OK || reader_create(chrome) != TSMITH_OK ||
        rows_create(chrome, job->hold_bytes) != TSMITH_OK)
        goto no_memory;
    chrome->texts = (struct texts){.dictionary = chrome->dictionary, .problems = &chrome->problems};
    tsmith_dictionary_set_attribute(chrome->dictionary, "import.format", reader->format);
    status = reader->begin(chrome, &source->state, error);
    if (status != TSMITH_OK)
        goto fail;
    if (tsmith_source_create(&ops, source, out) == TSMITH_OK)
        return TSMITH_OK;
no_memory:
    status = status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", job->place->name);
fail:
    destroy(source);
    return status;
}
