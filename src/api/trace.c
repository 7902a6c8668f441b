// SPDX-License-Identifier: Apache-2.0
// Opening a trace of any format.
//
//     regular file --- is it SBT? --- yes --> read in place
//                          no ------------> importer --> temporary SBT file, or passed on as a stream
//     pipe ------ its first bytes: SBT? --- yes --> copied into a temporary file
//                          no ------------> importer, which is given the first bytes
#include "tracesmith/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "api/import_cache.h"
#include "api/opened_trace.h"
#include "base/file.h"
#include "base/sized.h"
#include "base/status.h"
#include "import/open.h"
#include "sbt/writer.h"

enum { FIRST_BYTES_MS = 10000, COPY_SIZE = 1 << 16 };

// For the temporary file, which is written once and read a few times: speed matters more than size.
enum { TEMPORARY_LEVEL = 1 };

struct place {
    int fd;
    char *name; // for messages
    bool is_regular;
    bool is_stream;                      // read once, by tsmith_trace_stream
    bool is_kept;                        // what is imported is for other callers too
    uint64_t size;                       // of a regular file
    uint8_t first[SBT_FILE_HEADER_SIZE]; // of a pipe: read already
    size_t first_size;
    tsmith_trace_options options;
};

struct tsmith_trace {
    struct place place;
    tsmith_sbt *sbt;
    char *format;
    char *cache; // the folder; NULL: none
    tsmith_status ended;
    tsmith_error why;
};

// ---- the place

static void place_close(struct place *place) {
    if (place->fd >= 0)
        (void)close(place->fd);
    free(place->name);
    *place = (struct place){.fd = -1};
}

// A named pipe may have no writer; an unnamed one has a writer, or is at its end.
static int first_byte_timeout(int fd) {
    struct statfs system;
    return fstatfs(fd, &system) == 0 && system.f_type == PIPEFS_MAGIC ? -1 : FIRST_BYTES_MS;
}

static tsmith_status read_first(struct place *place, tsmith_error *error) {
    int patience_ms = first_byte_timeout(place->fd);
    bool over = false;
    while (place->first_size < sizeof place->first && !over) {
        struct pollfd waiting = {.fd = place->fd, .events = POLLIN};
        int ready = poll(&waiting, 1, place->first_size ? -1 : patience_ms);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return status_set(error, TSMITH_ERROR_IO, "%s: the pipe delivered no data within %d seconds",
                              place->name, FIRST_BYTES_MS / 1000);
        ssize_t got = ready < 0 ? -1
                                : read(place->fd, place->first + place->first_size,
                                       sizeof place->first - place->first_size);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got < 0)
            return status_set_errno(error, "%s cannot be read", place->name);
        place->first_size += (size_t)got;
        over = got == 0;
    }
    if (place->first_size)
        return TSMITH_OK;
    return status_set_at(error, TSMITH_ERROR_FORMAT, 0, UINT64_MAX, "%s is empty", place->name);
}

// The trace of a folder is the one whose metadata is in it (CTF): that file stands for it.
static void enter_folder(struct place *place) {
    char *name = NULL;
    const int fd = openat(place->fd, "metadata", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || asprintf(&name, "%s/metadata", place->name) < 0) {
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    (void)close(place->fd);
    free(place->name);
    place->fd = fd;
    place->name = name;
}

static tsmith_status examine(struct place *place, tsmith_error *error) {
    struct stat stat;
    if (fstat(place->fd, &stat) == 0 && S_ISDIR(stat.st_mode))
        enter_folder(place);
    if (fstat(place->fd, &stat) != 0)
        return status_set_errno(error, "%s cannot be examined", place->name);
    if (S_ISFIFO(stat.st_mode) || S_ISSOCK(stat.st_mode))
        return read_first(place, error);
    if (S_ISREG(stat.st_mode)) {
        place->is_regular = true;
        place->size = (uint64_t)stat.st_size;
        if (stat.st_size == 0)
            return status_set_at(error, TSMITH_ERROR_FORMAT, 0, UINT64_MAX, "%s is empty", place->name);
        // Standard input may have been read by another program before; a trace is read from its beginning.
        if (lseek(place->fd, 0, SEEK_SET) < 0)
            return status_set_errno(error, "%s cannot be read", place->name);
        return TSMITH_OK;
    }
    return status_set(error, TSMITH_ERROR_FORMAT, "%s is %s, not a trace", place->name,
                      S_ISDIR(stat.st_mode) ? "a folder"
                      : isatty(place->fd)   ? "a terminal"
                                            : "a device");
}

static tsmith_status place_open(struct place *place, const char *path, const tsmith_trace_options *options,
                                tsmith_error *error) {
    bool is_stdin = strcmp(path, "-") == 0;
    *place = (struct place){.fd = -1, .name = strdup(is_stdin ? "standard input" : path)};
    tsmith_status status = sized_take(tsmith_trace_options, options, &place->options, error);
    if (status != TSMITH_OK) {
        place_close(place);
        return status;
    }
    // Without O_NONBLOCK a pipe without a writer would block here.
    place->fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                         : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (place->fd < 0)
        status = status_set_errno(error, "%s cannot be opened", is_stdin ? "standard input" : path);
    else if (!place->name)
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory while opening it", path);
    else
        status = examine(place, error);
    if (status != TSMITH_OK)
        place_close(place);
    return status;
}

static tsmith_status place_import(struct place *place, tsmith_source **out, tsmith_error *error) {
    const struct import_place from = {.fd = place->fd,
                                      .name = place->name,
                                      .first = place->first,
                                      .first_size = place->first_size,
                                      .arguments = place->is_kept ? NULL : place->options.arguments,
                                      .argument_count = place->options.argument_count,
                                      .needs_event = place->is_stream ? place->options.needs_event : NULL,
                                      .one_thread = place->options.one_thread != 0};
    const tsmith_import_options options = {.size = sizeof options, .binary = place->options.binary};
    return import_open(&from, &options, out, error);
}

static void show_progress(const struct place *place) {
    off_t at;
    if (!place->options.progress || !place->is_regular || (at = lseek(place->fd, 0, SEEK_CUR)) < 0)
        return;
    place->options.progress(place->options.progress_context, (uint64_t)at, place->size);
}

// ---- SBT

static tsmith_status no_temporary(const struct place *place, tsmith_error *error) {
    return status_set_errno(
        error, "%s: no temporary file for its events, or no space in it (set TMPDIR to another directory)",
        place->name);
}

// The rest of the pipe, behind its first bytes.
static tsmith_status copy_pipe(struct place *place, int to, tsmith_error *error) {
    uint8_t bytes[COPY_SIZE];
    size_t held = place->first_size;
    memcpy(bytes, place->first, held);
    for (;;) {
        if (!file_write(to, bytes, held))
            return no_temporary(place, error);
        struct pollfd waiting = {.fd = place->fd, .events = POLLIN};
        ssize_t got = read(place->fd, bytes, sizeof bytes);
        if (got == 0)
            return TSMITH_OK;
        if (got < 0 && errno == EAGAIN)
            (void)poll(&waiting, 1, -1);
        else if (got < 0 && errno != EINTR)
            return status_set_errno(error, "%s cannot be read", place->name);
        held = got > 0 ? (size_t)got : 0;
    }
}

static tsmith_status open_copied(struct place *place, tsmith_sbt **out, tsmith_error *error) {
    int copy = file_temporary();
    if (copy < 0)
        return no_temporary(place, error);
    tsmith_status status = copy_pipe(place, copy, error);
    if (status == TSMITH_OK)
        status = tsmith_sbt_open_fd(copy, place->name, out, error);
    (void)close(copy);
    return status;
}

// ERROR_FORMAT: it is something else.
static tsmith_status open_as_sbt(struct place *place, tsmith_sbt **out, tsmith_error *error) {
    *out = NULL;
    if (place->is_regular)
        return tsmith_sbt_open_fd(place->fd, place->name, out, error);
    if (place->first_size < sizeof place->first || !file_header_has_magic(place->first))
        return TSMITH_ERROR_FORMAT;
    return open_copied(place, out, error);
}

// ---- a trace

// The pump, but knowing which of the two ends has failed. What is kept for later is made small, what is not is made quickly.
static tsmith_status pump_into(struct tsmith_trace *trace, tsmith_source *source, int fd,
                               tsmith_error *error) {
    const tsmith_sbt_write_options options = {.size = sizeof options, .compression_level = TEMPORARY_LEVEL};
    const tsmith_batch *batch;
    struct sbt_writer *writer = NULL;
    tsmith_error why;
    tsmith_status ended = TSMITH_END,
                  status = sbt_writer_create_fd(fd, "temporary file", &options, &writer, &why);
    if (status == TSMITH_OK && !trace->place.is_kept)
        sbt_writer_make_quick(writer);
    while (status == TSMITH_OK && (ended = tsmith_source_next(source, &batch, &trace->why)) == TSMITH_OK) {
        status = sbt_writer_write(writer, tsmith_source_dictionary(source), batch, &why);
        show_progress(&trace->place);
    }
    if (status == TSMITH_OK && ended < 0) {
        if (error)
            *error = trace->why;
        sbt_writer_destroy(writer);
        return ended;
    }
    if (status == TSMITH_OK)
        status = sbt_writer_finish(writer, tsmith_source_dictionary(source), &why);
    sbt_writer_destroy(writer);
    if (status != TSMITH_OK &&
        !why.system_errno) // not the file: an event has too much in it, or memory is exhausted
        return status_set(error, status, "%s: %s", trace->place.name, why.message);
    if (status != TSMITH_OK) {
        errno = why.system_errno;
        return no_temporary(&trace->place, error);
    }
    trace->ended = ended == TSMITH_TRUNCATED ? TSMITH_TRUNCATED : TSMITH_OK;
    return TSMITH_OK;
}

// The file's own format, which need not be what the trace was at first.
static const char *format_of(const tsmith_dictionary *dictionary) {
    tsmith_string format = tsmith_dictionary_find_attribute(dictionary, "import.file");
    if (!format.length)
        format = tsmith_dictionary_find_attribute(dictionary, "import.format");
    return format.length ? format.bytes : "unknown";
}

// What an earlier import of the same file made. False: there is none that can be used.
static bool open_kept(struct tsmith_trace *trace, struct import_cache *cache) {
    const tsmith_dictionary *dictionary;
    int fd = import_cache_find(cache);
    if (fd < 0)
        return false;
    if (tsmith_sbt_open_fd(fd, trace->place.name, &trace->sbt, NULL) == TSMITH_OK &&
        tsmith_sbt_dictionary(trace->sbt, &dictionary, NULL) == TSMITH_OK)
        trace->format = strdup(format_of(dictionary));
    (void)close(fd);
    if (trace->format)
        return true;
    tsmith_sbt_close(trace->sbt);
    trace->sbt = NULL;
    return false;
}

static tsmith_status import_into_file(struct tsmith_trace *trace, struct import_cache *cache,
                                      tsmith_error *error) {
    tsmith_source *source = NULL;
    int fd = -1;
    tsmith_status status = place_import(&trace->place, &source, error);
    if (status != TSMITH_OK)
        return status;
    fd = file_temporary();
    status = fd < 0 ? no_temporary(&trace->place, error) : pump_into(trace, source, fd, error);
    if (status == TSMITH_OK)
        status = tsmith_sbt_open_fd(fd, trace->place.name, &trace->sbt, error);
    if (status == TSMITH_OK && !(trace->format = strdup(format_of(tsmith_source_dictionary(source)))))
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory while opening it",
                            trace->place.name);
    tsmith_source_destroy(source);
    // What depends on further files, as a CTF trace on its streams, is not kept.
    if (status == TSMITH_OK && trace->ended == TSMITH_OK && strncmp(trace->format, "ctf", 3) != 0)
        import_cache_keep(cache, fd);
    if (fd >= 0)
        (void)close(fd);
    return status;
}

static tsmith_status import_trace(struct tsmith_trace *trace, tsmith_error *error) {
    struct place *place = &trace->place;
    // What depends on a second file is not kept.
    bool keeps = place->is_regular && !place->options.binary && !getenv("TRACESMITH_BINARY");
    struct import_cache cache;
    import_cache_open(&cache, keeps ? place->options.cache : NULL, place->options.cache_bytes, place->fd);
    place->is_kept = cache.folder >= 0;
    tsmith_status status = open_kept(trace, &cache) ? TSMITH_OK : import_into_file(trace, &cache, error);
    import_cache_close(&cache);
    return status;
}

static tsmith_status open_trace(struct tsmith_trace *trace, tsmith_error *error) {
    tsmith_status status = open_as_sbt(&trace->place, &trace->sbt, error);
    if (status == TSMITH_ERROR_FORMAT)
        return import_trace(trace, error);
    if (status == TSMITH_OK && !(trace->format = strdup("sbt")))
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory while opening it",
                            trace->place.name);
    return status;
}

tsmith_status tsmith_trace_open(const char *path, const tsmith_trace_options *options, tsmith_trace **out,
                                tsmith_error *error) {
    *out = NULL;
    tsmith_trace *trace = calloc(1, sizeof *trace);
    if (!trace)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory while opening it", path);
    tsmith_status status = place_open(&trace->place, path, options, error);
    if (status == TSMITH_OK && trace->place.options.cache &&
        !(trace->cache = strdup(trace->place.options.cache)))
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory while opening it", path);
    if (status == TSMITH_OK)
        status = open_trace(trace, error);
    if (status == TSMITH_OK)
        *out = trace;
    else
        tsmith_trace_close(trace);
    return status;
}

void tsmith_trace_close(tsmith_trace *trace) {
    if (!trace)
        return;
    tsmith_sbt_close(trace->sbt);
    place_close(&trace->place);
    free(trace->format);
    free(trace->cache);
    free(trace);
}

const char *opened_trace_cache(const tsmith_trace *trace, uint64_t *limit) {
    *limit = trace->place.options.cache_bytes;
    return trace->cache;
}

tsmith_sbt *tsmith_trace_sbt(tsmith_trace *trace) {
    return trace->sbt;
}

const char *tsmith_trace_format(const tsmith_trace *trace) {
    return trace->format;
}

uint64_t tsmith_trace_bytes(const tsmith_trace *trace) {
    return trace->place.size;
}

tsmith_status tsmith_trace_ended(const tsmith_trace *trace, tsmith_error *error) {
    if (trace->ended == TSMITH_TRUNCATED && error)
        *error = trace->why;
    return trace->ended;
}

// ---- a stream

struct streamed {
    struct place place;
    tsmith_sbt *sbt;
    tsmith_source *source;
    char *format;
};

static void stream_destroy(void *self) {
    struct streamed *stream = self;
    if (!stream)
        return;
    tsmith_source_destroy(stream->source);
    tsmith_sbt_close(stream->sbt);
    place_close(&stream->place);
    free(stream->format);
    free(stream);
}

static tsmith_status stream_next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct streamed *stream = self;
    tsmith_status status = tsmith_source_next(stream->source, out, error);
    if (!stream->sbt)
        show_progress(&stream->place);
    return status;
}

static const tsmith_dictionary *stream_dictionary(void *self) {
    return tsmith_source_dictionary(((struct streamed *)self)->source);
}

tsmith_status tsmith_trace_stream(const char *path, const tsmith_trace_options *options, tsmith_source **out,
                                  tsmith_error *error) {
    static const tsmith_source_ops ops = {stream_next, stream_dictionary, stream_destroy};
    *out = NULL;
    struct streamed *stream = calloc(1, sizeof *stream);
    if (!stream)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory while opening it", path);
    tsmith_status status = place_open(&stream->place, path, options, error);
    if (status != TSMITH_OK)
        goto fail;
    stream->place.is_stream = true;
    status = open_as_sbt(&stream->place, &stream->sbt, error);
    if (status == TSMITH_OK)
        status = tsmith_sbt_scan(stream->sbt, stream->place.options.scan, &stream->source, error);
    else if (status == TSMITH_ERROR_FORMAT)
        status = place_import(&stream->place, &stream->source, error);
    if (status == TSMITH_OK &&
        (!(stream->format =
               strdup(stream->sbt ? "sbt" : format_of(tsmith_source_dictionary(stream->source)))) ||
         tsmith_source_create(&ops, stream, out) != TSMITH_OK))
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory while opening it", path);
    if (status == TSMITH_OK && stream->place.options.format)
        *stream->place.options.format = stream->format;
    if (status == TSMITH_OK)
        return TSMITH_OK;
fail:
    stream_destroy(stream);
    return status;
}
