// SPDX-License-Identifier: Apache-2.0
// SCHEMA and DICTIONARY frames (sections 4 and 5 of docs/sbt-format.md).
#ifndef SBT_TABLES_H
#define SBT_TABLES_H

#include "sbt/packing.h"
#include "tracesmith/batch.h"
#include "tracesmith/dictionary.h"

enum sbt_table {
    TABLE_STRINGS = 1,
    TABLE_PROCESSES,
    TABLE_DEVICES,
    TABLE_TRACKS,
    TABLE_CLOCKS,
    TABLE_CLOCK_PAIRS,
    TABLE_ATTRIBUTES,
    TABLE_FIELDS,
    TABLE_TRACK_NAMES,
    TABLE_MODULES,
    TABLE_FRAMES,
    TABLE_STACKS,
    TABLE_SYMBOLS,
    TABLE_DEVICE_FACTS,
    TABLE_RANKS,
    TABLE_PARTS,
    TABLE_LIMIT
};

// ---- blobs

// Appends `bytes` as a blob, compressed where that pays.
void blob_write(struct packer *packer, struct output *out, const void *bytes, size_t size);
// Takes a blob off `in`. *plain points into it, or to memory of `scratch`; at most `limit` bytes.
bool blob_read(struct input *in, uint64_t limit, struct scratch *scratch, struct input *plain);

// ---- writing

// What a file already holds of a dictionary. A zeroed one is valid: nothing yet.
struct table_state {
    uint32_t written[TABLE_LIMIT]; // ids below it are in the file; 0 means 1
    uint32_t *track_names;         // by track, as written
    size_t track_name_capacity;
    tsmith_device *devices; // by device, as written
    size_t device_capacity;
    struct output rows; // of one section, while it is made
    uint64_t spent;     // what a reader counts for the dictionary
};

void table_state_finish(struct table_state *state);

// Appends sections for the rows that are new, and for devices of which more is known now; nothing when there are none. AGAIN when there are more than one
// frame should hold: to be called again for the next frame. LIMIT for a string or a dictionary that is too
// large.
tsmith_status tables_write(struct packer *packer, struct table_state *state,
                           const tsmith_dictionary *dictionary, struct output *out, tsmith_error *error);
// Takes all rows as written already. False when memory is exhausted.
bool tables_mark_written(struct table_state *state, const tsmith_dictionary *dictionary);
// Appends the tracks that got another name since they were written.
void tables_write_track_names(struct packer *packer, struct table_state *state,
                              const tsmith_dictionary *dictionary, struct output *out);
// What of the vocabulary the events of a file use. A zeroed one is valid: nothing.
struct vocabulary {
    uint64_t kinds, fields[(TSMITH_FIELD_LIMIT + 63) / 64]; // a bit for each
    uint32_t types;
};
_Static_assert(TSMITH_KIND_LIMIT <= 64 && TSMITH_TYPE_LIMIT <= 32, "a bit for each");

void vocabulary_add(struct vocabulary *used, const tsmith_batch *batch);

// The payload of the SCHEMA frame: of what is used, or (NULL) all that there is.
void tables_write_schema(struct packer *packer, const struct vocabulary *used, struct output *out);

// ---- reading

enum tables_result { TABLES_OK, TABLES_DAMAGED, TABLES_NO_MEMORY };

// Adds the rows of a DICTIONARY payload. *left is what the dictionary may still grow by, in the units of
// section 15.
enum tables_result tables_read(struct input payload, struct scratch *scratch, tsmith_dictionary *dictionary,
                               uint64_t *left);

#endif
