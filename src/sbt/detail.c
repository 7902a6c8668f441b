// SPDX-License-Identifier: Apache-2.0
// Writes and reads the frames of a timeline's detail. src/api/trace_tiles.c calls it.
#include "sbt/detail.h"

#include <stdlib.h>

#include "base/status.h"
#include "sbt/reader.h"

enum { MOST_SHIFT = 62 };

static unsigned column_count(enum detail_form form) {
    return form == DETAIL_LOADS ? 4 : 3;
}

tsmith_status sbt_detail_write(struct sbt_writer *writer, const struct sbt_detail *detail,
                               tsmith_error *error) {
    struct packer packer = {.level = 1};
    struct output payload = {0};
    tsmith_status status;
    scratch_reset(&packer.scratch, SIZE_MAX);
    output_varint(&payload, detail->track);
    output_varint(&payload, detail->form);
    output_zigzag(&payload, (uint64_t)detail->origin);
    output_varint(&payload, detail->shift);
    output_varint(&payload, detail->first);
    output_varint(&payload, detail->count);
    for (unsigned i = 0; i < column_count(detail->form); i++)
        pack_stream(&packer, &payload, detail->columns[i], detail->count, 0);
    if (payload.failed)
        status =
            status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while writing the detail of a timeline");
    else
        status =
            sbt_writer_carry(writer, &(struct frame_header){.type = FRAME_DETAIL, .length = payload.length},
                             payload.bytes, NULL, error);
    packer_finish(&packer);
    free(payload.bytes);
    return status;
}

static bool read_column(struct input *in, uint32_t count, struct scratch *scratch, const uint64_t **out) {
    struct stream stream;
    uint64_t *values = scratch_take(scratch, (size_t)count * sizeof *values);
    *out = values;
    return values && unpack_open(&stream, in, count, scratch) == UNPACK_OK && unpack_all(&stream, values);
}

static bool read_detail(struct input *in, struct scratch *scratch, struct sbt_detail *out) {
    uint32_t form, shift;
    uint64_t origin;
    if (!input_count(in, UINT32_MAX, &out->track) || !input_count(in, DETAIL_VALUES, &form) ||
        form < DETAIL_LOADS || !input_zigzag(in, &origin) || !input_count(in, MOST_SHIFT, &shift) ||
        !input_varint(in, &out->first) || !input_count(in, DETAIL_MOST, &out->count) || !out->count)
        return false;
    out->form = (enum detail_form)form;
    out->origin = (int64_t)origin;
    out->shift = shift;
    for (unsigned i = 0; i < column_count(out->form); i++)
        if (!read_column(in, out->count, scratch, &out->columns[i]))
            return false;
    return input_left(in) == 0;
}

static tsmith_status read_one(tsmith_sbt *trace, size_t at, sbt_detail_take take, void *context,
                              tsmith_error *error) {
    struct frame_header header;
    struct input payload;
    struct sbt_detail detail = {0};
    const enum frame_result result = reader_read_frame(trace, at, &trace->buffer, &header, &payload, error);
    if (result == FRAME_FAILED)
        return TSMITH_ERROR_IO;
    scratch_reset(&trace->scratch, SBT_MAX_DECODED);
    if (result != FRAME_SOUND || !read_detail(&payload, &trace->scratch, &detail)) {
        reader_note_damage(trace, at);
        return status_set(error, TSMITH_ERROR_CORRUPT, "The detail of a timeline is damaged");
    }
    return take(context, &detail) ? TSMITH_OK : TSMITH_ERROR_CORRUPT;
}

static bool is_detail(const struct index_entry *entry) {
    return entry->type == FRAME_DETAIL && entry->version == SBT_FRAME_VERSION && !entry->damaged;
}

size_t sbt_detail_count(const tsmith_sbt *trace) {
    size_t count = 0;
    for (size_t i = 0; i < trace->frames.count; i++)
        count += is_detail(&trace->frames.entries[i]);
    return count;
}

tsmith_status sbt_detail_read_some(tsmith_sbt *trace, size_t first, size_t count, sbt_detail_take take,
                                   void *context, tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    size_t number = 0;
    for (size_t i = 0; status == TSMITH_OK && i < trace->frames.count && number < first + count; i++) {
        if (!is_detail(&trace->frames.entries[i]))
            continue;
        if (number >= first)
            status = read_one(trace, i, take, context, error);
        number++;
    }
    scratch_reset(&trace->scratch, 0);
    return status;
}

tsmith_status sbt_detail_read(tsmith_sbt *trace, sbt_detail_take take, void *context, tsmith_error *error) {
    return sbt_detail_read_some(trace, 0, trace->frames.count, take, context, error);
}
