// SPDX-License-Identifier: Apache-2.0
// The source around an importer that reads one record after the other: its dictionary, gathering, ledger, and how it ends.
#ifndef IMPORT_ROWS_SOURCE_H
#define IMPORT_ROWS_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "event/gather.h"
#include "event/ledger.h"
#include "import/input.h"
#include "tracesmith/dictionary.h"
#include "tracesmith/stream.h"

// The first member of an importer's struct.
struct rows_source {
    tsmith_dictionary *dictionary;
    char *name; // of the file, for messages
    struct input input;
    struct gather gather;
    struct ledger ledger;
    bool over;     // nothing is left to read
    bool failed;   // out of memory
    bool damaged;  // `stop` says where and why; everything readable is read
    bool rejected; // `stop` is a failure
    tsmith_error stop;
    uint64_t bad, bad_at; // records that could not be read, and where the first is
    // Reads some records; at the end calls rows_source_end.
    void (*run)(struct rows_source *rows);
    // Frees what the importer has besides this struct, and the struct.
    void (*release)(struct rows_source *rows);
};

// Makes the source of a zeroed struct with `run` and `release`. Takes over the struct, the input and the name, also on
// failure. `format`: value of the attribute "import.format".
tsmith_status rows_source_open(struct rows_source *rows, struct input *input, char *name, const char *format,
                               tsmith_source **out, tsmith_error *error);
// For a struct that could not be allocated.
tsmith_status rows_source_no_memory(struct input *input, char *name, tsmith_error *error);

// The offset in the (decompressed) file of a place in the window.
static inline uint64_t rows_source_at(const struct rows_source *rows, const char *place) {
    return rows->input.offset + (uint64_t)(place - rows->input.window);
}
// The file ends early or is damaged at this offset.
void rows_source_cut(struct rows_source *rows, uint64_t offset, const char *why);
// The file is not of the format after all: the source fails, with this text after the name.
void rows_source_reject(struct rows_source *rows, uint64_t offset, const char *why);
// A record could not be read, and is left out.
static inline void rows_source_bad(struct rows_source *rows, uint64_t offset) {
    if (!rows->bad++)
        rows->bad_at = offset;
}
// Checks the rest of the file (only white space may follow) and writes the ledger. `records`: what they are called.
void rows_source_end(struct rows_source *rows, const char *records);

#endif
