// SPDX-License-Identifier: Apache-2.0
// Where CPython keeps what of a frame, by version; from its headers (Include/cpython, Include/internal), which
// tests/unwind/test_python.sh compares where an interpreter's are installed.
#ifndef UNWIND_PYTHON_LAYOUT_H
#define UNWIND_PYTHON_LAYOUT_H

#include <stdint.h>

enum { PYTHON_NONE = 0xffff };

// How the place in the code is written in a frame.
enum python_instruction {
    PYTHON_BYTE_INDEX, // int: bytes
    PYTHON_UNIT_INDEX, // int: units of two bytes
    PYTHON_ADDRESS     // a pointer into the code
};

// How lines are written in a code object.
enum python_lines {
    PYTHON_LNOTAB,   // Objects/lnotab_notes.txt of 3.8
    PYTHON_RANGES,   // PEP 626, of 3.10
    PYTHON_LOCATIONS // Objects/locations.md of 3.11
};

// Which Python frames one native frame of the interpreter's loop has run.
enum python_group {
    PYTHON_ONE_EACH,
    PYTHON_TO_ENTRY, // up to one that is marked as entered from C
    PYTHON_TO_SHIM   // up to a frame without an owner, on the C stack
};

struct python_layout {
    uint8_t minor; // of 3.
    uint8_t instruction_kind, lines_kind, group_kind;
    uint16_t thread_owner; // PyThreadState: pthread_self(); PYTHON_NONE: not needed
    uint16_t thread_frame; // PyThreadState: the innermost frame, or what holds it
    uint16_t holder_frame; // _PyCFrame: the innermost frame
    uint16_t frame_back, frame_code, frame_instruction;
    uint16_t frame_group; // one byte: is_entry, or owner
    uint16_t code_first_line, code_file, code_name, code_lines, code_begin;
    uint16_t ascii_text,
        text; // PyASCIIObject and PyCompactUnicodeObject: their sizes, where the characters are
};

// The same in every version.
enum {
    PYTHON_TYPE = 8,        // PyObject.ob_type
    PYTHON_SIZE = 16,       // PyVarObject.ob_size, PyASCIIObject.length
    PYTHON_TEXT_STATE = 32, // PyASCIIObject.state
    PYTHON_BYTES = 32,      // PyBytesObject.ob_sval
    PYTHON_OWNER_C_STACK = 3
};

// X(minor, instruction, lines, group, thread_owner, thread_frame, holder_frame, frame_back, frame_code, frame_instruction, frame_group,
//   code_first_line, code_file, code_name, code_lines, code_begin, ascii_text, text)
#define PYTHON_LAYOUTS(X)                                                                                    \
    X(8, BYTE_INDEX, LNOTAB, ONE_EACH, 176, 24, PYTHON_NONE, 24, 32, 104, 0, 40, 104, 112, 120, 0, 48, 72)   \
    X(9, BYTE_INDEX, LNOTAB, ONE_EACH, 176, 24, PYTHON_NONE, 24, 32, 104, 0, 40, 104, 112, 120, 0, 48, 72)   \
    X(10, UNIT_INDEX, RANGES, ONE_EACH, 176, 24, PYTHON_NONE, 24, 32, 96, 0, 40, 104, 112, 120, 0, 48, 72)   \
    X(11, ADDRESS, LOCATIONS, TO_ENTRY, 152, 56, 8, 48, 32, 56, 68, 72, 112, 128, 136, 184, 48, 72)          \
    X(12, ADDRESS, LOCATIONS, TO_SHIM, PYTHON_NONE, 56, 0, 8, 0, 56, 70, 68, 112, 128, 136, 192, 40, 56)     \
    X(13, ADDRESS, LOCATIONS, TO_SHIM, PYTHON_NONE, 72, PYTHON_NONE, 8, 0, 56, 70, 68, 112, 128, 136, 200,   \
      40, 56)

#endif
