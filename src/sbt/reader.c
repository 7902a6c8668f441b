// SPDX-License-Identifier: Apache-2.0
// Opening a trace. Two ways lead to the same list of frames:
//
//     trailer -> END -> chain of INDEX frames      a few reads, whatever the size of the file
//     walk from header to header                   when any of these is missing or damaged
//
// Invariant afterwards: `frames` are in order of offset, do not overlap, are inside the file as it was when
// it was opened, and none is critical and unknown. Nothing is known of their payloads before they are read
// and checked.
#include "sbt/reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/status.h"
#include "platform/file.h"
#include "sbt/tables.h"
#include "sbt/walk.h"

enum { BUFFER_KEPT = 8 << 20 };

// ---- one frame

void reader_note_bad(tsmith_sbt *trace, uint64_t offset) {
    if (offset < trace->first_bad)
        trace->first_bad = offset;
}

void reader_note_damage(tsmith_sbt *trace, size_t entry) {
    struct index_entry *damaged = &trace->frames.entries[entry];
    if (damaged->damaged)
        return;
    damaged->damaged = true;
    trace->damaged_entries++;
    trace->damaged_events += damaged->type == FRAME_EVENTS ? damaged->events : 0;
    reader_note_bad(trace, damaged->offset);
}

static bool same_frame(const struct index_entry *entry, const struct frame_header *header) {
    struct index_entry other = index_entry_of(entry->offset, header);
    return header->length == entry->length && other.type == entry->type && other.flags == entry->flags &&
           other.version == entry->version && other.track == entry->track && other.events == entry->events &&
           other.kinds == entry->kinds && other.first_start == entry->first_start &&
           other.last_end == entry->last_end;
}

static uint8_t *reserve_buffer(struct output *buffer, size_t size) {
    buffer->length = 0;
    if (buffer->capacity > BUFFER_KEPT && size < BUFFER_KEPT / 2) {
        free(buffer->bytes);
        *buffer = (struct output){0};
    }
    return output_room(buffer, size);
}

enum frame_result reader_read_frame(tsmith_sbt *trace, size_t entry, struct output *buffer,
                                    struct frame_header *header, struct input *payload, tsmith_error *error) {
    const struct index_entry *wanted = &trace->frames.entries[entry];
    const size_t stored = (size_t)frame_stored_length(wanted->length);
    uint8_t *bytes = reserve_buffer(buffer, SBT_FRAME_HEADER_SIZE + stored + UNPACK_SLACK);
    if (!bytes) {
        buffer->failed = false;
        status_set_at(error, TSMITH_ERROR_NO_MEMORY, wanted->offset, entry,
                      "%s: out of memory while reading a frame of %u bytes", trace->path, wanted->length);
        return FRAME_FAILED;
    }
    int64_t got = file_read(trace->fd, wanted->offset, bytes, SBT_FRAME_HEADER_SIZE + stored);
    if (got < 0) {
        status_set_errno(error, "%s: cannot be read at byte %llu", trace->path,
                         (unsigned long long)wanted->offset);
        return FRAME_FAILED;
    }
    const uint8_t *stored_bytes = bytes + SBT_FRAME_HEADER_SIZE;
    if ((uint64_t)got != SBT_FRAME_HEADER_SIZE + stored || !frame_header_get(bytes, header) ||
        !same_frame(wanted, header) || crc32c(0, stored_bytes, stored) != header->payload_crc) {
        reader_note_damage(trace, entry);
        return FRAME_DAMAGED;
    }
    *payload = (struct input){stored_bytes, stored_bytes + header->length};
    return FRAME_SOUND;
}

bool reader_read_header(const tsmith_sbt *trace, size_t entry, uint8_t out[SBT_FRAME_HEADER_SIZE]) {
    struct frame_header header;
    return file_read(trace->fd, trace->frames.entries[entry].offset, out, SBT_FRAME_HEADER_SIZE) ==
               SBT_FRAME_HEADER_SIZE &&
           frame_header_get(out, &header);
}

bool reader_read_sequence(const tsmith_sbt *trace, size_t entry, uint64_t *out) {
    uint8_t head[SBT_FRAME_HEADER_SIZE];
    struct frame_header header;
    if (!reader_read_header(trace, entry, head) || !frame_header_get(head, &header))
        return false;
    *out = header.sequence;
    return true;
}

// ---- by the index

// A frame that is not listed yet; false when it is not sound.
static bool read_unlisted(tsmith_sbt *trace, uint64_t offset, uint64_t limit, unsigned type,
                          struct output *buffer, struct frame_header *header, struct input *payload) {
    uint8_t head[SBT_FRAME_HEADER_SIZE];
    if (offset % SBT_ALIGNMENT || offset > limit || limit - offset < sizeof head ||
        file_read(trace->fd, offset, head, sizeof head) != sizeof head || !frame_header_get(head, header) ||
        header->type != type || header->version != SBT_FRAME_VERSION ||
        frame_stored_length(header->length) > limit - offset - sizeof head)
        return false;
    const size_t stored = (size_t)frame_stored_length(header->length);
    uint8_t *bytes = reserve_buffer(buffer, stored + UNPACK_SLACK);
    if (!bytes || file_read(trace->fd, offset + sizeof head, bytes, stored) != (int64_t)stored ||
        crc32c(0, bytes, stored) != header->payload_crc)
        return false;
    *payload = (struct input){bytes, bytes + header->length};
    return true;
}

struct index_place {
    uint64_t offset, size;
    struct frame_header header;
};

// Follows the chain back from `offset`. *out is to be freed.
static bool find_index_frames(tsmith_sbt *trace, uint64_t offset, uint64_t limit, struct index_place **out,
                              size_t *count) {
    size_t capacity = 0;
    struct index_place *places = NULL;
    *count = 0;
    while (offset) {
        struct input payload;
        struct index_head head;
        struct index_place place = {.offset = offset};
        if (!read_unlisted(trace, offset, limit, FRAME_INDEX, &trace->buffer, &place.header, &payload) ||
            !index_read_head(payload, &head) || !ARRAY_RESERVE(places, capacity, *count + 1))
            break;
        place.size = SBT_FRAME_HEADER_SIZE + frame_stored_length(place.header.length);
        places[(*count)++] = place;
        limit = offset; // so that the chain goes back and ends
        offset = head.previous;
    }
    *out = places;
    return offset == 0 && *count > 0;
}

static bool read_index_frames(tsmith_sbt *trace, const struct index_place *places, size_t count,
                              uint64_t from) {
    for (size_t i = count; i-- > 0;) {
        struct frame_header header;
        struct input payload;
        if (!read_unlisted(trace, places[i].offset, places[i].offset + places[i].size, FRAME_INDEX,
                           &trace->buffer, &header, &payload) ||
            !index_read(&trace->frames, payload, from, places[i].offset) ||
            !index_add(&trace->frames, places[i].offset, &places[i].header))
            return false;
        from = places[i].offset + places[i].size;
    }
    return true;
}

bool reader_read_end(tsmith_sbt *trace, uint64_t *end_offset, uint64_t *index_offset,
                     struct frame_header *header) {
    uint8_t trailer[SBT_TRAILER_SIZE];
    struct input payload;
    if (trace->size < SBT_FILE_HEADER_SIZE + SBT_FRAME_HEADER_SIZE + sizeof trailer ||
        file_read(trace->fd, trace->size - sizeof trailer, trailer, sizeof trailer) != sizeof trailer ||
        !totals_read_trailer(trailer, trace->size, end_offset) ||
        !read_unlisted(trace, *end_offset, trace->size, FRAME_END, &trace->buffer, header, &payload))
        return false;
    return *end_offset + SBT_FRAME_HEADER_SIZE + header->length == trace->size &&
           totals_read_end(payload, trace->size, &trace->totals, index_offset);
}

static bool open_by_index(tsmith_sbt *trace, uint64_t first_frame) {
    struct index_place *places = NULL;
    size_t count = 0;
    uint64_t end_offset, index_offset;
    struct frame_header end;
    if (!reader_read_end(trace, &end_offset, &index_offset, &end))
        return false;
    trace->ended = trace->has_totals = true;
    bool found = find_index_frames(trace, index_offset, end_offset, &places, &count) &&
                 places[0].offset + places[0].size == end_offset &&
                 read_index_frames(trace, places, count, first_frame) &&
                 index_add(&trace->frames, end_offset, &end) &&
                 trace->frames.count == trace->totals.frames + 1;
    if (!found)
        trace->frames.count = 0;
    free(places);
    return found;
}

// ---- opening

static bool accept_pipe(const uint8_t *bytes, size_t size) {
    return size >= SBT_FILE_HEADER_SIZE && file_header_has_magic(bytes);
}

static bool frame_stands_at(tsmith_sbt *trace, uint64_t offset) {
    uint8_t head[SBT_FRAME_HEADER_SIZE];
    struct frame_header header;
    return file_read(trace->fd, offset, head, sizeof head) == sizeof head && frame_header_get(head, &header);
}

static tsmith_status read_file_header(tsmith_sbt *trace, uint64_t *first_frame, tsmith_error *error) {
    uint8_t bytes[SBT_FILE_HEADER_SIZE] = {0};
    struct file_header header;
    if (trace->size == 0)
        return status_set_at(error, TSMITH_ERROR_FORMAT, 0, UINT64_MAX, "%s is empty", trace->path);
    int64_t got = file_read(trace->fd, 0, bytes, sizeof bytes);
    if (got < 0)
        return status_set_errno(error, "%s cannot be read", trace->path);
    *first_frame = SBT_FILE_HEADER_SIZE;
    trace->major = SBT_MAJOR;
    trace->minor = SBT_MINOR;
    if (!file_header_get(bytes, &header)) {
        if (frame_stands_at(trace, SBT_FILE_HEADER_SIZE)) {
            trace->header_damaged = true;
            reader_note_bad(trace, 0);
            return TSMITH_OK;
        }
        if (!file_header_has_magic(bytes))
            return status_set_at(error, TSMITH_ERROR_FORMAT, 0, UINT64_MAX,
                                 "%s is not an SBT trace: it has no SBT file header", trace->path);
        return status_set_at(
            error, TSMITH_ERROR_CORRUPT, 0, UINT64_MAX, "%s: %s, and nothing is left to read", trace->path,
            (uint64_t)got < sizeof bytes ? "the file ends within its header" : "its header is damaged");
    }
    trace->major = header.major;
    trace->minor = header.minor;
    if (header.major != SBT_MAJOR)
        return status_set_at(
            error, TSMITH_ERROR_UNSUPPORTED, 8, UINT64_MAX,
            "%s is of SBT version %u.%u, and this TraceSmith reads version %d: use a newer one", trace->path,
            header.major, header.minor, SBT_MAJOR);
    if (header.flags >> 16)
        return status_set_at(
            error, TSMITH_ERROR_UNSUPPORTED, 16, UINT64_MAX,
            "%s needs a feature of SBT %u.%u that this TraceSmith does not know (flags 0x%x): use a "
            "newer one",
            trace->path, header.major, header.minor, header.flags);
    if (header.size < SBT_FILE_HEADER_SIZE || header.size % SBT_ALIGNMENT)
        return status_set_at(error, TSMITH_ERROR_CORRUPT, 12, UINT64_MAX, "%s: a file header of %u bytes",
                             trace->path, header.size);
    *first_frame = header.size;
    return TSMITH_OK;
}

tsmith_status reader_check_frames(tsmith_sbt *trace, size_t from, tsmith_error *error) {
    for (size_t i = from; i < trace->frames.count; i++) {
        const struct index_entry *entry = &trace->frames.entries[i];
        struct frame_header header = {.type = entry->type, .version = entry->version};
        if (frame_is_known(&header))
            continue;
        if (entry->flags & FRAME_CRITICAL)
            return status_set_at(
                error, TSMITH_ERROR_UNSUPPORTED, entry->offset, i,
                "%s cannot be read without its frames of type %u, version %u, at byte %llu: use a "
                "newer TraceSmith",
                trace->path, entry->type, entry->version, (unsigned long long)entry->offset);
        trace->unknown_frames++;
    }
    return TSMITH_OK;
}

// INDEX and END were not believed, or we would not have walked: if that is because they are damaged, it is
// noted.
static tsmith_status check_index_frames(tsmith_sbt *trace, tsmith_error *error) {
    for (size_t i = 0; i < trace->frames.count; i++) {
        struct frame_header header;
        struct input payload;
        unsigned type = trace->frames.entries[i].type;
        if ((type == FRAME_INDEX || type == FRAME_END) &&
            reader_read_frame(trace, i, &trace->buffer, &header, &payload, error) == FRAME_FAILED)
            return TSMITH_ERROR_IO;
    }
    return TSMITH_OK;
}

static tsmith_status open_frames(tsmith_sbt *trace, tsmith_error *error) {
    uint64_t first_frame;
    tsmith_status status = read_file_header(trace, &first_frame, error);
    if (status != TSMITH_OK)
        return status;
    if (!open_by_index(trace, first_frame)) {
        if (first_frame > trace->size)
            reader_note_torn(trace, trace->size, 0);
        else
            status = reader_walk(trace, first_frame, error);
        if (status == TSMITH_OK)
            status = check_index_frames(trace, error);
    }
    return status == TSMITH_OK ? reader_check_frames(trace, 0, error) : status;
}

// From a descriptor, or (below 0) from the path.
static tsmith_status open_trace(int fd, const char *path, tsmith_sbt **out, tsmith_error *error) {
    *out = NULL;
    tsmith_sbt *trace = calloc(1, sizeof *trace);
    if (!trace)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory while opening it", path);
    trace->fd = -1;
    trace->first_bad = trace->torn_offset = UINT64_MAX;
    trace->path = strdup(path);
    tsmith_status status;
    if (!trace->path)
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory while opening it", path);
    else if (fd >= 0)
        status = file_share(fd, path, &trace->fd, &trace->size, error);
    else
        status = file_open(path, SBT_FILE_HEADER_SIZE, accept_pipe, &trace->fd, &trace->size, error);
    if (status == TSMITH_OK)
        status = open_frames(trace, error);
    if (status == TSMITH_OK)
        *out = trace;
    else
        tsmith_sbt_close(trace);
    return status;
}

tsmith_status tsmith_sbt_open(const char *path, tsmith_sbt **out, tsmith_error *error) {
    return open_trace(-1, path, out, error);
}

tsmith_status tsmith_sbt_open_fd(int fd, const char *name, tsmith_sbt **out, tsmith_error *error) {
    if (fd >= 0)
        return open_trace(fd, name, out, error);
    *out = NULL;
    return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT, "%s: %d is not an open file descriptor", name,
                      fd);
}

void tsmith_sbt_close(tsmith_sbt *trace) {
    if (!trace)
        return;
    if (trace->fd >= 0)
        file_close(trace->fd);
    tsmith_dictionary_destroy(trace->dictionary);
    index_finish(&trace->frames);
    free(trace->buffer.bytes);
    scratch_finish(&trace->scratch);
    free(trace->path);
    free(trace);
}

// ---- the dictionary

tsmith_status reader_read_dictionary(tsmith_sbt *trace, tsmith_dictionary *dictionary, tsmith_error *error) {
    for (; trace->dictionary_next < trace->frames.count; trace->dictionary_next++) {
        const size_t i = trace->dictionary_next;
        const struct index_entry *entry = &trace->frames.entries[i];
        struct frame_header header;
        struct input payload;
        if (entry->type != FRAME_DICTIONARY || entry->version != SBT_FRAME_VERSION)
            continue;
        enum frame_result result = reader_read_frame(trace, i, &trace->buffer, &header, &payload, error);
        if (result == FRAME_FAILED)
            return TSMITH_ERROR_IO;
        if (result == FRAME_DAMAGED)
            continue;
        enum tables_result read = tables_read(payload, &trace->scratch, dictionary, &trace->dictionary_left);
        if (read == TABLES_NO_MEMORY)
            return status_set_at(error, TSMITH_ERROR_NO_MEMORY, entry->offset, i,
                                 "%s: out of memory while reading the names of the trace", trace->path);
        if (read == TABLES_DAMAGED)
            reader_note_damage(trace, i);
    }
    // What large tables took to read is not kept.
    scratch_reset(&trace->scratch, 0);
    (void)reserve_buffer(&trace->buffer, 0);
    return TSMITH_OK;
}

tsmith_status tsmith_sbt_dictionary(tsmith_sbt *trace, const tsmith_dictionary **out, tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    if (!trace->dictionary) {
        tsmith_dictionary *made;
        trace->dictionary_next = 0;
        trace->dictionary_left = SBT_MAX_DICTIONARY;
        if (tsmith_dictionary_create(&made) != TSMITH_OK)
            status = status_set(error, TSMITH_ERROR_NO_MEMORY,
                                "%s: out of memory while reading the names of the trace", trace->path);
        else
            status = reader_read_dictionary(trace, made, error);
        if (status == TSMITH_OK)
            trace->dictionary = made;
        else if (made)
            tsmith_dictionary_destroy(made);
    }
    *out = trace->dictionary;
    return status;
}

// ---- what is missing

bool reader_is_complete(const tsmith_sbt *trace) {
    return trace->ended && trace->first_bad == UINT64_MAX;
}

tsmith_status reader_say_end(const tsmith_sbt *trace, tsmith_error *error) {
    if (reader_is_complete(trace))
        return TSMITH_END;
    uint64_t damaged = trace->damaged_regions + trace->damaged_entries + trace->header_damaged;
    if (damaged)
        return status_set_at(
            error, TSMITH_TRUNCATED, trace->first_bad, UINT64_MAX,
            "%s: %llu damaged part%s left out, the first at byte %llu; everything else was read", trace->path,
            (unsigned long long)damaged, damaged == 1 ? " was" : "s were",
            (unsigned long long)trace->first_bad);
    uint64_t offset = trace->torn_offset != UINT64_MAX ? trace->torn_offset : trace->size;
    return status_set_at(error, TSMITH_TRUNCATED, offset, UINT64_MAX,
                         "%s: the file ends at byte %llu without its last part (the recording was cut off or "
                         "is still running); everything before byte %llu was read",
                         trace->path, (unsigned long long)trace->size, (unsigned long long)offset);
}
