// SPDX-License-Identifier: Apache-2.0
// XML that `xctrace export --xpath` writes: tables of Instruments (Apple).
//
// parse.c takes the XML apart into rows of cells and resolves what refers back; rows.c turns a row into
// an event; xctrace.c is the source around them.
#ifndef IMPORT_XCTRACE_XCTRACE_H
#define IMPORT_XCTRACE_XCTRACE_H

#include <expat.h>

#include "event/gather.h"
#include "event/ledger.h"
#include "import/input.h"
#include "tracesmith/dictionary.h"
#include "tracesmith/stream.h"

enum {
    XCTRACE_DEPTH = 24,       // of elements within a row
    XCTRACE_LEVELS = 256,     // of the whole file; the parser keeps the name of every element that is open
    XCTRACE_CELLS = 256,      // of a row
    XCTRACE_TEXT = 64 << 10,  // bytes of an element's text
    XCTRACE_SHOWN = 4 << 10,  // and of how it is shown
    XCTRACE_NAME = 64,        // bytes of the name of an element or column
    XCTRACE_FRAMES = 256,     // of a stack
    XCTRACE_NUMBERS = 1 << 21 // numbers that can be referred to: the latest of them
};

enum xctrace_form { XCTRACE_NONE, XCTRACE_NUMBER, XCTRACE_TEXT_VALUE, XCTRACE_NESTED };

// The data of an element. A nested one (a thread with its process, a label with its parts) has a text of its own, and
// the data of the elements in it.
struct xctrace_value {
    enum xctrace_form form;
    int64_t number; // of a nested one: index of its part
    uint32_t text;  // string
};

// For a nested element.
struct xctrace_part {
    int64_t pid, tid;
    uint32_t text;    // string: how it is shown; the frames of a stack, the outermost first
    uint32_t process; // string: how its process is called
    uint32_t leaf;    // string: the innermost frame of a stack, or the label within a label
    bool has_pid, has_tid, is_stack;
};

struct xctrace_cell {
    char tag[XCTRACE_NAME]; // engineering type
    struct xctrace_value value;
};

// An element that is open, inside of a row.
struct xctrace_element {
    char tag[XCTRACE_NAME];
    uint64_t id;               // 0: none
    char shown[XCTRACE_SHOWN]; // fmt: how it is shown
    bool is_reference, has_parts;
    struct xctrace_value referred;
    struct xctrace_part part;
};

struct xctrace_number {
    uint64_t id; // 0: none
    int64_t number;
};

struct xctrace_known {
    uint64_t id; // 0: none
    struct xctrace_value value;
};

struct xctrace_place;

struct xctrace {
    tsmith_dictionary *dictionary;
    char *name;
    struct input input;
    XML_Parser parser;
    struct gather gather;
    struct ledger ledger;

    // Where the parser is.
    bool in_row, in_schema, in_mnemonic, row_is_bad;
    unsigned too_deep; // elements open beyond those that are kept
    unsigned levels;   // elements open
    const char *why;   // the parser was stopped
    char schema[XCTRACE_NAME];
    char columns[XCTRACE_CELLS][XCTRACE_NAME];
    size_t column_count;
    uint32_t column_fields[XCTRACE_CELLS][2]; // dynamic fields: of numbers, of texts; 0: none yet
    struct xctrace_element open[XCTRACE_DEPTH];
    size_t open_count;
    char text[XCTRACE_TEXT];
    size_t text_length;
    struct xctrace_cell cells[XCTRACE_CELLS];
    size_t cell_count;
    uint32_t frames[XCTRACE_FRAMES]; // strings: of the stack being read, the innermost first
    size_t frame_count;

    // What can be referred to.
    struct xctrace_number *numbers; // by id modulo their number
    size_t number_slots;
    struct xctrace_known *others; // hash table
    size_t other_slots, other_count;
    struct xctrace_part *parts;
    size_t part_count, part_capacity;

    struct xctrace_place *places;
    size_t place_slots, place_count;

    uint64_t rows, no_time, bad_rows, dangling, cut_texts, too_many;
    bool over, failed, ended_early;
    tsmith_error stop;
};

// Whether the window begins as such a file does.
bool xctrace_is(struct input *input);
// Takes over input and name, also on failure.
tsmith_status xctrace_open(struct input *input, char *name, tsmith_source **out, tsmith_error *error);

// ---- parse.c

bool xctrace_parse_begin(struct xctrace *xctrace);
void xctrace_parse_finish(struct xctrace *xctrace);

// ---- rows.c

void xctrace_add_row(struct xctrace *xctrace);
void xctrace_rows_finish(struct xctrace *xctrace);

#endif
