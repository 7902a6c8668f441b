// SPDX-License-Identifier: Apache-2.0
// A recording in memory: the records of each process in their order, and the chunks by their hash. Everything in it came
// from a file; records are sound as such (checksums), their content is checked before it is used.
#ifndef REPLAY_RECORDING_H
#define REPLAY_RECORDING_H

#include "recording/chunk.h"
#include "recording/record.h"
#include "tracesmith/replay.h"

struct recorded_chunk {
    const uint8_t *bytes;
    size_t length;
};

// When a command's call was made, and when it ran; on the trace clock, 0 where it is not known.
struct recorded_time {
    int64_t called, start, end;
};

struct recorded_process {
    uint32_t number;
    uint64_t pid;
    struct recording_record *records;
    size_t count, capacity;
    struct recorded_time *times; // by record; NULL: not taken
    bool used;                   // a context was made: there can be something to replay
    bool vulkan;                 // its records are captured frames of Vulkan, else commands of OpenCL
    bool ended;                  // a process that was not killed records its end, if it made a context
};

struct tsmith_recording {
    struct recorded_process *processes;
    size_t process_count, process_capacity;
    struct chunk_table table; // value: index into chunks + 1
    struct recorded_chunk *chunks;
    size_t chunk_count, chunk_capacity;
    uint8_t **buffers; // what all of that points into
    size_t buffer_count, buffer_capacity;
    uint64_t bytes, limit; // of the buffers
    tsmith_recording_refusal *refusals;
    size_t refusal_count, refusal_capacity;
    bool hashes_only; // of data: it was not wanted
    tsmith_recording_summary summary;
};

// Whether something of it may be missing at its end.
bool recording_unfinished(const struct recorded_process *process);
// The bytes of the CHUNKS of a record, in memory that the caller frees; NULL when a chunk is missing, memory is
// exhausted, or SIZE is not that of the chunks.
uint8_t *recording_payload(const struct tsmith_recording *recording, const struct recording_record *record,
                           size_t *size);
// Whether these bytes match the hashes of CHUNKS, if the data itself is missing.
bool recording_hashes_equal(const struct recording_record *record, const uint8_t *bytes, size_t size,
                            size_t *first_different);
// Why recording_payload gives none.
const char *recording_missing(const struct tsmith_recording *recording);
// Whether the record has a payload at all.
bool recording_has_payload(const struct recording_record *record);
// A text entry, NUL-terminated in memory of the recording's (strings it lends are copied once); NULL when there is none.
const char *recording_text(struct tsmith_recording *recording, const struct recording_record *record,
                           enum recording_key key);
// Whether the program makes a kernel of this name, from that record on. source.c
bool recording_makes_kernel(const struct recorded_process *process, size_t from, uint64_t program,
                            const char *name);
// INVALID_ARGUMENT, with the available names, if no program makes a kernel of this name; NULL is allowed and means none.
tsmith_status recording_has_source_of(struct tsmith_recording *recording, const char *kernel,
                                      tsmith_error *error);

#endif
