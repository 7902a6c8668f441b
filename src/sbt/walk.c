// SPDX-License-Identifier: Apache-2.0
// The walk from frame header to frame header, and its continuation when a file has grown. The reader calls it.
#include "sbt/walk.h"

#include "base/hash.h"
#include "base/status.h"
#include "platform/file.h"

enum { WALK_WINDOW = 1 << 14 };

struct walk {
    uint8_t window[WALK_WINDOW];
    uint64_t window_offset;
    size_t window_size;
};

// 64 bytes of the file, or NULL where they cannot be read.
static const uint8_t *bytes_at(tsmith_sbt *trace, struct walk *walk, uint64_t offset) {
    if (offset < walk->window_offset ||
        offset + SBT_FRAME_HEADER_SIZE > walk->window_offset + walk->window_size) {
        int64_t got = file_read(trace->fd, offset, walk->window, sizeof walk->window);
        walk->window_offset = offset;
        walk->window_size = got > 0 ? (size_t)got : 0;
        if (walk->window_size < SBT_FRAME_HEADER_SIZE)
            return NULL;
    }
    return walk->window + (offset - walk->window_offset);
}

// A file may be mostly holes, of any size: they are not searched byte by byte.
static uint64_t after_hole(const tsmith_sbt *trace, uint64_t offset) {
    if (offset % WALK_WINDOW)
        return offset;
    return file_after_hole(trace->fd, offset, trace->size) & ~(uint64_t)(SBT_ALIGNMENT - 1);
}

void reader_note_torn(tsmith_sbt *trace, uint64_t offset, uint64_t events) {
    trace->torn_offset = offset;
    trace->torn_events = events;
    trace->damaged_bytes += trace->size - offset;
    reader_note_bad(trace, offset);
}

static void note_region(tsmith_sbt *trace, uint64_t from, uint64_t to) {
    trace->damaged_regions++;
    trace->damaged_bytes += to - from;
    reader_note_bad(trace, from);
}

static void note_walked(tsmith_sbt *trace, uint64_t offset, uint64_t sequence) {
    trace->walked.offset = offset;
    trace->walked.sequence = sequence;
    trace->walked.regions = trace->damaged_regions;
    trace->walked.bytes = trace->damaged_bytes;
    trace->walked.first_bad = trace->first_bad;
}

static tsmith_status walk_frames(tsmith_sbt *trace, tsmith_error *error) {
    struct walk walk = {.window_size = 0};
    uint64_t offset = trace->walked.offset;
    uint64_t bad = UINT64_MAX; // where the damage we are in began
    while (trace->size - offset >= SBT_FRAME_HEADER_SIZE) {
        struct frame_header header;
        const uint8_t *at = bytes_at(trace, &walk, offset);
        if (!at || !frame_header_get(at, &header) || header.sequence < trace->walked.sequence) {
            bad = bad == UINT64_MAX ? offset : bad;
            if (!at)
                break;
            offset = after_hole(trace, offset + SBT_ALIGNMENT);
            continue;
        }
        if (bad != UINT64_MAX)
            note_region(trace, bad, offset);
        bad = UINT64_MAX;
        uint64_t stored = frame_stored_length(header.length);
        if (stored > trace->size - offset - SBT_FRAME_HEADER_SIZE) {
            reader_note_torn(trace, offset, header.type == FRAME_EVENTS ? header.events : 0);
            return TSMITH_OK;
        }
        if (!index_add(&trace->frames, offset, &header))
            return status_set_at(error, TSMITH_ERROR_LIMIT, offset, trace->frames.count,
                                 "%s: more frames than the limit of %d, or out of memory while listing them",
                                 trace->path, SBT_MAX_FRAMES);
        offset += SBT_FRAME_HEADER_SIZE + stored;
        note_walked(trace, offset, header.sequence + 1);
    }
    if (bad != UINT64_MAX)
        note_region(trace, bad, trace->size);
    else if (offset < trace->size)
        reader_note_torn(trace, offset, 0);
    return TSMITH_OK;
}

tsmith_status reader_walk(tsmith_sbt *trace, uint64_t offset, tsmith_error *error) {
    note_walked(trace, offset, 0);
    return walk_frames(trace, error);
}

// ---- a file that grows

// What lies behind the last sound frame may be written at this moment: it is read again.
static void forget_end(tsmith_sbt *trace) {
    trace->damaged_regions = trace->walked.regions;
    trace->damaged_bytes = trace->walked.bytes;
    trace->torn_offset = UINT64_MAX;
    trace->torn_events = 0;
    trace->first_bad = trace->walked.first_bad;
    for (size_t i = 0; trace->damaged_entries && i < trace->frames.count; i++)
        if (trace->frames.entries[i].damaged)
            reader_note_bad(trace, trace->frames.entries[i].offset);
}

static tsmith_status update_size(tsmith_sbt *trace, tsmith_error *error) {
    int other;
    uint64_t size;
    const tsmith_status status = file_share(trace->fd, trace->path, &other, &size, error);
    if (status != TSMITH_OK)
        return status;
    file_close(other);
    if (size < trace->walked.offset)
        return status_set_at(error, TSMITH_ERROR_CORRUPT, size, UINT64_MAX,
                             "%s was truncated to %llu bytes while it was read", trace->path,
                             (unsigned long long)size);
    trace->size = size;
    return TSMITH_OK;
}

// Where a file system shows the size of a file before its bytes, the last frame is not whole yet: it is left for the next time.
static tsmith_status drop_unfinished(tsmith_sbt *trace, size_t known, tsmith_error *error) {
    struct frame_header header;
    struct input payload;
    const size_t last = trace->frames.count - 1;
    if (trace->frames.count == known)
        return TSMITH_OK;
    const enum frame_result result = reader_read_frame(trace, last, &trace->buffer, &header, &payload, error);
    if (result == FRAME_FAILED)
        return error ? error->status : TSMITH_ERROR_IO;
    if (result == FRAME_SOUND)
        return TSMITH_OK;
    const struct index_entry *entry = &trace->frames.entries[last];
    trace->damaged_entries--;
    trace->damaged_events -= entry->type == FRAME_EVENTS ? entry->events : 0;
    trace->frames.count--;
    trace->walked.offset = entry->offset;
    trace->walked.sequence--;
    return TSMITH_OK;
}

static bool has_ended(tsmith_sbt *trace) {
    uint64_t end_offset, index_offset;
    struct frame_header end;
    return trace->frames.count && trace->frames.entries[trace->frames.count - 1].type == FRAME_END &&
           reader_read_end(trace, &end_offset, &index_offset, &end);
}

tsmith_status tsmith_sbt_refresh(tsmith_sbt *trace, tsmith_error *error) {
    const size_t known = trace->frames.count;
    if (trace->ended)
        return TSMITH_END;
    if (!trace->walked.offset)
        return TSMITH_OK; // the file was shorter than its header says
    tsmith_status status = update_size(trace, error);
    if (status != TSMITH_OK)
        return status;
    forget_end(trace);
    status = walk_frames(trace, error);
    if (status == TSMITH_OK)
        status = drop_unfinished(trace, known, error);
    if (status == TSMITH_OK)
        status = reader_check_frames(trace, known, error);
    if (status == TSMITH_OK && trace->dictionary)
        status = reader_read_dictionary(trace, trace->dictionary, error);
    if (status == TSMITH_OK)
        trace->ended = trace->has_totals = has_ended(trace);
    return status == TSMITH_OK && trace->ended ? TSMITH_END : status;
}
