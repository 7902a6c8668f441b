// SPDX-License-Identifier: Apache-2.0
// Invariants: `pending` holds whole frames only (but for the one being made at its end), and its first byte
// belongs at `offset` of the file, where everything before has been written. What the kernel was given is
// never taken back: a crash between two calls leaves whole frames.
//
// A failed write ends the trace: the torn frame is cut off, the file stays readable, and every later call
// returns the same error (`broken`).
#include "sbt/writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/destination.h"
#include "base/hash.h"
#include "base/plural.h"
#include "base/sized.h"
#include "base/status.h"
#include "sbt/column.h"
#include "sbt/file.h"
#include "sbt/index.h"
#include "sbt/tables.h"
#include "sbt/totals.h"

enum {
    DEFAULT_LEVEL = 1,
    FEW_FRAMES = 64,
    FEW_EVENTS = 1 << 18,
    PENDING_LIMIT = 32 << 20,  // of frames that wait for their write call
    AGGREGATE_LIMIT = 1 << 18, // pairs of kind and name that wait for their frame
    QUICK_BYTES = 64 << 20,    // of a file that is read once, before its size counts after all
};

struct sbt_writer {
    struct destination to;
    bool owns_fd, with_index;
    char *path;
    uint64_t offset, sequence;
    struct output pending;
    struct column_encoder encoder;
    struct table_state tables;
    struct frame_index index; // of frames since the last INDEX
    uint64_t index_offset, index_first, index_due;
    struct aggregates aggregates; // of events since the last AGGREGATE
    uint64_t aggregates_first;
    struct totals totals;
    struct vocabulary used;
    uint64_t events_written; // of those, in the file
    bool finished;
    bool torn;           // a write failed: nothing more is written
    tsmith_error broken; // status is not OK once a write has failed
};

// ---- frames

static size_t begin_frame(struct sbt_writer *writer) {
    size_t at = writer->pending.length;
    if (output_room(&writer->pending, SBT_FRAME_HEADER_SIZE))
        writer->pending.length += SBT_FRAME_HEADER_SIZE;
    return at;
}

// Pads, checks and lists the frame that was begun at `at`. `header` describes the frame; the rest is
// filled in.
static bool end_frame(struct sbt_writer *writer, size_t at, struct frame_header *header) {
    if (writer->pending.failed)
        return false;
    header->version = SBT_FRAME_VERSION;
    header->length = writer->pending.length - at - SBT_FRAME_HEADER_SIZE;
    header->sequence = writer->sequence;
    size_t zeros = frame_stored_length(header->length) - header->length;
    uint8_t *end = output_room(&writer->pending, SBT_ALIGNMENT);
    if (!end || header->length > SBT_MAX_PAYLOAD)
        return false;
    memset(end, 0, zeros);
    writer->pending.length += zeros;
    header->payload_crc =
        crc32c(0, writer->pending.bytes + at + SBT_FRAME_HEADER_SIZE, frame_stored_length(header->length));
    frame_header_put(writer->pending.bytes + at, header);
    if (header->type != FRAME_INDEX && header->type != FRAME_END &&
        !index_add(&writer->index, writer->offset + at, header))
        return false;
    writer->sequence++;
    return true;
}

// Ends the trace here: every later call returns the same.
static tsmith_status break_off(struct sbt_writer *writer, tsmith_error *error) {
    if (error)
        *error = writer->broken;
    return writer->broken.status;
}

// Of the pending frames, those before `whole` stay in the file; the one being made is dropped.
static tsmith_status no_memory(struct sbt_writer *writer, size_t whole, tsmith_error *error) {
    writer->pending.length = whole < writer->pending.length ? whole : writer->pending.length;
    status_set(&writer->broken, TSMITH_ERROR_NO_MEMORY, "%s: out of memory while writing the trace",
               writer->path);
    return break_off(writer, error);
}

// One write call for everything that is pending.
static tsmith_status flush(struct sbt_writer *writer, tsmith_error *error) {
    if (writer->torn)
        return break_off(writer, error);
    tsmith_error why;
    if (destination_write(&writer->to, writer->path, writer->pending.bytes, writer->pending.length, &why) ==
        TSMITH_OK) {
        writer->offset += writer->pending.length;
        writer->pending.length = 0;
        writer->events_written = writer->totals.events;
        return TSMITH_OK;
    }
    const int code = why.system_errno;
    struct stat stat;
    writer->torn = true;
    if (writer->owns_fd && fstat(writer->to.fd, &stat) == 0 && S_ISREG(stat.st_mode))
        (void)!ftruncate(writer->to.fd, (off_t)writer->offset); // best effort: readers cope with a torn frame
    static const char FORMAT[] =
        "%s: the trace could not be written any further; what was written before (%llu %s) is readable. %s";
    const unsigned long long events = writer->events_written;
    errno = code;
    if (writer->to.output.write)
        status_set(&writer->broken, why.status, FORMAT, writer->path, events,
                   plural(events, "event", "events"), tsmith_status_text(why.status));
    else
        status_set_errno(&writer->broken, FORMAT, writer->path, events, plural(events, "event", "events"),
                         code == ENOSPC || code == EDQUOT ? "Free some space or write to another place"
                         : code == EPIPE                  ? "The reader of the pipe has exited"
                                                          : "See the system error");
    return break_off(writer, error);
}

static tsmith_status check_open(struct sbt_writer *writer, tsmith_error *error) {
    if (writer->broken.status != TSMITH_OK)
        return break_off(writer, error);
    if (writer->finished)
        return status_set(error, TSMITH_ERROR_STATE, "%s: this trace is already finished", writer->path);
    return TSMITH_OK;
}

// ---- opening

// The used entries, or (NULL) all.
static bool write_schema(struct sbt_writer *writer, const struct vocabulary *used) {
    size_t at = begin_frame(writer);
    scratch_reset(&writer->encoder.packer.scratch, SIZE_MAX);
    tables_write_schema(&writer->encoder.packer, used, &writer->pending);
    return end_frame(writer, at, &(struct frame_header){.type = FRAME_SCHEMA});
}

// The vocabulary comes first, so that a file that ends early is self-describing; a file optimized for size has the
// used part of it at its end.
static bool write_head(struct sbt_writer *writer) {
    uint8_t *head = output_room(&writer->pending, SBT_FILE_HEADER_SIZE);
    if (!head)
        return false;
    file_header_put(head, writer->encoder.packer.small ? SBT_MINOR : 0);
    writer->pending.length = SBT_FILE_HEADER_SIZE;
    return writer->encoder.packer.small || write_schema(writer, NULL);
}

static tsmith_status make_writer(const char *path, const tsmith_sbt_write_options *options,
                                 struct sbt_writer **out, tsmith_error *error) {
    struct sbt_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory while writing the trace", path);
    writer->to.fd = -1;
    writer->with_index = !options->no_index;
    writer->encoder.packer.level = options->compression_level ? options->compression_level : DEFAULT_LEVEL;
    writer->encoder.packer.small = options->compression_level >= SBT_SMALL_LEVEL;
    writer->index_due = SBT_INDEX_EVERY;
    writer->path = strdup(path);
    if (!writer->path || !write_head(writer)) {
        sbt_writer_destroy(writer);
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory while writing the trace", path);
    }
    *out = writer;
    return TSMITH_OK;
}

tsmith_status sbt_writer_create(const char *path, const tsmith_sbt_write_options *given,
                                struct sbt_writer **out, tsmith_error *error) {
    tsmith_sbt_write_options options;
    tsmith_status status = sized_take(tsmith_sbt_write_options, given, &options, error);
    if (status != TSMITH_OK)
        return status;
    status = make_writer(path, &options, out, error);
    if (status != TSMITH_OK)
        return status;
    struct sbt_writer *writer = *out;
    writer->owns_fd = true;
    status =
        file_create(path, &options, writer->pending.bytes, writer->pending.length, &writer->to.fd, error);
    if (status != TSMITH_OK) {
        sbt_writer_destroy(writer);
        *out = NULL;
        return status;
    }
    writer->offset = writer->pending.length;
    writer->pending.length = 0;
    return TSMITH_OK;
}

// For what is open already and stays so.
static tsmith_status create_to(const struct destination *to, const char *name,
                               const tsmith_sbt_write_options *given, struct sbt_writer **out,
                               tsmith_error *error) {
    tsmith_sbt_write_options options;
    tsmith_status status = sized_take(tsmith_sbt_write_options, given, &options, error);
    if (status != TSMITH_OK)
        return status;
    status = make_writer(name, &options, out, error);
    if (status != TSMITH_OK)
        return status;
    (*out)->to = *to;
    status = flush(*out, error);
    if (status != TSMITH_OK) {
        sbt_writer_destroy(*out);
        *out = NULL;
    }
    return status;
}

tsmith_status sbt_writer_create_fd(int fd, const char *name, const tsmith_sbt_write_options *options,
                                   struct sbt_writer **out, tsmith_error *error) {
    return create_to(&(struct destination){.fd = fd}, name, options, out, error);
}

void sbt_writer_make_quick(struct sbt_writer *writer) {
    writer->encoder.packer.quick = true;
}

void sbt_writer_destroy(struct sbt_writer *writer) {
    if (!writer)
        return;
    if (writer->owns_fd && writer->to.fd >= 0)
        close(writer->to.fd);
    column_encoder_finish(&writer->encoder);
    table_state_finish(&writer->tables);
    index_finish(&writer->index);
    aggregates_finish(&writer->aggregates);
    free(writer->pending.bytes);
    free(writer->path);
    free(writer);
}

// ---- writing

static tsmith_status write_tables(struct sbt_writer *writer, const tsmith_dictionary *dictionary,
                                  tsmith_error *error) {
    tsmith_status status;
    do {
        size_t at = begin_frame(writer);
        size_t empty = writer->pending.length;
        scratch_reset(&writer->encoder.packer.scratch, SIZE_MAX);
        status = tables_write(&writer->encoder.packer, &writer->tables, dictionary, &writer->pending, error);
        if (writer->pending.length == empty)
            writer->pending.length = at;
        else if (!end_frame(writer, at,
                            &(struct frame_header){.type = FRAME_DICTIONARY, .flags = FRAME_CRITICAL}))
            return no_memory(writer, at, error);
        if (status >= 0 && writer->pending.length > PENDING_LIMIT) {
            tsmith_status flushed = flush(writer, error);
            if (flushed != TSMITH_OK)
                return flushed;
        }
    } while (status == TSMITH_AGAIN);
    return status;
}

static bool note_events(struct sbt_writer *writer, const tsmith_batch *batch) {
    totals_add(&writer->totals, batch);
    if (writer->encoder.packer.small)
        vocabulary_add(&writer->used, batch);
    aggregates_add(&writer->aggregates, batch);
    return !writer->aggregates.failed;
}

static tsmith_status write_events(struct sbt_writer *writer, const tsmith_batch *batch, tsmith_error *error) {
    tsmith_status status = columns_check(batch, error);
    if (status != TSMITH_OK)
        return status;
    uint32_t rows;
    for (uint32_t from = 0; from < tsmith_batch_count(batch); from += rows) {
        struct frame_header header;
        size_t at = begin_frame(writer);
        rows = columns_frame_rows(batch, from,
                                  writer->encoder.packer.small ? COLUMNS_MANY_ROWS : COLUMNS_FEW_ROWS);
        if (!columns_encode(&writer->encoder, batch, from, rows, &writer->pending, &header) ||
            !end_frame(writer, at, &header))
            return no_memory(writer, at, error);
    }
    return note_events(writer, batch) ? TSMITH_OK : no_memory(writer, SIZE_MAX, error);
}

// In a small trace, counting the events and walking the frames is as fast as reading totals and index: a file
// optimized for size leaves both out.
static bool is_small_trace(const struct sbt_writer *writer) {
    return writer->encoder.packer.small && writer->index_offset == 0 && writer->index.count < FEW_FRAMES &&
           writer->totals.events < FEW_EVENTS;
}

static bool write_aggregates(struct sbt_writer *writer) {
    if (writer->aggregates.count && !is_small_trace(writer)) {
        size_t at = begin_frame(writer);
        aggregates_write(&writer->aggregates, writer->aggregates_first, &writer->encoder.packer,
                         &writer->pending);
        if (!end_frame(writer, at, &(struct frame_header){.type = FRAME_AGGREGATE}))
            return false;
        aggregates_clear(&writer->aggregates);
    }
    writer->aggregates_first = writer->sequence;
    return true;
}

static bool write_index(struct sbt_writer *writer) {
    if (!writer->with_index || is_small_trace(writer)) {
        writer->index.count = 0;
        return true;
    }
    uint64_t offset = writer->offset + writer->pending.length;
    size_t at = begin_frame(writer);
    index_write(&writer->index, writer->index_offset, writer->index_first, &writer->pending);
    if (!end_frame(writer, at, &(struct frame_header){.type = FRAME_INDEX}))
        return false;
    writer->index.count = 0;
    writer->index_offset = offset;
    writer->index_first = writer->sequence;
    return true;
}

// Now and then everything that can be answered without the events is written: totals per name and the index.
static tsmith_status write_checkpoint(struct sbt_writer *writer, tsmith_error *error) {
    if (writer->offset < writer->index_due && writer->aggregates.count < AGGREGATE_LIMIT &&
        writer->index.count < SBT_MAX_FRAMES / 8)
        return TSMITH_OK;
    writer->index_due = writer->offset + SBT_INDEX_EVERY;
    size_t at = writer->pending.length;
    if (!write_aggregates(writer) || !write_index(writer))
        return no_memory(writer, at, error);
    return flush(writer, error);
}

tsmith_status sbt_writer_write(struct sbt_writer *writer, const tsmith_dictionary *dictionary,
                               const tsmith_batch *batch, tsmith_error *error) {
    tsmith_status status = check_open(writer, error);
    if (status != TSMITH_OK || tsmith_batch_count(batch) == 0)
        return status;
    writer->encoder.packer.quick &= writer->offset < QUICK_BYTES;
    status = write_tables(writer, dictionary, error);
    if (status == TSMITH_OK)
        status = write_events(writer, batch, error);
    // All complete frames are written, also when this batch could not be: their rows count as written.
    tsmith_status flushed = flush(writer, status == TSMITH_OK ? error : NULL);
    if (status == TSMITH_OK)
        status = flushed;
    return status == TSMITH_OK ? write_checkpoint(writer, error) : status;
}

tsmith_status sbt_writer_carry(struct sbt_writer *writer, const struct frame_header *header,
                               const void *payload, const tsmith_batch *batch, tsmith_error *error) {
    tsmith_status status = check_open(writer, error);
    if (status != TSMITH_OK)
        return status;
    size_t at = begin_frame(writer);
    struct frame_header carried = *header;
    output_bytes(&writer->pending, payload, header->length);
    if (!end_frame(writer, at, &carried))
        return no_memory(writer, at, error);
    if (batch && !note_events(writer, batch))
        return no_memory(writer, SIZE_MAX, error);
    status = flush(writer, error);
    return status == TSMITH_OK ? write_checkpoint(writer, error) : status;
}

tsmith_status sbt_writer_set_dictionary(struct sbt_writer *writer, const tsmith_dictionary *dictionary) {
    return tables_mark_written(&writer->tables, dictionary) ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
}

struct totals sbt_writer_totals(const struct sbt_writer *writer) {
    return writer->totals;
}

static bool write_late_names(struct sbt_writer *writer, const tsmith_dictionary *dictionary) {
    size_t at = begin_frame(writer);
    size_t empty = writer->pending.length;
    tables_write_track_names(&writer->encoder.packer, &writer->tables, dictionary, &writer->pending);
    if (writer->pending.length != empty)
        return end_frame(writer, at,
                         &(struct frame_header){.type = FRAME_DICTIONARY, .flags = FRAME_CRITICAL});
    writer->pending.length = at;
    return true;
}

static bool write_end(struct sbt_writer *writer) {
    uint64_t offset = writer->offset + writer->pending.length;
    size_t at = begin_frame(writer);
    writer->totals.frames = writer->sequence;
    totals_write_end(&writer->totals, writer->index_offset, offset, &writer->pending);
    return end_frame(writer, at, &(struct frame_header){.type = FRAME_END});
}

// Whether the file was removed or replaced by another. Some file systems report no link count, so the name must also
// lead to another file.
static bool is_gone(const struct sbt_writer *writer) {
    struct stat file, there;
    if (fstat(writer->to.fd, &file) != 0 || !S_ISREG(file.st_mode) || file.st_nlink)
        return false;
    return stat(writer->path, &there) != 0 || there.st_ino != file.st_ino || there.st_dev != file.st_dev;
}

tsmith_status sbt_writer_finish(struct sbt_writer *writer, const tsmith_dictionary *dictionary,
                                tsmith_error *error) {
    tsmith_status status = check_open(writer, error);
    if (status == TSMITH_OK)
        status = write_tables(writer, dictionary, error);
    if (status != TSMITH_OK)
        return status;
    size_t at = writer->pending.length;
    if (!write_late_names(writer, dictionary) ||
        (writer->encoder.packer.small && !write_schema(writer, &writer->used)) || !write_aggregates(writer) ||
        !write_index(writer) || !write_end(writer))
        return no_memory(writer, at, error);
    status = flush(writer, error);
    writer->finished = true;
    if (status == TSMITH_OK && writer->owns_fd) {
        int fd = writer->to.fd;
        if (is_gone(writer))
            status =
                status_set(error, TSMITH_ERROR_NOT_FOUND,
                           "%s was removed or replaced while the trace was written into it: the trace is "
                           "lost; write to a place that nothing else writes to",
                           writer->path);
        writer->to.fd = -1;
        if (close(fd) != 0 &&
            status == TSMITH_OK) // where a network file system finally reports that it has no room
            status = status_set_errno(error, "%s: the end of the trace could not be written", writer->path);
    }
    return status;
}

// ---- the sink

static tsmith_status sink_write(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                tsmith_error *error) {
    return sbt_writer_write(self, dictionary, batch, error);
}

static tsmith_status sink_finish(void *self, const tsmith_dictionary *dictionary, tsmith_error *error) {
    return sbt_writer_finish(self, dictionary, error);
}

static void sink_destroy(void *self) {
    sbt_writer_destroy(self);
}

static tsmith_status make_sink(struct sbt_writer *writer, tsmith_sink **out, tsmith_error *error) {
    static const tsmith_sink_ops ops = {sink_write, sink_finish, sink_destroy};
    tsmith_status status = tsmith_sink_create(&ops, writer, out);
    if (status != TSMITH_OK) {
        status = no_memory(writer, SIZE_MAX, error);
        sbt_writer_destroy(writer);
    }
    return status;
}

tsmith_status tsmith_sbt_writer_open(const char *path, const tsmith_sbt_write_options *options,
                                     tsmith_sink **out, tsmith_error *error) {
    struct sbt_writer *writer;
    *out = NULL;
    tsmith_status status = sbt_writer_create(path, options, &writer, error);
    return status == TSMITH_OK ? make_sink(writer, out, error) : status;
}

tsmith_status tsmith_sbt_writer_open_fd(int fd, const tsmith_sbt_write_options *options, tsmith_sink **out,
                                        tsmith_error *error) {
    struct sbt_writer *writer;
    *out = NULL;
    char name[32];
    (void)snprintf(name, sizeof name, "descriptor %d", fd);
    tsmith_status status = sbt_writer_create_fd(fd, name, options, &writer, error);
    return status == TSMITH_OK ? make_sink(writer, out, error) : status;
}

tsmith_status tsmith_sbt_writer_open_output(const tsmith_output *output,
                                            const tsmith_sbt_write_options *options, tsmith_sink **out,
                                            tsmith_error *error) {
    struct sbt_writer *writer;
    *out = NULL;
    tsmith_status status = destination_check(output, error);
    if (status == TSMITH_OK)
        status = create_to(&(struct destination){-1, *output}, "output", options, &writer, error);
    return status == TSMITH_OK ? make_sink(writer, out, error) : status;
}
