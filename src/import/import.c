// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import/chrome/chrome.h"
#include "import/open.h"
#include "import/others.h"
#include "import/perfetto/perfetto.h"
#include "import/rocprof/rocprof.h"
#include "import/seekable.h"
#include "import/sqlite_in.h"
#include "import/xctrace/xctrace.h"
#include "import/xplane/xplane.h"
#include "import/xray/xray.h"

// A source around a Chrome trace.
struct importer {
    struct chrome chrome;
    struct rocprof *rocprof; // NULL: a Chrome trace
    char *name;
    bool over;           // the reader has nothing more
    tsmith_status ended; // END or TRUNCATED: told when the last batch is gone
    tsmith_error stop;   // why TRUNCATED
};

static void destroy(void *self) {
    struct importer *importer = self;
    if (!importer)
        return;
    rocprof_destroy(importer->rocprof);
    reader_destroy(importer->chrome.reader);
    rows_destroy(importer->chrome.rows);
    texts_finish(&importer->chrome.texts);
    input_close(&importer->chrome.input);
    tsmith_dictionary_destroy(importer->chrome.dictionary);
    free(importer->name);
    free(importer);
}

static const tsmith_dictionary *dictionary(void *self) {
    return ((struct importer *)self)->chrome.dictionary;
}

static tsmith_status next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct importer *importer = self;
    struct chrome *chrome = &importer->chrome;
    for (;;) {
        tsmith_status status = rows_take(chrome, out);
        if (status != TSMITH_OK)
            return status_set(error, status, "%s: out of memory", importer->name);
        if (*out)
            return TSMITH_OK;
        if (importer->over) {
            rows_count_problems(chrome);
            if (importer->ended == TSMITH_TRUNCATED && error)
                *error = importer->stop;
            return importer->ended;
        }
        status = importer->rocprof ? rocprof_run(chrome, importer->rocprof, &importer->stop)
                                   : reader_run(chrome, &importer->stop);
        if (status < 0) {
            if (error)
                *error = importer->stop;
            return status;
        }
        if (status != TSMITH_OK) {
            importer->over = true;
            importer->ended = status;
            rows_end(chrome);
        }
    }
}

// ---- databases

static bool is_database(const struct import_place *place) {
    char head[16];
    return sqlite_in_is(head, seekable_peek(place, head, sizeof head));
}

static tsmith_status open_database(const struct import_place *place, tsmith_source **out,
                                   tsmith_error *error) {
    struct seekable file;
    tsmith_status status = seekable_open(&file, place, error);
    return status == TSMITH_OK ? sqlite_in_source(&file, place->name, out, error) : status;
}

static bool is_packed_database(struct input *input) {
    return sqlite_in_is(input->window + input->begin, input->end - input->begin);
}

static tsmith_status open_packed_database(struct input *input, char *name, tsmith_source **out,
                                          tsmith_error *error) {
    struct seekable file;
    tsmith_status status = seekable_take(&file, input, name, error);
    if (status == TSMITH_OK && file.problem) {
        status = status_set(error, TSMITH_ERROR_FORMAT, "%s: the compressed data is damaged: %s", name,
                            file.problem);
        seekable_close(&file);
    }
    if (status == TSMITH_OK)
        status = sqlite_in_source(&file, name, out, error);
    free(name);
    return status;
}

// ---- formats that are read by a stream of bytes and are no JSON

struct format {
    const char *name;
    bool (*is)(struct input *input); // looks at what the whole structure says, not only at the first bytes
    tsmith_status (*open)(struct input *input, char *name, tsmith_source **out, tsmith_error *error);
};

// The format of the input, NULL when it is none of these. An input that could be two of them is read as neither.
static tsmith_status find_format(struct input *input, const char *name, const struct format **out,
                                 tsmith_error *error) {
    static const struct format formats[] = {{"a Perfetto trace", pf_is, pf_open_input},
                                            {"an XPlane trace", xplane_is, xplane_open},
                                            {"an xctrace export", xctrace_is, xctrace_open},
                                            {"an SQLite database", is_packed_database, open_packed_database}};
    *out = NULL;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!formats[i].is(input))
            continue;
        if (*out)
            return status_set(error, TSMITH_ERROR_FORMAT,
                              "%s: could be %s or %s; its content does not say which", name, (*out)->name,
                              formats[i].name);
        *out = &formats[i];
    }
    return TSMITH_OK;
}

// The program that wrote the trace, for formats that leave names there.
static const char *binary_of(const tsmith_import_options *options) {
    if (options && options->size >= offsetof(tsmith_import_options, binary) + sizeof options->binary &&
        options->binary)
        return options->binary;
    return getenv("TRACESMITH_BINARY");
}

tsmith_status import_open(const struct import_place *place, const tsmith_import_options *options,
                          tsmith_source **out, tsmith_error *error) {
    static const tsmith_source_ops ops = {next, dictionary, destroy};
    size_t hold = 0;
    if (options && options->size >= offsetof(tsmith_import_options, hold_bytes) + sizeof options->hold_bytes)
        hold = options->hold_bytes;
    *out = NULL;
    if (is_database(place))
        return open_database(place, out, error);
    if (xray_is(place))
        return xray_open(place, binary_of(options), NULL, out, error);
    struct importer *importer = calloc(1, sizeof *importer);
    if (!importer || !(importer->name = strdup(place->name))) {
        if (place->owned)
            (void)close(place->fd);
        goto no_memory;
    }
    struct chrome *chrome = &importer->chrome;
    chrome->name = importer->name;
    chrome->fd = place->fd;
    tsmith_status status = input_open(&chrome->input, place->fd, place->owned, importer->name, place->first,
                                      place->first_size, error);
    if (status != TSMITH_OK)
        goto fail;
    const struct format *format;
    status = find_format(&chrome->input, importer->name, &format, error);
    if (status != TSMITH_OK)
        goto fail;
    if (format) {
        status = format->open(&chrome->input, importer->name, out, error); // takes over both
        free(importer);
        return status;
    }
    const char *other = others_find(&chrome->input, importer->name);
    if (other) {
        status = status_set(error, TSMITH_ERROR_FORMAT, "%s: is %s", importer->name, other);
        goto fail;
    }
    if (tsmith_dictionary_create(&chrome->dictionary) != TSMITH_OK || reader_create(chrome) != TSMITH_OK ||
        rows_create(chrome, hold) != TSMITH_OK)
        goto no_memory;
    chrome->texts = (struct texts){.dictionary = chrome->dictionary, .problems = &chrome->problems};
    bool is_rocprof = rocprof_is(&chrome->input);
    tsmith_dictionary_set_attribute(chrome->dictionary, "import.format",
                                    is_rocprof ? "rocprofv3-json" : "chrome-json");
    if (is_rocprof) {
        if (rocprof_create(chrome, &importer->rocprof) != TSMITH_OK)
            goto no_memory;
    } else {
        status = reader_begin(chrome, error);
    }
    if (status != TSMITH_OK)
        goto fail;
    if (tsmith_source_create(&ops, importer, out) == TSMITH_OK)
        return TSMITH_OK;
no_memory:
    status = status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", place->name);
fail:
    destroy(importer);
    return status;
}

tsmith_status tsmith_import_open(const char *path, const tsmith_import_options *options, tsmith_source **out,
                                 tsmith_error *error) {
    *out = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return status_set_errno(error, "%s: cannot be opened", path);
    const struct import_place place = {.fd = fd, .owned = true, .name = path};
    return import_open(&place, options, out, error);
}

tsmith_status tsmith_import_open_fd(int fd, const char *name, const tsmith_import_options *options,
                                    tsmith_source **out, tsmith_error *error) {
    const struct import_place place = {.fd = fd, .name = name ? name : "input"};
    return import_open(&place, options, out, error);
}
