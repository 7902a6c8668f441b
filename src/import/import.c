// SPDX-License-Identifier: Apache-2.0
// Opening a trace of any format: the table of formats (formats.h) is asked stage by stage.
#include "tracesmith/import.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sized.h"
#include "import/formats.h"
#include "import/others.h"

// The format of this stage that knows the file; NULL when none does. A file that could be two of them is read as neither.
static tsmith_status find_format(struct import_job *job, enum import_stage stage,
                                 const struct import_format **out, tsmith_error *error) {
    const struct import_format *format;
    *out = NULL;
    for (size_t i = 0; (format = import_format_at(i)); i++) {
        // Two formats with one way to open them are distinguished there.
        if (format->stage != stage || (*out && (*out)->open == format->open) ||
            (format->probe ? !format->probe(job) : *out != NULL))
            continue;
        if (*out)
            return status_set(error, TSMITH_ERROR_FORMAT,
                              "%s: could be %s or %s; its content does not say which", job->place->name,
                              (*out)->title, format->title);
        *out = format;
    }
    return TSMITH_OK;
}

// The program that wrote the trace, for formats that leave names there.
static const char *binary_of(const tsmith_import_options *options) {
    return options->binary ? options->binary : getenv("TRACESMITH_BINARY");
}

static tsmith_status find_stream_format(struct import_job *job, const struct import_format **out,
                                        tsmith_error *error) {
    tsmith_status status = find_format(job, IMPORT_BYTES, out, error);
    if (status != TSMITH_OK || *out)
        return status;
    const char *other = others_find(&job->input, job->name);
    if (other)
        return status_set(error, TSMITH_ERROR_FORMAT, "%s: is %s", job->name, other);
    return find_format(job, IMPORT_JSON, out, error);
}

tsmith_status import_open(const struct import_place *place, const tsmith_import_options *given,
                          tsmith_source **out, tsmith_error *error) {
    tsmith_import_options options;
    *out = NULL;
    tsmith_status status = sized_take(tsmith_import_options, given, &options, error);
    if (status != TSMITH_OK) {
        if (place->owned)
            (void)close(place->fd);
        return status;
    }
    struct import_job job = {.place = place, .binary = binary_of(&options), .hold_bytes = options.hold_bytes};
    const struct import_format *format = NULL;
    status = find_format(&job, IMPORT_FILE, &format, error);
    if (status == TSMITH_OK && format)
        return format->open(&job, out, error);
    if (status == TSMITH_OK && !(job.name = strdup(place->name)))
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", place->name);
    if (status != TSMITH_OK) {
        if (place->owned)
            (void)close(place->fd);
        return status;
    }
    status =
        input_open(&job.input, place->fd, place->owned, job.name, place->first, place->first_size, error);
    if (status == TSMITH_OK)
        status = find_stream_format(&job, &format, error);
    if (status == TSMITH_OK)
        return format->open(&job, out, error);
    input_close(&job.input);
    free(job.name);
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
