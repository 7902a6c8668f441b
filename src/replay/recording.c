// SPDX-License-Identifier: Apache-2.0
// Reads a recording into memory and finds its records and data. The replay, the plan and `info` call it.
#include "replay/recording.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/sized.h"
#include "base/status.h"
#include "sbt/recording.h"

enum { PROCESSES_MOST = 4096, RECORDS_MOST = 1 << 28 };

// ---- reading

static tsmith_status no_memory(tsmith_error *error) {
    return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading the recording");
}

// Takes memory over; false when it could not be noted (and is freed).
static bool own_buffer(struct tsmith_recording *recording, uint8_t *bytes) {
    if (!bytes ||
        !ARRAY_RESERVE(recording->buffers, recording->buffer_capacity, recording->buffer_count + 1)) {
        free(bytes);
        return false;
    }
    recording->buffers[recording->buffer_count++] = bytes;
    return true;
}

static struct recorded_process *find_process(struct tsmith_recording *recording, uint32_t number) {
    for (size_t i = recording->process_count; i-- > 0;)
        if (recording->processes[i].number == number)
            return &recording->processes[i];
    if (recording->process_count == PROCESSES_MOST ||
        !ARRAY_RESERVE(recording->processes, recording->process_capacity, recording->process_count + 1))
        return NULL;
    struct recorded_process *process = &recording->processes[recording->process_count++];
    *process = (struct recorded_process){.number = number};
    return process;
}

static bool add_chunk(struct tsmith_recording *recording, const struct recording_record *record) {
    const uint8_t *hash_bytes, *data;
    size_t hash_length, length;
    struct chunk_hash hash;
    if (!recording_get_bytes(record, RECORDING_KEY_HASH, &hash_bytes, &hash_length) ||
        hash_length != sizeof hash || !recording_get_bytes(record, RECORDING_KEY_DATA, &data, &length) ||
        length > RECORDING_CHUNK_BYTES) {
        recording->summary.damaged++;
        return true;
    }
    memcpy(&hash, hash_bytes, sizeof hash);
    if (!chunk_hash_equal(chunk_hash_of(data, length), hash)) {
        recording->summary.damaged++;
        return true;
    }
    if (chunk_table_find(&recording->table, hash))
        return true;
    if (!ARRAY_RESERVE(recording->chunks, recording->chunk_capacity, recording->chunk_count + 1) ||
        !chunk_table_add(&recording->table, hash, recording->chunk_count + 1))
        return false;
    recording->chunks[recording->chunk_count++] = (struct recorded_chunk){data, length};
    recording->summary.chunks++;
    recording->summary.chunk_bytes += length;
    return true;
}

static bool add_refusal(struct tsmith_recording *recording, const struct recording_record *record) {
    const char *function = recording_text(recording, record, RECORDING_KEY_NAME);
    const char *reason = recording_text(recording, record, RECORDING_KEY_TEXT);
    function = function ? function : "";
    reason = reason ? reason : "";
    recording->summary.refused++;
    for (size_t i = 0; i < recording->refusal_count; i++)
        if (strcmp(recording->refusals[i].function, function) == 0 &&
            strcmp(recording->refusals[i].reason, reason) == 0) {
            recording->refusals[i].count++;
            return true;
        }
    if (!ARRAY_RESERVE(recording->refusals, recording->refusal_capacity, recording->refusal_count + 1))
        return false;
    recording->refusals[recording->refusal_count++] =
        (tsmith_recording_refusal){.function = function, .reason = reason, .count = 1};
    return true;
}

static void count_command(tsmith_recording_summary *summary, const struct recording_record *record) {
    const uint64_t command = recording_value(record, RECORDING_KEY_COMMAND);
    summary->commands++;
    summary->kernels += command == RECORDING_COMMAND_KERNEL;
    summary->submissions += command == RECORDING_COMMAND_SUBMIT;
    summary->checks += (command == RECORDING_COMMAND_READ || command == RECORDING_COMMAND_READ_RECT ||
                        command == RECORDING_COMMAND_READ_IMAGE || command == RECORDING_COMMAND_MAP) &&
                       recording_has_payload(record);
}

static bool add_record(struct tsmith_recording *recording, struct recorded_process *process,
                       const struct recording_record *record) {
    tsmith_recording_summary *summary = &recording->summary;
    if (record->type == RECORDING_CHUNK)
        return add_chunk(recording, record);
    if (process->count == RECORDS_MOST ||
        !ARRAY_RESERVE(process->records, process->capacity, process->count + 1))
        return false;
    process->records[process->count++] = *record;
    summary->payload_bytes += recording_has_payload(record) ? recording_value(record, RECORDING_KEY_SIZE) : 0;
    switch (record->type) {
    case RECORDING_PROCESS:
        process->pid = recording_value(record, RECORDING_KEY_PID);
        process->vulkan = (recording_value(record, RECORDING_KEY_FLAGS) & RECORDING_OF_VULKAN) != 0;
        recording->hashes_only |= (recording_value(record, RECORDING_KEY_FLAGS) & RECORDING_HASHES_ONLY) != 0;
        return true;
    case RECORDING_CONTEXT:
        process->used = true;
        return true;
    case RECORDING_COMMAND:
        count_command(summary, record);
        return true;
    case RECORDING_VERIFY:
        summary->checks++;
        return true;
    case RECORDING_END:
        process->ended = true;
        return true;
    case RECORDING_REFUSED:
        return add_refusal(recording, record);
    default:
        return true;
    }
}

static tsmith_status take_frame(void *context, uint32_t number, const uint8_t *records, size_t size,
                                uint64_t frame_offset, tsmith_error *error) {
    struct tsmith_recording *recording = context;
    struct recording_record record;
    struct recorded_process *process = find_process(recording, number);
    enum recording_result result;
    size_t offset = 0;
    if (!process)
        return status_set_at(
            error, TSMITH_ERROR_LIMIT, frame_offset, number,
            "the recording has more than %d processes, or there is not enough memory for them",
            PROCESSES_MOST);
    if (size > recording->limit - recording->bytes)
        return status_set_at(
            error, TSMITH_ERROR_LIMIT, frame_offset, UINT64_MAX,
            "the recording takes more than half of this machine's memory (%llu bytes): replay "
            "it on a larger one",
            (unsigned long long)recording->limit);
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy || !own_buffer(recording, copy))
        return no_memory(error);
    memcpy(copy, records, size);
    recording->bytes += size;
    while ((result = recording_next(copy, size, &offset, &record)) == RECORDING_FOUND) {
        record.offset += frame_offset;
        if (!add_record(recording, process, &record))
            return no_memory(error);
    }
    recording->summary.damaged += result != RECORDING_DONE;
    return TSMITH_OK;
}

bool recording_unfinished(const struct recorded_process *process) {
    return process->used && !process->ended;
}

tsmith_status tsmith_recording_open(tsmith_sbt *trace, tsmith_recording **out, tsmith_error *error) {
    *out = NULL;
    struct tsmith_recording *recording = calloc(1, sizeof *recording);
    if (!recording)
        return no_memory(error);
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    recording->limit = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 2 : (uint64_t)1 << 30;
    tsmith_status status = sbt_recording_read(trace, take_frame, recording, error);
    if (status == TSMITH_OK && recording->process_count == 0)
        status = status_set(error, TSMITH_ERROR_NOT_FOUND,
                            "the trace has no recording; make one with 'tracesmith profile --capture'");
    recording->summary.processes = recording->process_count;
    for (size_t i = 0; i < recording->process_count; i++)
        recording->summary.unfinished += recording_unfinished(&recording->processes[i]);
    if (status == TSMITH_OK)
        *out = recording;
    else
        tsmith_recording_close(recording);
    return status;
}

void tsmith_recording_close(tsmith_recording *recording) {
    if (!recording)
        return;
    for (size_t i = 0; i < recording->process_count; i++) {
        free(recording->processes[i].records);
        free(recording->processes[i].times);
    }
    for (size_t i = 0; i < recording->buffer_count; i++)
        free(recording->buffers[i]);
    chunk_table_finish(&recording->table);
    free(recording->processes);
    free(recording->chunks);
    free(recording->buffers);
    free(recording->refusals);
    free(recording);
}

void tsmith_recording_summarize(const tsmith_recording *recording, tsmith_recording_summary *out) {
    sized_give(tsmith_recording_summary, &recording->summary, out);
}

int tsmith_recording_refusal_get(const tsmith_recording *recording, size_t index,
                                 tsmith_recording_refusal *out) {
    if (index >= recording->refusal_count)
        return 0;
    sized_give(tsmith_recording_refusal, &recording->refusals[index], out);
    return 1;
}

// ---- the content of records

bool recording_has_payload(const struct recording_record *record) {
    const uint8_t *bytes;
    size_t length;
    return recording_get_bytes(record, RECORDING_KEY_CHUNKS, &bytes, &length) &&
           (length > 0 || recording_value(record, RECORDING_KEY_SIZE) == 0);
}

static bool copy_chunk(const struct tsmith_recording *recording, const uint8_t *at, uint8_t *to,
                       size_t length) {
    struct chunk_hash hash;
    memcpy(&hash, at, sizeof hash);
    if (chunk_hash_is_zeros(hash)) {
        memset(to, 0, length);
        return true;
    }
    const uint64_t index = chunk_table_find(&recording->table, hash);
    if (!index || recording->chunks[index - 1].length != length)
        return false;
    memcpy(to, recording->chunks[index - 1].bytes, length);
    return true;
}

uint8_t *recording_payload(const struct tsmith_recording *recording, const struct recording_record *record,
                           size_t *size) {
    const uint8_t *hashes;
    size_t length, chunks;
    const uint64_t bytes = recording_value(record, RECORDING_KEY_SIZE);
    *size = 0;
    if (!recording_get_bytes(record, RECORDING_KEY_CHUNKS, &hashes, &length) || length % RECORDING_HASH)
        return NULL;
    chunks = length / RECORDING_HASH;
    if (bytes / RECORDING_CHUNK_BYTES + (bytes % RECORDING_CHUNK_BYTES != 0) != chunks ||
        bytes > SIZE_MAX / 2 || bytes > recording->limit) // a chunk of zeros takes no room in the recording
        return NULL;
    uint8_t *out = malloc(bytes ? bytes : 1);
    bool found = out != NULL;
    for (size_t i = 0; found && i < chunks; i++) {
        const size_t from = i * RECORDING_CHUNK_BYTES, left = (size_t)bytes - from;
        found = copy_chunk(recording, hashes + i * RECORDING_HASH, out + from,
                           left < RECORDING_CHUNK_BYTES ? left : RECORDING_CHUNK_BYTES);
    }
    if (!found) {
        free(out);
        return NULL;
    }
    *size = (size_t)bytes;
    return out;
}

bool recording_hashes_equal(const struct recording_record *record, const uint8_t *bytes, size_t size,
                            size_t *first_different) {
    const uint8_t *hashes;
    size_t length;
    *first_different = 0;
    if (recording_value(record, RECORDING_KEY_SIZE) != size ||
        !recording_get_bytes(record, RECORDING_KEY_CHUNKS, &hashes, &length) ||
        length != (size / RECORDING_CHUNK_BYTES + (size % RECORDING_CHUNK_BYTES != 0)) * RECORDING_HASH)
        return false;
    for (size_t at = 0; at < size; at += RECORDING_CHUNK_BYTES, hashes += RECORDING_HASH) {
        const size_t left = size - at;
        struct chunk_hash recorded;
        memcpy(&recorded, hashes, sizeof recorded);
        *first_different = at;
        if (!chunk_hash_equal(
                chunk_hash_of(bytes + at, left < RECORDING_CHUNK_BYTES ? left : RECORDING_CHUNK_BYTES),
                recorded))
            return false;
    }
    return true;
}

const char *recording_missing(const struct tsmith_recording *recording) {
    return recording->hashes_only ? "only hashes of its data were recorded (--no-payload)"
                                  : "its data is missing from the recording";
}

const char *recording_text(struct tsmith_recording *recording, const struct recording_record *record,
                           enum recording_key key) {
    const uint8_t *bytes;
    size_t length;
    if (!recording_get_bytes(record, key, &bytes, &length) || !length)
        return NULL;
    char *copy = malloc(length + 1);
    if (!copy)
        return NULL;
    memcpy(copy, bytes, length);
    copy[length] = '\0';
    return own_buffer(recording, (uint8_t *)copy) ? copy : NULL;
}
