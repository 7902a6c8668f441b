// SPDX-License-Identifier: Apache-2.0
// src/unwind/python_layout.h against the headers of the interpreter that this is compiled with.
#define Py_BUILD_CORE 1
#include <Python.h>
#include <stddef.h>
#include <stdio.h>
#if PY_VERSION_HEX >= 0x030b0000
#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"
#else
#include "code.h"
#include "frameobject.h"
#endif

#include "unwind/python_layout.h"

#if PY_VERSION_HEX >= 0x030c0000
#define THREAD_OWNER PYTHON_NONE
#else
#define THREAD_OWNER offsetof(PyThreadState, thread_id)
#endif

#if PY_VERSION_HEX >= 0x030d0000
#define THREAD_FRAME offsetof(PyThreadState, current_frame)
#define HOLDER_FRAME PYTHON_NONE
#elif PY_VERSION_HEX >= 0x030b0000
#define THREAD_FRAME offsetof(PyThreadState, cframe)
#define HOLDER_FRAME offsetof(_PyCFrame, current_frame)
#else
#define THREAD_FRAME offsetof(PyThreadState, frame)
#define HOLDER_FRAME PYTHON_NONE
#endif

#if PY_VERSION_HEX >= 0x030d0000
#define FRAME_CODE offsetof(_PyInterpreterFrame, f_executable)
#define FRAME_INSTRUCTION offsetof(_PyInterpreterFrame, instr_ptr)
#elif PY_VERSION_HEX >= 0x030b0000
#define FRAME_CODE offsetof(_PyInterpreterFrame, f_code)
#define FRAME_INSTRUCTION offsetof(_PyInterpreterFrame, prev_instr)
#else
#define FRAME_CODE offsetof(PyFrameObject, f_code)
#define FRAME_INSTRUCTION offsetof(PyFrameObject, f_lasti)
#endif

#if PY_VERSION_HEX >= 0x030c0000
#define FRAME_GROUP offsetof(_PyInterpreterFrame, owner)
#define OWNER_C_STACK FRAME_OWNED_BY_CSTACK
#else
#define OWNER_C_STACK PYTHON_OWNER_C_STACK
#if PY_VERSION_HEX >= 0x030b0000
#define FRAME_GROUP offsetof(_PyInterpreterFrame, is_entry)
#else
#define FRAME_GROUP 0
#endif
#endif

#if PY_VERSION_HEX >= 0x030b0000
#define FRAME_BACK offsetof(_PyInterpreterFrame, previous)
#define CODE_NAME offsetof(PyCodeObject, co_qualname)
#define CODE_BEGIN offsetof(PyCodeObject, co_code_adaptive)
#else
#define FRAME_BACK offsetof(PyFrameObject, f_back)
#define CODE_NAME offsetof(PyCodeObject, co_name)
#define CODE_BEGIN 0
#endif
#if PY_VERSION_HEX >= 0x030a0000
#define CODE_LINES offsetof(PyCodeObject, co_linetable)
#else
#define CODE_LINES offsetof(PyCodeObject, co_lnotab)
#endif

static int failed;

static void same(const char *what, size_t ours, size_t theirs) {
    if (ours != theirs) {
        printf("%s %s: the layout says %zu, the headers %zu\n", PY_VERSION, what, ours, theirs);
        failed = 1;
    }
}

static void compare(size_t thread_owner, size_t thread_frame, size_t holder_frame, size_t frame_back,
                    size_t frame_code, size_t frame_instruction, size_t frame_group, size_t code_first_line,
                    size_t code_file, size_t code_name, size_t code_lines, size_t code_begin,
                    size_t ascii_text, size_t text) {
    same("thread_owner", thread_owner, THREAD_OWNER);
    same("thread_frame", thread_frame, THREAD_FRAME);
    same("holder_frame", holder_frame, HOLDER_FRAME);
    same("frame_back", frame_back, FRAME_BACK);
    same("frame_code", frame_code, FRAME_CODE);
    same("frame_instruction", frame_instruction, FRAME_INSTRUCTION);
    same("frame_group", frame_group, FRAME_GROUP);
    same("code_first_line", code_first_line, offsetof(PyCodeObject, co_firstlineno));
    same("code_file", code_file, offsetof(PyCodeObject, co_filename));
    same("code_name", code_name, CODE_NAME);
    same("code_lines", code_lines, CODE_LINES);
    same("code_begin", code_begin, CODE_BEGIN);
    same("ascii_text", ascii_text, sizeof(PyASCIIObject));
    same("text", text, sizeof(PyCompactUnicodeObject));
}

int main(void) {
    int compared = 0;
#define COMPARE(version, instruction, lines, group, ...)                                                     \
    if ((version) == PY_MINOR_VERSION) {                                                                     \
        compare(__VA_ARGS__);                                                                                \
        compared = 1;                                                                                        \
    }
    PYTHON_LAYOUTS(COMPARE)
    same("type", PYTHON_TYPE, offsetof(PyObject, ob_type));
    same("size", PYTHON_SIZE, offsetof(PyVarObject, ob_size));
    same("text size", PYTHON_SIZE, offsetof(PyASCIIObject, length));
    same("text state", PYTHON_TEXT_STATE, offsetof(PyASCIIObject, state));
    same("bytes", PYTHON_BYTES, offsetof(PyBytesObject, ob_sval));
    same("owner", PYTHON_OWNER_C_STACK, OWNER_C_STACK);
    same("compared", (size_t)compared, 1);
    if (!failed)
        printf("%s: the layout is the headers'\n", PY_VERSION);
    return failed;
}
