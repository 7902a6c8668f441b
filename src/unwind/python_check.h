// SPDX-License-Identifier: Apache-2.0
// Whether the interpreter of this process is laid out as its version should be.
#ifndef UNWIND_PYTHON_CHECK_H
#define UNWIND_PYTHON_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/python_layout.h"

struct python_interpreter {
    const struct python_layout *layout;
    void *(*this_thread)(void); // PyGILState_GetThisThreadState
    void *(*current)(
        void); // _PyThreadState_UncheckedGet, up to 3.11: who holds the interpreter lock; else NULL
    uint64_t loop_begin, loop_end;             // _PyEval_EvalFrameDefault
    uint64_t code_type, text_type, bytes_type; // addresses of the type objects
};

enum python_verdict { PYTHON_AS_EXPECTED, PYTHON_OTHERWISE, PYTHON_NO_FRAMES };

// Follows the calling thread's frames, asking the kernel for every word, so that nothing in it can fault.
// PYTHON_NO_FRAMES: there are none to check.
// Whether `thread`, which may be gone by now, is a state of the calling thread.
bool python_check_is_own(const struct python_interpreter *interpreter, uint64_t thread);
enum python_verdict python_check(const struct python_interpreter *interpreter, uint64_t thread);

#endif
