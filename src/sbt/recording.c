// SPDX-License-Identifier: Apache-2.0
// Writes and reads the frames of a recording. src/api/recording.c writes them, src/replay/recording.c reads them.
#include "sbt/recording.h"

#include <stdlib.h>

#include "base/status.h"
#include "sbt/reader.h"
#include "sbt/tables.h"

tsmith_status sbt_recording_write(struct sbt_writer *writer, enum frame_type type, uint32_t process,
                                  const void *records, size_t size, tsmith_error *error) {
    struct packer packer = {.level = 1};
    struct output payload = {0};
    tsmith_status status;
    output_varint(&payload, process);
    blob_write(&packer, &payload, records, size);
    if (payload.failed)
        status =
            status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading a frame of the recording");
    else
        status =
            sbt_writer_carry(writer, &(struct frame_header){.type = (uint16_t)type, .length = payload.length},
                             payload.bytes, NULL, error);
    packer_finish(&packer);
    free(payload.bytes);
    return status;
}

static tsmith_status read_one(tsmith_sbt *trace, size_t at, sbt_recording_take take, void *context,
                              tsmith_error *error) {
    struct frame_header header;
    struct input payload, records;
    uint32_t process;
    enum frame_result result = reader_read_frame(trace, at, &trace->buffer, &header, &payload, error);
    if (result != FRAME_SOUND)
        return result == FRAME_FAILED ? TSMITH_ERROR_IO : TSMITH_OK;
    scratch_reset(&trace->scratch, SBT_MAX_DECODED);
    if (!input_count(&payload, UINT32_MAX, &process) ||
        !blob_read(&payload, RECORDING_FRAME_MOST, &trace->scratch, &records) || input_left(&payload)) {
        reader_note_damage(trace, at);
        return TSMITH_OK;
    }
    return take(context, process, records.at, input_left(&records), trace->frames.entries[at].offset, error);
}

tsmith_status sbt_recording_read(tsmith_sbt *trace, sbt_recording_take take, void *context,
                                 tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    for (size_t i = 0; status == TSMITH_OK && i < trace->frames.count; i++) {
        const struct index_entry *entry = &trace->frames.entries[i];
        if ((entry->type == FRAME_RECORDS || entry->type == FRAME_CHUNKS) &&
            entry->version == SBT_FRAME_VERSION && !entry->damaged)
            status = read_one(trace, i, take, context, error);
    }
    scratch_reset(&trace->scratch, 0);
    return status;
}
