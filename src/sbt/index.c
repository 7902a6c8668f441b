// SPDX-License-Identifier: Apache-2.0
// Keeps, writes and reads the index of frames. The writer and the reader call it.
#include "sbt/index.h"

bool index_add(struct frame_index *index, uint64_t offset, const struct frame_header *header) {
    if (index->count >= SBT_MAX_FRAMES || !ARRAY_RESERVE(index->entries, index->capacity, index->count + 1))
        return false;
    index->entries[index->count++] = index_entry_of(offset, header);
    return true;
}

struct index_entry index_entry_of(uint64_t offset, const struct frame_header *header) {
    return (struct index_entry){.offset = offset,
                                .length = (uint32_t)header->length,
                                .type = header->type,
                                .flags = header->flags,
                                .track = header->track,
                                .events = header->events,
                                .kinds = header->kinds,
                                .version = header->version,
                                .first_start = header->first_start,
                                .last_end = header->last_end};
}

void index_finish(struct frame_index *index) {
    free(index->entries);
    *index = (struct frame_index){0};
}

void index_write(const struct frame_index *index, uint64_t previous, uint64_t first_sequence,
                 struct output *out) {
    size_t size = SBT_INDEX_HEADER_SIZE + index->count * SBT_INDEX_ENTRY_SIZE;
    uint8_t *at = output_room(out, size);
    if (!at)
        return;
    out->length += size;
    bytes_put_u64(at, previous);
    bytes_put_u64(at + 8, first_sequence);
    bytes_put_u32(at + 16, (uint32_t)index->count);
    bytes_put_u32(at + 20, 0);
    at += SBT_INDEX_HEADER_SIZE;
    for (size_t i = 0; i < index->count; i++, at += SBT_INDEX_ENTRY_SIZE) {
        const struct index_entry *entry = &index->entries[i];
        bytes_put_u64(at, entry->offset);
        bytes_put_u32(at + 8, entry->length);
        bytes_put_u16(at + 12, entry->type);
        bytes_put_u16(at + 14, entry->flags);
        bytes_put_u32(at + 16, entry->track);
        bytes_put_u32(at + 20, entry->events);
        bytes_put_u32(at + 24, entry->kinds);
        bytes_put_u16(at + 28, entry->version);
        bytes_put_u16(at + 30, 0);
        bytes_put_u64(at + 32, (uint64_t)entry->first_start);
        bytes_put_u64(at + 40, (uint64_t)entry->last_end);
    }
}

bool index_read_head(struct input payload, struct index_head *head) {
    if (input_left(&payload) < SBT_INDEX_HEADER_SIZE)
        return false;
    *head = (struct index_head){bytes_get_u64(payload.at), bytes_get_u64(payload.at + 8),
                                bytes_get_u32(payload.at + 16)};
    return input_left(&payload) == SBT_INDEX_HEADER_SIZE + (uint64_t)head->count * SBT_INDEX_ENTRY_SIZE;
}

static struct index_entry read_entry(const uint8_t *at) {
    return (struct index_entry){.offset = bytes_get_u64(at),
                                .length = bytes_get_u32(at + 8),
                                .type = bytes_get_u16(at + 12),
                                .flags = bytes_get_u16(at + 14),
                                .track = bytes_get_u32(at + 16),
                                .events = bytes_get_u32(at + 20),
                                .kinds = bytes_get_u32(at + 24),
                                .version = bytes_get_u16(at + 28),
                                .first_start = (int64_t)bytes_get_u64(at + 32),
                                .last_end = (int64_t)bytes_get_u64(at + 40)};
}

bool index_read(struct frame_index *index, struct input payload, uint64_t from, uint64_t to) {
    struct index_head head;
    if (!index_read_head(payload, &head) || index->count + head.count > SBT_MAX_FRAMES ||
        !ARRAY_RESERVE(index->entries, index->capacity, index->count + head.count))
        return false;
    const uint8_t *at = payload.at + SBT_INDEX_HEADER_SIZE;
    for (uint32_t i = 0; i < head.count; i++, at += SBT_INDEX_ENTRY_SIZE) {
        struct index_entry entry = read_entry(at);
        uint64_t size = SBT_FRAME_HEADER_SIZE + frame_stored_length(entry.length);
        if (entry.offset != from || entry.length > SBT_MAX_PAYLOAD || size > to - from)
            return false;
        from += size;
        index->entries[index->count++] = entry;
    }
    return from == to;
}
