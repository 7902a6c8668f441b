// SPDX-License-Identifier: Apache-2.0
// The table of formats that are read. import.c goes through it; help, docs/commands.md and the list of fuzz targets are
// made from it or compared with it. A new format is its folder, a row in formats.c and a target in fuzz/.
#ifndef IMPORT_FORMATS_H
#define IMPORT_FORMATS_H

#include "import/input.h"
#include "import/open.h"
#include "tracesmith/stream.h"

// What is being opened.
struct import_job {
    const struct import_place *place;
    const char *binary; // the program that wrote the trace; NULL: not known
    size_t hold_bytes;  // see tsmith_import_options
    // From IMPORT_BYTES on:
    struct input input;
    char *name; // for messages
};

// In this order the stages are tried. A row of a later one is only asked when none of the earlier ones knows the file.
enum import_stage {
    IMPORT_FILE,  // needs a file that can be read at any place, and looks at it as it is
    IMPORT_BYTES, // is read as a stream, decompressed
    IMPORT_JSON // the same, of JSON, once it is clear that the file is of no tool whose files are not read (others.h)
};

struct import_format {
    const char *name;       // what the attribute "import.format" begins with
    const char *title;      // for messages
    const char *extensions; // usual ones, separated by spaces: for people, no file is judged by its name
    const char *doc;        // who writes it, and what is read of it
    const char *fuzz;       // its target is fuzz/fuzz_import_<fuzz>.c
    enum import_stage stage;
    // Checks the whole structure, not only the first bytes. NULL: the file has this format if no other matches.
    bool (*probe)(struct import_job *job);
    // Takes over the place, and from IMPORT_BYTES on the input and the name; also when it fails.
    tsmith_status (*open)(struct import_job *job, tsmith_source **out, tsmith_error *error);
};

// NULL past the last.
const struct import_format *import_format_at(size_t index);

#endif
