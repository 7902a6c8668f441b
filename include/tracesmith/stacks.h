// SPDX-License-Identifier: Apache-2.0
// Call stacks of a trace: the names of their frames, and how they are displayed. Their tables are in
// tracesmith/dictionary.h; an event has the id of its stack in TSMITH_FIELD_STACK.
#ifndef TRACESMITH_STACKS_H
#define TRACESMITH_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/dictionary.h"
#include "tracesmith/export.h"
#include "tracesmith/status.h"
#include "tracesmith/stream.h"
#include "tracesmith/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- from addresses to names

typedef struct tsmith_symbolize_options {
    size_t size; // sizeof(tsmith_symbolize_options)
    // The program has just ended, on this machine: maps of generated code, and modules without a build id, are those
    // that were loaded. Otherwise a file must have the module's build id.
    int live;
} tsmith_symbolize_options;

typedef struct tsmith_symbolize_counts {
    size_t size;              // sizeof(tsmith_symbolize_counts), the caller's
    uint64_t frames;          // that had no name
    uint64_t named;           // that have one now
    uint32_t modules;         // files that contain them
    uint32_t modules_gone;    // whose file no longer exists, or cannot be identified as the same
    uint32_t modules_other;   // where another file is now: its build id is not the one that was loaded
    uint32_t modules_damaged; // that are damaged, or not 64-bit ELF files
} tsmith_symbolize_counts;

// Appends a row to the table of symbols for every function at every frame that has none: from ELF symbols and DWARF, of
// the modules and of their separate debug files (by build id in /usr/lib/debug, by .gnu_debuglink; from servers only
// where DEBUGINFOD_URLS names some). Frames about which nothing is known keep module and offset; damaged files cost
// names and never more. `options` and `counts` may be NULL. NO_MEMORY: some are not named.
TSMITH_API tsmith_status tsmith_dictionary_symbolize(tsmith_dictionary *dictionary,
                                                     const tsmith_symbolize_options *options,
                                                     tsmith_symbolize_counts *counts, tsmith_error *error);
// The same at the end of a live source: yields what `source` does, and once that has ended its dictionary has the names.
// `source` and `counts` (which may be NULL) must outlive it; it is not destroyed with it.
TSMITH_API tsmith_status tsmith_symbolized_source_create(tsmith_source *source,
                                                         const tsmith_symbolize_options *options,
                                                         tsmith_symbolize_counts *counts,
                                                         tsmith_source **out);
// The same now, of what the dictionary of a source has: where a file that was recorded without names is read. Not of a live
// source.
TSMITH_API tsmith_status tsmith_source_symbolize(tsmith_source *source, tsmith_symbolize_counts *counts,
                                                 tsmith_error *error);
// The same for a trace. Before its events are read.
TSMITH_API tsmith_status tsmith_trace_symbolize(tsmith_trace *trace, tsmith_symbolize_counts *counts,
                                                tsmith_error *error);

// ---- showing

// One function of a call path.
typedef struct tsmith_stack_line {
    uint32_t frame;    // of the dictionary
    uint32_t flags;    // TSMITH_FRAME_...
    uint32_t module;   // 0: in none that is known
    uint32_t function; // strings; 0: not known
    uint32_t file;
    uint32_t line; // 0: not known
    uint64_t address;
    int inlined; // into the line behind it
} tsmith_stack_line;

// Finds the names of frames. Follows a dictionary that grows; the dictionary must outlive it. One thread at a time.
typedef struct tsmith_stack_names tsmith_stack_names;

TSMITH_API tsmith_status tsmith_stack_names_create(const tsmith_dictionary *dictionary,
                                                   tsmith_stack_names **out);
TSMITH_API void tsmith_stack_names_destroy(tsmith_stack_names *names);
// Whether tsmith_stack_lines and tsmith_stack_path leave out the functions of the Python interpreter itself (1) or give them
// (0, as at first): frames in python3.N, libpython3.N, ctypes, cffi or libffi that are no Python functions and have no mark (GUESSED,
// TRUNCATED).
// Nothing is left out of a stack without Python functions.
TSMITH_API void tsmith_stack_names_hide_interpreter(tsmith_stack_names *names, int hide);

// The functions of a stack, innermost first, of its innermost 32768 frames. Returns how many there are; at most `limit` are
// written. 0 for stack 0 and for one that is not there. Frames that were lost with what is outside of them are marked:
// TSMITH_FRAME_TRUNCATED.
TSMITH_API size_t tsmith_stack_lines(tsmith_stack_names *names, uint32_t stack, tsmith_stack_line *lines,
                                     size_t limit);
// Lines of one frame, independent of what is hidden in stacks; 0 for an unknown frame.
TSMITH_API size_t tsmith_frame_lines(tsmith_stack_names *names, uint32_t frame, tsmith_stack_line *lines,
                                     size_t limit);
// What a line is called: its function, or `libm.so.6[+1a2f0]`, the module and where in it, or `[7f12a4c0]`. Written
// with a NUL, cut to `size` bytes; returns how long the whole is. Bytes are as they are in the trace.
TSMITH_API size_t tsmith_stack_line_text(const tsmith_dictionary *dictionary, const tsmith_stack_line *line,
                                         char *text, size_t size);

// The function of the program that a stack is in: the innermost one that is neither of the system's libraries (libc, libstdc++,
// the loader, the vDSO) nor of the operating system's kernel, of the innermost 256. 1: `out` has it. 0: there is none; `out`
// has the innermost function, or is zero for a stack without functions. `names` are of `dictionary`.
TSMITH_API int tsmith_stack_place(const tsmith_dictionary *dictionary, tsmith_stack_names *names,
                                  uint32_t stack, tsmith_stack_line *out);

// All of a stack as flame graphs have it: names from the outermost to the innermost function with semicolons between
// them (a semicolon in a name becomes a colon). "[truncated];" stands in front of a frame whose caller is not known, and
// " [guessed]" behind the name of one that was found by a frame pointer: between it and what it called, callers may be
// missing. Recursion is not folded. As above.
TSMITH_API size_t tsmith_stack_path(tsmith_stack_names *names, uint32_t stack, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
