// SPDX-License-Identifier: Apache-2.0
// Copies batches from a source to an output file with progress and a closing message. `import`, `export` and `profile
// --nsys` call it.
#include "convert.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/present/terminal.h"
#include "opened_trace.h"
#include "tracesmith/view.h"

static void show_progress(void *context, uint64_t done, uint64_t total) {
    progress_show(context, done && total ? (double)done / (double)total : -1);
}

void convert_init(struct convert *convert, const char *what) {
    *convert = (struct convert){.progress = {.what = what}};
    convert->options = (tsmith_trace_options){.size = sizeof convert->options,
                                              .progress = show_progress,
                                              .progress_context = &convert->progress,
                                              .format = &convert->named,
                                              .binary = trace_binary()};
}

void convert_finish(struct convert *convert) {
    progress_clear(&convert->progress);
    text_finish(&convert->format);
    text_finish(&convert->origin);
}

// ---- between source and sink

// What is no trace is often seen only when it is read. So the first batch is fetched before the sink is opened, and
// handed on from here.
struct carried {
    struct convert *convert;
    tsmith_source *source;
    tsmith_sink *sink;
    tsmith_status first; // of the first call of next, once
    bool has_first;
    const tsmith_batch *batch;
    tsmith_error error;
    tsmith_error unfinished; // why the sink could not be finished; its status is 0 when it could
};

static tsmith_status carried_next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct carried *carried = self;
    if (!carried->has_first)
        return tsmith_source_next(carried->source, out, error);
    carried->has_first = false;
    *out = carried->batch;
    if (error)
        *error = carried->error;
    return carried->first;
}

static const tsmith_dictionary *carried_dictionary(void *self) {
    return tsmith_source_dictionary(((struct carried *)self)->source);
}

static void look_for_wanted(struct convert *convert, const tsmith_batch *batch) {
    static const uint32_t field = TSMITH_FIELD_KIND;
    tsmith_view view;
    tsmith_view_batch(batch, &field, 1, &view);
    const uint8_t *kinds = tsmith_view_every(&view);
    for (size_t i = 0; kinds && i < sizeof convert->wanted; i++)
        convert->has_wanted |=
            convert->wanted[i] && memchr(kinds, convert->wanted[i], tsmith_batch_count(batch));
}

static tsmith_status carried_write(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                   tsmith_error *error) {
    struct carried *carried = self;
    carried->convert->events += tsmith_batch_count(batch);
    losses_add(&carried->convert->losses, batch);
    if (carried->convert->wanted[0] && !carried->convert->has_wanted)
        look_for_wanted(carried->convert, batch);
    tsmith_status status = tsmith_sink_write(carried->sink, dictionary, batch, error);
    carried->convert->writing_failed |= status < 0;
    return status;
}

static tsmith_status carried_finish(void *self, const tsmith_dictionary *dictionary, tsmith_error *error) {
    struct carried *carried = self;
    tsmith_error mine;
    tsmith_status status = tsmith_sink_finish(carried->sink, dictionary, &mine);
    // If the source ends early, the pump keeps the reason; a file that could not be finished is worse.
    if (status < 0) {
        carried->convert->writing_failed = true;
        carried->unfinished = mine;
    }
    if (status < 0 && error)
        *error = mine;
    return status;
}

static tsmith_status pump(struct carried *carried, tsmith_error *error) {
    static const tsmith_source_ops source_ops = {carried_next, carried_dictionary, NULL};
    static const tsmith_sink_ops sink_ops = {carried_write, carried_finish, NULL};
    tsmith_source *source = NULL;
    tsmith_sink *sink = NULL;
    tsmith_status status = tsmith_source_create(&source_ops, carried, &source);
    *error = (tsmith_error){.status = TSMITH_ERROR_NO_MEMORY, .message = "out of memory"};
    if (status == TSMITH_OK)
        status = tsmith_sink_create(&sink_ops, carried, &sink);
    if (status == TSMITH_OK)
        status = tsmith_pump(source, sink, NULL, NULL, error);
    tsmith_sink_destroy(sink);
    tsmith_source_destroy(source);
    return status;
}

void convert_run(struct convert *convert, tsmith_source *taken,
                 tsmith_status (*open_sink)(void *context, tsmith_sink **out, tsmith_error *error),
                 void *context) {
    struct carried carried = {.convert = convert, .source = taken, .has_first = true};
    tsmith_error error;
    tsmith_status status = carried.first = tsmith_source_next(taken, &carried.batch, &carried.error);
    if (status < 0) {
        error = carried.error;
        goto done;
    }
    text_add_safe(&convert->format, text_string(convert->named ? convert->named : "sbt"), 0);
    tsmith_string origin = tsmith_dictionary_find_attribute(tsmith_source_dictionary(taken), "import.format");
    if (origin.length && strcmp(origin.bytes, text_cstr(&convert->format)) != 0)
        text_add_safe(&convert->origin, origin, 0);
    status = open_sink(context, &carried.sink, &error);
    convert->writing_failed = status < 0;
    if (status == TSMITH_OK)
        status = pump(&carried, &error);
    if (carried.unfinished.status < 0) {
        error = carried.unfinished;
        status = error.status;
    }
done:
    if (status != TSMITH_OK)
        convert->error = error;
    convert->status = status;
    tsmith_sink_destroy(carried.sink);
    tsmith_source_destroy(taken);
    progress_clear(&convert->progress);
}

int convert_exit_code(const struct convert *convert) {
    if (convert->status == TSMITH_OK)
        return EXIT_DONE;
    if (convert->writing_failed && convert->error.system_errno == EPIPE)
        return EXIT_DONE; // the reader has closed the pipe
    complain("%s", convert->error.message);
    if (convert->status == TSMITH_TRUNCATED || !convert->writing_failed)
        return convert->status == TSMITH_TRUNCATED ? EXIT_DAMAGED : exit_code_of_input(convert->status);
    return EXIT_LACKING;
}

// ---- names

bool convert_is_same_file(const char *input, const char *output) {
    struct stat from, to;
    bool has_from = strcmp(input, "-") == 0 ? fstat(0, &from) == 0 : stat(input, &from) == 0;
    bool has_to = strcmp(output, "-") == 0 ? fstat(1, &to) == 0 : stat(output, &to) == 0;
    return has_from && has_to && S_ISREG(from.st_mode) && from.st_dev == to.st_dev &&
           from.st_ino == to.st_ino;
}

bool convert_may_replace(const char *input, const char *output) {
    tsmith_sbt *file = NULL;
    struct stat status;
    if (convert_is_same_file(input, output)) {
        complain("%s is also the input and would be overwritten; choose another file with --output", input);
        return false;
    }
    if (strcmp(output, "-") == 0 || stat(output, &status) != 0 || !S_ISREG(status.st_mode))
        return true;
    bool is_trace = tsmith_sbt_open(output, &file, NULL) == TSMITH_OK;
    tsmith_sbt_close(file);
    if (is_trace)
        complain("%s exists and is a trace; it was not changed. Choose another file with --output", output);
    return !is_trace;
}

void convert_add_name(struct text *text, const char *path, const char *extension) {
    const char *slash = strrchr(path, '/');
    const char *name = strcmp(path, "-") == 0 ? "trace" : slash ? slash + 1 : path;
    size_t length = strlen(name);
    for (int i = 0; i < 2; i++) {
        const char *point = memrchr(name, '.', length);
        if (!point || point == name)
            break;
        bool compressed = length - (size_t)(point - name) <= 4 &&
                          (memcmp(point, ".gz", 3) == 0 || memcmp(point, ".zst", 3) == 0);
        length = (size_t)(point - name);
        if (!compressed)
            break;
    }
    text_add(text, name, length);
    text_add_cstr(text, extension);
}

char *convert_read_whole(const char *path, size_t *size) {
    size_t capacity = 0;
    char *bytes = NULL;
    FILE *file = fopen(path, "rbe");
    for (*size = 0; file && !feof(file) && !ferror(file);) {
        if (*size == capacity) {
            capacity = capacity ? capacity * 2 : 1 << 16;
            char *moved = realloc(bytes, capacity);
            if (!moved)
                break;
            bytes = moved;
        }
        *size += fread(bytes + *size, 1, capacity - *size, file);
    }
    const bool whole = file && feof(file);
    if (file)
        (void)fclose(file);
    if (whole)
        return bytes;
    free(bytes);
    return NULL;
}
