// SPDX-License-Identifier: Apache-2.0
// The flight data recorder: every thread claims buffers and fills them; at the end they are written one after the
// other, in the order of the queue, which is not that of time. So the buffers are found first and then read thread by
// thread in the order of their first time stamp.
//
//   version 1   buffers of one size, their end marked, the rest of them garbage
//   version 2+  a record BufferExtents has the number of bytes that follow
//
// Records begin with a byte: bit 0 set is metadata of 16 bytes (kind in the other bits), else a function record of 8.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "import/xray/xray.h"

enum { METADATA = 16, FUNCTION = 8, BUFFERS_MAX = 1 << 22 };

enum metadata {
    NEW_BUFFER = 0,
    END_OF_BUFFER = 1,
    NEW_CPU = 2,
    TSC_WRAP = 3,
    WALL_CLOCK = 4,
    CUSTOM_EVENT = 5,
    CALL_ARGUMENT = 6,
    BUFFER_EXTENTS = 7,
    TYPED_EVENT = 8,
    PROCESS = 9
};

static bool is_metadata(const uint8_t *record, enum metadata kind) {
    return record[0] == (kind << 1 | 1);
}

// ---- the index

static bool add_buffer(struct xray *xray, struct xray_buffer buffer) {
    if (xray->buffer_count == BUFFERS_MAX) {
        xray->too_many++;
        return true;
    }
    if (!ARRAY_RESERVE(xray->buffers, xray->buffer_capacity, xray->buffer_count + 1))
        return false;
    xray->buffers[xray->buffer_count++] = buffer;
    return true;
}

// Whose buffer it is and when it begins, from the metadata at its front.
static void examine(struct xray *xray, struct xray_buffer *buffer) {
    uint8_t head[8 * METADATA];
    size_t wanted = buffer->size < sizeof head ? (size_t)buffer->size : sizeof head;
    int64_t there = seekable_read(&xray->file, buffer->offset, head, wanted);
    for (int64_t at = 0; at + METADATA <= there && head[at] & 1; at += METADATA) {
        if (is_metadata(head + at, NEW_BUFFER))
            buffer->tid = bytes_get_u32(head + at + 1);
        else if (is_metadata(head + at, PROCESS))
            buffer->pid = bytes_get_u32(head + at + 1);
        else if (is_metadata(head + at, NEW_CPU)) {
            buffer->tsc = bytes_get_u64(head + at + 3);
            return;
        }
    }
}

static int compare(const void *a, const void *b) {
    const struct xray_buffer *one = a, *two = b;
    if (one->pid != two->pid)
        return one->pid < two->pid ? -1 : 1;
    if (one->tid != two->tid)
        return one->tid < two->tid ? -1 : 1;
    if (one->tsc != two->tsc)
        return one->tsc < two->tsc ? -1 : 1;
    return (one->offset > two->offset) - (one->offset < two->offset);
}

// The offset of the next BufferExtents from `offset` on, where bytes may be garbage; the size when there is none.
static uint64_t find_extents(struct xray *xray, uint64_t offset) {
    while (offset < xray->file.size) {
        int64_t there = seekable_read(&xray->file, offset, xray->window, XRAY_WINDOW);
        if (there <= 0)
            return xray->file.size;
        const uint8_t *found = memchr(xray->window, BUFFER_EXTENTS << 1 | 1, (size_t)there);
        if (found)
            return offset + (uint64_t)(found - xray->window);
        offset += (uint64_t)there;
    }
    return xray->file.size;
}

static bool index_extents(struct xray *xray) {
    uint8_t record[METADATA];
    for (uint64_t offset = XRAY_HEADER; offset < xray->file.size;) {
        uint64_t at = offset;
        if (seekable_read(&xray->file, at, record, METADATA) == METADATA &&
            !is_metadata(record, BUFFER_EXTENTS)) {
            at = find_extents(xray, offset);
            xray->bad_records++;
        }
        if (at >= xray->file.size)
            break;
        if (seekable_read(&xray->file, at, record, METADATA) != METADATA) {
            xray->cut = true;
            break;
        }
        uint64_t size = bytes_get_u64(record + 1), left = xray->file.size - at - METADATA;
        xray->cut |= size > left;
        struct xray_buffer buffer = {.offset = at + METADATA, .size = size < left ? size : left};
        examine(xray, &buffer);
        if (buffer.size && !add_buffer(xray, buffer))
            return false;
        offset = buffer.offset + buffer.size;
    }
    return true;
}

static bool index_fixed(struct xray *xray) {
    uint64_t size = xray->header.buffer_size;
    for (uint64_t offset = XRAY_HEADER; offset < xray->file.size; offset += size) {
        uint64_t left = xray->file.size - offset;
        xray->cut |= size > left;
        struct xray_buffer buffer = {.offset = offset, .size = size < left ? size : left};
        examine(xray, &buffer);
        if (!add_buffer(xray, buffer))
            return false;
        if (size > left)
            break;
    }
    return true;
}

tsmith_status xray_fdr_index(struct xray *xray, tsmith_error *error) {
    bool fixed = xray->header.version == 1;
    if (fixed && xray->header.buffer_size < METADATA)
        return status_set_at(error, TSMITH_ERROR_FORMAT, 16, UINT64_MAX,
                             "%s: an XRay log of version 1 with buffers of %llu bytes", xray->name,
                             (unsigned long long)xray->header.buffer_size);
    if (!(fixed ? index_fixed(xray) : index_extents(xray)))
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", xray->name);
    if (xray->buffer_count)
        qsort(xray->buffers, xray->buffer_count, sizeof *xray->buffers, compare);
    return TSMITH_OK;
}

// ---- a buffer

struct reader {
    struct xray *xray;
    const struct xray_buffer *buffer;
    struct xray_thread *thread;
    uint64_t tsc, done; // done: bytes of the buffer beyond the window
    uint32_t cpu;
    const uint8_t *at, *end;
};

static uint64_t offset_of(const struct reader *reader) {
    return reader->buffer->offset + reader->done;
}

// Makes sure that `size` bytes are in the window, if the buffer has them.
static bool fill_window(struct reader *reader, size_t size) {
    size_t there = (size_t)(reader->end - reader->at);
    if (there >= size)
        return true;
    struct xray *xray = reader->xray;
    uint64_t left = reader->buffer->size - reader->done;
    if (there + left < size || size > XRAY_WINDOW)
        return false;
    memmove(xray->window, reader->at, there);
    size_t wanted = XRAY_WINDOW - there < left ? XRAY_WINDOW - there : (size_t)left;
    int64_t got = seekable_read(&xray->file, offset_of(reader), xray->window + there, wanted);
    if (got < 0)
        return false;
    reader->done += (uint64_t)got;
    reader->at = xray->window;
    reader->end = xray->window + there + got;
    return there + (size_t)got >= size;
}

// An event with data behind it; false when the data is not all there.
static bool add_event(struct reader *reader, bool typed) {
    struct xray *xray = reader->xray;
    const uint8_t *body = reader->at + 1;
    bool deltas = xray->header.version >= 5 || typed;
    uint32_t size = bytes_get_u32(body), cpu = reader->cpu;
    uint64_t tsc = bytes_get_u64(body + 4);
    int32_t type = typed ? bytes_get_u16(body + 8) : -1;
    if (deltas)
        tsc = reader->tsc += (uint64_t)(int64_t)(int32_t)bytes_get_u32(body + 4);
    else if (xray->header.version == 4)
        cpu = bytes_get_u16(body + 12);
    if (size == 0 || size > XRAY_WINDOW - METADATA || !fill_window(reader, METADATA + (size_t)size))
        return false;
    xray_add_event(xray, reader->thread, tsc, cpu, type, reader->at + METADATA, size);
    reader->at += size;
    return true;
}

enum outcome { GO_ON, STOP, BAD };

static enum outcome read_metadata(struct reader *reader) {
    const uint8_t *body = reader->at + 1;
    switch ((enum metadata)(reader->at[0] >> 1)) {
    case NEW_BUFFER:
    case WALL_CLOCK:
    case PROCESS:
        break; // the index has them
    case END_OF_BUFFER:
        return reader->xray->header.version == 1 ? STOP : BAD;
    case NEW_CPU:
        reader->cpu = bytes_get_u16(body);
        reader->tsc = bytes_get_u64(body + 2);
        break;
    case TSC_WRAP:
        reader->tsc = bytes_get_u64(body);
        break;
    case CALL_ARGUMENT:
        xray_add_argument(reader->xray, reader->thread, bytes_get_u64(body));
        break;
    case CUSTOM_EVENT:
    case TYPED_EVENT:
        if (!add_event(reader, reader->at[0] >> 1 == TYPED_EVENT))
            return BAD;
        break;
    default:
        return BAD;
    }
    reader->at += METADATA;
    return GO_ON;
}

static enum outcome read_function(struct reader *reader) {
    uint32_t word = bytes_get_u32(reader->at);
    unsigned kind = word >> 1 & 7;
    if (kind > XRAY_ENTER_ARGUMENT)
        return BAD;
    reader->tsc += bytes_get_u32(reader->at + 4);
    struct xray_record record = {(enum xray_kind)kind, (int32_t)(word >> 4), reader->tsc, reader->cpu};
    xray_add_record(reader->xray, reader->thread, &record);
    reader->at += FUNCTION;
    return GO_ON;
}

bool xray_fdr_run(struct xray *xray) {
    if (xray->buffer_at == xray->buffer_count)
        return false;
    struct reader reader = {
        .xray = xray, .buffer = &xray->buffers[xray->buffer_at++], .at = xray->window, .end = xray->window};
    reader.thread = xray_find_thread(xray, reader.buffer->pid, reader.buffer->tid);
    if (!reader.thread) {
        xray->too_many++;
        return true;
    }
    enum outcome outcome = GO_ON;
    while (outcome == GO_ON && fill_window(&reader, 1)) {
        bool metadata = reader.at[0] & 1;
        if (!fill_window(&reader, metadata ? METADATA : FUNCTION))
            outcome = BAD;
        else
            outcome = metadata ? read_metadata(&reader) : read_function(&reader);
    }
    // The records that follow in this buffer can no longer be distinguished.
    xray->bad_records += outcome == BAD;
    return true;
}
